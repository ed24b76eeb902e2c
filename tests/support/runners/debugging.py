"""Sessions over random programs of all machines, for tests."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any, cast

import isakit
from conftest import ROOT
from isakit.arch.usse.arithmetic import DEFAULT
from isakit.debug.session import Session
from isakit.machine.usse import ShaderCode
from isakit.machine.vuc import Options
from support.generators import fuzz, usse_programs, vuc_programs
from support.runners import usse_engines

REDUCTION = """\
.isa tesla gt200
.kernel sum
.shared 0x140
.param out ptr
    and b32 $r1 $r0 0xffff
    shl $a1 $r1 0x2
    mov b32 $r2 $r1
    mov b32 $r4 0x10
    and b32 $c0 $r5 $r1 $r4
    st b32 s[$a1+0x40] $r1
    joinat #met
    (e $c0) bra #low
    add b32 $r2 $r2 0x64
    bra #met
low:
    call #twice
    add b32 $r2 $r2 0x1
met:
    join nop
    bar inc wait 0x0 0xfff
    shl b32 $r3 $r1 0x2
    add b32 $r3 b32 s[out] $r3
    exit st b32 g14[$r3] $r2
twice:
    add b32 $r2 $r2 $r2
    ret
"""


def diverging(threads: int = 64) -> Session:
    """The kernel of `examples/tesla/diverge.s`."""
    device = isakit.Device("gt200")
    program = isakit.isa("tesla", "gt200").assemble((ROOT / "examples/tesla/diverge.s").read_text("utf-8"))
    out = device.alloc(4 * threads)
    made = device.load(program)["diverge"].machine(1, threads, (out,))
    made.keep = out  # type: ignore[attr-defined]  # the buffer lives as long
    return Session(made, program, labels=program.labels)


def buffer_of(session: Session) -> int:
    """The address of the buffer that `diverging` writes."""
    return cast(Any, session.execution).given.keep.address


def machine(seed: int) -> Any:
    """A random Tesla kernel on a machine of its own."""
    on = fuzz.loaded(k := replace(fuzz.kernel(seed), budget=None), "reference")
    made = on.device.machine(on.kernel, k.grid, k.block, param_bytes=on.param_bytes)
    made.keep = on  # type: ignore[attr-defined]  # buffers live as long
    return made


def tesla(seed: int, compiled: bool = True) -> Session:
    return Session(machine(seed), compiled=compiled)


def usse(seed: int) -> Session:
    words = usse_programs.branching(random.Random(seed), False)
    m = usse_engines.machine(random.Random(seed).choice((16, 37)), seed)
    m.start(ShaderCode(isakit.isa("usse").disassemble(words), DEFAULT))
    return Session(m)


def vuc(seed: int) -> Session:
    rnd = random.Random(f"target {seed}")
    variant = rnd.choice(("vp2", "vp3", "vp4"))
    options = Options(unknown_ops="ignore", full_stack="drop_oldest", empty_stack="zero")
    words = vuc_programs.program(rnd, variant, tame=seed % 2 == 0)
    return Session(vuc_programs.pair(variant, words, rnd, options)[0])

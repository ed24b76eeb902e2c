"""Programs whose results show the rules of control, run before and while a rule has another text."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from isakit.errors import MachineFault
from isakit.machine.tesla.rules import accesses, barriers, blocks, locks, stack
from isakit.sem.routine import Routine
from support.compiled import compiled_device

STORE = """
shl b32 $r2 $r0 0x2
add b32 $r3 b32 s[0x10] $r2
st b32 g14[$r3] $r1
exit nop
"""
HALF = "mov b32 $r2 0x8\nset $c0 # l u32 $r0 $r2\nmov b32 $r1 0x0\nmov b32 $r4 0x1\n"
SEEN = "add b32 $r1 $r1 $r4\n"
"""Counts in $r1 the lanes that come past."""

PROGRAMS = {
    "order": HALF + "mov b32 $r5 b32 s[0x10]\njoinat #end\n(l $c0) bra #other\nst b32 g14[$r5] $r4\nmov b32 $r6 0x1\n"
    "bra #end\nother:\nld b32 $r1 g14[$r5]\nbra #end\nend:\njoin nop\n" + STORE,
    "join": HALF + "joinat #end\n(l $c0) bra #end\n" + SEEN + "end:\njoin nop\n" + SEEN + STORE,
    "early": HALF + "joinat #end\n(l $c0) bra #other\n" + SEEN + "other:\njoin nop\n" + SEEN + "end:\njoin nop\n"
    + SEEN + STORE,
    "call": HALF + "call #f\n" + SEEN + STORE + "f:\n" + SEEN + "(l $c0) ret\n" + SEEN + "ret\n",
    "break": HALF + "breakaddr #end\n(l $c0) break\n" + SEEN + "break\nend:\n" + SEEN + STORE,
    "quads": HALF + "(l $c0) bra #go\nexit nop\ngo:\n"
    "and b32 $c1 # $r0 $r4\njoinat #end\n(e $c1) bra #end\nquadon\n"
    "mov b32 $r1 0x5\nquadpop\nend:\njoin nop\n" + STORE,
    "barrier": HALF + SEEN + "bar inc wait 0x0 0xfff\n" + SEEN + STORE,
    "lock": HALF + "mov b32 $r5 0x0\nmov b32 $r6 0x0\nst b32 s[0x40] $r5\nshl $a1 $r5 0x0\njoinat #done\n"
    "again:\nld lock $c1 $r6 b32 s[$a1+0x40]\n(l $c1) add b32 $r6 $r6 $r4\n(l $c1) st unlock b32 s[$a1+0x40] $r6\n"
    "(geu $c1) bra #again\ndone:\njoin nop\nld $r1 b32 s[$a1+0x40]\n" + STORE,
    "access": HALF + "shl b32 $r5 $r0 0x2\nshl $a1 $r5 0x0\nst b32 s[$a1+0x40] $r4\nand b32 $r5 $r5 0x4\n"
    "shl $a1 $r5 0x0\nld $r1 b32 s[$a1+0xb8]\n" + STORE,
}  # fmt: skip
"""Their last words are in a buffer: a number per thread."""

MUTATIONS: dict[str, tuple[str, Routine[Any, Any], str, str]] = {
    "which side goes first": ("order", stack.diverge, 'choices.first == "taken"', 'choices.first != "taken"'),
    "who is active after a join": ("join", stack.join, "lanes = live(w, entry.mask)",
                                    "lanes = live(w, entry.mask) & 0xFFFF"),
    "what an early join waits for": ("early", stack.join, "entry.pc > here", "entry.pc > here + 64"),
    "who comes back from a call": ("call", stack.unwind,
                                   "w.returned &= ~entry.mask", "w.returned &= ~(entry.mask & 15)"),
    "who is called": ("call", stack.call, "following, w.active, choices", "following, w.active & 0xFFFF, choices"),
    "who returns": ("call", stack.ret, "w.returned |= lanes", "w.exited |= lanes"),
    "who breaks": ("break", stack.brk, "w.broke |= lanes", "w.exited |= lanes"),
    "who comes out of a loop": ("break", stack.unwind, "w.broke &= ~entry.mask", "w.broke &= ~(entry.mask & 255)"),
    "what is pushed": ("join", stack.push, "entry.mask = mask", "entry.mask = mask & 0xFFFFF"),
    "which lanes are live": ("join", stack.live, "w.exited)", "w.exited | 1)"),
    "what makes a quad whole": ("quads", stack.quadon, "whole * 15", "whole * 7"),
    "when a barrier opens": ("barrier", barriers.open_if_reached, "barrier.count >= target", "barrier.count > target"),
    "what arrives": ("barrier", barriers.arrive, "= 0 if count == ALL", "= 3 if count == ALL"),
    "who gets a lock": ("lock", locks.try_lock, "first = free & -free", "first = free"),
    "which lanes begin": ("join", blocks.begin_warp, "w.active = lanes", "w.active = lanes & 0xFFFFF"),
    "what is inside": ("access", accesses.outside, "address > limit - size", "address >= limit - size"),
}  # fmt: skip
"""(program, rule, its text, another text)."""
WAYS: dict[str, dict[str, Any] | None] = {"reference": None, "interp": {"tier": "interp"}, "jit": {"tier": "jit"}}


def outcome(text: str, way: dict[str, Any] | None) -> list[int] | str:
    """The numbers that a program leaves, or its fault."""
    import isakit

    device = isakit.Device("gt200", engine="reference") if way is None else compiled_device(way, "gt200")
    out = np.zeros(64, np.uint32)
    buffer = device.alloc(out.nbytes)
    device.write(buffer, out)
    words = isakit.isa("tesla", "gt200").assemble(text).words
    kernel = device.load(list(words), registers=8, shared=0xB0, barriers=1)["main"]
    try:
        kernel.launch(1, 64 if "bar " in text else 32, param_bytes=np.uint32(buffer.address).tobytes(),
                      max_instructions=20_000)  # fmt: skip
    except MachineFault as e:
        return e.kind
    return device.read(buffer, np.uint32, 64).tolist()


def outcomes(name: str) -> dict[str, tuple[list[int] | str, list[int] | str]]:
    """Per way: what the program of a mutation leaves with the rule, and with its other text."""
    os.environ["ISAKIT_CACHE"] = "off"
    program, rule, old, new = MUTATIONS[name]
    found: dict[str, Any] = {}
    before = {n: outcome(PROGRAMS[program], way) for n, way in WAYS.items()}
    with rule.rewritten(old, new):
        for n, way in WAYS.items():
            found[n] = before[n], outcome(PROGRAMS[program], way)
    return found

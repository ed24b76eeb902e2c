"""Launches on the compiled engine: faults, bounds, interrupts, threads, the cache, hosts without a compiler."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

import isakit
from isakit.engine.llvm import host
from isakit.errors import BudgetExceeded, LaunchError, MachineFault, NotModelled
from isakit.machine.progress import watching
from isakit.machine.tesla.compiled.launch import compiled_kernels as kernels
from isakit.runtime import engine_choice, tesla_engine
from isakit.runtime.tesla_engine import FallbackWarning
from support.clients.interrupts import interrupted
from support.patience import until

WAYS = ["reference", "interp", "jit"]
LOOP = """
    and b32 $r1 $r0 0x7
    mov b32 $r2 0x0
top:
    add b32 $r2 $r2 $r1
    add b32 $r1 $r1 0xffffffff
    and b32 $c0 # $r1 $r1
    (l $c0) ret
    bra #top
"""
ENDLESS = """
top:
    add b32 $r1 $r1 0x1
    bra #top
"""


def device(way: str, **options: Any) -> isakit.Device:
    if way == "reference":
        return isakit.Device("gt200", engine="reference", **options)
    return isakit.Device("gt200", engine="llvm", tier=way, **options)  # type: ignore[arg-type]


def load(d: isakit.Device, text: str, **options: Any) -> Any:
    program = isakit.isa("tesla", "gt200").assemble(text)
    return d.load(program, **{"registers": 8, "shared": 0x100, "barriers": 2, **options})["main"]


FAULTS = {
    "misaligned": "mov b32 $r1 0x10002\nadd b32 $r1 $r1 $r0\nld b32 $r2 g14[$r1]\nexit nop\n",
    "unmapped": "shl b32 $r1 $r0 0x8\nadd b32 $r1 $r1 0x10000\nst b32 g14[$r1] $r1\nexit nop\n",
    "unbound": "ld b32 $r2 g5[$r0]\nexit nop\n",
    "shared": "shl b32 $r1 $r0 0x4\nshl $a1 $r1 0x0\nmov b32 $r2 b32 s[$a1]\nexit nop\n",
    "constant": "ld $r2 b32 c3[0x40]\nexit nop\n",
    "underflow": "mov b32 $r1 0x1\njoin nop\nexit nop\n",
    "break": "mov b32 $r1 0x1\nbreak\nexit nop\n",
    "trap": "mov b32 $r1 0x1\nlong trap\nexit nop\n",
    "breakpoint": "mov b32 $r1 0x1\nbrkpt\nexit nop\n",
    "deadlock": "bar wait 0x0 0xfff\nbar inc wait 0x0 0x3\nexit nop\n",
    "barrier": "bar inc wait 0x3 0xfff\nexit nop\n",
    "end of code": "mov b32 $r1 0x1\nmov b32 $r2 0x1\n",
    "quad": "quadon\nexit nop\n",
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_the_same_everywhere(name: str) -> None:
    seen: list[tuple[Any, ...]] = []
    for way in WAYS:
        d = device(way)
        d.alloc(0x800)
        with pytest.raises(MachineFault) as e:
            load(d, FAULTS[name]).launch(1, 32)
        f = e.value
        seen.append((f.kind, f.pc, f.block, f.warp, f.lane, f.space, f.address))
    assert seen[1] == seen[0]
    assert seen[2] == seen[0]


def test_a_guarded_bad_access_is_none() -> None:
    """Only lanes that execute are checked, even where the address is the same for all."""
    text = "and b32 $c0 # $r0 $r0\n(s $c0) ld $r2 b32 c3[0x40]\n(s $c0) ld b32 $r2 g5[$r0]\nexit nop\n"
    for way in WAYS:
        assert load(device(way), text).launch(1, 32).warp_instructions == 4


@pytest.mark.parametrize("budget", [1, 2, 5, 8, 13, 21, 30, 40])
def test_budgets_end_at_the_same_instruction(budget: int) -> None:
    ends: list[Any] = []
    for way in WAYS:
        try:
            stats = load(device(way), LOOP + "exit nop\n").launch(1, 32, max_instructions=budget)
            ends.append((stats.instructions, stats.warp_instructions))
        except BudgetExceeded as e:
            ends.append((e.kind, e.pc, e.warp))
    assert ends[1] == ends[0]
    assert ends[2] == ends[0]


@pytest.mark.parametrize("way", ["interp", "jit"])
def test_an_interrupt_ends_an_endless_kernel(way: str) -> None:
    d = device(way)
    kernel = load(d, ENDLESS)
    with pytest.raises(BudgetExceeded):
        kernel.launch(1, 32, max_instructions=1000)  # compiled now, so that the interrupt meets the running kernel
    with interrupted(0.3):
        kernel.launch(4, 64)


@pytest.mark.parametrize("way", ["interp", "jit"])
def test_results_do_not_depend_on_threads(way: str) -> None:
    text = """
    cvt u32 $r1 u16 u16 s[0xc]
    shl b32 $r1 $r1 0x6
    add b32 $r1 $r1 $r0
    shl b32 $r2 $r1 0x2
    add b32 $r2 b32 s[0x10] $r2
    mul $r3 u24 $r1 $r1
    st b32 g14[$r2] $r3
    mov b32 $r4 b32 s[0x14]
    ld add u32 $r5 g14[$r4] $r1
    exit nop
    """
    results: list[Any] = []
    for threads in (1, 2, 3):
        d = device(way, threads=threads)
        kernel = load(d, text, params=["ptr", "ptr"])
        out, total = np.zeros(64 * 50, np.uint32), np.zeros(1, np.uint32)
        stats = kernel.launch(50, 64, out, total)
        results.append((out.tobytes(), int(total[0]), stats.instructions, stats.warp_instructions))
    assert results[0] == results[1] == results[2]
    n = np.arange(64 * 50, dtype=np.uint64)
    assert results[0][0] == (n * n).astype(np.uint32).tobytes()
    assert results[0][1] == int(n.sum()) & 0xFFFFFFFF


def test_the_first_fault_in_block_order_counts() -> None:
    text = "cvt u32 $r1 u16 u16 s[0xc]\nadd b32 $r1 $r1 0xfffffff0\nand b32 $c0 # $r1 $r1\n(s $c0) ret\nlong trap\n"
    for threads in (1, 2):
        with pytest.raises(MachineFault) as e:
            load(device("jit", threads=threads), text).launch(200, 32)
        assert e.value.block == (16, 0)


def test_the_float_environment_of_the_process_stays() -> None:
    load(device("jit"), "add rn f32 $r1 $r1 $r1\nexit nop\n").launch(4, 64)
    tiny = np.full(64, 1e-40, np.float32)
    assert ((tiny + tiny) > 0).all()


def test_compiled_kernels_come_back_from_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISAKIT_CACHE", str(tmp_path))
    text = LOOP.replace("0x7", "0x1f") + "exit nop\n"
    first = load(device("jit"), text).launch(1, 32)
    assert list(tmp_path.rglob("kernels/*"))
    d = device("auto")
    kernel = load(d, text)
    assert kernel.launch(1, 32).instructions == first.instructions
    ready = [k for k in _kernels_of(kernel) if k.compiled is not None]
    assert ready, "the automatic tier takes the compiled kernel it finds"


def _kernels_of(kernel: Any) -> list[kernels.CompiledKernel]:
    launch = kernel._launch(1, 32, b"", None, None, 0)
    return [kernels.kernel_of(launch, "auto")]


def test_a_hot_kernel_gets_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISAKIT_CACHE", str(tmp_path))
    monkeypatch.setattr(kernels, "COMPILE_SECONDS", 0.0)
    kernel = load(device("auto"), LOOP.replace("0x7", "0xf") + "exit nop\n")
    expected = kernel.launch(8, 64).instructions
    (k,) = _kernels_of(kernel)
    assert until(lambda: k.compiled is not None)
    assert kernel.launch(8, 64).instructions == expected


@pytest.mark.parametrize("way", ["interp", "jit"])
def test_a_watcher_hears_of_all_blocks(way: str) -> None:
    heard: list[tuple[int, int]] = []
    with watching(lambda done, total: heard.append((done, total))):
        load(device(way, threads=2), LOOP + "exit nop\n").launch(300, 32)
    assert heard[-1] == (300, 300)
    assert heard == sorted(heard)


def test_portable_code_asks_for_no_special_instructions() -> None:
    target = host(portable=True)
    assert not target.embedded
    assert "+avx512" not in target.features


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_missing", "_unusable"):
        monkeypatch.setattr(tesla_engine, name, lambda: "no llvmlite")
    monkeypatch.setattr(engine_choice, "_told", set())
    with pytest.warns(FallbackWarning, match="no llvmlite") as seen:
        d, another = (isakit.Device(chip, engine="auto") for chip in ("gt200", "g80"))
    assert len(seen) == 1
    assert d.engine == another.engine == "reference"
    with pytest.raises(NotModelled, match="no llvmlite"):
        isakit.Device("gt200", engine="llvm")


def test_a_compiler_that_cannot_be_used_is_told_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tesla_engine, "_unusable", lambda: "LLVM 1 is too old")
    monkeypatch.setattr(tesla_engine, "_usable", cache(tesla_engine._usable.__wrapped__))  # type: ignore[reportPrivateUsage]
    monkeypatch.setattr(engine_choice, "_told", set())
    d = isakit.Device("gt200", engine="auto")
    kernel = load(d, LOOP + "exit nop\n")
    with pytest.warns(FallbackWarning, match="too old"):
        kernel.launch(1, 32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel.launch(1, 32)
    assert d.engine == "reference"


def test_wrong_names() -> None:
    with pytest.raises(LaunchError, match="no engine"):
        isakit.Device("gt200", engine="fast")  # type: ignore[arg-type]
    with pytest.raises(LaunchError, match="no tier"):
        isakit.Device("gt200", tier="turbo")  # type: ignore[arg-type]
    with pytest.raises(LaunchError, match="threads"):
        isakit.Device("gt200", threads=0)


def test_what_compiled_code_leaves_out_runs_all_the_same() -> None:
    """Answers that are not the default ones are left to the reference engine."""
    from isakit.machine.tesla import Choices

    d = isakit.Device("gt200", engine="llvm", choices=Choices(first="fallthrough"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(d, LOOP + "exit nop\n").launch(1, 32).warp_instructions > 0


JOINED = """
    mov b32 $r1 0x1
    and b32 $r1 $r0 $r1
    mov b32 $r2 0x1
    set $c0 # e u32 $r1 $r2
    shl $a1 $r0 0xc
    joinat #met
    (lg $c0) bra #met
    add b32 $r4 $r4 $r2
    met: join add b32 $r4 $r4 c0[$a1+0x0]
    add b32 $r4 $r4 $r4
    exit nop
"""


@pytest.mark.parametrize("way", ["interp", "jit"])
@pytest.mark.parametrize("text", [JOINED, JOINED.replace("joinat #met", "nop")])
def test_faults_at_joins(text: str, way: str) -> None:
    """The `join` tail may have been performed already, or may be what faults."""
    found: list[str] = []
    for d in (isakit.Device("gt200", engine="reference"), device(way)):
        kernel = d.load(isakit.isa("tesla", "gt200").assemble(text), registers=8)["main"]
        kernel.constants[0] = bytes(64)
        with pytest.raises(MachineFault) as e:
            kernel.launch(1, 32)
        found.append(str(e.value))
    assert found[0] == found[1]
    assert ("c0[0x1000]" in found[0]) == ("joinat" in text)

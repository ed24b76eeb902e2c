"""Choosing the engine of a vµc core, and what compiled code must notice: stops, watchers, new code, the host."""

from __future__ import annotations

import importlib.util

import pytest

pytest.importorskip("llvmlite")

from conftest import ROOT
from isakit.errors import IsakitError, LaunchError, MachineFault, NotModelled
from isakit.machine.vuc.compiled.compiled_core import Driver
from isakit.runtime import vuc_engine
from isakit.vuc import Core, Options, header_packet

COUNT = "loop: add $r1 $r1 0x1\nbra #loop\nst D[0x10] $r1"
EXAMPLES = sorted((ROOT / "examples" / "vuc").glob("*.s"))


def compiled(text: str, variant: str = "vp3", options: Options | None = None) -> Core:
    core = Core(variant, options, engine="llvm")
    core.load(text)
    return core


def native_cycles(core: Core) -> int:
    driver = getattr(core.accelerator, "__self__", None)
    assert isinstance(driver, Driver)
    return driver.native_cycles


def test_most_cycles_are_compiled() -> None:
    core = compiled(COUNT)
    stop = core.run(30_000)
    assert (stop.reason, stop.cycles, core.r[1], core.data[0x10]) == ("limit", 30_000, 10_000, 10_000)
    assert native_cycles(core) == 30_000


def test_unknown_engine_is_named() -> None:
    with pytest.raises(LaunchError, match="no engine 'fast'; there are: auto, reference, llvm"):
        Core(engine="fast")  # type: ignore[arg-type]


def test_without_llvmlite(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vuc_engine, "find_spec", lambda name: None)
    assert Core().accelerator is None
    with pytest.raises(NotModelled, match="llvmlite is not installed"):
        Core(engine="llvm")
    assert importlib.util.find_spec("llvmlite") is not None


def test_auto_compiles_once_it_pays() -> None:
    core = Core("vp3")
    core.load(COUNT)
    core.run(1000)
    assert not isinstance(getattr(core.accelerator, "__self__", None), Driver)
    core.run(vuc_engine.WARM_UP + 60_000)
    assert native_cycles(core) >= 60_000
    assert core.r[1] == -(-core.cycle // 3) & 0xFFFF


def test_stops_at_an_address_and_goes_on() -> None:
    core = compiled(COUNT)
    assert core.run(100, until=2).reason == "until"
    assert (core.pc, core.cycle) == (2, 2)
    assert core.run(100, until=2).cycles == 0
    core.step(1)
    assert core.run(100, until=2).cycles == 2
    assert core.run(30).cycles == 30


def test_conditions_see_the_cells() -> None:
    core = compiled(COUNT)
    assert core.run(10_000, until=lambda c: c.data[0x10] == 7).reason == "until"
    assert core.cycle == 21


def test_watched_cycles_are_the_reference_cores() -> None:
    core = compiled(COUNT)
    seen: list[int] = []
    core.on_cycle = lambda c: seen.append(c.pc)
    core.run(7)
    assert seen == [0, 1, 2, 0, 1, 2, 0]
    assert native_cycles(core) == 0


def test_new_code_and_cells_take_effect() -> None:
    core = compiled("loop: ld $r1 D[0x5]\nbra #loop\nadd $r2 $r2 $r1")
    core.data[5] = 1
    core.run(300)
    first = core.r[2]
    core.data[5] = 0x100
    core.run(300)
    assert first < 0x100 < core.r[2]
    core.load("loop: bra #loop\nmov $r2 0x33")
    core.run(10)
    assert core.r[2] == 0x33


def test_spinning_is_noticed() -> None:
    core = compiled("mov $r1 0x5\nend: bra #end\nnop")
    assert core.run(1000, stop_spinning=True).reason == "spinning"


def test_faults_leave_the_state_of_their_cycle() -> None:
    core = compiled("mov $r1 0x7\nst D[0x3] $r1\nret\nnop")
    with pytest.raises(MachineFault, match="CALL_STACK_UNDERFLOW"):
        core.run(100)
    assert (core.pc, core.cycle, core.data[3]) == (2, 2, 7)


def test_interrupt_handlers_see_and_change_cells() -> None:
    core = compiled("mov $r1 0x7\nst D[0x3] $r1\nmov $v2h $r1\nnop\nnop\nld $r2 D[0x3]\nnop\nend: bra #end\nnop")
    core.host["INTR_EN"] = 0xFFFFFFFF
    seen: list[int] = []

    def handler(*what: object) -> None:
        seen.append(core.data[3])
        core.data[3] = 0x55

    core.host.on_interrupt = handler
    core.run(100)
    assert (seen, core.r[2], core.data[3]) == ([7], 0x55, 0x55)


def test_the_watchdog_barks_in_its_cycle() -> None:
    states = []
    for engine in ("reference", "llvm"):
        core = Core("vp3", Options(watchdog_halts=True), engine=engine)
        core.load(COUNT)
        core.host["WDCNT"] = 1234
        assert core.run(5000).reason == "halted"
        states.append(core.state())
    assert states[0] == states[1]
    assert states[0]["cycle"] == 1235


def test_long_programs_compile_what_they_execute() -> None:
    lines = [f"add $r{1 + i % 7} $r{1 + i // 7 % 7} {i % 64:#x}" for i in range(441)]
    states = []
    for engine in ("reference", "llvm"):
        core = Core("vp3", engine=engine)
        core.load("\n".join(["loop:", *lines, "bra #loop", "nop"]))
        core.run(20_000)
        states.append(core.state())
        if engine == "llvm":
            assert native_cycles(core) > 10_000
    assert states[0] == states[1]


@pytest.mark.parametrize(
    "text",
    [
        "lmulu $r1 $r2\nnop\nmov $lhi $r3\nnop\nnop\nor $r4 $lhi 0x0\nor $r5 $llo 0x0",
        "lmulu $r1 $r2\nmov $lhi $r3\nnop\nnop\nor $r4 $lhi 0x0\nladd $r1\nnop\nor $r5 $llo 0x0",
        "mov $pred $r3\nsetgt $p0 $r1 $r2\nor $r4 $pred 0x0\nor $r5 $pred 0x0",
        "mov $pred $r3\nsetgt $p3 $r1 $r2\nor $r4 $pred 0x0\nor $r5 $pred 0x0",
        "setgt $p3 $r1 $r2\nor $r4 $pred 0x0\nsetlt $p3 $r1 $r2\nor $r5 $pred 0x0",
        "ld $r4 D[0x0]\nnop\nmov $r4 0x9\nmov $r5 $r4",
        "ld $r4 D[0x0]\nmov $r4 0x9\nmov $r5 $r4\nmov $r6 $r4",
    ],
    ids=["view and write tie", "write under a product", "pred over p0", "pred over p3", "pred lags", "tie", "late"],
)
def test_writes_that_meet(text: str) -> None:
    for r1, r2, r3 in ((0x1234, 0x321, 0xFFF6), (0x10, 0x7F0, 0x5559), (3, 3, 0)):
        states = []
        for engine in ("reference", "llvm"):
            core = Core("vp3", engine=engine)
            core.load(text + "\nend: bra #end\nnop")
            core.r[1:4] = [r1, r2, r3]
            core.data[0] = 0x77
            core.run(12)
            states.append(core.state())
            if engine == "llvm":
                assert native_cycles(core) == 12
        assert states[0] == states[1]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
@pytest.mark.parametrize("variant", ["vp2", "vp3", "vp4"])
def test_example_programs_end_alike(path, variant: str) -> None:
    states = []
    for engine in ("reference", "llvm"):
        core = Core(variant, engine=engine)
        try:
            core.load(path.read_text(encoding="utf-8"))
        except IsakitError as e:  # instructions of another variant
            pytest.skip(str(e).splitlines()[0])
        core.write_data([(i * 0x1234 + 0x55) & 0xFFFF for i in range(0x800)])
        core.data[0] = 20
        core.feed([*header_packet(address=0, x=0, y=0), *header_packet(address=1, x=1, y=0)])
        ends = []
        for n in range(6):
            core.host["H2V"] = n + 1
            ends.append(core.run(97))
            ends.append(core.state())
        states.append(ends)
    assert states[0] == states[1]

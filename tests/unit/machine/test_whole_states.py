"""An interrupt strikes between cycles of a vµc core and between instructions of a shader, wherever the signal comes."""

from __future__ import annotations

import signal
from typing import Any

import pytest

import isakit
from isakit.engine.llvm import host
from isakit.errors import BudgetExceeded
from isakit.machine.usse import DEFAULT, ShaderCode
from isakit.machine.usse.compiled_shader import CompiledRuns, Runner
from support.farm.interrupts import MICROCODE, SHADER
from support.generators.vuc_programs import everything
from support.runners.usse_engines import differences, machine

COUNT = 40


def test_a_core_stops_between_two_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    program = isakit.isa("vuc", "vp3").assemble(MICROCODE)
    cores = [isakit.vuc.Core("vp3", engine="reference") for _ in range(2)]
    for core in cores:
        core.load(program)
        core.host["WDCNT"] = 30_000  # with a watchdog every cycle is counted by itself
    begin, calls = cores[1].rules.begin, iter(range(1_000_000))

    def struck(core: Any) -> None:
        if next(calls) % 3 == 1:
            signal.raise_signal(signal.SIGINT)
        begin(core)

    monkeypatch.setattr(cores[1].rules, "begin", struck)
    cores[0].run(COUNT)
    with pytest.raises(KeyboardInterrupt):
        cores[1].run(COUNT)
    assert cores[1].cycle == COUNT  # the run was over when the first look at the interrupt was due
    assert everything(cores[0]) == everything(cores[1])


class _Struck(Runner):
    """A signal comes after every stretch."""

    def advance(self, *args: Any) -> int:
        done = super().advance(*args)
        signal.raise_signal(signal.SIGINT)
        return done


@pytest.mark.parametrize("compiled", [True, False])
def test_a_shader_stops_between_two_instructions(compiled: bool) -> None:
    code = ShaderCode(isakit.isa("usse").assemble(SHADER), DEFAULT)
    stretches = CompiledRuns(code, host())
    one, other = machine(48, 1), machine(48, 1)
    for m in (one, other):
        m.start(code)
    with pytest.raises(BudgetExceeded):
        one.resume(COUNT)
    interrupts = 0
    while other.executed < COUNT:
        try:
            other.resume(COUNT - other.executed, _Struck(other, stretches, compiled).advance)
        except KeyboardInterrupt:
            interrupts += 1
    assert interrupts > 2
    files = [{name: m.files[name] for name in m.files} for m in (one, other)]
    assert not differences(files[0], files[1])

"""The sanitizer for the machines of all instruction sets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from isakit.arch.vuc import vuc
from isakit.debug.sanitize.findings import SanitizerReport
from isakit.errors import BudgetExceeded, LaunchError, MachineFault
from isakit.line_table import LineTable
from isakit.machine.targets import target_of

MAX_CYCLES = 1_000_000


def sanitize(
    machine: Any, *, unwritten: Sequence[tuple[int, int]] = (), max_instructions: int | None = None,
    source: LineTable | None = None,
) -> SanitizerReport:  # fmt: skip
    """Run a program to its end and report its errors.

    Args:
        machine: a Tesla `Machine` that has not begun (it is not run; another one runs the launch on the same device
            memory), a vµc `Core`, or a USSE `Machine` whose program was started.
        unwritten: ranges of device memory (address, size) whose content counts as uninitialised.
        max_instructions: limit of the run, as the machine counts; reaching it is a fault.
        source: source lines of the instructions, for the report.

    Raises NotModelled for instructions that the machine cannot execute, LaunchError for a launch that has begun.
    """
    report = SanitizerReport(source=source)
    target = target_of(machine)
    if target.isa == "tesla":
        from isakit.debug.sanitize import tesla_machine

        if machine.stats.warp_instructions:
            raise LaunchError("the launch has begun; the sanitizer takes one that has not")
        tesla_machine.run(machine.launch, machine.device, report, unwritten, max_instructions)
        if machine.after is not None:
            machine.after()
    elif target.isa == "vuc":
        _vuc(machine, report, MAX_CYCLES if max_instructions is None else max_instructions)
    else:
        _usse(machine, report, MAX_CYCLES if max_instructions is None else max_instructions)
    return report


def _vuc(core: Any, report: SanitizerReport, cycles: int) -> None:
    """Report hazards of missing interlocks on the executed path; the linter reports the same for all paths."""
    from isakit.machine.vuc.watch import Watch

    watch = Watch(core)
    end = core.cycle + cycles
    unit = vuc.variant(core.variant).unit_bytes
    try:
        while not core.halted and core.cycle < end:
            waits = core.waiting
            c = watch.step()
            for n in c.notes:
                report.add("hazard", unit * c.pc, c.text, 1, lambda n=n, c=c: f"cycle {c.number}: {n}", unit * n.origin)
            if waits and not core.count:
                break  # only the host could wake it
    except MachineFault as e:
        report.finished = False
        report.add("fault", unit * e.pc, "", 1, lambda e=e: str(e))
    report.finished = report.finished and core.idle


def _usse(machine: Any, report: SanitizerReport, limit: int) -> None:
    """Report reads of registers that neither the program nor its inputs have written."""
    written = {name: np.zeros(rows.shape, bool) for name, rows in machine.files.items()}
    for given in ("pa", "sa"):
        written[given][:] = True  # inputs, uniforms and what the secondary program left
    program = machine.code.program
    for _ in range(limit):
        if machine.finished:
            return
        pc = min(machine.waiting)
        mask, i = machine.waiting[pc], program[pc]
        lanes = np.ones(machine.lanes, bool) if mask is None else mask.copy()
        step = machine.code.steps[pc]
        executing = lanes
        if step is not None and step.pred is not None:
            number, inverted = step.pred
            p = machine.files["p"][int(number)]
            executing = lanes & (~p if inverted else p)
        for file, n in i.uses:
            rows = written.get(file)
            if rows is None or n >= len(rows):
                continue
            bad = np.flatnonzero(executing & ~rows[n])
            if len(bad):
                name = f"{file}{n}"
                report.add("uninitialised-register", i.address, i.text, len(bad),
                           lambda name=name, k=bad[0]: f"{name} of invocation {k}")  # fmt: skip
                rows[n, bad] = True
        try:
            machine.step()
        except BudgetExceeded:
            raise
        except MachineFault as e:
            report.finished = False
            report.add("fault", i.address, i.text, 1, lambda e=e: str(e))
            return
        for file, n in i.defs:
            rows = written.get(file)
            if rows is not None and n < len(rows):
                rows[n, executing] = True
    report.finished = machine.finished

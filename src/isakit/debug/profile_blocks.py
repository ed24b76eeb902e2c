"""Counts of a profile summed over basic blocks."""

from __future__ import annotations

from collections.abc import Mapping

from isakit.analysis.control_flow import control_flow
from isakit.asm import Program
from isakit.debug.profile_records import BlockCounts, Line
from isakit.programs.kernel_names import source_name


def block_counts(program: Program, lines: Mapping[int, Line], labels: Mapping[str, int]) -> list[BlockCounts]:
    """Return the blocks that were executed, by address. `labels`: addresses by name."""
    names = {address: source_name(name) for name, address in labels.items()}
    out: list[BlockCounts] = []
    for block in control_flow(program, sorted(names)).blocks:
        mine = [lines[i.address] for i in block.instructions if i.address in lines]
        if not mine:
            continue
        first = lines.get(block.address)
        sums = {n: sum(getattr(x, n) for x in mine) for n in
                ("lanes", "possible", "divergent", "moved", "used", "serialized")}  # fmt: skip
        out.append(
            BlockCounts(
                names.get(block.address, f"{block.address:04x}"),
                block.address,
                block.end,
                0 if first is None else first.executions,
                sum(x.executions for x in mine),
                **sums,
            )
        )
    return out


def block_table(blocks: list[BlockCounts]) -> list[str]:
    """Format the blocks as lines of text."""
    out = [f"{'entered':>9} {'executed':>9} {'lanes':>6} {'divergent':>9} {'moved':>9} {'serial':>6}  block"]
    for b in blocks:
        lanes = f"{100 * b.lanes / b.possible:.0f}%" if b.possible else ""
        out.append(f"{b.entered:>9} {b.instructions:>9} {lanes:>6} {b.divergent or '':>9} {b.moved or '':>9} "
                   f"{b.serialized or '':>6}  {b.address:04x}-{b.end:04x} {b.name}")  # fmt: skip
    return out


__all__ = ["block_counts", "block_table"]

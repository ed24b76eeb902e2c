"""Additions to a listing: live ranges as columns, and headings of blocks."""

from __future__ import annotations

from collections.abc import Iterator

from isakit.analysis.control_flow import ControlFlow, EdgeKind
from isakit.analysis.dominators import loop_depths
from isakit.analysis.liveness import liveness
from isakit.codec import Instruction


class LiveColumns:
    """A column per register: `^` written, `v` read, `x` both, `:` live, blank where it is dead.

    The columns of each register file follow the number of its live registers. A register that is written and never read
    is shown only where it is written.
    """

    def __init__(self, flow: ControlFlow) -> None:
        live = liveness(flow)
        touched: dict[str, set[int]] = {}
        for b in flow.blocks:
            for i in b.instructions:
                for file, n in (*i.uses, *i.defs):
                    touched.setdefault(file, set()).add(n)
        # An operand with an index register may be any register of its file, which says nothing about most of them.
        self.files = {file: sorted(found) for file, found in touched.items()}
        self._rows: dict[int, str] = {}
        for b in flow.blocks:
            after = live.after(b.instructions[-1].address)
            for i in reversed(b.instructions):
                before = live.before(i.address)
                self._rows[i.address] = self._row(i, before | after)
                after = before

    def _row(self, i: Instruction, live: frozenset[tuple[str, int]]) -> str:
        reads, writes = set(i.uses), set(i.defs)
        pieces: list[str] = []
        for file, numbers in self.files.items():
            shown = 0
            marks: list[str] = []
            for n in numbers:
                place = file, n
                used, written, alive = place in reads, place in writes, place in live
                marks.append("x" if used and written else "v" if used else "^" if written else ":" if alive else " ")
                shown += used or written or alive
            pieces.append(f"{shown or '':>3} {''.join(marks)}")
        return "|".join(["", *pieces, ""])

    def of(self, i: Instruction) -> str:
        """Return the columns of an instruction."""
        return self._rows.get(i.address, "")

    def heads(self) -> Iterator[str]:
        """Yield lines over the columns: the files, and the numbers of their registers written downwards."""
        digits = max((len(str(n)) for numbers in self.files.values() for n in numbers), default=1)
        yield "|".join(["", *(f"{f'  # {file}':<{4 + len(n)}}"[: 4 + len(n)] for file, n in self.files.items()), ""])
        for d in range(digits):
            rows = ("".join(f"{n:>{digits}}"[d] for n in numbers) for numbers in self.files.values())
            yield "|".join(["", *(f"    {row}" for row in rows), ""])


class BlockHeadings:
    """A blank line and a comment before each block: its number, its predecessors, its loop depth."""

    def __init__(self, flow: ControlFlow) -> None:
        self._lines: dict[int, tuple[str, ...]] = {}
        depth = loop_depths(flow)
        entries = {f.entry: f.number for f in flow.functions}
        for b in flow.blocks:
            facts: list[str] = []
            if b.address in entries:
                facts.append(f"function {entries[b.address]}")
            came = [f"{e.source}{'' if e.kind is EdgeKind.NEXT else f' ({e.kind.value})'}"
                    for e in flow.predecessors[b.number]]  # fmt: skip
            facts += [f"from {', '.join(came)}"] if came else []
            facts += [f"loop depth {depth[b.number]}"] if b.number in depth else []
            facts += ["lanes meet"] if b.joins else []
            facts += ["not reached"] if b.function is None else []
            head = f"// block {b.number}" + (f": {'; '.join(facts)}" if facts else "")
            self._lines[b.address] = (head,) if not b.number else ("", head)

    def of(self, i: Instruction) -> tuple[str, ...]:
        """Return the lines before an instruction."""
        return self._lines.get(i.address, ())

"""Notes of the analyses on single instructions, in words, and the structure that an instruction set gives a program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from isakit.analysis.chains import Chains
from isakit.analysis.control_flow import ControlFlow
from isakit.analysis.uniformity import Uniformity, dead_code
from isakit.asm import Program
from isakit.codec import Instruction
from isakit.lean import dataclass
from isakit.results import record
from isakit.spec import InstructionKind


@dataclass(frozen=True)
class Phase:
    """A part of a shader that runs without interruption, between two `phas`.

    `address` and `end` are byte addresses, of its first instruction and after its last; `text` is its `phas`, which
    names what it waits for; empty if no `phas` begins it.
    """

    address: int
    end: int
    text: str


def phases(program: Program) -> list[Phase]:
    """Return the phases of a USSE program, none for other instruction sets. Source: [usse] 1."""
    if program.isa != "usse":
        return []
    out: list[Phase] = []
    for i in program:
        if i.mnemonic == "phas" or not out:
            out.append(Phase(i.address, i.address + i.size, i.text if i.mnemonic == "phas" else ""))
        else:
            out[-1] = Phase(out[-1].address, i.address + i.size, out[-1].text)
    return out


def repeats(i: Instruction) -> int:
    """Return how often an instruction is executed by its own repeat field (USSE), else 1."""
    for o in i.operands:
        if o.name == "rpt" and isinstance(getattr(o, "value", None), int):
            return int(getattr(o, "value", 1))
    return 1


def delay_slots(program: Program) -> dict[int, int]:
    """Return address of an instruction in a delay slot -> address of the branch, call or return before it."""
    slots = program.decoder.isa.delay_slots
    out: dict[int, int] = {}
    code: Sequence[Instruction] = program.instructions if slots else ()
    for k, i in enumerate(code):
        if i.group in (InstructionKind.BRANCH, InstructionKind.CALL, InstructionKind.RETURN) or i.targets:
            for behind in code[k + 1 : k + 1 + slots]:
                if behind.valid:
                    out[behind.address] = i.address
    return out


@record
class NotesRecord:
    """The notes on a program's instructions, by byte address."""

    uniform: list[int]
    divergent_branches: list[int]
    dead: list[int]
    phases: list[Phase]
    repeats: dict[int, int]
    guards: dict[int, str]
    delay_slots: dict[int, int]
    hazards: dict[int, list[str]]


class Notes:
    """Remarks on the instructions of a program.

    `hazards` are remarks of other tools, by address, such as those of `isakit.vuc.lint`; `uniformity`, `dead`, `phases`
    and `slots` are the analyses that the notes are made from.
    """

    def __init__(self, flow: ControlFlow, hazards: Mapping[int, Sequence[str]] | None = None) -> None:
        chains = Chains(flow)
        self.flow = flow
        self.uniformity = Uniformity(flow, chains)
        self.dead = frozenset(dead_code(flow, chains))
        self.phases = phases(flow.program)
        self.slots = delay_slots(flow.program)
        self.hazards = dict(hazards or {})
        self._starts = {p.address: n for n, p in enumerate(self.phases)}

    def of(self, i: Instruction) -> list[str]:
        """Return the notes on an instruction."""
        return list(self._found(i))

    def _found(self, i: Instruction) -> Iterator[str]:
        if i.address in self._starts:
            yield f"phase {self._starts[i.address]}"
        if i.address in self.dead:
            yield "dead"
        if i.address in self.uniformity.branches:
            yield "divergent branch"
        elif i.defs and self.flow.program.decoder.isa.uniform_inputs is not None and self.uniformity.writes_uniform(i):
            yield "uniform"
        if i.guard is not None:
            yield f"only if {i.guard}"
        count = repeats(i)
        if count > 1:
            yield f"{count} times"
        if i.address in self.slots:
            yield "delay slot"
        yield from self.hazards.get(i.address, ())

    def record(self) -> NotesRecord:
        """Return all notes as a record."""
        code = [i for b in self.flow.blocks for i in b.instructions]
        return NotesRecord(
            uniform=[i.address for i in code if i.defs and self.uniformity.writes_uniform(i)],
            divergent_branches=sorted(self.uniformity.branches),
            dead=sorted(self.dead),
            phases=self.phases,
            repeats={i.address: n for i in code if (n := repeats(i)) > 1},
            guards={i.address: str(i.guard) for i in code if i.guard is not None},
            delay_slots=self.slots,
            hazards={a: list(found) for a, found in sorted(self.hazards.items())},
        )

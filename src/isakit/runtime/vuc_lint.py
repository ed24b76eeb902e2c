"""A static look at vµc programs: reads inside a latency window, lost results, undocumented behaviour.

The machine has no interlocks, so a program that reads a register too early runs and computes with the old value. The
linter follows every path from a late write until it is visible. Source: [vuc] 8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from isakit.arch.vuc import vuc
from isakit.arch.vuc.registers import SR, special_names
from isakit.asm import Program, assemble
from isakit.codec import decoder
from isakit.errors import MachineFault, NotModelled
from isakit.flow.graph import reachable
from isakit.machine.vuc.core_code import CoreOp, Register, decode
from isakit.machine.vuc.watch import MACROBLOCK, WINDOW, register_name

MBIREAD_LATENCY = 5


@dataclass(frozen=True)
class Finding:
    """One remark about the instruction at `address` (counted in instructions).

    `kind`: `early-read`, `overwritten` (a write that an older load overwrites when it lands), `aborted` (a long
    operation ends an older one), `read-only`, `branch-in-delay-slot`, `two-branches`, `undecodable`, `unknown`,
    `runs-off`. `certain` is false where it depends on a conditional branch or a guard.
    """

    address: int
    kind: str
    message: str
    certain: bool = True

    def __str__(self) -> str:
        return f"{self.address:#05x}: {self.kind}{'' if self.certain else ' (on some path)'}: {self.message}"


@dataclass(frozen=True)
class _Late:
    """A write in flight: the register, the first cycle (relative to issue) a reader sees it, the cycle it lands.

    Two registers are the linter's own: `mb`, the macroblock registers, and `view`, $lhi and $llo read by name.
    """

    register: Register
    visible: int
    lands: int


def lint(program: Program | Sequence[int] | str, variant: str = "") -> list[Finding]:
    """Return the findings about a program, in address order.

    Args:
        program: a `Program`, instruction words (which need `variant`), or assembly text.
        variant: `vp2`, `vp3` or `vp4`; default: that of the program, vp3 for text.
    """
    if isinstance(program, str):
        program = assemble(program, decoder(vuc, variant or "vp3"))
    if isinstance(program, Program):
        variant, words = variant or program.variant, list(program.words)
    else:
        words = list(program)
    found = _Linter(vuc.variant(variant or "vp3").name, words).findings()
    return _distinct(found)


_CYCLES = re.compile(r" \d+ cycles? too early")


def _distinct(found: list[Finding]) -> list[Finding]:
    """Return one finding of those that only differ in their path, the certain one, else the worst; by address."""
    best: dict[tuple[int, str, str], tuple[tuple[bool, int], Finding]] = {}
    for f in found:
        number = _CYCLES.search(f.message)
        rank = f.certain, int(number[0].split()[0]) if number else 0
        key = f.address, f.kind, _CYCLES.sub("", f.message)
        if key not in best or rank > best[key][0]:
            best[key] = rank, f
    return [best[k][1] for k in sorted(best)]


class _Linter:
    def __init__(self, variant: str, words: Sequence[int]) -> None:
        self.variant = variant
        self.features = vuc.variant(variant).features | {variant}
        self.names = special_names(self.features)
        self.ops: list[CoreOp | None] = []
        self.problems: list[Finding] = []
        for at, word in enumerate(words):
            try:
                self.ops.append(decode(variant, word, at))
            except (MachineFault, NotModelled) as e:
                self.ops.append(None)
                self.problems.append(Finding(at, "undecodable", f"{e}"))
        self.returns = [at + 2 for at, op in enumerate(self.ops) if op is not None and "call" in op.footprint.controls]

    def findings(self) -> list[Finding]:
        out = list(self.problems)
        reached = self._reached()
        out = [f for f in out if f.address in reached]
        for at in sorted(reached):
            op = self.ops[at] if at < len(self.ops) else None
            if op is None:
                continue
            out += self._alone(at, op)
            for npc in sorted(reached[at]):
                for late in self._late(op):
                    out += self._follow(at, npc, op, late, len(reached[at]) == 1)
        if any(at >= len(self.ops) for at in reached):
            last = max(at for at in reached if at < len(self.ops))
            out.append(Finding(last, "runs-off", "execution can leave the program behind this instruction"))
        return out

    # --- control flow -------------------------------------------------------------------------------------------------
    def _targets(self, at: int, op: CoreOp) -> tuple[list[int], bool]:
        """Return the possible successors of the delay slot by a branch, and whether falling through is possible."""
        out: list[int] = []
        straight = True
        controls = op.footprint.controls
        if "branch" in controls or "call" in controls:
            out.append(_target(op))
            straight = op.guard not in (-1, 15)
        elif "return" in controls:
            out += self.returns
            straight = op.guard not in (-1, 15)
        if op.relative is not None:
            out.append((at + op.relative[2]) & 0x7FF)
            if op.relative[0] == 15 and not op.relative[1] and not out[:-1]:
                straight = False
        return out, straight

    def _successors(self, at: int, npc: int) -> list[tuple[int, int]]:
        """Return (pc, next pc) pairs after the instruction at `at` whose successor is `npc`."""
        op = self.ops[at] if at < len(self.ops) else None
        if op is None:
            return []
        targets, straight = self._targets(at, op)
        return [(npc, t) for t in targets] + ([(npc, npc + 1)] if straight else [])

    def _reached(self) -> dict[int, set[int]]:
        """Return every reachable address with the addresses that may follow it."""
        out: dict[int, set[int]] = {}
        for at, npc in reachable([(0, 1)], lambda state: self._successors(*state)):
            out.setdefault(at, set()).add(npc)
        return out

    # --- late writes --------------------------------------------------------------------------------------------------
    def _late(self, op: CoreOp) -> Iterator[_Late]:
        for register, latency in op.footprint.delayed:
            if register[0] == "sr":
                yield _Late(register, latency + 1, latency)
            elif register[0] == "acc":
                yield _Late(register, latency, latency)
                yield _Late(("view", 0), latency + 1, latency)
            elif latency > 1:
                yield _Late(register, latency, latency)
        if "mbiread" in op.footprint.controls:
            yield _Late(("mb", 0), MBIREAD_LATENCY + 1, MBIREAD_LATENCY)

    def _follow(self, origin: int, npc: int, op: CoreOp, late: _Late, sure_way: bool) -> Iterator[Finding]:
        """Walk all paths after a late write until a reader would see it."""
        seen: set[tuple[int, int, int]] = set()
        certain = sure_way and op.guard in (-1, 15)
        todo = [(state, 1, certain) for state in self._successors(origin, npc)]
        while todo:
            (at, following), age, sure = todo.pop()
            if age >= late.visible or (at, following, age) in seen or at >= len(self.ops):
                continue
            seen.add((at, following, age))
            reader = self.ops[at]
            if reader is None:
                continue
            sure_here = sure and reader.guard in (-1, 15, op.guard)
            missing = late.visible - age
            for register in sorted(_affected(late.register, reader)):
                cycles = f"{missing} cycle{'s' if missing > 1 else ''}"
                name = register_name(register, self.features)
                message = f"reads {name} {cycles} too early: {self._text(origin)} at {origin:#x} has not landed"
                yield Finding(at, "early-read", message, sure_here)
            ended = False
            if late.register in reader.footprint.direct:
                if age + 1 < late.lands:
                    name = register_name(late.register, self.features)
                    message = f"writes {name}, but {self._text(origin)} at {origin:#x} lands later and overwrites it"
                    yield Finding(at, "overwritten", message, sure_here)
                ended = reader.guard in (-1, 15)
            if age < late.lands and late.register[0] in ("acc", "view") and _is_long(reader):
                if late.register[0] == "acc":
                    message = f"ends {self._text(origin)} at {origin:#x} before it is done; its result is lost"
                    yield Finding(at, "aborted", message, sure_here)
                ended = True
            if not ended:
                successors = self._successors(at, following)
                todo += [(s, age + 1, sure and len(successors) == 1) for s in successors]

    def _text(self, at: int) -> str:
        op = self.ops[at]
        return f"`{op.instruction.plain_text}`" if op is not None else "?"

    # --- single instructions ------------------------------------------------------------------------------------------
    def _alone(self, at: int, op: CoreOp) -> Iterator[Finding]:
        for (file, n), _ in op.footprint.delayed:
            if file == "sr" and n in _read_only(self.variant):
                yield Finding(at, "read-only", f"{self.names[n]} cannot be written; nothing happens")
            if file == "sr" and self.names[n].startswith("$sr"):
                yield Finding(at, "unknown", f"the meaning of {self.names[n]} is not known")
        if "unknown" in op.footprint.controls:
            yield Finding(at, "unknown", f"the effect of {op.instruction.mnemonic} is not known")
        branches = bool({"branch", "call", "return"} & set(op.footprint.controls))
        if branches and op.relative is not None:
            yield Finding(at, "two-branches", "both slots branch; if both are taken, the main slot wins")
        before = self.ops[at - 1] if at else None
        if before is not None and (branches or op.relative is not None):
            earlier = bool({"branch", "call", "return"} & set(before.footprint.controls)) or before.relative is not None
            if earlier:
                yield Finding(at, "branch-in-delay-slot", "the effect of a branch in a delay slot is not known")


def _is_long(op: CoreOp) -> bool:
    """Return true if the instruction uses the long arithmetic unit."""
    return any(r[0] == "acc" for r, _ in op.footprint.delayed)


def _target(op: CoreOp) -> int:
    from isakit.arch.vuc.fields import BTARG

    return BTARG.get(op.instruction.word)


def _affected(late: Register, reader: CoreOp) -> set[Register]:
    """Return the registers read by an instruction that a write in flight will change."""
    reads = reader.footprint.reads
    file, n = late
    specials = {r for r in reads if r[0] == "sr"}
    if file == "mb":
        return {r for r in specials if r[1] in MACROBLOCK}
    if file == "view":
        return {r for r in specials if r[1] in (SR["lhi"], SR["llo"])}
    out = {late} & reads
    if file == "sr":
        if n == SR["spidx"]:
            out |= {r for r in specials if r[1] in WINDOW}
        if n == SR["pred"]:
            out |= {r for r in reads if r[0] == "p"}
        if n in (SR["lhi"], SR["llo"]):
            out |= {("acc", 0)} & reads
    return out


def _read_only(variant: str) -> frozenset[int]:
    names = {"h2v", "pc", "cspos", "mbxy", "mbaddr", "submbtype"} | ({"lhi", "llo"} if variant == "vp2" else set[str]())
    return frozenset(SR[n] for n in names) | frozenset(range(32, 43)) | frozenset(range(48, 59))

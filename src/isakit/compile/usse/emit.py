"""Text of machine instructions with assigned registers, which the assembler encodes by the records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from isakit.compile.ir import Loc
from isakit.compile.lower.form import MBlock, MFunction, MIns, OperandReg, VReg
from isakit.compile.usse import instructions as hw
from isakit.compile.usse.operands import FixedView, View, named, placed
from isakit.compile.usse.registers import Registers
from isakit.compile.vector_ops import CHANNELS

SWAPPED = {"eq": "eq", "ne": "ne", "lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
Operand = OperandReg | FixedView


@dataclass
class CodeText:
    """A program as assembly.

    Attributes: `lines` (the text of each instruction), `places` (the origin of each), `kills` (numbers of the
    instructions that discard), `starts` (number of the first instruction of every block, in order), `numbers` (of the
    instructions, those of the branches in `endings` too).
    """

    lines: list[str] = field(default_factory=list[str])
    places: list[Loc] = field(default_factory=list[Loc])
    kills: list[int] = field(default_factory=list[int])
    starts: list[int] = field(default_factory=list[int])
    numbers: dict[MIns, int] = field(default_factory=dict[MIns, int])
    endings: dict[MBlock, list[MIns]] = field(default_factory=dict[MBlock, list[MIns]])


class Emitter:
    """Writes the instructions of a program.

    `literals` and `once` are the registers sa of the first word of the pool, and of the values computed once.
    """

    def __init__(self, m: MFunction, registers: Registers, literals: int, once: int = 0) -> None:
        self.m, self.registers = m, registers
        self.starts = {"literal": literals, "once": once}

    def run(self) -> CodeText:
        """Write all instructions; branches are relative."""
        out = CodeText()
        branches: list[tuple[int, str, MBlock]] = []
        starts: dict[MBlock, int] = {}
        blocks = self.m.blocks
        for k, b in enumerate(blocks):
            starts[b] = len(out.lines)
            out.starts.append(len(out.lines))
            for i in b.ins:
                if i.op is hw.KILL:
                    out.kills.append(len(out.lines))
                line = self.text(i)
                last = out.lines[-1] if len(out.lines) > starts[b] else ""
                longer = _repeated(last, line) or _repeated_dot(last, line)
                if longer is not None:
                    out.lines[-1] = longer
                    continue
                out.numbers[i] = len(out.lines)
                out.lines.append(line)
                out.places.append(i.loc)
            after = blocks[k + 1] if k + 1 < len(blocks) else None
            for guard, target in self._ending(b, after):
                branches.append((len(out.lines), guard, target))
                branch = MIns(hw.BRANCH, {})
                out.numbers[branch] = len(out.lines)
                out.endings.setdefault(b, []).append(branch)
                out.lines.append("")
                out.places.append(b.loc)
        for at, guard, target in branches:
            out.lines[at] = f"{guard}br {starts[target] - at:+d}"
        return out

    def _ending(self, b: MBlock, after: MBlock | None) -> list[tuple[str, MBlock]]:
        if b.cond is None:
            return [("", s) for s in b.succs if s is not after]
        p, test, _ = b.cond
        yes, no = b.succs
        if yes is after:
            return [(self.guard((p, "" if test == "!" else "!")), no)]
        return [(self.guard((p, test)), yes)] + ([] if no is after else [("", no)])

    # --- one instruction --------------------------------------------------------------------------------------------
    def guard(self, guard: tuple[VReg, str] | None) -> str:
        """Return the predicate before an instruction."""
        return f"{guard[1]}p{guard[0].color} " if guard is not None else ""

    def text(self, i: MIns) -> str:
        """Return the text of an instruction."""
        op = i.op
        assert isinstance(op, hw.UsseOp)
        guard = self.guard(i.guard)
        if op is hw.KILL:
            return f"kill !p{i.ops['cond'].v.color}"
        if op is hw.NOTHING:
            return "nop"
        if op is hw.WAIT:
            return "wdf drc0"
        if op is hw.SAMPLE:
            level = f" {i.ops['lodmode']} {self.word(i.ops['src2'])}" if "src2" in i.ops else ""
            where = f"{self.word(i.ops['dst'])} {self.word(i.ops['src0'])} {self.word(i.ops['src1'])}"
            return f"{guard}{i.ops['name']} {i.ops['conv']} {where}{level} drc0"
        if op is hw.LOAD:
            operands = " ".join(self.word(i.ops[n]) for n in ("dst", "src0", "src1", "src2"))
            return f"{guard}{op.mnemonic} {operands} {i.ops['count']} drc0"
        if op is hw.IMMEDIATE:
            return f"{guard}{op.mnemonic} {self.word(i.ops['dst'])} {i.ops['src1'].base.number:#x}"
        if op is hw.DEPTH:
            return f"depthf {self.word(i.ops['src0'])} #0x0 #0x0"
        if op in hw.TEST.values() or op is hw.TEST_BITS or op in hw.TEST_INTEGER.values():
            return guard + self._test(i, op)
        if not op.mask:
            words = " ".join(self.word(i.ops[n], i) + (" neg2" if n == "src2" and i.ops.get("neg2") else "")
                             for n, _ in op.sources)  # fmt: skip
            step = f" {i.ops['step']}" if i.ops.get("step") else ""
            return f"{guard}{op.mnemonic} {self.word(i.ops['dst'])} {words}{step}"
        if op in hw.BYTES.values():
            source = self._source(op.reach("src1"), i.ops["src1"], op.lanes(()), op, i)
            return f"{guard}{op.mnemonic} {self.word(i.ops['dst'])}.xyzw {source} {op.tail}"
        lanes, dst = self._destination(i.ops["dst"], op)
        sources = " ".join(self._source(reach, i.ops[n], op.lanes(lanes), op, i) for n, reach in op.sources)
        return f"{guard}{op.mnemonic} {dst} {sources}" + (f" {op.tail}" if op.tail else "")

    def _destination(self, r: OperandReg, op: hw.UsseOp) -> tuple[tuple[int, ...], str]:
        """Return (channels that the elements of a result occupy, the operand)."""
        view: View = r.view
        color = r.v.color
        assert color is not None
        first, n = view.channels[0], len(view.channels)
        assert isinstance(first, int)
        if r.v.cls.file == "i":
            lanes = tuple(range(color % 4 + first, color % 4 + first + n))
            return lanes, f"i{color // 4}.{_mask(lanes)}"
        per = 4 if view.ty == "f16" else 2
        at = color * (per // 2) + first
        lanes = tuple(range(at % per, at % per + n))
        written = {k for lane in lanes for k in (lane, lane ^ 1)} if op.halves else set(lanes)
        return lanes, f"{self.registers.name(r.v.cls, at // per * 2)}.{_mask(sorted(written))}"

    def _named(self, o: Operand) -> tuple[str, int, View]:
        """Return (bank, register or channel of element 0, view)."""
        if isinstance(o, OperandReg):
            assert o.v.color is not None
            return o.v.cls.file, o.v.color, o.view
        if o.base.bank in self.starts:
            return "sa", self.starts[o.base.bank] + o.base.number, o.view
        return o.base.bank, o.base.number, o.view

    def _register(self, o: Operand, number: int, i: MIns) -> str:
        if isinstance(o, OperandReg):
            return self.registers.name(o.v.cls, number) if o.v.cls.file != "i" else f"i{number}"
        if o.base.bank in ("sa1", "sa2"):
            scale = "*2" if o.base.bank == "sa2" else ""
            return f"sa[idx{i.ops['via'].v.color}{scale}+{number}]"
        return f"{'sa' if o.base.bank in self.starts else o.base.bank}{number}"

    def _source(self, reach: hw.Reach, o: Operand, lanes: tuple[int, ...], op: hw.UsseOp, i: MIns) -> str:
        bank, at, view = self._named(o)
        number, letters = named(reach, bank, at, view, lanes)
        assert number >= 0, f"{i}: {view} at {bank}{at} for lanes {lanes}"
        name = self._register(o, number, i)
        text = f"{name}.{letters}"
        second = ""
        if op.mnemonic.startswith("vpck") and op.mnemonic.endswith(".f32"):
            second = " #0x0" if bank == "i" else f" {self._register(o, number + 2, i)}"
        text = f"|{text}|" if view.abs else text
        return ("-" if view.neg else "") + text + second

    def _test(self, i: MIns, op: hw.UsseOp) -> str:
        a, b, cond, p = i.ops["src1"], i.ops["src2"], i.ops["cond"], i.ops["dst"].v.color
        if op not in hw.TEST.values():
            return f"{op.mnemonic} {cond} p{p}.x {self.word(a)} {self.word(b)}"
        for x, y, c in ((a, b, cond), (b, a, SWAPPED[cond])):
            reach = op.reach("src1")
            for (n1, (c1,)), (n2, (c2,)) in (
                (f, g) for f in placed(*self._named(x), reach) for g in placed(*self._named(y), reach)
            ):
                if c1 == c2 or c2 == 0:
                    assert isinstance(c1, int)
                    second = "xyzw" if c1 == c2 else "xxxx"
                    first = self._register(x, n1, i)
                    return f"{op.mnemonic} {c} p{p}.{CHANNELS[c1]} {first} {self._register(y, n2, i)}.{second}"
        raise AssertionError(f"{i}: no common channel")

    def word(self, o: Operand, i: MIns | None = None) -> str:
        """Return the text of an operand that is one register, or an immediate."""
        if isinstance(o, OperandReg):
            assert o.v.color is not None
            return self.registers.name(o.v.cls, o.v.color + o.unit)
        if o.base.bank in ("sa1", "sa2"):
            assert i is not None
            return self._register(o, o.base.number, i)
        if o.base.bank == "#":
            return f"#{o.base.number:#x}"
        if o.base.bank == "g":
            return f"g{o.base.number}"
        return f"sa{o.base.number + self.starts.get(o.base.bank, 0)}"


def _mask(lanes: Sequence[int]) -> str:
    return "".join(CHANNELS[k] for k in lanes)


_MOVE = re.compile(r"(?:!?p\d )?vmov\.f32 ([a-z]+)(\d+)\.xy ([a-z]+)(\d+)\.xyxy(?: repeat (\d))?")
MOST_REPEATS = 4


_DOT = re.compile(
    r"(?P<op>(?:!?p\d )?vdp[34]\.f32) (?P<to>[a-z]+)(?P<at>\d+)\.(?P<lane>[xyzw]) "
    r"(?P<sign>-?\|?)(?P<of>[a-z]+)(?P<number>\d+)(?P<rest>\.\w+\|? \S+) (?:rpt_slmsi|repeat (?P<n>\d))"
)


def _repeated_dot(before: str, line: str) -> str | None:
    """Return a dot product and one of the next four registers into the next channel as one repeated one, else None.

    Outside of the internal registers channels z and w are the next pair of registers.
    """
    a, b = _DOT.fullmatch(before), _DOT.fullmatch(line)
    if a is None or b is None or b["n"] or a["of"] == "i" or a["to"] == a["of"]:
        return None
    n, lane, apart = int(a["n"] or 1), CHANNELS.index(a["lane"]), int(b["at"]) - int(a["at"])
    same = all(a[k] == b[k] for k in ("op", "to", "sign", "of", "rest")) and (a["to"] != "i" or not apart)
    follows = apart + CHANNELS.index(b["lane"]) == lane + n and int(b["number"]) == int(a["number"]) + 4 * n
    if not same or not follows or lane + n >= MOST_REPEATS:
        return None
    return f"{before.removesuffix(' rpt_slmsi').partition(' repeat')[0]} repeat {n + 1}"


def _repeated(before: str, line: str) -> str | None:
    """Return a copy of a register pair, and the copy of the next pair after it, as one repeated one, else None."""
    a, b = _MOVE.fullmatch(before), _MOVE.fullmatch(line)
    if a is None or b is None or b[5] or a[1] == "i" or a[3] == "i":
        return None
    n = int(a[5] or 1)
    guards = {text.partition("vmov")[0] for text in (before, line)}
    follows = (
        len(guards) == 1 and (a[1], a[3]) == (b[1], b[3]) and int(b[2]) - int(a[2]) == int(b[4]) - int(a[4]) == 2 * n
    )
    overlaps = a[1] == a[3] and int(a[4]) < int(b[2]) + 2 and int(a[2]) < int(b[4]) + 2
    if not follows or n == MOST_REPEATS or overlaps:
        return None
    return f"{before.partition(' repeat')[0]} repeat {n + 1}"

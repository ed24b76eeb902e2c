"""The lut instruction: tables over the current macroblock's type, partitions and vectors.

Source: [vuc] 6; macroblock and sub-macroblock types by [h264] tables 7-11, 7-13, 7-14, 7-17, 7-18.
"""

from __future__ import annotations

from isakit.arch.vuc.forms import forms
from isakit.arch.vuc.registers import SR
from isakit.arch.vuc.requests import PEEK, SUBMBTYPE
from isakit.arch.vuc.vuc import vuc
from isakit.sem import Table, Value, concat, const, lookup, select, u1
from isakit.spec import Ref

DIRECT, L0, L1, BI = 0, 1, 2, 3
WHOLE, ROWS, COLUMNS, QUARTERS = 0, 1, 2, 3
"""Divisions of a region: not at all, into an upper and a lower, a left and a right half, into four."""

P_SKIP, B_SKIP, I_NXN, I_PCM, P_8X8, P_8X8REF0, B_8X8 = 0x7F, 0x7E, 0x00, 0x19, 0x23, 0x24, 0x56
WITH_SUB_TYPES = (P_8X8, P_8X8REF0, B_8X8, B_SKIP)

# $mbtype -> (partitions, division, mode of partition 0, mode of partition 1)
_Shape = tuple[int, int, int, int]
MB_TYPES: dict[int, _Shape] = {
    I_NXN: (4, QUARTERS, 0, 0),
    **{t: (1, WHOLE, 0, 0) for t in range(0x01, 0x19)},
    I_PCM: (4, QUARTERS, 0, 0),
    0x20: (1, WHOLE, L0, 0),
    0x21: (2, ROWS, L0, L0),
    0x22: (2, COLUMNS, L0, L0),
    P_8X8: (4, QUARTERS, 0, 0),
    P_8X8REF0: (4, QUARTERS, 0, 0),
    0x40: (1, WHOLE, DIRECT, 0),
    0x41: (1, WHOLE, L0, 0),
    0x42: (1, WHOLE, L1, 0),
    0x43: (1, WHOLE, BI, 0),
    **{
        0x44 + 2 * i + columns: (2, COLUMNS if columns else ROWS, first, second)
        for i, (first, second) in enumerate(
            [(L0, L0), (L1, L1), (L0, L1), (L1, L0), (L0, BI), (L1, BI), (BI, L0), (BI, L1), (BI, BI)]
        )
        for columns in (0, 1)
    },
    B_8X8: (4, QUARTERS, 0, 0),
    B_SKIP: (4, QUARTERS, 0, 0),
    P_SKIP: (1, WHOLE, L0, 0),
}
UNLISTED: _Shape = (1, WHOLE, 0, 0)
"""Stands for types the documents do not list (the hardware returns junk)."""

# nibble of $submbtype -> (sub-partitions, division, mode), for P and for B macroblocks
SUB_TYPES_P = [(1, WHOLE, L0), (2, ROWS, L0), (2, COLUMNS, L0), (4, QUARTERS, L0)] + [(1, WHOLE, 0)] * 12
SUB_TYPES_B = [
    (4, QUARTERS, DIRECT),
    (1, WHOLE, L0),
    (1, WHOLE, L1),
    (1, WHOLE, BI),
    (2, ROWS, L0),
    (2, COLUMNS, L0),
    (2, ROWS, L1),
    (2, COLUMNS, L1),
    (2, ROWS, BI),
    (2, COLUMNS, BI),
    (4, QUARTERS, L0),
    (4, QUARTERS, L1),
    (4, QUARTERS, BI),
] + [(1, WHOLE, 0)] * 3


def _by_type(name: str, column: int, width: int) -> Table:
    return Table(name, tuple(MB_TYPES.get(t, UNLISTED)[column] for t in range(128)), width)


PARTITIONS, DIVISION = _by_type("partitions", 0, 3), _by_type("division", 1, 2)
MODE0, MODE1 = _by_type("mode0", 2, 2), _by_type("mode1", 3, 2)
HAS_SUB = Table("has_sub", tuple(int(t in WITH_SUB_TYPES) for t in range(128)), 1)
_SUB = SUB_TYPES_P + SUB_TYPES_B
SUB_COUNT = Table("sub_count", tuple(s[0] for s in _SUB), 3)
SUB_DIVISION = Table("sub_division", tuple(s[1] for s in _SUB), 2)
SUB_MODE = Table("sub_mode", tuple(s[2] for s in _SUB), 2)
MODE_NAMES = ("mvx", "mvy", "ref", "rpi", "mvxns", "mvyns", "refns", "rpins", "pcnt", "spidx", "pnext", "pmode")


class MacroblockView:
    """The current macroblock as lut sees it; everything is read without side effects."""

    def __init__(self) -> None:
        self.raw = _peek("mbtype")
        known = self.raw.bits(7, 9) == 0
        self.type = select(known, self.raw.trunc(7), const(0x7D, 7))
        self.sub_types = SUBMBTYPE()
        self.is_b = (self.type == B_8X8) | (self.type == B_SKIP)
        self.has_sub = lookup(HAS_SUB, self.type)

    @property
    def partitions(self) -> Value:
        """Number of partitions, 1 to 4."""
        return lookup(PARTITIONS, self.type)

    def sub(self, table: Table, partition: Value) -> Value:
        """Return a property of the sub-macroblock type of a partition (2 bits)."""
        nibble = (self.sub_types >> (partition.zext(16) << 2)).trunc(4)
        return lookup(table, concat(self.is_b, nibble))

    def sub_partitions(self, partition: Value) -> Value:
        """Return the number of sub-partitions of a partition (2 bits)."""
        whole = _peek("mbflags").bit(3)
        intra = (self.type == I_NXN) | (self.type == I_PCM)
        inter = select(self.has_sub, self.sub(SUB_COUNT, partition), const(1, 3))
        return select(intra, select(whole, const(1, 3), const(4, 3)), inter)

    def block(self, partition: Value, sub: Value) -> Value:
        """Return the $spidx of a sub-partition; both numbers have 2 bits."""
        rows = lookup(DIVISION, self.type) == ROWS
        q = select(rows, concat(partition.bit(0), u1(0)), partition)
        sub_rows = self.has_sub & (self.sub(SUB_DIVISION, q) == ROWS)
        s = select(sub_rows, concat(sub.bit(0), u1(0)), sub)
        return concat(q, s)

    def mode(self, partition: Value) -> Value:
        """Prediction mode of a partition (2 bits): 0 direct or none, 1 L0, 2 L1, 3 both."""
        plain = select(partition == 0, lookup(MODE0, self.type), lookup(MODE1, self.type))
        found = select(self.has_sub, self.sub(SUB_MODE, partition), plain)
        return select(partition.zext(3).ult(self.partitions), found, const(0, 2))


def _peek(name: str) -> Value:
    """Return a special register's value without the side effect of reading it."""
    return PEEK(const(SR[name], 6))


def _vector(index: Value, first: str) -> Value:
    second = first.replace("l0", "l1")
    return select(index.bit(0), _peek(second), _peek(first))


@vuc.insn(
    forms("base  lut {pdst} {dst} {src1} {src2}  .... .. .... .... .... .... ... 11100"),
    ref=Ref("vuc", "6"),
    status="known",
    see=[Ref("vuc", "15 item 17")],
    notes=[
        "the predicate output is bit 0 of the result, except for table 10",
        "a loop over all sub-partitions starts at index 0 and ends when the next index equals lut(4, 8)",
        "VC-1 uses table 12 for something unknown; here it gives 0",
    ],
    group="memory",
)
def lut(name, pdst, dst, src1, src2):
    """Look up a property of the current macroblock: SRC1 is the index, SRC2 the table.

    Tables 0 to 3: vector x, vector y, reference index, picture index of the $spidx block, index = list. 4 to 7: the
    same, but 0 for P_SKIP. 8: sub-partitions of partition 0 to 3, or with index 4 to 7 the number of partitions. 9:
    $spidx of partition SRC1[1:0], sub-partition SRC1[9:8]. 10: the index after partition SRC1[2:0], sub-partition
    SRC1[9:8]; the predicate output says whether it is in the same partition. 11: prediction mode of a partition.
    12 to 15: 0.
    """
    index, table = src1.read(), src2.read().trunc(4)
    mb = MacroblockView()
    skipped = mb.raw == P_SKIP
    vectors = [_vector(index, n) for n in ("mvxl0", "mvyl0", "refl0", "rpil0")]
    partition, sub = index.bits(0, 2), index.bits(8, 2)
    count = select(index.bit(2), mb.partitions, mb.sub_partitions(partition))
    stays = (sub.zext(3) + 1).ult(count)
    after = select(stays, concat(sub.zext(8) + 1, partition.zext(8)), partition.zext(16) + 1)
    none = const(0, 16)
    rows = [
        *vectors,
        *[select(skipped, none, v) for v in vectors],
        count.zext(16),
        mb.block(partition, sub).zext(16),
        after,
        mb.mode(partition).zext(16),
        none,
        none,
        none,
        none,
    ]
    result = _pick(rows, table)
    dst.write(result)
    pdst.write(select(table == 10, stays, result.bit(0)))


def _pick(rows: list[Value], number: Value) -> Value:
    """Return the row with the number, by halving."""
    if len(rows) == 1:
        return rows[0]
    half = len(rows) // 2
    top = number.bit(half.bit_length() - 1)
    return select(top, _pick(rows[half:], number), _pick(rows[:half], number))

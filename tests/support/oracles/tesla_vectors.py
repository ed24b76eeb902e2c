"""Run rows of the Tesla vectors as real instructions: many groups of rows in one launch through the public interface.

A group is a run of rows with the same chip, flags and words. Lane n of a launch works on row n of every group; groups
with fewer rows are padded. Around each tested word the program loads the operands of the group, sets $c0 and $c1, and
stores the result, $c1 and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

import isakit

Array = np.ndarray[Any, Any]
Columns = dict[str, Array]

CHIPS = {0x50: "g80", 0x84: "g84", 0xA0: "gt200", 0xA3: "gt215", 0xAA: "mcp77"}
FLAGS = {"nonfp_deriv_inf": 0, "mul_zero_wins": 1, "sat_nan": 19}
UNTOUCHED = 15  # $c1 before the instruction; no result has all four flags
NOT_WRITTEN = 0xFF
_PARTNER = 0x10000000  # mov b16 $r0l $r0l after a short word
_BLOCK = 128

_START = """
    mov b32 $r12 u16 s[0x2]
    mov b32 $r13 u16 s[0xc]
    mul $r12 u16 $r12l u16 $r13l
    add b32 $r12 $r0 $r12
    shl b32 $r1 $r12 {record_shift}
    add b32 $r1 b32 s[0x10] $r1
    shl b32 $r2 $r12 0x4
    add b32 $r2 b32 s[0x14] $r2
    shl b32 $r3 $r12 0x3
    add b32 $r3 b32 s[0x18] $r3
    mov b32 $r15 0xf
"""
_LOAD_32 = "ld b128 $r4q g14[$r1]\nmov $c0 $r7\n"
_LOAD_64 = "ld b128 $r4q g14[$r1]\nadd b32 $r8 $r1 0x10\nld b128 $r8q g14[$r8]\nmov $c0 $r10\n"
_RESULT = """
    mov b32 $r12 $r{low}
    mov b32 $r13 $r{high}
    mov $r14 $c1
    st b128 g14[$r2] $r12q
"""
_NEXT = """
    add b32 $r1 $r1 {record}
    add b32 $r2 $r2 {output}
    add b32 $r3 $r3 {memory}
"""


@cache
def words_of(text: str) -> tuple[int, ...]:
    """The words of a piece of program, a whole number of long instructions (the encodings are those of every chip)."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    program = isakit.isa("tesla", "g80").assemble("\n".join(f"long {line}" for line in lines))
    return tuple(program.words)


def load_npz(path: Path) -> Columns:
    """A class of the vectors."""
    with np.load(path) as archive:
        return {k: archive[k] for k in archive.files}


def load_tsv(path: Path) -> dict[str, Columns]:
    """Classes in a text table: a heading, the class first, numbers in hexadecimal."""
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    names, classes = lines[0][1:], dict[str, list[list[int]]]()
    for line in lines[1:]:
        classes.setdefault(line[0], []).append([int(v, 16) if v else 0 for v in line[1:]])
    return {c: dict(zip(names, np.array(rows, np.uint64).T, strict=True)) for c, rows in classes.items()}


@dataclass(frozen=True)
class Group:
    """Rows start .. stop-1 share chip, words and flags."""

    chip: int
    words: tuple[int, ...]
    flags: int
    start: int
    stop: int


def groups_of(col: Columns) -> Iterator[Group]:
    """The groups of a class, in order."""
    keys = np.stack([np.asarray(col[k], np.uint64) for k in ("chip", "word0", "word1", "xtra")])
    edges = np.flatnonzero(np.any(keys[:, 1:] != keys[:, :-1], axis=0)) + 1
    bounds = [0, *edges.tolist(), keys.shape[1]]
    for start, stop in pairwise(bounds):
        chip, w0, w1, flags = (int(k) for k in keys[:, start])
        yield Group(chip, (w0, w1) if w0 & 1 else (w0,), flags, start, stop)


def is_wide(name: str) -> bool:
    """Whether the operands of a class are register pairs."""
    return name.startswith(("f64", "cvt64")) or name in ("atom64", "dontcare_64")


@dataclass
class Outcome:
    """What the instruction left, one element per row of the class: destination, $c1, memory."""

    result: Array
    cc: Array
    memory: Array


@cache
def _device(chip: int, flags: int, engine: str) -> Any:
    on = {name: bool(flags >> bit & 1) for name, bit in FLAGS.items()}
    return isakit.Device(CHIPS[chip], engine=engine, **on)


def run(name: str, col: Columns, groups: list[Group], engine: str = "auto") -> Outcome:
    """Execute the rows of the given groups; other rows stay 0."""
    rows = len(col["word0"])
    out = Outcome(np.zeros(rows, np.uint64), np.zeros(rows, np.uint64), np.zeros(rows, np.uint64))
    launches: dict[tuple[int, int], list[Group]] = {}
    for g in groups:
        launches.setdefault((g.chip, g.flags), []).append(g)
    for (chip, flags), members in launches.items():
        _launch(name, col, _device(chip, flags, engine), CHIPS[chip], members, out)
    return out


def _launch(name: str, col: Columns, device: Any, chip: str, groups: list[Group], out: Outcome) -> None:
    wide, atomic = is_wide(name), name.startswith("atom")
    lanes = -(-max(g.stop - g.start for g in groups) // 32) * 32
    lanes = lanes if lanes <= _BLOCK else -(-lanes // _BLOCK) * _BLOCK
    record = 8 if wide else 4
    inputs = np.zeros((len(groups), lanes, record), np.uint32)
    memory = np.zeros((len(groups), lanes), np.uint64)
    results = np.zeros((len(groups), lanes, 4), np.uint32)
    for k, g in enumerate(groups):
        _fill(inputs[k], memory[k], col, g, wide, atomic)
    code, half = _program(chip, groups, lanes, wide, atomic)
    kernel = device.load(code, registers=16, params=["ptr", "ptr", "ptr"])["main"]
    block = min(lanes, _BLOCK)
    kernel[lanes // block, block](inputs, results, memory)
    for k, g in enumerate(groups):
        n, span = g.stop - g.start, slice(g.start, g.stop)
        value = results[k, :n, 0].astype(np.uint64) | results[k, :n, 1].astype(np.uint64) << np.uint64(32)
        out.result[span] = _part(value, half[k])
        out.cc[span] = results[k, :n, 2]
        out.memory[span] = memory[k, :n]


def _part(value: Array, what: str) -> Array:
    """The half or the whole of a destination that the expectation is about."""
    if what == "h":
        return value >> np.uint64(16) & np.uint64(0xFFFF)
    return value & np.uint64({"l": 0xFFFF, "": 0xFFFF_FFFF, "d": 0xFFFF_FFFF_FFFF_FFFF}[what])


def _fill(inputs: Array, memory: Array, col: Columns, g: Group, wide: bool, atomic: bool) -> None:
    n, span = g.stop - g.start, slice(g.start, g.stop)
    step = 2 if wide else 1
    for i, operand in enumerate(("s1", "s2", "s3")):
        v = col[operand][span].astype(np.uint64)
        inputs[:n, i * step] = v & np.uint64(0xFFFF_FFFF)
        if wide:
            inputs[:n, i * step + 1] = v >> np.uint64(32)
    if "cc_in" in col:
        inputs[:n, 3 * step] = col["cc_in"][span]
    if atomic:
        memory[:n] = col["mem_in"][span]


def _program(chip: str, groups: list[Group], lanes: int, wide: bool, atomic: bool) -> tuple[list[int], list[str]]:
    """All words, and per group which part of the destination counts."""
    record = 32 if wide else 16
    code = list(words_of(_START.format(record_shift=f"{5 if wide else 4:#x}")))
    code += [] if len(code) % 2 == 0 else [_PARTNER]
    steps = {"record": f"{lanes * record:#x}", "output": f"{lanes * 16:#x}", "memory": f"{lanes * 8:#x}"}
    before = words_of((_LOAD_64 if wide else _LOAD_32) + ("mov b32 $r4 $r3\n" if atomic else "") + "mov $c1 $r15\n")
    parts: list[str] = []
    for g in groups:
        number, kind = destination(chip, g.words, wide)
        parts.append(kind)
        after = words_of((_RESULT + _NEXT).format(low=number, high=number + 1, **steps))
        code += [*before, *g.words, *([_PARTNER] if len(g.words) == 1 else []), *after]
    return [*code, 0xF0000001, 0xE0000001], parts


@cache
def decoded(chip: str, words: tuple[int, ...]) -> Any:
    """The instruction; it must be a valid one."""
    i = next(iter(isakit.isa("tesla", chip).disassemble(list(words))))
    assert i.valid, f"{chip} {' '.join(f'{w:08x}' for w in words)}: {i.error}"
    return i


@cache
def registers_written(chip: str, words: tuple[int, ...]) -> tuple[str, ...]:
    """Names of the general purpose registers the instruction writes; `red` has no result."""
    i = decoded(chip, words)
    return tuple(n for n in i.writes if n.startswith("$r"))


@cache
def destination(chip: str, words: tuple[int, ...], wide: bool) -> tuple[int, str]:
    """Number and kind ("l", "h", "d" or "") of the destination register; a pair's where there is none."""
    names = registers_written(chip, words)
    if not names:
        return (10, "d") if wide else (7, "")
    digits = names[0][2:].rstrip("lhd")
    return int(digits), names[0][2 + len(digits) :]


def mismatches(name: str, col: Mapping[str, Array], groups: list[Group], out: Outcome) -> list[str]:
    """A line for each row (the first three of a group) that differs from what is expected."""
    lines: list[str] = []
    for g in groups:
        span, chip = slice(g.start, g.stop), CHIPS[g.chip]
        cc = col["cc_out"][span].astype(np.uint64)
        checks = {"cc": (np.where(cc == NOT_WRITTEN, UNTOUCHED, cc), out.cc[span])}
        if name.startswith("atom"):
            checks["memory"] = (col["mem_out"][span].astype(np.uint64), out.memory[span])
        if registers_written(chip, g.words):
            checks["result"] = (col["result"][span].astype(np.uint64), out.result[span])
        for what, (wanted, got) in checks.items():
            for k in np.flatnonzero(wanted != got)[:3]:
                row = {c: f"{int(col[c][g.start + k]):x}" for c in ("s1", "s2", "s3", "cc_in") if c in col}
                lines.append(
                    f"{name} row {g.start + k}: {chip} flags {g.flags:x} {decoded(chip, g.words).text} "
                    f"{row} {what} wanted {int(wanted[k]):x} got {int(got[k]):x}"
                )
    return lines


# --- functions of one input -----------------------------------------------------------------------------------------

_INDEX = """
    mov b32 $r12 u16 s[0x2]
    mov b32 $r13 u16 s[0xc]
    mul $r12 u16 $r12l u16 $r13l
    add b32 $r12 $r0 $r12
    add b32 $r4 b32 s[0x10] $r12
    shl b32 $r1 $r12 0x2
    add b32 $r1 b32 s[0x14] $r1
    xor b32 $r7 $r7 $r7
"""


class OneInput:
    """A function of one input: $r7 after the instruction, for consecutive values of $r4."""

    def __init__(self, device: Any, words: tuple[int, ...], count: int) -> None:
        code = [*words_of(_INDEX), *words, *words_of("st b32 g14[$r1] $r7"), 0xF0000001, 0xE0000001]
        self.device, self.count = device, count
        self.kernel = device.load(code, registers=16, params=["u32", "ptr"])["main"]
        self.results = device.alloc(4 * count)

    def __call__(self, first: int) -> Array:
        """The results for first .. first + count - 1, as uint32."""
        block = min(self.count, 512)
        self.kernel[self.count // block, block](np.uint32(first), self.results)
        return self.device.read(self.results, np.uint32, self.count)

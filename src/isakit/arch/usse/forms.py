"""The shapes of USSE forms and the kinds of operands they have, for the tables of the record files.

`isakit.spec.table` tells how the tables are read. All forms are one word of 64 bits. A shape says where predicate,
flags and registers stand, which are dots in the patterns; letters are what the form itself selects. Registers stand in
most forms as in `int`, and `dst`, `src0`, `src1` and `src2` are then 32-bit registers:

```text
op    pred       dst end s1 s2    repeat     s0 dst s1 s2 dst     s0      s1      s2
..... .. . . . .. .   .  .  . .... ... ..... .  ..  .. .. ....... ....... ....... .......
```
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from isakit.arch.usse.fields import WORD, layout
from isakit.arch.usse.operands import destination, internal_source, predicate, repeat, source, written_mask
from isakit.arch.usse.seed import early_name, lacking, seed_view
from isakit.arch.usse.swizzles import SWIZZLES, swizzle
from isakit.arch.usse.usse import SGX543
from isakit.spec import Encoding, Enum, Field, Flag, Form, FormTable, Literal, Maker, Part, Shape
from isakit.spec.table import Declared, filled, number

FLAGS = ("once", "rptsel", "skipinv", "nosched", "sync", "end")
"""Flags behind the operands, in the order of the text."""


def _mnemonic(name: str) -> Part | str:
    """Return a mnemonic, with the early spelling as an alias."""
    early = early_name(name)
    return Literal(name, aliases=(early,)) if early else name


def mnemonics(field: Field, names: Mapping[int, str], values: Mapping[int, Any]) -> Enum:
    """Return names of operations by the value of a field, with the early spellings as aliases."""
    return Enum(field, names, values, aliases={e: v for v, n in names.items() if (e := early_name(n)) is not None})


def shape(text: str, **more: Part | Maker) -> Shape:
    """Return a shape with these bits, in the notation of `layout`, and further kinds of operands."""
    bits = layout(text)
    fields = {n: f for n, f in vars(bits).items() if n not in ("fixed", "table")}
    kinds: dict[str, Part | Maker] = {n: Flag(fields[n], n) for n in FLAGS if n in fields}
    if "rpt" in fields:
        kinds["rpt"] = repeat(bits.rpt)
    tail = [n for n in ("rpt", *FLAGS) if n in kinds]
    if bits.table:
        kinds["pred"] = predicate(bits.pred, bits.table)
    if "dbank" in fields:
        kinds["dst"] = destination(bits)
    for n in range(3):
        if f"s{n}n" in fields:
            kinds[f"src{n}"] = source(bits, n)
    return Shape(
        WORD,
        fields,
        kinds | more,
        lead="{pred}" if bits.table else "",
        tail=" ".join(f"{{{n}}}" for n in tail),
        default=0,
        control=("pred", *tail) if bits.table else tuple(tail),
        needs=SGX543,
        lacking=lacking,
        mnemonic=_mnemonic,
    )


_REGISTERS = "dext@51 s1ext@49 s2ext@48 dbank@33:32 s1bank@31:30 s2bank@29:28 dn@27:21 s1n@13:7 s2n@6:0"
_SOURCE0 = "s0bank@34 s0n@20:14"
_INTEGER = f"short@58:57 skipinv@55 nosched@54 end@50 {_REGISTERS}"
_SIX = "dbank@33:32 s1bank@31:30 s2bank@29:28 dn@27:22 s1n@11:6 s2n@5:0"
_MOVE = (
    "pred3@58:56 skipinv@55 sync@52 dext@51 s1ext@49 s2ext@48 rpt@45:44 nosched@43 dbank@33:32 s1bank@31:30 "
    "s2bank@29:28 dn@23:18 s1n@11:6 s2n@5:0"
)
SHAPES = {
    "int": shape(f"{_INTEGER} {_SOURCE0} rpt@46:44"),
    "once": shape(f"{_INTEGER} {_SOURCE0}"),
    "int2": shape(f"{_INTEGER} rpt@46:44"),
    "once2": shape(_INTEGER),
    "step": shape(f"pred3@58:56 skipinv@55 nosched@54 end@50 {_REGISTERS} {_SOURCE0} s0ext@47 rpt@46:44"),
    "bits": shape(
        f"pred3@58:56 skipinv@55 nosched@54 rptsel@53 sync@52 end@50 {_REGISTERS} rpt@47:44 "
        "imm16@6:0 imm16@20:14 imm16@37:36"
    ),
    "memory": shape(
        "pred3@58:56 skipinv@55 nosched@54 sync@52 s0ext@50 s1ext@49 s2ext@48 destpa@39 s0bank@34 s1bank@31:30 "
        "s2bank@29:28 dn@27:21 s0n@20:14 s1n@13:7 s2n@6:0"
    ),
    "mad2": shape(f"pred2@57:56 skipinv@55 sync@52 s1ext@49 s2ext@48 nosched@43 s0bank@34 s0n@17:12 {_SIX}"),
    "two": shape(f"pred3v@58:56 skipinv@55 sync@52 dext@51 s1ext@49 s2ext@48 nosched@43 {_SIX}"),
    "internal": shape(
        "pred3v@58:56 skipinv@55 dext@51 end@50 s1ext@49 rpt@45:44 nosched@43 dbank@33:32 s1bank@31:30 dn@27:22 "
        "s1n@5:0 s1swz@17:6"
    ),
    "scalar": shape(
        "pred3@58:56 skipinv@55 sync@52 dext@51 end@50 s1ext@49 rpt@47:44 nosched@43 dbank@33:32 s1bank@31:30 dn@27:21 "
        "s1n@13:7"
    ),
    "move": shape(f"{_MOVE} end@50"),
    "choose": shape(f"{_MOVE} s0ext@50 s0bank@34 s0n@17:12"),
    "pack": shape(
        "pred3@58:56 skipinv@55 nosched@54 sync@52 dext@51 end@50 s1ext@49 s2ext@48 rpt@47:44 dbank@33:32 s1bank@31:30 "
        "s2bank@29:28 dn@27:21 s1n@13:8 s2n@6:1"
    ),
    "load": shape("pred3@43:41 skipinv@55 nosched@54 dext@51 end@50 dbank@33:32 dn@27:21"),
    "wait": shape("nosched@43"),
    "test": shape(
        f"pred3@58:56 skipinv@55 nosched@54 once@53 sync@52 rpt@45:44 {_REGISTERS}",
    ),
    "dual": shape("pred2@57:56 skipinv@55"),
    "branch": shape("pred3@58:56"),
    "kill": shape("s1bank@31:30 s2bank@29:28 s1n@13:7 s2n@6:0"),
    "depth": shape(
        "short@42:41 sync@55 s0ext@51 end@50 s1ext@49 s2ext@48 nosched@43 s0bank@34 s1bank@31:30 s2bank@29:28 "
        "s0n@20:14 s1n@13:7 s2n@6:0"
    ),
    "nop": shape("end@50 nosched@43"),
    "phase": shape("end@51"),
    "state": shape("nosched@50"),
    "emit": shape("end@50"),
    "bare": shape(""),
}


def registers(e: Encoding) -> SimpleNamespace:
    """Return the fields of a form's shape, for `source` and `destination`."""
    return SimpleNamespace(**e.shape.fields)


def _flag(e: Encoding, letter: str, word: str) -> Part:
    return Flag(e.field(letter), word)


def _modifiers(e: Encoding, table: str, letters: str, neg: str, absolute: str) -> dict[str, Any]:
    """Return swizzle and signs of a source: the name of a table of swizzles, letters, `-` for what it does not have."""
    return {
        "letters": swizzle(e.field(letters), SWIZZLES[table]) if table != "-" else None,
        "neg": e.field(neg) if neg != "-" else None,
        "abs": e.field(absolute) if absolute != "-" else None,
    }


def floats(n: int, **options: Any) -> Maker:
    """Return source `n` as a vector of floats: `f1:TYPE,SWIZZLES,LETTERS,NEGATION,ABSOLUTE`."""

    def make(e: Encoding, ty: str, table: str = "-", letters: str = "-", neg: str = "-", absolute: str = "-") -> Part:
        return source(registers(e), n, double=True, ty=ty, **_modifiers(e, table, letters, neg, absolute), **options)

    return make


def _internal(role: str) -> Maker:
    """Return a source that is an internal register: `NUMBER,SWIZZLES,LETTERS,NEGATION,ABSOLUTE`."""

    def make(e: Encoding, n: str, table: str, letters: str, neg: str = "-", absolute: str = "-") -> Part:
        return internal_source(e.field(n), role=role, **_modifiers(e, table, letters, neg, absolute))

    return make


def _written(e: Encoding, ty: str, letter: str = "-", rule: str = "raw") -> Part:
    """Return a destination of floats: its type, the letter of its write mask and the rule of that."""
    masks = written_mask(e.field(letter), rule) if letter != "-" else None
    return destination(registers(e), double=True, ty=ty, masks=masks)


Early = Callable[[Encoding, Mapping[str, str]], Part | str]
"""Gives the name of a form on the early page."""

TABLE = FormTable(
    SHAPES,
    {
        "flag": _flag,
        "fixed": number("a number", 0, fixed=True),
        "floats": _written,
        "f0": floats(0),
        "f1": floats(1),
        "f2": floats(2),
        "internal0": _internal("src0"),
        "internal2": _internal("src2"),
    },
    unit_bits=64,
)


def forms(
    text: str,
    *rows: str,
    early: str | Early = "",
    described: str = "",
    base: int | None = None,
    **parts: object,
) -> list[Form]:
    """Return the forms of a table.

    `early` is the name of a form on the early page, with the cells of its row in place of `<column>`, or a function of
    encoding and row; empty where the page has no view of it. `described` are the letters that the page knows, `base` is
    as for `seed_view`.
    """
    out: list[Form] = []
    for form in TABLE(text, *rows, **parts):
        out.append(form)
        declared = form.declaration
        assert isinstance(declared, Declared)
        assert declared.encoding is not None
        name = filled(early, declared.row) if isinstance(early, str) else early(declared.encoding, declared.row)
        if name:
            fields = [declared.encoding.field(c) for c in described]
            out.append(seed_view(form, name, fields, base=base))
    return out

"""The shapes of vµc forms and the kinds of operands they have, for the tables of the record files.

`isakit.spec.table` tells how the tables are read. The bits stand in the same groups everywhere; most operands share
theirs with others ([vuc] 2 "Field sharing"), which is why few forms name them by letters:

```text
PE OT1 IMMF OT0  EXT PRED DST  SRC2 SRC1 PON POM  OP
       ....      ..  .... .... .... .... .   ..   .....    base
       .1.1      ..  .... .... .... .... OC: ...  .....    special
```

The relative-branch slot above them, which VP2 has, is the part `rbra` of every form.
"""

from __future__ import annotations

from typing import Any

from isakit.arch.vuc import fields
from isakit.arch.vuc.fields import BASE, DISCARD, OPERAND_BITS, OT0, OT1, POM, SPECIAL
from isakit.arch.vuc.memory_operands import RELATIVE_BRANCH, TARGET, load_address, store_address
from isakit.arch.vuc.operands import (
    BIT_NUMBER,
    DESTINATION,
    LONG_SOURCE,
    ONLY_SOURCE1,
    OPTIONAL_SOURCE2,
    SOURCE1,
    SOURCE2,
    SPECIAL_SOURCE2,
    general,
)
from isakit.arch.vuc.predicates import GUARD, PREDICATE_DST, PREDICATE_OUT, SELECTOR
from isakit.spec import Encoding, Field, FormTable, Literal, Part, Shape, where

SHARED_DST = (
    "with a guard the predicate output is held in the DST field, so it must have the same number as the destination "
    "(`$p3 add $p5 $r5 ...`); drop the guard or the output, or choose equal numbers"
)
SHARED_SELECTOR = (
    "slct keeps its selector in the PRED field: without a guard a predicate output must be that very predicate, with a "
    "guard the guard must be; the useful form has neither (`slct $r1 $p3 $r3 $r4`)"
)
SHARED_CONSTANT = (
    "mov keeps bits 11:8 of its constant in the PRED field, which also holds the guard or the predicate output; they "
    "must have equal numbers. Load the constant unguarded, or use `add $rN $r0 imm6`"
)
SHARED_IMMEDIATE = (
    "beside a special register the immediate has only 4 bits (0x0 .. 0xf), because EXT holds the high bits of the "
    "special register's number; put the constant into a $r register first"
)
SHARED_SPECIAL = "an instruction can name one special register only: as its destination or as its first source"
SHARED_LOAD = "under a guard the offset has only 6 bits (0x0 .. 0x3f): PRED holds the guard, not offset bits 7:4"
_SHARING = {
    "dst": SHARED_DST,
    "src1": SHARED_SPECIAL,
    "src2": SHARED_IMMEDIATE,
    "unused": SHARED_IMMEDIATE,
    "sel": SHARED_SELECTOR,
    "src": SHARED_CONSTANT,
}


def _called(name: str, *aliases: str) -> Part:
    return Literal(name, aliases=aliases)


def _register(e: Encoding, letter: str) -> Part:
    return general(e.field(letter))


def _load(e: Encoding, *names: str) -> Part:
    return load_address(*names)


def _store(e: Encoding, *names: str) -> Part:
    return store_address(*names)


_FIELDS = {n: f for n, f in vars(fields).items() if isinstance(f, Field)}
_EVERY: dict[str, Any] = {"lead": "{rbra} {guard}", "mnemonic": _called}
_BASE: dict[str, Any] = {
    "pdst": PREDICATE_OUT,
    "dst": DESTINATION,
    "src1": SOURCE1,
    "only1": ONLY_SOURCE1,
    "src2": SOURCE2,
    "unused": OPTIONAL_SOURCE2,
    "sel": SELECTOR,
    "src": LONG_SOURCE,
}
_SPECIAL: dict[str, Any] = {
    "target": TARGET,
    "bit": BIT_NUMBER,
    "pdst": PREDICATE_DST,
    "src2": SPECIAL_SOURCE2,
    "load": _load,
    "store": _store,
}
_CONTROL = ("rbra", "guard")
_UNNAMED = (*_CONTROL, "name")

forms = FormTable(
    {
        # The predicate output is discarded where the text does not say it.
        "base": Shape(BASE, _FIELDS, _BASE, ignored=OPERAND_BITS | OT0.mask | OT1.mask, control=_CONTROL,
                      unless=(where({OT0: 1, OT1: 1}),), default=POM.put(DISCARD), sharing=_SHARING, **_EVERY),
        "special": Shape(SPECIAL, _FIELDS, _SPECIAL, ignored=OPERAND_BITS, control=_UNNAMED,
                         sharing={"address": SHARED_LOAD}, **_EVERY),
        # special ones whose semantics wants the name
        "named": Shape(SPECIAL, _FIELDS, _SPECIAL, ignored=OPERAND_BITS, control=_CONTROL, **_EVERY),
        "unknown": Shape(SPECIAL, _FIELDS, {}, control=_UNNAMED, **_EVERY),
    },
    {"rbra": RELATIVE_BRANCH, "guard": GUARD, "r": _register},
    unit_bits=30,
)  # fmt: skip

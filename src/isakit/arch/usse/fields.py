"""The bits of USSE instructions, for the record files: every layout stands beside the forms that have it.

Written as in [usse] 2.6: `name@high:low` or `name@bit`; a name may stand several times, low part first. `0110@41:38`
are fixed bits. A predicate goes by the name of its table, see `PREDICATES`.
"""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from isakit.spec import Bits, Field, Layout, bits, where

_ITEM = re.compile(r"(\w+)@(\d+)(?::(\d+))?$")


def layout(text: str) -> Any:
    """Return a namespace of fields from a list of `name@high:low`; `table` is that of the predicate."""
    out: dict[str, Any] = {"fixed": Bits(), "table": ""}
    for item in text.split():
        m = _ITEM.match(item)
        if m is None:
            raise ValueError(item)
        name, high, low = m[1], int(m[2]), int(m[3] or m[2])
        field = bits(low, high, name)
        if not name.strip("01"):
            out["fixed"] = out["fixed"].join(where({field: int(name, 2)}))
            continue
        if name in PREDICATES:
            out["table"], name = name, "pred"
            field = bits(low, high, name)
        out[name] = Field(out[name].slices + field.slices, name) if name in out else field
    return SimpleNamespace(**out)


ANY = "Pn"
"""The predicate value that depends on the channel or repetition."""
_P2 = {0: "", 1: "p0", 2: "!p0", 3: ANY}
_P3V = {0: "", 1: "p0", 2: "p1", 3: "p2", 4: "!p0", 5: "!p1", 6: "!p2", 7: ANY}
_P3 = {0: "", 1: "p0", 2: "p1", 3: "p2", 4: "p3", 5: "!p0", 6: "!p1", 7: ANY}
_SHORT = {0: "", 1: "p0", 2: "p1", 3: "!p0"}
PREDICATES = {"pred2": _P2, "pred3v": _P3V, "pred3": _P3, "short": _SHORT}

WORD = Layout("word", 1, Bits(), doc="one 64-bit word")
OPCODE = bits(59, 63, "opcode1")


def fields_of(layout: SimpleNamespace) -> list[Field]:
    """Return the fields of a layout."""
    return [f for f in vars(layout).values() if isinstance(f, Field)]

"""Pygments lexers as the wheel's entry points name them: TeslaLexer, VucLexer, UsseLexer.

A class is created on access: Pygments reads the names of all plugins at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from isakit.export.lexing import names, pygments_lexer

if TYPE_CHECKING:
    TeslaLexer: type[object]
    VucLexer: type[object]
    UsseLexer: type[object]


_made: dict[str, type[object]] = {}


def __getattr__(name: str) -> type[object]:
    isa = name.removesuffix("Lexer").lower()
    if not name.endswith("Lexer") or isa not in names():
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in _made:
        _made[name] = pygments_lexer(isa)
    return _made[name]


__all__ = ["TeslaLexer", "UsseLexer", "VucLexer"]

"""Parts: the pieces of an instruction, each mapping bits to text and back, and to what the semantics function gets.

Every part is two-way by construction. The generic kinds here cover most operands; an instruction set adds its own
subclasses for operands with behaviour of their own (banks with swizzles, memory with post-increment).
"""

from isakit.spec.parts.base import (
    ILLEGAL,
    NUMBER_START,
    Binder,
    Bitless,
    Context,
    Keep,
    Match,
    Part,
    Row,
    TokenStream,
    fit_tokens,
    needed_words,
    needs_set,
    pad_all,
    padded,
    pattern,
    starts,
)
from isakit.spec.parts.choices import Alternative, Choice, choice, when
from isakit.spec.parts.compose import Dependent, or_sources
from isakit.spec.parts.numbers import Constant, Imm, Reg, Relative
from isakit.spec.parts.template import Template, Written, cell, template, written
from isakit.spec.parts.words import Enum, Flag, HasFeature, Illegal, Literal, Nothing, Silent

__all__ = [
    "ILLEGAL",
    "NUMBER_START",
    "Alternative",
    "Binder",
    "Bitless",
    "Choice",
    "Constant",
    "Context",
    "Dependent",
    "Enum",
    "Flag",
    "HasFeature",
    "Illegal",
    "Imm",
    "Keep",
    "Literal",
    "Match",
    "Nothing",
    "Part",
    "Reg",
    "Relative",
    "Row",
    "Silent",
    "Template",
    "TokenStream",
    "Written",
    "cell",
    "choice",
    "fit_tokens",
    "needed_words",
    "needs_set",
    "or_sources",
    "pad_all",
    "padded",
    "pattern",
    "starts",
    "template",
    "when",
    "written",
]

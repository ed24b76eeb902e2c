"""Words to instructions and back: decoder, encoder with conflict reports, explanation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isakit.codec.decoder import Decoder, decoder
from isakit.codec.instruction import Instruction
from isakit.lazy import lazy
from isakit.spec.operands import (
    CodeAddress,
    Compound,
    Condition,
    Flag,
    Immediate,
    Memory,
    Operand,
    Register,
    SpecialRegister,
)

if TYPE_CHECKING:
    from isakit.codec.build import Builder
    from isakit.codec.encoder import Encoded, Encoder, Miss
    from isakit.codec.explain import ExplainRow, Explanation
    from isakit.spec.tokens import Stream, Token, tokenize

__all__ = [
    "Builder",
    "CodeAddress",
    "Compound",
    "Condition",
    "Decoder",
    "Encoded",
    "Encoder",
    "ExplainRow",
    "Explanation",
    "Flag",
    "Immediate",
    "Instruction",
    "Memory",
    "Miss",
    "Operand",
    "Register",
    "SpecialRegister",
    "Stream",
    "Token",
    "decoder",
    "tokenize",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "isakit.codec.build": "Builder",
        "isakit.codec.encoder": "Encoded Encoder Miss",
        "isakit.codec.explain": "ExplainRow Explanation",
        "isakit.spec.tokens": "Stream Token tokenize",
    },
)

"""Words to instructions and back: decoder, encoder with conflict reports, explanation."""

from isakit.codec.build import Builder
from isakit.codec.decoder import Decoder, decoder
from isakit.codec.encoder import Encoded, Encoder, Miss
from isakit.codec.explain import ExplainRow, Explanation
from isakit.codec.instruction import Instruction
from isakit.codec.tokens import Stream, Token, tokenize
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

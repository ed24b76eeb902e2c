"""Words to instructions and back: decoder, encoder with conflict reports, explanation."""

from isakit.codec.decoder import Decoder, decoder
from isakit.codec.encoder import Encoded, Encoder, Miss
from isakit.codec.explain import ExplainRow, Explanation
from isakit.codec.instruction import Instruction
from isakit.codec.tokens import Stream, Token, tokenize

__all__ = [
    "Decoder",
    "Encoded",
    "Encoder",
    "ExplainRow",
    "Explanation",
    "Instruction",
    "Miss",
    "Stream",
    "Token",
    "decoder",
    "tokenize",
]

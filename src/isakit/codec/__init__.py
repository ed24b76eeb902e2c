"""Words to instructions and back: decoder, encoder with conflict reports, explanation."""

from isakit.codec.decoder import Decoder, decoder
from isakit.codec.encoder import Encoded, Encoder, Miss
from isakit.codec.explain import Explanation, ExplainRow
from isakit.codec.instruction import Instruction
from isakit.codec.tokens import Stream, Token, tokenize

__all__ = ["Decoder", "Encoded", "Encoder", "Explanation", "ExplainRow", "Instruction", "Miss", "Stream", "Token",
           "decoder", "tokenize"]

"""The language instruction sets are written in: fields, parts, forms, records, variants, load-time checks."""

from isakit.spec.fields import Bits, Field, bits, where
from isakit.spec.isa import InstructionSet, RegisterFile, Space, SpecialRegister, Variant, View
from isakit.spec.parts import (
    Alternative,
    Binder,
    Choice,
    Context,
    Enum,
    Flag,
    HasFeature,
    Illegal,
    Imm,
    Keep,
    Literal,
    Match,
    Nothing,
    Part,
    Reg,
    Row,
    Seq,
    TokenStream,
    choice,
    when,
)
from isakit.spec.record import Form, Layout, Record, Ref, Refusal, Status, make_form, parse_syntax

__all__ = [
    "Alternative", "Binder", "Bits", "Choice", "Context", "Enum", "Field", "Flag", "Form", "HasFeature", "Illegal", "Imm", "InstructionSet", "Keep",
    "Layout", "Literal", "Match", "Nothing", "Part", "Record", "Ref", "Reg", "Refusal", "RegisterFile", "Row", "Seq",
    "Space", "SpecialRegister", "Status", "TokenStream", "Variant", "View", "bits", "choice", "make_form",
    "parse_syntax", "when", "where",
]

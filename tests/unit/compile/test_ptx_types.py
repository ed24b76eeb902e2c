"""Types of registers in PTX instructions: what NVIDIA's assembler takes and refuses."""

from __future__ import annotations

import pytest

from isakit.compile import compile_ptx
from isakit.compile.ptx import grammar, types
from isakit.compile.ptx.syntax import SIZES
from isakit.compile.ptx.types import expected, fits
from isakit.errors import CompileError

REGISTERS = """.reg .pred %p1; .reg .u16 %h1; .reg .u32 %r1; .reg .s32 %s1; .reg .b32 %b1; .reg .f32 %f1;
.reg .u64 %w1; .reg .b64 %c1; .reg .f64 %d1;
"""


def text(line: str) -> str:
    return f".version 1.4\n.target sm_13\n.entry k (.param .u64 q)\n{{\n{REGISTERS}{line}\nexit;\n}}\n"


@pytest.mark.parametrize(
    ("line", "register", "declared", "wanted"),
    [
        ("add.u32 %f1, %r1, %r1;", "%f1", "f32", "u32"),
        ("add.u32 %r1, %r1, %f1;", "%f1", "f32", "u32"),
        ("add.f32 %f1, %r1, %f1;", "%r1", "u32", "f32"),
        ("add.u32 %r1, %w1, %r1;", "%w1", "u64", "u32"),
        ("mul.wide.u32 %r1, %r1, %r1;", "%r1", "u32", "u64"),
        ("mad.wide.u16 %w1, %h1, %h1, %r1;", "%w1", "u64", "u32"),
        ("shl.b64 %w1, %w1, %w1;", "%w1", "u64", "u32"),
        ("and.b32 %r1, %r1, %p1;", "%p1", "pred", "b32"),
        ("and.pred %p1, %p1, %r1;", "%r1", "u32", "pred"),
        ("setp.lt.f32 %p1, %f1, %r1;", "%r1", "u32", "f32"),
        ("setp.lt.u32 %r1, %r1, %r1;", "%r1", "u32", "pred"),
        ("selp.f32 %f1, %f1, %s1, %p1;", "%s1", "s32", "f32"),
        ("set.lt.u32.f32 %f1, %f1, %f1;", "%f1", "f32", "u32"),
        ("slct.u32.f32 %r1, %r1, %r1, %r1;", "%r1", "u32", "f32"),
        ("mov.f32 %f1, %r1;", "%r1", "u32", "f32"),
        ("mov.b32 %w1, {%h1, %h1};", "%w1", "u64", "b32"),
        ("cvt.f32.u32 %r1, %r1;", "%r1", "u32", "f32"),
        ("cvt.u64.u32 %r1, %r1;", "%r1", "u32", "u64"),
        ("cvt.f64.f32 %d1, %d1;", "%d1", "f64", "f32"),
        ("ld.global.f32 %r1, [%w1];", "%r1", "u32", "f32"),
        ("ld.global.u32 %h1, [%w1];", "%h1", "u16", "u32"),
        ("ld.global.f32 %w1, [%w1];", "%w1", "u64", "f32"),
        ("st.global.f32 [%w1], %d1;", "%d1", "f64", "f32"),
        ("ld.global.v2.f32 {%f1, %d1}, [%w1];", "%d1", "f64", "f32"),
        ("st.global.u32 [%w1], %f1;", "%f1", "f32", "u32"),
        ("atom.global.add.u32 %f1, [%w1], %r1;", "%f1", "f32", "u32"),
    ],
)  # fmt: skip
def test_a_register_of_another_type_is_refused_where_it_stands(
    line: str, register: str, declared: str, wanted: str
) -> None:
    with pytest.raises(CompileError) as e:
        compile_ptx(text(line))
    (found,) = e.value.diagnostics
    opcode = line.split()[0]
    assert found.message == f"`{register}` is declared .{declared}; `{opcode}` takes .{wanted} here"
    assert found.line == 7
    assert line[found.column - 1 :].startswith(register)


def test_an_address_is_an_integer_of_32_or_64_bits() -> None:
    for register in ("%f1", "%h1", "%d1"):
        with pytest.raises(CompileError, match="an address has 32 or 64 bits"):
            compile_ptx(text(f"ld.global.u32 %r1, [{register}];"))


@pytest.mark.parametrize(
    "line",
    [
        "add.u32 %s1, %b1, %r1;", "add.f32 %f1, %b1, %f1;", "add.f64 %d1, %c1, %d1;", "mov.b32 %f1, %r1;",
        "mov.b64 %d1, {%r1, %f1};", "mov.b32 {%h1, %h1}, %f1;", "mul.wide.s32 %w1, %s1, %r1;",
        "mad.wide.u16 %r1, %h1, %h1, %s1;", "shl.b64 %w1, %w1, %r1;", "shr.s32 %s1, %r1, %b1;",
        "set.lt.f32.s32 %f1, %s1, %r1;", "set.lt.and.u32.f32 %r1, %f1, %f1, %p1;",
        "setp.ge.and.u32 %p1, %r1, %s1, !%p1;",
        "slct.f32.s32 %f1, %f1, %f1, %r1;", "cvt.u8.u32 %r1, %r1;", "cvt.u32.u8 %r1, %h1;", "cvt.s16.f32 %r1, %f1;",
        "ld.global.u8 %r1, [%w1];", "ld.global.b32 %f1, [%w1];", "ld.global.f32 %b1, [%w1];",
        "ld.global.s8 %w1, [%w1];", "st.global.u8 [%w1], %r1;", "st.global.v2.b32 [%w1], {%f1, %r1};",
        "ld.global.f32 %c1, [%w1];", "ld.global.b32 %d1, [%w1];", "st.global.f32 [%w1], %c1;",
        "st.global.b8 [%w1], %d1;",
        "cvt.rn.f32.s32 %c1, %r1;", "cvt.rn.f32.f64 %c1, %d1;", "cvt.f64.f32 %d1, %c1;", "ld.global.b16 %f1, [%w1];",
        "mov.u16 %h1, %tid.x;", "and.b32 %r1, %f1, %s1;", "clz.b64 %r1, %w1;",
    ],
)  # fmt: skip
def test_what_the_manual_allows_is_taken(line: str) -> None:
    assert compile_ptx(text(line)).module.kernels


def test_types_fit_by_size_and_kind() -> None:
    for register, wanted, wider in (("b32", "f32", False), ("s32", "u32", False), ("f32", "b32", False),
                                    ("u64", "u8", True), ("b64", "s32", True), ("b64", "f32", True),
                                    ("f64", "b32", True)):  # fmt: skip
        assert fits(register, wanted, wider)
    for register, wanted, wider in (("f32", "u32", False), ("u64", "u32", False), ("pred", "b32", False),
                                    ("u16", "u32", True), ("f64", "f32", True), ("b64", "f32", False),
                                    ("u64", "f32", True), ("f64", "u32", True)):  # fmt: skip
        assert not fits(register, wanted, wider)
    assert expected("bra.uni") == ((), False)


def test_types_of_operands_are_said_of_instructions_and_slots_that_exist() -> None:
    """A misspelt key would leave the operands with the type of the instruction."""
    rows = [row for some in grammar.rows().values() for row in some]
    assert {*types._OPERANDS, *types._UNCHECKED, *types._WIDER} <= {row.key for row in rows}
    for key, names in types._OPERANDS.items():
        own = [row for row in rows if row.key == key]
        slots = {name for row in own for name, _, _ in row.slots}
        assert {*names.split()} <= {"t", "-", "pred", *SIZES, *slots}, key
        assert len(names.split()) <= max(row.most for row in own), key

"""What the compiler says about texts, and what it does where no other code is there to compare with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import isakit
from isakit.compile import compile_ptx
from isakit.compile.ptx import grammar
from isakit.errors import CompileError
from isakit.runtime import Device

HEAD = ".version 1.4\n.target sm_13\n"


def kernel(body: str, name: str = "k", params: str = ".param .u64 out") -> str:
    return f".entry {name} ({params})\n{{\n{body}\nexit;\n}}\n"


OUT = "  .reg .u64 %o;\n  ld.param.u64 %o, [out];\n"


def run(text: str, words: int = 8, chip: str = "gt200", grid: int = 1, block: int = 1) -> list[int]:
    """What a kernel `k` writes to the array it is given."""
    out = np.zeros(words, np.uint32)
    Device(chip).load(compile_ptx(HEAD + text, chip).module)["k"][grid, block](out)
    return [int(v) for v in out]


def test_an_error_points_at_its_line_and_column() -> None:
    with pytest.raises(CompileError) as e:
        compile_ptx(HEAD + kernel("  .reg .u32 %r1;\n  add.u33 %r1, %r1, 1;"))
    (d,) = e.value.diagnostics
    assert (d.line, d.column) == (6, 3)
    assert "`add.u33` is not supported" in d.message
    assert d.source == "  add.u33 %r1, %r1, 1;"


def test_loads_and_stores_take_wider_registers_of_bits() -> None:
    """What is loaded gets zeros above it, or its sign; what is stored loses its upper part."""
    body = f"""{OUT}  .reg .b64 %c<5>; .reg .f64 %d; .reg .f32 %f<3>; .reg .s32 %s;
  st.global.b32 [%o], 0xbfc00001;
  ld.global.f32 %c1, [%o];     st.global.b64 [%o+8], %c1;
  ld.global.b32 %d, [%o];      st.global.f64 [%o+16], %d;
  st.global.f32 [%o+24], %c1;
  st.global.b16 [%o+28], %d;
  ld.global.b8 %f1, [%o];      st.global.f32 [%o+32], %f1;
  mov.s32 %s, -2;
  cvt.rn.f32.s32 %c2, %s;      st.global.b64 [%o+40], %c2;
  cvt.f32.f32 %c3, %c1;        st.global.b64 [%o+48], %c3;"""
    got = run(kernel(body), 14)
    bits = 0xBFC00001
    assert got == [bits, 0, bits, 0, bits, 0, bits, 1, 1, 0, 0xC0000000, 0, bits, 0]


def test_a_demoted_double_has_no_lower_half() -> None:
    text = HEAD.replace(".target sm_13", ".target sm_13, map_f64_to_f32") + kernel(
        f"{OUT}  .reg .f64 %d;\n  ld.global.b32 %d, [%o];"
    )
    with pytest.raises(CompileError, match=r"`%d` has type \.f64, a float here"):
        compile_ptx(text)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("shfl.sync.idx.b32 %r1, %r1, 0, 31, -1;", "cannot move values between lanes"),
        ("tanh.approx.f32 %f1, %f1;", "no hyperbolic tangent"),
        ("frob.u32 %r1, %r1;", "there is no instruction `frob.u32`"),
        ("add.f32.rq %f1, %f1, %f1;", "`add.f32.rq` is not supported"),
        ("bar.arrive 0, 32;", "`bar.arrive` came with sm_20"),
        ("bar.sync 0, 32;", "barriers for a part of the block came with sm_20"),
        (
            "tex.acube.v4.f32.f32 {%f1, %f1, %f1, %f1}, [t, {%f1, %f1, %f1, %f1}];",
            "arrays of cube maps came with sm_20",
        ),
        ("txq.filter_mode.b32 %r1, [t];", "no instruction of these chips tells the .filter_mode"),
        ("mov.u32 %r1, %undeclared;", "`%undeclared` is not declared"),
        ("mov.u32 %r1, %nsmid;", "the special register `%nsmid` is not supported"),
        ("bra NOWHERE;", "there is no label `NOWHERE`"),
        ("add.u32 %r1, %r1;", "takes 3 operands"),
        ("add.f32 %f1, %p1, %f1;", "`%p1` is declared .pred; `add.f32` takes .f32 here"),
        ("mov.u32 %w1, 1;", "`%w1` is declared .u64; `mov.u32` takes .u32 here"),
        ("vote.ballot.b32 %r1, %p1;", "cannot gather a predicate"),
    ],
)
def test_what_is_not_supported_is_named(line: str, message: str) -> None:
    registers = ".reg .u32 %r1; .reg .f32 %f1; .reg .pred %p1; .reg .u64 %w1;\n"
    with pytest.raises(CompileError) as e:
        compile_ptx(HEAD + ".tex .u64 t;\n" + kernel(registers + line))
    assert message in e.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("add.rm.f32 %f1, %f1, %f1;", "g84 cannot round f32 sums and products with .rm"),
        ("fma.rn.f32 %f1, %f1, %f1, %f1;", "`fma.rn.f32` came with sm_20; g84 has neither it nor double precision"),
    ],
)
def test_what_needs_double_precision_is_named_on_chips_without(line: str, message: str) -> None:
    with pytest.raises(CompileError) as e:
        compile_ptx(HEAD + kernel(".reg .f32 %f1;\n" + line), "g84")
    assert message in e.value.diagnostics[0].message


def test_a_kernel_with_an_error_does_not_keep_others_from_compiling() -> None:
    good, bad = kernel(OUT + "  st.global.u32 [%o], 7;"), kernel("  tanh.approx.f32 %f1, %f2;", "bad")
    got = compile_ptx(HEAD + bad + good)
    assert list(got.module) == ["k"]
    assert list(got.failures) == ["bad"]


def test_recursion_is_refused_by_name() -> None:
    text = ".func f () { call f, (); ret; }\n" + kernel("  call f, ();")
    with pytest.raises(CompileError, match="`f` calls itself"):
        compile_ptx(HEAD + text)


def test_functions_are_inlined() -> None:
    text = (
        ".func (.reg .u32 %r) twice (.reg .u32 %a) { add.u32 %r, %a, %a; ret; }\n"
        + kernel(OUT + "  .reg .u32 %x;\n  call (%x), twice, (21);\n  st.global.u32 [%o], %x;")
    )  # fmt: skip
    assert run(text)[0] == 42


def test_parameters_of_functions_may_lie_in_memory() -> None:
    text = """
.func (.param .b32 r) add3 (.param .b32 a, .param .b64 b)
{
  .reg .u32 %x; .reg .u64 %y;
  ld.param.u32 %x, [a]; ld.param.u64 %y, [b];
  cvt.u32.u64 %x, %y; add.u32 %x, %x, 3;
  st.param.b32 [r+0], %x; ret;
}
""" + kernel(
        OUT
        + """
  .reg .u32 %x; .reg .u64 %y;
  mov.u32 %x, 4; mov.u64 %y, 39;
  { .param .b32 p0; .param .b64 p1; .param .b32 ret0;
    st.param.b32 [p0+0], %x; st.param.b64 [p1+0], %y;
    call.uni (ret0), add3, (p0, p1);
    ld.param.b32 %x, [ret0+0]; }
  st.global.u32 [%o], %x;"""
    )
    assert run(text)[0] == 42


def test_predicates_share_four_registers() -> None:
    sets = "".join(f"  setp.gt.s32 %p{k}, %x, {k};\n" for k in range(9))
    sums = "".join(f"  selp.u32 %y, {1 << k}, 0, %p{k};\n  add.u32 %s, %s, %y;\n" for k in range(9))
    body = (
        OUT
        + "  .reg .pred %p<9>; .reg .u32 %x, %y, %s;\n  ld.global.u32 %x, [%o+4];\n  add.u32 %x, %x, 5;\n  mov.u32 %s, 0;\n"
    )
    assert run(kernel(body + sets + sums + "  st.global.u32 [%o], %s;"))[0] == 0b11111


def test_registers_beyond_the_limit_live_in_local_memory() -> None:
    loads = "".join(f"  ld.global.u32 %r{k}, [%o+{4 * (k % 8)}];\n  add.u32 %r{k}, %r{k}, {k};\n" for k in range(40))
    sums = "".join(f"  mad.lo.u32 %s, %s, 3, %r{k};\n" for k in range(40))
    text = kernel(
        OUT
        + "  .reg .u32 %r<40>, %s;\n  mov.u32 %s, 0;\n"
        + loads
        + "  bar.sync 0;\n"
        + sums
        + "  st.global.u32 [%o], %s;"
    )
    want = 0
    for k in range(40):
        want = want * 3 + k & 0xFFFF_FFFF
    assert run(text)[0] == want
    small = compile_ptx(HEAD + text, max_registers=12).module
    assert small["k"].registers <= 12
    assert small["k"].local_bytes > 0
    out = np.zeros(8, np.uint32)
    Device("gt200").load(small)["k"][1, 1](out)
    assert int(out[0]) == want


def test_atomics_in_shared_memory_count_every_lane() -> None:
    body = (
        OUT
        + """
  .reg .u32 %a, %r, %t; .reg .pred %p; .shared .u32 count;
  mov.u32 %t, %tid.x; setp.ne.u32 %p, %t, 0;
  @!%p st.shared.u32 [count], %t;
  bar.sync 0;
  atom.shared.add.u32 %r, [count], 2;
  bar.sync 0;
  ld.shared.u32 %r, [count];
  @!%p st.global.u32 [%o], %r;"""
    )
    assert run(kernel(body), block=96)[0] == 192


def test_floats_in_shared_memory_are_added_as_floats() -> None:
    body = (
        OUT
        + """
  .reg .f32 %f; .reg .u32 %t; .reg .pred %p; .shared .f32 total;
  mov.u32 %t, %tid.x; setp.ne.u32 %p, %t, 0;
  @!%p st.shared.u32 [total], %t;
  bar.sync 0;
  atom.shared.add.f32 %f, [total], 0f3F000000;
  bar.sync 0;
  ld.shared.f32 %f, [total];
  @!%p st.global.f32 [%o], %f;"""
    )
    assert run(kernel(body), block=96)[0] == 0x4240_0000  # 48


def test_variables_of_the_module_have_their_content() -> None:
    text = """
.const .align 4 .f32 table[3] = {1.0, 0f40000000, -4};
.global .u32 cell = 77;
.const .s8 small[2] = {-1, 5};
""" + kernel(
        OUT
        + """
  .reg .u32 %x; .reg .f32 %f; .reg .s32 %y;
  ld.const.f32 %f, [table+8]; st.global.f32 [%o], %f;
  ld.global.u32 %x, [cell]; st.global.u32 [%o+4], %x;
  ld.const.s8 %y, [small]; st.global.s32 [%o+8], %y;"""
    )
    assert run(text)[:3] == [0xC0800000, 77, 0xFFFF_FFFF]


def test_generic_addresses_find_their_space() -> None:
    body = (
        OUT
        + """
  .reg .u64 %a, %b; .reg .u32 %x; .shared .align 4 .b8 s[64];
  mov.u64 %a, s; cvta.shared.u64 %b, %a; add.u64 %b, %b, 8;
  st.u32 [%b], 9; ld.shared.u32 %x, [%a+8]; cvta.to.global.u64 %a, %o; st.global.u32 [%a], %x;"""
    )
    assert run(kernel(body))[0] == 9


def test_a_ptx_file_loads_and_runs_like_any_other(tmp_path: object) -> None:
    text = HEAD + kernel(OUT + "  st.global.u32 [%o], 5;")
    module = isakit.load(text.encode())
    assert module.kind == "ptx"
    out = np.zeros(1, np.uint32)
    Device("gt200").load(module)["k"][1, 1](out)
    assert out[0] == 5


def test_elf_cubins_of_compiled_kernels_run_the_same() -> None:
    from isakit.formats import write_elf_cubin

    text = (
        HEAD
        + ".const .u32 c = 6;\n"
        + kernel(OUT + "  .reg .u32 %x;\n  ld.const.u32 %x, [c];\n  st.global.u32 [%o], %x;")
    )
    module = isakit.load(write_elf_cubin(compile_ptx(text).module))
    out = np.zeros(1, np.uint32)
    Device("gt200").load(module)["k"][1, 1](out)
    assert out[0] == 6


def test_lines_of_ptx_are_known_for_every_instruction() -> None:
    module = compile_ptx(HEAD + kernel(OUT + "  st.global.u32 [%o], 5;")).module
    table = module["k"].program.lines
    assert table is not None
    assert {where.ptx for _, where in table} >= {6, 7}


def test_a_dump_shows_machine_instructions_by_their_names() -> None:
    shown: dict[str, str] = {}
    compile_ptx(HEAD + kernel(OUT + "  st.global.u32 [%o], 5;"), watch=shown.__setitem__)
    assert "\n    st ty=b32 dst= g14[" in shown["selected"]


def test_no_spelling_is_translated_in_two_ways() -> None:
    keys: dict[str, set[str]] = {}
    for row, mods in grammar.spellings(limit=300):
        opcode = ".".join([row.base, *(word for word in mods.values() if word)])
        keys.setdefault(opcode, set()).add(row.key)
    assert len(keys) > 2000
    assert {o: k for o, k in keys.items() if len(k) > 1} == {}


def test_every_row_finds_its_translation() -> None:
    from isakit.compile.translate.function import Translator

    control = {"bra", "exit", "ret"}
    missing = {r.key for group in grammar.rows().values() for r in group if not hasattr(Translator, f"do_{r.key}")}
    assert missing == control


def test_every_operation_is_selected() -> None:
    from isakit.compile.ops import OPS
    from isakit.compile.tesla.rules import RULES
    from isakit.compile.vector_ops import TYPED

    gone = {"pand", "por", "pxor", "pnot", "phi"}
    """What passes have replaced before selection."""
    assert {n for n, op in OPS.items() if op not in RULES.of and op not in TYPED} == gone


def test_the_reference_page_lists_what_is_read_and_what_is_refused() -> None:
    page = (Path(__file__).parents[3] / "docs/reference/ptx.md").read_text()
    assert page.endswith("\n\n" + grammar.tables()), (
        "its tables are what grammar.tables() returns: put that in their place"
    )


KEPT = (
    OUT
    + """
  .local .align 8 .b8 mine[24];
  .shared .align 8 .b8 ours[8];
  .reg .u64 %s, %l, %p, %q; .reg .u32 %v;
  mov.u64 %l, mine; cvta.local.u64 %s, %l;
  mov.u64 %q, ours; cvta.shared.u64 %q, %q;
  st.u64 [%s+8], %o;
  add.u64 %p, %s, 4; st.u64 [%s+16], %p;
"""
)


def test_a_pointer_kept_in_local_memory_points_where_it_did_before() -> None:
    """What unoptimised code does with every variable."""
    body = (
        KEPT
        + """
  mov.u32 %v, 5; st.u32 [%s+4], %v;
  ld.u64 %p, [%s+16]; ld.u32 %v, [%p]; add.u32 %v, %v, 2;
  ld.u64 %p, [%s+8]; st.u32 [%p], %v;"""
    )
    assert run(kernel(body))[0] == 7


def test_a_pointer_kept_in_local_memory_says_its_space_where_it_may_be_one_of_two() -> None:
    body = (
        KEPT
        + """
  mov.u32 %v, 5; st.u32 [%o], %v; st.u64 [%s+8], %q; ld.u64 %p, [%s+8];
  mov.u32 %v, 9; st.u32 [%p], %v; ld.shared.u32 %v, [ours]; st.u32 [%o+4], %v;"""
    )
    assert run(kernel(body))[:2] == [5, 9]


@pytest.mark.parametrize("space", ["shared", "local", "global"])
@pytest.mark.parametrize("ty", ["u64", "u32", "s8", "f64"])
def test_generic_accesses_of_every_size_reach_their_space(space: str, ty: str) -> None:
    pointer = "mov.u64 %p, own;" if space != "global" else "add.u64 %p, %o, 16;"
    reg = {"u64": "%d0", "u32": "%r0", "s8": "%r0", "f64": "%g0"}[ty]
    value = {"u64": "0x1122334455667788", "u32": "0x11223344", "s8": "-3", "f64": "0d3ff0000000000000"}[ty]
    move = f"mov.{'u32' if ty == 's8' else ty}"
    body = f"""{OUT}
  .{space if space != "global" else "shared"} .align 8 .b8 own[16]; .reg .u64 %p, %d0; .reg .u32 %r0, %x; .reg .f64 %g0;
  {pointer} cvta.{space}.u64 %p, %p;
  {move} {reg}, {value}; st.{ty} [%p+8], {reg}; {move} {reg}, 0;
  ld.{ty} {reg}, [%p+8]; st.global.{"u32" if ty == "s8" else ty} [%o], {reg};"""
    if ty == "f64":
        body = body.replace("mov.f64 %g0, 0;", "mov.f64 %g0, 0d0000000000000000;")
    want = {"u64": [0x55667788, 0x11223344], "u32": [0x11223344], "s8": [0xFFFF_FFFD], "f64": [0, 0x3FF00000]}[ty]
    assert run(kernel(body))[: len(want)] == want


def test_a_generic_address_may_lie_in_constant_memory() -> None:
    text = ".const .u64 table[2] = {5, 0x123456789};\n" + kernel(
        OUT + "  .reg .u64 %p, %v; mov.u64 %p, table; cvta.const.u64 %p, %p;\n"
        "  ld.u64 %v, [%p+8]; st.global.u64 [%o], %v; ld.u8 %v, [%p]; st.global.u8 [%o+8], %v;"
    )
    assert run(text)[:3] == [0x23456789, 1, 5]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("cvta.const.u64 %p, table; st.u32 [%p], 1;", "constant memory cannot be written"),
        ("mov.u64 %p, own; cvta.shared.u64 %p, %p; atom.add.u32 %r, [%p], 1;", "this atomic goes to .shared memory"),
    ],
)
def test_generic_accesses_no_space_has_are_refused_by_name(line: str, message: str) -> None:
    text = ".const .u32 table[2] = {5, 6};\n" + kernel(f".shared .u32 own[4]; .reg .u64 %p; .reg .u32 %r;\n{line}")
    with pytest.raises(CompileError, match=message):
        compile_ptx(HEAD + text)


def test_a_parameter_has_an_address() -> None:
    body = (
        OUT
        + """  .reg .u64 %p; .reg .u32 %x, %t; mov.u64 %p, many; mov.u32 %t, %tid.x; mul.lo.u32 %x, %t, 4;
  add.u32 %x, %x, many; ld.param.u32 %x, [%x+4]; mul.lo.u32 %t, %t, 4; cvt.u64.u32 %p, %t; add.u64 %o, %o, %p;
  st.global.u32 [%o], %x;"""
    )
    text = kernel(body, params=".param .u64 out, .param .align 4 .b8 many[16]")
    out = np.zeros(4, np.uint32)
    k = Device("gt200").load(compile_ptx(HEAD + text).module)["k"]
    k[1, 3](out, np.array([5, 6, 7, 8], np.uint32).tobytes())
    assert list(out) == [6, 7, 8, 0]


def test_the_upper_half_of_a_parameter_is_extended() -> None:
    """The shift reads the parameter where it lies: no register holds the whole of it."""
    body = (
        OUT
        + """  .reg .u32 %x; .reg .u16 %h<2>; ld.param.u32 %x, [a]; mov.b32 {%h0, %h1}, %x;
  cvt.s32.s16 %x, %h1; mul24.lo.s32 %x, %x, 3; st.global.u32 [%o], %x;"""
    )
    out = np.zeros(1, np.uint32)
    module = compile_ptx(HEAD + kernel(body, params=".param .u64 out, .param .u32 a")).module
    Device("gt200").load(module)["k"][1, 1](out, 0x00051234)
    assert out[0] == 15


def test_a_condition_may_be_set_further_down_than_it_is_used() -> None:
    """The loop is entered in its middle, so that the block with the selection stands before the comparison."""
    body = (
        OUT
        + """  .reg .u32 %x, %n, %a, %t; .reg .u16 %h, %g; .reg .pred %p, %q, %r;
  ld.global.u32 %x, [%o]; ld.global.u16 %h, [%o+4]; ld.global.u16 %g, [%o+8]; ld.global.u32 %a, [%o+12]; mov.u32 %n, 0;
  bra MIDDLE;
TOP: selp.b16 %h, %h, %g, %p; add.u32 %n, %n, 1; setp.eq.u32 %r, %n, 3; @%r bra DONE;
MIDDLE: and.b32 %t, %x, 7; setp.eq.u32 %p, %t, 0; add.u32 %t, %t, %n; selp.b32 %a, %a, %t, %p;
  and.b32 %t, %a, 30; setp.eq.u32 %q, %t, 0; @%q bra TOP;
  xor.b32 %x, %x, %a; bra TOP;
DONE: cvt.s32.s16 %x, %h; st.global.u32 [%o], %x;"""
    )
    out = np.array([8, 7, 9, 64, 0], np.uint32)
    Device("gt200").load(compile_ptx(HEAD + kernel(body)).module)["k"][1, 1](out)
    assert out[0] == 7


def _many_constants(words: int) -> str:
    body = "".join(f"  xor.b32 %x, %x, %y; min.u32 %x, %x, {0xFFF00000 + 7 * k};\n" for k in range(words))
    halves = "".join(f"  cvt.u16.u32 %h, %x; mad.wide.u16 %x, %h, {300 + k}, %y;\n" for k in range(20))
    registers = "  .reg .u32 %x, %y; .reg .u16 %h; mov.u32 %x, 5; mov.u32 %y, %tid.x; add.u32 %y, %y, 77;\n"
    return kernel(OUT + registers + body + halves + "  st.global.u32 [%o], %x;")


def test_instructions_of_16_bits_reach_their_constants_behind_many_others() -> None:
    x, y = 5, 77
    for k in range(90):
        x = min(x ^ y, 0xFFF00000 + 7 * k)
    for k in range(20):
        x = (x & 0xFFFF) * (300 + k) + y
    assert run(_many_constants(90))[0] == x


@pytest.mark.parametrize("words", [100, 128, 140, 400])
def test_constants_that_instructions_do_not_reach_go_through_registers(words: int) -> None:
    x, y = 5, 77
    for k in range(words):
        x = min(x ^ y, 0xFFF00000 + 7 * k)
    for k in range(20):
        x = (x & 0xFFFF) * (300 + k) + y
    assert run(_many_constants(words))[0] == x


def test_many_halves_words_and_guarded_constants_are_right_together() -> None:
    body = "  .reg .u32 %x, %y; .reg .u16 %h; .reg .pred %p; mov.u32 %y, %tid.x; add.u32 %x, %y, 9;\n"
    x, y = 9, 0
    for k in range(150):
        body += f"  cvt.u16.u32 %h, %x; mad.wide.u16 %x, %h, {1000 + 3 * k}, %y; setp.gt.u32 %p, %x, {77777 + 5 * k};\n"
        body += f"  selp.u32 %y, {0x10000 + k}, {0x20000 + k}, %p; @%p add.u32 %x, %x, {0x1234567 + k};\n"
        x = (x & 0xFFFF) * (1000 + 3 * k) + y & 0xFFFFFFFF
        p = x > 77777 + 5 * k
        y = (0x10000 if p else 0x20000) + k
        x = x + 0x1234567 + k & 0xFFFFFFFF if p else x
    assert run(kernel(OUT + body + "  xor.b32 %x, %x, %y; st.global.u32 [%o], %x;"))[0] == x ^ y


@pytest.mark.parametrize(
    ("usual", "other"),
    [
        ("cvt.rn.f32.f64", "cvt.f32.f64.rn"), ("cvt.rzi.ftz.sat.s32.f32", "cvt.sat.s32.rzi.f32.ftz"),
        ("rcp.approx.ftz.f32", "rcp.approx.f32.ftz"), ("add.rn.ftz.sat.f32", "add.f32.sat.ftz.rn"),
        ("setp.lt.ftz.f32", "setp.ftz.f32.lt"), ("ld.volatile.global.v2.u32", "ld.global.v2.u32.volatile"),
        ("ld.volatile.global.v2.u32", "ld.global.volatile.u32.v2"), ("st.volatile.shared.f32", "st.shared.f32.volatile"),
        ("mul.lo.u32", "mul.u32.lo"), ("mad24.lo.s32", "mad24.s32.lo"), ("add.cc.u32", "add.u32.cc"),
        ("atom.global.add.u32", "atom.add.global.u32"), ("set.eq.u32.f32", "set.u32.eq.f32"),
        ("tex.2d.v4.f32.s32", "tex.v4.2d.f32.s32"), ("bra.uni", "bra.uni"),
    ],
)  # fmt: skip
def test_modifiers_may_come_in_any_order(usual: str, other: str) -> None:
    got, wanted = grammar.match(other), grammar.match(usual)
    assert got is not None
    assert wanted is not None
    assert (got.row.key, got.mods) == (wanted.row.key, wanted.mods)


def test_types_of_a_conversion_keep_their_order_and_words_are_not_repeated() -> None:
    got = grammar.match("cvt.f32.f64.rn")
    assert got is not None
    assert (got.mods["cvt"], got.mods["from"]) == ("f32", "f64")
    for wrong in (
        "cvt.rn.rn.f32.f64",
        "add.f32.ftz.ftz",
        "cvt.f32.rn",
        "add.u32.f32",
        "rcp.f32.full.approx",
        "ld.u32.u32",
    ):
        assert grammar.match(wrong) is None, wrong
    text = kernel(OUT + "  .reg .f32 %a; mov.f32 %a, 0f40000000; rcp.approx.f32.ftz %a, %a; st.f32.global [%o], %a;")
    assert run(text)[0] == 0x3F000000


def test_labels_for_line_tables_may_stand_inside_of_a_call() -> None:
    """As clang 19 and later write it: the parts of a call are instructions of LLVM."""
    text = f""".func (.param .b32 back) twice (.param .b32 a, .param .b32 b)
{{
  .reg .u32 %r<3>;
  ld.param.u32 %r0, [a]; ld.param.u32 %r1, [b]; add.u32 %r2, %r0, %r1; st.param.b32 [back], %r2; ret;
}}
{
        kernel(
            OUT
            + '''
  .reg .u32 %v;
$L__tmp0: { .param .b32 p0; st.param.b32 [p0], 3; .param .b32 p1; st.param.b32 [p1], 4; .param .b32 r0;
  call.uni
$L__tmp1:
  (r0),
$L__tmp2: $L__tmp3:
  twice,
  (
$L__tmp4:
  p0,
$L__tmp5:
  p1
$L__tmp6:
  );
$L__tmp7:
  ld.param.b32 %v, [r0]; }
$L__tmp8: st.global.u32 [%o], %v;
  bra $L__tmp9; st.global.u32 [%o], 0;
$L__tmp9:'''
        )
    }"""
    assert run(text)[0] == 7
    with pytest.raises(CompileError, match="the function `thrice` is not defined"):
        compile_ptx(HEAD + text.replace("  twice,", "  thrice,"))


@pytest.mark.parametrize("operation", ["red.global.add.u64 [%o], %v;", "atom.global.add.u64 %w, [%o], %v;",
                                       "atom.add.u64 %w, [%o], %v;"])  # fmt: skip
def test_64_bit_sums_are_atomic_on_gt200(operation: str) -> None:
    body = OUT + "  .reg .u64 %v, %w; .reg .u32 %t; mov.u32 %t, %tid.x; mov.b64 %v, {%t, %t};\n"
    body += "  add.u64 %v, %v, 0xffffffff;\n  "
    text = kernel(body + operation + (" st.global.u64 [%o+8], %w;" if "%w," in operation else ""))
    got = run(text, block=64)
    total = sum((t << 32 | t) + 0xFFFF_FFFF for t in range(64)) & (1 << 64) - 1
    assert got[0] | got[1] << 32 == total
    with pytest.raises(CompileError, match=r"g84 has no atomic .add on .u64"):
        compile_ptx(HEAD + text, "g84")


@pytest.mark.parametrize(("operation", "before", "value"), [("exch.b64", 5, 9), ("cas.b64", 5, 9), ("cas.b64", 6, 6)])
def test_64_bit_exchanges_are_atomic_on_gt200(operation: str, before: int, value: int) -> None:
    given = "5, 9" if operation == "cas.b64" else "9"
    body = f"  .reg .u64 %w; st.global.u64 [%o], {before}; atom.global.{operation} %w, [%o], {given};"
    body += " st.global.u64 [%o+8], %w;"
    assert run(kernel(OUT + body))[:4] == [value, 0, before, 0]


def test_vectors_of_demoted_doubles_are_vectors_of_floats() -> None:
    head = HEAD.replace("sm_13", "sm_10, map_f64_to_f32")
    for space in ("global", "shared", "local"):
        place, array = ("%o", "") if space == "global" else ("own", f".{space} .align 16 .b8 own[64];")
        body = (
            OUT
            + f"""  {array} .reg .f64 %a, %b, %c; .reg .f32 %f;
  mov.f64 %a, 0d3ff8000000000000; mov.f64 %b, 0dc000000000000000;
  st.{space}.v2.f64 [{place}+8], {{%a, %b}}; st.{space}.f64 [{place}+16], %b;
  ld.{space}.f32 %f, [{place}+12]; st.global.f32 [%o], %f;
  ld.{space}.v2.f64 {{%c, %a}}, [{place}+8]; cvt.rn.f32.f64 %f, %c; st.global.f32 [%o+4], %f;
  ld.{space}.f64 %c, [{place}+16]; cvt.rn.f32.f64 %f, %c; st.global.f32 [%o+24], %f;
  cvt.rn.f32.f64 %f, %a; st.global.f32 [%o+28], %f;"""
        )
        out = np.zeros(8, np.float32)
        Device("g80").load(compile_ptx(head + kernel(body), "g80").module)["k"][1, 1](out)
        assert (out[0], out[1], out[6], out[7]) == (-2, 1.5, -2, -2), space


@pytest.mark.parametrize("chip", ["g80", "gt200"])
@pytest.mark.parametrize("block", [(1, 1, 1), (33, 2, 1), (7, 5, 3), (512, 1, 1)])
def test_barriers_count_and_join_the_predicates_of_a_block(chip: str, block: tuple[int, int, int]) -> None:
    """`__syncthreads_count`, `__syncthreads_and`, `__syncthreads_or`, beside an array whose size the launch decides."""
    text = """.version 2.3
.target sm_20
.extern .shared .align 4 .b32 open[];
.entry k (.param .u64 out, .param .u32 n)
{
  .reg .u64 %o, %w; .reg .u32 %i, %t, %d, %n, %c, %s, %v; .reg .pred %p, %q; .reg .u32 %r<8>;
  ld.param.u64 %o, [out]; ld.param.u32 %n, [n];
  mov.u32 %t, %tid.z; mov.u32 %d, %ntid.y; mul.lo.u32 %t, %t, %d; mov.u32 %d, %tid.y; add.u32 %t, %t, %d;
  mov.u32 %d, %ntid.x; mul.lo.u32 %t, %t, %d; mov.u32 %d, %tid.x; add.u32 %i, %t, %d;
  mul.wide.u32 %w, %i, 4; add.u64 %o, %o, %w; mov.u32 %s, open; cvt.u32.u64 %t, %w; add.u32 %s, %s, %t;
  st.shared.u32 [%s], 7;
  and.b32 %t, %i, 3; setp.eq.u32 %p, %t, %n; bar.red.popc.u32 %c, 0, %p;
  setp.gt.u32 %p, %i, %n; barrier.cta.red.popc.aligned.u32 %v, 0, !%p; mad.lo.u32 %c, %v, 1000, %c;
  setp.lt.u32 %p, %i, 100; bar.red.and.pred %q, 1, %p; selp.u32 %v, 1000000, 0, %q; add.u32 %c, %c, %v;
  setp.eq.u32 %p, %i, 40; barrier.red.or.pred %q, 0, %p; selp.u32 %v, 2000000, 0, %q; add.u32 %c, %c, %v;
  ld.shared.u32 %v, [%s]; add.u32 %c, %c, %v; st.global.u32 [%o], %c; exit;
}
"""
    module = compile_ptx(text, chip).module
    threads = np.arange(int(np.prod(block)))
    for n in (0, 3):
        out = np.zeros(len(threads), np.uint32)
        Device(chip).load(module)["k"].launch(1, block, out, n, dynamic_shared=4 * len(threads))
        want = (threads & 3 == n).sum() + 1000 * (threads <= n).sum() + 7
        want += 1000000 * (len(threads) <= 100) + 2000000 * (len(threads) > 40)
        assert set(out.tolist()) == {int(want)}
    assert module["k"].barriers == 2


def test_a_call_through_a_register_goes_to_the_function_of_that_number() -> None:
    function = """.func (.param .b32 back) {name} (.param .b32 a)
{{ .reg .u32 %r; ld.param.u32 %r, [a]; {what}; st.param.b32 [back], %r; ret; }}
"""
    text = function.format(name="twice", what="add.u32 %r, %r, %r")
    text += function.format(name="never_taken", what="mov.u32 %r, 99")
    text += function.format(name="next", what="add.u32 %r, %r, 1")
    text += ".func (.param .b32 back) two (.param .b32 a, .param .b32 b) { st.param.b32 [back], 5; ret; }\n"
    text += ".global .u64 kept[2] = {next, twice};\n"
    text += kernel(
        OUT
        + """
  .reg .u64 %f, %t, %w; .reg .u32 %i, %v; .reg .pred %p;
  mov.u32 %i, %tid.x; and.b32 %v, %i, 1; setp.ne.u32 %p, %v, 0; mov.u64 %t, twice; mov.u64 %f, two;
  mul.wide.u32 %w, %v, 8; mov.u64 %f, kept; add.u64 %f, %f, %w; ld.global.u64 %f, [%f];
  { .param .b32 p0; st.param.b32 [p0], %i; .param .b32 r0;
  shape : .callprototype (.param .b32 _) _ (.param .b32 _);
  call (r0), %f, (p0), shape;
  ld.param.b32 %v, [r0]; }
  mul.wide.u32 %w, %i, 4; add.u64 %o, %o, %w; st.global.u32 [%o], %v;"""
    )
    assert run(text, block=8) == [1, 2, 3, 6, 5, 10, 7, 14]
    with pytest.raises(CompileError, match="no function whose address is taken"):
        compile_ptx(HEAD + text.replace("(p0), shape", "(p0, p0, p0), shape"))


def test_an_instruction_without_a_long_form_does_not_move_those_behind_it() -> None:
    for what in ("trap", "brkpt"):
        text = kernel(
            OUT
            + f"""
  .reg .u32 %t, %v; .reg .pred %p; mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 8; mov.u32 %v, 1;
  @%p bra A; {what}; bra B;
A: add.u32 %v, %t, 0x12345; ld.global.u32 %t, [%o]; add.u32 %v, %v, %t;
B: @!%p {what}; st.global.u32 [%o+4], %v;"""
        )
        module = compile_ptx(HEAD + text).module
        assert [i.text for i in module["k"].program if not i.valid] == []
        assert run(text)[1] == 0x12345


TURNS = """
  .reg .u32 %i, %n, %pc, %wait, %acc, %v; .reg .u64 %at, %s; .reg .pred %p; .shared .u32 held[64];
  mov.u32 %i, %tid.x; mov.u32 %pc, 0; mov.u32 %wait, 0; mov.u32 %acc, 0;
NEXT:
  setp.gt.u32 %p, %wait, 0;
  @%p bra SKIP;
  setp.eq.u32 %p, %pc, 0; @%p bra JUMP;
  setp.eq.u32 %p, %pc, 2; @%p bra EXCHANGE;
  setp.eq.u32 %p, %pc, 3; @%p bra DONE;
  add.u32 %acc, %acc, 100; bra.uni ON;
JUMP:
  and.b32 %wait, %i, 1; bra.uni ON;
EXCHANGE:
  shl.b32 %n, %i, 2; cvt.u64.u32 %s, %n; add.u32 %v, %i, 1; mov.u64 %at, held; add.u64 %at, %at, %s;
  st.shared.u32 [%at], %v;
  bar.sync 0;
  add.u32 %n, %i, 33; and.b32 %n, %n, 63; shl.b32 %n, %n, 2; cvt.u64.u32 %s, %n; mov.u64 %at, held;
  add.u64 %at, %at, %s; ld.shared.u32 %v, [%at]; add.u32 %acc, %acc, %v; bar.sync 0; bra.uni ON;
SKIP:
  sub.u32 %wait, %wait, 1;
ON:
  mul.wide.u32 %at, %i, 4; add.u64 %at, %at, %o; st.global.u32 [%at], %acc;
  add.u32 %pc, %pc, 1; bra.uni NEXT;
DONE:
"""
"""An interpreter: a lane that has jumped ahead waits for the others; what ends it stands among what goes on."""


def test_lanes_meet_again_in_a_loop_that_is_left_by_ending_only() -> None:
    """They once met at the end of the kernel, so that each half of a warp came to the barrier by itself."""
    got = run(kernel(OUT + TURNS), words=64, block=64)
    assert got == [(0 if i & 1 else 100) + (i + 33) % 64 + 1 for i in range(64)]

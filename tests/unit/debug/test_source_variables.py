"""Variables by name: at every instruction, what a debugger shows is a state that the source goes through, in order.

The oracle is Python itself: it runs the kernel's function for one thread, and a trace function notes the variables
after every line.
"""

from __future__ import annotations

import json
import re
import sys
from types import FrameType
from typing import Any

import numpy as np
import pytest

from isakit.compile import compile_ptx
from isakit.compile.c import compile_c
from isakit.compile.debug_records import marked
from isakit.compile.python import compile_text
from isakit.debug import source_views
from isakit.debug.expressions import ExpressionError
from isakit.debug.session import Session
from isakit.debug.source_variables import OPTIMISED_OUT, OptimisedOutError, SourceVariables
from isakit.debug.terminal import Commands
from isakit.errors import LaunchError
from isakit.line_table import LineTable, SourceLine, VariableRange, pack, unpack
from isakit.runtime import Device
from support.needs import needs_clang

KERNELS = {  # the kernels' lines begin at 5
    "sum": """
    total = 0
    for i in range(n):
        total += i * i
    out[0] = total
""",
    "collatz": """
    steps = 0
    x = n
    while x != 1:
        if x % 2 == 0:
            x = x >> 1
        else:
            x = 3 * x + 1
        steps += 1
    out[0] = steps
""",
    "swaps": """
    a = 0
    b = 1
    k = n
    while k > 0:
        a, b = b, a + b
        k -= 1
    out[0] = a
""",
    "nested": """
    found = 0
    for i in range(n):
        j = 0
        while j < i:
            if (i ^ j) & 3 == 1:
                found += j
                j += 2
            else:
                j += 1
        out[i] = found
    out[0] = found
""",
    "header": """
    a = n + 3
    b = n + 3
    for i in range(n & 7):
        if 1 > n:
            out[9] = b
            a = n & 255
        out[1] = (a - n) & n
        b = (((b ^ a) + b) + ((n | a) ^ 2)) & 255
        out[4] = a
    out[0] = a
    out[2] = b
""",
    "again": """
    t = n
    out[1] = t
    t = t * 3
    out[2] = t
    if t > 20:
        t = t - 20
    out[3] = t
    t = 7
    out[0] = t + n
""",
    "bits": """
    f = n + 2
    g = 9
    for i in range(n & 7):
        for j in range(1):
            f = (((f | 1) & 255) + (j & 2)) & 255
            g = j
        out[1] = f
    out[0] = f + g
""",
    "taken": """
    a = n + 4
    b = n + 1
    for j in range(4):
        out[2] = b
        if (n ^ j) > 3 * a:
            b = a
        if a > 20:
            break
    out[0] = b
""",
}
HEAD = "import isakit\n\n@isakit.kernel\ndef kernel(n: 'i32', out: 'i32p'):"


def states(body: str, n: int) -> list[dict[str, int]]:
    """The variables after every line that Python executes."""
    space: dict[str, Any] = {}
    exec("def kernel(n, out):" + body, space)
    seen: list[dict[str, int]] = []

    def note(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_name != "kernel":
            return None
        seen.append({k: v for k, v in frame.f_locals.items() if isinstance(v, int)})
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        space["kernel"](n, [0] * 64)
    finally:
        sys.settrace(before)
    return seen


def session_of(body: str, n: int, debug_build: bool = False) -> Session:
    ptx = compile_text(HEAD + body, "k.py", named=True, debug_build=debug_build)[0]
    kernel = Device("gt200").load(compile_ptx(ptx, "gt200", path="k.py", origin=HEAD + body).module)["kernel"]
    machine = kernel.machine(1, 1, [n, np.zeros(64, np.int32)])
    return Session(machine, kernel.info.program)


def shown(session: Session) -> dict[str, int]:
    found = {v.name: v.text for v in source_views.variables(session) if v.text != OPTIMISED_OUT}
    return {name: int(text) for name, text in found.items() if name not in ("out", "_")}


@pytest.mark.parametrize("debug_build", [False, True])
@pytest.mark.parametrize("n", [1, 7])
@pytest.mark.parametrize("name", KERNELS)
def test_what_is_shown_is_a_state_of_the_source(name: str, n: int, debug_build: bool) -> None:
    if name == "bits" and not debug_build:
        pytest.skip("LLVM's records are of other values there, once it knows which bits matter")
    wanted = states(KERNELS[name], n)
    session = session_of(KERNELS[name], n, debug_build)
    at = seen = 0
    while not session.finished:
        now = shown(session)
        seen += len(now)
        match = next((k for k in range(at, len(wanted)) if now.items() <= wanted[k].items()), None)
        assert match is not None, (hex(session.address or 0), now, wanted[at:])
        at = match
        session.step()
    assert seen > 5  # it does show something


@pytest.mark.parametrize("n", [1, 7])
@pytest.mark.parametrize("name", KERNELS)
def test_a_debug_build_shows_variables_after_their_last_use(name: str, n: int) -> None:
    session = session_of(KERNELS[name], n, debug_build=True)
    always = set(re.findall(r"^    (\w+) = ", KERNELS[name], re.MULTILINE))
    while True:
        before = shown(session)
        session.step()
        if session.finished:
            break
        assert before.keys() & always <= shown(session).keys()  # of what is there nothing is lost
    wanted = states(KERNELS[name], n)[-1]
    assert before.items() >= {v: wanted[v] for v in always}.items()


def test_a_debug_build_takes_no_more_registers_than_blocks_have() -> None:
    names = [f"v{k}" for k in range(60)]
    body = "\n".join(["", *(f"    {v} = out[{k}]\n    out[{v}] = 1" for k, v in enumerate(names))])
    ptx = compile_text(f"{HEAD}{body}\n", "k.py", debug_build=True)[0]
    used = {chip: compile_ptx(ptx, chip).module["kernel"].registers for chip in ("g80", "gt200")}
    plain = compile_ptx(compile_text(f"{HEAD}{body}\n", "k.py")[0], "gt200").module["kernel"].registers
    assert used["g80"] <= max(16, plain)
    assert plain < used["gt200"] <= max(32, plain)


@needs_clang
def test_a_debug_build_of_c_shows_variables_to_the_end_of_the_kernel() -> None:
    text = """__device__ __noinline__ int twice(int w) { int v = w; v *= 2; return v; }
    __global__ void k(int *out) {
        int a = threadIdx.x + 1;
        int f = ((a | 1) & 255) + (a & 2);
        int s = 0;
        for (int i = 0; i < 3; i++) s += f;
        int b = twice(s);
        int t = a * 3;
        out[threadIdx.x] = b + (t + b);
    }"""
    session = _session_of_c(text, (32, 1), 9, debug_build=True)
    assert shown(session).items() >= {"a": 1, "f": 1, "s": 3, "b": 6, "t": 3}.items()
    ptx = compile_c("k.cu", text, debug_build=True)
    assert ".target sm_13, debug" in ptx
    assert "call" not in ptx


IR = """define void @k(i32 %n) {
entry:
    #dbg_value(i32 %late, !1, !DIExpression(), !9)
  %late = add i32 %n, 1
    #dbg_value(i32 %late, !1, !DIExpression(), !9)
  br i1 true, label %one, label %two
one:
  %own = add i32 %n, 2
  br label %two
two:
    #dbg_value(i32 %own, !1, !DIExpression(), !9)
    #dbg_value(i32 %n, !1, !DIExpression(DW_OP_plus_uconst, 1, DW_OP_stack_value), !9)
    #dbg_value(i32 -1, !1, !DIExpression(), !9)
    #dbg_value(float 0x3FF0000000000000, !2, !DIExpression(), !9)
    #dbg_value(i32 %n, !4, !DIExpression(), !9)
  ret void
}
!1 = !DILocalVariable(name: "v", type: !3)
!2 = !DILocalVariable(name: "f", type: !5)
!3 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!4 = !DILocalVariable(name: "s", type: !6)
!5 = !DIBasicType(name: "float", size: 32, encoding: DW_ATE_float)
!6 = !DICompositeType(tag: DW_TAG_structure_type, name: "S")
!9 = !DILocation(line: 1, scope: !8)
"""


_CALL = r"call void @llvm.dbg.value(metadata \1, metadata \2, metadata \3), !dbg \4"
OLDER = re.sub(r"#dbg_value\((.*), (!\d+), (!DI.*), (!\d+)\)", _CALL, IR)
"""The same in the manner of clang 18 and before: records are calls."""


@pytest.mark.parametrize("ir", [IR, OLDER])
def test_records_of_values_that_are_not_there_say_nothing_is_known(ir: str) -> None:
    assert "dbg" not in marked(ir)
    marks = [line.strip() for line in marked(ir).splitlines() if "isakit.value" in line]
    texts = [m.partition("isakit.value ")[2].partition("\\22")[0] for m in marks]
    assert texts == ["v s32", "v s32 $0", "v s32", "v s32", "v s32 0xffffffff", "f f32 0x3f800000"]


def test_pointers_may_have_types() -> None:
    ir = OLDER.replace("i32 %late", "%struct.S addrspace(1)* %late")
    (mark,) = (line.strip() for line in marked(ir).splitlines() if "$0" in line)
    assert mark.endswith('"l"(%struct.S addrspace(1)* %late) #9090')


SHARED = """\
@part = internal addrspace(3) global [64 x float] undef, align 4, !dbg !0
@two = internal addrspace(3) global [8 x [9 x float]] undef, align 4, !dbg !10
@other = internal addrspace(3) global [4 x i8] undef, !dbg !12
@n = internal unnamed_addr addrspace(3) global float undef, align 4, !dbg !16
@g = addrspace(1) global [4 x float] zeroinitializer, !dbg !0
define ptx_kernel void @k(ptr addrspace(3) %p) !dbg !2 {
  ret void
}
define ptx_kernel void @none() !dbg !20 {
  ret void
}
!0 = !DIGlobalVariableExpression(var: !1, expr: !DIExpression())
!1 = distinct !DIGlobalVariable(name: "part", scope: !3, type: !4)
!2 = distinct !DISubprogram(name: "k")
!3 = distinct !DILexicalBlock(scope: !2, line: 3)
!4 = !DICompositeType(tag: DW_TAG_array_type, baseType: !5, size: 2048, elements: !6)
!5 = !DIBasicType(name: "float", size: 32, encoding: DW_ATE_float)
!6 = !{!7}
!10 = !DIGlobalVariableExpression(var: !11, expr: !DIExpression())
!11 = distinct !DIGlobalVariable(name: "two", scope: !2, type: !4)
!12 = !DIGlobalVariableExpression(var: !13, expr: !DIExpression())
!13 = distinct !DIGlobalVariable(name: "other", scope: !2, type: !14)
!14 = !DICompositeType(tag: DW_TAG_array_type, baseType: !15, size: 32, elements: !6)
!16 = !DIGlobalVariableExpression(var: !17, expr: !DIExpression())
!17 = distinct !DIGlobalVariable(name: "n", scope: !2, type: !5)
!15 = !DICompositeType(tag: DW_TAG_structure_type, name: "S")
"""


@pytest.mark.parametrize("pointer", ["ptr addrspace(3)", "[64 x float] addrspace(3)*"])
def test_arrays_in_shared_memory_are_marked_where_their_kernel_begins(pointer: str) -> None:
    lines = marked(SHARED.replace("ptr addrspace(3) %p", f"{pointer} %p")).splitlines()
    assert [k for k, line in enumerate(lines) if "isakit.value" in line] == [6, 7, 8]
    assert lines[5].startswith("define ptx_kernel void @k(")
    assert "isakit.value part array:f32:64 $0" in lines[6]
    assert f'"l"({pointer} @part)' in lines[6]
    assert "isakit.value two array:f32:72:9 $0" in lines[7]
    assert "isakit.value n shared:f32 $0" in lines[8]


@needs_clang
def test_arrays_of_two_axes_have_two_indices() -> None:
    text = """__global__ void k(float *out) {
        __shared__ float tile[4][5];
        __shared__ int count;
        if (threadIdx.x == 1) count = -7 - (int)threadIdx.y / 4;
        tile[threadIdx.y][threadIdx.x] = threadIdx.y * 10 + threadIdx.x;
        __syncthreads();
        out[threadIdx.x] = tile[threadIdx.x][threadIdx.y] + count;
    }"""
    session = _session_of_c(text, (4, 4), 7)
    say = Commands(session).run
    assert say("p tile[2][3]").lines == ["23.0"]
    assert say("p count + 1").lines == ["-6"]
    assert say("p tile").lines[0].startswith("{{0, 1, 2, 3, 0}, {10, 11, 12, 13, 0}, ")
    (tile,) = (v for v in source_views.variables(session) if v.name == "tile")
    assert tile.type == "f32[4][5]"
    assert tile.text == "{{0, 1, 2, 3, 0}, {10, 11, 12, ...}}"
    assert source_views.element_names(tile.variable, 7)[-2:] == ["[1][0]", "[1][1]"]
    session.break_at("k.cu:7", "tile[1][2] != 12")
    for wrong, why in (("tile[1]", "`tile` has 2 axes"), ("tile[1][2][3]", "left over"), ("s[1][2]", "left over")):
        with pytest.raises(ExpressionError, match=why):
            session.evaluate(wrong)


def _session_of_c(text: str, block: tuple[int, int], line: int, debug_build: bool = False) -> Session:
    """A kernel of CUDA C in one block, whose last warp is behind the barrier before a line."""
    module = compile_ptx(compile_c("k.cu", text, named=True, debug_build=debug_build), path="k.cu").module
    loaded = Device().load(module)
    kernel = loaded[next(iter(loaded))]
    session = Session(kernel.machine(1, block, [np.zeros(64, np.float32)]), kernel.info.program)
    session.break_at(f"k.cu:{line}")
    for _ in range(-(-block[0] * block[1] // 32)):
        assert session.cont().reason == "breakpoint"
    return session


@needs_clang
def test_arrays_in_shared_memory_have_names() -> None:
    text = """__global__ void k(float *out) {
        __shared__ float part[64];
        part[threadIdx.x] = threadIdx.x * 2;
        __syncthreads();
        out[threadIdx.x] = part[63 - threadIdx.x];
    }"""
    say = Commands(_session_of_c(text, (64, 1), 5)).run
    assert say("p part").lines == [f"{{{', '.join(str(2 * k) for k in range(64))}}}"]
    assert say("p part[5] + 1").lines == ["11.0"]
    assert say("x/2f part").lines[0].endswith("0  2")
    assert say("x/1f out").lines[0].startswith("g14[0x10000]:")


def test_a_variable_without_a_place_is_said_to_be_optimised_out() -> None:
    session = session_of(KERNELS["again"], 9)
    texts = {v.name: v.text for v in source_views.variables(session)}
    assert texts["t"] == OPTIMISED_OUT  # the program has not begun
    with pytest.raises(OptimisedOutError, match="`t` is optimised out here"):
        session.evaluate("t + 1")


def test_conditions_and_elements_name_variables() -> None:
    session = session_of(KERNELS["swaps"], 7)
    session.break_at("k.py:9", "k == 3")  # which no probe of compiled code knows without its place
    session.cont()
    assert (session.evaluate("k"), session.evaluate("a")) == (3, 3)
    session.set("out[3]", 5)
    assert session.evaluate("out[k]") == 5
    session.set("n", 3)
    assert session.evaluate("n") == 3
    assert session.evaluate("k") == 3


def test_values_that_were_marked_survive_a_file() -> None:
    table = LineTable([(0, SourceLine(1, "k.py", 2))], "ptx", [VariableRange("t", "s32", 0, 8, "s32($r1)")])
    again = unpack(pack({"k": table}))["k"]
    assert again.variables == table.variables
    variables = SourceVariables(again)
    assert [variables.at("t", a).place for a in (None, 0, 4, 8)] == ["", "s32($r1)", "s32($r1)", ""]


PTX = """.version 1.4
.target sm_13
.entry sum (.param .u32 p, .param .u32 n) {
    .reg .u32 %r<9>;
    .reg .u64 %rd<3>;
    .reg .pred %p<3>;
    ld.param.u32 %r2, [n];
    mov.u32 %r3, 0;
    mov.u32 %r4, 0;
LOOP:
    setp.ge.u32 %p1, %r3, %r2;
    @%p1 bra DONE;
    add.u32 %r4, %r4, %r3;
    mul.wide.u32 %rd1, %r4, %r4;
    add.u32 %r3, %r3, 1;
    bra LOOP;
DONE:
    ld.param.u32 %r5, [p];
    st.global.u64 [%r5], %rd1;
    exit;
}
"""


def test_registers_of_ptx_are_variables_of_ptx() -> None:
    kernel = Device("gt200").load(compile_ptx(PTX, "gt200", named=True).module)["sum"]
    session = Session(kernel.machine(1, 1, [np.zeros(2, np.uint32), 4]), kernel.info.program)
    session.break_at("ptx:15", "%r3 == 3")
    session.cont()
    assert [session.evaluate(e) for e in ("%r3", "%r4 % 4", "%rd1")] == [3, 2, 36]
    session.break_at("ptx:13", "%r3 == 2")
    session.reverse_cont()
    assert session.evaluate("%r4") == 1
    with pytest.raises(OptimisedOutError, match="`%rd1` is optimised out"):  # on the first way here it has no value
        session.evaluate("%rd1")


@pytest.mark.parametrize(
    "row",
    [
        ["t", "array:zz:4", 0, 8, "$r1"], ["t", "array:f32:x", 0, 8, "$r1"], ["\x1b[2J", "s32", 0, 8, "$r1"],
        ["a b", "s32", 0, 8, "$r1"], ["t", "s33", 0, 8, "$r1"], ["", "s32", 0, 8, "$r1"],
    ],
)  # fmt: skip
def test_variables_of_a_damaged_file_are_left_out(row: list[Any]) -> None:
    content = json.loads(pack({"k": LineTable([(0, SourceLine(1, "k.py", 2))])}))
    content["kernels"]["k"]["variables"] = [row, ["good", "u8", 0, 4, "$r2"]]
    table = unpack(json.dumps(content).encode())["k"]
    assert [v.name for v in table.variables] == ["good"]


@pytest.mark.parametrize("place", ["((((", "$r99", "g14[0xffffffff]", "good", "1 / 0", "x" * 1000, "s[s[s[0]]]"])
def test_a_place_of_a_damaged_file_is_no_more_than_an_expression(place: str) -> None:
    session = session_of(KERNELS["sum"], 3)
    table = LineTable([], "", [VariableRange("good", "u8", 0, 64, place)])
    session.execution._variables = SourceVariables(table, ["s"])
    (shown_one,) = source_views.variables(session)
    assert len(shown_one.text) < 1200


def test_code_without_names_is_the_code_with_names() -> None:
    for body in KERNELS.values():
        with_names = compile_ptx(compile_text(HEAD + body, "k.py", named=True)[0], "gt200").module["kernel"]
        without = compile_ptx(compile_text(HEAD + body, "k.py")[0], "gt200").module["kernel"]
        assert abs(len(with_names.code) - len(without.code)) <= 64


def test_where_no_variables_are_known_the_option_that_keeps_them_is_named() -> None:
    kernel = Device("gt200").load(compile_ptx(PTX, "gt200").module)["sum"]
    with pytest.raises(LaunchError, match="nvcc -G"):
        Commands(Session(kernel.machine(1, 32, (0, 1)))).run("info locals")


@needs_clang
def test_a_debug_build_of_opencl_knows_its_variables_as_own() -> None:
    text = "__kernel void k(__global int *out) { int i = get_global_id(0); out[i] = min(i, 3); }"
    names = {v.name for v in compile_ptx(compile_c("k.cl", text, debug_build=True)).module["k"].lines.variables}
    assert names == {"out", "i"}

"""PTX and Python texts checked again after a change: what is said of them is what a first look says."""

from __future__ import annotations

import random
from typing import Any

import pytest

from isakit.compile import driver
from isakit.compile.driver import CompileOptions, compile_kernels
from isakit.compile.ptx.syntax import PtxFunction, PtxModule
from isakit.compile.python import compile_text
from isakit.description import Kernel
from isakit.errors import CompileError, Diagnostic
from isakit.lsp.ptx_texts import PtxText
from isakit.lsp.python_texts import PythonText

KERNEL = [
    ".visible .entry NAME(.param .u32 a, .param .u64 p)", "{", "    .reg .u32 %r<9>;", "    .reg .u64 %d<4>;",
    "    ld.param.u32 %r1, [a];", "    add.u32 %r2, %r1, LUT;", "    ret;", "}",
]  # fmt: skip
PTX_LINES = [
    "    add.u32 %r3, %r1, %r2;", "    mov.u32 %r4, %tid.x;", "    add.u32 %r3, %r1, %r22;", "    bad.u32 %r1;",
    "L0:", "    bra L0;", "    bra L1;", "    call (%r3), twice, (%r1);", "    call %d1, (%r1), proto;",
    "    mov.u64 %d1, twice;", "    call (%r5), other, (%r1);", "// said", "/* begins", "ends */", "{", "}", "",
    '    .pragma "text";', '    "', "}}", ".global .u32 lut[4] = {1, 2, 3, 4};", "    .global .u32 own;",
    "    ld.global.u32 %r1, [lut];", "    ret;", ";", "    .const .b8 much[65000];", ".const .b8 more[65000];",
    ".entry k0() { ret; }", ".visible", ".extern .func other;", "    .shared .u32 s[99999];",
    ".func (.reg .u32 x) twice (.reg .u32 y) { add.u32 x, y, y; ret; }", "    exit", ".func worse (.reg .u32 y) {",
    "    bar.sync 0;", "    .reg .u32 %r<9>;", "   .shared .u32 f[8];", "  ld.shared.u32 %r2, [f];",
]  # fmt: skip


def kernel(name: str) -> list[str]:
    return [line.replace("NAME", name).replace("LUT", "4") for line in KERNEL]


def first_look(text: str) -> list[Diagnostic]:
    """Return what the compiler says of a whole text."""
    try:
        told = compile_kernels(text, CompileOptions(path="k.ptx")).diagnostics
    except CompileError as e:
        told = list(e.diagnostics)
    return sorted(told, key=lambda d: (d.line, d.column))


@pytest.mark.parametrize("seed", range(12))
def test_a_ptx_text_checked_after_edits_is_what_it_is_checked_alone(seed: int) -> None:
    rng = random.Random(seed)
    lines = [".version 2.3", ".target sm_20", ".address_size 64", *kernel("k0"), *kernel("k1"), *kernel("k2")]
    if seed % 2:
        lines.insert(3, PTX_LINES[-7])
    known: PtxText | None = None
    good = lines
    for step in range(40):
        lines = list(good if step % 3 == 0 else lines)
        at = rng.randrange(len(lines))
        lines[at : at + rng.choice((0, 0, 0, 1, 2))] = rng.choices(PTX_LINES, k=rng.choice((0, 1, 1, 2)))
        text = "\n".join(lines)
        known = PtxText(text, "k.ptx", known)
        assert known.diagnostics == first_look(text), text
        if not known.diagnostics and len(lines) > 20:
            good = lines


HEAD = ".version 2.3\n.target sm_20\n.address_size 64\n"
THROUGH = f"""{HEAD}
.func (.reg .u32 x) twice (.reg .u32 y) {{ add.u32 x, y, y; ret; }}
.entry one() {{
    .reg .u64 %d<4>;
    mov.u64 %d1, twice;
}}
.entry two() {{
    .reg .u64 f;
    .reg .u32 %r<4>;
    p: .callprototype (.reg .u32 x) _ (.reg .u32 y);
    call (%r1), f, (%r2), p;
}}
"""


@pytest.mark.parametrize(
    ("before", "old", "new"),
    [
        (THROUGH, "    mov.u64 %d1, twice;", ""),  # what a pointer may mean is said in another kernel
        (f"{HEAD}.entry one() {{ ret; }} .entry two() {{ bad; }}", "ret", "exit"),  # the line that is shown
        (f"{HEAD}.entry one() {{\n .const .b8 a[60000]; }}\n.entry two() {{\n ret; }}", "ret;", ".const .b8 b[9000];"),
        (f"{HEAD}.entry one() {{\n bad; }}\n.entry two() {{\n ret; }}", ".address", "\n.address"),
        (f"{HEAD}.entry one() {{\n bad; }}\n.entry two() {{\n ret; }}", "two", "one"),
        (f"{HEAD}.entry one() {{\n ld.const.u32 %r1, [c]; }}\n", ".entry", ".const .u32 c;\n.entry"),
    ],
)
def test_what_stands_elsewhere_counts(before: str, old: str, new: str) -> None:
    first = PtxText(before, "k.ptx")
    after = before.replace(old, new)
    assert first.diagnostics == first_look(before) != first_look(after)
    assert PtxText(after, "k.ptx", first).diagnostics == first_look(after)


def test_one_edit_of_a_long_ptx_text_compiles_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [*HEAD.split("\n"), *(line for k in range(50) for line in kernel(f"k{k}"))]
    known = PtxText("\n".join(lines), "k.ptx")
    assert known.diagnostics == []
    compiled: list[str] = []
    compile_entry = driver.compile_entry

    def counted(ptx: PtxModule, entry: PtxFunction, *options: Any) -> Kernel:
        compiled.append(entry.name)
        return compile_entry(ptx, entry, *options)

    monkeypatch.setattr(driver, "compile_entry", counted)
    at = lines.index("    ret;", 200)
    lines.insert(at, "    add.u32 %r3, %r1, 1;")
    known = PtxText("\n".join(lines), "k.ptx", known)
    assert (known.diagnostics, len(compiled)) == ([], 1)
    lines[at] = "    add.u32 %r3, %r1, %r10;"
    known = PtxText("\n".join(lines), "k.ptx", known)
    assert [d.line for d in known.diagnostics] == [at + 1]
    compiled.clear()
    lines[at] = ""
    lines.insert(0, "}")
    wrong = PtxText("\n".join(lines), "k.ptx", known)
    assert [d.line for d in wrong.diagnostics] == [1]
    lines[0] = ""
    assert PtxText("\n".join(lines), "k.ptx", wrong).diagnostics == []
    assert len(compiled) == 1
    lines[0], lines[at + 1] = "// said", "    add.u32 %r3, %r1, %r10;"
    assert [d.line for d in PtxText("\n".join(lines), "k.ptx", known).diagnostics] == [at + 2]


PYTHON: str = """
import isakit
N = 4
def twice(x):
    return x + x
@isakit.kernel
def k0(a: "u32p", n: "u32"):
    a[n] = twice(n)
    a[n] += 1
@isakit.kernel
def k1(a: "f32p", n: "u32"):
    a[n] = N
def worse(x):
    return nothing"""
PYTHON_LINES = [
    "@isakit.kernel", 'def k0(a: "u32p", n: "u32"):', 'def k1(a: "f32p", n: "u32"):', "    a[n] = twice(n)",
    "    a[n] = N", "    a[0] = nothing", "N = 4", "N = 5", 'M = "text"', "def twice(x):", "    return x + x",
    "    return x + N", "", "    a[n] = (", "    )", '"""', "# said", "    global N", "import isakit",
    "    a[n] += 1", "    if n:", "        a[n] = 2", "N = [", "]", "    a[n] = worse(n)", "def worse(x):",
    "    return nothing", "if 1:", "else:", "    N = 3", "    a[n] = 1 + \\", "a b", "from isakit import kernel as k",
    "@k", "@k(", ")", "\x0c", "class C:", "    pass", "é = 1; N = 6; M = é",
]  # fmt: skip


def compiled(text: str) -> tuple[Diagnostic, ...]:
    """Return what keeps a text from being compiled as one."""
    try:
        compile_text(text, "k.py")
    except CompileError as e:
        return e.diagnostics
    return ()


@pytest.mark.parametrize("seed", range(8))
def test_a_python_text_checked_after_edits_is_what_it_is_checked_alone(seed: int) -> None:
    rng = random.Random(seed)
    lines = list[str](PYTHON.split("\n"))
    known: PythonText | None = None
    seen = {"wrong": 0, "right": 0}
    for step in range(30):
        lines = PYTHON.split("\n") if step % 3 == 0 else lines
        at = rng.randrange(len(lines))
        lines[at : at + rng.choice((0, 0, 1, 1, 2))] = rng.choices(PYTHON_LINES, k=rng.choice((0, 1, 1, 2)))
        text = "\n".join(lines)
        known = PythonText(text, "k.py", known)
        assert known.diagnostics == PythonText(text, "k.py").diagnostics, text
        told = compiled(text)
        assert set(told) <= set(known.diagnostics), text
        seen["wrong" if told else "right"] += 1
    assert min(seen.values()) > 0

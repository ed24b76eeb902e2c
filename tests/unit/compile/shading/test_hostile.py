"""Texts that are made to hurt: each ends with an error at a line, or compiles, and soon."""

from __future__ import annotations

import pytest

import isakit
from isakit.errors import CompileError

BODY = "float4 main(float2 t : TEXCOORD0, uniform float4 a[9], uniform sampler2D s) : COLOR {{\n {}\n}}"
DEEP = 3000
REFUSED = {
    "return " + "(" * DEEP + "1" + ")" * DEEP + ";": "this is nested too deeply",
    "return " + "-" * DEEP + "1;": "`--` was expected|nested too deeply|cannot be assigned to",
    "{" * DEEP + "}" * DEEP + "return 1;": "this is nested too deeply",
    "if (t.x > 0) " * DEEP + "; return 1;": "this is nested too deeply",
    "return " + "t.x > 0 ? 1 : " * DEEP + "0;": "nested too deeply",
    "return " + "sin(" * DEEP + "t.x" + ")" * DEEP + ";": "nested too deeply",
    "return t" + ".x" * DEEP + ";": "nested too deeply",
    "float x[1000000000]; return x[0];": "this is too large",
    "float x[16384]; return x[int(t.x)];": "a computed index reaches over 16384 elements",
    "float x[300]; x[int(t.x)] = 1; return x[0];": "a computed index reaches over 300 elements",
    "float x" + "[2]" * 40 + "; return 1;": "this is too large",
    "return 1e999999999 + 0x" + "f" * 100 + ";": "more than 32 bits",
    "return main(t, a, s);": "calls itself",
}
TAKEN = [
    "return 1; return t.x; discard;",
    "for (;;) { if (t.x > 2) break; } return t.x;",
    "float q = 0; for (int i = 0; i < 1000000000; i++) q += t.x; return q;",
    "switch (int(t.x)) { " + "".join(f"case {i}: return {i};" for i in range(100)) + "} return 0;",
    "float k = 0; if (t.x > 0) k = 1; " + "".join(f"else if (t.x > {i}) k = {i};" for i in range(2, 60)) + "return k;",
    "return 1.0 / 0.0 + sqrt(-1.0);",
]


@pytest.mark.parametrize("statements", REFUSED, ids=lambda s: s[:24])
def test_what_is_too_much_is_refused_at_its_line(statements: str) -> None:
    with pytest.raises(CompileError, match=REFUSED[statements]) as e:
        isakit.compile_shader(BODY.format(statements), stage="fragment", language="cg")
    assert e.value.diagnostics[0].line == 2


@pytest.mark.parametrize("statements", TAKEN, ids=lambda s: s[:24])
def test_what_looks_strange_compiles(statements: str) -> None:
    assert isakit.compile_shader(BODY.format(statements), stage="fragment", language="cg").primary


@pytest.mark.parametrize("name", ['"/etc/passwd"', "</etc/passwd>", '"../../../../../../../../etc/passwd"'])
def test_files_of_the_host_are_not_included(name: str, tmp_path) -> None:
    from isakit.compile.shading.compiled import beside

    path = str(tmp_path / "x.cg")
    with pytest.raises(CompileError, match=r"cannot be included: .* beside the shader"):
        isakit.compile_shader(f"#include {name}\n{BODY.format('return 1;')}", stage="fragment", path=path,
                              resolver=beside(path))  # fmt: skip


def test_macros_and_structures_that_double_are_bounded() -> None:
    macros = "#define a0 x x\n" + "".join(f"#define a{i} a{i - 1} a{i - 1}\n" for i in range(1, 40))
    with pytest.raises(CompileError, match="macros make more than"):
        isakit.compile_shader(macros + BODY.format("return a39;"), stage="fragment", language="cg")
    nested = "struct S0 { float4 a; };\n" + "".join(f"struct S{i} {{ S{i - 1} a, b; }};\n" for i in range(1, 40))
    with pytest.raises(CompileError, match="this is too large"):
        isakit.compile_shader(nested + BODY.format("S39 x; return 1;"), stage="fragment", language="cg")

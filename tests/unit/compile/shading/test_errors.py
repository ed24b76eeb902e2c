"""What is wrong in a shader is said at its place, in the author's words, and never as a traceback."""

import pytest

from isakit.compile.shading.front import front_end
from isakit.errors import CompileError

BODY = "float4 main(float4 v : COLOR, uniform sampler2D t, uniform float4x4 m) : COLOR {{\n  {}\n  return v;\n}}"
GLSL = "uniform sampler2D t; uniform mat4 m; varying vec4 v;\nvoid main() {{ gl_FragColor = v;\n  {}\n}}"


def errors(text, language="cg", stage="fragment", **options):
    with pytest.raises(CompileError) as e:
        front_end(text, stage=stage, language=language, **options)
    return [(d.line, d.column, d.message) for d in e.value.diagnostics]


@pytest.mark.parametrize(
    ("statement", "column", "message"),
    [
        ("v = w;", 7, "`w` is not declared"),
        ("v = vv.x;", 7, "`vv` is not declared"),
        ("v.k = 1;", 5, "float4 has no components `k`"),
        ("v.xr = 1;", 5, "float4 has no components `xr`"),
        ("v.xx = 1;", 5, "a component is named twice where a value is stored"),
        ("v = 1 +;", 10, "an expression was expected, not `;`"),
        ("v = (1;", 9, "`)` was expected, not `;`"),
        ("v = tex2D(v, v.xy);", 7, "there is no `tex2D(float4, float2)`"),
        ("v = tex2D(t);", 7, "there is no `tex2D(sampler2D)`"),
        ("v = foo(1);", 7, "there is no function `foo`"),
        ("v = mul(m, v.xyz);", 7, "there is no `mul(float4x4, float3)`"),
        ("v = m;", 7, "the value is a float4x4, not a float4"),
        ("float3 x = v.xy;", 16, "`x` is a float2, not a float3"),
        ("float4 v = 1;", 10, "`v` is already declared"),
        ("const float k = 1; k = 2;", 22, "`k` is a constant"),
        ("const float k;", 15, "the constant `k` needs a value"),
        ("1 = v.x;", 3, "this cannot be assigned to"),
        ("t = 1;", 7, "the value is an int, not a sampler2D"),
        ("float a[2]; a[2] = 1;", 17, "there is no element 2: there are 2"),
        ("float a[0];", 11, "an array has at least one element"),
        ("float a[v.x];", 13, "a constant whole number was expected"),
        ("float a[1 << 20];", 3, "this is too large"),
        ("float2 a[2] = { 1, 2, 3 };", 17, "float2[2] has 2 parts, not 3"),
        ("v = float4(1, 2);", 7, "a float4 has 4 components, not 2"),
        ("v = float4(v, 1);", 17, "a float4 has 4 components, which are there before this"),
        ("v = float4(1, 2, 3, 4, 5);", 26, "a float4 has 4 components, which are there before this"),
        ("return;", 3, "`main` gives a float4"),
        ("break;", 3, "`break` stands in a loop"),
        ("continue;", 3, "`continue` stands in a loop"),
        ("v = 1 / 0;", 9, "this divides by 0"),
        ("v = v & 1;", 9, "there is no float4 & int"),
        ("v = ~v;", 7, "`~` takes whole numbers, not a value of type float4"),
        ("v = 08;", 7, "`08` begins with 0, so its digits are 0 to 7"),
        ("v = 1.0q;", 7, "`1.0q` is not a number"),
        ("v = 99999999999;", 7, "this number has more than 32 bits"),
        ("v = bit_cast<short2>(v);", 7, "a short2 does not have as many bits as a float4"),
        ("flaot x = 1;", 3, "`flaot` is not a type of cg"),
        ("unsigned char4 w = 1;", 3, "unsigned char4 is not supported"),
        ("switch (v.x) { case 1: break; }", 13, "a switch takes a whole number, not a value of type float"),
        ("switch (1) { case 1: case 1: break; }", 29, "this case is already there"),
        ("v = v.x ? v : t;", 11, "this chooses between float4 and sampler2D"),
        ("v = main;", 7, "`main` is a function"),
        ("uniform float q;", 17, "`q` cannot be declared in a function"),
        ("{ v = 1;", 1, "this `{` is not closed"),
    ],
)
def test_cg(statement, column, message):
    found = errors(BODY.format(statement))
    line = 1 if message.startswith("this `{`") else 2
    where = (1, BODY.format("").index("{") + 1) if line == 1 else (2, column)
    assert found[0] == (*where, message)


@pytest.mark.parametrize(
    ("statement", "column", "message"),
    [
        ("float x = 1;x = v;", 19, "the value is a vec4, not a float"),
        ("vec4 x = v + vec3(1.0);", 14, "there is no vec4 + vec3"),
        ("bool b = 1;", 12, "`b` is an int, not a bool"),
        ("if (v.x) {}", 9, "a condition is a bool, not a value of type float"),
        ("int i = 1.0;", 11, "`i` is a float, not an int"),
        ("v = vec4(1.0);", 3, "`v` is an input"),
        ("m[0] = vec4(1.0);", 3, "`m` is a uniform"),
        ("bvec2 b = v.xy < v.zw;", 18, "there is no vec2 < vec2"),
        ("float f = v.x.x;", 17, "float has no components `x`"),
        ("float f = pow(v, 2.0).x;", 13, "there is no `pow(vec4, float)`"),
        ("float h = 1.0h;", 13, "`1.0h` is not a number"),
        ("float2 f;", 3, "`float2` is not a type of glsl"),
        ("mat3 x = m * mat3(1.0);", 14, "there is no mat4 * mat3"),
        ("vec2 x = vec4(1.0);", 12, "`x` is a vec4, not a vec2"),
        ("int i = true + 1;", 16, "there is no bool + int"),
    ],
)
def test_glsl(statement, column, message):
    found = errors(GLSL.format(statement), "glsl")
    assert found[0] == (3, column, message)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", (1, 1), "there is no function `main`"),
        ("float4 main() : COLOR;", (1, 23), "there is no function `main`"),
        ("float g(float x); float f(float x) { return g(x); }\nfloat g(float x) { return f(x); }\n"
         "float4 main() : COLOR { return f(1); }", (1, 45), "`g` calls itself"),
        ("float g(float x); float4 main() : COLOR { return g(1); }", (1, 50),
         "`g` is declared, but what it does is not there"),
        ("float4 main(float2 v : TEXCOORD10) : COLOR { return v.xyxy; }", (1, 20),
         "`TEXCOORD10` is one more than there are"),
        ("float4 main(float2 v : BONES) : COLOR { return v.xyxy; }", (1, 20),
         "a fragment program has no input `BONES`"),
        ("void main(out float4 a : COLOR, out float4 b : COLOR0) { a = b = 1; }", (1, 44), "two outputs are COLOR0"),
        ("struct S { float a; float a; };", (1, 27), "`a` is already a field of `S`"),
        ("struct S { void a; };", (1, 17), "a field cannot be of type void"),
        ("float4 x; float4 x; float4 main() : COLOR { return x; }", (1, 18), "`x` is already declared"),
        ("float4 main() : COLOR { return 1; } float4 main() : COLOR { return 1; }", (1, 44),
         "`main` with these parameters is already defined"),
        ("uniform sampler2D t[2]; uniform int i; float4 main() : COLOR { return tex2D(t[i], 0); }", (1, 78),
         "which sampler this is must be known when the program is compiled"),
        ("texture t;", (1, 1), "texture objects are not supported"),
        ("float4 main() : COLOR {", (1, 23), "this `{` is not closed"),
    ],
)  # fmt: skip
def test_declarations(text, place, message):
    line, column, said = errors(text)[0]
    assert (said, (line, column)) == (message, place)


def test_vertex_programs_have_no_pixel_to_discard():
    assert errors("void main(out float4 p : POSITION) { discard; p = 1; }", stage="vertex")[0][2].startswith("only a")


def test_every_statement_is_checked():
    found = errors(BODY.format("v = a;\nv = b;\nfloat c = d; v = c;\nv.k = 1;"))
    assert [x[2] for x in found] == ["`a` is not declared", "`b` is not declared", "`d` is not declared",
                                     "float4 has no components `k`"]  # fmt: skip


def test_messages_show_the_line_with_a_caret():
    with pytest.raises(CompileError) as e:
        front_end(BODY.format("v = lenght(v.xy);"), stage="fragment", path="a.cg")
    assert str(e.value.diagnostics[0]).split("\n") == [
        "a.cg:2:7: error: there is no function `lenght`",
        "    2 |   v = lenght(v.xy);",
        "      |       ^~~~~~",
        "note: did you mean `length`?",
    ]


DEEP = 5000


@pytest.mark.parametrize(
    "statement",
    [
        "v = " + "(" * DEEP + "1" + ")" * DEEP + ";",
        "v = " + "-" * DEEP + "1;",
        "v = " + "1+" * DEEP + "1;",
        "v = " + "v.x?" * DEEP,
        "v = " + "v.x=" * DEEP + "1;",
        "v = v" + ".xyzw" * DEEP + ";",
        "v = " + "abs(" * DEEP + "v" + ")" * DEEP + ";",
        "{" * DEEP,
        "if (v.x > 0) " * DEEP + ";",
        "for (;;) " * DEEP + ";",
        "float a[2] = " + "{" * DEEP,
        "v = " + "(float)" * DEEP + "1;",
        "v" + "[0" * DEEP,
        "for (int i = 0; i < 64; i++) " * 20 + "v += 1;",
        "".join(f"for (int i{k} = 0; i{k} < 60; i{k}++) " for k in range(6)) + "v = sin(v) + cos(v) * tan(v);",
    ],
)
def test_hostile_statements_end_soon(statement):
    try:
        front_end(BODY.format(statement), stage="fragment")
    except CompileError as e:
        assert e.diagnostics[0].line == 2  # noqa: PT017


def test_calls_that_multiply_are_refused():
    text = "float f0(float x) { return sin(x); }\n"
    text += "".join(f"float f{k}(float x) {{ return f{k - 1}(x) + f{k - 1}(x + 1); }}\n" for k in range(1, 30))
    found = errors(text + "float4 main(float v : TEXCOORD0) : COLOR { return f29(v); }")
    assert found[0][2] == "the program gets too large here"


@pytest.mark.parametrize(
    ("text", "stage", "place", "message"),
    [
        ("attribute int n;", "vertex", (1, 15), "`n`: an attribute is of floats"),
        ("attribute vec4 n[2];", "vertex", (1, 16), "`n`: an attribute is of floats"),
        ("varying bvec2 n;", "fragment", (1, 15), "`n`: a varying is of floats"),
        ("struct S { vec4 a; };\nvarying S s;", "fragment", (2, 11), "`s`: a varying is of floats"),
        ("sampler2D s;", "fragment", (1, 11), "the sampler `s` must be a uniform"),
        ("void f(out sampler2D s) {}", "fragment", (1, 22), "`s` holds a sampler, which nothing is stored to"),
        ("sampler2D f() {}", "fragment", (1, 11), "`f` cannot give a sampler"),
        ("void f(const inout float s) {}", "fragment", (1, 26), "`s` is a constant, which nothing is stored to"),
        (
            "int f() { return (int)1.0; }",
            "fragment",
            (1, 18),
            "there are no casts: a constructor converts, as float(x)",
        ),
        ("int main() { return 1; }", "fragment", (1, 5), "`main` takes nothing and gives nothing"),
    ],
)
def test_what_glsl_does_not_have(text, stage, place, message):
    assert errors(text, "glsl", stage)[0] == (*place, message)


def test_a_second_colour_is_refused_with_what_to_do() -> None:
    text = "#version 300 es\nprecision mediump float;\nin vec4 c;\nlayout(location = 0) out vec4 a;\n" \
           "layout(location = 1) out vec4 b;\nvoid main() { a = c; b = c.wzyx; }\n"  # fmt: skip
    with pytest.raises(CompileError) as e:
        front_end(text, stage="fragment", language="glsl")
    (d,) = e.value.diagnostics
    assert (d.line, d.message) == (5, "two outputs are COLOR0")
    assert d.notes == ("a program writes one colour: draw again for another one",)

"""The preprocessor of shaders: directives, macros, and errors where they are."""

import pytest

from isakit.compile.shading.preprocessor import DEEPEST_INCLUDE, Preprocessor
from isakit.compile.shading.source import ShaderSources, ShadingError


def left(text, defines=None, resolver=None, glsl=False):
    sources = ShaderSources()
    pre = Preprocessor(sources, defines or {}, resolver, glsl=glsl)
    return " ".join(t.text for t in pre.run(sources.add("a.cg", text)).tokens[:-1])


def error(text, resolver=None):
    sources = ShaderSources()
    with pytest.raises(ShadingError) as e:
        Preprocessor(sources, {}, resolver).run(sources.add("a.cg", text))
    return sources.diagnostic(e.value.pos, e.value.message, e.value.width)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("#define N 3\nfloat a[N];", "float a [ 3 ] ;"),
        ("#define F(a, b) a##b + b\nF(x, 1)", "x1 + 1"),
        ("#define F(a) a\n#define G F(F)(1)\nG", "F ( 1 )"),
        ("#define G G + 1\nG", "G + 1"),
        ("#define A B\n#define B A\nA B", "A B"),
        ("#define lessThan(x, y) ge(y, x)\nlessThan(lessThan(1,2), f(2,3))", "ge ( f ( 2 , 3 ) , ge ( 2 , 1 ) )"),
        ("#define F() 1\nF() F", "1 F"),
        ("#define F (x)\nF", "( x )"),
        ("#define F(a, ...) a(__VA_ARGS__)\nF(f, 1, (2, 3)) F(g) F(h, 1)", "f ( 1 , ( 2 , 3 ) ) g ( ) h ( 1 )"),
        ("#define F(...) f(__VA_ARGS__)\nF() F(1, 2)", "f ( ) f ( 1 , 2 )"),
        ("#define A 1\n#undef A\nA", "A"),
        ("#if 0\nno\n#elif 1\nyes\n#else\nno\n#endif", "yes"),
        ("#if 1\nyes\n#elif 1/0\nno\n#else\nno\n#endif", "yes"),
        ("#if 0\n#if 1\nno\n#else\nno\n#endif\n#else\nyes\n#endif", "yes"),
        ("#ifdef A\nno\n#endif\n#ifndef A\nyes\n#endif", "yes"),
        ("#define A\n#if defined(A) && !defined B && defined A\nyes\n#endif", "yes"),
        ("#define M 7\n#if (M & 0x01) == 0x01 && M >> 1 == 3\nyes\n#endif", "yes"),
        ("#if -7 / 2 == -3 && -7 % 2 == -1 && ~0 == -1\nyes\n#endif", "yes"),
        ("#if 0 && 1/0 || 1 || 1/0\nyes\n#endif", "yes"),
        ("\ufeff// comment\r\nfloat /* a\n b */ x;\r\n", "float x ;"),
        ("// goes on \\\nstill\nx", "x"),
        ("#define LONG 1 + \\\n  2\nLONG", "1 + 2"),
        ("a\n__LINE__\n#line 40\n__LINE__", "a 2 40"),
        ("1. 1.f .5h 1e-3 0x1Fu a.xy", "1. 1.f .5h 1e-3 0x1Fu a . xy"),
    ],
)
def test_text_that_is_left(text, want):
    assert left(text) == want


@pytest.mark.parametrize(
    ("version", "es"),
    [("", True), ("#version 100", True), ("#version 300 es", True), ("#version 120", False), ("#version 150", False),
     ("#version 330 core", False)],
)  # fmt: skip
def test_desktop_versions_of_glsl_do_not_define_gl_es(version, es):
    text = f"{version}\n#ifdef GL_ES\nes\n#else\ndesktop\n#endif"
    assert left(text, glsl=True) == ("es" if es else "desktop")
    assert left(text, {"GL_ES": ""}, glsl=True) == "es"
    assert left(text) == "desktop"


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("a\n  #if 1\nb", (2, 4), "`#if` without `#endif`"),
        ("#endif", (1, 2), "`#endif` without `#if`"),
        ("#if 1\n#else\n#else\n#endif", (3, 2), "`#else` after `#else`"),
        ("#if 1 / 0\n#endif", (1, 7), "this divides by 0"),
        ("#if 1 +\n#endif", (1, 7), "the condition ends here, and something is missing"),
        ("#if 1.5\n#endif", (1, 5), "conditions are made of whole numbers"),
        ("#if (1\n#endif", (1, 6), "the condition ends here, and something is missing"),
        ("#error no way", (1, 2), "#error no way"),
        ("x\n#frobnicate", (2, 2), "there is no directive `#frobnicate`"),
        ("a /* b", (1, 3), "this comment does not end"),
        ("a $", (1, 3), "'$' begins nothing that a shader may contain"),
        ("#define F(a, b) a\nF(1)", (2, 1), "`F` takes 2 arguments, not 1"),
        ("#define F(a) a\nF(1", (2, 1), "the arguments of `F` do not end"),
        ("#define F(a b) a", (1, 13), "`,` or `)` was expected"),
        ("#define F(..., b) b", (1, 11), "a parameter's name was expected"),
        ("#define P(a, b) a##b\nP(+, 1)", (2, 1), "`+` and `1` do not make one token"),
        ('#include "x.h"', (1, 10), "files cannot be included here"),
        ("#include x", (1, 2), "`#include` needs the name of a file in quotes"),
        ("#define defined 1", (1, 9), "`defined` cannot be defined"),
    ],
)
def test_errors_have_their_place(text, place, message):
    found = error(text)
    assert ((found.line, found.column), found.message) == (place, message)


def test_line_numbers_and_names_follow_line_directives():
    found = error('a\n#line 10 "b.cg"\n\n$')
    assert (found.path, found.line, found.source) == ("b.cg", 11, "$")


def test_macros_of_the_command_line():
    assert left("N F(2)", {"N": "4", "F(x)": "x*x"}) == "4 2 * 2"


def test_included_files_come_from_the_resolver():
    files = {"a.h": '#define A 1\n#include "b.h"', "b.h": "A"}
    assert left('#include "a.h"\nA', resolver=lambda name, path: (name, files[name])) == "1 1"


def test_errors_of_included_files_name_them():
    found = error('#include "a.h"', lambda name, path: (name, "x\n$"))
    assert (found.path, found.line) == ("a.h", 2)


def test_files_that_include_themselves_are_refused():
    found = error('#include "a.h"', lambda name, path: (name, '#include "a.h"'))
    assert "too deeply" in found.message
    assert DEEPEST_INCLUDE < 100


@pytest.mark.parametrize(
    "text",
    [
        "#define A B B\n#define B C C\n#define C D D\n#define D E E\n#define E F F\n#define F G G\n#define G H H\n"
        "#define H I I\n#define I J J\n#define J K K\n#define K L L\n#define L M M\n#define M N N\n#define N O O\n"
        "#define O P P\n#define P Q Q\n#define Q R R\n#define R S S\n#define S 1 1\nA",
        "#define F(x) x x x x\n" + "F(" * 12 + "1" + ")" * 12,
        "#if 1\n" * 1000,
        "#if " + "(" * 1000 + "1\n#endif",
        "#if " + "-" * 1000 + "1\n#endif",
    ],
)
def test_texts_that_grow_are_refused(text):
    assert error(text).message

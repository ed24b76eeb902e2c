"""Names in CUDA C, OpenCL C, shaders and Python kernels: definitions, uses, completions and what is built in."""

from __future__ import annotations

from pathlib import Path

import pytest

from isakit.lsp.c_names import CNames
from isakit.lsp.python_texts import PythonText
from isakit.lsp.source_texts import SourceText
from isakit.lsp.texts import Names, Text
from support.needs import CLANG

CUDA = """\
#include "shapes.h" // { not a block
#define SIZE 16
struct Point { float x, y; int id; };
enum Colour { RED, GREEN = 2 };
extern "C" {
__device__ float twice(float a, const Point *p = 0);
}
template <typename T, int K> __device__ T scaled(T a) { T b = a * K; return b; }
__device__ float twice(float a, const Point *p) { return 2 * a + p->id; }
extern "C" __global__ void __launch_bounds__(256) fill(float *out, unsigned n)
{
    __shared__ float row[SIZE];
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x, j = 3, *q;
    for (int k = 0; k < n; k++) { float a = k; out[k] = a; }
    for (int k = 0; k < n; k++) out[k] = row[k];
    const char *text = "i; }"; /* i */
    Point place = {1, 2}, *other;
    if (i < n) out[i] = twice(row[i], &place) + scaled<float, 3>(j) * RED;
}
"""
GLSL = """\
varying vec2 where;
uniform sampler2D picture;
float luma(vec3 c) { return dot(c, vec3(0.3, 0.6, 0.1)); }
void main() {
    vec4 c = texture2D(picture, where);
    gl_FragColor = mix(c, c.xxxx, luma(c.rgb));
}
"""
PYTHON = """\
import isakit
SIZE = 4
def clamp(v, low):  # v
    return max(v, low)

@isakit.kernel
def fill(a: "f32p", n: "u32"):
    i = cuda.threadIdx.x
    if i < n:
        a[i] = clamp(a[i], SIZE) + math.sin(a[i])
        cuda.
"""


def columns(text: str, line: int, word: str, nth: int = 0) -> int:
    found = -1
    for _ in range(nth + 1):
        found = text.split("\n")[line - 1].index(word, found + 1)
    return found


def defined(names: Names, text: str, line: int, word: str, nth: int = 0) -> tuple[str, int] | None:
    """Return the kind and the line of the definition of a word."""
    found = names.at(line, columns(text, line, word, nth))
    return None if found is None else (found[0].kind, found[0].place.line)


def used(names: Names, text: str, line: int, word: str, nth: int = 0) -> list[tuple[int, int]]:
    found = names.at(line, columns(text, line, word, nth))
    assert found is not None
    return [(p.line, p.column) for p in names.references(found[0])]


@pytest.mark.parametrize(
    ("line", "word", "nth", "want"),
    [
        (12, "SIZE", 0, ("value", 2)),
        (18, "RED", 0, ("value", 4)),
        (18, "twice", 0, ("function", 6)),
        (18, "scaled", 0, ("function", 8)),
        (18, "row", 0, ("variable", 12)),
        (18, "j", 0, ("variable", 13)),
        (18, "place", 0, ("variable", 17)),
        (17, "Point", 0, ("type", 3)),
        (9, "id", 0, ("variable", 3)),
        (8, "T", 2, ("type", 8)),
        (14, "a;", 0, ("variable", 14)),
        (15, "k]", 0, ("variable", 15)),
        (18, "out", 0, ("parameter", 10)),
        (17, "other", 0, ("variable", 17)),
        (10, "fill", 0, ("kernel", 10)),
        (16, "i;", 0, None),
        (16, "i */", 0, None),
        (13, "threadIdx", 0, None),
    ],
)
def test_names_of_cuda_c_lead_to_their_definitions(line: int, word: str, nth: int, want: object) -> None:
    assert defined(CNames(CUDA), CUDA, line, word, nth) == want


def test_each_loop_has_a_counter_of_its_own() -> None:
    names = CNames(CUDA)
    assert {line for line, _ in used(names, CUDA, 14, "k")} == {14}
    assert {line for line, _ in used(names, CUDA, 15, "k")} == {15}


def test_a_loop_in_the_line_of_another_has_a_counter_too() -> None:
    text = "void f() {\n    for (int i = 0; i < 2; i++) for (int j = 0; j < 3; j++) g(i, j);\n}\n"
    assert defined(CNames(text), text, 2, "j <") == ("variable", 2)
    assert len(used(CNames(text), text, 2, "j <")) == 4


def test_uses_are_those_of_the_block_and_members_are_not_renamed() -> None:
    names = CNames(CUDA)
    assert used(names, CUDA, 12, "row") == [(12, 21), (15, 41), (18, 30)]
    i = names.at(13, columns(CUDA, 13, "i ="))
    member = names.at(3, columns(CUDA, 3, "id"))
    assert i is not None
    assert member is not None
    assert names.refusal("index", i[0]) == ""
    assert "already" in names.refusal("j", i[0])
    assert "not a name" in names.refusal("float", i[0])
    assert "member" in names.refusal("number", member[0])


@pytest.mark.parametrize("cut", range(0, len(CUDA), 7))
def test_a_text_that_is_being_written_has_names(cut: int) -> None:
    names = CNames(CUDA[:cut])
    for d in names.definitions:
        assert CUDA.split("\n")[d.place.line - 1][d.place.column :].startswith(d.name)


@pytest.mark.parametrize(
    ("text", "path", "language", "line", "word", "shown"),
    [
        ("__global__ void k(float *a) { *a = __sinf(*a); }", "k.cu", "cuda", 1, "__sinf", "__nvvm_sin_approx_f(x)"),
        ("__global__ void k(float *a) { __syncthreads(); }", "k.cu", "cuda", 1, "__sync", "__nvvm_bar_sync(0)"),
        ("__global__ void k(int *a) { *a = threadIdx.x; }", "k.cu", "cuda", 1, "threadIdx", "uint3 threadIdx"),
        ("__kernel void k(__global int *a) { *a = get_global_id(0); }", "k.cl", "opencl", 1, "get_", "get_group_id(d)"),
        (GLSL, "p.frag", "glsl", 6, "mix", "vmad4.f32"),
        (GLSL, "p.frag", "glsl", 6, "gl_FragColor", "vec4 gl_FragColor"),
        (GLSL, "p.frag", "glsl", 5, "texture2D", "vec4 texture2D(sampler2D, vec2)"),
        (GLSL, "p.frag", "glsl", 6, "luma", "float luma(vec3 c)"),
    ],
)
def test_hover_tells_what_a_name_is_and_what_it_becomes(
    text: str, path: str, language: str, line: int, word: str, shown: str
) -> None:
    found = SourceText(text, path, language).hover(line, columns(text, line, word))
    assert found is not None
    assert shown in found.text


def test_completions_offer_names_in_scope_and_those_of_the_language() -> None:
    cuda = SourceText(CUDA, "k.cu", "cuda")
    words = {c.word for c in cuda.completions(18, 4)}
    assert {"out", "row", "twice", "SIZE", "Point", "__syncthreads", "sinf", "threadIdx", "float4", "return"} <= words
    assert "b" not in words  # of another function
    assert {"x", "y", "id"} <= {c.word for c in cuda.completions(13, columns(CUDA, 13, "x *"))}
    assert cuda.completions(1, columns(CUDA, 1, "not")) == []
    shader = {c.word for c in SourceText(GLSL, "p.frag", "glsl").completions(6, 4)}
    assert {"c", "where", "luma", "mix", "gl_FragColor", "vec3", "uniform"} <= shader


def test_names_of_included_files_are_known(tmp_path: Path) -> None:
    (tmp_path / "deep.h").write_text("#define SIZE 4\n")
    header = tmp_path / "shapes.h"
    header.write_text('#include "deep.h"\n#include "shapes.h"\n__device__ float area(float side);\n')
    text = '#include "shapes.h"\n#include "absent.h"\n__global__ void k(float *a) { *a = area(SIZE); }\n'
    source = SourceText(text, str(tmp_path / "k.cu"), "cuda")
    found = source.elsewhere(3, columns(text, 3, "area"))
    assert found is not None
    assert (found[0], found[1].line, found[1].column) == (str(header), 3, 17)
    deep = source.elsewhere(3, columns(text, 3, "SIZE"))
    assert deep is not None
    assert deep[0] == str(tmp_path / "deep.h")
    shown = source.hover(3, columns(text, 3, "area"))
    assert shown is not None
    assert "float area(float side)" in shown.text
    assert "shapes.h, line 3" in shown.text
    assert {"area", "SIZE"} <= {c.word for c in source.completions(3, 30)}
    assert source.elsewhere(3, columns(text, 3, "a =")) is None


def test_names_of_python_kernels_hold_while_a_line_is_written() -> None:
    text = PythonText(PYTHON, "k.py")
    assert defined(text.names, PYTHON, 10, "clamp") == ("function", 3)
    assert defined(text.names, PYTHON, 10, "SIZE") == ("variable", 2)
    assert defined(text.names, PYTHON, 9, "n:") == ("parameter", 7)
    assert used(text.names, PYTHON, 4, "v,") == [(3, 10), (4, 15)]
    after = {c.word for c in text.completions(11, len("        cuda."))}
    assert {"syncthreads", "threadIdx", "atomic"} <= after
    assert {"a", "n", "i", "SIZE", "clamp", "range", "cuda"} <= {c.word for c in text.completions(10, 8)}


def test_hover_over_a_function_of_kernels_shows_its_ptx() -> None:
    text = PythonText(PYTHON, "k.py")
    sine = text.hover(10, columns(PYTHON, 10, "sin"))
    assert sine is not None
    assert "sin.approx.f32" in sine.text
    thread = text.hover(8, columns(PYTHON, 8, "threadIdx"))
    assert thread is not None
    assert "%tid.x" in thread.text
    own = text.hover(10, columns(PYTHON, 10, "clamp"))
    assert own is not None
    assert "def clamp(v, low):" in own.text


@pytest.mark.parametrize("cut", range(0, len(PYTHON), 5))
def test_a_python_text_that_is_being_written_has_names(cut: int) -> None:
    text: Text = PythonText(PYTHON[:cut], "k.py")
    for d in text.names.definitions:
        assert d.place in text.names.references(d)


@pytest.mark.parametrize("language", [pytest.param("cuda", marks=CLANG)])
def test_kernels_of_the_same_instructions_are_not_compiled_again(
    language: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isakit.compile import driver

    compiled: list[str] = []
    compile_entry = driver.compile_entry

    def counted(ptx: object, entry: object, *options: object) -> object:
        compiled.append(getattr(entry, "name", ""))
        return compile_entry(ptx, entry, *options)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(driver, "compile_entry", counted)
    kernel = 'extern "C" __global__ void {0}(int *a) {{\n    a[{1}] = 2;\n}}\n'
    text = SourceText(kernel.format("one", 1) + kernel.format("two", 1), "k.cu", language)
    assert text.diagnostics == []
    changed = "// a line\n" + kernel.format("one", 1) + kernel.format("two", 3)
    assert SourceText(changed, "k.cu", language, text).diagnostics == []
    assert compiled == ["one", "two", "two"]

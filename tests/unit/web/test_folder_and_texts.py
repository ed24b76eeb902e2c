"""What a page may name: files of its own folder, and texts that reach nothing of this machine."""

import pytest

from isakit.errors import CompileError, IsakitError
from isakit.web.folder import Folder, checked, checked_spec
from isakit.web.source import assembled, compiled, shaded
from support.needs import needs_clang

PYTHON = """
import os
os.system("touch {path}")
SIZE = 4

@isakit.kernel
def twice(x: "f32p"):
    x[thread.x] = x[thread.x] * SIZE
"""


@pytest.mark.parametrize(
    "name", ["../x", "/etc/passwd", "a/b", "", ".hidden", "a\0b", "-", "con\\x", "..", "x" * 101, "a\n", "a."]
)
def test_a_name_that_could_lead_elsewhere_is_refused(name):
    with pytest.raises(IsakitError):
        checked(name)


@pytest.mark.parametrize(
    "spec", ["in:/etc/passwd", "in:../x.npy", "in:-", "x=in:-", "a=~/x.npy", "in:a\\b", "0=-,linear"]
)
def test_an_argument_cannot_name_files_that_were_not_dropped(spec):
    with pytest.raises(IsakitError, match="as they were dropped"):
        checked_spec(spec)


@pytest.mark.parametrize("spec", ["f32:-1.5", "i32:-3", "inout:x.npy", "data=block.npy@0x10", "0=picture.npy,linear"])
def test_ordinary_arguments_pass(spec):
    assert checked_spec(spec) == spec


def test_a_folder_takes_no_more_than_it_may():
    folder = Folder(10)
    try:
        folder.store("a", b"123456")
        with pytest.raises(IsakitError, match="together"):
            folder.store("b", b"12345")
        folder.store("a", b"1234567890")  # in place of the old one
        assert folder.names() == ["a"]
    finally:
        folder.close()
    assert not folder.path.exists()


def test_a_python_text_is_translated_and_never_run(tmp_path):
    module, ptx, wrong = compiled(PYTHON.replace("{path}", str(tmp_path / "ran")), "python", "gt200")
    assert list(module.kernels) == ["twice"]
    assert ".entry twice" in ptx
    assert not wrong
    assert not (tmp_path / "ran").exists()
    assert [p.kind for p in module.kernels["twice"].params] == ["f32*"]


def test_an_error_in_a_python_text_has_its_line():
    with pytest.raises(CompileError) as e:
        compiled("\n\n@isakit.kernel\ndef f(x: 'f32p'):\n    y = open('/etc/passwd')\n", "python", "gt200")
    assert e.value.diagnostics[0].line == 5


@pytest.mark.parametrize("text", [
    '#include "/etc/passwd"', '  # include </etc/passwd>', '%:include "x"', "#\\\ninclude <x>", "??=include <x>",
    "#include_next <x>", '#embed "/etc/passwd"', "#line 1 \"/etc/passwd\"", "#pragma GCC dependency \"/etc/passwd\"",
    "#if __has_include(\"/etc/passwd\")\n#endif", '_Pragma("x")', '#import "x"', 'asm(".incbin \\"x\\"");',
    "#define A include\n#A <x>", "/* */ #include <x>", "int a; /*\n*/#include <x>",
])  # fmt: skip
@pytest.mark.parametrize("language", ["cuda", "opencl"])
def test_a_c_text_cannot_read_files_of_this_machine(text, language):
    with pytest.raises(IsakitError, match="taken here"):
        compiled(text, language, "gt200")


@needs_clang
def test_a_c_text_that_stands_alone_compiles():
    text = "#define N 2\n__global__ void k(float *x) {\n#pragma unroll 2\nfor (int i = 0; i < N; i++) x[i] += 1; }"
    module, _, _ = compiled(text, "cuda", "gt200")
    assert len(module.kernels) == 1


def test_the_text_says_what_it_is_for_before_the_page_does():
    assert assembled(".isa vuc vp2\nnop", "tesla", "gt200").isa == "vuc"
    assert assembled("nop", "tesla", "g84").variant == "g84"
    assert assembled(".isa tesla\nnop", "tesla", "g80").variant == "g80"
    assert assembled(".isa tesla gt215\nnop", "tesla", "g80").variant == "gt215"


def test_a_text_may_not_be_endless():
    with pytest.raises(IsakitError, match="characters"):
        assembled("nop\n" * 300_000, "tesla", "")


def test_an_assembled_program_knows_the_lines_of_its_text():
    program = assembled("\n\nnop\n// nothing\nlong nop\n\n  ret ; nop\n", "tesla", "")
    found = [program.source_lines[i.address] for i in program]
    assert found[0] == 3
    assert found[-1] == 7
    assert found == sorted(found)


def test_a_compiled_text_knows_its_variables_and_its_ptx_is_without_marks() -> None:
    text = "import isakit\n\n@isakit.kernel\ndef k(out: 'i32p'):\n    t = thread.x + 1\n    out[t] = t\n"
    module, ptx, _ = compiled(text, "python", "gt200")
    lines = module["k"].lines
    assert {v.name for v in lines.variables if v.place} == {"out", "t"}
    assert "pragma" not in ptx
    assert "inline asm" not in ptx
    assert lines.ptx == ptx
    stores = [lines.ptx_text(where) for _, where in lines if "st.global" in lines.ptx_text(where)]
    assert stores
    assert {where.line for _, where in lines if "st.global" in lines.ptx_text(where)} == {6}
    shader = shaded("float4 main(float2 t : TEXCOORD0) : COLOR { float a = t.x * 2; return float4(a, a, t.y, 1); }")
    assert {"a", "t.x"} <= {v.name for v in shader.kernels["primary"].lines.variables}

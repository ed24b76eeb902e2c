"""Verbs that run programs take sources and captured launches as they take files of machine code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from conftest import ROOT
from isakit.cli.app import app
from support.clients.captured_launch import captured_launch
from support.clients.command_line import run
from support.needs import needs_clang

PYTHON = str(ROOT / "examples/python/saxpy.py")
SAXPY = ("--kernel", "saxpy", "--block", "32", "--arg", "i32:5", "--arg", "f32:2", "--arg", "ramp:f32:32")
PTX = """.version 1.4
.target sm_13
.entry twice (.param .u32 p) {
    .reg .u32 %r<4>;
    ld.param.u32 %r1, [p];
    ld.global.u32 %r2, [%r1];
    add.u32 %r3, %r2, %r2;
    st.global.u32 [%r1], %r3;
    exit;
}
"""


SHARED = """.version 1.4
.target sm_13
.entry turn (.param .u64 .ptr .global p, .param .u64 .ptr .shared .align 4 part, .param .u64 .ptr .shared more) {
    .reg .u64 %d<6>; .reg .u32 %r<4>;
    ld.param.u64 %d1, [p];
    ld.param.u64 %d2, [part];
    ld.param.u64 %d3, [more];
    st.shared.u32 [%d2+12], 7;
    st.shared.u32 [%d3], 5;
    ld.shared.u32 %r1, [%d2+12];
    ld.shared.u32 %r2, [%d3];
    add.u32 %r1, %r1, %r2;
    st.global.u32 [%d1], %r1;
    exit;
}
"""


@pytest.mark.parametrize("more", [(), ("--shared", "100")])
def test_addresses_in_shared_memory_are_handed_out(tmp_path: Path, more: tuple[str, ...]) -> None:
    (tmp_path / "k.ptx").write_text(SHARED)
    given = ("--arg", "out:u32:1", "--arg", "shared:16", "--arg", "shared:4", *more)
    out = json.loads(run("run", str(tmp_path / "k.ptx"), *given, "--json").stdout)
    assert out["arguments"][0]["values"] == [12]
    for wrong, why in (
        (("shared:4", "shared:4", "shared:4"), "p is ptr64, not an address in shared memory"),
        (("out:u32:1", "zeros:u32:4", "shared:4"), "part is an address in shared memory: shared:BYTES"),
        (("out:u32:1", "shared:-1", "shared:4"), "-1 bytes"),
        (("out:u32:1", "shared:16"), "--arg zeros:f32:1024 --arg shared:1024 --arg shared:1024"),
        (("out:u32:1", "shared:16", "shared:90000"), "bytes of shared memory"),
    ):
        refused = CliRunner().invoke(app, ["run", str(tmp_path / "k.ptx"), *(x for a in wrong for x in ("--arg", a))])
        assert refused.exit_code in (1, 2)
        assert why in refused.stderr


def test_a_python_source_runs() -> None:
    out = json.loads(run("run", PYTHON, *SAXPY, "--arg", "out:f32:32", "--json").stdout)
    assert out["arguments"][0]["values"][:7] == [0, 2, 4, 6, 8, 0, 0]


def test_what_a_kernel_prints_is_not_among_the_json(tmp_path: Path) -> None:
    source = tmp_path / "k.py"
    text = "@isakit.kernel\ndef k(out: 'u32p'):\n    print('lane', thread.x)\n    out[thread.x] = thread.x\n"
    source.write_text(text)
    arguments = ("run", str(source), "--block", "2", "--arg", "out:u32:2")
    assert run(*arguments).stdout.startswith("lane 0\nlane 1\n")
    got = run(*arguments, "--json")
    assert json.loads(got.stdout)["arguments"][0]["values"] == [0, 1]
    assert got.stderr == "lane 0\nlane 1\n"


def test_a_source_is_compiled_for_the_chip() -> None:
    listed = json.loads(run("dis", PYTHON, "--json").stdout)
    assert {p["variant"] for p in listed} == {"gt200"}
    assert json.loads(run("dis", "-m", "tesla", "-V", "g80", PYTHON, "--json").stdout)[0]["variant"] == "g80"


def test_a_source_is_debugged_at_its_lines() -> None:
    out = run("debug", PYTHON, *SAXPY, "--arg", "zeros:f32:32", "-e", "b saxpy.py:16", "-e", "c").stdout
    assert "saxpy.py:16" in out.splitlines()[3]


def test_a_source_is_profiled() -> None:
    out = json.loads(run("profile", PYTHON, *SAXPY, "--arg", "zeros:f32:32", "--json").stdout)
    assert out["kernel"] == "saxpy"
    assert {line["line"] for line in out["instructions"]} >= {14, 15, 16}


def test_a_source_is_sanitized() -> None:
    short = ("--kernel", "saxpy", "--block", "32", "--arg", "i32:32", "--arg", "f32:2", "--arg", "ramp:f32:4")
    result = CliRunner().invoke(app, ["sanitize", PYTHON, *short, "--arg", "out:f32:4"])
    assert result.exit_code == 3
    assert "out-of-bounds" in result.stdout
    assert "\n    saxpy.py:16: " in result.stdout
    (found, *_) = json.loads(
        CliRunner().invoke(app, ["sanitize", PYTHON, *short, "--arg", "out:f32:4", "--json"]).stdout
    )["findings"]
    assert found["source"].startswith("saxpy.py:16: ")


def test_a_fault_names_the_line() -> None:
    result = CliRunner().invoke(app, ["run", PYTHON, *SAXPY[:-1], "ramp:f32:4", "--arg", "zeros:f32:4"])
    assert result.exit_code == 3
    fault, place = result.stderr.splitlines()
    assert fault.startswith("fault: UNMAPPED_ADDRESS at pc ")
    assert place.startswith("    saxpy.py:16: ")


def test_a_shader_source_runs(tmp_path: Path) -> None:
    (tmp_path / "tint_f.cg").write_text("float4 main(float4 c : COLOR) : COLOR { return c * 0.5f; }")
    out = json.loads(run("run", str(tmp_path / "tint_f.cg"), "--arg", "color0=ramp:f32:2x4", "--json").stdout)
    assert out["outputs"]["color"] == [[0, 0.5, 1, 1.5], [2, 2.5, 3, 3.5]]


@pytest.mark.parametrize("verb", ["debug", "sanitize", "profile"])
def test_ptx_is_taken(tmp_path: Path, verb: str) -> None:
    (tmp_path / "k.ptx").write_text(PTX)
    last = ("-e", "c") if verb == "debug" else ()
    run(verb, str(tmp_path / "k.ptx"), "--arg", "zeros:u32:1", *last)


def test_mistakes_of_a_source_have_their_place(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import isakit\n\n@isakit.kernel\ndef k(x: 'f32p'):\n    x[0] = nothing\n")
    assert f"{wrong}:5:" in run("debug", str(wrong), code=1).stderr


def test_a_binary_of_a_source_s_name_is_no_source(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_bytes(bytes(64))
    assert "error: " in run("run", str(wrong), code=1).stderr


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A capture of one launch."""
    for name, data in captured_launch().items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    return tmp_path


def test_captured_launches_are_debugged(capture: Path) -> None:
    for given in (
        (str(capture),),
        (str(capture), "--launch", "1"),
        (str(capture / "launches/0001.json"), "--launch", "1"),
    ):
        out = run("debug", *given, "-e", "b st", "-e", "c").stdout
        assert "breakpoint 1: block (0, 0) warp 0 lane 0" in out


def test_captured_launches_are_sanitized_and_profiled(capture: Path) -> None:
    assert json.loads(run("sanitize", str(capture), "--json").stdout)["clean"]
    assert json.loads(run("profile", str(capture), "--json").stdout)["kernel"] == "saxpy"


@pytest.mark.parametrize(
    ("given", "code", "said"),
    [
        (("--launch", "2"), 1, "has no launch 2"),
        (("--grid", "2"), 2, "a captured launch takes no --grid"),
        (("--arg", "i32:1"), 2, "a captured launch takes no --arg"),
    ],
)
def test_what_a_capture_does_not_take(capture: Path, given: tuple[str, ...], code: int, said: str) -> None:
    assert said in run("debug", str(capture), *given, "-e", "c", code=code).stderr


def test_a_capture_of_several_launches_wants_to_know_which(capture: Path) -> None:
    (capture / "launches/0002.json").write_bytes((capture / "launches/0001.json").read_bytes())
    assert "name one with --launch: 1, 2" in run("debug", str(capture), "-e", "c", code=1).stderr


def test_a_folder_that_is_no_capture(tmp_path: Path) -> None:
    assert "is not a capture" in run("debug", str(tmp_path), "-e", "c", code=1).stderr
    assert "isakit replay" in run("run", str(tmp_path), code=1).stderr


def test_words_of_cuda_gdb(tmp_path: Path) -> None:
    given = ("--kernel", "reduce", "--block", "64", "--arg", "ramp:f32:64", "--arg", "zeros:f32:1")
    words = ("b 27 if k == 32", "r", "info locals", "bt", "list", "x/2xw s[0x20]", "x/2i", "cuda thread (3,0,0)", "p t",
             "cuda warp 1 lane 2", "p t", "cuda block thread", "info cuda threads", "info cuda kernels", "disassemble",
             "p nothing_of_the_kind")  # fmt: skip
    out = CliRunner().invoke(app, ["debug", PYTHON, *given, *(x for w in words for x in ("-e", w))])
    assert out.exit_code == 1  # the last one
    lines = out.stdout.splitlines()
    assert "k = 32" in lines
    assert any(line.startswith("x = 0x") for line in lines)
    assert "#0  0x0060 in reduce+0x60 at saxpy.py:27" in lines
    assert ">B   27          if t < k:" in lines
    assert "s[0x20]:  0x00000000  0x3f800000" in lines
    assert "3" in lines
    assert "34 (0x22)" in lines
    assert "block (0,0,0), thread (34,0,0)" in lines
    assert "* 0       1     (64,1,1)  reduce" in lines
    assert "=> 0x0060            set $c0 # ge u32 $r0 $r1" in lines
    assert max(map(len, lines)) <= 80


def test_macros_and_folders_of_a_shader_source(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "half.cg").write_text("#define HALF 0.5f\n")
    (tmp_path / "tint_f.cg").write_text(
        '#include "half.cg"\nfloat4 main(float4 c : COLOR) : COLOR { float4 d = c * HALF; return d * LIGHT; }'
    )
    given = (str(tmp_path / "tint_f.cg"), "-D", "LIGHT=4", "-I", str(tmp_path / "more"),
             "--arg", "color0=ramp:f32:2x4")  # fmt: skip
    out = json.loads(run("run", *given, "--json").stdout)
    assert out["outputs"]["color"] == [[0, 2, 4, 6], [8, 10, 12, 14]]
    assert "c = {0, 1, 2, 3}" in run("debug", *given, "-e", "n", "-e", "info locals").stdout


@needs_clang
def test_macros_and_folders_of_a_c_source(tmp_path: Path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "side.h").write_text("#define SIDE 3\n")
    (tmp_path / "k.cu").write_text(
        '#include "side.h"\n__global__ void fill(int *out) { out[threadIdx.x] = FACTOR * threadIdx.x + SIDE; }\n'
    )
    given = (str(tmp_path / "k.cu"), "-DFACTOR=5", "-I", str(tmp_path / "more"), "--block", "4")
    out = json.loads(run("run", *given, "--arg", "out:i32:4", "--json").stdout)
    assert out["arguments"][0]["values"] == [3, 8, 13, 18]
    for verb in ("profile", "sanitize"):
        run(verb, *given, "--arg", "zeros:i32:4")


@pytest.mark.parametrize("more", [("-D", "LIGHT"), ("-I", ".")])
def test_files_without_a_source_take_no_macros_and_folders(more: tuple[str, str]) -> None:
    for file in (PYTHON, str(ROOT / "examples/tesla/diverge.s")):
        result = CliRunner().invoke(app, ["run", file, "--arg", "zeros:i32:64", *more])
        assert result.exit_code == 1
        assert "for" in result.stderr


def test_steps_go_by_lines_of_the_source_and_by_instructions(tmp_path: Path) -> None:
    kernel = tmp_path / "k.py"
    body = "    i = cuda.grid(1)\n    a[i] = i * 3\n    a[i] = a[i] + 1\n"
    kernel.write_text(f'import isakit\n\n@isakit.kernel\ndef k(a: "u32p"):\n{body}')
    said = [f for c in ("n", "n", "si", "rs", "p *a", "ptype a") for f in ("-e", c)]
    out = run("debug", str(kernel), "-G", "--block", "4", "--arg", "zeros:u32:4", *said).stdout
    places = [line.strip().split(":")[1] for line in out.splitlines() if "k.py:" in line]
    assert places == ["5", "6", "6", "5"]
    assert out.splitlines()[-2:] == ["0", "type = u32 *"]

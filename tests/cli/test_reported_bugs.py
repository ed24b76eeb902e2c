"""What users ran into, one test each."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import ROOT

import isakit
from isakit.programs import write
from support.clients.command_line import run
from support.patience import PATIENCE

STORE = (
    ".isa tesla gt200\n.kernel fill\n.param out ptr\nmov b32 $r0 b32 s[out]\nmov b32 $r1 0x3f800000\n"
    "exit st b32 g14[$r0] $r1\n"
)


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    path = tmp_path / "k.s"
    path.write_text(STORE)
    return path


def test_results_nobody_asked_for_are_not_built(kernel: Path) -> None:
    """10 million floats as Python numbers take more than 300 MB; the arrays themselves 80 MB."""
    limit = 1_500_000_000
    command = [sys.executable, "-c", (
        "import resource, sys\n"
        "from isakit.cli import main\n"
        "main_size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        f"sys.argv[1:] = ['run', {str(kernel)!r}, '--engine', 'reference', '--arg', 'out:f32:10000000']\n"
        "try:\n    main()\n"
        "finally:\n    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - main_size, file=sys.stderr)\n"
    )]  # fmt: skip
    done = subprocess.run(
        command, capture_output=True, text=True, check=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (8 * limit, 8 * limit)),
    )  # fmt: skip
    assert "[1. 0. 0. ... 0. 0. 0.]" in done.stdout
    assert int(done.stderr.splitlines()[-1]) < 300_000  # kB


def test_sizes_beyond_any_device_are_refused_before_anything_is_allocated(kernel: Path) -> None:
    message = run("run", str(kernel), "--arg", "out:f32:1073741824", code=2).stderr
    assert "4294967296 bytes do not fit the 32-bit addresses of a device" in message


def test_sizes_beyond_this_machine_are_refused(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sysconf", {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 1000}.__getitem__)
    message = run("run", str(kernel), "--arg", "out:u8:600000", code=2).stderr
    assert "600000 bytes, once here and once on the simulated device, are more than this machine has" in message


def test_info_has_one_line_per_kernel_however_long_its_name(tmp_path: Path) -> None:
    name = "_Z" + "x" * 300
    path = tmp_path / "k.cubin"
    path.write_bytes(write(isakit.isa("tesla", "g80").assemble(f".kernel {name}\n.param a ptr64\nexit nop"), "elf"))
    (line,) = [row for row in run("info", str(path)).stdout.splitlines() if row.startswith("_Z")]
    assert line.split()[0] == name
    assert line.endswith("b64 at 0x0")


def test_escapes_in_names_do_not_reach_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "k.cubin"
    data = write(isakit.isa("tesla", "g80").assemble(".kernel _Z11111Xvv\nexit nop"), "elf")
    path.write_bytes(data.replace(b"_Z11111Xvv", b"_Z\x1b[31mXvv"))
    for verb in ("info", "dis", "cfg"):
        assert "\x1b" not in run(verb, str(path)).output
    shown = run("info", str(path), "--json").stdout
    assert json.loads(shown)[0]["kernels"][0]["name"] == "_Z\x1b[31mXvv"
    assert "\x1b" not in shown
    text = tmp_path / "k.s"
    text.write_bytes(b"\x1b]0;pwn\x07\xc2\x9b31m\n")
    result = run("asm", "-m", "tesla", str(text), code=1)
    assert not re.search(r"[\x07\x1b\x9b]", result.output)


def test_explain_explains_every_instruction() -> None:
    once = run("explain", "-m", "tesla", "20008204").stdout
    assert run("explain", "-m", "tesla", "20008204", "20008204").stdout == f"{once}\n{once}"
    texts = run("explain", "-m", "tesla", "nop; exit nop", "--json").stdout
    assert [e["text"] for e in json.loads(texts)] == ["nop", "exit nop"]
    for words in (["0x1000000104230780"], ["/*0x1000000104230780*/"], ["/*0x10000001*/", "/*0x04230780*/"]):
        assert run("explain", "-m", "tesla", *words).stdout.startswith("10000001 04230780  (l23) mov b32 $r0 u8 s[0x0]")
    with pytest.raises(isakit.IsakitError, match="takes one instruction, these are 2"):
        isakit.isa("tesla").explain([0x20008204, 0x20008204])


def test_records_print_short() -> None:
    for name in ("tesla", "vuc", "usse"):
        for record in isakit.isa(name).instructions:
            assert len(repr(record)) < 200
            assert all(len(repr(form)) < 1000 for form in record.forms)


@pytest.mark.parametrize("words", ["dis {path}", "--help", "dis --help", "--version"])
def test_a_closed_output_is_an_error_not_a_traceback(kernel: Path, tmp_path: Path, words: str) -> None:
    path = tmp_path / "k.cubin"
    run("asm", str(kernel), "-o", str(path), "--format", "elf")
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec {sys.executable} -m isakit {words.format(path=path)} >&-"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "error: standard output is closed\n"


def launch(*arrays: np.ndarray) -> None:
    loaded = isakit.Device("gt200", engine="reference").load(isakit.isa("tesla").assemble(STORE))["fill"]
    loaded[1, 1](*arrays)


def test_an_array_that_is_read_only_is_refused_as_a_result() -> None:
    array = np.zeros(4, np.float32)
    array.flags.writeable = False
    with pytest.raises(isakit.LaunchError, match="read-only"):
        launch(array)
    same = np.full(1, 1.0, np.float32)
    same.flags.writeable = False
    launch(same)  # what is not changed is an input


@pytest.mark.parametrize("dtype", [">f4", "<f4"])
def test_arrays_of_any_byte_order_and_layout_come_back_right(dtype: str) -> None:
    whole = np.zeros((4, 4), dtype)
    for array in (whole[:, 1], whole[::2, 2], whole.T[3]):
        launch(array)
        assert list(np.ravel(array)) == [1.0, *[0.0] * (array.size - 1)]


def test_wrong_types_are_errors_of_the_library() -> None:
    with pytest.raises(isakit.IsakitError, match="takes a text, not NoneType"):
        isakit.isa("tesla").assemble(None)  # type: ignore[arg-type]
    module = isakit.load(write(isakit.isa("tesla", "g80").assemble(".kernel k\nexit nop"), "elf"))
    with pytest.raises(isakit.IsakitError, match="has a name, not NoneType"):
        isakit.isa(None)  # type: ignore[arg-type]
    for takes_words in (isakit.isa("tesla").disassemble, isakit.isa("tesla").explain):
        with pytest.raises(isakit.IsakitError, match="bytes or ints, not NoneType"):
            takes_words(None)  # type: ignore[arg-type]
    with pytest.raises(isakit.IsakitError, match="takes a shader"):
        isakit.usse.run(module)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "args",
    [
        ("dis", "-m", "nothing", "k.s"), ("dis", "-m", "tesla", "-V", "nothing", "k.s"),
        ("explain", "-m", "tesla", "-t", "nothing", "20008204"),
        ("run", "k.s", "--chip", "nothing", "--arg", "out:f32:1"),
        ("run", "k.s"),
    ],
)  # fmt: skip
def test_wrong_values_of_options_are_wrong_usage(kernel: Path, args: tuple[str, ...]) -> None:
    assert run(*(str(kernel) if a == "k.s" else a for a in args), code=2).stderr.startswith("error: ")


def test_a_file_of_several_programs_says_what_else_it_has(tmp_path: Path) -> None:
    path = tmp_path / "several"
    isa = isakit.isa("tesla", "g80")
    programs = (write(isa.assemble(f".kernel {k}\nexit nop"), "elf").ljust(4096, b"\0") for k in "ab")
    path.write_bytes(b"\0host".ljust(4096, b"\0") + b"".join(programs))
    first = isakit.load(path)
    assert "1 more kernels in other programs of the file" in repr(first)
    assert (list(first), first.beside) == (["a"], ("b",))
    with pytest.raises(KeyError, match=r"isakit.load\(path, kernel='b'\)"):
        first["b"]
    assert list(isakit.load(path, kernel="b")) == ["b"]
    assert [list(m) for m in isakit.load_all(path)] == [["a"], ["b"]]
    for verb in ("dis", "run", "cfg"):
        run(verb, str(path), "--kernel", "b")


def test_dots_in_a_sentence_do_not_end_it() -> None:
    overview = run("doc", "-m", "tesla").stdout
    assert re.search(r"^\| ex2 .* clamps the result to 0 \.\. 1\. \|", overview, re.MULTILINE)


def test_without_arguments_it_says_what_there_is() -> None:
    done = subprocess.run([sys.executable, "-m", "isakit"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Usage: isakit")


def test_microcode_for_another_core_names_it(tmp_path: Path) -> None:
    path = tmp_path / "p.bin"
    path.write_bytes((0xC002007B).to_bytes(8, "little"))
    message = run("info", "-m", "vuc", "-V", "vp3", str(path), code=1).stderr
    assert "30 bits of vp3; it may be for vp2 (-V vp2)" in message


def test_words_in_comments_are_words() -> None:
    out = run("dis", "-m", "tesla", "-V", "g80", "--hex", "-", stdin="/*0x100000010423c780*/").stdout
    assert "10000001 0423c780" in out


CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "format": ({"format": "a scene 7"}, {}, "its format is 'a scene 7'"),
    "no draws": ({"draws": []}, {}, "`draws` is empty"),
    "count": ({}, {"count": 300}, "draws 300 vertices and has 3"),
    "data": ({}, {"attribs": [{"data": "x"}]}, "draws[0].attribs[0].data: a list is expected"),
}


def changed_scene(folder: Path, whole: dict[str, Any], draw: dict[str, Any]) -> Path:
    """The triangle, with other records of the scene and of its draw."""
    source = ROOT / "examples/tesla-graphics/triangle"
    for name in ("vertex.s", "fragment.s"):
        (folder / name).write_text((source / name).read_text())
    scene = json.loads((source / "scene.json").read_text())
    scene["draws"][0].update(draw)
    (folder / "scene.json").write_text(json.dumps({**scene, **whole}))
    return folder


@pytest.mark.parametrize("kind", CHANGES)
def test_scenes_that_say_something_wrong_are_refused(tmp_path: Path, kind: str) -> None:
    whole, draw, message = CHANGES[kind]
    scene = changed_scene(tmp_path, whole, draw)
    assert message in run("draw", str(scene), "-o", str(tmp_path / "out.png"), code=1).stderr


def test_records_of_a_scene_with_unknown_names_are_named_and_left_out(tmp_path: Path) -> None:
    scene, out = changed_scene(tmp_path, {"colour": 1}, {"moed": "points"}), tmp_path / "out.png"
    said = run("draw", str(scene), "-o", str(out)).stderr.splitlines()
    assert sorted(line.partition("scene.json: ")[2] for line in said if line.startswith("warning: left out of ")) == [
        "colour: not known here; there are format, name, width, height, clear, render_targets, target_formats, draws, "
        "row_order, depth_format, suggested_use",
        "draws[0].moed: not known here; did you mean `mode`?",
    ]
    plain = tmp_path / "plain.png"
    run("draw", str(ROOT / "examples/tesla-graphics/triangle"), "-o", str(plain))
    assert out.read_bytes() == plain.read_bytes()


def test_a_picture_is_of_the_kind_its_name_says(tmp_path: Path) -> None:
    out = tmp_path / "x.jpg"
    message = run("draw", str(ROOT / "examples/tesla-graphics/triangle"), "-o", str(out), code=2).stderr
    assert "a picture is a .png, or a .bin of raw pixels" in message
    assert not out.exists()


def test_the_table_of_examples_says_how_many_there_are() -> None:
    text = (ROOT / "examples/vuc/README.md").read_text()
    assert len(re.findall(r"^\| `p", text, re.MULTILINE)) == 8
    assert "Eight" in text


def test_a_program_without_an_end_is_told_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "k.s"
    path.write_text(STORE.replace("exit ", ""))
    for engine in ("reference", "llvm"):
        done = run("run", str(path), "--grid", "1", "--block", "32", "--arg", "out:f32:1", "--engine", engine, code=3)
        assert "the program runs past its end: an `exit` is missing" in done.stderr
    path.write_text(STORE.replace("exit ", "bra 0x4000\n"))
    done = run("run", str(path), "--grid", "1", "--block", "32", "--arg", "out:f32:1", code=3)
    assert "exit" not in done.stderr


def test_a_file_that_is_not_there_is_also_what_python_calls_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nope: cannot be read: there is no such file") as caught:
        isakit.load(tmp_path / "nope")
    assert isinstance(caught.value, isakit.FormatError)
    assert (caught.value.offset, caught.value.path) == (0, str(tmp_path / "nope"))


def test_wrong_types_are_told_in_words(kernel: Path) -> None:
    given: Any = ["a"]
    with pytest.raises(isakit.IsakitError, match="disassemble takes bytes or ints"):
        isakit.isa("tesla").disassemble(given)
    given = None
    with pytest.raises(isakit.IsakitError, match="as a path or as bytes, not as NoneType"):
        isakit.load(given)
    module: Any = isakit.Device("gt200").load(isakit.load(kernel))
    with pytest.raises(TypeError, match=r'say which kernel runs.*: module\["fill"\]\[grid, block\]'):
        module(np.zeros(1))
    loaded = module["fill"]
    with pytest.raises(TypeError, match=r"say how many threads run it: fill\[grid, block\]"):
        loaded(np.zeros(1))


def test_messages_name_options_that_exist(kernel: Path) -> None:
    message = run("run", str(kernel), "--block", "513", "--arg", "out:f32:1", code=1).stderr
    assert "513 threads per block; gt200 allows 512" in message
    assert "limits=" not in message


@pytest.mark.parametrize("count", [1, 40, 80])
def test_an_interrupt_while_modules_are_loaded_is_one_line_and_its_own_code(count: int) -> None:
    """The interrupt comes from within: when the first module of the command line, and later ones, are looked for."""
    program = f"""
import sys, isakit.cli

class Finder:
    left = {count}
    def find_spec(self, *args):
        Finder.left -= 1
        if not Finder.left:
            raise KeyboardInterrupt

sys.meta_path.insert(0, Finder())
sys.argv = ["isakit", "dis", "--help"]
isakit.cli.main()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")

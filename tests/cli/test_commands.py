"""The commands through click's runner, and some of them as processes."""

from __future__ import annotations

import importlib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import isakit
import isakit.cli
from isakit import formats
from isakit.cli.app import COMMANDS, PLACES, app
from isakit.description import InfoRecord
from isakit.formats.cubin_elf_write import write_elf_cubin
from isakit.formats.nvinfo import FORM_HALF, FORM_SIZED
from isakit.programs import completed, module_of, write
from support.clients.command_line import run
from support.patience import PATIENCE
from support.runners.tesla_kernels import SAXPY


@pytest.fixture
def saxpy(tmp_path: Path) -> Path:
    path = tmp_path / "saxpy.s"
    path.write_text(SAXPY)
    return path


# --- help and usage --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_an_example_and_json(command: str) -> None:
    text = run(command, "--help").stdout
    assert "Example" in text
    assert f"isakit {command}" in text
    assert "--json" in text or command in ("completion", "lsp", "man", "nvcc", "psp2cgc")


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_verb_has_one_name_in_its_help_and_its_schema(verb: str) -> None:
    module = importlib.import_module(PLACES.get(verb, f"isakit.cli.{verb}_"))
    output = getattr(module, "OUTPUT", None)
    assert {module.command.name, output.verb if output is not None else verb} == {verb}


def test_every_file_of_a_verb_is_in_the_overview() -> None:
    """Add a line to `COMMANDS` in cli/app.py."""
    files = Path(isakit.cli.__file__).parent.glob("*[a-z]_.py")
    assert {f.stem.removesuffix("_") for f in files} == COMMANDS.keys() - PLACES.keys()


def test_the_overview_lists_the_commands() -> None:
    text = run("--help").stdout
    for name, what in COMMANDS.items():
        assert name in text
        assert what in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["disassemble"], "no command 'disassemble'"),
        (["dsi"], "did you mean `dis`?"),
        (["dis"], "Missing argument"),
        (["asm", "-"], "--isa"),
        (["dis", "--hex", "-"], "-m ISA"),
        (["dis", "--address", "x", "-m", "tesla", "-"], "--address"),
        (["run", "-", "--grid", "0"], "--grid"),
        (["run", "-", "--block", "1,2,3,4"], "--block"),
        (["info", "-V", "gt200", "-"], "-V gt200 needs -m ISA"),
        (["run", "-V", "gt200", "-"], "-V gt200 needs -m ISA"),
        (["explain", "-m", "teslo", "0"], "there is no instruction set 'teslo'"),
        (["explain", "-m", "tesla", "-V", "gt300", "0"], "no variant 'gt300'"),
    ],
)
def test_wrong_usage_is_code_2_with_one_clear_line_first(args: list[str], message: str) -> None:
    stderr = run(*args, code=2).stderr
    assert stderr.startswith("error: ")
    assert message in stderr.splitlines()[0]


@pytest.mark.parametrize(
    ("args", "stdin", "message"),
    [
        (["dis", "no-such-file"], "", "no-such-file: No such file"),
        (["dis", "-m", "tesla", "--hex", "-"], "xyz", "'xyz' is not a hexadecimal word"),
        (["dis", "-"], "", "the file is empty"),
        (["asm", "-m", "tesla", "-"], "ad $r1", "<stdin> has 1 error"),
        (["explain", "-m", "tesla", "add nonsense"], "", "has 1 error"),
        (["doc", "addd"], "", "did you mean"),
        (["info", "-"], b"\x00\x01\x02", "no known format"),
        (["run", "no-such-file"], "", "No such file"),
    ],
)
def test_wrong_input_is_code_1_with_one_clear_line_first(args: list[str], stdin: str | bytes, message: str) -> None:
    stderr = run(*args, stdin=stdin, code=1).stderr
    assert stderr.startswith("error: ")
    assert message in stderr.splitlines()[0]


# --- dis and asm -----------------------------------------------------------------------------------------------------


def test_dis_reads_words_with_or_without_0x() -> None:
    text = run("dis", "-m", "tesla", "-V", "g80", "--hex", "-", stdin="0x10000001, 0423c780").stdout
    assert "mov b32 $r0 u8 s[0x0]" in text
    assert text == run("dis", "-m", "tesla", "-V", "g80", "--hex", "-", stdin="10000001 0423c780").stdout


def test_dis_shows_what_does_not_decode() -> None:
    text = run("dis", "-m", "tesla", "--hex", "-", stdin="f0000005 ffffffff").stdout
    assert ".word 0xf0000005 0xffffffff" in text
    assert "ILLEGAL_OPCODE" in text


@pytest.mark.parametrize("kind", ["raw", "cubin", "elf"])
def test_listings_of_files_assemble_to_the_same_files(saxpy: Path, tmp_path: Path, kind: str) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    run("asm", "-m", "tesla", str(saxpy), "-o", str(first), "--format", kind)
    raw = ["-m", "tesla"] if kind == "raw" else []
    listing = run("dis", *raw, str(first)).stdout
    run("asm", "-m", "tesla", "-", "-o", str(second), "--format", kind, stdin=listing)
    if kind == "elf":
        # The listing has no name for parameters in a file that has none; the rest must be the same.
        assert run("dis", str(second)).stdout == listing
    else:
        assert second.read_bytes() == first.read_bytes()


def test_hex_goes_out_and_comes_back() -> None:
    words = run("asm", "-m", "vuc", "-V", "vp2", "-", "--format", "hex", stdin="mov $r1 0x5\nnop").stdout
    listing = run("dis", "-m", "vuc", "-V", "vp2", "--hex", "-", stdin=words).stdout
    assert "mov $r1 0x5" in listing
    assert run("asm", "-m", "vuc", "-V", "vp2", "-", "--format", "hex", stdin=listing).stdout == words


def test_asm_reports_every_error_and_writes_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    stderr = run("asm", "-m", "tesla", "-", "-o", str(out), stdin="ad $r1\nnop\nbra lop", code=1).stderr
    assert "<stdin>:1:1: error: unknown instruction `ad`" in stderr
    assert "<stdin>:3:5: error: `lop` is not defined" in stderr
    assert not out.exists()


def test_json_of_asm_holds_words_or_errors() -> None:
    plain = json.loads(run("asm", "-m", "tesla", "-", "--json", stdin=SAXPY).stdout)
    assert plain["kernels"][0]["registers"] == 4
    assert [p["offset"] for p in plain["kernels"][0]["params"]] == [0, 4, 8]
    errors = json.loads(run("asm", "-m", "tesla", "-", "--json", stdin="nop\n ad", code=1).stdout)["errors"]
    assert [(e["line"], e["column"]) for e in errors] == [(2, 2)]


def test_json_of_dis_holds_every_instruction() -> None:
    (program,) = json.loads(
        run("dis", "-m", "tesla", "--hex", "-", "--json", stdin="20008204 20008204 00000001").stdout
    )
    first, second, third = program["instructions"]
    assert first["text"] == second["text"] == "add b32 $r1 $r1 $r0"
    assert (second["address"], second["size"], second["words"]) == (4, 4, [0x20008204])
    assert (first["mnemonic"], first["writes"]) == ("add", ["$r1"])
    assert third["error"] == "TRUNCATED_INSTRUCTION"


def test_one_kernel_can_be_chosen() -> None:
    both = run("asm", "-m", "tesla", "-", "--format", "cubin", stdin=SAXPY + ".kernel other\nexit nop\n").stdout
    only = run("dis", "--kernel", "other", "-", stdin=both).stdout
    assert ".kernel other" in only
    assert "saxpy" not in only
    assert "saxpy, other" in run("dis", "--kernel", "third", "-", stdin=both, code=1).stderr


def test_colour_is_for_terminals_only_and_can_be_forbidden(monkeypatch: pytest.MonkeyPatch) -> None:
    args = ["dis", "-m", "tesla", "--hex", "-"]
    assert "\x1b[" not in run(*args, stdin="20008204").stdout
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in CliRunner().invoke(app, args, input="20008204", color=True).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in CliRunner().invoke(app, args, input="20008204", color=True).stdout


# --- explain, info, doc ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "what", [["20008204"], ["0x20008204"], ["add b32 $r1 $r1 $r0"], ["add", "b32", "$r1", "$r1", "$r0"]]
)
def test_explain_takes_words_and_text(what: list[str]) -> None:
    text = run("explain", "-m", "tesla", *what).stdout
    assert text.startswith("20008204  add b32 $r1 $r1 $r0")
    rows = json.loads(run("explain", "-m", "tesla", "--json", *what).stdout)["rows"]
    assert {"dst", "src1", "src2"} <= {r["field"].split()[0] for r in rows}


def test_info_tells_what_a_kernel_needs(saxpy: Path, tmp_path: Path) -> None:
    cubin = tmp_path / "saxpy.cubin"
    run("asm", "-m", "tesla", "-V", "g84", str(saxpy), "-o", str(cubin), "--format", "elf")
    (module,) = json.loads(run("info", "--json", str(cubin)).stdout)
    assert (module["kind"], module["isa"], module["variant"]) == ("elf-cubin", "tesla", "g84")
    (kernel,) = module["kernels"]
    assert (kernel["name"], kernel["registers"], kernel["shared_bytes"]) == ("saxpy", 4, 0x1C)
    assert [(p["offset"], p["size"]) for p in kernel["params"]] == [(0, 4), (4, 4), (8, 4)]
    assert "saxpy" in run("info", str(cubin)).stdout


def test_info_names_what_the_compiler_noted(tmp_path: Path) -> None:
    image = completed(module_of(isakit.isa("tesla", "gt200").assemble(SAXPY)))
    image.info.append(InfoRecord(FORM_SIZED, 0x70, b"\x07"))
    image.kernels["saxpy"].info += [InfoRecord(FORM_HALF, 0x1B, b"\x10\0"), InfoRecord(FORM_SIZED, 0x0D)]
    cubin = tmp_path / "saxpy.cubin"
    cubin.write_bytes(write_elf_cubin(image))
    lines = run("info", str(cubin)).stdout.splitlines()
    assert [line for line in lines if line.startswith("attribute")] == [
        "attribute 0x70 of the file: 07", "attribute MAXREG_COUNT of saxpy: 1000", "attribute SYNC_STACK of saxpy",
    ]  # fmt: skip
    (module,) = json.loads(run("info", "--json", str(cubin)).stdout)
    assert module["attributes"] == [{"number": 0x70, "name": "0x70", "data": "07"}]
    assert [a["name"] for a in module["kernels"][0]["attributes"]] == ["MAXREG_COUNT", "SYNC_STACK"]


@pytest.mark.parametrize("name", ["tesla", "vuc", "usse"])
def test_doc_lists_and_shows_every_instruction(name: str) -> None:
    overview = run("doc", "-m", name).stdout
    records = json.loads(run("doc", "-m", name, "--json").stdout)
    assert len(records) > 30
    for r in records:
        assert f"| {r['name']} |" in overview
        assert r["doc"]
        assert r["syntax"]
        assert r["reference"]


def test_doc_finds_operations_directives_and_special_registers() -> None:
    assert "DST = SRC1 + SRC2" in run("doc", "-m", "tesla", "subr").stdout
    assert ".param NAME TYPE" in run("doc", ".param").stdout
    assert "Special register" in run("doc", "-m", "tesla", "physid").stdout


# --- run -------------------------------------------------------------------------------------------------------------


def test_run_passes_arrays_and_numbers(saxpy: Path, tmp_path: Path) -> None:
    x, y = np.arange(32, dtype=np.float32), np.ones(32, np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    given = ["--arg", f"inout:{tmp_path}/y.npy:{tmp_path}/out.npy", "--arg", f"in:{tmp_path}/x.npy", "--arg", "f32:2.5"]
    text = run("run", str(saxpy), "--block", "32", *given, "--stats").stdout
    assert "warp_instructions: 11" in text
    np.testing.assert_array_equal(np.load(tmp_path / "out.npy"), x * np.float32(2.5) + y)
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), y)


def test_run_shows_results_as_json(saxpy: Path) -> None:
    given = ["--arg", "out:f32:4x8", "--arg", "zeros:f32:32", "--arg", "f32:inf"]
    result = json.loads(run("run", str(saxpy), "--block", "32", *given, "--json").stdout)
    assert result["kernel"] == "saxpy"
    assert result["stats"]["instructions"] == 32 * 11
    (out,) = result["arguments"]
    assert (out["dtype"], out["shape"]) == ("float32", [4, 8])
    assert out["values"][0][0] == "nan"  # 0 * inf


def test_run_finds_the_kernel_in_any_program_of_a_host_file(tmp_path: Path) -> None:
    host = b"MZ" + bytes(62)
    for name, chip in (("first", "g80"), ("second", "gt200")):
        host += write(isakit.isa("tesla", chip).assemble(f".kernel {name}\nexit nop"), "elf")
    path = tmp_path / "host"
    path.write_bytes(host)
    assert json.loads(run("run", str(path), "--kernel", "second", "--json").stdout)["kernel"] == "second"
    assert "name one with --kernel: first, second" in run("run", str(path), code=1).stderr
    assert "it has first, second" in run("run", str(path), "--kernel", "third", code=1).stderr


def test_a_fault_is_code_3_and_says_where(saxpy: Path) -> None:
    given = ["--arg", "i32:0x7ffffff0", "--arg", "zeros:f32:32", "--arg", "f32:1"]
    result = run("run", str(saxpy), "--block", "32", *given, "--json", code=3)
    assert result.stderr.startswith("fault: ")
    assert json.loads(result.stdout)["fault"]["pc"] == 0x30
    bounded = run("run", str(saxpy), "--block", "32", *given, "--max", "2", code=3)
    assert bounded.stderr.startswith("fault: ")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("f33:1", "the forms are"), ("i32:x", "is not a number"), ("u8:300", "does not fit"),
        ("out:f32", "is not a size"),
        ("out:f31:4", "is not a type"), ("out:f32:-1", "is not a size"), ("x=i32:1", "in order"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_explained(saxpy: Path, spec: str, message: str) -> None:
    assert message in run("run", str(saxpy), "--arg", spec, code=2).stderr


def no_array(path: Path, kind: str) -> str:
    """Write a file of that kind; returns what is wrong with it."""
    if kind == "several":
        np.savez(path.with_suffix(".npz"), a=np.zeros(3))
        path.with_suffix(".npz").rename(path)
        return "several arrays"
    if kind == "texts":
        np.save(path, np.array(["a", "b"]))
    else:
        path.write_bytes({"empty": b"", "cut": b"\x93NUMPY\x01\x00", "other": b".kernel k"}[kind])
    return "not a NumPy array"


@pytest.mark.parametrize("kind", ["empty", "cut", "other", "several", "texts"])
def test_a_file_that_is_no_array_is_wrong_input(saxpy: Path, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "x.npy"
    wrong = no_array(path, kind)
    assert wrong in run("run", str(saxpy), "--arg", f"in:{path}", code=1).stderr
    assert wrong in run("run", str(saxpy), "--texture", f"0={path}", code=1).stderr
    microcode = "end: bra end\nnop"
    args = ["run", "-m", "vuc", "-", "--arg", f"data={path}"]
    assert wrong in run(*args, stdin=".isa vuc\n" + microcode, code=1).stderr


def test_microcode_runs() -> None:
    source = ".isa vuc vp3\nmov $r1 0x7\nadd $r1 $r1 $r1\nend: bra end\nnop"
    result = json.loads(run("run", "-m", "vuc", "-V", "vp3", "-", "--json", stdin=source).stdout)
    assert result["state"]["r"][1] == 14
    assert result["stats"]["reason"] == "spinning"


# --- as processes ----------------------------------------------------------------------------------------------------


def test_the_package_runs_as_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "isakit", "dis", "-m", "tesla", "--hex", "-"], input=b"20008204", capture_output=True
    )
    assert done.returncode == 0
    assert b"add b32 $r1 $r1 $r0" in done.stdout
    assert done.stderr == b""


def test_a_reader_that_stops_early_is_no_error() -> None:
    words = b"20008204 " * 50_000
    process = subprocess.Popen(
        [sys.executable, "-m", "isakit", "dis", "-m", "tesla", "--hex", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdin.write(words)
    process.stdin.close()
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(PATIENCE) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_help_needs_nothing_heavy() -> None:
    code = (
        "import sys\nfrom isakit.cli.app import app\n"
        "try: app(['dis', '--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'llvmlite', 'rich', 'isakit.arch', 'isakit.runtime'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env={**os.environ, "NO_COLOR": "1"})
    assert done.returncode == 0, done.stderr


def test_a_shader_listing_becomes_a_file_again(tmp_path: Path) -> None:
    usse = isakit.isa("usse")
    data = formats.write_gxp(formats.GxpFile(
        flags=1, primary=usse.assemble("br +1\nvadd.f32 pa0.xy pa0.xyzw sa0.xyzw").words,
        secondary=usse.assemble("br +1\nor.u32 sa1 sa0 #0x1", "secondary").words,
    ))  # fmt: skip
    original, text, new = tmp_path / "a.gxp", tmp_path / "a.s", tmp_path / "b.gxp"
    original.write_bytes(data)
    text.write_text(run("dis", str(original)).output)
    run("asm", str(text), "--like", str(original), "-o", str(new))
    assert new.read_bytes() == data
    text.write_text(text.read_text().replace("vadd", "vmul"))
    run("asm", "-m", "usse", str(text), "--like", str(original), "-o", str(new))
    assert "vmul" in run("dis", "--kernel", "primary", str(new)).output
    plain = json.loads(run("asm", "-m", "usse", str(text), "--json").output)
    assert [k["name"] for k in plain["kernels"]] == ["primary", "secondary"]
    assert "--format" in run("asm", str(text), "--like", str(original), "--format", "raw", code=2).stderr


@pytest.mark.parametrize("engine", ["reference", "llvm"])
def test_a_shader_runs_on_either_engine(tmp_path: Path, engine: str) -> None:
    if engine == "llvm":
        pytest.importorskip("llvmlite")
    usse = isakit.isa("usse")
    data = formats.write_gxp(formats.GxpFile(
        flags=1, primary=usse.assemble("vadd.f32 pa0.xy sa0.xyzw sa0.xyzw\nvadd.f32 pa2.xy pa0.xyzw sa0.xyzw").words,
        parameters=[formats.GxpParameter("colour", 1, 0, 2, 14, 0, 0, 1, 0)], buffer_sizes=(0, 0, 0, 0, 0, 4),
        containers=[formats.gxp.GxpContainer(14, 0, 0, 4)],
        varyings=formats.gxp.FragmentVaryings(output_type=0, output_components=4),
    ))  # fmt: skip
    file, colour = tmp_path / "a.gxp", tmp_path / "c.npy"
    file.write_bytes(data)
    np.save(colour, np.array([[1, 2]], np.float32))
    args = ("run", str(file), "--arg", f"colour=in:{colour}", "--engine", engine)
    out = json.loads(run(*args, "--json").output)
    assert out["outputs"]["color"] == [[2, 4, 3, 6]]
    assert "instructions: 2" in run(*args, "--stats").output
    assert "BUDGET" in run(*args, "--max", "1", code=3).stderr


# --- what people give ------------------------------------------------------------------------------------------------


def test_a_listing_assembles_without_options(tmp_path: Path) -> None:
    program = isakit.isa("tesla", "g80").assemble(".kernel k\nadd b32 $r1 $r1 $r0\nexit nop")
    listing = tmp_path / "k.s"
    listing.write_text(str(program))
    out = tmp_path / "k.cubin"
    run("asm", str(listing), "--format", "elf", "-o", str(out))
    assert isakit.load(out).variant == "g80"
    old = tmp_path / "old.s"
    old.write_text(str(program).replace(".isa tesla g80", "// tesla g80"))
    run("asm", "-m", "tesla", str(old), "--format", "elf", "-o", str(out))
    assert isakit.load(out).variant == "g80"
    assert "being assembled for gt200" in run("asm", "-m", "tesla", "-V", "gt200", str(old), code=1).stderr
    assert "being assembled for usse" in run("asm", "-m", "usse", str(listing), code=1).stderr


def test_listings_of_two_chips_in_one_text_are_not_assembled_for_one_of_them(tmp_path: Path) -> None:
    host = b"MZ" + bytes(62)
    for name, chip in (("first", "g80"), ("second", "gt200")):
        host += write(isakit.isa("tesla", chip).assemble(f".kernel {name}\nexit nop"), "elf")
    path = tmp_path / "host"
    path.write_bytes(host)
    listing = run("dis", str(path)).stdout
    assert "the text has the programs of 2 files" in run("asm", "-", stdin=listing, code=1).stderr


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_texts_in_utf_16_are_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "k.s"
    path.write_text(".isa tesla g80\n.kernel k\nexit nop // wait\n", encoding=encoding)
    assert run("asm", "--format", "hex", str(path)).stdout.split() == ["f0000001", "e0000781"]


def test_run_takes_a_text_in_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "k.s"
    path.write_text(".isa tesla g80\n.kernel k\nexit nop\n", encoding="utf-16")
    assert json.loads(run("run", str(path), "--json").stdout)["kernel"] == "k"


@pytest.mark.parametrize("chip", ["sm_10", "SM_10", "G80"])
def test_chips_may_be_named_as_users_do(chip: str) -> None:
    words = "10000001 0423c780"
    assert ".isa tesla g80" in run("dis", "-m", "tesla", "-V", chip, "--hex", "-", stdin=words).stdout
    assert ".isa tesla g80" in run("dis", "-m", chip, "--hex", "-", stdin=words).stdout


@pytest.mark.parametrize(
    "text", ["0x100000010423c780 20008204", "100000010423c780,0x20008204",
             "/*0000*/     /*0x100000010423c780*/ \tMOV R0, g [0x4];\n/*0008*/     /*0x20008204*/ \tIADD R1, R1, R0;"],
)  # fmt: skip
def test_words_may_come_as_old_cuobjdump_prints_them(text: str) -> None:
    out = run("dis", "-m", "tesla", "-V", "g80", "--hex", "--json", "-", stdin=text).stdout
    (program,) = json.loads(out)
    assert [i["words"] for i in program["instructions"]] == [[0x10000001, 0x0423C780], [0x20008204]]


def test_run_says_what_arguments_a_kernel_takes(saxpy: Path) -> None:
    message = run("run", str(saxpy), code=2).stderr.splitlines()[0]
    assert "saxpy takes 3 arguments (y, x, a), got 0; for instance: --arg " in message
    copied = message.partition("for instance: ")[2].split()
    run("run", str(saxpy), *copied)


@pytest.mark.parametrize(
    ("name", "answer"),
    [("$r", "Register files"), ("s", "Memory spaces"), ("sreg", "Special registers"), ("s[]", "Memory spaces")],
)  # fmt: skip
def test_doc_finds_registers_and_memories(name: str, answer: str) -> None:
    assert answer in run("doc", "-m", "tesla", name).stdout


def test_doc_searches_all_pages() -> None:
    assert "vote" in run("doc", "-m", "sm_13", "-k", "predicate").stdout
    result = run("doc", "-m", "tesla", "-k", "saturate")
    assert "these have 'satur" in result.stderr
    assert "add" in result.stdout
    assert "no page has 'xyzzy'" in run("doc", "-k", "xyzzy", code=1).stderr


@pytest.mark.parametrize(
    ("word", "answer"),
    [("8800 GTX", "its chip is `g80`; `isakit doc -k '8800 GTX'`"), ("bar.sync", "`bar inc wait 0x0 all`"),
     ("Fermi", "other instruction sets")],
)  # fmt: skip
def test_words_of_other_tools_lead_on(word, answer):
    assert answer in run("doc", word, code=1).stderr
    assert f"`isakit doc {shlex.quote(word)}`" in run("man", word, code=2).stderr
    assert "name of PTX" in run("doc", "-m", "tesla", "%tid", code=1).stderr
    assert "`isakit doc -k saturate` searches" in run("doc", "saturate", code=1).stderr
    hits = json.loads(run("doc", "-k", "predicate", "--json").stdout)
    assert {"isa": "tesla", "name": "vote"}.items() <= hits[0].items()


def test_a_shader_file_goes_through_its_listing(tmp_path):
    source = "".join(f"{line}\n" for line in (
        ".gxp fragment", ".uniform tint f32x4", ".varying texcoord0 f32x2", ".result f16x4", ".program primary",
        "phas wait7 temps 0 addr 0", "vpck.f16.f32 pa0.xyzw sa0.xyzw sa2",
    ))  # fmt: skip
    (tmp_path / "s.s").write_text(source)
    first, second = tmp_path / "s.gxp", tmp_path / "t.gxp"
    assert run("asm", str(tmp_path / "s.s"), "-o", str(first), "--format", "gxp").exit_code == 0
    (tmp_path / "t.s").write_text(run("dis", str(first)).stdout)
    assert run("asm", str(tmp_path / "t.s"), "-o", str(second), "--format", "gxp").exit_code == 0
    assert first.read_bytes() == second.read_bytes()
    assert ".uniform tint f32x4 sa0" in (tmp_path / "t.s").read_text()
    assert ".gxp" not in run("dis", "--kernel", "primary", str(first)).stdout
    assert run("doc", ".varying").exit_code == 0


def test_gxp_needs_the_directive(tmp_path):
    (tmp_path / "s.s").write_text("nop\n")
    result = run("asm", str(tmp_path / "s.s"), "-o", str(tmp_path / "s.gxp"), "--format", "gxp", code=1)
    assert "begin it with `.gxp`" in result.stderr

"""The public interface: every name and call that other programs may rely on, in the way they were promised."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import isakit
from isakit.cli.app import app
from support.clients.command_line import run
from support.runners.tesla_kernels import SAXPY

VARIANTS = [
    *(("tesla", v) for v in ("g80", "g84", "gt200", "gt215", "mcp77")),
    *(("vuc", v) for v in ("vp2", "vp3", "vp4")),
    ("usse", "sgx543"),
]
SAMPLES = {
    "tesla": ("add b32 $r1 $r1 $r0", (0x20008204,), {"$r0", "$r1"}, {"$r1"}),
    "vuc": ("add $r1 $r2 $r3", None, {"$r2", "$r3"}, {"$r1"}),
    "usse": ("vadd.f32 sa22.xy -sa38.xxxx sa36.xyzw skipinv", None, {"sa36", "sa38"}, {"sa22"}),
}

ENGINES = ["reference", "llvm", "auto"]


# --- instruction sets -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "variant"), VARIANTS)
def test_every_variant_exists_and_reads_any_word(name: str, variant: str) -> None:
    isa = isakit.isa(name, variant)
    assert (isa.name, isa.variant) == (name, variant)
    bits = {"tesla": 32, "usse": 64, "vuc": 40 if variant == "vp2" else 30}[name]
    words = [(0x9E3779B97F4A7C15 * k >> 3) & (1 << bits) - 1 for k in range(64)]
    program = isa.disassemble(words, address=0, program_type="compute")
    assert list(program.words) == words
    assert isa.disassemble(program.to_bytes()).words == program.words
    assert isa.assemble(str(program)).to_bytes() == program.to_bytes()
    at = 0
    for i in program:
        assert i.address == at
        at += i.size
        assert b"".join(w.to_bytes(len(i.bytes) // len(i.words), "little") for w in i.words) == i.bytes
        assert len(i.bytes) == i.size
        assert i.valid == (i.error is None)
        assert i.valid or (i.error or "").isupper()
        assert isinstance(i.unknown_bits, int)
        assert all(isinstance(r, str) for r in (*i.reads, *i.writes, *i.operands, i.mnemonic))
    assert at == len(program.to_bytes())


@pytest.mark.parametrize("name", SAMPLES)
def test_an_instruction_tells_what_it_is(name: str) -> None:
    text, words, reads, writes = SAMPLES[name]
    isa = isakit.isa(name)
    (i,) = isa.assemble(text)
    assert (i.text, i.valid, i.error, i.unknown_bits) == (text, True, None, 0)
    assert words is None or tuple(i.words) == words
    assert reads <= set(i.reads)
    assert writes <= set(i.writes)
    assert i.mnemonic == text.split()[0].split(".")[0] or i.mnemonic == text.split()[0]
    assert len(i.operands) >= 3


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("given", ["words", "text"])
def test_explain_takes_words_or_text_and_has_rows(name: str, given: str) -> None:
    text = SAMPLES[name][0]
    isa = isakit.isa(name)
    words = isa.assemble(text).words
    explained = isa.explain(words if given == "words" else text)
    rows = list(explained)
    assert len(rows) >= 3
    for row in rows:
        assert row.bits
        assert row.field
        assert isinstance(row.value, int)
        assert isinstance(row.meaning, str)
        assert isinstance(row.reference, str)
    assert any(row.meaning for row in rows)
    assert text in str(explained)
    html = explained._repr_html_()
    assert "<table" in html
    assert str(isa.explain(words)) == str(explained)


@pytest.mark.parametrize("name", SAMPLES)
def test_records_carry_their_description(name: str) -> None:
    records = isakit.isa(name).instructions
    assert len(records) > 20
    for r in records:
        assert r.name
        assert r.forms
        assert r.syntax
        assert r.doc
        assert str(r.ref)
        assert r.status.value in ("known", "inferred", "unknown")


def test_undecodable_words_are_kept_with_the_name_of_the_error() -> None:
    program = isakit.isa("tesla", "gt200").disassemble([0xF0000005, 0xFFFFFFFF])
    (i,) = program
    assert not i.valid
    assert i.error == "ILLEGAL_OPCODE"
    assert i.words == (0xF0000005, 0xFFFFFFFF)


@pytest.mark.parametrize("names", [("teslo",), ("tesla", "gt300"), ("vuc", "vp9"), ("usse", "sgx1")])
def test_unknown_names_are_refused_with_the_valid_ones(names: tuple[str, ...]) -> None:
    valid = [v for n, v in VARIANTS if n == names[0]] or ["tesla", "vuc", "usse"]
    with pytest.raises(isakit.UnknownIsaError) as e:
        isakit.isa(*names)
    assert all(v in str(e.value) for v in valid)


def test_all_errors_of_a_text_are_reported() -> None:
    with pytest.raises(isakit.AsmError) as e:
        isakit.isa("tesla").assemble("ad $r1\nnop\n  bra nowhere\nmov b32 $r1 $r999")
    assert [(d.line, d.column) for d in e.value.diagnostics] == [(1, 1), (3, 7), (4, 13)]
    assert all(d.message for d in e.value.diagnostics)


def test_prefixes_of_the_assembler() -> None:
    isa = isakit.isa("tesla")
    assert [i.text for i in isa.assemble("exit nop\njoin nop")] == ["exit nop", "join nop"]
    short, long = isa.assemble("add b32 $r1 $r1 $r0")[0], isa.assemble("long add b32 $r1 $r1 $r0")[0]
    assert (short.size, long.size) == (4, 8)
    assert long.text.startswith("long ")


# --- files ----------------------------------------------------------------------------------------------------------


def test_load_tells_path_offset_and_reason(tmp_path: Path) -> None:
    path = tmp_path / "odd"
    path.write_bytes(b"\x00\x01\x02\x03\x04")
    for wrong in (path, tmp_path / "absent"):
        with pytest.raises(isakit.FormatError) as e:
            isakit.load(wrong)
        assert e.value.path == str(wrong)
        assert isinstance(e.value.offset, int)
        assert e.value.reason


@pytest.mark.parametrize("kind", ["cubin", "elf"])
def test_a_module_has_kernels(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "file"
    source = tmp_path / "saxpy.s"
    source.write_text(SAXPY)
    run("asm", "-m", "tesla", "-V", "gt200", str(source), "-o", str(path), "--format", kind)
    module = isakit.load(path)
    assert module.isa == "tesla"
    assert module.variant == "gt200"
    k = module.kernels["saxpy"]
    assert (k.registers, k.shared_bytes, k.local_bytes) == (4, 0x1C, 0)
    assert k.barriers == (kind == "cubin")  # a text cubin names the highest barrier: 0
    assert k.program.to_bytes() == isakit.isa("tesla", "gt200").assemble(SAXPY).to_bytes()
    if kind == "elf":
        assert [(p.offset, p.size) for p in k.params] == [(0, 4), (4, 4), (8, 4)]


def test_every_program_file_loads(shared: Path) -> None:
    corpus = shared / "corpus"
    files = [*corpus.glob("tesla/*/*.cubin"), *corpus.glob("usse/gxp/*.gxp")]
    assert files
    for path in files:
        module = isakit.load(path)
        assert module.isa == ("usse" if path.suffix == ".gxp" else "tesla")
        assert module.variant
        for k in module.kernels.values():
            assert k.program.to_bytes() == k.code
            assert min(k.registers, k.shared_bytes, k.local_bytes, k.barriers, len(k.params)) >= 0
        if path.suffix == ".gxp":
            assert module.stage in ("vertex", "fragment")
            assert module.parameters is not None
            assert len(module.primary) + len(module.secondary)


# --- devices --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
def test_launches_update_arrays_in_place(engine: str) -> None:
    dev = isakit.Device("gt200", engine=engine, threads=None, mul_zero_wins=False, sat_nan=False, nonfp_deriv_inf=False)
    kernels = dev.load(isakit.isa("tesla", "gt200").assemble(SAXPY))
    assert list(kernels) == ["saxpy"]
    k = kernels["saxpy"]
    x, y = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    stats = k[1, 64](y, x, np.float32(2.0))
    np.testing.assert_array_equal(y, 2 * x + 1)
    assert stats.instructions == 64 * 11
    assert stats.warp_instructions == 2 * 11
    assert stats.seconds >= 0
    k[(1, 1), (32, 2, 1)](y, x, np.float32(0))


@pytest.mark.parametrize("engine", ENGINES)
def test_buffers_parameter_bytes_faults_and_budgets(engine: str) -> None:
    dev = isakit.Device("gt200", engine=engine)
    k = dev.load(isakit.isa("tesla", "gt200").assemble(SAXPY))["saxpy"]
    x, y = np.arange(32, dtype=np.float32), np.ones(32, np.float32)
    bx, by = dev.alloc(x.nbytes), dev.alloc(y.nbytes)
    assert bx.address % 256 == by.address % 256 == 0
    dev.write(bx, x)
    dev.write(by, y)
    params = np.array([by.address, bx.address], np.uint32).tobytes() + np.float32(3).tobytes()
    k.launch(1, 32, param_bytes=params)
    np.testing.assert_array_equal(dev.read(by, np.float32, (32,)), 3 * x + 1)
    with pytest.raises(isakit.BudgetExceeded):
        k.launch(1, 32, param_bytes=params, max_instructions=5)
    with pytest.raises(isakit.MachineFault) as e:
        k.launch(1, 32, param_bytes=bytes(12))
    f = e.value
    assert f.kind
    assert (f.pc, f.block, f.warp, f.lane, f.address) == (0x20, (0, 0), 0, 0, 0)
    assert "g14" in str(f.space)


def test_raw_programs_get_what_no_file_says() -> None:
    dev = isakit.Device("g80", engine="reference")
    program = isakit.isa("tesla", "g80").assemble("mov b32 $r1 b32 s[0x10]\nmov b32 $r2 0x7\nexit st b32 g14[$r1] $r2")
    k = dev.load(program, registers=8, shared=0x20, local=16, barriers=1, params=["ptr"])["main"]
    assert (k.registers, k.shared_bytes, k.local_bytes, k.barriers) == (8, 0x20, 16, 1)
    out = np.zeros(1, np.uint32)
    k[1, 1](out)
    assert out[0] == 7


def test_stepping_shows_warps() -> None:
    dev = isakit.Device("gt200")
    k = dev.load(isakit.isa("tesla", "gt200").assemble(SAXPY))["saxpy"]
    x, y = np.arange(32, dtype=np.float32), np.ones(32, np.float32)
    m = dev.machine(k, 1, 32, [y, x, np.float32(2)])
    warp = m.blocks[0].warps[0]
    assert (warp.pc, warp.active, len(warp.stack)) == (0, 0xFFFFFFFF, 0)
    m.step()
    assert warp.pc == 8
    assert warp.registers.shape[-1] == 32
    np.testing.assert_array_equal(warp.registers[0], np.arange(32))
    assert warp.conditions is not None
    m.run(until=0x20)
    assert warp.pc == 0x20
    m.run()
    np.testing.assert_array_equal(y, 2 * x + 1)


# --- vµc and USSE ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["vp2", "vp3", "vp4"])
def test_a_core_runs_and_shows_its_state(variant: str) -> None:
    core = isakit.vuc.Core(variant)
    core.load(isakit.isa("vuc", variant).assemble("mov $r1 0x7\nadd $r1 $r1 $r1\nend: bra end\nnop"))
    core.step(1)
    assert core.cycle == 1
    core.step(3)
    core.run(max_cycles=20)
    assert core.r[1] == 14
    assert core.cycle == 24
    assert isinstance(core.pc, int)
    assert core.p[0] in (0, 1, False, True)
    assert core.sr is not None
    assert len(core.data) == 0x800
    core.host["H2V"] = 3
    assert core.host["H2V"] == 3
    assert isinstance(core.host["V2H"], int)


def test_a_shader_core_runs_programs() -> None:
    core = isakit.usse.Core()
    for name in ("pa", "sa", "r", "o", "i", "p"):
        assert getattr(core, name).shape[-1] == 1
    core.sa[36:38] = np.float32([[1.5], [2.5]]).view(np.uint32)
    core.sa[38] = np.float32([0.5]).view(np.uint32)
    core.run(isakit.isa("usse").assemble("vadd.f32 sa22.xy -sa38.xxxx sa36.xyzw skipinv"))
    np.testing.assert_array_equal(core.sa[22:24].view(np.float32), [[1.0], [2.0]])


def test_shaders_run_over_arrays(shared: Path) -> None:
    for path in sorted((shared / "corpus" / "usse" / "gxp").glob("*.gxp")):
        shader = isakit.load(path)
        if shader.stage == "vertex" and not any(p.category == 2 for p in shader.parameters):
            names = [p.name for p in shader.parameters if p.category == 0]
            if names:
                out = isakit.usse.run(shader, attributes={n: np.ones((3, 4), np.float32) for n in names}, uniforms={})
                assert out["position"].shape == (3, 4)
                return
    pytest.fail("no vertex shader among the files")


# --- command line ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["10000001 0423c780 20008204", "0x10000001,0x0423C780, 0x20008204", "10000001\n0423c780\t20008204,"]
)
def test_hex_takes_words_in_any_dress(text: str) -> None:
    listing = run("dis", "-m", "tesla", "-V", "g80", "--hex", "-", stdin=text).stdout
    assert "add b32 $r1 $r1 $r0" in listing
    assert "mov b32 $r0 u8 s[0x0]" in listing
    back = run("asm", "-m", "tesla", "-V", "g80", "-", "--format", "hex", stdin=listing).stdout
    assert back.split() == ["10000001", "0423c780", "20008204"]


@pytest.mark.parametrize("kind", ["raw", "hex", "cubin", "elf"])
def test_asm_writes_every_format_to_files_and_to_standard_output(tmp_path: Path, kind: str) -> None:
    out = tmp_path / "out"
    run("asm", "-m", "tesla", "-V", "g80", "-", "-o", str(out), "--format", kind, stdin=SAXPY)
    piped = run("asm", "-m", "tesla", "-V", "g80", "-", "-o", "-", "--format", kind, stdin=SAXPY)
    assert piped.stdout_bytes == out.read_bytes()
    named = [] if kind in ("cubin", "elf") else ["-m", "tesla", "-V", "g80"]
    assert "add f32 $r2 (mul $r1 $r3) $r2" in run("dis", *named, "-", stdin=out.read_bytes()).stdout


def test_every_verb_and_its_json(tmp_path: Path) -> None:
    elf = tmp_path / "saxpy.cubin"
    run("asm", "-m", "tesla", "-", "-o", str(elf), "--format", "elf", stdin=SAXPY)
    assert "saxpy" in run("info", str(elf)).stdout
    assert json.loads(run("dis", "--json", "--kernel", "saxpy", str(elf)).stdout)
    assert json.loads(run("explain", "-m", "tesla", "--json", "20008204").stdout)["rows"]
    assert "dst" in run("explain", "-m", "tesla", "-V", "g80", "add b32 $r1 $r1 $r0").stdout
    for name in ("tesla", "vuc", "usse"):
        assert run("doc", "-m", name).stdout
    assert "add" in run("doc", "-m", "tesla", "add").stdout
    np.save(tmp_path / "x.npy", np.arange(32, dtype=np.float32))
    given = ["inout:{0}/x.npy:{0}/y.npy", "in:{0}/x.npy", "f32:2.5"]
    specs = [part for g in given for part in ("--arg", g.format(tmp_path))]
    shape = ["--kernel", "saxpy", "--grid", "1,1", "--block", "32,1,1", "--chip", "gt200", "--engine", "reference"]
    ran = json.loads(run("run", str(elf), *shape, *specs, "--stats", "--json").stdout)
    assert ran["stats"]["warp_instructions"] == 11
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), np.arange(32, dtype=np.float32) * np.float32(3.5))
    run("run", str(elf), "--block", "32", "--arg", "out:f32:32", "--arg", "zeros:f32:32", "--arg", "f32:1")


def test_exit_codes(tmp_path: Path) -> None:
    run("dis", "-m", "tesla", "--hex", "-", stdin="20008204", code=0)
    run("asm", "-m", "tesla", "-", stdin="nonsense", code=1)
    run("info", str(tmp_path / "absent"), code=1)
    run("dis", code=2)
    run("dis", "--no-such-option", "-", code=2)
    fault = ".kernel k\nmov b32 $r0 0x0\nexit st b32 g14[$r0] $r0"
    result = run("run", "-", "--block", "1", stdin=fault, code=3)
    assert len(result.stderr.splitlines()) >= 1


def test_no_color_is_obeyed_by_every_verb(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    for args in (
        ["dis", "-m", "tesla", "--hex", "-"], ["explain", "-m", "tesla", "20008204"], ["doc", "-m", "tesla", "add"],
    ):  # fmt: skip
        result = CliRunner().invoke(app, args, input="20008204", color=True)
        assert result.exit_code == 0
        assert "\x1b[" not in result.stdout


def test_the_command_runs_as_a_process() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "isakit", "dis", "-m", "vuc", "-V", "vp3", "--hex", "-"],
        input=b"zz", capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stdout == b""
    assert done.stderr.startswith(b"error: ")
    assert b"Traceback" not in done.stderr


def test_public_names() -> None:
    for name in (
        "isa", "load", "Device", "usse", "vuc", "AsmError", "BudgetExceeded", "FormatError", "IsakitError",
        "MachineFault", "UnknownIsaError",
    ):  # fmt: skip
        assert hasattr(isakit, name)
    assert issubclass(isakit.BudgetExceeded, isakit.IsakitError)
    assert callable(isakit.usse.run)

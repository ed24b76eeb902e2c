"""Which options of `isakit run` go with which instruction set."""

from __future__ import annotations

import json
from unittest.mock import patch

import pytest

import isakit
from isakit.formats.gxp import FragmentVaryings, GxpFile, write_gxp
from isakit.vuc import Core
from support.clients.command_line import run

SHADER = write_gxp(
    GxpFile(
        flags=1,
        primary=isakit.isa("usse").assemble("or.u32 pa0 pa0 #0x0", "primary").words,
        varyings=FragmentVaryings(output_components=1),
    )
)
SPIN = isakit.isa("vuc", "vp3").assemble("mov $r1 0x7\nend: bra end\nnop").to_bytes()
MICROCODE = ("-m", "vuc", "-V", "vp3")


@pytest.mark.parametrize(
    "option",
    [
        ("--kernel", "k"), ("--grid", "1"), ("--block", "32"), ("--chip", "g80"), ("--tier", "jit"), ("--threads", "1"),
        ("--registers", "4"), ("--shared", "16"), ("--local", "16"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("isa", "stdin", "what"), [(MICROCODE, SPIN, "microcode"), ((), SHADER, "a shader")], ids=["vuc", "usse"]
)
def test_options_of_kernels_are_refused_elsewhere(
    option: tuple[str, str], isa: tuple[str, ...], stdin: bytes, what: str
) -> None:
    stderr = run("run", *isa, *option, "-", stdin=stdin, code=2).stderr
    assert stderr.startswith(f"error: {what} takes no {option[0]};")


def test_microcode_takes_no_texture() -> None:
    stderr = run("run", *MICROCODE, "--texture", "0=t.npy", "-", stdin=SPIN, code=2).stderr
    assert stderr.startswith("error: microcode takes no --texture;")


def test_a_shader_runs() -> None:
    result = json.loads(run("run", "-", "--json", stdin=SHADER).stdout)
    assert list(result["outputs"]) == ["color"]


@pytest.mark.parametrize("engine", ["auto", "reference", "llvm"])
def test_microcode_runs_on_the_engine_asked_for(engine: str) -> None:
    if engine == "llvm":
        pytest.importorskip("llvmlite")
    with patch("isakit.cli.microcode.Core", wraps=Core) as made:
        result = json.loads(run("run", *MICROCODE, "--engine", engine, "-", "--json", stdin=SPIN).stdout)
    assert made.call_args.kwargs == {"engine": engine}
    assert result["state"]["r"][1] == 7


def test_a_host_executable_is_none_of_its_lines() -> None:
    """Its bytes may hold a line that looks like an assembly text."""
    from isakit.formats import write_elf_cubin
    from isakit.programs.needs import module_of

    cubin = write_elf_cubin(module_of(isakit.isa("tesla", "gt200").assemble(".kernel k\nexit nop\n")))
    host = bytearray(64)
    host[:6], host[16:20] = b"\x7fELF\x02\x01", b"\x02\x00\x3e\x00"
    host += b"\n.kernel of another kind\n".ljust(64, b"\0") + cubin
    assert run("run", "-", "--kernel", "k", "--json", stdin=bytes(host)).stdout.startswith("{")

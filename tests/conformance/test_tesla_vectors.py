"""The Tesla arithmetic vectors, run as real instructions: decoded words on a simulated chip, launched from Python.

Normal runs take the samples in the repository and some groups of every class of the conformance data; `slow` takes all
rows (about half a million) and digests over millions of inputs.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

import isakit
from support.oracles import tesla_vectors as vectors
from support.runners.compiled import WAYS, compiled_device

SAMPLES = Path(__file__).parent.parent / "vectors" / "tesla"
CLASSES = (
    "int_add_long",
    "int_set_long",
    "int_minmax_long",
    "int_shift_reg_long",
    "int_shift_imm_long",
    "int_mul_long",
    "int_sad_long",
    "int_imad_long",
    "int_logic_long",
    "int_add_short",
    "int_add_imm",
    "int_mul_short",
    "int_mul_imm",
    "int_sad_short",
    "int_imad_short",
    "int_imad_imm",
    "int_logic_imm",
    "f32_add_long",
    "f32_mul_long",
    "f32_mad_long",
    "f32_set_long",
    "f32_minmax_long",
    "f32_slct_long",
    "f32_quadop_long",
    "f32_add_short",
    "f32_add_imm",
    "f32_mul_short",
    "f32_mul_imm",
    "f32_mad_short",
    "f32_mad_imm",
    "cvt_i2i",
    "cvt_i2f_f32",
    "cvt_i2f_f16",
    "cvt_f2i",
    "cvt_f2f",
    "cvt_g200_mixed",
    "f64_fma",
    "f64_add",
    "f64_mul",
    "f64_minmax",
    "f64_set",
    "cvt64_i2f",
    "cvt64_f2i",
    "cvt64_f2f",
    "sfu_rcp_long",
    "sfu_rcp_short",
    "sfu_rsqrt",
    "sfu_lg2",
    "sfu_sincos",
    "sfu_ex2",
    "sfu_pre",
    "atom32",
    "atom64",
    "dontcare_32",
    "dontcare_64",
)
SAMPLED_GROUPS = 12
ROWS = 498_336


def check(name: str, col: vectors.Columns, groups: list[vectors.Group], engine: str = "auto") -> int:
    """Run the groups; returns the number of rows."""
    bad = vectors.mismatches(name, col, groups, vectors.run(name, col, groups, engine))
    assert not bad, f"{len(bad)} differences:\n" + "\n".join(bad[:20])
    return sum(g.stop - g.start for g in groups)


@pytest.fixture(params=["reference", "llvm"])
def engine(request: pytest.FixtureRequest) -> str:
    """Every engine this installation has."""
    try:
        isakit.Device("gt200", engine=request.param)
    except isakit.NotModelled as e:
        pytest.skip(str(e))
    return request.param


@pytest.mark.parametrize("table", ["float.tsv", "integer.tsv"])
def test_samples(table: str, engine: str) -> None:
    """The rows kept in the repository."""
    rows = 0
    for name, col in vectors.load_tsv(SAMPLES / table).items():
        rows += check(name, col, list(vectors.groups_of(col)), engine)
    assert rows > 400


def test_a_wrong_result_is_found() -> None:
    """The comparison looks at the destination, at $c and at memory."""
    for name, column in (("int_add_long", "result"), ("int_add_long", "cc_out"), ("atom32", "mem_out")):
        col = vectors.load_tsv(SAMPLES / "integer.tsv")[name]
        groups = list(vectors.groups_of(col))
        row = next(k for k in range(len(col["chip"])) if col["word0"][k] >> np.uint64(28) != 13 or column != "result")
        col[column][row] ^= np.uint64(1)
        bad = vectors.mismatches(name, col, groups, vectors.run(name, col, groups))
        assert len(bad) == 1, bad


def _class(shared: Path, name: str) -> vectors.Columns:
    return vectors.load_npz(shared / "vectors" / "tesla" / f"{name}.npz")


@pytest.mark.parametrize("name", CLASSES)
def test_some_groups(shared: Path, name: str) -> None:
    """Groups spread over the class."""
    col = _class(shared, name)
    groups = list(vectors.groups_of(col))
    assert check(name, col, groups[:: max(1, len(groups) // SAMPLED_GROUPS)]) > 0


@pytest.mark.slow
def test_every_row(shared: Path) -> None:
    """All classes, all rows, on the reference engine; `test_tesla_engines` does so on the other."""
    assert {p.stem for p in (shared / "vectors" / "tesla").glob("*.npz")} == set(CLASSES)
    rows = 0
    for name in CLASSES:
        col = _class(shared, name)
        rows += check(name, col, list(vectors.groups_of(col)), "reference")
    assert rows == ROWS


# --- digests --------------------------------------------------------------------------------------------------------

FUNCTIONS = (
    "rcp",
    "rsqrt",
    "lg2",
    "sin",
    "cos",
    "ex2",
    "presin",
    "preex2",
    "f32_to_f16_rn",
    "f32_to_f16_rz",
    "f32_to_s32_rn",
    "f32_to_s32_rz",
    "f32_to_u32_rn",
    "f32_to_u32_rz",
    "s32_to_f32_rn",
    "u32_to_f32_rn",
    "rint_rn",
    "rint_rm",
    "rint_rp",
    "rint_rz",
)


def digests(shared: Path) -> dict[str, dict[str, str]]:
    """Function -> block -> digest of its results; the definitions of the functions are among them."""
    return json.loads((shared / "vectors" / "tesla" / "digests.json").read_text())


def wrong_blocks(table: dict[str, dict[str, str]], name: str, blocks: list[str], device: isakit.Device) -> list[str]:
    """The blocks of a function whose results do not have the recorded digest."""
    d = table["_definitions"][name]
    count = int(d["inputs_per_block"])
    function = vectors.OneInput(device, (int(d["word0"], 16), int(d["word1"], 16)), count)
    return [
        b
        for b in blocks
        if hashlib.sha256(function(int(b) * count).astype("<u4").tobytes()).hexdigest() != table[name][b]
    ]


def test_f16_digests(shared: Path) -> None:
    """Every recorded block of 256 half precision numbers."""
    table = digests(shared)
    assert wrong_blocks(table, "f16_to_f32", list(table["f16_to_f32"]), isakit.Device("gt200")) == []


@pytest.mark.parametrize("name", ["rcp", "f32_to_s32_rz"])
def test_a_whole_block(shared: Path, name: str) -> None:
    """One block of 2**24 consecutive inputs through the compiled engine; the slow test has one of every function."""
    pytest.importorskip("llvmlite")
    table = digests(shared)
    assert wrong_blocks(table, name, [list(table[name])[31]], isakit.Device("gt200")) == []


def test_a_wrong_digest_is_found(shared: Path) -> None:
    table = digests(shared)
    table["f16_to_f32"]["4"], table["f16_to_f32"]["6"] = table["f16_to_f32"]["6"], table["f16_to_f32"]["4"]
    assert wrong_blocks(table, "f16_to_f32", ["2", "4", "6"], isakit.Device("gt200")) == ["4", "6"]


def test_every_function_has_a_name_here(shared: Path) -> None:
    assert set(digests(shared)) == {"_definitions", "f16_to_f32", *FUNCTIONS}


def _blocks(blocks: list[str], position: int) -> list[str]:
    """The blocks of a function to check: one that depends on the function, or what ISAKIT_BLOCKS says (`all`, or how
    many, evenly spread).
    """
    wanted = os.environ.get("ISAKIT_BLOCKS", "")
    if wanted == "all":
        return blocks
    if wanted:
        return blocks[:: max(1, len(blocks) // int(wanted))]
    return [blocks[(position * 37 + 31) % len(blocks)]]


@pytest.mark.slow
@pytest.mark.parametrize("way", list(WAYS))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_digests(shared: Path, name: str, way: str) -> None:
    """Blocks of 2**24 consecutive inputs of the functions of one input: each tier, with and without AVX-512.

    About a quarter of a second per block; `ISAKIT_BLOCKS=all pytest -m slow -k test_digests` checks all 2560.
    """
    pytest.importorskip("llvmlite")
    table, position = digests(shared), FUNCTIONS.index(name)
    chip = ("g80", "g84", "gt200", "gt215", "mcp77")[position % 5]
    device = compiled_device(WAYS[way], chip)
    assert wrong_blocks(table, name, _blocks(list(table[name]), position), device) == []

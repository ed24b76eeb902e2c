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
from support import tesla_vectors as vectors

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
COMPILED_GROUPS = 10
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
def test_every_row(shared: Path, engine: str) -> None:
    """All classes, all rows; the compiling engine, which builds every group of rows anew, takes some of the groups."""
    assert {p.stem for p in (shared / "vectors" / "tesla").glob("*.npz")} == set(CLASSES)
    rows = 0
    for name in CLASSES:
        col = _class(shared, name)
        groups = list(vectors.groups_of(col))
        if engine == "llvm":
            groups = groups[:: max(1, len(groups) // COMPILED_GROUPS)]
        rows += check(name, col, groups, engine)
    assert rows == ROWS if engine == "reference" else rows > ROWS // 40


# --- digests --------------------------------------------------------------------------------------------------------


def _digest(definitions: dict[str, dict[str, str]], name: str, block: int, chip: str = "gt200") -> str:
    d = definitions[name]
    count = int(d["inputs_per_block"])
    words = int(d["word0"], 16), int(d["word1"], 16)
    out = vectors.function_of_one_input(chip, words, block * count, count)
    return hashlib.sha256(out.astype("<u4").tobytes()).hexdigest()


def test_f16_digests(shared: Path) -> None:
    """Every recorded block of 256 half precision numbers."""
    table = json.loads((shared / "vectors" / "tesla" / "digests.json").read_text())
    for block, wanted in table["f16_to_f32"].items():
        assert _digest(table["_definitions"], "f16_to_f32", int(block)) == wanted, block


@pytest.mark.parametrize("name", ["rcp", "f32_to_s32_rz"])
def test_a_whole_block(shared: Path, name: str) -> None:
    """One block of 2**24 consecutive inputs through the compiled engine; the slow test has one of every function."""
    pytest.importorskip("llvmlite")
    table = json.loads((shared / "vectors" / "tesla" / "digests.json").read_text())
    block = list(table[name])[31]
    assert _digest(table["_definitions"], name, int(block)) == table[name][block]


def _blocks(table: dict[str, dict[str, str]], name: str, position: int) -> list[str]:
    """The blocks of a function to check: one that depends on the function, or what ISAKIT_BLOCKS says (`all`, or how
    many, evenly spread).
    """
    blocks = list(table[name])
    wanted = os.environ.get("ISAKIT_BLOCKS", "")
    if wanted == "all":
        return blocks
    if wanted:
        return blocks[:: max(1, len(blocks) // int(wanted))]
    return [blocks[(position * 37 + 31) % len(blocks)]]


@pytest.mark.slow
def test_digests(shared: Path) -> None:
    """Blocks of 2**24 consecutive inputs of the functions of one input."""
    table = json.loads((shared / "vectors" / "tesla" / "digests.json").read_text())
    names = [n for n in table if n not in ("_definitions", "f16_to_f32")]
    assert len(names) == 20
    chips = ("g80", "g84", "gt200", "gt215", "mcp77")
    wrong: list[str] = []
    for k, name in enumerate(names):
        for block in _blocks(table, name, k):
            if _digest(table["_definitions"], name, int(block), chips[k % len(chips)]) != table[name][block]:
                wrong.append(f"{name} block {block}")
    assert not wrong, wrong

"""Compiled vertex and fragment programs for four chips against an interpreter of their source language."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import shared_dir
from isakit.graphics.stage import ConstantVaryings, Stage
from isakit.graphics.stage_program import StageProgram

CHIPS = {"50": "g80", "84": "g84", "a0": "gt200", "a3": "gt215"}
FILES = ("fuzz_int", "fuzz_float", "fuzz_trans")

# Programs whose words mean something else than their source. Each list was found by giving the machine the source
# language's reading of the instructions named: then exactly these programs agree.
CLAMPED_NEGATION = (
    "0014 0023 0030 0072 0092 0095 0118 0128 0135 0144 0149 0194 0204 0218 0237 0256 0260 0262 0273 0283 0289 0291 0301"
    " 0305 0312 0330 0338 0339 0353 0376"
)
"""`cvt neg s32 u32` and `cvt neg|abs s32 s32`: the hardware clamps where the source language wraps."""
INTEGERS_AS_FLOATS = "0013 0136 0164 0193 0231 0286 0288 0336 0349"
"""Integers pass a perspective multiplication or a float negation, which flush what looks like a denormal."""
BOTH = "0080 0233 0329 0358 0388"
MULTIPLICATION_HIGH = "0117 0132 0153 0236 0322 0368"
"""Carries lost by the compiler, or a negation folded twice."""
CONSTANT_FOLDING = ["fuzz_float_0075"]
"""The compiler leaves out the rounding of a constant."""
NOT_A_NUMBER = "0016 0025 0065 0083 0207 0328"
"""NaN of the source language where the hardware has none: roots of negative numbers, and min or max after them."""
STEP = "0117 0122 0243 0362"
"""A comparison, a rounding to integers or a cancellation magnifies a difference in the last place."""
KNOWN = {f"fuzz_int_{n}" for n in f"{CLAMPED_NEGATION} {INTEGERS_AS_FLOATS} {BOTH} {MULTIPLICATION_HIGH}".split()}
KNOWN |= {f"fuzz_trans_{n}" for n in f"{NOT_A_NUMBER} {STEP}".split()} | set(CONSTANT_FOLDING)


SAMPLE = Path(__file__).resolve().parents[1] / "vectors" / "tesla" / "shaders.jsonl.gz"
"""Some of the records, for a clone without the corpus."""


@cache
def records() -> list[dict[str, Any]]:
    folder = shared_dir()
    paths = [SAMPLE] if folder is None else [folder / f"corpus/tesla/mesa/{name}.jsonl.gz" for name in FILES]
    out: list[dict[str, Any]] = []
    for path in paths:
        with gzip.open(path, "rt") as f:
            out += [json.loads(line) for line in f]
    return out


def inputs(record: dict[str, Any], code: dict[str, Any], lanes: int) -> np.ndarray:
    """The words of a[] or v[], one row per word; the four lanes of a vector are one quad."""
    slots = [s for v in code["in"] for c, s in enumerate(v["slot"]) if v["mask"] >> c & 1]
    rows = np.zeros((max(slots, default=0) + 1, lanes), np.uint32)
    for i, v in enumerate(code["in"]):
        for c in range(4):
            if v["mask"] >> c & 1:
                rows[v["slot"][c]] = [int(x, 16) for vec in record["vectors"] for x in vec["in"][i][c]]
    return rows


def run(record: dict[str, Any], chip: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(results, expected) of the live lanes as [words, lanes], and whether each lane is live."""
    code = record["code"][chip]
    constants = {
        int(bank): np.array([[int(v, 16) for v in row] for row in rows], np.uint32).tobytes()
        for bank, rows in record["consts"].items()
    }
    words = [int(w, 16) for w in code["words"].split()]
    program = StageProgram(record["stage"], words, CHIPS[chip], registers=code["maxGPR"] + 1, constants=constants)
    lanes = 4 * len(record["vectors"])
    rows = inputs(record, code, lanes)
    live = np.array([vec["live"] >> k & 1 for vec in record["vectors"] for k in range(4)], bool)
    if record["stage"] == "fragment":
        rows[0] = np.float32(1).view(np.uint32)
        state = program.run(Stage(lanes, varyings=ConstantVaryings(rows)))
        assert (state.visible[:lanes] == live).all(), "discarded lanes"
        out = state.files["r"]
    else:
        state = program.run(Stage(lanes, attributes=rows))
        out = state.files["o"]
    got, expected = [], []
    for i, v in enumerate(code["out"]):
        for c in range(4):
            if v["mask"] >> c & 1:
                got.append(out[v["slot"][c], :lanes][live])
                values = [int(x, 16) for vec in record["vectors"] for x in vec["out"][i][c]]
                expected.append(np.array(values, np.uint32)[live])
    return np.array(got), np.array(expected), live


def close(got: np.ndarray, expected: np.ndarray, relative: float, absolute: float) -> np.ndarray:
    """Bit for bit, or both NaN, or denormals and zeros, or within the tolerance as floats."""
    a, b = got.view(np.float32).astype(np.float64), expected.view(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        ulp = np.spacing(np.abs(expected.view(np.float32))).astype(np.float64)
        near = np.abs(a - b) <= np.maximum(2 * ulp, relative * np.abs(b)) + absolute
    flushed = (np.abs(a) < 2.0**-126) & (np.abs(b) < 2.0**-126)
    return (got == expected) | (np.isnan(a) & np.isnan(b)) | flushed | near


def agrees(record: dict[str, Any], got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    if record["kind"] == "i":
        return got == expected
    # Products of `mad` are truncated: one step on inexact data. Approximations: 1e-5 for each one of a chain, and more
    # after cancellation: sin and cos of large sums are off by an absolute amount.
    return close(got, expected, 5e-5, 1e-4) if record["approx"] else close(got, expected, 1e-7, 0)


def cases(known: bool) -> list[Any]:
    """Every program for one of the chips, in turns: its words are the same for all, which are slow tests."""
    out: list[Any] = []
    for k, r in enumerate(r for r in records() if (r["name"] in KNOWN) == known):
        assert len({code["words"] for code in r["code"].values()}) == 1
        for n, chip in enumerate(r["code"]):
            marks = [] if n == k % len(r["code"]) else [pytest.mark.slow]
            out.append(pytest.param(r, chip, id=f"{r['name']}-{CHIPS[chip]}", marks=marks))
    return out or [pytest.param(None, "", marks=pytest.mark.skip("the shared corpus is not there"))]


@pytest.mark.parametrize(("record", "chip"), cases(known=False))
def test_results(record: dict[str, Any], chip: str) -> None:
    got, expected, _ = run(record, chip)
    same = agrees(record, got, expected)
    assert same.all(), f"{(~same).sum()} of {same.size}: {got[~same][:4]} instead of {expected[~same][:4]}"


@pytest.mark.parametrize(("record", "chip"), cases(known=True))
def test_known_differences_are_partial(record: dict[str, Any], chip: str) -> None:
    """Also where the words do something else than the source, they run, and other results are right."""
    got, expected, _ = run(record, chip)
    same = agrees(record, got, expected)
    assert same.any()
    assert not same.all(), "no longer an exception: take it off the list"

"""Compute kernels compiled for four chips, compared with what an interpreter of their source language computed."""

from __future__ import annotations

import gzip
import json
from functools import cache
from typing import Any

import numpy as np
import pytest

from conftest import ROOT, shared_dir
from isakit.runtime import Device

CHIPS = {"50": "g80", "84": "g84", "a0": "gt200", "a3": "gt215"}
UNORDERED = {"comp_a_atomxchg"}
"""Kernels that store what an exchange returned: which lane sees which value depends on the order of lanes."""


SAMPLE = ROOT / "tests/vectors/tesla/compute.jsonl"


@cache
def records() -> list[dict[str, Any]]:
    """All records, or the sample in this repository where there is no conformance data."""
    folder = shared_dir()
    if folder is None:
        return [json.loads(line) for line in SAMPLE.read_text().splitlines()]
    with gzip.open(folder / "corpus/tesla/mesa/compute.jsonl.gz", "rt") as f:
        return [json.loads(line) for line in f]


def cases() -> list[Any]:
    return [pytest.param(r, chip, id=f"{r['name']}-{CHIPS[chip]}") for r in records() for chip in r["code"]]


def unhex(text: str) -> np.ndarray:
    return np.array([int(text[i : i + 8], 16) for i in range(0, len(text), 8)], np.uint32)


def run(record: dict[str, Any], chip: str) -> list[np.ndarray]:
    """The buffers after the launch."""
    code = record["code"][chip]
    device = Device(CHIPS[chip], engine="reference")
    kernel = device.load([int(w, 16) for w in code["words"].split()], registers=code["maxGPR"] + 1, shared=0x4000)[
        "main"
    ]
    buffers = []
    for text in record["buf_in"]:
        data = unhex(text)
        buffers.append(device.alloc(data.nbytes))
        device.write(buffers[-1], data)
    for space, buffer, _ in code["gmem"]:
        device.bind(space, buffers[buffer])
    x, y, depth = record["grid"]
    for z in range(depth):
        kernel.launch((x, y), record["block"], param_bytes=(depth | z << 16).to_bytes(4, "little"))
    return [device.read(b, np.uint32, b.nbytes // 4) for b in buffers]


def close(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Within 1e-5 relative or 2 units in the last place, as floats; infinities and NaN must agree."""
    a, b = got.view(np.float32).astype(np.float64), expected.view(np.float32).astype(np.float64)
    with np.errstate(all="ignore"):
        near = np.abs(a - b) <= np.maximum(1e-5 * np.abs(b), 2 * np.spacing(np.abs(expected.view(np.float32))))
    return near | (got == expected) | (np.isnan(a) & np.isnan(b))


@pytest.mark.parametrize(("record", "chip"), cases())
def test_buffers_after_the_launch(record: dict[str, Any], chip: str) -> None:
    for got, text in zip(run(record, chip), record["buf_out"], strict=True):
        expected = unhex(text)
        if record["name"] in UNORDERED:
            got, expected = np.sort(got), np.sort(expected)
        same = close(got, expected) if record["approx"] else got == expected
        assert same.all(), f"words {np.flatnonzero(~same)[:8]}: {got[~same][:4]} instead of {expected[~same][:4]}"

"""Digests of all inputs of the functions of one input, at operation level."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isakit.sem.fp import convert, sfu
from isakit.sem.value import Value
from support.oracles.fp_rows import MODES, leaf
from support.oracles.vector_eval import run


def one_input(name: str) -> Callable[[Value], Value]:
    """The function of a digest: `f32_to_s32_rz`, `rint_rn`, `f16_to_f32` or one of the special-function unit."""
    if "_" not in name:
        return getattr(sfu, name)
    source, to, mode = "f32", "f32", name[-2:]
    if not name.startswith("rint"):
        source, _, to = name.removesuffix(f"_{mode}").split("_")
    statics: dict[str, Any] = {"source": source, "to": to, "rounding": mode if mode in MODES else "rn"}
    if source[0] == to[0] == "f":
        return lambda v: convert.f2f(v, integral=name.startswith("rint"), **statics)
    return lambda v: (convert.f2i if source[0] == "f" else convert.i2f)(v, **statics)


# Blocks that hold the interesting inputs: small numbers, numbers around 1, a whole period of the periodic functions.
DIGESTS = {
    "rcp": 0x40, "rsqrt": 0x3E, "lg2": 0x40, "sin": 0x00, "cos": 0x80, "ex2": 0x02, "presin": 0x42, "preex2": 0xC0,
    "f32_to_f16_rn": 0x38, "f32_to_f16_rz": 0x46, "f32_to_s32_rn": 0x4A, "f32_to_s32_rz": 0xCE, "f32_to_u32_rn": 0x4E,
    "f32_to_u32_rz": 0x4A, "s32_to_f32_rn": 0x80, "u32_to_f32_rn": 0x02, "rint_rn": 0x4A, "rint_rm": 0xC0,
    "rint_rp": 0x3E, "rint_rz": 0x46, "f16_to_f32": 0,
}  # fmt: skip


def digest(name: str, block: int, size: int) -> str:
    v = leaf("v", 16 if name == "f16_to_f32" else 32)
    out = one_input(name)(v)
    inputs = np.arange(block * size, (block + 1) * size, dtype=np.uint64).astype(np.uint32)
    return hashlib.sha256(run(out, {v: inputs}).astype("<u4").tobytes()).hexdigest()


@pytest.mark.slow
@pytest.mark.parametrize("name", [n for n in DIGESTS if n != "f16_to_f32"])
def test_digest(shared: Path, name: str) -> None:
    """All inputs of one block of 2**24 (or of the block in the environment variable ISAKIT_BLOCK)."""
    wanted = json.loads((shared / "vectors" / "tesla" / "digests.json").read_text())
    block = int(os.environ.get("ISAKIT_BLOCK", DIGESTS[name]))
    assert digest(name, block, 1 << 24) == wanted[name][str(block)]


def test_digest_f16(shared: Path) -> None:
    """Every second block of 256 numbers is recorded; all of them are checked."""
    wanted = json.loads((shared / "vectors" / "tesla" / "digests.json").read_text())["f16_to_f32"]
    for block, value in wanted.items():
        assert digest("f16_to_f32", int(block), 256) == value, block

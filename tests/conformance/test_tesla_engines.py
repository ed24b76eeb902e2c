"""The compiled engine on the conformance data: whole kernels and vectors, both tiers, both kinds of host."""

from __future__ import annotations

import importlib
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isakit.runtime import Device
from support import tesla_vectors as vectors
from support.compiled import WAYS, compiled_device

programs = importlib.import_module("conformance.test_tesla_programs")
mesa = importlib.import_module("conformance.test_tesla_mesa_compute")


@pytest.fixture(params=list(WAYS))
def way(request: pytest.FixtureRequest) -> dict[str, Any]:
    """A tier on a kind of host."""
    return WAYS[request.param]


@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_programs(shared: Path, name: str, way: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "Device", partial(compiled_device, way))
    got, expected = programs.run(shared, name)
    assert np.array_equal(got, expected)


def _mesa_cases() -> list[Any]:
    cases = mesa.cases()
    return cases[:: max(1, len(cases) // 24)]


@pytest.mark.parametrize(("record", "chip"), _mesa_cases())
def test_compute_kernels(record: dict[str, Any], chip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the reference engine leaves, bit for bit."""
    expected = mesa.run(record, chip)
    for tier in ("interp", "jit"):
        monkeypatch.setattr(mesa, "Device", partial(compiled_device, {"tier": tier}))
        for a, b in zip(mesa.run(record, chip), expected, strict=True):
            assert np.array_equal(a, b), tier


@pytest.mark.slow
@pytest.mark.parametrize(("record", "chip"), mesa.cases())
def test_all_compute_kernels(record: dict[str, Any], chip: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them."""
    test_compute_kernels(record, chip, monkeypatch)


@pytest.mark.parametrize("table", ["float.tsv", "integer.tsv"])
def test_vectors(table: str, way: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows kept in the repository."""
    monkeypatch.setattr(vectors, "_device", _vector_device(way))
    samples = Path(__file__).parent.parent / "vectors" / "tesla"
    for name, col in vectors.load_tsv(samples / table).items():
        groups = list(vectors.groups_of(col))
        if way["tier"] == "jit":
            groups = groups[::12]
        _check(name, col, groups)


@pytest.mark.slow
@pytest.mark.parametrize("portable", [False, True])
def test_every_row_interpreted(shared: Path, portable: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows of all classes."""
    monkeypatch.setattr(vectors, "_device", _vector_device({"tier": "interp", "portable": portable}))
    for path in sorted((shared / "vectors" / "tesla").glob("*.npz")):
        col = vectors.load_npz(path)
        _check(path.stem, col, list(vectors.groups_of(col)))


def _vector_device(way: dict[str, Any]) -> Any:
    def device(chip: int, flags: int, engine: str) -> Device:
        on = {name: bool(flags >> bit & 1) for name, bit in vectors.FLAGS.items()}
        return compiled_device(way, vectors.CHIPS[chip], **on)

    return device


def _check(name: str, col: Any, groups: list[Any]) -> None:
    bad = vectors.mismatches(name, col, groups, vectors.run(name, col, groups, "llvm"))
    assert not bad, f"{len(bad)} differences:\n" + "\n".join(bad[:20])

"""The compiled engine on the conformance data: whole kernels and vectors, both tiers, both kinds of host."""

from __future__ import annotations

import importlib
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from isakit.runtime import Device
from support.oracles import tesla_vectors as vectors
from support.runners.compiled import WAYS, compiled_device

CLASSES = importlib.import_module("conformance.test_tesla_vectors").CLASSES
programs = importlib.import_module("conformance.test_tesla_programs")
mesa = importlib.import_module("conformance.test_tesla_mesa_compute")
GROUPS_PER_PROGRAM = 200
"""A launch takes those with the same chip and flags; the JIT does not like very long programs."""


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
    _check_compute_kernel(record, chip, [WAYS["interp"], WAYS["jit"]], monkeypatch)


def _check_compute_kernel(
    record: dict[str, Any], chip: str, ways: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = mesa.run(record, chip)
    for way in ways:
        monkeypatch.setattr(mesa, "Device", partial(compiled_device, way))
        for a, b in zip(mesa.run(record, chip), expected, strict=True):
            assert np.array_equal(a, b), way


@pytest.mark.slow
@pytest.mark.parametrize(("record", "chip"), mesa.cases())
def test_all_compute_kernels(
    record: dict[str, Any], chip: str, way: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them, in every way."""
    _check_compute_kernel(record, chip, [way], monkeypatch)


@pytest.mark.parametrize("table", ["float.tsv", "integer.tsv"])
def test_vectors(table: str, way: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Some of the rows kept in the repository, others on each kind of host; `test_every_row` has all."""
    monkeypatch.setattr(vectors, "_device", _vector_device(way))
    first, every = (1 if way.get("portable") else 0), (12 if way["tier"] == "jit" else 4)
    samples = Path(__file__).parent.parent / "vectors" / "tesla"
    for name, col in vectors.load_tsv(samples / table).items():
        groups = list(vectors.groups_of(col))
        _check(name, col, groups[min(first, len(groups) - 1) :: every])


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSES)
def test_every_row(shared: Path, name: str, way: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows of a class. The JIT takes about a tenth of a second for every group of rows: 40 minutes for all."""
    monkeypatch.setattr(vectors, "_device", cache(_vector_device(way)))
    col = vectors.load_npz(shared / "vectors" / "tesla" / f"{name}.npz")
    groups = list(vectors.groups_of(col))
    for k in range(0, len(groups), GROUPS_PER_PROGRAM):
        _check(name, col, groups[k : k + GROUPS_PER_PROGRAM])


def _vector_device(way: dict[str, Any]) -> Any:
    def device(chip: int, flags: int, engine: str) -> Device:
        on = {name: bool(flags >> bit & 1) for name, bit in vectors.FLAGS.items()}
        return compiled_device(way, vectors.CHIPS[chip], **on)

    return device


def _check(name: str, col: Any, groups: list[Any]) -> None:
    bad = vectors.mismatches(name, col, groups, vectors.run(name, col, groups, "llvm"))
    assert not bad, f"{len(bad)} differences:\n" + "\n".join(bad[:20])

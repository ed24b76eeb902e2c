"""Kernels compiled from PTX leave the memory that NVIDIA's code of the same PTX leaves, bit for bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import shared_dir
from support.compiled_pairs import SHAPES, Pair, arguments, launch, modules, pairs

NOT_THE_SAME = {"sev1mul": "NVIDIA's file multiplies signed numbers, its PTX unsigned ones"}
LARGE = {"723e5444ed62", "63a0368be006", "75a55d7786ed", "f07c7d5bc144", "ffbe35e1cf9b", "899423eb2a37"}


def corpus() -> list[object]:
    shared = shared_dir()
    if shared is None:
        return [pytest.param(None, marks=pytest.mark.skip("no conformance data"))]
    out: list[object] = []
    for p in pairs(shared):
        marks = [pytest.mark.skip(NOT_THE_SAME[p.name])] if p.name in NOT_THE_SAME else []
        out.append(pytest.param(p, id=p.name, marks=marks))
    return out


def compare(pair: Pair, shapes: range) -> None:
    theirs, ours = modules(pair)
    assert list(ours) == [n for n in ours if n in theirs.kernels]
    for name in theirs:
        for k in shapes:
            params, memory = arguments(ours[name], k)
            want = launch(theirs, name, SHAPES[k], params, memory, k, 0x400)
            if want.error:
                continue
            got = launch(ours, name, SHAPES[k], params, memory, k, 0x400)
            assert not got.error, f"{name} on {SHAPES[k]}"
            assert (got.memory == want.memory).all(), f"{name} on {SHAPES[k]}"


@pytest.mark.parametrize("pair", corpus())
def test_memory_is_what_nvidias_code_leaves(pair: Pair) -> None:
    compare(pair, range(1) if pair.name in LARGE else range(2))


@pytest.mark.slow
@pytest.mark.parametrize("pair", corpus())
def test_memory_is_what_nvidias_code_leaves_on_every_shape(pair: Pair) -> None:
    compare(pair, range(len(SHAPES)))


def test_all_ptx_of_the_corpora_compiles() -> None:
    shared = shared_dir()
    if shared is None:
        pytest.skip("no conformance data")
    from isakit.compile import compile_ptx

    texts: list[Path] = sorted((shared / "corpus/tesla/textcubins").glob("*.ptx"))
    failed = [p.stem for p in texts if compile_ptx(p.read_text("latin-1")).failures]
    assert failed == []

"""The warps of a block run in one order, which the program fixes: all engines leave the same memory and statistics."""

from __future__ import annotations

import pytest

from isakit.machine.tesla import Choices
from support.generators import warp_races
from support.generators.warp_races import ENGINES, FILLED, in_turn, launched

COMPILED = ENGINES[1:]
WARPS = range(2, 17)
FEW_WARPS = (2, 5, 6, 8, 16)
"""Numbers of warps that the compiled engines are given too."""


@pytest.mark.parametrize("name", warp_races.FOUND)
@pytest.mark.parametrize("warps", WARPS)
def test_a_word_that_all_clear_and_some_change_is_changed_by_all_warps(name: str, warps: int) -> None:
    (text, expected), threads = warp_races.FOUND[name], 32 * warps
    reference = launched("reference", text, threads)
    assert set(reference.words[:threads]) == {expected(threads)}
    for engine in COMPILED if warps in FEW_WARPS else ():
        assert launched(engine, text, threads) == reference


@pytest.mark.parametrize("name", FILLED)
@pytest.mark.parametrize("warps", WARPS)
def test_a_tile_that_one_thread_fetches_is_filled_by_all_warps(name: str, warps: int) -> None:
    threads, n = 32 * warps, 12
    reference = launched("reference", FILLED[name], threads, n=n, size=n * 512)
    assert reference.words[: n * threads] == [1 + k // threads for k in range(n * threads)]
    for engine in COMPILED if warps in FEW_WARPS else ():
        assert launched(engine, FILLED[name], threads, n=n, size=n * 512) == reference


@pytest.mark.parametrize("engine", ENGINES)
def test_blocks_share_out_the_tiles(engine: str) -> None:
    left = launched(engine, FILLED["s[]"], 256, grid=3, n=24, size=24 * 256)
    assert left.words[: 24 * 256] == [1 + k // 256 for k in range(24 * 256)]


def test_until_a_warp_waits_the_others_do_not_run() -> None:
    """What the choice was before: the first warp to run goes on with the tile of the next round."""
    old = Choices(warp_order="until_waiting")
    left = [launched(engine, FILLED["s[]"], 256, n=24, size=24 * 256, choices=old) for engine in ENGINES]
    assert left[0].words[: 24 * 256] != [1 + k // 256 for k in range(24 * 256)]
    assert left[1:] == left[:1] * 2
    found = launched("interp", warp_races.FOUND["added"][0], 192, choices=old)
    assert set(found.words[:192]) == {32}


@pytest.mark.parametrize("name", warp_races.RACES)
def test_races_end_alike_on_every_engine(name: str) -> None:
    text, threads = warp_races.RACES[name]
    left = [launched(engine, text, threads) for engine in ENGINES]
    assert left[0].fault is None
    assert any(left[0].words)
    assert left[1:] == left[:1] * 2


@pytest.mark.parametrize("engine", COMPILED)
@pytest.mark.parametrize("name", ["added", "set"])
def test_a_budget_between_two_accesses_ends_at_the_same_instruction(name: str, engine: str) -> None:
    text, _ = warp_races.FOUND[name]
    whole = launched("reference", text, 96).counts[1]
    for budget in range(20, whole, 7):
        reference, other = (launched(e, text, 96, max_instructions=budget) for e in ("reference", engine))
        assert reference.fault is not None
        assert other == reference


CHANGES = (
    ("reference", "interp"), ("interp", "reference"), ("jit", "reference"), ("jit", "interp"),
    ("interp", "reference", "interp"), ("reference", "interp", "reference"),
)  # fmt: skip
"""Engines that a kernel goes through. Only its beginning can be that of a compiled kernel."""
CHANGED = {
    "added": warp_races.FOUND_ADDED,
    "added in g[]": warp_races.FOUND_ADDED_GLOBAL,
    "set": warp_races.FOUND_SET,
    "set where lanes diverge": warp_races.FOUND_SET_DIVERGED,
    "filled": FILLED["s[]"],
    "filled in g[]": FILLED["g[]"],
    "a fault": warp_races.FOUND_BEFORE_FAULT,
    "a texture": warp_races.FOUND_BY_TEXTURE,
}


@pytest.mark.parametrize("snapshots", [False, True], ids=["", "snapshots"])
@pytest.mark.parametrize("change", CHANGES, ids=" ".join)
@pytest.mark.parametrize("name", CHANGED)
def test_another_engine_goes_on_in_the_same_order(name: str, change: tuple[str, ...], snapshots: bool) -> None:
    """A budget ends the first at any instruction; memory, statistics and faults are those of one engine alone."""
    text = CHANGED[name]
    whole = in_turn(text, 96, ("reference", None))
    assert (whole.fault is not None) is (name == "a fault")
    apart = 89 if snapshots else 37
    begin = 1 + (7 * CHANGES.index(change) + 3 * list(CHANGED).index(name)) % apart
    for steps in range(begin, whole.counts[1], apart):
        *first, last = change
        parts = [(engine, steps if k == 0 else apart // 2) for k, engine in enumerate(first)]
        assert in_turn(text, 96, *parts, (last, None), snapshots=snapshots) == whole, steps


def test_a_texture_is_read_by_all_warps_between_two_accesses() -> None:
    left = [launched(e, warp_races.FOUND_BY_TEXTURE, 128) for e in ENGINES]
    assert left[0].fault is None
    assert set(left[0].words[:128]) == {1014}  # that of the last lane that stores, in the last warp that has one
    assert left[1:] == left[:1] * 2

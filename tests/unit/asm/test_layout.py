from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from isakit.asm.layout import Slot, UnitLayout, place

SLOTS = st.lists(
    st.one_of(
        st.sampled_from([Slot((1,)), Slot((2,)), Slot((1, 2)), Slot((1,), aligned=False), Slot((3,), aligned=False)]),
        st.builds(lambda a: Slot((), align=a), st.sampled_from([1, 2, 4, 8])),
    ),
    max_size=7,
)


def aligned(slots: list[Slot], sizes: list[int], start: int) -> bool:
    """Whether these sizes put every slot where it may stand."""
    at = start
    for slot, size in zip(slots, sizes, strict=True):
        if not slot.align and slot.aligned and at % size:
            return False
        at += -at % slot.align if slot.align else size
    return True


def all_sizes(slots: list[Slot]) -> itertools.product[tuple[int, ...]]:
    return itertools.product(*[s.sizes if not s.align else (0,) for s in slots])


@given(SLOTS, st.integers(0, 3))
def test_finds_a_placement_whenever_there_is_one(slots: list[Slot], start: int) -> None:
    found = place(slots, start)
    exists = any(aligned(slots, list(sizes), start) for sizes in all_sizes(slots))
    assert (not found.misfits) == exists


@given(SLOTS, st.integers(0, 3))
def test_prefers_early_small_sizes(slots: list[Slot], start: int) -> None:
    found = place(slots, start)
    possible = [s for s in all_sizes(slots) if aligned(slots, list(s), start)]
    if possible:
        # Sizes are in order of preference, so the first placement in lexicographic order is the wanted one.
        wanted = min(possible)
        got = [0 if s.align else n for s, n in zip(slots, found.sizes, strict=True)]
        assert tuple(got) == wanted


@given(SLOTS, st.integers(0, 3))
def test_positions_follow_each_other(slots: list[Slot], start: int) -> None:
    found = place(slots, start)
    ends = [p + n for p, n in zip(found.positions, found.sizes, strict=True)]
    assert [start, *ends] == [*found.positions, found.end]


def test_pairs_short_instructions_and_lengthens_the_odd_one() -> None:
    short = Slot((1, 2))
    assert place([short, short, short, Slot((2,))]).sizes == [1, 1, 2, 2]
    assert place([short, Slot((2,)), short, short]).sizes == [2, 2, 1, 1]


def test_a_lone_short_instruction_at_the_end_stays_short() -> None:
    assert place([Slot((2,)), Slot((1, 2))]).sizes == [2, 1]


def test_looks_further_ahead_than_one_instruction() -> None:
    # The middle one has no long form, so the first one must be lengthened for the last one's sake ... in vain here,
    # because then the middle one stands alone; with one more in front there is a way.
    only_short = Slot((1,))
    assert place([Slot((1, 2)), only_short, Slot((2,))]).sizes == [1, 1, 2]
    assert place([Slot((1, 2)), Slot((1, 2)), only_short, Slot((2,))]).sizes == [2, 1, 1, 2]


def test_reports_what_cannot_be_aligned() -> None:
    assert place([Slot((1,)), Slot((2,)), Slot((1,))]).misfits == [1]


def test_takes_linear_time() -> None:
    many = place([Slot((1, 2)), Slot((2,))] * 100_000)
    assert isinstance(many, UnitLayout)
    assert many.end == 400_000


def test_an_alignment_fills_up_to_the_next_multiple() -> None:
    found = place([Slot((1,)), Slot((), align=8), Slot((1,)), Slot((), align=8), Slot((1,))])
    assert found == UnitLayout([0, 1, 8, 9, 16], [1, 7, 1, 7, 1], 17, [])

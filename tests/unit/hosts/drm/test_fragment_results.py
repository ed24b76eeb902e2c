"""Where a fragment program's results are and how they are blended, by the registers that say so."""

from __future__ import annotations

import pytest

from isakit.graphics.draw_state import Blend
from support.runners.gl import Card, header


@pytest.mark.parametrize(("word", "first"), [(0, [0] * 8), (1, [4 * k for k in range(8)])])
def test_a_single_result_goes_to_every_target(word: int, first: list[int]) -> None:
    card = Card()
    engine = card.channel.engine3d
    card.push([header(3, engine.table.word("FP_CONTROL") << 2, 1), word])
    assert [c[0] for c in engine.fragment_results.colors] == first


def test_a_new_channel_blends_alpha_apart_for_every_target() -> None:
    card = Card("a3")  # drivers set functions and equations of targets, and never that alpha has its own
    engine = card.channel.engine3d

    def write(name: str, word: int, index: int = 0) -> None:
        card.push([header(3, engine.table.word(name, index) << 2, 1), word])

    write("BLEND_INDEPENDENT", 1)
    write("BLEND_ENABLE", 1, 1)
    write("IBLEND_EQUATION_RGB", 0x800B, 1)
    write("IBLEND_EQUATION_ALPHA", 0x8007, 1)
    assert engine.blends[1] == Blend("one", "zero", "reverse_subtract", "one", "zero", "min")


def test_a_new_channel_has_functions_that_change_nothing() -> None:
    card = Card()
    engine = card.channel.engine3d
    card.push([header(3, engine.table.word("BLEND_ENABLE") << 2, 1), 1])
    assert engine.blends[0] == Blend("one", "zero", "add", "one", "zero", "add")
    assert not card.report.unsupported

"""Where a fragment program's results are, by the registers that say so."""

from __future__ import annotations

import pytest

from support.runners.gl import Card, header


@pytest.mark.parametrize(("word", "first"), [(0, [0] * 8), (1, [4 * k for k in range(8)])])
def test_a_single_result_goes_to_every_target(word: int, first: list[int]) -> None:
    card = Card()
    engine = card.channel.engine3d
    card.push([header(3, engine.table.word("FP_CONTROL") << 2, 1), word])
    assert [c[0] for c in engine.fragment_results.colors] == first

"""D[] as a list and as memory: whichever side writes, the other one sees it."""

from __future__ import annotations

import struct
from random import Random

import pytest

from isakit.machine.vuc.compiled.shared_cells import SharedCells
from isakit.machine.vuc.core_memory import D_CELLS


@pytest.mark.parametrize("seed", range(20))
def test_both_sides_write_in_turn(seed: int) -> None:
    r = Random(seed)
    shared, cells, expected = SharedCells(), [0] * D_CELLS, [0] * D_CELLS
    current = True  # the list, which the host looks at and writes only then
    for _ in range(30):
        if current and r.random() < 0.6:
            shared.listed = True
            for _ in range(r.choice([0, 1, 3, 300])):
                n = r.randrange(D_CELLS)
                cells[n] = expected[n] = r.randrange(1 << 16)
        shared.to_memory(cells)
        assert list(shared.memory[:D_CELLS]) == expected
        if r.random() < 0.6:  # compiled code does
            for _ in range(r.choice([1, 3, 300])):
                n = r.randrange(D_CELLS)
                shared.memory[n] = expected[n] = r.randrange(1 << 16)
            shared.memory[D_CELLS] = 1
        shared.ran()
        current = r.random() < 0.5
        if current:
            (shared.lend if r.random() < 0.5 else shared.to_list)(cells)
            assert cells == expected


def test_a_number_that_is_no_cell_is_refused_and_nothing_else_is_lost() -> None:
    shared, cells = SharedCells(), list(range(D_CELLS))
    cells[5] = 1 << 16
    with pytest.raises(struct.error):
        shared.to_memory(cells)
    cells[5] = 7
    shared.to_memory(cells)
    assert list(shared.memory[:D_CELLS]) == cells

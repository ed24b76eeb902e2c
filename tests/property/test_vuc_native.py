"""Random programs on compiled code and on the reference core: the same state after every slice of cycles.

Slices have random lengths, so the state is handed over at every kind of place.
"""

from __future__ import annotations

import pytest

pytest.importorskip("llvmlite")

from support.generators.vuc_programs import VARIANTS
from support.runners.vuc_slices import compare


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(12))
def test_same_state_after_every_slice(variant: str, seed: int) -> None:
    compare(variant, seed)

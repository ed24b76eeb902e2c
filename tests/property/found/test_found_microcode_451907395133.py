"""Found by the farm: microcode, seed 451907395133."""

from __future__ import annotations

from support.farm import campaign

CASE = {"seed": 451907395133, "variant": "vp4"}


def test_microcode_451907395133() -> None:
    """AssertionError: vp4 seed 451907395133 from cycle 195: ['sr', 'host', 'stat', 'pending']"""
    campaign("microcode").check(CASE)

"""Found by the farm: ptx-texts, seed 747245691316."""

from __future__ import annotations

from support.farm import campaign

CASE = {"text": "\t.entry my_kernel\n\t{\nxor.b32 $r3, [$rd1+4], $r2;\n\t} // my_kernel", "chip": None}


def test_ptx_texts_747245691316() -> None:
    """AssertionError:"""
    campaign("ptx-texts").check(CASE)

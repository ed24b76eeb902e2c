"""Found by the farm: containers, seed 5000146."""

from __future__ import annotations

from support.farm import campaign

CASE = {
    "kind": "npy",
    "data": b"\x93NUMPY\x01\x00v\x00\x00': Fa }                                                          "
    b"\n\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    b"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"
    b"\x00\x00\x00\x00",
}


def test_containers_5000146() -> None:
    """An `.npy` file whose header NumPy cannot take apart."""
    campaign("containers").check(CASE)

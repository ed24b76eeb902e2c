"""Binary records that are declared once: what is read and written, where they end, what is refused."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isakit.errors import FormatError
from isakit.formats.layout import Layout

RECORD = Layout("char tag[4];  u8 low:3, :2, high:3;  u16 pair[2];  s32 *next;  u64 wide;")


def test_fields_lie_one_after_the_other() -> None:
    assert {name: f.at for name, f in RECORD.fields.items()} == {
        "tag": 0, "low": 4, "high": 4, "pair": 5, "next": 9, "wide": 13,
    }  # fmt: skip
    assert RECORD.size == 21
    assert Layout("u8 a:4, b:5;  u16 c;").fields["b"].at == 1
    assert Layout("u32 :32;  u64 :64, last;").fields["last"].at == 12


def test_a_record_read_and_written_byte_by_byte() -> None:
    data = b"\xff" + b"TAG!" + b"\xa5" + b"\1\0\2\0" + b"\xf6\xff\xff\xff" + b"\7" + bytes(7)
    values = RECORD.read(data, 1)
    assert values == {"tag": b"TAG!", "low": 5, "high": 5, "pair": (1, 2), "next": 0, "wide": 7}
    assert RECORD.pack(values, 1) == data[1:]  # its two bits without a name are 0
    assert RECORD.read(RECORD.pack({**values, "next": None}))["next"] is None


@given(st.binary(min_size=21, max_size=21), st.integers(0, 9))
def test_what_is_read_is_written_again(data: bytes, at: int) -> None:
    named = bytearray(data)
    named[4] &= 0xE7
    assert RECORD.pack(RECORD.read(bytes(at) + data, at), at) == bytes(named)


def test_a_shorter_record_lacks_its_last_fields() -> None:
    data = bytes([1] * 21)
    found = RECORD.read(data, 0, 8)
    assert (found["low"], found["pair"], found["next"], found["wide"]) == (1, (0, 0), None, 0)
    assert RECORD.pack({**found, "wide": 9}, size=8) == b"\1\1\1\1\1\0\0\0"
    assert RECORD.read(data[:8], 0, 8) == found


@dataclass(frozen=True)
class Point:
    x: int
    y: int


def test_records_are_made_by_a_class() -> None:
    points = Layout("u16 x, y;", Point)
    data = b"".join(points.pack(vars(Point(k, 2 * k))) for k in range(3))
    assert points.array(data, 0, 3) == [Point(0, 0), Point(1, 2), Point(2, 4)]
    with pytest.raises(ValueError, match="Point has no field z"):
        Layout("u16 x, z;", Point)


@pytest.mark.parametrize("text", ["u24 x;", "u8 x y;", "u8;", "u8 x[];", "u8 *x:3;"])
def test_what_declares_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="does not declare a field"):
        Layout(text)


@pytest.mark.parametrize(("at", "size"), [(0, 20), (5, 25), (-1, 40), (1 << 40, 40)])
def test_a_record_beyond_the_data_is_refused(at: int, size: int) -> None:
    with pytest.raises(FormatError, match="the file ends inside a record of 21 bytes"):
        RECORD.read(bytes(size), at)
    with pytest.raises(FormatError, match="the file ends inside a record"):
        RECORD.array(bytes(30), 0, 2)
    with pytest.raises(FormatError, match="the file ends inside a record"):
        Layout("u16 x, y;", Point).array(bytes(30), 0, 8)


@pytest.mark.parametrize(
    ("name", "value", "at", "reason"),
    [
        ("low", 8, 104, "low is 0x8, which does not fit 3 bits"),
        ("high", -1, 104, "high is -0x1, which does not fit 3 bits"),
        ("pair", (0, 65536), 105, r"pair is \(0, 65536\), which does not fit the field"),
        ("pair", (0,), 105, "pair"),
        ("next", 1 << 32, 109, "next lies 0xffffff93 bytes from its offset"),
        ("wide", 1 << 64, 113, "wide is 18446744073709551616"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_at_its_field(name: str, value: object, at: int, reason: str) -> None:
    with pytest.raises(FormatError, match=reason) as e:
        RECORD.pack({**RECORD.read(bytes(21)), name: value}, 100)
    assert e.value.offset == at

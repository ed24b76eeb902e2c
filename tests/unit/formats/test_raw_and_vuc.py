from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isakit import formats as f
from isakit.errors import FormatError
from unit.formats.strategies import survives

VUC_WORDS = {"vp2": 2**40 - 1, "vp3": 2**30 - 1, "vp4": 2**30 - 1}


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20), st.sampled_from([4, 8]))
def test_hex(words: list[int], size: int) -> None:
    words = [w % (1 << 8 * size) for w in words]
    text = f.write_hex(words, word_size=size)
    assert f.parse_hex(text, word_size=size) == words
    assert f.words_of(f.read_hex(text, word_size=size).kernels["main"].code, size) == words


def test_hex_spellings() -> None:
    text = "0x10, 20;rest\n# note\nABCDEF01,0xffu // end\n/* 1 */ 2UL"
    assert f.parse_hex(text) == [0x10, 0x20, 0xABCDEF01, 0xFF, 2]


@pytest.mark.parametrize("text", ["", "# only a comment", "0x", "12 xyz", "123456789", "1_0", "1 /* 2", "1 /*/ 2"])
def test_not_hex(text: str) -> None:
    with pytest.raises(FormatError):
        f.parse_hex(text)


def test_error_offset_counts_through_comments() -> None:
    with pytest.raises(FormatError) as e:
        f.parse_hex("1 // one\nzz")
    assert e.value.offset == 9


def test_raw() -> None:
    module = f.read_raw(b"\1\0\0\0\2\0\0\0", isa="tesla", variant="g80")
    assert module.kernels["main"].words == [1, 2]
    assert f.write_raw(module) == b"\1\0\0\0\2\0\0\0"
    for data in (b"", b"123"):
        with pytest.raises(FormatError):
            f.read_raw(data)
    with pytest.raises(FormatError, match="main"):
        f.write_raw(module, "other")


@given(st.sampled_from(sorted(VUC_WORDS)), st.data())
def test_vuc(variant: str, data: st.DataObject) -> None:
    words = data.draw(st.lists(st.integers(0, VUC_WORDS[variant]), min_size=1, max_size=20))
    packed = f.pack_words(words, variant)
    image = f.parse_vuc(packed, variant)
    assert list(image.words) == words
    assert f.pack_vuc(image) == packed
    assert f.read_vuc(packed, variant).kernels["main"].code == packed


@given(st.binary(max_size=600), st.sampled_from(sorted(VUC_WORDS)), st.integers(0, 300))
def test_vuc_files_come_out_as_they_went_in(data: bytes, variant: str, tail: int) -> None:
    survives(lambda d: f.parse_vuc(d, variant, data_size=tail), data)
    try:
        image = f.parse_vuc(data, variant, data_size=tail)
    except FormatError:
        return
    assert f.pack_vuc(image) == data


def test_vuc_firmware_with_data() -> None:
    words = [0x10000 + i for i in range(0x40)]
    tail = bytes(range(1, 0x71))
    code = f.pack_words(words, "vp3")
    image = f.parse_vuc(code + tail + bytes(0x200 - len(code) - len(tail)), "vp3", data_size=len(tail))
    assert list(image.words) == words
    assert image.data == tail


def test_vuc_errors() -> None:
    for data, variant in ((b"1234567", "vp2"), (b"\0\0\0\0\0\1\0\0", "vp2"), (b"\0\0\0\x40", "vp3"), (b"", "vp4")):
        with pytest.raises(FormatError):
            f.parse_vuc(data, variant)
    with pytest.raises(FormatError):
        f.parse_vuc(bytes(8), "vp9")
    with pytest.raises(FormatError):
        f.pack_words([1 << 30], "vp3")
    with pytest.raises(FormatError):
        f.pack_words([1], "vp1")


# --- microcode that is recognised -------------------------------------------------------------------------------------
CLEARS = [0x20F00064 | n << 16 for n in range(3)]


@pytest.mark.parametrize("size", [0x2E0, 0x3AC, 0x370])
def test_user_firmware_is_recognised_with_its_data(size: int) -> None:
    code = f.bytes_of([*CLEARS, *[0x34F00004] * 61])
    data = b"\xff\xff\xff\xff" + bytes(range(1, 256)) * 4
    image = code + data[:size]
    image += bytes(-len(image) % 0x100)
    module = f.load_image(image)
    assert (module.kind, module.isa, module.variant) == ("vuc", "vuc", "vp3")
    payload = module.payload
    assert isinstance(payload, f.VucImage)
    assert payload.words[:3] == tuple(CLEARS)
    assert payload.data.rstrip(b"\0").endswith(data[:size][-8:].rstrip(b"\0"))
    assert f.pack_vuc(payload) == image


def test_images_are_told_apart() -> None:
    assert f.recognise_vuc(f.bytes_of([0x34000043, 0x34000043, *[0x34F00004] * 6])) == ("vp3", 0)
    assert f.recognise_vuc(f.bytes_of([*CLEARS, 0x140000AC])) == ("vp4", 0)
    assert f.recognise_vuc(f.bytes_of([0xC8011061, 0xFF] * 8)) == ("vp2", 0)
    assert f.load_image(f.bytes_of([0xC8011061, 0xFF] * 8)).variant == "vp2"


@given(st.binary(min_size=16, max_size=400))
def test_other_data_is_not_taken_for_microcode(data: bytes) -> None:
    assert f.recognise_vuc(b"\x7fABC" + data + b"\xfe" * (-len(data) % 8)) is None

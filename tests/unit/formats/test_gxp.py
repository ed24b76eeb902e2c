from __future__ import annotations

import dataclasses
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isakit import formats as f
from isakit.errors import FormatError
from unit.formats.strategies import damage, gxp_files, survives

BOOKKEEPING = {"layout", "tail", "padding", "stored_size"}


def content(gxp: f.GxpFile) -> dict[str, object]:
    return {k.name: getattr(gxp, k.name) for k in dataclasses.fields(gxp) if k.name not in BOOKKEEPING}


def rich() -> f.GxpFile:
    """A fragment program with something in every table."""
    gxp = f.GxpFile(flags=1, primary=[1, 2, 3], secondary=[4], literals=[f.GxpLiteral(2, 0x3F800000)])
    gxp.parameters = [
        f.GxpParameter("color", 1, 0, 4, 14, 0, 0, 1, 0),
        f.GxpParameter("tex", 2, 0, 4, 0, 0, 0x10, 1, 2),
        f.GxpParameter("color", 0, 1, 4, 0, 6, 0, 1, 4),
        f.GxpParameter("", 4, 9, 0, 0, 0, 0, 16, 0),
    ]
    gxp.varyings = f.FragmentVaryings(inputs=(f.AttributeDescriptor(0xF1040E, 0, 16, 0),))
    gxp.containers = [f.GxpContainer(14, 0, 0, 4)]
    gxp.dependent_samplers = [f.GxpDependentSampler(9, 1)]
    gxp.sampler_query = (0x301,) + (0,) * 15
    return gxp


@given(gxp_files())
def test_write_then_read(gxp: f.GxpFile) -> None:
    data = f.write_gxp(gxp)
    read = f.parse_gxp(data)
    assert content(read) == content(gxp)
    assert f.write_gxp(read) == data


@given(gxp_files(), st.integers(0))
def test_damage(gxp: f.GxpFile, seed: int) -> None:
    data = damage(f.write_gxp(gxp), seed)
    survives(f.parse_gxp, data)
    survives(f.load_images, data)
    try:
        read = f.parse_gxp(data)
    except FormatError:
        return
    again = f.parse_gxp(f.write_gxp(read))
    assert content(again) == content(read)


def test_a_changed_program_moves_the_rest() -> None:
    gxp = f.parse_gxp(f.write_gxp(rich()))
    gxp.primary += [5, 6]
    gxp.secondary = []
    gxp.parameters[0] = dataclasses.replace(gxp.parameters[0], name="tint")
    gxp.literals.append(f.GxpLiteral(3, 7))
    read = f.parse_gxp(f.write_gxp(gxp))
    assert content(read) == content(gxp)
    assert read.parameters[0].name == "tint"
    assert read.parameters[2].name == "color"


def test_unexplained_bytes_survive() -> None:
    data = bytearray(f.write_gxp(rich()))
    primary = 0x40 + int.from_bytes(data[0x40:0x44], "little")
    data[primary - 4 : primary] = b"\x0d\0\0\0"
    gxp = f.parse_gxp(bytes(data) + b"\0\0\0")
    assert f.write_gxp(gxp) == bytes(data) + b"\0\0\0"
    gxp.primary.append(9)
    changed = f.write_gxp(gxp)
    primary = 0x40 + int.from_bytes(changed[0x40:0x44], "little")
    assert changed[primary - 4 : primary] == b"\x0d\0\0\0"


def test_a_query_table_of_no_length_keeps_its_place() -> None:
    data = bytearray(f.write_gxp(rich()))
    struct.pack_into("<I", data, 0x98, len(data) - 1 - 0x98)
    data = data[:-1] + b"\0\0\0"
    struct.pack_into("<I", data, 8, len(data))
    data = bytes(data)
    assert f.write_gxp(f.parse_gxp(data)) == data


def test_module() -> None:
    module = f.load_image(f.write_gxp(rich()))
    assert (module.kind, module.isa, module.variant, module.extra) == ("gxp", "usse", "sgx543", {"stage": "fragment"})
    assert list(module.kernels) == ["primary", "secondary"]
    assert f.words_of(module.kernels["primary"].code, 8) == [1, 2, 3]
    assert isinstance(module.payload, f.GxpFile)
    assert module.payload.default_uniform_words == 0


@pytest.mark.parametrize(
    ("at", "value", "reason"),
    [
        (0, b"GXX", "not a GXP"),
        (5, b"\7", "version 1.7"),
        (8, b"\xff\xff\xff\0", "the header says"),
        (0x24, b"\xff\xff\xff\xff", "outside the file"),
        (0x28, bytes(4), "their offset is 0"),
        (0x40, b"\xff\xff\0\0", "outside the file"),
        (0x40, b"\1\0\0\0", "overlaps"),
        (0x3C, b"\0\0\0\x20", "outside the file"),
        (0x4C, b"\0\0\0\0", "does not match"),
        (0x58, b"\1\0\0\0", "overlaps"),
    ],
)
def test_errors(at: int, value: bytes, reason: str) -> None:
    data = bytearray(f.write_gxp(rich()))
    data[at : at + len(value)] = value
    with pytest.raises(FormatError, match=reason):
        f.parse_gxp(bytes(data), "x.gxp")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": (2, 0)}, "version"),
        ({"flags": 1 << 32 | 1}, "flags is 4294967297, which does not fit"),
        ({"primary": [1 << 64]}, "word is 18446744073709551616"),
        ({"literal_buffer": b"1234"}, "the literal buffer does not have the size"),
        ({"flags": 0}, "the varyings are not those of a vertex program"),
        ({"parameters": [f.GxpParameter("x", 16, 0, 0, 0, 0, 0, 0, 0)]}, "parameter 'x': category is 0x10"),
        ({"parameters": [f.GxpParameter("x", 1, 0, 0, 0, 0, 0, 0, 1 << 31)]}, "parameter 'x': resource_index"),
        ({"parameters": [f.GxpParameter("\N{SNOWMAN}", 1, 0, 0, 0, 0, 0, 0, 0)]}, "8-bit characters"),
        ({"literals": [f.GxpLiteral(-1, 0)]}, "sa_offset is -1"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, object], reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        f.write_gxp(dataclasses.replace(rich(), **change))


def test_version_1_4_has_shorter_parts() -> None:
    gxp = f.GxpFile((1, 4), varyings=f.VertexVaryings(7, 1, 2, 3, 4))
    data = f.write_gxp(gxp)
    assert 0x2C + struct.unpack_from("<I", data, 0x2C)[0] == 0x98
    assert f.parse_gxp(data).varyings == gxp.varyings

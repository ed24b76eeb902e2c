"""Fat binaries that are written hold what was put into them, where readers look for it."""

from __future__ import annotations

import struct

import pytest

import isakit
from isakit.formats import parse_fatbin, write_elf_cubin
from isakit.formats.fatbin import FatImage, write_fatbin
from isakit.hosts.cuda.device_facts import card
from isakit.hosts.cuda.modules import FAT_CONTAINER, ProgramModule
from isakit.hosts.cuda.session import DeviceOptions, Session
from isakit.programs.needs import module_of

PTX = b".version 1.4\n.target sm_10\n.entry old (.param .u64 o) { exit; }\n"


def cubin(name: str) -> bytes:
    program = isakit.isa("tesla", "g80").assemble(f".kernel {name}\nexit nop\n")
    return write_elf_cubin(module_of(program))


@pytest.mark.parametrize("name", ["", "k.cu", "a name of any length.cu", "µ.cu"])
def test_what_is_written_is_read_again(name: str) -> None:
    images = [FatImage("elf", 13, cubin("new"), name), FatImage("ptx", 10, PTX, name), FatImage("elf", 10, b"x", name)]
    data = write_fatbin(images)
    entries, length = parse_fatbin(data + b"behind it")
    assert length == len(data)
    assert [(e.kind, e.arch, e.packing) for e in entries] == [("elf", "sm_13", ""), ("ptx", "sm_10", ""),
                                                              ("elf", "sm_10", "")]  # fmt: skip
    assert [e.name.encode("latin-1").decode() for e in entries] == [name] * 3
    for image, entry in zip(images, entries, strict=True):
        assert data[entry.offset :].startswith(image.data)
        assert entry.offset % 8 == 0
        assert not data[entry.offset + len(image.data) : entry.offset + entry.size].strip(b"\0")
    assert struct.unpack_from("<IHHQ", data) == (0xBA55ED50, 1, 16, len(data) - 16)


def test_an_empty_one_has_a_header() -> None:
    assert parse_fatbin(write_fatbin([])) == ([], 16)


def test_a_device_takes_the_newest_image_it_can_run() -> None:
    data = write_fatbin([FatImage("elf", 10, cubin("first")), FatImage("elf", 13, cubin("last"))])
    for chip, name in (("g80", "first"), ("gt215", "first"), ("gt200", "last")):
        session = Session(DeviceOptions(card(chip), engine="reference"))
        assert set(ProgramModule(session, FAT_CONTAINER, data).loaded) == {name}

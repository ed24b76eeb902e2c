"""`asm --like` for files that are words: raw code, hexadecimal texts, microcode with its data."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import isakit
from isakit.formats import VucImage, pack_vuc
from support.clients.command_line import run

CLEARS = [0x20F00064 | n << 16 for n in range(3)]


def image(
    data: bytes = bytes(range(256)) * 2 + bytes(0x2E0 - 512 - 4) + b"\xff\xff\xff\xff", padding: int = 0
) -> bytes:
    """A VP3 firmware: code that begins as all do, and the first content of D[]."""
    nop = isakit.isa("vuc", "vp3").assemble("nop").words
    return pack_vuc(VucImage("vp3", (*CLEARS, *nop * 13), data, padding))


@pytest.mark.parametrize(
    ("isa", "variant", "size"), [("tesla", "gt200", 4), ("usse", "sgx543", 8), ("vuc", "vp2", 8), ("vuc", "vp3", 4)]
)
@pytest.mark.parametrize("seed", range(3))
def test_words_come_back_as_they_were(isa: str, variant: str, size: int, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    bits = {"vp2": 40, "vp3": 30}.get(variant, 8 * size)
    data = b"".join(rng.getrandbits(bits).to_bytes(size, "little") for _ in range(rng.randrange(1, 60)))
    (tmp_path / "f").write_bytes(data)
    listing = run("dis", "-m", isa, "-V", variant, str(tmp_path / "f")).stdout
    run("asm", "-", "--like", str(tmp_path / "f"), "-o", str(tmp_path / "g"), stdin=listing)
    assert (tmp_path / "g").read_bytes() == data


@pytest.mark.parametrize("padding", [0, 0xC0])
@pytest.mark.parametrize("options", [(), ("-m", "vuc", "-V", "vp3")])
def test_microcode_comes_back_with_its_data(padding: int, options: tuple[str, ...], tmp_path: Path) -> None:
    data = image(padding=padding) if not options else image()[: 4 * 16]
    (tmp_path / "f").write_bytes(data)
    listing = run("dis", *options, str(tmp_path / "f")).stdout
    run("asm", "-", "--like", str(tmp_path / "f"), "-o", str(tmp_path / "g"), stdin=listing)
    assert (tmp_path / "g").read_bytes() == data


def test_edited_microcode_keeps_its_data(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(image())
    listing = run("dis", str(tmp_path / "f")).stdout
    edited = listing.rstrip().rsplit("\n", 1)[0] + "\n    mov $r1 0x5\n    mov $r2 0x6\n"
    run("asm", "-", "--like", str(tmp_path / "f"), "-o", str(tmp_path / "g"), stdin=edited)
    new, old = (tmp_path / "g").read_bytes(), image()
    assert new[: 4 * 15] == old[: 4 * 15]
    assert new[4 * 17 :] == old[4 * 16 :]


TEXT = "// what this is\n0x10000001, 0423C780   // first\n  f0000001 0xe0000001 ; end\n"


def test_a_text_of_words_keeps_its_spelling(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(TEXT)
    listing = run("dis", "-m", "tesla", "-V", "gt200", str(tmp_path / "f")).stdout
    run("asm", "-", "--like", str(tmp_path / "f"), "-o", str(tmp_path / "g"), stdin=listing)
    assert (tmp_path / "g").read_text() == TEXT
    edited = listing.replace(".word 0xf0000001", ".word 0xf0000002").replace("f0000001", "f0000002")
    assert edited != listing
    run("asm", "-", "--like", str(tmp_path / "f"), "-o", str(tmp_path / "g"),
        stdin=".isa tesla gt200\n.word 0x10000001, 0x0423c780, 0xf0000002, 0xe0000001\n")  # fmt: skip
    assert (tmp_path / "g").read_text() == TEXT.replace("f0000001", "f0000002")


def test_ptx_has_no_code_to_replace(tmp_path: Path) -> None:
    (tmp_path / "f.ptx").write_text(".version 1.4\n.target sm_13\n.entry k () { exit; }\n")
    listing = run("dis", str(tmp_path / "f.ptx")).stdout
    message = run("asm", "-", "--like", str(tmp_path / "f.ptx"), stdin=listing, code=1).stderr
    assert "this is PTX, which has no machine code to replace" in message


def test_another_number_of_words_has_no_place_in_a_text(tmp_path: Path) -> None:
    (tmp_path / "f").write_text(TEXT)
    options = ("--like", str(tmp_path / "f"), "-o", str(tmp_path / "g"))
    assert "4 words" in run("asm", "-", *options, stdin=".isa tesla gt200\n.word 0x1\n", code=1).stderr


def test_kernels_have_no_place_among_words(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(bytes(16))
    options = ("--like", str(tmp_path / "f"), "-o", str(tmp_path / "g"))
    text = ".isa tesla gt200\n.kernel k\nexit nop\n"
    assert "one program without a name" in run("asm", "-", *options, stdin=text, code=1).stderr

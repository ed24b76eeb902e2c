from __future__ import annotations

import struct
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import isakit
from isakit import formats as f
from isakit.errors import FormatError
from isakit.formats import fatbin
from support.generators.fat_binaries import PTX, container, entry, packed
from unit.formats.strategies import damage, elf_modules, gxp_files, survives, text_modules


def text_cubin(name: str = "k") -> bytes:
    module = f.Module("text-cubin", variant="g80", kernels={name: f.Kernel(name, bytes(8), barriers=1)})
    return f.write_text_cubin(module).encode()


def elf_cubin(name: str = "k") -> bytes:
    module = f.Module("elf-cubin", variant="gt200", kernels={name: f.Kernel(name, bytes(8))})
    return f.write_elf_cubin(module)


def host(data: bytes, address: int, wide: bool = True) -> bytes:
    """An ELF host program with one section of content at an address."""
    head, entsize = (64, 64) if wide else (52, 40)
    at = head + 3 * entsize
    ident = b"\x7fELF" + bytes([2 if wide else 1, 1, 1]) + bytes(9)
    out = ident + struct.pack("<HHIQQQIHHHHHH" if wide else "<HHIIIIIHHHHHH", 2, 62, 1, 0, 0, head, 0, head, 0, 0,
                              entsize, 3, 2)  # fmt: skip
    layout = "<IIQQQQIIQQ" if wide else "<IIIIIIIIII"
    out += bytes(entsize)
    out += struct.pack(layout, 0, 1, 2, address, at, len(data), 0, 0, 8, 0)
    out += struct.pack(layout, 0, 3, 0, 0, at + len(data), 1, 0, 0, 1, 0)
    return out + data + b"\0"


# A text that says nothing beyond its architecture is taken for something else inside a larger file.
texts = text_modules().filter(lambda m: bool(m.kernels or m.constants))


@given(st.lists(elf_modules() | texts | gxp_files(), min_size=1, max_size=3), st.binary(max_size=9))
def test_programs_in_any_bytes(modules: list[f.Module | f.GxpFile], noise: bytes) -> None:
    data = b""
    places = []
    for m in modules:
        data += noise + b"\0\0\0"
        places.append(len(data))
        if isinstance(m, f.GxpFile):
            data += f.write_gxp(m)
        else:
            data += f.write_elf_cubin(m) if m.kind == "elf-cubin" else f.write_text_cubin(m).encode()
    found = f.find_embedded(data + b"\0\0\0\0")
    assert [x.offset for x in found] == places
    assert all(x.module and x.module.offset == x.offset for x in found)
    for x, m in zip(found, modules, strict=True):
        assert x.module
        if isinstance(m, f.Module):
            assert x.module.kernels == m.kernels


@given(elf_modules(), st.integers(0))
def test_damage(module: f.Module, seed: int) -> None:
    data = host(
        container(entry(2, f.write_elf_cubin(module)), entry(4, text_cubin()), entry(2, b"x", 10, b"", 0x2000)), 0
    )
    survives(f.find_embedded, data)
    survives(f.find_embedded, damage(data, seed))
    survives(f.load_images, damage(data, seed))


def test_fat_binary() -> None:
    data = b"junk" + container(
        entry(1, b".version 1.4\n"),
        entry(2, elf_cubin("one"), 13, b"a.cu"),
        entry(4, text_cubin("two"), 10, b"b.cu"),
        entry(2, b"packed", 12, b"", 0x2000),
    )
    found = f.find_embedded(data)
    assert [(x.what, x.name) for x in found] == [
        ("elf-cubin", "a.cu"), ("text-cubin", "b.cu"), ("fat binary entry", ""),
    ]  # fmt: skip
    assert found[2].error
    assert "compressed" in found[2].error.reason
    assert "sm_12" in found[2].error.reason
    modules = f.load_images(data)
    assert [list(m.kernels) for m in modules] == [["one"], ["two"]]
    entries, size = f.parse_fatbin(data, 4)
    assert size == len(data) - 4
    assert [(e.kind, e.arch) for e in entries] == [
        ("ptx", "sm_10"), ("elf", "sm_13"), ("text-cubin", "sm_10"), ("elf", "sm_12"),
    ]  # fmt: skip


def test_ptx_in_an_lz4_block_is_found_and_compiled() -> None:
    block = packed(PTX)
    assert len(block) < len(PTX)
    data = b"host" + container(entry(1, block, 13, b"a.cu", 0x2010, len(PTX)))
    (found,) = f.find_embedded(data)
    assert (found.what, found.name, found.text) == ("ptx", "a.cu", PTX.decode().rstrip())
    assert list(isakit.load(data)) == ["k"]


@pytest.mark.parametrize(
    ("block", "unpacked", "reason"),
    [
        (b"\x0f\x00\x00", 0, "an offset points before the first byte"),
        (b"\x10a\x05\x00", 0, "an offset points before the first byte"),
        (b"\xf0\xff", 0, "the input ends in a length"),
        (b"\x50abc", 0, "the input ends in a run of literals"),
        (b"\x10a\x01", 0, "the input ends in an offset"),
        (b"\x10a", 5, "is compressed to 5 bytes, 1 come out"),
        (b"\x1fa\x01\x00" + b"\xff" * 300_000 + b"\0", 0, "it unpacks to more than 67108864 bytes"),
    ],
)
def test_damaged_lz4_blocks_and_bombs_are_named(block: bytes, unpacked: int, reason: str) -> None:
    (found,) = f.find_embedded(container(entry(1, block, 13, b"", 0x2000, unpacked)))
    assert found.error
    assert reason in found.error.reason


def test_only_compressed_entries_is_an_error() -> None:
    with pytest.raises(FormatError, match="compressed"):
        f.load_image(container(entry(2, b"packed", 12, b"", 0x2000)))


@pytest.mark.parametrize("wide", [True, False])
def test_old_fat_binary(wide: bool) -> None:
    base, size, form = 0x400000, 8 if wide else 4, "Q" if wide else "I"
    strings = {"ident": b"old.cu\0", "profile": b"sm_10\0", "cubin": text_cubin() + b"\0"}
    data, at = b"", {}
    for key, value in strings.items():
        at[key] = base + len(data)
        data += value
    data += bytes(-len(data) % 8)
    table = base + len(data)
    data += struct.pack(f"<4{form}", at["profile"], at["cubin"], 0, 0)
    start = len(data)
    data += struct.pack(f"<8{form}", fatbin.OLD_MAGIC, 4, 0, 0, at["ident"], 0, 0, table) + bytes(8 * size)
    program = host(data, base, wide)
    (found,) = f.find_embedded(program)
    assert (found.what, found.name) == ("text-cubin", "old.cu")
    assert found.module
    assert list(found.module.kernels) == ["k"]
    shift = len(program) - len(data) - 1
    ident, entries = f.parse_old_fatbin(program, start + shift, lambda a: a - base + shift, wide=wide)
    assert ident == "old.cu"
    assert [(e.kind, e.arch, e.size) for e in entries] == [("text-cubin", "sm_10", len(strings["cubin"]) - 1)]
    with pytest.raises(FormatError, match="leads outside"):
        f.parse_old_fatbin(program, start + shift, lambda _: None, wide=wide)


def test_c_arrays() -> None:
    data = f.write_gxp(f.GxpFile(primary=[1, 2]))
    listing = ",\n".join(", ".join(f"0x{b:02X}" for b in data[i : i + 12]) for i in range(0, len(data), 12))
    source = f"/* {{ 1 }} */ const unsigned char shader[{len(data)}] = {{\n{listing},\n}};\nint x = {{ 3 }};\n"
    for text in (source, listing, ",".join(str(b) for b in data)):
        module = f.load_image(text.encode())
        assert isinstance(module.payload, f.GxpFile)
        assert module.payload.primary == [1, 2]
    assert f.load_images(source.encode())[0].offset == source.index("{\n0x47")
    cubin = elf_cubin()
    cubin += bytes(-len(cubin) % 8)
    longs = ",".join(f"0x{w:016x}ull" for w in f.words_of(cubin, 8))
    assert list(f.load_image(f"unsigned long long x[] = {{{longs}}};".encode()).kernels) == ["k"]


def test_c_strings() -> None:
    text = text_cubin().decode()
    escaped = text.replace("\n", "\\n").replace("\t", "\\t")
    continued = text.replace("\n", " \\\n")
    lines = "\n".join(f'  "{line}\\n"' for line in text.replace("\t", " ").splitlines())
    for literal in (f'"{escaped}"', f'"{continued}"', lines):
        source = f'#include "x.h"\nconst char *bin = {literal};\nconst char *name = "k";\n'
        (module,) = f.load_images(source.encode())
        assert module.kernels["k"].code == bytes(8)
        assert source[module.offset] == '"'


def test_unsupported_programs_do_not_hide_the_others() -> None:
    new = bytearray(elf_cubin())
    new[48] = 20
    data = b"\0" + (bytes(new) + bytes(8)) * 100 + elf_cubin("old")
    assert [list(m.kernels) for m in f.load_images(data)] == [["old"]]
    with pytest.raises(FormatError, match="sm_20"):
        f.load_image(b"\0" + bytes(new))


def test_many_signatures_take_linear_time() -> None:
    start = time.process_time()
    header = elf_cubin()[:64]
    gxp = bytearray(f.write_gxp(f.GxpFile()))[:0x98]
    gxp[8:12] = (1 << 20).to_bytes(4, "little")
    for piece in (
        header,
        bytes(gxp),
        b"GXP\0",
        b"architecture {sm_10} code { ",
        struct.pack("<I", fatbin.MAGIC) + bytes(12),
    ):
        survives(f.find_embedded, piece * (1_500_000 // len(piece)))
    survives(f.load_images, b"{1,2,3" * 200_000)
    survives(f.load_images, b"/* " * 300_000)
    survives(f.load_images, b'"a" ' * 200_000 + b"\x22" * 3)
    survives(f.load_images, b'"\\' * 300_000)
    survives(f.load_images, b'"' + b" " * 1_000_000)
    survives(f.load_images, b'""' + b" " * 1_000_000)
    assert time.process_time() - start < 30


def test_detection_by_content(tmp_path: Path) -> None:
    file = tmp_path / "anything.txt"
    for data, kind in (
        (elf_cubin(), "elf-cubin"),
        (b"\n" + text_cubin(), "text-cubin"),
        (f.write_gxp(f.GxpFile()), "gxp"),
        (b"0x10000001 0x0423c780 // mov\n", "hex"),
    ):
        file.write_bytes(data)
        module = f.load_image(file)
        assert (module.kind, module.path) == (kind, str(file))
    words = b"\1\0\0\x10\2\0\0\0"
    assert f.load_image(words, isa="tesla", variant="g80").kind == "raw"
    assert f.load_image(words, isa="usse").kernels["main"].code == words
    assert f.load_image(b"\1\0\0\x10\2\0\0\0", isa="vuc", variant="vp2").kind == "vuc"
    assert f.load_image(b"1234567890", isa="vuc", variant="vp2").kernels["main"].code == (0x1234567890).to_bytes(
        8, "little"
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "empty"),
        (b"\0\1\2\3", "name the instruction set"),
        (b"some text", "tried ELF cubin, text cubin, GXP"),
        (b"\x7fELF" + bytes(60), "little-endian"),
        (host(b"nothing here", 0), "without any device program"),
    ],
)
def test_unknown_files_say_what_was_tried(data: bytes, reason: str) -> None:
    with pytest.raises(FormatError, match=reason):
        f.load_image(data, path="x")


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="cannot be read"):
        f.load_image(tmp_path / "missing")
    with pytest.raises(FormatError, match="cannot be read"):
        f.load_image("nul\0name")


@pytest.mark.parametrize(
    "behind",
    [
        "{}", "\n{ }\n{}", "{ x = 1 }", "int main() { return 0; }", "x = {", "} {", "= {}", "a b c {}", "\n== { ==",
        "{" * 30, "{{}", "else { {} }", "a { b = { } }", "c {" * 20 + "}" * 20,
        'const char *more = "{}";',
    ],
)  # fmt: skip
@pytest.mark.parametrize("before", ["", "text {} and = { "])
def test_braces_around_a_text_cubin_belong_to_its_host(before: str, behind: str) -> None:
    data = before.encode() + text_cubin() + behind.encode()
    (found,) = [x for x in f.find_embedded(data) if x.what == "text-cubin"]
    assert found.error is None
    assert found.module is not None
    assert list(found.module.kernels) == ["k"]
    assert data[found.offset : found.offset + found.size] == text_cubin().rstrip()


def test_blocks_of_a_text_cubin_that_nothing_here_knows_are_kept() -> None:
    text = text_cubin().decode() + "version = 7\nsomething {\n a = b c { 1 2 }\n}\n"
    (found,) = f.find_embedded(b"\0" + text.encode() + b"{}")
    assert found.size == len(text.rstrip())
    assert found.module == f.read_text_cubin(text)

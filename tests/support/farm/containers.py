"""Files of every format with something wrong in them, and files that are written and read back."""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import isakit
from conftest import shared_dir
from isakit import formats as f
from isakit.cli.arguments import parse as argument
from isakit.compile import compile_ptx
from isakit.errors import FormatError, IsakitError
from isakit.formats.lz4 import unpack_block
from isakit.graphics.scene import Scene
from isakit.programs import write
from support.farm.campaign import Campaign, Wrong, pieces_left_out
from support.fat_binaries import PTX, container, entry, packed
from support.hostile_texts import SOURCE
from support.ptx_random import Program

LARGEST = 1 << 15
"""Bytes of the files of the conformance data that are used: those that are small say as much as large ones."""
EDGES = (0, 1, 2, 3, 4, 7, 8, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFF_FFFF, 0x8000_0000,
         0xFFFF_FFFC, 0xFFFF_FFFF, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)  # fmt: skip
"""Numbers at which readers go wrong."""
SCENE = b"""{"width": 8, "height": 8, "draws": [{"code": {"nv50": {"frag": {"words": [4026531841]}}}, "count": 3,
 "mode": "triangles", "attributes": [{"file": "a.bin", "components": 4}]}], "clear": [0, 0, 0, 1]}"""


def _npy() -> bytes:
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4), }"
    head += b" " * (63 - (len(head) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(64)


@cache
def files() -> tuple[tuple[str, bytes], ...]:
    """(how it is read, content) of files that are whole."""
    program = isakit.isa("tesla", "g80").assemble(SOURCE.replace("    tex 2d all $r0 $t0 $s0 $r0 $r1 // 0000\n", ""))
    images = [write(program, kind) for kind in ("raw", "hex", "cubin", "elf")]
    compiled = compile_ptx(PTX.decode()).module
    images += [f.write_elf_cubin(compiled, 64), f.write_elf_cubin(compiled, 32)]
    images.append(container(entry(1, packed(PTX), 13, b"a.cu", 0x2010, len(PTX)), entry(2, images[3], 13),
                            entry(4, images[2], 10, b"b.cu")))  # fmt: skip
    shared = shared_dir()
    if shared is not None:
        for pattern in ("corpus/tesla/cubins/*.cubin", "corpus/tesla/textcubins/*.cubin", "corpus/usse/gxp/*.gxp"):
            small = [p for p in sorted(shared.glob(pattern)) if p.stat().st_size <= LARGEST]
            images += [p.read_bytes() for p in small[:6]]
    others = [("scene", SCENE), ("npy", _npy()), ("lz4", packed(PTX))]
    return (*(("image", i) for i in images), *others)


def damaged(data: bytes, r: Random) -> bytes:
    """A file with numbers, pieces or its end changed; half of the numbers are those of a structure, aligned."""
    out = bytearray(data)
    for _ in range(r.choice((1, 1, 1, 2, 3, 6))):
        kind = r.random()
        size = r.choice((1, 2, 4, 4, 4, 8))
        if len(out) < 16 or kind < 0.1:
            del out[r.randrange(len(out) + 1) :]
            continue
        # headers and tables lie at both ends more often than elsewhere
        at = r.choice(
            (r.randrange(len(out)), r.randrange(min(128, len(out))), len(out) - 1 - r.randrange(len(out) // 3))
        )
        if kind < 0.6:
            at -= at % size
            old = int.from_bytes(out[at : at + size], "little")
            new = r.choice((r.choice(EDGES), old + r.choice((-1, 1, 4, -4, 8)), old << 1, len(out), len(out) - at))
            out[at : at + size] = (new & (1 << 8 * size) - 1).to_bytes(size, "little")
        elif kind < 0.7:
            out[at] ^= 1 << r.randrange(8)
        elif kind < 0.8:
            del out[at : at + r.randrange(1, 40)]
        elif kind < 0.9:
            out[at:at] = out[r.randrange(len(out)) :][: r.randrange(1, 64)]
        else:
            other = r.randrange(len(out))
            out[at : at + size] = out[other : other + size]
    return bytes(out)


def _make(seed: int) -> dict[str, Any]:
    r = Random(seed)
    kind, data = r.choice(files())
    return {"kind": kind, "data": damaged(data, r)}


def _read_image(data: bytes) -> set[str]:
    found = {f"found {x.what}" for x in f.find_embedded(data)}
    for m in f.load_images(data):
        found.add(f"{m.isa} {m.variant}")
        for k in m.kernels.values():
            if k.program.to_bytes() != k.code:
                raise Wrong("the program of a kernel has other bytes than the kernel")
            str(k.program)
    return found


def _in_a_file(read: Callable[[str], object], ending: str) -> Callable[[bytes], set[str]]:
    def check(data: bytes) -> set[str]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"case{ending}"
            path.write_bytes(data)
            read(str(path))
        return {f"read {ending}"}

    return check


def _read_lz4(data: bytes) -> set[str]:
    if len(unpack_block(data, 1 << 16)) > 1 << 16:
        raise Wrong("more came out than allowed")
    return {"read lz4"}


READ: dict[str, Callable[[bytes], set[str]]] = {
    "image": _read_image, "scene": _in_a_file(Scene, ".json"), "npy": _in_a_file(lambda p: argument(f"in:{p}"), ".npy"),
    "lz4": _read_lz4,
}  # fmt: skip


def check_file(case: dict[str, Any]) -> set[str]:
    """A file is read, or refused with a reason and a place."""
    import click

    try:
        return READ[case["kind"]](case["data"])
    except (IsakitError, click.ClickException) as e:
        if isinstance(e, FormatError) and (e.offset < 0 or not e.reason):
            raise Wrong(f"{e!r} has no place or no reason") from None
        return {f"{case['kind']} refused"}


def _smaller_file(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    data = case["data"]
    if len(data) <= 4096:
        for shorter in pieces_left_out(data):
            yield {**case, "data": shorter}
    else:
        yield {**case, "data": data[: len(data) // 2]}
    for at in range(min(len(data), 256)):
        if data[at]:
            yield {**case, "data": data[:at] + b"\0" + data[at + 1 :]}


# --- files that are written and read back -----------------------------------------------------------------------------
def _check_written(case: dict[str, int]) -> set[str]:
    """Modules of every kind come back from their files as they were."""
    from hypothesis import HealthCheck, Phase, given, seed, settings
    from hypothesis import strategies as st

    from unit.formats.strategies import elf_modules, gxp_files, text_modules

    plan = settings(max_examples=12, database=None, deadline=None, suppress_health_check=list(HealthCheck),
                    phases=[Phase.generate])  # fmt: skip

    def elf(module: f.Module, elfclass: int) -> None:
        read = f.read_elf_cubin(f.write_elf_cubin(module, elfclass))
        read.extra = {}
        assert read == module

    def text(module: f.Module) -> None:
        assert f.read_text_cubin(f.write_text_cubin(module)) == module

    def shader(file: f.GxpFile) -> None:
        data = f.write_gxp(file)
        read = f.parse_gxp(data)
        assert f.write_gxp(read) == data
        for name in ("primary", "secondary", "literals", "containers", "parameters", "uniform_buffers", "varyings"):
            assert getattr(read, name) == getattr(file, name), name

    ways: list[tuple[Any, ...]] = [(elf, elf_modules(), st.sampled_from([32, 64])), (text, text_modules()),
                                   (shader, gxp_files())]  # fmt: skip
    check, *strategies = ways[case["seed"] % len(ways)]
    seed(case["seed"])(plan(given(*strategies)(check)))()
    return {f"wrote {check.__name__}"}


# --- PTX --------------------------------------------------------------------------------------------------------------
INSERTED = ("{", "}", "[", "]", ";", ",", ".u64", "%", "0x", "-1", "@!", '"', "/*", ".v4", ".f64", "(", ")", "0d0",
            "99999999999999999999", ":", "\0", "é", ".pred", "$r1")  # fmt: skip


def mutated(text: str, r: Random) -> str:
    """A text with pieces left out, put in, exchanged or turned round."""
    for _ in range(r.choice((1, 1, 2, 4))):
        at = r.randrange(len(text))
        kind = r.randrange(4)
        if kind == 0:
            text = text[:at] + text[at + r.randrange(1, 20) :]
        elif kind == 1:
            text = text[:at] + r.choice(INSERTED) + text[at:]
        elif kind == 2:
            rows = text.split("\n")
            i, j = r.randrange(len(rows)), r.randrange(len(rows))
            rows[i], rows[j] = rows[j], rows[i]
            text = "\n".join(rows)
        else:
            text = text[:at] + text[at : at + 30][::-1] + text[at + 30 :]
    return text


@cache
def _ptx_texts() -> tuple[str, ...]:
    shared = shared_dir()
    made = tuple(Program(seed, size=15).text for seed in range(8))
    if shared is None:
        return made
    return made + tuple(p.read_text("latin-1") for p in sorted((shared / "corpus/tesla/textcubins").glob("*.ptx")))


def make_ptx(seed: int) -> dict[str, Any]:
    """A PTX text with mistakes."""
    r = Random(seed)
    return {"text": mutated(r.choice(_ptx_texts()), r), "chip": r.choice((None, "g80", "gt200"))}


def check_ptx(case: dict[str, Any]) -> set[str]:
    """PTX compiles, or the message says where it is wrong."""
    try:
        compile_ptx(case["text"], case["chip"])
        return {"compiled"}
    except IsakitError:
        return {"refused"}


def _shorter_ptx(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for lines in pieces_left_out(case["text"].split("\n")):
        yield {**case, "text": "\n".join(lines)}


HERE = (
    Campaign("containers", "damaged files of every format", _make, check_file, _smaller_file),
    Campaign("written", "modules written and read back", lambda seed: {"seed": seed}, _check_written),
    Campaign("ptx-texts", "PTX with mistakes", make_ptx, check_ptx, _shorter_ptx),
)

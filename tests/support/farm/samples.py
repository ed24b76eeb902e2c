"""Whole files and captures for the campaigns of damaged ones, made here or taken from the conformance data."""

from __future__ import annotations

import json
import struct
import zlib
from functools import cache, lru_cache
from pathlib import Path
from random import Random
from typing import Any

import isakit
from conftest import ROOT, shared_dir
from isakit import formats as f
from isakit.compile import compile_ptx
from isakit.hosts.cuda.capture import FORMAT, KIND, blob_name
from isakit.programs import write
from support.generators.fat_binaries import PTX, container, entry, packed
from support.generators.hostile_texts import SOURCE
from support.runners.gl import CAPTURES

LARGEST = 1 << 15
"""Bytes of the files of the conformance data that are used: those that are small say as much as large ones."""


def npy() -> bytes:
    """An array of 4 x 4 floats."""
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (4, 4), }"
    head += b" " * (63 - (len(head) + 10) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + bytes(64)


@cache
def images() -> tuple[bytes, ...]:
    """Files with programs: raw, hexadecimal, cubins of both kinds, fat binaries, shaders."""
    program = isakit.isa("tesla", "g80").assemble(SOURCE.replace("    tex 2d all $r0 $t0 $s0 $r0 $r1 // 0000\n", ""))
    made = [write(program, kind) for kind in ("raw", "hex", "cubin", "elf")]
    compiled = compile_ptx(PTX.decode()).module
    made += [f.write_elf_cubin(compiled, 64), f.write_elf_cubin(compiled, 32)]
    made.append(container(entry(1, packed(PTX), 13, b"a.cu", 0x2010, len(PTX)), entry(2, made[3], 13),
                          entry(4, made[2], 10, b"b.cu")))  # fmt: skip
    shared = shared_dir()
    if shared is not None:
        for pattern in ("corpus/tesla/cubins/*.cubin", "corpus/tesla/textcubins/*.cubin", "corpus/usse/gxp/*.gxp"):
            small = [p for p in sorted(shared.glob(pattern)) if p.stat().st_size <= LARGEST]
            made += [p.read_bytes() for p in small[:6]]
    return tuple(made)


@cache
def textures() -> tuple[bytes, ...]:
    """DDS, KTX and GXT files: plain, in blocks, with levels, faces and palettes."""
    r = Random(7)
    dds = struct.pack("<4s7I44x8I5I", b"DDS ", 124, 0x2100F, 4, 4, 0, 0, 2, 32, 0x41, 0, 32, 0xFF, 0xFF00, 0xFF0000,
                      0xFF000000, 0x1000, 0, 0, 0, 0) + r.randbytes(80)  # fmt: skip
    cube = struct.pack("<4s7I44x2I4s5I5I", b"DDS ", 124, 0x2100F, 8, 8, 0, 0, 1, 32, 4, b"DXT5", 0, 0, 0, 0, 0,
                       0x1000, 0xFE00, 0, 0, 0) + r.randbytes(6 * 64)  # fmt: skip
    ktx = b"\xabKTX 11\xbb\r\n\x1a\n" + struct.pack("<13I", 0x04030201, 0, 1, 0, 0x83F1, 0, 8, 8, 0, 0, 6, 1, 4)
    ktx += b"abcd" + struct.pack("<I", 32) + r.randbytes(6 * 32)
    made = [dds, cube, ktx]
    for kind, number, palette in ((3, 0x0C001000, 0), (0, 0x0C000000, 0), (3, 0x95000000, 1024), (7, 0x85000000, 0)):
        content = r.randbytes(8 * 8 * 4 * (6 if kind == 7 else 1)) + r.randbytes(palette)
        head = struct.pack("<4s7I", b"GXT\0", 0x10000003, 1, 64, len(content), 0, int(palette > 0), 0)
        record = struct.pack("<IIiIIIHHB3x", 64, len(content) - palette, 0 if palette else -1, 0, kind << 29, number,
                             8, 8, 1)  # fmt: skip
        made.append(head + record + content)
    return tuple(made)


@cache
def scenes() -> tuple[dict[str, Any], ...]:
    """Scenes of few pixels, with arrays, textures, constants and programs in them."""
    out: list[dict[str, Any]] = []
    for path in sorted((ROOT / "tests/vectors/tesla/scenes").glob("*/scene.json")):
        scene = json.loads(path.read_text())
        scene["width"] = scene["height"] = 16
        for d in scene["draws"]:
            d["code"] = {"a0": d["code"].get("a0") or next(iter(d["code"].values()))}
        out.append(scene)
    return tuple(out)


@cache
def gl_captures() -> tuple[bytes, ...]:
    """What programs sent to the card: small ones, of draws, textures and launches."""
    return tuple((CAPTURES / f"{name}.glc").read_bytes() for name in ("triangle-a0", "triangle-50", "textured-a3",
                                                                      "compute-a3"))  # fmt: skip


TEXTURED = """
.version 1.4
.target sm_13
.tex .u32 image;
.entry k (.param .u64 out)
{
    .reg .u64 %rd<4>;
    .reg .u32 %r<8>;
    .reg .f32 %f<8>;
    ld.param.u64 %rd1, [out];
    cvt.u32.u16 %r1, %tid.x;
    cvt.rn.f32.u32 %f1, %r1;
    mov.f32 %f2, 0f3F000000;
    mov.f32 %f3, %f2;
    tex.2d.v4.f32.f32 {%f4, %f5, %f6, %f7}, [image, {%f1, %f2, %f3, %f3}];
    mul.lo.u32 %r2, %r1, 4;
    cvt.u64.u32 %rd2, %r2;
    add.u64 %rd3, %rd1, %rd2;
    st.global.f32 [%rd3], %f4;
    exit;
}
"""
OUT, TEXELS = 0x20000, 0x30000


@cache
def cuda_capture() -> tuple[dict[str, Any], dict[str, bytes]]:
    """(launch file, blobs by name) of a captured launch with a texture."""
    blobs: dict[str, bytes] = {}

    def blob(data: bytes) -> str:
        blobs[blob_name(data)] = data
        return blob_name(data)

    module = f.write_elf_cubin(compile_ptx(TEXTURED, "gt200").module, 64)
    binding = {"address": TEXELS, "width": 4, "height": 4, "depth": 1, "pitch": 64, "target": "2d", "size": 256}
    state = {"normalized": False, "filter": 0, "modes": [1, 1, 1], "as_float": False,
             "channel": {"bits": [32, 0, 0, 0], "kind": 2}}  # fmt: skip
    params = struct.pack("<Q", OUT)
    entry = {
        "kernel": "k", "module": blob(module), "chip": "gt200", "grid": [1, 1], "block": [4, 1, 1], "shared": 0,
        "params": params.hex(), "constants": {"0": blob(bytes(64))}, "windows": {"3": [OUT, 256]},
        "textures": {"image": {"binding": binding, "state": state}}, "unbound": "fault",
        "ranges": [[OUT, 256], [TEXELS, 256]],
        "memory": {str(TEXELS): blob(struct.pack("<64f", *range(64)))},
        "after": {str(OUT): blob(struct.pack("<4f", 0, 1, 2, 3) + bytes(240))}, "fault": None, "instructions": 80,
    }  # fmt: skip
    return entry, blobs


def write_cuda_capture(folder: Path, entry: Any, blobs: dict[str, bytes]) -> None:
    """Write a captured launch into a folder in place of the one there; `blobs` keep their names whatever is in them."""
    if not folder.exists():
        (folder / "launches").mkdir(parents=True)
        (folder / "blobs").mkdir()
        (folder / "capture.json").write_text(json.dumps({"kind": KIND, "format": FORMAT}))
    for path in (folder / "blobs").iterdir():
        if path.name not in blobs:
            path.unlink()
    (folder / "launches" / "0001.json").write_text(json.dumps(entry))
    for name, data in blobs.items():
        path = folder / "blobs" / name
        packed = _packed(data)
        if not path.exists() or path.read_bytes() != packed:
            path.write_bytes(packed)


@lru_cache(maxsize=64)
def _packed(data: bytes) -> bytes:
    return zlib.compress(data, 1)

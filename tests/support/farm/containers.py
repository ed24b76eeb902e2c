"""Files of every format with something wrong in them, and files that are written and read back."""

from __future__ import annotations

import gc
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import isakit.asm as asm
from conftest import shared_dir
from isakit import formats as f
from isakit.cli.arguments import parse as argument
from isakit.compile import compile_ptx
from isakit.errors import FormatError, IsakitError
from isakit.formats.lz4 import unpack_block
from isakit.graphics.scene import Scene
from isakit.hosts.cuda.capture import blob_name
from isakit.hosts.cuda.replay import Capture
from isakit.hosts.drm.card_settings import CardSettings
from isakit.hosts.drm.replay import Replay
from isakit.runtime.texture_files import read_texture
from support.farm import samples
from support.farm.campaign import Campaign, Wrong, pieces_left_out
from support.farm.structures import other_number, with_other_numbers, with_other_records, with_other_values
from support.generators import hostile_shaders
from support.generators.fat_binaries import PTX, packed
from support.generators.ptx_random import Program

LIMIT = 100_000
"""Instructions a damaged capture may run."""


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
            out[at : at + size] = other_number(old, size, r, len(out), at).to_bytes(size, "little")
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


def _bytes(data: bytes, r: Random) -> bytes:
    """Damage that knows the structure, or that does not."""
    return with_other_numbers(data, r) if r.random() < 0.5 else damaged(data, r)


def _scene(r: Random) -> bytes:
    made = r.choice(samples.scenes())
    if r.random() < 0.85:
        # Programs have no budget when they draw, so that only what is around them changes.
        return json.dumps(with_other_values(made, r, ("words",))).encode()
    return damaged(json.dumps(made).encode(), r)


def _gl(r: Random) -> bytes:
    made = r.choice(samples.gl_captures())
    return with_other_records(made, r) if r.random() < 0.9 else damaged(made, r)


def _cuda(r: Random) -> dict[str, Any]:
    entry, blobs = samples.cuda_capture()
    if r.random() < 0.5:
        return {"entry": with_other_values(entry, r), "blobs": blobs}
    name, damage = r.choice(sorted(blobs)), r.choice((damaged, with_other_numbers))
    new = damage(blobs[name], r)
    known = r.random() < 0.9  # under its right name
    blobs = {n: new if n == name else data for n, data in blobs.items()}
    if known:
        blobs[blob_name(new)] = blobs.pop(name)
        entry = json.loads(json.dumps(entry).replace(name, blob_name(new)))
    return {"entry": entry, "blobs": blobs}


MAKE: dict[str, tuple[int, Callable[[Random], Any]]] = {
    "image": (40, lambda r: _bytes(r.choice(samples.images()), r)),
    "texture": (6, lambda r: _bytes(r.choice(samples.textures()), r)),
    "npy": (4, lambda r: damaged(samples.npy(), r)),
    "lz4": (2, lambda r: damaged(packed(PTX), r)),
    "scene": (2, _scene),
    "shader": (4, lambda r: _bytes(hostile_shaders.shader(r.choice(("vertex", "fragment"))), r)),
    "cuda": (2, _cuda),
    "gl": (1, _gl),
}
"""How a damaged file is used: how often, and what makes one."""


def _make(seed: int) -> dict[str, Any]:
    r = Random(seed)
    kind = r.choices(list(MAKE), [often for often, _ in MAKE.values()])[0]
    return {"kind": kind, "data": MAKE[kind][1](r)}


_listed: set[int] = set()
"""Hashes of the code whose listing has been written: most damage is elsewhere, and listings take longest."""
_MOST_LISTED = 1 << 18


def _read_image(data: bytes) -> set[str]:
    found = {f"found {x.what}" for x in f.find_embedded(data)}
    for m in f.load_images(data):
        found.add(f"{m.isa} {m.variant}")
        for k in m.kernels.values():
            program = k.program
            if program.to_bytes() != k.code:
                raise Wrong("the program of a kernel has other bytes than the kernel")
            key = hash((program.decoder, k.code))
            if key in _listed:  # what the file says besides its code
                program = asm.Program(program.decoder, (), program.address, program.tail, program.kernel, (), {})
            else:
                if len(_listed) >= _MOST_LISTED:
                    _listed.clear()
                _listed.add(key)
            str(program)
    return found


@cache
def _folder() -> Path:
    """A folder of this process, in memory where there is such a place; making one takes longer than reading a file."""
    memory = Path("/dev/shm")
    made = tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None)
    _FOLDERS.append(made)
    return Path(made.name)


_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []
"""Folders that go with the process."""
_FROZEN_FOR = 200
_replays = count()


def _forget_devices() -> None:
    """Free the devices of earlier cases, each with 4 GiB of addresses.

    What has been there for long is not looked at again: the collector would need a tenth of a second for all modules.
    """
    if next(_replays) % _FROZEN_FOR == 0:
        gc.collect()
        gc.freeze()
    else:
        gc.collect()


def _in_a_file(read: Callable[[str], object], ending: str) -> Callable[[bytes], set[str]]:
    def check(data: bytes) -> set[str]:
        path = _folder() / f"case{ending}"
        path.write_bytes(data)
        read(str(path))
        return {f"read {ending}"}

    return check


def _read_lz4(data: bytes) -> set[str]:
    if len(unpack_block(data, 1 << 16)) > 1 << 16:
        raise Wrong("more came out than allowed")
    return {"read lz4"}


def _run_shader(data: bytes) -> set[str]:
    hostile_shaders.run(data)
    return {"ran shader"}


def _draw(path: str) -> None:
    Scene(path).render(engine="reference", max_instructions=LIMIT)


def _replay_gl(path: str) -> None:
    _forget_devices()
    replay = Replay(Path(path), CardSettings(engine="reference"))
    try:
        replay.run()
        wrong = [fault for fault in replay.report.faults if fault.startswith("internal")]
    finally:
        replay.close()
    if wrong:
        raise Wrong(wrong[0])


def _replay_cuda(data: dict[str, Any]) -> set[str]:
    _forget_devices()
    samples.write_cuda_capture(_folder() / "c", data["entry"], data["blobs"])
    done = Capture(_folder() / "c").replay(1, check=True, engine="reference", max_instructions=LIMIT)
    return {"replayed cuda" if done.same else "replayed cuda, with another result"}


READ: dict[str, Callable[[Any], set[str]]] = {
    "image": _read_image, "texture": _in_a_file(read_texture, ".texture"), "scene": _in_a_file(_draw, ".json"),
    "npy": _in_a_file(lambda p: argument(f"in:{p}"), ".npy"), "lz4": _read_lz4, "shader": _run_shader,
    "cuda": _replay_cuda, "gl": _in_a_file(_replay_gl, ".glc"),
}  # fmt: skip


def check_file(case: dict[str, Any]) -> set[str]:
    """A file is read and used, or refused with a reason and a place."""
    import click

    try:
        return READ[case["kind"]](case["data"])
    except (IsakitError, click.ClickException) as e:
        if isinstance(e, FormatError) and (e.offset < 0 or not e.reason):
            raise Wrong(f"{e!r} has no place or no reason") from None
        if not str(e).strip():
            raise Wrong(f"{e!r} says nothing") from None
        return {f"{case['kind']} refused"}


def _smaller_file(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    data = case["data"]
    if not isinstance(data, bytes):
        return
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

"""One access of one lane anywhere: it does exactly what its address allows, or faults; nothing else changes.

The device's memory lies between canaries in a buffer of the host. What an access may do is worked out here from the
sizes alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np

import isakit
from isakit.errors import MachineFault
from isakit.machine.tesla.address_spaces import LinearWindow, PitchWindow
from support.compiled import WAYS, compiled_device
from support.farm.campaign import Campaign, Wrong

CANARY = 0xA5
ROOM = 1 << 17
"""Bytes of the host's buffer that are the device's."""
MARGIN = 4096
BUFFER, SHARED, LOCAL = 1000, 0x80, 0x40
BASE = 0x10000
PITCH, WIDTH, HEIGHT = 64, 40, 8
GLOBAL = ("u8", "u16", "b32", "b64", "b128")
TYPES = {"g14": GLOBAL, "g3": GLOBAL, "g5": GLOBAL, "s": ("b8", "b16", "b32"), "l": GLOBAL}
"""What stores take, by space: g14 is all memory, g3 a window over the buffer, g5 one with rows."""
PATTERN = (0x11223344, 0x55667788, 0x99AABBCC, 0xDDEEFF01)
ENGINES: tuple[str, ...] = ("reference", *WAYS)


def _bytes(ty: str) -> int:
    return int(ty[1:]) // 8


def _make(seed: int) -> dict[str, Any]:
    r = Random(seed)
    space = r.choice(tuple(TYPES))
    ty = r.choice(TYPES[space])
    size = _bytes(ty)
    if space == "g5":
        x = r.choice(
            (0, size, WIDTH - size, WIDTH - size + 1, WIDTH, PITCH - size, 0xFFFF - size, r.randrange(1 << 16))
        )
        y = r.choice((0, 1, HEIGHT - 1, HEIGHT, 0xFFFF, r.randrange(1 << 16)))
        address = (x & 0xFFFF) | (y & 0xFFFF) << 16
    else:
        end = {"g14": BASE + BUFFER, "g3": BUFFER, "s": SHARED, "l": LOCAL}[space]
        start = BASE if space == "g14" else 0
        near = r.choice((start, end, end - size, end + size, 0, 1 << 31, (1 << 32) - size, 1 << 16))
        address = (near + r.choice((0, 0, 0, 1, -1, size, -size, 2, 4, -4, 16))) & 0xFFFF_FFFF
        if r.random() < 0.15:
            address = r.getrandbits(32)
    if space in ("s", "l"):
        address &= 0xFFFF  # address registers have 16 bits
    if r.random() < 0.6:
        address -= address % size
    return {"engine": ENGINES[seed % len(ENGINES)], "space": space, "type": ty, "address": address,
            "load": space[0] == "g" and r.random() < 0.3}  # fmt: skip


def _text(case: dict[str, Any]) -> str:
    """The access; lanes but the first have left before it."""
    sets = "".join(f"mov b32 $r{4 + k} {v:#x}\n" for k, v in enumerate(PATTERN))
    head = f"mov b32 $r1 {case['address']:#x}\n{sets}"
    where = f"{case['space']}[$r1]"
    if case["space"] in ("s", "l"):
        head += "shl $a1 $r1 0x0\n"
        where = f"{case['space']}[$a1]"
    size = _bytes(case["type"])
    register = "$r4" + {8: "d", 16: "q"}.get(size, "")
    if case["load"]:
        return (head + f"ld {case['type']} {register} {where}\nmov b32 $r1 b32 s[0x10]\n"
                + f"st b{8 * max(size, 4)} g14[$r1] {register}\nexit nop\n")  # fmt: skip
    return head + f"st {case['type']} {where} {register}\nexit nop\n"


def _allowed(case: dict[str, Any]) -> int | None:
    """Where in the buffer the access goes, -1 for s[] and l[]; None if it faults."""
    address, size = case["address"], _bytes(case["type"])
    if address % size:
        return None
    if case["space"] == "g5":
        x, y = address & 0xFFFF, address >> 16
        at = y * PITCH + x
        return at if x < WIDTH and y < HEIGHT and at + size <= BUFFER else None
    if case["space"] in ("s", "l"):
        return -1 if address + size <= (SHARED if case["space"] == "s" else LOCAL) else None
    at = address - BASE if case["space"] == "g14" else address
    return at if at >= 0 and at + size <= BUFFER else None


def check_access(case: dict[str, Any]) -> set[str]:
    """The access changes what it may, in the buffer and nowhere else, or faults and changes nothing."""
    whole = np.full(ROOM + 2 * MARGIN, CANARY, np.uint8)
    offset = MARGIN + (-(whole.ctypes.data + MARGIN)) % 64
    mine = whole[offset : offset + ROOM]
    mine[:] = 0
    options: dict[str, Any] = {"limits": False, "memory": memoryview(mine)}
    way = WAYS.get(case["engine"])
    device = isakit.Device("gt200", engine="reference", **options) if way is None else compiled_device(
        way, "gt200", **options)  # fmt: skip
    buffer = device.alloc(BUFFER, BASE)
    out = device.alloc(16)
    content = (np.arange(BUFFER) % 251).astype(np.uint8)
    device.write(buffer, content)
    device.bind(3, LinearWindow(BASE, BUFFER))
    device.bind(5, PitchWindow(BASE, PITCH, WIDTH, HEIGHT))
    words = isakit.isa("tesla", "gt200").assemble(_text(case)).words
    kernel = device.load(list(words), registers=16, shared=SHARED, local=LOCAL, barriers=1)["main"]
    before = mine.copy()
    at, size = _allowed(case), _bytes(case["type"])
    try:
        kernel.launch(1, 1, param_bytes=np.array([out.address], np.uint32).tobytes(), max_instructions=1000)
        faulted = ""
    except MachineFault as e:
        faulted = e.kind
    if bool(faulted) != (at is None):
        raise Wrong(f"{'faults with ' + faulted if faulted else 'does not fault'} at {case['address']:#x}")
    changed = np.flatnonzero(mine != before)
    pattern = np.array(PATTERN, np.uint32).tobytes()[:size]
    if at is not None and at >= 0:
        if case["load"]:
            got = device.read(out, np.uint8, size).tobytes()
            if got != content[at : at + size].tobytes():
                raise Wrong(f"the load gives {got.hex()}")
            changed = changed[:0]
        elif device.read(buffer, np.uint8, BUFFER)[at : at + size].tobytes() != pattern:
            raise Wrong("the store is lost")
    limit = size if at is not None and at >= 0 and not case["load"] else 0
    if len(changed) > limit or (limit and len(changed) and int(changed[-1]) - int(changed[0]) >= size):
        raise Wrong(f"{len(changed)} bytes of device memory changed, {limit} may")
    if (whole[:offset] != CANARY).any() or (whole[offset + ROOM :] != CANARY).any():
        raise Wrong("memory of the host changed")
    return {f"{case['engine']} {'ld' if case['load'] else 'st'} {case['type']} {case['space']}"}


def _simpler(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if case["engine"] != "reference":
        yield {**case, "engine": "reference"}


HERE = (Campaign("hostile", "single accesses at every edge of every space", _make, check_access, _simpler),)

"""Every memory instruction at every edge of every space: it does exactly what its addresses allow, or faults.

The device's memory lies between canaries in a buffer of the host. What an access may do is worked out here from the
sizes alone: the whole of the device's memory must be what stores leave, faults name the lowest lane that is wrong, and
nothing else changes. What atomics compute is the engines' to agree on; here they may change their own bytes.

Seeds walk through all kinds of accesses on all engines, in turn; what is random is where they go.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cache
from itertools import product
from random import Random
from typing import Any

import numpy as np

import isakit
from isakit.errors import IsakitError, MachineFault
from isakit.machine.tesla.address_spaces import LinearWindow, PitchWindow
from support.farm.campaign import Campaign, Wrong, pieces_left_out
from support.runners.compiled import WAYS, device_on

CANARY = 0xA5
ROOM = 1 << 17
"""Bytes of the host's buffer that are the device's."""
LAUNCHES = 24
"""Launches of a kernel, each with other addresses; making the kernel takes as long as all of them."""
MARGIN = 4096
BUFFER, SHARED, LOCAL, CONSTANT = 1000, 0x80, 0x40, 100
BASE, OUT, TABLE = 0x10000, 0x18000, 0x1C000
OUT_BYTES, TABLE_BYTES = 512, 512
PITCH, WIDTH, HEIGHT = 64, 40, 8
PATTERN = (0x11223344, 0x55667788, 0x99AABBCC, 0xDDEEFF01)
ENGINES: tuple[str, ...] = ("reference", *WAYS)
BANKS = {"c0": CONSTANT, "c1": CONSTANT - 2, "c13": 4, "c14": 0}
"""Constant banks and their bytes; of the last one nothing is there."""

_LOADED = ("u8", "s8", "u16", "s16", "b32", "b64", "b128")
_STORED = ("u8", "u16", "b32", "b64", "b128")
_WINDOWS = ("g14", "g3", "g5", "g7")
"""All memory, a window over the buffer, one with rows, and one that is not bound."""
_ARITHMETIC = ("add", "inc", "dec", "max", "min")
_BITWISE = ("and", "or", "xor")


def _kinds() -> Iterator[tuple[str, str, str]]:
    """(operation, type, space) of all accesses."""
    yield from product(("ld",), _LOADED, _WINDOWS)
    yield from product(("st",), _STORED, _WINDOWS)
    yield from product(("ld", "st"), _STORED, ("l",))
    yield from product(("ld",), ("s8", "s16"), ("l",))
    yield from product(("ld", "lock"), ("b32",), ("s",))
    yield from product(("ld",), ("u8", "u16", "s16"), ("s",))
    yield from product(("st",), ("b8", "b16", "b32"), ("s",))
    yield from product(("unlock",), ("b32",), ("s",))
    yield from product(("operand",), ("b32", "u16"), ("s",))
    yield from product(("ld",), ("u8", "u16", "s16", "b32"), BANKS)
    for how in ("atom", "red"):
        for op, ty in (*product(_ARITHMETIC, ("u32", "s32")), *product(("exch", "cas", *_BITWISE), ("b32",)),
                       *product(("add",), ("u64",)), *product(("exch", "cas"), ("b64",))):  # fmt: skip
            if (how, op) != ("red", "cas"):
                yield from product((f"{how} {op}",), (ty,), _WINDOWS)


MATRIX = [(engine, *kind) for kind in _kinds() for engine in ENGINES]
"""All of (engine, operation, type, space)."""


def _bytes(ty: str) -> int:
    return int(ty[1:]) // 8


def _limit(space: str) -> int:
    return {"s": SHARED, "l": LOCAL, **BANKS}.get(space, BUFFER)


def _address(r: Random, space: str, size: int) -> int:
    """An address at or near an edge."""
    if space == "g5":
        x = r.choice(
            (0, size, WIDTH - size, WIDTH - size + 1, WIDTH, PITCH - size, 0xFFFF - size, r.randrange(1 << 16))
        )
        y = r.choice((0, 1, HEIGHT - 1, HEIGHT, 0xFFFF, r.randrange(1 << 16)))
        return (x & 0xFFFF) | (y & 0xFFFF) << 16
    start = BASE if space == "g14" else 0
    end = start + _limit(space)
    near = r.choice((start, end, end - size, end + size, 0, 1 << 31, (1 << 32) - size, 1 << 16))
    address = near + r.choice((0, 0, 0, 1, -1, size, -size, 2, 4, -4, 16))
    return r.getrandbits(32) if r.random() < 0.1 else address


def _make(seed: int) -> dict[str, Any]:
    r = Random(seed)
    if seed % 16 == 15:
        return _make_texture(r)
    engine, op, ty, space = MATRIX[seed % len(MATRIX)]
    launches = [_addresses(r, ty, space) for _ in range(LAUNCHES)]
    return {"engine": engine, "op": op, "type": ty, "space": space, "launches": launches}


def _addresses(r: Random, ty: str, space: str) -> list[int]:
    """Where the lanes of a launch go."""
    size = _bytes(ty)
    first = _address(r, space, size)
    if r.random() < 0.6:
        first -= first % size
    lanes = r.choice((1, 1, 2, 16, 31, 32))
    step = r.choice((size, size, size, -size, 0, 2 * size, 4, 64))
    addresses = [first + k * step for k in range(lanes)]
    if lanes > 1 and space != "g5" and r.random() < 0.5:  # a row that ends at the edge, or one beyond
        end = (BASE if space == "g14" else 0) + _limit(space)
        first = end - end % size - lanes * size + r.choice((0, 0, size, -size))
        addresses = [first + k * size for k in range(lanes)]
    if lanes > 1 and r.random() < 0.2:
        addresses[r.randrange(lanes)] = _address(r, space, size)
    sixteen = not space.startswith("g")  # what address registers hold
    return [a & (0xFFFF if sixteen else 0xFFFF_FFFF) for a in addresses]


HEAD = """
.kernel k
.param out u32
.param table u32
mov b32 $r12 b32 s[out]
mov b32 $r13 b32 s[table]
cvt u32 $r0 u16 $r0l
shl b32 $r1 $r0 0x4
add b32 $r12 $r12 $r1
add b32 $r13 $r13 $r1
ld b32 $r1 g14[$r13]
"""
"""Every lane has 16 bytes of the table, whose first word is its address, and 16 bytes for what it loads."""


def text_of(case: dict[str, Any]) -> str:
    """The kernel of an access."""
    op, ty, space = case["op"], case["type"], case["space"]
    out = HEAD + "".join(f"mov b32 $r{4 + k} {v:#x}\n" for k, v in enumerate(PATTERN))
    where = f"{space}[$r1]"
    if not space.startswith("g"):
        out += "shl $a1 $r1 0x0\n"
        where = f"{space}[$a1]"
    wide = {8: "d", 16: "q"}.get(_bytes(ty), "")
    how, _, atomic = op.partition(" ")
    if how in ("st", "unlock"):
        return out + f"st {'unlock ' if how == 'unlock' else ''}{ty} {where} $r4{wide}\nexit nop\n"
    if how == "red":
        return out + f"red {atomic} {ty} {where} $r4{wide}\nexit nop\n"
    if how == "atom":
        plain = "" if atomic in ("exch", "cas") else "ld "
        new = f" $r6{wide}" if atomic == "cas" else ""
        out += f"{plain}{atomic} {ty} $r8{wide} {where} $r4{wide}{new}\n"
    elif how == "operand":
        out += f"mov b32 $r8 {ty} {where}\n"
    elif how == "lock":
        out += f"ld lock $c0 $r8 {ty} {where}\n"
    else:
        out += f"ld $r8 {ty} {where}\n" if space[0] in "sc" else f"ld {ty} $r8{wide} {where}\n"
    return out + f"st b{8 * max(_bytes(ty), 4)} g14[$r12] $r8{wide}\nexit nop\n"


@cache
def _program(text: str) -> Any:
    return isakit.isa("tesla", "gt200").assemble(text)


def _place(case: dict[str, Any], address: int) -> int | None:
    """Where in the device's memory an access goes, or its address in its own space; None if it faults."""
    space, size = case["space"], _bytes(case["type"])
    if address % size or space == "g7":
        return None
    if not space.startswith("g"):
        return address if address + size <= _limit(space) else None
    at = address
    if space == "g5":
        x, y = address & 0xFFFF, address >> 16
        if x >= WIDTH or y >= HEIGHT:
            return None
        at = BASE + y * PITCH + x
    elif space == "g3":
        if address >= BUFFER:
            return None
        at = BASE + address
    allocated = ((BASE, BUFFER), (OUT, OUT_BYTES), (TABLE, TABLE_BYTES))
    return at if any(a <= at and at + size <= a + n for a, n in allocated) else None


class Bed:
    """A device whose memory lies between canaries."""

    def __init__(self, engine: str) -> None:
        self.whole = np.full(ROOM + 2 * MARGIN, CANARY, np.uint8)
        self.offset = MARGIN + (-(self.whole.ctypes.data + MARGIN)) % 64
        self.memory = self.whole[self.offset : self.offset + ROOM]
        self.memory[:] = 0
        options: dict[str, Any] = {"limits": False, "memory": memoryview(self.memory)}
        self.device = device_on(engine, "gt200", **options)
        for at, size in ((BASE, BUFFER), (OUT, OUT_BYTES), (TABLE, TABLE_BYTES)):
            self.device.alloc(size, at)
        self.memory[BASE : BASE + BUFFER] = (np.arange(BUFFER) % 251).astype(np.uint8)
        self.device.bind(3, LinearWindow(BASE, BUFFER))
        self.device.bind(5, PitchWindow(BASE, PITCH, WIDTH, HEIGHT))

    def prepare(self, text: str) -> None:
        """Load a kernel."""
        self.kernel = self.device.load(_program(text), registers=16, shared=SHARED, local=LOCAL, barriers=1)["k"]
        for bank, size in BANKS.items():
            if size:
                self.kernel.constants[int(bank[1:])] = bytearray(range(7, 7 + size))
        self.content = self.memory.copy()

    def launch(self, rows: list[tuple[int, ...]]) -> MachineFault | None:
        """Run the kernel on memory as it was, with a row of the table for every lane; gives its fault."""
        self.memory[:] = self.content
        for k, row in enumerate(rows):
            data = struct.pack(f"<{len(row)}I", *row)
            at = TABLE + 16 * k
            self.memory[at : at + len(data)] = np.frombuffer(data, np.uint8)
        try:
            self.kernel.launch(1, len(rows), np.uint32(OUT), np.uint32(TABLE), max_instructions=32 * 1000)
        except MachineFault as e:
            return e
        finally:
            self.check_canaries()
        return None

    def check_canaries(self) -> None:
        """Raise Wrong where memory around the device's has changed."""
        if (self.whole[: self.offset] != CANARY).any() or (self.whole[self.offset + ROOM :] != CANARY).any():
            raise Wrong("memory of the host changed")


def _extended(raw: bytes, ty: str) -> bytes:
    """What a load leaves in its registers."""
    if len(raw) >= 4:
        return raw
    return int.from_bytes(raw, "little", signed=ty[0] == "s").to_bytes(4, "little", signed=ty[0] == "s")


def check_access(case: dict[str, Any]) -> set[str]:
    """The access leaves the memory it should, or faults where it should and changes nothing."""
    if "coordinates" in case:
        return check_texture(case)
    bed, other, text = Bed(case["engine"]), None, text_of(case)
    bed.prepare(text)
    for addresses in case["launches"]:
        if _check_launch(case, addresses, bed) and case["engine"] != "reference":
            if other is None:
                other = Bed("reference")
                other.prepare(text)
            other.launch([(a,) for a in addresses])
            if not np.array_equal(bed.memory, other.memory):
                raise Wrong("the reference engine leaves something else")
    return {f"{case['engine']} {case['op']} {case['type']} {case['space']}"}


def _check_launch(case: dict[str, Any], addresses: list[int], bed: Bed) -> bool:
    """Whether some bytes are only for the reference engine to tell."""
    ty, space, op = case["type"], case["space"], case["op"]
    size = _bytes(ty)
    want = bed.content.copy()
    for k, a in enumerate(addresses):
        want[TABLE + 16 * k : TABLE + 16 * k + 4] = np.frombuffer(struct.pack("<I", a), np.uint8)
    free = np.zeros(len(want), bool)
    """Bytes that may hold anything."""
    places = [_place(case, a) for a in addresses]
    fault = bed.launch([(a,) for a in addresses])
    # All lanes are checked for alignment before any is checked for its place, and the space before both.
    odd = [k for k, a in enumerate(addresses) if a % size and space not in ("g7", "c14")]
    bad = next((k for k, at in enumerate(places) if at is None and (k in odd or not odd)), None)
    if (fault is None) != (bad is None):
        first = addresses[bad or 0]
        raise Wrong(f"{'does not fault' if fault is None else f'faults with {fault.kind}'} at {first:#x}")
    if fault is not None and (fault.lane, fault.address) != (bad, addresses[bad or 0]):
        raise Wrong(f"the fault names lane {fault.lane}, address {fault.address:#x}; it is lane {bad}")
    if fault is None:
        for k, at in enumerate(places):
            assert at is not None
            out = OUT + 16 * k
            if op == "st" and space.startswith("g"):
                want[at : at + size] = np.frombuffer(struct.pack("<4I", *PATTERN)[:size], np.uint8)
            elif op == "ld" and (space.startswith("g") or space in BANKS):
                content = bytes(want[at : at + size]) if space not in BANKS else bytes(range(7 + at, 7 + at + size))
                loaded = _extended(content, ty)
                want[out : out + len(loaded)] = np.frombuffer(loaded, np.uint8)
            elif " " in op:
                free[at : at + size] = True
                if op.startswith("atom"):
                    free[out : out + max(size, 4)] = True
            elif op not in ("st", "unlock"):
                free[out : out + max(size, 4)] = True
    wrong = np.flatnonzero((bed.memory != want) & ~free)
    if len(wrong):
        at = int(wrong[0])
        lost = op == "st" and bed.memory[at] == (at - BASE) % 251
        raise Wrong("the store is lost" if lost else f"{len(wrong)} bytes are wrong, the first at {at:#x}")
    return fault is None and bool(free.any())


# --- textures ---------------------------------------------------------------------------------------------------------
TAG = 0x5A5A_0000
"""Upper half of all texels; nothing else in the device's memory or around it has it."""
_TEXTURE_OPS = ("texauto", "texlod", "texbias", "texfetch")
_ODD = (0, 1, 2, 3, 0x3F800000, 0xBF800000, 0x3F000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7F7FFFFF, 0xFF7FFFFF,
        0x80000000, 0x7FFFFFFF, 0xFFFFFFFF, 0x4B800000, 0xCB800000, 0x4F000000, 0xCF000000, 0x5F000000, 0x00000001,
        0x41800000, 0x41780000, 16, 15, 0x10000)  # fmt: skip
_TEXTURE = """
ld b128 $r4q g14[$r13]
{op} all $r8:$r9:$r10:$r11 $t{texture} $s{sampler} $r4:$r5{more} 0x0 0x0 0x0
st b128 g14[$r12] $r8q
exit nop
"""


def _make_texture(r: Random) -> dict[str, Any]:
    """A texture over the buffer whose header says anything, sampled anywhere."""
    size = (1, 2, 3, 4, 7, 15, 16, 17, 64, 4096, 1 << 16, (1 << 31) - 1)
    sane = r.random() < 0.6
    width, height = (r.randrange(1, 17), r.randrange(1, 16)) if sane else (r.choice(size), r.choice(size))
    target = r.choice(("buffer", "1d", "2d", "rect", "3d"))
    return {
        "engine": r.choice(ENGINES), "op": r.choice(_TEXTURE_OPS), "target": target,
        "width": width, "height": 1 if target in ("buffer", "1d") and sane else height,
        "depth": 1 if sane or target != "3d" else r.choice(size),
        "pitch": r.choice((None, None, 64, 64, 16, 4, 0, -64, 63, 1 << 31)),
        "wrap": r.choice(("repeat", "edge", "mirror", "border")), "linear": r.random() < 0.2,
        "texture": r.choice((0, 0, 0, 0, 1, 31, 127)), "sampler": r.choice((0, 0, 0, 0, 0, 15)),
        "coordinates": [[r.choice(_ODD) if r.random() < 0.7 else r.getrandbits(32) for _ in range(4)]
                        for _ in range(r.choice((1, 4, 32)))],
    }  # fmt: skip


def check_texture(case: dict[str, Any]) -> set[str]:
    """A sample is made of texels of the texture and the border, or refused."""
    from isakit.texture import Sampler, Texture

    bed = Bed(case["engine"])
    texels = np.arange(BUFFER // 4, dtype=np.uint32) + np.uint32(TAG)
    bed.memory[BASE : BASE + BUFFER] = texels.view(np.uint8)
    view = bed.memory[BASE : BASE + BUFFER]
    name = f"{case['engine']} {case['op']} {case['target']}"
    kind = "linear" if case["linear"] else "nearest"
    try:
        texture = Texture.from_memory(lambda: view, "r32ui", case["width"], case["height"], case["depth"],
                                      target=case["target"], pitch=case["pitch"])  # fmt: skip
        sampler = Sampler(wrap=(case["wrap"],) * 3, mag=kind, min=kind)
        bed.device.bind_texture(0, texture, sampler)
        more = ":$r6" if case["target"] == "3d" else ""
        text = HEAD + _TEXTURE.format(op=case["op"], texture=case["texture"], sampler=case["sampler"], more=more)
        bed.prepare(text)
        fault = bed.launch([tuple(c) for c in case["coordinates"]])
    except IsakitError:
        bed.check_canaries()
        return {f"{name} refused"}
    if fault is not None:
        return {f"{name} {fault.kind}"}
    got = bed.memory[OUT : OUT + 16 * len(case["coordinates"])].view(np.uint32).reshape(-1, 4)[:, 0]
    inside = (got >= TAG) & (got < TAG + len(texels))
    if case["pitch"] in (None, 64, 16, 4) and not (inside | (got == 0)).all():
        raise Wrong(f"a sample gives {int(got[~inside & (got != 0)][0]):#x}, which is no texel")
    return {name}


def _simpler(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if case["engine"] != "reference":
        yield {**case, "engine": "reference"}
    if "coordinates" in case:
        for fewer in pieces_left_out(case["coordinates"]):
            if fewer:
                yield {**case, "coordinates": fewer}
        return
    for fewer in pieces_left_out(case["launches"]):
        if fewer:
            yield {**case, "launches": fewer}
    if len(case["launches"]) == 1:
        for fewer in pieces_left_out(case["launches"][0]):
            if fewer:
                yield {**case, "launches": [fewer]}


HERE = (Campaign("hostile", f"{LAUNCHES} launches of a memory instruction at the edges of its space, or a texture",
                 _make, check_access, _simpler),)  # fmt: skip

"""Device properties as programs query them: cards for each compute capability, and the structures that describe them.

Source: [cuda-runtime] 2.5, 2.6; limits of the chip come from `isakit.machine.tesla.chips`, properties that do not
affect a simulation (clocks, sizes) from the cards' data sheets.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from isakit.errors import IsakitError, did_you_mean

Version = tuple[int, int]


@dataclass(frozen=True)
class Card:
    """A card with a chip: the properties that programs query.

    Attributes: `chip` (variant), `capability` (minor number of the compute capability 1.x), `name`, `memory` (bytes),
    `multiprocessors`, `clock` and `memory_clock` (kHz), `bus` (bits), `threads` (resident per multiprocessor),
    `registers` (per multiprocessor), `mapped` (host memory can be mapped), `overlap` (copies beside kernels),
    `integrated`.
    """

    chip: str
    capability: int
    name: str
    memory: int
    multiprocessors: int
    clock: int
    memory_clock: int
    bus: int
    threads: int
    registers: int
    mapped: bool = True
    overlap: bool = True
    integrated: bool = False


CARDS = {
    c.chip: c
    for c in (
        Card("g80", 0, "GeForce 8800 GTX", 768 << 20, 16, 1_350_000, 900_000, 384, 768, 8192, False, False),
        Card("g84", 1, "GeForce 9800 GTX", 512 << 20, 16, 1_688_000, 1_100_000, 256, 768, 8192, False),
        Card("gt215", 2, "GeForce GT 240", 1 << 30, 12, 1_340_000, 1_700_000, 128, 1024, 16384),
        Card("gt200", 3, "Tesla C1060", 0xFFFD_0000, 30, 1_296_000, 800_000, 512, 1024, 16384),
        Card("mcp77", 1, "GeForce 9400M", 256 << 20, 2, 1_100_000, 400_000, 128, 768, 8192, integrated=True),
    )
}
CAPABILITIES = {"sm_10": "g80", "sm_11": "g84", "sm_12": "gt215", "sm_13": "gt200"}


def card(device: str) -> Card:
    """Return the card for a chip or a compute capability. Raises IsakitError, which lists the valid names."""
    found = CARDS.get(CAPABILITIES.get(device, device))
    if found is None:
        names = [*CAPABILITIES, *CARDS]
        (hint,) = did_you_mean(device, names) or (f"there are {', '.join(names)}",)
        raise IsakitError(f"no device {device!r}; {hint}")
    return found


# --- structures --------------------------------------------------------------------------------------------------
# (field, letter of its type, count, first version that has it); `n` is a size_t. Order is that of the header files.
_FIELDS: tuple[tuple[str, str, int, Version], ...] = (
    ("name", "s", 256, (2, 0)),
    ("totalGlobalMem", "n", 1, (2, 0)),
    ("sharedMemPerBlock", "n", 1, (2, 0)),
    ("regsPerBlock", "i", 1, (2, 0)),
    ("warpSize", "i", 1, (2, 0)),
    ("memPitch", "n", 1, (2, 0)),
    ("maxThreadsPerBlock", "i", 1, (2, 0)),
    ("maxThreadsDim", "i", 3, (2, 0)),
    ("maxGridSize", "i", 3, (2, 0)),
    ("clockRate", "i", 1, (2, 0)),
    ("totalConstMem", "n", 1, (2, 0)),
    ("major", "i", 1, (2, 0)),
    ("minor", "i", 1, (2, 0)),
    ("textureAlignment", "n", 1, (2, 0)),
    ("texturePitchAlignment", "n", 1, (4, 1)),
    ("deviceOverlap", "i", 1, (2, 0)),
    ("multiProcessorCount", "i", 1, (2, 0)),
    ("kernelExecTimeoutEnabled", "i", 1, (2, 1)),
    ("integrated", "i", 1, (2, 2)),
    ("canMapHostMemory", "i", 1, (2, 2)),
    ("computeMode", "i", 1, (2, 2)),
    ("maxTexture1D", "i", 1, (3, 0)),
    ("maxTexture1DMipmap", "i", 1, (5, 0)),
    ("maxTexture1DLinear", "i", 1, (4, 1)),
    ("maxTexture2D", "i", 2, (3, 0)),
    ("maxTexture2DMipmap", "i", 2, (5, 0)),
    ("maxTexture2DLinear", "i", 3, (4, 1)),
    ("maxTexture2DGather", "i", 2, (4, 1)),
    ("maxTexture3D", "i", 3, (3, 0)),
    ("maxTexture3DAlt", "i", 3, (6, 5)),
    ("maxTextureCubemap", "i", 1, (4, 1)),
    ("maxTexture1DLayered", "i", 2, (4, 0)),
    ("maxTexture2DLayered", "i", 3, (3, 0)),
    ("maxTextureCubemapLayered", "i", 2, (4, 1)),
    ("maxSurface1D", "i", 1, (4, 1)),
    ("maxSurface2D", "i", 2, (4, 1)),
    ("maxSurface3D", "i", 3, (4, 1)),
    ("maxSurface1DLayered", "i", 2, (4, 1)),
    ("maxSurface2DLayered", "i", 3, (4, 1)),
    ("maxSurfaceCubemap", "i", 1, (4, 1)),
    ("maxSurfaceCubemapLayered", "i", 2, (4, 1)),
    ("surfaceAlignment", "n", 1, (3, 1)),
    ("concurrentKernels", "i", 1, (3, 0)),
    ("ECCEnabled", "i", 1, (3, 0)),
    ("pciBusID", "i", 1, (3, 0)),
    ("pciDeviceID", "i", 1, (3, 0)),
    ("pciDomainID", "i", 1, (4, 0)),
    ("tccDriver", "i", 1, (3, 2)),
    ("asyncEngineCount", "i", 1, (4, 0)),
    ("unifiedAddressing", "i", 1, (4, 0)),
    ("memoryClockRate", "i", 1, (4, 0)),
    ("memoryBusWidth", "i", 1, (4, 0)),
    ("l2CacheSize", "i", 1, (4, 0)),
    ("maxThreadsPerMultiProcessor", "i", 1, (4, 0)),
    ("streamPrioritiesSupported", "i", 1, (6, 0)),
    ("globalL1CacheSupported", "i", 1, (6, 5)),
    ("localL1CacheSupported", "i", 1, (6, 5)),
    ("sharedMemPerMultiprocessor", "n", 1, (6, 5)),
    ("regsPerMultiprocessor", "i", 1, (6, 5)),
    ("managedMemory", "i", 1, (6, 5)),
    ("isMultiGpuBoard", "i", 1, (6, 5)),
    ("multiGpuBoardGroupID", "i", 1, (6, 5)),
)


def properties(
    card: Card, version: Version, *, certain: bool = True, memory: int | None = None, pointer: int = 8
) -> bytes:
    """Return `cudaDeviceProp` in the layout of a version, for a program with pointers of 8 or 4 bytes.

    Unless it is `certain` which of the versions behind one library name a program was built with, the result is no
    longer than the smallest of their structures, that of CUDA 4.0.
    """
    values = _values(card, memory)
    out = _structure(values, version, pointer)
    # Up to 3.2 the structure ended with room for more: so many ints that it has these sizes where pointers are wide.
    whole = 512 if version < (3, 0) else 520 if version < (4, 0) else 0
    out += bytes(max(0, whole - len(_structure(values, version, 8))))
    return bytes(out if certain else out[: len(_structure(values, (4, 0), pointer))])


def _structure(values: Mapping[str, Value], version: Version, pointer: int) -> bytearray:
    out = bytearray()
    for name, letter, count, since in _FIELDS:
        if version < since:
            continue
        if letter == "s":
            out += str(values[name]).encode().ljust(count, b"\0")
            continue
        size = pointer if letter == "n" else 4
        out += bytes(-len(out) % size)
        value = values.get(name, 0)
        numbers = value if isinstance(value, tuple) else (value,) * count
        out += struct.pack(f"<{count}{'Q' if size == 8 else 'I' if letter == 'n' else 'i'}", *numbers)
    out += bytes(-len(out) % pointer)
    return out


Value = int | str | tuple[int, ...]


def _values(card: Card, memory: int | None) -> Mapping[str, Value]:
    return {
        "name": card.name,
        "totalGlobalMem": card.memory if memory is None else memory,
        "sharedMemPerBlock": 16384,
        "regsPerBlock": card.registers,
        "warpSize": 32,
        "memPitch": 0x7FFF_FFFF,
        "maxThreadsPerBlock": 512,
        "maxThreadsDim": (512, 512, 64),
        "maxGridSize": (65535, 65535, 1),
        "clockRate": card.clock,
        "totalConstMem": 65536,
        "major": 1,
        "minor": card.capability,
        "textureAlignment": 256,
        "texturePitchAlignment": 32,
        "deviceOverlap": int(card.overlap),
        "multiProcessorCount": card.multiprocessors,
        "integrated": int(card.integrated),
        "canMapHostMemory": int(card.mapped),
        "maxTexture1D": 8192,
        "maxTexture1DLinear": 1 << 27,
        "maxTexture2D": (65536, 32768),
        "maxTexture2DLinear": (65000, 65000, 1048544),
        "maxTexture3D": (2048, 2048, 2048),
        "maxTexture1DLayered": (8192, 512),
        "maxTexture2DLayered": (8192, 8192, 512),
        "surfaceAlignment": 256,
        "pciBusID": 1,
        "asyncEngineCount": int(card.overlap),
        "memoryClockRate": card.memory_clock,
        "memoryBusWidth": card.bus,
        "maxThreadsPerMultiProcessor": card.threads,
        "sharedMemPerMultiprocessor": 16384,
        "regsPerMultiprocessor": card.registers,
        "doubleRatio": 8 if card.capability == 3 else 0,
        "maxBlocksPerMultiProcessor": 8,
    }


# Attributes by number: the same in both interfaces. (property, index in it)
_ATTRIBUTES: Mapping[int, tuple[str, int]] = {
    1: ("maxThreadsPerBlock", 0), 2: ("maxThreadsDim", 0), 3: ("maxThreadsDim", 1), 4: ("maxThreadsDim", 2),
    5: ("maxGridSize", 0), 6: ("maxGridSize", 1), 7: ("maxGridSize", 2), 8: ("sharedMemPerBlock", 0),
    9: ("totalConstMem", 0), 10: ("warpSize", 0), 11: ("memPitch", 0), 12: ("regsPerBlock", 0), 13: ("clockRate", 0),
    14: ("textureAlignment", 0), 15: ("deviceOverlap", 0), 16: ("multiProcessorCount", 0),
    17: ("kernelExecTimeoutEnabled", 0), 18: ("integrated", 0), 19: ("canMapHostMemory", 0), 20: ("computeMode", 0),
    21: ("maxTexture1D", 0), 22: ("maxTexture2D", 0), 23: ("maxTexture2D", 1), 24: ("maxTexture3D", 0),
    25: ("maxTexture3D", 1), 26: ("maxTexture3D", 2), 27: ("maxTexture2DLayered", 0), 28: ("maxTexture2DLayered", 1),
    29: ("maxTexture2DLayered", 2), 30: ("surfaceAlignment", 0), 31: ("concurrentKernels", 0), 32: ("ECCEnabled", 0),
    33: ("pciBusID", 0), 34: ("pciDeviceID", 0), 35: ("tccDriver", 0), 36: ("memoryClockRate", 0),
    37: ("memoryBusWidth", 0), 38: ("l2CacheSize", 0), 39: ("maxThreadsPerMultiProcessor", 0),
    40: ("asyncEngineCount", 0), 41: ("unifiedAddressing", 0), 42: ("maxTexture1DLayered", 0),
    43: ("maxTexture1DLayered", 1), 50: ("pciDomainID", 0), 51: ("texturePitchAlignment", 0),
    69: ("maxTexture1DLinear", 0), 70: ("maxTexture2DLinear", 0), 71: ("maxTexture2DLinear", 1),
    72: ("maxTexture2DLinear", 2), 75: ("major", 0), 76: ("minor", 0),
    81: ("sharedMemPerMultiprocessor", 0), 82: ("regsPerMultiprocessor", 0), 87: ("doubleRatio", 0),
    97: ("sharedMemPerBlock", 0), 99: ("canMapHostMemory", 0), 106: ("maxBlocksPerMultiProcessor", 0),
}  # fmt: skip
_LAST_ATTRIBUTE = 161


def attribute(card: Card, number: int) -> int | None:
    """Return a device attribute: 0 for attributes of later chips, None for numbers unknown to CUDA 13."""
    if not 1 <= number <= _LAST_ATTRIBUTE:
        return None
    name, index = _ATTRIBUTES.get(number, ("", 0))
    value = _values(card, None).get(name, 0)
    found = value[index] if isinstance(value, tuple) else value
    return found if isinstance(found, int) else 0

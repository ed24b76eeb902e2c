"""Kernels NVIDIA compiled, and the same kernels compiled here from their PTX: run both on equal memory."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import isakit
from isakit.compile import compile_ptx
from isakit.description import ConstantSegment, Kernel, Module
from isakit.errors import IsakitError
from isakit.runtime import Device

SPACE = 0x80000
BASE = 0x100000
REGION = 0x8000
SHAPES = (((1, 1), (32, 1, 1)), ((2, 1), (64, 1, 1)), ((1, 1), (16, 16, 1)), ((2, 2), (16, 4, 1)), ((3, 1), (33, 1, 1)),
          ((1, 2), (8, 8, 1)), ((4, 1), (128, 1, 1)))  # fmt: skip
BUDGET = 300_000


@dataclass(frozen=True)
class Pair:
    """A PTX text and NVIDIA's file of it."""

    name: str
    ptx: Path
    cubin: Path


def pairs(shared: Path) -> list[Pair]:
    """All pairs of the corpus."""
    out: list[Pair] = []
    for p in sorted((shared / "corpus/tesla/ptx").glob("*.ptx")):
        out += [Pair(p.stem, p, c) for c in (shared / "corpus/tesla/cubins").glob(p.stem + ".*.cubin")]
    for p in sorted((shared / "corpus/tesla/textcubins").glob("*.ptx")):
        if p.with_suffix(".cubin").exists():
            out.append(Pair(p.stem, p, p.with_suffix(".cubin")))
    return out


@cache
def modules(pair: Pair) -> tuple[Module, Module]:
    """NVIDIA's module and ours."""
    theirs = isakit.load(pair.cubin)
    ours = compile_ptx(pair.ptx.read_text("latin-1"), theirs.variant, path=pair.name).module
    return theirs, ours


@dataclass
class Run:
    """What a launch left: memory, instructions per warp, and the error it ended with."""

    memory: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint8))
    instructions: int = 0
    error: str = ""


def launch(module: Module, name: str, shape: Any, params: bytes, memory: np.ndarray, seed: int, extra: int) -> Run:
    """Run a kernel; constants, variables and textures get the same random content by name."""
    device = Device(module.variant, limits=False)
    rng = np.random.default_rng(seed)
    constants = rng.integers(1, 9, 0x4000, np.int32).view(np.uint8)
    if seed % 2:
        constants = rng.uniform(0.1, 2, 0x4000).astype(np.float32).view(np.uint8)
    size = len(module.constant_bytes(0))
    if size and seed % 3:
        module = replace(module, constants={0: [ConstantSegment(0, size, constants[:size].tobytes())]})
    kernel = device.load(module, local=0x4000)[name]
    texels = rng.uniform(0, 1, (64, 64)).astype(np.float32)
    for sampler in module.samplers:
        with suppress(IsakitError):  # a reference the kernel does not use
            kernel.bind(sampler.name, texels if seed % 2 else texels.reshape(-1))
    buffer = device.alloc(SPACE, BASE)
    device.write(buffer, memory)
    run = Run()
    try:
        stats = kernel.launch(*shape, param_bytes=params, max_instructions=BUDGET, limits=False,
                              dynamic_shared=extra)  # fmt: skip
        run.instructions = stats.instructions
    except IsakitError as e:
        run.error = type(e).__name__ + ": " + str(e)[:100]
    run.memory = device.read(buffer, np.uint8, SPACE)
    return run


def arguments(kernel: Kernel, seed: int) -> tuple[bytes, np.ndarray]:
    """Parameters and memory: pointers to regions of their own, small numbers, small integers or floats in memory."""
    rng = np.random.default_rng(seed)
    end = max((p.offset + p.size for p in kernel.params), default=0)
    data = bytearray(end)
    at = BASE + 0x1000
    for p in kernel.params:
        floats = p.kind.startswith("f")
        if p.size == 8 or (p.kind in ("u32",) and p.size == 4 and kernel_pointers(kernel)):
            data[p.offset : p.offset + p.size] = at.to_bytes(p.size, "little")
            at += REGION
        elif floats:
            data[p.offset : p.offset + 4] = np.float32(rng.uniform(0.5, 4)).tobytes()
        else:
            value = int(rng.choice([1, 2, 4, 8, 16, 32, 64, 3]))
            data[p.offset : p.offset + p.size] = value.to_bytes(8, "little")[: p.size].ljust(p.size, b"\0")
    if seed % 2:
        memory = rng.uniform(-4, 4, SPACE // 4).astype(np.float32).view(np.uint8)
    else:
        memory = rng.integers(0, 200, SPACE // 4, np.int32).view(np.uint8)
    return bytes(data), memory


def kernel_pointers(kernel: Kernel) -> bool:
    """Whether pointers have 32 bits: no parameter has 64."""
    return not any(p.size == 8 for p in kernel.params)

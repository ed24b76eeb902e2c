"""Generated modules and damaged files for the tests of the file formats."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import strategies as st

from isakit import formats as f
from isakit.errors import FormatError

names = st.text("abcXYZ_019$.", min_size=1, max_size=12).map(lambda s: "k" + s)
words = st.lists(st.integers(0, 0xFFFFFFFF), max_size=12).map(f.bytes_of)
variants = st.sampled_from(["g80", "g84", "gt215", "gt200"])


def unique(strategy: st.SearchStrategy, key: Callable, most: int = 3) -> st.SearchStrategy:
    return st.lists(strategy, max_size=most, unique_by=key)


@st.composite
def text_segments(draw: st.DrawFn) -> f.ConstantSegment:
    data = draw(st.binary(max_size=20))
    return f.ConstantSegment(draw(st.integers(0, 4096)), max(1, len(data)), data, draw(names))


@st.composite
def text_kernels(draw: st.DrawFn) -> f.Kernel:
    segments = draw(st.lists(text_segments(), max_size=2))
    return f.Kernel(
        draw(names),
        draw(words),
        registers=draw(st.integers(0, 128)),
        shared_bytes=draw(st.integers(0, 16384)),
        local_bytes=draw(st.integers(0, 16384)),
        barriers=draw(st.integers(1, 16)),
        constants={1: segments} if segments else {},
    )


@st.composite
def text_modules(draw: st.DrawFn) -> f.Module:
    """Modules a text cubin can hold, in the form reading one gives."""
    module = f.Module("text-cubin", variant=draw(variants))
    module.extra = {"abiversion": draw(st.sampled_from(["0", "1"])), "modname": draw(names)}
    module.kernels = {k.name: k for k in draw(unique(text_kernels(), lambda k: k.name))}
    segments = draw(st.lists(text_segments(), max_size=2))
    if segments:
        module.constants = {0: segments}
    for index, name in enumerate(draw(unique(names, lambda n: n))):
        data = draw(st.none() | st.binary(min_size=1, max_size=9))
        module.globals.append(f.GlobalVariable(name, draw(st.integers(9, 64)) if data is None else len(data), data))
        module.relocations.append(f.Relocation("c14", 4 * index, name))
    module.samplers = [f.TextureSlot(n, draw(st.integers(0, 31))) for n in draw(unique(names, lambda n: n))]
    return module


@st.composite
def elf_kernels(draw: st.DrawFn, textures: list[str]) -> f.Kernel:
    params, end = [], 0
    for _ in range(draw(st.integers(0, 4))):
        size = draw(st.sampled_from([1, 2, 4, 8, 12]))
        params.append(f.Param("", end, size))
        end += size
    kernel = f.Kernel(
        draw(names),
        draw(words),
        registers=draw(st.integers(0, 128)),
        shared_bytes=16 + end + draw(st.integers(0, 1000)),
        local_bytes=draw(st.integers(0, 16384)),
        barriers=draw(st.integers(0, 16)),
        params=params,
        param_bytes=end,
        max_threads=draw(st.sampled_from([(), (64, 1, 1), (8, 8, 4)])),
        entry=draw(st.booleans()),
        binding=draw(st.sampled_from(["global", "local", "weak"])),
        info=draw(st.sampled_from([[], [f.InfoRecord(4, 0x0D, bytes(8))], [f.InfoRecord(3, 0x1B, b"\4\0")]])),
    )
    data = draw(st.binary(max_size=16))
    if data:
        kernel.constants = {1: [f.ConstantSegment(0, len(data), data)]}
    if textures:
        kernel.samplers = [f.TextureSlot(draw(st.sampled_from(textures)), draw(st.integers(0, 31)))]
    return kernel


@st.composite
def elf_modules(draw: st.DrawFn) -> f.Module:
    """Modules an ELF cubin can hold, in the form reading one gives."""
    own = draw(st.lists(names, max_size=9, unique=True))
    textures, variables, constants = ["t" + n for n in own[:2]], own[2:6], ["c" + n for n in own[6:]]
    module = f.Module("elf-cubin", variant=draw(variants))
    module.samplers = [f.TextureSlot(t, None, draw(st.sampled_from([(), (1, 2, 3)]))) for t in textures]
    module.kernels = {k.name: k for k in draw(unique(elf_kernels(textures), lambda k: k.name))}
    bank = draw(st.binary(min_size=16, max_size=64))
    if constants:
        module.constants[0] = [f.ConstantSegment(0, len(bank), bank)]
        module.constants[0] += [f.ConstantSegment(4 * i, 4, b"", n) for i, n in enumerate(constants)]
    at = 0
    for name in variables:
        size = draw(st.integers(1, 40))
        module.globals.append(f.GlobalVariable(name, size, None, ".nv.global", at))
        at += size
    if variables:
        addends = [draw(st.integers(0, 1000)) for _ in variables]
        table = f.bytes_of(addends)
        module.constants[14] = [f.ConstantSegment(0, len(table), table)]
        module.relocations = [
            f.Relocation("c14", 4 * i, n, a) for i, (n, a) in enumerate(zip(variables, addends, strict=True))
        ]
    return module


@st.composite
def gxp_files(draw: st.DrawFn) -> f.GxpFile:
    u16, u32, u64 = st.integers(0, 0xFFFF), st.integers(0, 0xFFFFFFFF), st.integers(0, 2**64 - 1)
    nibble = st.integers(0, 15)
    gxp = f.GxpFile(draw(st.sampled_from([(1, 4), (1, 5)])), draw(u16), draw(u32), draw(u32), draw(u32))
    gxp.texunit_flags, gxp.compiler_version, gxp.phase_count = draw(u64), draw(u32), draw(u16)
    gxp.primary, gxp.secondary = draw(st.lists(u64, max_size=5)), draw(st.lists(u64, max_size=3))
    gxp.literals = draw(st.lists(st.builds(f.GxpLiteral, u32, u32), max_size=3))
    gxp.containers = draw(st.lists(st.builds(f.GxpContainer, u16, u16, u16, u16), max_size=2))
    gxp.dependent_samplers = draw(st.lists(st.builds(f.GxpDependentSampler, u16, u16), max_size=2))
    gxp.uniform_buffers = draw(st.lists(st.builds(f.GxpUniformBuffer, u16, u16, st.integers(-9, 9)), max_size=2))
    byte = st.integers(0, 255)
    gxp.parameters = draw(
        st.lists(
            st.builds(f.GxpParameter, names, nibble, nibble, nibble, nibble, byte, byte, u32, st.integers(-9, 9)),
            max_size=3,
        )
    )
    if draw(st.booleans()):
        gxp.literal_buffer = bytes(8)
        gxp.buffer_sizes = (0, 0, 2, 0, 0, 44)
    if gxp.stage == "fragment":
        inputs = tuple(draw(st.lists(st.builds(f.AttributeDescriptor, u32, u32, u32, u32), max_size=2)))
        gxp.varyings = f.FragmentVaryings(draw(u64), *(draw(byte) for _ in range(4)), draw(u16), inputs)
    else:
        last = (draw(u16), draw(u16)) if gxp.version == (1, 5) else ()
        gxp.varyings = f.VertexVaryings(draw(u64), draw(u64), draw(u32), draw(u32), draw(u32), *last)
    if gxp.version == (1, 5) and draw(st.booleans()):
        gxp.sampler_query = tuple(draw(u16) for _ in range(16))
    return gxp


def damage(data: bytes, seed: int) -> bytes:
    """The file cut off, with bytes changed, or with a number replaced by a large one."""
    rng = random.Random(seed)
    out = bytearray(data)
    if rng.random() < 0.4:
        del out[rng.randrange(len(out)) :]
    for _ in range(rng.choice([0, 1, 1, 2, 8, 40])):
        if out:
            out[rng.randrange(len(out))] = rng.choice([rng.randrange(256), 0, 0xFF, 0x7F, 0x80])
    if len(out) > 8 and rng.random() < 0.3:
        at = rng.randrange(len(out) - 8)
        out[at : at + 8] = rng.choice([b"\xff" * 8, bytes(8), (1 << 40).to_bytes(8, "little")])
    return bytes(out)


def survives(read: Callable[[bytes], object], data: bytes) -> None:
    """Reading gives a result or a FormatError with a place inside reach, and nothing else."""
    try:
        read(data)
    except FormatError as e:
        if e.offset < 0 or not e.reason:
            pytest.fail(f"{e!r} names no place or no reason")
    except Exception as e:
        pytest.fail(f"{type(e).__name__}: {e} for {data!r}")

"""CUDA programs made by the tests: kernels from the assembler, packed as compilers pack them, called from C."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import isakit
from isakit.c_library import compilers
from isakit.description import Module, Relocation, TextureSlot
from isakit.formats import GlobalVariable, write_elf_cubin, write_text_cubin
from isakit.hosts.cuda.table import functions
from isakit.programs.needs import module_of
from support.patience import PATIENCE

PROGRAMS = Path(__file__).parent / "cuda_programs"

KERNELS = """\
.const 0
table: .float 1.5, 2.5, 3.5, 4.5
scale: .float 2.0

// y[i] = x[i] * scale + table[i & 3]
.kernel affine
.param y ptr64
.param x ptr64
.param n u32
    mov b16 $r1l u16 s[0x2]
    mov b16 $r1h u16 s[0xc]
    mul $r1 u16 $r1l u16 $r1h
    cvt u32 $r0 u16 $r0l
    add b32 $r0 $r0 $r1
    mov b32 $r1 b32 s[n]
    set $c0 $r1 ge u32 $r0 $r1
    (lg $c0) bra done
    and b32 $r3 $r0 0x3
    shl b32 $r3 $r3 0x2
    shl $a1 $r3 0x0
    ld $r3 b32 c0[$a1+table]
    shl b32 $r0 $r0 0x2
    mov b32 $r1 b32 s[x]
    add b32 $r1 $r1 $r0
    ld b32 $r1 g14[$r1]
    ld $r2 b32 c0[scale]
    add f32 $r1 (mul $r1 $r2) $r3
    mov b32 $r2 b32 s[y]
    add b32 $r0 $r2 $r0
    st b32 g14[$r0] $r1
done:
    exit nop

// counter += by, in one thread
.kernel count
.param by u32
    ld $r1 b32 c14[0x0]
    ld b32 $r2 g14[$r1]
    mov b32 $r3 b32 s[by]
    add b32 $r2 $r2 $r3
    exit st b32 g14[$r1] $r2

// y[i] = texel i of a buffer
.kernel fetch
.param y ptr64
    cvt u32 $r4 u16 $r0l
    mov b32 $r0 $r4
    texfetch live $r0:#:#:# $t0 $s0 $r0 0x0 0x0 0x0
    shl b32 $r4 $r4 0x2
    mov b32 $r2 b32 s[y]
    add b32 $r4 $r2 $r4
    exit st b32 g14[$r4] $r0

// y[i] = sample of a plane at (u[2 * i], u[2 * i + 1])
.kernel sample
.param y ptr64
.param u ptr64
    cvt u32 $r8 u16 $r0l
    shl b32 $r9 $r8 0x3
    mov b32 $r10 b32 s[u]
    add b32 $r9 $r10 $r9
    ld b64 $r0d g14[$r9]
    texauto all $r0:$r1:$r2:$r3 $t1 $s1 $r0:$r1 0x0 0x0 0x0
    shl b32 $r8 $r8 0x4
    mov b32 $r10 b32 s[y]
    add b32 $r8 $r10 $r8
    exit st b128 g14[$r8] $r0q

// a store far from everything
.kernel stray
.param where u32
    mov b32 $r1 b32 s[where]
    exit st b32 g14[$r1] $r0

// turns until *p is not 0
.kernel wait
.param p ptr64
    mov b32 $r1 b32 s[p]
again:
    ld b32 $r2 g14[$r1]
    mov b32 $r3 0x0
    set $c0 $r2 e u32 $r2 $r3
    (lg $c0) bra again
    exit nop
"""

LATER_KERNELS = """\
// out[i] = 1 where a lane of the warp has another x than 0, and 2 more where no lane has 0
.kernel votes
.param out ptr64
.param x ptr64
    cvt u32 $r0 u16 $r0l
    shl b32 $r0 $r0 0x2
    mov b32 $r1 b32 s[x]
    add b32 $r1 $r1 $r0
    ld b32 $r1 g14[$r1]
    mov b32 $r2 0x0
    set $c0 # lg u32 $r1 $r2
    mov b32 $r4 0x1
    mov b32 $r5 0x2
    (lg $c0) vote any $c1
    (lg $c1) add b32 $r2 $r2 $r4
    (lg $c0) vote all $c1
    (lg $c1) add b32 $r2 $r2 $r5
    mov b32 $r3 b32 s[out]
    add b32 $r3 $r3 $r0
    exit st b32 g14[$r3] $r2

// block b waits for *turn to be b; then data[b + 1] = data[b] + 1, a fence, and it is the next one's turn
.kernel chain
.param data ptr64
.param turn ptr64
    cvt u32 $r0 u16 u16 s[0xc]
    mov b32 $r1 b32 s[turn]
again:
    ld b32 $r2 g14[$r1]
    set $c0 # lg u32 $r2 $r0
    (lg $c0) bra again
    shl b32 $r3 $r0 0x2
    mov b32 $r4 b32 s[data]
    add b32 $r3 $r3 $r4
    ld b32 $r2 g14[$r3]
    add b32 $r2 $r2 0x1
    add b32 $r3 $r3 0x4
    st b32 g14[$r3] $r2
    mov $r5 $physid
    and b32 $r5 $r5 0x7
    shl b32 $r5 $r5 0x2
    ld b32 $r6 g15[$r5]
    add b32 $r5 $r5 0x100
    ld b32 $r6 g15[$r5]
    add b32 $r5 $r5 0x100
    ld b32 $r6 g15[$r5]
    add b32 $r5 $r5 0x100
    ld b32 $r6 g15[$r5]
    add b32 $r5 $r5 0x100
    ld b32 $r6 g15[$r5]
    add b32 $r5 $r5 0x100
    ld b32 $r6 g15[$r5]
    add b32 $r5 $r5 0x100
    ld b32 $r6 g15[$r5]
    add b32 $r5 $r5 0x100
    ld b32 $r6 g15[$r5]
    add b32 $r5 $r5 0x100
    add b32 $r0 $r0 0x1
    exit st b32 g14[$r1] $r0
"""
"""Kernels for sm_13: votes, and the fence, which reads words of g15[] and throws them away."""

PTX = """\
.version 1.4
.target sm_10
.const .align 4 .f32 table[4] = {0f3fc00000, 0f40200000, 0f40600000, 0f40900000};
.const .align 4 .f32 scale = 0f40000000;
.entry affine (.param .u64 y, .param .u64 x, .param .u32 n)
{
    .reg .u32 %r<8>;
    .reg .u64 %rd<12>;
    .reg .f32 %f<5>;
    .reg .pred %p<2>;
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mul.lo.u32 %r3, %r1, %r2;
    mov.u32 %r4, %tid.x;
    add.u32 %r3, %r3, %r4;
    ld.param.u32 %r5, [n];
    setp.ge.u32 %p1, %r3, %r5;
    @%p1 bra done;
    cvt.u64.u32 %rd1, %r3;
    mul.lo.u64 %rd2, %rd1, 4;
    ld.param.u64 %rd3, [x];
    add.u64 %rd4, %rd3, %rd2;
    ld.global.f32 %f1, [%rd4];
    and.b32 %r6, %r3, 3;
    mov.u64 %rd5, table;
    cvt.u64.u32 %rd6, %r6;
    mul.lo.u64 %rd7, %rd6, 4;
    add.u64 %rd8, %rd5, %rd7;
    ld.const.f32 %f2, [%rd8];
    ld.const.f32 %f3, [scale];
    mul.rn.f32 %f1, %f1, %f3;
    add.rn.f32 %f4, %f1, %f2;
    ld.param.u64 %rd9, [y];
    add.u64 %rd10, %rd9, %rd2;
    st.global.f32 [%rd10], %f4;
done:
    exit;
}
"""
"""The first of the kernels as PTX."""


@cache
def module() -> Module:
    """The kernels above, a variable of the module, and two texture references."""
    out = module_of(isakit.isa("tesla", "g80").assemble(KERNELS))
    out.variant = "g80"
    out.globals = [GlobalVariable("counter", 4, struct.pack("<I", 40), ".nv.global.init", 0)]
    out.relocations = [Relocation("c14", 0, "counter")]
    out.samplers = [TextureSlot("line"), TextureSlot("plane")]
    out.kernels["fetch"].samplers = [TextureSlot("line", 0)]
    out.kernels["sample"].samplers = [TextureSlot("plane", 1)]
    return out


def elf_cubin() -> bytes:
    return write_elf_cubin(module())


def text_cubin() -> str:
    """As of CUDA 2: texture references have their number for the whole module."""
    flat = module_of(isakit.isa("tesla", "g80").assemble(KERNELS))
    flat.variant = "g80"
    flat.globals = [GlobalVariable("counter", 4)]
    flat.relocations = [Relocation("c14", 0, "counter")]
    flat.samplers = [TextureSlot("line", 0), TextureSlot("plane", 1)]
    return write_text_cubin(flat)


@cache
def later_cubin() -> bytes:
    """The kernels for sm_13."""
    return write_elf_cubin(module_of(isakit.isa("tesla", "gt200").assemble(LATER_KERNELS)))


@cache
def later_text_cubin() -> str:
    return write_text_cubin(module_of(isakit.isa("tesla", "gt200").assemble(LATER_KERNELS)))


@dataclass(frozen=True)
class Entry:
    """One program of a container: kind 1 is PTX, 2 an ELF cubin."""

    kind: int
    arch: int
    data: bytes
    flags: int = 0x11


def container(entries: Sequence[Entry]) -> bytes:
    """A fat binary container as compilers since CUDA 4.0 write it."""
    body = b""
    for e in entries:
        data = e.data + bytes(-len(e.data) % 8)
        head = struct.pack(
            "<HHIQIIHHIIIQQ", e.kind, 0x100, 64, len(data), 0, 0, 4, 1, e.arch, 56, 7, e.flags, 0
        ) + b"test.cu\0"  # fmt: skip
        assert len(head) == 64, len(head)
        body += head + data
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def c_array(name: str, data: bytes) -> str:
    """Bytes as a C definition."""
    return f"const unsigned char {name}[] __attribute__((aligned(8))) = {{{','.join(map(str, data))}}};\n"


def has_compiler() -> bool:
    """Whether C programs can be built here."""
    return shutil.which("cc") is not None and sys.platform == "linux" and os.uname().machine == "x86_64"


NARROW = ("-msse2", "-mfpmath=sse")
"""Flags for programs of 32 bits that compute as those of 64 bits do."""


@cache
def narrow_compiler() -> tuple[str, ...]:
    """Return the command of a C compiler for programs of 32 bits that run here; empty if there is none."""
    for command in compilers(32) if has_compiler() else ():
        with tempfile.TemporaryDirectory() as folder:
            line = [*command, "-pthread", "-x", "c", "-", "-o", f"{folder}/program", "-lm"]
            text = "#include <pthread.h>\nint main(void) { return 0; }\n"
            built = subprocess.run(line, input=text, text=True, capture_output=True, check=False).returncode == 0
            with suppress(OSError):  # there is no loader for such programs
                if built and subprocess.run([f"{folder}/program"], check=False).returncode == 0:
                    return tuple(command)
    return ()


def command(bits: int) -> tuple[str, ...]:
    """Return the command of the C compiler for programs of so many bits, with the flags that they need."""
    return (*narrow_compiler(), *NARROW) if bits == 32 else ("cc",)


LIBRARIES = ("libcublas.so.4", "libcufft.so.4", "libcurand.so.4")
"""The libraries that programs ask for beside the runtime."""


def build(
    name: str,
    folder: Path,
    *,
    runtime: str = "libcudart.so.4",
    generation: str = "new",
    flags: Sequence[str] = (),
    library: bool = False,
    images: Sequence[Entry] = (),
    later: bool = False,
    beside: Sequence[str] = (),
    bits: int = 64,
) -> Path:
    """Compile `cuda_programs/NAME.c` into a folder; the program asks for `runtime` as real ones do.

    `images` is what its fat binary holds instead of a cubin for sm_10; with `later` it has one for sm_13 as well;
    `beside` are more libraries that it asks for.
    """
    folder.mkdir(parents=True, exist_ok=True)
    entries = images or [Entry(1, 10, b".version 1.4\n\0"), Entry(2, 10, elf_cubin())]
    entries = [*entries, Entry(2, 13, later_cubin())] if later else entries
    arrays = c_array("container", container(entries)) + c_array("cubin", elf_cubin())
    arrays += c_array("text_cubin", text_cubin().encode() + b"\0")
    if later:
        arrays += c_array("later_text_cubin", later_text_cubin().encode() + b"\0") + "#define LATER\n"
    (folder / "images.h").write_text(arrays)
    libraries: list[str] = []
    for needed in filter(None, (runtime, "libcuda.so.1", *beside)):
        stub = folder / needed
        line = [
            *command(bits),
            "-shared",
            "-nostdlib",
            "-w",
            f"-Wl,-soname,{needed}",
            "-o",
            str(stub),
            "-x",
            "c",
            "-",
        ]
        interface = {"libcuda": "driver", "libcudart": "runtime"}.get(base := needed.partition(".")[0], base[3:])
        names = [f.name for f in functions().values() if f.interface == interface]
        subprocess.run(line, input="".join(f"void {n}(void) {{}}\n" for n in names), text=True, check=True)
        libraries.append(str(stub))
    target = folder / (f"{name}.so" if library else name)
    shape = ["-shared", "-fPIC"] if library else ["-no-pie"]
    old = ["-DOLD_GENERATION"] if generation == "old" else []
    line = [*command(bits), "-std=gnu11", "-O1", "-g", "-Wall", "-Werror", *shape, *old, *flags, "-I", str(folder)]
    line += ["-I", str(PROGRAMS), "-o", str(target), str(PROGRAMS / f"{name}.c"), "-Wl,--no-as-needed", *libraries]
    subprocess.run([*line, *(f for f in flags if f.startswith("-l")), "-lm", "-pthread"], check=True)
    return target


def run(
    *arguments: str | Path,
    code: int = 0,
    environment: dict[str, str] | None = None,
    folder: Path | None = None,
    timeout: float = 2 * PATIENCE,
) -> subprocess.CompletedProcess[str]:
    """`isakit cuda arguments...` in a process of its own; it must end with that exit status."""
    line = [sys.executable, "-m", "isakit", "cuda", *map(str, arguments)]
    env = {**os.environ, **(environment or {})}
    done = subprocess.run(line, capture_output=True, text=True, timeout=timeout, check=False, env=env, cwd=folder)
    assert done.returncode == code, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done

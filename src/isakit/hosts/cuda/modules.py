"""Modules of a program: from the registered or loaded images to kernels and variables on the device."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from isakit.errors import CompileError, FormatError, IsakitError
from isakit.formats import Module, parse_fatbin, read_elf_cubin, read_text_cubin, write_elf_cubin
from isakit.formats.elf import ELF_MAGIC
from isakit.formats.fatbin import LARGEST_UNPACKED
from isakit.formats.lz4 import unpack_block
from isakit.hosts.cuda.codes import CudaError
from isakit.hosts.cuda.process_device import ProcessDevice
from isakit.lean import cached_property
from isakit.registry import VARIANT_TO_ARCH
from isakit.runtime import LoadedKernel, LoadedModule
from isakit.runtime.printing import BUFFER

FAT_CONTAINER, OLD_LIST, WHOLE_FILE = 1, 2, 3
"""Kinds of images the library sends: a container, the entries of an old description packed one after the other, or
one program."""
_LIST_KINDS = {1: "ptx", 2: "elf", 3: "text-cubin"}
_OLD_COMPILER = b"nvopencc 4.0 built on 2011-05-12"
"""Comment in the PTX of programs built with CUDA 4.0; later compilers omit comments. [cuda-runtime] 2.5"""
_MACHINE_CODE = ("elf", "text-cubin")


@dataclass(frozen=True)
class Candidate:
    """One program of a module: PTX or machine code (`kind`) for an architecture (10 to 13, 20, ...).

    `packed`: its data is an LZ4 block.
    """

    kind: str
    arch: int
    data: bytes
    packed: bool = False


class ProgramModule:
    """A module of the program; its code and variables are loaded on first use.

    Attributes: `arch` (10 to 13: the architecture of the chosen code), `placed` (the file of that code), `registers`
    (limit per thread of compiled code; 0: none), `errors` and `information` (the messages of compiling).
    """

    def __init__(self, device: ProcessDevice, kind: int, image: bytes) -> None:
        self.device, self.kind, self.image = device, kind, image
        self.arch = 0
        self.placed = b""
        self.registers = 0
        self.errors = self.information = ""
        self._loaded: LoadedModule | None = None
        self._failed: CudaError | None = None

    @cached_property
    def candidates(self) -> list[Candidate]:
        """The programs in the module. Raises CudaError if they cannot be read."""
        try:
            return list(self._candidates())
        except (FormatError, struct.error) as e:
            raise CudaError("cudaErrorInvalidKernelImage", str(e)) from None

    def _candidates(self) -> Iterator[Candidate]:
        data = self.image
        if self.kind == FAT_CONTAINER:
            for e in parse_fatbin(data)[0]:
                if not e.compressed or (e.packing == "lz4" and e.kind == "ptx"):
                    content = data[e.offset : e.offset + e.size]
                    yield Candidate(e.kind, int(e.arch.removeprefix("sm_")), content, e.compressed)
        elif self.kind == OLD_LIST:
            at = 0
            while at < len(data):
                kind, arch, size, _ = struct.unpack_from("<4I", data, at)
                yield Candidate(_LIST_KINDS.get(kind, ""), arch, data[at + 16 : at + 16 + size])
                at += 16 + size
        elif data.startswith(ELF_MAGIC):
            yield Candidate("elf", 0, data)
        else:
            text = data.split(b"\0", 1)[0]
            kind = "text-cubin" if b"architecture" in text[:4096] else "ptx" if b".version" in text else ""
            if not kind:
                raise FormatError(None, 0, "neither a cubin nor PTX")
            yield Candidate(kind, 0, text)

    @property
    def built_with_4_0(self) -> bool | None:
        """True if CUDA 4.0's compiler made the module; None if it has no PTX that would tell."""
        if self.kind != FAT_CONTAINER:
            return None
        if _OLD_COMPILER in self.image:
            return True
        try:
            return False if any(c.kind == "ptx" for c in self.candidates) else None
        except CudaError:
            return None

    @property
    def loaded(self) -> LoadedModule:
        """The module on the device. Raises CudaError if it has no code for it."""
        if self._failed is not None:
            raise self._failed
        if self._loaded is None:
            try:
                self._loaded = self._load()
            except CudaError as e:
                self._failed = e
                self.device.options.tell(f"a module of the program cannot be used: {e.why}")
                raise
        return self._loaded

    def _load(self) -> LoadedModule:
        """Load the newest machine code the device can run, else compiled PTX."""
        capability = 10 + self.device.card.capability
        fitting = [c for c in self.candidates if c.kind in _MACHINE_CODE and c.arch <= capability]
        try:
            if fitting:
                best = max(fitting, key=lambda c: c.arch)
                read = read_elf_cubin if best.data.startswith(ELF_MAGIC) else read_text_cubin
                image = read(best.data)
                self.placed = best.data
                self.arch = best.arch or _arch_of(image)
            else:
                image = self._compiled()
                self.placed = write_elf_cubin(image)
            return self.device.place(image)
        except CudaError:
            raise
        except (FormatError, IsakitError) as e:
            raise CudaError("cudaErrorInvalidKernelImage", str(e)) from None

    def _compiled(self) -> Module:
        texts = [c for c in self.candidates if c.kind == "ptx" and c.arch <= 13]
        if not texts:
            found = ", ".join(f"{c.kind} for sm_{c.arch}" for c in self.candidates) or "nothing"
            raise CudaError("cudaErrorNoKernelImageForDevice", f"no code for sm_10 to sm_13: there is {found}")
        best = max(texts, key=lambda c: c.arch)
        self.arch = best.arch
        data = unpack_block(best.data, LARGEST_UNPACKED) if best.packed else best.data
        text = data.split(b"\0", 1)[0]  # containers pad it with zeros
        return self._compiled_text(text.decode("utf-8", "replace"))

    def _compiled_text(self, text: str) -> Module:
        from isakit.compile import compile_ptx

        chip = self.device.card.chip
        try:
            compiled = compile_ptx(text, chip, path="ptx", max_registers=self.registers)
        except CompileError as e:
            self.errors = str(e)
            raise CudaError("cudaErrorInvalidKernelImage", self.errors.splitlines()[0], driver=218) from None
        self.errors = "\n".join(map(str, compiled.diagnostics))
        self.information = "".join(
            f"{name} for {VARIANT_TO_ARCH[chip]}: {k.registers} registers, {k.shared_bytes} bytes of shared memory, "
            f"{k.local_bytes} of local memory\n"
            for name, k in compiled.module.kernels.items()
        )
        for name, diagnostics in compiled.failures.items():
            self.device.options.tell(f"{name} cannot be compiled: {diagnostics[0].message}")
        return compiled.module

    def unload(self) -> None:
        """Drop the loaded state of the module; the next use starts from the image again."""
        self._loaded = None

    def kernel(self, name: str) -> LoadedKernel:
        """Return a kernel by name. Raises CudaError if there is none."""
        found = self.loaded.get(name)
        if found is None:
            raise CudaError("cudaErrorInvalidDeviceFunction", f"no kernel {name}", driver=500)
        return found

    def variable(self, name: str) -> tuple[int, int]:
        """Return (address, size in bytes) of a variable or constant. Raises CudaError if there is none."""
        module = self.loaded
        if name in module.globals:
            buffer = module.globals[name]
            return buffer.address, buffer.nbytes
        if name in module.symbols:
            bank, offset, size = module.symbols[name]
            return self.device.bank_address(module, bank) + offset, size
        raise CudaError("cudaErrorInvalidSymbol", f"no variable {name}")

    @property
    def printing(self) -> tuple[int, int] | None:
        """Address and size in bytes of the buffer for `printf`; None if no kernel prints."""
        for name, buffer in self.loaded.globals.items():
            if BUFFER in name:
                return buffer.address, buffer.nbytes
        return None

    def texture_names(self) -> set[str]:
        """Return the names of the texture references that its kernels use."""
        return {name for kernel in self.loaded.values() for name in kernel.samplers}


def _arch_of(image: Module) -> int:
    return int(VARIANT_TO_ARCH.get(image.variant, "sm_10").removeprefix("sm_"))

"""Files of programs: what `isakit.load` gives, and programs as modules that can be written to files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import copy
from functools import cached_property
from os import PathLike
from typing import TYPE_CHECKING, Any

from isakit.errors import FormatError, IsakitError
from isakit.instruction_sets import VARIANTS, Isa, isa

if TYPE_CHECKING:
    from isakit.asm import KernelData, Program
    from isakit.formats import ConstantSegment, KernelImage, ModuleImage, ParamInfo


class Kernel:
    """A kernel (or program of a shader, or microcode) in a file.

    Sizes are in bytes: `shared_bytes` per block, `local_bytes` per thread. `params` is empty where the file does not
    describe them. `image` holds everything else the file says.
    """

    def __init__(self, module: Module, image: KernelImage) -> None:
        self.module, self.image = module, image
        self.name = image.name

    @property
    def registers(self) -> int:
        """32-bit registers per thread."""
        return self.image.registers

    @property
    def shared_bytes(self) -> int:
        """Shared memory per block, with launch header and parameters."""
        return self.image.shared_bytes

    @property
    def local_bytes(self) -> int:
        """Local memory per thread."""
        return self.image.local_bytes

    @property
    def barriers(self) -> int:
        """Barriers to allocate."""
        return self.image.barriers

    @property
    def params(self) -> list[ParamInfo]:
        """Parameters by index."""
        return self.image.params

    @cached_property
    def program(self) -> Program:
        """The code."""
        return program_of(self.image, self.module.instruction_set)

    def __repr__(self) -> str:
        return f"<kernel {self.name}: {len(self.image.code)} bytes of code>"


class Module:
    """A file of programs. `image` is what its format says, kernel by kernel.

    Attributes: `image`, `kernels` (name -> Kernel, in the order of the file).
    """

    def __init__(self, image: ModuleImage) -> None:
        self.image = image
        self.kernels = {name: Kernel(self, k) for name, k in image.kernels.items()}

    @property
    def kind(self) -> str:
        """The file format."""
        return self.image.kind

    @property
    def isa(self) -> str:
        """Name of the instruction set; empty where the file does not say."""
        return self.image.isa

    @property
    def variant(self) -> str:
        """The variant; empty where the file does not say."""
        return self.image.variant

    @cached_property
    def instruction_set(self) -> Isa:
        """The instruction set of the code. Raises IsakitError where the file does not say which it is."""
        if not self.isa:
            raise IsakitError(
                f"{self.image.path or 'the file'} does not say what its words are; name one of {', '.join(VARIANTS)}"
            )
        return isa(self.isa, self.variant or None)

    def __getitem__(self, name: str) -> Kernel:
        return self.kernels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def __repr__(self) -> str:
        return f"<{self.kind} for {self.isa or 'an unnamed instruction set'} {self.variant}: {', '.join(self.kernels)}>"


class Shader(Module):
    """A shader file (GXP): a module whose programs are `primary` and `secondary`."""

    @property
    def file(self) -> Any:
        """The parsed file."""
        return self.image.payload

    @property
    def stage(self) -> str:
        """`vertex` or `fragment`."""
        return self.file.stage

    @property
    def parameters(self) -> list[Any]:
        """Attributes, uniforms and samplers the shader names."""
        return self.file.parameters

    @property
    def primary(self) -> Program:
        """The program that runs for every vertex or pixel."""
        return self.kernels["primary"].program

    @property
    def secondary(self) -> Program:
        """The program that runs once before."""
        return self.kernels["secondary"].program

    def directives(self) -> list[str]:
        """What the file says besides its programs, as lines of a source text."""
        from isakit.formats.gxp_listing import gxp_lines

        return list(gxp_lines(self.file, self.primary, self.secondary))

    def listing(self, *, words: bool = True, labels: bool = True) -> str:
        """The whole file as a text that `write(assemble(text), "gxp")` makes the same file of."""
        from isakit.asm.printer import lines

        out = self.directives()
        for name, program in (("primary", self.primary), ("secondary", self.secondary)):
            if len(program):
                out += [f".program {name}", *lines(program, words=words, labels=labels, header=False)]
        return "".join(f"{line}\n" for line in out)


def load(source: str | PathLike[str] | bytes, *, isa: str = "", variant: str = "") -> Module:
    """Read a file of any supported format, detected by its content.

    Args:
        source: a path, or the content as bytes.
        isa: the instruction set, for files that do not say it (raw words, hexadecimal words, microcode).
        variant: its variant, for the same files.

    Raises FormatError for what cannot be read, UnknownIsaError for names that do not exist.
    """
    from isakit import formats

    if isa:
        variant = _variant(isa, variant)
    return module(formats.load_image(source, isa=isa, variant=variant))


def _variant(name: str, variant: str) -> str:
    return isa(name, variant or None).variant


def module(image: ModuleImage) -> Module:
    """The module for an image, a `Shader` where it is one."""
    from isakit.formats import GxpFile

    return Shader(image) if isinstance(image.payload, GxpFile) else Module(image)


# --- images to programs ----------------------------------------------------------------------------------------------

_NAME = re.compile(r"[A-Za-z_][\w.$]*")
_GENERATED = re.compile(r"L[0-9a-f]{4,}")
_UNWRITABLE = re.compile(r"^[0-9]|[^A-Za-z0-9_.$@?]")
"""What cannot stand in the name of a kernel in a source text; names in files may hold anything."""


def program_of(image: KernelImage, instruction_set: Isa, program_type: str | None = None) -> Program:
    """The code of a kernel, together with what its file says about it."""
    kind = program_type or (image.name if image.name in instruction_set.program_types else None)
    program = instruction_set.disassemble(image.code, image.address, kind)
    if instruction_set.name == "tesla":
        program.kernel = _kernel_data(image)
    return program


def _kernel_data(image: KernelImage) -> KernelData:
    from isakit.asm import ConstantData, KernelData, Parameter

    name = _UNWRITABLE.sub(lambda m: f"${ord(m[0]):x}$", image.name) or "$"
    data = KernelData(name, image.registers, image.shared_bytes, image.local_bytes, image.barriers)
    used: set[str] = set()
    for p in sorted(image.params, key=lambda p: p.index):
        name = p.name if _NAME.fullmatch(p.name) and p.name not in used else f"p{p.index}"
        used.add(name)
        data.params.append(Parameter(name, p.kind or _type_of_size(p.size), p.offset, p.size))
    for bank, segments in image.constants.items():
        names: dict[str, int] = {}
        for s in segments:
            if _NAME.fullmatch(s.name) and s.name not in used and not _GENERATED.fullmatch(s.name):
                names[s.name] = s.offset
                used.add(s.name)
        data.constants[bank] = ConstantData(image.constant_bytes(bank), names)
    return data


def _type_of_size(size: int) -> str:
    """A type for a parameter of which only the size is known."""
    if size in (1, 2, 4, 8):
        return f"b{8 * size}"
    return f"b32[{size // 4}]" if size % 4 == 0 else f"b8[{size}]"


# --- programs to files -----------------------------------------------------------------------------------------------

_REGISTER = re.compile(r"\$r(\d+)([dq]?)")
_TEMPORARY = re.compile(r"r(\d+)")


def image_of(program: Program, name: str = "main") -> ModuleImage:
    """A program as plain data that `isakit.formats` writes; a program without `.kernel` becomes the kernel `name`."""
    from isakit.formats import KernelImage, ModuleImage

    image = ModuleImage("raw", program.isa, program.variant)
    for part in program.parts or (program,):
        data = part.kernel
        own = part.program_type if len(program.parts) > 1 else name
        kernel = KernelImage(data.name if data else own, part.to_bytes(), part.address)
        kernel.registers = data.registers if data and data.registers is not None else _registers(part)
        end = max((p.offset + p.size for p in data.params), default=0) if data else 0
        base = program.decoder.isa.param_base
        kernel.shared_bytes = data.shared_bytes if data and data.shared_bytes is not None else base + end
        kernel.local_bytes = (data.local_bytes or 0) if data else 0
        kernel.barriers = data.barriers if data and data.barriers is not None else _barriers(part)
        kernel.param_base = base
        if data:
            kernel.params = [_param(k, p.offset, p.size, p.name, p.type) for k, p in enumerate(data.params)]
            kernel.param_bytes = end
            kernel.constants = {n: _segments(c.data, c.names) for n, c in data.constants.items()}
        image.kernels[kernel.name] = kernel
    image.constants = {n: _segments(c.data, c.names) for n, c in program.constants.items()}
    return image


def _param(index: int, offset: int, size: int, name: str, kind: str) -> ParamInfo:
    from isakit.formats import ParamInfo

    return ParamInfo(offset, size, index, name, kind)


def _segments(data: bytes, names: dict[str, int]) -> list[ConstantSegment]:
    """The content, and the names as ranges up to the next name."""
    from isakit.formats import ConstantSegment

    out = [ConstantSegment(0, len(data), data)]
    cuts = sorted({*names.values(), len(data)})
    for name, offset in names.items():
        end = next((c for c in cuts if c > offset), len(data))
        out.append(ConstantSegment(offset, end - offset, b"", name))
    return out


def _registers(program: Program) -> int:
    """One more than the highest general register the code writes."""
    count = 1
    for i in program:
        for name in i.writes:
            if m := _REGISTER.match(name):
                count = max(count, int(m[1]) + {"": 1, "d": 2, "q": 4}[m[2]])
    return count


def _barriers(program: Program) -> int:
    """One more than the highest barrier the code names."""
    count = 0
    for i in program:
        if i.mnemonic == "bar" and i.form is not None and "barrier" in i.form.parts:
            count = max(count, int(i.form.parts["barrier"].text(i.word), 0) + 1)
    return count


def write(program: Program, kind: str) -> bytes:
    """A program as the content of a file: `raw`, `hex`, `cubin` (text), `elf`, or `gxp` for a text with `.gxp`.

    Raises FormatError for a format that cannot hold it.
    """
    from isakit import formats

    if kind == "raw":
        return program.to_bytes()
    if kind == "hex":
        return "".join(f"{line}\n" for line in _hex_lines(program)).encode()
    if kind == "gxp":
        return _gxp(program)
    if kind not in ("cubin", "elf"):
        raise FormatError(None, 0, f"there is no output format {kind!r}; there are raw, hex, cubin, elf, gxp")
    if program.isa != "tesla":
        raise FormatError(None, 0, f"a cubin holds Tesla code, not {program.isa} code")
    image = image_of(program)
    return formats.write_elf_cubin(image) if kind == "elf" else formats.write_text_cubin(image).encode()


def _gxp(program: Program) -> bytes:
    from isakit.formats import GxpBuilder

    if program.isa != "usse":
        raise FormatError(None, 0, f"a GXP file holds USSE code, not {program.isa} code")
    if not isinstance(program.file, GxpBuilder):
        raise FormatError(None, 0, "the text does not say what the file holds besides code: begin it with `.gxp`")
    parts = program.by_type
    return program.file.to_bytes(parts.get("primary"), parts.get("secondary"))


def write_like(program: Program, original: Module) -> bytes:
    """A file like `original`, a GXP file, with the programs of a text in place of those it has.

    A program the text does not have stays as it is. The header's number of phases follows the program, and its number
    of temporaries grows with it; everything else is the original's. Raises FormatError for files of other kinds.
    """
    from isakit.formats import write_gxp

    if not isinstance(original, Shader):
        raise FormatError(original.image.path, 0, f"programs can be put into GXP files, this is {original.kind}")
    if program.isa != original.isa:
        raise FormatError(original.image.path, 0, f"this file holds {original.isa} code, not {program.isa} code")
    if program.kernels:
        raise FormatError(original.image.path, 0, "a GXP file has programs, no kernels")
    gxp = copy(original.file)
    for kind, part in program.by_type.items():
        if part.tail:
            raise FormatError(None, len(part.units), f"{len(part.tail)} bytes at the end fill no word")
        setattr(gxp, kind, part.words)
        gxp.temp_registers = max(gxp.temp_registers, _temporaries(part))
        if kind == "primary":
            old, new = _phases(original.primary), _phases(part)
            gxp.phase_count += len(new) - len(old)
            if gxp.phases == (tuple(old) or (0,)):
                gxp.phases = tuple(new) or (0,)
    return write_gxp(gxp)


def _phases(program: Program) -> list[int]:
    """Numbers of the instructions that phases begin with."""
    return [k for k, i in enumerate(program) if i.mnemonic == "phas"]


def _temporaries(program: Program) -> int:
    """One more than the highest temporary the code names."""
    names = (name for i in program for name in (*i.reads, *i.writes))
    return max((int(m[1]) + 1 for name in names if (m := _TEMPORARY.fullmatch(name))), default=0)


def _hex_lines(program: Program) -> Iterator[str]:
    from isakit.asm.program import hex_words

    for i in program:
        yield hex_words(i)
    for part in program.parts or (program,):
        if part.tail:
            raise FormatError(None, len(part.units), f"{len(part.tail)} bytes at the end fill no word")

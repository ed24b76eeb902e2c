"""Kernels, modules and parameters: one description, whether they come from a file, a source text or a compiler.

Readers of files produce a `Module` and writers take one; `program.kernel` is what a source text says about its code;
`device.load` adds to a `Kernel` what loading adds and keeps the rest. Nothing is decoded here until `Kernel.program`
is asked for. Sizes, offsets and addresses are bytes unless a field says otherwise.
Source: [tesla] 10-12, [usse] 3, [vuc] 12.
"""

from __future__ import annotations

import copy
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from isakit.errors import FormatError, IsakitError
from isakit.lean import cached_property, dataclass

if TYPE_CHECKING:
    from isakit.annotations import Annotations, Project
    from isakit.instruction_sets import Isa, Program
    from isakit.line_table import LineTable

PARAM_BASE = 0x10
"""Byte offset of user parameters in the shared memory of a Tesla block. Source: [tesla] 10."""

MAX_SPACE = 1 << 32
"""Every memory space of the three machines has 32-bit addresses, so no declared size may exceed this."""


@dataclass(frozen=True)
class ConstantSegment:
    """A piece of a constant bank.

    `data` may be shorter than `size`: the rest is zero. A segment without data only names a range whose content
    another segment holds (a variable inside an ELF section).
    """

    offset: int
    size: int
    data: bytes = b""
    name: str = ""


@dataclass(frozen=True)
class Param:
    """One kernel parameter; its index is its position in `Kernel.params`.

    Attributes:
        name: as the source says it, or "".
        offset: bytes from the start of the parameter area (`Kernel.param_base`).
        size: in bytes.
        kind: name of the type where the source says one ("f32", "ptr", "u32[4]", ...), else ""; "f32*" is an address
            of f32 where the source says what lies there, "ptr64.shared" one in shared memory (`__local` in OpenCL C).
    """

    name: str
    offset: int
    size: int
    kind: str = ""

    @cached_property
    def is_pointer(self) -> bool:
        """True if the source says that this is an address."""
        return self.kind in ("ptr", "ptr64") or self.kind.endswith("*")

    @property
    def is_shared(self) -> bool:
        """True if the source says that this is an address in shared memory, which each launch hands out."""
        return self.kind.endswith(".shared")

    @property
    def element(self) -> str:
        """The type of what the address points to, "" where the source does not say."""
        return self.kind[:-1] if self.kind.endswith("*") else ""


@dataclass(frozen=True)
class GlobalVariable:
    """A module variable in global memory; `data` is its initial content, None when it is not initialised.

    `section` and `offset` say where the file keeps it; a text cubin gives neither.
    """

    name: str
    size: int
    data: bytes | None = None
    section: str = ""
    offset: int = 0


@dataclass(frozen=True)
class Relocation:
    """At `offset` of `target` ("c14", "code" or a section name) belongs the address of `symbol` plus `addend`."""

    target: str
    offset: int
    symbol: str
    addend: int = 0
    kind: int = 1


@dataclass(frozen=True)
class TextureSlot:
    """A texture reference of the module; `unit` is the $t index, None where the file binds it per kernel."""

    name: str
    unit: int | None = None
    sizes: tuple[int, ...] = ()


@dataclass(frozen=True)
class InfoRecord:
    """One `.nv.info` record exactly as stored. `form`: 1 no data, 2 byte, 3 half word, 4 sized."""

    form: int
    attribute: int
    data: bytes = b""


@dataclass(frozen=True)
class ExtraSection:
    """A section of an ELF cubin that nothing here interprets (debug information); kept for writing back."""

    name: str
    type: int
    flags: int
    align: int
    entsize: int
    size: int
    data: bytes


_HTML_HEAD = (
    "<tr><th>kernel</th><th>code</th><th>registers</th><th>shared</th><th>local</th><th>barriers</th>"
    "<th>parameters</th></tr>"
)


@dataclass(repr=False)
class Kernel:
    """One entry point (or program of a shader, or microcode) and what it needs to run.

    Attributes:
        name: symbol name as stored.
        code: the instruction bytes in memory order.
        address: address of the first byte of `code`.
        registers: 32-bit registers per thread; None where the source does not say, as in the next three.
        shared_bytes: shared memory per block including launch header and parameters.
        local_bytes: local memory per thread; the corpus has files that understate it.
        barriers: barriers to allocate, 0 to 16.
        params: parameters in order; empty where the source does not describe them, see `params_known`.
        param_base: address of the parameter area in shared memory.
        param_bytes: size of the parameter area, None where unknown.
        constants: bank number to segments (bank 1 on Tesla).
        relocations: addresses the loader has to fill in.
        samplers: texture references used, with their unit.
        max_threads: threads per block the kernel was compiled for (x, y, z); empty when not limited.
        binding: "global", "local" or "weak"; device functions that are not entry points have `entry` False.
        info: raw `.nv.info` records, in file order, when the kernel comes from an ELF cubin.
        extra: facts of one format only, by format-specific key.
        lines: which lines of PTX and source the code comes from, where that is known.
        annotations: what a project file says of it.
        module: the module it belongs to, which says what instruction set the code is of.
    """

    name: str
    code: bytes = b""
    address: int = 0
    registers: int | None = None
    shared_bytes: int | None = None
    local_bytes: int | None = None
    barriers: int | None = None
    params: list[Param] = field(default_factory=list[Param])
    param_base: int = PARAM_BASE
    param_bytes: int | None = None
    constants: dict[int, list[ConstantSegment]] = field(default_factory=dict[int, list[ConstantSegment]])
    relocations: list[Relocation] = field(default_factory=list[Relocation])
    samplers: list[TextureSlot] = field(default_factory=list[TextureSlot])
    max_threads: tuple[int, ...] = ()
    entry: bool = True
    binding: str = "global"
    info: list[InfoRecord] = field(default_factory=list[InfoRecord])
    extra: dict[str, object] = field(default_factory=dict[str, object])
    lines: LineTable | None = field(default=None, compare=False, repr=False)
    annotations: Annotations | None = field(default=None, compare=False, repr=False)
    module: Module | None = field(default=None, compare=False, repr=False)

    @property
    def words(self) -> list[int]:
        """`code` as little-endian 32-bit ints; up to 3 bytes at the end that fill no word are left out."""
        return words_of(self.code)

    @property
    def params_known(self) -> bool:
        """True if `params` describes the arguments; a kernel known to have none is one of those."""
        return bool(self.params) or self.param_bytes == 0

    @cached_property
    def program(self) -> Program:
        """The code, disassembled once. Raises IsakitError where nothing says which instruction set it is of."""
        if self.module is None:
            raise IsakitError(
                f"kernel {self.name!r} belongs to no module that says what instruction set its code is of"
            )
        return self.module.disassemble(self)

    def source_of(self, address: int) -> str:
        """Return `file:line: text` of the source of an instruction; "" where it is not known."""
        return "" if self.lines is None else self.lines.shown(address)

    def own(self, program: Program) -> None:
        """Take the code of a program that was assembled for this kernel."""
        self.code, self.address = program.to_bytes(), program.address
        self.program = program

    def constant_bytes(self, bank: int) -> bytes:
        """Return the content of a constant bank private to this kernel, from its offset 0."""
        return merge_segments(self.constants.get(bank, ()))

    def __repr__(self) -> str:
        return f"<kernel {self.name}: {len(self.code)} bytes of code>"

    def _repr_html_(self) -> str:
        return f"<table>{_HTML_HEAD}{self.html_row()}</table>{self.program._repr_html_()}"  # pyright: ignore[reportPrivateUsage]

    def html_row(self) -> str:
        """Return the kernel as a row of a table."""
        from html import escape

        params = ", ".join(f"{p.kind or p.size} {p.name}".strip() for p in self.params)
        cells = (self.name, len(self.code), self.registers, self.shared_bytes, self.local_bytes, self.barriers, params)
        return "<tr>" + "".join(f"<td>{escape('' if c is None else str(c))}</td>" for c in cells) + "</tr>"


@dataclass(repr=False)
class Module:
    """A whole file, or one program found inside another file; a mapping from names to kernels.

    Attributes:
        kind: "text-cubin", "elf-cubin", "raw", "hex", "gxp", "vuc", or "text" for an assembled source text.
        isa: "tesla", "vuc", "usse", or "" when the file does not say (raw, hex).
        variant: chip name of that instruction set, or "".
        path: name of the file it came from, None for data in memory.
        offset: where the program starts in that file.
        size: bytes it takes there (0 when unknown).
        kernels: by name, in file order; put new ones in with `add`.
        constants: bank number to module-level segments (c0).
        globals: variables in global memory.
        relocations: of the module ("c14": the table of addresses of `globals`).
        samplers: texture references.
        info: raw module-level `.nv.info` records.
        extra: facts of one format only.
        payload: the parsed file where a format has more to say than this class (`GxpFile`, `VucImage`).
        beside: names of the kernels of the other programs in the same file, where `isakit.load` chose this one.
        names: what a project file calls inputs, uniforms and samplers of a shader, by their names in the file.
    """

    kind: str
    isa: str = "tesla"
    variant: str = ""
    path: str | None = field(default=None, compare=False)
    offset: int = field(default=0, compare=False)
    size: int = field(default=0, compare=False)
    kernels: dict[str, Kernel] = field(default_factory=dict[str, Kernel])
    constants: dict[int, list[ConstantSegment]] = field(default_factory=dict[int, list[ConstantSegment]])
    globals: list[GlobalVariable] = field(default_factory=list[GlobalVariable])
    relocations: list[Relocation] = field(default_factory=list[Relocation])
    samplers: list[TextureSlot] = field(default_factory=list[TextureSlot])
    info: list[InfoRecord] = field(default_factory=list[InfoRecord])
    extra: dict[str, object] = field(default_factory=dict[str, object])
    payload: object = None
    beside: tuple[str, ...] = field(default=(), compare=False)
    names: dict[str, str] = field(default_factory=dict[str, str], compare=False)

    def __post_init__(self) -> None:
        for kernel in self.kernels.values():
            kernel.module = self

    def add(self, kernel: Kernel) -> None:
        """Put a kernel in under its name, in place of one that has the same."""
        kernel.module = self
        self.kernels[kernel.name] = kernel

    def annotated(self, project: Project) -> Module:
        """Return the module with what a project says of its kernels and names; parameters get names and types.

        Raises FormatError for a type that does not have the size of its parameter.
        """
        module = copy.copy(self)
        module.names, module.kernels = dict(project.names), {}
        for name, kernel in self.kernels.items():
            known = copy.copy(kernel)
            known.__dict__.pop("program", None)
            known.annotations = project.programs.get(name)
            if known.annotations is not None:
                known.params = [
                    self._annotated_param(name, k, p, known.annotations) for k, p in enumerate(kernel.params)
                ]
            module.add(known)
        return module

    def _annotated_param(self, kernel: str, number: int, param: Param, annotations: Annotations) -> Param:
        said = annotations.params.get(number)
        if said is None:
            return param
        if said.size not in (0, param.size) and not (said.is_pointer and param.size in (4, 8)):
            raise FormatError(
                self.path, 0, f"{kernel}: parameter {number} has {param.size} bytes, {said.type} has {said.size}"
            )
        return Param(said.name or param.name, param.offset, param.size, said.type or param.kind)

    @property
    def instruction_set(self) -> Isa:
        """The instruction set of the code. Raises IsakitError where the file does not say which it is."""
        from isakit.instruction_sets import isa
        from isakit.registry import VARIANTS

        if not self.isa:
            raise IsakitError(
                f"{self.path or 'the file'} does not say what its words are; name one of {', '.join(VARIANTS)}"
            )
        return isa(self.isa, self.variant or None)

    def disassemble(self, kernel: Kernel, program_type: str | None = None) -> Program:
        """Disassemble one of its kernels as a program of a type; the name of a kernel may be that of its type."""
        instruction_set = self.instruction_set
        kind = program_type or (kernel.name if kernel.name in instruction_set.program_types else None)
        program = instruction_set.disassemble(kernel.code, kernel.address, kind)
        if instruction_set.name == "tesla":
            program.kernel = kernel
        else:
            program.line_table = kernel.lines
        program.annotations = kernel.annotations
        return program

    def constant_bytes(self, bank: int) -> bytes:
        """Return the content of a module-level constant bank, from its offset 0."""
        return merge_segments(self.constants.get(bank, ()))

    def constant_symbols(self) -> dict[str, tuple[int, int, int]]:
        """Return named constants: name to (bank, offset, size)."""
        return {s.name: (bank, s.offset, s.size) for bank, segs in self.constants.items() for s in segs if s.name}

    def address_table(self, addresses: Mapping[str, int], target: str = "c14") -> bytes:
        """Return the bank of variable addresses, filled in for variables placed at `addresses`.

        Raises KeyError for a symbol without an address.
        """
        base = self.constant_bytes(int(target[1:])) if target[1:].isdigit() else b""
        entries = [r for r in self.relocations if r.target == target]
        table = bytearray(max([len(base), *(r.offset + 4 for r in entries)]))
        table[: len(base)] = base
        for r in entries:
            value = (addresses[r.symbol] + r.addend) & 0xFFFFFFFF
            table[r.offset : r.offset + 4] = value.to_bytes(4, "little")
        return bytes(table)

    def __getitem__(self, name: str) -> Kernel:
        try:
            return self.kernels[name]
        except KeyError:
            if name in self.beside:
                hint = f"another program of the file has it; isakit.load(path, kernel={name!r}) gives that one"
            else:
                hint = f"there are: {', '.join(self.kernels) or 'none'}"
            raise KeyError(f"no kernel {name!r}; {hint}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.kernels)

    def __len__(self) -> int:
        return len(self.kernels)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        more = f"; {len(self.beside)} more kernels in other programs of the file" if self.beside else ""
        known = self.isa or "an unnamed instruction set"
        return f"<{self.kind} for {known} {self.variant}: {', '.join(self.kernels)}{more}>"

    def _repr_html_(self) -> str:
        from html import escape

        head = (
            f"<p>{escape(self.kind)} for {escape(self.isa or 'an unnamed instruction set')} {escape(self.variant)}</p>"
        )
        return f"{head}<table>{_HTML_HEAD}{''.join(k.html_row() for k in self.kernels.values())}</table>"


def words_of(data: bytes, size: int = 4) -> list[int]:
    """Return little-endian words of `size` bytes; a shorter rest at the end is left out."""
    count = len(data) // size
    if size in (4, 8):
        return list(struct.unpack_from(f"<{count}{'I' if size == 4 else 'Q'}", data))
    return [int.from_bytes(data[i : i + size], "little") for i in range(0, count * size, size)]


def bytes_of(words: Iterable[int], size: int = 4) -> bytes:
    """Return the bytes that `words_of` makes these words of; every word must be in range of `size` bytes."""
    return b"".join(w.to_bytes(size, "little") for w in words)


def words_of_number(digits: str, size: int = 4) -> list[int]:
    """Return the words of a hexadecimal number: one, but 16 digits are two words of 32 bits, the first word first."""
    parts = (digits[:8], digits[8:]) if size == 4 and len(digits) == 16 else (digits,)
    return [int(d, 16) for d in parts]


def named_segments(data: bytes, names: Mapping[str, int]) -> list[ConstantSegment]:
    """Return a bank's content, and its names as ranges that reach up to the next name."""
    out = [ConstantSegment(0, len(data), data)]
    cuts = sorted({*names.values(), len(data)})
    for name, offset in names.items():
        end = next((c for c in cuts if c > offset), len(data))
        out.append(ConstantSegment(offset, end - offset, b"", name))
    return out


def merge_segments(segments: Sequence[ConstantSegment]) -> bytes:
    """Return the content of a bank: later segments win, bytes in no segment are zero."""
    out = bytearray(max((s.offset + max(s.size, len(s.data)) for s in segments), default=0))
    for s in segments:
        out[s.offset : s.offset + len(s.data)] = s.data
    return bytes(out)

"""Modules on a device: kernels by name, variables in device memory, constant banks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

from isakit.arch.tesla.tesla import tesla
from isakit.asm import Program
from isakit.codec import decoder
from isakit.description import Kernel, Module, bytes_of
from isakit.engine.protocol import Array
from isakit.errors import LaunchError
from isakit.programs.needs import module_of
from isakit.runtime.buffer import Buffer, device_bytes
from isakit.runtime.kernel import LoadedKernel


class ConstantSymbol(NamedTuple):
    """A named place in a constant bank, in bytes."""

    bank: int
    offset: int
    size: int


class LoadedModule(Mapping[str, LoadedKernel]):
    """A module in a device: its kernels by name.

    Attributes:
        info: the description of the module.
        globals: variables in device memory, by name; `globals[name].address` is the address in the code.
        constants: constant bank number -> content. The kernels share these; launches use their present content.
        symbols: named constants: name -> (bank, offset, size).
        samplers: texture references: name -> number, for those that have one for the whole module.
    """

    def __init__(
        self,
        info: Module,
        kernels: Mapping[str, LoadedKernel],
        variables: Mapping[str, Buffer],
        constants: Mapping[int, bytearray],
    ) -> None:
        self.info, self.globals, self.constants = info, dict(variables), dict(constants)
        self.symbols = {name: ConstantSymbol(*place) for name, place in info.constant_symbols().items()}
        self.samplers = {s.name: s.unit for s in info.samplers if s.unit is not None}
        self._kernels = dict(kernels)

    def __call__(self, *args: object) -> None:
        """Refuse a launch of no kernel by its name: `module["k"][grid, block](...)`. Raises TypeError, always."""
        name = next(iter(self._kernels), "k")
        raise TypeError(f'say which kernel runs, and how many threads run it: module["{name}"][grid, block](...)')

    def write_constant(self, where: str | int, data: Array | bytes | bytearray | memoryview, offset: int = 0) -> None:
        """Change a constant bank, from the next launch on.

        Args:
            where: the name of a constant, or the number of a bank.
            data: an array, whose numbers become little-endian, or bytes.
            offset: bytes from the start of the constant or bank.

        Raises LaunchError for a name or bank the module does not have, and for bytes that do not fit.
        """
        raw = device_bytes(data).tobytes()
        at, end = self._place(where, offset, len(raw))
        at[0][at[1] : end] = raw

    def read_constant(self, where: str | int, nbytes: int | None = None, offset: int = 0) -> bytes:
        """Return the content of a constant or bank, from byte `offset` on. Raises LaunchError as `write_constant`."""
        (bank, start), end = self._place(where, offset, nbytes)
        return bytes(bank[start:end])

    def _place(self, where: str | int, offset: int, nbytes: int | None) -> tuple[tuple[bytearray, int], int]:
        """Return ((bank, first byte), end) of a range inside a constant or bank."""
        if isinstance(where, str):
            if where not in self.symbols:
                raise LaunchError(f"no constant {where!r}; there are: {', '.join(self.symbols) or 'none'}")
            number, start, size = self.symbols[where]
            what = f"constant {where}"
        else:
            number, start, what = where, 0, f"c{where}[]"
            if where not in self.constants:
                known = ", ".join(f"c{n}[]" for n in sorted(self.constants))
                raise LaunchError(f"the module has no {what}; there are: {known or 'none'}")
            size = len(self.constants[where])
        count = size - offset if nbytes is None else nbytes
        if offset < 0 or count < 0 or offset + count > size:
            raise LaunchError(f"{count} bytes at offset {offset} do not fit into the {size} bytes of {what}")
        return (self.constants[number], start + offset), start + offset + count

    def __getitem__(self, name: str) -> LoadedKernel:
        try:
            return self._kernels[name]
        except KeyError:
            raise KeyError(f"no kernel {name!r}; there are: {', '.join(self._kernels) or 'none'}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._kernels)

    def __len__(self) -> int:
        return len(self._kernels)

    def __repr__(self) -> str:
        return f"<loaded module with {', '.join(self._kernels) or 'no kernels'}>"


def described(source: object, chip: str) -> Module:
    """Return the description of the object to load: a module, an assembled or disassembled program, or 32-bit words.

    Raises LaunchError for anything else, and for code of another instruction set.
    """
    if isinstance(source, Program):
        source = module_of(source)
    elif isinstance(source, bytes | bytearray):
        source = Module("raw", variant=chip, kernels={"main": Kernel("main", bytes(source))})
    elif isinstance(source, Sequence) and not isinstance(source, str):
        program = Program(decoder(tesla, chip, "compute"), [int(w) for w in cast(Sequence[int], source)])
        source = Module("raw", variant=chip, kernels={"main": Kernel("main", bytes_of(program.units))})
    if not isinstance(source, Module):
        kind = type(source).__name__
        raise LaunchError(f"cannot load a {kind}: give a module, a program, or a sequence of 32-bit words")
    if source.isa not in ("tesla", ""):
        raise LaunchError(f"this device runs Tesla code; {source.path or 'the module'} holds {source.isa} code")
    return source

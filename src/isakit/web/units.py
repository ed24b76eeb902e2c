"""The programs a page has open: each kernel, shader or image of a file or text is a unit with a name of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isakit.errors import IsakitError
from isakit.lean import dataclass

if TYPE_CHECKING:
    from isakit.asm import Program
    from isakit.description import Kernel, Module


@dataclass
class Unit:
    """A program: `id` names it in requests, `file` is the dropped file or the text it came from."""

    id: str
    file: str
    name: str
    program: Program
    kernel: Kernel | None = None
    language: str = ""

    def as_json(self) -> dict[str, Any]:
        """What the tree of programs shows."""
        k, p = self.kernel, self.program
        out: dict[str, Any] = {
            "unit": self.id, "file": self.file, "name": self.name, "isa": p.isa, "variant": p.variant,
            "bytes": 4 * len(p.units) if p.isa != "usse" else 8 * len(p.units), "type": p.program_type,
            "language": self.language,
        }  # fmt: skip
        if k is not None:
            out |= {
                "registers": k.registers, "shared": k.shared_bytes, "local": k.local_bytes, "barriers": k.barriers,
                "params": [{"name": x.name, "kind": x.kind, "size": x.size, "offset": x.offset} for x in k.params],
            }  # fmt: skip
        return out


class Units:
    """The units of a page, by id."""

    def __init__(self) -> None:
        self._units: dict[str, Unit] = {}

    def __getitem__(self, unit: str) -> Unit:
        if unit not in self._units:
            raise IsakitError("this program is not open any more")
        return self._units[unit]

    def add_module(self, file: str, modules: list[Module]) -> list[Unit]:
        """Units of all programs of a file, in place of what the file held before."""
        self.drop(file)
        made = [
            Unit(f"{file}:{n}:{k.name}", file, k.name, k.program, k)
            for n, m in enumerate(modules)
            for k in m.kernels.values()
        ]
        self._units |= {u.id: u for u in made}
        return made

    def add_program(self, file: str, program: Program) -> list[Unit]:
        """Units of an assembled text."""
        self.drop(file)
        parts = program.kernels or program.by_type or {"": program}
        made = [Unit(f"{file}:0:{name}", file, name, p, p.kernel, "asm") for name, p in parts.items()]
        self._units |= {u.id: u for u in made}
        return made

    def keep(self, file: str, name: str) -> list[Unit]:
        """The units of a file once more, under another name, so that the file may change."""
        made = [Unit(u.id.replace(file, name, 1), name, u.name, u.program, u.kernel, u.language) for u in self.of(file)]
        self._units |= {u.id: u for u in made}
        return made

    def of(self, file: str) -> list[Unit]:
        """The units of a file."""
        return [u for u in self._units.values() if u.file == file]

    def drop(self, file: str) -> None:
        """Forget the units of a file."""
        self._units = {k: u for k, u in self._units.items() if u.file != file}

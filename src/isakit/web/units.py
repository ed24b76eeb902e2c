"""The programs a page has open: each kernel, shader or image of a file or text is a unit with a name of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from isakit.errors import IsakitError
from isakit.json_text import JsonObject
from isakit.lean import dataclass

if TYPE_CHECKING:
    from isakit.annotations import Project
    from isakit.asm import Program
    from isakit.description import Kernel, Module


@dataclass
class Unit:
    """A program.

    `id` names it in requests, `file` is the dropped file or the text it came from, `stored` the file of the folder that
    it is launched from, empty where it cannot be launched by itself. `launch`: the number of the launch in the capture
    `file`, 0 for what comes from elsewhere.
    """

    id: str
    file: str
    name: str
    program: Program
    kernel: Kernel | None = None
    language: str = ""
    stored: str = ""
    launch: int = 0

    def as_json(self) -> JsonObject:
        """Return the entry of the program in the tree of programs."""
        k, p = self.kernel, self.program
        out: JsonObject = {
            "unit": self.id, "file": self.file, "name": self.name, "isa": p.isa, "variant": p.variant,
            "bytes": p.decoder.view.variant.unit_bytes * len(p.units), "type": p.program_type,
            "language": self.language, "launch": self.launch,
        }  # fmt: skip
        if k is not None:
            out |= {
                "registers": k.registers, "shared": k.shared_bytes, "local": k.local_bytes, "barriers": k.barriers,
                "params": [{"name": x.name, "kind": x.kind, "size": x.size, "offset": x.offset} for x in k.params],
            }  # fmt: skip
        return out


class PageUnits:
    """The units of a page, by id."""

    def __init__(self) -> None:
        self._units: dict[str, Unit] = {}
        self._modules: dict[str, list[Module]] = {}

    def __getitem__(self, unit: str) -> Unit:
        if unit not in self._units:
            raise IsakitError("this program is not open any more")
        return self._units[unit]

    def add_module(self, file: str, modules: list[Module], stored: str, language: str = "") -> list[Unit]:
        """Return units of all programs of a file, in place of what the file held before; see `Unit` for the rest."""
        made = self._add(file, [
            Unit(f"{file}:{n}:{k.name}", file, k.name, k.program, k, language, stored)
            for n, m in enumerate(modules)
            for k in m.kernels.values()
        ])  # fmt: skip
        self._modules[file] = modules
        return made

    def annotate(self, file: str, project: Project) -> list[Unit]:
        """Return the units of a file anew, with a project's annotations. Raises IsakitError for another file."""
        modules = self._modules.get(file)
        if modules is None:
            raise IsakitError(f"{file} has no programs to keep notes on")
        stored = next((u.stored for u in self.of(file)), "")
        made = self.add_module(file, [m.annotated(project) for m in modules], stored)
        self._modules[file] = modules  # as they were read: what is taken back is gone
        return made

    def add_program(self, file: str, program: Program, stored: str = "") -> list[Unit]:
        """Return units of an assembled text, in place of what the file held before."""
        parts = program.kernels or program.by_type or {"": program}
        return self._add(
            file, [Unit(f"{file}:0:{name}", file, name, p, p.kernel, "asm", stored) for name, p in parts.items()]
        )

    def add_launches(self, file: str, launches: list[tuple[int, Kernel]]) -> list[Unit]:
        """Return units of the launches of a capture, by number, in place of what it held before."""
        return self._add(
            file,
            [Unit(f"{file}:{n}:{k.name}", file, f"{n}: {k.name}", k.program, k, launch=n) for n, k in launches],
        )

    def keep(self, file: str, name: str, stored: str) -> list[Unit]:
        """Keep the units of a file under another name, so that the file may change."""
        return self._add(
            name,
            [replace(u, id=u.id.replace(file, name, 1), file=name, stored=stored) for u in self.of(file)],
        )

    def _add(self, file: str, made: list[Unit]) -> list[Unit]:
        self.drop(file)
        self._units |= {u.id: u for u in made}
        return made

    def of(self, file: str) -> list[Unit]:
        """Return the units of a file."""
        return [u for u in self._units.values() if u.file == file]

    def drop(self, file: str) -> None:
        """Drop the units of a file."""
        self._modules.pop(file, None)
        self._units = {k: u for k, u in self._units.items() if u.file != file}

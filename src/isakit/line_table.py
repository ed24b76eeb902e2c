"""The line table: the lines of PTX and of the source that instructions come from.

The compiler makes the table, ELF cubins carry it in the section `.isakit.lines`, and `program.lines` has it for
debuggers, profilers and listings.
"""

from __future__ import annotations

import hashlib
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from isakit.json_text import parse_object
from isakit.lean import cached_property, dataclass

SECTION = ".isakit.lines"
_LARGEST_SOURCE = 1 << 24
_LONGEST_PLACE = 200
_NAME = re.compile(r"%?[^\W\d][\w$]*(?:::[^\W\d]\w*)*(?:\.[^\W\d]\w*|\[\d{1,9}\])*")
_NUMBER = r"(?:[us](?:8|16|32|64)|f(?:16|32|64))"
_TYPE = re.compile(rf"{_NUMBER}|ptr(?::{_NUMBER})?|array:{_NUMBER}(?::\d{{1,9}}){{1,8}}")


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line of PTX and the line of the source it was made from; lines count from 1, 0 and "" mean unknown."""

    ptx: int = 0
    path: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class VariableRange:
    """A place of a variable of the source, for the instructions from `first` on that lie before `end`.

    Vectors, matrices, arrays and structures of shaders come by their numbers: `color.x`, `m[1].x`, `light.range`.

    Attributes:
        type: u8 to s64, f16, f32, f64; an address: `ptr`, with `:TYPE` of what is there, or `array:TYPE:COUNT`,
            with the lengths of all axes but the first where there are several: `array:f32:72:9`.
        place: an expression of the debugger, such as `f32($r5)`. A variable that has no place anywhere has one empty
            range. In what is not in a range of a variable it has been optimised away.
    """

    name: str
    type: str
    first: int
    end: int
    place: str


class LineTable:
    """The lines of one kernel: rows of (address of an instruction, where it comes from), in order of addresses.

    `ptx` is the PTX text the lines of PTX count in; `variables`: the places of variables, where they are known.
    """

    def __init__(
        self, rows: Iterable[tuple[int, SourceLine]], ptx: str = "", variables: Iterable[VariableRange] = ()
    ) -> None:
        self.rows = sorted(rows, key=lambda r: r[0])
        self.ptx = ptx
        self.variables = tuple(variables)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[tuple[int, SourceLine]]:
        return iter(self.rows)

    def __getstate__(self) -> dict[str, object]:
        return {"rows": self.rows, "ptx": self.ptx, "variables": self.variables}

    @cached_property
    def _addresses(self) -> list[int]:
        return [a for a, _ in self.rows]

    def at(self, address: int) -> SourceLine | None:
        """Return the source line of the instruction at an address, None before the first row."""
        k = bisect_right(self._addresses, address)
        return self.rows[k - 1][1] if k else None

    def addresses(self, line: int, path: str = "") -> list[int]:
        """Return the addresses at which the code of a source line begins; `path` may be the end of the file's name."""
        out: list[int] = []
        last: SourceLine | None = None
        for address, where in self.rows:
            mine = where.line == line and (not path or where.path == path or where.path.endswith("/" + path))
            if mine and (last is None or (last.line, last.path) != (where.line, where.path)):
                out.append(address)
            last = where
        return out

    def ptx_addresses(self, line: int) -> list[int]:
        """Return addresses of the instructions that come from a line of PTX."""
        return [a for a, where in self.rows if where.ptx == line]

    @cached_property
    def _ptx_lines(self) -> list[str]:
        return self.ptx.splitlines()

    def ptx_text(self, where: SourceLine) -> str:
        """Return the line of PTX, with single blanks; "" if it is not known."""
        return " ".join(self._ptx_lines[where.ptx - 1].split()) if 0 < where.ptx <= len(self._ptx_lines) else ""

    @cached_property
    def _sources(self) -> dict[str, list[str]]:
        return {}

    def file_lines(self, path: str) -> list[str]:
        """Return the lines of a source file as it is now; none if it cannot be read."""
        if path not in self._sources:
            text = ""
            try:
                file = Path(path)
                if path and file.is_file() and 0 < file.stat().st_size <= _LARGEST_SOURCE:  # /proc/kmsg says 0
                    text = file.read_text(errors="replace")
            except (OSError, ValueError):
                text = ""
            self._sources[path] = text.splitlines()
        return self._sources[path]

    def source_text(self, where: SourceLine) -> str:
        """Return the source line as its file has it now; "" if it cannot be read."""
        rows = self.file_lines(where.path)
        return rows[where.line - 1].strip() if 0 < where.line <= len(rows) else ""

    def shown(self, address: int) -> str:
        """Return `file:line: text` of the source of the instruction at an address, else `ptx:line: text`, else ""."""
        where = self.at(address)
        if where is None:
            return ""
        if where.line:
            text = self.source_text(where)
            return f"{Path(where.path).name}:{where.line}" + (f": {text}" if text else "")
        return f"ptx:{where.ptx}: {self.ptx_text(where)}" if where.ptx else ""


def pack(tables: Mapping[str, LineTable], of: bytes = b"") -> bytes:
    """Return tables of several kernels, which share their PTX, as JSON: for the section of an ELF cubin.

    `of`: the content of the file that the tables are of, where they lie beside it.
    """
    paths = sorted({w.path for t in tables.values() for _, w in t})
    number = {p: k for k, p in enumerate(paths)}
    texts = list(dict.fromkeys(t.ptx for t in tables.values()))
    kernels = {n: {"ptx": texts.index(t.ptx), "rows": [[a, w.ptx, number[w.path], w.line] for a, w in t],
                   **({"variables": [[v.name, v.type, v.first, v.end, v.place] for v in t.variables]}
                      if t.variables else {})}
               for n, t in tables.items()}  # fmt: skip
    beside = {"of": hashlib.sha256(of).hexdigest()} if of else {}
    whole = {"version": 1, **beside, "paths": paths, "ptx": texts, "kernels": kernels}
    return json.dumps(whole, separators=(",", ":")).encode()


def unpack(data: bytes, of: bytes = b"") -> dict[str, LineTable]:
    """Return the line tables that `pack` has packed; damaged data give no table, nor do those of another file."""
    try:
        content = parse_object(data)
        if of and content.get("of") != hashlib.sha256(of).hexdigest():
            return {}
        paths, texts = [str(p) for p in content["paths"]], [str(t) for t in content["ptx"]]
        out: dict[str, LineTable] = {}
        for name, table in content["kernels"].items():
            rows = [(int(a), SourceLine(int(p), paths[int(f)], int(n))) for a, p, f, n in table["rows"]]
            variables = [VariableRange(str(n), str(t), int(a), int(e), str(p)[:_LONGEST_PLACE])
                         for n, t, a, e, p in table.get("variables", ())
                         if _NAME.fullmatch(str(n)) and _TYPE.fullmatch(str(t))]  # fmt: skip
            out[str(name)] = LineTable(rows, texts[int(table["ptx"])], variables)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError):
        return {}
    return out

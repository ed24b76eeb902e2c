"""Assembly of compiled kernels, with the lines of PTX and source it comes from as comments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from isakit.asm.printer import lines
from isakit.compile.ir import Loc
from isakit.description import Module

_COLUMN = 100


def listing(module: Module) -> str:
    """The assembly of all kernels of a module; without line tables as `isakit dis` prints it."""
    out: list[str] = []
    for kernel in module.kernels.values():
        table = line_table(module, kernel.name)
        out += list(lines(kernel.program)) if table is None else list(_interleaved(module, kernel.name, table))
        out.append("")
    return "\n".join(out)


def line_table(module: Module, kernel: str) -> dict[int, Loc] | None:
    """Address of each instruction to where it comes from, None where the module does not know."""
    tables = cast("Mapping[str, dict[int, Loc]]", module.extra.get("lines", {}))
    return tables.get(kernel)


def _interleaved(module: Module, name: str, table: dict[int, Loc]) -> Iterator[str]:
    ptx = str(module.extra.get("source", "")).splitlines()
    files = cast("Mapping[int, str]", module.extra.get("files", {}))
    texts: dict[int, list[str]] = {}
    last_source, last_ptx = (0, 0), 0
    for line in lines(module.kernels[name].program):
        code, _, comment = line.rpartition("// ")
        address = comment.partition(":")[0]
        loc = table.get(int(address, 16)) if code and comment.count(":") == 1 and _is_hex(address) else None
        if loc is not None:
            row, file, number = loc
            if number and (file, number) != last_source:
                last_source = file, number
                text = _line(files.get(file, ""), number, file, texts)
                yield f"    // {files.get(file, f'file {file}')}:{number}{': ' + text if text else ''}"[:_COLUMN]
            if row and row != last_ptx and row <= len(ptx):
                last_ptx = row
                yield f"    //   {' '.join(ptx[row - 1].split())}"[:_COLUMN]
        yield line


def _is_hex(text: str) -> bool:
    return bool(text) and all(c in "0123456789abcdef" for c in text)


def _line(path: str, number: int, file: int, texts: dict[int, list[str]]) -> str:
    """A line of a source file, if it can be read."""
    if file not in texts:
        try:
            texts[file] = Path(path).read_text(errors="replace").splitlines() if path else []
        except (OSError, ValueError):
            texts[file] = []
    rows = texts[file]
    return rows[number - 1].strip() if 0 < number <= len(rows) else ""

"""The magic of notebooks: `%load_ext isakit`, then a cell that begins with `%%isakit tesla` is assembled.

    %%isakit tesla -V gt200 -o program
    add b32 $r0 $r1 $r2
    exit nop

The first word is an instruction set, whose assembly the cell is, or a language that is compiled: ptx, cuda, opencl,
python, cg, glsl. `-V` names the chip, `-o` the variable that the program or module goes to. Nothing of the cell runs.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from isakit.errors import IsakitError
from isakit.registry import VARIANTS

if TYPE_CHECKING:
    from isakit.asm import Program
    from isakit.description import Module

USAGE = "%%isakit tesla|vuc|usse|ptx|cuda|opencl|python|cg|glsl [-V CHIP] [-o NAME]"
_ENDINGS = {"cuda": "cell.cu", "opencl": "cell.cl", "python": "cell.py", "cg": "cell.cg", "glsl": "cell.glsl"}


def made(line: str, cell: str) -> tuple[str, Program | Module]:
    """Return the variable that a cell's first line names ("" for none), and what the cell is assembled to.

    Raises IsakitError for an unknown word, and for what is wrong in the cell.
    """
    words = shlex.split(line)
    what = words.pop(0) if words else ""
    options = {"-V": "", "-o": ""}
    while words:
        option = words.pop(0)
        if option not in options or not words:
            raise IsakitError(f"`{option}` is not understood; the magic is {USAGE}")
        options[option] = words.pop(0)
    name, variant = options["-o"], options["-V"] or None
    if name and not name.isidentifier():
        raise IsakitError(f"{name!r} is not a name of a variable")
    if what in VARIANTS:
        from isakit.instruction_sets import isa

        return name, isa(what, variant).assemble(cell, path="<cell>")
    if what == "ptx":
        from isakit.compile import compile_ptx

        return name, compile_ptx(cell, variant, path="<cell>").module
    if what in _ENDINGS:
        from isakit.programs.sources import compiled_source

        return name, compiled_source(cell, f"<{_ENDINGS[what]}>", what, variant)
    raise IsakitError(f"{what!r} is neither an instruction set nor a language; the magic is {USAGE}")


def load_ipython_extension(shell: Any) -> None:
    """Give an IPython shell the magic, as `%load_ext isakit` asks for."""

    def isakit(line: str, cell: str) -> Program | Module | None:
        try:
            name, got = made(line, cell)
        except IsakitError as e:
            print(f"error: {e}")
            return None
        if name:
            shell.push({name: got})
        return got

    shell.register_magic_function(isakit, magic_kind="cell", magic_name="isakit")


__all__ = ["load_ipython_extension", "made"]

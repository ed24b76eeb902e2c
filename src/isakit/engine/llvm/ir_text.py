"""Writing LLVM IR as text: a module of globals and functions, and the body of one function."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from isakit.sem.value import Table


class Ref(NamedTuple):
    """An SSA value or constant: its text, width in bits, and whether it is one number for all lanes (a scalar)."""

    text: str
    width: int
    uniform: bool = False


class LlvmModule:
    """An LLVM module under construction. Functions and tables are emitted once, by key.

    `elsewhere` has functions that other modules provide: key -> (name, signature as for `declare`).
    """

    def __init__(self, lanes: int = 32, attributes: str = "nounwind") -> None:
        self.lanes, self.attributes = lanes, attributes
        self._globals: list[str] = []
        self._functions: list[str] = []
        self._declared: dict[str, str] = {}
        self._tables: dict[int, str] = {}
        self._named: dict[object, str] = {}
        self._tables_kept: list[Table] = []
        self.elsewhere: dict[object, tuple[str, str]] = {}

    def vector(self, width: int) -> str:
        """The type of a lane value of `width` bits."""
        return f"<{self.lanes} x i{width}>"

    def declare(self, name: str, signature: str) -> str:
        """Declare an external function (intrinsic) once; `signature` has the name replaced by `@`. Returns `@name`."""
        self._declared.setdefault(name, "declare " + signature.replace("@", "@" + name, 1))
        return "@" + name

    def table(self, table: Table) -> str:
        """The global that holds a constant table, as 32- or 64-bit entries."""
        name = self._tables.get(id(table))
        if name is None:
            name = self._tables[id(table)] = f"@table{len(self._tables)}_{table.name}"
            self._tables_kept.append(table)
            bits = 32 if table.width <= 32 else 64
            entries = ", ".join(f"i{bits} {e}" for e in table.entries)
            self._globals.append(
                f"{name} = internal unnamed_addr constant [{len(table.entries)} x i{bits}] [{entries}]"
            )
        return name

    def function(self, key: object, make: Callable[[str], str]) -> str:
        """The function made for `key`, made on first use: `make(name)` returns its whole text."""
        if key in self.elsewhere:
            return self.declare(*self.elsewhere[key])
        name = self._named.get(key)
        if name is None:
            name = self._named[key] = f"@f{len(self._named)}"
            self._functions.append(make(name))
        return name

    def add(self, text: str) -> None:
        """Add a function."""
        self._functions.append(text)

    def __str__(self) -> str:
        return "\n".join([*self._declared.values(), *self._globals, *self._functions, ""])


class Body:
    """The body of a function: instructions in order, with fresh names numbered from `first` on.

    `current` is the label of the block being written.
    """

    def __init__(self, module: LlvmModule, first: int = 0) -> None:
        self.module = module
        self.lines: list[str] = []
        self.current = ""
        self._count = first

    def __call__(self, instruction: str) -> str:
        """Emit an instruction that gives a value; returns its name."""
        self._count += 1
        name = f"%t{self._count}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def do(self, instruction: str) -> None:
        """Emit an instruction without a value."""
        self.lines.append("  " + instruction)

    def label(self, name: str) -> None:
        """Start a block."""
        self.current = name
        self.lines.append(name + ":")

    def fresh(self, prefix: str) -> str:
        """A new block name."""
        self._count += 1
        return f"{prefix}{self._count}"

    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)


def signed_text(value: int, width: int) -> str:
    """A constant as LLVM prints it."""
    if width == 1:
        return "true" if value else "false"
    return str(value - (1 << width) if value >> (width - 1) else value)

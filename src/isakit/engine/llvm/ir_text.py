"""A module of LLVM IR: globals, functions and branch weights."""

from __future__ import annotations

from collections.abc import Callable

from isakit.engine.llvm.ir_types import PTR, IrFunction, IrType, Ref, integer, vector
from isakit.sem.value import Table


class LlvmModule:
    """An LLVM module under construction. Functions and tables are emitted once, by key.

    `elsewhere`: functions that other modules provide: key -> (name, signature as for `declare`).
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
        self._vectors: dict[int, IrType] = {}

    def vector(self, width: int) -> IrType:
        """Return the type of a lane value of `width` bits."""
        made = self._vectors.get(width)
        if made is None:
            made = self._vectors[width] = vector(self.lanes, integer(width))
        return made

    def declare(self, name: str, signature: str) -> str:
        """Declare an external function (intrinsic) once; `signature` has the name replaced by `@`. Returns `@name`."""
        self._declared.setdefault(name, "declare " + signature.replace("@", "@" + name, 1))
        return "@" + name

    def external(self, f: IrFunction) -> IrFunction:
        """Declare an external function, once."""
        self._declared.setdefault(f.name[1:], f.declaration)
        return f

    def variable(self, name: str, type: IrType, number: int = 0, *, constant: bool = False) -> Ref:
        """Add a global; return its address. A constant one is private to the module."""
        kind = "internal constant" if constant else "global"
        content = "zeroinitializer" if type.suffix == "" else type.literal(number)
        self._globals.append(f"@{name} = {kind} {type} {content}")
        return Ref("@" + name, PTR)

    def table(self, table: Table) -> str:
        """Return the global that holds a constant table, as 32- or 64-bit entries."""
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
        """Return the function for `key`, made on first use: `make(name)` returns its whole text."""
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


def signed_text(value: int, width: int) -> str:
    """Return a constant as LLVM prints it."""
    if width == 1:
        return "true" if value else "false"
    return str(value - (1 << width) if value >> (width - 1) else value)


METADATA = "\n".join(
    [
        "",
        '!0 = !{!"branch_weights", i32 1, i32 100000}',
        "!1 = !{}",
        '!2 = !{!"branch_weights", i32 100000, i32 1}',
        '!3 = !{!"branch_weights", i32 64, i32 1}',
        "",
    ]
)
"""The end of a module with branch weights: the first target is hardly ever taken (`!0`), almost always, or often."""

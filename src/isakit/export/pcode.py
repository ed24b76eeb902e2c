"""P-code of instructions: the traced graphs as statements of SLEIGH.

Values of w bits stand in varnodes of w/8 bytes, rounded up, with zeros above. Operations that p-code lacks become
user-defined operations (CALLOTHER) by name: exact floating point, tables, machine values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from isakit.errors import IsakitError
from isakit.export.sleigh_text import Tables
from isakit.lean import dataclass
from isakit.sem.operation import expansion
from isakit.sem.trace import Effect
from isakit.sem.value import Value, postorder, uniform_number
from isakit.spec.fields import Field
from isakit.spec.isa import RegisterFile

SCRATCH = "scratch"
"""Prefix of the registers that pass a value to the table of a destination."""
_INLINE = 40
"""Size of a named operation, in nodes, up to which its definition is inlined."""
_INDEX_BITS = 8
_LOCAL = re.compile(r"local (\w+):\d+ = ")
_WORD = re.compile(r"\w+")
_RESERVED = frozenset(
    [
        *("abs", "borrow", "build", "call", "carry", "ceil", "cpool", "crossbuild", "delayslot", "export"),
        *("float2float", "floor", "goto", "if", "int2float", "local", "lzcount", "macro", "nan", "newobject"),
        *("popcount", "return", "round", "sborrow", "scarry", "sext", "sqrt", "trunc", "zext"),
    ]
)


class NoPcode(IsakitError):
    """P-code has no statements for a graph."""


@dataclass(frozen=True)
class PcodeReferences:
    """The names that statements refer to, collected while they are written: user-defined operations, scratch registers.

    `files` are the register files, `spaces` the memory spaces by the name that the semantics uses.
    """

    files: Mapping[str, RegisterFile]
    spaces: Mapping[str, str]
    operations: dict[str, Value | None]
    scratch: dict[int, None]
    registers: dict[str, dict[tuple[int, int, tuple[str, ...]], str]]

    def operation(self, name: str, node: Value | None = None) -> str:
        """Return the name of a user-defined operation for a node, or for an effect."""
        clean = re.sub(r"\W+", "_", name).strip("_")
        clean = f"{clean}_" if clean in _RESERVED else clean
        self.operations.setdefault(clean, node)
        return clean

    def scratch_of(self, size: int) -> str:
        """Return the scratch register of `size` bytes."""
        self.scratch[size] = None
        return f"{SCRATCH}{size}"


def size_of(width: int) -> int:
    """Return the size in bytes of a varnode for `width` bits."""
    return -(-width // 8)


def canonical(effects: Sequence[Effect], results: Sequence[Value] = ()) -> tuple[Hashable, ...]:
    """Return a key that is equal for graphs with the same computation."""
    numbers: dict[int, int] = {}
    rows: list[tuple[object, ...]] = []

    def number(v: Value) -> int:
        for x in postorder(v, set()):
            if id(x) not in numbers:
                numbers[id(x)] = len(rows)
                rows.append((x.op, x.width, _plain(x.attr), tuple(numbers[id(a)] for a in x.args)))
        return numbers[id(v)]

    said = [
        (e.kind, e.name, tuple(number(a) for a in e.args), None if e.when is None else number(e.when), _plain(e.attr))
        for e in effects
    ]
    ends = tuple(number(r) for r in results)
    return tuple(rows), tuple(said), ends


def _plain(attr: Any) -> str:
    if isinstance(attr, Field):
        return str(attr.slices)
    if isinstance(attr, tuple):
        return "(" + ",".join(_plain(a) for a in attr) + ")"  # pyright: ignore[reportUnknownVariableType]
    return str(attr) if isinstance(attr, (int, str, bool)) or attr is None else f"{attr}@{id(attr)}"


class PcodeStatements:
    """The statements of one constructor.

    Attributes: `lines`; `operands`: fields and tables that the pattern has to name.
    """

    def __init__(self, tables: Tables, machine: PcodeReferences, holes: Mapping[str, str] | None = None) -> None:
        self.tables, self.machine = tables, machine
        self.lines: list[str] = []
        self.operands: dict[str, None] = {}
        self.holes = holes or {}
        self._names: dict[int, str] = {}
        self._keep: list[Value] = []
        self._labels = 0
        self._temporaries = 0

    def text(self, *used: str) -> str:
        """Return the statements, without temporaries that neither they nor `used` mention."""
        called = tuple(f"{name}(" for name in self.machine.operations)
        kept: list[str] = []
        wanted = set(used)
        for line in reversed(self.lines):
            found = _LOCAL.match(line)
            if found and found[1] not in wanted and not any(c in line for c in called):
                continue
            wanted.update(_WORD.findall(line[found.end() :] if found else line))
            kept.append(line)
        return " ".join(reversed(kept))

    # --- values -----------------------------------------------------------------------------------------------------

    def value(self, v: Value) -> str:
        """Return the name of a temporary with a value."""
        for x in postorder(v, set()):
            if id(x) not in self._names:
                self._keep.append(x)
                self._names[id(x)] = self._value(x, [self._names[id(a)] for a in x.args])
        return self._names[id(v)]

    def fresh(self, expression: str, size: int) -> str:
        """Assign an expression to a new temporary and return its name."""
        name = f"t{self._temporaries}"
        self._temporaries += 1
        self.lines.append(f"local {name}:{size} = {expression};")
        return name

    def label(self) -> str:
        """Return a new label."""
        self._labels += 1
        return f"<l{self._labels}>"

    def _value(self, v: Value, args: list[str]) -> str:
        special: dict[str, Callable[[Value, list[str]], str]] = {
            "const": self._const, "param": self._param, "read": self._read, "hole": self._hole, "call": self._call,
            "machine": self._machine_value, "table": self._table, "select": self._select, "extract": self._extract,
            "concat": self._concat, "udiv": self._udiv, "sext": self._sext, "ashr": self._ashr, "slt": self._slt,
        }  # fmt: skip
        make = special.get(v.op)
        if make is not None:
            return make(v, args)
        size = size_of(v.width)
        simple = {"add": "+", "sub": "-", "mul": "*", "and": "&", "or": "|", "xor": "^", "shl": "<<", "lshr": ">>",
                  "eq": "==", "ult": "<"}  # fmt: skip
        if v.op in simple:
            name = self.fresh(f"{args[0]} {simple[v.op]} {args[1]}", size)
            return self._cut(name, v.width) if v.op in ("add", "sub", "mul", "shl") else name
        if v.op == "not":
            return self.fresh(f"!{args[0]}", 1) if v.width == 1 else self._cut(self.fresh(f"~{args[0]}", size), v.width)
        if v.op == "zext":
            return args[0] if size == size_of(v.args[0].width) else self.fresh(f"zext({args[0]})", size)
        if v.op == "clz":
            inner = size_of(v.args[0].width)
            spare = 8 * inner - v.args[0].width
            return self.fresh(f"lzcount({args[0]})" + (f" - {spare}" if spare else ""), size)
        raise NoPcode(f"p-code has no {v.op}")

    def _cut(self, name: str, width: int) -> str:
        """Clear the high bits of a temporary, if they may be set."""
        if width % 8 == 0:
            return name
        if width > 64:
            raise NoPcode(f"a mask of {width} bits")
        return self.fresh(f"{name} & {(1 << width) - 1:#x}", size_of(width))

    def _const(self, v: Value, args: list[str]) -> str:
        size = size_of(v.width)
        if size > 8:
            if v.attr >> 64:
                raise NoPcode(f"a constant of {v.width} bits")
            return self.fresh(f"zext({v.attr:#x}:8)", size)
        return f"{v.attr:#x}:{size}"

    def _param(self, v: Value, args: list[str]) -> str:
        if not isinstance(v.attr, Field):
            raise NoPcode(f"a formal argument {v.attr}")
        size = size_of(v.width)
        terms: list[str] = []
        shift = 0
        for low, n in v.attr.slices:
            name = self.tables.field(low, n, kind="v")
            self.operands[name] = None
            part = self.fresh(name, size)
            terms.append(f"({part} << {shift})" if shift else part)
            shift += n
        return terms[0] if len(terms) == 1 else self.fresh(" | ".join(terms), size)

    def _hole(self, v: Value, args: list[str]) -> str:
        table = self.holes[v.attr]
        if table.startswith(SCRATCH):
            return self.fresh(table, size_of(v.width))
        self.operands[table] = None
        return self.fresh(table, size_of(v.width))

    def _read(self, v: Value, args: list[str]) -> str:
        return self.fresh(self.register(v.attr, v.args[0]), size_of(v.width))

    def _select(self, v: Value, args: list[str]) -> str:
        condition, yes, no = args
        name = self.fresh(yes, size_of(v.width))
        label = self.label()
        self.lines += [f"if ({condition}) goto {label};", f"{name} = {no};", label]
        return name

    def _extract(self, v: Value, args: list[str]) -> str:
        inner, size = size_of(v.args[0].width), size_of(v.width)
        name = args[0]
        if v.attr:
            name = self.fresh(f"{name} >> {v.attr}", inner)
        if inner != size:
            if ":" in name:
                name = self.fresh(name, inner)
            name = self.fresh(f"{name}:{size}", size)
        rest = v.args[0].width - v.attr
        return self._cut(name, v.width) if rest > v.width else name

    def _concat(self, v: Value, args: list[str]) -> str:
        size = size_of(v.width)
        wide = [a if size_of(x.width) == size else self.fresh(f"zext({a})", size)
                for a, x in zip(args, v.args, strict=True)]  # fmt: skip
        return self.fresh(f"({wide[0]} << {v.args[1].width}) | {wide[1]}", size)

    def _udiv(self, v: Value, args: list[str]) -> str:
        size = size_of(v.width)
        name = self.fresh(f"{(1 << min(v.width, 64)) - 1:#x}", size)
        if v.width > 64:
            raise NoPcode(f"a quotient of {v.width} bits")
        label = self.label()
        self.lines += [f"if ({args[1]} == 0) goto {label};", f"{name} = {args[0]} / {args[1]};", label]
        return name

    def signed(self, v: Value, name: str) -> str:
        """Return a value with its sign extended to all bits of the varnode."""
        spare = 8 * size_of(v.width) - v.width
        return self.fresh(f"({name} << {spare}) s>> {spare}", size_of(v.width)) if spare else name

    def _sext(self, v: Value, args: list[str]) -> str:
        inner, size = size_of(v.args[0].width), size_of(v.width)
        name = self.signed(v.args[0], args[0])
        if inner != size:
            name = self.fresh(f"sext({name})", size)
        return self._cut(name, v.width)

    def _ashr(self, v: Value, args: list[str]) -> str:
        return self._cut(self.fresh(f"{self.signed(v, args[0])} s>> {args[1]}", size_of(v.width)), v.width)

    def _slt(self, v: Value, args: list[str]) -> str:
        a, b = (self.signed(x, n) for x, n in zip(v.args, args, strict=True))
        return self.fresh(f"{a} s< {b}", 1)

    def _user(self, name: str, args: Sequence[str], node: Value) -> str:
        return self.fresh(f"{self.machine.operation(name, node)}({', '.join(args)})", size_of(node.width))

    def _call(self, v: Value, args: list[str]) -> str:
        operation, statics = v.attr
        widths = tuple(a.width for a in v.args)
        formals, body = expansion(operation, statics, widths)
        nodes = postorder(body, set())
        if len(nodes) <= _INLINE and all(n.op not in ("call", "table") for n in nodes):
            for f, a in zip(formals, args, strict=True):
                self._names[id(f)] = a
            known = {id(f) for f in formals}
            for n in nodes:
                if id(n) not in known:
                    self._names.pop(id(n), None)
            name = self.value(body)
            for n in nodes:  # another use has other arguments
                self._names.pop(id(n), None)
            return name
        facts = "_".join(f"{k}_{x}" for k, x in statics)
        shape = "_".join(str(w) for w in widths)
        return self._user(f"{operation.name}_{facts}_{shape}", args, v)

    def _machine_value(self, v: Value, args: list[str]) -> str:
        name, facts = v.attr
        return self._user(f"{name}_{'_'.join(f'{k}_{x}' for k, x in facts)}", args, v)

    def _table(self, v: Value, args: list[str]) -> str:
        return self._user(f"table_{v.attr.name}", args, v)

    # --- places -----------------------------------------------------------------------------------------------------

    def register(self, file: str, index: Value) -> str:
        """Return a register by a number that the word determines: a name, or a field with registers attached."""
        known = self.machine.files.get(file)
        if known is None:
            raise NoPcode(f"registers {file}")
        if index.op == "const":
            return register_name(known, index.attr)
        fields = {x.attr.slices for x in postorder(index, set()) if x.op == "param"}
        if not index.uniform or len(fields) != 1:
            raise NoPcode(f"registers {file} numbered by more than a field")
        ((slices),) = fields
        if len(slices) != 1 or slices[0][1] > _INDEX_BITS:
            raise NoPcode(f"registers {file} numbered by a split field")
        ((low, n),) = slices
        numbers = [uniform_number(index, k << low) for k in range(1 << n)]
        names = tuple(register_name(known, k) for k in numbers)
        registers = self.machine.registers.setdefault(self.tables.prefix, {})
        name = registers.get((low, n, names))
        if name is None:
            name = registers[low, n, names] = self.tables.field(low, n, kind=f"r{len(registers)}_")
        self.operands[name] = None
        return name

    # --- effects ----------------------------------------------------------------------------------------------------

    def run(self, effects: Sequence[Effect], operand: Callable[[Effect, str], Sequence[str]] | None = None) -> None:
        """Write the effects of a trace.

        `operand` gives the statements that write a value to an operand of the instruction.

        After NoPcode, `lines` are invalid.
        """
        late: list[tuple[str | None, Callable[[], Sequence[str]]]] = []
        for e in effects:
            when = None if e.when is None else self.value(e.when)
            args = [self.value(a) for a in e.args] if e.kind != "write" else [self.value(e.args[1])]
            if e.kind == "load":
                assert e.result is not None
                self._names[id(e.result)] = self._load(e, args[0], when)
                self._keep.append(e.result)
            elif e.kind == "store":
                place = f"*[{self._space(e.name)}]:{size_of(e.args[1].width)} {self._pointer(e.args[0], args[0])}"
                self._under(when, [f"{place} = {args[1]};"])
            elif e.kind == "atomic":
                assert e.result is not None
                size = size_of(e.result.width)
                name = self.machine.operation(f"atomic_{e.get('op')}_{e.name}_{size}")
                self._names[id(e.result)] = self.fresh(f"{name}({', '.join(args)})", size)
                self._keep.append(e.result)
            elif e.kind == "write":
                place = self.register(e.name, e.args[0])
                late.append((when, lambda place=place, value=args[0]: [f"{place} = {value};"]))
            elif e.kind == "operand" and operand is not None:
                late.append((when, lambda e=e, value=args[0]: operand(e, value)))
            elif e.kind == "control":
                facts = "_".join(f"{k}_{x}" for k, x in e.attr)
                called = f"{self.machine.operation(f'{e.name}_{facts}')}({', '.join(args)});"
                late.append((when, lambda called=called: [called]))
            elif e.kind == "trap":
                called = f"{self.machine.operation(f'trap_{e.name}')}();"
                late.append((when, lambda called=called: [called]))
            else:
                raise NoPcode(f"an effect {e.kind}")
        for when, make in late:
            self._under(when, make())

    def _under(self, when: str | None, lines: Sequence[str]) -> None:
        if when is None:
            self.lines += lines
        else:
            label = self.label()
            self.lines += [f"if (!{when}) goto {label};", *lines, label]

    def _pointer(self, v: Value, name: str) -> str:
        """Return an address in the size that all spaces have."""
        if v.width > 32:
            raise NoPcode(f"an address of {v.width} bits")
        return name if size_of(v.width) == 4 else self.fresh(f"zext({name})", 4)

    def _space(self, name: str) -> str:
        try:
            return self.machine.spaces[name]
        except KeyError:
            raise NoPcode(f"memory {name}") from None

    def _load(self, e: Effect, address: str, when: str | None) -> str:
        assert e.result is not None
        size = size_of(e.result.width)
        if e.name not in self.machine.spaces:
            loaded = f"{self.machine.operation(f'read_{e.name}_{size}')}({address})"
        else:
            loaded = f"*[{self._space(e.name)}]:{size} {self._pointer(e.args[0], address)}"
        if when is None:
            return self.fresh(loaded, size)
        name = self.fresh(f"0:{size}", size)
        self._under(when, [f"{name} = {loaded};"])
        return name


def register_name(file: RegisterFile, number: int) -> str:
    """Return the name of a register; numbers beyond the file wrap, as an index that the word cannot mean."""
    return f"{file.name}{number % file.count}"

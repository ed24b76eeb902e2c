"""Pseudo code of an instruction: its traced graph, written down.

The graph is the one every engine runs (`isakit.sem`), so the text is what is executed. Registers carry their names,
fields of the word their values. `u32(x)` and `s32(x)` widen with zeros and with the sign, `x[7:0]` are bits, `{a, b}`
puts bits one after the other, `a <s b` compares as signed numbers; values used twice have names.
"""

from __future__ import annotations

from collections.abc import Iterator

from isakit.errors import NotModelled
from isakit.export.json_ import legal_word
from isakit.sem.operation import Operation
from isakit.sem.semantics import trace_of
from isakit.sem.trace import Effect
from isakit.sem.value import Table, Value, on, postorder
from isakit.spec import Form, InstructionSet
from isakit.spec.fields import Field
from isakit.spec.parts import possible_bits, static_bits

_INFIX = {"mul": ("*", 7), "udiv": ("/", 7), "add": ("+", 6), "sub": ("-", 6), "shl": ("<<", 5), "lshr": (">>", 5),
          "and": ("&", 4), "xor": ("^", 3), "or": ("|", 2), "eq": ("==", 1), "ult": ("<", 1),
          "slt": ("<s", 1)}  # fmt: skip
_ATOM = 9
_LONGEST = 100
"""Characters of an expression; parts of a longer one get names."""


def pseudocode(isa: InstructionSet, form: Form, word: int) -> list[str]:
    """Return the lines for one instruction. Raises NotModelled if its meaning is not known."""
    return list(_Writer(isa, form, word).lines()) or ["nothing"]


def operations(form: Form, word: int) -> dict[str, str]:
    """Return the named operations in it, with the first sentence of their rule."""
    found: dict[str, str] = {}
    for v in trace_of(form, word).values():
        if v.op == "call":
            op: Operation = v.attr[0]
            found[op.name] = " ".join((op.definition.__doc__ or "").split("\n\n")[0].split())
    return found


def example_word(form: Form) -> int:
    """Return a word of a form whose operands name different registers, as far as the form allows it.

    Raises NotModelled for a form of which no word is found to be an instruction.
    """
    word = legal_word(form)
    number = 4  # every fourth register, so that pairs and quads are ones, too
    for name, part in form.parts.items():
        if name in form.control:
            continue
        free = possible_bits(part) & ~static_bits(part) & ~form.fixed.mask & ~word
        low = max((free & -free).bit_length() - 1, 0)
        other = word | number << low & free
        if other != word and form.matches(other) and form.error(other) is None:
            word = other
            number += 4
    return word


def flag_values(isa: InstructionSet, form: Form, word: int) -> list[str]:
    """Return the computation of each flag that the instruction writes; `result` is the value for other registers.

    Raises NotModelled for an instruction whose meaning is not known.
    """
    return list(_Writer(isa, form, word).flags())


class _Writer:
    def __init__(self, isa: InstructionSet, form: Form, word: int) -> None:
        self.isa, self.word = isa, word
        self.trace = trace_of(form, word)
        self.known: dict[int, Value] = {}
        self.keep: list[Value] = []  # ids stay theirs as long as the values live
        self.names: dict[int, str] = {}
        self.uses: dict[int, int] = {}
        self.out: list[str] = []
        self.result: Value | None = None

    def lines(self) -> Iterator[str]:
        effects = self.trace.effects
        roots = [[self.concrete(v) for v in e.inputs] for e in effects]
        for group in roots:
            for v in group:
                self._count(v)
        for e, group in zip(effects, roots, strict=True):
            args, when = (group[:-1], group[-1]) if e.when is not None else (group, None)
            guard = "" if when is None or when.op == "const" else f"if {self.text(when)}: "
            if when is not None and when.op == "const" and not when.attr:
                continue
            line = self.effect(e, args)
            yield from self._taken()
            yield guard + line

    def flags(self) -> Iterator[str]:
        writes = [(e, f) for e in self.trace.of_kind("write") if (f := self.isa.registers.get(e.name)) is not None]
        bits: list[tuple[str, Value]] = []
        for e, file in writes:
            value = self.concrete(e.args[1])
            for k, name in enumerate(file.flags):
                register = self.register(e.name, self.concrete(e.args[0]))
                bits.append((register if "{n}" in name else name, self.concrete(value.bit(k))))
        for _, bit in bits:
            self._count(bit)
        used = {id(v) for _, bit in bits for v in postorder(bit, set())}
        self.result = self._result([self.concrete(e.args[1]) for e, file in writes if not file.flags], used)
        for name, bit in bits:
            text = self.text(bit)
            yield from self._taken()
            yield f"{name} = {text}"

    @staticmethod
    def _result(left: list[Value], used: set[int]) -> Value | None:
        """Return the widest value written to other registers on which the flags depend."""
        found: list[Value] = []
        while left:
            v = left.pop(0)
            if v.op in ("extract", "concat", "zext"):
                left += v.args
            rests = id(v) in used or (v.op == "extract" and id(v.args[0]) in used)
            if rests and v.op not in ("const", "read", "load"):
                found.append(v)
        return max(found, key=lambda v: v.width, default=None)

    def _of_result(self, v: Value) -> str | None:
        """Return the text of a value that is the result, or bits of it."""
        whole = self.result
        if whole is None:
            return None
        if v is whole:
            return "result"
        source, first = (whole.args[0], int(whole.attr)) if whole.op == "extract" else (whole, 0)
        if v.op != "extract" or v.args[0] is not source or v.attr < first:
            return None
        low, high = v.attr - first, v.attr - first + v.width
        if high > whole.width:
            return None
        return "result" if v.width == whole.width else f"result[{low if v.width == 1 else f'{high - 1}:{low}'}]"

    def _taken(self) -> list[str]:
        out, self.out = self.out, []
        return out

    def concrete(self, value: Value) -> Value:
        """Return a node with the word's fields filled in; loads and atomics stay the nodes they are."""
        for v in postorder(value, set()):
            if id(v) in self.known:
                continue
            if v.op == "param" and isinstance(v.attr, Field):
                new = Value("const", v.width, (), v.attr.get(self.word) & (1 << v.width) - 1)
            elif v.args:
                args = tuple(self.known[id(a)] for a in v.args)
                same = all(a is b for a, b in zip(args, v.args, strict=True))
                new = v if same else on(v, args)
            else:
                new = v
            self.known[id(v)] = new
            self.keep += [v, new]
        return self.known[id(value)]

    def _count(self, value: Value) -> None:
        for v in postorder(value, set()):
            for a in v.args:
                self.uses[id(a)] = self.uses.get(id(a), 0) + 1
        self.uses[id(value)] = self.uses.get(id(value), 0) + 1

    # --- effects ---
    def effect(self, e: Effect, args: list[Value]) -> str:
        match e.kind:
            case "write":
                return f"{self.register(e.name, args[0])} = {self.text(args[1])}"
            case "load":
                name = f"m{sum(n.startswith('m') for n in self.names.values())}"
                line = f"{name} = {self.cell(e, args[0])}"
                if e.result is not None:
                    self.names[id(self.concrete(e.result))] = name
                return line
            case "store":
                return f"{self.cell(e, args[0])} = {self.text(args[1])}"
            case "atomic":
                name = f"m{sum(n.startswith('m') for n in self.names.values())}"
                operands = "".join(f", {self.text(a)}" for a in args[1:])
                if e.result is not None:
                    self.names[id(self.concrete(e.result))] = name
                return f"{name} = atomic {e.get('op')} {self.cell(e, args[0])}{operands}"
            case "trap":
                return f"fault {e.name}"
            case _:
                facts = [k if v is True else f"{k}={v}" for k, v in e.attr if v is not False]
                return f"{e.name}({', '.join([*map(self.text, args), *facts])})"

    def cell(self, e: Effect, address: Value) -> str:
        return f"{e.name}[{self.text(address)}]:{8 * int(e.get('size', 4))}"

    def register(self, file: str, index: Value) -> str:
        known = self.isa.registers.get(file)
        pattern = known.text if known is not None and known.text else f"{file}{{n}}"
        if index.op == "const":
            return pattern.format(n=index.attr)
        return f"{file}[{self.text(index)}]"

    # --- expressions ---
    def text(self, v: Value, strength: int = 0) -> str:
        if id(v) in self.names:
            return self.names[id(v)]
        if (named := self._of_result(v)) is not None:
            return named
        text, own = self._expression(v)
        repeated = self.uses.get(id(v), 0) > 1 and v.op not in ("const", "read") and len(text) > 12
        if repeated or len(text) > _LONGEST:
            name = self.names[id(v)] = f"t{sum(n.startswith('t') for n in self.names.values()) + 1}"
            self.keep.append(v)
            self.out.append(f"{name} = {text}")
            return name
        return f"({text})" if own < strength else text

    def _joined(self, v: Value) -> Iterator[Value]:
        """Yield the pieces of bits that are put together, the highest first."""
        for a in v.args:
            if a.op == "concat" and self.uses.get(id(a), 0) < 2:
                yield from self._joined(a)
            else:
                yield a

    def _expression(self, v: Value) -> tuple[str, int]:
        a = v.args
        if v.op in _INFIX:
            sign, strength = _INFIX[v.op]
            return f"{self.text(a[0], strength)} {sign} {self.text(a[1], strength + 1)}", strength
        match v.op:
            case "const":
                return (str(v.attr) if v.attr < 10 else f"{v.attr:#x}"), _ATOM
            case "param":
                return str(v.attr), _ATOM
            case "read":
                return self.register(v.attr, a[0]), _ATOM
            case "ashr":
                return f"sar({self.text(a[0])}, {self.text(a[1])})", _ATOM
            case "not":
                return (f"not {self.text(a[0], 8)}" if v.width == 1 else f"~{self.text(a[0], 8)}"), 8
            case "select":
                return f"{self.text(a[0], 1)} ? {self.text(a[1], 1)} : {self.text(a[2], 0)}", 0
            case "zext" | "sext":
                return f"{'u' if v.op == 'zext' else 's'}{v.width}({self.text(a[0])})", _ATOM
            case "extract":
                low: int = v.attr
                bits = f"{low}" if v.width == 1 else f"{low + v.width - 1}:{low}"
                return f"{self.text(a[0], _ATOM)}[{bits}]", _ATOM
            case "concat":
                return "{" + ", ".join(self.text(x) for x in self._joined(v)) + "}", _ATOM
            case "table":
                table: Table = v.attr
                return f"{table.name}[{self.text(a[0])}]", _ATOM
            case "call":
                op, statics = v.attr
                facts = [f"{k}={x}" for k, x in statics if x is not False]
                return f"{op.name}({', '.join([*map(self.text, a), *facts])})", _ATOM
            case "machine":
                name, facts = v.attr
                given = [*map(self.text, a), *(f"{k}={x}" for k, x in facts)]
                return (f"{name}({', '.join(given)})" if given else name), _ATOM
            case _:
                return f"{v.op}({', '.join(map(self.text, a))})", _ATOM


def explained(isa: InstructionSet, form: Form | None, word: int) -> list[str]:
    """Return `pseudocode` with the rules of its named operations; says so where the meaning is not known."""
    if form is None or form.record is None:
        return []
    try:
        lines = pseudocode(isa, form, word)
        named = operations(form, word)
    except NotModelled as e:
        return [str(e)]
    return lines + ([""] if named else []) + [f"{name}: {rule}" for name, rule in named.items() if rule]

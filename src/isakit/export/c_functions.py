"""C functions for the nodes of texts; identical ones are written once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from isakit.errors import IsakitError
from isakit.export.text_nodes import (
    AFTER_NUMBER,
    UNREADABLE,
    AllSet,
    AnySet,
    Equal,
    FieldsEqual,
    FirstSet,
    FixedText,
    InRange,
    Join,
    Mask,
    Node,
    NumberText,
    Select,
    TableLookup,
    TextTable,
    field_of,
)
from isakit.spec.fields import Bits, Field

_ALL = (1 << 64) - 1
_HEADS = {
    "text": "char *{}(char *o, uint64_t w, uint64_t a)",
    "bits": "uint64_t {}(uint64_t w)",
    "value": "int64_t {}(uint64_t w, uint64_t a)",
}
"""The functions of nodes: they write a text, give a flag, mask or number, give a signed number."""


class CFunctions:
    """C functions and tables whose names begin with `name`; `out` has their lines."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.out: list[str] = []
        self.made: dict[tuple[str, int], str] = {}
        self.bodies: dict[tuple[str, ...], str] = {}
        self.tables: dict[tuple[object, ...], str] = {}

    def text(self, node: Node) -> str:
        """Return the name of the function `char *f(char *o, uint64_t w, uint64_t a)` that writes the text of a node."""
        return self._function("text", node, self._text)

    def flag(self, node: Node) -> str:
        """Return the expression in `w` for a flag or a mask."""
        if isinstance(node, Mask):
            return number_text(node.value & _ALL)
        return f"{self._function('bits', node, self._bits)}(w)"

    def _function(self, kind: str, node: Node, body: Callable[[Node], list[str]]) -> str:
        key = (kind, id(node))
        name = self.made.get(key)
        if name is None:
            unused = {"bits": ["(void)w;"], "value": ["(void)w;", "(void)a;"]}.get(kind, [])
            name = self.made[key] = self.function(kind, _HEADS[kind], [*unused, *body(node)])
        return name

    def function(self, kind: str, head: str, lines: Sequence[str]) -> str:
        """Return the name of a function, for `{}` in its head; those of a kind with the same lines are one."""
        same = (kind, *lines)
        name = self.bodies.get(same)
        if name is None:
            name = self.bodies[same] = f"{self.name}_{kind}{len(self.bodies)}"
            self.out += [f"static {head.format(name)}", "{", *(f"    {line}" for line in lines), "}"]
        return name

    def table(self, kind: str, values: tuple[object, ...]) -> str:
        """Return the name of the C array with these values, writing it first if there is none."""
        key = (kind, *values)
        name = self.tables.get(key)
        if name is None:
            name = self.tables[key] = f"{self.name}_{kind}{len(self.tables)}"
            if kind == "string":
                cells = ", ".join(f"{{{len(str(v))}, {quoted(str(v))}}}" for v in values)
                self.out.append(f"static const {self.name}_str {name}[] = {{{cells}}};")
            else:
                size = "uint8_t" if all(isinstance(v, int) and 0 <= v < 256 for v in values) else "uint64_t"
                cells = ", ".join(number_text(int(str(v)) & _ALL) for v in values)
                self.out.append(f"static const {size} {name}[] = {{{cells}}};")
        return name

    def _text(self, node: Node) -> list[str]:
        if isinstance(node, FixedText):
            return ["(void)w; (void)a;", f"memcpy(o, {quoted(node.text)}, {len(node.text)});",
                    f"return o + {len(node.text)};"]  # fmt: skip
        if isinstance(node, TextTable):
            values = tuple(v if isinstance(v, str) else UNREADABLE for v in node.values)
            table = self.table("string", values)
            return ["(void)a;", f"const {self.name}_str *s = &{table}[{field_text(field_of(node.mask))}];",
                    "memcpy(o, s->text, sizeof s->text);", "return o + s->length;"]  # fmt: skip
        if isinstance(node, NumberText):
            return self._number(node)
        if isinstance(node, Join):
            return self._joined(node)
        if isinstance(node, Select | TableLookup):
            return self._branches(node, lambda n: f"{self.text(n)}(o, w, a)", "o")
        raise TypeError(type(node).__name__)

    def _joined(self, node: Join) -> list[str]:
        marked = AFTER_NUMBER in node.glues
        lines = ["char *s = o, *t = o;", *(["char *last = o, *before;"] if marked else [])]
        for n, glue in zip(node.nodes, ("", *node.glues), strict=True):
            if marked:
                lines.append("before = o;")
            if glue == AFTER_NUMBER:
                lines += ["if (o != s && *last == '#') *o++ = ' ';", "before = o;"]
            blank = "" if glue == AFTER_NUMBER else glue
            if isinstance(n, FixedText) and n.text and not blank:
                lines.append(f"memcpy(o, {quoted(n.text)}, {len(n.text)}); o += {len(n.text)};")
            elif blank:
                size = len(blank)
                lines += [
                    "if (o != s) {",
                    f"    memcpy(o, {quoted(blank)}, {size});",
                    f"    t = {self.text(n)}(o + {size}, w, a);",
                    f"    o = t == o + {size} ? o : t;",
                    *([f"    before += {size};"] if marked else []),
                    "} else {",
                    f"    o = {self.text(n)}(o, w, a);",
                    "}",
                ]
            else:
                lines.append(f"o = {self.text(n)}(o, w, a);")
            if marked:
                lines.append("if (o > before) last = before;")
        return [*lines, "(void)s; (void)t; (void)w; (void)a;", "return o;"]

    def _branches(self, node: Select | TableLookup, value: Callable[[Node], str], default: str) -> list[str]:
        """Return statements that return the value of the selected node."""
        if isinstance(node, Select):
            lines = [f"if ({test}) return {value(n)};" for test, n in self._cases(node)]
            return [*lines, f"return {value(node.otherwise)};"]
        cases = [f"case {k}: return {value(n)};" for k, n in enumerate(node.nodes)]
        return [f"switch ({self._number_of(node)}) {{", *cases, f"default: return {default};", "}"]

    def _number_of(self, node: TableLookup) -> str:
        return f"{self.table('number', node.indices)}[{field_text(field_of(node.mask))}]"

    def _value(self, node: NumberText) -> str:
        v = field_text(node.field)
        if node.signed:
            n = 64 - node.field.width
            v = f"((int64_t)((uint64_t)({v}) << {n}) >> {n})"
        else:
            v = f"(int64_t)({v})"
        return f"({v} * {node.scale})"

    def _number(self, node: NumberText) -> list[str]:
        lines = [*([] if node.relative else ["(void)a;"]), *self._placed(node)]
        if node.prefix:
            lines.append(f"memcpy(o, {quoted(node.prefix)}, {len(node.prefix)}); o += {len(node.prefix)};")
        kinds = {
            "#x": "isakit_hex_(o, v)",
            "d": "isakit_dec_(o, v, 0)",
            "+d": "isakit_dec_(o, v, 1)",
            "": "isakit_dec_(o, v, 0)",
        }
        if node.form not in kinds:
            raise IsakitError(f"numbers printed as {node.form!r} cannot be exported")
        return [*lines, f"return {kinds[node.form]};"]

    def _placed(self, node: NumberText) -> list[str]:
        """Return statements that put the number into `v`, with the address added if it is relative."""
        lines = [f"int64_t v = {self._value(node)}{' + (int64_t)a' if node.relative else ''};"]
        if node.relative and node.modulus:
            lines.append(f"v %= {node.modulus}; if (v < 0) v += {node.modulus};")
        return lines

    def value(self, node: Node) -> str:
        """Return the name of the function that returns a signed number."""
        return self._function("value", node, self._signed)

    def _signed(self, node: Node) -> list[str]:
        if isinstance(node, NumberText):
            return [*self._placed(node), "return v;"]
        if isinstance(node, Select | TableLookup):
            return self._branches(node, lambda n: f"{self.value(n)}(w, a)", "0")
        return [f"return (int64_t){self.flag(node)};"]

    def number(self, node: Node) -> str:
        """Return the name of the function that returns an unsigned number or a flag."""
        return self._function("bits", node, self._bits)

    def _cases(self, node: Select) -> list[tuple[str, Node]]:
        return [(test_text(when, (unless,) if unless is not None else ()), n) for when, unless, n in node.cases]

    def _bits(self, node: Node) -> list[str]:
        if isinstance(node, Mask):
            return [f"return {number_text(node.value & _ALL)};"]
        if isinstance(node, FirstSet):
            tests = [f"if ((v = {self.flag(n)})) return v;" for n in node.nodes]
            return ["uint64_t v;", *tests, "return 0;"]
        if isinstance(node, TextTable):
            table = self.table("number", tuple(int(v) for v in node.values))
            return [f"return {table}[{field_text(field_of(node.mask))}];"]
        if isinstance(node, AnySet):
            return [f"return {' | '.join(self.flag(n) for n in node.nodes)};"]
        if isinstance(node, AllSet):
            return [f"return {' && '.join(self.flag(n) for n in node.nodes)};"]
        if isinstance(node, InRange):
            test = f"v >= {node.low} && v <= {node.high}" + (f" && v % {node.step} == 0" if node.step > 1 else "")
            return [f"int64_t v = {self._value(node.number)};", f"return {test};"]
        if isinstance(node, Equal):
            return [f"return ({field_text(node.fields[0])}) == ({field_text(node.fields[1])});"]
        if isinstance(node, FieldsEqual):
            return [f"return {number_text(node.bits.mask)} & ~({number_text(node.bits.value)} ^ w);"]
        if isinstance(node, Select | TableLookup):
            return self._branches(node, self.flag, "0")
        raise TypeError(type(node).__name__)


def number_text(value: int) -> str:
    """Return a constant as an unsigned number of C."""
    return f"UINT64_C({value:#x})" if value > 0xFFFF else str(value)


def quoted(text: str) -> str:
    """Return a string literal of C. Raises IsakitError for characters outside of printable ASCII."""
    if any(not 0x20 <= ord(c) < 0x7F for c in text):
        raise IsakitError(f"{text!r} cannot stand in a C text")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("??", '?""?') + '"'


def field_text(field: Field) -> str:
    """Return the expression in `w` for the number in a field."""
    terms: list[str] = []
    shift = 0
    for low, n in field.slices:
        part = f"(w >> {low}" if low else "(w"
        part += f" & {number_text((1 << n) - 1)})"
        terms.append(f"{part} << {shift}" if shift else part)
        shift += n
    return " | ".join(terms) if terms else "0"


def holds_text(b: Bits) -> str:
    """Return the expression in `w` that tests some bits."""
    return f"(w & {number_text(b.mask)}) == {number_text(b.value)}"


def test_text(when: Bits, unless: tuple[Bits, ...]) -> str:
    """Return the expression in `w` that is true if `when` holds and none of `unless` does."""
    tests = ([holds_text(when)] if when.mask else []) + [f"!({holds_text(u)})" for u in unless]
    return " && ".join(tests) or "1"

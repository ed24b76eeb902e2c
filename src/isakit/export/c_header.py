"""A disassembler in one C header: tables and functions generated from the records, no library needed.

`#define ISAKIT_IMPLEMENTATION` in one source file before including it. The text is that of `isakit dis`, character by
character.
"""

from __future__ import annotations

from collections.abc import Callable

from isakit.codec import Decoder
from isakit.errors import IsakitError
from isakit.export.texts import (
    AFTER_NUMBER,
    UNREADABLE,
    AllSet,
    AnySet,
    Equal,
    FieldsEqual,
    FixedText,
    FormModel,
    InRange,
    Join,
    Mask,
    Model,
    Node,
    NumberText,
    Select,
    TableLookup,
    TextTable,
    runs,
)
from isakit.spec.fields import Bits, Field

VERSION = 1
"""Of the interface of the generated header."""
_KEY_BITS = 12


def c_header(decoder: Decoder) -> str:
    """Return the header for one view.

    Raises CannotExport where an operand cannot be told without the library.
    """
    return _Writer(decoder).header()


class _Writer:
    def __init__(self, decoder: Decoder) -> None:
        self.decoder, self.model = decoder, Model(decoder)
        view = decoder.view
        self.name = "_".join(n for n in ("isakit", view.isa.name, view.variant.name, view.program) if n)
        self.out: list[str] = []
        self.made: dict[tuple[str, int], str] = {}
        self.bodies: dict[tuple[str, ...], str] = {}
        self.tables: dict[tuple[object, ...], str] = {}
        self.unit_bits = view.variant.unit_bits
        if self.unit_bits * max(f.units for f in self.model.forms) > 64:
            raise IsakitError(f"instructions of {view.isa.name} do not fit 64 bits")

    # --- nodes ----------------------------------------------------------------------------------------------------

    def text(self, node: Node) -> str:
        """Return name of the function `char *f(char *o, uint64_t w, uint64_t a)` that writes the text of a node."""
        return self._function("text", node, self._text)

    def flag(self, node: Node) -> str:
        """Return expression in `w` for a flag or a mask."""
        if isinstance(node, Mask):
            return _hex(node.value)
        return f"{self._function('bits', node, self._bits)}(w)"

    def _function(self, kind: str, node: Node, body: Callable[[Node], list[str]]) -> str:
        key = (kind, id(node))
        name = self.made.get(key)
        if name is None:
            lines = body(node)
            same = (kind, *lines)  # many operands are written the same way
            name = self.made[key] = self.bodies.get(same) or f"{self.name}_{kind}{len(self.bodies)}"
            if same in self.bodies:
                return name
            self.bodies[same] = name
            head = f"static char *{name}(char *o, uint64_t w, uint64_t a)" if kind == "text" else (
                f"static uint64_t {name}(uint64_t w)")  # fmt: skip
            self.out += [
                head,
                "{",
                *(["    (void)w;"] if kind == "bits" else []),
                *(f"    {line}" for line in lines),
                "}",
            ]
        return name

    def table(self, kind: str, values: tuple[object, ...]) -> str:
        """Return name of an array."""
        key = (kind, *values)
        name = self.tables.get(key)
        if name is None:
            name = self.tables[key] = f"{self.name}_{kind}{len(self.tables)}"
            if kind == "string":
                cells = ", ".join(f"{{{len(str(v))}, {_quoted(str(v))}}}" for v in values)
                self.out.append(f"static const {self.name}_str {name}[] = {{{cells}}};")
            else:
                size = "uint8_t" if all(isinstance(v, int) and v < 256 for v in values) else "uint64_t"
                self.out.append(f"static const {size} {name}[] = {{{', '.join(_hex(int(str(v))) for v in values)}}};")
        return name

    def _text(self, node: Node) -> list[str]:
        if isinstance(node, FixedText):
            return ["(void)w; (void)a;", f"memcpy(o, {_quoted(node.text)}, {len(node.text)});",
                    f"return o + {len(node.text)};"]  # fmt: skip
        if isinstance(node, TextTable):
            values = tuple(v if isinstance(v, str) else UNREADABLE for v in node.values)
            table = self.table("string", values)
            return ["(void)a;", f"const {self.name}_str *s = &{table}[{_field(Field(tuple(runs(node.mask))))}];",
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
                lines.append(f"memcpy(o, {_quoted(n.text)}, {len(n.text)}); o += {len(n.text)};")
            elif blank:
                size = len(blank)
                lines += [
                    "if (o != s) {",
                    f"    memcpy(o, {_quoted(blank)}, {size});",
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
        """Return statements that return the value of one of several nodes."""
        if isinstance(node, Select):
            lines = [f"if ({test}) return {value(n)};" for test, n in self._cases(node)]
            return [*lines, f"return {value(node.otherwise)};"]
        cases = [f"case {k}: return {value(n)};" for k, n in enumerate(node.nodes)]
        return [f"switch ({self._number_of(node)}) {{", *cases, f"default: return {default};", "}"]

    def _number_of(self, node: TableLookup) -> str:
        return f"{self.table('number', node.indices)}[{_field(Field(tuple(runs(node.mask))))}]"

    def _value(self, node: NumberText) -> str:
        v = _field(node.field)
        if node.signed:
            n = 64 - node.field.width
            v = f"((int64_t)((uint64_t)({v}) << {n}) >> {n})"
        else:
            v = f"(int64_t)({v})"
        return f"({v} * {node.scale})"

    def _number(self, node: NumberText) -> list[str]:
        v = self._value(node)
        lines = [] if node.relative else ["(void)a;"]
        lines.append(f"int64_t v = {v}{' + (int64_t)a' if node.relative else ''};")
        if node.relative and node.modulus:
            lines.append(f"v %= {node.modulus}; if (v < 0) v += {node.modulus};")
        if node.prefix:
            lines.append(f"memcpy(o, {_quoted(node.prefix)}, {len(node.prefix)}); o += {len(node.prefix)};")
        kinds = {
            "#x": "isakit_hex_(o, v)",
            "d": "isakit_dec_(o, v, 0)",
            "+d": "isakit_dec_(o, v, 1)",
            "": "isakit_dec_(o, v, 0)",
        }
        if node.form not in kinds:
            raise IsakitError(f"numbers printed as {node.form!r} cannot be exported")
        return [*lines, f"return {kinds[node.form]};"]

    def _cases(self, node: Select) -> list[tuple[str, Node]]:
        return [(_test(when, (unless,) if unless is not None else ()), n) for when, unless, n in node.cases]

    def _bits(self, node: Node) -> list[str]:
        if isinstance(node, TextTable):
            table = self.table("number", tuple(int(v) for v in node.values))
            return [f"return {table}[{_field(Field(tuple(runs(node.mask))))}];"]
        if isinstance(node, AnySet):
            return [f"return {' | '.join(self.flag(n) for n in node.nodes)};"]
        if isinstance(node, AllSet):
            return [f"return {' && '.join(self.flag(n) for n in node.nodes)};"]
        if isinstance(node, InRange):
            test = f"v >= {node.low} && v <= {node.high}" + (f" && v % {node.step} == 0" if node.step > 1 else "")
            return [f"int64_t v = {self._value(node.number)};", f"return {test};"]
        if isinstance(node, Equal):
            return [f"return ({_field(node.fields[0])}) == ({_field(node.fields[1])});"]
        if isinstance(node, FieldsEqual):
            return [f"return {_hex(node.bits.mask)} & ~({_hex(node.bits.value)} ^ w);"]
        if isinstance(node, Select | TableLookup):
            return self._branches(node, self.flag, "0")
        raise TypeError(type(node).__name__)

    # --- forms ----------------------------------------------------------------------------------------------------

    def form(self, f: FormModel) -> str:
        """Return name of the function that writes an instruction of a form; it returns NULL for a decode error."""
        lines: list[str] = []
        if f.error != Mask(0):
            lines.append(f"if ({self.flag(f.error)}) return 0;")
        if f.forced != Mask(0):
            lines.append(f"if ({self.flag(f.forced)}) {{ memcpy(o, \"long \", 5); o += 5; }}")  # fmt: skip
        lines.append("s = o;")
        for item in f.items:
            if item == ")":
                lines.append("*o++ = ')';")
            elif isinstance(item, str):
                lines.append(f"o = isakit_blank_(s, o); memcpy(o, {_quoted(item)}, {len(item)}); o += {len(item)};")
            elif not (isinstance(item, FixedText) and not item.text):
                call = f"{self.text(item)}"
                lines.append(f"t = isakit_blank_(s, o); u = {call}(t, w, a); o = u == t ? o : u;")
        every = (1 << self.unit_bits * f.units) - 1
        claimed = self.flag(f.claimed)
        lines.append(f"odd = (w ^ {_hex(f.base & every)}) & ~({claimed}) & {_hex(every)};")
        lines.append("if (odd) {")
        lines.append("    memcpy(o, \" {0x\", 4); o = isakit_digits_(o + 4, odd); *o++ = '}';")
        lines.append("}")
        name = f"{self.name}_form{len(self.made)}"
        self.made["form", id(f)] = name
        self.out += [
            f"static char *{name}(char *o, uint64_t w, uint64_t a)", "{", "    char *s, *t, *u; uint64_t odd;",
            "    (void)a; (void)t; (void)u; (void)s;", *(f"    {line}" for line in lines), "    return o;", "}",
        ]  # fmt: skip
        return name

    def header(self) -> str:
        functions = [self.form(f) for f in self.model.forms]
        longest = self._longest()
        view = self.decoder.view
        guard = self.name.upper()
        sizes = sorted({f.units for f in self.model.forms})
        lengths = self._lengths(sizes)
        rows: list[str] = []
        for f, function in zip(self.model.forms, functions, strict=True):
            rows.append(
                f"    {{{_hex(f.fixed.mask)}, {_hex(f.fixed.value)}, {f.units}, {_quoted(f.name)}, {function}}},"
            )
        further = f"        for (k = 1; k < n; k++) w |= units[k] << {self.unit_bits} * k;"
        if max(sizes) == 1:
            further = "        (void)k;"
        return "\n".join([
            f"/* {view.isa.name} {view.variant.name} {view.program}: generated by isakit; not to be edited. */",
            f"#ifndef {guard}_H", f"#define {guard}_H", "#include <stddef.h>", "#include <stdint.h>",
            f"#define {guard}_VERSION {VERSION}",
            f"#define {guard}_UNIT_BITS {self.unit_bits}", f"#define {guard}_UNIT_BYTES {view.variant.unit_bytes}",
            f"#define {guard}_TEXT_MAX {longest} /* with the zero at the end, and room that the functions use */",
            "#ifdef __cplusplus", 'extern "C" {', "#endif",
            "/* An encoding: bits every word of it has, size in units of code, name of its page in the manual. */",
            f"typedef struct {self.name}_form {{ uint64_t mask, value; unsigned units; const char *name;",
            f"    char *(*write)(char *, uint64_t, uint64_t); }} {self.name}_form;",
            f"extern const {self.name}_form {self.name}_forms[{len(rows)}];",
            "/* The form of an instruction word, NULL where there is none. */",
            f"const {self.name}_form *{self.name}_find(uint64_t word, unsigned units);",
            "/* Writes the text of the instruction at units[0] and returns its size in units, 0 where count is 0.",
            "   `address` is that of units[0], counted in units. What is not an instruction becomes `.word`. */",
            f"unsigned {self.name}_disassemble(const uint64_t *units, size_t count, uint64_t address, char *text);",
            "#ifdef __cplusplus", "}", "#endif", f"#endif /* {guard}_H */", "",
            f"#if defined(ISAKIT_IMPLEMENTATION) && !defined({guard}_C)", f"#define {guard}_C", "#include <string.h>",
            _COMMON,
            f"typedef struct {self.name}_str {{ unsigned char length; char text[{self._widest()}]; }} {self.name}_str;",
            *self.out,
            f"const {self.name}_form {self.name}_forms[{len(rows)}] = {{", *rows, "};",
            *self._finder(sizes),
            f"unsigned {self.name}_disassemble(const uint64_t *units, size_t count, uint64_t address, char *text)",
            "{", f"    const {self.name}_form *f; char *end; uint64_t w; unsigned k, n = 1;",
            "    if (!count) return 0;", "    w = units[0];", *(f"    {line}" for line in lengths),
            "    if (n > count || address % n) n = 1, f = 0;",
            "    else {", further,
            f"        f = {self.name}_find(w, n);", "    }",
            "    end = f ? f->write(text, w, address) : 0;",
            "    if (!end) {", '        memcpy(text, ".word", 5); end = text + 5;',
            "        for (k = 0; k < n; k++) { *end++ = ' '; end = isakit_word_(end, units[k]); }", "    }",
            "    *end = 0;", "    return n;", "}", f"#endif /* {guard}_C */", "",
        ])  # fmt: skip

    def _lengths(self, sizes: list[int]) -> list[str]:
        """Return statements that put the number of units into `n`: it depends on the lowest bits of the first unit."""
        length = self.decoder.isa.length
        if sizes == [1]:
            return []
        for bits in range(1, 8):
            table = [length(v) for v in range(1 << bits)]
            probes = ((k * 0x9E3779B97F4A7C15 & (1 << self.unit_bits) - 1) for k in range(4000))
            if all(length(p) == table[p & (1 << bits) - 1] for p in probes):
                name = self.table("number", tuple(table))
                return [f"n = {name}[w & {(1 << bits) - 1}];"]
        raise IsakitError(f"the size of an instruction of {self.decoder.isa.name} does not depend on its lowest bits")

    def _finder(self, sizes: list[int]) -> list[str]:
        """Return candidates by the bits that tell most forms apart, in the order in which they are tried."""
        out: list[str] = []
        body: list[str] = []
        for units in sizes:
            forms = [(k, f) for k, f in enumerate(self.model.forms) if f.units == units]
            key = self._key_mask([f.fixed for _, f in forms])
            field = Field(tuple(runs(key)))
            lists: list[tuple[int, ...]] = []
            for v in range(1 << field.width):
                word = field.put(v)
                lists.append(tuple(k for k, f in forms if not (f.fixed.value ^ word) & f.fixed.mask & key))
            starts, cells = list[int](), list[int]()
            known: dict[tuple[int, ...], int] = {}
            for found in lists:
                if found not in known:
                    known[found] = len(cells)
                    cells += [*found, 0xFFFF]
                starts.append(known[found])
            out.append(f"static const uint16_t {self.name}_start{units}[] = {{{', '.join(map(str, starts))}}};")
            out.append(f"static const uint16_t {self.name}_list{units}[] = {{{', '.join(map(str, cells))}}};")
            body.append(
                f"    if (units == {units}) p = {self.name}_list{units} + {self.name}_start{units}[{_field(field)}];"
            )
        unless = [(k, f) for k, f in enumerate(self.model.forms) if f.unless]
        checks = [
            f"        case {k}: if ({' || '.join(_plain_test(u) for u in f.unless)}) continue; break;"
            for k, f in unless
        ]
        return [
            *out, f"const {self.name}_form *{self.name}_find(uint64_t w, unsigned units)", "{",
            "    const uint16_t *p = 0;", *body, "    if (!p) return 0;", "    for (; *p != 0xffff; p++) {",
            f"        const {self.name}_form *f = &{self.name}_forms[*p];",
            "        if ((w & f->mask) != f->value) continue;",
            *(["        switch (*p) {", *checks, "        default: break;", "        }"] if checks else []),
            "        return f;", "    }", "    return 0;", "}",
        ]  # fmt: skip

    def _key_mask(self, fixed: list[Bits]) -> int:
        """Return the bits that most forms fix."""
        counts = {b: sum(f.mask >> b & 1 for f in fixed) for b in range(64)}
        chosen = sorted((b for b in counts if counts[b]), key=lambda b: -counts[b])[:_KEY_BITS]
        return sum(1 << b for b in chosen)

    def _widest(self) -> int:
        strings = [len(str(v)) for key in self.tables if key[0] == "string" for v in key[1:]]
        return max(strings, default=0) + 1

    def _longest(self) -> int:
        """Return more than any text takes: every piece at its longest."""
        known: dict[int, int] = {}

        def size(node: Node | str) -> int:
            if isinstance(node, str):
                return len(node) + 1
            found = known.get(id(node))
            if found is None:
                if isinstance(node, FixedText):
                    found = len(node.text)
                elif isinstance(node, TextTable):
                    found = max(len(str(v)) for v in node.values)
                elif isinstance(node, NumberText):
                    found = 24 + len(node.prefix)
                elif isinstance(node, Join):
                    found = sum(map(size, node.nodes)) + sum(map(len, node.glues))
                elif isinstance(node, TableLookup):
                    found = max(map(size, node.nodes))
                elif isinstance(node, Select):
                    found = max(size(n) for n in (*(n for _, _, n in node.cases), node.otherwise))
                else:
                    found = 0
                known[id(node)] = found
            return found

        longest = max(sum(size(i) + 1 for i in f.items) for f in self.model.forms)
        return longest + 5 + 22 + self._widest() + 8


def _hex(value: int) -> str:
    return f"UINT64_C({value:#x})" if value > 0xFFFF else str(value)


def _quoted(text: str) -> str:
    if any(not 0x20 <= ord(c) < 0x7F for c in text):
        raise IsakitError(f"{text!r} cannot stand in a C text")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("??", '?""?') + '"'


def _field(field: Field) -> str:
    terms: list[str] = []
    shift = 0
    for low, n in field.slices:
        part = f"(w >> {low}" if low else "(w"
        part += f" & {_hex((1 << n) - 1)})"
        terms.append(f"{part} << {shift}" if shift else part)
        shift += n
    return " | ".join(terms) if terms else "0"


def _plain_test(b: Bits) -> str:
    return f"(w & {_hex(b.mask)}) == {_hex(b.value)}"


def _test(when: Bits, unless: tuple[Bits, ...]) -> str:
    tests = ([_plain_test(when)] if when.mask else []) + [f"!({_plain_test(u)})" for u in unless]
    return " && ".join(tests) or "1"


_COMMON = r"""#ifndef ISAKIT_COMMON_
#define ISAKIT_COMMON_
static inline char *isakit_digits_(char *o, uint64_t v)
{
    int n = 1;
    while (n < 16 && v >> 4 * n) n++;
    while (n--) *o++ = "0123456789abcdef"[v >> 4 * n & 15];
    return o;
}
static inline char *isakit_blank_(const char *start, char *o)
{
    if (o != start && o[-1] != '(') *o++ = ' ';
    return o;
}
static inline char *isakit_hex_(char *o, int64_t v)
{
    uint64_t u = (uint64_t)v;
    if (v < 0) { *o++ = '-'; u = 0 - u; }
    *o++ = '0'; *o++ = 'x';
    return isakit_digits_(o, u);
}
static inline char *isakit_word_(char *o, uint64_t v)
{
    int n = 8;
    *o++ = '0'; *o++ = 'x';
    while (n < 16 && v >> 4 * n) n++;
    while (n--) *o++ = "0123456789abcdef"[v >> 4 * n & 15];
    return o;
}
static inline char *isakit_dec_(char *o, int64_t v, int sign)
{
    char digits[24]; int n = 0;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    if (v < 0) *o++ = '-'; else if (sign) *o++ = '+';
    do digits[n++] = (char)('0' + u % 10); while (u /= 10);
    while (n--) *o++ = digits[n];
    return o;
}
#endif"""

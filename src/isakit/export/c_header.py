"""A disassembler in one C header: tables and functions generated from the records, no library needed.

`#define ISAKIT_IMPLEMENTATION` in one source file before including it. The text is that of `isakit dis`, character by
character; operands, registers read and written, groups and errors are those of `Instruction`. With `ISAKIT_TEXT_ONLY`,
only the functions for texts are included.
"""

from __future__ import annotations

from isakit.codec import Decoder
from isakit.errors import IsakitError
from isakit.export.c_functions import CFunctions, field_text, holds_text, number_text, quoted, test_text
from isakit.export.details import BETWEEN, KINDS, Details, FormDetails, OperandModel
from isakit.export.text_nodes import FixedText, Join, Mask, Node, NumberText, Select, TableLookup, TextTable, field_of
from isakit.export.texts import FormModel, Model
from isakit.spec.fields import Bits
from isakit.spec.operands import CodeAddress, Operand
from isakit.spec.parts import ILLEGAL
from isakit.spec.record import Form, InstructionKind

VERSION = 2
"""Version of the interface of the generated header."""
_KEY_BITS = 12


def c_header(decoder: Decoder) -> str:
    """Return the header for one view.

    Raises CannotExport if an operand cannot be decoded without the library.
    """
    return _Writer(decoder).header()


def c_prefix(decoder: Decoder) -> str:
    """Return the prefix of the names in the header for one view."""
    view = decoder.view
    return "_".join(n for n in ("isakit", view.isa.name, view.variant.name, view.program) if n)


class _Writer(CFunctions):
    def __init__(self, decoder: Decoder) -> None:
        super().__init__(c_prefix(decoder))
        self.decoder, self.model = decoder, Model(decoder)
        self.details = Details(self.model)
        self.told = [self.details.form(f) for f in self.model.forms]
        view = decoder.view
        self.unit_bits = view.variant.unit_bits
        if self.unit_bits * max(f.units for f in self.model.forms) > 64:
            raise IsakitError(f"instructions of {view.isa.name} do not fit 64 bits")

    # --- forms ----------------------------------------------------------------------------------------------------

    def form(self, f: FormModel, told: FormDetails) -> str:
        """Return the name of the C function that formats instructions of a form; it returns NULL for a decode error.

        A `label` that is not NULL is printed in place of the target.
        """
        lines: list[str] = []
        if not _is_never(f.error):
            lines.append(f"if ({self.flag(f.error)}) return 0;")
        if not _is_never(f.forced):
            if told.target is not None:
                raise IsakitError(f"a label in {f.name} may be the text of a smaller instruction")
            lines.append(f"if ({self.flag(f.forced)}) {{ memcpy(o, \"long \", 5); o += 5; }}")  # fmt: skip
        lines.append("s = o;")
        for item in f.items:
            if item == ")":
                lines.append("*o++ = ')';")
            elif isinstance(item, str):
                lines.append(f"o = isakit_blank_(s, o); memcpy(o, {quoted(item)}, {len(item)}); o += {len(item)};")
            elif not (isinstance(item, FixedText) and not item.text):
                call = f"{self.text(item)}(t, w, a)"
                if told.target is not None and item is told.target.text:
                    call = f"label ? isakit_copy_(t, label) : {call}"
                lines.append(f"t = isakit_blank_(s, o); u = {call}; o = u == t ? o : u;")
        every = (1 << self.unit_bits * f.units) - 1
        claimed = self.flag(f.claimed)
        lines.append(f"odd = (w ^ {number_text(f.base & every)}) & ~({claimed}) & {number_text(every)};")
        lines.append("if (odd) {")
        lines.append("    memcpy(o, \" {0x\", 4); o = isakit_digits_(o + 4, odd); *o++ = '}';")
        lines.append("}")
        name = f"{self.name}_form{len(self.made)}"
        self.made["form", id(f)] = name
        self.out += [
            f"static char *{name}(char *o, uint64_t w, uint64_t a, const char *label)", "{",
            "    char *s, *t, *u; uint64_t odd;", "    (void)a; (void)t; (void)u; (void)s; (void)label;",
            *(f"    {line}" for line in lines), "    return o;", "}",
        ]  # fmt: skip
        return name

    def _jumps(self, told: FormDetails) -> str:
        """Return the name of the function that returns whether an operand is a code address, 0 if none can be."""
        number = KINDS.index(CodeAddress)
        tests = [self.number(o.kind) for o in told.operands if _may_be(o.kind, number)]
        if not tests:
            return "0"
        lines = [f"return {' || '.join(f'{t}(w) == {number}' for t in tests)};"]
        return self.function("jumps", "uint64_t {}(uint64_t w)", lines)

    def _target(self, operand: OperandModel) -> str:
        """Return the name of the function that returns whether an operand is a code address, and which."""
        number, kind, value = KINDS.index(CodeAddress), self.number(operand.kind), self.value(operand.value)
        lines = (f"if ({kind}(w) != {number}) return 0;", f"*to = {value}(w, a);", "return 1;")
        return self.function("target", "int {}(uint64_t w, uint64_t a, int64_t *to)", lines)

    def _details(self, k: int, told: FormDetails) -> str:
        """Return the row of a form in the table of details; its operands are an array of their own."""
        operands = [
            f"{{{quoted(o.name)}, {self.text(o.text)}, {self.number(o.kind)}, {self.value(o.value)}}}"
            for o in told.operands
        ]
        name = "0"
        if operands:
            name = f"{self.name}_operands{k}"
            self.out.append(f"static const isakit_part_ {name}[] = {{{', '.join(operands)}}};")
        functions = (self.text(told.mnemonic), self.text(told.reads), self.text(told.writes))
        group = 0 if told.group is None else 1 + list(InstructionKind).index(InstructionKind(told.group))
        links = quoted(told.links) if told.links else "0"
        return f"    {{{name}, {len(operands)}, {', '.join(functions)}, {group}, {links}}},"

    def header(self) -> str:
        """Return the whole text."""
        functions = [self.form(f, t) for f, t in zip(self.model.forms, self.told, strict=True)]
        errors = [self.number(t.error) for t in self.told]
        jumps = [self._jumps(t) for t in self.told]
        targets = ["0" if t.target is None else self._target(t.target) for t in self.told]
        sizes = sorted({f.units for f in self.model.forms})
        lengths = [f"    {line}" for line in self._lengths(sizes)]
        basic, self.out = self.out, []
        details = [self._details(k, t) for k, t in enumerate(self.told)]
        lacking = self.details.lacking()
        view = self.decoder.view
        n, guard = self.name, self.name.upper()
        rows: list[str] = []
        for f, *of in zip(self.model.forms, functions, errors, jumps, targets, strict=True):
            head = f"{number_text(f.fixed.mask)}, {number_text(f.fixed.value)}, {f.units}, {quoted(f.name)}"
            rows.append(f"    {{{head}, {', '.join(of)}}},")
        further = f"for (k = 1; k < n; k++) w |= units[k] << {self.unit_bits} * k;"
        if max(sizes) == 1:
            further = "(void)k;"
        most, register, operand = self._room()
        names = ", ".join(quoted(e) if e else "0" for e in self.details.errors)
        return "\n".join([
            f"/* {view.isa.name} {view.variant.name} {view.program}: generated by isakit; not to be edited. */",
            f"#ifndef {guard}_H", f"#define {guard}_H", "#include <stddef.h>", "#include <stdint.h>",
            f"#define {guard}_VERSION {VERSION}",
            f"#define {guard}_UNIT_BITS {self.unit_bits}", f"#define {guard}_UNIT_BYTES {view.variant.unit_bytes}",
            "/* With the zero at the end, and room that the functions use. */",
            f"#define {guard}_TEXT_MAX {self._longest()}",
            f"#define {guard}_OPERANDS_MAX {max(1, *(len(t.operands) for t in self.told))}",
            f"#define {guard}_OPERAND_MAX {operand}", f"#define {guard}_REGISTERS_MAX {most}",
            f"#define {guard}_REGISTER_MAX {register}",
            "#ifdef __cplusplus", 'extern "C" {', "#endif", _KINDS,
            "/* An encoding: bits every word of it has, size in units of code, name of its page in the manual; the",
            "   rest is for the functions below. */",
            f"typedef struct {n}_form {{ uint64_t mask, value; unsigned units; const char *name;",
            "    char *(*write)(char *, uint64_t, uint64_t, const char *); uint64_t (*error)(uint64_t);",
            f"    uint64_t (*jumps)(uint64_t); int (*target)(uint64_t, uint64_t, int64_t *); }} {n}_form;",
            f"extern const {n}_form {n}_forms[{len(rows)}];",
            "/* The form of an instruction word, NULL where there is none. */",
            f"const {n}_form *{n}_find(uint64_t word, unsigned units);",
            "/* Writes the text of the instruction at units[0] and returns its size in units, 0 where count is 0.",
            "   `address` is that of units[0], counted in units. What is not an instruction becomes `.word`. */",
            f"unsigned {n}_disassemble(const uint64_t *units, size_t count, uint64_t address, char *text);",
            "/* As disassemble, without a text: the form (NULL where there is none), the word, the name of the decode",
            "   error (NULL for none), which nobody looks for where `error` is NULL. */",
            f"unsigned {n}_decode(const uint64_t *units, size_t count, uint64_t address, const {n}_form **form,",
            "    uint64_t *word, const char **error);",
            _INSTRUCTION.replace("NAME", n).replace("GUARD", guard),
            "#ifdef __cplusplus", "}", "#endif", f"#endif /* {guard}_H */", "",
            f"#if defined(ISAKIT_IMPLEMENTATION) && !defined({guard}_C)", f"#define {guard}_C", "#include <string.h>",
            _COMMON,
            f"typedef struct {n}_str {{ unsigned char length; char text[{self._widest()}]; }} {n}_str;",
            *basic,
            f"const {n}_form {n}_forms[{len(rows)}] = {{", *rows, "};",
            *self._finder(sizes),
            f"static const char *const {n}_errors[] = {{{names}}};",
            *self._lacking(lacking),
            f"unsigned {n}_decode(const uint64_t *units, size_t count, uint64_t address, const {n}_form **form,",
            "    uint64_t *word, const char **error)",
            "{", f"    const {n}_form *f; uint64_t w; unsigned k, n = 1, e;",
            "    *form = 0; *word = 0;", "    if (error) *error = 0;", "    if (!count) return 0;",
            "    *word = w = units[0];",
            *lengths,
            f"    if (address % n) {{ if (error) *error = {n}_errors[{self.details.misaligned}]; return 1; }}",
            f"    if (n > count) {{ if (error) *error = {n}_errors[{self.details.truncated}]; return 1; }}",
            f"    {further}", "    *word = w;",
            f"    *form = f = {n}_find(w, n);",
            "    if (!error) return n;",
            f"    e = f ? (unsigned)f->error(w) : {n}_lacks(w, n);",
            f"    *error = {n}_errors[e];", "    return n;", "}",
            f"unsigned {n}_disassemble(const uint64_t *units, size_t count, uint64_t address, char *text)",
            "{", f"    const {n}_form *f; char *end; uint64_t w; unsigned k, n = 1;",
            "    if (!count) return 0;", "    w = units[0];", *lengths,
            "    if (n > count || address % n) n = 1, f = 0;",
            "    else {", f"        {further}", f"        f = {n}_find(w, n);", "    }",
            "    end = f ? f->write(text, w, address, 0) : 0;",
            "    if (!end) end = isakit_words_(text, units, n);", "    *end = 0; (void)k;", "    return n;", "}",
            "#ifndef ISAKIT_TEXT_ONLY", *self.out,
            f"static const isakit_details_ {n}_details[] = {{", *details, "};",
            _INSTRUCTION_OF.replace("NAME", n).replace("GUARD", guard),
            "#endif", f"#endif /* {guard}_C */", "",
        ])  # fmt: skip

    def _lacking(self, lacking: list[tuple[Form, int]]) -> list[str]:
        """Return the function that returns the error of a word without a form: some name forms of other contexts."""
        default = self.details.error_number(ILLEGAL)
        rows: list[str] = []
        if any(error != default for _, error in lacking):
            rows = [f"    if (n == {f.units} && {test_text(f.fixed, f.unless)}) e = {error};" for f, error in lacking]
        return [
            f"static unsigned {self.name}_lacks(uint64_t w, unsigned n)", "{", f"    unsigned e = {default};",
            "    (void)w; (void)n;", *rows, "    return e;", "}",
        ]  # fmt: skip

    def _room(self) -> tuple[int, int, int]:
        """Return the most registers of an instruction, the longest name of one, and the longest text of an operand."""
        size = _Sizes()
        most = max(size.words(n) for t in self.told for n in (t.reads, t.writes))
        register = max((len(w) for t in self.told for n in (t.reads, t.writes) for w in _words(n)), default=0)
        texts = [size.of(n) for t in self.told for n in (t.mnemonic, *(o.text for o in t.operands))]
        return max(1, most), register + 1, max(texts, default=0) + self._widest() + 8

    def _lengths(self, sizes: list[int]) -> list[str]:
        """Return statements that set `n` to the number of units, which depends on the lowest bits of the first unit."""
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
        """Return C tables of candidate forms, in the order they are tried, by the bits that best distinguish them."""
        out: list[str] = []
        body: list[str] = []
        for units in sizes:
            forms = [(k, f) for k, f in enumerate(self.model.forms) if f.units == units]
            key = self._key_mask([f.fixed for _, f in forms])
            field = field_of(key)
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
            start = f"{self.name}_start{units}[{field_text(field)}]"
            body.append(f"    if (units == {units}) p = {self.name}_list{units} + {start};")
        unless = [(k, f) for k, f in enumerate(self.model.forms) if f.unless]
        checks = [
            f"        case {k}: if ({' || '.join(holds_text(u) for u in f.unless)}) continue; break;" for k, f in unless
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
        """Return the mask of the bits that most forms fix."""
        counts = {b: sum(f.mask >> b & 1 for f in fixed) for b in range(64)}
        chosen = sorted((b for b in counts if counts[b]), key=lambda b: -counts[b])[:_KEY_BITS]
        return sum(1 << b for b in chosen)

    def _widest(self) -> int:
        strings = [len(str(v)) for key in self.tables if key[0] == "string" for v in key[1:]]
        return max(strings, default=0) + 1

    def _longest(self) -> int:
        """Return an upper bound of the length of a text: every piece at its longest."""
        size = _Sizes()
        longest = max(sum(size.of(i) + 1 for i in f.items) for f in self.model.forms)
        return longest + 5 + 22 + self._widest() + 8


class _Sizes:
    """Bounds of the characters and the words of texts."""

    def __init__(self) -> None:
        self._known: dict[tuple[bool, int], int] = {}

    def of(self, node: Node | str) -> int:
        """Return the length of the longest text of a node."""
        return len(node) + 1 if isinstance(node, str) else self._most(node, False)

    def words(self, node: Node) -> int:
        """Return the number of words of the wordiest text of a node."""
        return self._most(node, True)

    def _most(self, node: Node, words: bool) -> int:
        found = self._known.get((words, id(node)))
        if found is None:
            found = self._known[words, id(node)] = self._new(node, words)
        return found

    def _new(self, node: Node, words: bool) -> int:
        if isinstance(node, FixedText):
            return len(node.text.split()) if words else len(node.text)
        if isinstance(node, TextTable):
            return max(len(str(v).split()) if words else len(str(v)) for v in node.values)
        if isinstance(node, NumberText):
            return 1 if words else 24 + len(node.prefix)
        if isinstance(node, Join):
            return sum(self._most(n, words) for n in node.nodes) + (0 if words else sum(map(len, node.glues)))
        if isinstance(node, TableLookup | Select):
            return max(self._most(n, words) for n in node.nodes)
        return 0


def _words(node: Node) -> set[str]:
    """Return all words of the texts that a node may have, those of numbers excepted."""
    if isinstance(node, FixedText):
        return set(node.text.split(BETWEEN))
    if isinstance(node, TextTable):
        return {w for v in dict.fromkeys(node.values) for w in str(v).split(BETWEEN)}
    if isinstance(node, Join | TableLookup | Select):
        return {w for n in dict.fromkeys(node.nodes) for w in _words(n)}
    return set()


def _is_never(node: Node) -> bool:
    """Return whether a flag is not set for any word."""
    return isinstance(node, Mask) and not node.value


def _may_be(kind: Node, number: int) -> bool:
    """Return whether a node may have a number."""
    if isinstance(kind, Mask):
        return kind.value == number
    if isinstance(kind, TextTable):
        return number in kind.values
    if isinstance(kind, TableLookup | Select):
        return any(_may_be(n, number) for n in kind.nodes)
    return True


def _capital(name: str) -> str:
    """Return the name of a kind of operand in C: `CodeAddress` as `CODE_ADDRESS`."""
    if name == Operand.__name__:
        return "NONE"
    return "".join(f"_{c}" if c.isupper() and k else c.upper() for k, c in enumerate(name))


_KINDS = f"""#ifndef ISAKIT_KINDS_
#define ISAKIT_KINDS_
/* Kinds of operands. */
typedef enum isakit_kind {{ {", ".join(f"ISAKIT_OP_{_capital(k.__name__)}" for k in KINDS)} }} isakit_kind;
/* Purposes of instructions. */
typedef enum isakit_group {{
    ISAKIT_GROUP_NONE, {", ".join(f"ISAKIT_GROUP_{g.name}" for g in InstructionKind)}
}} isakit_group;
#endif"""
_INSTRUCTION = """#ifndef ISAKIT_TEXT_ONLY
/* An operand: its name in the manual, what it is, the number of an immediate, the target of a branch, the number of a
   register or the offset of a memory access, and its text. */
typedef struct NAME_operand {
    const char *name; isakit_kind kind; int64_t value; char text[GUARD_OPERAND_MAX];
} NAME_operand;
/* An instruction; `error` is NULL, or says why the words are none. Registers are those named by operands, each once. */
typedef struct NAME_instruction {
    const NAME_form *form; const char *error; uint64_t word, address; unsigned units; isakit_group group;
    unsigned operand_count, read_count, written_count;
    char text[GUARD_TEXT_MAX], mnemonic[GUARD_OPERAND_MAX];
    NAME_operand operands[GUARD_OPERANDS_MAX];
    char read[GUARD_REGISTERS_MAX][GUARD_REGISTER_MAX], written[GUARD_REGISTERS_MAX][GUARD_REGISTER_MAX];
} NAME_instruction;
/* Takes the instruction at units[0] apart and returns its size in units, 0 where count is 0. */
unsigned NAME_instruction_at(const uint64_t *units, size_t count, uint64_t address, NAME_instruction *found);
#endif"""
_INSTRUCTION_OF = """static unsigned NAME_registers(char *(*function)(char *, uint64_t, uint64_t), uint64_t w,
    uint64_t a, char (*out)[GUARD_REGISTER_MAX])
{
    char names[GUARD_REGISTERS_MAX * GUARD_REGISTER_MAX + GUARD_TEXT_MAX];
    char *at = names, *end = function(names, w, a);
    unsigned n = 0, k;
    while (at < end) {
        char *stop = memchr(at, ' ', (size_t)(end - at));
        size_t size = (size_t)((stop ? stop : end) - at);
        memcpy(out[n], at, size); out[n][size] = 0;
        for (k = 0; k < n && strcmp(out[k], out[n]); k++) ;
        if (k == n) n++;
        at += size + 1;
    }
    return n;
}
unsigned NAME_instruction_at(const uint64_t *units, size_t count, uint64_t address, NAME_instruction *i)
{
    const isakit_details_ *d;
    unsigned k;
    char *end;
    i->operand_count = i->read_count = i->written_count = 0;
    i->group = ISAKIT_GROUP_NONE; i->address = address;
    i->units = NAME_decode(units, count, address, &i->form, &i->word, &i->error);
    i->text[0] = 0; memcpy(i->mnemonic, ".word", 6);
    if (i->error || !i->units) {
        if (i->units) *isakit_words_(i->text, units, i->units) = 0;
        return i->units;
    }
    *i->form->write(i->text, i->word, address, 0) = 0;
    d = &NAME_details[i->form - NAME_forms];
    end = d->mnemonic(i->mnemonic, i->word, address); *end = 0;
    if ((end = strchr(i->mnemonic, ' '))) *end = 0;
    i->group = (isakit_group)d->group;
    for (k = 0; k < d->operand_count; k++) {
        NAME_operand *o = &i->operands[i->operand_count];
        end = d->operands[k].text(o->text, i->word, address);
        if (end == o->text) continue;
        *end = 0;
        o->name = d->operands[k].name;
        o->kind = (isakit_kind)d->operands[k].kind(i->word);
        o->value = d->operands[k].value(i->word, address);
        if (d->links && !strcmp(o->text, d->links)) i->group = ISAKIT_GROUP_CALL;
        i->operand_count++;
    }
    i->read_count = NAME_registers(d->reads, i->word, address, i->read);
    i->written_count = NAME_registers(d->writes, i->word, address, i->written);
    return i->units;
}"""


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
static inline char *isakit_words_(char *o, const uint64_t *units, unsigned n)
{
    unsigned k;
    memcpy(o, ".word", 5); o += 5;
    for (k = 0; k < n; k++) { *o++ = ' '; o = isakit_word_(o, units[k]); }
    return o;
}
static inline char *isakit_copy_(char *o, const char *text)
{
    size_t n = strlen(text);
    memcpy(o, text, n);
    return o + n;
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
typedef struct isakit_part_ {
    const char *name; char *(*text)(char *, uint64_t, uint64_t); uint64_t (*kind)(uint64_t);
    int64_t (*value)(uint64_t, uint64_t);
} isakit_part_;
typedef struct isakit_details_ {
    const isakit_part_ *operands; unsigned operand_count; char *(*mnemonic)(char *, uint64_t, uint64_t);
    char *(*reads)(char *, uint64_t, uint64_t), *(*writes)(char *, uint64_t, uint64_t);
    unsigned group; const char *links;
} isakit_details_;
#endif"""

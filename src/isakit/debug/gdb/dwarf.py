"""Lines and variables of a session's program as DWARF, in an ELF file that gdb loads beside the server.

The file has no code: gdb reads that from the server. It claims to be x86-64, as the server does (see `register_map`),
and has one function: the program. Locations of variables come from the line table: registers are read from a memory
that only gdb sees, where they are contiguous.

Source: "DWARF Debugging Information Format", version 4, chapters 2 (locations), 3, 5, 6.2 (lines), 6.4 (frames), 7.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Mapping

from isakit.debug.expressions import (
    TYPES,
    Binary,
    Cast,
    Load,
    NamedRegister,
    Node,
    NumberTerm,
    Unary,
    Variable,
    parse,
)
from isakit.debug.gdb.register_map import SHIFT, GdbRegisterMap
from isakit.debug.session import Session
from isakit.debug.source_variables import SourceVariable, SourceVariables
from isakit.debug.sources import SourcePlace, Sources
from isakit.errors import IsakitError

_ADDR, _CONST8U, _XOR, _PLUS, _MINUS, _MUL, _AND, _OR, _SHL, _SHR, _NEG, _NOT = (
    0x03, 0x0E, 0x27, 0x22, 0x1C, 0x1E, 0x1A, 0x21, 0x24, 0x25, 0x1F, 0x20)  # fmt: skip
_PIECE, _DEREF_SIZE, _IMPLICIT, _STACK_VALUE = 0x93, 0x94, 0x9E, 0x9F
_BINARY = {"+": _PLUS, "-": _MINUS, "*": _MUL, "&": _AND, "|": _OR, "^": _XOR, "<<": _SHL, ">>": _SHR}
_UNIT, _BASE, _POINTER, _ARRAY, _RANGE, _STRUCTURE, _MEMBER, _FUNCTION, _VARIABLE = range(1, 10)
"""Numbers of the abbreviations."""
_ABBREVIATIONS = (  # tag, has children, (attribute, form) ...
    (0x11, 1, ((0x25, 0x08), (0x13, 0x05), (0x03, 0x08), (0x1B, 0x08), (0x10, 0x17), (0x11, 0x01), (0x12, 0x07))),
    (0x24, 0, ((0x03, 0x08), (0x3E, 0x0B), (0x0B, 0x0B))),
    (0x0F, 0, ((0x49, 0x13), (0x0B, 0x0B))),
    (0x01, 1, ((0x49, 0x13),)),
    (0x21, 0, ((0x2F, 0x06),)),
    (0x13, 1, ((0x03, 0x08), (0x0B, 0x06))),
    (0x0D, 0, ((0x03, 0x08), (0x49, 0x13), (0x38, 0x06))),
    (0x2E, 1, ((0x03, 0x08), (0x3A, 0x0F), (0x3B, 0x0F), (0x11, 0x01), (0x12, 0x07))),
    (0x34, 0, ((0x03, 0x08), (0x49, 0x13), (0x02, 0x17))),
)
_SIGNED, _UNSIGNED, _FLOAT = 5, 7, 4
_PROGBITS, _SYMTAB, _STRTAB, _NOBITS = 1, 2, 3, 8
_HEADER, _SECTION = struct.Struct("<16sHHIQQQIHHHHHH"), struct.Struct("<IIQQQQIIQQ")


class Dwarf:
    """The debugging information of a session's program; `ptx`: the file with its PTX, if that is the source."""

    def __init__(self, session: Session, ptx: str = "") -> None:
        self.session, self.sources = session, Sources(session)
        self.files = self.sources.files or ([os.path.abspath(ptx)] if ptx and self.sources.ptx else [])
        self.carrier = GdbRegisterMap(session.target)
        code = list(session.program)
        self.addresses = [i.address for i in code]
        self.places = self._places()
        self.end = code[-1].address + code[-1].size if code else 0
        self.info = bytearray()
        self.locations = bytearray()
        self._types: dict[str, int] = {}
        self._start = 0
        """Place of the first entry in the unit."""

    # --- the file -----------------------------------------------------------------------------------------------------
    def file(self) -> bytes:
        """Return the ELF file. Raises IsakitError if no source is known."""
        lines = self.lines()
        sections = [
            (".text", _NOBITS, b"", self.end), (".debug_abbrev", _PROGBITS, _abbreviations(), 0),
            (".debug_info", _PROGBITS, self._unit(), 0), (".debug_line", _PROGBITS, lines, 0),
            (".debug_loc", _PROGBITS, bytes(self.locations), 0), (".debug_frame", _PROGBITS, self._frames(), 0),
        ]  # fmt: skip
        names, symbols = b"\0", bytes(24)
        for label, address in self.session.labels.items():
            symbols += struct.pack("<IBBHQQ", len(names), 0x12 if label == self.name else 0x10, 0, 1, address, 0)
            names += label.encode() + b"\0"
        sections += [(".symtab", _SYMTAB, symbols, 0), (".strtab", _STRTAB, names, 0)]
        return _elf(sections)

    @property
    def name(self) -> str:
        """The name of the program; that of a shader is `main`."""
        name = self.session.label_at(0).partition("+")[0].strip("<>")
        return "main" if name in ("", "entry") else name

    def _string(self, text: str) -> bytes:
        return text.encode().replace(b"\0", b"") + b"\0"

    # --- lines --------------------------------------------------------------------------------------------------------
    def lines(self) -> bytes:
        """Return the line program. Raises IsakitError where no source is known."""
        files = self.files
        if not files:
            raise IsakitError("gdb shows files, and no instruction comes from a line of one that is known")
        header = bytes((1, 1, 1, 0xFB, 14, 13)) + bytes((0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)) + b"\0"
        header += b"".join(self._string(f) + b"\0\0\0" for f in files) + b"\0"
        code = bytearray()
        file = line = 1
        for address, where in self.places:
            code += b"\0\x09\x02" + struct.pack("<Q", address)
            number = self._number_of(where)
            if number != file:
                file = number
                code += b"\x04" + _uleb(file)
            code += b"\x03" + _sleb(where.line - line) + b"\x01"
            line = where.line
        code += b"\0\x09\x02" + struct.pack("<Q", self.end) + b"\0\x01\x01"
        body = struct.pack("<HI", 4, len(header)) + header + bytes(code)
        return struct.pack("<I", len(body)) + body

    def _places(self) -> list[tuple[int, SourcePlace]]:
        """Return addresses and their lines; instructions before the first line count towards it."""
        found = [(a, place) for a in self.addresses if (place := self.sources.at(a)) is not None]
        return [(self.addresses[0], found[0][1]), *found[1:]] if found else []

    def _number_of(self, where: SourcePlace) -> int:
        """Return the number of the file that a line is in."""
        return self.files.index(where.path) + 1 if where.path else 1

    def _frames(self) -> bytes:
        """Return the frame information: the return address is where the stack of `register_map` points."""
        cie = struct.pack("<IB", 0xFFFF_FFFF, 4) + b"\0" + bytes((8, 0, 1)) + b"\x78\x10"
        cie += b"\x0c\x07\x08\x90\x01"  # the frame is 8 beyond rsp, the address in front of it
        fde = struct.pack("<IQQ", 0, 0, self.end)
        return b"".join(struct.pack("<I", len(p)) + p for p in (_padded(cie), _padded(fde)))

    # --- variables ----------------------------------------------------------------------------------------------------
    def _unit(self) -> bytes:
        head = struct.pack("<HIB", 4, 0, 8)
        self._start = 4 + len(head)
        self._put(_UNIT, self._string("isakit"), struct.pack("<H", 0x1D), self._string(self.files[0]),
                  self._string(os.getcwd()), struct.pack("<IQQ", 0, 0, self.end))  # fmt: skip
        rows = self._rows()
        file, line = (self._number_of(self.places[0][1]), self.places[0][1].line) if self.places else (0, 0)
        self._put(_FUNCTION, self._string(self.name), _uleb(file), _uleb(line), struct.pack("<QQ", 0, self.end))
        for name, of, at in rows:
            self._put(_VARIABLE, self._string(name), struct.pack("<II", of, at))
        self.info += b"\0\0"
        return struct.pack("<I", len(head) + len(self.info)) + head + bytes(self.info)

    def _put(self, kind: int, *fields: bytes) -> int:
        """Add an entry; return its offset in the unit."""
        place = self._start + len(self.info)
        self.info += bytes((kind,)) + b"".join(fields)
        return place

    def _rows(self) -> list[tuple[str, int, int]]:
        """Return names, types and location lists of the variables; adds both."""
        known = self.session.execution.variables
        wholes: dict[str, list[str]] = {}
        for name in known:
            if not name.startswith("__"):
                wholes.setdefault(known.at(name, None).whole, []).append(name)
        out: list[tuple[str, int, int]] = []
        for whole, names in wholes.items():
            alone = names == [whole]
            of = self._type(known.at(whole, None)) if alone else self._structure(known, whole, names)
            out.append((whole, of, self._list(known, names)))
        return out

    def _base(self, name: str) -> int:
        if name not in self._types:
            size = TYPES[name][0]
            encoding = {"f": _FLOAT, "s": _SIGNED, "u": _UNSIGNED}[name[0]]
            self._types[name] = self._put(_BASE, self._string(_C_NAMES[name]), bytes((encoding, size)))
        return self._types[name]

    def _type(self, v: SourceVariable) -> int:
        """Return the offset of the entry for a variable's type."""
        if v.type in TYPES:
            return self._base(v.type)
        key = f"{v.type} {v.element} {v.count} {v.inner}"
        if key not in self._types:
            of = self._base(v.element or "u8")
            if v.count:
                self._types[key] = self._put(_ARRAY, struct.pack("<I", of))
                for length in v.axes:
                    self._put(_RANGE, struct.pack("<I", length - 1))
                self.info += b"\0"
            else:
                self._types[key] = self._put(_POINTER, struct.pack("<IB", of, 8))
        return self._types[key]

    def _structure(self, known: SourceVariables, whole: str, names: list[str]) -> int:
        """Return the offset of the entry for the structure type of a variable's parts."""
        members = [(_member(n[len(whole) :]), self._base(known.at(n, None).type), TYPES[known.at(n, None).type][0])
                   for n in names]  # fmt: skip
        place = self._put(_STRUCTURE, self._string(f"of {whole}"), struct.pack("<I", sum(m[2] for m in members)))
        at = 0
        for name, of, size in members:
            self._put(_MEMBER, self._string(name), struct.pack("<II", of, at))
            at += size
        self.info += b"\0"
        return place

    def _list(self, known: SourceVariables, names: list[str]) -> int:
        """Add the location list of a variable composed of the named parts; return its offset."""
        place = len(self.locations)
        first, now = 0, b""
        for address in [*self.addresses, self.end]:
            found = b"" if address == self.end else self._whole([known.at(n, address) for n in names])
            if found != now:
                if now:
                    self.locations += struct.pack("<QQH", first, address, len(now)) + now
                first, now = address, found
        self.locations += bytes(16)
        return place

    def _whole(self, parts: list[SourceVariable]) -> bytes:
        """Return the location of a variable, composed of the locations of its parts; b"" if none has one."""
        texts = [self._expression(v) for v in parts]
        if len(parts) == 1 or not any(texts):
            return texts[0] if len(parts) == 1 else b""
        return b"".join(t + bytes((_PIECE,)) + _uleb(TYPES[v.type][0]) for t, v in zip(texts, parts, strict=True))

    def _expression(self, v: SourceVariable) -> bytes:
        """Return the location of a number, an address or an array as a DWARF expression, empty if none is known."""
        if not v.place:
            return b""
        try:
            node = parse(v.place)
            if v.type in TYPES:
                return self._number(node, v.type)
            base = _constant(self.carrier.numbers[v.space] << SHIFT)
            address = self._value(node) + base + bytes((_PLUS,))
            return address if v.count else address + bytes((_STACK_VALUE,))
        except (IsakitError, KeyError, struct.error):  # a place of a damaged file is none
            return b""

    def _number(self, node: Node, kind: str) -> bytes:
        size, letter = TYPES[kind]
        match node:
            case Cast(of, inner) if of == kind or (of[0] == kind[0] and TYPES[of][0] == size):
                return self._number(inner, kind)
            case NamedRegister(name) | Variable(name):
                return self._address(self._cell(name))
            case Binary(">>", NamedRegister(name) | Variable(name), NumberTerm(16)) if size == 2:
                return self._address(self._cell(name) + 2)
            case Load(space, NumberTerm(int(at)), _):
                return self._address((self.carrier.numbers[space] << SHIFT) + at)
            case NumberTerm(int(bits)):
                return bytes((_IMPLICIT, size)) + (bits & (1 << 8 * size) - 1).to_bytes(size, "little")
            case Binary("|", low, Binary("<<", high, NumberTerm(32))) if size == 8:
                halves = (self._number(n, "u32") + bytes((_PIECE, 4)) for n in (low, high))
                return b"".join(halves)
            case Unary("-", inner) if letter in "ef":
                sign = _constant(0x8000 if letter == "e" else 0x8000_0000)
                return self._bits(inner, size) + sign + bytes((_XOR, _STACK_VALUE))
            case _:
                return self._value(node) + bytes((_STACK_VALUE,))

    def _bits(self, node: Node, size: int) -> bytes:
        """Return the operations that push the bits of a floating-point number as an integer."""
        match node:
            case Cast(_, inner):
                return self._bits(inner, size)
            case Binary(">>", NamedRegister(name) | Variable(name), NumberTerm(16)):
                return self._address(self._cell(name) + 2) + bytes((_DEREF_SIZE, size))
            case NamedRegister(name) | Variable(name):
                return self._address(self._cell(name)) + bytes((_DEREF_SIZE, size))
            case _:
                raise IsakitError("no place of a number of floating point")

    def _value(self, node: Node) -> bytes:
        """Return the operations that push an integer."""
        match node:
            case NumberTerm(int(number)):
                return _constant(number)
            case NamedRegister(name) | Variable(name):
                return self._address(self._cell(name)) + bytes((_DEREF_SIZE, min(8, self._slot(name)[1])))
            case Load(space, at, kind) if kind[0] == "u":
                where = self._value(at) + _constant(self.carrier.numbers[space] << SHIFT) + bytes((_PLUS,))
                return where + bytes((_DEREF_SIZE, TYPES[kind][0]))
            case Cast(kind, inner) if kind[0] == "u":
                return self._value(inner) + _constant((1 << 8 * TYPES[kind][0]) - 1) + bytes((_AND,))
            case Unary(sign, inner) if sign in "-~":
                return self._value(inner) + bytes((_NEG if sign == "-" else _NOT,))
            case Binary(operator, left, right) if operator in _BINARY:
                return self._value(left) + self._value(right) + bytes((_BINARY[operator],))
            case _:
                raise IsakitError("a place that DWARF has no words for")

    def _slot(self, name: str) -> tuple[int, int]:
        register = self.session.target.register(name)
        found = next((k, s.size) for k, s in enumerate(self.carrier.slots) if s.register == register)
        return found

    def _cell(self, name: str) -> int:
        return self.carrier.register_address(self._slot(name)[0])

    @staticmethod
    def _address(at: int) -> bytes:
        return bytes((_ADDR,)) + struct.pack("<Q", at & (1 << 64) - 1)


_C_NAMES: Mapping[str, str] = {
    "u8": "unsigned char", "s8": "signed char", "u16": "unsigned short", "s16": "short", "u32": "unsigned int",
    "s32": "int", "u64": "unsigned long", "s64": "long", "f16": "half", "f32": "float", "f64": "double",
}  # fmt: skip


def _member(path: str) -> str:
    """Return the name of a member from a path of fields and indices: `.at.x` is `at_x`, `[1].x` is `_1_x`."""
    return path.removeprefix(".").replace("].", "_").replace("[", "_").replace("]", "").replace(".", "_")


def _constant(number: int) -> bytes:
    return bytes((_CONST8U,)) + struct.pack("<Q", number & (1 << 64) - 1)


def _uleb(number: int) -> bytes:
    out = bytearray()
    while number >> 7:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes((number,))


def _sleb(number: int) -> bytes:
    out = bytearray()
    while not -64 <= number < 64:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out) + bytes((number & 0x7F,))


def _padded(entry: bytes) -> bytes:
    """Return an entry of the frames whose length, with its own field, is a multiple of 8."""
    return entry + bytes(-(len(entry) + 4) % 8)


def _abbreviations() -> bytes:
    out = b""
    for number, (tag, children, attributes) in enumerate(_ABBREVIATIONS, 1):
        out += _uleb(number) + _uleb(tag) + bytes((children,))
        out += b"".join(_uleb(a) + _uleb(f) for a, f in attributes) + b"\0\0"
    return out + b"\0"


def _elf(sections: Iterable[tuple[str, int, bytes, int]]) -> bytes:
    """Return a file of sections: (name, kind, content, size in memory). The symbols' names follow their table."""
    rows = [("", 0, b"", 0), *sections]
    names = b"".join(n.encode() + b"\0" for n, *_ in rows) + b".shstrtab\0"
    rows.append((".shstrtab", _STRTAB, names, 0))
    content, headers = bytearray(), b""
    at_name = 0
    for number, (name, kind, data, size) in enumerate(rows):
        content += bytes(-len(content) % 8)
        symbols = kind == _SYMTAB
        flags = 6 if kind == _NOBITS else 0
        offset = _HEADER.size + len(content) if number else 0
        headers += _SECTION.pack(at_name, kind, flags, 0, offset, size or len(data), number + 1 if symbols else 0,
                                 1 if symbols else 0, 8 if number else 0, 24 if symbols else 0)  # fmt: skip
        at_name += len(name) + 1
        content += data
    content += bytes(-len(content) % 8)
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    header = _HEADER.pack(ident, 2, 62, 1, 0, 0, _HEADER.size + len(content), 0, _HEADER.size, 0, 0, _SECTION.size,
                          len(rows), len(rows) - 1)  # fmt: skip
    return header + bytes(content) + headers


def debug_file(session: Session, ptx: str = "") -> bytes:
    """Return an ELF file with the lines and variables of a session's program, which may be the PTX file `ptx`.

    Raises IsakitError where no source is known.
    """
    return Dwarf(session, ptx).file()


__all__ = ["debug_file"]

"""Text of NVIDIA's own disassembler for sm_1x in the spelling of this project, for comparing what two tools read."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

CONDITIONS = {
    "EQ": "e", "NE": "lg", "LT": "l", "LE": "le", "GT": "g", "GE": "ge", "EQU": "eu", "NEU": "lgu", "LTU": "lu",
    "LEU": "leu", "GTU": "gu", "GEU": "geu", "CARRY": "c", "SIGN": "s", "OFF": "o", "NOT_CARRY": "nc",
    "NOT_SIGN": "ns", "NOT_OFF": "no", "ABOVE": "a",
}  # fmt: skip
SPECIAL = ("physid", "clock", "sr2", "vstride", "pm0", "pm1", "pm2", "pm3")
MODES = {"TRUNC": "rz", "FLOOR": "rm", "CEIL": "rp"}
SIZES = {"U8": ("u8", ""), "S8": ("s8", ""), "U16": ("u16", ""), "S16": ("s16", ""), "U32": ("b32", ""),
         "S64": ("b64", "d"), "S128": ("b128", "q")}  # fmt: skip


class Unknown(Exception):
    """The text has a form that the translation does not cover."""


@dataclass
class Statement:
    """An instruction taken apart: name, modifiers, predicate, operands as NVIDIA writes them."""

    name: str
    mods: list[str]
    operands: list[str]
    predicate: str = ""
    flags: str = ""
    join: bool = False
    used: set[str] = field(default_factory=set[str])

    def take(self, *names: str) -> str:
        """The first modifier of these that is present, and mark it as understood."""
        for n in names:
            if n in self.mods:
                self.used.add(n)
                return n
        return ""


_PREDICATE = re.compile(r"\s*\(C(\d)(?:\.(\w+))?\)")  # without a condition: always


def parse(text: str) -> Statement:
    """Split a line."""
    predicate = ""
    m = _PREDICATE.search(text)
    if m:
        predicate = f"({CONDITIONS[m[2]]} $c{m[1]}) " if m[2] else ""
        text = text[: m.start()] + text[m.end() :]
    head, _, rest = text.strip().partition(" ")
    name, *mods = head.split(".")
    operands = [o.strip() for o in rest.split(",")] if rest else []
    s = Statement(name, mods, operands, predicate)
    if "S" in mods:
        mods.remove("S")
        s.join = True
    for n in ("C0", "C1", "C2", "C3"):
        if n in mods:
            mods.remove(n)
            s.flags = f"${n.lower()} "
    return s


# --- operands ---------------------------------------------------------------------------------------------------------


def address(inside: str, unit: int) -> str:
    """`A1+0x9`, `A2+++0x1`, `0x6` in units of the access as our `$a1+0x24`."""
    m = re.fullmatch(r"(?:A(\d)(\+\+\+|\+))?(-?0x[0-9a-f]+|-?\d+)", inside)
    if not m:
        raise Unknown(inside)
    offset = int(m[3], 0) * unit
    if m[1] is None:
        return f"{offset:#x}"
    if m[2] == "+++":
        return f"$a{m[1]}++{offset:#x}"
    return f"$a{m[1]}+{offset:#x}" if offset else f"$a{m[1]}"


def operand(text: str, width: int = 32, pair: str = "") -> str:
    """A source or destination of the given width, without sign and absolute value."""
    if m := re.fullmatch(r"R(\d+)([LH]?)", text):
        return f"$r{m[1]}{m[2].lower() or pair}"
    if m := re.fullmatch(r"g ?\[(.*)\](?:\.([US]\d+))?", text):
        kind = (m[2] or ("U32" if width == 32 else "U16")).lower()
        kind = "b32" if kind in ("u32", "s32") else kind
        return f"{kind} s[{address(m[1], int(kind[1:]) // 8)}]"
    if m := re.fullmatch(r"c ?\[0x([0-9a-f]+)\] ?\[(.*)\]", text):
        return f"c{int(m[1], 16)}[{address(m[2], width // 8)}]"
    if m := re.fullmatch(r"(global|local)(\d*) ?\[(.*)\]", text):
        return f"g{m[2]}[$r{m[3][1:]}]" if m[1] == "global" else f"l[{address(m[3], 1)}]"
    if text in ("o [0x7f]", "o[0x7f]"):
        return "#"
    if re.fullmatch(r"-?0x[0-9a-f]+", text):
        return f"{int(text, 16) & 0xFFFFFFFF:#x}"
    raise Unknown(text)


def signed(text: str, width: int = 32, pair: str = "") -> str:
    """A source with `neg` and `abs` written as words."""
    words = ""
    if text[:1] == "-" and "0x" not in text[:3]:
        words, text = "neg ", text[1:]
    if text[:1] == "|":
        words, text = words + "abs ", text.strip("|")
    return words + operand(text, width, pair)


def inverted(text: str, width: int) -> str:
    return "not " + operand(text[1:], width) if text[0] == "~" else operand(text, width)


# --- instructions -----------------------------------------------------------------------------------------------------


def _add(s: Statement) -> str:
    width = 16 if s.take("U16") else 32
    a, b = s.operands[1:]
    name = "subr" if a[0] == "-" else "sub" if b[0] == "-" else "add"
    carry = next((m for m in s.mods if m.startswith("CARRY")), "")
    tail = ""
    if carry:
        s.used.add(carry)
        name, tail = "addc", f" $c{carry[-1]}"
    sat = "sat " if s.take("SAT") else ""
    kind = f"b{width} {sat}" if s.name == "IADD" else f"{sat}b{width} "
    a, b = (operand(o.lstrip("-"), width) for o in (a, b))
    return f"{name} {kind}{s.flags}{operand(s.operands[0], width)} {a} {b}{tail}"


def _float(s: Statement) -> str:
    name = {"FADD": "add", "FMUL": "mul"}[s.name[:4]]
    sat = "sat " if s.take("SAT") else ""
    rounding = (MODES[m] if (m := s.take(*MODES)) else "rn") + " " if len(s.name) == 4 else ""
    a, b = (signed(o) for o in s.operands[1:])
    return f"{name} {sat}{rounding}f32 {s.flags}{operand(s.operands[0])} {a} {b}"


def _fused(s: Statement) -> str:
    d, a, b, c = s.operands
    negative = [o[0] == "-" and "0x" not in o for o in (a, b)]
    sat = "sat " if s.take("SAT") else ""
    product = f"{'neg ' if negative[0] != negative[1] else ''}(mul "
    product += " ".join(operand(o[n:]) for o, n in zip((a, b), negative, strict=True)) + ")"
    return f"add {sat}f32 {s.flags}{operand(d)} {product} {signed(c)}"


def _double(s: Statement) -> str:
    rounding = MODES[m] if (m := s.take(*MODES)) else "rn"
    d, *sources = [signed(o, 64, "d") for o in s.operands]
    name = {"DADD": "add", "DMUL": "mul", "DFMA": "fma"}[s.name]
    return f"{name} {rounding} f64 {s.flags}{d} {' '.join(sources)}"


def _set(s: Statement) -> str:
    kind = {"F": "f32", "D": "f64", "I": "s32" if s.take("S32") else "u32"}[s.name[0]]
    d, a, b, condition = s.operands
    pair = "d" if kind == "f64" else ""
    return f"set {s.flags}{operand(d)} {CONDITIONS[condition]} {kind} {signed(a, 32, pair)} {signed(b, 32, pair)}"


def _extreme(s: Statement) -> str:
    kind = "f32" if s.name[0] == "F" else "s32" if s.take("S32") else "u32"
    d, a, b = s.operands
    return f"{s.name[1:].lower()} {kind} {s.flags}{operand(d)} {signed(a)} {signed(b)}"


def _multiply(s: Statement) -> str:
    one, two = (m for m in s.mods if re.fullmatch(r"[US]\d+", m))
    s.used |= {one, two}
    d, a, b = s.operands
    if one.endswith("24"):
        high = "high " if s.take("HI") else ""
        return f"mul {s.flags}{operand(d)} {high}{one.lower()} {operand(a)} {operand(b)}"
    return f"mul {s.flags}{operand(d)} {one.lower()} {operand(a, 16)} {two.lower()} {operand(b, 16)}"


def _mad(s: Statement) -> str:
    kind = s.take("U16", "S16", "U24", "S24")
    width = 16 if kind.endswith("16") else 32
    d, a, b, c = s.operands
    name = "sub" if c[0] == "-" else "subr" if a[0] == "-" else "add"
    high = "high " if s.take("HI") else ""
    sat = "sat " if s.take("SAT") else ""
    product = f"(mul {high}{kind.lower()} {operand(a.lstrip('-'), width)} {operand(b, width)})"
    return f"{name} {sat}{s.flags}{operand(d)} {product} {operand(c.lstrip('-'))}"


def _sad(s: Statement) -> str:
    kind = s.take("S32", "U32", "S16", "U16") or "U32"
    d, a, b, c = (operand(o, int(kind[1:])) for o in s.operands)
    return f"sad {s.flags}{d} {kind.lower()} {a} {b} {c}"


def _logic(s: Statement) -> str:
    name = {"AND": "and", "OR": "or", "XOR": "xor", "PASS_B": "mov2"}[s.take("AND", "OR", "XOR", "PASS_B")]
    width = 16 if s.take("U16") else 32
    d, a, b = s.operands
    return f"{name} b{width} {s.flags}{operand(d, width)} {inverted(a, width)} {inverted(b, width)}"


def _shift(s: Statement) -> str:
    d, a, b = s.operands
    kind = s.take("S32", "U16", "S16") or "U32"
    width = int(kind[1:])
    written = kind.lower() if s.name == "SHR" else f"b{width}"
    return f"{s.name.lower()} {written} {s.flags}{operand(d, width)} {operand(a, width)} {operand(b, width)}"


def _move(s: Statement) -> str:
    width = 16 if s.take("U16") else 32
    hint = "sfu " if s.take("SFU") else ""
    return f"mov {hint}b{width} {operand(s.operands[0], width)} {operand(s.operands[1], width)}"


def _immediate_move(s: Statement) -> str:
    width = 16 if s.take("U16") else 32
    return f"mov b{width} {operand(s.operands[0], width)} {operand(s.operands[1])}"


def _constant_load(s: Statement) -> str:
    s.take("U16", "U32")
    place, _, kind = s.operands[1].partition("].")
    kind = kind.lower() or "b32"
    width = int(kind[1:])
    return f"ld {operand(s.operands[0])} {kind} {operand(place + ('' if place[-1] == ']' else ']'), width)}"


def _shared_load(s: Statement) -> str:
    s.take("U16", "U32")
    return f"ld {operand(s.operands[0])} {operand(s.operands[1])}"


def _shared_store(s: Statement) -> str:
    size = int(s.mods[1][1:])
    s.used |= set(s.mods)
    inside = re.fullmatch(r"g ?\[(.*)\]", s.operands[0])
    if not inside:
        raise Unknown(s.operands[0])
    source = operand(s.operands[1])
    if s.mods[0] == "U16":  # the number counts half registers
        n = int(s.operands[1][1:])
        source = f"$r{n >> 1}{'lh'[n & 1]}"
    return f"st b{size} s[{address(inside[1], size // 8)}] {source}"


def _memory(s: Statement) -> str:
    size, pair = SIZES[s.take(*SIZES)]
    if s.name[1:] == "LD":
        return f"ld {size} {operand(s.operands[0], 32, pair)} {operand(s.operands[1])}"
    return f"st {size} {operand(s.operands[0])} {operand(s.operands[1], 32, pair)}"


def _reduction(s: Statement) -> str:
    name = {"IADD": "add", "IMAX": "max", "IMIN": "min", "AND": "and", "OR": "or", "XOR": "xor"}[s.mods[0]]
    s.used |= set(s.mods)
    return f"red {name} {s.mods[1].lower()} {operand(s.operands[0])} {operand(s.operands[1])}"


def _convert(s: Statement) -> str:
    to, source = s.mods[:2]
    s.used |= {to, source}
    mode = MODES[m] if (m := s.take(*MODES)) else "rn"
    sat = "sat " if s.take("SAT") else ""
    integral = bool(s.take("IR")) or s.name == "F2I"
    pairs = ["d" if k.endswith("64") else "" for k in (to, source)]
    if s.take("BEXT"):
        source = source[0] + "8"
    to, source = to.lower(), source.lower()
    rounding = f"{mode}i " if integral else "" if s.name == "I2I" else f"{mode} "
    if s.name == "F2F" and not integral and not (to == "f16" and source == "f32") and (to, source) != ("f32", "f64"):
        rounding = ""
    d, a = operand(s.operands[0], 32, pairs[0]), signed(s.operands[1], int(source[1:]), pairs[1])
    words = " ".join(a.split()[: a.count("neg ") + a.count("abs ")])
    a = a.removeprefix(words).strip()
    return f"cvt {words + ' ' if words else ''}{sat}{rounding}{to} {s.flags}{d} {source} {a}"


def _special(s: Statement) -> str:
    name = {"RCP": "rcp", "RCP32": "rcp", "RSQ": "rsqrt", "LG2": "lg2", "EX2": "ex2", "SIN": "sin", "COS": "cos"}
    return f"{name[s.name]} f32 {operand(s.operands[0])} {signed(s.operands[1])}"


def _prepare(s: Statement) -> str:
    name = {"EX2": "preex2", "SINCOS": "presin", "SIN": "presin"}[s.operands[2]]
    return f"{name} f32 {operand(s.operands[0])} {signed(s.operands[1])}"


def _file(text: str) -> str:
    return f"${text[0].lower()}{text[1:]}"


def _to_address(s: Statement) -> str:
    count = s.operands[2] if len(s.operands) > 2 else "0x0"
    return f"shl {_file(s.operands[0])} {operand(s.operands[1])} {int(count, 16):#x}"


def _address_add(s: Statement) -> str:
    base = _file(s.operands[1]) if len(s.operands) > 2 else "0x0"
    return f"add {_file(s.operands[0])} {'0x0' if base == '$a0' else base} {int(s.operands[-1], 16):#x}"


def _control(s: Statement) -> str:
    name = {"BRA": "bra", "SSY": "joinat", "PBK": "breakaddr", "BRK": "break", "CAL": "call", "RET": "ret"}[s.name]
    s.take("NOINC")
    target = ""
    for o in s.operands:
        if m := re.fullmatch(r"C(\d)(?:\.(\w+))?", o):
            s.predicate = f"({CONDITIONS[m[2]]} $c{m[1]}) " if m[2] else ""
        else:
            target = f" {int(o, 16):#x}"
    return name + target


def _moves(kind: str) -> object:
    def build(s: Statement) -> str:
        d, a = s.operands
        if kind == "special":
            return f"mov {_file(d)} ${SPECIAL[int(a[2:])]}"
        return f"mov {_file(d)} {_file(a)}"

    return build


RULES = {
    **dict.fromkeys(("IADD", "IADD32", "IADD32I"), _add),
    **dict.fromkeys(("FADD", "FADD32", "FADD32I", "FMUL", "FMUL32", "FMUL32I"), _float),
    **dict.fromkeys(("FMAD", "FMAD32", "FMAD32I"), _fused),
    **dict.fromkeys(("DADD", "DMUL", "DFMA"), _double),
    **dict.fromkeys(("ISET", "FSET", "DSET"), _set),
    **dict.fromkeys(("IMAX", "IMIN", "FMAX", "FMIN"), _extreme),
    **dict.fromkeys(("IMUL", "IMUL32", "IMUL32I"), _multiply),
    **dict.fromkeys(("IMAD", "IMAD32", "IMAD32I"), _mad),
    "ISAD": _sad, "LOP": _logic, "SHL": _shift, "SHR": _shift, "MOV": _move, "MOV32": _move, "MVI": _immediate_move,
    "MVC": _constant_load, "G2R": _shared_load, "R2G": _shared_store, "GRED": _reduction,
    **dict.fromkeys(("GLD", "GST", "LLD", "LST"), _memory),
    **dict.fromkeys(("F2F", "F2I", "I2F", "I2I"), _convert),
    **dict.fromkeys(("RCP", "RCP32", "RSQ", "LG2", "EX2", "SIN", "COS"), _special),
    "RRO": _prepare, "R2A": _to_address, "ADA": _address_add, "A2R": _moves("plain"), "C2R": _moves("plain"),
    "R2C": _moves("to c"), "S2R": _moves("special"),
    **dict.fromkeys(("BRA", "SSY", "PBK", "BRK", "CAL", "RET"), _control),
    "NOP": lambda s: "nop",
}  # fmt: skip


def translate(text: str) -> str:
    """The line in our spelling, without `exit`. Raises Unknown for what is not covered."""
    s = parse(text)
    rule = RULES.get(s.name)
    if rule is None:
        raise Unknown(s.name)
    body = rule(s)  # type: ignore[operator]
    if set(s.mods) - s.used:
        raise Unknown(f"modifiers {set(s.mods) - s.used}")
    return f"{'join ' if s.join else ''}{s.predicate}{body}"

"""The directives of the assembler: one function each; `DIRECTIVES` is the table the manual prints."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import TypeVar

from isakit.asm.declared import disagreement
from isakit.asm.reader import Directive, Reader
from isakit.asm.sections import Bank, Data, DeferredValue, Fill
from isakit.asm.source import Statement
from isakit.codec import Stream, Token
from isakit.description import Kernel, Param

T = TypeVar("T")

MAX_BANK = 1 << 20
"""More than any constant bank holds, so that a wrong size does not allocate memory."""
MAX_FILL = 1 << 26
"""Bytes one directive may add to the code."""
MAX_SPACE = 1 << 32

TYPES = {
    "u8": 1, "s8": 1, "i8": 1, "b8": 1, "u16": 2, "s16": 2, "i16": 2, "b16": 2, "f16": 2, "u32": 4, "s32": 4,
    "i32": 4, "b32": 4, "f32": 4, "u64": 8, "s64": 8, "i64": 8, "b64": 8, "f64": 8, "ptr": 4, "ptr64": 8,
}  # fmt: skip
"""Parameter types: bytes, which are also the alignment."""


DIRECTIVES: dict[str, Directive] = {}


def _directive(name: str, usage: str) -> Callable[[Callable[[Reader, Statement, list[Token]], None]], None]:
    def register(run: Callable[[Reader, Statement, list[Token]], None]) -> None:
        DIRECTIVES[name] = Directive(name, f"{name} {usage}".strip(), (run.__doc__ or "").strip(), run)

    return register


def _usage(r: Reader, s: Statement, token: Token | None, message: str) -> None:
    r.source.error(s.place(token), message, f"usage: {DIRECTIVES[s.tokens()[0].text].usage}")


def _number(r: Reader, s: Statement, args: list[Token], low: int, high: int, what: str) -> int | None:
    """Return the only argument, a number that is known now."""
    stream = Stream(args, r.known)
    got = stream.number(0)
    if got is None or got[0] != len(args):
        bad = args[got[0]] if got else (args[0] if args else None)
        _usage(r, s, bad, f"{what} was expected")
        return None
    if not low <= got[1] <= high:
        _usage(r, s, args[0], f"{what} is {low:#x} to {high:#x}, not {got[1]:#x}")
        return None
    return got[1]


def _numbers(
    r: Reader, s: Statement, args: list[Token], read: Callable[[int], tuple[int, T] | None], what: str = "a number"
) -> list[tuple[int, T]]:
    """Return (first token, value) of every argument; an empty list after an error in one of them.

    `read(k)` returns the token after the value that starts at token `k`, and that value; None if there is none.
    """
    if not args:
        _usage(r, s, None, "at least one number was expected")
    out: list[tuple[int, T]] = []
    k = 0
    while k < len(args):
        got = read(k)
        if got is None:
            _usage(r, s, args[k], f"{what} was expected")
            return []
        out.append((k, got[1]))
        k = got[0]
    return out


def _kernel_of(r: Reader, s: Statement) -> Kernel | None:
    if r.section.kernel is None:
        _usage(r, s, None, "this belongs after a `.kernel`")
    return r.section.kernel


def _kernel_number(r: Reader, s: Statement, args: list[Token], attribute: str, high: int, what: str) -> None:
    """Keep the only argument as an attribute of the kernel."""
    kernel = _kernel_of(r, s)
    value = _number(r, s, args, 0, high, what)
    if kernel and value is not None:
        setattr(kernel, attribute, value)


# --- what is assembled -----------------------------------------------------------------------------------------------


@_directive(".isa", "NAME [VARIANT]")
def _isa(r: Reader, s: Statement, args: list[Token]) -> None:
    """Set the instruction set that the text is written for, and by default assembled for.

    Listings begin with it. Assembling a text for another instruction set or variant is an error.
    """
    if not args or len(args) > 2:
        _usage(r, s, None, "the name of an instruction set was expected")
        return
    why = disagreement(r.decoder.view, args[0].text, args[1].text if len(args) == 2 else "")
    if why:
        r.source.error(s.place(args[-1]), why)


@_directive(".program", "TYPE")
def _program(r: Reader, s: Statement, args: list[Token]) -> None:
    """Set the program type, which decides which instructions exist; it must precede the first instruction.

    After instructions outside of kernels it begins another program, with its own addresses and labels.
    """
    programs = r.decoder.isa.programs
    if len(args) != 1 or args[0].text not in programs:
        names = ", ".join(f"`{p}`" for p in programs if p)
        _usage(r, s, args[0] if args else None, f"program types are {names}" if names else "there is only one type")
    elif r.section.kernel is not None:
        r.source.error(s.place(), "the program type must be given before the first kernel")
    else:
        r.set_program(args[0].text, s)


@_directive(".kernel", "NAME")
def _kernel(r: Reader, s: Statement, args: list[Token]) -> None:
    """Start a kernel: what follows belongs to it. Its code starts at address 0 and has its own labels."""
    name = s.text[args[0].column :] if args else ""
    if not name or len(name.split()) != 1:
        _usage(r, s, args[1] if len(args) > 1 else None, "one name was expected")
        return
    r.start_kernel(name, s)


@_directive(".org", "ADDRESS")
def _org(r: Reader, s: Statement, args: list[Token]) -> None:
    """Set the byte address of the first instruction; must precede it."""
    unit = r.variant.unit_bytes
    value = _number(r, s, args, 0, MAX_SPACE - 1, "an address")
    if value is None:
        return
    if value % unit:
        r.source.error(s.place(args[0]), f"the address must be a multiple of {unit}")
    elif r.section.items or r.section.loose:
        r.source.error(s.place(), "the address must be given before the first instruction")
    else:
        r.section.address = value


@_directive(".code", "")
def _code(r: Reader, s: Statement, args: list[Token]) -> None:
    """End constant data: instructions follow."""
    if args:
        _usage(r, s, args[0], "nothing may follow")
    r.bank = None


@_directive(".equ", "NAME VALUE")
def _equ(r: Reader, s: Statement, args: list[Token]) -> None:
    """Give a value a name; `NAME = VALUE` does the same. The value may use names that are defined later."""
    if len(args) < 2 or args[0].kind != "word":
        _usage(r, s, args[0] if args else None, "a name and its value were expected")
        return
    r.define(args[0].text, s, s.place(args[0]), args[1:])


# --- what a kernel needs ---------------------------------------------------------------------------------------------


@_directive(".regs", "COUNT")
def _regs(r: Reader, s: Statement, args: list[Token]) -> None:
    """Set the 32-bit registers per thread. Left out, the highest register written decides: those above read 0."""
    _kernel_number(r, s, args, "registers", 1 << 8, "a number of registers")


@_directive(".shared", "BYTES")
def _shared(r: Reader, s: Statement, args: list[Token]) -> None:
    """Set the shared memory per block, with the launch header and the parameters. Left out, just those two."""
    _kernel_number(r, s, args, "shared_bytes", MAX_SPACE - 1, "a number of bytes")


@_directive(".local", "BYTES")
def _local(r: Reader, s: Statement, args: list[Token]) -> None:
    """Set the local memory per thread."""
    _kernel_number(r, s, args, "local_bytes", MAX_SPACE - 1, "a number of bytes")


@_directive(".bars", "COUNT")
def _bars(r: Reader, s: Statement, args: list[Token]) -> None:
    """Set the number of barriers the kernel uses. Left out, the highest barrier used decides."""
    _kernel_number(r, s, args, "barriers", 16, "a number of barriers")


@_directive(".param", "NAME TYPE[COUNT] [OFFSET]")
def _param(r: Reader, s: Statement, args: list[Token]) -> None:
    """Declare a parameter. Its name becomes its address in shared memory: `s[NAME]`.

    It follows the previous one, aligned to the size of its type, unless an offset from the first one is given.
    """
    kernel = _kernel_of(r, s)
    texts = [t.text for t in args]
    stream = Stream(args, r.known)
    if len(args) < 2:
        _usage(r, s, None, "a name and a type were expected")
        return
    size = TYPES.get(texts[1])
    if size is None:
        _usage(r, s, args[1], f"`{texts[1]}` is not a type; types are {' '.join(TYPES)}")
        return
    k, count = 2, 1
    if stream.text(k) == "[":
        got = stream.number(k + 1)
        if got is None or not 0 < got[1] <= MAX_BANK or stream.text(got[0]) != "]":
            _usage(r, s, args[k], "a number of elements in brackets was expected")
            return
        k, count = got[0] + 1, got[1]
    offset = r.section.param_bytes + -r.section.param_bytes % size
    if k < len(args):
        got = stream.number(k)
        if got is None or got[0] != len(args) or not 0 <= got[1] <= MAX_BANK:
            _usage(r, s, args[k], "an offset or the end of the statement was expected")
            return
        offset = got[1]
    if kernel is None:
        return
    kind = texts[1] if count == 1 else f"{texts[1]}[{count}]"
    kernel.params.append(Param(texts[0], offset, size * count, kind))
    r.section.param_bytes = max(r.section.param_bytes, offset + size * count)
    r.define_number(texts[0], s.place(args[0]), r.decoder.isa.param_base + offset)


# --- data ------------------------------------------------------------------------------------------------------------


@_directive(".const", "BANK [OFFSET]")
def _const(r: Reader, s: Statement, args: list[Token]) -> None:
    """Begin data for a constant bank, up to `.code` or `.kernel`.

    It belongs to the kernel, or to the module before the first kernel. Labels in it are addresses in the bank.
    """
    stream = Stream(args, r.known)
    bank = stream.number(0)
    offset = stream.number(bank[0]) if bank else None
    end = offset[0] if offset else bank[0] if bank else 0
    if bank is None or end != len(args) or not 0 <= bank[1] <= 15:
        _usage(r, s, args[end] if end < len(args) else None, "a bank from 0 to 15 was expected")
        return
    r.bank = r.section.banks.setdefault(bank[1], Bank())
    if offset:
        _grow(r, s, r.bank, offset[1])


def _grow(r: Reader, s: Statement, bank: Bank, size: int) -> bool:
    """Make the bank at least `size` bytes long."""
    if not 0 <= size <= MAX_BANK:
        r.source.error(s.place(), f"a constant bank has at most {MAX_BANK:#x} bytes, this needs {size:#x}")
        return False
    if size > len(bank.data):
        bank.data.extend(bytes(size - len(bank.data)))
    return True


def _integers(r: Reader, s: Statement, bank: Bank, args: list[Token], size: int) -> None:
    """Add integers of `size` bytes to the constant bank."""
    for k, _ in _numbers(r, s, args, Stream(args, r.any_name).number):
        at = len(bank.data)
        if not _grow(r, s, bank, at + size):
            return
        bank.late.append(DeferredValue(s, k, args, at, size))


@_directive(".word", "VALUE, ...")
def _word(r: Reader, s: Statement, args: list[Token]) -> None:
    """Add words: in code unchanged, in constant data as 32-bit numbers."""
    if r.bank is not None:
        _integers(r, s, r.bank, args, 4)
        return
    variant, isa = r.variant, r.decoder.isa
    stream = Stream(args, r.any_name)
    values = [value for _, value in _numbers(r, s, args, stream.number)]
    if not values:
        return
    if stream.symbols_used:
        r.add(Data(s, len(values), False, [], args))
        return
    bits = variant.unit_bits
    for value in values:
        if not -(1 << bits - 1) <= value < 1 << bits:
            r.source.error(s.place(), f"{value:#x} does not fit {bits} bits")
            return
    values = [v & (1 << bits) - 1 for v in values]
    # The words of one undecodable instruction stay together where an instruction may start.
    aligned = len(values) > 1 and isa.length(values[0]) == len(values)
    r.add(Data(s, len(values), aligned, values))


@_directive(".fill", "COUNT, VALUE, ...")
def _fill(r: Reader, s: Statement, args: list[Token]) -> None:
    """Add words of code, COUNT times. Listings write long runs of equal words like this."""
    if r.bank is not None:
        r.source.error(s.place(), "this is for code; constant data is written with `.word` and `.space`")
        return
    count, *values = [value for _, value in _numbers(r, s, args, Stream(args, r.known).number)] or [0]
    bits = r.variant.unit_bits
    if not values:
        _usage(r, s, None, "a number of times and the words were expected")
    elif not 0 <= count <= MAX_FILL // (r.variant.unit_bytes * len(values)):
        _usage(r, s, args[0], f"at most {MAX_FILL:#x} bytes can be filled at once")
    elif any(not 0 <= v < 1 << bits for v in values):
        _usage(r, s, args[1], f"a word has {bits} bits")
    elif count:
        r.add(Data(s, len(values) * count, False, values * count))


@_directive(".half", "VALUE, ...")
def _half(r: Reader, s: Statement, args: list[Token]) -> None:
    """Add 16-bit numbers to constant data."""
    bank = r.data_bank(s)
    if bank is not None:
        _integers(r, s, bank, args, 2)


@_directive(".byte", "VALUE, ...")
def _byte(r: Reader, s: Statement, args: list[Token]) -> None:
    """Add 8-bit numbers. In code they must fill whole words, except at the end."""
    if r.bank is not None:
        _integers(r, s, r.bank, args, 1)
        return
    stream = Stream(args, r.known)

    def byte(k: int) -> tuple[int, int] | None:
        got = stream.number(k)
        return got if got is not None and -128 <= got[1] < 256 else None

    for _, value in _numbers(r, s, args, byte, "a number from 0 to 0xff"):
        r.add_byte(s, value & 0xFF)


def _reals(r: Reader, s: Statement, args: list[Token], code: str, size: int) -> None:
    """Add floating point numbers of `size` bytes to the constant bank, in a format of `struct`."""
    bank = r.data_bank(s)
    if bank is None:
        return
    stream = Stream(args, r.known)
    for k, value in _numbers(r, s, args, lambda k: _real(stream, k)):
        try:
            raw = struct.pack(code, value)
        except OverflowError:
            _usage(r, s, args[k], f"the number is too large for {size * 8} bits")
            return
        if not _grow(r, s, bank, len(bank.data) + size):
            return
        bank.data[-size:] = raw


def _real(stream: Stream, k: int) -> tuple[int, float] | None:
    negative = stream.text(k) == "-"
    word = stream.text(k + negative)
    if word in ("inf", "nan"):
        return k + negative + 1, -math.inf if negative and word == "inf" else float(word)
    got = stream.float_number(k)
    if got is not None:
        return got
    whole = stream.number(k)
    try:
        return None if whole is None else (whole[0], float(whole[1]))
    except OverflowError:
        return None


@_directive(".float", "VALUE, ...")
def _float(r: Reader, s: Statement, args: list[Token]) -> None:
    """Add f32 numbers to constant data, rounded to nearest even; `inf` and `nan` are understood."""
    _reals(r, s, args, "<f", 4)


@_directive(".double", "VALUE, ...")
def _double(r: Reader, s: Statement, args: list[Token]) -> None:
    """Add f64 numbers to constant data."""
    _reals(r, s, args, "<d", 8)


@_directive(".space", "BYTES")
def _space(r: Reader, s: Statement, args: list[Token]) -> None:
    """Add zero bytes; in code a whole number of words."""
    unit = r.variant.unit_bytes
    value = _number(r, s, args, 0, MAX_FILL, "a number of bytes")
    if value is None:
        return
    if r.bank is not None:
        _grow(r, s, r.bank, len(r.bank.data) + value)
    elif value % unit:
        r.source.error(s.place(args[0]), f"in code this must be a multiple of {unit}")
    elif value:
        r.add(Data(s, value // unit, False, [0] * (value // unit)))


@_directive(".align", "BYTES")
def _align(r: Reader, s: Statement, args: list[Token]) -> None:
    """Add zero bytes up to a multiple of a power of two."""
    unit = r.variant.unit_bytes
    value = _number(r, s, args, 1, MAX_BANK, "an alignment")
    if value is None:
        return
    if value & value - 1:
        _usage(r, s, args[0], "the alignment must be a power of two")
    elif r.bank is not None:
        _grow(r, s, r.bank, len(r.bank.data) + -len(r.bank.data) % value)
    elif value > unit:
        r.add(Fill(s, value // unit))

"""Typed operands: what an instruction's operand is, as an object that also is its text.

Every kind is a `str`: it compares, hashes and prints as the text an instruction of the instruction set shows. What it
stands for is in its attributes and, comparable, in `key`. Operands made by hand need no text; they get one in the
notation of the Tesla documents.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar, Self


class Operand(str):
    """An operand of an instruction.

    Attributes:
        name: the operand's place in the record (`dst`, `src1`, `guard` ...), empty for operands made by hand.
        key: what the operand stands for, for comparisons that do not look at the spelling.
    """

    __slots__ = ("key", "name")
    fields: ClassVar[tuple[str, ...]] = ()
    #: what the attributes are where a spelling does not show them
    absent: ClassVar[dict[str, Hashable]] = {}
    key: Hashable
    name: str

    def __new__(cls, text: str = "") -> Self:
        self = str.__new__(cls, text)
        self.name = ""
        self.key = text
        return self

    @property
    def text(self) -> str:
        """The canonical text."""
        return str.__str__(self)

    def __str__(self) -> str:
        return str.__str__(self)

    def __repr__(self) -> str:
        values = ", ".join(f"{f}={getattr(self, f)!r}" for f in self.fields)
        return f"<{type(self).__name__} {str.__str__(self)}{' ' if values else ''}{values}>"

    def __getstate__(self) -> dict[str, object]:
        slots = {s for c in type(self).__mro__ for s in getattr(c, "__slots__", ()) if not s.startswith("__")}
        return {s: getattr(self, s) for s in slots if hasattr(self, s)}

    def __reduce__(self) -> tuple[object, ...]:
        return _restored, (type(self), str.__str__(self), self.__getstate__())


def _restored(cls: type[Operand], text: str, state: dict[str, object]) -> Operand:
    """Return an unpickled operand."""
    self = str.__new__(cls, text)
    for name, value in state.items():
        setattr(self, name, value)
    return self


class Register(Operand):
    """A register or several consecutive ones.

    Attributes:
        file: the register file by its name in the instruction set (`r`, `a`, `c`, `o`, `p` ...).
        index: number of the first register.
        width: bits in all; 0 stands for one whole register of the file.
        half: `l` or `h` where only that half of a register is meant, else None.
        modifiers: what stands with the register in the text and belongs to the operand, such as a swizzle, a write
            mask or a sign, as (name, value) pairs; empty on most instruction sets.
        index_register: the register whose content is added to `index`, where there is one.
        plain: the text of the register alone.
        words: which of the registers from `index` on are touched; None for all that `width` covers.
        partial: as a destination, some bits of the registers touched keep their value.
    """

    __slots__ = ("file", "half", "index", "index_register", "modifiers", "partial", "plain", "width", "words")  # pyright: ignore[reportIncompatibleMethodOverride]
    fields = ("file", "index", "width", "half")
    file: str
    index: int
    width: int
    half: str | None
    modifiers: tuple[tuple[str, Hashable], ...]
    index_register: Register | None
    plain: str
    words: tuple[int, ...] | None
    partial: bool

    def __new__(
        cls,
        file: str,
        index: int,
        width: int = 0,
        half: str | None = None,
        *,
        text: str | None = None,
        index_register: Register | None = None,
        plain: str = "",
        words: tuple[int, ...] | None = None,
        partial: bool = False,
        **modifiers: Any,
    ) -> Self:
        if text is None:
            text = f"${file}{index}{half or _SUFFIX.get(width, '')}" + _told(modifiers)
        self = str.__new__(cls, text)
        self.name = ""
        self.file, self.index, self.width, self.half = file, index, width, half
        self.modifiers = tuple(sorted(modifiers.items())) if modifiers else ()
        self.index_register, self.plain = index_register, plain or text
        self.words, self.partial = words, partial or half is not None
        wide = width if width > 32 else 0
        self.key = (file, index, half, wide, self.modifiers, index_register and index_register.key)
        return self

    @property
    def alone(self) -> Register:
        """The register without what stands with it in the text."""
        if self.plain == str.__str__(self) and not self.modifiers:
            return self
        return Register(
            self.file,
            self.index,
            self.width,
            self.half,
            text=self.plain,
            index_register=self.index_register,
            words=self.words,
            partial=self.partial,
        )


def _told(modifiers: dict[str, Hashable]) -> str:
    """Return Modifiers as operands made by hand show them."""
    return "".join(f"{{{k}={v}}}" for k, v in sorted(modifiers.items()))


_SUFFIX = {64: "d", 128: "q"}


class Immediate(Operand):
    """A number.

    Attributes:
        value: the number as it is printed.
        type: width and signedness: `u6`, `s16`, `b32` ...; empty where it was not said.
        modifiers: what stands with the number in the text, as (name, value) pairs.
    """

    __slots__ = ("modifiers", "type", "value")
    fields = ("value", "type")
    value: int
    type: str
    modifiers: tuple[tuple[str, Hashable], ...]

    def __new__(cls, value: int, type: str = "", *, text: str | None = None, **modifiers: Any) -> Self:
        self = str.__new__(cls, f"{value:#x}{_told(modifiers)}" if text is None else text)
        self.name = ""
        self.value, self.type, self.modifiers = value, type, tuple(sorted(modifiers.items()))
        self.key = (value, self.modifiers) if modifiers else value
        return self

    def __int__(self) -> int:
        return self.value

    __index__ = __int__


class Memory(Operand):
    """A place in memory.

    Attributes:
        space: the memory space (`s`, `l`, `c1`, `g14`, `D` ...).
        base: the register whose content is part of the address, or None.
        offset: what is added to it, in the units of the space's addresses.
        index: a second register that is added, or None.
        scale: factor of `index`.
        post_increment: the offset is added to the base afterwards, not before.
        size: bytes accessed, 0 where the operand does not say.
        signed: whether narrow values are sign-extended.
        offset_written: the offset stands in the text although it is 0, which on some instruction sets is another
            encoding.
    """

    __slots__ = ("base", "index", "offset", "offset_written", "post_increment", "scale", "signed", "size", "space")  # pyright: ignore[reportIncompatibleMethodOverride]
    fields = ("space", "base", "offset", "index", "post_increment", "size")
    absent: ClassVar[dict[str, Hashable]] = {
        "base": None,
        "index": None,
        "offset": 0,
        "post_increment": False,
        "scale": 1,
    }
    space: str
    base: Register | None
    offset: int
    offset_written: bool
    index: Register | None
    scale: int
    post_increment: bool
    size: int
    signed: bool

    def __new__(
        cls,
        space: str,
        base: Register | None = None,
        offset: int = 0,
        index: Register | None = None,
        post_increment: bool = False,
        size: int = 0,
        *,
        scale: int = 1,
        signed: bool = False,
        offset_written: bool = False,
        text: str | None = None,
    ) -> Self:
        if text is None:
            between = "++" if post_increment else "+"
            terms = [str(base)] if base is not None else []
            terms += [str(index) + (f"*{scale:#x}" if scale != 1 else "")] if index is not None else []
            terms += [f"{offset:#x}"] if offset or offset_written or not terms else []
            access = f"{'s' if signed else 'b' if size > 2 else 'u'}{8 * size} " if size else ""
            text = f"{access}{space}[{between.join(terms)}]"
        self = str.__new__(cls, text)
        self.name = ""
        self.space, self.base, self.offset, self.index = space, base, offset, index
        self.post_increment, self.size, self.scale, self.signed = post_increment, size, scale, signed
        self.offset_written = offset_written and not offset
        self.key = (
            space, base and base.key, offset, offset_written, index and index.key, scale, post_increment, size, signed,
        )  # fmt: skip
        return self

    @property
    def width(self) -> int:
        """Bits accessed, 0 where the operand does not say."""
        return 8 * self.size


class CodeAddress(Operand):
    """The target of a branch.

    Attributes:
        address: the code address, in what the branches of the instruction set count (bytes or instructions).
        condition: what decides where the address stands with a condition of its own, else None.
    """

    __slots__ = ("address", "condition")
    fields = ("address",)
    address: int
    condition: Condition | None

    def __new__(cls, address: int, *, condition: Condition | None = None, text: str | None = None) -> Self:
        if text is None:
            text = f"{address:#x}" if condition is None else f"{condition} {address:#x}"
        self = str.__new__(cls, text)
        self.name = ""
        self.address, self.condition = address, condition
        self.key = address if condition is None else (address, condition.key)
        return self

    def __int__(self) -> int:
        return self.address

    __index__ = __int__


class SpecialRegister(Register):
    """A register with a function of its own (`$physid`, `$stat`).

    Attributes:
        label: its name, without the mark that registers have in texts.
    """

    __slots__ = ("label",)
    fields = ("label", "index")
    label: str

    def __new__(  # type: ignore[override]
        cls,
        label: str,
        index: int,
        *,
        file: str = "sr",
        text: str | None = None,
        plain: str = "",
        **modifiers: Any,
    ) -> Self:
        text = f"${label}" if text is None else text
        self = Register.__new__(cls, file, index, text=text, plain=plain, **modifiers)
        self.label = label
        return self


class Condition(Operand):
    """A condition: a test of a register.

    Attributes:
        register: the register tested, None where it plays no role.
        test: the test's name as the text has it (`e`, `ne`, `not` ...), empty for "is true".
    """

    __slots__ = ("register", "test")
    fields = ("register", "test")
    absent: ClassVar[dict[str, Hashable]] = {"register": None, "test": ""}
    register: Register | None
    test: str

    def __new__(cls, register: Register | None, test: str = "", *, text: str | None = None) -> Self:
        if text is None:
            text = f"({test} {register})" if test and register is not None else str(register or f"({test})")
        self = str.__new__(cls, text)
        self.name = ""
        self.register, self.test = register, test
        self.key = ("if", test, register and register.key)
        return self


class Flag(Operand):
    """A word that modifies the instruction (`sat`, `exit`, a type, a rounding mode).

    Attributes:
        value: what the record makes of the word, by default the word.
    """

    __slots__ = ("value",)
    fields = ("value",)
    value: object

    def __new__(cls, text: str, value: object = None) -> Self:
        self = str.__new__(cls, text)
        self.name = ""
        self.value = text if value is None else value
        self.key = text
        return self


class Compound(Operand):
    """Several operands that form one.

    Attributes:
        operands: the operands, in the order of the text.
    """

    __slots__ = ("operands",)
    fields = ("operands",)
    operands: tuple[Operand, ...]

    def __new__(cls, operands: tuple[Operand, ...], *, text: str | None = None) -> Self:
        self = str.__new__(cls, " ".join(operands) if text is None else text)
        self.name = ""
        self.operands = operands
        self.key = ("compound", *(o.key for o in operands))
        return self


def key_of(value: object) -> Hashable:
    """Return the meaning of a value given for an operand: an operand's key, else the value itself."""
    return value.key if isinstance(value, Operand) else value


def accesses(
    operand: Operand | None, output: bool, outputs: frozenset[str] = frozenset()
) -> tuple[list[Register], list[Register]]:
    """Return (registers read, registers written) of an operand that is a result (`output`) or a source.

    What forms the address of a result is read. Operands of a group that have names are results where these are in
    `outputs`.
    """
    if isinstance(operand, Register):
        address = [operand.index_register.alone] if operand.index_register is not None else []
        return (address, [operand.alone]) if output else ([operand.alone, *address], [])
    if isinstance(operand, Memory):
        read = [r.alone for r in (operand.base, operand.index) if r is not None]
        return read, read[:1] if operand.post_increment and operand.base is not None else []
    if isinstance(operand, CodeAddress):
        operand = operand.condition
    if isinstance(operand, Condition):
        return ([operand.register.alone] if operand.register is not None else []), []
    if isinstance(operand, Compound):
        both = [accesses(o, o.name in outputs if o.name else output, outputs) for o in operand.operands]
        return [r for reads, _ in both for r in reads], [w for _, writes in both for w in writes]
    return [], []


__all__ = [
    "CodeAddress",
    "Compound",
    "Condition",
    "Flag",
    "Immediate",
    "Memory",
    "Operand",
    "Register",
    "SpecialRegister",
    "accesses",
    "key_of",
]  # fmt: skip

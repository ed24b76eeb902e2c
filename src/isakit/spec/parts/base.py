"""What every part is: bits to text and back, and to what the semantics function gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, Protocol

from isakit.lean import dataclass
from isakit.spec.fields import Bits, Field
from isakit.spec.operands import CodeAddress, Compound, Condition, Flag, Memory, Operand, Register, key_of
from isakit.spec.patterns import ANYTHING

ILLEGAL = "ILLEGAL_OPCODE"
NUMBER_START = "0"
"""Stands for whatever a number may begin with, which is anything but `$`."""


class Binder(Protocol):
    """Makes the symbolic values that parts hand to semantics functions; provided by `sem`, unknown to `spec`."""

    def param(self, field: Field) -> Any:
        """The value of a field of the instruction word, the same in all lanes."""
        ...

    def const(self, value: int, width: int) -> Any:
        """A constant."""
        ...


class TokenStream(Protocol):
    """What a part needs from the assembler to parse itself."""

    quick: bool
    """Failures are not reported: what cannot begin with the token at hand need not be tried."""

    @property
    def address(self) -> int:
        """Address of the instruction being assembled, in units of code."""
        ...

    def text(self, k: int) -> str:
        """Token `k`, or the empty string past the end."""
        ...

    def number(self, k: int) -> tuple[int, int] | None:
        """(next token, value) of a constant expression starting at token `k`, or None."""
        ...

    def float_number(self, k: int) -> tuple[int, float] | None:
        """(next token, value) of a floating point literal at `k`, or None."""
        ...

    def fail(self, k: int, expected: str) -> None:
        """Remember that `expected` would have been accepted at token `k`."""
        ...


Keep = Callable[[Any], str]
Match = tuple[int, Bits]
"""(index of the next token, the bits this reading determines)"""


@dataclass(frozen=True)
class Row:
    """One line of an explanation: which bits, their value and what it means."""

    field: Field
    value: int
    meaning: str


@dataclass(frozen=True)
class Context:
    """Where an instruction is decoded: variant features, program type (as features) and unit size."""

    features: frozenset[str] = frozenset()

    def has(self, needs: frozenset[str]) -> bool:
        """Whether every need is met: `a` the feature is there, `!a` it is not, `a|b` one of them is."""
        return all(any((n[0] == "!") != (n.lstrip("!") in self.features) for n in need.split("|")) for need in needs)


NAMED_FEATURES: set[str] = set()
"""All that a `needs=` has said so far: tells the checks whether there is something to look for."""


def needs_set(needs: str | Sequence[str] | frozenset[str]) -> frozenset[str]:
    """A feature requirement from one name or several."""
    out = frozenset({needs} if isinstance(needs, str) else needs) - {""}
    NAMED_FEATURES.update(out)
    return out


_TABLE_BITS = 14
_MEMO_BITS = 20
_MEMO_LIMIT = 1 << 14


class Part:
    """Base of all parts; `word` arguments are whole instruction words."""

    #: a static part is bound to a plain Python value and becomes part of the trace key
    static = False
    #: the text depends on where the instruction stands (a relative branch that prints its target)
    addressed = False
    #: the operand is where a branch goes
    code_address = False

    def resolve(self, ctx: Context) -> Part:
        """The part as it is in a context: alternatives that do not exist there are gone.

        The part itself where nothing changes: most parts do not depend on it, and what is known about them is kept.
        """
        return self

    def text(self, word: int, address: int = 0) -> str:
        """Return the canonical text in an instruction at `address` (units of code), empty where nothing is printed."""
        raise NotImplementedError

    def error(self, word: int) -> str | None:
        """The decode error these bits give, or None."""
        return None

    def claimed(self, word: int) -> int:
        """The bits whose value this part's text tells."""
        raise NotImplementedError

    def possible(self) -> int:
        """All bits the part may claim under any alternative."""
        raise NotImplementedError

    def static_mask(self) -> int:
        """Bits that select what the semantics does (as opposed to register numbers and immediates)."""
        return 0

    def static_word(self, word: int) -> int:
        """The bits of `word` that select what the semantics does, the others 0.

        Narrower than `static_mask` where only some values of a field matter (register numbers that alias another
        file). Words with equal static bits must have the same meaning apart from field values.
        """
        return word & self.static_mask()

    def parse(self, s: TokenStream, k: int) -> Iterator[Match]:
        """All readings of the tokens from `k`."""
        raise NotImplementedError

    def bind(self, word: int, b: Binder) -> Any:
        """What the semantics function receives; only `static_mask` bits of `word` may influence Python control flow."""
        return None

    def rows(self, word: int) -> list[Row]:
        """The explanation of the bits."""
        raise NotImplementedError

    def accepts(self) -> str:
        """What can be written here, in words."""
        return "an operand"

    def needed_words(self) -> frozenset[str] | None:
        """Words one of which must stand in the text of every operand of this kind; None where there are none.

        Only used to tell quickly that a text cannot be read.
        """
        return None

    def starts(self) -> frozenset[str] | None:
        """Words one of which every text of this kind begins with; None where that is not known.

        The empty word: it may be left out. `NUMBER_START`: it may begin with a number.
        """
        return None

    def pattern(self) -> str:
        """Regular expression that every canonical text this kind of operand can read matches, see `spec.patterns`."""
        return ANYTHING

    def guards(self, word: int) -> bool:
        """Whether the operand, without being a condition of the whole instruction, keeps some lanes from writing."""
        return False

    # -- the operand as a value
    def operand(self, word: int, address: int = 0) -> Operand | None:
        """Return the operand as an object, None where nothing is printed; its text is `text(word, address)`."""
        text = self.text(word, address)
        return Flag(text) if text else None

    def describing(self) -> int:
        """The bits that `operand`, `guards` and `accesses` may look at; those of other operands may be among them."""
        return self.possible() | self.static_mask()

    def spelled(self, word: int) -> Bits:
        """The bits the assembler makes of the text that `word` has here."""
        claimed = self.claimed(word)
        return Bits(claimed, word & claimed)

    def put(self, value: Any, address: int = 0) -> Sequence[Bits]:
        """The bits that stand for an operand, in order of preference; none where it does not fit here.

        `value` is an `Operand`, the text of a word or of a register, an int where one can be written, a bool for a
        flag, or None for an operand that is left out. The default looks the value up among all values of the bits.
        """
        table = self.__dict__.get("_values_by_key")
        if table is None:
            table = self.__dict__["_values_by_key"] = all_values(self)
        found = table.get(key_of(value))
        if found is None and isinstance(value, int):
            found = table.get(f"{value:#x}")
        return found or ()

    #: kinds of values `put` may find bits for; empty where that is not known
    kinds: ClassVar[tuple[type, ...]] = ()

    def may_be(self, kind: type) -> bool:
        """Whether values of a type can stand here at all, as far as it is known."""
        return not self.kinds or issubclass(kind, self.kinds)

    # Python source of expressions in the variable `w`, from which the codec compiles its fast paths. `keep` stores an
    # object in the compiled function's namespace and returns its name. The defaults remember what the methods above say
    # about each value of the bits of `possible`, on which alone text, error and claimed bits may depend.

    def text_source(self, keep: Keep) -> str:
        """Expression giving the text with a leading blank, or an empty string."""
        return _remembered(self, lambda word: padded(self.text(word)), keep)

    def error_source(self, keep: Keep) -> str:
        """Expression giving a decode error name or None; `None` when the part cannot fail."""
        if type(self).error is Part.error:
            return "None"
        return _remembered(self, self.error, keep)

    def claimed_source(self, keep: Keep) -> str:
        """Expression giving the claimed bits; a plain number when they do not depend on the word."""
        return _remembered(self, self.claimed, keep)


def all_values(part: Part) -> dict[Any, list[Bits]]:
    """Return the bits of every operand there can be, by key and by text."""
    bits = part.possible()
    if bits.bit_count() > _TABLE_BITS:
        raise TypeError(f"{type(part).__name__} has too many values for a table: it needs a `put` of its own")
    table: dict[Any, list[Bits]] = {}
    word = 0
    while True:
        if part.error(word) is None:
            operand, spelled = part.operand(word), part.spelled(word)
            for key in (None,) if operand is None else dict.fromkeys((operand.key, str(operand))):
                known = table.setdefault(key, [])
                if spelled not in known:
                    known.append(spelled)
        word = (word - bits) & bits  # the next subset of the bits
        if not word:
            return table


def _remembered(part: Part, function: Callable[[int], Any], keep: Keep) -> str:
    """Expression that calls the function; memoised if it depends on at most 20 bits of the word."""
    bits = part.possible()
    if bits.bit_count() > _MEMO_BITS:
        return f"{keep(function)}(w)"
    return f"{keep(_Memo(function))}[w&{bits}]"


def accesses(
    operand: Operand | None, output: bool, outputs: frozenset[str] = frozenset()
) -> tuple[list[Register], list[Register]]:
    """(registers read, registers written) of an operand that is a result (`output`) or a source.

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


class OfField(Part):
    """A part whose text tells one whole field."""

    field: Field

    def claimed(self, word: int) -> int:
        return self.field.mask

    def possible(self) -> int:
        return self.field.mask


class Bitless(Part):
    """Base of parts that have no bits: the same text, or none, whatever the word is."""

    def claimed(self, word: int) -> int:
        return 0

    def possible(self) -> int:
        return 0

    def spelled(self, word: int) -> Bits:
        return Bits()

    def rows(self, word: int) -> list[Row]:
        return []

    def text_source(self, keep: Keep) -> str:
        return repr(padded(self.text(0)))

    def claimed_source(self, keep: Keep) -> str:
        return "0"


class _Memo(dict[int, Any]):
    """Results of a function of the word, computed when they are first asked for."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[int], Any]) -> None:
        super().__init__()
        self._function = function

    def __missing__(self, word: int) -> Any:
        if len(self) >= _MEMO_LIMIT:
            self.clear()
        value = self[word] = self._function(word)
        return value


def padded(text: str) -> str:
    """The text with a leading blank, unless it is empty."""
    return " " + text if text else ""


def pad_all(texts: Sequence[str | None]) -> tuple[str, ...]:
    """Texts with leading blanks; `???` for None."""
    return tuple("" if t == "" else " " + (t or "???") for t in texts)


def fit_tokens(s: TokenStream, k: int, words: Sequence[str]) -> int | None:
    """Index behind `words` if they stand at `k`."""
    for i, w in enumerate(words):
        if s.text(k + i) != w:
            return None
    return k + len(words)


def _describes_itself(part: Part, method: str) -> bool:
    """Whether `method` is about the part's own way to read texts, not about one that a subclass replaced."""
    for cls in type(part).__mro__:
        if method in vars(cls):
            return True
        if "parse" in vars(cls):
            return False
    return False


def needed_words(part: Part) -> frozenset[str] | None:
    """`part.needed_words()`, unless a subclass reads texts in a way of its own and does not say what it needs."""
    return part.needed_words() if _describes_itself(part, "needed_words") else None


def starts(part: Part) -> frozenset[str] | None:
    """`part.starts()`, unless a subclass reads texts in a way of its own."""
    return part.starts() if _describes_itself(part, "starts") else None


def pattern(part: Part) -> str:
    """`part.pattern()`, unless a subclass reads texts in a way of its own and has no pattern."""
    return part.pattern() if _describes_itself(part, "pattern") else ANYTHING

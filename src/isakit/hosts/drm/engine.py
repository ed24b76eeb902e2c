"""The base of all engines of the card: registers, actions, and state derived from registers.

An engine declares which methods have actions (`action`), and which values are computed from methods (`derived`, cached
until one of them changes). Its table says which are read, which have no effect here and why, and which are not
modelled: those are counted as unsupported when a program writes a word other than the neutral one.
"""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar, cast

import numpy as np

from isakit.engine.protocol import Array
from isakit.errors import DefinitionError, IsakitError, did_you_mean
from isakit.hosts.drm.memory import VideoMemory
from isakit.hosts.drm.report import Report
from isakit.hosts.drm.tables.method import WORDS, MethodTable, Word

F = TypeVar("F", bound=Callable[..., object])
T = TypeVar("T")
_FLOAT, _WORD = struct.Struct("<f"), struct.Struct("<I")


class ChannelStopped(IsakitError):
    """The watchdog has ended a program of the channel, as a kernel kills a channel whose work does not end."""


def action(*names: str, bulk: bool = False) -> Callable[[F], F]:
    """Run the method when one of the named registers is written: f(self, word, index), or f(self, words) in bulk.

    The fields of the word are its attributes. The reference page of the method shows the first line of the docstring.
    Raises DefinitionError for a function with other parameters or without a docstring.
    """

    def mark(function: F) -> F:
        if len(inspect.signature(function).parameters) != 3 - bulk or not function.__doc__:
            raise DefinitionError(
                f"the action of {', '.join(names)} takes {'self, words' if bulk else 'self, word, index'}, and needs a "
                "docstring for its page"
            )
        function.__dict__["acts_on"] = names, bulk
        return function

    return mark


class Derived(Generic[T]):
    """A derived value, computed on access if one of its registers has changed."""

    def __init__(self, function: Callable[[Any], T], names: tuple[str, ...]) -> None:
        self.function, self.names, self.bit = function, names, 0
        self.__doc__ = function.__doc__

    def __get__(self, engine: Engine, owner: type) -> T:
        bit = self.bit
        if engine.stale & bit or bit not in engine.kept:
            value = engine.kept[bit] = self.function(engine)
            engine.stale &= ~bit
            return value
        return engine.kept[bit]


def derived(*names: str) -> Callable[[Callable[[Any], T]], Derived[T]]:
    """Make the method a property that is cached until one of the named registers changes.

    `NAME*` means all registers with a prefix. The registers of other derived values it uses must be named, too.
    """
    return lambda function: Derived(function, names)


def number(word: int) -> float:
    """Return the f32 value of a register's bits."""
    return _FLOAT.unpack(_WORD.pack(word & 0xFFFF_FFFF))[0]


def signed(word: int) -> int:
    """Return a register as a signed number."""
    return word - ((word >> 31) << 32)


class Missing(NamedTuple):
    """Bits of a word that are not modelled: counted under `label` unless they are `neutral`."""

    mask: int
    neutral: int
    label: str


class Action(NamedTuple):
    """Effect of a written word: a `function` of the engine is called with it, and its `element` in an array of methods.

    `bulk`: it is called with all words of a packet as an array; `kind`: the class of words with fields.
    """

    function: Callable[..., object]
    element: int
    bulk: bool
    kind: Callable[[int], int] | None


class Engine:
    """Registers of one engine of one channel.

    Attributes: `table`; `state`: all words; `memory`, `report`; `stopped`: the watchdog has ended a program of the
    channel, which runs no more programs.
    """

    table: ClassVar[MethodTable]
    _places: ClassVar[dict[str, tuple[int, int, Callable[[int], int] | None]]]
    _initial: ClassVar[list[int]]
    _actions: ClassVar[dict[int, Action]]
    _depends: ClassVar[list[int]]
    _missing: ClassVar[dict[int, tuple[Missing, ...]]]
    _outside: ClassVar[list[int]]

    def __init_subclass__(cls) -> None:
        """Determine which words act, which derived values depend on a word, and which are not modelled."""
        if not hasattr(cls, "table"):
            return
        table = cls.table
        cls._places = {m.name: (m.offset >> 2, m.stride >> 2, m.word) for m in table.methods}
        cls._initial = [0 if found is None else found[0].initial for found in table.by_word]
        cls._actions, cls._depends = {}, [0] * WORDS
        bit = 1
        for name in dir(cls):
            member = inspect.getattr_static(cls, name)
            if isinstance(member, Derived):
                member.bit = bit
                bit <<= 1
                for word in words_of(table, cast("Derived[Any]", member).names):
                    cls._depends[word] |= member.bit
                continue
            acts = getattr(member, "acts_on", None)
            if acts is not None:
                for n in acts[0]:
                    if n not in table.by_name:
                        hint = "; ".join(("", *did_you_mean(n, table.by_name)))
                        raise DefinitionError(f"{cls.__name__}.{name}: {table.name} has no method {n!r}{hint}")
                    first, step, kind = cls._places[n]
                    if first in cls._actions:
                        raise DefinitionError(f"{cls.__name__}.{name}: another action has {n!r} already")
                    for k in range(table.by_name[n].count):
                        cls._actions[first + k * step] = Action(member, k, acts[1], kind)
        every = ((w, _missing(table, w, w in cls._actions)) for w in range(WORDS))
        cls._missing = {w: found for w, found in every if found}
        cls._outside = [_outside(table, w) for w in range(WORDS)]

    def __init__(self, memory: VideoMemory, report: Report) -> None:
        self.memory, self.report = memory, report
        self.stopped = False
        self.state = [*self._initial]
        self.stale = 0
        self.kept: dict[int, Any] = {}

    @classmethod
    def effect(cls, name: str) -> str:
        """Describe the effect of writing a method, for its reference page."""
        word = cls.table.word(name)
        found = cls._actions.get(word)
        if found is not None:
            text = (found.function.__doc__ or "").strip().splitlines()[0].rstrip(".")
            return f"acts: {text[:1].lower()}{text[1:]}"
        m = cls.table.by_name[name]
        return "state" if m.read else f"none: {m.ignored}" if m.ignored else "none yet: counted as unsupported"

    # --- writes -------------------------------------------------------------------------------------------------------
    def write(self, method: int, data: Array, increment: bool) -> None:
        """Write words to a method, or to it and those after it."""
        word = method >> 2
        if self.report.log is not None:
            self._log(word, data, increment)
        if not increment:
            found = self._actions.get(word)
            if found is not None and found.bulk:
                found.function(self, data)
                return
        for value in data.tolist():
            if word >= WORDS:
                self.report.fault(f"{self.table.name}: a packet runs past the last method")
                return
            if self.state[word] != value:
                self.state[word] = value
                self.stale |= self._depends[word]
                if value & self._outside[word]:
                    self.report.missing(f"{self.table.name} method {self.table.method_at(word).name}: bits of no field")
            if word in self._missing:
                for m in self._missing[word]:
                    if value & m.mask != m.neutral:
                        self.report.missing(m.label)
            if word in self._actions:
                function, element, bulk, kind = self._actions[word]
                if bulk:
                    function(self, np.array([value], np.uint32))
                else:
                    function(self, value if kind is None else kind(value), element)
            word += increment

    def _log(self, word: int, data: Array, increment: bool) -> None:
        if not increment and len(data) > 1:
            some = " ".join(f"{w:08x}" for w in data[:8].tolist())
            more = f" ... {len(data)} words" if len(data) > 8 else ""
            self.report.line(f"{self.table.name:8}{self.table.label(word)} = {some}{more}")
            return
        for k, value in enumerate(data.tolist()):
            if word + k < WORDS:
                self.report.line(f"{self.table.name:8}{self.table.shown(word + k, value)}")

    @action("SEMAPHORE_TRIGGER")
    def semaphore(self, word: int, index: int) -> None:
        """Write the sequence number, or wait for it; earlier requests have been completed."""
        if word & 2:
            self.memory.write_words(self.address("SEMAPHORE_ADDRESS"), [self.get("SEMAPHORE_SEQUENCE")], "semaphore")

    def check_runs(self) -> None:
        """Raise ChannelStopped if the channel runs no programs any more."""
        if self.stopped:
            raise ChannelStopped("the channel runs no programs any more")

    # --- reads --------------------------------------------------------------------------------------------------------
    def get(self, name: str, index: int = 0) -> Word:
        """Return the word last written to a method; its fields are attributes."""
        first, step, kind = self._places[name]
        word = self.state[first + index * step]
        return word if kind is None else kind(word)  # type: ignore[return-value]

    def words(self, name: str, count: int) -> list[int]:
        """Return the words last written to the first `count` methods of an array."""
        first, step, _ = self._places[name]
        return self.state[first : first + count * step : step]

    def on(self, name: str, index: int = 0) -> bool:
        """Return true if the switch of a method is on."""
        first, step, _ = self._places[name]
        return self.state[first + index * step] & 1 == 1

    def packed(self, name: str, index: int, bits: int) -> int:
        """Return an element of an array of methods that packs several elements of `bits` bits into a word."""
        per_word = 32 // bits
        return self.get(name, index // per_word) >> bits * (index % per_word) & (1 << bits) - 1

    def number(self, name: str, index: int = 0) -> float:
        """Return the word last written to a method as f32."""
        return number(self.get(name, index))

    def address(self, name: str, index: int = 0) -> int:
        """Return a 40-bit address; `name` is that of the two methods without _HIGH and _LOW."""
        return (self.get(f"{name}_HIGH", index) & 0xFF) << 32 | self.get(f"{name}_LOW", index)


def _missing(table: MethodTable, word: int, acts: bool) -> tuple[Missing, ...]:
    """Return the bits of a word that are not modelled; all bits for a word without a method."""
    found = table.by_word[word]
    if found is None:
        return (Missing(0, 1, f"{table.name} method {table.label(word)}"),)
    m = found[0]
    label = f"{table.name} method {m.name}"
    if not acts and not m.read and not m.ignored and all(f.neutral is None for f in m.fields):
        return (Missing(0xFFFF_FFFF, m.neutral, label),)
    return tuple(
        Missing(f.mask, f.neutral << f.low, f"{label} field {f.name}") for f in m.fields if f.neutral is not None
    )


def _outside(table: MethodTable, word: int) -> int:
    """Return the bits of a word outside of the fields of its method; 0 if it has no fields."""
    found = table.by_word[word]
    if found is None or found[0].ignored or not found[0].fields:
        return 0
    return 0xFFFF_FFFF & ~sum(f.mask for f in found[0].fields)


def words_of(table: MethodTable, names: tuple[str, ...]) -> list[int]:
    """Return the words of methods by their names, as `derived` takes them."""
    out: list[int] = []
    for name in names:
        if name.endswith("*"):
            chosen = [m for m in table.methods if m.name.startswith(name[:-1])]
            if not chosen:
                raise KeyError(f"{table.name} has no methods {name}")
        else:
            chosen = [table.by_name[name]]
        out += [m.offset + k * m.stride >> 2 for m in chosen for k in range(m.count)]
    return out

"""Routines do the same as Python functions and as LLVM code."""

from __future__ import annotations

import ctypes
from random import Random
from typing import Any

import numpy as np
import pytest

from isakit.engine.routine_functions import python_function, source_of
from isakit.errors import DefinitionError
from isakit.sem.records import StateRecord, layout_of, u32
from isakit.sem.routine import Routine, Static, routine
from isakit.sem.routine_code import RoutineCode
from support.generators.random_routines import ITEMS, NUMBERS, WIDTHS, Item, Refused, State, made

LAYOUT, ITEM = layout_of(State), layout_of(Item)


def filled(seed: int) -> State:
    """Random contents."""
    r, s = Random(seed), State()
    for name, width in WIDTHS.items():
        setattr(s, name, r.getrandbits(width))
    for row in (s.items, s.behind):
        for k in range(ITEMS):
            row[k].x, row[k].y = r.getrandbits(32), r.getrandbits(16)
    s.numbers = [r.choice([r.getrandbits(32), 0, 1]) for _ in range(NUMBERS)]
    return s


class InMemory:
    """The same in memory."""

    def __init__(self, s: State) -> None:
        self.bytes = np.zeros(LAYOUT.size + 64, np.uint8)
        self.behind = np.zeros(ITEM.size * ITEMS, np.uint8)
        for name, width in WIDTHS.items():
            self.put(self.bytes, LAYOUT.at(name), width, getattr(s, name))
        for k in range(ITEMS):
            for row, where, start in ((s.items, self.bytes, LAYOUT.at("items")), (s.behind, self.behind, 0)):
                self.put(where, start + k * ITEM.size + ITEM.at("x"), 32, row[k].x)
                self.put(where, start + k * ITEM.size + ITEM.at("y"), 16, row[k].y)
        for k, n in enumerate(s.numbers):
            self.put(self.bytes, LAYOUT.at("numbers") + 4 * k, 32, n)
        self.put(self.bytes, LAYOUT.at("behind"), 64, self.behind.ctypes.data)

    @staticmethod
    def put(where: Any, offset: int, width: int, value: int) -> None:
        where[offset : offset + width // 8] = np.frombuffer(value.to_bytes(width // 8, "little"), np.uint8)

    @property
    def content(self) -> tuple[bytes, bytes]:
        """All of it but the pointer."""
        own = self.bytes.copy()
        own[LAYOUT.at("behind") : LAYOUT.at("behind") + 8] = 0
        return own.tobytes(), self.behind.tobytes()


def in_llvm(routines: dict[str, Routine[Any, Any]], mode: int) -> Any:
    """`(s, p, q, v)` -> (result, raised) as machine code."""
    llvm = pytest.importorskip("isakit.engine.llvm")
    from isakit.engine.llvm.routine_ir import InlineSite, function

    module, host = llvm.LlvmModule(32), llvm.host()

    def symbol(code: RoutineCode) -> str:
        return f"@{code.routine.name}"

    def nothing(*_: object) -> Any:
        raise AssertionError

    around = InlineSite(nothing, nothing, symbol)
    codes = {n: routines[n].code(mode=mode) for n in ("called", "outer")}
    for name, code in codes.items():
        module.add(function(module, code, f"@{name}", around))
    ty = "{i32, i1}" if codes["outer"].raises else "i32"
    pieces = ["extractvalue {i32, i1} %r, 0", "extractvalue {i32, i1} %r, 1"]
    value, raised = pieces if codes["outer"].raises else ("add i32 %r, 0", "icmp eq i32 0, 1")
    module.add(
        "define i64 @main(ptr %s, i32 %p, i32 %q, ptr %v) nounwind {\n"
        "  %lanes = load <32 x i32>, ptr %v, align 4\n"
        f"  %r = call {ty} @outer(ptr %s, i32 %p, i32 %q, <32 x i32> %lanes)\n  %a = {value}\n  %b = {raised}\n"
        "  %a64 = zext i32 %a to i64\n  %b64 = zext i1 %b to i64\n  %hi = shl i64 %b64, 32\n"
        "  %both = or i64 %hi, %a64\n  ret i64 %both\n}"
    )
    loaded = llvm.build(str(module) + '\n!0 = !{!"branch_weights", i32 1, i32 100000}\n', host, 1)
    main = loaded.function("main", ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)

    def run(memory: InMemory, p: int, q: int, v: list[int]) -> tuple[int, bool]:
        lanes = np.array(v, np.uint32)
        got = main(memory.bytes.ctypes.data, p, q, lanes.ctypes.data)
        return got & 0xFFFF_FFFF, bool(got >> 32)

    run.keep = loaded  # type: ignore[attr-defined]
    return run


def check(seed: int) -> None:
    """A random routine, all modes, some states."""
    routines = made(seed)
    for mode in range(3):
        function, compiled = python_function(routines["outer"], mode=mode), in_llvm(routines, mode)
        for k in range(6):
            r = Random(100 * seed + k)
            v = [r.choice([0, 1, 2, 3, r.getrandbits(32)]) for _ in range(32)]
            p, q, s = r.choice([r.getrandbits(32), r.randrange(8)]), r.getrandbits(32), filled(1000 * seed + k)
            memory = InMemory(s)
            try:
                wanted = int(function(s, p, q, v)), False
            except Refused:
                wanted = 0, True
            assert compiled(memory, p, q, v) == wanted, source_of(routines["outer"], mode=mode)
            assert memory.content == InMemory(s).content, source_of(routines["outer"], mode=mode)


@pytest.mark.parametrize("seed", range(8))
def test_random_routines(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 1300, 25))
def test_many_random_routines(first: int) -> None:
    for seed in range(first, first + 25):
        check(seed)


# --- the language ----------------------------------------------------------------------------------
class Counter(StateRecord):
    """One number."""

    n: u32


class Settings:
    """Static arguments."""

    def __init__(self, **given: object) -> None:
        self.__dict__.update(given)


@routine
def count(c: Counter, by: u32, settings: Settings) -> u32:
    """Add, up to a limit."""
    if settings.limit and c.n + by > settings.limit:
        return 0
    c.n += by
    return c.n


def test_what_is_static_leaves_no_trace() -> None:
    assert "if" not in source_of(count, settings=Settings(limit=0))
    assert "if 0x100 < " in source_of(count, settings=Settings(limit=256))


def test_only_what_was_looked_at_decides_about_the_code() -> None:
    a, b = Settings(limit=5, color="red"), Settings(limit=5, color="blue")
    assert count.code(settings=a) is count.code(settings=b)
    assert count.code(settings=a) is not count.code(settings=Settings(limit=6, color="red"))


def test_numbers_wrap_at_their_width() -> None:
    c = Counter()
    c.n = 0xFFFF_FFFF
    assert python_function(count, settings=Settings(limit=0))(c, 2) == 1


def test_another_text_is_another_function_for_as_long_as_it_is_there() -> None:
    def total() -> int:
        c = Counter()
        c.n = 1
        return python_function(count, settings=Settings(limit=0))(c, 2)

    with count.rewritten("c.n += by", "c.n -= by"):
        assert total() == 0xFFFF_FFFF
    assert total() == 3


def test_a_routine_is_not_called_by_itself() -> None:
    with pytest.raises(TypeError, match="routine"):
        count(Counter(), 1, Settings())


@routine
def wrong_field(c: Counter) -> u32:
    """It has no such field."""
    return c.m  # type: ignore[attr-defined]


@routine
def late(c: Counter) -> u32:
    """A call that does something inside of an expression."""
    return 1 + count(c, 1, Settings(limit=0))


@routine
def list_made(c: Counter) -> u32:
    """Something the language does not have."""
    c.n = [1][0]
    return c.n


@routine
def dynamic(c: Counter, n: u32) -> u32:
    """A number where something static is wanted."""
    return chosen(c, n)


@routine
def chosen(c: Counter, which: Static[int]) -> u32:
    """Wants a static number."""
    c.n = which
    return c.n


@pytest.mark.parametrize(
    ("what", "why"),
    [(wrong_field, "no m"), (late, "stand alone"), (list_made, "not in the language"), (dynamic, "must be static")],
    ids=lambda x: x.name if isinstance(x, Routine) else "",
)
def test_what_the_language_does_not_have_is_said_with_its_line(what: Routine[Any, Any], why: str) -> None:
    with pytest.raises(DefinitionError, match=rf"{what.name}, line \d+: .*{why}"):
        what.code()

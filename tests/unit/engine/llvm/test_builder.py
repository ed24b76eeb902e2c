"""The builder of LLVM code: what fits becomes text that LLVM takes, what does not is refused where it is written."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from isakit.engine.llvm import Builder, LlvmModule, Ref
from isakit.engine.llvm.builder import (
    I1,
    I8,
    I32,
    I64,
    PTR,
    IrFunction,
    IrTypeError,
    define,
    integer,
    numbers,
    pointer,
    structure,
    vector,
)  # fmt: skip

V4 = vector(4, I32)
X, Y, LANES = Ref("%x", I32), Ref("%y", I64), Ref("%v", V4)


def test_types_are_one_object_each() -> None:
    assert integer(32) is I32
    assert vector(4, integer(32)) is V4
    assert V4.flags is vector(4, I1)
    assert V4.element is I32


@pytest.mark.parametrize(
    "wrong",
    [
        lambda b: b.add(X, Y),
        lambda b: b.add(X, 1 << 32),
        lambda b: b.add(pointer("%p"), 1),
        lambda b: b.eq(X, LANES),
        lambda b: b.select(X, X, X),
        lambda b: b.select(Ref("%c", vector(8, I1)), LANES, LANES),
        lambda b: b.zext(X, I8),
        lambda b: b.trunc(X, I64),
        lambda b: b.bitcast(X, I64),
        lambda b: b.load(I32, X),
        lambda b: b.store(X, Y),
        lambda b: b.extract(X, 0),
        lambda b: b.insert(LANES, Y, 0),
        lambda b: b.branch(X, "yes", "no"),
        lambda b: b.phi([(X, "one"), (Y, "other")]),
        lambda b: b.with_part(structure(V4, I1).zero, X, 0),
        lambda b: b.call(IrFunction("@f", I32, (I32, PTR)), X, X),
        lambda b: b.call(IrFunction("@f", I32, (I32,))),
        lambda b: b.named("%name", X),
    ],
)
def test_what_does_not_fit_is_refused(wrong: Callable[[Builder], object]) -> None:
    with pytest.raises(IrTypeError):
        wrong(Builder(LlvmModule(4)))


def test_equal_code_has_equal_text() -> None:
    def text() -> str:
        b = Builder(LlvmModule(4))
        b.store(b.add(b.load(I32, pointer("%p"), 4), -1), pointer("%p"), 4)
        return b.text()

    assert text() == text()
    assert "add i32 %t1, -1" in text()


def test_the_code_runs() -> None:
    pytest.importorskip("llvmlite")
    from isakit.engine.llvm import build, host

    module = LlvmModule(4)
    b, place, x = Builder(module), pointer("%place"), X
    b.label("entry")
    row = b.add(b.splat(x, V4), numbers(32, range(4)))
    b.store(b.shuffle(row, [3, 2, 1, 0]), place, 4)
    with b.if_(b.ugt(x, 10)):
        b.store(b.extract(row, 1), place, 4)
    with b.unless(b.ugt(x, 20)):
        b.store(b.intrinsic("umin", x, 7), b.offset(place, 4), 4)
    b.ret(b.reduce("or", row))
    module.add(define("@f", I32, [place, x], b.lines))
    loaded = build(str(module), host())
    f: Any = loaded.function("f", ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32)
    for x_now, wanted in ((4, [7, 4, 5, 4]), (12, [13, 7, 13, 12]), (40, [41, 42, 41, 40])):
        memory = (ctypes.c_uint32 * 4)()
        assert f(ctypes.addressof(memory), x_now) == x_now | x_now + 1 | x_now + 2 | x_now + 3
        assert list(memory) == wanted

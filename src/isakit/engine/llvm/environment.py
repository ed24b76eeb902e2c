"""The environment of floating point around a call: whether denormal numbers are flushed."""

from __future__ import annotations

from isakit.engine.llvm.builder import I32, PTR, VOID, Builder, IrFunction, Ref, define
from isakit.engine.llvm.ir_text import LlvmModule

FLUSH_BOTH = 0x9FC0
"""MXCSR with exceptions masked, flush-to-zero and denormals-are-zero, round to nearest."""
KEEP_BOTH = 0x1F80
"""MXCSR of a fresh process: round to nearest, denormals kept. To set it and to set it back takes some 60 cycles."""


def switched(module: LlvmModule, name: str, inner: IrFunction, environment: int, of: str) -> str:
    """Return the text of a function that calls another one in a floating-point environment, then restores the old one.

    It is a function of its own, which LLVM must not inline: inside of one function LLVM moves operations of floating
    point across the switch. `of` is the name of the constant.
    """
    b = Builder(module)
    get = b.external("llvm.x86.sse.stmxcsr", VOID, PTR)
    put = b.external("llvm.x86.sse.ldmxcsr", VOID, PTR)
    given = [Ref(f"%a{k}", t) for k, t in enumerate(inner.parameters)]
    before = b.alloca(I32)
    b.perform(get, before)
    b.perform(put, module.variable(of, I32, environment, constant=True))
    result = b.call(inner, *given)
    b.perform(put, before)
    b.ret(result)
    return define(name, inner.result, given, b.lines, attributes="nounwind noinline", convention=inner.convention)


def flushing(module: LlvmModule, name: str, inner: IrFunction) -> str:
    """Return the text of a function that calls another one with denormals flushed."""
    return switched(module, name, inner, FLUSH_BOTH, "flushing")


__all__ = ["FLUSH_BOTH", "KEEP_BOTH", "flushing", "switched"]

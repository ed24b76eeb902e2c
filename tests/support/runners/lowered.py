"""Operations compiled alone through their hardware lowerings."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np

from isakit.engine.llvm import METADATA, Builder, LlvmModule, Ref, ValueLowering, build, flushing, host
from isakit.engine.llvm.builder import I32, PTR, IrFunction, define, integer, pointer, vector
from isakit.engine.llvm.float_lowerings import float_lowerings
from isakit.sem.value import Value


def function(
    op: Any,
    statics: dict[str, Any],
    operands: int,
    portable: bool,
    width: int = 32,
    takes: int = 0,
    cpu: str = "",
) -> Any:
    """A compiled function of arrays of unsigned integers of `width` bits, a multiple of 32 rows long.

    The operation gets the low `takes` bits of each, or all; its result is extended with zeros. `cpu`: as LLVM calls it;
    the code is what is fast there, of instructions that this machine has.
    """
    target = host(portable)
    target = replace(target, cpu=cpu) if cpu else target
    module = LlvmModule(32)
    body = Builder(module)
    formals = [Value("read", width, (), k) for k in range(operands)]
    given: dict[Any, Ref] = {}
    for k in range(operands):
        lanes = vector(32, integer(width))
        given[k] = body.load(lanes, body.element(lanes, pointer("%a"), k), 4)
    low = ValueLowering(body, lambda v: given[v.attr], float_lowerings(target))
    operands_of = [f.trunc(takes) for f in formals] if takes and takes < width else formals
    got = low.resize(low.splat(low.value(op(*operands_of, **statics))), width)
    body.store(got, pointer("%out"), 4)
    body.ret(I32(0))
    name = "@inner" if target.embedded else "@outer"
    parameters = [pointer("%a"), pointer("%out")]
    module.add(define(name, I32, parameters, body.lines, attributes="nounwind noinline"))
    outer = flushing(module, "@outer", IrFunction(name, I32, (PTR, PTR))) if target.embedded else ""
    ir = f"{module}{outer}{METADATA}"
    loaded = build(ir, target)
    f = loaded.function("outer", ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)

    def run(*arrays: np.ndarray) -> np.ndarray:
        out = np.zeros_like(arrays[0])
        for k in range(0, len(out), 32):
            rows = np.ascontiguousarray(np.stack([a[k : k + 32] for a in arrays]))
            piece = np.zeros_like(arrays[0][:32])
            f(rows.ctypes.data, piece.ctypes.data)
            out[k : k + 32] = piece
        return out

    run.keep = loaded  # type: ignore[attr-defined]
    return run

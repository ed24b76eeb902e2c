"""Operations compiled alone through their hardware lowerings."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from typing import Any

import numpy as np

from isakit.engine.llvm import Body, LlvmModule, Ref, ValueLowering, build, flushing_wrapper, host
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
    body = Body(module)
    formals = [Value("read", width, (), k) for k in range(operands)]
    given: dict[Any, Ref] = {}
    for k in range(operands):
        p = body(f"getelementptr <32 x i{width}>, ptr %a, i64 {k}")
        given[k] = Ref(body(f"load <32 x i{width}>, ptr {p}, align 4"), width)
    low = ValueLowering(body, lambda v: given[v.attr], float_lowerings(target))
    operands_of = [f.trunc(takes) for f in formals] if takes and takes < width else formals
    got = low.resize(low.splat(low.value(op(*operands_of, **statics))), width)
    body.do(f"store <32 x i{width}> {got.text}, ptr %out, align 4")
    module.add(f"define internal i32 @inner(ptr %a, ptr %out) nounwind noinline {{\n{body.text()}\n  ret i32 0\n}}")
    if target.embedded:
        outer = flushing_wrapper(module, "outer", "@inner", ["ptr", "ptr"])
    else:
        outer = (
            "define i32 @outer(ptr %a, ptr %b) nounwind {\n  %r = call i32 @inner(ptr %a, ptr %b)\n  ret i32 %r\n}\n"
        )
    ir = str(module) + outer + '\n!0 = !{!"branch_weights", i32 1, i32 100000}\n!1 = !{}\n'
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

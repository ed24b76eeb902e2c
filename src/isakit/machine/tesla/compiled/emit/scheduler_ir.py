"""The entry of compiled code, and what the rules of blocks (`rules.blocks`) leave to it: memory that is set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from isakit.engine.llvm import Body, Host, LlvmModule, flushing_wrapper
from isakit.engine.llvm.routine_ir import Lowering, Special, Where
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.rules import blocks
from isakit.machine.tesla.rules.blocks import Begin
from isakit.machine.tesla.rules.state import BlockState
from isakit.machine.tesla.rules.turns import Ended
from isakit.sem.records import layout_of

NEW, TURNS = (int(b) for b in Begin)
"""How `enter` begins: blocks from their beginning, or all warps until each of them needs the host."""
DONE, DEADLOCK, HALTED = (int(e) for e in Ended)
"""Results of `enter`, see `rules.turns`."""
FIELDS = layout_of(BlockState)


def entry(module: LlvmModule, target: Host, run_blocks: str) -> str:
    """`i32 @enter(ctx, first, last, begin)`: `run_blocks` in the floating-point environment the code needs."""
    arguments = ["ptr", "i64", "i64", "i32"]
    if target.embedded:
        return flushing_wrapper(module, "enter", run_blocks, arguments)
    return (
        "define i32 @enter(ptr %ctx, i64 %first, i64 %last, i32 %begin) nounwind {\n"
        f"  %r = call i32 {run_blocks}(ptr %ctx, i64 %first, i64 %last, i32 %begin)\n  ret i32 %r\n}}\n"
    )


def _field(b: Body, block: Where, name: str) -> str:
    """What a field of the context holds: a number, or where something is."""
    f = FIELDS[name]
    kind = "ptr" if f.many is not None else "i64"
    return b(f"load {kind}, ptr {block.pointer(b, f)}")


def _zero(b: Body, where: str, nbytes: str) -> None:
    f = b.module.declare("llvm.memset.p0.i64", "void @(ptr, i8, i64, i1)")
    b.do(f"call void {f}(ptr {where}, i8 0, i64 {nbytes}, i1 false)")


def _copy(b: Body, to: str, where: str, nbytes: str) -> None:
    f = b.module.declare("llvm.memcpy.p0.p0.i64", "void @(ptr, ptr, i64, i1)")
    b.do(f"call void {f}(ptr {to}, ptr {where}, i64 {nbytes}, i1 false)")


def _clear_shared(low: Lowering, args: Sequence[Any]) -> None:
    b, block = low.body, args[0]
    shared = _field(b, block, "shared")
    _zero(b, shared, _field(b, block, "shared_limit"))
    _copy(b, shared, _field(b, block, "header"), _field(b, block, "header_bytes"))


def _clear_local(low: Lowering, args: Sequence[Any]) -> None:
    b, block = low.body, args[0]
    threads = b(f"mul i64 {_field(b, block, 'block_warps')}, 32")
    _zero(b, _field(b, block, "local"), b(f"mul i64 {threads}, {_field(b, block, 'local_limit')}"))


def _clear_warp(low: Lowering, args: Sequence[Any]) -> None:
    b, block, w = low.body, args[0], args[1].whole(low.body)
    nbytes = _field(b, block, "register_bytes")
    some, on = b.fresh("some"), b.fresh("on")
    _zero(b, f"align 64 {w}", str(state_layout.CONDITIONS))
    b.do(f"br i1 {b(f'icmp eq i64 {nbytes}, 0')}, label %{on}, label %{some}")
    b.label(some)
    _zero(b, w, str(state_layout.STACK))
    _zero(b, b(f"getelementptr i8, ptr {w}, i64 {state_layout.REGISTERS}"), nbytes)
    b.do(f"br label %{on}")
    b.label(on)


def _set_thread_numbers(low: Lowering, args: Sequence[Any]) -> None:
    b, block, w = low.body, args[0], args[1].whole(low.body)
    start = b(f"mul i64 {args[2].text}, 128")
    given = b(f"getelementptr i8, ptr {_field(b, block, 'first_registers')}, i64 {start}")
    _copy(b, b(f"getelementptr i8, ptr {w}, i64 {state_layout.register(0)}"), given, "128")


def _set_physical_numbers(low: Lowering, args: Sequence[Any]) -> None:
    b, block = low.body, args[0]
    place = b(f"urem i64 {args[1].text}, {_field(b, block, 'physid_period')}")
    threads = b(f"mul i64 {_field(b, block, 'block_warps')}, 32")
    words = b(f"mul i64 {place}, {threads}")
    here = b(f"getelementptr i32, ptr {_field(b, block, 'physid_all')}, i64 {words}")
    b.do(f"store ptr {here}, ptr {block.pointer(b, FIELDS['physid'])}")


SPECIALS: Mapping[Any, Special] = {
    blocks.clear_shared: _clear_shared,
    blocks.clear_local: _clear_local,
    blocks.clear_warp: _clear_warp,
    blocks.set_thread_numbers: _set_thread_numbers,
    blocks.set_physical_numbers: _set_physical_numbers,
}
"""What the rules leave to compiled code."""

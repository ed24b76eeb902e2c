"""The entry of compiled code, and the memory operations that the rules of blocks (`rules.blocks`) leave to it."""

from __future__ import annotations

from isakit.engine.llvm import Builder, Host, LlvmModule, Ref
from isakit.engine.llvm.builder import I32, I64, PTR, IrFunction, define
from isakit.engine.llvm.environment import flushing
from isakit.engine.llvm.routine_ir import CallArguments, Lowering, RecordStorage, SpecialCalls
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.rules import blocks
from isakit.machine.tesla.rules.blocks import Begin
from isakit.machine.tesla.rules.state import BlockState
from isakit.machine.tesla.rules.turns import Ended
from isakit.sem.records import layout_of

NEW, TURNS = (int(b) for b in Begin)
"""Arguments of `enter`: start blocks from their beginning, or run all warps until each of them needs the host."""
DONE, DEADLOCK, HALTED = (int(e) for e in Ended)
"""Results of `enter`, see `rules.turns`."""
FIELDS = layout_of(BlockState)


def entry(module: LlvmModule, target: Host, run_blocks: str) -> str:
    """Emit `i32 @enter(ctx, first, last, begin)`: `run_blocks` in the floating-point environment the code needs."""
    inner = IrFunction(run_blocks, I32, (PTR, I64, I64, I32))
    if target.embedded:
        return flushing(module, "@enter", inner)
    b, given = Builder(module), [Ref(f"%a{k}", t) for k, t in enumerate(inner.parameters)]
    b.ret(b.call(inner, *given))
    return define("@enter", I32, given, b.lines)


def _field(b: Builder, block: RecordStorage, name: str) -> Ref:
    """Load a field of the context: a number or an address."""
    f = FIELDS[name]
    return b.load(PTR if f.many is not None else I64, block.pointer(b, f))


def _clear_shared(low: Lowering, args: CallArguments) -> None:
    b, block = low.body, args.record(0)
    shared = _field(b, block, "shared")
    b.clear_bytes(shared, _field(b, block, "shared_limit"))
    b.copy_bytes(shared, _field(b, block, "header"), _field(b, block, "header_bytes"))


def _clear_local(low: Lowering, args: CallArguments) -> None:
    b, block = low.body, args.record(0)
    threads = b.mul(_field(b, block, "block_warps"), 32)
    b.clear_bytes(_field(b, block, "local"), b.mul(threads, _field(b, block, "local_limit")))


def _clear_warp(low: Lowering, args: CallArguments) -> None:
    b, block, w = low.body, args.record(0), args.record(1).address
    nbytes = _field(b, block, "register_bytes")
    b.clear_bytes(w, I64(state_layout.CONDITIONS), align=64)
    with b.unless(b.eq(nbytes, 0), "some"):
        b.clear_bytes(w, I64(state_layout.STACK))
        b.clear_bytes(b.offset(w, state_layout.REGISTERS), nbytes)


def _set_thread_numbers(low: Lowering, args: CallArguments) -> None:
    b, block, w = low.body, args.record(0), args.record(1).address
    start = b.mul(args.number(2), 128)
    given = b.offset(_field(b, block, "first_registers"), start)
    b.copy_bytes(b.offset(w, state_layout.register(0)), given, I64(128))


def _set_physical_numbers(low: Lowering, args: CallArguments) -> None:
    b, block = low.body, args.record(0)
    place = b.urem(args.number(1), _field(b, block, "physid_period"))
    threads = b.mul(_field(b, block, "block_warps"), 32)
    words = b.mul(place, threads)
    here = b.element(I32, _field(b, block, "physid_all"), words)
    b.store(here, block.pointer(b, FIELDS["physid"]))


SPECIALS: SpecialCalls = {
    blocks.clear_shared: _clear_shared,
    blocks.clear_local: _clear_local,
    blocks.clear_warp: _clear_warp,
    blocks.set_thread_numbers: _set_thread_numbers,
    blocks.set_physical_numbers: _set_physical_numbers,
}
"""Calls in the rules that compiled code implements itself."""

"""The routines that compiled code calls, as functions: counting stack entries, barriers, locks, the scheduler.

They are compiled for the choices that affect them, together with the interpreter's loop, and found by name when a
kernel is loaded. So is what routines leave to compiled code: calls by address, operations on memory.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache

from isakit.engine.llvm import Builder, Host, LlvmModule, Ref, remembered
from isakit.engine.llvm.builder import I32, I64, PTR, IrFunction, define, pointer
from isakit.engine.llvm.environment import flushing
from isakit.engine.llvm.fingerprint import fingerprint
from isakit.engine.llvm.routine_ir import (
    CallArguments,
    InlineSite,
    Lowering,
    RecordStorage,
    SpecialCalls,
    emit,
    function,
    function_named,
    unasked,
)
from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.rules import accesses, barriers, blocks, interpreter, locks, stack, turns
from isakit.machine.tesla.rules.state import BlockState, WarpState, WarpStatus
from isakit.sem.records import layout_of
from isakit.sem.routine import AnyRoutine, on_change
from isakit.sem.routine_code import RoutineCode

SHARED: tuple[AnyRoutine, ...] = (
    stack.entries_of, stack.nearest_of, barriers.arrive, barriers.open_if_reached, barriers.warp_ended,
    locks.try_lock, locks.unlock, turns.next_in_turn, turns.run_rounds, turns.run_turns,
    turns.tally,
    blocks.next_block, blocks.run_blocks,
)  # fmt: skip
INTERPRETER: tuple[AnyRoutine, ...] = (interpreter.interpret, interpreter.stop_here, interpreter.serve_here)
"""Routines whose functions are found by address: in the context, in the records of instructions."""
ALWAYS: tuple[AnyRoutine, ...] = (accesses.in_buffers,)
"""Routines that are the same for all choices: they are in the module of memory functions."""
BLOCK = layout_of(BlockState)


def code_of(routine: AnyRoutine, choices: Choices) -> RoutineCode:
    """Return a routine in the form for compiled code, whose warps run until they wait."""
    known = {"choices": choices, "in_turns": False}
    return routine.code(**{n: known[n] for n in routine.statics})


@lru_cache(maxsize=256)
def control_key(choices: Choices) -> str:
    """Return a key of the choices that affect the functions here and the interpreter's loop."""

    def found() -> bytes:
        codes = [code_of(r, choices) for r in (*SHARED, *INTERPRETER, stack.join)]
        return hashlib.sha256("\n".join(c.key for c in codes).encode()).hexdigest()[:12].encode()

    return remembered("controls", f"{fingerprint('tesla')} {choices}", found).decode()


on_change(control_key.cache_clear)


def symbol(name: str, target: Host, choices: Choices) -> str:
    """Return the name a function has for kernels of a target (kinds of targets pass vectors in different ways)."""
    kind = "embedded" if target.embedded else "portable"
    if any(r.name == name for r in ALWAYS):
        return f"isakit_{name}_{kind}"
    return f"isakit_{name}_{kind}_{control_key(choices)}"


def names(target: Host, choices: Choices) -> list[str]:
    """Return the names by which kernels find the functions."""
    return [symbol(r.name, target, choices) for r in SHARED]


def shared_function(code: RoutineCode, target: Host, choices: Choices) -> IrFunction:
    """Return the function of a shared routine."""
    return function_named("@" + symbol(code.routine.name, target, choices), code)


def _run_warp(low: Lowering, args: CallArguments) -> Ref:
    """Call the warp function that the context holds."""
    b, block, w = low.body, args.record(0), args.record(1)
    f = b.load(PTR, block.pointer(b, BLOCK["run_warp"]))
    return b.call(IrFunction(f.text, I32, (PTR, PTR)), block.address, w.address)


def _execute(low: Lowering, args: CallArguments) -> Ref:
    """Call a function of an instruction."""
    b = low.body
    f = IrFunction(b.to_pointer(args.number(3)).text, I32, (PTR, PTR, PTR))
    return b.call(f, *[args.record(k).address for k in range(3)])


def _number_of(low: Lowering, args: CallArguments) -> Ref:
    """Count the bits of a mask."""
    return low.body.intrinsic("ctpop", args.number(0))


def _size_at(low: Lowering, args: CallArguments) -> Ref:
    """Read a size from the records of instructions."""
    given = {"block": RecordStorage(pointer("%block")), "pc": args.number(1)}
    return emit(low.body, low.around, interpreter.size_at, given)


def _field(b: Builder, block: RecordStorage, name: str) -> Ref:
    """Load a field of the context: a number or an address."""
    f = BLOCK[name]
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
    b.store(here, block.pointer(b, BLOCK["physid"]))


def _stopped(b: Builder) -> None:
    """Stop the warp if a rule of the stack raises."""
    stopped = I32(int(WarpStatus.STOPPED))
    b.store(stopped, RecordStorage(pointer("%w")).pointer(b, layout_of(WarpState)["status"]))
    b.ret(stopped)


_SPECIALS: SpecialCalls = {
    turns.run_warp: _run_warp,
    interpreter.execute: _execute,
    interpreter.number_of: _number_of,
    stack.size_at: _size_at,
    blocks.clear_shared: _clear_shared,
    blocks.clear_local: _clear_local,
    blocks.clear_warp: _clear_warp,
    blocks.set_thread_numbers: _set_thread_numbers,
    blocks.set_physical_numbers: _set_physical_numbers,
}
"""Calls in the rules that compiled code implements itself."""


def add_functions(module: LlvmModule, target: Host, choices: Choices, routines: Iterable[AnyRoutine] = SHARED) -> None:
    """Add the functions of the control rules to a module."""
    around = InlineSite(unasked, unasked, lambda c: "@" + symbol(c.routine.name, target, choices), _SPECIALS)
    for r in routines:
        refuse = _stopped if r is interpreter.interpret else None
        module.add(function(module, code_of(r, choices), "@" + symbol(r.name, target, choices), around, refuse))


def entry(module: LlvmModule, target: Host, run_blocks: str) -> str:
    """Emit `i32 @enter(ctx, first, last, begin)`: `run_blocks` in the floating-point environment the code needs."""
    inner = IrFunction(run_blocks, I32, (PTR, I64, I64, I32))
    if target.embedded:
        return flushing(module, "@enter", inner)
    b, given = Builder(module), [Ref(f"%a{k}", t) for k, t in enumerate(inner.parameters)]
    b.ret(b.call(inner, *given))
    return define("@enter", I32, given, b.lines)

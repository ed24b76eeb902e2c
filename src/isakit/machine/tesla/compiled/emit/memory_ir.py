"""Functions that code of every kernel calls: the checks of memory accesses, accesses of any shape.

They are compiled once per target, with the interpreter's loop, and found by name when a kernel is loaded. Lanes are an
i32 mask; addresses and offsets are one i32 per lane.
"""

from __future__ import annotations

from collections.abc import Callable

from isakit.engine.llvm import CAREFUL_MAD, Builder, Host, LlvmModule, Ref, ValueLowering, careful_mad
from isakit.engine.llvm.builder import I1, I32, I64, PTR, VOID, IrFunction, IrType, define, structure
from isakit.engine.llvm.routine_ir import expression
from isakit.machine.tesla.choices import DEFAULT
from isakit.machine.tesla.compiled.emit.control_functions import ALWAYS, add_functions, code_of, shared_function
from isakit.machine.tesla.compiled.emit.control_functions import symbol as routine_symbol
from isakit.machine.tesla.compiled.emit.lane_vectors import WORDS
from isakit.machine.tesla.compiled.emit.memory_windows import near_loads
from isakit.machine.tesla.compiled.state_layout import V1, V32
from isakit.machine.tesla.rules import accesses
from isakit.sem.value import Value

LOADED = structure(V32, I1)
"""Words of all lanes, and a flag."""
SIGNATURES: dict[str, tuple[IrType, ...]] = {
    "check_global": (I1, PTR, PTR, V32, I32, I32),
    "check_own": (I1, I32, V32, I32, I32),
    "load_own": (LOADED, PTR, I32, V32, I32, I32),
    "load_words": (V32, PTR, V32, I32),
    "load_near": (LOADED, PTR, PTR, V32),
    "store_words": (VOID, PTR, V32, V32, I32),
}
"""Functions, by name: the types of their results and of their parameters."""
MAD = f"{V32} @({V32}, {V32}, {V32})"


def names(target: Host) -> list[str]:
    """Return the names by which kernels find the functions."""
    everywhere = [name for name in SIGNATURES if target.embedded or name != "load_near"]
    own = [symbol(name, target) for name in (*everywhere, *(["careful_mad"] if target.embedded else []))]
    return [*own, routine_symbol(accesses.in_buffers.name, target, DEFAULT)]


def kernel_module(target: Host) -> LlvmModule:
    """Return a module that can call the functions here."""
    module = LlvmModule(32)
    if target.embedded:
        module.elsewhere[CAREFUL_MAD] = symbol("careful_mad", target), target.convention + MAD
    return module


def function_named(name: str, target: Host) -> IrFunction:
    """Return a function of `SIGNATURES`."""
    result, *parameters = SIGNATURES[name]
    return IrFunction("@" + symbol(name, target), result, tuple(parameters), target.convention)


def declared_in(module: LlvmModule, name: str, target: Host) -> IrFunction:
    """Declare a function of `SIGNATURES` in the module of a kernel."""
    return module.external(function_named(name, target))


def symbol(name: str, target: Host) -> str:
    """Return the name of a support function for a target; kinds of targets pass vectors in different ways."""
    return f"isakit_{name}_{'embedded' if target.embedded else 'portable'}"


def add_support(module: LlvmModule, target: Host) -> None:
    """Add all support functions to a module."""
    add_functions(module, target, DEFAULT, ALWAYS)
    makers: dict[str, Callable[..., None]] = {
        "check_global": _check_global, "check_own": _check_own, "load_words": _load_words, "load_own": _load_own,
        "store_words": _store_words,
    }  # fmt: skip
    for name, write in makers.items():
        b, f = Builder(module), function_named(name, target)
        given = [Ref(f"%p{k}", t) for k, t in enumerate(f.parameters)]
        write(b, target, *given)
        module.add(define(f.name, f.result, given, b.lines, attributes="nounwind noinline", convention=f.convention))
    if target.embedded:
        module.add(near_loads(Builder(module), function_named("load_near", target)))
        careful_mad(ValueLowering(Builder(module), nothing, {}), symbol("careful_mad", target))


def _check_global(b: Builder, target: Host, context: Ref, site: Ref, at: Ref, size: Ref, lanes: Ref) -> None:
    """Return whether any lane's access of `size` bytes is misaligned or lies in no buffer.

    It is the fast path of `rules.accesses.in_buffers`, where all lanes hit the buffer that was hit last. A site caches
    the start and length of the buffer that the instruction accessed last.
    """
    misaligned = b.ne(b.and_(at, b.splat(b.sub(size, 1), V32)), 0)
    mask = b.bitcast(lanes, V1)
    start, length = b.load(I32, site), b.load(I32, b.offset(site, 4))
    starts, rooms = b.splat(start, V32), b.splat(b.sub(length, size), V32)
    outside = b.bitcast(b.and_(b.ugt(b.sub(at, starts), rooms), mask), I32)
    missed = b.ne(b.select(b.ult(length, size), lanes, outside), 0)
    uneven = b.ne(b.bitcast(b.and_(misaligned, mask), I32), 0)
    b.branch(uneven, "bad", "even")
    b.label("even")
    b.branch(missed, "search", "good")
    b.label("search")
    hits = b.call(
        shared_function(code_of(accesses.in_buffers, DEFAULT), target, DEFAULT), context, site, at, lanes, size
    )
    b.branch(b.eq(hits, lanes), "good", "bad")
    b.label("good")
    b.ret(I1(0))
    b.label("bad")
    b.ret(I1(1))


def _check_own(b: Builder, target: Host, limit: Ref, at: Ref, size: Ref, lanes: Ref) -> None:
    """Return whether any lane's access of `size` bytes is misaligned or exceeds its space; see `rules.accesses`."""
    low = ValueLowering(b, nothing, {})
    given = {"address": at, "size": size, "limit": limit}
    odd = expression(low, accesses.misaligned, {n: given[n] for n in ("address", "size")})
    bad = low.splat(low.op("or", expression(low, accesses.outside, given), odd))
    b.ret(b.ne(b.and_(b.bitcast(bad, I32), lanes), 0))


def nothing(v: Value) -> Ref:
    """Refuse leaves, for values that have none."""
    raise AssertionError(v.op)


def _row(b: Builder, base: Ref, at: Ref, lanes: Ref) -> tuple[Ref, Ref]:
    """Branch to `near` if the active lanes access adjacent words, else to `other`.

    Returns the mask of the lanes, and the address of lane 0's word, active or not. Emission continues in the block
    `near`. Offsets are signed: a row must not exceed the largest one.
    """
    mask = b.bitcast(lanes, V1)
    some = b.and_(b.trailing_zeros(lanes), 31)
    first = b.sub(b.extract(at, some), b.mul(some, 4))
    same = b.eq(b.add(b.splat(first, V32), WORDS), at)
    neighbours = b.eq(b.and_(b.bitcast(same, I32), lanes), lanes)
    room = b.sle(first, (1 << 31) - 128)
    b.branch(b.and_(neighbours, room), "near", "other")
    b.label("near")
    return mask, b.offset(base, b.sext(first, I64))


def _load_words(b: Builder, target: Host, base: Ref, at: Ref, lanes: Ref) -> None:
    """Load the words at base + offset; 0 in lanes that are not active."""
    halves = [j & 16 for j in range(32)]
    mask, row = _row(b, base, at, lanes)
    b.ret(b.load_masked(V32, row, mask, V32.zero, 4))
    b.label("other")
    each = b.offset(base, at)
    equal = b.eq(b.bitcast(b.eq(b.shuffle(at, halves), at), I32), -1)
    b.branch(b.and_(equal, b.eq(lanes, -1)), "pair", "far")
    b.label("pair")
    firsts = [b.extract(at, lane) for lane in (0, 16)]
    wide = [b.sext(first, I64) for first in firsts]
    places = [b.offset(base, x) for x in wide]
    words = [b.load(I32, p, 4) for p in places]
    both = b.insert(b.insert(V32.poison, words[0], 0), words[1], 16)
    b.ret(b.shuffle(both, halves))
    b.label("far")
    b.ret(b.gather(V32, each, mask, V32.zero, 4))


def _load_own(b: Builder, target: Host, base: Ref, limit: Ref, a: Ref, offset: Ref, lanes: Ref) -> None:
    """Load the words at $a + offset of s[] or c[], and return whether any access is bad (then nothing is loaded)."""
    at = b.and_(b.add(a, b.splat(offset, V32)), 65535)
    b.branch(b.call(function_named("check_own", target), limit, at, 4, lanes), "stop", "load")
    b.label("load")
    b.ret(b.with_part(LOADED.zero, b.call(function_named("load_words", target), base, at, lanes), 0))
    b.label("stop")
    b.ret(b.with_part(LOADED.zero, 1, 1))


def _store_words(b: Builder, target: Host, base: Ref, at: Ref, value: Ref, lanes: Ref) -> None:
    """Store words; if lanes hit the same one, the highest lane wins."""
    mask, row = _row(b, base, at, lanes)
    b.store_masked(value, row, mask, 4)
    b.ret()
    b.label("other")
    b.scatter(value, b.offset(base, at), mask, 4)
    b.ret()

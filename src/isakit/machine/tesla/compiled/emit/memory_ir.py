"""Functions that code of every kernel calls: the checks of memory accesses, accesses of any shape.

They are compiled once per target, with the interpreter's loop, and found by name when a kernel is loaded. Lanes are an
i32 mask; addresses and offsets are one i32 per lane.
"""

from __future__ import annotations

import re

from isakit.engine.llvm import CAREFUL_MAD, Body, Host, LlvmModule, Ref, ValueLowering, careful_mad
from isakit.engine.llvm.routine_ir import expression
from isakit.machine.tesla.choices import DEFAULT
from isakit.machine.tesla.compiled.emit.access_placement import WORDS
from isakit.machine.tesla.compiled.emit.control_functions import ALWAYS, add_functions
from isakit.machine.tesla.compiled.emit.control_functions import symbol as routine_symbol
from isakit.machine.tesla.compiled.emit.memory_windows import near_loads
from isakit.machine.tesla.compiled.state_layout import V1, V32
from isakit.machine.tesla.rules import accesses
from isakit.sem.value import Value

SIGNATURES = {
    "check_global": f"i1 @(ptr, ptr, {V32}, i32, i32)",
    "check_own": f"i1 @(i32, {V32}, i32, i32)",
    "load_own": f"{{{V32}, i1}} @(ptr, i32, {V32}, i32, i32)",
    "load_words": f"{V32} @(ptr, {V32}, i32)",
    "load_near": f"{{{V32}, i1}} @(ptr, ptr, {V32})",
    "store_words": f"void @(ptr, {V32}, {V32}, i32)",
}
"""Names and types, for `call_of`."""
MAD = f"{V32} @({V32}, {V32}, {V32})"


def in_buffers(target: Host) -> str:
    """The name of the function that looks for the buffers of addresses."""
    return routine_symbol(accesses.in_buffers.name, target, DEFAULT)


def names(target: Host) -> list[str]:
    """What kernels find by name."""
    everywhere = [name for name in SIGNATURES if target.embedded or name != "load_near"]
    return [symbol(name, target) for name in (*everywhere, *(["careful_mad"] if target.embedded else []))] + [
        in_buffers(target)
    ]


def kernel_module(target: Host) -> LlvmModule:
    """A module that finds functions here."""
    module = LlvmModule(32)
    if target.embedded:
        module.elsewhere[CAREFUL_MAD] = symbol("careful_mad", target), target.convention + MAD
    return module


def call_of(module: LlvmModule, name: str, target: Host) -> str:
    """What calls a function of `SIGNATURES` in the module of a kernel, up to its arguments."""
    typed = target.convention + SIGNATURES[name]
    return f"call {typed[: typed.index('@')]}{module.declare(symbol(name, target), typed)}"


def symbol(name: str, target: Host) -> str:
    """The name a function has for kernels of a target (kinds of targets pass vectors in different ways)."""
    return f"isakit_{name}_{'embedded' if target.embedded else 'portable'}"


def add_support(module: LlvmModule, target: Host) -> None:
    """Add all of them to a module."""
    gather = module.declare("llvm.masked.gather.v32i32.v32p0", f"{V32} @(<32 x ptr>, i32, {V1}, {V32})")
    scatter = module.declare("llvm.masked.scatter.v32i32.v32p0", f"void @({V32}, <32 x ptr>, i32, {V1})")
    load = module.declare("llvm.masked.load.v32i32.p0", f"{V32} @(ptr, i32, {V1}, {V32})")
    store = module.declare("llvm.masked.store.v32i32.p0", f"void @({V32}, ptr, i32, {V1})")
    module.declare("llvm.cttz.i32", "i32 @(i32, i1)")
    module.declare("llvm.ctlz.i32", "i32 @(i32, i1)")
    text = _checks() + _check_own(module) + _loads(gather, load) + _own_loads() + _stores(scatter, store)
    text += near_loads(Body(module)) if target.embedded else ""
    add_functions(module, target, DEFAULT, ALWAYS)
    text = text.replace("%look(", f"@{in_buffers(target)}(")
    for name in SIGNATURES:
        text = re.sub(rf"\b(define|call) (.*)@{name}\(", rf"\1 {target.convention}\2@{symbol(name, target)}(", text)
    module.add(text)
    if target.embedded:
        careful_mad(ValueLowering(Body(module), nothing, {}), symbol("careful_mad", target))


def _checks() -> str:
    """`check_global`: whether some lane's access of `size` bytes is misaligned or in none of the buffers.

    It is `rules.accesses.in_buffers` where all lanes hit the buffer that was hit last. A site holds start and length of
    the range that had the last access of an instruction.
    """
    odd = f"""
  %low = sub i32 %size, 1
  %low1 = insertelement {V32} poison, i32 %low, i64 0
  %lows = shufflevector {V32} %low1, {V32} poison, {V32} zeroinitializer
  %odd = and {V32} %at, %lows
  %misaligned = icmp ne {V32} %odd, zeroinitializer
  %m = bitcast i32 %lanes to {V1}"""
    return f"""
define i1 @check_global(ptr %ctx, ptr %site, {V32} %at, i32 %size, i32 %lanes) nounwind noinline {{{odd}
  %start = load i32, ptr %site
  %length_p = getelementptr i8, ptr %site, i64 4
  %length = load i32, ptr %length_p
  %start1 = insertelement {V32} poison, i32 %start, i64 0
  %starts = shufflevector {V32} %start1, {V32} poison, {V32} zeroinitializer
  %room = sub i32 %length, %size
  %room1 = insertelement {V32} poison, i32 %room, i64 0
  %rooms = shufflevector {V32} %room1, {V32} poison, {V32} zeroinitializer
  %offset = sub {V32} %at, %starts
  %past = icmp ugt {V32} %offset, %rooms
  %outside = and {V1} %past, %m
  %outside32 = bitcast {V1} %outside to i32
  %short = icmp ult i32 %length, %size
  %miss32 = select i1 %short, i32 %lanes, i32 %outside32
  %miss = icmp ne i32 %miss32, 0
  %odd1 = and {V1} %misaligned, %m
  %odd32 = bitcast {V1} %odd1 to i32
  %uneven = icmp ne i32 %odd32, 0
  br i1 %uneven, label %bad, label %even
even:
  br i1 %miss, label %search, label %good
search:
  %hits = call i32 %look(ptr %ctx, ptr %site, {V32} %at, i32 %lanes, i32 %size)
  %found = icmp eq i32 %hits, %lanes
  br i1 %found, label %good, label %bad
good:
  ret i1 false
bad:
  ret i1 true
}}
"""


def _check_own(module: LlvmModule) -> str:
    """`check_own`: whether an access of `size` bytes is misaligned or outside of a space; see `rules.accesses`."""
    b = Body(module)
    low = ValueLowering(b, nothing, {})
    given = {"address": Ref("%at", 32), "size": Ref("%size", 32, True), "limit": Ref("%limit", 32, True)}
    odd = expression(low, accesses.misaligned, {n: given[n] for n in ("address", "size")})
    bad = low.splat(low.op("or", expression(low, accesses.outside, given), odd)).text
    hit = b(f"and i32 {b(f'bitcast {V1} {bad} to i32')}, %lanes")
    b.do(f"ret i1 {b(f'icmp ne i32 {hit}, 0')}")
    return f"define i1 @check_own(i32 %limit, {V32} %at, i32 %size, i32 %lanes) nounwind noinline {{\n{b.text()}\n}}\n"


def nothing(v: Value) -> Ref:
    """The leaves of values that have none."""
    raise AssertionError(v.op)


def _row() -> str:
    """Whether the active lanes access neighbouring words; then %row is where lane 0's word is or would be.

    Offsets are signed: a row must not run over the largest one.
    """
    return f"""
  %m = bitcast i32 %lanes to {V1}
  %k = call i32 @llvm.cttz.i32(i32 %lanes, i1 false)
  %k31 = and i32 %k, 31
  %some = extractelement {V32} %at, i32 %k31
  %before = mul i32 %k31, 4
  %first = sub i32 %some, %before
  %first1 = insertelement {V32} poison, i32 %first, i64 0
  %firsts = shufflevector {V32} %first1, {V32} poison, {V32} zeroinitializer
  %numbers = add {V32} %firsts, {WORDS}
  %same = icmp eq {V32} %numbers, %at
  %same32 = bitcast {V1} %same to i32
  %kept = and i32 %same32, %lanes
  %neighbours = icmp eq i32 %kept, %lanes
  %room = icmp sle i32 %first, {(1 << 31) - 128}
  %is_row = and i1 %neighbours, %room
  br i1 %is_row, label %near, label %other
near:
  %first64 = sext i32 %first to i64
  %row = getelementptr i8, ptr %base, i64 %first64"""


def _loads(gather: str, load: str) -> str:
    """`load_words`: the words at base + offset; 0 in lanes that are not active."""
    half = "<" + ", ".join(f"i32 {j & 16}" for j in range(32)) + ">"
    return f"""
define {V32} @load_words(ptr %base, {V32} %at, i32 %lanes) nounwind noinline {{{_row()}
  %masked = call {V32} {load}(ptr %row, i32 4, {V1} %m, {V32} zeroinitializer)
  ret {V32} %masked
other:
  %each = getelementptr i8, ptr %base, {V32} %at
  %halves = shufflevector {V32} %at, {V32} poison, {V32} {half}
  %equal = icmp eq {V32} %halves, %at
  %equal32 = bitcast {V1} %equal to i32
  %is_equal = icmp eq i32 %equal32, -1
  %full = icmp eq i32 %lanes, -1
  %two = and i1 %is_equal, %full
  br i1 %two, label %pair, label %far
pair:
  %at0 = extractelement {V32} %at, i64 0
  %at16 = extractelement {V32} %at, i64 16
  %o0 = sext i32 %at0 to i64
  %o16 = sext i32 %at16 to i64
  %p0 = getelementptr i8, ptr %base, i64 %o0
  %p16 = getelementptr i8, ptr %base, i64 %o16
  %w0 = load i32, ptr %p0, align 4
  %w16 = load i32, ptr %p16, align 4
  %v0 = insertelement {V32} poison, i32 %w0, i64 0
  %v16 = insertelement {V32} %v0, i32 %w16, i64 16
  %spread = shufflevector {V32} %v16, {V32} poison, {V32} {half}
  ret {V32} %spread
far:
  %gathered = call {V32} {gather}(<32 x ptr> %each, i32 4, {V1} %m, {V32} zeroinitializer)
  ret {V32} %gathered
}}
"""


def _own_loads() -> str:
    """`load_own`: the words at $a + offset of s[] or c[], and whether some access is bad (then nothing is loaded)."""
    return f"""
define {{{V32}, i1}} @load_own(ptr %base, i32 %limit, {V32} %a, i32 %offset, i32 %lanes) nounwind noinline {{
  %offset1 = insertelement {V32} poison, i32 %offset, i64 0
  %offsets = shufflevector {V32} %offset1, {V32} poison, {V32} zeroinitializer
  %sum = add {V32} %a, %offsets
  %at = and {V32} %sum, splat (i32 65535)
  %bad = call i1 @check_own(i32 %limit, {V32} %at, i32 4, i32 %lanes)
  br i1 %bad, label %stop, label %load
load:
  %words = call {V32} @load_words(ptr %base, {V32} %at, i32 %lanes)
  %good = insertvalue {{{V32}, i1}} zeroinitializer, {V32} %words, 0
  ret {{{V32}, i1}} %good
stop:
  ret {{{V32}, i1}} {{{V32} zeroinitializer, i1 true}}
}}
"""


def _stores(scatter: str, store: str) -> str:
    """`store_words`: where lanes hit the same word the highest one wins."""
    return f"""
define void @store_words(ptr %base, {V32} %at, {V32} %value, i32 %lanes) nounwind noinline {{{_row()}
  call void {store}({V32} %value, ptr %row, i32 4, {V1} %m)
  ret void
other:
  %each = getelementptr i8, ptr %base, {V32} %at
  call void {scatter}({V32} %value, <32 x ptr> %each, i32 4, {V1} %m)
  ret void
}}
"""

"""Functions that code of every kernel calls: barriers, the checks of memory accesses, and accesses of any shape.

They are compiled once per target, with the interpreter's loop, and found by name when a kernel is loaded. Lanes are an
i32 mask; addresses and offsets are one i32 per lane.
"""

from __future__ import annotations

from isakit.engine.llvm import CAREFUL_MAD, EMBEDDED, Body, Host, Module, Ref, ValueLowering, careful_mad
from isakit.machine.tesla.native import layout
from isakit.machine.tesla.native.layout import slot
from isakit.machine.tesla.stack import Kind
from isakit.sem.value import Value

V32, V1 = "<32 x i32>", "<32 x i1>"

SIGNATURES = {
    "find_range": f"i1 @(ptr, ptr, {V32}, i32, i32)",
    "has_entry": "i1 @(ptr, i32, i32)",
    "bar": "i1 @(ptr, i32, i32, i32)",
    "fan_out": f"i1 @(ptr, {V32}, i32)",
    "lock": f"i32 @(ptr, ptr, {V32}, i32)",
    "unlock": f"void @(ptr, {V32}, i32)",
    "check_global": f"i1 @(ptr, ptr, {V32}, i32, i32)",
    "check_own": f"i1 @(i32, {V32}, i32, i32)",
    "load_own": f"{{{V32}, i1}} @(ptr, i32, {V32}, i32, i32)",
    "load_words": f"{V32} @(ptr, {V32}, i32)",
    "store_words": f"void @(ptr, {V32}, {V32}, i32)",
}
"""Names and types, for `Module.declare`."""
CONTENDED = -1
MAD = f"{V32} @({V32}, {V32}, {V32})"


def names(target: Host) -> list[str]:
    """What kernels find by name."""
    return [symbol(name, target) for name in (*SIGNATURES, *(["careful_mad"] if target.embedded else []))]


def kernel_module(target: Host) -> Module:
    """A module that finds functions here."""
    module = Module(32)
    if target.embedded:
        module.elsewhere[CAREFUL_MAD] = symbol("careful_mad", target), MAD
    return module


def symbol(name: str, target: Host) -> str:
    """The name a function has for kernels of a target (kinds of targets pass vectors in different ways)."""
    return f"isakit_{name}_{'embedded' if target.embedded else 'portable'}"


def add_support(module: Module, target: Host) -> None:
    """Add all of them to a module."""
    gather = module.declare("llvm.masked.gather.v32i32.v32p0", f"{V32} @(<32 x ptr>, i32, {V1}, {V32})")
    scatter = module.declare("llvm.masked.scatter.v32i32.v32p0", f"void @({V32}, <32 x ptr>, i32, {V1})")
    load = module.declare("llvm.masked.load.v32i32.p0", f"{V32} @(ptr, i32, {V1}, {V32})")
    store = module.declare("llvm.masked.store.v32i32.p0", f"void @({V32}, ptr, i32, {V1})")
    module.declare("llvm.cttz.i32", "i32 @(i32, i1)")
    module.declare("llvm.ctlz.i32", "i32 @(i32, i1)")
    text = _ranges() + _checks() + _loads(gather, load) + _own_loads() + _stores(scatter, store)
    text += _control() + _fan_out() + _locks()
    for name in SIGNATURES:
        text = text.replace(f"@{name}(", f"@{symbol(name, target)}(")
    module.add(text)
    if target.embedded:

        def nothing(v: Value) -> Ref:
            raise AssertionError(v.op)

        f = careful_mad(ValueLowering(Body(module), nothing, EMBEDDED))
        listed = f"{V32} %a, {V32} %b, {V32} %c"
        module.add(
            f"define {V32} @{symbol('careful_mad', target)}({listed}) nounwind {{\n"
            f"  %r = call {V32} {f}({listed})\n  ret {V32} %r\n}}"
        )


def _numbers(step: int, of: int = 32) -> str:
    """The vector 0, step, 2 * step ..., from 0 again every `of` lanes."""
    return "<" + ", ".join(f"i32 {step * (j % of)}" for j in range(32)) + ">"


def _checks() -> str:
    """`check_*`: whether some lane's access of `size` bytes is misaligned or outside.

    A site holds start and length of the range that had the last access of an instruction.
    """
    odd = f"""
  %low = sub i32 %size, 1
  %low1 = insertelement {V32} poison, i32 %low, i64 0
  %lows = shufflevector {V32} %low1, {V32} poison, {V32} zeroinitializer
  %odd = and {V32} %at, %lows
  %misaligned = icmp ne {V32} %odd, zeroinitializer
  %m = bitcast i32 %lanes to {V1}"""
    return f"""
define i1 @check_own(i32 %limit, {V32} %at, i32 %size, i32 %lanes) nounwind noinline {{{odd}
  %short = icmp ult i32 %limit, %size
  %last = sub i32 %limit, %size
  %last1 = insertelement {V32} poison, i32 %last, i64 0
  %lasts = shufflevector {V32} %last1, {V32} poison, {V32} zeroinitializer
  %past = icmp ugt {V32} %at, %lasts
  %wrong = or {V1} %past, %misaligned
  %hit = and {V1} %wrong, %m
  %bits = bitcast {V1} %hit to i32
  %all = select i1 %short, i32 %lanes, i32 %bits
  %bad = icmp ne i32 %all, 0
  ret i1 %bad
}}

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
  %found = call i1 @find_range(ptr %ctx, ptr %site, {V32} %at, i32 %lanes, i32 %size)
  br i1 %found, label %good, label %bad
good:
  ret i1 false
bad:
  ret i1 true
}}
"""


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
  %numbers = add {V32} %firsts, {_numbers(4)}
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


def _ranges() -> str:
    """`find_range`: whether every lane hits one of the buffers; the site remembers the last one."""
    return f"""
define i1 @find_range(ptr %ctx, ptr %site, <32 x i32> %at, i32 %lanes, i32 %size) nounwind noinline cold {{
entry:
{slot("ranges", "ptr")}{slot("range_count")}
  br label %lane
lane:
  %i = phi i32 [ 0, %entry ], [ %i2, %next ]
  %shifted = lshr i32 %lanes, %i
  %on = trunc i32 %shifted to i1
  br i1 %on, label %search, label %next
search:
  %a = extractelement <32 x i32> %at, i32 %i
  %a64 = zext i32 %a to i64
  %size64 = zext i32 %size to i64
  %last = add i64 %a64, %size64
  br label %range
range:
  %k = phi i64 [ 0, %search ], [ %k2, %miss ]
  %more = icmp ult i64 %k, %range_count
  br i1 %more, label %try, label %bad
try:
  %o = mul i64 %k, 8
  %p = getelementptr i8, ptr %ranges, i64 %o
  %start = load i32, ptr %p
  %q = getelementptr i8, ptr %p, i64 4
  %length = load i32, ptr %q
  %start64 = zext i32 %start to i64
  %length64 = zext i32 %length to i64
  %stop64 = add i64 %start64, %length64
  %after = icmp uge i64 %a64, %start64
  %before = icmp ule i64 %last, %stop64
  %hit = and i1 %after, %before
  br i1 %hit, label %found, label %miss
miss:
  %k2 = add i64 %k, 1
  br label %range
found:
  store i32 %start, ptr %site
  %site2 = getelementptr i8, ptr %site, i64 4
  store i32 %length, ptr %site2
  br label %next
next:
  %i2 = add i32 %i, 1
  %again = icmp ult i32 %i2, 32
  br i1 %again, label %lane, label %good
good:
  ret i1 true
bad:
  ret i1 false
}}
"""


def _control() -> str:
    """`has_entry`: whether the stack has an entry of a kind; `bar`: arrive at a barrier, and whether to wait."""
    return f"""

define i1 @has_entry(ptr %stack, i32 %depth, i32 %kind) nounwind noinline {{
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %i2, %next ]
  %more = icmp ult i32 %i, %depth
  br i1 %more, label %look, label %no
look:
  %i64 = zext i32 %i to i64
  %o = mul i64 %i64, {layout.ENTRY_BYTES}
  %p = getelementptr i8, ptr %stack, i64 %o
  %both = load i32, ptr %p
  %k = lshr i32 %both, 24
  %hit = icmp eq i32 %k, %kind
  br i1 %hit, label %yes, label %next
next:
  %i2 = add i32 %i, 1
  br label %loop
yes:
  ret i1 true
no:
  ret i1 false
}}

define i1 @bar(ptr %ctx, i32 %number, i32 %count, i32 %flags) nounwind noinline {{
entry:
{slot("barriers", "ptr")}{slot("warps", "i32")}{slot("barrier_mask", "i32")}{slot("state", "ptr")}\
{slot("state_bytes")}
  %n64 = zext i32 %number to i64
  %o = mul i64 %n64, 8
  %counter = getelementptr i8, ptr %barriers, i64 %o
  %target_p = getelementptr i8, ptr %counter, i64 4
  %inc = trunc i32 %flags to i1
  br i1 %inc, label %arrive, label %look
arrive:
  %whole = icmp eq i32 %count, 4095
  %target = select i1 %whole, i32 0, i32 %count
  store i32 %target, ptr %target_p
  %c = load i32, ptr %counter
  %c1 = add i32 %c, 1
  %c2 = and i32 %c1, %barrier_mask
  store i32 %c2, ptr %counter
  %none = icmp eq i32 %target, 0
  %goal = select i1 %none, i32 %warps, i32 %target
  %some = icmp ne i32 %c2, 0
  %reached = icmp uge i32 %c2, %goal
  %settled = and i1 %some, %reached
  br i1 %settled, label %release, label %look
release:
  store i32 0, ptr %counter
  br label %warp
warp:
  %w = phi i32 [ 0, %release ], [ %w2, %nextwarp ]
  %w64 = zext i32 %w to i64
  %wo = mul i64 %w64, %state_bytes
  %ws = getelementptr i8, ptr %state, i64 %wo
  %status_p = getelementptr i8, ptr %ws, i64 {layout.STATUS}
  %status = load i32, ptr %status_p
  %barrier_p = getelementptr i8, ptr %ws, i64 {layout.BARRIER}
  %barrier = load i32, ptr %barrier_p
  %waits = icmp eq i32 %status, {layout.WAITING}
  %here = icmp eq i32 %barrier, %number
  %free = and i1 %waits, %here
  br i1 %free, label %wake, label %nextwarp
wake:
  store i32 {layout.READY}, ptr %status_p
  br label %nextwarp
nextwarp:
  %w2 = add i32 %w, 1
  %morewarps = icmp ult i32 %w2, %warps
  br i1 %morewarps, label %warp, label %look
look:
  %now = load i32, ptr %counter
  %f1 = lshr i32 %flags, 1
  %wait = trunc i32 %f1 to i1
  %open = icmp ne i32 %now, 0
  %held = and i1 %wait, %open
  ret i1 %held
}}
"""


def _fan_out() -> str:
    """`fan_out`: the lanes go on at their targets, the lowest lane's group first; the others wait on the stack.

    Returns whether the reference machine must do it: a full stack, one with an open `quadon`, an address that an entry
    cannot hold.
    """

    def group(x: str) -> str:
        """`%group.x`: the lanes whose target is `%t.x`."""
        return f"""
  %one.{x} = insertelement {V32} poison, i32 %t.{x}, i64 0
  %all.{x} = shufflevector {V32} %one.{x}, {V32} poison, {V32} zeroinitializer
  %same.{x} = icmp eq {V32} %at, %all.{x}
  %same32.{x} = bitcast {V1} %same.{x} to i32
  %group.{x} = and i32 %same32.{x}, %lanes"""

    return f"""
define i1 @fan_out(ptr %ws, {V32} %at, i32 %lanes) nounwind noinline {{
entry:
  %m = bitcast i32 %lanes to {V1}
  %far = icmp ugt {V32} %at, splat (i32 {(1 << 24) - 1})
  %far_here = and {V1} %far, %m
  %far32 = bitcast {V1} %far_here to i32
  %too_far = icmp ne i32 %far32, 0
  br i1 %too_far, label %refuse, label %find
find:
  %rest = phi i32 [ %lanes, %entry ], [ %rest2, %find ]
  %firsts = phi i32 [ 0, %entry ], [ %firsts2, %find ]
  %k = call i32 @llvm.cttz.i32(i32 %rest, i1 false)
  %k31 = and i32 %k, 31
  %t.find = extractelement {V32} %at, i32 %k31{group("find")}
  %bit = shl i32 1, %k31
  %firsts2 = or i32 %firsts, %bit
  %others = xor i32 %group.find, -1
  %rest2 = and i32 %rest, %others
  %more = icmp ne i32 %rest2, 0
  br i1 %more, label %find, label %look
look:
  %below = sub i32 %firsts2, 1
  %waiting = and i32 %firsts2, %below
  %alone = icmp eq i32 %waiting, 0
  %depth_p = getelementptr i8, ptr %ws, i64 {layout.DEPTH}
  %depth = load i32, ptr %depth_p
  %stack = getelementptr i8, ptr %ws, i64 {layout.STACK}
  br i1 %alone, label %go, label %check
check:
  %room = icmp ule i32 %depth, {layout.STACK_ENTRIES - 32}
  %empty = icmp eq i32 %depth, 0
  %top = sub i32 %depth, 1
  %top0 = select i1 %empty, i32 0, i32 %top
  %top64 = zext i32 %top0 to i64
  %top_o = mul i64 %top64, {layout.ENTRY_BYTES}
  %top_p = getelementptr i8, ptr %stack, i64 %top_o
  %top_v = load i32, ptr %top_p
  %kind = lshr i32 %top_v, 24
  %is_quad = icmp eq i32 %kind, {int(Kind.QUADON)}
  %held = xor i1 %empty, true
  %quad = and i1 %is_quad, %held
  %no_quad = xor i1 %quad, true
  %good = and i1 %room, %no_quad
  br i1 %good, label %push, label %refuse
push:
  %left = phi i32 [ %waiting, %check ], [ %left2, %push ]
  %d = phi i32 [ %depth, %check ], [ %d2, %push ]
  %z = call i32 @llvm.ctlz.i32(i32 %left, i1 false)
  %last = sub i32 31, %z
  %t.push = extractelement {V32} %at, i32 %last{group("push")}
  %d64 = zext i32 %d to i64
  %o = mul i64 %d64, {layout.ENTRY_BYTES}
  %p = getelementptr i8, ptr %stack, i64 %o
  %entry_word = or i32 %t.push, {Kind.BRANCH << 24}
  store i32 %entry_word, ptr %p
  %q = getelementptr i8, ptr %p, i64 4
  store i32 %group.push, ptr %q
  %d2 = add i32 %d, 1
  %last_bit = shl i32 1, %last
  %left2 = xor i32 %left, %last_bit
  %again = icmp ne i32 %left2, 0
  br i1 %again, label %push, label %go
go:
  %new_depth = phi i32 [ %depth, %look ], [ %d2, %push ]
  %first = call i32 @llvm.cttz.i32(i32 %firsts2, i1 false)
  %first31 = and i32 %first, 31
  %t.go = extractelement {V32} %at, i32 %first31{group("go")}
  store i32 %new_depth, ptr %depth_p
  %active_p = getelementptr i8, ptr %ws, i64 {layout.ACTIVE}
  store i32 %group.go, ptr %active_p
  %pc_p = getelementptr i8, ptr %ws, i64 {layout.PC}
  store i32 %t.go, ptr %pc_p
  ret i1 false
refuse:
  ret i1 true
}}
"""


def _locks() -> str:
    """`lock`: the lanes (one at most) that get the lock of their word of s[]; `unlock`: give up the lock of a word.

    A warp holds one lock at a time; it is in its state. `lock` returns CONTENDED where another warp holds one of the
    words: here warps run until they wait, so that one might wait for ever; on the reference machine they take turns.
    """
    return f"""
define i32 @lock(ptr %ctx, ptr %ws, {V32} %at, i32 %lanes) nounwind noinline {{
entry:
{slot("warps", "i32")}{slot("state", "ptr")}{slot("state_bytes")}
  %own = getelementptr i8, ptr %ws, i64 {layout.LOCK}
  %held = load i32, ptr %own
  %free = icmp eq i32 %held, 0
  br i1 %free, label %lane, label %none
lane:
  %rest = phi i32 [ %lanes, %entry ], [ %rest2, %nextlane ]
  %over = icmp eq i32 %rest, 0
  br i1 %over, label %got, label %try
try:
  %k = call i32 @llvm.cttz.i32(i32 %rest, i1 false)
  %k31 = and i32 %k, 31
  %a = extractelement {V32} %at, i32 %k31
  %word = lshr i32 %a, 2
  %key = add i32 %word, 1
  br label %warp
warp:
  %w = phi i32 [ 0, %try ], [ %w2, %next ]
  %w64 = zext i32 %w to i64
  %wo = mul i64 %w64, %state_bytes
  %other = getelementptr i8, ptr %state, i64 %wo
  %other_p = getelementptr i8, ptr %other, i64 {layout.LOCK}
  %other_key = load i32, ptr %other_p
  %hit = icmp eq i32 %other_key, %key
  br i1 %hit, label %contended, label %next
next:
  %w2 = add i32 %w, 1
  %more = icmp ult i32 %w2, %warps
  br i1 %more, label %warp, label %nextlane
nextlane:
  %lowest = sub i32 %rest, 1
  %rest2 = and i32 %rest, %lowest
  br label %lane
got:
  %some = icmp ne i32 %lanes, 0
  br i1 %some, label %take, label %none
take:
  %f = call i32 @llvm.cttz.i32(i32 %lanes, i1 false)
  %f31 = and i32 %f, 31
  %fa = extractelement {V32} %at, i32 %f31
  %fword = lshr i32 %fa, 2
  %fkey = add i32 %fword, 1
  store i32 %fkey, ptr %own
  %bit = shl i32 1, %f31
  ret i32 %bit
contended:
  ret i32 {CONTENDED}
none:
  ret i32 0
}}

define void @unlock(ptr %ws, {V32} %at, i32 %lanes) nounwind noinline {{
  %own = getelementptr i8, ptr %ws, i64 {layout.LOCK}
  %held = load i32, ptr %own
  %key = insertelement {V32} poison, i32 %held, i64 0
  %keys = shufflevector {V32} %key, {V32} poison, {V32} zeroinitializer
  %words = lshr {V32} %at, splat (i32 2)
  %numbers = add {V32} %words, splat (i32 1)
  %same = icmp eq {V32} %numbers, %keys
  %same32 = bitcast {V1} %same to i32
  %hits = and i32 %same32, %lanes
  %some = icmp ne i32 %hits, 0
  %left = select i1 %some, i32 0, i32 %held
  store i32 %left, ptr %own
  ret void
}}
"""

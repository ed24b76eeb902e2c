"""The functions around a warp: barriers, address ranges, and the loop over the blocks and warps of a launch.

All of it is LLVM IR with the offsets of `layout`; blocks run one after the other, the warps of a block in turns from
barrier to barrier.
"""

from __future__ import annotations

from isakit.engine.llvm import Host, flushing_wrapper
from isakit.machine.tesla.native import layout
from isakit.machine.tesla.native.layout import SLOT

TURNS = 2
"""In place of `fresh`: run the warps as they are until none of them can go on without the host."""
DONE, DEADLOCK, HALTED = 0, 1, 2
"""Results of `run_blocks`: all blocks ran; a block waits for itself; a warp stopped or was interrupted."""


def entry(target: Host) -> str:
    """`i32 @enter(ctx, first, last, fresh)`: `run_blocks` in the floating-point environment the code needs."""
    arguments = ["ptr", "i64", "i64", "i32"]
    if target.embedded:
        return flushing_wrapper("enter", "@run_blocks", arguments)
    return (
        "define i32 @enter(ptr %ctx, i64 %first, i64 %last, i32 %fresh) nounwind {\n"
        "  %r = call i32 @run_blocks(ptr %ctx, i64 %first, i64 %last, i32 %fresh)\n  ret i32 %r\n}\n"
    )


def _slot(name: str, ty: str = "i64") -> str:
    return f"  %{name}_p = getelementptr i8, ptr %ctx, i64 {SLOT[name]}\n  %{name} = load {ty}, ptr %{name}_p\n"


def support() -> str:
    """`find_range`, `has_entry` and `bar`, which compiled warps call."""
    return f"""
define internal i1 @find_range(ptr %ctx, ptr %site, <32 x i32> %at, i32 %lanes, i32 %size) nounwind noinline cold {{
entry:
{_slot("ranges", "ptr")}{_slot("range_count")}
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

define internal i1 @has_entry(ptr %stack, i32 %depth, i32 %kind) nounwind noinline {{
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

define internal i1 @bar(ptr %ctx, i32 %number, i32 %count, i32 %flags) nounwind noinline {{
entry:
{_slot("barriers", "ptr")}{_slot("warps", "i32")}{_slot("barrier_mask", "i32")}{_slot("state", "ptr")}\
{_slot("state_bytes")}
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


def driver() -> str:
    """`run_blocks(ctx, first, last, fresh)`: blocks `first` up to `last`; returns result | block << 8.

    With `fresh` 0 the first block goes on from the state in memory; with `TURNS` it is `run_turns` that runs.
    """
    registers = layout.register(0)
    return f"""
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

define internal i32 @run_blocks(ptr %ctx, i64 %first, i64 %last, i32 %fresh) nounwind noinline {{
entry:
  %in_turns = icmp eq i32 %fresh, {TURNS}
  br i1 %in_turns, label %turns, label %blocks
turns:
  %turned = call i32 @run_turns(ptr %ctx)
  ret i32 %turned
blocks:
{_slot("warps", "i32")}{_slot("state", "ptr")}{_slot("state_bytes")}{_slot("shared", "ptr")}{_slot("shared_limit")}\
{_slot("local", "ptr")}{_slot("local_limit")}{_slot("header", "ptr")}{_slot("header_bytes")}{_slot("grid_x")}\
{_slot("masks", "ptr")}{_slot("first_registers", "ptr")}{_slot("barriers", "ptr")}
  %physid_slot = getelementptr i8, ptr %ctx, i64 {SLOT["physid"]}
  %remaining_slot = getelementptr i8, ptr %ctx, i64 {SLOT["remaining"]}
{_slot("physid_all", "ptr")}{_slot("physid_period")}{_slot("reserve")}{_slot("register_bytes")}{_slot("cleared_bytes")}
  %warps64 = zext i32 %warps to i64
  %threads = mul i64 %warps64, 32
  %local_bytes = mul i64 %threads, %local_limit
  %goes_on = icmp eq i32 %fresh, 0
  br label %block
block:
  %b = phi i64 [ %first, %blocks ], [ %b2, %endblock ]
  %more = icmp ult i64 %b, %last
  br i1 %more, label %begin, label %all
begin:
  %is_first = icmp eq i64 %b, %first
  %kept = and i1 %is_first, %goes_on
  br i1 %kept, label %round, label %prepare
prepare:
  call void @llvm.memset.p0.i64(ptr %shared, i8 0, i64 %shared_limit, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %shared, ptr %header, i64 %header_bytes, i1 false)
  %y = udiv i64 %b, %grid_x
  %x = urem i64 %b, %grid_x
  %x16 = trunc i64 %x to i16
  %y16 = trunc i64 %y to i16
  %px = getelementptr i8, ptr %shared, i64 12
  store i16 %x16, ptr %px
  %py = getelementptr i8, ptr %shared, i64 14
  store i16 %y16, ptr %py
  call void @llvm.memset.p0.i64(ptr %local, i8 0, i64 %local_bytes, i1 false)
  call void @llvm.memset.p0.i64(ptr %barriers, i8 0, i64 128, i1 false)
  br label %prepare_warp
prepare_warp:
  %i = phi i32 [ 0, %prepare ], [ %i2, %prepare_warp ]
  %i64 = zext i32 %i to i64
  %io = mul i64 %i64, %state_bytes
  %is = getelementptr i8, ptr %state, i64 %io
  call void @llvm.memset.p0.i64(ptr %is, i8 0, i64 %cleared_bytes, i1 false)
  %registers = getelementptr i8, ptr %is, i64 {layout.REGISTERS}
  call void @llvm.memset.p0.i64(ptr %registers, i8 0, i64 %register_bytes, i1 false)
  %mo = mul i64 %i64, 4
  %mp = getelementptr i8, ptr %masks, i64 %mo
  %m = load i32, ptr %mp
  %ap = getelementptr i8, ptr %is, i64 {layout.ACTIVE}
  store i32 %m, ptr %ap
  %ep = getelementptr i8, ptr %is, i64 {layout.EXITED}
  %absent = xor i32 %m, -1
  store i32 %absent, ptr %ep
  %entry_slot = getelementptr i8, ptr %ctx, i64 {SLOT["entry"]}
  %entry_pc = load i32, ptr %entry_slot
  %pcp = getelementptr i8, ptr %is, i64 {layout.PC}
  store i32 %entry_pc, ptr %pcp
  %np = getelementptr i8, ptr %is, i64 {layout.NUMBER}
  store i32 %i, ptr %np
  %ro = mul i64 %i64, 128
  %rp = getelementptr i8, ptr %first_registers, i64 %ro
  %r0 = getelementptr i8, ptr %is, i64 {registers}
  call void @llvm.memcpy.p0.p0.i64(ptr %r0, ptr %rp, i64 128, i1 false)
  %i2 = add i32 %i, 1
  %morewarps = icmp ult i32 %i2, %warps
  br i1 %morewarps, label %prepare_warp, label %round
round:
  %rb = urem i64 %b, %physid_period
  %po0 = mul i64 %rb, %threads
  %po = mul i64 %po0, 4
  %phys = getelementptr i8, ptr %physid_all, i64 %po
  store ptr %phys, ptr %physid_slot
  br label %turn
turn:
  br label %warp
warp:
  %w = phi i32 [ 0, %turn ], [ %w2, %endwarp ]
  %ran = phi i32 [ 0, %turn ], [ %ran2, %endwarp ]
  %held = phi i32 [ 0, %turn ], [ %held2, %endwarp ]
  %w64 = zext i32 %w to i64
  %wo = mul i64 %w64, %state_bytes
  %ws = getelementptr i8, ptr %state, i64 %wo
  %status_p = getelementptr i8, ptr %ws, i64 {layout.STATUS}
  %status = load i32, ptr %status_p
  %ready = icmp eq i32 %status, {layout.READY}
  br i1 %ready, label %run, label %skip
run:
  %issued_p = getelementptr i8, ptr %ws, i64 {layout.ISSUED}
  %before = load i64, ptr %issued_p
  %budget = load i64, ptr %remaining_slot
  %limit0 = add i64 %before, %budget
  %limit = sub i64 %limit0, %reserve
  store i64 %limit, ptr %remaining_slot
  %result = call i32 @run_warp(ptr %ctx, ptr %ws)
  %after = load i64, ptr %issued_p
  %spent = sub i64 %after, %before
  %left = sub i64 %budget, %spent
  store i64 %left, ptr %remaining_slot
  %out = icmp uge i32 %result, {layout.STOPPED}
  br i1 %out, label %halt, label %ranone
ranone:
  %waits_now = icmp eq i32 %result, {layout.WAITING}
  %waits32 = zext i1 %waits_now to i32
  %held1 = add i32 %held, %waits32
  %ran1 = add i32 %ran, 1
  br label %endwarp
skip:
  %waiting = icmp eq i32 %status, {layout.WAITING}
  %waiting32 = zext i1 %waiting to i32
  %held3 = add i32 %held, %waiting32
  br label %endwarp
endwarp:
  %ran2 = phi i32 [ %ran1, %ranone ], [ %ran, %skip ]
  %held2 = phi i32 [ %held1, %ranone ], [ %held3, %skip ]
  %w2 = add i32 %w, 1
  %next = icmp ult i32 %w2, %warps
  br i1 %next, label %warp, label %endturn
endturn:
  %open = icmp ne i32 %held2, 0
  br i1 %open, label %again, label %endblock
again:
  %progress = icmp ne i32 %ran2, 0
  br i1 %progress, label %turn, label %deadlock
endblock:
  call void @tally(ptr %ctx)
  %b2 = add i64 %b, 1
  br label %block
all:
  ret i32 {DONE}
deadlock:
  br label %leave
halt:
  br label %leave
leave:
  %why = phi i32 [ {DEADLOCK}, %deadlock ], [ {HALTED}, %halt ]
  %who = phi i32 [ 0, %deadlock ], [ %w, %halt ]
  %warp_slot = getelementptr i8, ptr %ctx, i64 {SLOT["halted_warp"]}
  store i32 %who, ptr %warp_slot
  %b32 = trunc i64 %b to i32
  %b8 = shl i32 %b32, 8
  %code = or i32 %b8, %why
  ret i32 %code
}}

define internal void @tally(ptr %ctx) nounwind {{
entry:
{_slot("warps", "i32")}{_slot("state", "ptr")}{_slot("state_bytes")}
  %sum_p = getelementptr i8, ptr %ctx, i64 {SLOT["thread_count"]}
  %sum2_p = getelementptr i8, ptr %ctx, i64 {SLOT["warp_count"]}
  br label %loop
loop:
  %w = phi i32 [ 0, %entry ], [ %w2, %loop ]
  %w64 = zext i32 %w to i64
  %wo = mul i64 %w64, %state_bytes
  %ws = getelementptr i8, ptr %state, i64 %wo
  %tp = getelementptr i8, ptr %ws, i64 {layout.THREADS}
  %t = load i64, ptr %tp
  %ip = getelementptr i8, ptr %ws, i64 {layout.ISSUED}
  %n = load i64, ptr %ip
  %s = load i64, ptr %sum_p
  %s2 = add i64 %s, %t
  store i64 %s2, ptr %sum_p
  %u = load i64, ptr %sum2_p
  %u2 = add i64 %u, %n
  store i64 %u2, ptr %sum2_p
  %w2 = add i32 %w, 1
  %more = icmp ult i32 %w2, %warps
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def turns() -> str:
    """`run_turns(ctx)`: the warps of one block, from the state in memory, until none is ready; returns DONE.

    Unlike in `run_blocks`, a warp that stops does not hold up the others.
    """
    return f"""
define internal i32 @run_turns(ptr %ctx) nounwind noinline {{
entry:
{_slot("warps", "i32")}{_slot("state", "ptr")}{_slot("state_bytes")}{_slot("stop", "ptr")}
  br label %turn
turn:
  br label %warp
warp:
  %w = phi i32 [ 0, %turn ], [ %w2, %endwarp ]
  %some = phi i1 [ false, %turn ], [ %some2, %endwarp ]
  %w64 = zext i32 %w to i64
  %wo = mul i64 %w64, %state_bytes
  %ws = getelementptr i8, ptr %state, i64 %wo
  %status_p = getelementptr i8, ptr %ws, i64 {layout.STATUS}
  %status = load i32, ptr %status_p
  %ready = icmp eq i32 %status, {layout.READY}
  br i1 %ready, label %run, label %endwarp
run:
  %result = call i32 @run_warp(ptr %ctx, ptr %ws)
  br label %endwarp
endwarp:
  %some2 = phi i1 [ %some, %warp ], [ true, %run ]
  %w2 = add i32 %w, 1
  %next = icmp ult i32 %w2, %warps
  br i1 %next, label %warp, label %endturn
endturn:
  %asked = load volatile i32, ptr %stop
  %on = icmp eq i32 %asked, 0
  %again = and i1 %some2, %on
  br i1 %again, label %turn, label %leave
leave:
  ret i32 {DONE}
}}
"""

"""The functions around a warp: barriers, address ranges, and the loop over the blocks and warps of a launch.

All of it is LLVM IR with the offsets of `layout`; blocks run one after the other, the warps of a block in turns from
barrier to barrier.
"""

from __future__ import annotations

from isakit.engine.llvm import Host, Module, flushing_wrapper
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.state_layout import SLOT, record, slot

TURNS = 2
"""Value of `fresh` that resumes all warps until each of them needs the host."""
DONE, DEADLOCK, HALTED = 0, 1, 2
"""Results of `run_blocks`: all blocks ran; a block waits for itself; a warp stopped or was interrupted."""


def entry(module: Module, target: Host) -> str:
    """`i32 @enter(ctx, first, last, fresh)`: `run_blocks` in the floating-point environment the code needs."""
    arguments = ["ptr", "i64", "i64", "i32"]
    if target.embedded:
        return flushing_wrapper(module, "enter", "@run_blocks", arguments)
    return (
        "define i32 @enter(ptr %ctx, i64 %first, i64 %last, i32 %fresh) nounwind {\n"
        "  %r = call i32 @run_blocks(ptr %ctx, i64 %first, i64 %last, i32 %fresh)\n  ret i32 %r\n}\n"
    )


_LIMITS = f"""\
  %remaining_slot = getelementptr i8, ptr %ctx, i64 {SLOT["remaining"]}
  %patience_slot = getelementptr i8, ptr %ctx, i64 {SLOT["patience"]}
{slot("reserve")}{slot("turn_length")}"""
_RUN = f"""\
  %issued_p = getelementptr i8, ptr %ws, i64 {state_layout.ISSUED}
  %before = load i64, ptr %issued_p
  %budget = load i64, ptr %remaining_slot
  %limit0 = add i64 %before, %budget
  %limit = sub i64 %limit0, %reserve
  store i64 %limit, ptr %remaining_slot
  %turned_at = add i64 %before, %turn_length
  %sooner = icmp slt i64 %turned_at, %limit
  %patience = select i1 %sooner, i64 %turned_at, i64 %limit
  store i64 %patience, ptr %patience_slot
  %result = call i32 %run_warp(ptr %ctx, ptr %ws)
  %after = load i64, ptr %issued_p
  %spent = sub i64 %after, %before
  %left = sub i64 %budget, %spent
  store i64 %left, ptr %remaining_slot
"""
"""Give the warp `%ws` a turn, within what is left of the budget."""


def driver(warp_ended: str) -> str:
    """`run_blocks(ctx, first, last, fresh)`: blocks `first` up to `last`; returns result | block << 8.

    With `fresh` 0 the first block goes on from the state in memory; with `TURNS` it is `run_turns` that runs.
    """
    registers = state_layout.register(0)
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
{slot("block_warps", "i32")}{slot("state", "ptr")}{slot("state_bytes")}{slot("shared", "ptr")}{slot("shared_limit")}\
{slot("local", "ptr")}{slot("local_limit")}{slot("header", "ptr")}{slot("header_bytes")}{slot("grid_x")}\
{slot("masks", "ptr")}{slot("first_registers", "ptr")}{slot("barriers", "ptr")}{slot("run_warp", "ptr")}\
{slot("written")}
  %physid_slot = getelementptr i8, ptr %ctx, i64 {SLOT["physid"]}
{_LIMITS}\
{slot("physid_all", "ptr")}{slot("physid_period")}{slot("register_bytes")}{slot("has_barriers", "i32")}
  %barriers_there = icmp ne i32 %has_barriers, 0
  %warps64 = zext i32 %block_warps to i64
  %threads = mul i64 %warps64, 32
  %local_bytes = mul i64 %threads, %local_limit
  %goes_on = icmp eq i32 %fresh, 0
  %counts_on_zeros = icmp ne i64 %register_bytes, 0
  %writes_shared = trunc i64 %written to i1
  %written_local = and i64 %written, 2
  %writes_local = icmp ne i64 %written_local, 0
  br i1 %goes_on, label %block, label %opening
opening:
  call void @llvm.memset.p0.i64(ptr %shared, i8 0, i64 %shared_limit, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %shared, ptr %header, i64 %header_bytes, i1 false)
  br label %block
block:
  %b = phi i64 [ %first, %blocks ], [ %first, %opening ], [ %b2, %endblock ]
  %more = icmp ult i64 %b, %last
  br i1 %more, label %begin, label %all
begin:
  %is_first = icmp eq i64 %b, %first
  %kept = and i1 %is_first, %goes_on
  br i1 %kept, label %round, label %prepare
prepare:
  br i1 %writes_shared, label %clear, label %cleared
clear:
  call void @llvm.memset.p0.i64(ptr %shared, i8 0, i64 %shared_limit, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %shared, ptr %header, i64 %header_bytes, i1 false)
  br label %cleared
cleared:
  %y = udiv i64 %b, %grid_x
  %x = urem i64 %b, %grid_x
  %x16 = trunc i64 %x to i16
  %y16 = trunc i64 %y to i16
  %px = getelementptr i8, ptr %shared, i64 12
  store i16 %x16, ptr %px
  %py = getelementptr i8, ptr %shared, i64 14
  store i16 %y16, ptr %py
  br i1 %writes_local, label %clear_local, label %cleared_local
clear_local:
  call void @llvm.memset.p0.i64(ptr %local, i8 0, i64 %local_bytes, i1 false)
  br label %cleared_local
cleared_local:
  call void @llvm.memset.p0.i64(ptr %barriers, i8 0, i64 128, i1 false)
  %ended_slot = getelementptr i8, ptr %ctx, i64 {SLOT["ended"]}
  store i32 0, ptr %ended_slot
  br label %prepare_warp
prepare_warp:
  %i = phi i32 [ 0, %cleared_local ], [ %i2, %set_warp ]
{record("i", "is")}\
  call void @llvm.memset.p0.i64(ptr align 64 %is, i8 0, i64 {state_layout.CONDITIONS}, i1 false)
  br i1 %counts_on_zeros, label %clear_warp, label %set_warp
clear_warp:
  call void @llvm.memset.p0.i64(ptr %is, i8 0, i64 {state_layout.STACK}, i1 false)
  %registers = getelementptr i8, ptr %is, i64 {state_layout.REGISTERS}
  call void @llvm.memset.p0.i64(ptr %registers, i8 0, i64 %register_bytes, i1 false)
  br label %set_warp
set_warp:
  %mo = mul i64 %i64, 4
  %mp = getelementptr i8, ptr %masks, i64 %mo
  %m = load i32, ptr %mp
  %ap = getelementptr i8, ptr %is, i64 {state_layout.ACTIVE}
  store i32 %m, ptr %ap
  %ep = getelementptr i8, ptr %is, i64 {state_layout.EXITED}
  %absent = xor i32 %m, -1
  store i32 %absent, ptr %ep
  %entry_slot = getelementptr i8, ptr %ctx, i64 {SLOT["entry"]}
  %entry_pc = load i32, ptr %entry_slot
  %pcp = getelementptr i8, ptr %is, i64 {state_layout.PC}
  store i32 %entry_pc, ptr %pcp
  %np = getelementptr i8, ptr %is, i64 {state_layout.NUMBER}
  store i32 %i, ptr %np
  %ro = mul i64 %i64, 128
  %rp = getelementptr i8, ptr %first_registers, i64 %ro
  %r0 = getelementptr i8, ptr %is, i64 {registers}
  call void @llvm.memcpy.p0.p0.i64(ptr %r0, ptr %rp, i64 128, i1 false)
  %i2 = add i32 %i, 1
  %morewarps = icmp ult i32 %i2, %block_warps
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
{record("w", "ws")}\
  %status_p = getelementptr i8, ptr %ws, i64 {state_layout.STATUS}
  %status = load i32, ptr %status_p
  %ready = icmp eq i32 %status, {state_layout.READY}
  br i1 %ready, label %run, label %skip
run:
{_RUN}  %out = icmp uge i32 %result, {state_layout.STOPPED}
  br i1 %out, label %halt, label %ranone
ranone:
  %finished_now = icmp eq i32 %result, {state_layout.FINISHED}
  %ends_now = and i1 %finished_now, %barriers_there
  br i1 %ends_now, label %endone, label %counted
endone:
  call void {warp_ended}(ptr %ctx)
  br label %counted
counted:
  %waits_now = icmp eq i32 %result, {state_layout.WAITING}
  %waits32 = zext i1 %waits_now to i32
  %held1 = add i32 %held, %waits32
  %ran1 = add i32 %ran, 1
  br label %endwarp
skip:
  %waiting = icmp eq i32 %status, {state_layout.WAITING}
  %waiting32 = zext i1 %waiting to i32
  %held3 = add i32 %held, %waiting32
  br label %endwarp
endwarp:
  %ran2 = phi i32 [ %ran1, %counted ], [ %ran, %skip ]
  %held2 = phi i32 [ %held1, %counted ], [ %held3, %skip ]
  %w2 = add i32 %w, 1
  %next = icmp ult i32 %w2, %block_warps
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
{slot("block_warps", "i32")}{slot("state", "ptr")}{slot("state_bytes")}
  %sum_p = getelementptr i8, ptr %ctx, i64 {SLOT["thread_count"]}
  %sum2_p = getelementptr i8, ptr %ctx, i64 {SLOT["warp_count"]}
  br label %loop
loop:
  %w = phi i32 [ 0, %entry ], [ %w2, %loop ]
{record("w", "ws")}\
  %tp = getelementptr i8, ptr %ws, i64 {state_layout.THREADS}
  %t = load i64, ptr %tp
  %ip = getelementptr i8, ptr %ws, i64 {state_layout.ISSUED}
  %n = load i64, ptr %ip
  %s = load i64, ptr %sum_p
  %s2 = add i64 %s, %t
  store i64 %s2, ptr %sum_p
  %u = load i64, ptr %sum2_p
  %u2 = add i64 %u, %n
  store i64 %u2, ptr %sum2_p
  %w2 = add i32 %w, 1
  %more = icmp ult i32 %w2, %block_warps
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""


def turns(warp_ended: str) -> str:
    """`run_turns(ctx)`: the warps of one block, from the state in memory, until none is ready; returns DONE.

    Unlike in `run_blocks`, a warp that stops does not hold up the others, and one whose turn is over may get another.
    Where the budget ends warps stay interrupted. With the slot `one_round` every warp gets one turn.
    """
    return f"""
define internal i32 @run_turns(ptr %ctx) nounwind noinline {{
entry:
{slot("block_warps", "i32")}{slot("state", "ptr")}{slot("state_bytes")}{slot("stop", "ptr")}{slot("run_warp", "ptr")}\
{slot("paused", "i32")}{slot("one_round", "i32")}{slot("has_barriers", "i32")}{_LIMITS}\
  %more_rounds = icmp eq i32 %one_round, 0
  %barriers_there = icmp ne i32 %has_barriers, 0
  br label %turn
turn:
  br label %warp
warp:
  %w = phi i32 [ 0, %turn ], [ %w2, %endwarp ]
  %some = phi i1 [ false, %turn ], [ %some2, %endwarp ]
{record("w", "ws")}\
  %status_p = getelementptr i8, ptr %ws, i64 {state_layout.STATUS}
  %status = load i32, ptr %status_p
  %ready = icmp eq i32 %status, {state_layout.READY}
  br i1 %ready, label %run, label %endwarp
run:
{_RUN}\
  %ended = icmp eq i32 %result, {state_layout.INTERRUPTED}
  %budget_left = icmp slt i64 %after, %limit
  %over = and i1 %ended, %budget_left
  br i1 %over, label %pause, label %stays
stays:
  %finished_now = icmp eq i32 %result, {state_layout.FINISHED}
  %ends_now = and i1 %finished_now, %barriers_there
  br i1 %ends_now, label %endone, label %endwarp
endone:
  call void {warp_ended}(ptr %ctx)
  br label %endwarp
pause:
  store i32 %paused, ptr %status_p
  br label %endwarp
endwarp:
  %some2 = phi i1 [ %some, %warp ], [ true, %stays ], [ true, %endone ], [ true, %pause ]
  %w2 = add i32 %w, 1
  %next = icmp ult i32 %w2, %block_warps
  br i1 %next, label %warp, label %endturn
endturn:
  %asked = load volatile i32, ptr %stop
  %not_asked = icmp eq i32 %asked, 0
  %on = and i1 %not_asked, %more_rounds
  %again = and i1 %some2, %on
  br i1 %again, label %turn, label %leave
leave:
  ret i32 {DONE}
}}
"""

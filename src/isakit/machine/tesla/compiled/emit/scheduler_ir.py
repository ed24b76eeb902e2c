"""The loop over the blocks of a launch, which prepares the memory and the warps of each: [tesla] 10.

All of it is LLVM IR with the offsets of `state_layout`; how the warps of a block take turns is in `rules.turns`.
"""

from __future__ import annotations

from isakit.engine.llvm import Host, Module, flushing_wrapper
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.state_layout import SLOT, record, slot
from isakit.machine.tesla.rules.turns import Ended

TURNS = 2
"""Value of `fresh` that resumes all warps until each of them needs the host."""
DONE, DEADLOCK, HALTED = (int(e) for e in Ended)
"""Results of `run_blocks`, see `rules.turns`."""


def entry(module: Module, target: Host) -> str:
    """`i32 @enter(ctx, first, last, fresh)`: `run_blocks` in the floating-point environment the code needs."""
    arguments = ["ptr", "i64", "i64", "i32"]
    if target.embedded:
        return flushing_wrapper(module, "enter", "@run_blocks", arguments)
    return (
        "define i32 @enter(ptr %ctx, i64 %first, i64 %last, i32 %fresh) nounwind {\n"
        "  %r = call i32 @run_blocks(ptr %ctx, i64 %first, i64 %last, i32 %fresh)\n  ret i32 %r\n}\n"
    )


def driver(rounds: str, turns: str, tally: str) -> str:
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
  call void {turns}(ptr %ctx)
  ret i32 {DONE}
blocks:
{slot("block_warps", "i32")}{slot("state", "ptr")}{slot("state_bytes")}{slot("shared", "ptr")}{slot("shared_limit")}\
{slot("local", "ptr")}{slot("local_limit")}{slot("header", "ptr")}{slot("header_bytes")}{slot("grid_x")}\
{slot("masks", "ptr")}{slot("first_registers", "ptr")}{slot("barriers", "ptr")}\
{slot("written")}
  %physid_slot = getelementptr i8, ptr %ctx, i64 {SLOT["physid"]}
{slot("physid_all", "ptr")}{slot("physid_period")}{slot("register_bytes")}
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
  store i64 0, ptr %ended_slot
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
  %ended_as = call i32 {rounds}(ptr %ctx)
  %done = icmp eq i32 %ended_as, {int(Ended.DONE)}
  br i1 %done, label %endblock, label %leave
endblock:
  call void {tally}(ptr %ctx)
  %b2 = add i64 %b, 1
  br label %block
all:
  ret i32 {DONE}
leave:
  %b32 = trunc i64 %b to i32
  %b8 = shl i32 %b32, 8
  %code = or i32 %b8, %ended_as
  ret i32 %code
}}
"""

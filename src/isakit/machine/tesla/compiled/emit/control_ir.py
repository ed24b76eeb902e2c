"""Functions of control that code of every kernel calls: the divergence stack, barriers, and locks of shared words.

`support` says how they are named and found.
"""

from __future__ import annotations

from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.state_layout import V1, V32, record, slot
from isakit.machine.tesla.stack import Kind

CONTENDED = -1


def functions() -> str:
    """The IR of all of them."""
    return _stack_and_barriers() + _fan_out() + _locks()


def _stack_and_barriers() -> str:
    """`has_entry`: whether the stack has an entry of a kind; `bar`: arrive at a barrier, and whether to wait.

    `warp_ended`: a warp of the block has finished, which may open barriers. The slot `ended` counts the warps
    that a barrier for all leaves out, `leaves_out` is 1 where it does (see `Choices.barrier_all`).
    """
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
  %o = mul i64 %i64, {state_layout.ENTRY_BYTES}
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
{slot("barriers", "ptr")}{slot("warps", "i32")}{slot("barrier_mask", "i32")}{slot("ended", "i32")}
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
  %everyone = sub i32 %warps, %ended
  %goal = select i1 %none, i32 %everyone, i32 %target
  %some = icmp ne i32 %c2, 0
  %reached = icmp uge i32 %c2, %goal
  %settled = and i1 %some, %reached
  br i1 %settled, label %release, label %look
release:
  call void @open_barrier(ptr %ctx, i32 %number)
  br label %look
look:
  %now = load i32, ptr %counter
  %f1 = lshr i32 %flags, 1
  %wait = trunc i32 %f1 to i1
  %open = icmp ne i32 %now, 0
  %held = and i1 %wait, %open
  ret i1 %held
}}

define internal void @open_barrier(ptr %ctx, i32 %number) nounwind noinline {{
entry:
{slot("barriers", "ptr")}{slot("warps", "i32")}{slot("state", "ptr")}{slot("state_bytes")}
  %n64 = zext i32 %number to i64
  %o = mul i64 %n64, 8
  %counter = getelementptr i8, ptr %barriers, i64 %o
  store i32 0, ptr %counter
  br label %warp
warp:
  %w = phi i32 [ 0, %entry ], [ %w2, %nextwarp ]
{record("w", "ws")}\
  %status_p = getelementptr i8, ptr %ws, i64 {state_layout.STATUS}
  %status = load i32, ptr %status_p
  %barrier_p = getelementptr i8, ptr %ws, i64 {state_layout.BARRIER}
  %barrier = load i32, ptr %barrier_p
  %waits = icmp eq i32 %status, {state_layout.WAITING}
  %here = icmp eq i32 %barrier, %number
  %free = and i1 %waits, %here
  br i1 %free, label %wake, label %nextwarp
wake:
  store i32 {state_layout.READY}, ptr %status_p
  br label %nextwarp
nextwarp:
  %w2 = add i32 %w, 1
  %morewarps = icmp ult i32 %w2, %warps
  br i1 %morewarps, label %warp, label %done
done:
  ret void
}}

define void @warp_ended(ptr %ctx) nounwind noinline {{
entry:
{slot("barriers", "ptr")}{slot("warps", "i32")}{slot("ended", "i32")}{slot("leaves_out", "i32")}
  %ended2 = add i32 %ended, %leaves_out
  store i32 %ended2, ptr %ended_p
  %everyone = sub i32 %warps, %ended2
  %all = load {V32}, ptr %barriers, align 4
  %some = icmp ne {V32} %all, zeroinitializer
  %some32 = bitcast {V1} %some to i32
  %counted = and i32 %some32, {0x55555555}
  %none = icmp eq i32 %counted, 0
  br i1 %none, label %done, label %barrier
barrier:
  %n = phi i32 [ 0, %entry ], [ %n2, %next ]
  %n64 = zext i32 %n to i64
  %o = mul i64 %n64, 8
  %counter = getelementptr i8, ptr %barriers, i64 %o
  %target_p = getelementptr i8, ptr %counter, i64 4
  %count = load i32, ptr %counter
  %target = load i32, ptr %target_p
  %arrived = icmp ne i32 %count, 0
  %for_all = icmp eq i32 %target, 0
  %enough = icmp uge i32 %count, %everyone
  %both = and i1 %arrived, %for_all
  %opens = and i1 %both, %enough
  br i1 %opens, label %open, label %next
open:
  call void @open_barrier(ptr %ctx, i32 %n)
  br label %next
next:
  %n2 = add i32 %n, 1
  %more = icmp ult i32 %n2, 16
  br i1 %more, label %barrier, label %done
done:
  ret void
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
  %depth_p = getelementptr i8, ptr %ws, i64 {state_layout.DEPTH}
  %depth = load i32, ptr %depth_p
  %stack = getelementptr i8, ptr %ws, i64 {state_layout.STACK}
  br i1 %alone, label %go, label %check
check:
  %room = icmp ule i32 %depth, {state_layout.STACK_ENTRIES - 32}
  %empty = icmp eq i32 %depth, 0
  %top = sub i32 %depth, 1
  %top0 = select i1 %empty, i32 0, i32 %top
  %top64 = zext i32 %top0 to i64
  %top_o = mul i64 %top64, {state_layout.ENTRY_BYTES}
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
  %o = mul i64 %d64, {state_layout.ENTRY_BYTES}
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
  %active_p = getelementptr i8, ptr %ws, i64 {state_layout.ACTIVE}
  store i32 %group.go, ptr %active_p
  %pc_p = getelementptr i8, ptr %ws, i64 {state_layout.PC}
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

    def hits(held: str) -> str:
        """`%hits`: the lanes whose word is the one of the number `%held`; `%numbers` are those of all words."""
        return f"""
  %words = lshr {V32} %at, splat (i32 2)
  %numbers = add {V32} %words, splat (i32 1)
  %one = insertelement {V32} poison, i32 %{held}, i64 0
  %all = shufflevector {V32} %one, {V32} poison, {V32} zeroinitializer
  %same = icmp eq {V32} %numbers, %all
  %same32 = bitcast {V1} %same to i32
  %hits = and i32 %same32, %lanes
  %some = icmp ne i32 %hits, 0"""

    return f"""
define i32 @lock(ptr %ctx, ptr %ws, {V32} %at, i32 %lanes) nounwind noinline {{
entry:
{slot("warps", "i32")}{slot("state", "ptr")}{slot("state_bytes")}
  %own = getelementptr i8, ptr %ws, i64 {state_layout.LOCK}
  %mine = load i32, ptr %own
  %holds = icmp ne i32 %mine, 0
  %nobody = icmp eq i32 %lanes, 0
  %vain = or i1 %holds, %nobody
  br i1 %vain, label %none, label %warp
warp:
  %w = phi i32 [ 0, %entry ], [ %w2, %next ]
{record("w", "other")}\
  %held_p = getelementptr i8, ptr %other, i64 {state_layout.LOCK}
  %held = load i32, ptr %held_p{hits("held")}
  br i1 %some, label %contended, label %next
next:
  %w2 = add i32 %w, 1
  %more = icmp ult i32 %w2, %warps
  br i1 %more, label %warp, label %take
take:
  %k = call i32 @llvm.cttz.i32(i32 %lanes, i1 false)
  %k31 = and i32 %k, 31
  %number = extractelement {V32} %numbers, i32 %k31
  store i32 %number, ptr %own
  %bit = shl i32 1, %k31
  ret i32 %bit
contended:
  ret i32 {CONTENDED}
none:
  ret i32 0
}}

define void @unlock(ptr %ws, {V32} %at, i32 %lanes) nounwind noinline {{
  %own = getelementptr i8, ptr %ws, i64 {state_layout.LOCK}
  %held = load i32, ptr %own{hits("held")}
  %left = select i1 %some, i32 0, i32 %held
  store i32 %left, ptr %own
  ret void
}}
"""

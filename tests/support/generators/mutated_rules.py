"""Programs whose results show the rules of control, run before and while a rule has another text."""

from __future__ import annotations

import os
import struct
from typing import Any

import numpy as np

from isakit.errors import MachineFault
from isakit.machine.tesla.choices import DEFAULT, Choices
from isakit.machine.tesla.rules import accesses, barriers, blocks, interpreter, locks, stack, turns
from isakit.sem.routine import Routine
from support.runners.compiled import compiled_device

STORE = """
shl b32 $r2 $r0 0x2
add b32 $r3 b32 s[0x10] $r2
st b32 g14[$r3] $r1
exit nop
"""
HALF = "mov b32 $r2 0x8\nset $c0 # l u32 $r0 $r2\nmov b32 $r1 0x0\nmov b32 $r4 0x1\n"
SEEN = "add b32 $r1 $r1 $r4\n"
"""Counts in $r1 the lanes that come past."""

PROGRAMS = {
    "order": HALF + "mov b32 $r5 b32 s[0x10]\njoinat #end\n(l $c0) bra #other\nst b32 g14[$r5] $r4\nmov b32 $r6 0x1\n"
    "bra #end\nother:\nld b32 $r1 g14[$r5]\nbra #end\nend:\njoin nop\n" + STORE,
    "join": HALF + "joinat #end\n(l $c0) bra #end\n" + SEEN + "end:\njoin nop\n" + SEEN + STORE,
    "early": HALF + "joinat #end\n(l $c0) bra #other\n" + SEEN + "other:\njoin nop\n" + SEEN + "end:\njoin nop\n"
    + SEEN + STORE,
    "call": HALF + "call #f\n" + SEEN + STORE + "f:\n" + SEEN + "(l $c0) ret\n" + SEEN + "ret\n",
    "break": HALF + "breakaddr #end\n(l $c0) break\n" + SEEN + "break\nend:\n" + SEEN + STORE,
    "quads": HALF + "(l $c0) bra #go\nexit nop\ngo:\n"
    "and b32 $c1 # $r0 $r4\njoinat #end\n(e $c1) bra #end\nquadon\n"
    "mov b32 $r1 0x5\nquadpop\nend:\njoin nop\n" + STORE,
    "end": HALF + "joinat #end\n(l $c0) bra #end\nexit nop\nend:\njoin nop\n" + SEEN + STORE,
    "return": HALF + "preret #back\n(l $c0) ret\n" + SEEN + "ret\nback:\n" + SEEN + STORE,
    "inner call": HALF + "breakaddr #end\ncall #f\nf:\nbreak\nend:\n" + SEEN + STORE,
    "inside quads": HALF + "quadon\njoinat #end\nend:\njoin nop\nquadpop\n" + SEEN + STORE,
    "breakpoint": HALF + "(l $c0) brkpt\n" + SEEN + STORE,
    "early end": HALF + "mov b32 $r2 0x20\nset $c1 # ge u32 $r0 $r2\n(lg $c1) ret\nbar inc wait 0x0 0xfff\n" + SEEN
    + STORE,
    "no barrier": HALF + "bar inc wait 0x1 0xfff\n" + SEEN + STORE,
    "out of quads": HALF + "quadon\nquadpop\n" + SEEN + STORE,
    "odd address": HALF + "mov b32 $r5 0x46\nshl $a1 $r5 0x0\nst b32 s[$a1] $r4\nmov b32 $r5 0x40\nshl $a1 $r5 0x0\n"
    "ld $r1 b32 s[$a1]\n" + STORE,
    "indirect": HALF + "and b32 $r5 $r0 $r4\nshl $a1 $r5 0x2\njoinat #met\nbra c1[$a1]\nfirst:\n" + SEEN + "second:\n"
    + SEEN + "met:\njoin nop\n" + STORE,
    "barrier": HALF + SEEN + "bar inc wait 0x0 0xfff\n" + SEEN + STORE,
    "turns": HALF + "st b32 s[0x40] $r1\n(l $c0) st b32 s[0x40] $r4\nbar inc wait 0x0 0xfff\nld $r1 b32 s[0x40]\n"
    + STORE,
    "lock": HALF + "mov b32 $r5 0x0\nmov b32 $r6 0x0\nst b32 s[0x40] $r5\nshl $a1 $r5 0x0\njoinat #done\n"
    "again:\nld lock $c1 $r6 b32 s[$a1+0x40]\n(l $c1) add b32 $r6 $r6 $r4\n(l $c1) st unlock b32 s[$a1+0x40] $r6\n"
    "(geu $c1) bra #again\ndone:\njoin nop\nld $r1 b32 s[$a1+0x40]\n" + STORE,
    "access": HALF + "shl b32 $r5 $r0 0x2\nshl $a1 $r5 0x0\nst b32 s[$a1+0x40] $r4\nand b32 $r5 $r5 0x4\n"
    "shl $a1 $r5 0x0\nld $r1 b32 s[$a1+0xb8]\n" + STORE,
}  # fmt: skip
"""Their last words are in a buffer: a number per thread."""

MUTATIONS: dict[str, tuple[str, Routine[Any, Any], str, str]] = {
    "which side goes first": ("order", stack.diverge, 'choices.first == "taken"', 'choices.first != "taken"'),
    "who is active after a join": ("join", stack.join, "lanes = live(w, entry.mask)",
                                    "lanes = live(w, entry.mask) & 0xFFFF"),
    "what an early join waits for": ("early", stack.join, "entry.pc > here", "entry.pc > here + 64"),
    "who comes back from a call": ("call", stack.unwind,
                                   "w.returned &= ~entry.mask", "w.returned &= ~(entry.mask & 15)"),
    "who is called": ("call", stack.call, "following, w.active, choices", "following, w.active & 0xFFFF, choices"),
    "who returns": ("call", stack.ret, "w.returned |= lanes", "w.exited |= lanes"),
    "who breaks": ("break", stack.brk, "w.broke |= lanes", "w.exited |= lanes"),
    "who comes out of a loop": ("break", stack.unwind, "w.broke &= ~entry.mask", "w.broke &= ~(entry.mask & 255)"),
    "what is pushed": ("join", stack.push, "entry.mask = mask", "entry.mask = mask & 0xFFFFF"),
    "which lanes are live": ("join", stack.live, "w.exited)", "w.exited | 1)"),
    "what makes a quad whole": ("quads", stack.quadon, "whole * 15", "whole * 7"),
    "when a barrier opens": ("barrier", barriers.open_if_reached, "barrier.count >= target", "barrier.count > target"),
    "what arrives": ("barrier", barriers.arrive, "= 0 if count == ALL", "= 3 if count == ALL"),
    "when a turn ends": ("turns", turns.meets, "!= 0 and", "== 1 << 20 and"),
    "who has the next turn": ("turns", turns.next_in_turn, "k = block.turn + n", "k = 0 + n"),
    "what is left of a turn": ("turns", turns.end_turn, "block.turn = k + 1", "block.turn = k"),
    "who gets a lock": ("lock", locks.try_lock, "first = free & -free", "first = free"),
    "which lanes begin": ("join", blocks.begin_warp, "w.active = lanes", "w.active = lanes & 0xFFFFF"),
    "what else is pushed by a joinat": ("join", stack.joinat, "target, w.active", "target, w.active & 0xFFFF"),
    "what is pushed for a loop": ("break", stack.prebrk, "target, w.active", "target, w.active & 0xFFFF"),
    "what is pushed for a return": ("return", stack.preret, "target, w.active", "target, w.active & 0xFFFF"),
    "who ends": ("end", stack.exit_warp, "w.exited |= w.active", "w.exited |= w.active & 0x100"),
    "who comes out of quads": ("out of quads", stack.quadpop, "w.active = entry.mask", "w.active = entry.mask & 0xF"),
    "what is forbidden between quads": ("inside quads", stack.not_between_quads, "w.depth != 0", "w.depth > 1"),
    "how many entries there are": ("break", stack.entries_of, "found += 1", "found += 0"),
    "which entry is the nearest": ("inner call", stack.nearest_of, "!= Kind.BRANCH", "== Kind.BREAK"),
    "where lanes go that go apart": ("indirect", stack.branch_indirect, "push(w, Kind.BRANCH, targets[last]",
                                     "push(w, Kind.BRANCH, targets[lowest(lanes)]"),
    "what a breakpoint is": ("breakpoint", stack.breakpoint_hit, "lanes != 0", "lanes == 0"),
    "who everyone is": ("early end", barriers.everyone, "block.block_warps - block.ended if", "block.block_warps if"),
    "what a warp that ends leaves": ("early end", barriers.warp_ended, "block.ended += 1", "block.ended += 0"),
    "which barriers there are": ("no barrier", barriers.missing, ">= block", "> block"),
    "when a lock is released": ("lock", locks.unlock, "w.lock = 0", "w.lock = w.lock"),
    "what is misaligned": ("odd address", accesses.misaligned, "size - 1", "(size >> 1) - 1"),
    "which address is meant": ("odd address", accesses.aligned, "size - 1", "(size << 1) - 1"),
    "what is inside": ("access", accesses.outside, "address > limit - size", "address >= limit - size"),
}  # fmt: skip
"""(program, rule, its text, another text)."""
ANSWERS = {
    "which entry is the nearest": Choices(wrong_entry="fault"),
    "which address is meant": Choices(misaligned="truncate"),
}
"""Choices with which a rule is asked."""
HELD_OTHERWISE: dict[str, str] = {
    "jump remain branch": "kernels have special versions: test_specialised_control compares them with the rule",
    "in_buffers within": "kernels have a special version, which test_specialised_control compares with the rule; the"
    " reference machine looks in all buffers at once (device_memory)",
    "discard": "only fragments ask: unit/graphics/test_graphics_engines",
    "beyond beyond_rows in_rows": "only windows ask: property/test_accesses, unit/machine/tesla/test_memory",
    "begin_block begin_memory next_block run_blocks take_turn run_rounds run_turns tally": "how compiled code runs"
    " blocks and gives warps their turns; test_warp_order compares that with the reference machine",
    "count size_at leave interpret stop_here serve_here": "the interpreter's own loop",
}
"""Rules that no mutation here changes on every engine, and why."""
WAYS: dict[str, dict[str, Any] | None] = {"reference": None, "interp": {"tier": "interp"}, "jit": {"tier": "jit"}}


def rules() -> set[str]:
    """The names of all rules."""
    modules = (accesses, barriers, blocks, interpreter, locks, stack, turns)
    return {x.name for m in modules for x in vars(m).values() if isinstance(x, Routine)}


def outcome(text: str, way: dict[str, Any] | None, choices: Choices) -> list[int] | str:
    """The numbers that a program leaves, or its fault."""
    import isakit

    device = isakit.Device("gt200", engine="reference", choices=choices)
    if way is not None:
        device = compiled_device(way, "gt200", choices=choices)
    out = np.zeros(64, np.uint32)
    buffer = device.alloc(out.nbytes)
    device.write(buffer, out)
    program = isakit.isa("tesla", "gt200").assemble(text)
    kernel = device.load(list(program.words), registers=8, shared=0xB0, barriers=1)["main"]
    if "c1[" in text:
        places = [i.address for i in program if i.text == "add b32 $r1 $r1 $r4"]
        kernel.constants[1] = struct.pack("<2I", *places[:2])
    try:
        kernel.launch(1, 64 if "bar " in text else 32, param_bytes=np.uint32(buffer.address).tobytes(),
                      max_instructions=20_000)  # fmt: skip
    except MachineFault as e:
        return e.kind
    return device.read(buffer, np.uint32, 64).tolist()


def outcomes(name: str) -> dict[str, tuple[list[int] | str, list[int] | str]]:
    """Per way: what the program of a mutation leaves with the rule, and with its other text."""
    os.environ["ISAKIT_CACHE"] = "off"
    program, rule, old, new = MUTATIONS[name]
    found: dict[str, Any] = {}
    choices = ANSWERS.get(name, DEFAULT)
    before = {n: outcome(PROGRAMS[program], way, choices) for n, way in WAYS.items()}
    with rule.rewritten(old, new):
        for n, way in WAYS.items():
            found[n] = before[n], outcome(PROGRAMS[program], way, choices)
    return found

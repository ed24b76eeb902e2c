"""Random vµc programs, run before and while a rule of the core has another text."""

from __future__ import annotations

import os
import random
from typing import Any

import isakit
from isakit.errors import MachineFault, NotModelled
from isakit.machine.vuc.rules import cycle, flow, specials, writes
from isakit.sem.routine import Routine
from isakit.vuc import Core, Options
from support.generators.vuc_programs import everything, pair, program

CYCLES, PROGRAMS = 300, 40
MUTATIONS: dict[str, tuple[str, Routine[Any, Any], str, str]] = {
    "what follows an instruction": ("vp3", cycle.begin, "core.npc + 1", "core.npc + 2"),
    "what issues after a branch": ("vp3", cycle.end, "core.pc = core.npc", "core.pc = core.target"),
    "when writes are looked for": ("vp3", cycle.end, "core.due <= now", "core.due < now"),
    "where a branch goes": ("vp3", flow.branch, "core.target = target", "core.target = target ^ 1"),
    "when the relative slot branches": ("vp2", flow.relative, "core.pred[number] != negated",
                                        "core.pred[number] == negated"),
    "where the relative slot goes": ("vp2", flow.relative, "core.pc + distance", "core.pc + distance + 1"),
    "where a call comes back": ("vp3", flow.call, "core.pc + options", "core.pc + 1 + options"),
    "where a return goes": ("vp3", flow.ret, "address & ADDRESS_MASK", "address & 15"),
    "what is on the call stack": ("vp3", flow.push_call, "core.depth] = value", "core.depth] = value ^ 1"),
    "what is taken off the call stack": ("vp3", flow.pop_call, "return core.calls[core.depth]", "return core.calls[7]"),
    "when a load lands": ("vp3", writes.write_register, "enter(core, lands, lands", "enter(core, lands + 1, lands"),
    "when a special register is visible": ("vp3", writes.write_special, "lands + 1, lands", "lands + 2, lands"),
    "when the accumulator is visible": ("vp3", writes.write_long, "enter(core, lands, lands, Kind.A",
                                        "enter(core, lands + 2, lands, Kind.A"),
    "when $lhi is visible": ("vp3", writes.write_long, "enter(core, lands + 1", "enter(core, lands + 2"),
    "what the long unit drops": ("vp3", writes.write_long, "long_lands > core.cycle", "long_lands > core.cycle + 64"),
    "who wins a register": ("vp3", writes.land, "kept >> entry.index & 1 == 0", "kept >> entry.index & 1 != 2"),
    "what lands first": ("vp3", writes.enter, "other.visible < visible", "other.visible > visible"),
    "what $pred shows": ("vp3", specials.predicates, "core.lagging == core.cycle", "core.lagging != core.cycle"),
    "which predicates were before": ("vp3", specials.remember_predicates, "core.cycle + 1", "core.cycle + 2"),
    "who wins a predicate": ("vp3", specials.set_predicates, "own | FIXED", "FIXED"),
    "what $pred shows of a write": ("vp3", specials.land_predicates, "own != 0", "own == 3"),
    "which vector $spidx chooses": ("vp3", specials.special, "16 * (number - VECTORS) + (core.plain[SPIDX] & 15)",
                                    "16 * (number - VECTORS) + (core.plain[SPIDX] & 7)"),
    "what $spidx holds": ("vp3", specials.set_special, "value & 15", "value & 7"),
    "what a write of $lhi sets": ("vp3", specials.set_special, "core.accumulator[0] & 0xFFFF | value << 16",
                                  "core.accumulator[0] & 0xFFFF"),
}  # fmt: skip
"""(variant, rule, its text, another text)."""

HELD_OTHERWISE = {"land_special": "chooses the rule for a register: land_predicates and set_special are changed"}
"""Rules that no mutation changes, and why."""


def rules() -> set[str]:
    """The names of all rules."""
    return {x.name for m in (cycle, flow, specials, writes) for x in vars(m).values() if isinstance(x, Routine)}


SPECIALISED = ("what follows an instruction", "what issues after a branch", "where a branch goes")
"""Rules that `Core._hurry` has a special version of."""
FIRST = {"where a return goes": 33, "what is taken off the call stack": 32, "what the long unit drops": 5,
         "who wins a register": 19}  # fmt: skip
"""Programs that show a rule, where the first ones do not."""


LANDING = "\n".join(
    line
    for between in range(6)
    for line in (
        *("mov $r1 0x4", "mov $r4 0x0", "setgt $p3 $r1 0x0", "nop", "mov $pred $r4", *["nop"] * between),
        *("setgt $p2 $r1 0x0", f"add $r{5 + between} $pred 0x0", "$p2 add $r11 $r11 0x1", "nop"),
    )
)
"""$pred is written so many instructions before one that writes a predicate itself; both are read after it."""
WRITTEN = {"who wins a predicate": LANDING, "what $pred shows of a write": LANDING}
"""Programs for rules that hardly any random one shows."""


def finished(core: Core) -> dict[str, Any]:
    """What a program leaves after some cycles, or when it faults."""
    fault = ""
    try:
        core.run(CYCLES)
    except (MachineFault, NotModelled) as e:
        fault = str(e)
    return everything(core) | {"fault": fault}


def outcome(variant: str, seed: int, text: str = "") -> tuple[list[Any], int]:
    """What a program leaves on both engines, and how many cycles compiled code did."""
    rnd = random.Random(f"{variant} {seed}")
    words = assembled(variant, text) if text else program(rnd, variant, tame=seed % 2 == 0)
    cores = pair(variant, words, rnd, Options(unknown_ops="ignore"), "llvm")
    return [finished(core) for core in cores], cores[1].accelerator.__self__.native_cycles


def assembled(variant: str, text: str) -> list[int]:
    """The words of a program, which ends in a loop."""
    return list(isakit.isa("vuc", variant).assemble(f"{text}\nend: bra #end\nnop").words)


def outcomes(name: str) -> dict[str, Any]:
    """Of the first program that a mutation changes: what it leaves on both engines, before and then."""
    os.environ["ISAKIT_CACHE"] = "off"
    variant, rule, old, new = MUTATIONS[name]
    for seed in range(FIRST.get(name, 0), PROGRAMS):
        before, _ = outcome(variant, seed, WRITTEN.get(name, ""))
        with rule.rewritten(old, new):
            then, compiled = outcome(variant, seed, WRITTEN.get(name, ""))
        if then[0] != before[0] and compiled:
            return {"seed": seed, "before": before, "then": then}
    return {"seed": None}

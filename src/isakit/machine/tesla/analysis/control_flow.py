"""The control flow of a kernel as compiled code needs it: instructions, blocks, liveness, limits."""

from __future__ import annotations

from isakit.arch.tesla import requests as request
from isakit.lean import cached_property
from isakit.machine.tesla.analysis.kernel_steps import (
    CLOCKS,
    CONTROLS,
    HOST,
    NotCompiled,
    RegisterKey,
    Sample,
    Step,
    StepMeaning,
    fixed_number,
    guard_of,
    is_lowered,
    is_sampled,
    meaning_of,
    registers_read,
    sample_of,
)
from isakit.machine.tesla.analysis.liveness import KernelLiveness, StepBlocks
from isakit.machine.tesla.choices import DEFAULT, Choices
from isakit.machine.tesla.kernel_code import Code, Op
from isakit.sem.semantics import trace_of
from isakit.sem.value import uniform_number

MAX_INSTRUCTIONS = 20_000
OUTPUTS = 128
"""Words of o[]."""


class Flow:
    """All instructions reachable from the entry, by address, and their successors.

    `leaders` start a block; `resumable` are the addresses at which a warp may resume: pushed targets, the path not
    taken of divergent branches, the instructions after barriers, calls and served instructions. `controls` are the
    names of the kernel's control actions. `results` are registers that are read when the program has ended. With
    indirect branches, which can go anywhere, it has all instructions of the code, and their successors are unknown.
    """

    def __init__(
        self, code: Code, entry: int, results: frozenset[RegisterKey] = frozenset(), choices: Choices = DEFAULT
    ) -> None:
        self.code, self.entry, self.results, self.choices = code, entry, results, choices
        self.steps: dict[int, Step] = {}
        self.leaders: set[int] = {entry}
        self.resumable = set[int]()
        self._explore(entry)
        if any(s.control == "bra_indirect" for s in self.steps.values()):
            pc = code.address
            while pc < code.end:
                self._explore(pc)
                pc = code.at(pc).following
        self.order = sorted(self.steps)
        self.controls = {s.control for s in self.steps.values()}
        self.leaders &= self.steps.keys()
        self.resumable &= self.steps.keys()

    @cached_property
    def looping(self) -> frozenset[int]:
        """Addresses inside of loops, as far as backward jumps tell: where faster but larger code pays."""
        out = set[int]()
        first = self.order[-1] + 1
        for pc in reversed(self.order):
            first = min([first, *self.steps[pc].successors])  # where the jumps from here on go back to
            if first <= pc:
                out.add(pc)
        return frozenset(out)

    def _explore(self, entry: int) -> None:
        todo = [entry]
        while todo:
            pc = todo.pop()
            if pc in self.steps:
                continue
            if len(self.steps) >= MAX_INSTRUCTIONS:
                raise NotCompiled(f"more than {MAX_INSTRUCTIONS} instructions")
            step = self.steps[pc] = self._step(self.code.at(pc))
            todo += self._follow(step)

    def _step(self, op: Op) -> Step:
        i = op.instruction
        if op.error is not None or op.missing is not None or i is None or i.form is None:
            return Step(op, 0, None)
        trace = trace_of(i.form, i.word)
        meaning = meaning_of(trace)
        step = Step(op, i.word, trace)
        if "guard" in i.form.control and not op.never:
            step.guard = guard_of(i.form, i.word)
        requests = list(meaning.requests)
        if requests:
            if len(requests) > 1 or requests[0].name not in CONTROLS:
                return Step(op, 0, None)
            step.control = requests[0].name
            step.served = CONTROLS[step.control] is HOST
            ends = step.control == "discard" and self.choices.discarded == "end"
            step.leaves = ends or step.control in ("ret", "brk")
            if request.REQUESTS.controls[step.control].target:
                step.target = uniform_number(requests[0].args[0], i.word)
        if not meaning.plain:
            return Step(op, 0, None)
        asked = [n for n in meaning.machine if not is_lowered(n, i.word)]
        step.sampled = not step.served and bool(asked) and all(is_sampled(n) for n in asked)
        step.served |= bool(asked)
        step.once = meaning.once
        if (step.once or step.served) and op.join and self.choices.join == "after":
            return Step(op, 0, None)  # where the join faults after it, it must not be executed again
        step.parks = self._parks(step)
        self._places(step, meaning)
        return step

    def _parks(self, step: Step) -> frozenset[int]:
        """Return the addresses at which lanes continue through the entry an instruction pushes: see `rules.stack`."""
        following, target = step.op.following, step.target
        if step.control == "call":
            return frozenset({following})
        if target is None:
            return frozenset()
        if step.control == "bra":
            waiting = following if self.choices.first == "taken" else target
            return frozenset({waiting}) if step.conditional else frozenset()
        if step.control == "joinat" and self.choices.join == "after":
            return frozenset({target, target + self.code.size_at(target)})
        return frozenset({target} if step.control in ("prebrk", "joinat", "preret") else ())

    @staticmethod
    def _places(step: Step, meaning: StepMeaning) -> None:
        dropped = step.op.dropped and not step.control  # it does nothing at all
        for n in (*(() if dropped else meaning.reads), *(() if step.guard is None else registers_read(step.guard))):
            if not n.args[0].uniform:
                raise NotCompiled(f"a register numbered by a lane value at {step.pc:#x}")
            step.reads.add((n.attr, uniform_number(n.args[0], step.word)))
        for e in () if dropped else meaning.writes:
            place = e.name, uniform_number(e.args[0], step.word)
            if e.name == "o":
                continue  # outputs of a stage are memory
            step.writes.add(place)
            if step.conditional or e.when is not None:
                step.reads.add(place)

    def _follow(self, step: Step) -> list[int]:
        op, out = step.op, step.successors
        if op.join:
            self.leaders.add(op.pc)
            self.resumable.add(op.pc)
        if step.trace is None:
            self.leaders.add(op.pc)
            return []
        c = step.control
        if step.served:
            self.leaders |= {op.pc, op.following}
            self.resumable.add(op.following)
        if step.target is not None:
            self.leaders.add(step.target)
            out.append(step.target)
        self.leaders |= step.parks
        self.resumable |= step.parks
        ends = ((c == "bra" or step.leaves) and not step.conditional) or c == "trap"
        ends = ends or (op.exit and c != "bra") or c == "bra_indirect"
        if c or op.exit or op.join:
            self.leaders.add(op.following)
        if op.join and self.choices.join == "after":
            self.resumable.add(op.following)
        if c in ("bar", "call", "quadon", "quadpop") or (c == "bra" and step.conditional):
            self.resumable.add(op.following)
        if not ends:
            out.append(op.following)
        return out

    # --- what is known of registers and waiting lanes, computed on demand -----------------------------------
    @cached_property
    def blocks(self) -> StepBlocks:
        """The basic blocks."""
        return StepBlocks(self.entry, self.order, self.steps, self.leaders)

    @cached_property
    def _liveness(self) -> KernelLiveness:
        return KernelLiveness(
            self.blocks, self.resumable, self.places, self.results, inactive_lanes_are_seen=self.has_quads
        )

    @property
    def waiting(self) -> dict[int, frozenset[int]]:
        """Resumable addresses at which lanes may wait while the instruction at an address is executed."""
        return self._liveness.waiting

    @property
    def live(self) -> dict[int, frozenset[RegisterKey]]:
        """Registers that may still be read, before each instruction, for any lane.

        Where compiled code stops and the reference machine continues, any of them may be read.
        """
        return self._liveness.live

    def after(self, s: Step) -> list[int]:
        """Return the addresses at which a lane may continue after an instruction, by itself or through the stack."""
        return [*s.successors, *(self.waiting[s.pc] | s.parks if s.transfers else ())]

    def parked(self, pc: int) -> frozenset[RegisterKey]:
        """Return the registers that lanes waiting on the stack while `pc` is executed may still read."""
        waiting = self.waiting[pc]
        known = self._parked.get(waiting)
        if known is None:
            known = self._parked[waiting] = frozenset[RegisterKey]().union(*(self.live[r] for r in waiting))
        return known

    @cached_property
    def _parked(self) -> dict[frozenset[int], frozenset[RegisterKey]]:
        return {}

    @cached_property
    def places(self) -> set[RegisterKey]:
        """All registers the kernel names."""
        out: set[RegisterKey] = set()
        for s in self.steps.values():
            out |= s.reads | s.writes
        return out

    @property
    def restarts(self) -> set[int]:
        """The addresses at which warps that waited at a barrier or for the host resume, which may end a path."""
        if self.has_served:
            return self.resumable & self.steps.keys()
        behind = {s.op.following for s in self.steps.values() if s.control == "bar"}
        return behind & self.steps.keys()

    @cached_property
    def has_quads(self) -> bool:
        """True if registers of inactive lanes are observable: by their quads, or in the results."""
        return bool(self.results) or any(
            n.attr[0] == "quad" or (n.attr[0] == "tex" and dict(n.attr[1])["quads"])
            for s in self.steps.values()
            if s.trace is not None
            for n in meaning_of(s.trace).machine
        )

    @cached_property
    def reads_clock(self) -> bool:
        """True if the kernel can tell how many instructions it has executed."""
        return any(
            n.attr[0] == "sr" and dict(n.attr[1])["n"] in CLOCKS
            for s in self.steps.values()
            if s.trace is not None
            for n in meaning_of(s.trace).machine
        )

    def may_wait(self, step: Step, target: int) -> bool:
        """Return true if the loop that a backward jump closes may spin until another warp has written something."""
        inside = (s for pc, s in self.steps.items() if target <= pc <= step.pc)
        return any(s.control == "call" or (s.trace and s.trace.of_kind("load", "atomic")) for s in inside)

    @cached_property
    def stored(self) -> set[str]:
        """Spaces the kernel stores to."""
        return {e.name for s in self.steps.values() if s.trace for e in s.trace.of_kind("store", "atomic")}

    @cached_property
    def accesses(self) -> int:
        """Loads, stores and atomics of the kernel."""
        return sum(len(s.trace.of_kind("load", "store", "atomic")) for s in self.steps.values() if s.trace)

    @cached_property
    def has_loops(self) -> bool:
        """True if the kernel has a backward jump."""
        return "bra_indirect" in self.controls or any(n <= s.pc for s in self.steps.values() for n in s.successors)

    @cached_property
    def leaves(self) -> bool:
        """True if there are instructions that compiled code leaves to the reference machine."""
        return any(s.trace is None for s in self.steps.values())

    @cached_property
    def has_served(self) -> bool:
        """True if the host must execute some of the instructions."""
        return any(s.served for s in self.steps.values())

    @cached_property
    def needs_host(self) -> bool:
        """True if there are instructions that only the host can execute."""
        return any(s.served and not s.sampled for s in self.steps.values())

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """The queries of the sampled instructions to the texture unit."""
        return tuple(sample_of(s) for s in self.steps.values() if s.sampled)

    @cached_property
    def varyings(self) -> set[tuple[int, bool, bool]]:
        """(word, flat, centroid) of the inputs that compiled code reads."""
        out: set[tuple[int, bool, bool]] = set()
        for s in self.steps.values():
            for n in meaning_of(s.trace).machine if s.trace is not None and not s.served else ():
                if n.attr[0] == "interp":
                    facts, address = dict(n.attr[1]), fixed_number(n.args[0], s.word)
                    if address is not None:
                        out.add((address >> 2, facts["flat"], facts["centroid"]))
        return out

    @cached_property
    def outputs(self) -> int:
        """Number of words of o[], from the first on, that the kernel may write."""
        if self.leaves or "o" in self.stored:
            return OUTPUTS
        writes = ((e, s.word) for s in self.steps.values() if s.trace is not None for e in meaning_of(s.trace).writes)
        return 1 + max((uniform_number(e.args[0], word) for e, word in writes if e.name == "o"), default=-1)

    @cached_property
    def has_atomics(self) -> bool:
        """True if the order of blocks is observable in results."""
        return any(s.trace is not None and s.trace.of_kind("atomic") for s in self.steps.values())

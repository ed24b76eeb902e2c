"""Launches on Tesla: one block after the other, each warp until it waits or ends, on compiled code between stops.

If blocks may wait for each other, as many are resident as on the chip, the reference machine executes them, and a warp
that has executed `TURN` instructions yields to the next one.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from isakit.asm import Program
from isakit.debug.execution import Ended, Execution, Frame, Hit, Point, SavedState
from isakit.debug.expressions import Node
from isakit.debug.tesla_conditions import LoweredCondition, add_condition, lowered
from isakit.engine.llvm import LlvmModule
from isakit.errors import LaunchError
from isakit.machine.tesla.block import READY, ThreadBlock, Warp
from isakit.machine.tesla.launch import Launch
from isakit.machine.tesla.machine import Machine
from isakit.machine.tesla.stack import Kind
from isakit.machine.tesla.tesla_target import TeslaTarget

TURN = 512
"""Instructions after which a warp that may wait for another block yields."""
KEPT = 16
"""Sets of points whose code is kept."""
_MEANINGS = {
    Kind.BRANCH: "the branch's other side, which waits",
    Kind.JOINAT: "where diverged lanes meet again",
    Kind.CALL: "where the call returns to",
    Kind.LIMITED_CALL: "where the call returns to",
    Kind.BREAK: "where lanes go that break out",
    Kind.QUADON: "lanes active before `quadon`",
}


class TeslaExecution(Execution):
    """A launch, from a machine that has not begun. It has its own machine, which shares the device's memory.

    `compiled` tells whether compiled code runs between stops.
    """

    def __init__(self, machine: Machine, program: Program, *, compiled: bool = True) -> None:
        if machine.stats.warp_instructions:
            raise LaunchError("a session begins with a launch that has not executed anything")
        self.given = machine
        together = self._blocks_wait(machine.launch)
        self.machine = machine.again(machine.launch.resident_blocks if together else 1)
        self.target, self.program = TeslaTarget(self.machine), program
        self._current = 0
        self._sub = 0
        self._mark = (-1, 0, 0)  # block, what it had issued, position
        self._fast: Any = None
        self._made: dict[Hashable, tuple[object, list[bool]]] = {}
        self.why_slow = "" if compiled else "it was not asked for"
        if together:
            self.turn, self.why_slow = TURN, "its blocks may wait for each other"
        self.compiled = compiled and not together and self._make_fast()

    @staticmethod
    def _blocks_wait(launch: Launch) -> bool:
        from isakit.machine.tesla.analysis.kernel_steps import NotCompiled
        from isakit.machine.tesla.analysis.known_flow import may_wait_for_blocks

        try:
            return may_wait_for_blocks(launch)
        except NotCompiled:
            return False

    def _make_fast(self) -> bool:
        from isakit.runtime.engine_choice import unusable

        reason = unusable() if type(self.machine) is Machine else "it is a graphics stage"
        if reason is None:
            from isakit.machine.tesla.analysis.kernel_steps import NotCompiled
            from isakit.machine.tesla.compiled.launch.probed_run import ProbedRun

            try:
                self._fast = ProbedRun(self.machine)
                self._made.clear()
                return True
            except NotCompiled as e:
                reason = str(e)
        self.why_slow = reason
        return False

    def publish(self) -> None:
        """See `Execution`."""
        if self.given.after is not None:
            self.given.after()

    # --- where it is --------------------------------------------------------------------------------------------------
    @property
    def position(self) -> int:
        return self.machine.stats.warp_instructions

    @property
    def sub(self) -> int:
        return self._sub

    @property
    def may_not_count(self) -> bool:
        w = self._warp()
        return w is not None and self.machine.launch.code.at(w.pc).join

    @property
    def instructions(self) -> int:
        return self.machine.stats.instructions

    @property
    def following(self) -> int | None:
        if self.machine.finished:
            return None
        w = self._warp()
        return 0 if w is None else self._first(w)

    def _warp(self) -> Warp | None:
        """Return the warp whose turn it is in the current block, or else in the next; None for a deadlock."""
        blocks = self.machine.blocks
        here = self._current // self.machine.launch.warps
        for block in (*blocks[here:], *blocks[:here]):
            w = block.next_warp()
            if w is not None and w.active:
                return w
        return None

    @staticmethod
    def _first(w: Warp) -> int:
        return 32 * w.number + (w.active & -w.active).bit_length() - 1

    def lanes(self, thread: int) -> list[int]:
        w = self.machine.warps[thread >> 5]
        base = 32 * w.number
        found = [base + k for k in range(32) if w.active >> k & 1]
        return sorted(found, key=lambda t: t != thread)

    def frames(self, thread: int) -> list[Frame]:
        w = self.machine.warps[thread >> 5]
        return [Frame(e.kind.name.lower(), e.pc, e.mask, _MEANINGS[e.kind]) for e in reversed(w.stack)]

    def facts(self, thread: int) -> Mapping[str, int]:
        w = self.machine.warps[thread >> 5]
        x, y, _ = self.machine.launch.block
        tid = 32 * w.index + (thread & 31)
        return {
            "thread": thread, "lane": thread & 31, "warp": w.index, "tid": tid, "tid.x": tid % x,
            "tid.y": tid // x % y, "tid.z": tid // (x * y), "block": w.block.number, "block.x": w.block.index[0],
            "block.y": w.block.index[1], "active": w.active, "pc": w.pc,
        }  # fmt: skip

    def find(self, **where: Any) -> int:
        """Return the thread of `block` (a number, or x and y), `warp`, `lane`, or `thread`.

        Those not given are as in the thread that executes next; warp and lane are 0 in another block or warp.
        """
        unknown = set(where) - {"block", "warp", "lane", "thread"}
        if unknown:
            raise LaunchError(f"no {', '.join(sorted(unknown))} here; there are block, warp, lane and thread")
        if "thread" in where:
            return super().find(thread=where["thread"])
        here = self.following or 0
        warps = self.machine.warps
        resident = warps[here >> 5].block
        if "block" in where:
            resident = self._block(where["block"])
        warp: int = where.get("warp", warps[here >> 5].index if resident is warps[here >> 5].block else 0)
        if not 0 <= warp < len(resident.warps):
            raise LaunchError(f"no warp {warp}; a block has {len(resident.warps)}")
        number = resident.warps[warp].number
        lane = where.get("lane", here & 31 if number == here >> 5 else 0)
        if not 0 <= lane < 32:
            raise LaunchError(f"no lane {lane}; a warp has 32")
        return 32 * number + lane

    def _block(self, said: Any) -> ThreadBlock:
        """Return a resident block by its number, or by x and y."""
        number = said if isinstance(said, int) else said[0] + self.machine.launch.grid[0] * said[1]
        resident = {b.number: b for b in self.machine.blocks}
        if number not in resident:
            state = "has ended" if number < min(resident) else "has not begun"
            if not 0 <= number < self.machine.launch.blocks:
                state = "does not exist"
            there = " and ".join(map(str, (min(resident), max(resident)) if len(resident) > 1 else resident))
            which = f"blocks between {there} are" if len(resident) > 1 else f"block {there} is"
            raise LaunchError(f"block {number} {state}; {which} resident")
        return resident[number]

    # --- moving -------------------------------------------------------------------------------------------------------
    def step(self) -> int | None:
        machine = self.machine
        if machine.finished:
            return None
        w = self._warp()
        if w is None:
            machine.idle()  # says what they wait for
            raise LaunchError("no warp can execute an instruction")
        self._current = w.number
        thread, before = self._first(w), self.position
        machine.step(w)
        self._sub = self._sub + 1 if self.position == before else 0
        self._settle()
        return thread

    def _settle(self) -> None:
        """Make the next block resident when one has ended."""
        machine = self.machine
        if not machine.ready and not machine.waits and not machine.finished:
            machine.idle()
            self._current = 0

    def prefer(self, thread: int) -> None:
        super().prefer(thread)
        self._current = thread >> 5
        self.machine.give_turn(self.machine.warps[self._current])

    def save(self) -> SavedState:
        return self.machine.snapshot(), (self._current, self._sub)

    def load(self, saved: SavedState, position: int) -> None:
        snapshot, (self._current, self._sub) = saved
        self.machine.restore(snapshot)

    @property
    def accessed(self) -> object:
        return self.machine.state

    # --- running ------------------------------------------------------------------------------------------------------
    def run(self, until: int, points: Sequence[Point], record: bool = False) -> Hit | Ended:
        if self._fast is None or any(p.every for p in points):
            return super().run(until, points, record)
        fast = self._fast
        if fast.stale and not self._make_fast():
            return super().run(until, points, record)
        fast = self._fast
        probes, exact = self._look_at(points)
        if record:
            exact = [True] * len(points)  # the caller examines the last one again
        while self.position < until:
            if self.machine.finished:
                return "finished"
            for k, p in enumerate(points):
                probes.set_cell(k, skip=max(0, p.skip - p.hits) if exact[k] else 0, records=record)
            w = self._warp()
            fast.current, fast.resumed = 0 if w is None else w.number, self._sub
            try:
                why = fast.run(until)
            finally:
                self._current, self._sub = fast.current, fast.resumed
                self._settle()
                for k, p in enumerate(points):
                    if exact[k]:
                        count, _, last, _ = probes.cell(k)
                        p.hits += count
                        p.last = last if last >= 0 else p.last
            if why == "interrupted":
                raise KeyboardInterrupt
            if why in ("until", "finished"):
                continue
            thread = self.following
            if thread is not None and why == "probe":
                met = self._met(points, exact, thread, record)
                if met:
                    return Hit(met)
            self.step()
        return "until"

    def mark(self) -> None:
        w = self._warp()
        self._mark = (-1, 0, 0) if w is None else (w.block.number, self._issued(w.block), self.position)

    @staticmethod
    def _issued(block: ThreadBlock) -> int:
        return sum(w.issued for w in block.warps)

    def overdue(self) -> int | None:
        number, issued, position = self._mark
        w = self._warp()
        if w is None or w.block.number != number or self._issued(w.block) - issued < self.position - position:
            return None
        blocks, here = self.machine.blocks, self.machine.blocks.index(w.block)
        others = [b.next_warp() for b in (*blocks[here + 1 :], *blocks[:here])]
        others += (*w.block.warps[w.index + 1 :], *w.block.warps[: w.index])
        return next((self._first(o) for o in others if o is not None and o.status == READY and o.active), None)

    def _met(self, points: Sequence[Point], exact: list[bool], thread: int, record: bool) -> list[Point]:
        """Return the points that stop here; hits of exact ones have been counted already."""
        address = self.target.thread(thread).address
        here = [(p, e) for p, e in zip(points, exact, strict=True) if address in p.addresses and p.check(thread)]
        out: list[Point] = []
        for p, counted in here:
            if not counted:
                p.hits += 1
                p.last = self.position
            if not record and p.hits > p.skip:
                out.append(p)
        return out

    def _look_at(self, points: Sequence[Point]) -> tuple[Any, list[bool]]:
        """Set the probes; return for each point whether compiled code counts its hits."""
        from isakit.machine.tesla.compiled.launch.probed_run import Probe

        if not points:
            self._fast.look_at(None)
            return None, []
        key = tuple((p, p.lanes, p.sure, tuple(p.addresses.items())) for p in points)
        looks = self._made.get(key)
        if looks is None:
            functions: dict[tuple[Node, int | None], tuple[str, LoweredCondition] | None] = {}
            table: dict[int, list[Probe]] = {}
            exact: list[bool] = []
            for k, p in enumerate(points):
                sure = p.sure
                for address, node in p.addresses.items():
                    made = None if node is None else self._condition(node, p.lanes, functions)
                    sure = sure and (p.lanes is None if node is None else made is not None and made[1].exact)
                    table.setdefault(address, []).append(Probe(k, None if made is None else made[0]))
                exact.append(sure)
            if len(self._made) >= KEPT:
                self._made.clear()

            def conditions(module: LlvmModule) -> None:
                for (_, lanes), made in functions.items():
                    if made is not None:
                        add_condition(module, *made, self.machine.launch, lanes)

            looks = self._made[key] = self._fast.probes(table, conditions, len(points)), exact
        self._fast.look_at(looks[0])
        return looks

    def _condition(
        self,
        node: Node,
        lanes: int | None,
        functions: dict[tuple[Node, int | None], tuple[str, LoweredCondition] | None],
    ) -> tuple[str, LoweredCondition] | None:
        """Return the function of a condition by name, cached; None if it cannot be compiled."""
        if (node, lanes) not in functions:
            value = lowered(node, self.machine.launch)
            functions[node, lanes] = None if value is None else (f"condition{len(functions)}", value)
        return functions[node, lanes]

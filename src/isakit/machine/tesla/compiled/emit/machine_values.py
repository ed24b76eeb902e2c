"""Machine values in compiled code: lanes, quads, special registers, inputs, textures, locks."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from isakit.arch.tesla import requests as request
from isakit.engine.llvm import Ref, ValueLowering
from isakit.engine.llvm.builder import I32, I64, PTR, IrFunction, array, numbers, pointer
from isakit.lean import cached_property
from isakit.machine.tesla.analysis.control_flow import Step
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit.function_code import FunctionCode
from isakit.machine.tesla.compiled.state_layout import V1, V32
from isakit.machine.tesla.rules import locks
from isakit.sem.requests import MachineValue, covered
from isakit.sem.value import Value, uniform_number

VARYING_WORDS = 256
"""Words of v[] that compiled code can name; the table of rows has this many for each kind of interpolation."""


class MachineValues:
    """Lowers the machine values of instructions into the code of a kernel."""

    def __init__(self, code: FunctionCode) -> None:
        self.code = code

    @cached_property
    def lowerings(self) -> Mapping[str, Callable[..., Ref]]:
        """The lowerings of machine values by name."""
        table: Mapping[MachineValue, Callable[..., Ref]] = {
            request.LANE: self._lane,
            request.QUAD: self._quad,
            request.VOTE: self._vote,
            request.MP_FLAG: self._mp_flag,
            request.SPECIAL_REGISTER: self._sr,
            request.TRY_LOCK: self._lock,
            request.INTERP: self._interp,
            request.TEX: self._tex,
            request.TEXEL: self._texel,
            request.VISIBLE: self._visible,
        }
        return covered("compiled code", request.REQUESTS.values, table)

    def _lane(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        return numbers(32, range(32))

    def _mp_flag(self, step: Step, low: ValueLowering, v: Value, name: str) -> Ref:
        return low.constant(int(name in self.code.facts.flags), v.width)

    def _vote(self, step: Step, low: ValueLowering, v: Value, kind: str) -> Ref:
        b = self.code.body
        holds = self.code.as_bits(low.splat(low.value(v.args[0])))
        if kind == "any":
            return b.ne(b.and_(holds, self.code.mask32), 0)
        return b.eq(b.and_(b.not_(holds), self.code.mask32), 0)

    def _quad(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        value, selector = low.splat(low.value(v.args[0])), v.args[1]
        if selector.uniform:
            n = uniform_number(selector, step.word) & 3
            return self.code.body.shuffle(value, [(j & ~3) | n for j in range(32)])
        return self._quad_of(low, v, low.splat(low.resize(low.value(selector), 32)))

    def _quad_of(self, low: ValueLowering, v: Value, selector: Ref) -> Ref:
        """Return the value in the lane of the quad that each lane selects."""
        value = low.splat(low.value(v.args[0]))
        wanted = low.op("and", selector, low.constant(3, 32))
        out: Ref | None = None
        for n in range(4):
            of_n = self.code.body.shuffle(value, [(j & ~3) | n for j in range(32)])
            hit = low.compare("eq", wanted, low.constant(n, 32))
            out = of_n if out is None else low.select(hit, of_n, out)
        assert out is not None
        return out

    def _sr(self, step: Step, low: ValueLowering, v: Value, n: int) -> Ref:
        b = self.code.body
        if n == 0:
            number = b.zext(self.code.number_of_warp(), I64)
            return b.load(V32, b.element(V32, self.code.slot("physid", PTR), number), 4)
        if n == 1:
            return self._clock(step, self.code.choices.clock_step)
        counted = (*self.code.choices.pm_counters, *("none",) * 4)[n - 4] if 4 <= n <= 7 else "none"
        if counted == "instructions":
            return self._clock(step, 1)
        if counted != "none":
            return b.load(I32, self.code.state_pointer(state_layout.WARP.at(counted)))
        return low.constant({3: self.code.choices.vstride, 8: self.code.choices.sample}.get(n, 0), 32)

    def _clock(self, step: Step, per_instruction: int) -> Ref:
        b = self.code.body
        return b.trunc(b.mul(self._issued(step), per_instruction), I32)

    def _lock(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        """Return the lanes that get the lock of their word.

        A contended word, or an address that is not in s[], stops the warp before the instruction.
        """
        b, address = self.code.body, low.splat(low.resize(low.value(v.args[0]), 32))
        lanes, limit = self.code.as_bits(self.code.executing), self.code.slot("shared_limit", I32)
        self.code.stop(step, b.call(self.code.shared("check_own"), limit, address, 4, lanes))
        got = self.code.rule(step, locks.try_lock, {"words": self.code.lock_words(low, address), "lanes": lanes})
        return b.bitcast(got, V1)

    def _interp(self, step: Step, low: ValueLowering, v: Value, flat: bool, centroid: bool) -> Ref:
        """Load a row of the inputs that were interpolated before: `varyings` points to a table of them."""
        b, table = self.code.body, self.code.slot("varyings", PTR)
        address = low.resize(low.value(v.args[0]), 32)
        if not address.uniform:  # $a0, which is 0 in all lanes
            address = b.extract(address, 0)
        word = b.lshr(address, 2)
        beyond = b.uge(word, VARYING_WORDS)
        self.code.stop(step, b.or_(beyond, b.eq(table, 0)))
        first = VARYING_WORDS * (int(flat) + 2 * int(centroid))
        row = b.load(PTR, b.element(PTR, table, b.zext(b.add(word, first), I64)))
        number = b.zext(self.code.number_of_warp(), I64)
        return b.load(V32, b.element(V32, row, number), 4)

    def _tex(self, step: Step, low: ValueLowering, v: Value, op: str, cube: bool, quads: bool,
                     mask: int) -> Ref:  # fmt: skip
        """Call the function of a texture operation. Its result stays in memory, from which `texel` takes components.

        The table `textures` has an address for each unit of the code, of a function and its record, or 0. If there is
        no function, or it fails, the warp leaves for the host.
        """
        b, sources = self.code.body, v.args[5:]
        given, answer = (self.code.scratch(name, array(4, V32)) for name in ("%tex_in", "%tex_out"))
        for k, source in enumerate(sources):
            p = b.element(V32, given, k)
            b.store(low.splat(low.resize(low.value(source), 32)), p, 64)
        entry = b.load(PTR, b.element(I64, self.code.slot("textures", PTR), self.code.unit_of(step)))
        self.code.stop(step, b.eq(entry, 0))
        function = IrFunction(b.load(PTR, entry).text, I32, (PTR, PTR, PTR, I32), self.code.host.convention)
        record = b.load(PTR, b.offset(entry, 8))
        left = b.call(function, record, given, answer, self.code.as_bits(self.code.executing))
        self.code.stop(step, b.ne(left, 0))
        return low.constant(0, v.width)

    def _texel(self, step: Step, low: ValueLowering, v: Value, component: int) -> Ref:
        low.value(v.args[0])
        b = self.code.body
        return b.load(V32, b.element(V32, pointer("%tex_out"), component), 64)

    def _visible(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        b = self.code.body
        seen = b.load(I32, self.code.state_pointer(state_layout.VISIBLE))
        return b.bitcast(b.or_(seen, self.code.slot("live_all", I32)), V1)

    def _issued(self, step: Step) -> Ref:
        """Return the number of instructions the warp has executed, as i64."""
        before = self.code.block_sizes[step.pc] - self.code.executed
        return self.code.body.sub(self.code.body.load(I64, pointer("%issued")), before)

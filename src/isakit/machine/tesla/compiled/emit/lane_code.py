"""Values of a warp in compiled code: registers, masks, tags of address registers, and what only the machine knows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from isakit.arch.tesla import requests as request
from isakit.arch.tesla.tesla import COMPUTE
from isakit.engine.llvm import Builder, Host, LlvmModule, Ref, ValueLowering
from isakit.engine.llvm.builder import I1, I32, I64, MOSTLY, PTR, IrFunction, IrType, array, numbers, pointer, vector
from isakit.engine.llvm.float_lowerings import float_lowerings
from isakit.engine.llvm.routine_ir import expression
from isakit.lean import cached_property
from isakit.machine.tesla.address_spaces import PitchWindow
from isakit.machine.tesla.analysis.control_flow import Flow, Place, Step
from isakit.machine.tesla.analysis.known_flow import known_order
from isakit.machine.tesla.analysis.lane_steps import Known, LaneSteps, has_thread_numbers_in_rows
from isakit.machine.tesla.analysis.racing_accesses import NOT_SEEN, WarpOrder
from isakit.machine.tesla.analysis.uniform_registers import has_calls
from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit.control_functions import declared
from isakit.machine.tesla.compiled.emit.memory_ir import declared_in
from isakit.machine.tesla.compiled.state_layout import ALL, CONTEXT, SLOT, STATE, TRUE, V1, V32
from isakit.machine.tesla.launch import Launch
from isakit.machine.tesla.rules import accesses, locks
from isakit.sem.requests import MachineValue, covered
from isakit.sem.routine import Routine
from isakit.sem.routine_code import RoutineCode
from isakit.sem.value import Value, uniform_number

VARYING_WORDS = 256
"""Words of v[] compiled code can name; the table of rows has this many for each way to interpolate."""
UNREACHABLE = 1 << 30
_STEPS = numbers(32, (4 * (j % 16) for j in range(32)))


@dataclass(frozen=True)
class LaunchFacts:
    """What of a launch is built into the code; everything else is looked up in the context.

    `consecutive`: the threads of a warp follow each other in a row of the block, see `lane_steps`; `order`: what the
    program can tell of the order of its warps.
    """

    registers: int
    flags: frozenset[str]
    windows: tuple[tuple[int, object], ...]
    banks: frozenset[int]
    has_local: bool
    choices: Choices
    results: frozenset[Place] = frozenset()
    consecutive: bool = False
    order: WarpOrder = NOT_SEEN

    @classmethod
    def of(cls, launch: Launch, results: frozenset[Place] = frozenset()) -> LaunchFacts:
        """The facts of a launch."""
        return cls(
            launch.code.registers,
            launch.flags,
            tuple(sorted(launch.windows.items())),
            frozenset(launch.constants),
            launch.local_limit > 0,
            launch.choices,
            results,
            launch.code.decoder.view.program == COMPUTE and has_thread_numbers_in_rows(launch.block),
            known_order(launch),
        )


class ControlWriter(Protocol):
    """What writes the routines of control."""

    def rule(self, step: Step | None, routine: Routine[Any, Any], given: Mapping[str, Ref] | None = None) -> Ref | None:
        """Write a routine for this warp; where it raises, the warp stops before the instruction."""
        ...


class LaneCode:
    """What the code of a warp and of a single instruction share.

    `uniform`: registers that are one number at this place; `decided`: the guard, if it is the same for all lanes;
    `certain`: $a registers whose accesses in this block were checked when it began; `quads`: whether quads may be
    switched on as a whole; `halves`: the two halves of 16-byte loads, by node; `executing`: lanes (bools) that execute
    the instruction; `steps_known`: what is known of the steps between lanes at this place.
    """

    flow: Flow
    facts: LaunchFacts
    choices: Choices
    quads = True
    halves: dict[int, tuple[Ref, Ref]]
    _tagged: Sequence[int] = ()
    _lane_steps: LaneSteps | None = None

    def _begin(self, module: LlvmModule, host: Host) -> None:
        self.host, self.module = host, module
        self.body = Builder(self.module)
        self.natives, self.raw_natives = float_lowerings(host), float_lowerings(host, raw=True)
        self.full = False
        self.mask32 = ALL
        self.mask = self.executing = TRUE
        self._prologue()
        self.block_sizes: dict[int, int] = {}
        self.executed = 0
        self.sites = 0
        self.halves = {}
        self.certain: set[int] = set()
        self.uniform: set[Place] = set()
        self.decided: Ref | None = None
        self.steps_known: Known = {}

    def _prologue(self) -> None:
        """Forget what the beginning of the function has: variables, and values of the context."""
        self._slots: dict[str, Ref] = {}
        self._loads, self._scratch = Builder(self.module), Builder(self.module)

    # --- small pieces ---------------------------------------------------------------------------------------
    def state_pointer(self, offset: int) -> Ref:
        """Pointer into the warp's state."""
        return self.body.offset(STATE, offset)

    def number_of_warp(self) -> Ref:
        """The number of the warp in its block, i32."""
        return self.body.load(I32, self.state_pointer(state_layout.NUMBER))

    def slot(self, name: str, type: IrType = I64) -> Ref:
        """A value of the context, loaded at the start of the function."""
        key = f"%ctx_{name}_{type}"
        found = self._slots.get(key)
        if found is None:
            b = self._loads
            place = b.named(f"{key}_p", b.offset(CONTEXT, SLOT[name]))
            found = self._slots[key] = b.named(key, b.load(type, place, invariant=True))
        return found

    # --- memory spaces --------------------------------------------------------------------------------------
    def bound(self, space: str) -> bool:
        """Whether the launch has the space at all."""
        if space == "l":
            return self.facts.has_local
        if space[0] == "c":
            return int(space[1:]) in self.facts.banks
        return space in ("s", "a", "p", "o") or int(space[1:]) in dict(self.facts.windows)

    def window(self, space: str, address: Ref, low: ValueLowering) -> tuple[Ref, Ref | None]:
        """(device addresses of a g[] space, lanes outside of it, None where that cannot be)."""
        window = self._window(space)
        outside = None
        if isinstance(window, PitchWindow):
            given = {"width": low.constant(window.width, 64), "height": low.constant(window.height, 64)}
            outside = expression(low, accesses.beyond_rows, {"address": address, **given})
            given = {"address": address, "pitch": low.constant(window.pitch, 64)}
            address = low.resize(expression(low, accesses.in_rows, given), 32)
        elif window.size < 1 << 32:
            given = {"address": address, "size": low.constant(window.size, 64)}
            outside = expression(low, accesses.beyond, given)
        return (low.op("add", address, low.constant(window.base, 32)) if window.base else address), outside

    def step_of_lanes(self, step: Step, space: str, address: Value) -> int | None:
        """By how much device addresses of a g[] space differ from lane to lane, all of them active; None: not known."""
        if self._lane_steps is None or not self.full or isinstance(self._window(space), PitchWindow):
            return None
        return self._lane_steps.step_of(step, address, self.steps_known)

    def _window(self, space: str) -> Any:
        return dict(self.facts.windows)[int(space[1:])]

    def site(self) -> Ref:
        """Where a global access remembers the address range it last hit."""
        self.sites += 1
        return self.body.offset(self.slot("sites", PTR), 8 * (self.sites - 1))

    def scratch(self, name: str, type: IrType) -> Ref:
        """A variable for one use, or for several that do not overlap."""
        b = self._scratch
        if not any(line.startswith(f"  {name} = ") for line in b.lines):
            b.alloca(type, name, align=64)
        return pointer(name)

    def variable(self, place: Place, part: int = 0) -> Ref:
        """The variable of a register, or of one flag of a $c register."""
        file, n = place
        return pointer(f"%{file}{n}f{part}" if file == "c" else f"%{file}{n}")

    def number_variable(self, place: Place, part: int = 0) -> Ref:
        """The variable of a register, or of one flag, while it is one number for all lanes."""
        file, n = place
        return pointer(f"%{file}{n}f{part}u" if file == "c" else f"%{file}{n}u")

    def load32(self, name: str) -> Ref:
        """The value of an i32 variable."""
        return self.body.load(I32, pointer("%" + name))

    def store32(self, value: Ref | int, name: str) -> None:
        """Set an i32 variable."""
        self.body.store(value if isinstance(value, Ref) else I32(value), pointer("%" + name))

    def as_mask(self, m32: Ref) -> Ref:
        """An i32 mask as lane bools."""
        return TRUE if m32 == ALL else self.body.bitcast(m32, V1)

    def as_bits(self, mask: Ref) -> Ref:
        """Lane bools as an i32."""
        return ALL if mask == TRUE else self.body.bitcast(mask, I32)

    def both(self, a: Ref, b: Ref) -> Ref:
        """a and b, of lane bools."""
        return b if a == TRUE else a if b == TRUE else self.body.and_(a, b)

    # --- functions all kernels share ------------------------------------------------------------------------
    def routine_symbol(self, code: RoutineCode) -> str:
        """The function of a shared routine, declared."""
        return declared(self.module, code, self.host, self.choices)

    def lock_words(self, low: ValueLowering, address: Ref) -> Ref:
        """The words of s[] that the lanes lock, counted from 1."""
        word = low.op("lshr", low.splat(low.resize(address, 32)), low.constant(2, 32))
        return low.op("add", word, low.constant(1, 32))

    def shared(self, name: str) -> IrFunction:
        """A function of `memory_ir`."""
        return declared_in(self.module, name, self.host)

    # --- tags of $a registers -------------------------------------------------------------------------------
    def tag(self, n: int, value: Ref | None) -> None:
        """Note what the lanes of $aN have in common, for accesses relative to it; None: nothing is known.

        `%aNlast` is the greatest address of the lanes, out of reach if one is no multiple of 4 or nothing is known:
        where it is inside of a space all are. `%aNplain` tells of half warps whose lanes are neighbouring words
        (`%aNrow`, `%aNrows` for 16 lanes) or equal; `%aNlow` and `%aNhigh` are the values of lanes 0 and 16.
        """
        b = self.body
        if n not in self._tagged:
            return
        if value is None:
            self.store32(UNREACHABLE, f"a{n}last")
            return
        firsts = b.shuffle(value, [0 if j < 16 else 16 for j in range(32)])
        row = b.eq(value, b.add(firsts, _STEPS))
        same = b.eq(value, firsts)
        is_row, is_same = (b.eq(b.bitcast(m, I32), -1) for m in (row, same))
        ends = [b.extract(value, lane) for lane in (0, 16)]
        aligned = b.eq(b.and_(b.or_(ends[0], ends[1]), 3), 0)
        last = b.intrinsic("umax", *ends)
        behind = b.select(is_row, I32(60), 0)
        self.store32(b.select(aligned, b.add(last, behind), UNREACHABLE), f"a{n}last")
        plain, any_order, tagged = b.or_(is_row, is_same), b.fresh("order"), b.fresh("tagged")
        b.store(plain, pointer(f"%a{n}plain"))
        b.branch(plain, tagged, any_order, MOSTLY)
        b.label(any_order)
        even = b.eq(b.and_(b.reduce("or", value), 3), 0)
        self.store32(b.select(even, b.reduce("umax", value), UNREACHABLE), f"a{n}last")
        b.jump(tagged)
        b.label(tagged)
        b.store(b.splat(is_row, vector(16, I1)), pointer(f"%a{n}rows"))
        b.store(is_row, pointer(f"%a{n}row"))
        for name, v in zip(("low", "high"), ends, strict=True):
            self.store32(v, f"a{n}{name}")

    def relative(self, step: Step, address: Value) -> tuple[int, int] | None:
        """(N, offset) of an address that is $aN plus a multiple of 4."""
        if address.op != "zext" or address.args[0].op != "add":
            return None
        a, offset = address.args[0].args
        if a.op != "read":
            a, offset = offset, a
        if a.op != "read" or a.attr != "a" or a.width != 16 or not offset.uniform:
            return None
        n = uniform_number(a.args[0], step.word)
        if n not in self._tagged:
            return None
        distance = uniform_number(offset, step.word)
        return None if distance & 3 else (n, distance)

    # --- leaves ---------------------------------------------------------------------------------------------
    def _leaf(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        if v.op == "param":
            return low.constant(v.attr.get(step.word), v.width)
        if v.op == "read":
            return self._read(step, low, v)
        if v.op == "half":
            first, second = self.halves[id(v.args[0])]
            return second if v.attr else first
        if v.op == "machine":
            name, attrs = v.attr
            return self._lowerings[name](step, low, v, **dict(attrs))
        raise AssertionError(f"no lowering for {v.op}")

    def _read(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        b, n = self.body, uniform_number(v.args[0], step.word)
        place = v.attr, n
        if (place[0] == "r" and n >= self.facts.registers) or (place[0] == "a" and n == 0):
            return low.constant(0, v.width)
        if place[0] == "c":
            total: Ref | None = None
            alike = place in self.uniform
            for bit in range(4):
                where = self.number_variable(place, bit) if alike else self.variable(place, bit)
                one = low.resize(b.load(I1 if alike else V1, where), 4)
                one = low.op("shl", one, low.constant(bit, 4)) if bit else one
                total = one if total is None else low.op("or", total, one)
            assert total is not None
            return low.resize(total, v.width)
        if place in self.uniform:
            one = low.resize(b.load(I32, self.number_variable(place)), v.width)
            return low.splat(one) if step.trace is not None and has_calls(step.trace) else one
        return low.resize(b.load(V32, self.variable(place)), v.width)

    @cached_property
    def _lowerings(self) -> Mapping[str, Callable[..., Ref]]:
        """The lowerings of machine values by name."""
        table: Mapping[MachineValue, Callable[..., Ref]] = {
            request.LANE: self._machine_lane,
            request.QUAD: self._machine_quad,
            request.VOTE: self._machine_vote,
            request.MP_FLAG: self._machine_mp_flag,
            request.SPECIAL_REGISTER: self._machine_sr,
            request.TRY_LOCK: self._machine_lock,
            request.INTERP: self._machine_interp,
            request.TEX: self._machine_tex,
            request.TEXEL: self._machine_texel,
            request.VISIBLE: self._machine_visible,
        }
        return covered("compiled code", request.REQUESTS.values, table)

    def _machine_lane(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        return numbers(32, range(32))

    def _machine_mp_flag(self, step: Step, low: ValueLowering, v: Value, name: str) -> Ref:
        return low.constant(int(name in self.facts.flags), v.width)

    def _machine_vote(self, step: Step, low: ValueLowering, v: Value, kind: str) -> Ref:
        b = self.body
        holds = self.as_bits(low.splat(low.value(v.args[0])))
        if kind == "any":
            return b.ne(b.and_(holds, self.mask32), 0)
        return b.eq(b.and_(b.not_(holds), self.mask32), 0)

    def _machine_quad(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        value, selector = low.splat(low.value(v.args[0])), v.args[1]
        if selector.uniform:
            n = uniform_number(selector, step.word) & 3
            return self.body.shuffle(value, [(j & ~3) | n for j in range(32)])
        return self._quad_of(low, v, low.splat(low.resize(low.value(selector), 32)))

    def _quad_of(self, low: ValueLowering, v: Value, selector: Ref) -> Ref:
        """The value of the lane of the quad that each lane selects."""
        value = low.splat(low.value(v.args[0]))
        wanted = low.op("and", selector, low.constant(3, 32))
        out: Ref | None = None
        for n in range(4):
            of_n = self.body.shuffle(value, [(j & ~3) | n for j in range(32)])
            hit = low.compare("eq", wanted, low.constant(n, 32))
            out = of_n if out is None else low.select(hit, of_n, out)
        assert out is not None
        return out

    def _machine_sr(self, step: Step, low: ValueLowering, v: Value, n: int) -> Ref:
        b = self.body
        if n == 0:
            number = b.zext(self.number_of_warp(), I64)
            return b.load(V32, b.element(V32, self.slot("physid", PTR), number), 4)
        if n == 1:
            return self._clock(step, self.choices.clock_step)
        counted = (*self.choices.pm_counters, *("none",) * 4)[n - 4] if 4 <= n <= 7 else "none"
        if counted == "instructions":
            return self._clock(step, 1)
        if counted != "none":
            return b.load(I32, self.state_pointer(state_layout.WARP.at(counted)))
        return low.constant({3: self.choices.vstride, 8: self.choices.sample}.get(n, 0), 32)

    def _clock(self, step: Step, per_instruction: int) -> Ref:
        b = self.body
        return b.trunc(b.mul(self._issued(step), per_instruction), I32)

    def _machine_lock(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        """Lanes that get the lock of their word; a contended word, or none, stops the warp before."""
        b, address = self.body, low.splat(low.resize(low.value(v.args[0]), 32))
        lanes, limit = self.as_bits(self.executing), self.slot("shared_limit", I32)
        self.stop(step, b.call(self.shared("check_own"), limit, address, 4, lanes))
        got = self.rules.rule(step, locks.try_lock, {"words": self.lock_words(low, address), "lanes": lanes})
        assert got is not None
        return b.bitcast(got, V1)

    def _machine_interp(self, step: Step, low: ValueLowering, v: Value, flat: bool, centroid: bool) -> Ref:
        """A row of the inputs that were evaluated before: `varyings` points to a table of them."""
        b, table = self.body, self.slot("varyings", PTR)
        address = low.resize(low.value(v.args[0]), 32)
        if not address.uniform:  # $a0, which is 0 in all lanes
            address = b.extract(address, 0)
        word = b.lshr(address, 2)
        beyond = b.uge(word, VARYING_WORDS)
        self.stop(step, b.or_(beyond, b.eq(table, 0)))
        first = VARYING_WORDS * (int(flat) + 2 * int(centroid))
        row = b.load(PTR, b.element(PTR, table, b.zext(b.add(word, first), I64)))
        number = b.zext(self.number_of_warp(), I64)
        return b.load(V32, b.element(V32, row, number), 4)

    def _machine_tex(self, step: Step, low: ValueLowering, v: Value, op: str, cube: bool, quads: bool,
                     mask: int) -> Ref:  # fmt: skip
        """Call the function of the question. Its answer stays in memory, from which `texel` takes components.

        The table `textures` has an address for each unit of the code: of a function and the record it gets, or 0. Where
        there is none, or it cannot answer, the warp leaves for the host.
        """
        b, sources = self.body, v.args[5:]
        given, answer = (self.scratch(name, array(4, V32)) for name in ("%tex_in", "%tex_out"))
        for k, source in enumerate(sources):
            p = b.element(V32, given, k)
            b.store(low.splat(low.resize(low.value(source), 32)), p, 64)
        entry = b.load(PTR, b.element(I64, self.slot("textures", PTR), self.unit_of(step)))
        self.stop(step, b.eq(entry, 0))
        function = IrFunction(b.load(PTR, entry).text, I32, (PTR, PTR, PTR, I32), self.host.convention)
        record = b.load(PTR, b.offset(entry, 8))
        left = b.call(function, record, given, answer, self.as_bits(self.executing))
        self.stop(step, b.ne(left, 0))
        return low.constant(0, v.width)

    def _machine_texel(self, step: Step, low: ValueLowering, v: Value, component: int) -> Ref:
        low.value(v.args[0])
        b = self.body
        return b.load(V32, b.element(V32, pointer("%tex_out"), component), 64)

    def _machine_visible(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        b = self.body
        seen = b.load(I32, self.state_pointer(state_layout.VISIBLE))
        return b.bitcast(b.or_(seen, self.slot("live_all", I32)), V1)

    @abstractmethod
    def unit_of(self, step: Step) -> Ref:
        """The position of an instruction in the code, in units of four bytes, as i64."""

    @abstractmethod
    def in_loop(self, step: Step) -> bool:
        """Whether an instruction is executed so often that more code for less time pays."""

    @property
    @abstractmethod
    def rules(self) -> ControlWriter:
        """What writes the routines of control into this code."""

    @abstractmethod
    def stop(self, step: Step, bad: Ref) -> None:
        """Leave compiled code before this instruction where the i1 `bad` is set."""

    def _issued(self, step: Step) -> Ref:
        """Instructions the warp has executed, as i64."""
        before = self.block_sizes[step.pc] - self.executed
        return self.body.sub(self.body.load(I64, pointer("%issued")), before)

"""Values of a warp in compiled code: registers, masks, tags of address registers, and what only the machine knows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from isakit.arch.tesla import requests as request
from isakit.arch.tesla.tesla import COMPUTE
from isakit.engine.llvm import Body, Host, LlvmModule, Ref, ValueLowering
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
from isakit.machine.tesla.compiled.emit.memory_ir import call_of
from isakit.machine.tesla.compiled.state_layout import SLOT, TRUE, V1, V32
from isakit.machine.tesla.launch import Launch
from isakit.machine.tesla.rules import accesses, locks
from isakit.sem.requests import MachineValue, covered
from isakit.sem.routine import Routine
from isakit.sem.routine_code import RoutineCode
from isakit.sem.value import Value, uniform_number

VARYING_WORDS = 256
"""Words of v[] compiled code can name; the table of rows has this many for each way to interpolate."""
UNREACHABLE = 1 << 30


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

    def rule(
        self, step: Step | None, routine: Routine[Any, Any], given: Mapping[str, Ref | str] | None = None
    ) -> Ref | None:
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
        self.body = Body(self.module)
        self.natives, self.raw_natives = float_lowerings(host), float_lowerings(host, raw=True)
        self.full = False
        self.mask32 = "-1"
        self.mask = self.executing = TRUE
        self._slots: dict[str, str] = {}
        self._scratch: list[str] = []
        self.block_sizes: dict[int, int] = {}
        self.executed = 0
        self.sites = 0
        self.halves = {}
        self.certain: set[int] = set()
        self.uniform: set[Place] = set()
        self.decided: str | None = None
        self.steps_known: Known = {}

    # --- small pieces ---------------------------------------------------------------------------------------
    def state_pointer(self, offset: int) -> str:
        """Pointer into the warp's state."""
        return self.body(f"getelementptr i8, ptr %ws, i64 {offset}")

    def slot(self, name: str, ty: str = "i64") -> str:
        """A value of the context, loaded at the start of the function."""
        key = f"%ctx_{name}_{ty}"
        self._slots.setdefault(
            key,
            f"  {key}_p = getelementptr i8, ptr %ctx, i64 {SLOT[name]}\n"
            f"  {key} = load {ty}, ptr {key}_p, !invariant.load !1",
        )
        return key

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

    def site(self) -> str:
        """Where a global access remembers the address range it last hit."""
        self.sites += 1
        return self.body(f"getelementptr i8, ptr {self.slot('sites', 'ptr')}, i64 {8 * (self.sites - 1)}")

    def scratch(self, name: str, ty: str) -> None:
        """A variable for one use, or for several that do not overlap."""
        line = f"  {name} = alloca {ty}, align 64"
        if line not in self._scratch:
            self._scratch.append(line)

    def variable(self, place: Place, part: int = 0) -> str:
        """The alloca of a register, or of one flag of a $c register."""
        file, n = place
        return f"%{file}{n}f{part}" if file == "c" else f"%{file}{n}"

    def load32(self, name: str) -> str:
        """The value of an i32 variable."""
        return self.body(f"load i32, ptr %{name}")

    def store32(self, value: str, name: str) -> None:
        """Set an i32 variable."""
        self.body.do(f"store i32 {value}, ptr %{name}")

    def as_mask(self, m32: str) -> str:
        """An i32 mask as lane bools."""
        return TRUE if m32 == "-1" else self.body(f"bitcast i32 {m32} to {V1}")

    def as_bits(self, mask: str) -> str:
        """Lane bools as an i32."""
        return "-1" if mask == TRUE else self.body(f"bitcast {V1} {mask} to i32")

    def both(self, a: str, b: str) -> str:
        """a and b, of lane bools."""
        return b if a == TRUE else a if b == TRUE else self.body(f"and {V1} {a}, {b}")

    # --- functions all kernels share ------------------------------------------------------------------------
    def routine_symbol(self, code: RoutineCode) -> str:
        """The function of a shared routine, declared."""
        return declared(self.module, code, self.host, self.choices)

    def lock_words(self, low: ValueLowering, address: Ref) -> str:
        """The words of s[] that the lanes lock, counted from 1."""
        word = low.op("lshr", low.splat(low.resize(address, 32)), low.constant(2, 32))
        return low.op("add", word, low.constant(1, 32)).text

    def shared(self, name: str) -> str:
        """What calls a function of `memory_ir`, up to its arguments."""
        return call_of(self.module, name, self.host)

    # --- tags of $a registers -------------------------------------------------------------------------------
    def tag(self, n: int, value: str | None) -> None:
        """Note what the lanes of $aN have in common, for accesses relative to it; None: nothing is known.

        `%aNlast` is the greatest address of the lanes, out of reach if one is no multiple of 4 or nothing is known:
        where it is inside of a space all are. `%aNplain` tells of half warps whose lanes are neighbouring words
        (`%aNrow`, `%aNrows` for 16 lanes) or equal; `%aNlow` and `%aNhigh` are the values of lanes 0 and 16.
        """
        b = self.body
        if n not in self._tagged:
            return
        if value is None:
            self.store32(str(UNREACHABLE), f"a{n}last")
            return
        firsts = "<" + ", ".join(f"i32 {0 if j < 16 else 16}" for j in range(32)) + ">"
        firsts = b(f"shufflevector {V32} {value}, {V32} poison, {V32} {firsts}")
        steps = "<" + ", ".join(f"i32 {4 * (j % 16)}" for j in range(32)) + ">"
        row = b(f"icmp eq {V32} {value}, {b(f'add {V32} {firsts}, {steps}')}")
        same = b(f"icmp eq {V32} {value}, {firsts}")
        is_row, is_same = (b(f"icmp eq i32 {b(f'bitcast {V1} {m} to i32')}, -1") for m in (row, same))
        ends = [b(f"extractelement {V32} {value}, i64 {lane}") for lane in (0, 16)]
        low_bits = b(f"and i32 {b(f'or i32 {ends[0]}, {ends[1]}')}, 3")
        aligned = b(f"icmp eq i32 {low_bits}, 0")
        larger = self.module.declare("llvm.umax.i32", "i32 @(i32, i32)")
        last = b(f"call i32 {larger}(i32 {ends[0]}, i32 {ends[1]})")
        behind = b(f"select i1 {is_row}, i32 60, i32 0")
        self.store32(b(f"select i1 {aligned}, i32 {b(f'add i32 {last}, {behind}')}, i32 {UNREACHABLE}"), f"a{n}last")
        plain, any_order, tagged = b(f"or i1 {is_row}, {is_same}"), b.fresh("order"), b.fresh("tagged")
        b.do(f"store i1 {plain}, ptr %a{n}plain")
        b.do(f"br i1 {plain}, label %{tagged}, label %{any_order}, !prof !2")
        b.label(any_order)
        greatest, either = (
            self.module.declare(f"llvm.vector.reduce.{name}.v32i32", f"i32 @({V32})") for name in ("umax", "or")
        )
        low_bits = b(f"and i32 {b(f'call i32 {either}({V32} {value})')}, 3")
        even = b(f"icmp eq i32 {low_bits}, 0")
        end = b(f"call i32 {greatest}({V32} {value})")
        self.store32(b(f"select i1 {even}, i32 {end}, i32 {UNREACHABLE}"), f"a{n}last")
        b.do(f"br label %{tagged}")
        b.label(tagged)
        one = b(f"insertelement <16 x i1> poison, i1 {is_row}, i64 0")
        rows = b(f"shufflevector <16 x i1> {one}, <16 x i1> poison, <16 x i32> zeroinitializer")
        b.do(f"store <16 x i1> {rows}, ptr %a{n}rows")
        b.do(f"store i1 {is_row}, ptr %a{n}row")
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
            ty, mark = ("i1", "u") if alike else (V1, "")
            for bit in range(4):
                one = low.resize(Ref(b(f"load {ty}, ptr {self.variable(place, bit)}{mark}"), 1, alike), 4)
                one = low.op("shl", one, low.constant(bit, 4)) if bit else one
                total = one if total is None else low.op("or", total, one)
            assert total is not None
            return low.resize(total, v.width)
        if place in self.uniform:
            one = low.resize(Ref(b(f"load i32, ptr {self.variable(place)}u"), 32, True), v.width)
            return low.splat(one) if step.trace is not None and has_calls(step.trace) else one
        return low.resize(Ref(b(f"load {V32}, ptr {self.variable(place)}"), 32), v.width)

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
        return Ref("<" + ", ".join(f"i32 {j}" for j in range(32)) + ">", 32)

    def _machine_mp_flag(self, step: Step, low: ValueLowering, v: Value, name: str) -> Ref:
        return low.constant(int(name in self.facts.flags), v.width)

    def _machine_vote(self, step: Step, low: ValueLowering, v: Value, kind: str) -> Ref:
        b = self.body
        holds = self.as_bits(low.splat(low.value(v.args[0])).text)
        if kind == "any":
            some = b(f"and i32 {holds}, {self.mask32}")
            return Ref(b(f"icmp ne i32 {some}, 0"), 1, True)
        missing = b(f"and i32 {b(f'xor i32 {holds}, -1')}, {self.mask32}")
        return Ref(b(f"icmp eq i32 {missing}, 0"), 1, True)

    def _machine_quad(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        value, selector = low.splat(low.value(v.args[0])), v.args[1]
        b, vector = self.body, self.module.vector(v.width)
        if selector.uniform:
            n = uniform_number(selector, step.word) & 3
            index = f"{V32} <" + ", ".join(f"i32 {(j & ~3) | n}" for j in range(32)) + ">"
            return Ref(b(f"shufflevector {vector} {value.text}, {vector} poison, {index}"), v.width)
        return self._quad_of(low, v, low.splat(low.resize(low.value(selector), 32)))

    def _quad_of(self, low: ValueLowering, v: Value, selector: Ref) -> Ref:
        """The value of the lane of the quad that each lane selects."""
        value, b, vector = low.splat(low.value(v.args[0])), self.body, self.module.vector(v.width)
        wanted = low.op("and", selector, low.constant(3, 32))
        out: Ref | None = None
        for n in range(4):
            index = f"{V32} <" + ", ".join(f"i32 {(j & ~3) | n}" for j in range(32)) + ">"
            of_n = Ref(b(f"shufflevector {vector} {value.text}, {vector} poison, {index}"), v.width)
            hit = low.op("icmp eq", wanted, low.constant(n, 32), 1)
            out = of_n if out is None else low.select(hit, of_n, out)
        assert out is not None
        return out

    def _machine_sr(self, step: Step, low: ValueLowering, v: Value, n: int) -> Ref:
        b = self.body
        if n == 0:
            number = b(f"zext i32 {b(f'load i32, ptr {self.state_pointer(state_layout.NUMBER)}')} to i64")
            p = b(f"getelementptr {V32}, ptr {self.slot('physid', 'ptr')}, i64 {number}")
            return Ref(b(f"load {V32}, ptr {p}, align 4"), 32)
        if n == 1:
            return self._clock(step, self.choices.clock_step)
        counted = (*self.choices.pm_counters, *("none",) * 4)[n - 4] if 4 <= n <= 7 else "none"
        if counted == "instructions":
            return self._clock(step, 1)
        if counted != "none":
            return Ref(b(f"load i32, ptr {self.state_pointer(state_layout.WARP.at(counted))}"), 32, True)
        return low.constant({3: self.choices.vstride, 8: self.choices.sample}.get(n, 0), 32)

    def _clock(self, step: Step, per_instruction: int) -> Ref:
        b = self.body
        return Ref(b(f"trunc i64 {b(f'mul i64 {self._issued(step)}, {per_instruction}')} to i32"), 32, True)

    def _machine_lock(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        """Lanes that get the lock of their word; a contended word, or none, stops the warp before."""
        b, address = self.body, low.splat(low.resize(low.value(v.args[0]), 32))
        lanes, limit = self.as_bits(self.executing), self.slot("shared_limit", "i32")
        f = self.shared("check_own")
        self.stop(step, b(f"{f}(i32 {limit}, {V32} {address.text}, i32 4, i32 {lanes})"))
        given = {"words": self.lock_words(low, address), "lanes": Ref(lanes, 32, True)}
        got = self.rules.rule(step, locks.try_lock, given)
        assert got is not None
        return Ref(b(f"bitcast i32 {got.text} to {V1}"), 1)

    def _machine_interp(self, step: Step, low: ValueLowering, v: Value, flat: bool, centroid: bool) -> Ref:
        """A row of the inputs that were evaluated before: `varyings` points to a table of them."""
        b, table = self.body, self.slot("varyings", "ptr")
        address = low.resize(low.value(v.args[0]), 32)
        if not address.uniform:  # $a0, which is 0 in all lanes
            address = Ref(b(f"extractelement {V32} {address.text}, i64 0"), 32, True)
        word = low.op("lshr", address, low.constant(2, 32))
        beyond = low.op("icmp uge", word, low.constant(VARYING_WORDS, 32), 1).text
        self.stop(step, b(f"or i1 {beyond}, {b(f'icmp eq ptr {table}, null')}"))
        first = VARYING_WORDS * (int(flat) + 2 * int(centroid))
        entry = low.resize(low.op("add", word, low.constant(first, 32)), 64).text
        row = b(f"load ptr, ptr {b(f'getelementptr ptr, ptr {table}, i64 {entry}')}")
        number = b(f"zext i32 {b(f'load i32, ptr {self.state_pointer(state_layout.NUMBER)}')} to i64")
        return Ref(b(f"load {V32}, ptr {b(f'getelementptr {V32}, ptr {row}, i64 {number}')}, align 4"), 32)

    def _machine_tex(self, step: Step, low: ValueLowering, v: Value, op: str, cube: bool, quads: bool,
                     mask: int) -> Ref:  # fmt: skip
        """Call the function of the question. Its answer stays in memory, from which `texel` takes components.

        The table `textures` has an address for each unit of the code: of a function and the record it gets, or 0. Where
        there is none, or it cannot answer, the warp leaves for the host.
        """
        b, sources = self.body, v.args[5:]
        self.scratch("%tex_in", f"[4 x {V32}]")
        self.scratch("%tex_out", f"[4 x {V32}]")
        for k, source in enumerate(sources):
            p = b(f"getelementptr {V32}, ptr %tex_in, i64 {k}")
            b.do(f"store {V32} {low.splat(low.resize(low.value(source), 32)).text}, ptr {p}, align 64")
        place = b(f"getelementptr i64, ptr {self.slot('textures', 'ptr')}, i64 {self.unit_of(step)}")
        entry = b(f"load ptr, ptr {place}")
        self.stop(step, b(f"icmp eq ptr {entry}, null"))
        function = b(f"load ptr, ptr {entry}")
        record = b(f"load ptr, ptr {b(f'getelementptr i8, ptr {entry}, i64 8')}")
        lanes = self.as_bits(self.executing)
        left = b(f"call {self.host.convention}i32 {function}(ptr {record}, ptr %tex_in, ptr %tex_out, i32 {lanes})")
        self.stop(step, b(f"icmp ne i32 {left}, 0"))
        return low.constant(0, v.width)

    def _machine_texel(self, step: Step, low: ValueLowering, v: Value, component: int) -> Ref:
        low.value(v.args[0])
        b = self.body
        p = b(f"getelementptr {V32}, ptr %tex_out, i64 {component}")
        return Ref(b(f"load {V32}, ptr {p}, align 64"), 32)

    def _machine_visible(self, step: Step, low: ValueLowering, v: Value) -> Ref:
        b = self.body
        seen = b(f"load i32, ptr {self.state_pointer(state_layout.VISIBLE)}")
        lanes = b(f"or i32 {seen}, {self.slot('live_all', 'i32')}")
        return Ref(b(f"bitcast i32 {lanes} to {V1}"), 1)

    @abstractmethod
    def unit_of(self, step: Step) -> str:
        """The position of an instruction in the code, in units of four bytes, as i64."""

    @abstractmethod
    def in_loop(self, step: Step) -> bool:
        """Whether an instruction is executed so often that more code for less time pays."""

    @property
    @abstractmethod
    def rules(self) -> ControlWriter:
        """What writes the routines of control into this code."""

    @abstractmethod
    def stop(self, step: Step, bad: str) -> None:
        """Leave compiled code before this instruction where the i1 `bad` is set."""

    def _issued(self, step: Step) -> str:
        """Instructions the warp has executed, as i64."""
        before = self.block_sizes[step.pc] - self.executed
        counted = self.body("load i64, ptr %issued")
        return self.body(f"sub i64 {counted}, {before}")

"""A function under construction: its variables and masks, context slots, tags of address registers.

`FunctionCode` is the interface of an emitter to its parts: `machine_values`, `state_saving`, `memory_access` and
`control_transfer` write into it, `instruction_code` combines them.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isakit.arch.tesla.tesla import COMPUTE
from isakit.engine.llvm import Builder, Host, LlvmModule, Ref, ValueLowering
from isakit.engine.llvm.builder import I1, I32, I64, MOSTLY, PTR, RARELY, IrFunction, IrType, numbers, pointer, vector
from isakit.engine.llvm.float_lowerings import float_lowerings
from isakit.engine.llvm.routine_ir import expression
from isakit.machine.tesla.address_spaces import PitchWindow, Window
from isakit.machine.tesla.analysis.control_flow import Flow, RegisterKey, Step
from isakit.machine.tesla.analysis.known_flow import known_order
from isakit.machine.tesla.analysis.lane_steps import KnownSteps, LaneSteps, has_thread_numbers_in_rows
from isakit.machine.tesla.analysis.racing_accesses import NOT_SEEN, WarpOrder
from isakit.machine.tesla.choices import Choices
from isakit.machine.tesla.compiled import state_layout
from isakit.machine.tesla.compiled.emit.control_functions import shared_function
from isakit.machine.tesla.compiled.emit.memory_ir import declared_in
from isakit.machine.tesla.compiled.state_layout import ALL, CONTEXT, SLOT, STATE, TRUE, V1, V32
from isakit.machine.tesla.launch import Launch
from isakit.machine.tesla.rules import accesses
from isakit.sem.routine import AnyRoutine
from isakit.sem.routine_code import RoutineCode
from isakit.sem.value import Value, uniform_number

UNREACHABLE = 1 << 30
_STEPS = numbers(32, (4 * (j % 16) for j in range(32)))


def shape_of(place: RegisterKey) -> tuple[IrType, int]:
    """Return the type of the lanes of a register, and its number of variables: a $c register has one per flag."""
    return (V1, 4) if place[0] == "c" else (V32, 1)


@dataclass(frozen=True)
class LaunchFacts:
    """Properties of a launch that are compiled into the code; everything else is looked up in the context.

    `consecutive`: the threads of a warp are consecutive in a row of the block, see `lane_steps`; `order`: how the
    program can observe the order of its warps.
    """

    registers: int
    flags: frozenset[str]
    windows: tuple[tuple[int, Window], ...]
    banks: frozenset[int]
    has_local: bool
    choices: Choices
    results: frozenset[RegisterKey] = frozenset()
    consecutive: bool = False
    order: WarpOrder = NOT_SEEN

    @classmethod
    def of(cls, launch: Launch, results: frozenset[RegisterKey] = frozenset()) -> LaunchFacts:
        """Return the properties of a launch."""
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


class FunctionCode:
    """Common part of the code of a warp and of a single instruction.

    `uniform`: registers that are scalars at this point; `decided`: the guard, if it is the same for all lanes;
    `certain`: $a registers whose accesses in this block were checked when it began; `quads`: whether quads may be
    switched on as a whole; `halves`: the two halves of 16-byte loads, by node; `executing`: lanes (bools) that execute
    the instruction; `steps_known`: the known steps between lanes at this point.
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
        self.uniform: set[RegisterKey] = set()
        self.decided: Ref | None = None
        self.steps_known: KnownSteps = {}

    def _prologue(self) -> None:
        """Restart the code before the first block: loads of context slots, and scratch variables."""
        self._slots: dict[str, Ref] = {}
        self._loads, self._scratch = Builder(self.module), Builder(self.module)

    # --- small pieces ---------------------------------------------------------------------------------------
    def state_pointer(self, offset: int) -> Ref:
        """Return a pointer into the warp's state."""
        return self.body.offset(STATE, offset)

    def number_of_warp(self) -> Ref:
        """Return the number of the warp in its block, i32."""
        return self.body.load(I32, self.state_pointer(state_layout.NUMBER))

    def slot(self, name: str, type: IrType = I64) -> Ref:
        """Return a value of the context, loaded at the start of the function."""
        key = f"%ctx_{name}_{type}"
        found = self._slots.get(key)
        if found is None:
            b = self._loads
            place = b.named(f"{key}_p", b.offset(CONTEXT, SLOT[name]))
            found = self._slots[key] = b.named(key, b.load(type, place, invariant=True))
        return found

    # --- memory spaces --------------------------------------------------------------------------------------
    def bound(self, space: str) -> bool:
        """Return whether the launch has the space."""
        if space == "l":
            return self.facts.has_local
        if space[0] == "c":
            return int(space[1:]) in self.facts.banks
        return space in ("s", "a", "p", "o") or int(space[1:]) in dict(self.facts.windows)

    def window(self, space: str, address: Ref, low: ValueLowering) -> tuple[Ref, Ref | None]:
        """Return (device addresses of a g[] space, lanes outside of it: None if there cannot be any)."""
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
        """Return the difference of device addresses in a g[] space from lane to lane, all active.

        None if it is not known.
        """
        if self._lane_steps is None or not self.full or isinstance(self._window(space), PitchWindow):
            return None
        return self._lane_steps.step_of(step, address, self.steps_known)

    def _window(self, space: str) -> Window:
        return dict(self.facts.windows)[int(space[1:])]

    def site(self) -> Ref:
        """Return the cell in which a global access caches the buffer it last hit."""
        self.sites += 1
        return self.body.offset(self.slot("sites", PTR), 8 * (self.sites - 1))

    def scratch(self, name: str, type: IrType) -> Ref:
        """Return a temporary variable, for uses that do not overlap."""
        b = self._scratch
        if not any(line.startswith(f"  {name} = ") for line in b.lines):
            b.alloca(type, name, align=64)
        return pointer(name)

    def variable(self, place: RegisterKey, part: int = 0) -> Ref:
        """Return the stack variable of a register, or of one flag of a $c register."""
        file, n = place
        return pointer(f"%{file}{n}f{part}" if file == "c" else f"%{file}{n}")

    def number_variable(self, place: RegisterKey, part: int = 0) -> Ref:
        """Return the variable of a register, or of one flag, while it is kept as a scalar."""
        file, n = place
        return pointer(f"%{file}{n}f{part}u" if file == "c" else f"%{file}{n}u")

    def load32(self, name: str) -> Ref:
        """Load an i32 variable."""
        return self.body.load(I32, pointer("%" + name))

    def store32(self, value: Ref | int, name: str) -> None:
        """Set an i32 variable."""
        self.body.store(value if isinstance(value, Ref) else I32(value), pointer("%" + name))

    def as_mask(self, m32: Ref) -> Ref:
        """Convert an i32 mask to lane bools."""
        return TRUE if m32 == ALL else self.body.bitcast(m32, V1)

    def as_bits(self, mask: Ref) -> Ref:
        """Convert lane bools to an i32."""
        return ALL if mask == TRUE else self.body.bitcast(mask, I32)

    def active_count(self) -> Ref:
        """Return how many lanes are active, i64."""
        return self.body.zext(self.body.intrinsic("ctpop", self.load32("mask")), I64)

    def both(self, a: Ref, b: Ref) -> Ref:
        """Return `a` and `b`, of lane bools."""
        return b if a == TRUE else a if b == TRUE else self.body.and_(a, b)

    # --- registers kept as one number ------------------------------------------------------------------------
    def settle(self, places: set[RegisterKey] | None = None) -> None:
        """Write registers kept as scalars to their lanes, for code that needs vectors (all of them by default)."""
        b = self.body
        for place in sorted(self.uniform if places is None else places):
            for part, v in enumerate(self.lanes_of(place)):
                b.store(v, self.variable(place, part))

    def lanes_of(self, place: RegisterKey) -> list[Ref]:
        """Return the lanes of a register, or of its four flags."""
        b, (type, parts) = self.body, shape_of(place)
        if place not in self.uniform:
            return [b.load(type, self.variable(place, part)) for part in range(parts)]
        return [b.splat(b.load(type.element, self.number_variable(place, part)), type) for part in range(parts)]

    # --- functions all kernels share ------------------------------------------------------------------------
    def routine_symbol(self, code: RoutineCode) -> str:
        """Declare the function of a shared routine and return its name."""
        return self.module.external(shared_function(code, self.host, self.choices)).name

    def lock_words(self, low: ValueLowering, address: Ref) -> Ref:
        """Return the words of s[] that the lanes lock, counted from 1."""
        word = low.op("lshr", low.splat(low.resize(address, 32)), low.constant(2, 32))
        return low.op("add", word, low.constant(1, 32))

    def shared(self, name: str) -> IrFunction:
        """Return a function of `memory_ir`."""
        return declared_in(self.module, name, self.host)

    # --- tags of $a registers -------------------------------------------------------------------------------
    def tag(self, n: int, value: Ref | None) -> None:
        """Record the common properties of the lanes of $aN, for accesses relative to it; None: nothing is known.

        `%aNlast` is the greatest address of the lanes, out of range if one is not a multiple of 4 or nothing is known:
        if it is inside of a space, all are. `%aNplain` marks half-warps whose lanes are adjacent words (`%aNrow`,
        `%aNrows` for 16 lanes) or equal; `%aNlow` and `%aNhigh` are the values of lanes 0 and 16.
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
        b.label(tagged)
        b.store(b.splat(is_row, vector(16, I1)), pointer(f"%a{n}rows"))
        b.store(is_row, pointer(f"%a{n}row"))
        for name, v in zip(("low", "high"), ends, strict=True):
            self.store32(v, f"a{n}{name}")

    def relative(self, step: Step, address: Value) -> tuple[int, int] | None:
        """Return (N, offset) of an address that is $aN plus a multiple of 4."""
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

    @abstractmethod
    def unit_of(self, step: Step) -> Ref:
        """Return the position of an instruction in the code, in units of four bytes, as i64."""

    @abstractmethod
    def in_loop(self, step: Step) -> bool:
        """Return whether an instruction is executed so often that faster but larger code pays."""

    @abstractmethod
    def rule(self, step: Step | None, routine: AnyRoutine, given: Mapping[str, Ref] | None = None) -> Ref:
        """Inline a control routine for this warp; if it raises, the warp stops before the instruction."""

    @abstractmethod
    def goto(self, pc: int) -> None:
        """Continue at a block, in the version for the present mask."""

    @abstractmethod
    def stay(self, pc: int) -> None:
        """Continue at a block without a change of the mask."""

    @abstractmethod
    def stop_label(self) -> str:
        """Return the label of the block that leaves compiled code before the instruction."""

    def stop(self, step: Step, bad: Ref) -> None:
        """Leave compiled code before this instruction if the i1 `bad` is set."""
        on = self.body.fresh("on")
        self.body.branch(bad, self.stop_label(), on, RARELY)
        self.body.label(on)

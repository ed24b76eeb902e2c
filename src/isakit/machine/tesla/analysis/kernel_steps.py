"""One instruction of a kernel as compiled code needs it: its meaning, what it reads and writes, how it may go on."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from isakit.arch.tesla import requests as request
from isakit.errors import IsakitError
from isakit.machine.tesla.kernel_code import Op
from isakit.sem.requests import covered
from isakit.sem.semantics import bind_control
from isakit.sem.trace import Effect, Trace
from isakit.sem.value import INTEGER_MEANING, Value, postorder, uniform_number
from isakit.spec.parts import static_word
from isakit.spec.record import Form

RegisterKey = tuple[str, int]
"""A register: file and number."""

HOST, LOWERED = False, True
"""The server of a request: the host for the warps that request it (`launch.host_assist`), or compiled code itself."""
SAMPLED = "tex", "texel", "visible"
"""Values that compiled code gets from the texture unit's functions, if the launch has some."""
CONTROLS = covered(
    "compiled code",
    request.REQUESTS.controls,
    {
        **dict.fromkeys(request.REQUESTS.controls.values(), LOWERED),
        **dict.fromkeys((request.EMIT, request.RESTART), HOST),
    },
)
VALUES = covered(
    "compiled code",
    request.REQUESTS.values,
    {
        **dict.fromkeys(
            (request.LANE, request.QUAD, request.SPECIAL_REGISTER, request.VOTE, request.MP_FLAG, request.TRY_LOCK),
            LOWERED,
        ),
        **dict.fromkeys((request.TEX, request.TEXEL, request.VISIBLE, request.INTERP), HOST),
    },
)
CLOCKS = (1, 4, 5, 6, 7)
"""Special registers that count: $clock, $pm0 to $pm3."""


class NotCompiled(IsakitError):
    """Something in the kernel that compiled code does not do; the reference engine runs it."""


@dataclass(eq=False)
class Step:
    """One instruction of the kernel.

    `trace` is its meaning (None when it cannot be executed: reaching it stops the warp), `word` its bits, `target` the
    address of a direct control transfer, `control` the name of its control action. The host executes a `served` one,
    and a `sampled` one only for warps whose query the texture unit's compiled functions cannot answer. `once`:
    executing it a second time would be observable. `leaves`: the lanes that execute it do not continue after it.
    `parks`: the addresses at which lanes may continue through an entry that it pushes.
    """

    op: Op
    word: int
    trace: Trace | None
    guard: Value | None = None
    control: str = ""
    served: bool = False
    sampled: bool = False
    once: bool = False
    leaves: bool = False
    target: int | None = None
    parks: frozenset[int] = frozenset()
    reads: set[RegisterKey] = field(default_factory=set[RegisterKey])
    writes: set[RegisterKey] = field(default_factory=set[RegisterKey])
    successors: list[int] = field(default_factory=list[int])

    @property
    def pc(self) -> int:
        """Byte address."""
        return self.op.pc

    @property
    def transfers(self) -> bool:
        """True if the stack may decide which lanes continue."""
        return self.op.join or self.op.exit or self.leaves or self.control == "quadpop"

    def asks(self, name: str) -> bool:
        """Return true if it needs a value of the machine."""
        return self.trace is not None and any(n.attr[0] == name for n in meaning_of(self.trace).machine)

    @property
    def conditional(self) -> bool:
        """True if it may be executed by some lanes only."""
        return self.guard is not None or self.op.never


@dataclass(frozen=True)
class StepMeaning:
    """The properties of a trace that `Step` needs; many instructions share them.

    `plain`: only accesses to known spaces and known machine values, no trap; `once`: as in `Step`.
    """

    reads: tuple[Value, ...]
    writes: tuple[Effect, ...]
    requests: tuple[Effect, ...]
    machine: tuple[Value, ...]
    plain: bool
    once: bool


@cache
def meaning_of(trace: Trace) -> StepMeaning:
    """Return the properties of a trace, cached for each."""
    nodes = trace.values()
    machine = tuple(n for n in nodes if n.op == "machine")
    memory = trace.of_kind("load", "store", "atomic")
    plain = not trace.of_kind("trap") and all(e.name in _SPACES for e in memory)
    return StepMeaning(
        tuple(n for n in nodes if n.op == "read"),
        tuple(trace.of_kind("write")),
        tuple(trace.of_kind("control")),
        machine,
        plain and all(n.attr[0] in VALUES for n in machine),
        bool(trace.of_kind("store", "atomic")) or any(n.attr[0] == "lock" for n in machine),
    )


_guards: dict[tuple[Form, int], Value | None] = {}


def guard_of(form: Form, word: int) -> Value | None:
    """Return the condition of an instruction, None if it always executes; cached for equal static bits."""
    part = form.parts.get("guard")
    key = form, 0 if part is None else static_word(part, word)
    if key not in _guards:
        guard = bind_control(form, "guard", word)
        holds = guard.holds() if guard is not None else None
        _guards[key] = None if holds is None or holds.op == "const" else holds
    return _guards[key]


@cache
def registers_read(value: Value) -> tuple[Value, ...]:
    """Return the registers a value depends on."""
    return tuple(n for n in postorder(value, set()) if n.op == "read")


def is_lowered(n: Value, word: int) -> bool:
    """Return true if compiled code computes a machine value: inputs of fragments only at uniform addresses."""
    return VALUES[n.attr[0]] is LOWERED or (n.attr[0] == "interp" and fixed_number(n.args[0], word) is not None)


def is_sampled(n: Value) -> bool:
    """Return true if a value comes from the texture unit, for which compiled functions may be substituted."""
    return n.attr[0] in SAMPLED and (n.attr[0] != "tex" or all(a.uniform for a in n.args[:5]))


class Sample(NamedTuple):
    """A query to the texture unit, at an address: texture, sampler, texel offsets, number of sources, options."""

    pc: int
    texture: int
    sampler: int
    offsets: tuple[int, int, int]
    sources: int
    op: str
    cube: bool
    quads: bool
    mask: int


def sample_of(step: Step) -> Sample:
    """Return the query of a sampled instruction to the texture unit."""
    assert step.trace is not None
    n = next(n for n in meaning_of(step.trace).machine if n.attr[0] == "tex")
    facts = dict(n.attr[1])
    texture, sampler, *shift = (uniform_number(a, step.word) for a in n.args[:5])
    dx, dy, dz = (d - ((d >> 31) << 32) for d in shift)
    kind = (facts[name] for name in ("op", "cube", "quads", "mask"))
    return Sample(step.pc, texture, sampler, (dx, dy, dz), len(n.args) - 5, *kind)


def fixed_number(v: Value, word: int) -> int | None:
    """Return the constant that a value is, given the instruction word, else None; $a0 is 0."""
    if v.uniform:
        return uniform_number(v, word)
    if v.op == "read":
        return 0 if v.attr == "a" and v.args[0].uniform and uniform_number(v.args[0], word) == 0 else None
    args = [fixed_number(a, word) for a in v.args]
    if v.op not in INTEGER_MEANING or any(a is None for a in args):
        return None
    return INTEGER_MEANING[v.op](v.width, [a.width for a in v.args], v.attr, [a for a in args if a is not None])


_SPACES = {"s", "l", "a", "p", "o", *(f"c{i}" for i in range(16)), *(f"g{i}" for i in range(16))}

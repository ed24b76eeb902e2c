"""Instruction words to functions: the code that the core executes, and the registers an instruction reads and writes.

Every word is traced with its own field values, so that register numbers and immediates are constants of the generated
function; equal words share it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from isakit.arch.vuc import vuc
from isakit.codec import Instruction, decoder
from isakit.engine import Control, compile_trace
from isakit.errors import MachineFault
from isakit.sem import Trace, Value, const
from isakit.sem.semantics import bind_control, traced
from isakit.spec import Field, Form

Register = tuple[str, int]
"""Register file (`r`, `p`, `sr`, `acc`) and number."""


class _WordBinder:
    """Binds parts to the field values of one word."""

    def __init__(self, word: int) -> None:
        self.word = word

    def param(self, field: Field) -> Value:
        return const(field.get(self.word), field.width)

    def const(self, value: int, width: int) -> Value:
        return const(value, width)


@dataclass(frozen=True)
class Footprint:
    """Registers that an instruction accesses: read, written at once, and written later as (register, latency)."""

    reads: frozenset[Register]
    direct: frozenset[Register]
    delayed: tuple[tuple[Register, int], ...]
    controls: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class CoreOp:
    """A decoded instruction.

    `guard`: predicate number or -1; `relative`: (predicate, negated, distance) of the VP2 slot or None; `run(state,
    lanes, params)` executes it; `predicates`, `kept`: masks of $p and $r registers it writes at once; `registers`:
    those $r registers. `plain`: 0 if it does anything but compute, load from and store to D[] and write registers, or
    uses the relative slot; else 1 if it writes predicates, else 2. `clocked`: a plain one that reads the core's state
    or writes late. `jump`: the target of a plain `bra`, -1 for other instructions.
    """

    instruction: Instruction
    guard: int
    relative: tuple[int, bool, int] | None
    run: Callable[[object, object, object], list[Control]]
    footprint: Footprint
    predicates: int
    kept: int
    registers: frozenset[int]
    plain: int = 0
    jump: int = -1
    clocked: bool = False
    source: str = field(repr=False, default="")


def trace_word(form: Form, word: int) -> Trace:
    """Return the meaning of an instruction, with all field values as constants.

    Raises NotModelled if it is not known.
    """
    return traced(form, word, _WordBinder(word))


def footprint(trace: Trace, guard: int, relative: tuple[int, bool, int] | None) -> Footprint:
    """Return the reads and writes of a traced word."""
    reads: set[Register] = set()
    for v in trace.values():
        if v.op == "read":
            reads.add((v.attr, v.args[0].number))
        if v.op == "machine" and v.attr[0] == "peek":
            reads.add(("sr", v.args[0].number))
    direct: set[Register] = set()
    delayed: list[tuple[Register, int]] = []
    for e in trace.effects:
        if e.kind == "load" and e.name == "sr":
            reads.add(("sr", e.args[0].number))
        if e.kind != "write" or (e.when is not None and e.when.op == "const" and not e.when.attr):
            continue
        register = e.name, e.args[0].number
        if e.lands_later:
            delayed.append((register, e.get("latency")))
        else:
            direct.add(register)
    if guard >= 0:
        reads.add(("p", guard))
    if relative is not None:
        reads.add(("p", relative[0]))
    controls = tuple(e.name for e in trace.of_kind("control"))
    return Footprint(frozenset(reads), frozenset(direct), tuple(delayed), controls)


_SIZES = {"r": 16, "p": 16, "acc": 1}
"""Registers of the files that instructions name directly."""


@lru_cache(maxsize=1 << 14)
def _prepared(form: Form, word: int) -> tuple[Trace, Callable[..., list[Control]], str]:
    trace = trace_word(form, word)
    compiled = compile_trace(trace, "scalar", _SIZES)
    return trace, compiled.function, compiled.source


def decode(variant: str, word: int, address: int) -> CoreOp:
    """Decode a word at an instruction address; raises MachineFault if it is not an instruction."""
    d = decoder(vuc, variant)
    i = d.one(word, 1, address * d.view.variant.unit_bytes)
    form = i.form
    if i.error is not None or form is None:
        raise MachineFault(i.error or "ILLEGAL_OPCODE", address, detail=f"word {word:#x}")
    guard = bind_control(form, "guard", word)
    relative = bind_control(form, "rbra", word)
    trace, run, source = _prepared(form, word)
    fp = footprint(trace, -1 if guard is None else guard, relative)
    predicates = sum(1 << n for f, n in fp.direct if f == "p")
    registers = frozenset(n for f, n in fp.direct if f == "r")
    plain, jump, clocked = _plainness(trace, relative, predicates)
    guarded = -1 if guard is None else guard
    kept = sum(1 << n for n in registers)
    return CoreOp(i, guarded, relative, run, fp, predicates, kept, registers, plain, jump, clocked, source)


def _plainness(trace: Trace, relative: object, predicates: int) -> tuple[int, int, bool]:
    """Return `plain`, `jump` and `clocked` of an Op."""
    if relative is not None:
        return 0, -1, False
    if [e.name for e in trace.effects] == ["branch"]:
        return 2, trace.effects[0].args[0].number, False
    if not all(e.kind == "write" or (e.kind in ("load", "store") and e.name == "D") for e in trace.effects):
        return 0, -1, False
    direct = all(e.kind == "write" and not e.lands_later for e in trace.effects)
    return 1 if predicates else 2, -1, not direct or _asks_machine(trace)


def _asks_machine(trace: Trace) -> bool:
    """Return true if any value comes from the machine."""
    return any(v.op == "machine" for v in trace.values())

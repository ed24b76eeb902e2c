"""Programs ready to run: one compiled trace and its parameters per instruction and repetition.

Repetition advances the operands of an instruction: by fixed steps in the dot-product group, else by the increments that
smlsi and smbo set. Source: [usse] 2.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from isakit.arch.usse.arithmetic import Rules, using
from isakit.arch.usse.float import VDP_MASK
from isakit.arch.usse.places import BankedRegister
from isakit.arch.usse.registers import INTERNAL_OFFSETS, OFFSETS, ROLES
from isakit.asm import Program
from isakit.codec import Instruction
from isakit.engine import CompiledTrace, compile_trace
from isakit.errors import NotModelled
from isakit.lean import cached_property
from isakit.sem.semantics import bind_control, trace_of, traced
from isakit.sem.value import postorder
from isakit.spec import Choice, Field, Form, Hidden, Part, Status, Template

_compiled: dict[tuple[Form, int, Rules], CompiledTrace] = {}


def compiled(form: Form, word: int, rules: Rules) -> CompiledTrace:
    """Return the function of an instruction under the rules; one per static key."""
    key = form, form.static_word(word), rules
    found = _compiled.get(key)
    if found is None:
        with using(rules):
            found = _compiled[key] = compile_trace(traced(form, word), "numpy")
    return found


@dataclass(frozen=True)
class Increments:
    """The increments of operands from one repetition to the next: per role `step` n or four `offsets`, plus a base."""

    modes: tuple[tuple[str, tuple[int, ...]], ...] = (("step", (1,)),) * 4
    bases: tuple[int, ...] = (0, 0, 0, 0)

    def at(self, role: int, i: int) -> int:
        """Return the register offset in repetition `i`, in units of the operand."""
        kind, numbers = self.modes[role]
        return self.bases[role] + (numbers[0] * i if kind == "step" else numbers[i % 4])


class BoundFields(NamedTuple):
    """The fields of one repetition of an instruction: the word, and numbers that are not in it."""

    word: int
    moved: Mapping[Field, int]

    def of(self, field: Field) -> int:
        """Return the number of a field."""
        return self.moved[field] if field in self.moved else field.get(self.word)


@dataclass
class ShaderStep:
    """An instruction: `pred` is None, (register, inverted) or `Pn`."""

    instruction: Instruction
    form: Form
    word: int
    rules: Rules
    pred: tuple[int, bool] | str | None
    repeats: int
    runs: dict[Increments, list[tuple[CompiledTrace, tuple[int, ...]]]] = field(
        default_factory=dict[Increments, list[tuple[CompiledTrace, tuple[int, ...]]]]
    )

    @cached_property
    def name(self) -> str:
        """The record's name."""
        return self.form.record.name if self.form.record else ""

    @cached_property
    def status(self) -> Status:
        """The certainty of the meaning."""
        return self.form.record.status if self.form.record else Status.UNKNOWN

    @cached_property
    def writes_shared(self) -> bool:
        """True if the instruction writes sa."""
        return any(e.kind == "write" and e.name == "sa" for e in trace_of(self.form, self.word).effects)

    @cached_property
    def written_files(self) -> frozenset[str]:
        """The register files that the instruction writes."""
        return frozenset(e.name for e in trace_of(self.form, self.word).of_kind("write"))

    @cached_property
    def may_stop_midway(self) -> bool:
        """True if an instruction may fault after it has already changed state.

        Machine values (a sample) are computed as a whole before the first register is written.
        """
        trace = trace_of(self.form, self.word)
        faults = bool(trace.of_kind("load", "store", "trap"))
        asks = any(n.op == "machine" for e in trace.effects for v in e.args for n in postorder(v, set()))
        return (faults and len(trace.effects) > 1) or ((faults or asks) and self.repeats > 1)

    @cached_property
    def moves(self) -> bool:
        """True if smlsi and smbo affect the instruction."""
        return "rpt" in self.form.parts

    @cached_property
    def doubled(self) -> tuple[bool, ...]:
        """For each role, whether the operand counts 64-bit registers."""
        return tuple(_doubled(self.form.parts.get(r), self.word) for r in ROLES)

    def prepared(self, increments: Increments) -> list[tuple[CompiledTrace, tuple[int, ...]]]:
        """Return functions and parameters of all repetitions."""
        found = self.runs.get(increments)
        if found is None:
            found = self.runs[increments] = [self._repetition(i, increments) for i in range(self.repeats)]
        return found

    def _repetition(self, i: int, increments: Increments) -> tuple[CompiledTrace, tuple[int, ...]]:
        binding = self.binding(i, increments)
        function = compiled(self.form, binding.word, self.rules)
        return function, tuple(map(binding.of, function.fields))

    def binding(self, i: int, increments: Increments) -> BoundFields:
        """Return the word of repetition `i`, and the fields that are not encoded in it: offsets of operands."""
        word = self.word
        if self.name == "vdp" and i:
            mask = VDP_MASK.get(word)
            word = word & ~VDP_MASK.mask | VDP_MASK.put((mask << i % 4 | mask >> (4 - i % 4)) & 15)
        offsets, internal = self._offsets(i, increments)
        moved: dict[Field, int] = {}
        for k, role in enumerate(ROLES):
            moved[OFFSETS[role]] = offsets[k] & 0xFFFFFFFF
            moved[INTERNAL_OFFSETS[role]] = internal[k] & 0xFFFFFFFF
        return BoundFields(word, moved)

    def _offsets(self, i: int, increments: Increments) -> tuple[list[int], list[int]]:
        """Return offsets of repetition `i` per role: in 32-bit registers, and in internal registers."""
        if not self.moves or (self.repeats == 1 and not any(increments.bases)):
            return [0] * 4, [0] * 4
        if self.name in ("vmad", "vdp"):
            return self._group_offsets(i, increments)
        steps = [increments.at(k, i) for k in range(4)]
        return [s * (2 if d else 1) for s, d in zip(steps, self.doubled, strict=True)], steps

    def _group_offsets(self, i: int, increments: Increments) -> tuple[list[int], list[int]]:
        mode = bind_control(self.form, "rptmode", self.word)
        if mode == "slmsi":
            steps = [increments.at(k, i) for k in range(4)]
            unified = [4 * steps[0], *(2 * s for s in steps[1:])]
            internal = [0, 0, 0, 0]
        else:
            unified = [4 * i if mode in ("external", "both") else 0] * 4
            internal = [i if mode in ("internal", "both") else 0] * 4
        if self.name == "vdp":  # the mask moves instead
            unified[0] = internal[0] = 0
        return unified, internal


def _doubled(part: Part | None, word: int) -> bool:
    while isinstance(part, (Hidden, Choice)):
        part = part.part if isinstance(part, Hidden) else part.pick(word)
    place = part.register.place if isinstance(part, Template) and part.register is not None else None
    return isinstance(place, BankedRegister) and place.double


class ShaderCode:
    """A program ready to run under some rules. `steps` has None where a word is not an instruction."""

    def __init__(self, program: Program, rules: Rules) -> None:
        self.program, self.rules = program, rules
        self.steps = [self._step(i) for i in program]

    def __reduce__(self) -> tuple[object, ...]:
        return ShaderCode, (self.program, self.rules)

    def _step(self, i: Instruction) -> ShaderStep | None:
        if i.form is None or not i.valid:
            return None
        form, word = i.form, i.word
        return ShaderStep(
            i, form, word, self.rules, bind_control(form, "pred", word), bind_control(form, "rpt", word) or 1
        )

    @cached_property
    def _highest(self) -> dict[str, int]:
        out: dict[str, int] = {"r": 0, "o": 0, "pa": 0}
        touches_global = False
        for step in self.steps:
            if step is None:
                continue
            # Components, loads of up to 16 registers, and what repetitions add.
            more = 20 + 8 * step.repeats
            for r in step.instruction.registers:
                if r.file in out:
                    out[r.file] = 256 if r.index_register else min(256, max(out[r.file], r.index + more))
                touches_global |= r.file == "g"
        moved = any(step is not None and step.name in ("smlsi", "smbo") for step in self.steps)
        out = dict.fromkeys(out, 256) if moved else out
        return out | {"g": 64 if touches_global else 0}

    @property
    def extent(self) -> dict[str, int]:
        """The number of registers of the files r, o, pa and g that the program can reach."""
        return dict(self._highest)

    def __len__(self) -> int:
        return len(self.steps)


def check_modelled(step: ShaderStep) -> None:
    """Raise NotModelled for an instruction whose effect is not known."""
    if step.status is Status.UNKNOWN:
        notes = step.form.record.notes if step.form.record else ()
        raise NotModelled(f"`{step.instruction.text}`", notes[0] if notes else "its meaning is not known")
    if step.pred == "Pn":
        raise NotModelled(
            f"`{step.instruction.text}`", "how predicate Pn follows channels and repetitions is not known"
        )

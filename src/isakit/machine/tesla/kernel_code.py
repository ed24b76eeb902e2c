"""Code prepared for execution: every instruction decoded and compiled once, when it is first reached."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from isakit.codec.decoder import Decoder
from isakit.codec.instruction import Instruction
from isakit.engine import CompiledTrace, compile_trace
from isakit.errors import NotModelled
from isakit.lean import dataclass
from isakit.sem.semantics import BINDER, bind_control, fields_of, trace_of
from isakit.sem.trace import Effect, Trace, control, tracing
from isakit.sem.value import uniform_number
from isakit.spec.parts import Part, Template, bound_value, static_bits, text_of
from isakit.spec.record import Form

_compiled: dict[Trace, CompiledTrace] = {}
_guards: dict[tuple[int, int], tuple[Part, CompiledTrace | bool | None]] = {}
"""Guards by the id of the operand kind, which forms share, and its static bits. Keeping the kind keeps the id
unique."""


@dataclass(eq=False, slots=True)
class Op:
    """One instruction at one address.

    Attributes:
        pc, following: byte addresses of it and of the next instruction.
        error: the decode error to fault with, or None.
        missing: the reason why the machine cannot execute it, or None.
        meaning: its trace, None if it has no effect; `body` is the compiled meaning, `params` are its field
            values.
        guard: the compiled condition, None if it always holds; `never`: it holds in no lane.
        join, exit: the tails.
        controls: the body requests control actions.
        dropped: the whole instruction does nothing, because its destination is not allocated.
        fixed_a: $a registers written that always read 0.
        plain: execution simply continues at `following`: no control action, no tail.
    """

    pc: int
    following: int
    instruction: Instruction | None = None
    error: str | None = None
    missing: NotModelled | None = None
    meaning: Trace | None = None
    _body: CompiledTrace | None = None
    _params: tuple[int, ...] = ()
    guard: CompiledTrace | None = None
    guard_params: tuple[int, ...] = ()
    never: bool = False
    join: bool = False
    exit: bool = False
    controls: bool = False
    dropped: bool = False
    fixed_a: tuple[int, ...] = ()
    plain: bool = False

    @property
    def body(self) -> CompiledTrace | None:
        """The compiled meaning, compiled when the instruction is first executed here."""
        if self._body is None and self.meaning is not None:
            self._body = compiled(self.meaning)
            i = self.instruction
            assert i is not None
            assert i.form is not None
            self._params = fields_of(i.form, i.word, self._body.fields)
        return self._body

    @property
    def params(self) -> tuple[int, ...]:
        """The parameters of `body` from the instruction word."""
        return self._params if self.body is not None else ()


def compiled(trace: Trace) -> CompiledTrace:
    """Return the NumPy function of a trace, cached."""
    function = _compiled.get(trace)
    if function is None:
        function = _compiled[trace] = compile_trace(trace)
    return function


def _guard_of(form: Form, word: int) -> CompiledTrace | bool | None:
    """Return the compiled guard, None for always, False for never."""
    part = form.parts.get("guard")
    if part is None or "guard" not in form.control:
        return None
    key = id(part), word & static_bits(part)
    if key not in _guards:
        _guards[key] = part, _compiled_guard(part, word)
    return _guards[key][1]


def _compiled_guard(part: Part, word: int) -> CompiledTrace | bool | None:
    guard = bound_value(part, word, BINDER)
    if guard is None:
        return None
    holds = guard.holds()
    if holds.op == "const":
        return None if holds.attr else False
    with tracing() as trace:
        control("guard", holds)
    return compile_trace(trace)


FIXED = (0, 5, 6)
"""$a registers that always read 0."""


class Code:
    """Instructions by byte address.

    `units` are the 32-bit words from `address` on; `registers` is the number of allocated registers; see
    `Choices.drop_unallocated` for instructions with a higher destination.
    """

    def __init__(
        self,
        decoder: Decoder,
        units: Sequence[int],
        address: int = 0,
        registers: int = 128,
        drop_unallocated: bool = True,
    ) -> None:
        self.decoder, self.units, self.address, self.registers = decoder, list(units), address, registers
        self.drop_unallocated = drop_unallocated
        self._ops: dict[int, Op] = {}

    def __reduce__(self) -> tuple[object, ...]:
        return Code, (self.decoder, self.units, self.address, self.registers, self.drop_unallocated)

    @property
    def end(self) -> int:
        """The address past the last word."""
        return self.address + 4 * len(self.units)

    def at(self, pc: int) -> Op:
        """Return the instruction at an address; errors are part of it and are raised when it is executed."""
        op = self._ops.get(pc)
        if op is None:
            op = self._ops[pc] = self._prepare(pc)
        return op

    def size_at(self, pc: int) -> int:
        """Return the size of the instruction at an address in bytes."""
        op = self.at(pc)
        return op.following - op.pc

    def _prepare(self, pc: int) -> Op:
        index, odd = divmod(pc - self.address, 4)
        if odd or not 0 <= index < len(self.units):
            return Op(pc, pc + 4, error="CODE_OUT_OF_RANGE")
        n = self.decoder.isa.length(self.units[index])
        instruction = self.decoder.decode(self.units[index : index + n], pc)[0]
        op = Op(pc, pc + instruction.size, instruction, instruction.error)
        form = instruction.form
        if op.error is not None or form is None:
            return op
        word = instruction.word
        try:
            trace = trace_of(form, word)
        except NotModelled as e:
            op.missing = e
            return op
        guard = _guard_of(form, word)
        if guard is False:
            op.never = True
        elif isinstance(guard, CompiledTrace):
            op.guard, op.guard_params = guard, fields_of(form, word, guard.fields)
        if "tail" in form.control:
            tail = bind_control(form, "tail", word)
            op.join, op.exit = tail == "join", tail == "exit"
        if trace.effects:
            op.meaning = trace
        op.controls = bool(trace.of_kind("control"))
        self._destinations(op, trace, word)
        op.plain = not (op.controls or op.join or op.exit)
        return op

    def _destinations(self, op: Op, trace: Trace, word: int) -> None:
        written = [(e.name, uniform_number(e.args[0], word)) for e in trace.of_kind("write") if e.args[0].uniform]
        op.fixed_a = tuple(sorted({n for file, n in written if file == "a" and n in FIXED}))
        touches_global = any(e.name.startswith("g") for e in trace.of_kind("load", "store", "atomic"))
        beyond = any(file == "r" and n >= self.registers for file, n in written)
        op.dropped = beyond and self.drop_unallocated and not touches_global


def reads_space(code: Code, space: str) -> bool:
    """Return true if any instruction of a program loads from a memory space."""
    find, length, units = code.decoder.find, code.decoder.isa.length, code.units
    naming: dict[Form, list[Part | str]] = {}
    k = 0
    while k < len(units):
        n = length(units[k])
        word = sum(u << 32 * j for j, u in enumerate(units[k : k + n]))
        k += n
        found = find(word, n)
        if isinstance(found, str):
            continue
        form = found.form
        if form not in naming:
            naming[form] = [name for part in form.parts.values() for name in _spaces(part)]
        if space not in [name if isinstance(name, str) else text_of(name, word) for name in naming[form]]:
            continue
        if found.error(word) is None and any(e.name == space for e in _loads(form, word)):
            return True  # what an undecodable word loads is unknown
    return False


def _spaces(part: Part) -> Iterator[Part | str]:
    """Yield the names of the memory spaces that an operand may be in: strings, or the parts that select them."""
    if isinstance(part, Template) and "space" in {**part.holes, **part.facts}:
        yield part.holes.get("space") or str(part.facts["space"])
    for inner in part.children:
        yield from _spaces(inner)


def _loads(form: Form, word: int) -> list[Effect]:
    try:
        return trace_of(form, word).of_kind("load")
    except NotModelled:
        return []

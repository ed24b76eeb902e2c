"""Symbolic execution of a shader: registers and results as graphs of its inputs and uniforms.

Branches become conditions. The words are executed in order, each on the path on which invocations reach it; a forward
branch takes its condition to the target, and a write keeps the old value on the other paths. A backward branch is a
loop: its iterations are unrolled if all invocations execute the same known number of them; otherwise one is executed on
symbols for the registers it changes (`loops`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from isakit.arch.usse import requests
from isakit.arch.usse.arithmetic import DEFAULT, Rules, using
from isakit.arch.usse.registers import ROLES
from isakit.asm import Program
from isakit.decompile.comparisons import is_comparison
from isakit.decompile.interface import BufferAddress, Fetch, Interface, TextureStateWord, texel_words
from isakit.decompile.loops import (
    MOST_INSTRUCTIONS,
    MOST_TURNS,
    Key,
    SymbolicLoop,
    floating,
    loop_ends,
    value_of,
    variable,
)
from isakit.decompile.paths import ALWAYS, NEVER, Path, without
from isakit.decompile.simplify import bits, chosen, equal
from isakit.errors import MachineFault, NotModelled
from isakit.machine.usse.shader_code import BoundFields, Increments, ShaderCode, ShaderStep, check_modelled
from isakit.sem.semantics import traced
from isakit.sem.trace import Effect
from isakit.sem.value import INTEGER_MEANING, Value, binary, const, on, postorder, u1
from isakit.spec import Status

MOST_PRUNED = 50_000
"""Values on paths up to which impossible alternatives are searched."""


@dataclass
class ProgramOutcome:
    """The outcome of a program: registers, whether the pixel is discarded, its depth (None if it is not set).

    `path` is that of invocations that reach the end.
    """

    registers: dict[tuple[str, int], Value]
    killed: Value = field(default_factory=lambda: u1(0))
    depth: Value | None = None
    path: Path = ALWAYS


class SymbolicExecution:
    """Executes programs of one shader; equal values are one object. `loops` are those with an expression, in order."""

    def __init__(self, interface: Interface, rules: Rules = DEFAULT) -> None:
        self.interface, self.rules = interface, rules
        self._nodes: dict[object, Value] = {}
        self._kept: set[int] = set()
        self._fetches: dict[object, Fetch] = {}
        self._paths: dict[int, Path] = {}
        self._path = ALWAYS
        self._pruned: dict[object, Value] = {}
        self.now: ProgramOutcome = ProgramOutcome({})
        self.loops: list[SymbolicLoop] = []
        self._steps: list[ShaderStep | None] = []
        self._ends: dict[int, int] = {}
        self._increments = Increments()
        self._head, self._again = -1, NEVER
        self._written: set[Key] = set()
        self._number = 0

    def run(self, program: Program, registers: dict[tuple[str, int], Value]) -> ProgramOutcome:
        """Execute a program from its first instruction.

        Raises NotModelled for constructs without an expression (registers chosen at run time, stores, some loops) and
        for instructions of unknown meaning; MachineFault for words that are not an instruction.
        """
        self.now = ProgramOutcome(dict(registers))
        self._increments = Increments()
        self._steps = ShaderCode(program, self.rules).steps
        self._ends = loop_ends([j for pc, step in enumerate(self._steps) for j in self._jumps(pc, step)])
        pending: dict[int, Path] = {}
        path = self._through(0, len(self._steps), ALWAYS, pending)
        for rest in pending.values():
            path = path.either(rest)
        self.now.path = path
        return self.now

    def _through(self, start: int, stop: int, path: Path, pending: dict[int, Path], loop: int = -1) -> Path:
        """Execute instructions, in the loop that begins with the instruction `loop`; returns the path at their end."""
        pc = start
        while pc < stop:
            path = path.either(pending.pop(pc, NEVER))
            last = self._ends.get(pc)
            if path and last is not None and pc != loop:
                path, pc = self._loop(pc, last, path), last + 1
                continue
            if path:
                step = self._steps[pc]
                if step is None:
                    raise MachineFault("ILLEGAL_OPCODE", 8 * pc)
                try:
                    path = self._step(pc, step, path, pending)
                except NotModelled as e:
                    raise NotModelled(f"{pc:04x}: {e.what}", e.why) from None
            pc += 1
        return path

    # --- loops -------------------------------------------------------------------------------------------------------
    def _jumps(self, pc: int, step: ShaderStep | None) -> Iterator[tuple[int, int]]:
        """Yield the branch at an instruction and its target."""
        if step is None or step.name not in ("br", "bra") or step.status is Status.UNKNOWN:
            return
        binding = step.binding(0, Increments())
        for e in traced(step.form, binding.word).of_kind("control"):
            target = self._target(pc, e, [self.rebuilt(v, binding, {}) for v in e.args])
            if target is not None:
                yield pc, target

    @staticmethod
    def _target(pc: int, e: Effect, args: list[Value]) -> int | None:
        """Return the target of a branch; None if it is computed."""
        if args[0].op != "const":
            return None
        number = args[0].number
        number -= number >> 31 << 32
        return pc + number if e.name == requests.BRANCH.name else number

    def _iteration(self, head: int, last: int, path: Path) -> tuple[Path, Path]:
        """Execute one iteration of a loop; return the path that repeats it and the path that leaves it."""
        around = self._head, self._again
        self._head, self._again = head, NEVER
        pending: dict[int, Path] = {}
        left = self._through(head, last + 1, path, pending, head).either(pending.pop(last + 1, NEVER))
        again = self._again
        self._head, self._again = around
        return again, left

    def _loop(self, head: int, last: int, path: Path) -> Path:
        before = replace(self.now, registers=dict(self.now.registers))
        made, written = len(self.loops), set(self._written)
        inside, turns = path, min(MOST_TURNS, MOST_INSTRUCTIONS // (last + 1 - head))
        for _ in range(turns):
            inside, left = self._iteration(head, last, inside)
            if not inside:
                return left
            if left:
                break
        self.now = before
        del self.loops[made:]
        self._written = written
        return self._symbolic_loop(head, last, path)

    def _symbolic_loop(self, head: int, last: int, path: Path) -> Path:
        """Execute a loop once, on symbols for the registers it changes."""
        before, increments, outer = self.now, self._increments, self.loops
        number = self._number
        self._number += 1
        written = self._written
        keys, floats = set[Key](), frozenset[Key]()
        while True:
            self._written, self.loops = set(), []
            self.now = replace(before, registers=dict(before.registers))
            now = {k: self.one(value_of(variable(number, k, True, k in floats), _width(k))) for k in keys}
            self.now.registers.update(now)
            again, left = self._iteration(head, last, ALWAYS)
            same = self.now.killed is before.killed and self.now.depth is before.depth
            if not same or self._increments != increments:
                raise NotModelled(f"{head:04x}: an expression for a loop that discards, or sets depth or increments")
            found = frozenset(k for k in keys if _width(k) == 32 and floating(self.now.registers[k]))
            if self._written <= keys and found <= floats:
                break
            keys, floats = keys | self._written, floats | found
        if not left:
            raise NotModelled(f"{head:04x}: an expression for a loop", "it has no end")
        after = {k: v for k, v in self.now.registers.items() if k in keys and v is not now[k]}
        inner, self.loops, self.now = self.loops, outer, before
        zero = {k: const(0, _width(k)) for k in after}
        entered = self.one(path.value())
        old = {k: self.now.registers.get(k, zero[k]) for k in after}
        self.loops.append(SymbolicLoop(number, entered, old, after, again.value(), floats, inner))
        self._paths[id(entered)] = path
        for k in after:
            new = self.one(value_of(variable(number, k, False, k in floats), _width(k)))
            self.now.registers[k] = self._chosen(entered, new, old[k], path)
        self._written = written | keys
        return path

    def _step(self, pc: int, step: ShaderStep, path: Path, pending: dict[int, Path]) -> Path:
        check_modelled(step)
        active = path
        self._path = path
        if step.pred is not None:
            number, inverted = step.pred  # type: ignore[misc]
            active = path.both(self._predicate(int(number)), not inverted)
        if not active:
            return path
        self._path = active
        for i in range(step.repeats):
            binding = step.binding(i, self._increments)
            with using(self.rules):
                effects = traced(step.form, binding.word).effects
            done: dict[int, Value] = {}
            known = [self._effect_values(e, binding, done) for e in effects]
            for effect, (args, when) in zip(effects, known, strict=True):
                if effect.kind == "write":
                    self._write(effect, args, when, active)
                elif effect.kind == "control":
                    path = self._control(pc, effect, args, path, active, pending)
                elif effect.kind != "load":
                    raise NotModelled(f"an expression for `{step.instruction.mnemonic}`", f"it has a {effect.kind}")
        return path

    def _predicate(self, number: int) -> Value:
        return self._register(("p", number), 1)

    def _register(self, key: tuple[str, int], width: int) -> Value:
        """Return a register's value on the path that reads it."""
        value = self.now.registers.get(key, const(0, width))
        while value.op == "select" and id(value.args[0]) in self._paths:
            decided = self._path.decides(self._paths[id(value.args[0])])
            if decided is None:
                break
            value = value.args[1 if decided else 2]
        return value

    # --- effects -----------------------------------------------------------------------------------------------------
    def _effect_values(self, e: Effect, binding: BoundFields, done: dict[int, Value]) -> tuple[list[Value], Value]:
        args = [self.rebuilt(v, binding, done) for v in e.args] if e.kind != "load" else []
        return args, u1(1) if e.when is None else self.rebuilt(e.when, binding, done)

    def _write(self, e: Effect, args: list[Value], when: Value, active: Path) -> None:
        if args[0].op != "const":
            raise NotModelled("an expression for a register chosen at run time")
        key = e.name, args[0].number
        self._written.add(key)
        condition = self.one(active.value() & when)
        if when.op == "const":
            self._paths[id(condition)] = active
        old = self.now.registers.get(key, const(0, args[1].width))
        self.now.registers[key] = self._chosen(condition, args[1], old, active)

    def _chosen(self, condition: Value, new: Value, old: Value, active: Path) -> Value:
        """Return a value for a path and the old one for the others."""
        while old.op == "select" and id(old.args[0]) in self._paths:
            if self._paths[id(old.args[0])].decides(active) is not True:
                break
            old = old.args[2]  # who is not on the path was not on that part of it
        if old.op == "select" and _opposite(old.args[0], condition):
            old = old.args[1]
        return self.one(chosen(condition, new, old))

    def _control(
        self, pc: int, e: Effect, args: list[Value], path: Path, active: Path, pending: dict[int, Path]
    ) -> Path:
        if e.name in (requests.BRANCH.name, requests.JUMP.name):
            target = self._target(pc, e, args)
            if e.get("link") or target is None:
                raise NotModelled("an expression for a call")
            if not 0 <= target <= len(self._steps):
                raise NotModelled("an expression for a branch", "it leads out of the program")
            if target == self._head:
                self._again = self._again.either(active)
                return without(path, active)
            pending[target] = pending.get(target, NEVER).either(active)
            return without(path, active)
        if e.name == requests.KILL_LANES.name:
            condition = e.get("condition")
            dead = active if condition is None else active.both(self._predicate(condition[0]), not condition[1])
            self.now.killed = self.one(self.now.killed | dead.value())
            return without(path, dead)
        if e.name == requests.DEPTH.name:
            old = const(0, 32) if self.now.depth is None else self.now.depth
            self.now.depth = self._chosen(self.one(active.value()), args[0], old, active)
        elif e.name == requests.INCREMENTS.name:
            self._increments = Increments(tuple(e.get(r) for r in ROLES))
        elif e.name == requests.BASES.name:
            self._increments = Increments(bases=tuple(e.get(r) for r in ROLES))
        elif e.name not in (requests.EMIT_RESULTS.name, requests.STATE_AT_END.name):
            raise NotModelled(f"an expression for `{e.name}`")
        return path

    # --- values ------------------------------------------------------------------------------------------------------
    def one(self, v: Value) -> Value:
        """Return the canonical object of a value: the same one for all values that are built alike."""
        if id(v) in self._kept:
            return v
        args = tuple(self.one(a) for a in v.args)
        key = v.op, v.width, tuple(map(id, args)), v.attr
        if key not in self._nodes:
            new = v if all(map(_same, args, v.args)) else Value(v.op, v.width, args, v.attr)
            self._nodes[key] = new
            self._kept.add(id(new))
        return self._nodes[key]

    def pruned(self, v: Value, path: Path) -> Value:
        """Return a value without the alternatives that its own conditions rule out."""
        if not v.args or len(self._pruned) > MOST_PRUNED:
            return v
        key = id(v), frozenset(path.terms)
        if key not in self._pruned:
            self._pruned[key] = self._prune(v, path)
        return self._pruned[key]

    def _prune(self, v: Value, path: Path) -> Value:
        if v.width == 1 and (decided := path.decides(ALWAYS.both(v, True))) is not None:
            return self.one(u1(decided))
        if v.op in ("and", "or") and v.width == 1 and not is_comparison(v):
            return self.one(binary(v.op, *(self.pruned(a, path) for a in v.args)))
        if v.op != "select":
            args = tuple(self.pruned(a, path) for a in v.args)
            return v if all(map(_same, args, v.args)) else self.one(Value(v.op, v.width, args, v.attr))
        condition, *values = v.args
        decided = path.decides(ALWAYS.both(condition, True))
        if decided is not None:
            return self.pruned(values[0 if decided else 1], path)
        a, b = (self.pruned(x, path.both(condition, k == 0)) for k, x in enumerate(values))
        return self.one(chosen(self.pruned(condition, path), a, b))

    def rebuilt(self, v: Value, binding: BoundFields, done: dict[int, Value]) -> Value:
        """Return a traced graph with its inputs replaced by the state's values."""
        for n in postorder(v, done):
            args = tuple(done[id(a)] for a in n.args)
            if n.op == "param":
                new = const(binding.of(n.attr), n.width)
            elif n.op == "const":
                new = n
            elif n.op == "read":
                new = self._read(n, args[0])
            elif n.op == "machine":
                new = self._machine(n, args)
            elif n.op == "load":
                new = self._load(n, args[0])
            elif n.op == "call":
                new = n.attr[0](*args, **dict(n.attr[1]))
            elif n.op == "extract":
                new = bits(args[0], n.attr, n.width)
            elif n.op == "select":
                new = chosen(*args)
            elif n.op == "eq":
                new = equal(*args)
            elif n.op in INTEGER_MEANING:
                new = on(n, args)
            else:
                raise NotModelled(f"an expression for {n.op}")
            done[id(n)] = self.one(new)
        return done[id(v)]

    def _read(self, n: Value, index: Value) -> Value:
        if index.op != "const":
            raise NotModelled("an expression for a register chosen at run time")
        return self._register((n.attr, index.number), n.width)

    def _machine(self, n: Value, args: tuple[Value, ...]) -> Value:
        name, facts = n.attr[0], dict(n.attr[1])
        if name not in (requests.SAMPLE.name, requests.SAMPLE_HAS.name):
            return Value("machine", n.width, args, n.attr)
        state, count, ty = args[1], facts["count"], facts["conv"]
        if state.op != "symbol" or not isinstance(state.attr, TextureStateWord):
            raise NotModelled("an expression for a sample", "its texture state is computed")
        if facts["mode"] != "sample":
            raise NotModelled(f"an expression for a sample with {facts['mode']}")
        ty = "u8" if ty in ("raw", "native") else ty
        if name == requests.SAMPLE_HAS.name:
            return u1(facts["word"] == 0)
        coordinate, extra = args[2 : 2 + count], args[2 + count :]
        if count == 1:  # the first row of a texture with two dimensions
            zero = self.one(const(0, 32))
            coordinate = (*coordinate, zero)
            extra = (extra[0], zero, extra[1], zero) if facts["lod"] == "gradient" else extra
        self.interface.sampled(state.attr.unit, len(coordinate))
        key = state.attr.unit, *map(id, coordinate), *map(id, extra), facts["lod"]
        fetch = self._fetches.setdefault(key, Fetch(state.attr.unit, coordinate, extra, facts["lod"]))
        words = list(texel_words(fetch, ty))
        number: int = facts["word"]
        return words[number] if number < len(words) else const(0, n.width)

    def _load(self, n: Value, address: Value) -> Value:
        base, offset = address, 0
        while base.op == "add" and base.args[1].op == "const":
            base, offset = base.args[0], offset + base.args[1].attr
        if base.op != "symbol" or not isinstance(base.attr, BufferAddress) or n.width != 32:
            raise NotModelled("an expression for a load", "its address is computed")
        return self.interface.buffer_word(base.attr, offset)


def _width(key: Key) -> int:
    """Return the width of a register in bits."""
    return 1 if key[0] == "p" else 32


def _same(a: Value, b: Value) -> bool:
    return a is b


def _opposite(a: Value, b: Value) -> bool:
    return (a.op == "not" and a.args[0] is b) or (b.op == "not" and b.args[0] is a)

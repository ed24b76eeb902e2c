"""Exported SLEIGH, compiled with the compiler in the package `pypcode` and used with its library."""

from __future__ import annotations

import random
import re
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from isakit.codec import Decoder, Instruction
from isakit.engine import compile_trace
from isakit.errors import NotModelled
from isakit.export.sleigh import Language, sleigh
from isakit.sem.operation import expansion
from isakit.sem.semantics import bind_control, fields_of, trace_of
from isakit.sem.trace import Trace, control, tracing
from isakit.sem.value import INTEGER_MEANING, Value, postorder
from support.oracles.pcode import PcodeMachine


def apart(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a process of its own: Ghidra's library may take it down, which is a failure of one test."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *args).result()


def check_texts(decoder: Decoder, folder: Path, words: Sequence[tuple[int, int, int]]) -> int:
    """Words, each with its units and its address in units, are printed as the library prints them."""
    processor = Processor(decoder, folder)
    for word, units, address in words:
        processor.check_text(word, units, address)
    return len(words)


def check_executions(decoder: Decoder, folder: Path, words: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """How many words, each with its units, p-code executed as the library does, and for how many it has a name only."""
    processor = Processor(decoder, folder)
    done = named = 0
    for word, units in words:
        i = decoder.one(word, units, 0)
        if i.error is None:
            try:
                said = processor.check_execution(i, word)
                done, named = done + said, named + (not said)
            except NotModelled:  # there is nothing to compare with
                continue
    return done, named


class Processor:
    """A view as Ghidra sees it."""

    def __init__(self, decoder: Decoder, folder: Path) -> None:
        import pypcode

        self.decoder = decoder
        self.language: Language = sleigh(decoder)
        for name, text in self.language.files.items():
            (folder / name).write_text(text)
        (spec,) = folder.glob("*.slaspec")
        compiler = Path(pypcode.__file__).parent / "bin" / "sleigh"
        done = subprocess.run([compiler, spec, spec.with_suffix(".sla")], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        (definition,) = folder.glob("*.ldefs")
        self.bad = pypcode.BadDataError
        self.context = pypcode.Context(pypcode.ArchLanguage(str(folder), ET.parse(definition).getroot()[0]))
        variant = decoder.view.variant
        self.unit_bits, self.unit_bytes = variant.unit_bits, variant.unit_bytes

    def data(self, word: int, units: int) -> bytes:
        mask = (1 << self.unit_bits) - 1
        return b"".join((word >> self.unit_bits * k & mask).to_bytes(self.unit_bytes, "little") for k in range(units))

    def text(self, word: int, units: int, address: int = 0) -> str | None:
        """What is printed for a word; None where there is no instruction."""
        try:
            (i,) = self.context.disassemble(self.data(word, units), address).instructions
        except self.bad:
            return None
        assert i.length == units * self.unit_bytes
        return f"{i.mnem} {i.body}" if i.body else i.mnem

    def check_text(self, word: int, units: int, unit_address: int = 0) -> None:
        """The text is that of the library."""
        address = unit_address * self.unit_bytes
        i = self.decoder.one(word, units, address)
        assert self.text(word, units, address) == (None if i.error is not None else i.text), hex(word)

    # --- execution --------------------------------------------------------------------------------------------------

    def check_execution(self, i: Instruction, seed: int) -> bool:
        """P-code and the reference engine leave the same registers and memory, and ask the same of the machine.

        False where p-code only names the instruction.
        """
        assert i.form is not None
        isa, units, at = self.decoder.view.isa, len(i.words), 0x100
        rng = random.Random(seed)
        files = {
            f.name: [_constant(f.name, k) if k in f.constant else rng.getrandbits(f.width) for k in range(f.count)]
            for f in isa.registers.values()
        }
        state = State(files, self.language, isa.spaces)
        machine = Machine(self.language, isa.spaces, self.unit_bytes if isa.word_addressed else 1)
        for name, values in files.items():
            for k, v in enumerate(values):
                place = self.context.registers[f"{name}{k}"]
                machine.put("register", place.offset, place.size, v)
        address = at * self.unit_bytes
        nop = self.data(isa_nop(self.decoder), 1)  # stands in the delay slot
        data = self.data(i.word, units) + nop * isa.delay_slots
        ops = list(self.context.translate(data, address, max_instructions=1).ops)
        called = (o.inputs[0].getUserDefinedOpName() for o in ops if o.opcode.name == "CALLOTHER")
        if any(name.startswith("instruction_") for name in called):
            return False
        self._reference(i, state)
        target = machine.run(ops)
        for name, values in state.files.items():
            for k, v in enumerate(values):
                place = self.context.registers[f"{name}{k}"]
                got = machine.get("register", place.offset, place.size)
                assert got == v, f"{i.text}: {name}{k} is {got:#x}, not {v:#x}"
        assert machine.stored() == state.stored(), i.text
        assert sorted(machine.asked) == sorted(state.asked), i.text  # values are asked for in any order
        if target is not None and state.target is not None:
            assert target == state.target, i.text
        return True

    def _reference(self, i: Instruction, state: State) -> None:
        form, word = i.form, i.word
        assert form is not None
        guard = bind_control(form, "guard", word)
        executes = True
        if isinstance(guard, int):
            executes = bool(state.files["p"][guard])
        elif guard is not None:
            with tracing() as trace:
                control("guard", guard.holds())
            executes = bool(_run(trace, form, word, state)[0].args[0])
        if executes:
            for c in _run(trace_of(form, word), form, word, state):
                state.control(c.name, c.args, c.attrs)
        tail = bind_control(form, "tail", word)
        if tail:
            state.control(str(tail), (), ())


def isa_nop(decoder: Decoder) -> int:
    """The word of `nop`."""
    from isakit.instruction_sets import isa

    return isa(decoder.view.isa.name, decoder.view.variant.name).assemble("nop")[0].word


def _run(trace: Trace, form: Any, word: int, state: State) -> list[Any]:
    compiled = compile_trace(trace, "scalar")
    return compiled.function(state, None, fields_of(form, word, compiled.fields))


def _constant(file: str, number: int) -> int:
    """$p15 of vµc is true, other registers that always read the same are 0."""
    return int((file, number) == ("p", 15))


def initial(space: str, cell: int) -> int:
    """What a byte of memory holds at first."""
    return random.Random(f"{space} {cell}").getrandbits(8)


class State:
    """What the functions of the reference engine are called with."""

    def __init__(self, files: dict[str, list[int]], language: Language, spaces: Any) -> None:
        self.files = {n: list(v) for n, v in files.items()}
        self.language = language
        self.cells = _spaces(spaces)
        self.bytes: dict[tuple[str, int], int] = {}
        self.asked: list[tuple[str, tuple[int, ...]]] = []
        self.target: int | None = None

    def load(self, space: str, address: int, size: int, facts: Any, lanes: Any) -> int:
        if space not in self.cells:
            return self._ask(f"read_{space}_{size}", (address,), 8 * size)
        first = address * self.cells[space]
        return sum(self.bytes.get((space, first + k), initial(space, first + k)) << 8 * k for k in range(size))

    def store(self, space: str, address: int, value: int, size: int, facts: Any, lanes: Any) -> None:
        for k in range(size):
            self.bytes[space, address * self.cells[space] + k] = value >> 8 * k & 255

    def stored(self) -> dict[tuple[str, int], int]:
        return self.bytes

    def atomic(self, space: str, op: str, address: int, args: list[int], size: int, facts: Any, lanes: Any) -> int:
        return self._ask(f"atomic_{op}_{space}_{size}", (address, *args), 8 * size)

    def machine(self, name: str, args: list[int], facts: Any, lanes: Any) -> int:
        said = _named(name, facts)
        node = self.language.operations[said]
        assert node is not None
        return answer(said, tuple(args), node.width)

    def delayed_write(self, file: str, index: int, value: int, facts: Any) -> None:
        self.files[file][index] = value

    def trap(self, kind: str, when: Any) -> None:
        if when:
            self._ask(f"trap_{kind}", (), 0)

    def control(self, name: str, args: Any, facts: Any) -> None:
        if name in ("bra", "branch", "call"):
            self.target = int(args[0])
        elif name in ("ret", "return"):
            self._ask("return_address", (), 32)
        else:
            self._ask(_named(name, facts), tuple(int(a) for a in args), 0)

    def _ask(self, name: str, args: tuple[int, ...], width: int) -> int:
        self.asked.append((name, args))
        return answer(name, args, width)


def answer(name: str, args: tuple[int, ...], width: int) -> int:
    """A number for what only the machine knows, that depends on what it is asked."""
    return random.Random(f"{name} {args}").getrandbits(width) if width else 0


def _named(name: str, facts: Any) -> str:
    pairs = dict(facts or {}).items()
    return re.sub(r"\W+", "_", f"{name}_{'_'.join(f'{k}_{v}' for k, v in pairs)}").strip("_")


def _spaces(spaces: Any) -> dict[str, int]:
    from isakit.export.sleigh import memory_cells

    return memory_cells(spaces)


class Machine(PcodeMachine):
    """P-code with the same memory and the same answers."""

    def __init__(self, language: Language, spaces: Any, code_unit: int) -> None:
        super().__init__()
        self.language = language
        self.cells = {f"mem_{n}": c for n, c in _spaces(spaces).items()}
        self.code_unit = code_unit
        self.asked: list[tuple[str, tuple[int, ...]]] = []

    def byte(self, space: str, offset: int) -> int:
        return initial(space.removeprefix("mem_"), offset) if space in self.cells else 0

    def unit(self, space: str) -> int:
        return self.cells.get(space, self.code_unit if space == "ram" else 1)

    def stored(self) -> dict[tuple[str, int], int]:
        return {
            (s.removeprefix("mem_"), k): v
            for s, held in self.spaces.items()
            if s in self.cells
            for k, v in held.items()
        }

    def user(self, name: str, args: list[int], size: int) -> int:
        node = self.language.operations[name]
        if node is not None and node.op == "call":
            operation, statics = node.attr
            formals, body = expansion(operation, statics, tuple(a.width for a in node.args))
            return evaluate(body, {id(f): a for f, a in zip(formals, args, strict=True)})
        if node is not None and node.op == "table":
            return node.attr.entries[args[0]] if args[0] < len(node.attr.entries) else 0
        width = 8 * size if node is None else node.width
        said = name.removesuffix("_")
        if node is None or node.op != "machine":  # values may be asked for in vain
            self.asked.append((said, tuple(args)))
        return answer(said, tuple(args), width)


def evaluate(root: Value, known: dict[int, int]) -> int:
    """The number of a node, that of some nodes being known."""
    for v in postorder(root, set()):
        if id(v) in known:
            continue
        args = [known[id(a)] for a in v.args]
        if v.op == "const":
            known[id(v)] = v.attr
        elif v.op == "call":
            operation, statics = v.attr
            formals, body = expansion(operation, statics, tuple(a.width for a in v.args))
            known[id(v)] = evaluate(body, {id(f): a for f, a in zip(formals, args, strict=True)})
        else:
            known[id(v)] = INTEGER_MEANING[v.op](v.width, [a.width for a in v.args], v.attr, args)
    return known[id(root)]

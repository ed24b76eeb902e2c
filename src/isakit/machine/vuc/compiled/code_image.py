"""Code memory as one compiled function: a block per distinct instruction word, and a table from addresses to blocks."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import lru_cache

from isakit.engine.llvm import Builder, LlvmModule, LoadedCode, Ref, build, host
from isakit.engine.llvm.builder import I16, I32, I64, VOID, define, integer, pointer
from isakit.engine.llvm.routine_ir import emit
from isakit.errors import MachineFault, NotModelled
from isakit.machine.vuc.compiled.core_functions import CLOCK, LAYOUT, Functions, core_at
from isakit.machine.vuc.compiled.word_code import DATA, STATE, CoreConfig, WordWriter, compilable
from isakit.machine.vuc.core_code import CoreOp, decode, trace_word
from isakit.machine.vuc.rules import cycle
from isakit.sem.routine import on_change

LEVEL = 1
"""LLVM's optimisation level: compile time matters more than the last cycle here; other levels were not compared."""


class CodeImage:
    """Compiled words of a code memory; words left to the reference core have the number 0.

    `run(state, data, table, limit)` executes cycles until `limit`, or until an instruction or write that it cannot
    execute. `words`: all compiled words; `uses_cells`: those that load from or store to D[].
    """

    def __init__(self, words: tuple[int, ...], traits: CoreConfig) -> None:
        self.words = frozenset(words)
        chosen: dict[int, CoreOp] = {}
        cells: set[int] = set()
        for word in words:
            try:
                op = decode(traits.variant, word, 0)
                assert op.instruction.form is not None
                trace = trace_word(op.instruction.form, word)
            except (MachineFault, NotModelled):
                continue
            if any(e.name == "D" for e in trace.of_kind("load", "store")):
                cells.add(word)
            if compilable(trace, traits):
                chosen[word] = op
        self.uses_cells = frozenset(cells)
        self._numbers = {word: n for n, word in enumerate(chosen, 1)}
        self._loaded: LoadedCode = build(program(chosen, traits), host(), LEVEL)
        self.run: Callable[[object, object, object, int], None] = self._loaded.function(
            "run", None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
        )

    def number(self, word: int | None) -> int:
        """Return the number of a word in the table."""
        return 0 if word is None else self._numbers.get(word, 0)


@lru_cache(maxsize=16)
def image_of(words: tuple[int, ...], traits: CoreConfig) -> CodeImage:
    """Return the image for these words, cached by words and traits."""
    return CodeImage(words, traits)


on_change(image_of.cache_clear)


def program(ops: Mapping[int, CoreOp], traits: CoreConfig) -> str:
    """Return the module: `void @run(state, data, table, limit)`."""
    module = LlvmModule(1)
    b, variables, entry = Builder(module), Builder(module), Builder(module)
    state, data, table, limit = STATE, DATA, pointer("%t"), Ref("%limit", I64)
    functions, core = Functions(module), core_at(state)
    around = functions.around(b, "exit", variables)
    clock = [(name, integer(LAYOUT[name].width), pointer(f"%{name}_at")) for name in CLOCK]
    b.label("start")
    for name, type, variable in clock:
        b.store(b.load(type, b.offset(state, LAYOUT.at(name))), variable)
    b.label("loop")
    now, pc = (b.load(I64, pointer(f"%{name}_at")) for name in ("cycle", "pc"))
    b.branch(b.slt(now, limit), "dispatch", "exit")
    b.label("dispatch")
    number = b.load(I16, b.element(I16, table, pc))
    b.switch(number, "exit", [(n, f"w{n}") for n in range(1, len(ops) + 1)])
    for n, (word, op) in enumerate(ops.items(), 1):
        WordWriter(b, op, word, traits, core, around).emit(f"w{n}")
    b.label("next")
    kept, own = (b.load(I32, pointer(f"%{name}_at")) for name in ("kept", "own"))
    emit(b, around, cycle.end, {"core": core, "kept": kept, "own": own}, watched=False)
    b.jump("loop")
    b.label("exit")
    for name, type, variable in clock:
        place = b.offset(state, LAYOUT.at(name))
        b.store(b.load(type, variable), place)
    b.ret()
    entry.label("entry")
    for _, type, variable in clock:
        entry.alloca(type, variable.text)
    entry.alloca(integer(LAYOUT["target"].width), "%target_at")
    for name in ("kept", "own"):
        entry.alloca(I32, f"%{name}_at")
    entry.lines += variables.lines
    entry.jump("start")
    module.add(define("@run", VOID, [state, data, table, limit], entry.lines, b.lines, noalias=True))
    return str(module)

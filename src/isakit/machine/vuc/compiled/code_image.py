"""Code memory as one compiled function: a block per different instruction word, a table that says which is where."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from isakit.engine.llvm import Body, LlvmModule, LoadedCode, Ref, build, host
from isakit.engine.llvm.routine_ir import emit
from isakit.errors import MachineFault, NotModelled
from isakit.machine.vuc.compiled.core_functions import CLOCK, LAYOUT, Functions, core_at
from isakit.machine.vuc.compiled.word_code import Traits, WordWriter, compilable
from isakit.machine.vuc.core_code import CoreOp, decode, trace_word
from isakit.machine.vuc.rules import cycle
from isakit.sem.routine import on_change

LEVEL = 1
"""LLVM's optimisation level: compiling time matters more than the last cycle here; others were not compared."""


class CodeImage:
    """Compiled words of a code memory; words that are for the reference core only have the number 0.

    `run(state, data, table, limit)` lets cycles pass until `limit`, or until an instruction or write is not for it.
    `words`: all it was made of; `uses_cells`: those that load from or store to D[].
    """

    def __init__(self, words: tuple[int, ...], traits: Traits) -> None:
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
        self.run: Callable[[Any, Any, Any, int], None] = self._loaded.function(
            "run", None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
        )

    def number(self, word: int | None) -> int:
        """The number of a word in the table."""
        return 0 if word is None else self._numbers.get(word, 0)


@lru_cache(maxsize=16)
def image_of(words: tuple[int, ...], traits: Traits) -> CodeImage:
    """The image for these words; the same one for the same words and traits."""
    return CodeImage(words, traits)


on_change(image_of.cache_clear)


def program(ops: Mapping[int, CoreOp], traits: Traits) -> str:
    """The module: `void @run(state, data, table, limit)`."""
    module = LlvmModule(1)
    b = Body(module)
    functions, core = Functions(module), core_at("%s")
    variables: list[str] = []
    around = functions.around(b, "exit", variables)
    clock = [(name, LAYOUT[name].width, f"%{name}_at") for name in CLOCK]
    b.label("start")
    for name, width, variable in clock:
        place = b(f"getelementptr i8, ptr %s, i64 {LAYOUT.at(name)}")
        b.do(f"store i{width} {b(f'load i{width}, ptr {place}')}, ptr {variable}")
    b.do("br label %loop")
    b.label("loop")
    now, pc = b("load i64, ptr %cycle_at"), b("load i64, ptr %pc_at")
    b.do(f"br i1 {b(f'icmp slt i64 {now}, %limit')}, label %dispatch, label %exit")
    b.label("dispatch")
    number = b(f"load i16, ptr {b(f'getelementptr i16, ptr %t, i64 {pc}')}")
    cases = " ".join(f"i16 {n}, label %w{n}" for n in range(1, len(ops) + 1))
    b.do(f"switch i16 {number}, label %exit [ {cases} ]")
    for n, (word, op) in enumerate(ops.items(), 1):
        WordWriter(b, op, word, traits, core, around).emit(f"w{n}")
    b.label("next")
    kept, own = (Ref(b(f"load i32, ptr %{name}_at"), 32, True) for name in ("kept", "own"))
    emit(b, around, cycle.end, {"core": core, "kept": kept, "own": own}, watched=False)
    b.do("br label %loop")
    b.label("exit")
    for name, width, variable in clock:
        place = b(f"getelementptr i8, ptr %s, i64 {LAYOUT.at(name)}")
        b.do(f"store i{width} {b(f'load i{width}, ptr {variable}')}, ptr {place}")
    b.do("ret void")
    places = [f"  {variable} = alloca i{width}" for _, width, variable in clock]
    places.append(f"  %target_at = alloca i{LAYOUT['target'].width}")
    entry = "\n".join([*places, *(f"  %{n}_at = alloca i32" for n in ("kept", "own")), *variables])
    signature = "ptr noalias %s, ptr noalias %d, ptr noalias %t, i64 %limit"
    module.add(f"define void @run({signature}) nounwind {{\nentry:\n{entry}\n  br label %start\n{b.text()}\n}}")
    return str(module)

"""Code memory as one compiled function: a block per different instruction word, a table that says which is where."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from isakit.engine.llvm import Body, Loaded, Module, build, host
from isakit.errors import MachineFault, NotModelled
from isakit.machine.vuc.compiled import shared_state as at
from isakit.machine.vuc.compiled.state_access import Frame
from isakit.machine.vuc.compiled.word_code import Traits, Word, compilable
from isakit.machine.vuc.compiled.write_queue import land_function, push_function
from isakit.machine.vuc.core_code import Op, decode, trace_word

LEVEL = 1
"""LLVM's optimisation level: compiling time matters more than the last cycle here; others were not compared."""

_CLOCK = (("cycle", at.CYCLE), ("pc", at.PC), ("npc", at.NPC))


class Image:
    """Compiled words of a code memory; words that are for the reference core only have the number 0.

    `run(state, data, table, limit)` lets cycles pass until `limit`, or until an instruction or write is not for it.
    `words`: all it was made of; `uses_cells`: those that load from or store to D[].
    """

    def __init__(self, words: tuple[int, ...], traits: Traits) -> None:
        self.words = frozenset(words)
        chosen: dict[int, Op] = {}
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
        self._loaded: Loaded = build(program(chosen, traits), host(), LEVEL)
        self.run: Callable[[Any, Any, Any, int], None] = self._loaded.function(
            "run", None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64
        )

    def number(self, word: int | None) -> int:
        """The number of a word in the table."""
        return 0 if word is None else self._numbers.get(word, 0)


@lru_cache(maxsize=16)
def image_of(words: tuple[int, ...], traits: Traits) -> Image:
    """The image for these words; the same one for the same words and traits."""
    return Image(words, traits)


def program(ops: Mapping[int, Op], traits: Traits) -> str:
    """The module: `void @run(state, data, table, limit)`."""
    module = Module(1)
    b = Body(module)
    f = Frame(b)
    b.label("entry")
    for name in ("target", "kept", "own"):
        b.do(f"%{name}_at = alloca i64")
    for name, slot in _CLOCK:
        b.do(f"%{name}_at = alloca i64")
        b.do(f"store i64 {f.get(slot)}, ptr %{name}_at")
    b.do("br label %loop")
    b.label("loop")
    cycle, pc = b("load i64, ptr %cycle_at"), b("load i64, ptr %pc_at")
    b.do(f"br i1 {b(f'icmp slt i64 {cycle}, %limit')}, label %dispatch, label %exit")
    b.label("dispatch")
    number = b(f"load i16, ptr {b(f'getelementptr i16, ptr %t, i64 {pc}')}")
    cases = " ".join(f"i16 {n}, label %w{n}" for n in range(1, len(ops) + 1))
    b.do(f"switch i16 {number}, label %exit [ {cases} ]")
    for n, (word, op) in enumerate(ops.items(), 1):
        Word(b, op, word, traits).emit(f"w{n}")
    _finish(b, f)
    module.add(push_function(module))
    module.add(land_function(module))
    signature = "ptr noalias %s, ptr noalias %d, ptr noalias %t, i64 %limit"
    module.add(f"define void @run({signature}) nounwind {{\n{b.text()}\n}}")
    return str(module)


def _finish(b: Body, f: Frame) -> None:
    """What every instruction has in common: count, let writes land, go on."""
    b.label("next")
    cycle = f.op("add", b("load i64, ptr %cycle_at"), 1)
    b.do(f"store i64 {cycle}, ptr %cycle_at")
    b.do(f"store i64 {b('load i64, ptr %npc_at')}, ptr %pc_at")
    b.do(f"store i64 {b('load i64, ptr %target_at')}, ptr %npc_at")
    b.do(f"br i1 {b(f'icmp sle i64 {f.get(at.NEXT)}, {cycle}')}, label %landing, label %loop")
    b.label("landing")
    kept, own = b("load i64, ptr %kept_at"), b("load i64, ptr %own_at")
    b.do(f"call void @land(ptr %s, i64 {cycle}, i64 {kept}, i64 {own})")
    b.do("br label %loop")
    b.label("exit")
    for name, slot in _CLOCK:
        f.put(slot, b(f"load i64, ptr %{name}_at"))
    b.do("ret void")

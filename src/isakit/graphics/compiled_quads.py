"""Loops over the pixels of quads as machine code: what `compiled_inputs` and `compiled_merge` have in common.

A group is four quads, 16 lanes, as long as a vector of traced code. A function works on the groups of a batch: some of
the quads of a draw, whose first lane is lane 0 of the batch. Numbers and addresses are in a record (`JobSlots`).
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import threading
from ast import literal_eval
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from isakit.engine.llvm import Host, LlvmModule, LoadedCode, object_code, read_object, write_object
from isakit.engine.llvm.array_tracer import LANES, TracedArray, Tracer
from isakit.engine.llvm.exclusive import using_llvm
from isakit.engine.protocol import Array
from isakit.object_cache import content_key

GROUP_QUADS = LANES // 4
METADATA = '!0 = !{!"branch_weights", i32 1, i32 100000}\n!1 = !{}\n'
Name = str | tuple[Any, ...]
"""Of a slot."""
Run = Callable[[int, int, int, int], int]
"""(address of the job, first group, group after the last, first quad of the batch) -> what the function counts."""


class JobSlots:
    """A record of 8-byte slots, by name, at `address`. Arrays that were put into it live as long as it does."""

    def __init__(self, slots: Sequence[Name]) -> None:
        self._at = {name: k for k, name in enumerate(slots)}
        self._numbers: Array = np.zeros(max(1, len(slots)), np.int64)
        self._floats = self._numbers.view(np.float64)
        self._kept: dict[Name, Array] = {}
        self.address = self._numbers.ctypes.data

    def put(self, name: Name, value: int | float | Array) -> None:
        """A number, or the address of an array; slots that the function does not have are left out."""
        k = self._at.get(name)
        if k is None:
            return
        if isinstance(value, np.ndarray):
            self._kept[name] = value
            value = int(value.__array_interface__["data"][0])
        if isinstance(value, float):
            self._floats[k] = value
        else:
            self._numbers[k] = value


class QuadFunction:
    """A function over the groups of a batch that is being written.

    What is the same for all groups is loaded once, by `slot`; `code` writes the text of a group.
    """

    def __init__(self) -> None:
        self.module = LlvmModule(LANES)
        self.code = Tracer(self.module)
        self.slots: list[Name] = []
        self._head: list[str] = []
        self._loaded: dict[Name, str] = {}

    def slot(self, name: Name, ty: str = "ptr") -> str:
        """A number of the job."""
        key = f"%job_{len(self.slots)}_{ty}"
        if name not in self._loaded:
            offset = 8 * len(self.slots)
            self.slots.append(name)
            self._loaded[name] = key
            self._head += [f"  {key}_p = getelementptr i8, ptr %job, i64 {offset}",
                           f"  {key} = load {ty}, ptr {key}_p, !invariant.load !1"]  # fmt: skip
        return self._loaded[name]

    def head(self, line: str) -> None:
        """A line for the entry of the function."""
        self._head.append(line)

    def float(self, name: str, dtype: Any = np.float64) -> TracedArray:
        """An f64 of the job in all lanes, as f64 or f32 (which it fits)."""
        return self.code.scalar(self.slot(name, "double"), np.float64).astype(dtype)

    def number(self, name: str) -> TracedArray:
        """An integer of the job in all lanes."""
        return self.code.scalar(self.slot(name, "i64"), np.int64)

    def quads(self, name: str) -> str:
        """A number of each quad of the group, <4 x i64>: `x`, `y` or `primitive`."""
        b = self.code.body
        return b(f"load <4 x i64>, ptr {b(f'getelementptr i64, ptr {self.slot(name)}, i64 %quad')}, align 8")

    def lanes(self, four: str, added: Sequence[int] = (0, 0, 0, 0)) -> TracedArray:
        """A number of quads for each of their lanes, i64, with something added in the lanes of a quad."""
        index = ", ".join(f"i32 {k // 4}" for k in range(LANES))
        v = self.code.value(f"shufflevector <4 x i64> {four}, <4 x i64> poison, <{LANES} x i32> <{index}>", np.int64)
        return v if not any(added) else v + np.array([added[k % 4] for k in range(LANES)], np.int64)

    def text(self, name: str) -> str:
        """`i64 @name(ptr job, i64 first, i64 last, i64 quads)`; the text of a group may go to block %next.

        It may count: `%count_v` is an i64 in memory.
        """
        b = self.code.body
        lines = [
            f"define i64 @{name}(ptr noalias %job, i64 %first, i64 %last, i64 %begin) nounwind alignstack(64) {{",
            "entry:", "  %count_v = alloca i64", "  %group_v = alloca i64",
            "  store i64 0, ptr %count_v", "  store i64 %first, ptr %group_v", *self._head, "  br label %loop",
            "loop:", "  %group = load i64, ptr %group_v", "  %more = icmp slt i64 %group, %last",
            "  br i1 %more, label %one, label %done", "one:", "  %group1 = add i64 %group, 1",
            "  store i64 %group1, ptr %group_v", f"  %group_quads = mul i64 %group, {GROUP_QUADS}",
            "  %quad = add i64 %group_quads, %begin", *b.lines, "  br label %next",
            "next:", "  br label %loop",
            "done:", "  %count = load i64, ptr %count_v", "  ret i64 %count", "}",
        ]  # fmt: skip
        self.module.add("\n".join(lines))
        return f"{self.module}\n{METADATA}"


class CompiledFunction:
    """A function and the names of the slots of its job."""

    def __init__(self, run: Run, slots: Sequence[Name], keep: object) -> None:
        self.run, self.slots, self._keep = run, tuple(slots), keep

    def job(self) -> JobSlots:
        """A record for it, all zero."""
        return JobSlots(self.slots)


# --- functions --------------------------------------------------------------------------------------------------------
_made: dict[tuple[Any, Host], CompiledFunction | None] = {}
_pixels: dict[tuple[Any, Host], int] = {}
_lock = threading.Lock()
MAKING = 1 << 17
"""Pixels from which on it pays to make a function; one that is on disk is used at once."""
KIND = "pixels"


def _in_child() -> None:
    """A forked process does not have the thread that held the lock."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


@cache
def _sources() -> str:
    return content_key("graphics", "engine/llvm", "texture")


def function_of(
    question: Any, write: Callable[[], QuadFunction], target: Host, pixels: int | None
) -> CompiledFunction | None:
    """The function that answers a question (anything hashable whose `repr` tells all).

    `write` makes its text, and raises NotImplementedError where that cannot be traced: then, and while a question has
    come for too few pixels, it is None. `pixels`: of the draw; None makes it in any case.
    """
    key = question, target
    with _lock:
        if key in _made:
            return _made[key]
        so_far = _pixels.get(key)
        if so_far is not None and pixels is not None and so_far + pixels < MAKING:  # it is not on disk
            _pixels[key] = so_far + pixels
            return None
        name = hashlib.sha256("\0".join([_sources(), target.key, repr(question)]).encode()).hexdigest()
        data = None
        if key not in _pixels:  # not looked for yet
            data = read_object(KIND, name)
            _pixels[key] = 0
        if data is None:
            _pixels[key] += 0 if pixels is None else pixels
            if pixels is not None and _pixels[key] < MAKING:
                return None
            data = _compile(write, target)
            write_object(KIND, name, data)
        _made[key] = _load(data, target)
        return _made[key]


def _compile(write: Callable[[], QuadFunction], target: Host) -> bytes:
    """Names of slots in a line, then machine code; nothing after the line where there is none."""
    try:
        made = write()
        text = made.text("run")
    except NotImplementedError:
        return b"\n"
    with using_llvm:
        return repr(made.slots).encode() + b"\n" + object_code(text, target, keep=False, quick=True)


def _load(data: bytes, target: Host) -> CompiledFunction | None:
    slots, _, code = data.partition(b"\n")
    if not code:
        return None
    loaded = LoadedCode(code, target)
    run = loaded.function("run", ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * 3)
    return CompiledFunction(run, literal_eval(slots.decode()), loaded)


__all__ = ["GROUP_QUADS", "CompiledFunction", "JobSlots", "QuadFunction", "Run", "function_of"]

"""Loops over the pixels of quads as machine code: what `compiled_inputs` and `compiled_merge` have in common.

A group is four quads, 16 lanes, as long as a vector of traced code. A function works on the groups of a batch: a range
of quads of a draw, whose first lane is lane 0 of the batch. Numbers and addresses are in a record (`JobSlots`).
"""

from __future__ import annotations

import ctypes
import hashlib
import threading
from ast import literal_eval
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from isakit.engine.llvm import (
    METADATA,
    Builder,
    Host,
    LlvmModule,
    LoadedCode,
    Ref,
    object_code,
    read_object,
    write_object,
)
from isakit.engine.llvm.array_tracer import LANES, TracedArray, Tracer
from isakit.engine.llvm.builder import F64, I64, PTR, IrType, define, pointer, vector
from isakit.engine.llvm.exclusive import using_llvm
from isakit.engine.protocol import Array
from isakit.forks import in_child
from isakit.object_cache import content_key

GROUP_QUADS = LANES // 4
JOB, GROUP, QUAD = pointer("%job"), Ref("%group", I64), Ref("%quad", I64)
"""In the code of a group: the record, the number of the group, and that of its first quad."""
COUNT = pointer("%count_v")
"""The variable with the function's count, i64."""
FIRST, LAST, BEGIN = (Ref(f"%{name}", I64) for name in ("first", "last", "begin"))
Name = str | tuple[Any, ...]
"""Name of a slot."""
Run = Callable[[int, int, int, int], int]
"""(address of the job, first group, group after the last, first quad of the batch) -> the function's count."""


class JobSlots:
    """A record of 8-byte slots, by name, at `address`. Arrays stored in it live as long as it does."""

    def __init__(self, slots: Sequence[Name]) -> None:
        self._at = {name: k for k, name in enumerate(slots)}
        self._numbers: Array = np.zeros(max(1, len(slots)), np.int64)
        self._floats = self._numbers.view(np.float64)
        self._kept: dict[Name, Array] = {}
        self.address = self._numbers.ctypes.data

    def set_slot(self, name: Name, value: int | float | Array) -> None:
        """Set a slot to a number, or to the address of an array; slots that the function does not have are skipped."""
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

    def set_slots(self, values: Mapping[Name, int | float | Array]) -> None:
        """Set several slots."""
        for name, value in values.items():
            self.set_slot(name, value)

    def set_arrays(self, arrays: Mapping[Name, Array]) -> None:
        """Set slots that the function has to the addresses of arrays."""
        self._kept.update(arrays)
        addresses = [int(a.__array_interface__["data"][0]) for a in arrays.values()]
        self._numbers[[self._at[name] for name in arrays]] = addresses


class QuadFunction:
    """A function over the groups of a batch, under construction.

    Values common to all groups are loaded once, by `slot`; `code` emits the code of a group, `head` the code before the
    first one.
    """

    def __init__(self) -> None:
        self.module = LlvmModule(LANES)
        self.code = Tracer(self.module)
        self.slots: list[Name] = []
        self.head = Builder(self.module, first=1_000_000)
        self._loaded: dict[Name, Ref] = {}

    def slot(self, name: Name, type: IrType = PTR) -> Ref:
        """Load a number of the job."""
        found = self._loaded.get(name)
        if found is None:
            head, key = self.head, f"%job_{len(self.slots)}_{type}"
            place = head.named(f"{key}_p", head.offset(JOB, 8 * len(self.slots)))
            found = self._loaded[name] = head.named(key, head.load(type, place, invariant=True))
            self.slots.append(name)
        return found

    def float(self, name: str, dtype: type[np.generic] = np.float64) -> TracedArray:
        """Return an f64 of the job in all lanes, as f64 or f32 (which it fits)."""
        return self.code.scalar(self.slot(name, F64), np.float64).astype(dtype)

    def number(self, name: str) -> TracedArray:
        """Return an integer of the job in all lanes."""
        return self.code.scalar(self.slot(name, I64), np.int64)

    def row(self, name: Name, element: IrType, number: int) -> Ref:
        """Return the address of the group's first lane in a row of a table, whose rows have `room` elements."""
        b = self.code.body
        return b.element(element, self.slot(name), b.add(b.mul(self.slot("room", I64), number), b.mul(GROUP, LANES)))

    def quads(self, name: str) -> Ref:
        """Return a number of each quad of the group, <4 x i64>: `x`, `y` or `primitive`."""
        b = self.code.body
        return b.load(vector(GROUP_QUADS, I64), b.element(I64, self.slot(name), QUAD), 8)

    def lanes(self, four: Ref, added: Sequence[int] = (0, 0, 0, 0)) -> TracedArray:
        """Return a number of quads for each of their lanes, i64, plus `added` for the lanes of a quad."""
        v = self.code.array(self.code.body.shuffle(four, [k // 4 for k in range(LANES)]), np.int64)
        return v if not any(added) else v + np.array([added[k % 4] for k in range(LANES)], np.int64)

    def text(self, name: str) -> str:
        """Return `i64 @name(ptr job, i64 first, i64 last, i64 quads)`; the code of a group may branch to block %next.

        It may count in `COUNT`.
        """
        b, end = Builder(self.module, first=2_000_000), Builder(self.module, first=3_000_000)
        place = pointer("%group_v")
        b.label("entry")
        for variable in (COUNT, place):
            b.alloca(I64, variable.text)
        b.store(I64(0), COUNT)
        b.store(FIRST, place)
        b.lines += self.head.lines
        b.jump("loop")
        b.label("loop")
        b.named(GROUP.text, b.load(I64, place))
        b.branch(b.slt(GROUP, LAST), "one", "done")
        b.label("one")
        b.store(b.add(GROUP, 1), place)
        b.named(QUAD.text, b.add(b.mul(GROUP, GROUP_QUADS), BEGIN))
        end.jump("next")
        end.label("next")
        end.jump("loop")
        end.label("done")
        end.ret(end.load(I64, COUNT))
        return self.whole(name, b.lines, self.code.body.lines, end.lines)

    def whole(self, name: str, *bodies: list[str]) -> str:
        """Return the module with a function consisting of the emitted lines."""
        given, attributes = [JOB, FIRST, LAST, BEGIN], "nounwind alignstack(64)"
        self.module.add(define(f"@{name}", I64, given, *bodies, attributes=attributes, noalias=True))
        return f"{self.module}{METADATA}"


class CompiledFunction:
    """A function at `address`, and the names of the slots of its job."""

    def __init__(self, loaded: LoadedCode, slots: Sequence[Name]) -> None:
        self.run: Run = loaded.function("run", ctypes.c_int64, ctypes.c_void_p, *[ctypes.c_int64] * 3)
        self.address, self.slots, self._keep = loaded.address("run"), tuple(slots), loaded

    def job(self) -> JobSlots:
        """Return a zeroed record for the function."""
        return JobSlots(self.slots)


# --- functions --------------------------------------------------------------------------------------------------------
_made: dict[tuple[object, Host], CompiledFunction | None] = {}
_pixels: dict[tuple[object, Host], int] = {}
_lock = threading.Lock()
MAKING = 1 << 17
"""Pixels from which on compiling a function pays; one that is on disk is used at once."""
LEAST = 1 << 12
"""Pixels that a draw counts for at least: array code takes about as long for fewer, some milliseconds. Compiling a
function takes twenty to fifty milliseconds."""
KIND = "pixels"


@in_child
def _in_child() -> None:
    """Recreate the lock in a forked process, where the thread that held it does not exist."""
    global _lock
    _lock = threading.Lock()


@cache
def _sources() -> str:
    return content_key("graphics", "engine/llvm", "texture")


def function_of(
    question: object, write: Callable[[], QuadFunction], target: Host, pixels: int | None
) -> CompiledFunction | None:
    """Return the function for a key (anything hashable with a complete `repr`).

    `write` emits its code, and raises NotImplementedError if that cannot be traced: then, and until the key has been
    requested for enough pixels, it returns None. `pixels`: of the draw; None compiles it in any case.
    """
    key = question, target
    found = _made.get(key)
    if found is not None:
        return found
    pixels = None if pixels is None else max(pixels, LEAST)
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
    """Return a line with the names of slots, then machine code; nothing after the line if there is none."""
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
    return CompiledFunction(LoadedCode(code, target), literal_eval(slots.decode()))


__all__ = ["GROUP_QUADS", "CompiledFunction", "JobSlots", "QuadFunction", "Run", "function_of"]

"""Layout of the memory of compiled code: the state of a warp, the context of a worker.

The same layout serves every tier, so that a warp can continue in another one from any instruction. It follows from the
records of `rules.state`.
"""

from __future__ import annotations

from isakit.engine.llvm.builder import I1, I32, pointer, vector
from isakit.machine.tesla.rules import state
from isakit.machine.tesla.rules.state import BlockState, StackEntry, WarpState, WarpStatus
from isakit.sem.records import layout_of

V32, V1 = vector(32, I32), vector(32, I1)
"""LLVM types of a number and of a bool for each lane of a warp."""
TRUE, ALL = V1(1), I32(-1)
"""All lanes, as bools and as bits."""
CONTEXT, STATE = pointer("%ctx"), pointer("%ws")
"""The parameters of functions that run a warp or a part of it: the context of the worker, the state of the warp."""

# --- the state of a warp: byte offsets ----------------------------------------------------------------------
WARP = layout_of(WarpState)
PC, ACTIVE, EXITED, DEPTH, STATUS, BARRIER = (
    WARP.at(n) for n in ("pc", "active", "exited", "depth", "status", "barrier")
)
THREADS, ISSUED = WARP.at("threads"), WARP.at("issued")
NUMBER, VISIBLE = WARP.at("number"), WARP.at("visible")
EVENTS = tuple(WARP.at(n) for n in ("branches", "divergent_branches", "pm_events"))
CONDITIONS, ADDRESSES, ZERO = WARP.at("conditions"), WARP.at("addresses"), WARP.at("zero")
STACK, SINK, REGISTERS = WARP.at("stack"), WARP.at("sink"), WARP.at("registers")
STACK_ENTRIES = state.STACK_ENTRIES
ENTRY = layout_of(StackEntry)

READY, WAITING, FINISHED, STOPPED, INTERRUPTED, SERVED, JOINED = (int(s) for s in WarpStatus)

VARIABLES = {"active": "mask", "broke": "broke", "returned": "returned", "exited": "exited", "depth": "depth",
             "pending": "pending", "pc": "next"}  # fmt: skip
"""Fields that code of warps has in variables, and what these are called."""

# --- the context of a worker: slots of 8 bytes --------------------------------------------------------------
SLOTS = (
    *layout_of(BlockState).fields,
    "memory", "sites", "flags", "a", "a_size", "p", "p_size", "o", "o_size",
    "row_bytes", "varyings", "textures", "live_all",
    *(f"g{i}_{name}" for i in range(16) for name in ("base", "size", "rows", "pitch", "width", "height")),
    *(f"c{i}" for i in range(16)), *(f"c{i}_size" for i in range(16)),
)  # fmt: skip
SLOT = {name: 8 * i for i, name in enumerate(SLOTS)}


def state_bytes(registers: int) -> int:
    """Return the size of the state of a warp with so many registers per thread, in bytes, a multiple of 64."""
    return REGISTERS + 128 * registers


def register(n: int, file: str = "r") -> int:
    """Return the offset in bytes of $rN or, in file `a`, of $aN."""
    return (REGISTERS if file == "r" else ADDRESSES) + 128 * n


def flag(n: int, bit: int) -> int:
    """Return the offset in bytes of the lane mask of one flag of $cN."""
    return CONDITIONS + 16 * n + 4 * bit


LOCAL_ROW = 128
"""Bytes of a word of l[] in all lanes: the words of a warp's lanes are neighbours.

A warp has 32 times the bytes of a thread, one warp after the other; word `n` of its lanes is row `n` there. The
reference machine keeps the bytes of a thread together, as it sees them: `launch.warp_handover` converts between the
two."""
NO_LOCAL = 4 * LOCAL_ROW
"""Bytes that exist even if threads have no l[]: an access that no lane makes reads and writes up to four rows."""

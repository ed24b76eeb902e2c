"""Where compiled code keeps things in memory: the state of a warp, the context of a worker.

The same layout serves every tier, so that a warp can go on in another one wherever it stands.
"""

from __future__ import annotations

V32, V1 = "<32 x i32>", "<32 x i1>"
"""A number and a bool for each lane of a warp, as types of LLVM."""
TRUE = "splat (i1 true)"

# --- the state of a warp: byte offsets ----------------------------------------------------------------------
PC = 0  # i32: where it goes on
ACTIVE = 4  # i32 mask
BROKE = 8
RETURNED = 12
EXITED = 16
DEPTH = 20  # i32: entries on the divergence stack
STATUS = 24  # i32, one of the values below
BARRIER = 28  # i32: the barrier it waits at
THREADS = 32  # i64: thread instructions executed
ISSUED = 40  # i64: warp instructions executed
NUMBER = 48  # i32: warp in its block
VISIBLE = 52  # i32 mask: lanes of a fragment program that are no helpers and were not discarded
LOCK = 56  # i32: the word of s[] it holds the lock of, counted from 1; 0 for none
CONDITIONS = 64  # 16 x i32: flag masks, $c0 Z S C O, $c1 ...
ADDRESSES = 128  # 8 x 32 x i32
ZERO = ADDRESSES + 8 * 128  # 32 x i32 that are always 0: what registers that do not exist read as
STACK = ZERO + 128
STACK_ENTRIES = 4096
ENTRY_BYTES = 8  # stack entry: u32 pc | kind << 24, u32 mask
SINK = STACK + STACK_ENTRIES * ENTRY_BYTES  # 32 x i32: where writes of registers that do not exist go
REGISTERS = SINK + 128

READY, WAITING, FINISHED, STOPPED, INTERRUPTED, SERVED, JOINED = range(7)
"""STOPPED: something happens at PC that compiled code does not do (a fault, an unknown target). SERVED: the host must
execute the instruction at PC, whose `join` tail has been performed. JOINED: as STOPPED, behind the `join` tail."""

# --- the context of a worker: slots of 8 bytes --------------------------------------------------------------
SLOTS = (
    "memory", "thread_count", "warp_count", "ranges", "range_count", "shared", "shared_limit", "local",
    "local_limit", "stop", "physid", "clock_step", "sites", "remaining", "warps", "barriers", "first_registers",
    "masks", "header", "header_bytes", "grid_x", "state", "state_bytes", "physid_all", "barrier_mask", "entry",
    "halted_warp", "reserve", "uops", "code_address", "code_bytes", "register_bytes", "run_warp", "flags",
    "physid_period", "allowed_barriers", "written", "a", "a_size", "p", "p_size", "o", "o_size", "row_bytes",
    "varyings", "patience", "turn_length", "paused", "ended", "leaves_out", "one_round", "has_barriers",
    *(f"g{i}_base" for i in range(16)), *(f"g{i}_size" for i in range(16)),
    *(f"c{i}" for i in range(16)), *(f"c{i}_size" for i in range(16)),
)  # fmt: skip
SLOT = {name: 8 * i for i, name in enumerate(SLOTS)}


def state_bytes(registers: int) -> int:
    """Bytes of the state of a warp with so many registers per thread, a multiple of 64."""
    return REGISTERS + 128 * registers


def register(n: int) -> int:
    """Offset of $rN."""
    return REGISTERS + 128 * n


def address(n: int) -> int:
    """Offset of $aN."""
    return ADDRESSES + 128 * n


def flag(n: int, bit: int) -> int:
    """Offset of the lane mask of one flag of $cN."""
    return CONDITIONS + 16 * n + 4 * bit


def slot(name: str, ty: str = "i64") -> str:
    """IR that loads a slot of the context `%ctx`, named like the slot."""
    return f"  %{name}_p = getelementptr i8, ptr %ctx, i64 {SLOT[name]}\n  %{name} = load {ty}, ptr %{name}_p\n"


def record(warp: str, pointer: str) -> str:
    """IR of `%pointer`, the state of the warp with the number `%warp` (i32; as i64 it is `%warp64`).

    Needs the slots `state` and `state_bytes`.
    """
    return (
        f"  %{warp}64 = zext i32 %{warp} to i64\n"
        f"  %{warp}o = mul i64 %{warp}64, %state_bytes\n"
        f"  %{pointer} = getelementptr i8, ptr %state, i64 %{warp}o\n"
    )

"""The reads of g15[] that `__threadfence()` of sm_13 consists of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import isakit
from isakit.errors import MachineFault

# What the compiler of CUDA 2.3 to 4.2 makes of __threadfence(), between two stores.
KERNEL = (
    """
.kernel k
.param out ptr
    shl b32 $r4 $r0 0x2
    add b32 $r4 b32 s[out] $r4
    mov $r1 $physid
    mov b32 $r2 0x7
    and b32 $r1 $r1 $r2
    shl b32 $r1 $r1 0xc
    st b32 g14[$r4] $r0
"""
    + "".join("    ld b32 $r3 g15[$r1]\n    add b32 $r1 $r1 0x100\n" for _ in range(9))
    + "    add b32 $r5 $r0 $r3\n    exit st b32 g14[$r4] $r5\n"
)


def run(engine: str, **windows: Any) -> Any:
    device = isakit.Device("gt200", engine=engine)  # type: ignore[reportArgumentType]
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(KERNEL))["k"]
    out = np.full(64, 0xFFFF, np.uint32)
    kernel[1, 64](out, **windows)
    return out, device


@pytest.mark.parametrize("engine", ["reference", "llvm"])
def test_a_fence_reads_a_window_of_zeros(engine: str) -> None:
    out, device = run(engine)
    assert out.tolist() == list(range(64))
    assert device.windows[15].size == 0x10000  # type: ignore[reportAttributeAccessIssue]


def test_a_program_without_a_fence_has_no_such_window() -> None:
    device = isakit.Device("gt200", engine="reference")
    device.load(isakit.isa("tesla", "gt200").assemble("ld b32 $r3 g14[$r1]\nexit nop"))["main"].prepare(1, 32)
    assert 15 not in device.windows
    assert device.memory.allocations == {}


def test_a_window_of_the_user_stays() -> None:
    device = isakit.Device("gt200", engine="reference")
    buffer = device.alloc(256)
    device.bind(15, buffer)
    kernel = device.load(isakit.isa("tesla", "gt200").assemble(KERNEL))["k"]
    with pytest.raises(MachineFault, match="g15"):
        kernel[1, 64](np.zeros(64, np.uint32))


def test_words_without_a_meaning_do_not_keep_a_module_from_being_loaded() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        isakit.Device("gt200").load(rng.integers(0, 1 << 32, 200, np.uint64).tolist(), registers=16)

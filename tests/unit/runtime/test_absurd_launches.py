"""Numbers that no launch has: the same clear error on every engine, at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import isakit
from isakit.errors import BudgetExceeded, LaunchError
from isakit.machine.tesla.address_spaces import LinearWindow, PitchWindow

KERNEL = ".kernel k\n.param out ptr\nmov b32 $r0 b32 s[0x10]\nexit nop\n"


@pytest.fixture(params=["reference", "llvm"])
def kernel(request: pytest.FixtureRequest) -> Any:
    device = isakit.tesla.Device("g80", engine=request.param)
    return device.load(isakit.isa("tesla", "g80").assemble(KERNEL))["k"]


@pytest.mark.parametrize("bound", [1 << 62, 1 << 63, 1 << 100])
def test_a_bound_beyond_all_counters_is_none(kernel: Any, bound: int) -> None:
    assert kernel.launch(1, 32, 0, max_instructions=bound).warp_instructions == 2


@pytest.mark.parametrize(
    ("grid", "block", "options", "says"),
    [
        (1, 32, {"max_instructions": -5}, "max_instructions is -5"),
        (1, 32, {"dynamic_shared": -4}, "-4 bytes of dynamic shared memory"),
        (1, 32, {"dynamic_shared": 1 << 40}, "bytes of shared memory; g80 has 16384"),
        (1, (65535, 65535, 64), {"limits": False}, "1024 MiB are allowed"),
        ((1 << 31, 1), 1, {"limits": False}, "16-bit fields"),
        (0, 32, {}, "at least 1"),
    ],
)
def test_sizes_that_no_launch_has_are_refused(kernel: Any, grid: Any, block: Any, options: Any, says: str) -> None:
    with pytest.raises(LaunchError, match=says):
        kernel.launch(grid, block, 0, **options)


def test_more_blocks_than_a_budget_end_with_it(kernel: Any) -> None:
    with pytest.raises(BudgetExceeded):
        kernel.launch((65535, 65535), 1, 0, limits=False, max_instructions=1000)


@pytest.mark.parametrize(
    "kind", [lambda: LinearWindow(0, -5), lambda: LinearWindow(-1), lambda: PitchWindow(0, 1 << 50, 1, 1)]
)
def test_windows_lie_in_device_memory(kind: Any) -> None:
    with pytest.raises(LaunchError, match="a window of device memory"):
        kind()


@pytest.mark.parametrize("name", ["shared_bytes", "local_bytes"])
def test_negative_sizes_of_a_prepared_launch_are_refused(kernel: Any, name: str) -> None:
    launch = replace(kernel.prepare(1, 32, 0), **{name: -1 << 20})
    with pytest.raises(LaunchError, match=f"-1048576 bytes of {name[:-6]} memory"):
        kernel.device.execute(launch)

"""Two Tesla kernels side by side."""

from __future__ import annotations

import numpy as np
import pytest

import isakit
from isakit.debug.compare_kernels import compare_kernels
from isakit.errors import LaunchError
from isakit.runtime import Device

KERNEL = """
.kernel mix
.param x ptr
.param out ptr
    cvt u32 $r1 u16 $r0l
    shl b32 $r1 $r1 0x2
    add b32 $r2 b32 s[x] $r1
    ld b32 $r3 g14[$r2]
    add b32 $r2 b32 s[out] $r1
    mul f32 $r4 $r3 $r3
    add f32 $r5 $r4 $r3
    mov b32 $r7 $r5
    and b32 $r6 $r5 0x7fffffff
    exit st b32 g14[$r2] $r6
"""


def load(text: str = KERNEL):
    return Device("gt200", engine="reference").load(isakit.isa("tesla", "gt200").assemble(text))["mix"]


def arguments() -> list[np.ndarray]:
    x = np.random.default_rng(0).uniform(-2, 2, 64).astype(np.float32)
    return [x, np.zeros(64, np.float32)]


def compared(text: str, **more: int):
    args = arguments()
    found = compare_kernels(load(), load(text), 1, 64, args, **more)
    assert not args[1].any()  # the arguments stay as they are
    return found


def test_a_kernel_agrees_with_itself() -> None:
    assert compared(KERNEL)


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        (4, "s[out]", "s[x]"), (2, "s[x]", "s[out]"), (5, "mul f32 $r4 $r3 $r3", "mul f32 $r4 neg $r3 $r3"),
        (6, "add f32 $r5 $r4 $r3", "add f32 $r5 $r4 $r4"), (8, "0x7fffffff", "0x3fffffff"),
        (9, "$r6", "$r5"),
    ],
)  # fmt: skip
def test_a_planted_difference_is_found_at_its_instruction(line: int, old: str, new: str) -> None:
    lines = KERNEL.strip().split("\n")
    assert old in lines[line + 3]
    lines[line + 3] = lines[line + 3].replace(old, new)
    found = compared("\n".join(lines))
    assert found.parting is not None
    assert found.parting.pcs == (line, line)
    assert any(text.startswith("=>") for text in found.parting.lines())


def test_kernels_without_arrays_have_nothing_to_compare() -> None:
    text = ".kernel mix\n.param a u32\n    exit nop\n"
    with pytest.raises(LaunchError, match="no arrays"):
        compare_kernels(load(text), load(text), 1, 1, [1])

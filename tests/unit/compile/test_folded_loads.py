"""Instructions that read s[] themselves read what the load in their place would have given them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from isakit.compile import compile_ptx
from isakit.runtime import Device

LOADS = ("u8", "s8", "u16", "s16")
READERS = (
    "cvt.s32.s16 %r, %h", "cvt.u32.u16 %r, %h", "cvt.s32.s8 %r, %h", "cvt.u32.u8 %r, %h", "cvt.rn.f32.s16 %r, %h",
    "mul.wide.s16 %r, %h, %g", "mul.wide.u16 %r, %g, %h", "mad.wide.s16 %r, %h, 300, %k", "mad.wide.u16 %r, %g, %h, %k",
    "set.lt.u32.s16 %r, %h, %g", "set.gt.u32.u16 %r, %g, %h", "div.s16 %d, %h, %g", "rem.s16 %d, %h, 100",
    "rem.u16 %d, %h, %g", "shr.s16 %d, %h, 3", "shr.u16 %d, %h, 3", "abs.s16 %d, %h", "max.s16 %d, %g, %h",
)  # fmt: skip
VALUES = (0x1234_80F3, 0x0000_7F65)


def kernel(name: str, load: str, reader: str) -> str:
    kept = "st.global.u16 [%o+8], %d" if "%d," in reader else "st.global.u32 [%o+8], %r"
    return f"""
.entry {name} (.param .u64 out) {{
    .reg .u64 %o; .reg .b32 %r, %k; .reg .u16 %h, %g, %d; .shared .align 8 .b8 own[64];
    ld.param.u64 %o, [out]; ld.global.u32 %k, [%o]; st.shared.u32 [own+8], %k; ld.global.u16 %g, [%o+4]; bar.sync 0;
    {load} %h, [own+8]; {reader}; {kept}; exit;
}}
"""


@pytest.mark.parametrize("chip", ["g80", "gt200"])
def test_narrow_operands_in_shared_memory_are_those_a_load_gives(chip: str) -> None:
    cases = list(product(LOADS, READERS))
    # volatile loads are never folded into what reads them
    folded, loaded = (
        compile_ptx(
            ".version 2.3\n.target sm_13\n"
            + "".join(kernel(f"k{n}", f"ld.{volatile}shared.{ty}", reader) for n, (ty, reader) in enumerate(cases)),
            chip,
        ).module
        for volatile in ("", "volatile.")
    )
    device = Device(chip, engine="reference")
    ours, theirs = device.load(folded), device.load(loaded)
    wrong: list[tuple[str, str, int]] = []
    for n, (ty, reader) in enumerate(cases):
        for value in VALUES:
            got, want = (np.array([value, 0xFF93, 0, 0], np.uint32) for _ in range(2))
            ours[f"k{n}"][1, 1](got)
            theirs[f"k{n}"][1, 1](want)
            if not np.array_equal(got, want):
                wrong.append((ty, reader, value))
    assert wrong == []

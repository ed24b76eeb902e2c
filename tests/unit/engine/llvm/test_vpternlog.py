"""Bit fields that are written under a mask: LLVM's masked `vpternlog` may have the table of another order."""

from __future__ import annotations

import ctypes
import itertools
import random

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from isakit.engine.llvm import host, vpternlog
from isakit.engine.llvm.target import CodegenError, build, object_code

FIELD = 0x000FFC00
INSERT = """
define void @insert(ptr %new_p, ptr %old_p, ptr %mask_p, ptr %out) {{
  %m = load <{lanes} x i1>, ptr %mask_p
  %new = load <{lanes} x {element}>, ptr %new_p, align 1
  %old = load <{lanes} x {element}>, ptr %old_p, align 1
  %moved = {shift} <{lanes} x {element}> %new, splat ({element} 3)
  %field = and <{lanes} x {element}> %moved, splat ({element} {field})
  %rest = and <{lanes} x {element}> %old, splat ({element} {others})
  %both = or disjoint <{lanes} x {element}> {order}
  %r = select <{lanes} x i1> %m, <{lanes} x {element}> {arms[0]}, <{lanes} x {element}> {arms[1]}
  store <{lanes} x {element}> %r, ptr %out, align 1
  ret void
}}
"""


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize(("lanes", "element"), [(4, "i32"), (16, "i32"), (8, "i64"), (16, "i64")])
def test_a_bit_field_is_inserted_where_the_mask_says(lanes: int, element: str, portable: bool) -> None:
    whole = (1 << int(element[1:])) - 1
    rng = random.Random(lanes)
    kind = np.dtype(f"u{int(element[1:]) // 8}")
    new, old = (np.array([rng.getrandbits(64) & whole for _ in range(lanes)], kind) for _ in range(2))
    for shift, order, swapped in itertools.product(("shl", "lshr"), ("%rest, %field", "%field, %rest"), (False, True)):
        arms = ("%old", "%both") if swapped else ("%both", "%old")
        text = INSERT.format(
            lanes=lanes, element=element, shift=shift, order=order, arms=arms, field=FIELD, others=~FIELD
        )
        code = build(text, host(portable))
        insert = code.function("insert", None, *[ctypes.c_void_p] * 4)
        mask = rng.getrandbits(lanes)
        out = np.zeros(lanes, kind)
        bits = np.array([mask, 0], np.uint16)
        insert(new.ctypes.data, old.ctypes.data, bits.ctypes.data, out.ctypes.data)
        for lane in range(lanes):
            n, o = int(new[lane]), int(old[lane])
            moved = (n << 3) & whole if shift == "shl" else n >> 3
            written = bool(mask >> lane & 1) != swapped
            assert int(out[lane]) == (moved & FIELD | o & ~FIELD & whole if written else o), (shift, order, swapped)


ASKED_FOR = """
declare <16 x i32> @llvm.x86.avx512.pternlog.d.512(<16 x i32>, <16 x i32>, <16 x i32>, i32)
define <16 x i32> @f(<16 x i32> %a, <16 x i32> %b, <16 x i32> %c, <16 x i1> %m) {
  %t = call <16 x i32> @llvm.x86.avx512.pternlog.d.512(<16 x i32> %a, <16 x i32> %b, <16 x i32> %c, i32 216)
  %r = select <16 x i1> %m, <16 x i32> %t, <16 x i32> %a
  ret <16 x i32> %r
}
"""


@pytest.mark.skipif(not host().embedded, reason="this processor has no AVX-512")
def test_no_code_holds_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not vpternlog.may_hold_masked(object_code(ASKED_FOR, host(), keep=False))
    monkeypatch.setattr(vpternlog, "with_fences", lambda ir: ir)
    with pytest.raises(CodegenError, match="masked vpternlog"):
        object_code(ASKED_FOR, host(), keep=False)

"""Operands of the USSE: what an instruction can read does not depend on how far up the registers lie."""

from __future__ import annotations

import gc
from itertools import product

import pytest

from isakit.compile.shading.compiled import build_shader
from isakit.compile.usse import instructions as hw
from isakit.compile.usse.operands import View, near, placed, readable, swizzle
from isakit.errors import CompileError

CHANNELS = [(0,), (1,), (3,), (0, 1), (1, 0), (2, 3), (0, 1, 2), (2, "0", 1), (0, 1, 2, 3), (3, 3, 3, 3)]
OPERATIONS = [*hw.MOV.values(), *hw.MUL.values(), *hw.MAD2.values(), hw.MAD3, hw.MAD4, hw.DP3, hw.DP4]


def test_readable_is_what_some_name_allows() -> None:
    reaches = {reach for op in OPERATIONS for _, reach in op.sources}
    found: set[bool] = set()
    for reach, bank, ty, at, channels in product(reaches, ("g", "i", "c"), ("f32", "f16"), range(9), CHANNELS):
        if bank == "i" and at % 4 + max(c for c in channels if isinstance(c, int)) > 3:
            continue  # an internal register has four channels
        lanes = tuple(range(len(channels)))
        ways = placed(bank, at, View(channels, ty), reach)
        want = any(swizzle(reach, named, lanes) is not None for _, named in ways)
        assert readable(reach, bank, near(bank, at), channels, ty, lanes) == want
        found.add(want)
    assert found == {False, True}


def test_no_collection_of_garbage_while_a_shader_is_compiled() -> None:
    lines = "".join(f"v = v.wxyz * u[{k % 4}] + u[{k % 3}].x;\n" for k in range(40))
    text = "uniform float4 u[4]; float4 main(float4 v : TEXCOORD0) : COLOR {\n" + lines + "return v; }"
    seen: list[str] = []

    def watch(phase: str, info: dict[str, int]) -> None:
        seen.append(phase)

    before = gc.get_threshold()
    gc.callbacks.append(watch)
    gc.set_threshold(100)
    try:
        build_shader(text, stage="fragment", language="cg")
        during = len(seen)
        with pytest.raises(CompileError):
            build_shader(text.replace("wxyz", "foo"), stage="fragment", language="cg")
    finally:
        gc.set_threshold(*before)
        gc.callbacks.remove(watch)
    assert during < 20, during
    assert gc.isenabled()

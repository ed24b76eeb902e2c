"""Kernels that need many registers: another order of their operations, which computes the same in fewer."""

from __future__ import annotations

import numpy as np
import pytest

from isakit.compile import compile_ptx, driver
from isakit.tesla import Device

MANY = 48


def text() -> str:
    """Load many words, and only then use them, one after the other, from the last to the first."""
    loads = "\n".join(f"ld.global.u32 %r{k}, [%p+{4 * k}];" for k in range(MANY))
    uses = "\n".join(f"mad.lo.u32 %s, %s, 5, %r{k};" for k in range(MANY))
    return (".version 1.4\n.target sm_13\n.entry k (.param .u32 at) {\n"
            f".reg .u32 %r<{MANY}>; .reg .u32 %s; .reg .u32 %p;\nld.param.u32 %p, [at]; mov.u32 %s, 1;\n"
            f"{loads}\n{uses}\nst.global.u32 [%p], %s; exit;\n}}\n")  # fmt: skip


def test_loads_wait_for_their_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    ordered = compile_ptx(text()).module
    assert (ordered.kernels["k"].registers or 0) < 12
    monkeypatch.setattr(driver, "CROWDED", 1 << 30)
    plain = compile_ptx(text()).module
    assert (plain.kernels["k"].registers or 0) > MANY // 2
    assert len(ordered.kernels["k"].code) <= len(plain.kernels["k"].code)
    data = np.arange(7, 7 + MANY, dtype=np.uint32)
    want = 1
    for x in data:
        want = want * 5 + int(x) & 0xFFFFFFFF
    for module in (plain, ordered):
        words = data.copy()
        Device(module.variant).load(module)["k"][1, 1](words)
        assert words[0] == want


def test_no_load_passes_a_store() -> None:
    body = text().replace("mad.lo.u32 %s, %s, 5, %r0;", "st.global.u32 [%p+160], 9; mad.lo.u32 %s, %s, 5, %r0;")
    module = compile_ptx(body).module
    assert (module.kernels["k"].registers or 0) > MANY // 2

"""Parameters of functions whose address is taken lie in local memory, and are the function's own."""

from __future__ import annotations

import numpy as np
import pytest

from isakit.compile import compile_ptx
from isakit.errors import CompileError
from isakit.runtime import Device

TEXT = """
.version 3.2
.target sm_20
.address_size 64
.func (.param .b32 r) pick (.param .align 4 .b8 s[32], .param .b32 i)
{
  .reg .u64 %p, %q; .reg .u32 %x, %y;
  ld.param.u32 %x, [i]; mov.b64 %p, s; mul.wide.u32 %q, %x, 4; add.s64 %q, %p, %q;
  ld.local.u32 %y, [%q]; add.u32 %y, %y, 100; st.local.u32 [%p+4], %y;
  ld.param.u32 %x, [s+4]; ld.param.u32 %y, [%q];
  add.u32 %x, %x, %y; st.param.b32 [r+0], %x; ret;
}
.func (.param .b32 r) both (.param .align 4 .b8 s[32], .param .b32 i)
{
  .reg .u32 %x, %y; .reg .u64 %p;
  mov.b64 %p, s+8; st.local.u32 [%p], 1000;
  { .param .b32 r0; call.uni (r0), pick, (s, i); ld.param.b32 %y, [r0]; }
  { .param .b32 p1, r0; st.param.b32 [p1], 2; call.uni (r0), pick, (s, p1); ld.param.b32 %x, [r0]; }
  add.u32 %x, %x, %y; st.param.b32 [r+0], %x; ret;
}
.entry k (.param .u64 out, .param .align 4 .b8 s[32])
{
  .reg .u64 %o, %w; .reg .u32 %x, %t;
  ld.param.u64 %o, [out]; mov.u32 %t, %tid.x;
  { .param .b32 p1, r0; st.param.b32 [p1], %t; call.uni (r0), both, (s, p1); ld.param.b32 %x, [r0]; }
  mul.wide.u32 %w, %t, 4; add.u64 %o, %o, %w; st.global.u32 [%o], %x; exit;
}
"""


def pick(s: list[int], i: int) -> int:
    s = list(s)
    y = s[i] + 100
    s[1] = y
    return s[1] + s[i]


def both(s: list[int], i: int) -> int:
    s = list(s)
    s[2] = 1000
    return pick(s, i) + pick(s, 2)


@pytest.mark.parametrize("chip", ["g80", "gt200"])
def test_a_function_reads_and_writes_its_parameters_through_their_addresses(chip: str) -> None:
    out, s = np.zeros(6, np.uint32), np.arange(10, 18, dtype=np.uint32)
    Device(chip, engine="reference").load(compile_ptx(TEXT, chip).module)["k"][1, 6](out, s.tobytes())
    assert list(out) == [both(list(range(10, 18)), i) for i in range(6)]


def test_the_address_of_a_result_is_refused_by_name() -> None:
    with pytest.raises(CompileError) as e:
        compile_ptx(TEXT.replace("mov.b64 %p, s;", "mov.b64 %p, r;"))
    assert "the address of the result of a function" in e.value.diagnostics[0].message

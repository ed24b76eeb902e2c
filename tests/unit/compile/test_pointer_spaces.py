"""Pointers whose space the compiler finds out, or which say it when the kernel runs."""

from __future__ import annotations

import numpy as np
import pytest

from isakit.compile import compile_ptx
from isakit.compile.c import compile_c
from isakit.errors import CompileError
from isakit.runtime import Device
from support.needs import needs_clang

CHIPS = ("g80", "gt200")
TAB = np.array([100, 200, 300, 400], np.int32)
C = np.arange(7, 7 + 64, dtype=np.int32)
D = np.arange(1000, 1000 + 64, dtype=np.int32)
N = np.arange(64)

OPENCL: dict[str, tuple[str, np.ndarray]] = {
    "a buffer beside an array of constants": (
        "o[i] = c[i] + tab[i & 3];",
        C + TAB[N & 3]),
    "one of them, by a condition of the lane": (
        "__constant int *p = n & i ? c : tab; o[i] = p[i & 3];",
        np.where(N & 5, C[N & 3], TAB[N & 3])),
    "one of them, the same for all lanes": (
        "__constant int *p = n > 3 ? c : tab; o[i] = p[i & 3];",
        C[N & 3]),
    "one of two buffers": (
        "__constant int *p = n & i ? c : d; o[i] = p[i];",
        np.where(N & 5, C, D)),
    "an element of an array of pointers": (
        "__constant int *all[4] = {tab, c, d, tab + 2}; o[i] = all[i % 4][i & 1];",
        np.select([N % 4 == 0, N % 4 == 1, N % 4 == 2], [TAB[N & 1], C[N & 1], D[N & 1]], TAB[2 + (N & 1)])),
    "passed to a function": (
        "o[i] = sum(c, i & 3) + 2 * sum(tab, 3) + sum(n & i ? d : tab, 2);",
        np.cumsum(C)[N & 3] + 2 * TAB.sum() + np.where(N & 5, D[:3].sum() - D[2], TAB[:2].sum())
        + np.where(N & 5, D[2], TAB[2])),
    "changed in a loop": (
        "__constant int *p = tab; int s = 0; "
        "for (int k = 0; k < 4; k++) { s += p[k & 1]; p = (k + i) & 1 ? c : p + 1; } o[i] = s;",
        np.zeros(0)),
    "compared and counted back from": (
        "__constant int *end = (n & i ? c : tab) + 4; int s = 0; "
        "for (__constant int *p = end; p != end - 3; ) s += *--p; o[i] = s;",
        np.where(N & 5, C[1:4].sum(), TAB[1:4].sum())),
    "read in bytes, halves and eight bytes": (
        "__constant char *p = (__constant char *)(n & i ? c : tab); "
        "o[i] = p[4] + ((__constant short *)p)[4] + (int)(((__constant long *)p)[1] >> 32);",
        np.where(N & 5, C[1] + C[2] + C[3], (200 - 256) + 300 + 400)),
}  # fmt: skip
FUNCTION = """
__constant int tab[512] = {100, 200, 300, 400};
__attribute__((noinline)) int sum(__constant int *p, int n)
{ int s = 0; for (int k = 0; k <= n; k++) s += p[k]; return s; }
__kernel void k(__global int *o, __constant int *c, __constant int *d, int n) { int i = get_global_id(0); BODY }
"""


def in_a_loop() -> np.ndarray:
    out = []
    for i in range(64):
        p, s = TAB[:], 0
        for k in range(4):
            s += int(p[k & 1])
            p = C if (k + i) & 1 else p[1:] if p is not TAB else TAB[1:]
            p = np.concatenate([p, np.zeros(8, np.int32)]) if len(p) < 8 else p
        out.append(s)
    return np.array(out)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("what", OPENCL)
@needs_clang
def test_constants_of_opencl_lie_in_a_bank_or_in_a_buffer(what: str, chip: str) -> None:
    body, want = OPENCL[what]
    ptx = compile_c("k.cl", FUNCTION.replace("BODY", body), "opencl")
    kernel = Device(chip).load(compile_ptx(ptx, chip).module)["k"]
    out = np.zeros(64, np.int32)
    kernel[2, 32](out, C, D, 5)
    assert out.tolist() == (in_a_loop() if what == "changed in a loop" else want).tolist()


CUDA: dict[str, tuple[str, np.ndarray]] = {
    "shared or local": (
        "int *p = i & 1 ? s : l; p[i & 7] += 5; __syncthreads(); o[i] = s[i & 7] * 100 + l[i & 7];",
        np.zeros(0)),
    "shared, local or global": (
        "int *p = i % 3 == 0 ? s + i : i % 3 == 1 ? l + (i & 7) : g + i; *p = *p + i; o[i] = s[i] + l[i & 7] + g[i];",
        N * 2 + (N & 7) + 1000 + N + N),
    "constant, shared or global": (
        "const int *p = i % 3 == 0 ? table : i % 3 == 1 ? (const int *)s : g; o[i] = p[i & 3];",
        np.select([N % 3 == 0, N % 3 == 1], [TAB[N & 3], 2 * (N & 3)], D[N & 3])),
    "a pointer in an array": (
        "int *all[3] = {s, l, g}; for (int k = 0; k < 3; k++) o[i] += *all[(i + k) % 3]; o[i] += *all[i % 3];",
        0 + 0 + 1000 + np.where(N % 3 == 2, 1000, 0)),
    "a null pointer beside the first byte of shared memory": (
        "int *p = i & 1 ? s : 0; o[i] = p ? *p + 7 : 3;",
        np.where(N & 1, 7, 3)),
    "a pair of words": (
        "double *p = (double *)(i & 1 ? s + 2 * i : l); long long *q = (long long *)p; *q = 0x100000000LL * i + 5;"
        " o[i] = (int)(*q >> 32) + (int)*q;",
        N + 5),
}  # fmt: skip
CUDA_TEXT = """
__constant__ int table[4] = {100, 200, 300, 400};
extern "C" __global__ void k(int *o, int *g)
{
    __shared__ int s[130];
    int l[8];
    int i = threadIdx.x;
    for (int k = 0; k < 8; k++) l[k] = k;
    s[i] = 2 * i;
    __syncthreads();
    BODY
}
"""


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("what", CUDA)
@needs_clang
def test_a_pointer_of_cuda_leads_to_the_space_it_was_made_from(what: str, chip: str) -> None:
    body, want = CUDA[what]
    kernel = Device(chip).load(compile_ptx(compile_c("k.cu", CUDA_TEXT.replace("BODY", body)), chip).module)["k"]
    out = np.zeros(64, np.int32)
    kernel[1, 64](out, D.copy())
    if what == "shared or local":
        shared, local = 2 * np.arange(8), np.arange(8) + 5 * (np.arange(8) % 2 == 0)
        odd = np.arange(8) % 2 == 1
        want = (shared + 5 * odd)[N & 7] * 100 + np.where(N & 1, N & 7, local[N & 7])
    assert out.tolist() == want.tolist()


# --- without a compiler -----------------------------------------------------------------------------------------------
HEAD = ".version 3.0\n.target sm_13\n.address_size 64\n.const .align 4 .b32 tab[4] = {100, 200, 300, 400};\n"
PTX = (
    HEAD
    + """
.entry k (.param .u64 .ptr .global o, .param .u64 .ptr .const c, .param .u64 plain)
{
  .reg .u32 %r<9>; .reg .u64 %d<9>; .reg .pred %p<4>;
  .shared .align 4 .b32 s[64];
  ld.param.u64 %d0, [o]; ld.param.u64 %d1, [c]; mov.u64 %d2, tab;
  mov.u32 %r0, %tid.x; mul.wide.u32 %d3, %r0, 4; add.u64 %d0, %d0, %d3;
  and.b32 %r1, %r0, 1; setp.ne.u32 %p0, %r1, 0;
  mov.u64 %d6, s; cvta.shared.u64 %d5, %d6; add.u64 %d6, %d6, %d3;
  BODY
  st.global.u32 [%d0], %r2;
  exit;
}
"""
)


def run(body: str, chip: str = "gt200") -> list[int]:
    kernel = Device(chip, engine="reference").load(compile_ptx(PTX.replace("BODY", body), chip).module)["k"]
    out = np.zeros(4, np.int32)
    kernel[1, 4](out, C[:4], 0)
    return out.tolist()


@pytest.mark.parametrize("chip", CHIPS)
def test_a_pointer_to_constants_that_a_kernel_is_given_leads_to_a_buffer(chip: str) -> None:
    assert run("add.u64 %d4, %d1, %d3; ld.const.u32 %r2, [%d4];", chip) == [7, 8, 9, 10]
    assert run("add.u64 %d4, %d2, %d3; ld.const.u32 %r2, [%d4];", chip) == [100, 200, 300, 400]
    body = "selp.b64 %d4, %d1, %d2, %p0; add.u64 %d4, %d4, %d3; ld.const.u32 %r2, [%d4];"
    assert run(body, chip) == [100, 8, 300, 10]


def test_an_address_in_the_bank_of_constants_may_be_a_plain_parameter() -> None:
    assert run("ld.param.u64 %d4, [plain]; ld.const.u32 %r2, [%d4+4];") == [200] * 4


def test_a_generic_address_says_its_space() -> None:
    body = """cvta.const.u64 %d7, %d2; selp.b64 %d8, %d5, %d7, %p0; st.shared.u32 [%d6], %r0;
  isspacep.shared %p1, %d8; isspacep.const %p2, %d8; isspacep.global %p3, %d8;
  selp.u32 %r2, 1, 0, %p1; @%p2 add.u32 %r2, %r2, 2; @%p3 add.u32 %r2, %r2, 4;
  isspacep.global %p3, %d0; @%p3 add.u32 %r2, %r2, 8;"""
    assert run(body) == [10, 9, 10, 9]


def test_a_store_through_an_address_goes_where_it_leads() -> None:
    body = """mov.u32 %r2, 5; st.shared.u32 [s], %r2; bar.sync 0; selp.b64 %d4, %d5, %d0, %p0;
  add.u32 %r3, %r0, 50; st.u32 [%d4], %r3; bar.sync 0; ld.u32 %r2, [%d4]; ld.shared.u32 %r4, [s];
  mad.lo.u32 %r2, %r4, 1000, %r2;"""
    assert run(body) == [53050, 53053, 53052, 53053]


def test_addresses_of_32_bits_have_no_room_for_their_space() -> None:
    text = """.version 2.3\n.target sm_20\n.address_size 32
.entry k (.param .u32 o)
{
  .reg .u32 %r<4>; .reg .pred %p; .shared .b32 s[4];
  ld.param.u32 %r0, [o]; mov.u32 %r1, s; cvta.shared.u32 %r1, %r1; setp.ne.u32 %p, %r0, 7;
  cvta.global.u32 %r0, %r0; selp.b32 %r2, %r0, %r1, %p; st.u32 [%r2], %r0; exit;
}
"""
    with pytest.raises(CompileError, match="several spaces: global, shared"):
        compile_ptx(text)

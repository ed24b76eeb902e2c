"""Loops, and code with barriers, that lanes leave from within a branch: the others meet again at the next barrier.

Every thread comes to the same barriers equally often, so that CUDA gives these kernels one meaning. Lanes that went
different ways once met behind the loop only, and each half of a warp came to the barriers by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from isakit.compile import compile_ptx
from isakit.compile.c import compile_c
from isakit.runtime import Device
from support.farm.exits import wrong
from support.generators.loop_exits import VALUES, Tree, ptx, uniform
from support.needs import CLANG

HEAD = """
#define EXCHANGE(v) { s[t] = (v); __syncthreads(); acc += s[(t + 33) & 63]; __syncthreads(); }
extern "C" __global__ void k(int *out, int n)
{
    __shared__ int s[64];
    int t = threadIdx.x, acc = 0;
"""
T = np.arange(64)


def exchanged(acc: np.ndarray, v: np.ndarray) -> np.ndarray:
    return acc + v[(T + 33) & 63]


def _both_sides(n: int) -> np.ndarray:
    acc = np.zeros(64, int)
    for i in range(n + 1):
        acc += np.where(T & 1, 7, i)
        if i < n:
            acc = exchanged(acc, T + i)
    return acc


def _nested(n: int) -> np.ndarray:
    acc = np.zeros(64, int)
    for i in range(4):
        for j in range(n + 1):
            chosen = (T ^ j) & 2
            acc += np.where(chosen, 3, i * j)
            if j < n:
                acc = exchanged(acc, T + j)
            else:
                acc += np.where(chosen, 1000, 0)
        acc = exchanged(acc, acc & 15)
    return acc


def _two_levels(n: int) -> np.ndarray:
    acc = np.zeros(64, int)
    for _ in range(n):
        for j in range(3):
            acc = exchanged(acc + np.where(T & 4, j, 5), T + j)
        acc += np.where(T & 1, 2, 11)
        acc = exchanged(acc, acc & 15)
    return acc + np.where(T & 4, 0, 5)


def _returning(n: int) -> np.ndarray:
    return np.where(T & 1, 1, -1) * _both_sides(n)


def _switched(n: int) -> np.ndarray:
    acc = np.zeros(64, int)
    for i in range(n + 1):
        way = (T + i) & 3
        acc = np.select([way == 0, way == 1, way == 2], [acc + 1, acc + 20, acc ^ 5], acc + T)
        if i < n:
            acc = exchanged(acc, T * i)
    return acc


def _outer_and_inner(n: int) -> np.ndarray:
    acc = np.zeros(64, int)
    for i in range(n + 1):
        for j in range(3):
            acc += np.where(T & 4, j, 5)
            if i == n and j == 1:
                return acc + np.where(T & 4, 0, 300)
            acc = exchanged(acc, T + j)
        acc = exchanged(acc, acc & 15)
    raise AssertionError


KERNELS: dict[str, tuple[str, Callable[[int], np.ndarray]]] = {
    "a break on both sides": ("""
    for (int i = 0;; i++) {
        if (t & 1) { acc += 7; if (i == n) break; } else { acc += i; if (i == n) break; }
        EXCHANGE(t + i)
    }
    out[t] = acc;""", _both_sides),
    "a loop inside another one": ("""
    for (int i = 0; i < 4; i++) {
        for (int j = 0;; j++) {
            if ((t ^ j) & 2) { acc += 3; if (j == n) { acc += 1000; break; } } else acc += i * j;
            if (j == n) break;
            EXCHANGE(t + j)
        }
        EXCHANGE(acc & 15)
    }
    out[t] = acc;""", _nested),
    "two loops are left at once": ("""
    for (int i = 0;; i++) {
        for (int j = 0; j < 3; j++) {
            if (t & 4) { acc += j; if (i == n) goto done; } else { acc += 5; if (i == n) goto done; }
            EXCHANGE(t + j)
        }
        if (t & 1) acc += 2; else acc += 11;
        EXCHANGE(acc & 15)
    }
done:
    out[t] = acc;""", _two_levels),
    "some lanes leave two loops at once and others the inner one": ("""
    for (int i = 0;; i++) {
        for (int j = 0; j < 3; j++) {
            if (t & 4) { acc += j; if (i == n && j == 1) goto done; } else { acc += 5; if (i == n && j == 1) break; }
            EXCHANGE(t + j)
        }
        if (i == n) { acc += 300; break; }
        EXCHANGE(acc & 15)
    }
done:
    out[t] = acc;""", _outer_and_inner),
    "some lanes return": ("""
    for (int i = 0;; i++) {
        if (t & 1) { acc += 7; if (i == n) { out[t] = acc; return; } } else acc += i;
        if (i == n) break;
        EXCHANGE(t + i)
    }
    out[t] = -acc;""", _returning),
    "a switch of four ways": ("""
    for (int i = 0;; i++) {
        switch ((t + i) & 3) {
        case 0: acc += 1; break;
        case 1: acc += 20; if (i >= n) goto done; break;
        case 2: acc ^= 5; if (i >= n) goto done; break;
        default: acc += t;
        }
        if (i >= n) break;
        EXCHANGE(t * i)
    }
done:
    out[t] = acc;""", _switched),
}  # fmt: skip


class TestC:
    pytestmark = CLANG

    @pytest.mark.parametrize("what", KERNELS)
    @pytest.mark.parametrize("engine", ["reference", "llvm"])
    def test_lanes_meet_at_every_barrier(self, what: str, engine: str, tmp_path: Path) -> None:
        text, want = KERNELS[what]
        (tmp_path / "k.cu").write_text(HEAD + text + "\n}\n")
        kernel = Device("gt200", engine=engine).load(compile_ptx(compile_c(str(tmp_path / "k.cu"))).module)["k"]
        for n in (0, 1, 2, 5):
            out = np.zeros(64, np.int32)
            kernel[1, 64](out, n)
            assert (out == want(n)).all(), n


ODD, FOUR, ALL = ["t", 1, 1], ["t", 4, 4], ["word", 1]
TREES: dict[str, list[Tree]] = {
    "the inner loop, or both": [
        ["loop", 3, [
            ["loop", 3, [
                ["if", FOUR, [["add", 2], ["if", ALL, [["leave", 2]], []]], [["if", ALL, [["leave", 1]], []]]],
                ["exchange", 1, 7]]],
            ["if", ALL, [["add", 9], ["leave", 1]], []],
            ["exchange", 2, 0]]],
        ["exchange", 3, 1]],
    "one, two or three loops": [
        ["loop", 2, [
            ["loop", 2, [
                ["loop", 3, [
                    ["if", FOUR, [["if", ALL, [["add", 1], ["leave", 3]], []]],
                     [["if", ODD, [["if", ALL, [["leave", 2]], []]], [["add", 4], ["if", ALL, [["leave", 1]], []]]]]],
                    ["exchange", 1, 3]]],
                ["if", ALL, [["xor", 9], ["leave", 1]], []],
                ["exchange", 2, 0]]],
            ["if", ALL, [["leave", 1]], []],
            ["exchange", 3, 1]]],
        ["exchange", 4, 0]],
    "the next turn of the outer loop": [
        ["loop", 3, [
            ["loop", 2, [
                ["if", FOUR, [["if", ALL, [["next", 2]], []]], [["add", 1], ["if", ALL, [["leave", 1]], []]]],
                ["exchange", 1, 7]]],
            ["if", ALL, [["add", 7], ["next", 1]], []],
            ["exchange", 2, 0]]],
        ["exchange", 3, 1]],
    "two barriers that all come to by two ways": [
        ["block", [
            ["block", [
                ["if", ODD, [["add", 2], ["if", ALL, [["leave", 1]], []], ["leave", 2]],
                 [["add", 5], ["if", ALL, [["leave", 1]], []], ["xor", 3], ["leave", 2]]]]],
            ["exchange", 1, 7], ["leave", 1]]],
        ["exchange", 2, 1]],
}  # fmt: skip


@pytest.mark.parametrize("what", TREES)
def test_lanes_that_leave_several_at_once_meet(what: str) -> None:
    assert uniform(TREES[what], VALUES)
    assert wrong(ptx(TREES[what]), TREES[what]) == []


PTX = """.version 1.4
.target sm_13
.entry k (.param .u32 out, .param .u32 n)
{
  .reg .u32 %t, %i, %n, %o, %acc, %a, %b, %s, %v; .reg .pred %odd, %last; .shared .u32 held[64];
  ld.param.u32 %o, [out]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x; mov.u32 %i, 0; mov.u32 %acc, 0;
  mov.u32 %s, held; shl.b32 %a, %t, 2; add.u32 %a, %a, %s; add.u32 %b, %t, 33; and.b32 %b, %b, 63; shl.b32 %b, %b, 2;
  add.u32 %b, %b, %s;
  and.b32 %v, %t, 1; setp.ne.u32 %odd, %v, 0;
NEXT:
  setp.eq.u32 %last, %i, %n;
  @%odd bra ODD;
  add.u32 %acc, %acc, %i; @%last bra DONE; bra.uni ON;
ODD:
  add.u32 %acc, %acc, 7; @%last bra DONE;
ON:
  add.u32 %v, %t, %i; st.shared.u32 [%a], %v; bar.sync 0;
  ld.shared.u32 %v, [%b]; add.u32 %acc, %acc, %v; bar.sync 0;
  add.u32 %i, %i, 1; bra.uni NEXT;
DONE:
  shl.b32 %a, %t, 2; add.u32 %a, %a, %o; st.global.u32 [%a], %acc; exit;
}
"""


def test_lanes_of_ptx_break_out_of_a_loop() -> None:
    module = compile_ptx(PTX).module
    assert sum(i.record.name == "brk" for i in module["k"].program) == 1
    for chip in ("g80", "gt200"):
        kernel = Device(chip).load(compile_ptx(PTX, chip).module)["k"]
        out = np.zeros(64, np.int32)
        kernel[1, 64](out, 5)
        assert (out == _both_sides(5)).all()


ENDS = """.version 1.4
.target sm_13
.entry k (.param .u64 o)
{
    .reg .u64 %a, %d; .reg .u32 %t, %m, %x, %y; .reg .pred %p, %q, %r; .shared .u32 s[64];
    ld.param.u64 %a, [o]; cvt.u32.u16 %t, %tid.x; mul.wide.u32 %d, %t, 4; add.u64 %a, %a, %d;
    and.b32 %m, %t, 7; shl.b32 %t, %t, 2; mov.u32 %y, s; add.u32 %y, %y, %t; mov.u32 %x, 1;
    setp.gt.u32 %p, %m, 3; @%p bra A;
    setp.eq.u32 %q, %m, 0; @%q bra X; add.u32 %x, %x, 10; setp.eq.u32 %r, %m, 1; @%r bra L; bra M;
A:  setp.eq.u32 %q, %m, 5; @%q bra Y; add.u32 %x, %x, 100;
L:  add.u32 %x, %x, 1000; setp.eq.u32 %q, %m, 7; @%q bra M; add.u32 %x, %x, 10000;
M:  st.shared.u32 [%y], %x; bar.sync 0;
    xor.b32 %t, %t, 96; mov.u32 %y, s; add.u32 %y, %y, %t; ld.shared.u32 %x, [%y]; st.global.u32 [%a], %x; exit;
X:  FIRST
Y:  SECOND
}
"""
"""Lanes that end on two ways to a barrier, at which those that go on have to come together."""
STORED = "mov.u32 %x, 77; st.global.u32 [%a], %x;"


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("first", "second", "least", "fifth"),
    [("exit;", "exit;", 0, 0), ("bra Y;", "exit;", 0, 0), (f"{STORED} exit;", f"{STORED} exit;", 77, 77),
     ("mov.u32 %x, 76; bra Y;", "st.global.u32 [%a], %x; exit;", 76, 1)],
)  # fmt: skip
def test_lanes_that_end_on_the_way_to_a_barrier_keep_the_others_not_apart(
    first: str, second: str, least: int, fifth: int
) -> None:
    program = compile_ptx(ENDS.replace("FIRST", first).replace("SECOND", second), "gt200").module
    out = np.zeros(64, np.uint32)
    Device("gt200", engine="reference").load(program)["k"][1, 64](out)
    m = T & 7
    s = 1 + np.select([m > 3, m == 1], [1100 + 10000 * (m != 7), 11010], 10)
    assert (out == np.select([m == 0, m == 5], [least, fifth], s[T ^ 24])).all()

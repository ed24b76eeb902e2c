"""CUDA C and OpenCL C through a clang that is found."""

from __future__ import annotations

import numpy as np
import pytest

from isakit.compile import compile_ptx
from isakit.compile.c import compile_c, compile_cuda, find_nvrtc
from isakit.errors import CompileError, MachineFault
from isakit.runtime import Device
from support.needs import CLANG

pytestmark = CLANG

CUDA = """
__constant__ int table[4] = {10, 20, 30, 40};
extern "C" __global__ void sums(const int *x, int *out, int n)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t < n ? x[t] : 0;
    __syncthreads();
    for (int k = 32; k; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
    if (t == 0) { out[0] = s[0]; out[1] = table[n & 3]; }
    atomicAdd(out + 2, t % 5);
    atomicMax(out + 3, x[t] / 3);
}
"""
OPENCL = """
kernel void reversed(global float *x, float a, local float *tmp)
{
    size_t i = get_global_id(0), l = get_local_id(0);
    tmp[l] = x[i];
    barrier(CLK_LOCAL_MEM_FENCE);
    x[i] = a * tmp[get_local_size(0) - 1 - l];
}
"""


def test_cuda_c_compiles_and_runs() -> None:
    module = compile_ptx(compile_c("sums.cu", CUDA)).module
    x = np.random.default_rng(3).integers(-100, 100, 64).astype(np.int32)
    out = np.zeros(4, np.int32)
    Device("gt200").load(module)["sums"][1, 64](x, out, 50)
    assert out.tolist() == [int(x[:50].sum()), 30, sum(t % 5 for t in range(64)), int(max(0, x.max() // 3))]


def test_threads_of_a_block_are_counted_at_a_barrier() -> None:
    text = """
extern "C" __global__ void k(int *o, int n)
{
    int i = threadIdx.x, c = __syncthreads_count(i % 3 == n);
    if (__syncthreads_and(i < 64)) c += 1000;
    if (__syncthreads_or(i == n + 60)) c += 2000;
    o[i] = c;
}
"""
    out = np.zeros(64, np.int32)
    Device("gt200").load(compile_ptx(compile_c("k.cu", text)).module)["k"][1, 64](out, 1)
    assert set(out.tolist()) == {3021}


def test_opencl_c_compiles_and_runs() -> None:
    module = compile_ptx(compile_c("reversed.cl", OPENCL)).module
    x = np.arange(64, dtype=np.float32)
    want = 2 * x.reshape(2, 32)[:, ::-1].reshape(-1)
    kernel = Device("gt200").load(module)["reversed"]
    kernel.launch(2, 32, x, 2.0, kernel.shared_bytes, dynamic_shared=256)
    assert (x == want).all()


def test_messages_of_the_compiler_are_diagnostics() -> None:
    with pytest.raises(CompileError) as e:
        compile_c("bad.cu", "__global__ void f() { undeclared(); }\n")
    assert "undeclared" in e.value.diagnostics[0].message
    assert (e.value.diagnostics[0].line, e.value.diagnostics[0].path) == (1, "bad.cu")


def test_nvrtc_compiles_the_same_cuda_c() -> None:
    if find_nvrtc() is None:
        pytest.skip("the wheel nvidia-cuda-nvrtc-cu12 is not installed")
    module = compile_ptx(compile_cuda("sums.cu", CUDA)).module
    x = np.random.default_rng(3).integers(-100, 100, 64).astype(np.int32)
    out = np.zeros(4, np.int32)
    Device("gt200").load(module)["sums"][1, 64](x, out, 50)
    assert out.tolist() == [int(x[:50].sum()), 30, sum(t % 5 for t in range(64)), int(max(0, x.max() // 3))]


def test_messages_of_nvrtc_are_diagnostics() -> None:
    if find_nvrtc() is None:
        pytest.skip("the wheel nvidia-cuda-nvrtc-cu12 is not installed")
    with pytest.raises(CompileError) as e:
        compile_cuda("bad.cu", "__global__ void f()\n{ undeclared(); }\n")
    assert "undeclared" in e.value.diagnostics[0].message
    assert (e.value.diagnostics[0].line, e.value.diagnostics[0].path) == (2, "bad.cu")


POINTERS = """
typedef float (*F)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ float halved(float x) { return x / 2; }
__device__ float more(float x) { __shared__ float s[64]; s[threadIdx.x] = x; return s[threadIdx.x] + 1; }
__device__ F table[3] = {twice, halved, more};
struct Shape { __device__ virtual float area(float x) const { return x; }
               __device__ virtual float plus(float x) const { return x + 100; } };
struct Square : Shape { __device__ float area(float x) const override { return x * x; } };
struct Cube : Square { float d; __device__ Cube(float e) : d(e) {}
                       __device__ float area(float x) const override { return x * x * x + d; } };
extern "C" __global__ void k(float *o, int n)
{
    extern __shared__ float open[];
    int i = threadIdx.x;
    open[i] = 5;
    Shape a; Square b; Cube c(n);
    const Shape *all[3] = {&a, &b, &c};
    const Shape *s = all[(i + n) % 3];
    F f = i & 4 ? table[n % 3] : i & 1 ? twice : halved;
    o[i] = s->area(o[i]) + s->plus(0) + 10000 * f(i) + open[i];
}
extern "C" __global__ void unknown(float *o, F f) { o[0] = f(o[0]) + table[1](o[0]); }
"""


@pytest.mark.parametrize("chip", ["g80", "gt200"])
def test_functions_are_called_through_pointers_and_virtually(chip: str) -> None:
    module = compile_ptx(compile_c("k.cu", POINTERS), chip).module
    device = Device(chip)
    loaded = device.load(module)
    x, i = np.arange(64, dtype=np.float32), np.arange(64)
    for n in range(3):
        out = x.copy()
        loaded["k"].launch(1, 64, out, n, dynamic_shared=256)
        q = (i + n) % 3
        through = [2 * x, x / 2, x + 1]
        f = np.where(i & 4, through[n], np.where(i & 1, through[0], through[1]))
        want = np.select([q == 0, q == 1], [x, x * x], x * x * x + n) + 100 + 10000 * f + 5
        assert (out == want.astype(np.float32)).all()
    with pytest.raises(MachineFault, match="TRAP"):
        loaded["unknown"][1, 1](x, 77)


def test_a_function_that_calls_itself_is_refused() -> None:
    text = "__device__ __attribute__((noinline)) int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n"
    text += 'extern "C" __global__ void k(int *o) { o[0] = f(o[1]); }\n'
    with pytest.raises(CompileError, match="calls itself") as e:
        compile_ptx(compile_c("k.cu", text), path="k.cu", origin=text)
    (d,) = e.value.diagnostics
    assert (d.path, d.line, d.source) == ("k.cu", 1, text.splitlines()[0])


IN_STEP = """
extern "C" __global__ void crossed(const float *x, float *y)
{
    __shared__ float s[32];
    int i = threadIdx.x;
    s[i] = x[i];
    s[i] += s[i ^ 16], s[i] += s[i ^ 8], s[i] += s[i ^ 4], s[i] += s[i ^ 2], s[i] += s[i ^ 1];
    y[i] = s[i];
}
extern "C" __global__ void folded(const float *x, float *y)
{
    __shared__ float s[64];
    int i = threadIdx.x;
    s[i] = x[i], s[i + 32] = 0.0f;
    for (int k = 0; k < 2; k++)
        s[i] += s[i + 16], s[i] += s[i + 8], s[i] += s[i + 4], s[i] += s[i + 2], s[i] += s[i + 1];
    y[i] = s[i];
}
extern "C" __global__ void least(const float *x, float *y)
{
    __shared__ float s[64];
    __shared__ int place[64];
    int i = threadIdx.x;
    s[i] = x[i], s[i + 32] = 9e9f, place[i] = i, place[i + 32] = -1;
    if (s[i + 16] < s[i]) s[i] = s[i + 16], place[i] = place[i + 16];
    if (s[i + 8] < s[i]) s[i] = s[i + 8], place[i] = place[i + 8];
    if (s[i + 4] < s[i]) s[i] = s[i + 4], place[i] = place[i + 4];
    if (s[i + 2] < s[i]) s[i] = s[i + 2], place[i] = place[i + 2];
    if (s[i + 1] < s[i]) s[i] = s[i + 1], place[i] = place[i + 1];
    y[i] = place[0];
}
"""


@pytest.mark.parametrize("chip", ["g80", "gt200"])
def test_threads_of_a_warp_see_each_others_stores_where_they_are_written(chip: str) -> None:
    module = Device(chip).load(compile_ptx(compile_c("k.cu", IN_STEP, arch=10 if chip == "g80" else 13), chip).module)
    x = np.random.default_rng(35).permutation(32).astype(np.float32)
    y = {name: np.zeros(32, np.float32) for name in ("crossed", "folded", "least")}
    for name, result in y.items():
        module[name][1, 32](x, result)
    assert (y["crossed"] == x.sum()).all()
    s = np.concatenate([x, np.zeros(32, np.float32)])
    for step in (16, 8, 4, 2, 1) * 2:
        s[:32] += s[step : step + 32].copy()
    assert (y["folded"] == s[:32]).all()
    assert (y["least"] == x.argmin()).all()

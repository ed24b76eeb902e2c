"""Whole .cu files, built by `isakit nvcc` and run by `isakit cuda`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from isakit.compile.c import newest_clang
from isakit.formats import parse_fatbin, read_elf_cubin
from isakit.hosts.cuda.libraries.random_numbers import Xorwow
from support.needs import NVCC, no_nvcc
from support.published_numbers import NORMAL, UNIFORM

pytestmark = NVCC
SOURCES = ROOT / "tests/support/clients/cuda_sources"
FOLLOWS_INLINING = not no_nvcc() and newest_clang().version > 19
"""PTX says where a function of any header was inlined; that of clang 19 and before does not, and errors in what clang's
own headers define are at the line of the kernel."""
PROGRAMS = ("vectors", "reduction", "matrices", "atomics", "textures", "symbols", "functions", "warps")


def isakit(*words: object, folder: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "isakit", *map(str, words)]
    got = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    assert got.returncode == status, got.stderr
    return got


def nvcc(*words: object, folder: Path, status: int = 0) -> subprocess.CompletedProcess[str]:
    return isakit("nvcc", *words, folder=folder, status=status)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_the_time_build_and_run(name: str, tmp_path: Path) -> None:
    nvcc("-O2", "-o", name, SOURCES / f"{name}.cu", folder=tmp_path)
    assert isakit("cuda", "--", f"./{name}", folder=tmp_path).stdout == f"{name} ok\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == [name]


def test_programs_use_the_libraries_of_the_toolkit(tmp_path: Path) -> None:
    nvcc("-o", "libraries", SOURCES / "libraries.cu", "-lcublas", "-lcufft", "-lcurand", folder=tmp_path)
    assert isakit("cuda", "--", "./libraries", folder=tmp_path).stdout == "libraries ok\n"


@pytest.mark.parametrize("library", ["-lcuda", "-lcublas", "-lcudart"])
def test_properties_of_the_device_fit_into_the_program_whichever_library_comes_first(
    library: str, tmp_path: Path
) -> None:
    """The linker keeps one name of our libraries, which are one file: the runtime's may not be among them."""
    (tmp_path / "query.cu").write_text("""
#include <cstdio>
#include <cstring>
int main()
{
    struct { cudaDeviceProp about; unsigned char after[64]; } all;
    memset(&all, 0x5a, sizeof all);
    int error = cudaGetDeviceProperties(&all.about, 0), spoilt = 0;
    for (int k = 0; k < 64; k++) spoilt += all.after[k] != 0x5a;
    printf("%d %d %d %d\\n", error, spoilt, all.about.multiProcessorCount, all.about.maxThreadsPerMultiProcessor);
}
""")
    nvcc("-o", "query", "query.cu", library, folder=tmp_path)
    assert isakit("cuda", "--", "./query", folder=tmp_path).stdout == "0 0 30 1024\n"


@pytest.mark.parametrize(
    "standard",
    ["-std=c++98", "-std=c++14", "-std=c++17", "-std=c++20", "-Xcompiler -std=c99", "-Xcompiler -ansi,-Wall"],
)
def test_programs_of_every_standard_find_the_functions_of_both_sides(standard: str, tmp_path: Path) -> None:
    """Headers of C++17 have functions of `long double`, for which ours have none; those of C come from makefiles."""
    (tmp_path / "standards.cu").write_text("""
#include <cmath>
#include <complex>
#include <cstdio>
#include <functional>
#include <vector>
__global__ void k(float *p) { p[0] = std::sqrt(p[0]) + std::pow(p[0], 2) + std::pow(2, 0.5f) + fmax(1, p[0]); }
int main()
{
    std::vector<float> v(1, 9);
    float *d;
    long double wide = std::pow(2.0L, 3) + std::abs(std::complex<double>(3, 4));
    cudaMalloc(&d, 4);
    cudaMemcpy(d, &v[0], 4, cudaMemcpyHostToDevice);
    k<<<1, 1>>>(d);
    cudaMemcpy(&v[0], d, 4, cudaMemcpyDeviceToHost);
    printf("%.3f %.1f\\n", v[0], (double)wide);
}
""")
    nvcc(*standard.split(), "-o", "standards", "standards.cu", folder=tmp_path)
    assert isakit("cuda", "--", "./standards", folder=tmp_path).stdout == "94.414 13.0\n"


def test_headers_with_kernels_are_read_as_well(tmp_path: Path) -> None:
    (tmp_path / "kernels.cuh").write_text("""
__device__ __forceinline__ unsigned lane()
{
    unsigned r;
    asm volatile("mov.u32 %0, %laneid;" : "=r"(r));
    return r;
}
__global__ __device__ void k(unsigned *p) { p[threadIdx.x] = lane(); }
static void go(unsigned *p) { k<< <1, 64>> >(p); }
""")
    (tmp_path / "main.cu").write_text("""
#include <stdio.h>
#include "kernels.cuh"
int main()
{
    unsigned *d, h[64];
    cudaMalloc(&d, sizeof h);
    go(d);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    printf("%u %u %u\\n", h[0], h[31], h[33]);
}
""")
    nvcc("-o", "main", "main.cu", folder=tmp_path)
    assert isakit("cuda", "--", "./main", folder=tmp_path).stdout == "0 31 1\n"
    (tmp_path / "headers").mkdir()
    (tmp_path / "kernels.cuh").rename(tmp_path / "headers/kernels.cuh")
    for options in (["-isystem", "headers"], ["-Xcompiler", "-Iheaders"]):
        nvcc("-c", *options, "main.cu", folder=tmp_path)


def test_functions_of_the_chip_that_the_hosts_library_lacks(tmp_path: Path) -> None:
    """SDK headers call them in functions of both sides. The values are those of tables."""
    rows = [
        ("rsqrt(4.0)", 0.5), ("rcbrt(-8.0)", -0.5), ("sinpi(1.5)", -1.0), ("sinpi(-0.25)", -0.70710678118654752),
        ("sinpi(1e15 + 0.5)", 1.0), ("sinpi(3.0)", 0.0), ("cospi(1.0 / 3)", 0.5), ("cospi(0.5)", 0.0),
        ("cospi(3.0)", -1.0), ("erfinv(0.5)", 0.47693627620446987), ("erfinv(-0.999)", -2.3267537655135246),
        ("erfcinv(1e-10)", 4.5728249673894852), ("erfcinv(1.9)", -1.1630871536766743),
        ("erfcinv(1.0)", 0.0), ("normcdf(-1.0)", 0.15865525393145705), ("normcdfinv(0.975)", 1.9599639845400542),
        ("rsqrtf(0.25f)", 2.0), ("rsqrt(0.25f)", 2.0), ("erfinvf(0.5f)", 0.476936281), ("fdividef(1, 4)", 0.25),
    ]  # fmt: skip
    body = "".join(f'    printf("%.17g\\n", (double){call});\n' for call, _ in rows)
    both = "__host__ __device__ inline float unit(float x) { return x * rsqrtf(x * x); }"
    (tmp_path / "host.cu").write_text(
        f"#include <stdio.h>\n{both}\n__global__ void k(float *p) {{ *p = unit(*p); }}\n"
        f'int main()\n{{\n{body}    printf("%g\\n", unit(-3));\n}}\n'
    )
    nvcc("-o", "host", "host.cu", folder=tmp_path)
    *got, last = map(float, isakit("cuda", "--", "./host", folder=tmp_path).stdout.split())
    assert last == -1
    for value, (call, right) in zip(got, rows, strict=True):
        assert abs(value - right) <= 4e-16 * max(1, abs(right)) + (3e-8 if "f(" in call else 0), call


def test_kernels_print_where_the_program_waits_for_them(tmp_path: Path) -> None:
    nvcc("-o", "printing", SOURCES / "printing.cu", folder=tmp_path)
    got = isakit("cuda", "--", "./printing", folder=tmp_path)
    first = "before\n1 of 4:  1.50 0.25 text a -5\n42    |003.14|+7|0xff|   42|(nil)|100%\nbetween\n"
    assert got.stdout.startswith(first)
    counted = got.stdout[len(first) : got.stdout.index("sync 0\n")].split()
    assert sorted(counted, key=int) == [str(k) for k in range(100) for _ in range(64)]
    assert got.stdout.endswith("sync 0\nenough 0\nassertion seen\n")
    assert "block [0,0,0], thread [3,0,0]: `threadIdx.x < n` failed" in got.stderr
    said = nvcc("-arch=sm_10", "-c", SOURCES / "printing.cu", folder=tmp_path, status=1).stderr
    assert "compile with -arch=sm_11 or later" in said


def test_objects_with_device_code_are_linked_with_those_of_the_host(tmp_path: Path) -> None:
    for file in ("parts_a.cu", "parts_b.cu"):
        nvcc("-c", SOURCES / file, "-MD", folder=tmp_path)
    assert "parts.h" in (tmp_path / "parts_a.d").read_text()
    nvcc("-lib", "-o", "libparts.a", "parts_a.o", SOURCES / "parts_b.cu", folder=tmp_path)
    nvcc("-o", "parts", SOURCES / "parts_main.cpp", "libparts.a", "-lcudart", folder=tmp_path)
    assert isakit("cuda", "--", "./parts", folder=tmp_path).stdout == "parts ok\n"


def test_each_architecture_has_its_image(tmp_path: Path) -> None:
    codes = ["-gencode", "arch=compute_10,code=sm_10", "-gencode=arch=compute_13,code=sm_13", "-gencode",
             "arch=compute_30,code=sm_30"]  # fmt: skip
    said = nvcc(*codes, "-o", "which", SOURCES / "architectures.cu", folder=tmp_path).stderr
    assert said.count("sm_30") == 1
    assert said.count("double is float below sm_13") == 1
    for device, answer in (("sm_10", "100 float"), ("sm_12", "100 float"), ("sm_13", "130 double")):
        out = isakit("cuda", "--device", device, "--", "./which", folder=tmp_path).stdout
        assert out == f"{answer} 5000\n"


KERNEL = """\
__device__ float twice(float x) { return 2 * x; }
extern "C" __global__ void k(float *o) { __shared__ float s[8]; s[threadIdx.x] = o[1]; o[0] = twice(s[0]); }
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    (tmp_path / "k.cu").write_text(KERNEL)
    return tmp_path


def test_device_code_is_written_in_every_form(kernel: Path) -> None:
    nvcc("-ptx", "k.cu", "-arch=sm_11", folder=kernel)
    assert ".target sm_11" in (kernel / "k.ptx").read_text()
    said = nvcc("-cubin", "k.ptx", "-arch=sm_11", "-Xptxas", "-v", folder=kernel).stderr
    assert "ptxas info    : Compiling entry function 'k' for 'sm_11'" in said
    assert re.search(r"ptxas info    : Used \d+ registers, \d+\+16 bytes smem", said)
    assert read_elf_cubin((kernel / "k.cubin").read_bytes()).kernels["k"].registers
    nvcc("-fatbin", "-odir", ".", "k.cu", "-gencode", "arch=compute_12,code=[sm_12,compute_12]", folder=kernel)
    entries, _ = parse_fatbin((kernel / "k.fatbin").read_bytes())
    assert [(e.kind, e.arch, e.name) for e in entries] == [("elf", "sm_12", "k.cu"), ("ptx", "sm_12", "k.cu")]


@pytest.mark.parametrize("option", ["-g", "-G"])
def test_lines_are_those_of_the_user(tmp_path: Path, option: str) -> None:
    """Not those of a header: what reads threadIdx has the line that reads it."""
    (tmp_path / "k.cu").write_text(
        "__global__ void k(int *x)\n{\n    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    x[i] = i;\n}\n"
    )
    nvcc("-cubin", option, "k.cu", folder=tmp_path)
    (found,) = read_elf_cubin((tmp_path / "k.cubin").read_bytes()).kernels.values()
    lines = found.program.lines
    assert lines is not None
    where = {(at.path.rpartition("/")[2], at.line) for i in found.program if (at := lines.at(i.address))}
    assert {("k.cu", 3), ("k.cu", 4)} <= where
    assert {path for path, _ in where} <= {"k.cu", ""}


def test_errors_stand_at_the_lines_of_the_user(kernel: Path) -> None:
    (kernel / "bad.cu").write_text("\n__global__ void k(float *o) { o[0] = sinf(o, 1); }\n")
    said = nvcc("-c", "bad.cu", folder=kernel, status=1).stderr
    assert "bad.cu:2:" in said
    assert "no matching function for call to 'sinf'" in said
    (kernel / "deep.cu").write_text(
        "__device__ __noinline__ int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n"
        "__global__ void k(int *o) { o[0] = f(o[1]); }\n"
    )
    said = nvcc("-c", "deep.cu", folder=kernel, status=1).stderr
    assert "deep.cu:1:" in said
    assert "calls itself" in said
    (kernel / "atomic.cu").write_text("__global__ void k(int *o) {\n atomicAdd(o, 1); }\n")
    assert "atomic.cu:2:" in nvcc("-c", "atomic.cu", "-arch=sm_10", folder=kernel, status=1).stderr
    assert not list(kernel.glob("*.o"))


def test_a_failed_link_says_what_the_linker_said_and_leaves_nothing(kernel: Path) -> None:
    said = nvcc("k.cu", "-o", "k", folder=kernel, status=1).stderr
    assert "main" in said
    assert not (kernel / "k").exists()
    said = nvcc("k.cu", "-lcusparse", "-o", "k", folder=kernel, status=2).stderr
    assert "isakit has cublas, cufft, curand only" in said


def test_a_dry_run_writes_nothing_and_a_verbose_one_names_the_compiler(kernel: Path) -> None:
    said = nvcc("-dryrun", "k.cu", "-c", folder=kernel).stderr
    assert "#$ " in said
    assert sorted(p.name for p in kernel.iterdir()) == ["k.cu"]
    said = nvcc("-dryrun", "none.cu", "-cudart", "shared", folder=kernel).stderr.splitlines()
    assert re.fullmatch(r'#\$ LIBRARIES=  "-L.*" -lcudart', said[-2])
    assert re.search(r' -o "a.out" .*"\S+none.o" ', said[-1])
    said = nvcc("-v", "-keep", "k.cu", "-c", folder=kernel).stderr
    assert re.search(r"#\$ device code and \.cu files: clang \d+", said)
    assert sorted(p.name for p in kernel.iterdir()) == ["k.compute_13.ptx", "k.cu", "k.fatbin", "k.o", "k.sm_13.cubin"]


def test_cmake_finds_what_it_looks_for(kernel: Path) -> None:
    """It reads the linker's words for the runtime from `-v`, knows a toolkit by a folder, links with an archive."""
    (kernel / "m.cu").write_text("int main() { return 0; }\n")
    said = nvcc("-v", "m.cu", "-o", "m", folder=kernel).stderr.splitlines()
    (words,) = (m[1] for m in (re.match(r"#\$ LIBRARIES= *(.*)", line) for line in said) if m)
    assert words in said[-1]
    isakit("nvcc", "--toolkit", "toolkit", folder=kernel)
    assert (kernel / "toolkit/nvvm/libdevice").is_dir()
    assert (kernel / "toolkit/lib64/libcudadevrt.a").read_bytes() == b"!<arch>\n"


def test_dependencies_and_preprocessed_text_go_where_they_are_asked_to(kernel: Path) -> None:
    (kernel / "own.h").write_text("#define N 3\n")
    (kernel / "d.cu").write_text('#include "own.h"\n#include <stdio.h>\nint n = N;\n')
    assert nvcc("-MM", "d.cu", folder=kernel).stdout.split() == ["d.o:", "d.cu", "own.h"]
    assert "stdio.h" in nvcc("-M", "d.cu", folder=kernel).stdout
    nvcc("-E", "d.cu", "-o", "d.ii", folder=kernel)
    assert "int n = 3;" in (kernel / "d.ii").read_text()


def test_what_cuda_writes_is_for_any_compiler_of_the_host(kernel: Path) -> None:
    """Makefiles of the time had two steps: `nvcc -cuda`, then the host's own compiler."""
    (kernel / "t.cu").write_text(r"""
#include <stdio.h>
struct Before { Before() { puts("what??/ \\ \"first\""); } } before;
__global__ void k(int *p) { p[threadIdx.x] = 3 * threadIdx.x; }
int main()
{
    int *d, h[32];
    cudaMalloc((void **)&d, sizeof h);
    k<<<1, 32>>>(d);
    cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
    return printf("%d\n", h[31]) != 3;
}
""")
    nvcc("-cuda", "t.cu", folder=kernel)
    nvcc("-o", "t", "t.cu.cpp.ii", folder=kernel)
    assert isakit("cuda", "--", "./t", folder=kernel).stdout == 'what??/ \\ "first"\n93\n'
    compiler = shutil.which("g++") or shutil.which("c++")
    if compiler is not None:
        options = ["-std=c++98", "-trigraphs", "-O2", "-g", "-c", "-x", "c++", "t.cu.cpp.ii", "-o", "t.o"]
        subprocess.run([compiler, *options], cwd=kernel, check=True, timeout=300)
        nvcc("-o", "t", "t.o", folder=kernel)
        assert isakit("cuda", "--", "./t", folder=kernel).stdout.endswith("\n93\n")


def test_headers_have_the_guards_that_programs_ask_for(kernel: Path) -> None:
    names = ("DRIVER_TYPES", "CUDA_RUNTIME", "CUDA_RUNTIME_API", "VECTOR_TYPES", "DEVICE_FUNCTIONS", "HOST_DEFINES")
    lines = [f"#ifndef __{n}_H__\n#error {n}\n#endif" for n in names]
    (kernel / "g.cu").write_text("\n".join(lines))
    nvcc("-E", "g.cu", "-o", "g.ii", folder=kernel)


def test_surfaces_may_be_mentioned_and_constant_functions_need_not_be_constant(kernel: Path) -> None:
    """PyCUDA's own headers do both, within extern "C"."""
    text = (
        'extern "C" {\n#include <surface_functions.h>\n'
        "__device__ constexpr float third() { return 1.f / ::log(20.f); }\n"
        "__device__ void put(int2 v, surface<void, cudaSurfaceType3D> s) "
        "{ surf3Dwrite(v, s, 1, 2, 3, cudaBoundaryModeClamp); }\n"
        "__device__ void get(int2 *v, surface<void, cudaSurfaceType2DLayered> s) "
        "{ surf2DLayeredread(v, s, 1, 2, 3, cudaBoundaryModeClamp); }\n"
        "surface<void, cudaSurfaceType3D> place;\n"
        "__global__ void k(float *x) { x[0] = third(); }\n"
    )
    (kernel / "s.cu").write_text(text + "}\n")
    nvcc("-cubin", "-o", "s.cubin", "s.cu", folder=kernel)
    (kernel / "s.cu").write_text(text + "__global__ void u(int2 *x) { put(x[0], place); }\n}\n")
    said = nvcc("-cubin", "-o", "s.cubin", "s.cu", folder=kernel, status=1).stderr
    assert "s.cu:4:" in said  # where it writes, not where our header does
    assert "surfaces need sm_20; read through a texture" in said


def test_files_of_the_host_know_the_states_of_random_numbers(kernel: Path) -> None:
    (kernel / "plan.cpp").write_text(
        "#include <curand_kernel.h>\nstruct Plan { curandState *a; curandStatePhilox4_32_10_t *b; } plan;\n"
        'static_assert(sizeof(curandState) == 48, "");\n'
    )
    (kernel / "gold.cpp").write_text("#include <curand.h>\nvoid end() { cudaDeviceReset(); }\n")
    nvcc("-c", "plan.cpp", "gold.cpp", folder=kernel)


def test_what_later_chips_have_is_refused_where_it_is_used(kernel: Path) -> None:
    for use, why in (
        ("o[0] = __shfl_xor(o[1], 1);", "exchange the values in shared memory"),
        ("o[0] = __ballot(o[1] > 0);", "use __any and __all"),
        ("*(volatile float **)o = (float *)malloc(4);", "pass memory of cudaMalloc"),
        ("*(volatile float **)o = new float[3];", "pass memory of cudaMalloc"),
        ("curandState s; o[0] = curand_log_normal2_double(&s, 0, 1).x;", "a double of its bits is not published"),
        ("curandStateMRG32k3a s; o[0] = curand_uniform(&s);", "curandStateXORWOW_t"),
    ):
        text = f"#include <curand_kernel.h>\n__device__ void unused(float *o) {{ {use} }}\n"
        (kernel / "later.cu").write_text(f"{text}__global__ void k(float *o) {{ o[0] = 1; }}\n")
        nvcc("-cubin", "later.cu", folder=kernel)
        (kernel / "later.cu").write_text(f"{text}__global__ void k(float *o) {{\n    {use} }}\n")
        said = nvcc("-cubin", "later.cu", folder=kernel, status=1).stderr
        assert "later.cu:4:" in said or (" new " in use and not FOLLOWS_INLINING)
        assert why in said


def test_programs_exchange_vectors_by_functions_of_their_own(kernel: Path) -> None:
    (kernel / "own.cu").write_text(
        "__device__ uint4 __shfl(const uint4 v, unsigned lane, unsigned w) { return make_uint4(v.x, lane, w, 0); }\n"
        "__global__ void k(uint4 *o, unsigned n) { o[0] = __shfl(o[1], n + 7, 8); }\n"
    )
    nvcc("-c", "own.cu", folder=kernel)


def test_objects_are_made_in_memory_that_is_there(kernel: Path) -> None:
    made = "struct P { int a; __device__ P(int x) : a(x) {} };\n"
    (kernel / "placed.cu").write_text(made + "__global__ void k(int *o) { o[0] = (new (o + 1) P(3))->a; }\n")
    nvcc("-c", "placed.cu", folder=kernel)


def test_random_numbers_of_kernels_are_those_that_were_published(tmp_path: Path) -> None:
    nvcc("-o", "random", SOURCES / "random_kernel.cu", folder=tmp_path)
    printed = isakit("cuda", "--", "./random", folder=tmp_path).stdout
    assert printed == f"{UNIFORM[Xorwow]}\n{NORMAL[Xorwow]}\n0 wrong\n"


def test_the_version_is_one_that_build_systems_read(tmp_path: Path) -> None:
    out = nvcc("--version", folder=tmp_path).stdout
    assert re.search(r"release (\d+)\.(\d+), V\1\.\2", out)


def test_nothing_but_the_wheel_is_needed(kernel: Path) -> None:
    """With no compiler on the path, the wheel gives headers and linker; seen by the commands of a dry run."""
    if not newest_clang().wheel and not shutil.which("zig"):
        pytest.skip("the wheel ziglang is not installed, or is not the newest clang")
    command = [sys.executable, "-m", "isakit", "nvcc", "-dryrun", "-v", "-c", "k.cu"]
    environment = {**os.environ, "PATH": str(kernel)}
    got = subprocess.run(command, cwd=kernel, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert got.returncode == 0, got.stderr
    assert "headers and linker of the host: the wheel ziglang" in got.stderr
    assert "libcxx/include" in got.stderr


def said_of(text: str, kernel: Path, *options: str) -> str:
    """What nvcc says of a source that it refuses."""
    (kernel / "m.cu").write_text(text)
    return nvcc("-c", *options, "m.cu", folder=kernel, status=1).stderr


@pytest.mark.parametrize(
    ("text", "place", "why"),
    [
        ("#include <helper_cuda.h>\n", "1:10", "belongs to NVIDIA's samples"),
        ("#include <cutil_inline.h>\n", "1:10", "give the folder of yours"),
        ("#include <cusparse_v2.h>\n", "1:10", "there are cuBLAS, cuFFT and cuRAND"),
        ("#include <CL/cl.h>\n", "1:10", "`isakit cc` compiles the kernels of a .cl file"),
        ("#include <thrust/sort.h>\n", "1:10", "there is no Thrust"),
        ("#include <cuda_fp16.h>\n", "1:10", "sm_53"),
        ("__global__ void k(int *o) {\n  __syncwarp();\n}\n", "2:3", "run in step"),
        ("__global__ void k(cudaTextureObject_t t) {}\n", "1:19", "texture objects need sm_30"),
        ("int main() { void *p; cudaMallocManaged(&p, 4); }\n", "1:23", "managed memory needs sm_30"),
        ("int f() { return 1; }\n__global__ void k(int *o) {\n  o[0] = f();\n}\n", "3:10", "__device__ before 'f'"),
        ("#include <vector>\n__global__ void k(int *o) {\n  std::vector<int> v(3);\n}\n", "3:20", "the host's"),
        ("__global__ void c() {}\n__global__ void k() {\n  c<<<1, 1>>>();\n}\n", r"3:\d", "from sm_35 on"),
        ("void k();\n__global__ void k() {}\n", "2:17", "__global__ also where 'k' is declared"),
        ("__global__ void k(unsigned long long *o) {\n  atomicMax(o, 1ull);\n}\n", "2:3", "int and unsigned"),
        ("texture<float, 0xF2> t;\n__global__ void k(float *o) {\n  o[0] = tex2DLayered(t, 1, 2, 3);\n}\n",
         "3:10",
         "layered textures, cube maps"),
        ("__device__ int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n"
         "__global__ void k(int *o) { o[0] = f(o[1]); }\n", "1:46", "`f` calls itself"),
        ("__global__ void k(float *o) {\n  __shared__ float s[5000];\n  s[threadIdx.x] = 1;\n  o[0] = s[9];\n}\n",
         "2:20", "a block has 16,384 bytes of shared memory"),
        ("__constant__ float c[20000];\n__global__ void k(float *o) { o[0] = c[threadIdx.x]; }\n", "1:20",
         "constant memory has 65,536 bytes; with `c` it is 80,000"),
        ("struct S { int v[65]; };\n__global__ void k(S s, int *o) { o[0] = s.v[threadIdx.x]; }\n", "2:1",
         "a kernel's may have 256"),
    ],
)  # fmt: skip
def test_refusals_name_the_line_and_what_to_write_instead(text: str, place: str, why: str, kernel: Path) -> None:
    said = said_of(text, kernel)
    assert re.search(rf"m\.cu:{place}: error: ", said)
    assert why in said
    assert "isakit/compile" not in said
    assert "did you mean" not in said


def test_programs_mention_surfaces_and_the_driver_s_part_of_opengl(kernel: Path) -> None:
    (kernel / "m.cu").write_text(
        "#include <cudaGL.h>\nsurface<void, 2> s;\n"
        "int main() { cudaArray *a = 0; return cudaBindSurfaceToArray(s, a) == 30 && cuGLInit() >= 0 ? 0 : 1; }\n"
    )
    nvcc("-o", "m", "m.cu", "-lcuda", folder=kernel)
    isakit("cuda", "--", "./m", folder=kernel)


def test_programs_name_errors_of_later_toolkits_beside_those_of_their_time(kernel: Path) -> None:
    (kernel / "e.cu").write_text("""#include <cuda.h>
const char *driver(CUresult e)
{
    switch (e) {
    case CUDA_ERROR_LAUNCH_FAILED: return "failed";
    case CUDA_ERROR_ILLEGAL_ADDRESS: return "address";
    case CUDA_ERROR_NVLINK_UNCORRECTABLE: case CUDA_ERROR_JIT_COMPILER_NOT_FOUND: return "later";
    case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: return "large";
    default: return "";
    }
}
static_assert(cudaErrorIllegalAddress == 77 && cudaErrorNvlinkUncorrectable == 80, "");
static_assert(cudaErrorJitCompilerNotFound == 81 && cudaErrorCooperativeLaunchTooLarge == 82, "");
""")
    nvcc("-c", "e.cu", folder=kernel)

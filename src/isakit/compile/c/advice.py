"""Notes to messages of clang: what these chips lack, and what to write instead.

Clang reports a file it has not found or a name it does not know; the author of a program for a later toolkit needs to
learn which toolkit introduced it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_SAMPLES = "it belongs to NVIDIA's samples, not to the toolkit: give the folder of yours (`common/inc`) with -I"
_OTHER_LIBRARY = "of the toolkit's libraries there are cuBLAS, cuFFT and cuRAND; give the folder of yours with -I"
_LATER = "it came with a later toolkit, for chips from {} on; {}"
_HEADERS = (
    (r"(helper_|cutil|shr|drvapi_error|nvrtc_helper|exception\.h|multithreading|sdk)\S*", _SAMPLES),
    (r"thrust/\S*", "there is no Thrust: its releases for these chips need nvcc's own front end; with "
                    "-DTHRUST_DEVICE_SYSTEM=THRUST_DEVICE_SYSTEM_CPP and a compiler of the host its code runs there"),
    (r"cub/\S*", _LATER.format("sm_20", "write the reduction or scan in shared memory")),
    (r"(CL|OpenCL)/\S*", "there are no OpenCL libraries for host programs; `isakit cc` compiles the kernels of a .cl "
                         "file, `isakit run` executes them"),
    (r"(cusparse|cusolver|npp|cudnn|cudpp|nvml|nvjpeg|nvgraph|nccl|cula|magma|cutensor|cupti)\S*", _OTHER_LIBRARY),
    (r"cooperative_groups\S*", _LATER.format("sm_30", "__syncthreads() joins a block, a new launch the grid")),
    (r"cuda_(fp16|bf16|fp8)\S*", _LATER.format("sm_53", "compute with float; __half2float reads halves")),
    (r"(mma\.h|cuda_pipeline\S*|cuda_awbarrier\S*|cuda/\S*)", _LATER.format("sm_70", "copy and multiply with floats")),
    (r"\S*(vdpau|VDPAU|D3D|d3d)\S*", "graphics are shared with OpenGL only: cuda_gl_interop.h, cudaGL.h"),
)  # fmt: skip
_TEXTURES = "bind a texture reference with cudaBindTexture, cudaBindTextureToArray"
_NAMES = (
    (r"cudaMallocManaged|__managed__|cudaMemPrefetchAsync|cudaMemAdvise",
     "managed memory needs sm_30; cudaMalloc and cudaMemcpy, or cudaHostAlloc with cudaHostAllocMapped"),
    (r"cuda\w*TextureObject\w*|cudaTextureObject_t|cudaResourceDesc|cudaTextureDesc",
     f"texture objects need sm_30; {_TEXTURES}"),
    (r"cuda\w*SurfaceObject\w*|cudaSurfaceObject_t", "surfaces need sm_20; write to linear memory"),
    (r"__syncwarp|__activemask|__match_\w+|__reduce_\w+_sync|__any_sync|__all_sync|__nanosleep|__\w+_sync",
     "it needs sm_70 or sm_80; warps of these chips run in step: __any and __all vote, __syncthreads() waits"),
    (r"atomic\w+_(system|block)", "it needs sm_60; the atomic function without the ending"),
    (r"cudaOccupancy\w+", "it came with CUDA 6.5; -Xptxas -v reports registers and shared memory"),
    (r"cudaLaunchCooperative\w+|cudaGraph\w*|cudaMallocAsync|cudaFreeAsync|cudaStreamBeginCapture",
     "it came with later toolkits, for later chips; launch kernel after kernel in a stream"),
    (r"__?half2?", "halves need sm_53; compute with float, keep them as unsigned short with __float2half_rn"),
    (r"atomic(Add|Sub|Min|Max|Inc|Dec|And|Or|Xor|Exch|CAS)",
     "it takes int and unsigned; atomicAdd and atomicExch also float; these two and atomicCAS also unsigned long long, "
     "from sm_12 on; sm_10 has no atomic functions"),
)  # fmt: skip
_HOST_FUNCTION = "the chip runs __device__ functions: write __device__ before '{n}', or a function of your own"
_PHRASES = (
    (r"kernel launch from __device__ or __global__|reference to __global__ function",
     "kernels launch kernels from sm_35 on; launch it from the host, after this one"),
    (r"reference to __host__ function '(?P<n>[^']+)' in __(global|device)__",
     _HOST_FUNCTION),
    (r"reference to __host__ variable '(?P<n>cout|cerr|clog|stderr|stdout|endl)'", "kernels print with printf"),
    (r"reference to __host__ variable", "the chip sees variables that are __device__ or __constant__"),
    (r"invalid % escape in inline assembly", "write %% for the % of a register of PTX, as in %%laneid"),
    (r"variable-length arrays", "the size of an array must be known when the kernel is compiled; "
                                "`extern __shared__ float a[];` has the size that the launch gives"),
    (r"cannot use '?(throw|try|catch)'?", "kernels have no exceptions; write an error code to memory"),
    (r"__global__ function '(?P<n>[^']+)' cannot overload __host__ function",
     "write __global__ also where '{n}' is declared before"),
    (r"kernel call to non-global function '(?P<n>[^']+)'", "write __global__ before '{n}' where it is declared"),
)  # fmt: skip
_MISSING = re.compile(r"'([^']+)' file not found")
_UNKNOWN = re.compile(
    r"(?:use of undeclared identifier|unknown type name|no matching function for call to|no template named|"
    r"incomplete type) '([^']+)'"
)


def advice(message: str, candidates: Sequence[str] = ()) -> tuple[str, ...]:
    """Return a hint on an error message of clang: one line, or none.

    `candidates`: clang's reasons for rejecting the functions of that name.
    """
    if (m := _MISSING.search(message)) is not None:
        said = next((text for pattern, text in _HEADERS if re.fullmatch(pattern, m[1])), "")
        return (f"{m[1]}: {said}",) if said else ()
    if (m := _UNKNOWN.search(message)) is not None:
        name = m[1]
        if any("__host__ function" in c for c in candidates):
            return (_HOST_FUNCTION.format(n=name),)
        known = next((f"{name}: {text}" for pattern, text in _NAMES if re.fullmatch(pattern, name)), "")
        return (known,) if known else (f"{name}: {candidates[0]}",) if len(set(candidates)) == 1 else ()
    if any("__host__ function" in c for c in candidates):
        return ("the chip runs __device__ functions; these are the host's",)
    for pattern, text in _PHRASES:
        if (m := re.search(pattern, message)) is not None:
            return (text.format(**m.groupdict()),)
    return ()


__all__ = ["advice"]

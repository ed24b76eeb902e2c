/* What CUDA C programs for these chips use, for a clang without CUDA's own headers. */
#ifndef ISAKIT_CUDA_H
#define ISAKIT_CUDA_H

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
#define __launch_bounds__(...)
#define __ISAKIT_DEVICE static inline __attribute__((device, always_inline))

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef __SIZE_TYPE__ size_t;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;

#define __ISAKIT_VECTOR(T, N)                     \
    struct __attribute__((aligned(2 * sizeof(T)))) N##2 { T x, y; };     \
    struct N##3 { T x, y, z; };                   \
    struct __attribute__((aligned(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)))) N##4 { T x, y, z, w; };  \
    __ISAKIT_DEVICE N##2 make_##N##2(T x, T y) { N##2 v = {x, y}; return v; }      \
    __ISAKIT_DEVICE N##3 make_##N##3(T x, T y, T z) { N##3 v = {x, y, z}; return v; } \
    __ISAKIT_DEVICE N##4 make_##N##4(T x, T y, T z, T w) { N##4 v = {x, y, z, w}; return v; }
__ISAKIT_VECTOR(char, char)
__ISAKIT_VECTOR(unsigned char, uchar)
__ISAKIT_VECTOR(short, short)
__ISAKIT_VECTOR(unsigned short, ushort)
__ISAKIT_VECTOR(int, int)
__ISAKIT_VECTOR(unsigned int, uint)
__ISAKIT_VECTOR(float, float)
__ISAKIT_VECTOR(double, double)

#define __ISAKIT_SPECIAL(NAME, REGISTER)                                                            \
    struct __isakit_##NAME {                                                                        \
        __declspec(property(get = __x)) unsigned x;                                                 \
        __declspec(property(get = __y)) unsigned y;                                                 \
        __declspec(property(get = __z)) unsigned z;                                                 \
        __attribute__((device, always_inline)) unsigned __x() const { return __nvvm_read_ptx_sreg_##REGISTER##_x(); } \
        __attribute__((device, always_inline)) unsigned __y() const { return __nvvm_read_ptx_sreg_##REGISTER##_y(); } \
        __attribute__((device, always_inline)) unsigned __z() const { return __nvvm_read_ptx_sreg_##REGISTER##_z(); } \
    };                                                                                              \
    extern const __attribute__((device, weak)) __isakit_##NAME NAME;
__ISAKIT_SPECIAL(threadIdx, tid)
__ISAKIT_SPECIAL(blockIdx, ctaid)
__ISAKIT_SPECIAL(blockDim, ntid)
__ISAKIT_SPECIAL(gridDim, nctaid)
#define warpSize 32

#define __syncthreads() __nvvm_bar_sync(0)
#define __syncthreads_count(p) __nvvm_bar0_popc(p)
#define __syncthreads_and(p) __nvvm_bar0_and(p)
#define __syncthreads_or(p) __nvvm_bar0_or(p)
__ISAKIT_DEVICE void __threadfence() { __nvvm_membar_gl(); }
__ISAKIT_DEVICE void __threadfence_block() { __nvvm_membar_cta(); }

__ISAKIT_DEVICE int min(int a, int b) { return a < b ? a : b; }
__ISAKIT_DEVICE int max(int a, int b) { return a > b ? a : b; }
__ISAKIT_DEVICE unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
__ISAKIT_DEVICE unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
__ISAKIT_DEVICE float min(float a, float b) { return __builtin_fminf(a, b); }
__ISAKIT_DEVICE float max(float a, float b) { return __builtin_fmaxf(a, b); }
__ISAKIT_DEVICE int abs(int a) { return a < 0 ? -a : a; }
__ISAKIT_DEVICE float fminf(float a, float b) { return __builtin_fminf(a, b); }
__ISAKIT_DEVICE float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
__ISAKIT_DEVICE float fabsf(float x) { return __builtin_fabsf(x); }
__ISAKIT_DEVICE float floorf(float x) { return __builtin_floorf(x); }
__ISAKIT_DEVICE float ceilf(float x) { return __builtin_ceilf(x); }
__ISAKIT_DEVICE float truncf(float x) { return __builtin_truncf(x); }
__ISAKIT_DEVICE float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
__ISAKIT_DEVICE float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
__ISAKIT_DEVICE float exp2f(float x) { return __nvvm_ex2_approx_f(x); }
__ISAKIT_DEVICE float log2f(float x) { return __nvvm_lg2_approx_f(x); }
__ISAKIT_DEVICE float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.4426950408889634f); }
__ISAKIT_DEVICE float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.69314718055994531f; }
__ISAKIT_DEVICE float __sinf(float x) { return __nvvm_sin_approx_f(x); }
__ISAKIT_DEVICE float __cosf(float x) { return __nvvm_cos_approx_f(x); }
__ISAKIT_DEVICE float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
__ISAKIT_DEVICE float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
__ISAKIT_DEVICE int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
__ISAKIT_DEVICE int __mul24(int a, int b) { return __nvvm_mul24_i(a, b); }
__ISAKIT_DEVICE unsigned __umul24(unsigned a, unsigned b) { return __nvvm_mul24_ui(a, b); }
__ISAKIT_DEVICE int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
__ISAKIT_DEVICE unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }

#define __ISAKIT_ATOMIC(NAME, T, OP) \
    __ISAKIT_DEVICE T NAME(T *p, T v) { return __atomic_##OP(p, v, __ATOMIC_RELAXED); }
__ISAKIT_ATOMIC(atomicAdd, int, fetch_add)
__ISAKIT_ATOMIC(atomicAdd, unsigned, fetch_add)
__ISAKIT_ATOMIC(atomicSub, int, fetch_sub)
__ISAKIT_ATOMIC(atomicSub, unsigned, fetch_sub)
__ISAKIT_ATOMIC(atomicMin, int, fetch_min)
__ISAKIT_ATOMIC(atomicMin, unsigned, fetch_min)
__ISAKIT_ATOMIC(atomicMax, int, fetch_max)
__ISAKIT_ATOMIC(atomicMax, unsigned, fetch_max)
__ISAKIT_ATOMIC(atomicAnd, int, fetch_and)
__ISAKIT_ATOMIC(atomicAnd, unsigned, fetch_and)
__ISAKIT_ATOMIC(atomicOr, int, fetch_or)
__ISAKIT_ATOMIC(atomicOr, unsigned, fetch_or)
__ISAKIT_ATOMIC(atomicXor, int, fetch_xor)
__ISAKIT_ATOMIC(atomicXor, unsigned, fetch_xor)
__ISAKIT_ATOMIC(atomicExch, int, exchange_n)
__ISAKIT_ATOMIC(atomicExch, unsigned, exchange_n)
__ISAKIT_DEVICE unsigned atomicInc(unsigned *p, unsigned v) { return __nvvm_atom_inc_gen_ui(p, v); }
__ISAKIT_DEVICE unsigned atomicDec(unsigned *p, unsigned v) { return __nvvm_atom_dec_gen_ui(p, v); }
__ISAKIT_DEVICE int atomicCAS(int *p, int c, int v)
{
    __atomic_compare_exchange_n(p, &c, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return c;
}
__ISAKIT_DEVICE unsigned atomicCAS(unsigned *p, unsigned c, unsigned v)
{
    __atomic_compare_exchange_n(p, &c, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return c;
}

#endif

/* Barriers, votes, conversions, integer functions and atomics: what one instruction of the chip does, or a few. */
#ifndef ISAKIT_DEVICE_FUNCTIONS_H
#define ISAKIT_DEVICE_FUNCTIONS_H
#define __DEVICE_FUNCTIONS_H__ /* programs ask for it */
#include "device_launch_parameters.h"

#ifdef __CUDACC__
/* --- barriers, fences, time ------------------------------------------------------------------------------------------ */
#define __syncthreads() __nvvm_bar_sync(0)
#define __syncthreads_count(p) __nvvm_bar0_popc(p)
#define __syncthreads_and(p) __nvvm_bar0_and(p)
#define __syncthreads_or(p) __nvvm_bar0_or(p)
__ISAKIT_DEVICE void __threadfence() { __nvvm_membar_gl(); }
__ISAKIT_DEVICE void __threadfence_block() { __nvvm_membar_cta(); }
__ISAKIT_DEVICE void __threadfence_system() { __nvvm_membar_sys(); }
__ISAKIT_DEVICE int clock() { int t; asm volatile("mov.u32 %0, %%clock;" : "=r"(t)); return t; }
__ISAKIT_DEVICE long long clock64() { long long t; asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)); return t; }
__ISAKIT_DEVICE void __trap() { asm volatile("trap;"); }
__ISAKIT_DEVICE void __brkpt(int = 0) { asm volatile("brkpt;"); }
#define __prof_trigger(n) asm volatile("pmevent " #n ";")

/* --- numbers as other numbers ---------------------------------------------------------------------------------------- */
#define __ISAKIT_BITS(NAME, FROM, TO) \
    __ISAKIT_DEVICE TO NAME(FROM x) { union { FROM a; TO b; } u; u.a = x; return u.b; }
__ISAKIT_BITS(__int_as_float, int, float)
__ISAKIT_BITS(__uint_as_float, unsigned, float)
__ISAKIT_BITS(__float_as_int, float, int)
__ISAKIT_BITS(__float_as_uint, float, unsigned)
__ISAKIT_BITS(__double_as_longlong, double, long long)
__ISAKIT_BITS(__longlong_as_double, long long, double)
#undef __ISAKIT_BITS

/* A conversion to an integer in each direction of rounding. */
#define __ISAKIT_TO_INTEGER(NAME, FROM, TO, P, L, M)                                                             \
    __ISAKIT_DEVICE TO NAME##_rn(FROM x) { TO y; asm("cvt.rni." P " %0, %1;" : "=" L(y) : M(x)); return y; }     \
    __ISAKIT_DEVICE TO NAME##_rz(FROM x) { TO y; asm("cvt.rzi." P " %0, %1;" : "=" L(y) : M(x)); return y; }     \
    __ISAKIT_DEVICE TO NAME##_ru(FROM x) { TO y; asm("cvt.rpi." P " %0, %1;" : "=" L(y) : M(x)); return y; }     \
    __ISAKIT_DEVICE TO NAME##_rd(FROM x) { TO y; asm("cvt.rmi." P " %0, %1;" : "=" L(y) : M(x)); return y; }
__ISAKIT_TO_INTEGER(__float2int, float, int, "s32.f32", "r", "f")
__ISAKIT_TO_INTEGER(__float2uint, float, unsigned, "u32.f32", "r", "f")
__ISAKIT_TO_INTEGER(__float2ll, float, long long, "s64.f32", "l", "f")
__ISAKIT_TO_INTEGER(__float2ull, float, unsigned long long, "u64.f32", "l", "f")
__ISAKIT_TO_INTEGER(__double2int, double, int, "s32.f64", "r", "d")
__ISAKIT_TO_INTEGER(__double2uint, double, unsigned, "u32.f64", "r", "d")
__ISAKIT_TO_INTEGER(__double2ll, double, long long, "s64.f64", "l", "d")
__ISAKIT_TO_INTEGER(__double2ull, double, unsigned long long, "u64.f64", "l", "d")
#undef __ISAKIT_TO_INTEGER
#define __ISAKIT_FROM(NAME, FROM, TO, P, L, M)                                                                   \
    __ISAKIT_DEVICE TO NAME##_rn(FROM x) { TO y; asm("cvt.rn." P " %0, %1;" : "=" L(y) : M(x)); return y; }      \
    __ISAKIT_DEVICE TO NAME##_rz(FROM x) { TO y; asm("cvt.rz." P " %0, %1;" : "=" L(y) : M(x)); return y; }      \
    __ISAKIT_DEVICE TO NAME##_ru(FROM x) { TO y; asm("cvt.rp." P " %0, %1;" : "=" L(y) : M(x)); return y; }      \
    __ISAKIT_DEVICE TO NAME##_rd(FROM x) { TO y; asm("cvt.rm." P " %0, %1;" : "=" L(y) : M(x)); return y; }
__ISAKIT_FROM(__int2float, int, float, "f32.s32", "f", "r")
__ISAKIT_FROM(__uint2float, unsigned, float, "f32.u32", "f", "r")
__ISAKIT_FROM(__ll2float, long long, float, "f32.s64", "f", "l")
__ISAKIT_FROM(__ull2float, unsigned long long, float, "f32.u64", "f", "l")
__ISAKIT_FROM(__double2float, double, float, "f32.f64", "f", "d")
__ISAKIT_FROM(__ll2double, long long, double, "f64.s64", "d", "l")
__ISAKIT_FROM(__ull2double, unsigned long long, double, "f64.u64", "d", "l")
#undef __ISAKIT_FROM
__ISAKIT_DEVICE double __int2double_rn(int x) { return x; }
__ISAKIT_DEVICE double __uint2double_rn(unsigned x) { return x; }
__ISAKIT_DEVICE int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
__ISAKIT_DEVICE int __double2loint(double x) { return (int)__double_as_longlong(x); }
__ISAKIT_DEVICE double __hiloint2double(int hi, int lo)
{
    return __longlong_as_double((long long)((unsigned long long)(unsigned)hi << 32 | (unsigned)lo));
}
__ISAKIT_DEVICE float __half2float(unsigned short x) { float y; asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x)); return y; }
__ISAKIT_DEVICE unsigned short __float2half_rn(float x)
{
    unsigned short y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}

/* --- integers -------------------------------------------------------------------------------------------------------- */
__ISAKIT_DEVICE int __mul24(int a, int b) { int y; asm("mul24.lo.s32 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b)); return y; }
__ISAKIT_DEVICE unsigned __umul24(unsigned a, unsigned b)
{
    unsigned y;
    asm("mul24.lo.u32 %0, %1, %2;" : "=r"(y) : "r"(a), "r"(b));
    return y;
}
__ISAKIT_DEVICE int mul24(int a, int b) { return __mul24(a, b); }
__ISAKIT_DEVICE unsigned umul24(unsigned a, unsigned b) { return __umul24(a, b); }
__ISAKIT_DEVICE int __mulhi(int a, int b) { return (int)(((long long)a * b) >> 32); }
__ISAKIT_DEVICE unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)(((unsigned long long)a * b) >> 32); }
__ISAKIT_DEVICE int mulhi(int a, int b) { return __mulhi(a, b); }
__ISAKIT_DEVICE unsigned umulhi(unsigned a, unsigned b) { return __umulhi(a, b); }
__ISAKIT_DEVICE unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    unsigned long long y;
    asm("mul.hi.u64 %0, %1, %2;" : "=l"(y) : "l"(a), "l"(b));
    return y;
}
__ISAKIT_DEVICE long long __mul64hi(long long a, long long b)
{
    long long y;
    asm("mul.hi.s64 %0, %1, %2;" : "=l"(y) : "l"(a), "l"(b));
    return y;
}
__ISAKIT_DEVICE unsigned __sad(int a, int b, unsigned c)
{
    unsigned y;
    asm("sad.s32 %0, %1, %2, %3;" : "=r"(y) : "r"(a), "r"(b), "r"(c));
    return y;
}
__ISAKIT_DEVICE unsigned __usad(unsigned a, unsigned b, unsigned c)
{
    unsigned y;
    asm("sad.u32 %0, %1, %2, %3;" : "=r"(y) : "r"(a), "r"(b), "r"(c));
    return y;
}
__ISAKIT_DEVICE int __clz(int x) { int y; asm("clz.b32 %0, %1;" : "=r"(y) : "r"(x)); return y; }
__ISAKIT_DEVICE int __clzll(long long x) { int y; asm("clz.b64 %0, %1;" : "=r"(y) : "l"(x)); return y; }
__ISAKIT_DEVICE int __popc(unsigned x) { int y; asm("popc.b32 %0, %1;" : "=r"(y) : "r"(x)); return y; }
__ISAKIT_DEVICE int __popcll(unsigned long long x) { int y; asm("popc.b64 %0, %1;" : "=r"(y) : "l"(x)); return y; }
__ISAKIT_DEVICE unsigned __brev(unsigned x) { unsigned y; asm("brev.b32 %0, %1;" : "=r"(y) : "r"(x)); return y; }
__ISAKIT_DEVICE unsigned long long __brevll(unsigned long long x)
{
    unsigned long long y;
    asm("brev.b64 %0, %1;" : "=l"(y) : "l"(x));
    return y;
}
/* Place of the lowest bit that is set, from 1; 0 where there is none. */
__ISAKIT_DEVICE int __ffs(int x) { return 32 - __clz(x & -x); }
__ISAKIT_DEVICE int __ffsll(long long x) { return 64 - __clzll(x & -x); }
__ISAKIT_DEVICE unsigned __byte_perm(unsigned a, unsigned b, unsigned s)
{
    unsigned y;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(y) : "r"(a), "r"(b), "r"(s & 0x7777));
    return y;
}
template <class T> static inline __ISAKIT_INLINED T __ldg(const T *p) { return *p; }

/* --- the names of the first versions ------------------------------------------------------------------------------------ */
enum cudaRoundMode { cudaRoundNearest, cudaRoundZero, cudaRoundPosInf, cudaRoundMinInf };
#define __ISAKIT_ROUNDED_AS(NAME, FROM, TO, MODE)                                                                    \
    __ISAKIT_DEVICE TO NAME(FROM x, enum cudaRoundMode mode = MODE)                                                  \
    {                                                                                                                \
        return mode == cudaRoundNearest ? __##NAME##_rn(x) : mode == cudaRoundPosInf ? __##NAME##_ru(x)              \
             : mode == cudaRoundMinInf ? __##NAME##_rd(x) : __##NAME##_rz(x);                                        \
    }
__ISAKIT_ROUNDED_AS(float2int, float, int, cudaRoundZero)
__ISAKIT_ROUNDED_AS(float2uint, float, unsigned, cudaRoundZero)
__ISAKIT_ROUNDED_AS(int2float, int, float, cudaRoundNearest)
__ISAKIT_ROUNDED_AS(uint2float, unsigned, float, cudaRoundNearest)
#undef __ISAKIT_ROUNDED_AS
__ISAKIT_DEVICE int float_as_int(float x) { return __float_as_int(x); }
__ISAKIT_DEVICE float int_as_float(int x) { return __int_as_float(x); }
__ISAKIT_DEVICE void syncthreads() { __syncthreads(); }
__ISAKIT_DEVICE void threadfence() { __threadfence(); }

/* --- votes ----------------------------------------------------------------------------------------------------------- */
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 120
#define __ISAKIT_VOTE(NAME, HOW)                                                                                     \
    __ISAKIT_DEVICE int NAME(int p)                                                                                  \
    {                                                                                                                \
        int y;                                                                                                       \
        asm volatile("{ .reg .pred p; setp.ne.s32 p, %1, 0; vote." HOW ".pred p, p; selp.s32 %0, 1, 0, p; }"         \
                     : "=r"(y) : "r"(p));                                                                            \
        return y;                                                                                                    \
    }
__ISAKIT_VOTE(__any, "any")
__ISAKIT_VOTE(__all, "all")
__ISAKIT_VOTE(any, "any") /* the names before CUDA 3.0 */
__ISAKIT_VOTE(all, "all")
#undef __ISAKIT_VOTE
#endif

/* --- atomics --------------------------------------------------------------------------------------------------------- */
template <class A, class B> struct __isakit_same { enum { value = 0 }; };
template <class A> struct __isakit_same<A, A> { enum { value = 1 }; };
template <bool, class T> struct __isakit_if {};
template <class T> struct __isakit_if<true, T> { typedef T type; };
template <class T> struct __isakit_plain { typedef T type; };

#define __ISAKIT_ATOMIC(NAME, T, OP) \
    __ISAKIT_DEVICE T NAME(T *p, T v) { return __atomic_##OP(p, v, __ATOMIC_RELAXED); }
#define __ISAKIT_ATOMIC_CAS(T)                                                                       \
    __ISAKIT_DEVICE T atomicCAS(T *p, T c, T v)                                                      \
    {                                                                                                \
        __atomic_compare_exchange_n(p, &c, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);            \
        return c;                                                                                    \
    }
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 110
#define __ISAKIT_ATOMICS(T)                      \
    __ISAKIT_ATOMIC(atomicAdd, T, fetch_add)     \
    __ISAKIT_ATOMIC(atomicSub, T, fetch_sub)     \
    __ISAKIT_ATOMIC(atomicMin, T, fetch_min)     \
    __ISAKIT_ATOMIC(atomicMax, T, fetch_max)     \
    __ISAKIT_ATOMIC(atomicAnd, T, fetch_and)     \
    __ISAKIT_ATOMIC(atomicOr, T, fetch_or)       \
    __ISAKIT_ATOMIC(atomicXor, T, fetch_xor)     \
    __ISAKIT_ATOMIC(atomicExch, T, exchange_n)   \
    __ISAKIT_ATOMIC_CAS(T)
__ISAKIT_ATOMICS(int)
__ISAKIT_ATOMICS(unsigned)
#undef __ISAKIT_ATOMICS
__ISAKIT_DEVICE unsigned atomicInc(unsigned *p, unsigned v) { return __nvvm_atom_inc_gen_ui(p, v); }
__ISAKIT_DEVICE unsigned atomicDec(unsigned *p, unsigned v) { return __nvvm_atom_dec_gen_ui(p, v); }
__ISAKIT_DEVICE float atomicExch(float *p, float v)
{
    return __int_as_float(__atomic_exchange_n((int *)p, __float_as_int(v), __ATOMIC_RELAXED));
}
/* A sum of floats by compare-and-swap. A template, so that a function of this name in a program is the better match. */
template <class F> static inline __attribute__((device)) typename __isakit_if<__isakit_same<F, float>::value, F>::type
atomicAdd(F *p, typename __isakit_plain<F>::type v)
{
    int now = *(volatile int *)p, seen;
    do seen = now, now = atomicCAS((int *)p, seen, __float_as_int(__int_as_float(seen) + v));
    while (now != seen);
    return __int_as_float(seen);
}
#endif
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 120
__ISAKIT_ATOMIC(atomicAdd, unsigned long long, fetch_add)
__ISAKIT_ATOMIC(atomicExch, unsigned long long, exchange_n)
__ISAKIT_ATOMIC_CAS(unsigned long long)
#endif
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 130
template <class F> static inline __attribute__((device)) typename __isakit_if<__isakit_same<F, double>::value, F>::type
atomicAdd(F *p, typename __isakit_plain<F>::type v)
{
    unsigned long long now = *(volatile unsigned long long *)p, seen;
    do {
        seen = now;
        now = atomicCAS((unsigned long long *)p, seen,
                        (unsigned long long)__double_as_longlong(__longlong_as_double((long long)seen) + v));
    } while (now != seen);
    return __longlong_as_double((long long)seen);
}
#endif
#undef __ISAKIT_ATOMIC
#undef __ISAKIT_ATOMIC_CAS
#endif

#endif

/* What kernels print, and `assert`: records in a buffer, which the host writes out.
 *
 * The buffer's first word counts the words in use; the others belong to records:
 *   kind and words | format, 2 words | kinds of the arguments, 2 bits each, 2 words | arguments, 2 words each
 * A record that finds no room is not written, nor is any that comes later.
 */
#ifndef ISAKIT_PRINTING_H
#define ISAKIT_PRINTING_H
#include "device_functions.h"

#ifdef __CUDACC__
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 110
#define __ISAKIT_PRINT_WORDS (1u << 18)
static __device__ unsigned __isakit_printed[__ISAKIT_PRINT_WORDS];

__ISAKIT_DEVICE unsigned *__isakit_record(unsigned kind, const char *format, unsigned long long kinds, unsigned words)
{
    unsigned at = 1 + atomicAdd(&__isakit_printed[0], words);
    if (at + words > __ISAKIT_PRINT_WORDS || at + words < at) return 0;
    unsigned *to = &__isakit_printed[at];
    to[1] = (unsigned)(unsigned long long)format, to[2] = (unsigned)((unsigned long long)format >> 32);
    to[3] = (unsigned)kinds, to[4] = (unsigned)(kinds >> 32);
    to[0] = kind << 24 | words;
    return to + 5;
}

/* 1: an integer or an address, 2: a float, 3: a double. */
template <class T> struct __isakit_kind { enum { value = 1 }; };
template <> struct __isakit_kind<float> { enum { value = 2 }; };
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 130
template <> struct __isakit_kind<double> { enum { value = 2 }; };
#else
template <> struct __isakit_kind<double> { enum { value = 3 }; };
#endif
__ISAKIT_DEVICE void __isakit_put(unsigned *to, unsigned long long v) { to[0] = (unsigned)v, to[1] = (unsigned)(v >> 32); }
__ISAKIT_DEVICE void __isakit_put(unsigned *to, long long v) { __isakit_put(to, (unsigned long long)v); }
__ISAKIT_DEVICE void __isakit_put(unsigned *to, unsigned long v) { __isakit_put(to, (unsigned long long)v); }
__ISAKIT_DEVICE void __isakit_put(unsigned *to, long v) { __isakit_put(to, (unsigned long long)v); }
__ISAKIT_DEVICE void __isakit_put(unsigned *to, unsigned v) { __isakit_put(to, (unsigned long long)v); }
__ISAKIT_DEVICE void __isakit_put(unsigned *to, int v) { __isakit_put(to, (unsigned long long)(long long)v); }
__ISAKIT_DEVICE void __isakit_put(unsigned *to, const volatile void *v) { __isakit_put(to, (unsigned long long)v); }
__ISAKIT_DEVICE void __isakit_put(unsigned *to, float v) { to[0] = __float_as_uint(v), to[1] = 0; }
__ISAKIT_DEVICE void __isakit_put(unsigned *to, double v)
{
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 130
    __isakit_put(to, (float)v);
#else
    __isakit_put(to, (unsigned long long)__double_as_longlong(v));
#endif
}
__ISAKIT_DEVICE unsigned long long __isakit_kinds() { return 0; }
template <class T, class... Rest> __ISAKIT_DEVICE unsigned long long __isakit_kinds(T, Rest... rest)
{
    return __isakit_kind<T>::value | __isakit_kinds(rest...) << 2;
}
__ISAKIT_DEVICE void __isakit_put_all(unsigned *) {}
template <class T, class... Rest> __ISAKIT_DEVICE void __isakit_put_all(unsigned *to, T v, Rest... rest)
{
    __isakit_put(to, +v);
    __isakit_put_all(to + 2, rest...);
}

/* The number of arguments; -1 where there is no room for the record. */
template <class... T> __ISAKIT_DEVICE int printf(const char *format, T... v)
{
    static_assert(sizeof...(v) <= 32, "printf of a kernel takes a format and 32 arguments at most");
    unsigned *to = __isakit_record(1, format, __isakit_kinds(v...), 5 + 2 * sizeof...(v));
    if (!to) return -1;
    __isakit_put_all(to, v...);
    return sizeof...(v);
}

/* What the macro of <assert.h> calls: the lanes that fail say where they are, and the kernel ends. */
extern "C" {
__ISAKIT_DEVICE void __assert_fail(const char *what, const char *file, unsigned line, const char *function)
{
    unsigned *to = __isakit_record(2, what, 0, 5 + 2 * 9);
    if (to) {
        __isakit_put_all(to, file, line, function, blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
        __threadfence();
    }
    __trap();
}
}
#else
#define __ISAKIT_NO_PRINTING __attribute__((unavailable("printing needs atomic functions: compile with -arch=sm_11 or later")))
template <class... T> __ISAKIT_DEVICE int printf(const char *format, T... v) __ISAKIT_NO_PRINTING;
extern "C" {
__ISAKIT_DEVICE void __assert_fail(const char *, const char *, unsigned, const char *) __ISAKIT_NO_PRINTING;
}
#undef __ISAKIT_NO_PRINTING
#endif
#endif

#endif

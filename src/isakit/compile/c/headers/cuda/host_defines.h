/* Where functions and variables belong, and how they are called. */
#ifndef ISAKIT_HOST_DEFINES_H
#define ISAKIT_HOST_DEFINES_H
#define __HOST_DEFINES_H__ /* programs ask for it */

/* Kernels alone need no headers of the host, and some systems have none. */
#if !defined __ISAKIT_ALONE__ && defined __has_include
#if !__has_include(<math.h>)
#define __ISAKIT_ALONE__
#endif
#endif

#if defined __CUDA__ && !defined __CUDACC__
#define __CUDACC__ 1
#endif
#ifdef __CUDACC__
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#else
#define __global__
#define __device__
#define __host__
#define __shared__
#define __constant__
#define __launch_bounds__(...)
#endif
#define __forceinline__ inline __attribute__((always_inline))
/* A keyword of clang since version 15; the standard library of GCC writes it inside of attributes. */
#if defined __CUDACC__ && defined __clang__ && __clang_major__ < 15
#define __noinline__ __attribute__((noinline))
#endif
#define __align__(n) __attribute__((aligned(n)))
#define __builtin_align__(n) __align__(n)
#define __no_return__ __attribute__((noreturn))
#define __device_builtin__
#define __cudart_builtin__
#define CUDARTAPI
#define CUDART_CB
#define CUDA_CB
#ifndef __restrict__
#define __restrict__ __restrict
#endif

/* Functions of these headers that run on the chip, and those that run on both sides. */
#ifdef __CUDACC__
#define __ISAKIT_DEVICE static inline __attribute__((device))
#define __ISAKIT_BOTH static inline __attribute__((device, host))
#define __ISAKIT_MEMBER inline __attribute__((device, host))
/* Its instructions have the line of the call: nobody debugs it. */
#define __ISAKIT_INLINED __attribute__((device, always_inline, nodebug))
#elif defined __cplusplus
#define __ISAKIT_BOTH static inline
#define __ISAKIT_MEMBER inline
#else
#define __ISAKIT_BOTH static inline
#endif

#endif

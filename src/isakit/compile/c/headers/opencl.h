/* The work-item and mathematical functions of OpenCL C, for a clang without a library for this target. */
#ifndef ISAKIT_OPENCL_H
#define ISAKIT_OPENCL_H

/* --- types and constants: compilers come with or without a header of their own ---------------------------------------- */
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;
#define __ISAKIT_VECTOR(T)                                   \
    typedef T T##2 __attribute__((ext_vector_type(2)));      \
    typedef T T##3 __attribute__((ext_vector_type(3)));      \
    typedef T T##4 __attribute__((ext_vector_type(4)));      \
    typedef T T##8 __attribute__((ext_vector_type(8)));      \
    typedef T T##16 __attribute__((ext_vector_type(16)));
__ISAKIT_VECTOR(char)
__ISAKIT_VECTOR(uchar)
__ISAKIT_VECTOR(short)
__ISAKIT_VECTOR(ushort)
__ISAKIT_VECTOR(int)
__ISAKIT_VECTOR(uint)
__ISAKIT_VECTOR(long)
__ISAKIT_VECTOR(ulong)
__ISAKIT_VECTOR(float)
#undef __ISAKIT_VECTOR
#define NULL ((void *)0)
#define CHAR_BIT 8
#define CHAR_MAX 127
#define CHAR_MIN (-128)
#define UCHAR_MAX 255
#define SHRT_MAX 32767
#define SHRT_MIN (-32768)
#define USHRT_MAX 65535
#define INT_MAX 2147483647
#define INT_MIN (-2147483647 - 1)
#define UINT_MAX 0xffffffffu
#define LONG_MAX 0x7fffffffffffffffl
#define LONG_MIN (-0x7fffffffffffffffl - 1)
#define ULONG_MAX 0xfffffffffffffffful
#define FLT_MAX 0x1.fffffep127f
#define FLT_MIN 0x1.0p-126f
#define FLT_EPSILON 0x1.0p-23f
#define INFINITY __builtin_inff()
#define NAN __builtin_nanf("")
#define M_PI_F 3.14159274101257f

#define __ISAKIT_CL static inline __attribute__((overloadable, always_inline))
#define __ISAKIT_PICK(d, R) \
    ((d) == 0 ? __nvvm_read_ptx_sreg_##R##_x() : (d) == 1 ? __nvvm_read_ptx_sreg_##R##_y() : __nvvm_read_ptx_sreg_##R##_z())

__ISAKIT_CL uint get_work_dim(void) { return 3; }
__ISAKIT_CL size_t get_local_id(uint d) { return d > 2 ? 0 : __ISAKIT_PICK(d, tid); }
__ISAKIT_CL size_t get_local_size(uint d) { return d > 2 ? 1 : __ISAKIT_PICK(d, ntid); }
__ISAKIT_CL size_t get_group_id(uint d) { return d > 2 ? 0 : __ISAKIT_PICK(d, ctaid); }
__ISAKIT_CL size_t get_num_groups(uint d) { return d > 2 ? 1 : __ISAKIT_PICK(d, nctaid); }
__ISAKIT_CL size_t get_global_id(uint d) { return (uint)get_group_id(d) * (uint)get_local_size(d) + (uint)get_local_id(d); }
__ISAKIT_CL size_t get_global_size(uint d) { return (uint)get_num_groups(d) * (uint)get_local_size(d); }
__ISAKIT_CL size_t get_global_offset(uint d) { return 0; }

#define CLK_LOCAL_MEM_FENCE 1
#define CLK_GLOBAL_MEM_FENCE 2
__ISAKIT_CL void barrier(uint flags) { __nvvm_bar_sync(0); }
__ISAKIT_CL void mem_fence(uint flags) { __nvvm_membar_cta(); }

__ISAKIT_CL int min(int a, int b) { return a < b ? a : b; }
__ISAKIT_CL int max(int a, int b) { return a > b ? a : b; }
__ISAKIT_CL uint min(uint a, uint b) { return a < b ? a : b; }
__ISAKIT_CL uint max(uint a, uint b) { return a > b ? a : b; }
__ISAKIT_CL uint abs(int a) { return a < 0 ? -a : a; }
__ISAKIT_CL float fmin(float a, float b) { return __builtin_fminf(a, b); }
__ISAKIT_CL float fmax(float a, float b) { return __builtin_fmaxf(a, b); }
__ISAKIT_CL float fabs(float x) { return __builtin_fabsf(x); }
__ISAKIT_CL float floor(float x) { return __builtin_floorf(x); }
__ISAKIT_CL float ceil(float x) { return __builtin_ceilf(x); }
__ISAKIT_CL float sqrt(float x) { return __nvvm_sqrt_rn_f(x); }
__ISAKIT_CL float rsqrt(float x) { return __nvvm_rsqrt_approx_f(x); }
__ISAKIT_CL float native_sin(float x) { return __nvvm_sin_approx_f(x); }
__ISAKIT_CL float native_cos(float x) { return __nvvm_cos_approx_f(x); }
__ISAKIT_CL float native_exp2(float x) { return __nvvm_ex2_approx_f(x); }
__ISAKIT_CL float native_log2(float x) { return __nvvm_lg2_approx_f(x); }
__ISAKIT_CL float native_divide(float a, float b) { return __nvvm_div_approx_f(a, b); }
__ISAKIT_CL float native_sqrt(float x) { return __nvvm_sqrt_approx_f(x); }
__ISAKIT_CL float native_recip(float x) { return __nvvm_div_approx_f(1.0f, x); }
__ISAKIT_CL float mad(float a, float b, float c) { return a * b + c; }
__ISAKIT_CL int mad24(int a, int b, int c) { return __nvvm_mul24_i(a, b) + c; }
__ISAKIT_CL int mul24(int a, int b) { return __nvvm_mul24_i(a, b); }
__ISAKIT_CL uint mul24(uint a, uint b) { return __nvvm_mul24_ui(a, b); }

/* --- a value as another of the same size, and as another type --------------------------------------------------------- */
#define __ISAKIT_AS(T, N) __ISAKIT_CL T as_##T(N x) { union { N a; T b; } u; u.a = x; return u.b; }
#define __ISAKIT_WORDS(S)                                                                              \
    __ISAKIT_AS(int##S, uint##S) __ISAKIT_AS(int##S, float##S) __ISAKIT_AS(uint##S, int##S)            \
    __ISAKIT_AS(uint##S, float##S) __ISAKIT_AS(float##S, int##S) __ISAKIT_AS(float##S, uint##S)
__ISAKIT_WORDS()
__ISAKIT_WORDS(2)
__ISAKIT_WORDS(4)
#undef __ISAKIT_WORDS
#undef __ISAKIT_AS
#define __ISAKIT_CONVERT(T, S, N) __ISAKIT_CL T##S convert_##T##S(N##S x) { return __builtin_convertvector(x, T##S); }
#define __ISAKIT_CONVERT_ONE(T, N) __ISAKIT_CL T convert_##T(N x) { return (T)x; }
#define __ISAKIT_CONVERTS(T, N) \
    __ISAKIT_CONVERT_ONE(T, N) __ISAKIT_CONVERT(T, 2, N) __ISAKIT_CONVERT(T, 4, N)
#define __ISAKIT_TO(T)                                                                                 \
    __ISAKIT_CONVERTS(T, char) __ISAKIT_CONVERTS(T, uchar) __ISAKIT_CONVERTS(T, short)                 \
    __ISAKIT_CONVERTS(T, ushort) __ISAKIT_CONVERTS(T, int) __ISAKIT_CONVERTS(T, uint)                  \
    __ISAKIT_CONVERTS(T, long) __ISAKIT_CONVERTS(T, ulong) __ISAKIT_CONVERTS(T, float)
__ISAKIT_TO(char) __ISAKIT_TO(uchar) __ISAKIT_TO(short) __ISAKIT_TO(ushort) __ISAKIT_TO(int) __ISAKIT_TO(uint)
__ISAKIT_TO(long) __ISAKIT_TO(ulong) __ISAKIT_TO(float)
#undef __ISAKIT_TO
#undef __ISAKIT_CONVERTS
#undef __ISAKIT_CONVERT_ONE
#undef __ISAKIT_CONVERT

#endif

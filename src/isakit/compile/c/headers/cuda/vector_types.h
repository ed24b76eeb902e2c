/* Vectors of two to four numbers, and `dim3`. */
#ifndef ISAKIT_VECTOR_TYPES_H
#define ISAKIT_VECTOR_TYPES_H
#define __VECTOR_TYPES_H__ /* programs ask for it */
#include "host_defines.h"

#define __ISAKIT_VECTOR(T, N, A2, A4)                                        \
    struct N##1 { T x; };                                                    \
    struct __attribute__((aligned(A2))) N##2 { T x, y; };                    \
    struct N##3 { T x, y, z; };                                              \
    struct __attribute__((aligned(A4))) N##4 { T x, y, z, w; };              \
    typedef struct N##1 N##1;                                                \
    typedef struct N##2 N##2;                                                \
    typedef struct N##3 N##3;                                                \
    typedef struct N##4 N##4;                                                \
    __ISAKIT_BOTH N##1 make_##N##1(T x) { N##1 v; v.x = x; return v; }       \
    __ISAKIT_BOTH N##2 make_##N##2(T x, T y) { N##2 v; v.x = x, v.y = y; return v; }                             \
    __ISAKIT_BOTH N##3 make_##N##3(T x, T y, T z) { N##3 v; v.x = x, v.y = y, v.z = z; return v; }               \
    __ISAKIT_BOTH N##4 make_##N##4(T x, T y, T z, T w) { N##4 v; v.x = x, v.y = y, v.z = z, v.w = w; return v; }
__ISAKIT_VECTOR(signed char, char, 2, 4)
__ISAKIT_VECTOR(unsigned char, uchar, 2, 4)
__ISAKIT_VECTOR(short, short, 4, 8)
__ISAKIT_VECTOR(unsigned short, ushort, 4, 8)
__ISAKIT_VECTOR(int, int, 8, 16)
__ISAKIT_VECTOR(unsigned int, uint, 8, 16)
__ISAKIT_VECTOR(long, long, 2 * sizeof(long), 16)
__ISAKIT_VECTOR(unsigned long, ulong, 2 * sizeof(long), 16)
__ISAKIT_VECTOR(long long, longlong, 16, 16)
__ISAKIT_VECTOR(unsigned long long, ulonglong, 16, 16)
__ISAKIT_VECTOR(float, float, 8, 16)
__ISAKIT_VECTOR(double, double, 16, 16)
#undef __ISAKIT_VECTOR

struct dim3 {
    unsigned int x, y, z;
#ifdef __cplusplus
    __ISAKIT_MEMBER dim3(unsigned int a = 1, unsigned int b = 1, unsigned int c = 1) : x(a), y(b), z(c) {}
    __ISAKIT_MEMBER dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
    __ISAKIT_MEMBER operator uint3() const { return make_uint3(x, y, z); }
#endif
};
typedef struct dim3 dim3;

#endif

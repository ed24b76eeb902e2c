/* Complex numbers, as pairs of numbers, and what is calculated with them. */
#ifndef CU_COMPLEX_H_
#define CU_COMPLEX_H_
#include "vector_types.h"
#include <math.h>

typedef float2 cuFloatComplex;
typedef cuFloatComplex cuComplex;
typedef double2 cuDoubleComplex;

#define __ISAKIT_COMPLEX(C, R, F, S)                                                                                    \
    __ISAKIT_BOTH R cuCreal##F(C x) { return x.x; }                                                                     \
    __ISAKIT_BOTH R cuCimag##F(C x) { return x.y; }                                                                     \
    __ISAKIT_BOTH C make_cu##S##Complex(R r, R i) { C x; x.x = r, x.y = i; return x; }                                  \
    __ISAKIT_BOTH C cuConj##F(C x) { return make_cu##S##Complex(x.x, -x.y); }                                           \
    __ISAKIT_BOTH C cuCadd##F(C x, C y) { return make_cu##S##Complex(x.x + y.x, x.y + y.y); }                           \
    __ISAKIT_BOTH C cuCsub##F(C x, C y) { return make_cu##S##Complex(x.x - y.x, x.y - y.y); }                           \
    __ISAKIT_BOTH C cuCmul##F(C x, C y) { return make_cu##S##Complex(x.x * y.x - x.y * y.y, x.x * y.y + x.y * y.x); }   \
    __ISAKIT_BOTH C cuCfma##F(C x, C y, C d) { return cuCadd##F(cuCmul##F(x, y), d); }                                  \
    /* both are made smaller by the larger part of the divisor, so that squares stay in range */                       \
    __ISAKIT_BOTH C cuCdiv##F(C x, C y)                                                                                 \
    {                                                                                                                   \
        R a = y.x < 0 ? -y.x : y.x, b = y.y < 0 ? -y.y : y.y, s = 1 / (a + b);                                          \
        R c = y.x * s, d = y.y * s, e = x.x * s, f = x.y * s, n = 1 / (c * c + d * d);                                  \
        return make_cu##S##Complex((e * c + f * d) * n, (f * c - e * d) * n);                                           \
    }                                                                                                                   \
    __ISAKIT_BOTH R cuCabs##F(C x)                                                                                      \
    {                                                                                                                   \
        R a = x.x < 0 ? -x.x : x.x, b = x.y < 0 ? -x.y : x.y, v = a > b ? a : b, w = a > b ? b : a, t;                  \
        if (v == 0 || v * (R)0 != 0) return v + w;                                                                      \
        t = w / v;                                                                                                      \
        return v * (R)sqrt(1 + t * t);                                                                                  \
    }
__ISAKIT_COMPLEX(cuFloatComplex, float, f, Float)
__ISAKIT_COMPLEX(cuDoubleComplex, double, , Double)
#undef __ISAKIT_COMPLEX
__ISAKIT_BOTH cuComplex make_cuComplex(float r, float i) { return make_cuFloatComplex(r, i); }
__ISAKIT_BOTH cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex x) { return make_cuDoubleComplex(x.x, x.y); }
__ISAKIT_BOTH cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex x)
{
    return make_cuFloatComplex((float)x.x, (float)x.y);
}

#endif

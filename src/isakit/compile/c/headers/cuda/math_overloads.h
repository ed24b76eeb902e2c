/* One name for all types, as C++ has it: sin(float), max(int, int), pow(double, int). */
#ifndef ISAKIT_MATH_OVERLOADS_H
#define ISAKIT_MATH_OVERLOADS_H
#include "math_double.h"
#include "math_special.h"

#define __ISAKIT_1(NAME) __ISAKIT_DEVICE float NAME(float x) { return NAME##f(x); }
#define __ISAKIT_2(NAME) __ISAKIT_DEVICE float NAME(float x, float y) { return NAME##f(x, y); }
__ISAKIT_1(fabs) __ISAKIT_1(floor) __ISAKIT_1(ceil) __ISAKIT_1(trunc) __ISAKIT_1(rint) __ISAKIT_1(nearbyint)
__ISAKIT_1(round) __ISAKIT_1(sqrt) __ISAKIT_1(rsqrt) __ISAKIT_1(exp) __ISAKIT_1(exp2) __ISAKIT_1(exp10)
__ISAKIT_1(expm1) __ISAKIT_1(log) __ISAKIT_1(log2) __ISAKIT_1(log10) __ISAKIT_1(log1p) __ISAKIT_1(logb)
__ISAKIT_1(cbrt) __ISAKIT_1(rcbrt) __ISAKIT_1(sin) __ISAKIT_1(cos) __ISAKIT_1(tan) __ISAKIT_1(sinpi) __ISAKIT_1(cospi)
__ISAKIT_1(asin) __ISAKIT_1(acos) __ISAKIT_1(atan) __ISAKIT_1(sinh) __ISAKIT_1(cosh) __ISAKIT_1(tanh) __ISAKIT_1(asinh)
__ISAKIT_1(acosh) __ISAKIT_1(atanh) __ISAKIT_1(erf) __ISAKIT_1(erfc) __ISAKIT_1(erfinv) __ISAKIT_1(erfcinv)
__ISAKIT_1(erfcx) __ISAKIT_1(normcdf) __ISAKIT_1(normcdfinv)
__ISAKIT_1(tgamma) __ISAKIT_1(lgamma) __ISAKIT_1(j0) __ISAKIT_1(j1) __ISAKIT_1(y0) __ISAKIT_1(y1)
__ISAKIT_2(fmin) __ISAKIT_2(fmax) __ISAKIT_2(pow) __ISAKIT_2(hypot) __ISAKIT_2(atan2) __ISAKIT_2(copysign)
__ISAKIT_2(fmod) __ISAKIT_2(remainder) __ISAKIT_2(nextafter) __ISAKIT_2(fdim)
#undef __ISAKIT_1
#undef __ISAKIT_2
__ISAKIT_DEVICE float fma(float a, float b, float c) { return fmaf(a, b, c); }
__ISAKIT_DEVICE float jn(int n, float x) { return jnf(n, x); }
__ISAKIT_DEVICE float yn(int n, float x) { return ynf(n, x); }
__ISAKIT_DEVICE float ldexp(float x, int n) { return ldexpf(x, n); }
__ISAKIT_DEVICE float scalbn(float x, int n) { return ldexpf(x, n); }
__ISAKIT_DEVICE float scalbln(float x, long n) { return scalblnf(x, n); }
__ISAKIT_DEVICE float frexp(float x, int *e) { return frexpf(x, e); }
__ISAKIT_DEVICE float modf(float x, float *whole) { return modff(x, whole); }
__ISAKIT_DEVICE int ilogb(float x) { return ilogbf(x); }
__ISAKIT_DEVICE long lround(float x) { return lroundf(x); }
__ISAKIT_DEVICE long long llround(float x) { return llroundf(x); }
__ISAKIT_DEVICE long lrint(float x) { return lrintf(x); }
__ISAKIT_DEVICE long long llrint(float x) { return llrintf(x); }
__ISAKIT_DEVICE void sincos(float x, float *s, float *c) { sincosf(x, s, c); }
__ISAKIT_DEVICE bool isnan(float x) { return x != x; }
__ISAKIT_DEVICE bool isnan(double x) { return x != x; }
__ISAKIT_DEVICE bool isinf(float x) { return __isinff(x); }
__ISAKIT_DEVICE bool isinf(double x) { return __isinf(x); }
__ISAKIT_DEVICE bool isfinite(float x) { return __finitef(x); }
__ISAKIT_DEVICE bool isfinite(double x) { return __finite(x); }
__ISAKIT_DEVICE bool signbit(float x) { return __signbitf(x); }
__ISAKIT_DEVICE bool signbit(double x) { return __signbit(x); }

/* A whole power by squaring, as C++ before 2011 has it for an exponent that is an int. */
template <class T> static inline __attribute__((device)) T __isakit_whole_power(T x, int n)
{
    unsigned k = n < 0 ? 0u - (unsigned)n : (unsigned)n;
    T y = 1;
    for (; k; k >>= 1, x *= x)
        if (k & 1) y *= x;
    return n < 0 ? T(1) / y : y;
}
__ISAKIT_DEVICE float pow(float x, int n) { return __isakit_whole_power(x, n); }
__ISAKIT_DEVICE double pow(double x, int n) { return __isakit_whole_power(x, n); }
__ISAKIT_DEVICE float powif(float x, int n) { return __isakit_whole_power(x, n); }
__ISAKIT_DEVICE double powi(double x, int n) { return __isakit_whole_power(x, n); }

/* Arguments of other types are doubles. */
template <class T> struct __isakit_integer {};
#define __ISAKIT_INTEGER(T) template <> struct __isakit_integer<T> { typedef double type; };
__ISAKIT_INTEGER(bool) __ISAKIT_INTEGER(char) __ISAKIT_INTEGER(signed char) __ISAKIT_INTEGER(unsigned char)
__ISAKIT_INTEGER(short) __ISAKIT_INTEGER(unsigned short) __ISAKIT_INTEGER(int) __ISAKIT_INTEGER(unsigned int)
__ISAKIT_INTEGER(long) __ISAKIT_INTEGER(unsigned long) __ISAKIT_INTEGER(long long) __ISAKIT_INTEGER(unsigned long long)
#undef __ISAKIT_INTEGER
#define __ISAKIT_1(NAME)                                                                                        \
    template <class T> static inline __attribute__((device)) typename __isakit_integer<T>::type NAME(T x)      \
    {                                                                                                           \
        return NAME((double)x);                                                                                 \
    }
__ISAKIT_1(fabs) __ISAKIT_1(floor) __ISAKIT_1(ceil) __ISAKIT_1(sqrt) __ISAKIT_1(rsqrt) __ISAKIT_1(exp) __ISAKIT_1(log)
__ISAKIT_1(log2) __ISAKIT_1(log10) __ISAKIT_1(sin) __ISAKIT_1(cos) __ISAKIT_1(tan) __ISAKIT_1(asin) __ISAKIT_1(acos)
__ISAKIT_1(atan) __ISAKIT_1(sinh) __ISAKIT_1(cosh) __ISAKIT_1(tanh)
#undef __ISAKIT_1
template <class A, class B> struct __isakit_wider { typedef double type; };
template <> struct __isakit_wider<float, float> { typedef float type; };
template <class T, bool = __isakit_same<T, float>::value || __isakit_same<T, double>::value>
struct __isakit_number : __isakit_integer<T> {};
template <class T> struct __isakit_number<T, true> { typedef double type; };
#define __ISAKIT_2(NAME)                                                                                                         \
    template <class A, class B> static inline __attribute__((device))                                                           \
    typename __isakit_if<!__isakit_same<A, B>::value || !__isakit_same<A, float>::value, typename __isakit_number<A>::type>::type \
    NAME(A x, B y)                                                                                                               \
    {                                                                                                                            \
        return NAME((double)x, (double)(typename __isakit_number<B>::type)y);                                                    \
    }
__ISAKIT_2(pow) __ISAKIT_2(atan2) __ISAKIT_2(fmod) __ISAKIT_2(fmin) __ISAKIT_2(fmax) __ISAKIT_2(hypot)
#undef __ISAKIT_2

/* --- least, greatest, absolute: on both sides ------------------------------------------------------------------------- */
#define __ISAKIT_ORDER(T)                                              \
    __ISAKIT_BOTH T min(T a, T b) { return a < b ? a : b; }            \
    __ISAKIT_BOTH T max(T a, T b) { return a > b ? a : b; }
#define __ISAKIT_MIXED(A, B, T)                                        \
    __ISAKIT_BOTH T min(A a, B b) { return min((T)a, (T)b); }          \
    __ISAKIT_BOTH T max(A a, B b) { return max((T)a, (T)b); }          \
    __ISAKIT_BOTH T min(B a, A b) { return min((T)a, (T)b); }          \
    __ISAKIT_BOTH T max(B a, A b) { return max((T)a, (T)b); }
__ISAKIT_ORDER(int) __ISAKIT_ORDER(unsigned) __ISAKIT_ORDER(long) __ISAKIT_ORDER(unsigned long)
__ISAKIT_ORDER(long long) __ISAKIT_ORDER(unsigned long long)
__ISAKIT_MIXED(int, unsigned, unsigned)
__ISAKIT_MIXED(long long, unsigned long long, unsigned long long)
__ISAKIT_BOTH float min(float a, float b) { return __builtin_fminf(a, b); }
__ISAKIT_BOTH float max(float a, float b) { return __builtin_fmaxf(a, b); }
__ISAKIT_BOTH double min(double a, double b) { return __builtin_fmin(a, b); }
__ISAKIT_BOTH double max(double a, double b) { return __builtin_fmax(a, b); }
__ISAKIT_MIXED(float, double, double)
#undef __ISAKIT_ORDER
#undef __ISAKIT_MIXED
__ISAKIT_BOTH unsigned umin(unsigned a, unsigned b) { return min(a, b); }
__ISAKIT_BOTH unsigned umax(unsigned a, unsigned b) { return max(a, b); }
__ISAKIT_BOTH long long llmin(long long a, long long b) { return min(a, b); }
__ISAKIT_BOTH long long llmax(long long a, long long b) { return max(a, b); }
__ISAKIT_BOTH unsigned long long ullmin(unsigned long long a, unsigned long long b) { return min(a, b); }
__ISAKIT_BOTH unsigned long long ullmax(unsigned long long a, unsigned long long b) { return max(a, b); }
__ISAKIT_DEVICE int abs(int x) { return x < 0 ? -x : x; }
__ISAKIT_DEVICE long abs(long x) { return x < 0 ? -x : x; }
__ISAKIT_DEVICE long long abs(long long x) { return x < 0 ? -x : x; }
__ISAKIT_DEVICE float abs(float x) { return __builtin_fabsf(x); }
__ISAKIT_DEVICE double abs(double x) { return __builtin_fabs(x); }
__ISAKIT_DEVICE long labs(long x) { return x < 0 ? -x : x; }
__ISAKIT_DEVICE long long llabs(long long x) { return x < 0 ? -x : x; }
/* Memory. */
#define __ISAKIT_BYTES __SIZE_TYPE__
__ISAKIT_DEVICE void *memcpy(void *to, const void *from, __ISAKIT_BYTES n) { return __builtin_memcpy(to, from, n); }
__ISAKIT_DEVICE void *memset(void *to, int value, __ISAKIT_BYTES n) { return __builtin_memset(to, value, n); }
#undef __ISAKIT_BYTES

#endif

/* Functions of the chip that the host's own library has not: nvcc gave the host its own, by the same names. */
#ifndef ISAKIT_MATH_HOST_H
#define ISAKIT_MATH_HOST_H
#include <math.h>

#define __ISAKIT_HOST static inline __attribute__((host))
__ISAKIT_HOST float fdividef(float a, float b) { return a / b; }
__ISAKIT_HOST double rsqrt(double x) { return 1.0 / ::sqrt(x); }
__ISAKIT_HOST double rcbrt(double x) { return 1.0 / ::cbrt(x); }

/* sin and cos of pi times a number: the nearest half turn is exact, what is left is at most a quarter of pi. */
__ISAKIT_HOST double __isakit_half_turns(double x, int *quarter)
{
    double rest = ::fmod(x, 2.0), q = ::rint(2.0 * rest);
    *quarter = (int)q & 3;
    return (rest - 0.5 * q) * 3.14159265358979323846;
}
__ISAKIT_HOST double sinpi(double x)
{
    int quarter;
    if (!(::fabs(x) <= 1.79769313486231571e308)) return x - x;
    if (x == ::trunc(x)) return ::copysign(0.0, x);
    double rest = __isakit_half_turns(x, &quarter), y = quarter & 1 ? ::cos(rest) : ::sin(rest);
    return quarter & 2 ? -y : y;
}
__ISAKIT_HOST double cospi(double x)
{
    int quarter;
    if (!(::fabs(x) <= 1.79769313486231571e308)) return x - x;
    double rest = __isakit_half_turns(x, &quarter), y = quarter & 1 ? ::sin(rest) : ::cos(rest);
    return quarter == 1 || quarter == 2 ? -y : y + 0.0;
}

/* Inverses of the error functions: a guess, and steps of Halley's until the digits of a double are there. */
__ISAKIT_HOST double erfcinv(double y)
{
    if (!(y >= 0.0 && y <= 2.0)) return __builtin_nan("");
    if (y == 0.0 || y == 2.0) return y == 0.0 ? __builtin_inf() : -__builtin_inf();
    if (y > 1.0) return y > 1.5 ? -erfcinv(2.0 - y) : -erfcinv(1.0 - (y - 1.0));
    double l = -::log(y * 1.77245385090551603), x = y > 0.1 ? (1.0 - y) * 0.88622692545275801 : ::sqrt(l - 0.5 * ::log(l));
    for (int k = 0; k < 6; k++) {
        double u = (y - ::erfc(x)) / (1.12837916709551257 * ::exp(-x * x));
        x -= u / (1.0 + u * x);
    }
    return x;
}
__ISAKIT_HOST double erfinv(double y)
{
    if (!(::fabs(y) < 0.5)) return y < 0.0 ? -erfcinv(1.0 + y) : erfcinv(1.0 - y);
    double x = y * 0.88622692545275801;
    for (int k = 0; k < 5; k++) {
        double u = (::erf(x) - y) / (1.12837916709551257 * ::exp(-x * x));
        x -= u / (1.0 + u * x);
    }
    return x;
}
__ISAKIT_HOST double normcdf(double x) { return 0.5 * ::erfc(x * -0.70710678118654752); }
__ISAKIT_HOST double normcdfinv(double y) { return -1.41421356237309505 * erfcinv(2.0 * y); }

#define __ISAKIT_1(NAME)                                                       \
    __ISAKIT_HOST float NAME##f(float x) { return (float)NAME((double)x); }    \
    __ISAKIT_HOST float NAME(float x) { return (float)NAME((double)x); }
__ISAKIT_1(rsqrt) __ISAKIT_1(rcbrt) __ISAKIT_1(sinpi) __ISAKIT_1(cospi) __ISAKIT_1(erfinv) __ISAKIT_1(erfcinv)
__ISAKIT_1(normcdf) __ISAKIT_1(normcdfinv)
#undef __ISAKIT_1
#undef __ISAKIT_HOST

#endif

// The largest error of each function of one float of the CUDA headers, over a range of bit patterns.
//
// The headers themselves are compiled for the host's processor: what they are made of, sums, products, quotients and
// roots that are rounded once and have no denormals, is the same there, and the chips' special functions are here in
// integers (`math_unit.h`). `math_on_host.py` compiles this file with -DRIGHT for the functions that the C library computes
// four at a time, and once more for the rest.
#include <cmath>

enum { COUNT = 4096 };
typedef void Right(const double *x, const double *y, double *out); // of COUNT arguments; y: ours
#ifdef RIGHT
#define F(NAME, VALUE)                                                                                                   \
    extern "C" void right_##NAME(const double *in, const double *, double *out)                                          \
    {                                                                                                                    \
        for (int k = 0; k < COUNT; k++) {                                                                                \
            double x = in[k];                                                                                            \
            out[k] = VALUE;                                                                                              \
        }                                                                                                                \
    }
#else
#define F(NAME, VALUE) extern "C" Right right_##NAME;
#endif
F(sqrt, sqrt(x)) F(rsqrt, 1 / sqrt(x)) F(cbrt, cbrt(x)) F(rcbrt, 1 / cbrt(x)) F(exp, exp(x)) F(exp2, exp2(x))
F(exp10, exp10(x)) F(expm1, expm1(x)) F(log, log(x)) F(log2, log2(x)) F(log10, log10(x)) F(log1p, log1p(x))
F(sin, sin(x)) F(cos, cos(x)) F(tan, tan(x)) F(asin, asin(x)) F(acos, acos(x)) F(atan, atan(x)) F(sinh, sinh(x))
F(cosh, cosh(x)) F(tanh, tanh(x)) F(asinh, asinh(x)) F(acosh, acosh(x)) F(atanh, atanh(x)) F(erf, erf(x)) F(erfc, erfc(x))
#undef F

#ifndef RIGHT
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <immintrin.h>
#include <iterator>

#include "math_unit.h"

// --- what is right: doubles, within some 1e-14 of themselves ------------------------------------------------------
static const double PI = 3.14159265358979323846, ROOT_2 = 1.41421356237309504880, ROOT_PI = 1.77245385090551602730;
static double sine_of_turns(double x, int quadrants)
{
    double halves = rint(2 * x), r = PI * (x - halves / 2);
    int turned = (int)fmod(fmod(halves, 4) + quadrants + 4, 4);
    double y = turned & 1 ? cos(r) : sin(r);
    return turned & 2 ? -y : y;
}
static double scaled_erfc(double x)
{
    if (x < 20) return exp(x * x) * erfc(x);
    double w = 1 / (2 * x * x);
    return (1 - w * (1 - 3 * w * (1 - 5 * w * (1 - 7 * w * (1 - 9 * w))))) / (x * ROOT_PI);
}
// Inverses: from the answer y, one step of Halley's method, which has three times as many digits.
static double erf_inverse(double x, double y)
{
    if (!(fabs(x) < 1)) return fabs(x) == 1 ? x * HUGE_VAL : NAN;
    double a = fabs(x), b = fabs(y);
    double off = (a < 0.5 ? erf(b) - a : (1 - a) - erfc(b)) * ROOT_PI / 2 * exp(b * b);
    return copysign(b - off / (1 + b * off), x);
}
static double erfc_inverse(double q, double y)
{
    if (!(q > 0 && q < 2)) return q == 0 ? HUGE_VAL : q == 2 ? -HUGE_VAL : NAN;
    if (q > 0.5) return erf_inverse(1 - q, y);
    double off = (q / exp(-y * y) - scaled_erfc(y)) * ROOT_PI / 2;
    return y - off / (1 + y * off);
}
static double bessel(double x, double (*narrow)(double), long double (*wide)(long double))
{
    double y = narrow(x);
    return fabs(y) < 0.01 && fabs(x) > 1 ? (double)wide((long double)x) : y;
}

#define G(NAME, VALUE)                                                                                                   \
    static void right_##NAME(const double *xs, const double *ys, double *out)                                            \
    {                                                                                                                    \
        for (int k = 0; k < COUNT; k++) {                                                                                \
            [[maybe_unused]] double x = xs[k], y = ys[k];                                                                \
            out[k] = VALUE;                                                                                              \
        }                                                                                                                \
    }
G(sinpi, sine_of_turns(x, 0)) G(cospi, sine_of_turns(x, 1)) G(erfinv, erf_inverse(x, y)) G(erfcinv, erfc_inverse(x, y))
G(erfcx, scaled_erfc(x)) G(normcdf, erfc(-x / ROOT_2) / 2) G(normcdfinv, -ROOT_2 * erfc_inverse(2 * x, y / -ROOT_2))
G(tgamma, tgamma(x)) G(lgamma, lgamma(x)) G(j0, bessel(x, j0, j0l)) G(j1, bessel(x, j1, j1l)) G(y0, x < 0 ? NAN : bessel(x, y0, y0l))
G(y1, x < 0 ? NAN : bessel(x, y1, y1l))

// --- the measure -------------------------------------------------------------------------------------------------------
struct Function
{
    const char *name;
    void (*ours)(const float *x, float *y);
    Right *right;
    int even; // 1: of even functions, -1: of odd ones, 0
};
#define H(NAME, EVEN)                                                                                                    \
    {#NAME, [](const float *__restrict x, float *__restrict y) { for (int k = 0; k < COUNT; k++) y[k] = chip::NAME##f(x[k]); }, right_##NAME, EVEN}
static const Function FUNCTIONS[] = {
    H(sqrt, 0), H(rsqrt, 0), H(cbrt, -1), H(exp, 0), H(exp2, 0), H(exp10, 0), H(expm1, 0), H(log, 0), H(log2, 0), H(log10, 0),
    H(log1p, 0), H(sin, -1), H(cos, 1), H(tan, -1), H(sinpi, -1), H(cospi, 1), H(asin, -1), H(acos, 0), H(atan, -1),
    H(sinh, -1), H(cosh, 1), H(tanh, -1), H(asinh, -1), H(acosh, 0), H(atanh, -1), H(erf, -1), H(erfc, 0), H(rcbrt, -1),
    H(erfinv, -1), H(erfcinv, 0), H(erfcx, 0), H(normcdf, 0), H(normcdfinv, 0), H(tgamma, 0), H(lgamma, 0), H(j0, 1), H(j1, -1),
    H(y0, 0), H(y1, 0),
};
static const double SMALLEST = 1.17549435082228750797e-38;

// In units in the last place; infinite where one of them is not finite. Denormals are zeros.
static double error(float got, double right)
{
    float rounded = (float)right;
    if (std::isnan(got) || std::isnan(right)) return std::isnan(got) && std::isnan(right) ? 0 : HUGE_VAL;
    if (std::isinf(got) && got == rounded) return 0;
    if (std::isinf(got) || std::isinf(right)) return HUGE_VAL;
    if (std::fabs(right) < SMALLEST && std::fabs((double)got) <= SMALLEST) return 0;
    double nearest = std::max(std::fabs((double)std::min(std::fabs(rounded), 3.40282347e38f)), SMALLEST), unit;
    uint64_t bits;
    memcpy(&bits, &nearest, 8);
    bits = (bits & 0x7ff0000000000000ull) - (23ull << 52);
    memcpy(&unit, &bits, 8);
    return std::fabs((double)got - right) / unit;
}
static float of_bits(uint64_t bits) { return chip::__int_as_float((int)bits); }
static void without_denormals(bool on) { _mm_setcsr(on ? _mm_getcsr() | 0x8040 : _mm_getcsr() & ~0x8040u); }

int main(int argc, char **argv)
{
    if (argc < 5) return 2;
    const Function *f = std::find_if(std::begin(FUNCTIONS), std::end(FUNCTIONS), [&](auto &g) { return !strcmp(g.name, argv[1]); });
    if (f == std::end(FUNCTIONS)) return 2;
    uint64_t first = strtoull(argv[2], nullptr, 0), last = strtoull(argv[3], nullptr, 0), step = strtoull(argv[4], nullptr, 0);
    bool writes = argc > 5, gamma = !strcmp(f->name, "lgamma"), waves = strchr("jy", f->name[0]);
    double most = 0, absolute = 0;
    float at = 0, at_absolute = 0;
    alignas(64) static float x[COUNT], y[COUNT], other[COUNT];
    alignas(64) static double wide[COUNT], ours[COUNT], right[COUNT];
    for (uint64_t start = first; start < last; start += COUNT * step) {
        int n = (int)std::min<uint64_t>(COUNT, (last - start + step - 1) / step);
        for (int k = 0; k < COUNT; k++) x[k] = of_bits(start + std::min(k, n - 1) * step);
        without_denormals(true);
        f->ours(x, y);
        without_denormals(false);
        if (writes) {
            fwrite(y, 4, n, stdout);
            continue;
        }
        if (x[n - 1] != x[n - 1] && x[0] != x[0]) continue;
        if (f->even && start >> 31) { // those without the sign have been measured: is this their mirror?
            for (int k = 0; k < COUNT; k++) other[k] = -x[k];
            without_denormals(true);
            f->ours(other, other);
            without_denormals(false);
            int off = 0;
            for (int k = 0; k < COUNT; k++) off |= !(y[k] == (f->even < 0 ? -other[k] : other[k])) & (y[k] == y[k]) ? 1 : 0;
            for (int k = 0; k < COUNT; k++) off |= (y[k] == y[k]) != (other[k] == other[k]);
            if (!off) continue;
        }
        for (int k = 0; k < COUNT; k++) {
            if (!(std::fabs(x[k]) >= (float)SMALLEST)) x[k] = x[k] != x[k] ? x[k] : copysignf(0, x[k]);
            wide[k] = x[k], ours[k] = y[k];
        }
        if (waves && std::fabs(x[0]) > 8 && start / (COUNT * step) % 64) continue; // one in 64 has its absolute error
        f->right(wide, ours, right);
        for (int k = 0; k < n; k += 16) {
            double limit = most * 0x1p-24;
            int may = 0;
            for (int j = k; j < k + 16; j++) may |= !(std::fabs(ours[j] - right[j]) <= limit * std::fabs(right[j]));
            if (!may) continue;
            for (int j = k; j < std::min(k + 16, n); j++) {
                if (!(std::fabs(x[j]) < HUGE_VALF)) continue;
                if ((gamma && x[j] > -10.001f && x[j] < -2.264f) || (waves && !(std::fabs(x[j]) < 8))) {
                    double e = std::fabs(ours[j] - right[j]);
                    if ((std::isnan(ours[j]) && std::isnan(right[j])) || ours[j] == right[j]) e = 0; // poles are infinite
                    if (!(e <= absolute)) absolute = e != e ? HUGE_VAL : e, at_absolute = x[j];
                } else if (double e = error(y[j], right[j]); e > most)
                    most = e, at = x[j];
            }
        }
    }
    if (!writes) printf("%s %.6f %.9g %.4g %.9g\n", f->name, most, at, absolute, at_absolute);
}
#endif

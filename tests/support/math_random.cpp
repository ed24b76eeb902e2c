// The largest error of functions of doubles, and of functions of two numbers, of the CUDA headers on random arguments.
//
// The headers are compiled for the host's processor, as in `math_floats.cpp`; the truth is computed in the extended
// precision of the C library.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <immintrin.h>
#include <limits>
#include <quadmath.h>

#include "math_unit.h"

typedef long double Wide;
static const Wide PI = 3.14159265358979323846264338327950288L, ROOT_2 = 1.41421356237309504880168872420969808L,
                  ROOT_PI = 1.77245385090551602729816748334114518L;
static Wide sine_of_turns(Wide x, int quadrants)
{
    Wide halves = rintl(2 * x), r = PI * (x - halves / 2);
    int turned = (int)fmodl(fmodl(halves, 4) + quadrants + 4, 4);
    Wide y = turned & 1 ? cosl(r) : sinl(r);
    return turned & 2 ? -y : y;
}
static Wide scaled_erfc(Wide x)
{
    if (std::isinf(x) || x < -100) return x > 0 ? 0 : HUGE_VALL;
    if (x < 50) {
        Wide z = x * x;
        return expl(z) * (1 + fmal(x, x, -z)) * erfcl(x);
    }
    Wide w = 1 / (2 * x * x), p = 1;
    for (int k = 21; k > 0; k -= 2) p = 1 - k * w * p;
    return p / (x * ROOT_PI);
}
// Inverses: from the answer y, one step of Halley's method, which has three times as many digits.
static Wide erf_inverse(Wide x, Wide y)
{
    if (!(fabsl(x) < 1)) return fabsl(x) == 1 ? x * HUGE_VALL : NAN;
    Wide a = fabsl(x), b = fabsl(y), off = (a < 0.5L ? erfl(b) - a : (1 - a) - erfcl(b)) * ROOT_PI / 2 * expl(b * b);
    return copysignl(b - off / (1 + b * off), x);
}
static Wide erfc_inverse(Wide q, Wide y)
{
    if (!(q > 0 && q < 2)) return q == 0 ? HUGE_VALL : q == 2 ? -HUGE_VALL : NAN;
    if (q > 0.5L) return erf_inverse(1 - q, y);
    Wide off = (q * expl(y * y) - scaled_erfc(y)) * ROOT_PI / 2;
    return y - off / (1 + y * off);
}

// Near a root the functions of the extended precision have too few digits left.
static Wide bessel(Wide x, Wide (*wide)(Wide), __float128 (*wider)(__float128))
{
    Wide y = wide(x);
    return x != x || fabsl(y) > 0.02L || fabsl(x) < 0.5L || fabsl(x) > 8 ? y : (Wide)wider((__float128)x);
}

template <class T> struct Bits;
template <> struct Bits<float> { typedef uint32_t Word; enum { fraction = 23 }; };
template <> struct Bits<double> { typedef uint64_t Word; enum { fraction = 52 }; };

// In units in the last place; infinite where one of them is not finite. The chips have no denormal floats.
template <class T> static double error(T got, Wide right)
{
    T rounded = (T)right, smallest = std::numeric_limits<T>::min(), most = std::numeric_limits<T>::max();
    if (std::isnan(got) || std::isnan(right)) return std::isnan(got) && std::isnan(right) ? 0 : HUGE_VAL;
    if (std::isinf(got) && got == rounded) return 0;
    if (std::isinf(got) || std::isinf(right)) return HUGE_VAL;
    if (sizeof(T) == 4 && fabsl(right) < (Wide)smallest && std::fabs(got) <= smallest) return 0;
    int e = ilogb(std::fmax(std::fmin(std::fabs(rounded), most), smallest));
    return (double)(fabsl((Wide)got - right) / ldexpl(1, e - (int)Bits<T>::fraction));
}

struct One { const char *name; double (*ours)(double); Wide (*right)(Wide x, Wide y); };
#define F(NAME, RIGHT) {#NAME, [](double x) { return chip::NAME(x); }, [](Wide x, [[maybe_unused]] Wide y) -> Wide { return RIGHT; }}
static const One ONES[] = {
    F(sqrt, sqrtl(x)), F(rsqrt, 1 / sqrtl(x)), F(cbrt, cbrtl(x)), F(rcbrt, 1 / cbrtl(x)), F(exp, expl(x)), F(exp2, exp2l(x)),
    F(exp10, exp10l(x)), F(expm1, expm1l(x)), F(log, logl(x)), F(log2, log2l(x)), F(log10, log10l(x)), F(log1p, log1pl(x)),
    F(sin, sinl(x)), F(cos, cosl(x)), F(tan, tanl(x)), F(sinpi, sine_of_turns(x, 0)), F(cospi, sine_of_turns(x, 1)),
    F(asin, asinl(x)), F(acos, acosl(x)), F(atan, atanl(x)), F(sinh, sinhl(x)), F(cosh, coshl(x)), F(tanh, tanhl(x)),
    F(asinh, asinhl(x)), F(acosh, acoshl(x)), F(atanh, atanhl(x)), F(erf, erfl(x)), F(erfc, erfcl(x)),
    F(erfinv, erf_inverse(x, y)), F(erfcinv, erfc_inverse(x, y)), F(erfcx, scaled_erfc(x)), F(normcdf, erfcl(-x / ROOT_2) / 2),
    F(normcdfinv, -ROOT_2 * erfc_inverse(2 * x, y / -ROOT_2)), F(tgamma, tgammal(x)), F(lgamma, lgammal(x)),
    F(j0, bessel(x, j0l, j0q)), F(j1, bessel(x, j1l, j1q)), F(y0, x < 0 ? NAN : bessel(x, y0l, y0q)),
    F(y1, x < 0 ? NAN : bessel(x, y1l, y1q)),
};
template <class T> struct Two { const char *name; T (*ours)(T, T); Wide (*right)(Wide, Wide); };
#define G(T, NAME, OURS, RIGHT) {#NAME, [](T x, T y) -> T { return chip::OURS(x, y); }, [](Wide x, Wide y) -> Wide { return RIGHT; }}
#define PAIRS(T, S)                                                                                                      \
    {G(T, pow, pow##S, powl(x, y)), G(T, atan2, atan2##S, atan2l(x, y)), G(T, hypot, hypot##S, hypotl(x, y)),            \
     G(T, rhypot, rhypot##S, 1 / hypotl(x, y)), G(T, fmod, fmod##S, fmodl(x, y)), G(T, remainder, remainder##S, remainderl(x, y)), \
     G(T, fdim, fdim##S, fdiml(x, y))}
static const Two<double> DOUBLES[] = PAIRS(double, );
static const Two<float> FLOATS[] = PAIRS(float, f);

static void without_denormals(bool on) { _mm_setcsr(on ? _mm_getcsr() | 0x8040 : _mm_getcsr() & ~0x8040u); }
static uint64_t state;
static uint64_t random_word() // splitmix64
{
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull, z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}
template <class T> static T any()
{
    typename Bits<T>::Word w = (typename Bits<T>::Word)random_word();
    T x;
    memcpy(&x, &w, sizeof x);
    return x;
}
static double between(double low, double high) { return low + (high - low) * (double)(random_word() >> 11) * 0x1p-53; }
// Every fourth one any pattern, every second one even within a range, every fourth one with an even exponent up to it.
template <class T> static T argument(const double *range, int ranges)
{
    uint64_t how = random_word();
    if (!(how & 3)) return any<T>();
    const double *r = range + 2 * ((how >> 8) % (uint64_t)ranges);
    if (how & 1) return (T)between(r[0], r[1]);
    double most = std::fmax(std::fabs(r[0]), std::fabs(r[1])), x = exp(between(log(1e-30), log(most)));
    return (T)std::fmin(std::fmax(r[0] < 0 && how & 16 ? -x : x, r[0]), r[1]);
}
template <class T> static T plain(T x) { return sizeof(T) == 4 && std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign((T)0, x) : x; }

static double most, absolute;
static double at[2], at_absolute;
static void one(const One &f, double x)
{
    double y = f.ours(x);
    bool gamma = !strcmp(f.name, "lgamma") && x > -11.0001 && x < -2.2637;
    bool waves = strchr("jy", f.name[0]) && !(std::fabs(x) < 8);
    if (gamma || waves) {
        double e = (double)fabsl(y - f.right(x, y));
        if (e > absolute) absolute = e, at_absolute = x;
    } else if (double e = error(y, f.right(x, y)); e > most)
        most = e, at[0] = x;
}
template <class T> static void two(const Two<T> &f, T x, T y)
{
    if (sizeof(T) == 4) without_denormals(true);
    T z = f.ours(x, y);
    if (sizeof(T) == 4) without_denormals(false);
    if (double e = error(z, f.right(plain(x), plain(y))); e > most) most = e, at[0] = x, at[1] = y;
}
static const double SPECIAL[] = {0.0, -0.0, 1, -1, HUGE_VAL, -HUGE_VAL, NAN, 0.5, -0.5, 1.5, -1.5, 2, -2, 3, -3, 2.5, 1e9, -1e9, 1e10, 16777217,
    4503599627370497.0, 1.17549435082228751e-38, 3.4028234663852886e38, -3.4028234663852886e38, 2.2250738585072014e-308, 4.9e-324,
    1.7976931348623157e308, -1.7976931348623157e308, 0.9999999999999999, 1.0000000000000002, 0.99999994039535522, 1.0000001192092896};
template <class T> static void pairs(const Two<T> &f, uint64_t count, double (*ranges)[2])
{
    for (double x : SPECIAL)
        for (double y : SPECIAL) two(f, (T)x, (T)y);
    for (uint64_t k = 0; k < count; k++) {
        T x = argument<T>(ranges[0], 1), y = argument<T>(ranges[1], 1);
        two(f, x, y);
    }
}

// The values of a function of the arguments, or pairs of them, in the standard input.
template <class T> static void values(const Two<T> &f)
{
    T x[2], y;
    if (sizeof(T) == 4) without_denormals(true);
    while (fread(x, sizeof(T), 2, stdin) == 2) y = f.ours(x[0], x[1]), fwrite(&y, sizeof y, 1, stdout);
}
static void values(const One &f)
{
    double x, y;
    while (fread(&x, 8, 1, stdin) == 1) y = f.ours(x), fwrite(&y, 8, 1, stdout);
}

// float|double NAME: values. float|double NAME COUNT SEED LOW HIGH ...: the largest error within the ranges, which of
// pairs are one for each argument.
int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    bool single = !strcmp(argv[1], "float"), writes = argc == 3;
    if (!writes && argc < 7) return 2;
    for (auto &f : ONES)
        if (writes && !single && !strcmp(f.name, argv[2])) values(f);
    for (auto &f : DOUBLES)
        if (writes && !single && !strcmp(f.name, argv[2])) values(f);
    for (auto &f : FLOATS)
        if (writes && single && !strcmp(f.name, argv[2])) values(f);
    if (writes) return 0;
    uint64_t count = strtoull(argv[3], nullptr, 0);
    state = strtoull(argv[4], nullptr, 0);
    double ranges[16][2];
    int n = 0;
    for (int k = 5; k + 1 < argc; k += 2, n++) ranges[n][0] = atof(argv[k]), ranges[n][1] = atof(argv[k + 1]);
    for (auto &f : ONES)
        if (!single && !strcmp(f.name, argv[2])) {
            for (double x : SPECIAL) one(f, x);
            for (uint64_t k = 0; k < count; k++) one(f, argument<double>(ranges[0], n));
        }
    for (auto &f : DOUBLES)
        if (!single && !strcmp(f.name, argv[2])) pairs(f, count, ranges);
    for (auto &f : FLOATS)
        if (single && !strcmp(f.name, argv[2])) pairs(f, count, ranges);
    printf("%s %.6f %.17g %.17g %.4g %.17g\n", argv[2], most, at[0], at[1], absolute, at_absolute);
}

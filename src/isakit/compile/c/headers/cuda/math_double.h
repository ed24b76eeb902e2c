/* Functions of doubles: of their own on sm_13; below, where a double is a float, those of floats. */
#ifndef ISAKIT_MATH_DOUBLE_H
#define ISAKIT_MATH_DOUBLE_H
#include "math_single.h"

__ISAKIT_DEVICE double fabs(double x) { return __builtin_fabs(x); }
__ISAKIT_DEVICE double fmin(double a, double b) { return __builtin_fmin(a, b); }
__ISAKIT_DEVICE double fmax(double a, double b) { return __builtin_fmax(a, b); }
__ISAKIT_DEVICE double sqrt(double x) { return __nvvm_sqrt_rn_d(x); }

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 130
__ISAKIT_DEVICE double floor(double x) { return __builtin_floor(x); }
__ISAKIT_DEVICE double ceil(double x) { return __builtin_ceil(x); }
__ISAKIT_DEVICE double trunc(double x) { return __builtin_trunc(x); }
__ISAKIT_DEVICE double rint(double x) { double y; asm("cvt.rni.f64.f64 %0, %1;" : "=d"(y) : "d"(x)); return y; }
__ISAKIT_DEVICE double copysign(double x, double y) { return __builtin_copysign(x, y); }
__ISAKIT_DEVICE double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
__ISAKIT_DEVICE double rsqrt(double x)
{
    double y = 1.0 / sqrt(x), h = x * y;
    if (!(h > 0.0 && h < __builtin_inf())) return y;
    double off = fma(-h, y, 1.0) - fma(x, y, -h) * y; /* what 1 - x y^2 is, and Newton's step */
    return fma(0.5 * y, off, y);
}
__ISAKIT_DEVICE int __isnan(double x) { return x != x; }
__ISAKIT_DEVICE int __isinf(double x) { return __builtin_fabs(x) == __builtin_inf(); }
__ISAKIT_DEVICE int __finite(double x) { return __builtin_fabs(x) < __builtin_inf(); }
__ISAKIT_DEVICE int __signbit(double x) { return __double2hiint(x) < 0; }
#define __ISAKIT_ROUNDED(R, P)                                                                                                                    \
    __ISAKIT_DEVICE double __dadd_##R(double a, double b) { double y; asm("add." P ".f64 %0, %1, %2;" : "=d"(y) : "d"(a), "d"(b)); return y; }    \
    __ISAKIT_DEVICE double __dmul_##R(double a, double b) { double y; asm("mul." P ".f64 %0, %1, %2;" : "=d"(y) : "d"(a), "d"(b)); return y; }    \
    __ISAKIT_DEVICE double __ddiv_##R(double a, double b) { double y; asm("div." P ".f64 %0, %1, %2;" : "=d"(y) : "d"(a), "d"(b)); return y; }    \
    __ISAKIT_DEVICE double __fma_##R(double a, double b, double c) { double y; asm("fma." P ".f64 %0, %1, %2, %3;" : "=d"(y) : "d"(a), "d"(b), "d"(c)); return y; } \
    __ISAKIT_DEVICE double __drcp_##R(double x) { double y; asm("rcp." P ".f64 %0, %1;" : "=d"(y) : "d"(x)); return y; }                          \
    __ISAKIT_DEVICE double __dsqrt_##R(double x) { double y; asm("sqrt." P ".f64 %0, %1;" : "=d"(y) : "d"(x)); return y; }
__ISAKIT_ROUNDED(rn, "rn")
__ISAKIT_ROUNDED(rz, "rz")
__ISAKIT_ROUNDED(ru, "rp")
__ISAKIT_ROUNDED(rd, "rm")
#undef __ISAKIT_ROUNDED

/* --- exponentials and logarithms --------------------------------------------------------------------------------------- */
__ISAKIT_DEVICE double __isakit_scaled(double y, int n)
{
    int half = n >> 1;
    return y * __hiloint2double((half + 1023) << 20, 0) * __hiloint2double((n - half + 1023) << 20, 0);
}
/* (e^r - 1 - r) / r^2, |r| <= ln(2)/2 */
__ISAKIT_DEVICE double __isakit_exp_tail(double r)
{
    double p = 2.0915442297780116e-09;
    p = fma(p, r, 2.5106274733573296e-08), p = fma(p, r, 2.75572718102198e-07), p = fma(p, r, 2.7557252833516911e-06);
    p = fma(p, r, 2.4801587327007187e-05), p = fma(p, r, 0.00019841269876864356), p = fma(p, r, 0.0013888888888883327);
    p = fma(p, r, 0.0083333333333255443), p = fma(p, r, 0.041666666666666671), p = fma(p, r, 0.16666666666666671);
    return fma(p, r, 0.5);
}
/* e^(x + low) 2^-n as a sum of two numbers, of which the second may be half of the first, and n */
__ISAKIT_DEVICE double __isakit_exp_parts(double x, double low, double *rest, int *whole)
{
    x = x > 1000.0 ? 1000.0 : x < -1000.0 ? -1000.0 : x;
    double n = rint(x * 1.4426950408889634), r = fma(n, -0.69314718055994529, x);
    double small = fma(n, -2.3190468138462996e-17, low), sum = 1.0 + r, lost = r - (sum - 1.0);
    r += small;
    *rest = lost + fma(r * r, __isakit_exp_tail(r), small), *whole = (int)n;
    return sum;
}
/* e^(x + low) 2^more */
__ISAKIT_DEVICE double __isakit_exp(double x, double low, int more)
{
    int n;
    double rest, sum = __isakit_exp_parts(x, low, &rest, &n);
    return __isakit_scaled(sum + rest, n + more);
}
/* The same, with what rounding has taken from it. */
__ISAKIT_DEVICE double __isakit_exp_pair(double x, int more, double *rest)
{
    int n;
    double sum = __isakit_exp_parts(x, 0.0, rest, &n), y = sum + *rest;
    *rest = __isakit_scaled((sum - y) + *rest, n + more);
    return __isakit_scaled(y, n + more);
}
__ISAKIT_DEVICE double exp(double x) { return __isakit_exp(x, 0.0, 0); }
__ISAKIT_DEVICE double exp2(double x)
{
    x = x > 2000.0 ? 2000.0 : x < -2000.0 ? -2000.0 : x;
    double n = rint(x), r = x - n, t = r * 0.69314718055994529;
    t = t + fma(r, 2.3190468138462996e-17, fma(r, 0.69314718055994529, -t));
    return __isakit_scaled(1.0 + fma(t * t, __isakit_exp_tail(t), t), (int)n);
}
__ISAKIT_DEVICE double exp10(double x)
{
    double t = x * 2.3025850929940459;
    if (!(__builtin_fabs(t) < 1000.0)) return exp(t);
    return __isakit_exp(t, fma(x, -2.1707562233822494e-16, fma(x, 2.3025850929940459, -t)), 0);
}
__ISAKIT_DEVICE double expm1(double x)
{
    if (!(__builtin_fabs(x) < 709.0)) return x > 0.0 ? exp(x) : x < 0.0 ? -1.0 : x;
    double n = rint(x * 1.4426950408889634), most_of_r = fma(n, -0.69314718055994529, x);
    double r = fma(n, -2.3190468138462996e-17, most_of_r);
    double square = 0.5 * r * r, tail = fma(r * r, __isakit_exp_tail(r) - 0.5, fma(0.5 * r, r, -square));
    tail += fma(n, -2.3190468138462996e-17, most_of_r - r);
    if (n == 0.0) return copysign(r + (square + tail), x);
    /* 2^n (1 + r + square + tail) - 1: the one is taken away where it is exact */
    double s = __isakit_scaled(1.0, (int)n - 1), most = s - 0.5, rest = (s - most) - 0.5;
    double a = s * r, sum = most + a, lost = a - (sum - most), b = s * square, all = sum + b;
    lost += __builtin_fabs(sum) > b ? b - (all - sum) : sum - (all - b);
    return 2.0 * (all + (lost + fma(s, tail, rest)));
}
__ISAKIT_DEVICE bool __isakit_log_plain(double x) { return x > 0.0 && x < __builtin_inf(); }
__ISAKIT_DEVICE double __isakit_log_edge(double x)
{
    return x == 0.0 ? -__builtin_inf() : x < 0.0 ? __builtin_nan("") : x + x;
}
/* log(1 + f) as a sum of two numbers, and e, with x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2). `fine`: to 65 bits. */
__ISAKIT_DEVICE double __isakit_log_pair(double x, double *e, double *low, bool fine = false)
{
    int n = 0;
    if (x < 2.2250738585072014e-308) x *= 18014398509481984.0, n = -54;
    int hi = __double2hiint(x), k = (hi - 0x3fe6a09e) >> 20;
    *e = (double)(n + k);
    double f = __hiloint2double(hi - (k << 20), __double2loint(x)) - 1.0;
    /* s = f / (2 + f); log(1 + f) = 2 s + s^3 (2/3 + ...) */
    double d = 2.0 + f, d_lost = f - (d - 2.0), s = f / d, s_low = fma(-s, d_lost, fma(-s, d, f)) / d, z = s * s;
    double p = 0.13093650524183881;
    p = fma(p, z, 0.1326809978489753), p = fma(p, z, 0.15386264908549174), p = fma(p, z, 0.18181795175566309);
    p = fma(p, z, 0.22222222396072355), p = fma(p, z, 0.28571428570784341), p = fma(p, z, 0.40000000000000907);
    double most = 2.0 * s, rest = 2.0 * s_low, t, sum;
    if (fine) { /* s z (2/3 + p z), each factor and product with what rounding has taken from it */
        double z_low = fma(2.0 * s, s_low, fma(s, s, -z)), q = fma(p, z, 0.66666666666666663);
        double q_low = fma(p, z, 0.66666666666666663 - q) + 3.7007434154171886e-17, c = s * z;
        double c_low = fma(s, z, -c) + fma(s, z_low, s_low * z);
        t = c * q, rest += fma(c, q, -t) + fma(c, q_low, c_low * q);
    } else
        t = s * z * fma(p, z, 0.66666666666666663);
    sum = most + t;
    *low = (t - (sum - most)) + rest;
    return sum;
}
__ISAKIT_DEVICE double log(double x)
{
    if (!__isakit_log_plain(x)) return __isakit_log_edge(x);
    double e, low, l = __isakit_log_pair(x, &e, &low);
    return fma(e, 0.69314718055994529, l + fma(e, 2.3190468138462996e-17, low));
}
__ISAKIT_DEVICE double log2(double x)
{
    if (!__isakit_log_plain(x)) return __isakit_log_edge(x);
    double e, low, l = __isakit_log_pair(x, &e, &low), t = l * 1.4426950408889634;
    return e + (t + fma(l, 2.0355273740931033e-17, fma(low, 1.4426950408889634, fma(l, 1.4426950408889634, -t))));
}
__ISAKIT_DEVICE double log10(double x)
{
    if (!__isakit_log_plain(x)) return __isakit_log_edge(x);
    double e, low, l = __isakit_log_pair(x, &e, &low), t = l * 0.43429448190325182;
    t = t + fma(l, 1.0983196502167651e-17, fma(low, 0.43429448190325182, fma(l, 0.43429448190325182, -t)));
    return fma(e, 0.30102999566398120, fma(e, -2.8037281277851704e-18, t));
}
__ISAKIT_DEVICE double log1p(double x)
{
    double u = 1.0 + x;
    if (!__isakit_log_plain(u)) return __isakit_log_edge(u);
    if (__builtin_fabs(x) < 5.5511151231257827e-17) return x;
    double lost = x > 1.0 ? 1.0 - (u - x) : x - (u - 1.0);
    double e, low, l = __isakit_log_pair(u, &e, &low);
    return fma(e, 0.69314718055994529, l + (fma(e, 2.3190468138462996e-17, low) + lost / u));
}
/* log(x) as a sum of two numbers, to 64 bits */
__ISAKIT_DEVICE double __isakit_log_fine(double x, double *low)
{
    double e, l = __isakit_log_pair(x, &e, low, true);
    double most = e * 0.69314718055994529, most_lost = fma(e, 0.69314718055994529, -most);
    double sum = most + l, v = sum - most, sum_lost = (most - (sum - v)) + (l - v);
    double small = sum_lost + (*low + most_lost + e * 2.3190468138462996e-17), high = sum + small;
    *low = small - (high - sum);
    return high;
}
__ISAKIT_DEVICE double pow(double x, double y)
{
    if (x == 1.0 || y == 0.0) return 1.0;
    if (x != x || y != y) return x + y;
    double a = __builtin_fabs(x), w = __builtin_fabs(y);
    bool whole = trunc(y) == y, odd = whole && w < 9007199254740992.0 && trunc(0.5 * y) != 0.5 * y;
    double sign = odd && __double2hiint(x) < 0 ? -1.0 : 1.0;
    if (w == __builtin_inf()) return a == 1.0 ? 1.0 : (a > 1.0) == (y > 0.0) ? w : 0.0;
    if (!__isakit_log_plain(a)) {
        bool large = (a != __builtin_inf()) == (y < 0.0);
        return large ? sign * __builtin_inf() : sign * 0.0;
    }
    if (x < 0.0 && !whole) return __builtin_nan("");
    double low, high = __isakit_log_fine(a, &low);
    double t = y * high, rest = fma(y, high, -t) + y * low;
    if (!(__builtin_fabs(t) < 1000.0)) return sign * (t > 0.0 ? __builtin_inf() : 0.0);
    return sign * __isakit_exp(t, rest, 0);
}
__ISAKIT_DEVICE double cbrt(double x)
{
    double a = __builtin_fabs(x), more = 1.0;
    if (!__isakit_log_plain(a)) return x + x;
    if (a < 1.0e-300) a *= 18014398509481984.0, more = 3.814697265625e-06;
    double y = __hiloint2double(__double2hiint(a) / 3 + 715094163, 0); /* a third of the exponent: right to 5 % */
    for (int k = 0; k < 4; k++) y = y - (y - a / (y * y)) * 0.33333333333333331;
    return copysign(y * more, x);
}
__ISAKIT_DEVICE double rcbrt(double x)
{
    double a = __builtin_fabs(x), more = a < 1.0e-280 ? 18014398509481984.0 : a > 1.0e280 ? 5.5511151231257827e-17 : 1.0;
    double z = x * more, c = cbrt(z), y = 1.0 / c;
    if (!__isakit_log_plain(a)) return y;
    /* z less the cube of c, and what rounding has taken from y */
    double square = c * c, cube = square * c, low = fma(square, c, -cube) + fma(c, c, -square) * c;
    double off = ((z - cube) - low) / (3.0 * z);
    return fma(y, fma(-y, c, 1.0) - off, y) * (more == 1.0 ? 1.0 : more > 1.0 ? 262144.0 : 3.814697265625e-06);
}
/* The root of the squares' sum as a sum of two numbers, and s times its inverse; x and y are finite, not both 0. */
__ISAKIT_DEVICE double __isakit_hypot_pair(double a, double b, double *low)
{
    double most = a > b ? a : b, least = a > b ? b : a, t = least / most, t_low = fma(-t, most, least) / most;
    double z = t * t, w = 1.0 + z, w_low = ((1.0 - w) + z) + fma(2.0 * t, t_low, fma(t, t, -z)), h = sqrt(w), p = most * h;
    *low = fma(most, h, -p) + most * (0.5 * (fma(-h, h, w) + w_low) / h);
    return p;
}
__ISAKIT_DEVICE double hypot(double x, double y)
{
    double a = __builtin_fabs(x), b = __builtin_fabs(y), low;
    if (a == __builtin_inf() || b == __builtin_inf()) return __builtin_inf();
    if (x != x || y != y || a + b == 0.0) return a + b;
    double p = __isakit_hypot_pair(a, b, &low);
    return p < __builtin_inf() ? p + low : p;
}
__ISAKIT_DEVICE double rhypot(double x, double y)
{
    double a = __builtin_fabs(x), b = __builtin_fabs(y), low;
    if (a == __builtin_inf() || b == __builtin_inf() || x != x || y != y || a + b == 0.0) return 1.0 / hypot(x, y);
    double s = a > 1.0e300 || b > 1.0e300 ? 9.5367431640625e-07 : a < 1.0e-290 && b < 1.0e-290 ? 1.2676506002282294e+30 : 1.0;
    double p = __isakit_hypot_pair(a * s, b * s, &low), q = 1.0 / p;
    return fma(q, fma(-q, p, 1.0) - q * low, q) * s;
}

/* --- circular functions -------------------------------------------------------------------------------------------------- */
/* 32 bits of 2/pi from a place on; the first two words are zero. */
__ISAKIT_DEVICE unsigned __isakit_long_two_over_pi(int word)
{
    const unsigned bits[] = {
        0, 0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a,
        0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41,
        0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf,
        0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08,
        0x56033046};
    return bits[word];
}
__attribute__((device)) static __attribute__((noinline)) double __isakit_reduced_far(double x, int *quadrant, double *low)
{
    unsigned long long bits = (unsigned long long)__double_as_longlong(x), m = bits << 11 | 1ull << 63;
    /* x = m 2^(e - 63): bits of 2/pi from e - 65 on count, 64 zeros before the point */
    int at = (int)(bits >> 52 & 2047) - 1023 - 1, shift = at & 31;
    unsigned w[5], word = __isakit_long_two_over_pi(at >> 5);
    for (int k = 0; k < 5; k++) {
        unsigned next = __isakit_long_two_over_pi((at >> 5) + k + 1);
        w[k] = (unsigned)((((unsigned long long)word << 32 | next) << shift) >> 32);
        word = next;
    }
    unsigned long long w0 = (unsigned long long)w[0] << 32 | w[1], w1 = (unsigned long long)w[2] << 32 | w[3];
    unsigned long long w2 = (unsigned long long)w[4] << 32;
    /* m times 160 bits, modulo 2^192; its upper 128 */
    unsigned long long least = __umul64hi(m, w2), middle = m * w1, high = m * w0 + __umul64hi(m, w1);
    middle += least, high += middle < least;
    *quadrant = (int)((high + (1ull << 61)) >> 62);
    long long top = (long long)(high << 2 | middle >> 62);
    middle <<= 2;
    bool less = top < 0;
    if (less) middle = 0 - middle, top = ~top + (middle == 0);
    int zeros = __clzll(top);
    unsigned long long size = zeros ? (unsigned long long)top << (zeros & 63) | middle >> (64 - zeros & 63) : (unsigned long long)top;
    if (zeros == 64) size = middle;
    /* times pi/2 2^63 in whole numbers: 64 bits, of which 53 go first */
    unsigned long long turned = __umul64hi(size, 0xc90fdaa22168c235ull);
    double place = __hiloint2double((1023 - zeros) << 20, 0);
    double r = (double)(long long)(turned >> 11) * 2.2204460492503131e-16 * place;
    *low = (double)(int)(turned & 2047) * 1.0842021724855044e-19 * place;
    if (less) r = -r, *low = -*low;
    if (bits >> 63) r = -r, *low = -*low, *quadrant = -*quadrant;
    return r;
}
/* x less a multiple of pi/2, with what rounding has taken from it. */
__ISAKIT_DEVICE double __isakit_reduced(double x, int *quadrant, double *low)
{
    *low = 0.0;
    if (!(__builtin_fabs(x) < 1000000.0)) {
        *quadrant = 0;
        return __builtin_fabs(x) < __builtin_inf() ? __isakit_reduced_far(x, quadrant, low) : __builtin_nan("");
    }
    double n = rint(x * 0.63661977236758138);
    *quadrant = (int)n;
    /* pi/2 in three pieces; the first two have 33 bits, so that n times them is exact */
    double a = x - n * 1.5707963267341256, b = n * 6.0771005063039660e-11, r = a - b;
    double lost = (a - r) - b;
    double c = fma(n, -2.0222662487959506e-21, lost), out = r + c;
    *low = c - (out - r);
    return out;
}
__ISAKIT_DEVICE double __isakit_sin_pair(double r, double low, double *rest)
{
    double z = r * r, p = -7.5864559400179732e-13;
    p = fma(p, z, 1.6058527519437729e-10), p = fma(p, z, -2.5052106206531682e-08), p = fma(p, z, 2.7557319219264408e-06);
    p = fma(p, z, -0.00019841269841264968), p = fma(p, z, 0.0083333333333333315), p = fma(p, z, -0.16666666666666666);
    double small = fma(r * z, p, low) - 0.5 * z * low, sum = r + small;
    *rest = (r - sum) + small;
    return sum;
}
__ISAKIT_DEVICE double __isakit_cos_pair(double r, double low, double *rest)
{
    double z = r * r, p = 4.7457378114259111e-14;
    p = fma(p, z, -1.1470458608341428e-11), p = fma(p, z, 2.0876755776671767e-09), p = fma(p, z, -2.7557319221361261e-07);
    p = fma(p, z, 2.4801587301584594e-05), p = fma(p, z, -0.0013888888888888887), p = fma(p, z, 0.041666666666666664);
    double h = 0.5 * z, w = 1.0 - h;
    double small = ((1.0 - w) - h) + fma(z * z, p, -r * low), sum = w + small;
    *rest = (w - sum) + small;
    return sum;
}
__ISAKIT_DEVICE double __isakit_sin_of(double r, double low, int quadrant)
{
    double rest, y = quadrant & 1 ? __isakit_cos_pair(r, low, &rest) : __isakit_sin_pair(r, low, &rest);
    return quadrant & 2 ? -y : y;
}
__ISAKIT_DEVICE double sin(double x)
{
    int q;
    double low, r = __isakit_reduced(x, &q, &low);
    return x == 0.0 ? x : __isakit_sin_of(r, low, q);
}
__ISAKIT_DEVICE double cos(double x)
{
    int q;
    double low, r = __isakit_reduced(x, &q, &low);
    return __isakit_sin_of(r, low, q + 1);
}
__ISAKIT_DEVICE void sincos(double x, double *s, double *c)
{
    int q;
    double low, r = __isakit_reduced(x, &q, &low);
    *s = __isakit_sin_of(r, low, q), *c = __isakit_sin_of(r, low, q + 1);
}
__ISAKIT_DEVICE double tan(double x)
{
    int q;
    double low, r = __isakit_reduced(x, &q, &low), s_low, s = __isakit_sin_pair(r, low, &s_low);
    double c_low, c = __isakit_cos_pair(r, low, &c_low);
    if (x == 0.0) return x;
    double n = q & 1 ? -c : s, n_low = q & 1 ? -c_low : s_low, d = q & 1 ? s : c, d_low = q & 1 ? s_low : c_low, y = n / d;
    return __builtin_fabs(x) < 1.0e-280 ? y : y + (fma(-y, d, n) + (n_low - y * d_low)) / d;
}
__ISAKIT_DEVICE double sinpi(double x)
{
    double n = rint(2.0 * x), r = x - 0.5 * n;
    if (!(__builtin_fabs(x) < __builtin_inf())) return __builtin_nan("");
    if (trunc(x) == x) return x * 0.0;
    double t = r * 3.1415926535897931;
    return __isakit_sin_of(t, fma(r, 1.2246467991473532e-16, fma(r, 3.1415926535897931, -t)), (int)(long long)n);
}
__ISAKIT_DEVICE double cospi(double x)
{
    double a = __builtin_fabs(x), n = rint(2.0 * a), r = a - 0.5 * n, t = r * 3.1415926535897931;
    if (!(a < __builtin_inf())) return __builtin_nan("");
    if (a >= 9007199254740992.0) return 1.0;
    return __isakit_sin_of(t, fma(r, 1.2246467991473532e-16, fma(r, 3.1415926535897931, -t)), (int)(long long)n + 1);
}
/* (asin(s) - s) / s, from z = s^2 <= 1/4 */
__ISAKIT_DEVICE double __isakit_asin_tail(double z)
{
    double p = 0.02877844261259304;
    p = fma(p, z, -0.014881409392818066), p = fma(p, z, 0.017419357964884856), p = fma(p, z, 0.0054508781877205502);
    p = fma(p, z, 0.010324318288744113), p = fma(p, z, 0.011478952690257387), p = fma(p, z, 0.013971235301124539);
    p = fma(p, z, 0.017352391265909227), p = fma(p, z, 0.022372173002005596), p = fma(p, z, 0.030381944137085216);
    p = fma(p, z, 0.04464285714637338), p = fma(p, z, 0.074999999999984246), p = fma(p, z, 0.16666666666666669);
    return z * p;
}
__ISAKIT_DEVICE double asin(double x)
{
    double a = __builtin_fabs(x);
    if (a < 0.5) return fma(x, __isakit_asin_tail(x * x), x);
    /* pi/2 - 2 asin(s), with what the root and the difference have lost */
    double z = 0.5 * (1.0 - a), s = sqrt(z), s_lost = fma(-s, s, z) / (2.0 * s + 1.0e-300);
    double most = 1.5707963267948966 - 2.0 * s, lost = (1.5707963267948966 - most) - 2.0 * s;
    return copysign(most + (lost - (2.0 * fma(s, __isakit_asin_tail(z), s_lost) - 6.1232339957367660e-17)), x);
}
__ISAKIT_DEVICE double acos(double x)
{
    double a = __builtin_fabs(x);
    if (a < 0.5) return 1.5707963267948966 - (x + fma(x, __isakit_asin_tail(x * x), -6.1232339957367660e-17));
    double z = 0.5 * (1.0 - a), s = sqrt(z), y = 2.0 * fma(s, __isakit_asin_tail(z), s);
    return x > 0.0 ? y : 3.1415926535897931 - (y - 1.2246467991473532e-16);
}
/* atan(y / x) for 0 <= y <= x */
__ISAKIT_DEVICE double __isakit_atan_part(double y, double x)
{
    bool far = y > 0.41421356237309503 * x;
    double n = far ? y - x : y, d = far ? y + x : x, a = n / d; /* atan(q) = pi/4 + atan((q - 1) / (q + 1)) */
    double low = 0.0;
    if (far) low = (fma(-a, d, n) + ((y - (n + x)) - a * (y - (d - x)))) / d;
    double z = a * a, p = -0.013790276896186757;
    p = fma(p, z, 0.030508638210712917), p = fma(p, z, -0.04098925212046918), p = fma(p, z, 0.047180245459013503);
    p = fma(p, z, -0.05257825876436812), p = fma(p, z, 0.05881902886080892), p = fma(p, z, -0.066666404766128118);
    p = fma(p, z, 0.076923066660884526), p = fma(p, z, -0.090909090650088439), p = fma(p, z, 0.11111111110721053);
    p = fma(p, z, -0.14285714285711226), p = fma(p, z, 0.1999999999999999), p = fma(p, z, -0.33333333333333331);
    double r = fma(a * z, p, a);
    return far ? 0.78539816339744828 + (r + (3.0616169978683830e-17 + low)) : r;
}
__ISAKIT_DEVICE double atan(double x)
{
    double a = __builtin_fabs(x);
    if (a != a) return x + x;
    double y = a == __builtin_inf() ? 1.5707963267948966
             : a > 1.0 ? 1.5707963267948966 - (__isakit_atan_part(1.0, a) - 6.1232339957367660e-17) : __isakit_atan_part(a, 1.0);
    return copysign(y, x);
}
__ISAKIT_DEVICE double atan2(double y, double x)
{
    if (x != x || y != y) return x + y;
    double a = __builtin_fabs(x), b = __builtin_fabs(y), most = a > b ? a : b, least = a > b ? b : a;
    double r = most == 0.0 ? 0.0 : least == most ? 0.78539816339744828
             : most > 1.0e307 ? __isakit_atan_part(0.25 * least, 0.25 * most) : __isakit_atan_part(least, most);
    if (b > a) r = 1.5707963267948966 - (r - 6.1232339957367660e-17);
    if (__double2hiint(x) < 0) r = 3.1415926535897931 - (r - 1.2246467991473532e-16);
    return copysign(r, y);
}

/* --- hyperbolic functions -------------------------------------------------------------------------------------------------- */
/* (e^a + sign e^-a) / 2, for a >= 0 */
__ISAKIT_DEVICE double __isakit_exp_both(double a, double sign)
{
    double rest, most = __isakit_exp_pair(a, -1, &rest), least = sign * __isakit_exp(-a, 0.0, -1), sum = most + least;
    return sum < __builtin_inf() ? sum + (((most - sum) + least) + rest) : sum;
}
__ISAKIT_DEVICE double cosh(double x) { return __isakit_exp_both(__builtin_fabs(x), 1.0); }
__ISAKIT_DEVICE double sinh(double x)
{
    double a = __builtin_fabs(x), z = x * x, p = 2.8448590004367615e-15;
    if (!(a < 1.0)) return copysign(__isakit_exp_both(a, -1.0), x);
    p = fma(p, z, 7.6466144991482072e-13), p = fma(p, z, 1.6059048534903938e-10), p = fma(p, z, 2.5052108363187792e-08);
    p = fma(p, z, 2.7557319224043122e-06), p = fma(p, z, 0.00019841269841269768), p = fma(p, z, 0.0083333333333333332);
    p = fma(p, z, 0.16666666666666666);
    return fma(x * z, p, x);
}
__ISAKIT_DEVICE double tanh(double x)
{
    double a = __builtin_fabs(x), z = x * x, p = -2.0289800612514075e-05;
    if (a < 0.55) {
        p = fma(p, z, 8.4657186402503472e-05), p = fma(p, z, -0.00023435314845645768);
        p = fma(p, z, 0.00058884004225372827), p = fma(p, z, -0.0014556421112203049);
        p = fma(p, z, 0.0035921078811045905), p = fma(p, z, -0.00886323420601293), p = fma(p, z, 0.021869488485246009);
        p = fma(p, z, -0.053968253967247262), p = fma(p, z, 0.13333333333332556), p = fma(p, z, -0.33333333333333331);
        return copysign(fma(x * z, p, x), x);
    }
    double rest, e = __isakit_exp_pair(2.0 * (a < 40.0 || a != a ? a : 40.0), 0, &rest);
    double d = e + 1.0, q = 2.0 / d, y = 1.0 - q; /* and what rounding has taken from each */
    double q_low = (fma(-q, d, 2.0) - q * (((e - d) + 1.0) + rest)) / d;
    return copysign(y + (((1.0 - y) - q) - q_low), x);
}
__ISAKIT_DEVICE double asinh(double x)
{
    double a = __builtin_fabs(x), z = x * x;
    return copysign(a > 1.0e18 ? log(a) + 0.69314718055994529 : log1p(a + z / (1.0 + sqrt(1.0 + z))), x);
}
__ISAKIT_DEVICE double acosh(double x)
{
    double t = x - 1.0;
    if (t < 0.0) return __builtin_nan("");
    if (t == 0.0) return 0.0;
    if (x > 1.0e18) return log(x) + 0.69314718055994529;
    double v = fma(t, t, 2.0 * t), s = sqrt(v), u = t + s, lost = (t - (u - s)) + fma(-s, s, v) / (2.0 * s);
    return log1p(u) + lost / (1.0 + u);
}
__ISAKIT_DEVICE double atanh(double x)
{
    double a = __builtin_fabs(x);
    return copysign(0.5 * log1p(2.0 * a / (1.0 - a)), x);
}

/* --- error function ---------------------------------------------------------------------------------------------------------- */
__ISAKIT_DEVICE double __isakit_erf_part(double x)
{
    double z = x * x, p = -4.2116459732799509e-12;
    p = fma(p, z, 8.6969148695091615e-11), p = fma(p, z, -1.2161193068258871e-09), p = fma(p, z, 1.4791857980184993e-08);
    p = fma(p, z, -1.6364585736775698e-07), p = fma(p, z, 1.6462041494400115e-06), p = fma(p, z, -1.4925647378433174e-05);
    p = fma(p, z, 0.00012055332896705783), p = fma(p, z, -0.00085483270217997544), p = fma(p, z, 0.0052239776254214103);
    p = fma(p, z, -0.026866170645129684), p = fma(p, z, 0.11283791670955119), p = fma(p, z, -0.37612638903183754);
    return copysign(fma(x * z, p, x * 1.1283791670955126), x);
}
/* e^(x^2) erfc(x) for 0.48 <= x <= 28, from u = (x - 4) / (x + 4) */
__ISAKIT_DEVICE double __isakit_erfcx_part(double x)
{
    double u = (x - 4.0) / (x + 4.0), p = -2.4717744706191328e-10;
    p = fma(p, u, -4.1029776018087862e-10), p = fma(p, u, 2.2661177016916978e-09);
    p = fma(p, u, 3.8046470087650779e-09), p = fma(p, u, -1.5646205300919935e-08);
    p = fma(p, u, -2.1813626899191952e-08), p = fma(p, u, 1.1119741893910814e-07);
    p = fma(p, u, 7.8923230607848034e-08), p = fma(p, u, -8.2577062985925295e-07);
    p = fma(p, u, 2.9088180097946706e-07), p = fma(p, u, 5.7096571936618561e-06);
    p = fma(p, u, -1.1220735511849491e-05), p = fma(p, u, -2.4399110219930284e-05);
    p = fma(p, u, 0.00015062130121193615), p = fma(p, u, -0.00019925673410432296);
    p = fma(p, u, -0.0007577732182752606), p = fma(p, u, 0.0050319699857237594), p = fma(p, u, -0.016197734066100249);
    p = fma(p, u, 0.037167515536653428), p = fma(p, u, -0.066330365811639161), p = fma(p, u, 0.093732834998395603);
    p = fma(p, u, -0.1010390660363253), p = fma(p, u, 0.068097054254691564), p = fma(p, u, 0.015379652102620043);
    p = fma(p, u, -0.1396211168405625), p = fma(p, u, 1.2329951186255526);
    return p / fma(2.0, x, 1.0);
}
__ISAKIT_DEVICE double __isakit_gauss(double x)
{
    double z = x * x;
    return __isakit_exp(-z, -fma(x, x, -z), 0);
}
__ISAKIT_DEVICE double erfc(double x)
{
    double a = __builtin_fabs(x);
    if (a < 0.5) return 1.0 - __isakit_erf_part(x);
    if (a > 27.3) return x > 0.0 ? 0.0 : 2.0;
    double y = __isakit_gauss(a) * __isakit_erfcx_part(a);
    return x > 0.0 ? y : x < 0.0 ? 2.0 - y : x;
}
__ISAKIT_DEVICE double erf(double x)
{
    double a = __builtin_fabs(x);
    if (a < 0.75) return __isakit_erf_part(x);
    return x != x ? x : copysign(a > 6.0 ? 1.0 : 1.0 - __isakit_gauss(a) * __isakit_erfcx_part(a), x);
}
__ISAKIT_DEVICE double normcdf(double x)
{
    x = x > 40.0 ? 40.0 : x < -40.0 ? -40.0 : x;
    /* What rounding has taken from -x / sqrt(2) is worth more the larger x is. */
    double t = x * -0.70710678118654757, lost = fma(x, -0.70710678118654757, -t) + x * 4.8336466567264567e-17;
    return 0.5 * (erfc(t) - 1.1283791670955126 * exp(-t * t) * lost);
}

/* --- parts of numbers (exact) -------------------------------------------------------------------------------------------------- */
__ISAKIT_DEVICE double round(double x)
{
    double t = trunc(x);
    return __builtin_fabs(x - t) >= 0.5 ? t + copysign(1.0, x) : copysign(t, x);
}
__ISAKIT_DEVICE long long __isakit_whole(double x) { return __double2ll_rn(x); }
__ISAKIT_DEVICE double modf(double x, double *whole)
{
    *whole = trunc(x);
    return __builtin_fabs(x) == __builtin_inf() ? copysign(0.0, x) : copysign(x - *whole, x);
}
__ISAKIT_DEVICE double ldexp(double x, int n)
{
    n = n > 2200 ? 2200 : n < -2200 ? -2200 : n;
    int part = n > 1022 ? 1022 : n < -968 ? -968 : n; /* so that a number is rounded once */
    double y = x * __hiloint2double((part + 1023) << 20, 0);
    n -= part, part = n > 1022 ? 1022 : n < -968 ? -968 : n;
    y *= __hiloint2double((part + 1023) << 20, 0), n -= part;
    return y * __hiloint2double(((n > 1022 ? 1022 : n < -1022 ? -1022 : n) + 1023) << 20, 0);
}
__ISAKIT_DEVICE double frexp(double x, int *e)
{
    int more = 0;
    *e = 0;
    if (x == 0.0 || !(__builtin_fabs(x) < __builtin_inf())) return x + x;
    if (__builtin_fabs(x) < 2.2250738585072014e-308) x *= 18014398509481984.0, more = -54;
    int hi = __double2hiint(x);
    *e = (hi >> 20 & 2047) - 1022 + more;
    return __hiloint2double((hi & (int)0x800fffff) | 0x3fe00000, __double2loint(x));
}
__ISAKIT_DEVICE int ilogb(double x)
{
    int e;
    if (x == 0.0 || x != x) return (int)0x80000000;
    if (__builtin_fabs(x) == __builtin_inf()) return 0x7fffffff;
    frexp(x, &e);
    return e - 1;
}
__ISAKIT_DEVICE double logb(double x)
{
    return x == 0.0 ? -__builtin_inf() : __builtin_fabs(x) < __builtin_inf() ? (double)ilogb(x) : x * x;
}
__ISAKIT_DEVICE double nextafter(double x, double y)
{
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    if (x == 0.0) return copysign(4.9406564584124654e-324, y);
    long long i = __double_as_longlong(x);
    return __longlong_as_double((x < y) == (x > 0.0) ? i + 1 : i - 1);
}
/* The remainder, one bit of the quotient at a time: each step is exact. */
__ISAKIT_DEVICE double __isakit_remainder(double a, double b, unsigned *quotient)
{
    unsigned q = 0;
    if (a >= b) {
        int ea, eb;
        frexp(a, &ea), frexp(b, &eb);
        for (int k = ea - eb; k >= 0; k--) {
            double d = ldexp(b, k);
            q <<= 1;
            if (a >= d) a -= d, q |= 1;
        }
    }
    *quotient = q;
    return a;
}
__ISAKIT_DEVICE double fmod(double x, double y)
{
    double a = __builtin_fabs(x), b = __builtin_fabs(y);
    unsigned q;
    if (!(a < __builtin_inf()) || !(b > 0.0)) return __builtin_nan("");
    return b == __builtin_inf() ? x : copysign(__isakit_remainder(a, b, &q), x);
}
__ISAKIT_DEVICE double remquo(double x, double y, int *quotient)
{
    double a = __builtin_fabs(x), b = __builtin_fabs(y);
    unsigned q = 0;
    *quotient = 0;
    if (!(a < __builtin_inf()) || !(b > 0.0)) return __builtin_nan("");
    if (b == __builtin_inf()) return x;
    a = __isakit_remainder(a, b, &q);
    double rest = b - a;
    if (a > rest || (a == rest && (q & 1))) a = -rest, q++;
    *quotient = (__double2hiint(x) ^ __double2hiint(y)) < 0 ? -(int)(q & 0x7fffffff) : (int)(q & 0x7fffffff);
    return a == 0.0 ? copysign(0.0, x) : __double2hiint(x) < 0 ? -a : a;
}
#else /* a double is a float */
#define __ISAKIT_1(NAME) __ISAKIT_DEVICE double NAME(double x) { return NAME##f((float)x); }
#define __ISAKIT_2(NAME) __ISAKIT_DEVICE double NAME(double x, double y) { return NAME##f((float)x, (float)y); }
__ISAKIT_1(floor) __ISAKIT_1(ceil) __ISAKIT_1(trunc) __ISAKIT_1(rint) __ISAKIT_1(round) __ISAKIT_1(rsqrt)
__ISAKIT_1(exp) __ISAKIT_1(exp2) __ISAKIT_1(exp10) __ISAKIT_1(expm1)
__ISAKIT_1(log) __ISAKIT_1(log2) __ISAKIT_1(log10) __ISAKIT_1(log1p) __ISAKIT_1(logb)
__ISAKIT_1(cbrt) __ISAKIT_1(rcbrt) __ISAKIT_2(pow) __ISAKIT_2(hypot) __ISAKIT_2(rhypot)
__ISAKIT_1(sin) __ISAKIT_1(cos) __ISAKIT_1(tan) __ISAKIT_1(sinpi) __ISAKIT_1(cospi)
__ISAKIT_1(asin) __ISAKIT_1(acos) __ISAKIT_1(atan) __ISAKIT_2(atan2)
__ISAKIT_1(sinh) __ISAKIT_1(cosh) __ISAKIT_1(tanh) __ISAKIT_1(asinh) __ISAKIT_1(acosh) __ISAKIT_1(atanh)
__ISAKIT_1(erf) __ISAKIT_1(erfc) __ISAKIT_2(copysign) __ISAKIT_2(fmod) __ISAKIT_2(nextafter)
__ISAKIT_DEVICE double normcdf(double x) { return normcdff((float)x); }
__ISAKIT_DEVICE double fma(double a, double b, double c) { return fmaf((float)a, (float)b, (float)c); }
__ISAKIT_DEVICE int __isnan(double x) { return __isnanf((float)x); }
__ISAKIT_DEVICE int __isinf(double x) { return __isinff((float)x); }
__ISAKIT_DEVICE int __finite(double x) { return __finitef((float)x); }
__ISAKIT_DEVICE int __signbit(double x) { return __signbitf((float)x); }
__ISAKIT_DEVICE long long __isakit_whole(double x) { return __float2ll_rn((float)x); }
__ISAKIT_DEVICE int ilogb(double x) { return ilogbf((float)x); }
__ISAKIT_DEVICE double ldexp(double x, int n) { return ldexpf((float)x, n); }
__ISAKIT_DEVICE double frexp(double x, int *e) { return frexpf((float)x, e); }
__ISAKIT_DEVICE void sincos(double x, double *s, double *c)
{
    float a, b;
    sincosf((float)x, &a, &b);
    *s = a, *c = b;
}
__ISAKIT_DEVICE double modf(double x, double *whole)
{
    float w, y = modff((float)x, &w);
    *whole = w;
    return y;
}
__ISAKIT_DEVICE double remquo(double x, double y, int *quotient) { return remquof((float)x, (float)y, quotient); }
#undef __ISAKIT_1
#undef __ISAKIT_2
#endif

/* --- the same on every chip ------------------------------------------------------------------------------------------------- */
__ISAKIT_DEVICE double nearbyint(double x) { return rint(x); }
__ISAKIT_DEVICE double remainder(double x, double y)
{
    int q;
    return remquo(x, y, &q);
}
__ISAKIT_DEVICE long lround(double x) { return (long)round(x); }
__ISAKIT_DEVICE long long llround(double x) { return (long long)round(x); }
__ISAKIT_DEVICE long lrint(double x) { return (long)__isakit_whole(x); }
__ISAKIT_DEVICE long long llrint(double x) { return __isakit_whole(x); }
__ISAKIT_DEVICE double scalbn(double x, int n) { return ldexp(x, n); }
__ISAKIT_DEVICE double scalbln(double x, long n) { return ldexp(x, n > 4000 ? 4000 : n < -4000 ? -4000 : (int)n); }
__ISAKIT_DEVICE double fdim(double x, double y) { return x > y ? x - y : x != x || y != y ? x + y : 0.0; }
__ISAKIT_DEVICE double nan(const char *) { return __builtin_nan(""); }
/* The y > 0 with erfc(y) = q, erf(y) = p = 1 - q, from the answer for floats by Newton's method. */
__ISAKIT_DEVICE double __isakit_erf_inverse(double p, double q)
{
    double l = p < 0.5 ? log1p(-p * p) : log(q) + log(1.0 + p), b = 4.3307467 + 0.5 * l;
    double y = sqrt(sqrt(b * b - 6.8027211 * l) - b);
    for (int k = 0; k < 4; k++) {
        double off = p < 0.5 ? erf(y) - p : q - erfc(y), step = off * 0.88622692545275805 * exp(y * y);
        y -= step / (1.0 + y * step);
    }
    return y;
}
__ISAKIT_DEVICE double erfinv(double x)
{
    double a = __builtin_fabs(x);
    if (!(a < 1.0)) return a == 1.0 ? x * __builtin_inf() : __builtin_nan("");
    if (a < 1.0e-9) return x * 0.88622692545275805;
    return copysign(__isakit_erf_inverse(a, 1.0 - a), x);
}
__ISAKIT_DEVICE double erfcinv(double x)
{
    if (!(x > 0.0 && x < 2.0)) return x == 0.0 ? __builtin_inf() : x == 2.0 ? -__builtin_inf() : __builtin_nan("");
    return x > 1.0 ? (x == 1.0 ? 0.0 : -erfinv(x - 1.0)) : x > 0.5 ? erfinv(1.0 - x) : __isakit_erf_inverse(1.0 - x, x);
}
__ISAKIT_DEVICE double erfcx(double x)
{
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 130
    if (x > 28.0) { /* the first terms of its expansion at infinity */
        double w = 0.5 / (x * x), p = 1.0;
        for (int k = 13; k > 0; k -= 2) p = fma((double)-k * w, p, 1.0);
        return 0.56418958354775629 / x * p;
    }
    if (x >= 0.5) return __isakit_erfcx_part(x);
    if (x < -26.7) return __builtin_inf();
    double z = x * x;
    return __isakit_exp(z, fma(x, x, -z), 0) * erfc(x);
#else
    return erfcxf((float)x);
#endif
}
__ISAKIT_DEVICE double normcdfinv(double x) { return -1.4142135623730951 * erfcinv(2.0 * x); }

#endif

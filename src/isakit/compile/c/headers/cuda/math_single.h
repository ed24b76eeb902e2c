/* Functions of floats. The error bounds are those of the CUDA C Programming Guide 5.0, appendix C. */
#ifndef ISAKIT_MATH_SINGLE_H
#define ISAKIT_MATH_SINGLE_H
#include "device_functions.h"

/* --- what one instruction does ----------------------------------------------------------------------------------------- */
__ISAKIT_DEVICE float fabsf(float x) { return __builtin_fabsf(x); }
__ISAKIT_DEVICE float floorf(float x) { return __builtin_floorf(x); }
__ISAKIT_DEVICE float ceilf(float x) { return __builtin_ceilf(x); }
__ISAKIT_DEVICE float truncf(float x) { return __builtin_truncf(x); }
__ISAKIT_DEVICE float rintf(float x) { float y; asm("cvt.rni.f32.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
__ISAKIT_DEVICE float nearbyintf(float x) { return rintf(x); }
__ISAKIT_DEVICE float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
__ISAKIT_DEVICE float fminf(float a, float b) { return __builtin_fminf(a, b); }
__ISAKIT_DEVICE float fmaxf(float a, float b) { return __builtin_fmaxf(a, b); }
__ISAKIT_DEVICE float sqrtf(float x) { return __nvvm_sqrt_rn_f(x); }
__ISAKIT_DEVICE float rsqrtf(float x) { return __nvvm_rsqrt_approx_f(x); }
__ISAKIT_DEVICE int __isnanf(float x) { return x != x; }
__ISAKIT_DEVICE int __isinff(float x) { return __builtin_fabsf(x) == __builtin_inff(); }
__ISAKIT_DEVICE int __finitef(float x) { return __builtin_fabsf(x) < __builtin_inff(); }
__ISAKIT_DEVICE int __signbitf(float x) { return __float_as_int(x) < 0; }

__ISAKIT_DEVICE float __expf(float x) { return __nvvm_ex2_approx_f(x * 1.4426950408889634f); }
__ISAKIT_DEVICE float __exp10f(float x) { return __nvvm_ex2_approx_f(x * 3.3219280948873623f); }
__ISAKIT_DEVICE float __log2f(float x) { return __nvvm_lg2_approx_f(x); }
__ISAKIT_DEVICE float __logf(float x) { return __nvvm_lg2_approx_f(x) * 0.69314718055994531f; }
__ISAKIT_DEVICE float __log10f(float x) { return __nvvm_lg2_approx_f(x) * 0.30102999566398120f; }
__ISAKIT_DEVICE float __sinf(float x) { return __nvvm_sin_approx_f(x); }
__ISAKIT_DEVICE float __cosf(float x) { return __nvvm_cos_approx_f(x); }
__ISAKIT_DEVICE float __fdividef(float a, float b) { return __nvvm_div_approx_f(a, b); }
__ISAKIT_DEVICE float fdividef(float a, float b) { return a / b; }
__ISAKIT_DEVICE float __tanf(float x) { return __fdividef(__sinf(x), __cosf(x)); }
__ISAKIT_DEVICE void __sincosf(float x, float *s, float *c) { *s = __sinf(x), *c = __cosf(x); }
__ISAKIT_DEVICE float __powf(float x, float y) { return __nvvm_ex2_approx_f(y * __nvvm_lg2_approx_f(x)); }
__ISAKIT_DEVICE float __saturatef(float x) { float y; asm("cvt.sat.f32.f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
__ISAKIT_DEVICE float saturate(float x) { return __saturatef(x); }

#define __ISAKIT_ROUNDED(NAME, OP)                                                                                        \
    __ISAKIT_DEVICE float NAME##_rn(float a, float b) { float y; asm(OP ".rn.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; } \
    __ISAKIT_DEVICE float NAME##_rz(float a, float b) { float y; asm(OP ".rz.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; } \
    __ISAKIT_DEVICE float NAME##_ru(float a, float b) { float y; asm(OP ".rp.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; } \
    __ISAKIT_DEVICE float NAME##_rd(float a, float b) { float y; asm(OP ".rm.f32 %0, %1, %2;" : "=f"(y) : "f"(a), "f"(b)); return y; }
__ISAKIT_ROUNDED(__fadd, "add")
__ISAKIT_ROUNDED(__fsub, "sub")
__ISAKIT_ROUNDED(__fmul, "mul")
__ISAKIT_ROUNDED(__fdiv, "div")
#undef __ISAKIT_ROUNDED
#define __ISAKIT_ROUNDED(R, P)                                                                                            \
    __ISAKIT_DEVICE float __frcp_##R(float x) { float y; asm("rcp." P ".f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }     \
    __ISAKIT_DEVICE float __fsqrt_##R(float x) { float y; asm("sqrt." P ".f32 %0, %1;" : "=f"(y) : "f"(x)); return y; }
__ISAKIT_ROUNDED(rn, "rn")
__ISAKIT_ROUNDED(rz, "rz")
__ISAKIT_ROUNDED(ru, "rp")
__ISAKIT_ROUNDED(rd, "rm")
#undef __ISAKIT_ROUNDED

/* --- a product and a sum that are rounded once ------------------------------------------------------------------------- */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ < 130
/* In integers, denormals too: the product has 48 bits, the sum 62 of which the last says whether more were lost.
   `how` rounds: 0 to the nearest, 1 towards zero, 2 up, 3 down. */
__attribute__((device)) static __attribute__((noinline)) float __isakit_fused(float a, float b, float c, int how)
{
    unsigned u = (unsigned)__float_as_int(a), v = (unsigned)__float_as_int(b), w = (unsigned)__float_as_int(c);
    unsigned sign = (u ^ v) & 0x80000000u, sign_c = w & 0x80000000u;
    int ea = (int)(u >> 23 & 255), eb = (int)(v >> 23 & 255), ec = (int)(w >> 23 & 255);
    if (ea == 255 || eb == 255) { /* a denormal times infinity is infinite */
        if (ea == 0 && u << 1) a = 1.0f;
        if (eb == 0 && v << 1) b = 1.0f;
        float y = a * b;
        return (y != y ? y : __int_as_float((__float_as_int(y) & 0x7fffffff) | (int)sign)) + c;
    }
    if (ec == 255) return c + c;
    if (!(u << 1) || !(v << 1))
        return w << 1 ? c : __int_as_float((int)(sign == sign_c ? sign : how == 3 ? 0x80000000u : 0u));
    unsigned ma = (u & 0x7fffffu) | (ea ? 0x800000u : 0u), mb = (v & 0x7fffffu) | (eb ? 0x800000u : 0u);
    unsigned long long p = (unsigned long long)ma * mb, q = (w & 0x7fffffu) | (ec ? 0x800000u : 0u);
    int e = (ea ? ea : 1) + (eb ? eb : 1) - 300, f = (ec ? ec : 1) - 150, shift = __clzll((long long)p) - 2;
    p <<= shift, e -= shift; /* the first bit of both is bit 61 */
    if (q) shift = __clzll((long long)q) - 2, q <<= shift, f -= shift;
    else f = e;
    bool less = sign != sign_c;
    if (f > e || (f == e && q > p)) {
        unsigned long long t = p;
        int g = e;
        p = q, q = t, e = f, f = g, sign = sign_c;
    }
    int d = e - f;
    if (d > 62) q = q != 0;
    else if (d) q = q >> d | ((q << (64 - d)) != 0);
    unsigned long long r = less ? p - q : p + q;
    if (!r) return __int_as_float(how == 3 ? (int)0x80000000u : 0);
    shift = __clzll((long long)r) - 1;
    r <<= shift, e += 189 - shift; /* the first bit is bit 62, of which the exponent is that of the result */
    int cut = e < 1 ? 40 - e : 39;
    if (cut > 63) r = 1, cut = 2;
    unsigned long long m = r >> cut, lost = r - (m << cut), half = 1ull << (cut - 1);
    bool up = how == 0 ? lost > half || (lost == half && (m & 1)) : lost && how != 1 && (how == 2) == !sign;
    unsigned bits = (e < 1 ? 0u : (unsigned)(e - 1) << 23) + (unsigned)m + (up ? 1u : 0u);
    if (e > 254 || bits >= 0x7f800000u) bits = how == 0 || (how != 1 && (how == 2) == !sign) ? 0x7f800000u : 0x7f7fffffu;
    return __int_as_float((int)(bits | sign));
}
__ISAKIT_DEVICE float __fmaf_rn(float a, float b, float c) { return __isakit_fused(a, b, c, 0); }
__ISAKIT_DEVICE float __fmaf_rz(float a, float b, float c) { return __isakit_fused(a, b, c, 1); }
__ISAKIT_DEVICE float __fmaf_ru(float a, float b, float c) { return __isakit_fused(a, b, c, 2); }
__ISAKIT_DEVICE float __fmaf_rd(float a, float b, float c) { return __isakit_fused(a, b, c, 3); }
#else
#define __ISAKIT_ROUNDED(R, P)                                                                                            \
    __ISAKIT_DEVICE float __fmaf_##R(float a, float b, float c) { float y; asm("fma." P ".f32 %0, %1, %2, %3;" : "=f"(y) : "f"(a), "f"(b), "f"(c)); return y; }
__ISAKIT_ROUNDED(rn, "rn")
__ISAKIT_ROUNDED(rz, "rz")
__ISAKIT_ROUNDED(ru, "rp")
__ISAKIT_ROUNDED(rd, "rm")
#undef __ISAKIT_ROUNDED
#endif
__ISAKIT_DEVICE float fmaf(float a, float b, float c) { return __fmaf_rn(a, b, c); }

/* With -use_fast_math these instructions stand for the functions below. */
#ifdef __ISAKIT_FAST_MATH__
#define __ISAKIT_FAST(...) return __VA_ARGS__
#else
#define __ISAKIT_FAST(...)
#endif

/* --- pieces of the functions below ------------------------------------------------------------------------------------ */
#define __ISAKIT_LN2_HI 0.693359375f
#define __ISAKIT_LN2_LO -2.12194440e-4f
/* y 2^n, for y near 1 and -252 <= n <= 254. */
__ISAKIT_DEVICE float __isakit_scaled(float y, int n)
{
    int half = n >> 1;
    return y * __int_as_float((half + 127) << 23) * __int_as_float((n - half + 127) << 23);
}
/* (e^r - 1 - r - r^2/2) / r^2, |r| <= ln(2)/2 */
__ISAKIT_DEVICE float __isakit_exp_cubic(float r)
{
    return ((((0.000198919806f * r + 0.00139345415f) * r + 0.00833331048f) * r + 0.0416664556f) * r + 0.166666672f) * r;
}
__ISAKIT_DEVICE float __isakit_exp_tail(float r) { return __isakit_exp_cubic(r) + 0.5f; }
/* e^x 2^more */
__ISAKIT_DEVICE float __isakit_exp(float x, int more)
{
    x = x > 128.0f ? 128.0f : x < -128.0f ? -128.0f : x;
    float n = rintf(x * 1.4426950408889634f), r = (x - n * __ISAKIT_LN2_HI) - n * __ISAKIT_LN2_LO;
    float sum = 1.0f + r, lost = r - (sum - 1.0f);
    return __isakit_scaled(sum + (lost + r * r * __isakit_exp_tail(r)), (int)n + more);
}
/* The parts of a logarithm: x = 2^e (1 + f), sqrt(1/2) <= 1 + f < sqrt(2); gives log(1 + f) - f. x is finite and positive. */
__ISAKIT_DEVICE float __isakit_log_parts(float x, float *e, float *f)
{
    int i = __float_as_int(x), n = (i - 0x3f3504f3) >> 23;
    *e = (float)n;
    float g = *f = __int_as_float(i - (n << 23)) - 1.0f, z = g * g;
    /* (log(1 + f) - f + f^2/2) / f^3 */
    float p = (((((((0.0698070228f * g - 0.114945464f) * g + 0.116890714f) * g - 0.124240376f) * g + 0.142485514f) * g
                 - 0.166678503f) * g + 0.200007305f) * g - 0.24999997f) * g + 0.333333313f;
    return z * g * p - 0.5f * z;
}
/* What a logarithm is where x has none, or where it is infinite. */
__ISAKIT_DEVICE float __isakit_log_edge(float x)
{
    return x == 0.0f ? -__builtin_inff() : x < 0.0f ? __builtin_nanf("") : x + x;
}
__ISAKIT_DEVICE bool __isakit_log_plain(float x) { return x >= 1.17549435e-38f && x < __builtin_inff(); }

/* --- exponentials (2 ulp), expm1f (1) ----------------------------------------------------------------------------------- */
__ISAKIT_DEVICE float expf(float x) { __ISAKIT_FAST(__expf(x)); return __isakit_exp(x, 0); }
__ISAKIT_DEVICE float exp2f(float x)
{
    x = x > 200.0f ? 200.0f : x < -200.0f ? -200.0f : x;
    float n = rintf(x), r = x - n;
    /* (2^r - 1) / r */
    float p = (((((1.52982211e-05f * r + 0.000154626105f) * r + 0.00133334997f) * r + 0.00961805414f) * r + 0.0555041097f) * r
               + 0.240226507f) * r + 0.693147182f;
    return __isakit_scaled(1.0f + r * p, (int)n);
}
__ISAKIT_DEVICE float exp10f(float x)
{
    __ISAKIT_FAST(__exp10f(x));
    x = x > 60.0f ? 60.0f : x < -60.0f ? -60.0f : x;
    /* x = n log10(2) + r, log10(2) in two pieces */
    float n = rintf(x * 3.3219280948873623f), r = (x - n * 0.30078125f) - n * 2.48745663981195e-4f;
    float hi = r * 2.302734375f, t = hi + r * -1.49282006e-4f;
    return __isakit_scaled(1.0f + (t + t * t * __isakit_exp_tail(t)), (int)n);
}
__ISAKIT_DEVICE float expm1f(float x)
{
    if (!(__builtin_fabsf(x) < 88.0f)) return x > 0.0f ? expf(x) : x < 0.0f ? -1.0f : x;
    float n = rintf(x * 1.4426950408889634f), most_of_r = x - n * __ISAKIT_LN2_HI, r = most_of_r - n * __ISAKIT_LN2_LO;
    /* e^r = 1 + r + square + small, the square of r's first half of bits, which is exact */
    float hi = __int_as_float(__float_as_int(r) & ~0xfff), square = 0.5f * hi * hi;
    float small = r * r * __isakit_exp_cubic(r) + (0.5f * (r - hi) * (r + hi) + ((most_of_r - r) - n * __ISAKIT_LN2_LO));
    if (n == 0.0f) return copysignf(x + (square + small), x);
    /* 2^n (1 + r + square + small) - 1: the one is taken away where it is exact */
    float s = __isakit_scaled(1.0f, (int)n - 1), most = s - 0.5f, rest = (s - most) - 0.5f;
    float a = s * r, sum = most + a, b = s * square, all = sum + b, lost = (a - (sum - most)) + (b - (all - sum));
    return 2.0f * (all + (lost + (s * small + rest)));
}

/* --- logarithms: logf 1 ulp, log2f and log10f 3, log1pf 2 ------------------------------------------------------------ */
__ISAKIT_DEVICE float logf(float x)
{
    __ISAKIT_FAST(__logf(x));
    if (!__isakit_log_plain(x)) return __isakit_log_edge(x);
    float e, f, t = __isakit_log_parts(x, &e, &f);
    return e * __ISAKIT_LN2_HI + (f + (t + e * __ISAKIT_LN2_LO));
}
__ISAKIT_DEVICE float log2f(float x)
{
    __ISAKIT_FAST(__log2f(x));
    if (!__isakit_log_plain(x)) return __isakit_log_edge(x);
    float e, f, t = __isakit_log_parts(x, &e, &f);
    /* log2(e) = 1.4423828125 + 3.122284e-4, and f in two pieces, so that the first product is exact */
    float hi = __int_as_float(__float_as_int(f) & ~0xfff), lo = (f - hi) + t;
    return e + (hi * 1.4423828125f + (lo * 1.4426950408889634f + hi * 3.12228403e-4f));
}
__ISAKIT_DEVICE float log10f(float x)
{
    __ISAKIT_FAST(__log10f(x));
    if (!__isakit_log_plain(x)) return __isakit_log_edge(x);
    float e, f, t = __isakit_log_parts(x, &e, &f);
    float hi = __int_as_float(__float_as_int(f) & ~0xfff), lo = (f - hi) + t;
    float small = lo * 0.43429448190325183f + hi * -1.37392597e-4f + e * 2.48745663981195e-4f;
    return e * 0.30078125f + (hi * 0.434431875f + small);
}
__ISAKIT_DEVICE float log1pf(float x)
{
    float u = 1.0f + x;
    if (!__isakit_log_plain(u)) return __isakit_log_edge(u);
    if (__builtin_fabsf(x) < 2.9802322e-8f) return x;
    float e, f, t = __isakit_log_parts(u, &e, &f);
    float lost = x > 1.0f ? 1.0f - (u - x) : x - (u - 1.0f); /* what rounding has taken from u */
    return e * __ISAKIT_LN2_HI + (f + (t + (e * __ISAKIT_LN2_LO + __fdividef(lost, u < 8.5e37f ? u : 8.5e37f))));
}

/* --- powers: powf 8 ulp, cbrtf 1, hypotf 3 -------------------------------------------------------------------------- */
/* a b as a sum of two floats: the second is what the first has lost. */
__ISAKIT_DEVICE float __isakit_product(float a, float b, float *lost)
{
    float p = a * b;
    float ah = __int_as_float(__float_as_int(a) & ~0xfff), al = a - ah;
    float bh = __int_as_float(__float_as_int(b) & ~0xfff), bl = b - bh;
    *lost = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
    return p;
}
/* log(x) as a sum of two floats, for x finite and positive. */
__ISAKIT_DEVICE float __isakit_log_pair(float x, float *low)
{
    int i = __float_as_int(x), n = (i - 0x3f3504f3) >> 23;
    float e = (float)n, f = __int_as_float(i - (n << 23)) - 1.0f;
    /* s = f / (2 + f) in two pieces, the second of which mends the first; log(1 + f) = 2 s + s^3 (2/3 + ...) */
    float d = 2.0f + f, d_lost = f - (d - 2.0f), s = __fdividef(f, d), lost, p = __isakit_product(s, d, &lost);
    float z_lost, c_lost, t_lost, s_low = __fdividef(((f - p) - lost) - s * d_lost, d), z = __isakit_product(s, s, &z_lost);
    float r = (((0.193631873f * z + 0.22191374f) * z + 0.285717547f) * z + 0.399999976f) * z + 0.666666687f;
    float c = __isakit_product(s, z, &c_lost), t = __isakit_product(c, r, &t_lost);
    float hi = e * __ISAKIT_LN2_HI, sum = hi + 2.0f * s;
    float sum_lost = __builtin_fabsf(hi) >= __builtin_fabsf(2.0f * s) ? 2.0f * s - (sum - hi) : hi - (sum - 2.0f * s);
    float rest = t_lost + r * (c_lost + s * z_lost) + 2.0f * (s_low + s_low * z);
    float small = sum_lost + (t + (rest + e * __ISAKIT_LN2_LO));
    float out = sum + small;
    *low = small - (out - sum);
    return out;
}
__ISAKIT_DEVICE float powf(float x, float y)
{
    __ISAKIT_FAST(__powf(x, y));
    if (x == 1.0f || y == 0.0f) return 1.0f;
    if (x != x || y != y) return x + y;
    float a = __builtin_fabsf(x), w = __builtin_fabsf(y);
    bool whole = truncf(y) == y, odd = whole && w < 16777216.0f && ((int)w & 1);
    float sign = odd && __float_as_int(x) < 0 ? -1.0f : 1.0f;
    if (w == __builtin_inff()) return a == 1.0f ? 1.0f : (a > 1.0f) == (y > 0.0f) ? w : 0.0f;
    if (!__isakit_log_plain(a)) { /* 0 or infinite */
        bool large = (a != __builtin_inff()) == (y < 0.0f);
        return large ? sign * __builtin_inff() : sign * 0.0f;
    }
    if (x < 0.0f && !whole) return __builtin_nanf("");
    if (w > 4294967296.0f) y = copysignf(4294967296.0f, y);
    float low, high = __isakit_log_pair(a, &low), lost, t = __isakit_product(y, high, &lost);
    lost += y * low;
    if (!(__builtin_fabsf(t) < 128.0f)) return sign * (t > 0.0f ? __builtin_inff() : 0.0f);
    float n = rintf(t * 1.4426950408889634f), r = ((t - n * __ISAKIT_LN2_HI) - n * __ISAKIT_LN2_LO) + lost;
    return sign * __isakit_scaled(1.0f + (r + r * r * __isakit_exp_tail(r)), (int)n);
}
__ISAKIT_DEVICE float cbrtf(float x)
{
    float a = __builtin_fabsf(x);
    if (!__isakit_log_plain(a)) return x + x;
    float y = __nvvm_ex2_approx_f(0.33333333f * __nvvm_lg2_approx_f(a));
    y = y - (y - __fdividef(a, y * y)) * 0.33333333f;
    y = y - (y - a / (y * y)) * 0.33333333f;
    return copysignf(y, x);
}
__ISAKIT_DEVICE float rcbrtf(float x) { return 1.0f / cbrtf(x); }
/* The root of the squares' sum as a sum of two floats; a and b are from 1e-30 to 1e30, or so much less that they count not. */
__ISAKIT_DEVICE float __isakit_hypot_pair(float a, float b, float *low)
{
    float most = a > b ? a : b, least = a > b ? b : a, lost;
    float t = least / most, back = __isakit_product(t, most, &lost), t_low = __fdividef((least - back) - lost, most);
    float z = __isakit_product(t, t, &lost), w = 1.0f + z, w_low = ((1.0f - w) + z) + (lost + 2.0f * t * t_low);
    float h = sqrtf(w), square = __isakit_product(h, h, &lost), rest = ((w - square) - lost) + w_low;
    float p = __isakit_product(most, h, &lost);
    *low = lost + most * __fdividef(0.5f * rest, h);
    return p;
}
/* The power of two that numbers are multiplied by, so that neither their squares' parts nor those of their product are denormals. */
__ISAKIT_DEVICE float __isakit_hypot_scale(float most)
{
    return most > 1.0e12f ? 5.42101086e-20f : most < 1.0e-12f ? 1.84467441e19f : 1.0f;
}
__ISAKIT_DEVICE float hypotf(float x, float y)
{
    float a = __builtin_fabsf(x), b = __builtin_fabsf(y), low, s = __isakit_hypot_scale(a > b ? a : b);
    if (a == __builtin_inff() || b == __builtin_inff()) return __builtin_inff();
    if (x != x || y != y || a + b == 0.0f) return a + b;
    float p = __isakit_hypot_pair(a * s, b * s, &low);
    return (p + low) * (1.0f / s);
}
__ISAKIT_DEVICE float rhypotf(float x, float y)
{
    float a = __builtin_fabsf(x), b = __builtin_fabsf(y), low, s = __isakit_hypot_scale(a > b ? a : b);
    if (a == __builtin_inff() || b == __builtin_inff() || x != x || y != y || a + b == 0.0f) return 1.0f / hypotf(x, y);
    float p = __isakit_hypot_pair(a * s, b * s, &low), q = 1.0f / p;
    return (q - q * (q * low)) * s;
}

/* --- circular functions: sinf, cosf 2 ulp, tanf 4 --------------------------------------------------------------------- */
/* 32 bits of 2/pi from a place on; the first word is zero. */
__ISAKIT_DEVICE unsigned __isakit_two_over_pi(int word)
{
    return word == 0 ? 0 : word == 1 ? 0xa2f9836e : word == 2 ? 0x4e441529 : word == 3 ? 0xfc2757d1
         : word == 4 ? 0xf534ddc0 : word == 5 ? 0xdb629599 : word == 6 ? 0x3c439041 : 0xfe5163ab;
}
/* x less a multiple of pi/2, and which multiple, modulo 4; for any x, in whole numbers. */
__attribute__((device)) static __attribute__((noinline)) float __isakit_reduced_far(float x, int *quadrant)
{
    int bits = __float_as_int(x), at = (bits >> 23 & 255) - 128, shift = at & 31;
    unsigned m = (unsigned)bits << 8 | 0x80000000u, w[3], word = __isakit_two_over_pi(at >> 5);
    for (int k = 0; k < 3; k++) { /* 96 bits: those before give whole turns, those behind are too small */
        unsigned next = __isakit_two_over_pi((at >> 5) + k + 1);
        w[k] = (unsigned)((((unsigned long long)word << 32 | next) << shift) >> 32);
        word = next;
    }
    unsigned long long low = (unsigned long long)m * w[2], p = (unsigned long long)m * w[1] + (low >> 32);
    p += (unsigned long long)(m * w[0]) << 32;
    *quadrant = (int)((p + (1ull << 61)) >> 62);
    long long part = (long long)(p << 2);
    bool less = part < 0;
    unsigned long long size = less ? 0 - (unsigned long long)part : (unsigned long long)part;
    int zeros = __clzll((long long)size);
    /* times pi/2 2^31 in whole numbers, so that it is rounded once */
    unsigned long long turned = ((size << (zeros & 63)) >> 32) * 0xc90fdaa2ull;
    float r = (float)(unsigned)(turned >> 32) * 4.65661287e-10f * __int_as_float((127 - zeros) << 23);
    if (less) r = -r;
    if (bits < 0) r = -r, *quadrant = -*quadrant;
    return r;
}
__ISAKIT_DEVICE float __isakit_reduced(float x, int *quadrant)
{
    if (!(__builtin_fabsf(x) < 48000.0f)) {
        *quadrant = 0;
        return __builtin_fabsf(x) < __builtin_inff() ? __isakit_reduced_far(x, quadrant) : __builtin_nanf("");
    }
    float n = rintf(x * 0.63661977236758134f);
    *quadrant = (int)n;
    /* pi/2 in pieces that n times is exact; what the last exact difference is rounded by is made up for */
    float part = (x - n * 1.5703125f) - n * 4.8351287841796875e-4f, p = n * 3.1385570764541626e-7f, r = part - p;
    r += ((part - r) - p) - n * 6.0771005065061922e-11f;
    /* so near to a multiple that the last piece has too few digits */
    if (__builtin_fabsf(r) < __builtin_fabsf(n) * 6.0e-10f && __builtin_fabsf(n) > 1.0f) r = __isakit_reduced_far(x, quadrant);
    return r;
}
__ISAKIT_DEVICE float __isakit_sin_part(float r)
{
    float z = r * r;
    return r + r * z * (((2.72487023e-06f * z - 0.000198400769f) * z + 0.00833333191f) * z - 0.166666672f);
}
__ISAKIT_DEVICE float __isakit_cos_part(float r)
{
    float z = r * r, h = 0.5f * z, w = 1.0f - h;
    return w + (((1.0f - w) - h) + z * z * ((2.45469309e-05f * z - 0.00138882978f) * z + 0.0416666642f));
}
__ISAKIT_DEVICE float __isakit_sin_of(float r, int quadrant)
{
    float y = quadrant & 1 ? __isakit_cos_part(r) : __isakit_sin_part(r);
    return quadrant & 2 ? -y : y;
}
__ISAKIT_DEVICE float sinf(float x)
{
    __ISAKIT_FAST(__sinf(x));
    int q;
    float r = __isakit_reduced(x, &q);
    return x == 0.0f ? x : __isakit_sin_of(r, q);
}
__ISAKIT_DEVICE float cosf(float x)
{
    __ISAKIT_FAST(__cosf(x));
    int q;
    float r = __isakit_reduced(x, &q);
    return __isakit_sin_of(r, q + 1);
}
__ISAKIT_DEVICE void sincosf(float x, float *s, float *c)
{
    __ISAKIT_FAST(__sincosf(x, s, c));
    int q;
    float r = __isakit_reduced(x, &q);
    *s = __isakit_sin_of(r, q), *c = __isakit_sin_of(r, q + 1);
}
__ISAKIT_DEVICE float tanf(float x)
{
    __ISAKIT_FAST(__tanf(x));
    int q;
    float r = __isakit_reduced(x, &q), s = __isakit_sin_part(r), c = __isakit_cos_part(r);
    return x == 0.0f ? x : q & 1 ? -c / s : s / c;
}
/* pi r, |r| <= 1/4: the greater part of it is exact */
__ISAKIT_DEVICE float __isakit_times_pi(float r)
{
    float hi = __int_as_float(__float_as_int(r) & ~0xfff);
    if (__builtin_fabsf(r) < 1.0e-30f) return r * 3.14159265f; /* its lesser part would be a denormal */
    return hi * 3.140625f + (hi * 9.6765358979e-4f + (r - hi) * 3.14159265f);
}
__ISAKIT_DEVICE float sinpif(float x)
{
    float n = rintf(2.0f * x), r = x - 0.5f * n, whole = truncf(x);
    if (!(__builtin_fabsf(x) < __builtin_inff())) return __builtin_nanf("");
    if (whole == x) return x * 0.0f;
    return __isakit_sin_of(__isakit_times_pi(r), (int)n);
}
__ISAKIT_DEVICE float cospif(float x)
{
    float a = __builtin_fabsf(x), n = rintf(2.0f * a), r = a - 0.5f * n;
    if (!(a < __builtin_inff())) return __builtin_nanf("");
    if (a >= 16777216.0f) return 1.0f;
    return __isakit_sin_of(__isakit_times_pi(r), (int)n + 1);
}

/* --- their inverses: asinf 4 ulp, acosf 3, atanf 2, atan2f 3 ------------------------------------------------------------ */
/* (asin(s) - s) / s, from z = s^2 <= 1/4 */
__ISAKIT_DEVICE float __isakit_asin_tail(float z)
{
    return z * (((((0.0337007269f * z + 0.017143717f) * z + 0.0311017279f) * z + 0.0445993207f) * z + 0.0750009492f) * z
                + 0.166666657f);
}
__ISAKIT_DEVICE float asinf(float x)
{
    float a = __builtin_fabsf(x);
    if (a < 0.5f) return x + x * __isakit_asin_tail(x * x);
    float z = 0.5f * (1.0f - a), s = sqrtf(z); /* of a negative number: not a number */
    return copysignf(1.57079637f - (2.0f * (s + s * __isakit_asin_tail(z)) + 4.37113883e-8f), x);
}
__ISAKIT_DEVICE float acosf(float x)
{
    float a = __builtin_fabsf(x);
    if (a < 0.5f) return 1.57079637f - (x + (x * __isakit_asin_tail(x * x) + 4.37113883e-8f));
    float z = 0.5f * (1.0f - a), s = sqrtf(z), y = 2.0f * (s + s * __isakit_asin_tail(z));
    return x > 0.0f ? y : 3.14159274f - (y + 8.74227766e-8f);
}
/* atan(a) for 0 <= a <= 1 */
__ISAKIT_DEVICE float __isakit_atan_part(float a)
{
    float z = a * a;
    return a + a * z * ((((((((-0.00238699722f * z + 0.0135077713f) * z - 0.0358715393f) * z + 0.0625016913f) * z
                            - 0.0865688026f) * z + 0.110337645f) * z - 0.142785683f) * z + 0.199997395f) * z - 0.333333313f);
}
__ISAKIT_DEVICE float atanf(float x)
{
    float a = __builtin_fabsf(x);
    float y = a > 1.0f ? 1.57079637f - (__isakit_atan_part(1.0f / a) + 4.37113883e-8f) : __isakit_atan_part(a);
    return a != a ? x + x : copysignf(y, x);
}
__ISAKIT_DEVICE float atan2f(float y, float x)
{
    if (x != x || y != y) return x + y;
    float a = __builtin_fabsf(x), b = __builtin_fabsf(y), most = a > b ? a : b, least = a > b ? b : a;
    float q = most == 0.0f ? 0.0f : least == most ? 1.0f : least / most, r = __isakit_atan_part(q);
    if (b > a) r = 1.57079637f - (r + 4.37113883e-8f);
    if (__float_as_int(x) < 0) r = 3.14159274f - (r + 8.74227766e-8f);
    return copysignf(r, y);
}

/* --- hyperbolic functions: sinhf 3 ulp, coshf 2, tanhf 2, asinhf 3, acoshf 4, atanhf 3 -------------------------------- */
__ISAKIT_DEVICE float coshf(float x)
{
    float a = __builtin_fabsf(x);
    return __isakit_exp(a, -1) + __isakit_exp(-a, -1);
}
__ISAKIT_DEVICE float sinhf(float x)
{
    float a = __builtin_fabsf(x), z = x * x;
    if (a < 1.0f)
        return x + x * z * (((2.80679023e-06f * z + 0.000198380381f) * z + 0.00833334029f) * z + 0.166666672f);
    return copysignf(__isakit_exp(a, -1) - __isakit_exp(-a, -1), x);
}
__ISAKIT_DEVICE float tanhf(float x)
{
    float a = __builtin_fabsf(x), z = x * x;
    if (a < 0.55f)
        return copysignf(x + x * z * ((((-0.0065643955f * z + 0.0212847237f) * z - 0.0539053604f) * z + 0.133330926f) * z
                                     - 0.333333313f), x);
    return copysignf(1.0f - 2.0f / (__isakit_exp(2.0f * (a < 40.0f || a != a ? a : 40.0f), 0) + 1.0f), x);
}
__ISAKIT_DEVICE float asinhf(float x)
{
    float a = __builtin_fabsf(x), z = x * x;
    if (a < 0.5f)
        return copysignf(x + x * z * (((((0.00973385479f * z - 0.0204099249f) * z + 0.0301328469f) * z - 0.044628147f) * z
                                       + 0.0749996752f) * z - 0.166666672f), x);
    float y = a > 1.0e9f ? logf(a) + 0.69314718f : log1pf(a + z / (1.0f + sqrtf(1.0f + z)));
    return copysignf(y, x);
}
__ISAKIT_DEVICE float acoshf(float x)
{
    if (x > 1.0e9f) return logf(x) + 0.69314718f;
    float t = x - 1.0f;
    return t < 0.0f ? __builtin_nanf("") : log1pf(t + sqrtf(2.0f * t + t * t));
}
__ISAKIT_DEVICE float atanhf(float x)
{
    float a = __builtin_fabsf(x), z = x * x;
    if (a < 0.5f)
        return x + x * z * (((((0.162627265f * z + 0.0620240346f) * z + 0.115271084f) * z + 0.142594695f) * z + 0.200005949f) * z
                            + 0.333333313f);
    return copysignf(0.5f * log1pf(2.0f * a / (1.0f - a)), x);
}

/* --- error function and gamma function: erff 3 ulp, erfcf 6, erfinvf 3, erfcinvf 7, lgammaf 6, tgammaf 11 --------------- */
/* e^(x^2) erfc(x) for x >= 0.48, from u = (x - 4) / (x + 4) */
__ISAKIT_DEVICE float __isakit_erfcx_part(float x)
{
    if (x > 10.5f) { /* the first terms of its expansion at infinity */
        float w = 1.0f / (x * x);
        return 0.56418958f / x * (1.0f + w * (-0.5f + w * (0.75f - 1.875f * w)));
    }
    float u = (x - 4.0f) / (x + 4.0f);
    float g = 0.000138845353f;
    g = g * u - 0.0002295413f, g = g * u - 0.000758237089f, g = g * u + 0.00504494179f;
    g = g * u - 0.0161958896f, g = g * u + 0.0371649638f, g = g * u - 0.0663307905f, g = g * u + 0.0937330797f;
    g = g * u - 0.10103903f, g = g * u + 0.0680970401f, g = g * u + 0.0153796514f, g = g * u - 0.139621124f;
    g = g * u + 1.23299515f;
    return g / (1.0f + 2.0f * x);
}
/* e^(-x^2): the square in two pieces, and 2^64 times as large until the end, where there are no denormals */
__ISAKIT_DEVICE float __isakit_gauss(float x)
{
    float lost, z = __isakit_product(x, x, &lost), y = __isakit_exp(-z, 64);
    return (y - y * lost) * 5.42101086e-20f;
}
__ISAKIT_DEVICE float __isakit_erf_part(float x)
{
    float z = x * x;
    float p = ((((((-9.62580543e-06f * z + 0.000112524634f) * z - 0.000848235504f) * z + 0.00522092311f) * z - 0.0268653966f) * z
                + 0.112837821f) * z - 0.376126379f) * z;
    /* a part of the smallest numbers would be a denormal */
    return __builtin_fabsf(x) < 1.0e-36f ? x * 1.12837917f : x + x * (0.128379167f + p);
}
__ISAKIT_DEVICE float erfcf(float x)
{
    float a = __builtin_fabsf(x);
    if (a < 0.5f) return 1.0f - __isakit_erf_part(x);
    if (a > 10.5f) return x > 0.0f ? 0.0f : 2.0f;
    float y = __isakit_gauss(a) * __isakit_erfcx_part(a);
    return x > 0.0f ? y : x < 0.0f ? 2.0f - y : x;
}
__ISAKIT_DEVICE float erff(float x)
{
    float a = __builtin_fabsf(x);
    if (a < 0.75f) return __isakit_erf_part(x);
    return x != x ? x : copysignf(a > 4.0f ? 1.0f : 1.0f - __isakit_gauss(a) * __isakit_erfcx_part(a), x);
}
__ISAKIT_DEVICE float erfcxf(float x)
{
    if (x >= 0.5f) return __isakit_erfcx_part(x);
    if (x < -9.4f) return __builtin_inff();
    float lost, z = __isakit_product(x, x, &lost), y = __isakit_exp(z, 0);
    return (y + y * lost) * erfcf(x);
}
/* The y > 0 with erfc(y) = q, erf(y) = p = 1 - q: a first guess, and Newton's method on the smaller of both. */
__ISAKIT_DEVICE float __isakit_erf_inverse(float p, float q)
{
    float l = p < 0.5f ? log1pf(-p * p) : logf(q) + logf(1.0f + p), b = 4.3307467f + 0.5f * l;
    float y = sqrtf(sqrtf(b * b - 6.8027211f * l) - b);
    for (int k = 0; k < 3; k++) {
        float g = __isakit_gauss(y), off = p < 0.55f ? (erff(y) - p) / g : (q - erfcf(y)) / g;
        if (q < 1.0e-20f) off = q / g - __isakit_erfcx_part(y); /* the next guess's erfc may be 0 */
        float step = off * 0.88622693f;
        y -= step / (1.0f + y * step); /* Halley's */
    }
    return y;
}
__ISAKIT_DEVICE float erfinvf(float x)
{
    float a = __builtin_fabsf(x);
    if (!(a < 1.0f)) return a == 1.0f ? x * __builtin_inff() : __builtin_nanf("");
    if (a < 1.0e-4f) return x * 0.88622693f;
    return copysignf(__isakit_erf_inverse(a, 1.0f - a), x);
}
__ISAKIT_DEVICE float erfcinvf(float x)
{
    if (!(x > 0.0f && x < 2.0f)) return x == 0.0f ? __builtin_inff() : x == 2.0f ? -__builtin_inff() : __builtin_nanf("");
    return x > 1.0f ? (x == 1.0f ? 0.0f : -erfinvf(x - 1.0f)) : x > 0.5f ? erfinvf(1.0f - x) : __isakit_erf_inverse(1.0f - x, x);
}
__ISAKIT_DEVICE float normcdff(float x)
{
    x = x > 38.0f ? 38.0f : x < -38.0f ? -38.0f : x;
    /* What rounding has taken from -x / sqrt(2) is worth more the larger x is. */
    float lost, t = __isakit_product(x, -0.70710677f, &lost), y = erfcf(t);
    if (t > 0.5f) y *= 1.0f - (lost - x * 1.21016172e-08f) * 1.12837917f / __isakit_erfcx_part(t);
    return 0.5f * y;
}
__ISAKIT_DEVICE float normcdfinvf(float x) { return -1.41421356f * erfcinvf(2.0f * x); }

/* --- parts of numbers (exact) ------------------------------------------------------------------------------------------ */
__ISAKIT_DEVICE float roundf(float x)
{
    float t = truncf(x);
    return __builtin_fabsf(x - t) >= 0.5f ? t + copysignf(1.0f, x) : copysignf(t, x);
}
__ISAKIT_DEVICE long lroundf(float x) { return (long)roundf(x); }
__ISAKIT_DEVICE long long llroundf(float x) { return (long long)roundf(x); }
__ISAKIT_DEVICE long lrintf(float x) { return (long)__float2ll_rn(x); }
__ISAKIT_DEVICE long long llrintf(float x) { return __float2ll_rn(x); }
__ISAKIT_DEVICE float fdimf(float x, float y) { return x > y ? x - y : x != x || y != y ? x + y : 0.0f; }
__ISAKIT_DEVICE float modff(float x, float *whole)
{
    *whole = truncf(x);
    return __builtin_fabsf(x) == __builtin_inff() ? copysignf(0.0f, x) : copysignf(x - *whole, x);
}
__ISAKIT_DEVICE float frexpf(float x, int *e)
{
    int i = __float_as_int(x), n = i >> 23 & 255;
    if (n == 0 || n == 255) return *e = 0, x + x;
    *e = n - 126;
    return __int_as_float((i & (int)0x807fffff) | 0x3f000000);
}
__ISAKIT_DEVICE float ldexpf(float x, int n)
{
    n = n > 300 ? 300 : n < -300 ? -300 : n;
    int part = n > 126 ? 126 : n < -126 ? -126 : n;
    float y = x * __int_as_float((part + 127) << 23);
    n -= part, part = n > 126 ? 126 : n < -126 ? -126 : n;
    y *= __int_as_float((part + 127) << 23);
    return y * __int_as_float((n - part + 127) << 23);
}
__ISAKIT_DEVICE float scalbnf(float x, int n) { return ldexpf(x, n); }
__ISAKIT_DEVICE float scalblnf(float x, long n) { return ldexpf(x, n > 300 ? 300 : n < -300 ? -300 : (int)n); }
__ISAKIT_DEVICE int ilogbf(float x)
{
    int n = __float_as_int(x) >> 23 & 255;
    return n == 0 ? (int)0x80000000 : n == 255 ? (x != x ? (int)0x80000000 : 0x7fffffff) : n - 127;
}
__ISAKIT_DEVICE float logbf(float x)
{
    int n = __float_as_int(x) >> 23 & 255;
    return n == 0 ? -__builtin_inff() : n == 255 ? x * x : (float)(n - 127);
}
__ISAKIT_DEVICE float nextafterf(float x, float y)
{
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    int i = __float_as_int(x);
    if (!(i & 0x7f800000)) return copysignf(1.17549435e-38f, y); /* the chips have nothing between this and zero */
    return __int_as_float((x < y) == (x > 0.0f) ? i + 1 : i - 1);
}
__ISAKIT_DEVICE float nanf(const char *) { return __builtin_nanf(""); }
/* The remainder in whole numbers: b is taken from a as often as it goes, one bit of the quotient at a time. */
__ISAKIT_DEVICE float __isakit_remainder(float a, float b, unsigned *quotient)
{
    unsigned q = 0;
    if (a >= b) {
        int na = __float_as_int(a) >> 23, nb = __float_as_int(b) >> 23;
        int m = (__float_as_int(a) & 0x7fffff) | 0x800000, d = (__float_as_int(b) & 0x7fffff) | 0x800000;
        for (int k = na - nb;; k--) {
            q <<= 1;
            if (m >= d) m -= d, q |= 1;
            if (k == 0) break;
            m <<= 1;
        }
        a = m ? ldexpf((float)m, nb - 150) : 0.0f;
    }
    *quotient = q;
    return a;
}
__ISAKIT_DEVICE float fmodf(float x, float y)
{
    float a = __builtin_fabsf(x), b = __builtin_fabsf(y);
    unsigned q;
    if (!(a < __builtin_inff()) || !(b >= 1.17549435e-38f)) return __builtin_nanf("");
    return b == __builtin_inff() ? x : copysignf(__isakit_remainder(a, b, &q), x);
}
__ISAKIT_DEVICE float remquof(float x, float y, int *quotient)
{
    float a = __builtin_fabsf(x), b = __builtin_fabsf(y);
    unsigned q = 0;
    *quotient = 0;
    if (!(a < __builtin_inff()) || !(b >= 1.17549435e-38f)) return __builtin_nanf("");
    if (b == __builtin_inff()) return x;
    a = __isakit_remainder(a, b, &q);
    float rest = b - a;
    if (a > rest || (a == rest && (q & 1))) a = -rest, q++;
    *quotient = (__float_as_int(x) ^ __float_as_int(y)) < 0 ? -(int)(q & 0x7fffffff) : (int)(q & 0x7fffffff);
    return a == 0.0f ? copysignf(0.0f, x) : __float_as_int(x) < 0 ? -a : a;
}
__ISAKIT_DEVICE float remainderf(float x, float y)
{
    int q;
    return remquof(x, y, &q);
}

#endif

/* Functions of floats that few kernels call: gamma and Bessel functions. The error bounds are those of the CUDA C
 * Programming Guide 5.0, appendix C: tgammaf 11 ulp; lgammaf 6 outside of -10.001 to -2.264; j0f, j1f, y0f, y1f 9 ulp
 * up to 8, then 2.2e-6; jnf and ynf by recurrence.
 */
#ifndef ISAKIT_MATH_SPECIAL_H
#define ISAKIT_MATH_SPECIAL_H
#include "math_single.h"

/* A polynomial; the highest power's coefficient comes first. */
__ISAKIT_DEVICE float __isakit_poly(float, float c) { return c; }
template <class... Rest> __ISAKIT_DEVICE float __isakit_poly(float x, float c, float next, Rest... rest)
{
    return __isakit_poly(x, c * x + next, rest...);
}
/* A function near one of its zeros, which is `low` above where u is 0. */
template <class... Rest> __ISAKIT_DEVICE float __isakit_near_zero(float u, float low, Rest... rest)
{
    return (u - low) * __isakit_poly(u, rest...);
}

/* --- gamma function ---------------------------------------------------------------------------------------------------- */
__attribute__((device)) static __attribute__((noinline)) float tgammaf(float x)
{
    if (x == 0.0f) return 1.0f / x;
    if (!(x < 36.0f)) return x != x ? x : __builtin_inff();
    float whole = floorf(x), t = x - whole, u = t - 0.5f;
    if (x < 0.0f && x == whole) return __builtin_nanf("");
    if (x < -44.0f) return 0.0f;
    /* gamma(1 + t), 0 <= t < 1, and a product that goes on from there: as two floats */
    float g =
        __isakit_poly(u, -0.010897694f, 0.01633166f, -0.016257044f, 0.024390109f, -0.038131103f, 0.058803976f,
           -0.077515356f, 0.14463381f, -0.10729497f, 0.4148137f, 0.0323384f, 0.88622695f);
    int n = (int)whole;
    float p = n > 0 ? g : t, rest = 0.0f, lost;
    for (int k = 1; k < n; k++) {
        float f = t + (float)k, q = __isakit_product(p, f, &lost);
        rest = rest * f + lost, p = q;
    }
    for (int k = 1; k <= -n; k++) {
        float f = x - (float)(n + k), q = __isakit_product(p, f, &lost);
        rest = rest * f + lost, p = q;
    }
    if (n > 0) return p < __builtin_inff() ? p + rest : p;
    if (p == 0.0f) return 1.0f / x; /* a denormal */
    float y = g / p;
    return __builtin_fabsf(p) < 3.0e38f ? y - y * (rest / p) : 0.0f;
}
__ISAKIT_DEVICE float __isakit_lgamma_near_1(float t)
{
    return t * __isakit_poly(t, 0.030453082f, -0.07909137f, 0.10569173f, -0.11442708f, 0.12555619f, -0.14385931f,
           0.16953951f, -0.20739013f, 0.27058128f, -0.4006856f, 0.822467f, -0.5772157f);
}
__ISAKIT_DEVICE float __isakit_lgamma_near_2(float t)
{
    return t * __isakit_poly(t, 7.5093335e-06f, -3.9087714e-05f, 0.000104949075f, -0.00022923607f, 0.00050985406f,
           -0.0011912553f, 0.0028902323f, -0.0073856954f, 0.020580838f, -0.067352295f, 0.32246703f, 0.42278433f);
}
/* x > 0 */
__ISAKIT_DEVICE float __isakit_lgamma(float x)
{
    if (x < 0.5f) return __isakit_lgamma_near_1(x) - logf(x);
    if (x < 0.75f) return __isakit_lgamma_near_2(x - 1.0f) - logf(x);
    if (x < 1.5f) return __isakit_lgamma_near_1(x - 1.0f);
    if (x < 3.0f) return __isakit_lgamma_near_2(x - 2.0f);
    if (x < 8.0f) {
        float p = 1.0f;
        while (x >= 3.0f) x -= 1.0f, p *= x;
        return __isakit_lgamma_near_2(x - 2.0f) + logf(p);
    }
    float w = 1.0f / x, z = w * w, l = logf(x);
    if (x > 1.0e8f) return x * (l - 1.0f);
    return (x - 0.5f) * (l - 1.0f) + (0.41893853f + w * (0.083333336f - z * (0.0027777778f - z * 0.00079365077f)));
}
__attribute__((device)) static __attribute__((noinline)) float lgammaf(float x)
{
    float a = __builtin_fabsf(x);
    if (!(a < __builtin_inff())) return x * x;
    if (x > 0.0f) return __isakit_lgamma(x);
    if (truncf(x) == x) return __builtin_inff();
    if (a < 1.0e-4f) return 0.57721566f * a - logf(a);
    float t = a - truncf(a);
    if (t > 0.5f) t = 1.0f - t;
    float half = 0.5f * __isakit_times_pi(t), s = __isakit_sin_part(half), c = __isakit_cos_part(half);
    /* gamma(-a) gamma(a) = pi / (a sin(pi a)), but for the sign */
    return logf(3.14159274f / (a * (2.0f * s * c))) - __isakit_lgamma(a);
}

/* --- Bessel functions -------------------------------------------------------------------------------------------------- */
/* For a >= 8, of the first kind or the second, of order 0 or 1: the first terms of the expansion at infinity. `mu`: 4
   times the square of the order. */
__ISAKIT_DEVICE float __isakit_bessel_far(float a, float mu, bool first, bool order)
{
    if (a == __builtin_inff()) return 0.0f;
    int quadrant;
    float w = 1.0f / (8.0f * a), r = __isakit_reduced(a, &quadrant);
    float s = __isakit_sin_of(r, quadrant), c = __isakit_sin_of(r, quadrant + 1);
    float p = 1.0f - (mu - 1.0f) * (mu - 9.0f) * 0.5f * w * w
              * (1.0f - (mu - 25.0f) * (mu - 49.0f) * (1.0f / 12.0f) * w * w);
    float q = (mu - 1.0f) * w * (1.0f - (mu - 9.0f) * (mu - 25.0f) * (1.0f / 6.0f) * w * w);
    /* cosine and sine of a - pi/4, or of a - 3 pi/4, times the root of 2 */
    float along = order ? s - c : c + s, across = order ? -(s + c) : s - c;
    return 0.56418958f * rsqrtf(a) * (first ? p * along - q * across : p * across + q * along);
}
__attribute__((device)) static __attribute__((noinline)) float j0f(float x)
{
    float a = __builtin_fabsf(x);
    if (a != a) return a;
    if (a < 1.6f)
        return __isakit_poly(a * a, -6.428719e-08f, 6.771599e-06f, -0.00043401445f, 0.015624992f, -0.25f, 1.0f);
    if (a < 4.0f)
        return __isakit_near_zero(a - 2.4048254f, 1.08705905e-07f, 2.659517e-09f, 4.6634526e-08f, -5.290763e-07f,
        -4.3422338e-06f, 4.3729397e-05f, 0.00026437888f, -0.0021942009f, -0.008657669f, 0.056601778f, 0.10793869f,
        -0.5191475f);
    if (a < 7.1f)
        return __isakit_near_zero(a - 5.520078f, -7.1934146e-08f, 2.5885372e-10f, -4.4915365e-09f, -3.5145383e-08f,
        5.7113886e-07f, 3.199876e-06f, -4.652046e-05f, -0.00017518585f, 0.0022574398f, 0.004631043f, -0.05298855f,
        -0.030820658f, 0.3402648f);
    if (a < 8.0f)
        return __isakit_near_zero(a - 8.653728f, 3.8147792e-07f, 3.068313e-06f, 6.515535e-05f, 0.00015576533f,
        -0.0020032867f, -0.0024617705f, 0.044058233f, 0.015691195f, -0.2714514f);
    return __isakit_bessel_far(a, 0.0f, true, false);
}
__ISAKIT_DEVICE float __isakit_j1_of(float a)
{
    if (a != a) return a;
    if (a < 2.4f)
        return a * __isakit_poly(a * a, 3.0737052e-11f, -5.628737e-09f, 6.7807997e-07f, -5.4253294e-05f, 0.0026041665f,
           -0.0625f, 0.5f);
    if (a < 5.4f)
        return __isakit_near_zero(a - 3.831706f, -7.685059e-08f, -2.4964666e-10f, 4.5592072e-09f, 3.258192e-08f,
        -5.7235684e-07f, -3.0370786e-06f, 4.6208224e-05f, 0.0001746645f, -0.002233125f, -0.00517972f, 0.053410444f,
        0.052556153f, -0.4027594f);
    if (a < 8.0f)
        return __isakit_near_zero(a - 7.015587f, -1.8321172e-07f, -5.100449e-09f, -2.7115913e-08f, 5.675053e-07f,
        2.4019423e-06f, -4.4992288e-05f, -0.00012550842f, 0.0021055874f, 0.0031302935f, -0.046970475f, -0.02138923f,
        0.30011573f);
    return __isakit_bessel_far(a, 4.0f, true, true);
}
__attribute__((device)) static __attribute__((noinline)) float j1f(float x)
{
    return copysignf(1.0f, x) * __isakit_j1_of(__builtin_fabsf(x));
}
__attribute__((device)) static __attribute__((noinline)) float y0f(float a)
{
    if (!(a > 0.0f)) return a == 0.0f ? -__builtin_inff() : __builtin_nanf("");
    if (a < 0.5f)
        return 0.63661977f * logf(a) * j0f(a)
               + __isakit_poly(a * a, 0.0005338729f, -0.01607323f, 0.17760599f, -0.0738043f);
    if (a < 1.2f)
        return __isakit_near_zero(a - 0.893577f, -1.3357979e-08f, 0.6417687f, -0.25198525f, 0.084502146f,
        -0.19333303f, 0.20576748f, -0.19379638f, 0.196694f, -0.20488802f, 0.21896373f, -0.22612152f, 0.22055268f,
        -0.49207893f, 0.8794208f);
    if (a < 2.4f)
        return __isakit_poly(a - 1.8f, 0.00011891483f, -0.00023362412f, 0.00033382847f, -0.00066488306f, 0.0014256053f,
           -0.0033488076f, 0.00586378f, 0.002240996f, 0.029939957f, -0.300845f, 0.2236649f, 0.4774317f);
    if (a < 5.5f)
        return __isakit_near_zero(a - 3.9576783f, 1.0129118e-07f, 1.268824e-09f, -5.6238374e-09f, 1.7173265e-08f,
        -1.5370103e-08f, -2.9064933e-07f, -4.9031523e-06f, 5.0920677e-05f, 0.00019527641f, -0.0021835181f,
        -0.006852568f, 0.058523823f, 0.050855897f, -0.40254268f);
    if (a < 8.0f)
        return __isakit_near_zero(a - 7.086051f, 7.305812e-08f, -5.2059344e-09f, -3.0994833e-08f, 5.7591427e-07f,
        2.701985e-06f, -4.5952034e-05f, -0.00014060312f, 0.0021759842f, 0.0033183477f, -0.04802407f, -0.02117523f,
        0.3000976f);
    return __isakit_bessel_far(a, 0.0f, false, false);
}
__attribute__((device)) static __attribute__((noinline)) float y1f(float a)
{
    if (!(a > 0.0f)) return a == 0.0f ? -__builtin_inff() : __builtin_nanf("");
    if (a < 1.2f)
        return 0.63661977f * (logf(a) * __isakit_j1_of(a) - 1.0f / a)
               + a * __isakit_poly(a * a, 8.690951e-09f, -9.922853e-07f, 7.16424e-05f, -0.0029553052f, 0.05434869f,
           -0.1960571f);
    if (a < 3.8f)
        return __isakit_near_zero(a - 2.1971414f, -8.288927e-08f, 9.579854e-07f, -6.4533638e-06f, 1.7308772e-05f,
        -2.6153877e-05f, 4.0234216e-05f, -9.835712e-05f, 0.0002401914f, -0.0005170031f, 0.001066349f, -0.0025926793f,
        0.0074224058f, -0.0047981786f, -0.03285737f, -0.11851454f, 0.5207864f);
    if (a < 7.0f)
        return __isakit_near_zero(a - 5.429681f, 2.1651435e-07f, -4.338259e-10f, 5.666702e-09f, 2.5672707e-08f,
        -5.466953e-07f, -2.864125e-06f, 4.645906e-05f, 0.00014662102f, -0.0021659993f, -0.004160114f, 0.05094794f,
        0.031338654f, -0.34031805f);
    if (a < 8.0f)
        return __isakit_poly(a - 7.5f, -3.617766e-05f, 0.0002345392f, 0.001545461f, -0.0083705615f, -0.02941202f,
           0.11713663f, 0.15186375f, -0.2591285f);
    return __isakit_bessel_far(a, 4.0f, false, true);
}
__attribute__((device)) static __attribute__((noinline)) float jnf(int n, float x)
{
    if (n < 0) return __builtin_nanf("");
    float a = __builtin_fabsf(x), before = j0f(a), at = __isakit_j1_of(a);
    float sign = x < 0.0f && (n & 1) ? -1.0f : 1.0f;
    if (n == 0 || a != a) return before;
    if (a < 1.0e-10f || a == __builtin_inff()) return n == 1 ? sign * at : sign * 0.0f;
    if (a >= (float)n) {
        for (int k = 1; k < n; k++) {
            float next = (float)(2 * k) / a * at - before;
            before = at, at = next;
        }
        return sign * at;
    }
    /* Upwards it is unstable: downwards from where it is nothing, in the scale of j0 or j1 */
    float above = 0.0f, here = 1.0e-30f, found = 0.0f;
    for (int k = n + 16 + (int)(4.0f * sqrtf((float)n)); k > 0; k--) {
        float below = (float)(2 * k) / a * here - above;
        above = here, here = below;
        if (k - 1 == n) found = here;
        if (__builtin_fabsf(here) > 1.0e20f) here *= 1.0e-20f, above *= 1.0e-20f, found *= 1.0e-20f;
    }
    if (n == 1) return sign * at;
    return sign * (__builtin_fabsf(before) > __builtin_fabsf(at) ? found / here * before : found / above * at);
}
__attribute__((device)) static __attribute__((noinline)) float ynf(int n, float a)
{
    if (n < 0) return __builtin_nanf("");
    float before = y0f(a), at = y1f(a);
    if (n == 0) return before;
    for (int k = 1; k < n && at > -__builtin_inff(); k++) {
        float next = (float)(2 * k) / a * at - before;
        before = at, at = next;
    }
    return at;
}

#endif

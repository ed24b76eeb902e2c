/* Functions that few kernels call: gamma and Bessel functions. The error bounds are those of the CUDA C Programming
 * Guide 5.0, appendix C. Of floats: tgammaf 11 ulp; lgammaf 6 outside of -10.001 to -2.264; j0f, j1f, y0f, y1f 9 ulp up
 * to 8, then 2.2e-6. Of doubles: tgamma 8 ulp; lgamma 4 outside of -11.0001 to -2.2637; j0, j1, y0, y1 7 ulp up to 8,
 * then 5e-12. jn and yn by recurrence.
 */
#ifndef ISAKIT_MATH_SPECIAL_H
#define ISAKIT_MATH_SPECIAL_H
#include "math_double.h"

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
    /* what is lost goes to g: of the quotient it may be a denormal */
    return __builtin_fabsf(p) < 3.0e38f ? (g - g * (rest / p)) / p : 0.0f;
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
    if (a > 2.0f && a < 2.5f) { /* near a root: gamma(x) = gamma(x + 3) / (x (x + 1) (x + 2)), whose factors are exact */
        float b = a - 2.0f, lost, more, p = __isakit_product(__isakit_product(a, a - 1.0f, &lost), b, &more);
        return (__isakit_lgamma(3.0f - a) - logf(p)) - (lost * b + more) / p;
    }
    float t = a - truncf(a);
    if (t > 0.5f) t = 1.0f - t;
    float half = 0.5f * __isakit_times_pi(t), s = __isakit_sin_part(half), c = __isakit_cos_part(half);
    /* gamma(-a) gamma(a) = pi / (a sin(pi a)), but for the sign */
    float q = 3.14159274f / (a * (2.0f * s * c));
    if (a < 8.0f) return logf(q) - __isakit_lgamma(a);
    /* both are larger than what is left of them near whole numbers: sums of two floats */
    float l_low, l = __isakit_log_pair(a, &l_low), q_low, w = 1.0f / a, lost;
    float p = __isakit_product(a - 0.5f, l - 1.0f, &lost), rest = lost + (a - 0.5f) * l_low;
    float high = __isakit_log_pair(q, &q_low) - p;
    return high + (q_low - (rest + (0.41893853f + w * (0.083333336f - w * w * 0.0027777778f))));
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
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 130
/* --- the same of doubles ------------------------------------------------------------------------------------------------ */
__ISAKIT_DEVICE double __isakit_series(double, double c) { return c; }
template <class... Rest> __ISAKIT_DEVICE double __isakit_series(double x, double c, double next, Rest... rest)
{
    return __isakit_series(x, fma(c, x, next), rest...);
}
template <class... Rest> __ISAKIT_DEVICE double __isakit_near_root(double u, double low, Rest... rest)
{
    return (u - low) * __isakit_series(u, rest...);
}
/* gamma(x) 2^more, for x >= 16 */
__ISAKIT_DEVICE double __isakit_stirling(double x, int more)
{
    /* the root of 2 pi times e^((x - 1/2) (log(x) - 1) - 1/2), the exponent in two pieces */
    double low, high = __isakit_log_fine(x, &low), l = high - 1.0, n = x - 0.5, t = n * l, all = t - 0.5;
    low = fma(n, l, -t) + ((t - all) - 0.5) + n * (((high - l) - 1.0) + low);
    return __isakit_exp(all, low, more) * (2.5066282746310007 *
           __isakit_series(1.0 / x, 0.000758668787352759, -3.661006512286793e-05, -0.0005934309361896253,
           6.978821756386646e-05, 0.0007840375025011802, -0.00022947206410491256, -0.002681327160782296,
           0.003472222222223645, 0.08333333333333333, 1.0));
}
__attribute__((device)) static __attribute__((noinline)) double tgamma(double x)
{
    if (x == 0.0) return 1.0 / x;
    if (!(x < 172.0)) return x != x ? x : __builtin_inf();
    double whole = floor(x), t = x - whole;
    if (x < 0.0 && x == whole) return __builtin_nan("");
    if (x < -185.0) return 0.0;
    if (x > 16.0) return __isakit_stirling(x, 0);
    if (x < -16.0) { /* pi / (gamma(1 - x) sin(pi x)) */
        double y = -3.1415926535897931 / (x * sinpi(x)) / __isakit_stirling(-x, -600);
        return y * 2.4099198651028841e-181; /* 2^-600 */
    }
    /* gamma(1 + t), 0 <= t < 1, and a product that goes on from there, with what rounding takes from it */
    double g = __isakit_series(t - 0.5, 8.17927378943954e-05, -0.00012268896174603188, 5.623192694867262e-05,
           -8.434721045709374e-05, 0.0002143824087442772, -0.00032156920921690347, 0.0004473971808424176,
           -0.0006710683266869196, 0.001015426390940937, -0.001522968043887314, 0.0022825150114661194,
           -0.003422690368922281, 0.005131649354985259, -0.007690220143847094, 0.011522515093983193,
           -0.017222442665840762, 0.02583760646513874, -0.038001935568938924, 0.05861030381701141,
           -0.07752305229960688, 0.1446453590446229, -0.10729480456477422, 0.4148134536883012, 0.03233839744888502,
           0.886226925452758);
    int n = (int)whole;
    double p = n > 0 ? g : t, rest = 0.0;
    for (int k = 1; k < n; k++) {
        double f = x - (double)k, q = p * f;
        rest = fma(rest, f, fma(p, f, -q)), p = q;
    }
    for (int k = 1; k <= -n; k++) {
        double f = x - (double)(n + k), q = p * f;
        rest = fma(rest, f, fma(p, f, -q)), p = q;
    }
    if (n > 0) return p + rest;
    if (__builtin_fabs(p) < 1.0e-300) return 1.0 / x;
    double y = g / p;
    return y - y * (rest / p);
}
/* lgamma(1 + t) / t and lgamma(2 + t) / t */
__ISAKIT_DEVICE double __isakit_lgamma_near_1(double t)
{
    return t * __isakit_series(t, 0.005248300919437493, -0.021235727970751416, 0.040434355000481564,
           -0.050936212615662654, 0.052725430879886626, -0.053052193638537436, 0.05528806007317391,
           -0.05871173850175508, 0.06250491616189947, -0.066678042168473, 0.07143387369067304, -0.07693212505557731,
           0.08335376857031611, -0.09095402579835395, 0.100099459962104, -0.1113342657830147, 0.1255096694802822,
           -0.1440498967688838, 0.16955717699783138, -0.2073855510286789, 0.2705808084277827, -0.40068563438653143,
           0.8224670334241132, -0.5772156649015329);
}
__ISAKIT_DEVICE double __isakit_lgamma_near_2(double t)
{
    return t * __isakit_series(t, 3.128546330715388e-10, -2.5317840682215007e-09, 9.641643145630568e-09,
           -2.4292908348961975e-08, 5.0297400098335534e-08, -1.0123438317925032e-07, 2.1105056481225418e-07,
           -4.4839053621808377e-07, 9.5520165428538e-07, -2.0395006933611473e-06, 4.374923397996977e-06,
           -9.439440499307966e-06, 2.0507195202221444e-05, -4.492624096325781e-05, 9.945751517388788e-05,
           -0.00022315475828452692, 0.0005096695245693555, -0.0011927539117035553, 0.002890510330748136,
           -0.007385551028674139, 0.020580808427784435, -0.06735230105319809, 0.3224670334241132,
           0.42278433509846713);
}
/* x > 0 */
__ISAKIT_DEVICE double __isakit_lgamma(double x)
{
    if (x < 0.5) return __isakit_lgamma_near_1(x) - log(x);
    if (x < 0.75) return __isakit_lgamma_near_2(x - 1.0) - log(x);
    if (x < 1.5) return __isakit_lgamma_near_1(x - 1.0);
    if (x < 3.0) return __isakit_lgamma_near_2(x - 2.0);
    if (x < 8.0) {
        double p = 1.0;
        while (x >= 3.0) x -= 1.0, p *= x;
        return __isakit_lgamma_near_2(x - 2.0) + log(p);
    }
    double l = log(x), w = 1.0 / x;
    if (x > 1.0e17) return x * (l - 1.0);
    return fma(x - 0.5, l - 1.0, 0.41893853320467274 + w * __isakit_series(w * w, 0.11001554697563673,
           -0.027742741357277903, 0.006383322059276921, -0.001917287055870562, 0.000841749570829054,
           -0.0005952380914267929, 0.0007936507936450394, -0.0027777777777777744, 0.08333333333333333));
}
__attribute__((device)) static __attribute__((noinline)) double lgamma(double x)
{
    double a = __builtin_fabs(x);
    if (!(a < __builtin_inf())) return x * x;
    if (x > 0.0) return __isakit_lgamma(x);
    if (trunc(x) == x) return __builtin_inf();
    if (a < 1.0e-8) return fma(0.57721566490153287, a, -log(a));
    return x > -16.0 ? log(__builtin_fabs(tgamma(x)))
                     : 1.1447298858494002 - log(__builtin_fabs(sinpi(x))) - (log(a) + __isakit_lgamma(a));
}
/* The first or second kind beyond 8, of order 0 or 1, from the expansions at infinity. */
__ISAKIT_DEVICE double __isakit_bessel_far(double a, int order, bool first)
{
    if (a == __builtin_inf()) return 0.0;
    int quadrant;
    double low, r = __isakit_reduced(a, &quadrant, &low), w = 1.0 / a, z = w * w, p, q;
    double s = __isakit_sin_of(r, low, quadrant), c = __isakit_sin_of(r, low, quadrant + 1);
    if (order) {
        p = __isakit_series(z, -426027891.9441563, 46150988.89066434, -2441902.1994702965, 90753.95896785367,
           -3058.81556303409, 120.47080125832083, -6.880487494730637, 0.6765863040302622, -0.1441955505892419,
           0.11718749999768488, 1.0000000000000002);
        q = w * __isakit_series(z, -123060773762.71272, 13719591067.614578, -724237878.3530133, 25097390.75834074,
           -694517.3087573978, 18680.345365157817, -599.938273247455, 27.23906428448026, -1.9935168759342725,
           0.27757643458074366, -0.10253906249616396, 0.3749999999999998);
    } else {
        p = __isakit_series(z, 398038622.4849955, -43058878.97794305, 2272648.786533264, -84070.83694213124,
           2808.9062141776367, -108.95693157914438, 6.070820128918049, -0.5724955141730534, 0.11215209392266684,
           -0.07031249999782462, 0.9999999999999999);
        q = w * __isakit_series(z, 115763167027.81087, -12895146793.044758, 679770064.157783, -23498918.99073046,
           647394.4450513723, -17275.34064874587, 547.6415669089811, -24.371298862189654, 1.727713458224753,
           -0.22710799041269603, 0.07324218749637486, -0.1249999999999998);
    }
    /* cosine and sine of a - pi/4, or of a - 3 pi/4, times the root of 2 */
    double along = order ? s - c : c + s, across = order ? -(s + c) : s - c;
    return 0.56418958354775629 * rsqrt(a) * (first ? p * along - q * across : p * across + q * along);
}
__attribute__((device)) static __attribute__((noinline)) double j0(double x)
{
    double a = __builtin_fabs(x);
    if (a != a) return a;
    if (a < 1.2)
        return __isakit_series(a * a, -2.845202743726744e-17, 9.38438941705414e-15, -2.4028048806376553e-12,
           4.709502769767243e-10, -6.781684027604889e-08, 6.781684027777111e-06, -0.00043402777777777765, 0.015625,
           -0.25, 1.0);
    if (a < 3.2)
        return __isakit_near_root(a - 2.404825557695773, -1.176691651530894e-16, -4.4162214906665436e-16,
           -6.484348852456193e-15, 1.1182202762661841e-13, 1.6388214257393433e-12, -2.5339029432112055e-11,
           -3.1666139067382325e-10, 4.326565198606325e-09, 4.470055870550356e-08, -5.304914383490149e-07,
           -4.338826288636206e-06, 4.372919272906536e-05, 0.0002643770367527012, -0.0021942003590161557,
           -0.008657669593304914, 0.05660177443794623, 0.1079387017549201, -0.5191474972894667);
    if (a < 4.5)
        return __isakit_series(a - 3.875, -8.483221875300758e-14, 1.9313555497613837e-12, 1.9361014156519405e-11,
           -3.840422433088212e-10, -3.1552833266205545e-09, 5.5823351968677757e-08, 3.6191581916201625e-07,
           -5.63981860997977e-06, -2.6929279265888852e-05, 0.0003643248344642823, 0.0011316165889667616,
           -0.013117968122419218, -0.019811050256274162, 0.19895502405684512, 0.017334251778686322,
           -0.40238340341141576);
    if (a < 6.4)
        return __isakit_near_root(a - 5.520078110286311, 8.088597146146722e-17, 4.304789423700746e-16,
           5.510909005587624e-15, -1.2097253323768392e-13, -1.3805038321081977e-12, 2.745260967155477e-11,
           2.592208701826129e-10, -4.683396295612823e-09, -3.511535987945024e-08, 5.716490708125576e-07,
           3.1997869068229188e-06, -4.65210907397473e-05, -0.0001751857289941572, 0.0022574402290329006,
           0.004631042145907645, -0.05298855286760463, -0.030820651425593648, 0.34026480655836816);
    if (a < 8.0)
        return __isakit_series(a - 7.125, 6.755901603736725e-15, 8.731904728354416e-14, -1.8657860485690624e-12,
           -1.8851430122992726e-11, 3.6864241241849115e-10, 2.9801126011030838e-09, -5.3364051872928624e-08,
           -3.2708376335936583e-07, 5.33121365099183e-06, 2.2728586086032425e-05, -0.0003353448789119478,
           -0.0008515227027541412, 0.011337985511707772, 0.012184888665367545, -0.146883114785603,
           -0.032519566391901095, 0.29833037924024475);
    return __isakit_bessel_far(a, 0, true);
}
__ISAKIT_DEVICE double __isakit_j1_of(double a)
{
    if (a != a) return a;
    if (a < 2.0)
        return a * __isakit_series(a * a, -5.99932364973765e-24, 3.2894791223072537e-21, -1.4484369238146108e-18,
           5.214425541713346e-16, -1.5017547170295217e-13, 3.36393056931025e-11, -5.651403356481216e-09,
           6.781684027777776e-07, -5.425347222222222e-05, 0.0026041666666666665, -0.0625, 0.5);
    if (a < 3.0)
        return __isakit_series(a - 2.5, -1.5152825191022842e-12, -2.4967215489735833e-11, 2.9967913895623645e-10,
           4.159384717868076e-09, -4.3422852437559264e-08, -4.903469750045278e-07, 4.372685617686143e-06,
           3.81952500209124e-05, -0.00028180165358468093, -0.0017542335889151846, 0.010175626808806447,
           0.038658451731433494, -0.15933523954421358, -0.2472214174539076, 0.49709410246427405);
    if (a < 4.7)
        return __isakit_near_root(a - 3.8317059702075125, -1.5269184090088067e-16, -5.071608782986778e-15,
           1.2297039043141157e-13, 1.2464877411332612e-12, -2.798735975958873e-11, -2.362198981056591e-10,
           4.735379721023846e-09, 3.248286312932067e-08, -5.727805732296743e-07, -3.0368633803404757e-06,
           4.6208701297406515e-05, 0.00017466429072012624, -0.0022331253391474734, -0.00517971924563857,
           0.05341044413272481, 0.05255614585697724, -0.402759395702553);
    if (a < 6.1)
        return __isakit_series(a - 5.375, -7.439672867159071e-14, 1.9745520924575825e-12, 1.5464519522260466e-11,
           -3.897329380391655e-10, -2.4596801268886436e-09, 5.59696944467632e-08, 2.7305786636738336e-07,
           -5.553062099871583e-06, -1.9380303053976873e-05, 0.00034852668054780045, 0.0007572323617962731,
           -0.011944284261067006, -0.01177309615120397, 0.1655726986057233, 0.014486822431671528,
           -0.3458102556641231);
    if (a < 8.0)
        return __isakit_near_root(a - 7.015586669815619, -9.414165653410389e-17, 4.16726067726006e-16,
           4.5380807511458785e-15, -1.2441770547110442e-13, -1.1215558146526947e-12, 2.8005679740978162e-11,
           2.0653480073155795e-10, -4.720482972875899e-09, -2.7273427646825513e-08, 5.665270011432653e-07,
           2.401580796301035e-06, -4.4991475302928306e-05, -0.00012550790955145468, 0.002105587143248276,
           0.003130291726048091, -0.04697047894974149, -0.02138921280934158, 0.30011575252613254);
    return __isakit_bessel_far(a, 1, true);
}
__attribute__((device)) static __attribute__((noinline)) double j1(double x)
{
    return copysign(1.0, x) * __isakit_j1_of(__builtin_fabs(x));
}
__attribute__((device)) static __attribute__((noinline)) double y0(double a)
{
    if (!(a > 0.0)) return a == 0.0 ? -__builtin_inf() : __builtin_nan("");
    if (a < 1.6) { /* 2/pi log(a / root) j0(a), and what is left: both vanish at the root */
        double u = (a - 0.8935769662791675) - 2.6596231539720385e-17;
        double rest = u * (a + 0.8935769662791675) * __isakit_series(a * a, 3.0133983008066754e-22,
           -1.4528193267680087e-19, 5.626958076191486e-17, -1.7560141243143512e-14, 4.301667620907074e-12,
           -7.996093628190032e-10, 1.0780429652321776e-07, -9.894726463347019e-06, 0.0005617931795902858,
           -0.01674467259105566, 0.18214429522164177);
        double log_of = __builtin_fabs(u) < 0.4 ? log1p(u / 0.8935769662791675) : log(a) + 0.11252280788079412;
        return fma(0.63661977236758138 * log_of, j0(a), rest);
    }
    if (a < 3.0)
        return __isakit_series(a - 2.25, -5.254530886766098e-10, 1.8408605569001702e-09, -3.190208219953809e-09,
           6.106693807695422e-09, -1.557028384775683e-08, 3.854530348881586e-08, -9.145347791588347e-08,
           2.1821823547767807e-07, -5.250806404890966e-07, 1.269087235946608e-06, -3.082060345990461e-06,
           7.534146484739198e-06, -1.8579954509853504e-05, 4.553577547136073e-05, -0.00010916167043046549,
           0.0003196576950451414, -0.0011096785196367514, 0.0005879200295835615, 0.008417954458559824,
           0.041264901805812465, -0.253989701731302, -0.02719205773801714, 0.5200647624572783);
    if (a < 4.9)
        return __isakit_near_root(a - 3.957678419314858, -1.0764340697562706e-16, -4.760054219091205e-14,
           1.9026174022772774e-13, -5.772473219229158e-13, 2.440941170971868e-12, -1.0642907122901469e-11,
           4.4741065020923604e-11, -1.8610417738608617e-10, 7.668811048187739e-10, -3.656736289946009e-09,
           1.892811690143755e-08, -2.1853413677523082e-08, -2.9348815210083666e-07, -4.893369328706689e-06,
           5.092291380738973e-05, 0.000195269402451032, -0.002183518874049419, -0.0068525666771110045,
           0.058523822105170244, 0.05085590959215824, -0.40254267177502423);
    if (a < 6.2)
        return __isakit_series(a - 5.5, 1.8972928916057206e-13, 2.2653620555977625e-14, 2.969295101664444e-11,
           -4.3937111263205747e-10, -2.700902029467845e-09, 5.270139865775104e-08, 3.5596644419033693e-07,
           -5.593930551654279e-06, -2.4153862691424218e-05, 0.00034989509210651943, 0.0009820468758712441,
           -0.012417938851753855, -0.013985198409743901, 0.1675804565358292, 0.023758238956389618,
           -0.339480592881911);
    if (a < 8.0)
        return __isakit_near_root(a - 7.086051060301773, -8.835285723085408e-17, 5.384644979326822e-16,
           4.153280585056421e-15, -1.1654415246338307e-13, -1.311848900514926e-12, 2.8268547629250368e-11,
           2.3029444586439093e-10, -4.7172215300059995e-09, -3.098470247274929e-08, 5.749349569627233e-07,
           2.701363792726736e-06, -4.595140670688319e-05, -0.00014060259774082093, 0.002175984016443104,
           0.0033183482688956315, -0.048024070076259875, -0.02117523655676953, 0.3000976149104752);
    return __isakit_bessel_far(a, 0, false);
}
__attribute__((device)) static __attribute__((noinline)) double y1(double a)
{
    if (!(a > 0.0)) return a == 0.0 ? -__builtin_inf() : __builtin_nan("");
    if (a < 1.2) {
        double rest = a * __isakit_series(a * a, 2.7153792546767306e-18, -9.590074896877999e-16,
           2.649479118567625e-13, -5.648024527162604e-11, 8.9318796210654e-09, -9.926740619424225e-07,
           7.164268749973961e-05, -0.0029553053360798338, 0.05434868816051024, -0.19605709064623894);
        return fma(0.63661977236758138 * log(a), __isakit_j1_of(a), rest) - 0.63661977236758138 / a;
    }
    if (a < 1.7)
        return __isakit_series(a - 1.5, -0.000628726612823294, 0.00034542795187752156, -0.0005999598299978777,
           0.0009818276865260634, -0.0014466646449136022, 0.0021638979801267663, -0.003243731684742719,
           0.00485764266294391, -0.0072705828053889286, 0.010874526145745002, -0.0162447876425137,
           0.024167738602190774, -0.03594137239508488, 0.05578358908384663, -0.08058772830712446,
           0.051788542209054454, -0.10457693976736898, 0.6573213417803664, -0.4123086269739113);
    if (a < 3.0)
        return __isakit_near_root(a - 2.197141326031017, -4.8259835876454966e-17, -3.050444075737381e-09,
           1.695680574543042e-08, -4.6610546299535554e-08, 9.744939196390552e-08, -2.0176624534305816e-07,
           4.402952251770394e-07, -9.718239187969133e-07, 2.1349795104405815e-06, -4.681678178190848e-06,
           1.026376044598971e-05, -2.2491053783806966e-05, 4.924429046589839e-05, -0.00010776044700754767,
           0.00023586998395791337, -0.0005096013037820465, 0.0010668530000234016, -0.0025952416882842797,
           0.0074225533327086455, -0.0047978116701051145, -0.032857397405286426, -0.11851454574909662,
           0.5207864124022675);
    if (a < 4.6)
        return __isakit_series(a - 3.75, 1.983975335569552e-12, -9.407374452991128e-12, 2.978171443154245e-11,
           -1.0589297086389178e-10, 4.019419865417193e-10, -1.5083601362042147e-09, 5.597397947278284e-09,
           -2.0501525589716754e-08, 8.019351480011907e-08, -3.4498537099195807e-07, 7.787403680644452e-07,
           1.753313090632903e-06, 3.535197410351935e-05, -0.0004104347803280672, -0.0006932364594454426,
           0.011891634644575419, 0.017901901322367554, -0.18972906629393463, -0.02564158418136452,
           0.4158687793452271);
    if (a < 6.2)
        return __isakit_near_root(a - 5.429681040794135, 4.162514026670377e-16, 4.3012102553464677e-14,
           -2.1737747515506596e-13, 1.1572749862188023e-12, -4.417411062084287e-12, 2.287945314458144e-12,
           -3.8557377599297026e-10, 5.598029347131443e-09, 2.550514874424129e-08, -5.464420643211344e-07,
           -2.8638625379683354e-06, 4.6458679060981695e-05, 0.00014662089289351997, -0.0021659987510881033,
           -0.004160115934390694, 0.05094793974342009, 0.031338677444086686, -0.3403180455234406);
    if (a < 8.0)
        return __isakit_series(a - 7.0, -9.15362867400597e-15, -5.362063712347107e-14, 1.8254573764003185e-12,
           1.621104132163242e-11, -3.868393001623355e-10, -2.373859698078773e-09, 5.432244213819463e-08,
           2.641223476371351e-07, -5.396807777900598e-06, -1.7970219036675806e-05, 0.0003335885263538192,
           0.0006743667691852972, -0.011206700911991748, -0.00947014978075006, 0.14701028926435872,
           0.01728843275053143, -0.30266723702418485);
    return __isakit_bessel_far(a, 1, false);
}
#else
__ISAKIT_DEVICE double tgamma(double x) { return tgammaf((float)x); }
__ISAKIT_DEVICE double lgamma(double x) { return lgammaf((float)x); }
__ISAKIT_DEVICE double j0(double x) { return j0f((float)x); }
__ISAKIT_DEVICE double j1(double x) { return j1f((float)x); }
__ISAKIT_DEVICE double __isakit_j1_of(double a) { return __isakit_j1_of((float)a); }
__ISAKIT_DEVICE double y0(double x) { return y0f((float)x); }
__ISAKIT_DEVICE double y1(double x) { return y1f((float)x); }
#endif

/* --- of any order -------------------------------------------------------------------------------------------------------- */
/* Of the first kind, from those of the orders 0 and 1. */
template <class T> __attribute__((device)) static __attribute__((noinline)) T __isakit_first_kind(int n, T x, T before, T at)
{
    if (n < 0) return __builtin_nanf("");
    T a = __builtin_fabs(x), sign = x < 0 && (n & 1) ? -1 : 1, far = __builtin_inff();
    if (n == 0 || a != a) return before;
    if (a < (T)1.0e-10f || a == far) return n == 1 ? sign * at : sign * 0;
    if (a >= (T)n) {
        for (int k = 1; k < n; k++) {
            T next = (T)(2 * k) / a * at - before;
            before = at, at = next;
        }
        return sign * at;
    }
    /* Upwards it is unstable: downwards from where it is nothing, in the scale of j0 or j1 */
    T above = 0, here = 1.0e-30f, found = 0;
    const int size = sizeof(T);
    for (int k = n + 4 * size + (int)((float)size * sqrtf((float)n)); k > 0; k--) {
        T below = (T)(2 * k) / a * here - above;
        above = here, here = below;
        if (k - 1 == n) found = here;
        if (__builtin_fabs(here) > (T)1.0e20f) here *= (T)1.0e-20f, above *= (T)1.0e-20f, found *= (T)1.0e-20f;
    }
    if (n == 1) return sign * at;
    return sign * (__builtin_fabs(before) > __builtin_fabs(at) ? found / here * before : found / above * at);
}
template <class T> __attribute__((device)) static __attribute__((noinline)) T __isakit_second_kind(int n, T a, T before, T at)
{
    if (n < 0) return __builtin_nanf("");
    if (n == 0) return before;
    for (int k = 1; k < n && at > -__builtin_inff(); k++) {
        T next = (T)(2 * k) / a * at - before;
        before = at, at = next;
    }
    return at;
}
__ISAKIT_DEVICE float jnf(int n, float x)
{
    float a = __builtin_fabsf(x);
    return __isakit_first_kind(n, x, j0f(a), __isakit_j1_of(a));
}
__ISAKIT_DEVICE double jn(int n, double x)
{
    double a = __builtin_fabs(x);
    return __isakit_first_kind(n, x, j0(a), __isakit_j1_of(a));
}
__ISAKIT_DEVICE float ynf(int n, float a) { return __isakit_second_kind(n, a, y0f(a), y1f(a)); }
__ISAKIT_DEVICE double yn(int n, double a) { return __isakit_second_kind(n, a, y0(a), y1(a)); }

#endif

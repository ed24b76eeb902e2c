"""Functions of doubles in Python kernels: those of our CUDA headers, operation for operation.

Kernels in Python and in CUDA C compute the same bits, with the errors that `math_double.h` has; `_horner`, `_bits` and
other names that begin with an underscore are known to these sources alone.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from isakit.compile.python.writer import FunctionSource, text_functions

PATH = "<doubles>"
_TWO_OVER_PI = np.array([
    0, 0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a,
    0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41,
    0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f, 0x6d367ecf,
    0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08,
    0x56033046], np.uint32)  # fmt: skip
"""Bits of 2/pi, 32 in each; 64 zeros come first, those before the point."""

_TEXT = """
def rsqrt(x):
    y = 1.0 / sqrt(x)
    h = x * y
    if not (h > 0.0 and h < _INF):
        return y
    off = fma(-h, y, 1.0) - fma(x, y, -h) * y
    return fma(0.5 * y, off, y)

def rcp(x):
    return 1.0 / x

def _scaled(y, n):
    half = n >> 1
    return y * _join((half + 1023) << 20, 0) * _join((n - half + 1023) << 20, 0)

def _exp_tail(r):
    return _horner(r, 2.0915442297780116e-09, 2.5106274733573296e-08, 2.75572718102198e-07, 2.7557252833516911e-06,
                   2.4801587327007187e-05, 0.00019841269876864356, 0.0013888888888883327, 0.0083333333333255443,
                   0.041666666666666671, 0.16666666666666671, 0.5)

def _exp_parts(x, low):
    x = 1000.0 if x > 1000.0 else -1000.0 if x < -1000.0 else x
    n = rint(x * 1.4426950408889634)
    r = fma(n, -0.69314718055994529, x)
    small = fma(n, -2.3190468138462996e-17, low)
    total = 1.0 + r
    lost = r - (total - 1.0)
    r = r + small
    return total, lost + fma(r * r, _exp_tail(r), small), i32(n)

def _exp(x, low, more):
    total, rest, n = _exp_parts(x, low)
    return _scaled(total + rest, n + more)

def _exp_pair(x, more):
    total, rest, n = _exp_parts(x, f64(0.0))
    y = total + rest
    return _scaled(y, n + more), _scaled((total - y) + rest, n + more)

def exp(x):
    return _exp(x, f64(0.0), 0)

def exp2(x):
    x = 2000.0 if x > 2000.0 else -2000.0 if x < -2000.0 else x
    n = rint(x)
    r = x - n
    t = r * 0.69314718055994529
    t = t + fma(r, 2.3190468138462996e-17, fma(r, 0.69314718055994529, -t))
    return _scaled(1.0 + fma(t * t, _exp_tail(t), t), i32(n))

def exp10(x):
    t = x * 2.3025850929940459
    if not abs(t) < 1000.0:
        return exp(t)
    return _exp(t, fma(x, -2.1707562233822494e-16, fma(x, 2.3025850929940459, -t)), 0)

def expm1(x):
    if not abs(x) < 709.0:
        return exp(x) if x > 0.0 else -1.0 if x < 0.0 else x
    n = rint(x * 1.4426950408889634)
    most_of_r = fma(n, -0.69314718055994529, x)
    r = fma(n, -2.3190468138462996e-17, most_of_r)
    square = 0.5 * r * r
    tail = fma(r * r, _exp_tail(r) - 0.5, fma(0.5 * r, r, -square))
    tail = tail + fma(n, -2.3190468138462996e-17, most_of_r - r)
    if n == 0.0:
        return copysign(r + (square + tail), x)
    s = _scaled(f64(1.0), i32(n) - 1)
    most = s - 0.5
    rest = (s - most) - 0.5
    a = s * r
    total = most + a
    lost = a - (total - most)
    b = s * square
    every = total + b
    lost = lost + (b - (every - total) if abs(total) > b else total - (every - b))
    return 2.0 * (every + (lost + fma(s, tail, rest)))

def _log_plain(x):
    return x > 0.0 and x < _INF

def _log_edge(x):
    return -_INF if x == 0.0 else _NAN if x < 0.0 else x + x

def _log_parts(x):
    n = 0
    if x < 2.2250738585072014e-308:
        x = x * 18014398509481984.0
        n = -54
    high = _high(x)
    k = (high - 0x3fe6a09e) >> 20
    f = _join(high - (k << 20), i32(_bits(x))) - 1.0
    d = 2.0 + f
    d_lost = f - (d - 2.0)
    s = f / d
    s_low = fma(-s, d_lost, fma(-s, d, f)) / d
    z = s * s
    p = _horner(z, 0.13093650524183881, 0.1326809978489753, 0.15386264908549174, 0.18181795175566309,
                0.22222222396072355, 0.28571428570784341, 0.40000000000000907)
    return s, s_low, z, p, f64(n + k)

def _log_pair(x):
    s, s_low, z, p, e = _log_parts(x)
    t = s * z * fma(p, z, 0.66666666666666663)
    most = 2.0 * s
    total = most + t
    return total, e, (t - (total - most)) + 2.0 * s_low

def _log_fine(x):
    s, s_low, z, p, e = _log_parts(x)
    z_low = fma(2.0 * s, s_low, fma(s, s, -z))
    q = fma(p, z, 0.66666666666666663)
    q_low = fma(p, z, 0.66666666666666663 - q) + 3.7007434154171886e-17
    c = s * z
    c_low = fma(s, z, -c) + fma(s, z_low, s_low * z)
    t = c * q
    first = 2.0 * s
    l = first + t
    low = (t - (l - first)) + (2.0 * s_low + (fma(c, q, -t) + fma(c, q_low, c_low * q)))
    most = e * 0.69314718055994529
    most_lost = fma(e, 0.69314718055994529, -most)
    total = most + l
    v = total - most
    total_lost = (most - (total - v)) + (l - v)
    small = total_lost + (low + most_lost + e * 2.3190468138462996e-17)
    high = total + small
    return high, small - (high - total)

def log(x):
    if not _log_plain(x):
        return _log_edge(x)
    l, e, low = _log_pair(x)
    return fma(e, 0.69314718055994529, l + fma(e, 2.3190468138462996e-17, low))

def log2(x):
    if not _log_plain(x):
        return _log_edge(x)
    l, e, low = _log_pair(x)
    t = l * 1.4426950408889634
    return e + (t + fma(l, 2.0355273740931033e-17, fma(low, 1.4426950408889634, fma(l, 1.4426950408889634, -t))))

def log10(x):
    if not _log_plain(x):
        return _log_edge(x)
    l, e, low = _log_pair(x)
    t = l * 0.43429448190325182
    t = t + fma(l, 1.0983196502167651e-17, fma(low, 0.43429448190325182, fma(l, 0.43429448190325182, -t)))
    return fma(e, 0.30102999566398120, fma(e, -2.8037281277851704e-18, t))

def log1p(x):
    u = 1.0 + x
    if not _log_plain(u):
        return _log_edge(u)
    if abs(x) < 5.5511151231257827e-17:
        return x
    lost = 1.0 - (u - x) if x > 1.0 else x - (u - 1.0)
    l, e, low = _log_pair(u)
    return fma(e, 0.69314718055994529, l + (fma(e, 2.3190468138462996e-17, low) + lost / u))

def pow(x, y):
    if x == 1.0 or y == 0.0:
        return f64(1.0)
    if x != x or y != y:
        return x + y
    a = abs(x)
    w = abs(y)
    whole = trunc(y) == y
    odd = whole and w < 9007199254740992.0 and trunc(0.5 * y) != 0.5 * y
    sign = f64(-1.0) if odd and _high(x) < 0 else f64(1.0)
    if w == _INF:
        return f64(1.0) if a == 1.0 else w if (a > 1.0) == (y > 0.0) else f64(0.0)
    if not _log_plain(a):
        return sign * _INF if (a != _INF) == (y < 0.0) else sign * 0.0
    if x < 0.0 and not whole:
        return f64(_NAN)
    high, low = _log_fine(a)
    t = y * high
    rest = fma(y, high, -t) + y * low
    if not abs(t) < 1000.0:
        return sign * (f64(_INF) if t > 0.0 else f64(0.0))
    return sign * _exp(t, rest, 0)

def hypot(x, y):
    a = abs(x)
    b = abs(y)
    if a == _INF or b == _INF:
        return f64(_INF)
    if x != x or y != y or a + b == 0.0:
        return a + b
    most = a if a > b else b
    least = b if a > b else a
    t = least / most
    t_low = fma(-t, most, least) / most
    z = t * t
    w = 1.0 + z
    w_low = ((1.0 - w) + z) + fma(2.0 * t, t_low, fma(t, t, -z))
    h = sqrt(w)
    p = most * h
    low = fma(most, h, -p) + most * (0.5 * (fma(-h, h, w) + w_low) / h)
    return p + low if p < _INF else p

def _window(at):
    k = at >> 5
    shift = u64(at & 31)
    first = u64(_TWO_OVER_PI[k])
    second = u64(_TWO_OVER_PI[k + 1])
    third = u64(_TWO_OVER_PI[k + 2])
    return ((((first << 32) | second) << shift) & 0xffffffff00000000) | ((((second << 32) | third) << shift) >> 32)

def _reduced_far(x):
    bits = _bits(x)
    m = (bits << 11) | 0x8000000000000000
    at = i32((bits >> 52) & 2047) - 1024
    w0 = _window(at)
    w1 = _window(at + 64)
    w2 = _window(at + 128) & 0xffffffff00000000
    middle = m * w1
    high = m * w0 + _upper(m, w1)
    middle = middle + _upper(m, w2)
    if middle < _upper(m, w2):
        high = high + 1
    quadrant = i32((high + (1 << 61)) >> 62)
    top = i64((high << 2) | (middle >> 62))
    middle = middle << 2
    less = top < 0
    if less:
        middle = 0 - middle
        top = ~top
        if middle == 0:
            top = top + 1
    size = u64(top)
    zeros = _zeros(size)
    if zeros == 64:
        size = middle
    elif zeros > 0:
        size = (size << u64(zeros)) | (middle >> u64(64 - zeros))
    turned = _upper(size, u64(0xc90fdaa22168c235))
    place = _join((1023 - zeros) << 20, 0)
    r = f64(turned >> 11) * 2.2204460492503131e-16 * place
    low = f64(turned & 2047) * 1.0842021724855044e-19 * place
    if less:
        r = -r
        low = -low
    if _high(x) < 0:
        r = -r
        low = -low
        quadrant = -quadrant
    return r, low, quadrant

def _reduced(x):
    out = x - x
    low = f64(0.0)
    quadrant = 0
    if abs(x) < 1000000.0:
        n = rint(x * 0.63661977236758138)
        quadrant = i32(n)
        a = x - n * 1.5707963267341256
        b = n * 6.0771005063039660e-11
        r = a - b
        lost = (a - r) - b
        c = fma(n, -2.0222662487959506e-21, lost)
        out = r + c
        low = c - (out - r)
    elif abs(x) < _INF:
        out, low, quadrant = _reduced_far(x)
    return out, low, quadrant

def _sin_pair(r, low):
    z = r * r
    p = _horner(z, -7.5864559400179732e-13, 1.6058527519437729e-10, -2.5052106206531682e-08, 2.7557319219264408e-06,
                -0.00019841269841264968, 0.0083333333333333315, -0.16666666666666666)
    small = fma(r * z, p, low) - 0.5 * z * low
    total = r + small
    return total, (r - total) + small

def _cos_pair(r, low):
    z = r * r
    p = _horner(z, 4.7457378114259111e-14, -1.1470458608341428e-11, 2.0876755776671767e-09, -2.7557319221361261e-07,
                2.4801587301584594e-05, -0.0013888888888888887, 0.041666666666666664)
    h = 0.5 * z
    w = 1.0 - h
    small = ((1.0 - w) - h) + fma(z * z, p, -r * low)
    total = w + small
    return total, (w - total) + small

def _sin_of(r, low, quadrant):
    y, _ = _cos_pair(r, low)
    if not quadrant & 1:
        y, _ = _sin_pair(r, low)
    return -y if quadrant & 2 else y

def sin(x):
    r, low, quadrant = _reduced(x)
    return x if x == 0.0 else _sin_of(r, low, quadrant)

def cos(x):
    r, low, quadrant = _reduced(x)
    return _sin_of(r, low, quadrant + 1)

def tan(x):
    r, low, quadrant = _reduced(x)
    n, n_low = _sin_pair(r, low)
    d, d_low = _cos_pair(r, low)
    if x == 0.0:
        return x
    if quadrant & 1:
        swapped, swapped_low = n, n_low
        n, n_low = -d, -d_low
        d, d_low = swapped, swapped_low
    y = n / d
    return y if abs(x) < 1.0e-280 else y + (fma(-y, d, n) + (n_low - y * d_low)) / d

def _asin_tail(z):
    return z * _horner(z, 0.02877844261259304, -0.014881409392818066, 0.017419357964884856, 0.0054508781877205502,
                       0.010324318288744113, 0.011478952690257387, 0.013971235301124539, 0.017352391265909227,
                       0.022372173002005596, 0.030381944137085216, 0.04464285714637338, 0.074999999999984246,
                       0.16666666666666669)

def asin(x):
    a = abs(x)
    if a < 0.5:
        return fma(x, _asin_tail(x * x), x)
    z = 0.5 * (1.0 - a)
    s = sqrt(z)
    s_lost = fma(-s, s, z) / (2.0 * s + 1.0e-300)
    most = 1.5707963267948966 - 2.0 * s
    lost = (1.5707963267948966 - most) - 2.0 * s
    return copysign(most + (lost - (2.0 * fma(s, _asin_tail(z), s_lost) - 6.1232339957367660e-17)), x)

def acos(x):
    a = abs(x)
    if a < 0.5:
        return 1.5707963267948966 - (x + fma(x, _asin_tail(x * x), -6.1232339957367660e-17))
    z = 0.5 * (1.0 - a)
    s = sqrt(z)
    y = 2.0 * fma(s, _asin_tail(z), s)
    return y if x > 0.0 else 3.1415926535897931 - (y - 1.2246467991473532e-16)

def _atan_part(y, x):
    far = y > 0.41421356237309503 * x
    n = y - x if far else y
    d = y + x if far else x
    a = n / d
    low = f64(0.0)
    if far:
        low = (fma(-a, d, n) + ((y - (n + x)) - a * (y - (d - x)))) / d
    z = a * a
    p = _horner(z, -0.013790276896186757, 0.030508638210712917, -0.04098925212046918, 0.047180245459013503,
                -0.05257825876436812, 0.05881902886080892, -0.066666404766128118, 0.076923066660884526,
                -0.090909090650088439, 0.11111111110721053, -0.14285714285711226, 0.1999999999999999,
                -0.33333333333333331)
    r = fma(a * z, p, a)
    return 0.78539816339744828 + (r + (3.0616169978683830e-17 + low)) if far else r

def atan(x):
    a = abs(x)
    if a != a:
        return x + x
    if a == _INF:
        return copysign(f64(1.5707963267948966), x)
    if a > 1.0:
        return copysign(1.5707963267948966 - (_atan_part(f64(1.0), a) - 6.1232339957367660e-17), x)
    return copysign(_atan_part(a, f64(1.0)), x)

def atan2(y, x):
    if x != x or y != y:
        return x + y
    a = abs(x)
    b = abs(y)
    most = a if a > b else b
    least = b if a > b else a
    scale = f64(0.25) if most > 1.0e307 else f64(1.0)
    r = f64(0.0)
    if most != 0.0:
        r = f64(0.78539816339744828) if least == most else _atan_part(scale * least, scale * most)
    if b > a:
        r = 1.5707963267948966 - (r - 6.1232339957367660e-17)
    if _high(x) < 0:
        r = 3.1415926535897931 - (r - 1.2246467991473532e-16)
    return copysign(r, y)

def _exp_both(a, sign):
    most, rest = _exp_pair(a, -1)
    least = sign * _exp(-a, f64(0.0), -1)
    total = most + least
    return total + (((most - total) + least) + rest) if total < _INF else total

def cosh(x):
    a = abs(x)
    return _exp_both(a, f64(1.0))

def sinh(x):
    a = abs(x)
    z = x * x
    if not a < 1.0:
        return copysign(_exp_both(a, f64(-1.0)), x)
    p = _horner(z, 2.8448590004367615e-15, 7.6466144991482072e-13, 1.6059048534903938e-10, 2.5052108363187792e-08,
                2.7557319224043122e-06, 0.00019841269841269768, 0.0083333333333333332, 0.16666666666666666)
    return fma(x * z, p, x)

def tanh(x):
    a = abs(x)
    z = x * x
    if a < 0.55:
        p = _horner(z, -2.0289800612514075e-05, 8.4657186402503472e-05, -0.00023435314845645768, 0.00058884004225372827,
                    -0.0014556421112203049, 0.0035921078811045905, -0.00886323420601293, 0.021869488485246009,
                    -0.053968253967247262, 0.13333333333332556, -0.33333333333333331)
        return copysign(fma(x * z, p, x), x)
    e, rest = _exp_pair(2.0 * (a if a < 40.0 or a != a else 40.0), 0)
    d = e + 1.0
    q = 2.0 / d
    y = 1.0 - q
    q_low = (fma(-q, d, 2.0) - q * (((e - d) + 1.0) + rest)) / d
    return copysign(y + (((1.0 - y) - q) - q_low), x)

def asinh(x):
    a = abs(x)
    z = x * x
    y = log(a) + 0.69314718055994529 if a > 1.0e18 else log1p(a + z / (1.0 + sqrt(1.0 + z)))
    return copysign(y, x)

def acosh(x):
    t = x - 1.0
    return log(x) + 0.69314718055994529 if x > 1.0e18 else log1p(t + sqrt(2.0 * t + t * t))

def atanh(x):
    a = abs(x)
    return copysign(0.5 * log1p(2.0 * a / (1.0 - a)), x)

def _erf_part(x):
    z = x * x
    p = _horner(z, -4.2116459732799509e-12, 8.6969148695091615e-11, -1.2161193068258871e-09, 1.4791857980184993e-08,
                -1.6364585736775698e-07, 1.6462041494400115e-06, -1.4925647378433174e-05, 0.00012055332896705783,
                -0.00085483270217997544, 0.0052239776254214103, -0.026866170645129684, 0.11283791670955119,
                -0.37612638903183754)
    return copysign(fma(x * z, p, x * 1.1283791670955126), x)

def _erfcx_part(x):
    u = (x - 4.0) / (x + 4.0)
    p = _horner(u, -2.4717744706191328e-10, -4.1029776018087862e-10, 2.2661177016916978e-09, 3.8046470087650779e-09,
                -1.5646205300919935e-08, -2.1813626899191952e-08, 1.1119741893910814e-07, 7.8923230607848034e-08,
                -8.2577062985925295e-07, 2.9088180097946706e-07, 5.7096571936618561e-06, -1.1220735511849491e-05,
                -2.4399110219930284e-05, 0.00015062130121193615, -0.00019925673410432296, -0.0007577732182752606,
                0.0050319699857237594, -0.016197734066100249, 0.037167515536653428, -0.066330365811639161,
                0.093732834998395603, -0.1010390660363253, 0.068097054254691564, 0.015379652102620043,
                -0.1396211168405625, 1.2329951186255526)
    return p / fma(2.0, x, 1.0)

def _gauss(x):
    z = x * x
    return _exp(-z, -fma(x, x, -z), 0)

def erfc(x):
    a = abs(x)
    if a < 0.5:
        return 1.0 - _erf_part(x)
    if a > 27.3:
        return f64(0.0) if x > 0.0 else f64(2.0)
    y = _gauss(a) * _erfcx_part(a)
    return y if x > 0.0 else 2.0 - y if x < 0.0 else x

def erf(x):
    a = abs(x)
    if a < 0.75:
        return _erf_part(x)
    return x if x != x else copysign(f64(1.0) if a > 6.0 else 1.0 - _gauss(a) * _erfcx_part(a), x)

def _exponent(x):
    if x < 2.2250738585072014e-308:
        return (_high(x * 18014398509481984.0) >> 20) - 54
    return _high(x) >> 20

def fmod(x, y):
    a = abs(x)
    b = abs(y)
    if not a < _INF or not b > 0.0:
        return f64(_NAN)
    if b == _INF or a < b:
        return x
    k = _exponent(a) - _exponent(b)
    d = _scaled(_scaled(b, k >> 1), k - (k >> 1))
    while d >= b:
        if a >= d:
            a = a - d
        d = 0.5 * d if d > b else f64(0.0)
    return copysign(a, x)
"""


@cache
def _sources() -> dict[str, FunctionSource]:
    return text_functions(_TEXT, PATH, {"_INF": math.inf, "_NAN": math.nan, "_TWO_OVER_PI": _TWO_OVER_PI})


FUNCTIONS = frozenset(_sources())


def library(name: str) -> FunctionSource:
    """Return the source of one of `FUNCTIONS`."""
    return _sources()[name]

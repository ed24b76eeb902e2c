// The functions of the CUDA headers on the host's processor, in the namespace `chip`. `math_on_host.py` writes `headers.h`
// and `roms.h`.
#include <cmath>
#include <cstdint>
#include <cstring>

// --- the special-function unit: the tables of isakit.sem.fp.roms, the arithmetic of isakit.sem.fp.sfu --------------------
#include "roms.h"

namespace chip {
static inline int __float_as_int(float x) { int y; memcpy(&y, &x, 4); return y; }
static inline float __int_as_float(int x) { float y; memcpy(&y, &x, 4); return y; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline long long __float2ll_rn(float x) { return llrintf(x); }

static inline long long __double_as_longlong(double x) { long long y; memcpy(&y, &x, 8); return y; }
static inline double __longlong_as_double(long long x) { double y; memcpy(&y, &x, 8); return y; }
static inline int __double2hiint(double x) { return (int)(__double_as_longlong(x) >> 32); }
static inline int __double2loint(double x) { return (int)__double_as_longlong(x); }
static inline double __hiloint2double(int hi, int lo)
{
    return __longlong_as_double((long long)((uint64_t)(uint32_t)hi << 32 | (uint32_t)lo));
}
static inline long long __double2ll_rn(double x) { return llrint(x); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b)
{
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
static inline double __nvvm_sqrt_rn_d(double x) { return __builtin_sqrt(x); }

static inline uint32_t truncated_square(uint32_t v)
{
    uint32_t total = 0;
    for (int j = 10; j < 17; j++)
        total += (0 - (v >> j & 1)) & (((v & (((1u << j) - 1) ^ ((1u << (18 - j)) - 1))) >> (18 - j)) + (1u << (2 * j - 19)));
    return total;
}
struct Rom { const uint64_t *rows; int x_bits, a_shift, c_shift, x_factor; bool b_falls, c_falls; };
static inline uint64_t interpolate(const Rom &rom, uint32_t argument)
{
    uint64_t row = rom.rows[argument >> rom.x_bits], x = argument & ((1u << rom.x_bits) - 1);
    uint64_t square = truncated_square((uint32_t)x * (uint32_t)rom.x_factor);
    uint64_t linear = (row >> 16 & 0xffff) * x, curved = (row & 0xffff) * square << rom.c_shift, total = row >> 32 << rom.a_shift;
    total = rom.b_falls ? total - linear : total + linear;
    return rom.c_falls ? total - curved : total + curved;
}
static inline float assemble(uint32_t sign, int exponent, uint32_t significand)
{
    int field = exponent + (int)(significand >> 24 & 1);
    uint32_t size = field < 1 ? 0 : field < 255 ? (uint32_t)field << 23 | (significand & 0x7fffff) : 0x7f800000u;
    return __int_as_float((int)(sign | size));
}
static inline float rcp(float v)
{
    static const Rom rom = RCP;
    uint32_t u = (uint32_t)__float_as_int(v), sign = u & 0x80000000u, e = u >> 23 & 255, f = u & 0x7fffff;
    if (e == 255) return f ? __builtin_nanf("") : __int_as_float((int)sign);
    if (e == 0) return __int_as_float((int)(sign | 0x7f800000u));
    return assemble(sign, 253 - (int)e, (uint32_t)((interpolate(rom, f) + 0x47e7) >> 15));
}
static inline float __nvvm_rsqrt_approx_f(float v)
{
    static const Rom rom = RSQRT;
    uint32_t u = (uint32_t)__float_as_int(v), field = u >> 23 & 255;
    if (field == 0) return __int_as_float((int)((u & 0x80000000u) | 0x7f800000u));
    if (u >= 0x7f800000u) return u == 0x7f800000u ? 0.0f : __builtin_nanf("");
    int e = (int)field - 127;
    uint32_t f = (uint32_t)(e & 1) << 23 | (u & 0x7fffff);
    return assemble(0, 126 - (e >> 1) + (f == 0), f == 0 ? 1u << 23 : (uint32_t)((interpolate(rom, f) + 0x7fff) >> 16));
}
static inline float __nvvm_lg2_approx_f(float v)
{
    static const Rom rom = LG2;
    uint32_t u = (uint32_t)__float_as_int(v), field = u >> 23 & 255;
    if (field == 0) return -__builtin_inff();
    if (u >= 0x7f800000u) return u == 0x7f800000u ? v : __builtin_nanf("");
    int64_t r = u == 0x3f800000u ? 0 : (int64_t)((interpolate(rom, u & 0x7fffff) + 0x3345) >> 2);
    r += ((int64_t)field - 127) << 36;
    uint64_t m = (uint64_t)(r < 0 ? ~r : r);
    uint32_t sign = r < 0 ? 0x80000000u : 0;
    if (!m) return __int_as_float((int)sign);
    int zeros = __builtin_clzll(m);
    return __int_as_float((int)(sign | (uint32_t)(154 - zeros) << 23 | ((uint32_t)(m << zeros >> 40) & 0x7fffff)));
}
static inline float __nvvm_ex2_approx_f(float v)
{
    static const Rom rom = EX2;
    uint32_t u = (uint32_t)__float_as_int(v), field = u >> 23 & 255;
    if (v != v) return v;
    int e = (int)field - 127;
    bool sign = u >> 31;
    if (e >= 7) return sign ? 0.0f : __builtin_inff();
    uint32_t m = field ? (u & 0x7fffff) | 0x800000 : 0, fixed = e < 0 ? (e < -31 ? 0 : m >> -e) : m << e;
    uint32_t q = fixed >> 23, f = fixed & 0x7fffff;
    if (sign) q = f ? ~q : 0u - q, f = f ? f ^ 0x7fffff : 0;
    return assemble(0, (int)q + 127, (uint32_t)((interpolate(rom, f) + 0x77e2) >> 15));
}
static inline float __nvvm_div_approx_f(float a, float b) { return a * rcp(b); }
static inline float __nvvm_sqrt_rn_f(float x) { return __builtin_sqrtf(x); }
static inline float __nvvm_sin_approx_f(float) { return 0; }
static inline float __nvvm_cos_approx_f(float) { return 0; }
#include "headers.h"
} // namespace chip


// The loops of bench/throughput.py in C, compiled with -O3 -march=native; the functions of libmvec with -ffast-math.
//
// `a` holds four numbers per thread ([4][256]), `r` eight destinations ([8][256], of 8 bytes each), `buffer` memory and
// `index` where each thread finds its word when accesses are scattered. One turn does 16 operations a thread.
#include <math.h>
#include <stdint.h>

#define N 256
#define ARGUMENTS uint32_t turns, const void *restrict a, void *restrict r, uint32_t *restrict buffer, \
                  const uint32_t *restrict index
#define LOOP(name, T, statement)                                                                    \
    void name(ARGUMENTS)                                                                            \
    {                                                                                               \
        const T *x = a, *y = x + N, *z = x + 2 * N;                                                 \
        (void)x, (void)y, (void)z, (void)index, (void)buffer;                                       \
        for (uint32_t t = 0; t < turns; t++)                                                        \
            for (uint32_t k = 0; k < 16; k++) {                                                     \
                T *restrict d = (T *)r + N * (k & 7);                                               \
                for (uint32_t i = 0; i < N; i++)                                                    \
                    statement;                                                                      \
                __asm__ volatile("" ::: "memory");                                                  \
            }                                                                                       \
    }
typedef uint32_t u32;
typedef int32_t s32;
typedef uint16_t u16;
typedef uint8_t u8;

#ifndef FAST
LOOP(add_b32, u32, d[i] += x[i])
LOOP(xor_b32, u32, d[i] ^= x[i])
LOOP(min_s32, s32, d[i] = x[i] < d[i] ? x[i] : d[i])
LOOP(mul_u16, u32, d[i] = (x[i] & 0xffff) * (y[i] >> 16))
LOOP(shl_b32, u32, d[i] = y[i] < 32 ? d[i] << y[i] : 0)
LOOP(shr_s32, s32, d[i] >>= (u32)y[i] < 32 ? y[i] : 31)
LOOP(set_u32, u32, d[i] = x[i] < d[i] ? ~0u : 0)
LOOP(sad_s32, s32, d[i] += x[i] < y[i] ? y[i] - x[i] : x[i] - y[i])
LOOP(add_f32, float, d[i] += x[i])
LOOP(mul_f32, float, d[i] *= z[i])
LOOP(mad_f32, float, d[i] = fmaf(d[i], y[i], x[i]))
LOOP(mac_f32, float, d[i] = fmaf(x[i], y[i], d[i]))
LOOP(max_f32, float, d[i] = x[i] > d[i] ? x[i] : d[i])
LOOP(set_f32, float, d[i] = x[i] < d[i] ? 1 : 0)
LOOP(half_add_f32, float, if (i & 1) d[i] += x[i])
LOOP(add_f64, double, d[i] += x[i])
LOOP(mul_f64, double, d[i] = x[i] * y[i])
LOOP(fma_f64, double, d[i] = fma(x[i], y[i], d[i]))
LOOP(cvt_f32_s32, u32, ((float *)d)[i] = (float)(s32)x[i])
LOOP(cvt_s32_f32, u32, d[i] = (u32)(s32)rintf(((const float *)x)[i]))
LOOP(cvt_rz_s32_f32, u32, d[i] = (u32)(s32)((const float *)x)[i])
LOOP(cvt_f32_u32, u32, ((float *)d)[i] = (float)x[i])
LOOP(cvt_f64_f32, double, d[i] = ((const float *)x)[i])
LOOP(cvt_f32_f64, double, ((float *)d)[i] = (float)x[i])
LOOP(cvt_s32_f64, double, ((s32 *)d)[i] = (s32)x[i])
LOOP(cvt_f64_s32, double, d[i] = ((const s32 *)x)[i])
LOOP(min_f64, double, d[i] = x[i] < d[i] ? x[i] : d[i])
LOOP(set_f64, double, ((u32 *)d)[i] = x[i] < y[i] ? ~0u : 0)
LOOP(ld_consecutive, u32, d[i] = buffer[i])
LOOP(ld_same, u32, d[i] = buffer[0])
LOOP(ld_reversed, u32, d[i] = buffer[N - 1 - i])
LOOP(ld_stride2, u32, d[i] = buffer[2 * i])
LOOP(ld_stride3, u32, d[i] = buffer[3 * i])
LOOP(ld_permuted, u32, d[i] = buffer[i ^ 11])
LOOP(ld_scattered, u32, d[i] = buffer[index[i]])
LOOP(ld_u8, u32, d[i] = ((u8 *)buffer)[i])
LOOP(st_consecutive, u32, buffer[i] = x[i])
LOOP(st_reversed, u32, buffer[N - 1 - i] = x[i])
LOOP(st_stride2, u32, buffer[2 * i] = x[i])
LOOP(st_stride3, u32, buffer[3 * i] = x[i])
LOOP(st_permuted, u32, buffer[i ^ 11] = x[i])
LOOP(st_scattered, u32, buffer[index[i]] = x[i])
LOOP(red_same, u32, buffer[0] += x[i])
LOOP(red_consecutive, u32, buffer[i] += x[i])
#else
LOOP(rcp_f32, float, d[i] = 1 / x[i])
LOOP(rsqrt_f32, float, d[i] = 1 / sqrtf(x[i]))
LOOP(lg2_f32, float, d[i] = logf(x[i]))
LOOP(ex2_f32, float, d[i] = expf(x[i]))
LOOP(sin_f32, float, d[i] = sinf(x[i]))
LOOP(cos_f32, float, d[i] = cosf(x[i]))
#endif

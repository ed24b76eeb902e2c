// The four example kernels in C, for bench/engines.py. Compiled with -O3 -march=native -ffp-contract=off.
#include <stdint.h>
#include <string.h>

void saxpy(uint32_t n, float a, const float *restrict x, float *restrict y)
{
    for (uint32_t i = 0; i < n; i++)
        y[i] = a * x[i] + y[i];
}

void matmul(const float *restrict a, const float *restrict b, float *restrict c, uint32_t n)
{
    memset(c, 0, sizeof(float) * n * n);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++) {
            float f = a[i * n + k];
            for (uint32_t j = 0; j < n; j++)
                c[i * n + j] += f * b[k * n + j];
        }
}

static inline uint32_t turns(float cx, float cy, uint32_t limit)
{
    float x = 0, y = 0;
    uint32_t n = 0;
    do {
        float xx = x * x, yy = y * y;
        if (xx + yy > 4.0f)
            break;
        y = (x + x) * y + cy;
        x = xx - yy + cx;
        n++;
    } while (n < limit);
    return n;
}

void mandelbrot(uint32_t *out, uint32_t width, uint32_t limit, float left, float top, float step)
{
    for (uint32_t j = 0; j < width; j++)
        for (uint32_t i = 0; i < width; i++)
            out[j * width + i] = turns(left + i * step, top + j * step, limit);
}

typedef float f16v __attribute__((vector_size(64)));
typedef int32_t i16v __attribute__((vector_size(64)));

void mandelbrot_vector(uint32_t *out, uint32_t width, uint32_t limit, float left, float top, float step)
{
    for (uint32_t j = 0; j < width; j++)
        for (uint32_t i = 0; i < width; i += 16) {
            f16v cx, cy, x = {0}, y = {0};
            i16v n = {0}, running = ~(i16v){0};
            for (int k = 0; k < 16; k++) {
                cx[k] = left + (i + k) * step;
                cy[k] = top + j * step;
            }
            for (uint32_t t = 0; t < limit; t++) {
                f16v xx = x * x, yy = y * y;
                running &= xx + yy <= 4.0f;
                int any = 0;
                for (int k = 0; k < 16; k++)
                    any |= running[k];
                if (!any)
                    break;
                y = (x + x) * y + cy;
                x = xx - yy + cx;
                n -= running;
            }
            memcpy(out + j * width + i, &n, 64);
        }
}

void hash_reduce(uint32_t *restrict out, uint32_t blocks, uint32_t seed, uint32_t rounds)
{
    for (uint32_t b = 0; b < blocks; b++) {
        uint32_t h[256], sum = 0;
        for (uint32_t t = 0; t < 256; t++)
            h[t] = (b * 256 + t + seed) | 1;
        for (uint32_t r = 0; r < rounds; r++)
            for (uint32_t t = 0; t < 256; t++) {
                h[t] ^= h[t] << 13;
                h[t] ^= h[t] >> 17;
                h[t] ^= h[t] << 5;
            }
        for (uint32_t t = 0; t < 256; t++)
            sum += h[t];
        out[b] = sum;
    }
}

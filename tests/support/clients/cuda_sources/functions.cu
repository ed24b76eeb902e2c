// The mathematical functions of both sides by the same names, and those that only kernels have.
#include "check.h"
#include <cmath>
#include <algorithm>

template <class T> __host__ __device__ T mixed(T x, T y)
{
    return sin(x) * exp(y) + pow(fabs(x), y) + atan2(y, x) + sqrt(x * x + y * y) + log(1 + fabs(y)) + fmod(x, T(1.5))
           + tanh(y) + floor(x) + max(x, y) - min(x, T(2)) + cbrt(y);
}

__global__ void floats(const float *x, float *y) { int i = threadIdx.x; y[i] = mixed(x[i], x[i + 1]); }
#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 130
__global__ void doubles(const double *x, double *y) { int i = threadIdx.x; y[i] = mixed(x[i], x[i + 1]); }
#endif

__global__ void bits(unsigned *o)
{
    o[0] = __popc(0xf0f1), o[1] = __clz(0x1000), o[2] = __ffs(0x1000), o[3] = __brev(0x12345678), o[4] = __ffs(0);
    o[5] = __mulhi(0x40000000, 12), o[6] = __umul24(0x1000003, 5), o[7] = __byte_perm(0x33221100, 0x77665544, 0x6420);
    o[8] = __float_as_int(1.5f), o[9] = __float2int_rn(2.5f), o[10] = __float2int_ru(2.1f), o[11] = __sad(3, -4, 5);
    o[12] = __popcll(-1ll), o[13] = __clzll(1ll << 40), o[14] = __float2uint_rz(3.9f), o[15] = __saturatef(7.0f);
    __shared__ unsigned s;
    s = umin(3, 4), syncthreads();
    o[16] = umax(1, 0) + float2int(4.6f, cudaRoundNearest) + s + (float_as_int(1.5f) - __float_as_int(1.5f)), o[17] = __usad(9, 2, 1), o[18] = __umulhi(0xffffffffu, 16);
}

int main()
{
    int wrong = 0;
    float f[33], g[32], *a, *b;
    double d[33], e[32], *p, *q;
    for (int i = 0; i < 33; i++) d[i] = f[i] = 0.37f * i - 4.1f;
    CALL(cudaMalloc(&a, sizeof f)); CALL(cudaMalloc(&b, sizeof g));
    CALL(cudaMalloc(&p, sizeof d)); CALL(cudaMalloc(&q, sizeof e));
    CALL(cudaMemcpy(a, f, sizeof f, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy(p, d, sizeof d, cudaMemcpyHostToDevice));
    floats<<<1, 32>>>(a, b);
    CALL(cudaMemcpy(g, b, sizeof g, cudaMemcpyDeviceToHost));
    doubles<<<1, 32>>>(p, q);
    CALL(cudaMemcpy(e, q, sizeof e, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 32; i++) {
        double right = mixed(d[i], d[i + 1]), size = std::max(1.0, std::fabs(right));
        wrong += !(std::fabs(g[i] - right) < 3e-5 * size) + !(std::fabs(e[i] - right) < 1e-13 * size);
    }
    const unsigned want[19] = {9, 19, 13, 0x1e6a2c48, 0, 3, 15, 0x66442200, 0x3fc00000, 2, 3, 12,
                               64, 23, 3, 1, 9, 8, 15};
    unsigned got[19], *o;
    CALL(cudaMalloc(&o, sizeof got));
    bits<<<1, 1>>>(o);
    CALL(cudaMemcpy(got, o, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 19; i++) wrong += got[i] != want[i];
    return verdict("functions", wrong);
}

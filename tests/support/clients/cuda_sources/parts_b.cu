#include "parts.h"
#include "check.h"
__device__ int times(int a, int b) { return a * b; }
__device__ int plus(int a, int b) { return a + b; }
typedef int (*Operation)(int, int);
static __global__ void kernel(int *o, int n)
{
    Operation f[2] = {times, plus};
    o[threadIdx.x] = f[threadIdx.x](n, f[threadIdx.x](n, n));
}
int cubes(int n)
{
    int got[2], *o;
    CALL(cudaMalloc(&o, sizeof got));
    kernel<<<1, 2>>>(o, n);
    CALL(cudaMemcpy(got, o, sizeof got, cudaMemcpyDeviceToHost));
    return got[0] * 10 + got[1];
}

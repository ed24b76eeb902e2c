// Votes, barriers that count, fences, the clock; a last block that waits for all others.
#include "check.h"

__device__ unsigned arrived;

__global__ void votes(int *o)
{
    int i = threadIdx.x;
    o[i] = __any(i == 40) + 2 * __all(i >= 32) + 4 * __syncthreads_count(i % 3 == 0) + 1000 * __syncthreads_or(i == 7);
}

__global__ void last(const int *in, int *sums, int *out)
{
    __shared__ bool is_last;
    __shared__ int s[64];
    s[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) {
        int sum = 0;
        for (int i = 0; i < 64; i++) sum += s[i];
        sums[blockIdx.x] = sum;
        __threadfence();
        is_last = atomicInc(&arrived, gridDim.x) == gridDim.x - 1;
    }
    __syncthreads();
    if (is_last && threadIdx.x == 0) {
        int sum = 0;
        clock_t begin = clock();
        for (unsigned i = 0; i < gridDim.x; i++) sum += ((volatile int *)sums)[i];
        out[0] = sum, out[1] = clock() - begin > 0;
    }
}

int main()
{
    int got[64], data[640], *o, *d, *s, wrong = 0, sum = 0, end[2];
    CALL(cudaMalloc(&o, sizeof got)); CALL(cudaMalloc(&d, sizeof data)); CALL(cudaMalloc(&s, 40));
    votes<<<1, 64>>>(o);
    CALL(cudaMemcpy(got, o, sizeof got, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 64; i++) wrong += got[i] != (i < 32 ? 0 : 3) + 4 * 22 + 1000;
    for (int i = 0; i < 640; i++) sum += data[i] = i * i % 101;
    CALL(cudaMemcpy(d, data, sizeof data, cudaMemcpyHostToDevice));
    last<<<10, 64>>>(d, s, o);
    CALL(cudaMemcpy(end, o, sizeof end, cudaMemcpyDeviceToHost));
    wrong += end[0] != sum || !end[1];
    return verdict("warps", wrong);
}

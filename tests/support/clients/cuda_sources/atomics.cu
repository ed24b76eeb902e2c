// Histograms and sums by atomic functions, in global and shared memory.
#include "check.h"

__global__ void count(const unsigned char *data, int n, unsigned *bins, float *sum, unsigned long long *total, int *most)
{
#if __CUDA_ARCH__ >= 120
    __shared__ unsigned own[16];
    if (threadIdx.x < 16) own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) atomicAdd(&own[data[i] >> 4], 1u);
    __syncthreads();
    if (threadIdx.x < 16) atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
    atomicAdd(total, (unsigned long long)data[threadIdx.x] << 30);
#endif
    atomicAdd(sum, 0.5f * data[threadIdx.x]);
    atomicMax(most, (int)data[threadIdx.x]);
    if (threadIdx.x == 0) {
        most[1] = atomicCAS(&most[2], 5, 6), most[3] = atomicExch(&most[4], 9);
        atomicInc((unsigned *)&most[5], 3), atomicOr(&most[6], 12), atomicSub(&most[7], 4);
    }
}

int main()
{
    unsigned char data[2000];
    unsigned want[16] = {0}, bins[16];
    float sum, right = 0;
    unsigned long long total, all = 0;
    int most[8] = {0, 0, 5, 0, 7, 3, 1, 1}, largest = 0, wrong = 0;
    for (int i = 0; i < 2000; i++) data[i] = (i * 7919) >> 3, want[data[i] >> 4]++;
    for (int i = 0; i < 64; i++) {
        right += 0.5f * data[i], all += (unsigned long long)data[i] << 30;
        if (data[i] > largest) largest = data[i];
    }
    unsigned char *d;
    unsigned *b;
    float *s;
    unsigned long long *t;
    int *m;
    CALL(cudaMalloc(&d, sizeof data)); CALL(cudaMalloc(&b, sizeof bins)); CALL(cudaMalloc(&s, 4));
    CALL(cudaMalloc(&t, 8)); CALL(cudaMalloc(&m, sizeof most));
    CALL(cudaMemcpy(d, data, sizeof data, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy(m, most, sizeof most, cudaMemcpyHostToDevice));
    CALL(cudaMemset(b, 0, sizeof bins)); CALL(cudaMemset(s, 0, 4)); CALL(cudaMemset(t, 0, 8));
    count<<<1, 64>>>(d, 2000, b, s, t, m);
    CALL(cudaMemcpy(bins, b, sizeof bins, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy(&sum, s, 4, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy(&total, t, 8, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpy(most, m, sizeof most, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 16; i++) wrong += bins[i] != want[i];
    wrong += sum != right;
    wrong += total != all;
    const int rest[8] = {largest, 5, 6, 7, 9, 0, 13, -3};
    for (int i = 0; i < 8; i++) wrong += most[i] != rest[i];
    return verdict("atomics", wrong);
}

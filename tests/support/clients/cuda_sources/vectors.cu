// Sums of vectors, with events and a stream, as the first programs of everybody.
#include "check.h"

__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1000;
    size_t size = n * sizeof(float);
    float *h_a = (float *)malloc(size), *h_b = (float *)malloc(size), *h_c, *d_a, *d_b, *d_c, ms;
    CALL(cudaMallocHost(&h_c, size));
    for (register int i = 0; i < n; i++) h_a[i] = i, h_b[i] = 2 * i;
    CALL(cudaMalloc((void **)&d_a, size));
    CALL(cudaMalloc((void **)&d_b, size));
    CALL(cudaMalloc(&d_c, size));
    cudaEvent_t start, stop;
    cudaStream_t stream;
    CALL(cudaEventCreate(&start));
    CALL(cudaEventCreate(&stop));
    CALL(cudaStreamCreate(&stream));
    CALL(cudaMemcpy(d_a, h_a, size, cudaMemcpyHostToDevice));
    CALL(cudaMemcpyAsync(d_b, h_b, size, cudaMemcpyHostToDevice, stream));
    CALL(cudaEventRecord(start, stream));
    add<<<(n + 255) / 256, 256, 0, stream>>>(d_a, d_b, d_c, n);
    CALL(cudaGetLastError());
    CALL(cudaEventRecord(stop, stream));
    CALL(cudaMemcpyAsync(h_c, d_c, size, cudaMemcpyDeviceToHost, stream));
    CALL(cudaThreadSynchronize());
    CALL(cudaEventElapsedTime(&ms, start, stop));
    int wrong = !(ms >= 0);
    for (int i = 0; i < n; i++) wrong += h_c[i] != 3.0f * i;
    add << <1, 1024>> > (d_a, d_b, d_c, n); // too many threads, and spaces that nvcc took
    wrong += cudaGetLastError() != cudaErrorInvalidConfiguration;
    return verdict("vectors", wrong);
}

/* Counts bytes in shared memory, then adds the counts of all blocks.

       isakit cc examples/cuda-c/histogram.cu -o histogram.cubin
*/
extern "C" __global__ void histogram(const unsigned char *data, unsigned n, unsigned *counts)
{
    __shared__ unsigned own[256];
    for (unsigned k = threadIdx.x; k < 256; k += blockDim.x)
        own[k] = 0;
    __syncthreads();
    for (unsigned k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x)
        atomicAdd(&own[data[k]], 1u);
    __syncthreads();
    for (unsigned k = threadIdx.x; k < 256; k += blockDim.x)
        atomicAdd(&counts[k], own[k]);
}

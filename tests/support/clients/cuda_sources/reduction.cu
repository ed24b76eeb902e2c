// A template for several types and sizes of blocks, with shared memory whose size the launch says.
#include "check.h"

template <class T> struct SharedMemory {
    __device__ operator T *()
    {
        extern __shared__ int memory[];
        return (T *)memory;
    }
};

template <class T, unsigned int size> __global__ void reduce(const T *in, T *out, unsigned int n)
{
    T *s = SharedMemory<T>();
    unsigned int t = threadIdx.x, i = blockIdx.x * size * 2 + t;
    T sum = 0;
    while (i < n) {
        sum += in[i];
        if (i + size < n) sum += in[i + size];
        i += size * 2 * gridDim.x;
    }
    s[t] = sum;
    __syncthreads();
    if (size >= 256) { if (t < 128) s[t] = sum = sum + s[t + 128]; __syncthreads(); }
    if (size >= 128) { if (t < 64) s[t] = sum = sum + s[t + 64]; __syncthreads(); }
    if (t < 32) {
        volatile T *v = s;
        if (size >= 64) v[t] = sum = sum + v[t + 32];
        v[t] = sum = sum + v[t + 16];
        v[t] = sum = sum + v[t + 8];
        v[t] = sum = sum + v[t + 4];
        v[t] = sum = sum + v[t + 2];
        v[t] = sum = sum + v[t + 1];
    }
    if (t == 0) out[blockIdx.x] = s[0];
}

template <class T, unsigned int size> int check(unsigned int n)
{
    const unsigned int blocks = 8;
    T *h = new T[n], *d, *o, got[blocks], sum = 0, want = 0;
    for (unsigned int i = 0; i < n; i++) want += h[i] = (T)(i % 17) - 3;
    CALL(cudaMalloc(&d, n * sizeof(T)));
    CALL(cudaMalloc(&o, blocks * sizeof(T)));
    CALL(cudaMemcpy(d, h, n * sizeof(T), cudaMemcpyHostToDevice));
    dim3 grid(blocks, 1, 1), block(size);
    reduce<T, size><<<grid, block, (size + 32) * sizeof(T)>>>(d, o, n);
    CALL(cudaMemcpy(got, o, sizeof got, cudaMemcpyDeviceToHost));
    for (unsigned int i = 0; i < blocks; i++) sum += got[i];
    CALL(cudaFree(d));
    CALL(cudaFree(o));
    delete[] h;
    return sum != want;
}

int main()
{
    cudaFuncAttributes attributes;
    CALL(cudaFuncGetAttributes(&attributes, reduce<int, 256>));
    int wrong = attributes.numRegs < 2 || attributes.maxThreadsPerBlock < 256;
    wrong += check<int, 64>(1) + check<int, 128>(4000) + check<float, 256>(10000) + check<double, 128>(5000);
    return verdict("reduction", wrong);
}

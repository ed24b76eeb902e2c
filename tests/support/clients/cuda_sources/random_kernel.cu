/* Random numbers in kernels: what NVIDIA's samples of cuRAND print for the seed 1234, mean 1, deviation 2. */
#include <stdio.h>
#include <curand_kernel.h>

#define N 16

__global__ void setup(curandState *states) { curand_init(1234, threadIdx.x, 0, &states[threadIdx.x]); }

__global__ void draw(const curandState *states, float *uniform, float *normal, int *equal)
{
    int k = threadIdx.x;
    curandState a = states[k], b = states[k], c;
    uniform[k] = curand_uniform(&a);
    normal[2 * k] = 1 + 2 * curand_normal(&b);
    normal[2 * k + 1] = 1 + 2 * curand_normal(&b);
    curand_init(1234, k, 1 + k, &c);
    for (int i = 0; i < k; i++) curand(&a);
    equal[k] = curand(&a) == curand(&c);
}

int main()
{
    curandState *states;
    float *uniform, *normal, u[N], n[2 * N];
    int *equal, e[N], wrong = 0;
    cudaMalloc((void **)&states, N * sizeof *states);
    cudaMalloc((void **)&uniform, sizeof u);
    cudaMalloc((void **)&normal, sizeof n);
    cudaMalloc((void **)&equal, sizeof e);
    setup<<<1, N>>>(states);
    draw<<<1, N>>>(states, uniform, normal, equal);
    cudaMemcpy(u, uniform, sizeof u, cudaMemcpyDeviceToHost);
    cudaMemcpy(n, normal, sizeof n, cudaMemcpyDeviceToHost);
    cudaMemcpy(e, equal, sizeof e, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 10; i++) printf(i < 9 ? "%f " : "%f\n", u[i]);
    for (int i = 0; i < 10; i++) printf(i < 9 ? "%f " : "%f\n", n[i]);
    for (int i = 0; i < N; i++) wrong += !e[i];
    printf("%d wrong\n", wrong);
    return 0;
}

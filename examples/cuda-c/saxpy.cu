// A whole program: `isakit nvcc -o saxpy saxpy.cu`, then `isakit cuda -- ./saxpy`.
#include <stdio.h>

__global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

int main()
{
    const int n = 1000;
    static float x[n], y[n];
    float *dx, *dy;
    for (int i = 0; i < n; i++) x[i] = i, y[i] = 1;
    cudaMalloc(&dx, sizeof x);
    cudaMalloc(&dy, sizeof y);
    cudaMemcpy(dx, x, sizeof x, cudaMemcpyHostToDevice);
    cudaMemcpy(dy, y, sizeof y, cudaMemcpyHostToDevice);
    saxpy<<<(n + 255) / 256, 256>>>(n, 2.0f, dx, dy);
    cudaMemcpy(y, dy, sizeof y, cudaMemcpyDeviceToHost);
    printf("%s: y[999] = %g\n", cudaGetErrorString(cudaGetLastError()), y[999]);
    return y[999] != 1999;
}

// cuBLAS, cuFFT and cuRAND with our headers, as programs call them; complex numbers on both sides.
#include "check.h"
#include <cublas_v2.h>
#include <cufft.h>
#include <curand.h>

__global__ void turned(cuComplex *x, int n)
{
    int i = threadIdx.x;
    if (i < n) x[i] = cuCmulf(cuConjf(x[i]), make_cuComplex(0, 1));
}

int main()
{
    int wrong = 0;
    cufftHandle plan;
    cufftComplex host[64], *device;
    for (int i = 0; i < 64; i++) host[i] = make_cuComplex(i, 0);
    cudaMalloc((void **)&device, sizeof host);
    cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
    cufftResult made = cufftPlan1d(&plan, 64, CUFFT_C2C, 1);
    wrong += !(made == CUFFT_SUCCESS && cufftExecC2C(plan, device, device, CUFFT_FORWARD) == CUFFT_SUCCESS);
    turned<<<1, 64>>>(device, 1);
    cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
    wrong += !(host[0].x == 0 && host[0].y == 2016 && cuCabsf(host[0]) == 2016);

    cublasHandle_t blas;
    const float one = 1, zero = 0, a[4] = {1, 2, 3, 4};
    float c[4], *d, *e;
    cudaMalloc((void **)&d, sizeof a);
    cudaMalloc((void **)&e, sizeof a);
    const float *constant = d;
    wrong += !(cublasCreate(&blas) == CUBLAS_STATUS_SUCCESS);
    cublasSetVector(4, sizeof *a, a, 1, d, 1);
    cublasStatus_t status = cublasSgemm(blas, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 2, &one, constant, 2, d, 2, &zero, e, 2);
    cublasGetVector(4, sizeof *c, e, 1, c, 1);
    wrong += !(status == CUBLAS_STATUS_SUCCESS && c[0] == 10 && c[1] == 14 && c[2] == 14 && c[3] == 20);

    curandGenerator_t generator;
    curandStatus_t drawn = curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_DEFAULT);
    if (drawn == CURAND_STATUS_SUCCESS) drawn = curandGenerateUniform(generator, d, 4);
    cudaMemcpy(c, d, sizeof c, cudaMemcpyDeviceToHost);
    for (int i = 0; i < 4; i++) wrong += !(drawn == CURAND_STATUS_SUCCESS && c[i] > 0 && c[i] <= 1);
    return verdict("libraries", wrong);
}

/* What NVIDIA's sample vectorAdd does: two vectors of 50,000 numbers to the device, one launch, the result back.
   The argument is the threads of a block. */
#include "cuda_api.h"

int main(int n, char **arguments)
{
    enum { N = 50000 };
    unsigned block = n > 1 ? atoi(arguments[1]) : 256;
    float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);
    void *dx, *dy;
    srand(2006);
    for (unsigned k = 0; k < N; k++) x[k] = (float)rand() / (float)RAND_MAX;
    OK(cudaMalloc(&dx, N * sizeof *x)); OK(cudaMalloc(&dy, N * sizeof *y));
    OK(cudaMemcpy(dx, x, N * sizeof *x, TO_DEVICE));
    struct { uint64_t y, x; unsigned n; } a = {(uintptr_t)dy, (uintptr_t)dx, N};
    OK(launch(&affine, (dim3){(N + block - 1) / block, 1, 1}, (dim3){block, 1, 1}, &a, 20));
    OK(cudaGetLastError());
    OK(cudaMemcpy(y, dy, N * sizeof *y, TO_HOST));
    check_affine(y, x, N, 2, first_table);
    OK(cudaFree(dx)); OK(cudaFree(dy));
    free(x); free(y);
    puts("PASSED");
}

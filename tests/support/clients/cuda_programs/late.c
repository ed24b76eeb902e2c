/* A library with kernels of its own. */
#include "cuda_api.h"

__attribute__((visibility("default"))) int scaled(void *d, unsigned n, float scale)
{
    float before;
    int status = cudaMemcpyFromSymbol(&before, scale_shadow, 4, 0, TO_HOST);
    if (status || before != 2) return status ? status : -1;
    if ((status = cudaMemcpyToSymbol(scale_shadow, &scale, 4, 0, TO_DEVICE))) return status;
    return run_affine(d, d, n);
}

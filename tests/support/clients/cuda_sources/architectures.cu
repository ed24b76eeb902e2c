// Says for which architecture the code that runs was compiled, and what a double is there.
#include "check.h"
__global__ void which(int *o)
{
#ifdef __CUDA_ARCH__
    o[0] = __CUDA_ARCH__;
#endif
    double x = o[1];
    o[2] = x + 1.0e-10 != x;
}
int main()
{
    int got[3] = {0, 1, 0}, *o;
    CALL(cudaMalloc(&o, sizeof got));
    CALL(cudaMemcpy(o, got, sizeof got, cudaMemcpyHostToDevice));
    which<<<1, 1>>>(o);
    CALL(cudaMemcpy(got, o, sizeof got, cudaMemcpyDeviceToHost));
    printf("%d %s %d\n", got[0], got[2] ? "double" : "float", CUDART_VERSION);
    return 0;
}

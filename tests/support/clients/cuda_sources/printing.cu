// What kernels print appears where the program waits for them; a failed assertion is an error of its own.
#include <cassert>
#include <cstdio>

__global__ void say(int n, float f, double d, const char *name)
{
    if (threadIdx.x == 1) printf("%d of %u: %5.2f %g %s %c %lld\n", threadIdx.x, blockDim.x, f, d, "text", 'a', -5LL);
    if (threadIdx.x == 1) printf("%-6d|%06.2f|%+d|%#x|%*d|%p|100%%\n", n, 3.14159f, 7, 255, 5, n, (void *)0);
    if (threadIdx.x == 0 && n < 0) printf("%s", name);
}

__global__ void fill(int n)
{
    for (int k = 0; k < n; k++) printf("%d\n", k);
}

__global__ void few(int n) { assert(threadIdx.x < n); }

int main()
{
    puts("before");
    say<<<1, 4>>>(42, 1.5f, 0.25, 0);
    cudaDeviceSynchronize();
    puts("between");
    fill<<<2, 32>>>(100);
    printf("sync %d\n", (int)cudaThreadSynchronize());
    few<<<2, 4>>>(4);
    printf("enough %d\n", (int)cudaDeviceSynchronize());
    few<<<2, 4>>>(3);
    printf("assertion %s\n", cudaDeviceSynchronize() == cudaErrorAssert ? "seen" : "not seen");
    return 0;
}

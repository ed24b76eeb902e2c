/* Kernels that only later chips run, beside those for the first: what is chosen of a fat binary is for the chip. */
#include "cuda_api.h"

static char votes, chain;

__attribute__((constructor)) static void later_kernels(void) /* after that of cuda_api.h */
{
    __cudaRegisterFunction(module_handle, &votes, "votes", "votes", -1, 0, 0, 0, 0, 0);
    __cudaRegisterFunction(module_handle, &chain, "chain", "chain", -1, 0, 0, 0, 0, 0);
}

static void vote_in_warps(void)
{
    enum { N = 96 };
    unsigned x[N] = {0}, out[N], want[] = {0, 1, 3};
    void *dx, *d;
    x[40] = 7; /* the first warp has none, the second one, the third all */
    for (int i = 64; i < N; i++) x[i] = 1u << i % 32;
    OK(cudaMalloc(&dx, sizeof x)); OK(cudaMalloc(&d, sizeof out));
    OK(cudaMemcpy(dx, x, sizeof x, TO_DEVICE));
    void *a[] = {d, dx};
    OK(launch(&votes, (dim3){1, 1, 1}, (dim3){N, 1, 1}, a, sizeof a));
    OK(cudaMemcpy(out, d, sizeof out, TO_HOST));
    for (int i = 0; i < N; i++) EXPECT(out[i], want[i / 32]);
}

static void wait_for_blocks(void)
{
    enum { BLOCKS = 40 };
    unsigned data[BLOCKS + 1] = {100}, turn = 0;
    void *d, *t;
    OK(cudaMalloc(&d, sizeof data)); OK(cudaMalloc(&t, 4));
    OK(cudaMemcpy(d, data, sizeof data, TO_DEVICE)); OK(cudaMemcpy(t, &turn, 4, TO_DEVICE));
    void *a[] = {d, t};
    OK(launch(&chain, (dim3){BLOCKS, 1, 1}, (dim3){1, 1, 1}, a, sizeof a));
    OK(cudaMemcpy(data, d, sizeof data, TO_HOST));
    for (unsigned b = 0; b <= BLOCKS; b++) EXPECT(data[b], 100 + b);
}

int main(int n, char **words)
{
    if (n > 1 && !strcmp(words[1], "first")) { /* a chip for which there is the older code alone */
        void *a[] = {0, 0};
        EXPECT(launch(&votes, (dim3){1, 1, 1}, (dim3){1, 1, 1}, a, sizeof a), 8);
        OK(launch(&count, (dim3){1, 1, 1}, (dim3){1, 1, 1}, &(unsigned){2}, 4));
    } else {
        EXPECT(launch(&count, (dim3){1, 1, 1}, (dim3){1, 1, 1}, &(unsigned){2}, 4), 8);
        vote_in_warps();
        wait_for_blocks();
    }
    puts("PASSED");
    return 0;
}

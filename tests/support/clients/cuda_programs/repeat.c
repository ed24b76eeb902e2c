/* Launches of one shape again and again, which are not waited for. The arguments: what to do, and how often. */
#include "cuda_api.h"

static dim3 one = {1, 1, 1};

/* All of them run, in their order. */
static void sum(unsigned times)
{
    unsigned by = 3, counted;
    for (unsigned k = 0; k < times; k++) OK(launch(&count, one, one, &by, 4));
    OK(cudaMemcpyFromSymbol(&counted, counter_shadow, 4, 0, TO_HOST));
    EXPECT(counted, 40 + by * times);
}

/* A fault shows at the next call that has an answer, whatever was launched in between. */
static void fault(unsigned times)
{
    void *d;
    OK(cudaMalloc(&d, 4));
    unsigned good = (unsigned)(uintptr_t)d, bad = 0xF8000000;
    for (unsigned k = 0; k < times; k++) OK(launch(&stray, one, one, k == times / 2 ? &bad : &good, 4));
    EXPECT(cudaThreadSynchronize(), 4);
    EXPECT(cudaGetLastError(), 4);
    EXPECT(cudaMalloc(&d, 4), 4);
}

/* Textures are read as they are at each launch, and a stream that is gone is found at the launch. */
static void changes(void)
{
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[4];
    void *dx, *dy, *stream;
    OK(cudaMalloc(&dx, 32)); OK(cudaMalloc(&dy, 16));
    OK(cudaMemcpy(dx, x, 32, TO_DEVICE));
    Channel c = cudaCreateChannelDesc(32, 0, 0, 0, 2);
    for (int k = 0; k < 8; k++) {
        OK(cudaBindTexture(0, &line, (char *)dx, &c, k % 2 ? 32 : 8));
        OK(launch(&fetch, one, (dim3){4, 1, 1}, &dy, 8));
        OK(launch(&fetch, one, (dim3){4, 1, 1}, &dy, 8));
        OK(cudaMemcpy(y, dy, 16, TO_HOST));
        EXPECT(y[1], 2); EXPECT(y[3], k % 2 ? 4 : 0);
    }
    unsigned by = 1;
    OK(cudaStreamCreate(&stream));
    for (int k = 0; k < 3; k++) {
        OK(cudaConfigureCall(one, one, 0, stream)); OK(cudaSetupArgument(&by, 4, 0)); OK(cudaLaunch(&count));
    }
    OK(cudaStreamDestroy(stream));
    OK(cudaConfigureCall(one, one, 0, stream)); OK(cudaSetupArgument(&by, 4, 0)); EXPECT(cudaLaunch(&count), 33);
}

/* A kernel that never ends, and many after it. */
static void endless(unsigned times)
{
    void *d;
    unsigned go = 1;
    OK(cudaMalloc(&d, 4)); OK(cudaMemcpy(d, &go, 4, TO_DEVICE));
    OK(launch(&wait_, one, one, &d, 8));
    OK(cudaMemset(d, 0, 4));
    for (unsigned k = 0; k < times; k++) OK(launch(&wait_, one, one, &d, 8));
    puts("waiting"); fflush(stdout);
    pause();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "sum";
    unsigned times = argc > 2 ? (unsigned)atoi(argv[2]) : 1000;
    if (!strcmp(what, "sum")) sum(times);
    if (!strcmp(what, "fault")) fault(times);
    if (!strcmp(what, "changes")) changes();
    if (!strcmp(what, "endless")) endless(times);
    puts("PASSED");
}

/* Calls whose answers may be anything: one process after the other, none of which may crash, hang, or have memory
 * written that it did not offer. The argument is how many. */
#include "cuda_api.h"

struct room { unsigned char before[64], inside[1024], after[64]; };

static void guard(struct room *r) { memset(r, 0xa5, sizeof *r); }
static void check(const struct room *r, size_t used)
{
    for (size_t k = 0; k < 64; k++)
        if (r->before[k] != 0xa5 || r->after[k] != 0xa5) abort();
    for (size_t k = used; k < 1024; k++)
        if (r->inside[k] != 0xa5) abort();
}

static void calls(unsigned seed)
{
    struct room r;
    void *d = 0, *h = 0, *array = 0, *stream = 0, *event = 0, *p;
    size_t a = 0, b = 0;
    int n = 0;
    float ms;
    Channel c = cudaCreateChannelDesc(32, 0, 0, 0, 2), back;
    for (int k = 0; k < 24; k++, seed = seed * 1664525 + 1013904223) {
        guard(&r);
        switch ((seed >> 16) % 20) {
        case 0: cudaMalloc(&d, 4096); break;
        case 1: cudaMemcpy(d, r.inside, 256, TO_DEVICE); check(&r, 0); break;
        case 2: cudaMemcpy(r.inside, d, 256, TO_HOST); check(&r, 256); break;
        case 3: cudaMallocHost(&h, 512); break;
        case 4: cudaGetDeviceProperties(r.inside, 0); check(&r, 568); break;
        case 5: cudaMallocArray(&array, &c, 16, 16, 0); break;
        case 6: cudaMemcpy2DFromArray(r.inside, 64, array, 0, 0, 32, 4, TO_HOST); check(&r, 224); break;
        case 7: cudaGetChannelDesc(&back, array); break;
        case 8: cudaMemcpyToSymbol(table_shadow, r.inside, 16, 0, TO_DEVICE); break;
        case 9: cudaMemcpyFromSymbol(r.inside, table_shadow, 16, 0, TO_HOST); check(&r, 16); break;
        case 10: run_affine(d, d, 32); break;
        case 11: cudaStreamCreate(&stream); cudaEventCreate(&event); break;
        case 12: cudaEventRecord(event, stream); cudaEventElapsedTime(&ms, event, event); break;
        case 13: cudaMallocPitch(&p, &a, 100, 10); break;
        case 14: cudaMemset(d, 3, 1000); break;
        case 15: cudaBindTextureToArray(&plane, array, &c); break;
        case 16: cudaFuncGetAttributes(r.inside, &affine); check(&r, 40); break;
        case 17: cudaMemGetInfo(&a, &b); cudaGetDeviceCount(&n); break;
        case 18: cudaHostGetDevicePointer(&p, h, 0); cudaHostRegister(r.inside, 100, 0); break;
        case 19: cudaGetSymbolAddress(&p, counter_shadow); cudaFreeHost(h); h = 0; break;
        }
        check(&r, 1024);
    }
}

int main(int count_, char **words)
{
    (void)count, (void)fetch, (void)sample, (void)stray, (void)wait_, (void)nothing, (void)line, (void)launch;
    int many = count_ > 1 ? atoi(words[1]) : 1;
    unsigned first = count_ > 2 ? (unsigned)atoi(words[2]) : 0;
    for (int k = 0; k < many; k++) {
        pid_t child = fork();
        if (!child) {
            alarm(20);
            freopen("/dev/null", "w", stderr);
            calls(first + (unsigned)k * 2654435761u);
            _exit(0);
        }
        int status;
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status)) {
            printf("case %d: status %#x\n", k, status);
            return 1;
        }
    }
    printf("%d ok\n", many);
    return 0;
}

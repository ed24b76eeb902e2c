/* What samples and programs of the time do besides the plain calls; the first argument says which. */
#include "cuda_api.h"
#include <dlfcn.h>

int cudaFuncSetCacheConfig(const void *, int), cudaStreamWaitEvent(void *, void *, unsigned);
int cudaStreamAddCallback(void *, void (*)(void *, int, void *), void *, unsigned), cudaDeviceSynchronize(void);
int cudaEventCreateWithFlags(void *, unsigned), cudaChooseDevice(int *, const void *), cudaSetDeviceFlags(unsigned);
int cudaMemset2DAsync(void *, size_t, int, size_t, size_t, void *), cudaMemsetAsync(void *, int, size_t, void *);
int cudaMemcpy2DArrayToArray(void *, size_t, size_t, void *, size_t, size_t, size_t, size_t, int);
int cudaGetTextureReference(const void **, const void *), cudaGetTextureAlignmentOffset(size_t *, const void *);
int cudaArrayGetInfo(Channel *, Extent *, unsigned *, void *), cudaDeviceGetAttribute(int *, int, int);
int cudaThreadGetLimit(size_t *, int), cudaDeviceSetLimit(int, size_t), cudaSetValidDevices(int *, int);
int cudaDeviceGetPCIBusId(char *, int, int), cudaDeviceGetByPCIBusId(int *, const char *);
int cudaMemcpyPeer(void *, int, const void *, int, size_t), cudaDeviceCanAccessPeer(int *, int, int);
int cudaMemcpyToSymbolAsync(const void *, const void *, size_t, size_t, int, void *);
int cudaMemcpyFromSymbolAsync(void *, const void *, size_t, size_t, int, void *);
int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *, const void *, int, size_t);
int cuModuleLoadData(void **, const void *), cuModuleGetFunction(void **, void *, const char *), cuCtxGetCurrent(void **);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuCtxSynchronize(void);

struct attributes { size_t shared, constant, local; int threads, registers, ptx, binary; };

/* Kernels, symbols and textures are known by address, until CUDA 4.2 by name as well. */
static void names(void)
{
    struct attributes a, b;
    float x[4] = {1, 2, 3, 4}, y[4];
    void *d;
    OK(cudaFuncGetAttributes(&a, &affine)); OK(cudaFuncGetAttributes(&b, "affine")); OK(memcmp(&a, &b, sizeof a));
    EXPECT(cudaFuncGetAttributes(&a, "nothing"), 8); EXPECT(cudaFuncSetCacheConfig("nothing", 1), 8);
    OK(cudaFuncSetCacheConfig(&affine, 1));
    EXPECT(a.constant >= 20, 1); EXPECT(a.local, 0);
    OK(cudaMalloc(&d, 16)); OK(cudaMemcpy(d, x, 16, TO_DEVICE));
    struct { uint64_t y, x; unsigned n; } p = {(uintptr_t)d, (uintptr_t)d, 4};
    OK(launch("affine", (dim3){1, 1, 1}, (dim3){4, 1, 1}, &p, 20));
    OK(cudaMemcpy(y, d, 16, TO_HOST));
    EXPECT(y[3], 4 * 2 + 4.5f);
    const void *found;
    OK(cudaGetTextureReference(&found, &line)); EXPECT(found == &line, 1); EXPECT(cudaGetTextureReference(&found, x), 18);
    OK(cudaGetTextureReference(&found, "plane")); EXPECT(found == &plane, 1);
    EXPECT(cudaGetTextureReference(&found, "affine"), 18); EXPECT(cudaGetTextureReference(&found, 0), 18);
    /* thread numbers divide by it: a block that no multiprocessor holds is said to be none */
    int blocks;
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &affine, 256, 0)); EXPECT(blocks, 4);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &affine, 64, 9000)); EXPECT(blocks, 1);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &affine, 64, 16384)); EXPECT(blocks, 0);
}

static int called;
static void callback(void *stream, int status, void *data)
{
    EXPECT(status, 0); EXPECT(data == &called, 1);
    (void)stream, called++;
}

/* Copies and launches in two streams, one of which waits for the other. */
static void streams(void)
{
    enum { N = 1024 };
    float *x, *y;
    void *d[2], *s[2], *ready, *e;
    float ms;
    OK(cudaHostAlloc((void **)&x, 4 * N, 1)); OK(cudaMallocHost((void **)&y, 4 * N));
    for (int k = 0; k < 2; k++) { OK(cudaStreamCreate(s + k)); OK(cudaMalloc(d + k, 2 * N)); }
    OK(cudaEventCreateWithFlags(&ready, 2)); OK(cudaEventCreateWithFlags(&e, 1));
    EXPECT(cudaEventCreateWithFlags(&e, 64), 11);
    for (int i = 0; i < N; i++) x[i] = (float)i;
    for (int k = 0; k < 2; k++) {
        struct { void *y, *x; unsigned n; } p = {d[k], d[k], N / 2};
        OK(cudaMemcpyAsync(d[k], x + k * N / 2, 2 * N, TO_DEVICE, s[k]));
        OK(cudaConfigureCall((dim3){N / 128, 1, 1}, (dim3){64, 1, 1}, 0, s[k]));
        OK(cudaSetupArgument(&p.y, 8, 0)); OK(cudaSetupArgument(&p.x, 8, 8)); OK(cudaSetupArgument(&p.n, 4, 16));
        OK(cudaLaunch(&affine));
        OK(cudaEventRecord(ready, s[k])); OK(cudaStreamWaitEvent(s[!k], ready, 0));
        OK(cudaMemcpyAsync(y + k * N / 2, d[k], 2 * N, TO_HOST, s[k]));
    }
    OK(cudaStreamAddCallback(s[0], callback, &called, 0));
    OK(cudaEventRecord(e, 0)); OK(cudaEventSynchronize(e)); OK(cudaDeviceSynchronize());
    for (int i = 0; i < N; i++) EXPECT(y[i], i * 2 + first_table[i & 3]);
    EXPECT(called, 1); EXPECT(cudaEventElapsedTime(&ms, ready, e), 33); /* made without times */
    EXPECT(cudaStreamWaitEvent(s[0], ready, 1), 11); EXPECT(cudaStreamWaitEvent(s[0], (void *)3, 0), 33);
    OK(cudaMemsetAsync(d[0], 7, 2 * N, s[0])); OK(cudaMemcpy(y, d[0], 4, TO_HOST)); EXPECT(((char *)y)[3], 7);
    OK(cudaMemset2DAsync(d[0], 64, 9, 3, 4, s[1])); OK(cudaMemcpy(y, d[0], 128, TO_HOST));
    EXPECT(((char *)y)[2], 9); EXPECT(((char *)y)[3], 7); EXPECT(((char *)y)[66], 9);
    float table[4] = {9, 9, 9, 9}, back[4];
    OK(cudaMemcpyFromSymbolAsync(back, table_shadow, 16, 0, TO_HOST, s[0]));
    OK(cudaMemcpyToSymbolAsync(table_shadow, table, 16, 0, TO_DEVICE, s[1]));
    OK(cudaMemcpyToSymbolAsync(table_shadow, back, 16, 0, TO_DEVICE, s[0]));
    EXPECT(cudaMemcpyAsync(d[0], x, 4, TO_DEVICE, (void *)99), 33);
}

/* A texture reference to which nothing is bound reads zeros. */
static void unbound(void)
{
    unsigned out[64];
    void *o;
    OK(cudaMalloc(&o, sizeof out)); OK(cudaMemset(o, 5, sizeof out));
    OK(launch(&fetch, (dim3){1, 1, 1}, (dim3){64, 1, 1}, &o, 8));
    OK(cudaThreadSynchronize());
    OK(cudaMemcpy(out, o, sizeof out, TO_HOST));
    EXPECT(out[0], 0); EXPECT(out[63], 0);
}

/* Texels are those of the memory as it is when a kernel begins. */
static void texture_memory(void)
{
    unsigned data[64], out[64];
    void *d, *o;
    size_t offset;
    Channel u = cudaCreateChannelDesc(32, 0, 0, 0, 1);
    OK(cudaMalloc(&d, sizeof data)); OK(cudaMalloc(&o, sizeof out));
    OK(cudaBindTexture(&offset, &line, d, &u, UINT32_MAX)); /* the default size of the C++ templates */
    uint64_t argument = (uintptr_t)o;
    for (unsigned k = 0; k < 3; k++) {
        for (unsigned i = 0; i < 64; i++) data[i] = k * 1000 + i;
        OK(cudaMemcpy(d, data, sizeof data, TO_DEVICE));
        OK(launch(&fetch, (dim3){1, 1, 1}, (dim3){64, 1, 1}, &argument, 8));
        OK(cudaMemcpy(out, o, sizeof out, TO_HOST)); OK(memcmp(out, data, sizeof data));
    }
    OK(cudaGetTextureAlignmentOffset(&offset, &line)); EXPECT(offset, 0);
    /* ... also when a kernel has written them */
    argument = (uintptr_t)d;
    OK(cudaMemset(d, 1, 4));
    OK(launch(&fetch, (dim3){1, 1, 1}, (dim3){64, 1, 1}, &argument, 8));
    argument = (uintptr_t)o;
    OK(launch(&fetch, (dim3){1, 1, 1}, (dim3){64, 1, 1}, &argument, 8));
    OK(cudaMemcpy(out, o, sizeof out, TO_HOST)); EXPECT(out[0], 0x01010101); EXPECT(out[5], 2005);
    OK(cudaUnbindTexture(&line)); EXPECT(cudaGetTextureAlignmentOffset(&offset, &line), 19);
    /* arrays: their description, copies between them */
    void *a, *b;
    Channel back;
    Extent size;
    unsigned flags = 7, got[4][8];
    OK(cudaMallocArray(&a, &u, 8, 4, 0)); OK(cudaMallocArray(&b, &u, 8, 4, 0));
    EXPECT(cudaMallocArray(&b, &u, 0, 4, 0), 11); EXPECT(cudaMallocArray(&b, &u, 8, 4, 1), 11);
    OK(cudaArrayGetInfo(&back, &size, &flags, a)); EXPECT(size.w, 8); EXPECT(size.h, 4); EXPECT(size.d, 0); EXPECT(flags, 0);
    OK(cudaMemcpyToArray(a, 0, 0, data, 128, TO_DEVICE)); OK(cudaMemcpyToArray(b, 0, 0, data, 128, TO_DEVICE));
    OK(cudaMemcpy2DArrayToArray(b, 4, 1, a, 8, 2, 12, 2, ON_DEVICE));
    OK(cudaMemcpyFromArray(got, b, 0, 0, 128, TO_HOST));
    EXPECT(got[1][0], 2008); EXPECT(got[1][1], 2018); EXPECT(got[2][3], 2028); EXPECT(got[2][4], 2020);
    EXPECT(cudaMemcpyToArray(a, 0, 3, data, 64, TO_DEVICE), 11);
}

static void queries(void)
{
    char wanted[1024] = {0}, bus[20];
    int n = 7;
    size_t size;
    *(int *)(wanted + 328) = 1;
    OK(cudaChooseDevice(&n, wanted)); EXPECT(n, 0);
    OK(cudaSetDeviceFlags(4)); EXPECT(cudaSetDeviceFlags(1 << 20), 11); OK(cudaSetValidDevices(&n, 1));
    OK(cudaDeviceGetAttribute(&n, 16, 0)); EXPECT(n, 30); OK(cudaDeviceGetAttribute(&n, 1, 0)); EXPECT(n, 512);
    OK(cudaThreadGetLimit(&size, 0)); EXPECT(size >= 1024, 1); EXPECT(cudaDeviceSetLimit(2, 1 << 20), 42);
    OK(cudaDeviceGetPCIBusId(bus, 20, 0)); n = 7; OK(cudaDeviceGetByPCIBusId(&n, bus)); EXPECT(n, 0);
    OK(cudaDeviceCanAccessPeer(&n, 0, 0)); EXPECT(n, 0); EXPECT(cudaDeviceCanAccessPeer(&n, 0, 1), 10);
    void *d;
    OK(cudaMalloc(&d, 64)); OK(cudaMemcpyPeer(d, 0, (char *)d + 32, 0, 32)); EXPECT(cudaMemcpyPeer(d, 1, d, 0, 4), 10);
    EXPECT(cudaMalloc(0, 4), 11); EXPECT(cudaMemcpy(d, bus, 4, 77), 21); EXPECT(cudaGetLastError(), 21);
}

/* A library that is opened when the device is in use already, closed, and opened again; its kernels have the same names. */
static void plugins(void)
{
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8];
    void *d;
    OK(cudaMalloc(&d, sizeof x));
    for (int k = 0; k < 3; k++) {
        void *handle = dlopen("./late.so", RTLD_NOW);
        EXPECT(handle != 0, 1);
        int (*scaled)(void *, unsigned, float) = (int (*)(void *, unsigned, float))dlsym(handle, "scaled");
        OK(cudaMemcpy(d, x, sizeof x, TO_DEVICE));
        OK(scaled(d, 8, 10.0f)); /* its own constants, which begin as they were each time */
        OK(cudaMemcpy(y, d, sizeof y, TO_HOST));
        check_affine(y, x, 8, 10, first_table);
        OK(cudaMemcpy(d, x, sizeof x, TO_DEVICE));
        OK(run_affine(d, d, 8));
        OK(cudaMemcpy(y, d, sizeof y, TO_HOST));
        check_affine(y, x, 8, 2, first_table);
        OK(dlclose(handle));
    }
}

/* The driver interface in a program that has begun with the runtime: it finds the context of that. */
static void both(void)
{
    void *context = &context, *module, *function, *d;
    float x[4] = {1, 2, 3, 4};
    unsigned n = 4;
    EXPECT(cuCtxSynchronize(), 201);
    OK(cudaMalloc(&d, sizeof x)); OK(cudaMemcpy(d, x, sizeof x, TO_DEVICE));
    OK(cuCtxGetCurrent(&context)); EXPECT(context != 0, 1);
    OK(cuModuleLoadData(&module, cubin)); OK(cuModuleGetFunction(&function, module, "affine"));
    OK(cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, 0, (void *[]){&d, &d, &n}, 0));
    OK(cudaMemcpy(x, d, sizeof x, TO_HOST));
    EXPECT(x[3], 4 * 2 + 4.5f);
    OK(cudaThreadExit()); EXPECT(cuCtxSynchronize(), 201);
}

static const struct { const char *name; void (*run)(void); } all[] = {
    {"names", names}, {"streams", streams}, {"texture_memory", texture_memory}, {"queries", queries}, {"unbound", unbound},
    {"plugins", plugins}, {"both", both},
};

int main(int n, char **words)
{
    for (int k = 1; k < n; k++)
        for (size_t m = 0; m < sizeof all / sizeof *all; m++)
            if (!strcmp(words[k], all[m].name)) {
                all[m].run();
                printf("%s ok\n", words[k]);
                fflush(stdout);
            }
    return 0;
}

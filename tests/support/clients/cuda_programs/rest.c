/* Functions of the runtime interface that few programs call. */
#include "cuda_api.h"

int cudaDeviceGetLimit(size_t *, int), cudaThreadSetLimit(int, size_t), cudaDeviceSetCacheConfig(int);
int cudaDeviceGetCacheConfig(int *), cudaThreadSetCacheConfig(int), cudaThreadGetCacheConfig(int *);
int cudaDeviceSetSharedMemConfig(int), cudaDeviceGetSharedMemConfig(int *), cudaDeviceGetStreamPriorityRange(int *, int *);
int cudaDeviceEnablePeerAccess(int, unsigned), cudaDeviceDisablePeerAccess(int), cudaGLSetGLDevice(int);
int cudaProfilerStart(void), cudaProfilerStop(void), cudaProfilerInitialize(const char *, const char *, int);
int cudaSetDoubleForDevice(double *), cudaSetDoubleForHost(double *), cudaFuncSetSharedMemConfig(const void *, int);
int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *, const void *, int, size_t, unsigned);
int cudaStreamCreateWithFlags(void *, unsigned), cudaStreamCreateWithPriority(void *, unsigned, int);
int cudaStreamGetPriority(void *, int *), cudaStreamGetFlags(void *, unsigned *), cudaMemset3DAsync(Pitched, int, Extent, void *);
int cudaMemcpy2DAsync(void *, size_t, const void *, size_t, size_t, size_t, int, void *);
int cudaMemcpyToArrayAsync(void *, size_t, size_t, const void *, size_t, int, void *);
int cudaMemcpyFromArrayAsync(void *, const void *, size_t, size_t, size_t, int, void *);
int cudaMemcpy2DToArrayAsync(void *, size_t, size_t, const void *, size_t, size_t, size_t, int, void *);
int cudaMemcpy2DFromArrayAsync(void *, size_t, const void *, size_t, size_t, size_t, size_t, int, void *);
int cudaMemcpy3DAsync(const Copy3D *, void *), cudaMemcpyPeerAsync(void *, int, const void *, int, size_t, void *);
const char *cudaGetErrorName(int);
void __cudaRegisterSurface(void **, const void *, const void **, const char *, int, int);
void __cudaRegisterShared(void **, void **), __cudaRegisterSharedVar(void **, void **, size_t, size_t, int);
char __cudaInitModule(void **), __cudaInitManagedRuntime(void **);
void __cudaRegisterManagedVar(void **, void **, char *, const char *, int, int, int, int);
void __cudaRegisterDeviceFunction(void **, const char *, char *, const char *);
void __cudaMutexOperation(int), __cudaTextureFetch(const void *, void *, int, void *);
int __cudaSynchronizeThreads(void **, void *);

static void settings(void)
{
    size_t limit;
    int n, least, greatest, blocks;
    double number = 0.1;
    OK(cudaThreadSetLimit(0, 2048)); OK(cudaDeviceGetLimit(&limit, 0)); EXPECT(limit, 2048); EXPECT(cudaThreadSetLimit(1, 4096), 42);
    EXPECT(cudaDeviceGetLimit(&limit, 77), 42);
    OK(cudaDeviceSetCacheConfig(2)); OK(cudaDeviceGetCacheConfig(&n)); OK(cudaThreadSetCacheConfig(1));
    OK(cudaThreadGetCacheConfig(&n)); OK(cudaDeviceSetSharedMemConfig(1)); OK(cudaDeviceGetSharedMemConfig(&n));
    OK(cudaDeviceGetStreamPriorityRange(&least, &greatest)); EXPECT(least, 0); EXPECT(greatest, 0);
    EXPECT(cudaDeviceEnablePeerAccess(0, 0), 10); EXPECT(cudaDeviceEnablePeerAccess(3, 0), 10);
    EXPECT(cudaDeviceDisablePeerAccess(0), 51); EXPECT(cudaDeviceDisablePeerAccess(3), 10);
    OK(cudaGLSetGLDevice(0)); EXPECT(cudaGLSetGLDevice(4), 10);
    OK(cudaProfilerInitialize("a", "b", 0)); OK(cudaProfilerStart()); OK(cudaProfilerStop());
    OK(cudaSetDoubleForDevice(&number)); OK(cudaSetDoubleForHost(&number)); EXPECT(number == 0.1, 1);
    OK(cudaFuncSetSharedMemConfig(&affine, 1)); EXPECT(cudaFuncSetSharedMemConfig(settings, 1), 8);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, &affine, 512, 0, 0)); EXPECT(blocks, 2);
    OK(strcmp(cudaGetErrorName(9), "cudaErrorInvalidConfiguration"));
}

static void memory(void)
{
    unsigned char in[300], out[300];
    void *d, *e, *stream;
    Pitched box;
    for (int k = 0; k < 300; k++) in[k] = (unsigned char)(k * 11 + 1);
    OK(cudaStreamCreate(&stream)); OK(cudaMalloc(&d, 300)); OK(cudaMalloc(&e, 300));
    OK(cudaMemcpy2DAsync(d, 20, in, 30, 10, 10, TO_DEVICE, stream)); OK(cudaMemcpyPeerAsync(e, 0, d, 0, 200, stream));
    EXPECT(cudaMemcpyPeerAsync(e, 1, d, 0, 200, stream), 10); EXPECT(cudaMemcpy2DAsync(d, 5, in, 30, 10, 10, TO_DEVICE, stream), 12);
    OK(cudaMemcpy(out, e, 200, TO_HOST)); OK(memcmp(out + 60, in + 90, 10)); EXPECT(out[70], 0);
    OK(cudaMalloc3D(&box, (Extent){10, 4, 3})); EXPECT(box.pitch >= 10 && box.xsize == 10 && box.ysize == 4, 1);
    OK(cudaMemset3DAsync(box, 0x41, (Extent){10, 4, 3}, stream)); OK(cudaMemset3DAsync(box, 0x42, (Extent){2, 2, 2}, stream));
    Copy3D copy = {.from = box, .from_pos = {1, 1, 1}, .to = {out, 5, 5, 3}, .extent = {5, 3, 2}, .kind = TO_HOST};
    OK(cudaMemcpy3DAsync(&copy, stream)); OK(memcmp(out, "BAAAAAAAAAAAAAAAAAAA", 20));
    OK(cudaFree(0)); EXPECT(cudaFree((char *)d + 8), 17); EXPECT(cudaFreeHost(in), 11);
}

static void arrays(void)
{
    float in[32], out[32];
    void *a, *stream;
    Channel c = cudaCreateChannelDesc(32, 0, 0, 0, 2);
    for (int k = 0; k < 32; k++) in[k] = (float)k, out[k] = -1;
    OK(cudaStreamCreate(&stream)); OK(cudaMallocArray(&a, &c, 8, 4, 0));
    OK(cudaMemcpyToArrayAsync(a, 0, 0, in, 128, TO_DEVICE, stream));
    OK(cudaMemcpyFromArrayAsync(out, a, 16, 1, 32, TO_HOST, stream)); EXPECT(out[0] == 12, 1); EXPECT(out[7] == 19, 1);
    OK(cudaMemcpy2DToArrayAsync(a, 4, 2, in + 1, 32, 8, 2, TO_DEVICE, stream));
    OK(cudaMemcpy2DFromArrayAsync(out, 16, a, 0, 2, 16, 2, TO_HOST, stream));
    EXPECT(out[0] == 16 && out[1] == 1 && out[2] == 2 && out[3] == 19 && out[4] == 24 && out[5] == 9, 1);
    EXPECT(cudaMemcpyToArrayAsync(a, 0, 0, in, 132, TO_DEVICE, stream), 11);
    EXPECT(cudaMemcpy2DToArrayAsync(a, 28, 0, in, 32, 8, 2, TO_DEVICE, stream), 11);
    EXPECT(cudaMemcpyToArrayAsync(a, 0, 0, in, 4, 9, stream), 21);
    OK(cudaFreeArray(a)); OK(cudaFreeArray(0)); EXPECT(cudaMemcpyToArray(a, 0, 0, in, 4, TO_DEVICE), 33);
}

static void streams(void)
{
    void *stream, *other;
    unsigned flags;
    int priority;
    OK(cudaStreamCreateWithFlags(&stream, 1)); OK(cudaStreamGetFlags(stream, &flags)); EXPECT(flags, 1);
    OK(cudaStreamCreateWithPriority(&other, 0, -5)); OK(cudaStreamGetPriority(other, &priority)); EXPECT(priority, 0);
    EXPECT(cudaStreamCreateWithFlags(&stream, 99), 11);
    OK(cudaStreamDestroy(stream)); EXPECT(cudaStreamGetFlags(stream, &flags), 33); OK(cudaStreamDestroy(other));
}

/* What compilers register besides kernels and variables, and what is left of device emulation. */
static void leftovers(void)
{
    static char surface[64], name[] = "no_such_thing";
    void *p = 0;
    __cudaRegisterShared(module_handle, &p); __cudaRegisterSharedVar(module_handle, &p, 64, 4, 0);
    __cudaRegisterSurface(module_handle, surface, 0, name, 2, 0);
    __cudaRegisterDeviceFunction(module_handle, name, name, name);
    __cudaMutexOperation(1); __cudaMutexOperation(0); __cudaTextureFetch(&line, &p, 0, &p);
    __cudaSynchronizeThreads(&p, p); __cudaInitModule(module_handle); __cudaInitManagedRuntime(module_handle);
}

int main(void)
{
    settings(); puts("settings ok");
    memory(); puts("memory ok");
    arrays(); puts("arrays ok");
    streams(); puts("streams ok");
    leftovers(); puts("leftovers ok");
}

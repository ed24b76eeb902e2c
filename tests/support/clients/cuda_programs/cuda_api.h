/* The CUDA functions the programs of the tests call, and how they register what compilers register for others. */
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "images.h"

typedef struct { unsigned x, y, z; } dim3;
typedef struct { size_t w, h, d; } Extent;
typedef struct { size_t x, y, z; } Pos;
typedef struct { void *ptr; size_t pitch, xsize, ysize; } Pitched;
typedef struct { int x, y, z, w, f; } Channel;
typedef struct { int normalized, filter, mode[3]; Channel channel; int more[32]; } Reference;
typedef struct {
    void *from_array; Pos from_pos; Pitched from; void *to_array; Pos to_pos; Pitched to; Extent extent; int kind;
} Copy3D;

void **__cudaRegisterFatBinary(void *);
void __cudaUnregisterFatBinary(void **);
void __cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *, void *, int *);
void __cudaRegisterVar(void **, char *, char *, const char *, int, int, int, int);
void __cudaRegisterTexture(void **, const void *, const void **, const char *, int, int, int);
int cudaConfigureCall(dim3, dim3, size_t, void *);
int cudaSetupArgument(const void *, size_t, size_t);
int cudaLaunch(const void *);
int cudaLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
unsigned __cudaPushCallConfiguration(dim3, dim3, size_t, void *);
int __cudaPopCallConfiguration(dim3 *, dim3 *, size_t *, void *);
int cudaMalloc(void **, size_t), cudaFree(void *), cudaMallocHost(void **, size_t), cudaFreeHost(void *);
int cudaHostAlloc(void **, size_t, unsigned), cudaHostGetDevicePointer(void **, void *, unsigned);
int cudaHostRegister(void *, size_t, unsigned), cudaHostUnregister(void *), cudaHostGetFlags(unsigned *, void *);
int cudaMallocPitch(void **, size_t *, size_t, size_t), cudaMalloc3D(Pitched *, Extent);
int cudaMemcpy(void *, const void *, size_t, int), cudaMemcpyAsync(void *, const void *, size_t, int, void *);
int cudaMemcpy2D(void *, size_t, const void *, size_t, size_t, size_t, int);
int cudaMemcpyToArray(void *, size_t, size_t, const void *, size_t, int);
int cudaMemcpyFromArray(void *, const void *, size_t, size_t, size_t, int);
int cudaMemcpy2DToArray(void *, size_t, size_t, const void *, size_t, size_t, size_t, int);
int cudaMemcpy2DFromArray(void *, size_t, const void *, size_t, size_t, size_t, size_t, int);
int cudaMemcpyArrayToArray(void *, size_t, size_t, const void *, size_t, size_t, size_t, int);
int cudaMemcpy3D(const Copy3D *), cudaMemset(void *, int, size_t), cudaMemset2D(void *, size_t, int, size_t, size_t);
int cudaMemset3D(Pitched, int, Extent);
int cudaMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
int cudaMemcpyFromSymbol(void *, const void *, size_t, size_t, int);
int cudaGetSymbolAddress(void **, const void *), cudaGetSymbolSize(size_t *, const void *);
int cudaMallocArray(void **, const Channel *, size_t, size_t, unsigned), cudaFreeArray(void *);
int cudaMalloc3DArray(void **, const Channel *, Extent, unsigned), cudaGetChannelDesc(Channel *, const void *);
Channel cudaCreateChannelDesc(int, int, int, int, int);
int cudaBindTexture(size_t *, const Reference *, const void *, const Channel *, size_t);
int cudaBindTexture2D(size_t *, const Reference *, const void *, const Channel *, size_t, size_t, size_t);
int cudaBindTextureToArray(const Reference *, const void *, const Channel *), cudaUnbindTexture(const Reference *);
int cudaStreamCreate(void *), cudaStreamDestroy(void *), cudaStreamSynchronize(void *), cudaStreamQuery(void *);
int cudaEventCreate(void *), cudaEventRecord(void *, void *), cudaEventSynchronize(void *), cudaEventDestroy(void *);
int cudaEventElapsedTime(float *, void *, void *), cudaEventQuery(void *);
int cudaGetDeviceCount(int *), cudaGetDeviceProperties(void *, int), cudaSetDevice(int), cudaGetDevice(int *);
int cudaThreadSynchronize(void), cudaDeviceReset(void), cudaThreadExit(void), cudaGetLastError(void);
int cudaPeekAtLastError(void), cudaRuntimeGetVersion(int *), cudaDriverGetVersion(int *);
int cudaMemGetInfo(size_t *, size_t *), cudaFuncGetAttributes(void *, const void *);
int cudaGraphicsGLRegisterBuffer(void *, unsigned, unsigned);
const char *cudaGetErrorString(int);

enum { HOST_TO_HOST, TO_DEVICE, TO_HOST, ON_DEVICE };

/* What went wrong, and where; the program ends with it. */
#define EXPECT(what, value)                                                                                     \
    do {                                                                                                         \
        long got_ = (long)(what), want_ = (long)(value);                                                         \
        if (got_ != want_) {                                                                                     \
            printf("line %d: %s is %ld, expected %ld\n", __LINE__, #what, got_, want_);                          \
            exit(1);                                                                                             \
        }                                                                                                        \
    } while (0)
#define OK(what) EXPECT(what, 0)

/* Keys of what is registered. */
static char affine, count, fetch, sample, stray, wait_, nothing;
static char table_shadow[16], scale_shadow[4], counter_shadow[4];
static Reference line, plane;
static void **module_handle;

#ifdef OLD_GENERATION
struct pair { const char *profile, *text; };
static struct pair cubins[] = {
    {"sm_10", (const char *)text_cubin},
#ifdef LATER
    {"sm_13", (const char *)later_text_cubin},
#endif
    {0}
}, no_ptx[1];
static struct {
    long magic, version, info; const char *key, *ident, *usage; struct pair *ptx, *cubin; void *debug, *debug_info;
    unsigned flags; void *exported, *imported, *dependents; unsigned characteristic;
} old_description = {0x1ee55a01, 3, (long)0x8ecc680c, "0123456789abcdef", "test.cu", "-", no_ptx, cubins};
#define DESCRIPTION ((void *)&old_description)
#else
static struct { unsigned magic, version; const void *data; void *more; } description = {0x466243b1, 1, container};
#define DESCRIPTION ((void *)&description)
#endif

__attribute__((constructor)) static void at_start(void)
{
    void **h = module_handle = __cudaRegisterFatBinary(DESCRIPTION);
#define KERNEL(key, name) __cudaRegisterFunction(h, &key, name, name, -1, 0, 0, 0, 0, 0)
    KERNEL(affine, "affine"); KERNEL(count, "count"); KERNEL(fetch, "fetch"); KERNEL(sample, "sample");
    KERNEL(stray, "stray"); KERNEL(wait_, "wait"); KERNEL(nothing, "nothing_of_that_name");
    __cudaRegisterVar(h, table_shadow, "table", "table", 0, 16, 1, 0);
    __cudaRegisterVar(h, scale_shadow, "scale", "scale", 0, 4, 1, 0);
    __cudaRegisterVar(h, counter_shadow, "counter", "counter", 0, 4, 0, 0);
    __cudaRegisterTexture(h, &line, 0, "line", 1, 0, 0);
    __cudaRegisterTexture(h, &plane, 0, "plane", 2, 1, 0);
}
__attribute__((destructor)) static void at_end(void) { __cudaUnregisterFatBinary(module_handle); }

static int launch(const void *kernel, dim3 grid, dim3 block, const void *arguments, size_t size)
{
    int status = cudaConfigureCall(grid, block, 0, 0);
    if (status) return status;
    for (size_t at = 0; at < size; at += 4)
        if ((status = cudaSetupArgument((const char *)arguments + at, 4, at))) return status;
    return cudaLaunch(kernel);
}

static inline int run_affine(void *y, const void *x, unsigned n)
{
    struct { uint64_t y, x; unsigned n; } a = {(uintptr_t)y, (uintptr_t)x, n};
    return launch(&affine, (dim3){(n + 63) / 64, 1, 1}, (dim3){64, 1, 1}, &a, 20);
}

/* What the kernel `affine` leaves. */
static inline void check_affine(const float *got, const float *x, unsigned n, float scale, const float *table)
{
    for (unsigned i = 0; i < n; i++)
        if (got[i] != x[i] * scale + table[i & 3]) {
            printf("element %u is %g\n", i, got[i]);
            exit(1);
        }
}
static const float first_table[] __attribute__((unused)) = {1.5f, 2.5f, 3.5f, 4.5f};

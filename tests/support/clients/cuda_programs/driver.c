/* Checks of the driver interface; the first argument says which. */
#include "cuda_api.h"

typedef uintptr_t Address;
typedef struct { size_t x, y; int what; void *host; Address device; void *array; size_t pitch; } Plane;
typedef struct { Plane from, to; size_t width, height; } Copy2D;
typedef struct { size_t width, height; int format; unsigned components; } Description;

int cuInit(unsigned), cuDeviceGet(int *, int), cuDeviceGetCount(int *), cuDeviceGetName(char *, int, int);
int cuDeviceComputeCapability(int *, int *, int), cuDeviceTotalMem_v2(size_t *, int), cuDeviceGetAttribute(int *, int, int);
int cuCtxCreate_v2(void **, unsigned, int), cuCtxDestroy_v2(void *), cuCtxSynchronize(void), cuCtxPopCurrent_v2(void **);
int cuCtxPushCurrent_v2(void *), cuCtxGetCurrent(void **), cuCtxSetCurrent(void *), cuCtxGetDevice(int *);
int cuModuleLoadData(void **, const void *), cuModuleLoad(void **, const char *), cuModuleUnload(void *);
int cuModuleLoadDataEx(void **, const void *, unsigned, int *, void **), cuModuleLoadFatBinary(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *), cuModuleGetGlobal_v2(Address *, size_t *, void *, const char *);
int cuModuleGetTexRef(void **, void *, const char *), cuModuleGetGlobal(unsigned *, unsigned *, void *, const char *);
int cuFuncSetBlockShape(void *, int, int, int), cuFuncSetSharedSize(void *, unsigned), cuParamSetSize(void *, unsigned);
int cuParamSetv(void *, int, void *, unsigned), cuParamSeti(void *, int, unsigned), cuParamSetTexRef(void *, int, void *);
int cuLaunch(void *), cuLaunchGrid(void *, int, int), cuFuncGetAttribute(int *, int, void *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuMemAlloc(unsigned *, unsigned), cuMemAlloc_v2(Address *, size_t), cuMemFree_v2(Address), cuMemFree(unsigned);
int cuMemcpyHtoD_v2(Address, const void *, size_t), cuMemcpyDtoH_v2(void *, Address, size_t);
int cuMemcpyHtoD(unsigned, const void *, unsigned), cuMemcpyDtoH(void *, unsigned, unsigned);
int cuMemcpyDtoD_v2(Address, Address, size_t), cuMemcpy2D_v2(const Copy2D *), cuMemsetD32_v2(Address, unsigned, size_t);
int cuMemsetD16_v2(Address, unsigned short, size_t), cuMemsetD2D8_v2(Address, size_t, unsigned char, size_t, size_t);
int cuMemAllocPitch_v2(Address *, size_t *, size_t, size_t, unsigned), cuMemGetAddressRange_v2(Address *, size_t *, Address);
int cuMemGetInfo_v2(size_t *, size_t *), cuMemAllocHost_v2(void **, size_t), cuMemFreeHost(void *);
int cuMemHostAlloc(void **, size_t, unsigned), cuMemHostGetDevicePointer_v2(Address *, void *, unsigned);
int cuArrayCreate_v2(void **, const Description *), cuArrayDestroy(void *), cuArrayGetDescriptor_v2(Description *, void *);
int cuMemcpyHtoA_v2(void *, size_t, const void *, size_t), cuMemcpyAtoH_v2(void *, void *, size_t, size_t);
int cuTexRefSetArray(void *, void *, unsigned), cuTexRefSetAddress_v2(size_t *, void *, Address, size_t);
int cuTexRefSetFormat(void *, int, int), cuTexRefSetFlags(void *, unsigned), cuTexRefSetFilterMode(void *, int);
int cuTexRefSetAddressMode(void *, int, int), cuTexRefGetFlags(unsigned *, void *);
int cuEventCreate(void **, unsigned), cuEventRecord(void *, void *), cuEventElapsedTime(float *, void *, void *);
int cuStreamCreate(void **, unsigned), cuStreamSynchronize(void *), cuGetErrorName(int, const char **);
int cuGLInit(void), cuLaunchGridAsync(void *, int, int, void *), cuParamSetf(void *, int, float);
int cuTexRefSetAddress2D_v2(void *, const Description *, Address, size_t), cuTexRefGetAddress_v2(Address *, void *);
int cuTexRefGetFormat(int *, int *, void *), cuTexRefGetArray(void **, void *), cuTexRefCreate(void **);
int cuMemcpy2DUnaligned_v2(const Copy2D *), cuMemcpyDtoA_v2(void *, size_t, Address, size_t);
int cuMemcpyAtoD_v2(Address, void *, size_t, size_t), cuMemcpyAtoA_v2(void *, size_t, void *, size_t, size_t);
int cuMemcpyHtoDAsync_v2(Address, const void *, size_t, void *), cuStreamDestroy(void *), cuStreamWaitEvent(void *, void *, unsigned);
int cuCtxAttach(void **, unsigned), cuCtxDetach(void *), cuCtxGetApiVersion(void *, unsigned *);
int cuOccupancyMaxPotentialBlockSize(int *, int *, void *, size_t (*)(int), size_t, int);
int cuDeviceGetProperties(int *, int), cuMemHostRegister(void *, size_t, unsigned), cuMemHostUnregister(void *);
int cuDevicePrimaryCtxRetain(void **, int), cuDevicePrimaryCtxRelease_v2(int), cuDevicePrimaryCtxReset_v2(int);
int cuDevicePrimaryCtxSetFlags_v2(int, unsigned), cuDevicePrimaryCtxGetState(int, unsigned *, int *);
int cuCtxCreate_v4(void **, void *, unsigned, int), cuCtxGetFlags(unsigned *), cuCtxGetId(void *, unsigned long long *);
int cuFuncGetModule(void **, void *), cuFuncSetAttribute(void *, int, int), cuGraphCreate(void);
int cuFuncGetParamInfo(void *, size_t, size_t *, size_t *), cuModuleGetLoadingMode(int *), cuEventDestroy_v2(void *);
int cuOccupancyMaxPotentialBlockSizeWithFlags(int *, int *, void *, size_t (*)(int), size_t, int, unsigned);
int cuStreamGetCtx(void *, void **), cuStreamGetId(void *, unsigned long long *), cuStreamIsCapturing(void *, int *);
int cuEventRecordWithFlags(void *, void *, unsigned), cuLaunchHostFunc(void *, void (*)(void *), void *);
int cuGetProcAddress(const char *, void *, int, unsigned long long);
typedef struct { unsigned grid[3], block[3], shared; void *stream, *attributes; unsigned count; } Config;
int cuLaunchKernelEx(const Config *, void *, void **, void **);

typedef struct {
    size_t x, y, z, level; int what; void *host; Address device; void *array, *reserved; size_t pitch, rows;
} Box;
typedef struct { Box from, to; size_t width, height, depth; } CopyBox;
typedef struct { size_t width, height, depth; int format; unsigned components, flags; } Description3D;
int cuMemcpy3D_v2(const CopyBox *), cuArray3DCreate_v2(void **, const Description3D *);
int cuArray3DGetDescriptor_v2(Description3D *, void *);

static const char ptx[] =
    ".version 1.4\n.target sm_10\n.entry twice (.param .u64 p)\n{\n.reg .u64 %rd<4>;\n.reg .u32 %r<4>;\n"
    "ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1+0];\nadd.u32 %r1, %r1, %r1;\nst.global.u32 [%rd1+0], %r1;\nexit;\n}\n";

static void *begin(void)
{
    void *context;
    OK(cuInit(0)); OK(cuCtxCreate_v2(&context, 0, 0));
    return context;
}

static void modules(void)
{
    void *context, *module, *function, *current;
    Address x, y, variable;
    size_t bytes;
    unsigned small, few;
    float in[64], out[64];
    EXPECT(cuMemAlloc_v2(&x, 4), 201);
    context = begin();
    OK(cuCtxGetCurrent(&current)); EXPECT(current == context, 1);
    EXPECT(cuModuleLoadData(&module, "nothing at all"), 200);
    EXPECT(cuModuleLoad(&module, "/nonexistent"), 301);
    OK(cuModuleLoadData(&module, cubin));
    EXPECT(cuModuleGetFunction(&function, module, "nothing"), 500);
    OK(cuModuleGetFunction(&function, module, "affine"));
    OK(cuMemAlloc_v2(&x, sizeof in)); OK(cuMemAlloc_v2(&y, sizeof in));
    for (int i = 0; i < 64; i++) in[i] = (float)i;
    OK(cuMemcpyHtoD_v2(x, in, sizeof in));
    OK(cuModuleGetGlobal_v2(&variable, &bytes, module, "scale"));
    EXPECT(bytes, 4);
    OK(cuMemcpyHtoD_v2(variable, (float[]){5}, 4));
    /* the old way */
    OK(cuFuncSetBlockShape(function, 64, 1, 1)); OK(cuFuncSetSharedSize(function, 0));
    OK(cuParamSetv(function, 0, &y, 8)); OK(cuParamSetv(function, 8, &x, 8)); OK(cuParamSeti(function, 16, 64));
    OK(cuParamSetSize(function, 20));
    OK(cuLaunchGrid(function, 1, 1)); OK(cuCtxSynchronize());
    OK(cuMemcpyDtoH_v2(out, y, sizeof out));
    for (int i = 0; i < 64; i++) EXPECT(out[i] == in[i] * 5 + 1.5f + (i & 3), 1);
    /* the new one, with an array of pointers, and with a buffer */
    unsigned n = 32;
    void *parameters[] = {&y, &x, &n};
    OK(cuMemsetD32_v2(y, 0, 64));
    OK(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, 0, parameters, 0));
    OK(cuMemcpyDtoH_v2(out, y, sizeof out));
    EXPECT(out[31] == 31 * 5 + 4.5f, 1); EXPECT(out[32], 0);
    struct { Address y, x; unsigned n; } packed = {y, x, 64};
    size_t size = 20;
    void *extra[] = {(void *)1, &packed, (void *)2, &size, 0};
    OK(cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, 0, 0, extra));
    OK(cuMemcpyDtoH_v2(out, y, sizeof out));
    EXPECT(out[63] == 63 * 5 + 4.5f, 1);
    EXPECT(cuLaunchKernel(function, 1, 1, 1, 1024, 1, 1, 0, 0, parameters, 0), 1);
    EXPECT(cuFuncSetBlockShape(function, 513, 1, 1), 1);
    /* 32-bit addresses of the first releases */
    OK(cuMemAlloc(&small, 64)); OK(cuMemcpyHtoD(small, in, 64)); OK(cuMemcpyDtoH(out, small, 64));
    OK(memcmp(in, out, 64)); OK(cuModuleGetGlobal(&few, 0, module, "counter")); OK(cuMemFree(small));
    int registers;
    OK(cuFuncGetAttribute(&registers, 4, function)); EXPECT(registers > 3 && registers < 8, 1);
    /* other kinds of images */
    OK(cuModuleLoadData(&module, text_cubin)); OK(cuModuleGetFunction(&function, module, "count"));
    OK(cuModuleLoadFatBinary(&module, container)); OK(cuModuleGetFunction(&function, module, "count"));
    FILE *f = fopen("checked.cubin", "wb");
    fwrite(cubin, 1, sizeof cubin, f); fclose(f);
    OK(cuModuleLoad(&module, "checked.cubin")); OK(cuModuleGetFunction(&function, module, "count"));
    OK(cuModuleUnload(module)); EXPECT(cuModuleUnload(module), 400); EXPECT(cuModuleUnload((void *)3), 400);
    char log[64] = "not touched";
    int options[] = {5, 6};
    void *values[] = {log, (void *)64};
    OK(cuModuleLoadDataEx(&module, ptx, 2, options, values)); EXPECT(log[0], 0); EXPECT((size_t)values[1], 0);
    OK(cuModuleGetFunction(&function, module, "twice"));
    OK(cuMemsetD32_v2(x, 21, 1));
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, (void *[]){&x}, 0));
    OK(cuMemcpyDtoH_v2(&n, x, 4)); EXPECT(n, 42);
    EXPECT(cuModuleLoadData(&module, ".version 1.4\n.target sm_10\nthis is no PTX"), 218);
    OK(cuMemFree_v2(x)); EXPECT(cuMemFree_v2(x), 1);
    OK(cuCtxDestroy_v2(context)); EXPECT(cuCtxDestroy_v2(context), 400); EXPECT(cuCtxSynchronize(), 201);
}

static void memory(void)
{
    Address d, p, base, mapped;
    size_t pitch, size, free_, total;
    unsigned short half[8];
    unsigned char a[1024], b[1024], *h;
    void *array;
    begin();
    for (int i = 0; i < 1024; i++) a[i] = (unsigned char)(i * 3);
    OK(cuMemAlloc_v2(&d, 1024)); OK(cuMemsetD16_v2(d, 0x1234, 8)); OK(cuMemcpyDtoH_v2(half, d, 16));
    EXPECT(half[7], 0x1234);
    OK(cuMemGetAddressRange_v2(&base, &size, d + 100)); EXPECT(base, d); EXPECT(size, 1024);
    EXPECT(cuMemcpyHtoD_v2(d + 1000, a, 25), 1); EXPECT(cuMemcpyHtoD_v2(d, a, SIZE_MAX / 2 + 1), 1);
    EXPECT(cuMemAlloc_v2(&p, SIZE_MAX / 2 + 1), 2); EXPECT(cuMemAlloc_v2(&p, 0), 1);
    OK(cuMemAllocPitch_v2(&p, &pitch, 30, 10, 4)); OK(cuMemsetD2D8_v2(p, pitch, 9, 30, 10));
    Copy2D c = {{.what = 1, .host = a, .pitch = 64, .x = 5, .y = 2}, {.what = 2, .device = p, .pitch = pitch, .y = 1}, 20, 4};
    OK(cuMemcpy2D_v2(&c));
    Description desc = {16, 8, 0x01, 4}, back;
    OK(cuArrayCreate_v2(&array, &desc)); OK(cuArrayGetDescriptor_v2(&back, array)); OK(memcmp(&back, &desc, sizeof desc));
    Copy2D up = {{.what = 2, .device = p, .pitch = pitch}, {.what = 3, .array = array, .x = 8, .y = 1}, 30, 5};
    OK(cuMemcpy2D_v2(&up));
    Copy2D down = {{.what = 3, .array = array, .x = 8, .y = 1}, {.what = 1, .host = b, .pitch = 30}, 30, 5};
    OK(cuMemcpy2D_v2(&down));
    EXPECT(b[0], 9); OK(memcmp(b + 30, a + 2 * 64 + 5, 20)); EXPECT(b[30 + 20], 9); OK(memcmp(b + 120, a + 5 * 64 + 5, 20));
    OK(cuMemcpyHtoA_v2(array, 64, a, 200)); OK(cuMemcpyAtoH_v2(b, array, 70, 190)); OK(memcmp(b, a + 6, 190));
    EXPECT(cuMemcpyHtoA_v2(array, 500, a, 20), 1);
    OK(cuMemGetInfo_v2(&free_, &total)); EXPECT(free_ < total, 1);
    OK(cuMemHostAlloc((void **)&h, 100, 2)); OK(cuMemHostGetDevicePointer_v2(&mapped, h, 0));
    OK(cuMemsetD32_v2(mapped, 0x01020304, 25)); EXPECT(h[99], 1); OK(cuMemFreeHost(h)); EXPECT(cuMemFreeHost(a), 1);
    OK(cuArrayDestroy(array)); EXPECT(cuArrayDestroy(array), 400);
}

static void textures(void)
{
    void *module, *f, *texture, *array;
    Address o, u;
    float texels[16], got[4][4], at[] = {0.5f, 0.5f, 1.0f, 0.5f, 2.0f, 2.0f, 3.5f, 3.5f};
    unsigned flags;
    begin();
    for (int i = 0; i < 16; i++) texels[i] = (float)i;
    OK(cuModuleLoadData(&module, cubin)); OK(cuModuleGetFunction(&f, module, "sample"));
    EXPECT(cuModuleGetTexRef(&texture, module, "nothing"), 500);
    OK(cuModuleGetTexRef(&texture, module, "plane"));
    Description desc = {4, 4, 0x20, 1};
    OK(cuArrayCreate_v2(&array, &desc)); OK(cuMemcpyHtoA_v2(array, 0, texels, 64));
    OK(cuTexRefSetArray(texture, array, 1)); OK(cuTexRefSetFlags(texture, 0)); OK(cuTexRefSetFilterMode(texture, 1));
    OK(cuTexRefSetAddressMode(texture, 0, 1)); OK(cuTexRefSetAddressMode(texture, 1, 1));
    OK(cuTexRefSetFormat(texture, 0x20, 1)); OK(cuTexRefGetFlags(&flags, texture)); EXPECT(flags, 0);
    EXPECT(cuTexRefSetAddressMode(texture, 3, 1), 1);
    OK(cuMemAlloc_v2(&o, 256)); OK(cuMemAlloc_v2(&u, 256)); OK(cuMemcpyHtoD_v2(u, at, sizeof at));
    OK(cuParamSetTexRef(f, -1, texture));
    OK(cuLaunchKernel(f, 1, 1, 1, 4, 1, 1, 0, 0, (void *[]){&o, &u}, 0));
    OK(cuMemcpyDtoH_v2(got, o, sizeof got));
    EXPECT(got[0][0] == 0 && got[1][0] == 0.5f && got[2][0] == 7.5f && got[3][0] == 15, 1);
}

static void devices(void)
{
    char name[100];
    const char *text;
    int n, major, minor;
    size_t bytes;
    void *a, *b, *s;
    float ms;
    begin();
    OK(cuDeviceGetCount(&n)); EXPECT(n, 1); EXPECT(cuDeviceGet(&n, 1), 101); OK(cuDeviceGet(&n, 0));
    OK(cuDeviceGetName(name, 100, 0)); OK(strcmp(name, "Tesla C1060"));
    OK(cuDeviceGetName(name, 6, 0)); OK(strcmp(name, "Tesla"));
    OK(cuDeviceComputeCapability(&major, &minor, 0)); EXPECT(10 * major + minor, 13);
    OK(cuDeviceTotalMem_v2(&bytes, 0)); EXPECT(bytes > 1u << (sizeof(void *) == 8 ? 30 : 29), 1);
    OK(cuDeviceGetAttribute(&n, 16, 0)); EXPECT(n, 30); EXPECT(cuDeviceGetAttribute(&n, 999, 0), 1);
    OK(cuStreamCreate(&s, 0)); OK(cuEventCreate(&a, 0)); OK(cuEventCreate(&b, 0));
    OK(cuEventRecord(a, s)); OK(cuEventRecord(b, s)); OK(cuStreamSynchronize(s));
    OK(cuEventElapsedTime(&ms, a, b)); EXPECT(ms > 0, 1); EXPECT(cuStreamSynchronize((void *)7), 400);
    OK(cuGetErrorName(700, &text)); OK(strcmp(text, "CUDA_ERROR_LAUNCH_FAILED"));
    OK(cuGLInit());
    /* both interfaces see one memory */
    void *d;
    unsigned value;
    OK(cudaMalloc(&d, 64)); OK(cuMemsetD32_v2((Address)d, 77, 1)); OK(cudaMemcpy(&value, d, 4, TO_HOST));
    EXPECT(value, 77);
}

/* Arrays with three axes, and copies between everything. */
static void boxes(void)
{
    void *volume, *flat, *other, *stream;
    Address d;
    unsigned short a[4 * 3 * 2], b[4 * 3 * 2];
    begin();
    for (int i = 0; i < 24; i++) a[i] = (unsigned short)(i + 1);
    Description3D desc = {4, 3, 2, 0x02, 1, 0}, back;
    OK(cuArray3DCreate_v2(&volume, &desc)); OK(cuArray3DGetDescriptor_v2(&back, volume)); OK(memcmp(&desc, &back, sizeof desc));
    CopyBox up = {{.what = 1, .host = a, .pitch = 8, .rows = 3}, {.what = 3, .array = volume}, 8, 3, 2};
    OK(cuMemcpy3D_v2(&up));
    CopyBox down = {{.what = 3, .array = volume, .x = 2, .y = 1, .z = 1}, {.what = 1, .host = b, .pitch = 6, .rows = 2}, 6, 2, 1};
    OK(cuMemcpy3D_v2(&down));
    EXPECT(b[0], 18); EXPECT(b[3], 22); EXPECT(b[5], 24);
    down.width = 7;
    EXPECT(cuMemcpy3D_v2(&down), 1);
    desc.flags = 1;
    EXPECT(cuArray3DCreate_v2(&other, &desc), 1);
    Description line_ = {12, 0, 0x02, 1};
    OK(cuArrayCreate_v2(&flat, &line_)); OK(cuArrayCreate_v2(&other, &line_)); OK(cuMemAlloc_v2(&d, 48));
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemcpyHtoDAsync_v2(d, a, 48, stream)); OK(cuMemcpyDtoA_v2(flat, 4, d, 20)); OK(cuMemcpyAtoA_v2(other, 0, flat, 4, 20));
    OK(cuMemcpyAtoD_v2(d + 24, other, 2, 18)); OK(cuMemcpyDtoH_v2(b, d, 48));
    EXPECT(b[12], 2); EXPECT(b[20], 10); EXPECT(b[21], 22);
    EXPECT(cuMemcpyHtoDAsync_v2(d, a, 48, (void *)77), 400);
    Copy2D odd = {{.what = 2, .device = d + 2, .pitch = 10}, {.what = 1, .host = b, .pitch = 3}, 3, 4};
    OK(cuMemcpy2DUnaligned_v2(&odd)); EXPECT(((char *)b)[3], 7);
    OK(cuStreamDestroy(stream));
    /* memory of the program */
    char *own = malloc(20000);
    OK(cuMemHostRegister(own, 20000, 0)); EXPECT(cuMemHostRegister(own, 20000, 0), 712);
    OK(cuMemHostUnregister(own)); EXPECT(cuMemHostUnregister(own), 713);
    free(own);
}

/* References are set up in any order: what counts is how they are when a kernel begins. */
static void references(void)
{
    void *module, *f, *texture, *g, *array;
    Address o, u, d, at;
    int format, components, properties[14];
    float got[4][4], points[] = {0.5f, 0.5f, 1.5f, 1.5f, 3.5f, 0.5f, 9, 9};
    unsigned char rows[3][256] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
    unsigned words[8] = {10, 20, 30, 40, 50, 60, 70, 80}, read[8];
    begin();
    OK(cuModuleLoadData(&module, cubin)); OK(cuModuleGetFunction(&f, module, "sample"));
    OK(cuModuleGetFunction(&g, module, "fetch"));
    OK(cuMemAlloc_v2(&o, 256)); OK(cuMemAlloc_v2(&u, 256)); OK(cuMemAlloc_v2(&d, sizeof rows));
    /* linear memory, whose format is said afterwards */
    OK(cuModuleGetTexRef(&texture, module, "line"));
    OK(cuMemcpyHtoD_v2(d, words, sizeof words));
    OK(cuTexRefSetFormat(texture, 0x20, 4));
    OK(cuTexRefSetAddress_v2(0, texture, d, sizeof words));
    OK(cuTexRefSetFormat(texture, 0x03, 1)); OK(cuTexRefSetFlags(texture, 1));
    OK(cuTexRefGetAddress_v2(&at, texture)); EXPECT(at, d); EXPECT(cuTexRefGetArray(&array, texture), 1);
    OK(cuTexRefGetFormat(&format, &components, texture)); EXPECT(format, 3); EXPECT(components, 1);
    OK(cuFuncSetBlockShape(g, 8, 1, 1)); OK(cuParamSetv(g, 0, &o, 8)); OK(cuParamSetSize(g, 8));
    OK(cuLaunchGridAsync(g, 1, 1, 0)); OK(cuMemcpyDtoH_v2(read, o, sizeof read)); OK(memcmp(read, words, sizeof read));
    EXPECT(cuLaunchGridAsync(g, 1, 1, (void *)5), 400);
    /* integers of 32 bits stay what they are, whatever the flags say; programs read doubles so */
    OK(cuTexRefSetFlags(texture, 0)); OK(cuMemcpyHtoD_v2(o, rows, sizeof read));
    OK(cuLaunchGridAsync(g, 1, 1, 0)); OK(cuMemcpyDtoH_v2(read, o, sizeof read)); OK(memcmp(read, words, sizeof read));
    /* rows with a pitch, as numbers from 0 to 1 */
    OK(cuModuleGetTexRef(&texture, module, "plane"));
    OK(cuMemcpyHtoD_v2(d, rows, sizeof rows)); OK(cuMemcpyHtoD_v2(u, points, sizeof points));
    Description desc = {4, 3, 0x01, 1};
    OK(cuTexRefSetAddress2D_v2(texture, &desc, d, 256)); OK(cuTexRefSetFlags(texture, 0));
    OK(cuTexRefSetFilterMode(texture, 0));
    OK(cuFuncSetBlockShape(f, 4, 1, 1)); OK(cuParamSetv(f, 0, &o, 8)); OK(cuParamSetv(f, 8, &u, 8)); OK(cuParamSetSize(f, 16));
    OK(cuLaunch(f)); OK(cuMemcpyDtoH_v2(got, o, sizeof got));
    EXPECT(lrintf(got[0][0] * 255), 1); EXPECT(lrintf(got[1][0] * 255), 6); EXPECT(lrintf(got[2][0] * 255), 4);
    EXPECT(lrintf(got[3][0] * 255), 12);
    EXPECT(cuTexRefSetAddress2D_v2(texture, &desc, d, 255), 1); EXPECT(cuParamSetTexRef(f, 3, texture), 1);
    OK(cuTexRefCreate(&texture)); OK(cuTexRefSetFormat(texture, 0x20, 2)); EXPECT(cuTexRefSetFormat(texture, 0x55, 1), 1);
    OK(cuDeviceGetProperties(properties, 0)); EXPECT(properties[0], 512); EXPECT(properties[9], 32);
    int grid, block;
    OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, f, 0, 0, 0)); EXPECT(block % 32 == 0 && grid >= 30, 1);
}

/* Each thread has its own stack of contexts; one context may travel from thread to thread. */
static void *shared_context;
static void *visitor(void *p)
{
    void *now = p;
    Address d, freed;
    OK(cuCtxGetCurrent(&now)); EXPECT(now == 0, 1); EXPECT(cuMemAlloc_v2(&d, 64), 201); EXPECT(cuCtxPopCurrent_v2(&now), 201);
    OK(cuCtxPushCurrent_v2(shared_context));
    OK(cuMemAlloc_v2(&d, 64)); OK(cuMemAlloc_v2(&freed, 64)); OK(cuMemsetD32_v2(d, (unsigned)(uintptr_t)p, 16));
    OK(cuCtxPopCurrent_v2(&now)); EXPECT(now == shared_context, 1); EXPECT(cuCtxSynchronize(), 201);
    OK(cuMemFree_v2(freed)); EXPECT(cuMemFree_v2(freed), 1);
    return (void *)(uintptr_t)d;
}
static void migration(void)
{
    pthread_t t[4];
    void *results[4], *now, *second;
    unsigned version;
    shared_context = begin();
    OK(cuCtxAttach(&now, 0)); EXPECT(now == shared_context, 1); OK(cuCtxDetach(now));
    OK(cuCtxGetApiVersion(now, &version)); EXPECT(version >= 3000, 1);
    OK(cuCtxPopCurrent_v2(&now)); EXPECT(cuCtxPopCurrent_v2(&now), 201);
    for (uintptr_t k = 0; k < 4; k++) pthread_create(t + k, 0, visitor, (void *)(k + 1));
    for (int k = 0; k < 4; k++) pthread_join(t[k], results + k);
    OK(cuCtxPushCurrent_v2(shared_context));
    for (unsigned k = 0; k < 4; k++) {
        unsigned words[16];
        OK(cuMemcpyDtoH_v2(words, (Address)results[k], 64)); EXPECT(words[15], k + 1);
    }
    OK(cuCtxCreate_v2(&second, 0, 0)); OK(cuCtxGetCurrent(&now)); EXPECT(now == second, 1);
    OK(cuCtxDestroy_v2(second)); OK(cuCtxGetCurrent(&now)); EXPECT(now == shared_context, 1);
    EXPECT(cuCtxPushCurrent_v2(second), 400);
}

/* What clients of later versions call: the context that both interfaces share, launches with a configuration. */
static void one_more(void *p) { ++*(int *)p; }
static void later(void)
{
    void *context, *again, *now, *module, *f, *stream, *event, *(*found)(void) = 0;
    unsigned flags, value = 21;
    unsigned long long id;
    int active, calls = 0, n;
    size_t at, bytes;
    Address d;
    OK(cuInit(0)); EXPECT(cuDevicePrimaryCtxRelease_v2(0), 201); OK(cuDevicePrimaryCtxSetFlags_v2(0, 4));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active)); EXPECT(flags, 4); EXPECT(active, 0);
    OK(cuDevicePrimaryCtxRetain(&context, 0)); OK(cuDevicePrimaryCtxRetain(&again, 0)); EXPECT(context == again, 1);
    OK(cuCtxGetCurrent(&now)); EXPECT(now == 0, 1); OK(cuCtxPushCurrent_v2(context)); OK(cuCtxGetFlags(&flags)); EXPECT(flags, 4);
    OK(cuCtxGetId(0, &id)); EXPECT(id == (uintptr_t)context, 1);
    OK(cuModuleLoadData(&module, ptx)); OK(cuModuleGetFunction(&f, module, "twice")); OK(cuModuleGetLoadingMode(&n)); EXPECT(n, 1);
    OK(cuFuncGetModule(&now, f)); EXPECT(now == module, 1); OK(cuFuncSetAttribute(f, 8, 16000)); EXPECT(cuFuncSetAttribute(f, 8, 16385), 1);
    OK(cuFuncGetParamInfo(f, 0, &at, &bytes)); EXPECT(at, 0); EXPECT(bytes, 8); EXPECT(cuFuncGetParamInfo(f, 1, &at, &bytes), 1);
    OK(cuStreamCreate(&stream, 0)); OK(cuStreamGetCtx(stream, &now)); EXPECT(now == context, 1);
    OK(cuStreamGetId(stream, &id)); EXPECT(id == (uintptr_t)stream, 1); OK(cuStreamIsCapturing(stream, &n)); EXPECT(n, 0);
    OK(cuMemAlloc_v2(&d, 4)); OK(cuMemcpyHtoD_v2(d, &value, 4));
    Config config = {{1, 1, 1}, {1, 1, 1}, 0, stream, 0, 0};
    OK(cuLaunchKernelEx(&config, f, (void *[]){&d}, 0)); OK(cuLaunchHostFunc(stream, one_more, &calls)); EXPECT(calls, 1);
    OK(cuMemcpyDtoH_v2(&value, d, 4)); EXPECT(value, 42);
    config.count = 1; EXPECT(cuLaunchKernelEx(&config, f, (void *[]){&d}, 0), 801); EXPECT(cuGraphCreate(), 801);
    OK(cuEventCreate(&event, 0)); OK(cuEventRecordWithFlags(event, stream, 0)); OK(cuEventDestroy_v2(event));
    OK(cuOccupancyMaxPotentialBlockSizeWithFlags(&n, &active, f, 0, 0, 0, 0)); EXPECT(n >= 30 && active % 32 == 0, 1);
    OK(cuGetProcAddress("cuCtxCreate", &found, 13000, 0)); EXPECT(found == (void *)cuCtxCreate_v4, 1);
    /* a thread that uses the driver interface alone has no context but those it pushes */
    OK(cuCtxPopCurrent_v2(&now)); EXPECT(now == context, 1); EXPECT(cuCtxPopCurrent_v2(&now), 201);
    OK(cuDevicePrimaryCtxRelease_v2(0)); OK(cuDevicePrimaryCtxGetState(0, &flags, &active)); EXPECT(active, 1);
    OK(cuDevicePrimaryCtxRelease_v2(0)); OK(cuDevicePrimaryCtxGetState(0, &flags, &active)); EXPECT(active, 0);
    EXPECT(cuCtxPushCurrent_v2(context), 400); EXPECT(cuCtxCreate_v4(&context, &n, 0, 0), 801); OK(cuCtxCreate_v4(&context, 0, 0, 0));
    OK(cuMemAlloc_v2(&d, 4)); OK(cuCtxDestroy_v2(context)); OK(cuDevicePrimaryCtxReset_v2(0));
}

/* Memory of malloc that the device sees: what lies beside it on its pages stays as it is. */
static void beside(void)
{
    begin();
    for (size_t size = 40; size < 60000; size = size * 3 + 8) {
        Address d;
        unsigned char *before = malloc(size), *shown = malloc(size), *after = malloc(size);
        memset(before, 1, size), memset(shown, 2, size), memset(after, 3, size);
        OK(cuMemHostRegister(shown, size, 2)); OK(cuMemHostGetDevicePointer_v2(&d, shown, 0));
        for (size_t k = 0; k < size; k++) EXPECT(before[k] == 1 && shown[k] == 2 && after[k] == 3, 1);
        OK(cuMemsetD32_v2(d, 0x04040404, size / 4)); OK(cuMemHostUnregister(shown));
        for (size_t k = 0; k < size; k++) EXPECT(before[k] == 1 && shown[k] == 4 && after[k] == 3, 1);
        free(before), free(shown), free(after);
    }
}

static const struct { const char *name; void (*run)(void); } all[] = {
    {"modules", modules}, {"memory", memory}, {"textures", textures}, {"devices", devices}, {"boxes", boxes},
    {"references", references}, {"migration", migration}, {"later", later}, {"beside", beside},
};

int main(int n, char **words)
{
    (void)stray, (void)wait_, (void)run_affine;
    for (int k = 1; k < n; k++)
        for (size_t m = 0; m < sizeof all / sizeof *all; m++)
            if (!strcmp(words[k], all[m].name)) {
                all[m].run();
                printf("%s ok\n", words[k]);
                fflush(stdout);
            }
    return 0;
}

/* Checks of the driver interface; the first argument says which. */
#include "cuda_api.h"

typedef unsigned long long Address;
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
int cuGLInit(void);

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
    OK(cuModuleLoadDataEx(&module, ptx, 2, options, values)); EXPECT(log[0], 0);
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
    EXPECT(cuMemcpyHtoD_v2(d + 1000, a, 25), 1); EXPECT(cuMemcpyHtoD_v2(d, a, (size_t)1 << 63), 1);
    EXPECT(cuMemAlloc_v2(&p, (size_t)1 << 63), 2); EXPECT(cuMemAlloc_v2(&p, 0), 1);
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
    OK(cuDeviceTotalMem_v2(&bytes, 0)); EXPECT(bytes > 1u << 30, 1);
    OK(cuDeviceGetAttribute(&n, 16, 0)); EXPECT(n, 30); EXPECT(cuDeviceGetAttribute(&n, 999, 0), 1);
    OK(cuStreamCreate(&s, 0)); OK(cuEventCreate(&a, 0)); OK(cuEventCreate(&b, 0));
    OK(cuEventRecord(a, s)); OK(cuEventRecord(b, s)); OK(cuStreamSynchronize(s));
    OK(cuEventElapsedTime(&ms, a, b)); EXPECT(ms > 0, 1); EXPECT(cuStreamSynchronize((void *)7), 400);
    OK(cuGetErrorName(700, &text)); OK(strcmp(text, "CUDA_ERROR_LAUNCH_FAILED"));
    EXPECT(cuGLInit(), 999);
    /* both interfaces see one memory */
    void *d;
    unsigned value;
    OK(cudaMalloc(&d, 64)); OK(cuMemsetD32_v2((Address)d, 77, 1)); OK(cudaMemcpy(&value, d, 4, TO_HOST));
    EXPECT(value, 77);
}

static const struct { const char *name; void (*run)(void); } all[] = {
    {"modules", modules}, {"memory", memory}, {"textures", textures}, {"devices", devices},
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

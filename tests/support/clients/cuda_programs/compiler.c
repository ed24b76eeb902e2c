/* The driver interface's compiler and linker: options, logs, limits. Then the late names of copies and fills. */
#include "cuda_api.h"

typedef uintptr_t Address;
int cuInit(unsigned), cuCtxCreate_v2(void **, unsigned, int), cuCtxDestroy_v2(void *), cuModuleUnload(void *);
int cuModuleLoadData(void **, const void *), cuModuleLoadDataEx(void **, const void *, unsigned, int *, void **);
int cuModuleGetFunction(void **, void *, const char *), cuFuncGetAttribute(int *, int, void *);
int cuLinkCreate(unsigned, int *, void **, void **), cuLinkCreate_v2(unsigned, int *, void **, void **);
int cuLinkAddData(void *, int, void *, size_t, const char *, unsigned, int *, void **);
int cuLinkAddData_v2(void *, int, void *, size_t, const char *, unsigned, int *, void **);
int cuLinkAddFile(void *, int, const char *, unsigned, int *, void **), cuLinkComplete(void *, void **, size_t *);
int cuLinkAddFile_v2(void *, int, const char *, unsigned, int *, void **), cuLinkDestroy(void *);
int cuMemAlloc_v2(Address *, size_t), cuMemFree_v2(Address), cuStreamCreate(void **, unsigned), cuStreamSynchronize(void *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuMemcpyDtoH_v2(void *, Address, size_t), cuMemcpyHtoD_v2(Address, const void *, size_t);
int cuMemcpyDtoHAsync_v2(void *, Address, size_t, void *), cuMemcpyDtoDAsync_v2(Address, Address, size_t, void *);
int cuMemsetD8_v2(Address, unsigned char, size_t), cuMemsetD8Async(Address, unsigned char, size_t, void *);
int cuMemsetD16Async(Address, unsigned short, size_t, void *), cuMemsetD32Async(Address, unsigned, size_t, void *);
int cuMemsetD2D8Async(Address, size_t, unsigned char, size_t, size_t, void *);
int cuMemsetD2D16_v2(Address, size_t, unsigned short, size_t, size_t), cuMemsetD2D32_v2(Address, size_t, unsigned, size_t, size_t);
int cuMemsetD2D16Async(Address, size_t, unsigned short, size_t, size_t, void *);
int cuMemsetD2D32Async(Address, size_t, unsigned, size_t, size_t, void *);

enum { MAX_REGISTERS, THREADS, WALL_TIME, INFO, INFO_SIZE, ERRORS, ERROR_SIZE, OPT_LEVEL };

static const char good[] =
    ".version 1.4\n.target sm_10\n.entry twice (.param .u64 p)\n{\n.reg .u64 %rd<4>;\n.reg .u32 %r<4>;\n"
    "ld.param.u64 %rd1, [p];\nld.global.u32 %r1, [%rd1+0];\nadd.u32 %r1, %r1, %r1;\nst.global.u32 [%rd1+0], %r1;\nexit;\n}\n";
static const char bad[] =
    ".version 1.4\n.target sm_10\n.entry twice (.param .u64 p)\n{\n.reg .u32 %r<4>;\nshfl.b32 %r1, %r1, 1, 31;\nexit;\n}\n";

static void twice(void *module, Address x)
{
    void *function;
    unsigned n = 21;
    OK(cuModuleGetFunction(&function, module, "twice"));
    OK(cuMemcpyHtoD_v2(x, &n, 4)); OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, (void *[]){&x}, 0));
    OK(cuMemcpyDtoH_v2(&n, x, 4)); EXPECT(n, 42);
}

/* Many values that live at once: with few registers they go to local memory. */
static const char *crowded(void)
{
    static char text[8192];
    char *at = text;
    at += sprintf(at, ".version 1.4\n.target sm_10\n.entry k (.param .u64 p)\n{\n.reg .u64 %%p;\n.reg .u32 %%r<40>;\n"
                      "ld.param.u64 %%p, [p];\n");
    for (int k = 0; k < 32; k++) at += sprintf(at, "ld.global.u32 %%r%d, [%%p+%d];\n", k, 4 * k);
    for (int k = 0; k < 32; k++) at += sprintf(at, "mul.lo.u32 %%r%d, %%r%d, %%r%d;\n", k, k, (k + 7) % 32);
    for (int k = 0; k < 32; k++) at += sprintf(at, "st.global.u32 [%%p+%d], %%r%d;\n", 4 * k, k);
    sprintf(at, "exit;\n}\n");
    return text;
}

static int registers_with(unsigned most)
{
    int names[] = {MAX_REGISTERS}, registers;
    void *values[] = {(void *)(uintptr_t)most}, *module, *function;
    OK(cuModuleLoadDataEx(&module, crowded(), 1, names, values));
    OK(cuModuleGetFunction(&function, module, "k")); OK(cuFuncGetAttribute(&registers, 4, function));
    OK(cuModuleUnload(module));
    return registers;
}

static void logs(Address x)
{
    char info[512] = "untouched", errors[512] = "untouched", few[9] = "untouched";
    int names[] = {WALL_TIME, INFO, INFO_SIZE, ERRORS, ERROR_SIZE, OPT_LEVEL};
    void *values[] = {0, info, (void *)sizeof info, errors, (void *)sizeof errors, (void *)3}, *module;
    float milliseconds;
    OK(cuModuleLoadDataEx(&module, good, 6, names, values));
    memcpy(&milliseconds, values, sizeof milliseconds);
    EXPECT(milliseconds > 0 && milliseconds < 60000, 1);
    EXPECT((size_t)values[2], strlen(info)); EXPECT(strstr(info, "twice") != 0, 1); EXPECT(strstr(info, "registers") != 0, 1);
    EXPECT(errors[0], 0); EXPECT((size_t)values[4], 0);
    twice(module, x);
    values[2] = (void *)sizeof info, values[4] = (void *)sizeof errors;
    EXPECT(cuModuleLoadDataEx(&module, bad, 5, names, values), 218);
    EXPECT((size_t)values[4], strlen(errors)); EXPECT(strstr(errors, "shfl") != 0, 1); EXPECT(strstr(errors, ":6:1: error") != 0, 1);
    values[3] = few, values[4] = (void *)sizeof few;
    EXPECT(cuModuleLoadDataEx(&module, bad, 5, names, values), 218);
    EXPECT(strlen(few), 8); EXPECT((size_t)values[4], 8); /* cut, with a zero at its end */
    EXPECT(cuModuleLoadDataEx(&module, good, 1000, names, values), 1);
    OK(cuModuleLoadDataEx(&module, good, 0, 0, 0));
    int most = registers_with(0), fewer = registers_with(16);
    EXPECT(most > 30, 1); EXPECT(fewer <= 16, 1);
}

static void linker(Address x)
{
    void *state, *module, *code = 0;
    size_t size = 0;
    char errors[256] = "untouched";
    int names[] = {ERRORS, ERROR_SIZE};
    void *values[] = {errors, (void *)sizeof errors};
    OK(cuLinkCreate(2, names, values, &state));
    EXPECT(cuLinkComplete(state, &code, &size), 1); /* of nothing */
    OK(cuLinkAddData(state, 1, (void *)(uintptr_t)good, sizeof good, "good", 0, 0, 0));
    EXPECT(errors[0], 0);
    OK(cuLinkComplete(state, &code, &size)); EXPECT(size > 100, 1); EXPECT(memcmp(code, "\177ELF", 4), 0);
    OK(cuModuleLoadData(&module, code)); twice(module, x);
    EXPECT(cuLinkAddData_v2(state, 1, (void *)(uintptr_t)good, sizeof good, 0, 0, 0, 0), 801); /* a second piece */
    OK(cuLinkDestroy(state));
    twice(module, x); /* it does not need the linker any more */
    FILE *f = fopen("linked.ptx", "wb");
    fwrite(bad, 1, strlen(bad), f); fclose(f);
    OK(cuLinkCreate_v2(0, 0, 0, &state));
    values[1] = (void *)sizeof errors;
    EXPECT(cuLinkAddFile(state, 1, "linked.ptx", 2, names, values), 218); EXPECT(strstr(errors, "shfl") != 0, 1);
    EXPECT(cuLinkComplete(state, &code, &size), 1); EXPECT(cuLinkAddFile_v2(state, 1, "not there", 0, 0, 0), 301);
    OK(cuLinkDestroy(state));
    EXPECT(cuLinkCreate(0, 0, 0, 0), 1); EXPECT(cuLinkDestroy(0), 1);
}

static unsigned char bytes[64];
static const unsigned char *back(Address d, unsigned char before)
{
    memset(bytes, before, sizeof bytes);
    OK(cuMemcpyDtoHAsync_v2(bytes, d, 64, 0));
    OK(cuMemsetD8_v2(d, 0, 64));
    return bytes;
}

static void fills(Address d)
{
    void *stream;
    unsigned words[16];
    OK(cuStreamCreate(&stream, 0)); OK(cuMemsetD8_v2(d, 0, 128));
    OK(cuMemsetD8Async(d + 1, 7, 3, stream)); OK(cuStreamSynchronize(stream));
    EXPECT(back(d, 9)[0], 0); EXPECT(bytes[1], 7); EXPECT(bytes[3], 7); EXPECT(bytes[4], 0);
    OK(cuMemsetD16Async(d + 2, 0x1234, 2, stream)); back(d, 9); EXPECT(bytes[2], 0x34); EXPECT(bytes[5], 0x12); EXPECT(bytes[6], 0);
    OK(cuMemsetD32Async(d + 4, 0x12345678, 1, stream)); back(d, 9); EXPECT(bytes[4], 0x78); EXPECT(bytes[7], 0x12);
    OK(cuMemsetD2D8Async(d, 16, 5, 2, 3, stream)); back(d, 9); EXPECT(bytes[33], 5); EXPECT(bytes[34], 0); EXPECT(bytes[48], 0);
    OK(cuMemsetD2D16_v2(d, 16, 0x506, 2, 2)); back(d, 9); EXPECT(bytes[18], 6); EXPECT(bytes[19], 5); EXPECT(bytes[20], 0);
    OK(cuMemsetD2D16Async(d, 16, 0x506, 2, 2, stream)); back(d, 9); EXPECT(bytes[19], 5); EXPECT(bytes[32], 0);
    OK(cuMemsetD2D32_v2(d, 16, 0x01020304, 1, 4)); back(d, 9); EXPECT(bytes[48], 4); EXPECT(bytes[51], 1); EXPECT(bytes[52], 0);
    OK(cuMemsetD2D32Async(d, 16, 0x01020304, 1, 4, stream)); back(d, 9); EXPECT(bytes[51], 1);
    EXPECT(cuMemsetD16Async(d + 1, 1, 1, stream), 1); EXPECT(cuMemsetD32Async(d + 2, 1, 1, stream), 1); /* not aligned */
    for (unsigned k = 0; k < 16; k++) words[k] = k;
    OK(cuMemcpyHtoD_v2(d, words, 64)); OK(cuMemcpyDtoDAsync_v2(d + 64, d, 64, stream)); back(d + 64, 9);
    EXPECT(memcmp(bytes, words, 64), 0);
}

int main(void)
{
    void *context;
    Address x;
    (void)stray, (void)wait_, (void)run_affine;
    OK(cuInit(0)); OK(cuCtxCreate_v2(&context, 0, 0)); OK(cuMemAlloc_v2(&x, 256));
    logs(x);
    linker(x);
    fills(x);
    OK(cuMemFree_v2(x)); OK(cuCtxDestroy_v2(context));
    puts("compiler ok");
    return 0;
}

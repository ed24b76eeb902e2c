/* The driver interface of the first releases: device pointers and sizes have 32 bits. */
#include <string.h>
#include "cuda_api.h"

typedef struct { unsigned x, y; int what; void *host; unsigned device; void *array; unsigned pitch; } Plane;
typedef struct { Plane from, to; unsigned width, height; } Copy2D;
typedef struct {
    unsigned x, y, z, level; int what; void *host; unsigned device; void *array, *reserved; unsigned pitch, rows;
} Box;
typedef struct { Box from, to; unsigned width, height, depth; } CopyBox;
typedef struct { unsigned width, height; int format; unsigned components; } Description;
typedef struct { unsigned width, height, depth; int format; unsigned components, flags; } Description3D;
enum { HOST = 1, DEVICE = 2, ARRAY = 3, U8 = 1, F32 = 0x20 };

int cuInit(unsigned), cuDeviceTotalMem(unsigned *, int), cuDriverGetVersion(int *), cuDeviceGetByPCIBusId(int *, const char *);
int cuDeviceGetPCIBusId(char *, int, int), cuDeviceGetUuid(char *, int), cuDeviceCanAccessPeer(int *, int, int), cuGetErrorString(int, const char **);
int cuGetProcAddress(const char *, void **, int, unsigned long long);
int cuGetProcAddress_v2(const char *, void **, int, unsigned long long, int *);
int cuCtxCreate(void **, unsigned, int), cuCtxDestroy(void *), cuCtxPushCurrent(void *), cuCtxPopCurrent(void **);
int cuCtxSetLimit(int, size_t), cuCtxGetLimit(size_t *, int), cuCtxGetCacheConfig(int *), cuCtxSetCacheConfig(int);
int cuCtxGetSharedMemConfig(int *), cuCtxSetSharedMemConfig(int), cuCtxGetStreamPriorityRange(int *, int *);
int cuCtxSynchronize(void), cuModuleLoadData(void **, const void *), cuModuleGetFunction(void **, void *, const char *);
int cuModuleGetTexRef(void **, void *, const char *), cuFuncSetBlockShape(void *, int, int, int), cuLaunchGrid(void *, int, int);
int cuParamSetv(void *, int, void *, unsigned), cuParamSetSize(void *, unsigned), cuParamSetTexRef(void *, int, void *);
int cuFuncSetCacheConfig(void *, int), cuFuncSetSharedMemConfig(void *, int), cuFuncSetSharedSize(void *, unsigned);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, void *, int, size_t), cuMemGetInfo(unsigned *, unsigned *);
int cuMemAlloc(unsigned *, unsigned), cuMemFree(unsigned), cuMemGetAddressRange(unsigned *, unsigned *, unsigned);
int cuMemAllocPitch(unsigned *, unsigned *, unsigned, unsigned, unsigned), cuMemAllocHost(void **, unsigned);
int cuMemHostAlloc(void **, size_t, unsigned), cuMemFreeHost(void *), cuMemHostGetDevicePointer(unsigned *, void *, unsigned);
int cuMemHostGetFlags(unsigned *, void *), cuMemHostRegister_v2(void *, size_t, unsigned), cuMemHostUnregister(void *);
int cuMemcpyHtoD(unsigned, const void *, unsigned), cuMemcpyDtoH(void *, unsigned, unsigned);
int cuMemcpyDtoD(unsigned, unsigned, unsigned), cuMemcpyHtoDAsync(unsigned, const void *, unsigned, void *);
int cuMemcpyDtoHAsync(void *, unsigned, unsigned, void *), cuMemcpyDtoDAsync(unsigned, unsigned, unsigned, void *);
int cuMemcpyDtoA(void *, unsigned, unsigned, unsigned), cuMemcpyAtoD(unsigned, void *, unsigned, unsigned);
int cuMemcpyHtoA(void *, unsigned, const void *, unsigned), cuMemcpyAtoH(void *, void *, unsigned, unsigned);
int cuMemcpyAtoA(void *, unsigned, void *, unsigned, unsigned), cuMemcpyHtoAAsync(void *, unsigned, const void *, unsigned, void *);
int cuMemcpyAtoHAsync(void *, void *, unsigned, unsigned, void *), cuMemcpy2D(const Copy2D *), cuMemcpy2DUnaligned(const Copy2D *);
int cuMemcpy2DAsync(const Copy2D *, void *), cuMemcpy3D(const CopyBox *), cuMemcpy3DAsync(const CopyBox *, void *);
int cuMemsetD8(unsigned, unsigned char, unsigned), cuMemsetD16(unsigned, unsigned short, unsigned), cuMemsetD32(unsigned, unsigned, unsigned);
int cuMemsetD2D8(unsigned, unsigned, unsigned char, unsigned, unsigned), cuMemsetD2D16(unsigned, unsigned, unsigned short, unsigned, unsigned);
int cuMemsetD2D32(unsigned, unsigned, unsigned, unsigned, unsigned);
int cuArrayCreate(void **, const Description *), cuArray3DCreate(void **, const Description3D *), cuArrayDestroy(void *);
int cuArrayGetDescriptor(Description *, void *), cuArray3DGetDescriptor(Description3D *, void *);
int cuTexRefCreate(void **), cuTexRefDestroy(void *), cuTexRefSetAddress(unsigned *, void *, unsigned, unsigned);
int cuTexRefSetAddress2D(void *, const Description *, unsigned, unsigned), cuTexRefGetAddress(unsigned *, void *);
int cuTexRefSetFormat(void *, int, int), cuTexRefSetAddressMode(void *, int, int), cuTexRefGetAddressMode(int *, void *, int);
int cuTexRefSetFilterMode(void *, int), cuTexRefGetFilterMode(int *, void *), cuTexRefSetMaxAnisotropy(void *, unsigned);
int cuTexRefSetFlags(void *, unsigned), cuTexRefSetMipmapFilterMode(void *, int), cuTexRefSetMipmapLevelBias(void *, float);
int cuTexRefSetMipmapLevelClamp(void *, float, float), cuStreamCreate(void **, unsigned), cuStreamDestroy_v2(void *);
int cuStreamCreateWithPriority(void **, unsigned, int), cuStreamGetPriority(void *, int *), cuStreamGetFlags(void *, unsigned *);
int cuStreamQuery(void *), cuStreamSynchronize(void *), cuStreamAddCallback(void *, void (*)(void *, int, void *), void *, unsigned);
int cuEventCreate(void **, unsigned), cuEventRecord(void *, void *), cuEventQuery(void *), cuEventSynchronize(void *);
int cuEventDestroy(void *), cuEventDestroy_v2(void *), cuProfilerStart(void), cuProfilerStop(void);
int cuProfilerInitialize(const char *, const char *, int);

static void *context;

static void contexts(void)
{
    void *other, *popped;
    int version, device = -1, least, greatest, n;
    unsigned total;
    size_t limit;
    char id[13];
    const char *text;
    OK(cuDriverGetVersion(&version)); EXPECT(version >= 4000, 1);
    OK(cuDeviceTotalMem(&total, 0)); EXPECT(total > 100 << 20, 1);
    char uuid[2][16] = {{0}};
    OK(cuDeviceGetUuid(uuid[0], 0)); OK(cuDeviceGetUuid(uuid[1], 0));
    EXPECT(!memcmp(uuid[0], uuid[1], 16) && uuid[0][0] | uuid[0][1] | uuid[0][2], 1); EXPECT(cuDeviceGetUuid(uuid[0], 1), 101);
    OK(cuDeviceGetPCIBusId(id, 13, 0)); OK(cuDeviceGetByPCIBusId(&device, id)); EXPECT(device, 0);
    EXPECT(cuDeviceGetByPCIBusId(&device, "ffff:ff:1f.7"), 101);
    OK(cuDeviceCanAccessPeer(&n, 0, 0)); EXPECT(n, 0);
    int (*total_of)(void *, int);
    void *found;
    int status = 7;
    unsigned long long wide = ~0ull;
    OK(cuGetProcAddress("cuDeviceTotalMem", &found, 12000, 0));
    memcpy(&total_of, &found, sizeof found); OK(total_of(&wide, 0)); EXPECT(wide >= total && wide < ~0ull >> 16, 1);
    wide = ~0ull;
    OK(cuGetProcAddress_v2("cuDeviceTotalMem", &found, 2000, 0, &status)); EXPECT(status, 0);
    memcpy(&total_of, &found, sizeof found); OK(total_of(&wide, 0)); EXPECT(wide >> 32 == 0xffffffff, 1);
    EXPECT(cuGetProcAddress_v2("cuNothing", &found, 12000, 0, &status), 500); EXPECT(status == 1 && !found, 1);
    EXPECT(cuGetProcAddress("cudaMalloc", &found, 12000, 0), 500); EXPECT(cuGetProcAddress(0, &found, 12000, 0), 1);
    OK(cuGetProcAddress("cuCtxCreate", &found, 12000, 0)); EXPECT(found != (void *)cuCtxCreate, 1); OK(cuGetProcAddress("cuCtxCreate", &found, 11000, 0));
    OK(cuGetErrorString(2, &text)); EXPECT(strlen(text) > 3, 1); EXPECT(cuGetErrorString(12345, &text), 1);
    OK(cuCtxCreate(&other, 0, 0)); OK(cuCtxPopCurrent(&popped)); EXPECT(popped == other, 1);
    OK(cuCtxPushCurrent(other)); OK(cuCtxDestroy(other)); OK(cuCtxSynchronize());
    OK(cuCtxSetLimit(0, 4096)); OK(cuCtxGetLimit(&limit, 0)); EXPECT(limit, 4096); EXPECT(cuCtxSetLimit(99, 1), 215);
    OK(cuCtxSetCacheConfig(1)); OK(cuCtxGetCacheConfig(&n)); OK(cuCtxSetSharedMemConfig(1)); OK(cuCtxGetSharedMemConfig(&n));
    OK(cuCtxGetStreamPriorityRange(&least, &greatest)); EXPECT(least, 0); EXPECT(greatest, 0);
    OK(cuProfilerInitialize("a", "b", 0)); OK(cuProfilerStart()); OK(cuProfilerStop());
}

static void memory(void)
{
    unsigned char in[256], out[256];
    unsigned d, e, base, size, pitch, before, after, total, flags, mapped;
    void *host, *stream;
    for (int k = 0; k < 256; k++) in[k] = (unsigned char)(k * 7);
    OK(cuMemGetInfo(&before, &total)); EXPECT(total >= before, 1);
    OK(cuMemAlloc(&d, 1 << 20)); OK(cuMemAlloc(&e, 256));
    OK(cuMemGetInfo(&after, &total)); EXPECT(before - after >= 1 << 20, 1);
    OK(cuMemGetAddressRange(&base, &size, d + 100)); EXPECT(base, d); EXPECT(size, 1 << 20);
    OK(cuMemGetAddressRange(0, &size, e)); EXPECT(size, 256);
    EXPECT(cuMemAlloc(&base, 0), 1); EXPECT(cuMemAlloc(&base, 0xFFFFFFFF), 2);
    OK(cuStreamCreate(&stream, 0));
    OK(cuMemcpyHtoDAsync(d, in, 256, stream)); OK(cuMemcpyDtoD(e, d + 1, 255)); OK(cuMemcpyDtoH(out, e, 255));
    OK(memcmp(out, in + 1, 255));
    OK(cuMemcpyDtoDAsync(e, d, 256, stream)); OK(cuMemcpyDtoHAsync(out, e, 256, stream)); OK(cuStreamSynchronize(stream));
    OK(memcmp(out, in, 256)); EXPECT(cuMemcpyDtoH(out, 8, 4), 1);
    OK(cuMemsetD8(e, 0x5a, 3)); OK(cuMemsetD16(e + 4, 0x1234, 2)); OK(cuMemsetD32(e + 8, 0x89abcdef, 2));
    OK(cuMemcpyDtoH(out, e, 256));
    OK(memcmp(out, (unsigned char[]){0x5a, 0x5a, 0x5a, in[3], 0x34, 0x12, 0x34, 0x12, 0xef, 0xcd, 0xab, 0x89}, 12));
    EXPECT(out[16], in[16]);
    OK(cuMemAllocPitch(&d, &pitch, 20, 3, 4)); EXPECT(pitch >= 20 && pitch % 32 == 0, 1);
    OK(cuMemsetD2D8(d, pitch, 1, pitch, 3)); OK(cuMemsetD2D16(d + 4, pitch, 0x0203, 2, 2)); OK(cuMemsetD2D32(d + 8, pitch, 4, 1, 3));
    OK(cuMemcpyDtoH(out, d + pitch, 12)); OK(memcmp(out, (unsigned char[]){1, 1, 1, 1, 3, 2, 3, 2, 4, 0, 0, 0}, 12));
    OK(cuMemcpyDtoH(out, d + 2 * pitch, 12)); EXPECT(out[4], 1); EXPECT(out[8], 4);
    OK(cuMemAllocHost(&host, 64)); memset(host, 9, 64); OK(cuMemcpyHtoD(e, host, 64)); OK(cuMemFreeHost(host));
    OK(cuMemHostAlloc(&host, 4096, 2)); OK(cuMemHostGetFlags(&flags, host)); EXPECT(flags, 2);
    OK(cuMemHostGetDevicePointer(&mapped, host, 0)); OK(cuMemsetD32(mapped, 77, 1)); EXPECT(*(int *)host, 77);
    OK(cuMemFreeHost(host));
    static unsigned char own[16384] __attribute__((aligned(4096)));
    OK(cuMemHostRegister_v2(own, sizeof own, 2)); OK(cuMemHostGetDevicePointer(&mapped, own, 0));
    OK(cuMemsetD8(mapped + 5, 6, 1)); EXPECT(own[5], 6); OK(cuMemHostUnregister(own)); EXPECT(own[5], 6);
    OK(cuStreamDestroy_v2(stream));
}

static void arrays(void)
{
    Description described, d = {16, 4, U8, 1};
    Description3D cube, c = {4, 3, 2, F32, 1, 0};
    void *a, *b, *box, *stream;
    unsigned char in[64], out[64];
    float f[24], g[24];
    unsigned device;
    for (int k = 0; k < 64; k++) in[k] = (unsigned char)(k + 1);
    for (int k = 0; k < 24; k++) f[k] = (float)k / 4;
    OK(cuStreamCreate(&stream, 0)); OK(cuMemAlloc(&device, 256));
    OK(cuArrayCreate(&a, &d)); OK(cuArrayCreate(&b, &d)); OK(cuArrayGetDescriptor(&described, a));
    OK(memcmp(&described, &d, sizeof d)); EXPECT(cuArrayCreate(&box, &(Description){0, 0, U8, 1}), 1);
    EXPECT(cuArrayCreate(&box, &(Description){4, 4, U8, 3}), 1);
    OK(cuMemcpyHtoA(a, 0, in, 64)); OK(cuMemcpyAtoA(b, 16, a, 0, 32)); OK(cuMemcpyAtoH(out, b, 16, 32)); OK(memcmp(in, out, 32));
    OK(cuMemcpyAtoD(device, a, 8, 40)); OK(cuMemcpyDtoA(b, 0, device, 40)); OK(cuMemcpyAtoHAsync(out, b, 0, 40, stream));
    OK(memcmp(in + 8, out, 40)); OK(cuMemcpyHtoAAsync(b, 60, "zzzz", 4, stream)); EXPECT(cuMemcpyHtoA(b, 61, in, 4), 1);
    Copy2D copy = {.from = {3, 1, ARRAY, 0, 0, a, 0}, .to = {1, 0, HOST, out, 0, 0, 8}, .width = 5, .height = 2};
    memset(out, 0, 64); OK(cuMemcpy2D(&copy)); OK(memcmp(out + 1, in + 19, 5)); OK(memcmp(out + 9, in + 35, 5)); EXPECT(out[6], 0);
    copy.to = (Plane){0, 2, DEVICE, 0, device, 0, 16}; OK(cuMemcpy2DUnaligned(&copy)); OK(cuMemcpyDtoH(out, device + 32, 5));
    OK(memcmp(out, in + 19, 5)); copy.height = 4; EXPECT(cuMemcpy2DAsync(&copy, stream), 1); copy.height = 1;
    OK(cuMemcpy2DAsync(&copy, stream));
    OK(cuArray3DCreate(&box, &c)); OK(cuArray3DGetDescriptor(&cube, box)); OK(memcmp(&cube, &c, sizeof c));
    CopyBox all = {.from = {.what = HOST, .host = f, .pitch = 16, .rows = 3}, .to = {.what = ARRAY, .array = box},
                   .width = 16, .height = 3, .depth = 2};
    OK(cuMemcpy3D(&all));
    CopyBox part = {.from = {.x = 4, .y = 1, .z = 1, .what = ARRAY, .array = box}, .to = {.what = HOST, .host = g, .pitch = 8, .rows = 2},
                    .width = 8, .height = 2, .depth = 1};
    OK(cuMemcpy3DAsync(&part, stream)); EXPECT(g[0] == f[17], 1); EXPECT(g[3] == f[22], 1);
    part.depth = 2; EXPECT(cuMemcpy3D(&part), 1);
    OK(cuArrayDestroy(a)); OK(cuArrayDestroy(b)); OK(cuArrayDestroy(box)); EXPECT(cuArrayDestroy(box), 400);
}

static void textures(void)
{
    void *module, *function, *texture, *own;
    float x[16], y[4];
    unsigned d, out, offset, address;
    int mode, blocks;
    for (int k = 0; k < 16; k++) x[k] = (float)k + 0.5f;
    OK(cuMemAlloc(&d, 256)); OK(cuMemcpyHtoD(d, x, 64)); OK(cuMemAlloc(&out, 64));
    OK(cuModuleLoadData(&module, cubin)); OK(cuModuleGetFunction(&function, module, "fetch"));
    OK(cuModuleGetTexRef(&texture, module, "line")); EXPECT(cuModuleGetTexRef(&own, module, "circle"), 500);
    OK(cuTexRefSetFormat(texture, F32, 1)); OK(cuTexRefSetAddress(&offset, texture, d, 64)); EXPECT(offset, 0);
    OK(cuTexRefGetAddress(&address, texture)); EXPECT(address, d);
    OK(cuParamSetTexRef(function, -1, texture)); uint64_t wide = out;
    OK(cuParamSetv(function, 0, &wide, 8)); OK(cuParamSetSize(function, 8)); OK(cuFuncSetBlockShape(function, 4, 1, 1));
    OK(cuFuncSetSharedSize(function, 64)); OK(cuFuncSetCacheConfig(function, 1)); OK(cuFuncSetSharedMemConfig(function, 1));
    OK(cuLaunchGrid(function, 1, 1)); OK(cuMemcpyDtoH(y, out, 16)); EXPECT(y[3] == 3.5f, 1);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, 64, 0)); EXPECT(blocks, 8);
    OK(cuTexRefSetAddressMode(texture, 0, 1)); OK(cuTexRefGetAddressMode(&mode, texture, 0)); EXPECT(mode, 1);
    EXPECT(cuTexRefSetAddressMode(texture, 5, 1), 1); OK(cuTexRefSetFilterMode(texture, 1));
    OK(cuTexRefGetFilterMode(&mode, texture)); EXPECT(mode, 1); OK(cuTexRefSetFlags(texture, 0));
    OK(cuTexRefSetAddress2D(texture, &(Description){4, 4, F32, 1}, d, 64));
    OK(cuTexRefSetMaxAnisotropy(texture, 1)); OK(cuTexRefSetMipmapFilterMode(texture, 0));
    OK(cuTexRefSetMipmapLevelBias(texture, 0)); OK(cuTexRefSetMipmapLevelClamp(texture, 0, 0));
    OK(cuTexRefCreate(&own)); OK(cuTexRefDestroy(own)); EXPECT(cuTexRefDestroy(own), 400);
}

static int called;
static void callback(void *stream, int status, void *data) { (void)stream; EXPECT(status, 0); ++*(int *)data; }

static void events(void)
{
    void *stream, *event, *other;
    int priority;
    unsigned flags;
    OK(cuStreamCreateWithPriority(&stream, 1, 0)); OK(cuStreamGetPriority(stream, &priority)); EXPECT(priority, 0);
    OK(cuStreamGetFlags(stream, &flags)); EXPECT(flags, 1); OK(cuStreamQuery(stream));
    OK(cuEventCreate(&event, 0)); OK(cuEventCreate(&other, 2)); OK(cuEventRecord(event, stream)); OK(cuEventQuery(event));
    OK(cuEventSynchronize(event)); OK(cuEventDestroy(event)); EXPECT(cuEventDestroy_v2(event), 400); OK(cuEventDestroy_v2(other));
    OK(cuStreamAddCallback(stream, callback, &called, 0)); OK(cuStreamSynchronize(stream)); EXPECT(called, 1);
    OK(cuStreamDestroy_v2(stream)); EXPECT(cuStreamQuery(stream), 400);
}

int main(void)
{
    OK(cuInit(0)); OK(cuCtxCreate(&context, 0, 0));
    contexts(); puts("contexts ok");
    memory(); puts("memory ok");
    arrays(); puts("arrays ok");
    textures(); puts("textures ok");
    events(); puts("events ok");
    OK(cuCtxDestroy(context)); EXPECT(cuCtxSynchronize(), 201);
}

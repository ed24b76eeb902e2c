/* Checks of the runtime interface; the first argument says which. */
#include "cuda_api.h"

static void launches(void)
{
    enum { N = 1000 };
    float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = (float)i;
    void *dx, *dy;
    OK(cudaMalloc(&dx, sizeof x)); OK(cudaMalloc(&dy, sizeof y));
    EXPECT((uintptr_t)dx % 256, 0);
    OK(cudaMemcpy(dx, x, sizeof x, TO_DEVICE));
    OK(run_affine(dy, dx, N));
    OK(cudaThreadSynchronize());
    OK(cudaMemcpy(y, dy, sizeof y, TO_HOST));
    check_affine(y, x, N, 2.0f, first_table);
    OK(cudaFree(dx)); OK(cudaFree(dy)); OK(cudaFree(0));
}

/* As compilers since CUDA 9.2 launch: the stub fetches the configuration, and passes pointers to arguments. */
static void later_launches(void)
{
    enum { N = 300 };
    float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = (float)i;
    void *dx, *dy, *stream;
    int n = N;
    OK(cudaMalloc(&dx, sizeof x)); OK(cudaMalloc(&dy, sizeof y));
    OK(cudaMemcpy(dx, x, sizeof x, TO_DEVICE));
    dim3 grid, block;
    size_t shared;
    OK(__cudaPushCallConfiguration((dim3){2, 1, 1}, (dim3){256, 1, 1}, 64, 0));
    OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    EXPECT(grid.x * 1000 + block.x, 2256);
    EXPECT(shared, 64);
    void *arguments[] = {&dy, &dx, &n};
    OK(cudaLaunchKernel(&affine, grid, block, arguments, shared, stream));
    OK(cudaMemcpy(y, dy, sizeof y, TO_HOST));
    check_affine(y, x, N, 2.0f, first_table);
    EXPECT(cudaLaunchKernel(&grid, grid, block, arguments, 0, 0), 8);
    EXPECT(cudaLaunchKernel(&affine, grid, block, 0, 0, 0), 11);
    EXPECT(__cudaPopCallConfiguration(&grid, &block, &shared, &stream), 1);
    EXPECT(cudaGetLastError(), 1);
    OK(cudaFree(dx)); OK(cudaFree(dy));
}

static void symbols(void)
{
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8], table[4] = {10, 20, 30, 40}, back[4];
    void *d, *address;
    size_t size;
    OK(cudaMalloc(&d, sizeof x));
    OK(cudaMemcpyToSymbol(table_shadow, table, sizeof table, 0, TO_DEVICE));
    OK(cudaMemcpyToSymbol("scale", (float[]){3}, 4, 0, TO_DEVICE));
    OK(cudaMemcpyToSymbol(table_shadow, (float[]){50}, 4, 8, TO_DEVICE));
    table[2] = 50;
    OK(cudaMemcpyFromSymbol(back, table_shadow, sizeof back, 0, TO_HOST));
    OK(memcmp(back, table, sizeof table));
    OK(cudaMemcpy(d, x, sizeof x, TO_DEVICE));
    OK(run_affine(d, d, 8));
    OK(cudaMemcpy(y, d, sizeof y, TO_HOST));
    check_affine(y, x, 8, 3.0f, table);
    EXPECT(cudaMemcpyToSymbol(table_shadow, table, 16, 4, TO_DEVICE), 11);
    EXPECT(cudaMemcpyToSymbol("nothing", table, 16, 0, TO_DEVICE), 13);
    EXPECT(cudaMemcpyToSymbol(table_shadow, table, 16, 0, TO_HOST), 21);
    unsigned by = 2;
    int value;
    OK(launch(&count, (dim3){1, 1, 1}, (dim3){1, 1, 1}, &by, 4));
    OK(cudaMemcpyFromSymbol(&value, counter_shadow, 4, 0, TO_HOST));
#ifdef OLD_GENERATION
    EXPECT(value, 2);
#else
    EXPECT(value, 42);
#endif
    OK(cudaGetSymbolAddress(&address, counter_shadow));
    OK(cudaGetSymbolSize(&size, counter_shadow));
    EXPECT(size, 4);
    OK(cudaMemset(address, 0, 4));
    OK(launch(&count, (dim3){1, 1, 1}, (dim3){1, 1, 1}, &by, 4));
    OK(cudaMemcpy(&value, address, 4, TO_HOST));
    EXPECT(value, 2);
    OK(cudaGetSymbolAddress(&address, scale_shadow));
    OK(cudaMemcpy(address, (float[]){7}, 4, TO_DEVICE));
    OK(cudaMemcpyFromSymbol(back, scale_shadow, 4, 0, TO_HOST));
    EXPECT(back[0], 7);
}

static void copies(void)
{
    unsigned char a[4096], b[4096], *d, *e;
    size_t pitch;
    for (int i = 0; i < 4096; i++) a[i] = (unsigned char)(i * 7 + i / 256);
    OK(cudaMalloc((void **)&d, 4096)); OK(cudaMalloc((void **)&e, 4096));
    OK(cudaMemcpy(b, a, 4096, HOST_TO_HOST)); OK(memcmp(a, b, 4096));
    OK(cudaMemcpy(d, a, 4096, TO_DEVICE)); OK(cudaMemcpy(e, d, 4096, ON_DEVICE));
    memset(b, 0, 4096);
    OK(cudaMemcpyAsync(b, e, 4096, TO_HOST, 0)); OK(memcmp(a, b, 4096));
    OK(cudaMemcpy(d + 16, d, 1000, ON_DEVICE)); /* ranges that overlap */
    OK(cudaMemcpy(b, d, 4096, TO_HOST)); OK(memcmp(b + 16, a, 1000));
    unsigned char *p;
    OK(cudaMallocPitch((void **)&p, &pitch, 50, 20));
    EXPECT(pitch >= 50 && pitch % 32 == 0, 1);
    OK(cudaMemset2D(p, pitch, 0xee, pitch, 20));
    OK(cudaMemcpy2D(p, pitch, a, 64, 50, 20, TO_DEVICE));
    memset(b, 0, 4096);
    OK(cudaMemcpy2D(b, 100, p, pitch, 50, 20, TO_HOST));
    for (int y = 0; y < 20; y++) OK(memcmp(b + 100 * y, a + 64 * y, 50));
    OK(cudaMemcpy(b, p + pitch - 1, 1, TO_HOST));
    EXPECT(b[0], pitch > 50 ? 0xee : a[49]);
    EXPECT(cudaMemcpy2D(p, 40, a, 64, 50, 20, TO_DEVICE), 12);
    OK(cudaMemset(d, 0x5a, 100)); OK(cudaMemcpy(b, d, 101, TO_HOST));
    EXPECT(b[99], 0x5a);
    /* arrays */
    Channel two = cudaCreateChannelDesc(8, 8, 0, 0, 1), back;
    void *array, *other;
    OK(cudaMallocArray(&array, &two, 16, 8, 0)); OK(cudaMallocArray(&other, &two, 16, 8, 0));
    OK(cudaGetChannelDesc(&back, array)); OK(memcmp(&back, &two, sizeof two));
    OK(cudaMemcpyToArray(array, 0, 0, a, 256, TO_DEVICE));
    OK(cudaMemcpy2DToArray(array, 4, 2, a + 1000, 40, 20, 3, TO_DEVICE));
    OK(cudaMemcpyArrayToArray(other, 0, 0, array, 0, 0, 256, ON_DEVICE));
    OK(cudaMemcpyFromArray(b, other, 0, 1, 64, TO_HOST));
    OK(memcmp(b, a + 32, 32)); OK(memcmp(b + 36, a + 1000, 20));
    memset(b, 0, 4096);
    OK(cudaMemcpy2DFromArray(b, 100, other, 4, 2, 20, 3, TO_HOST));
    for (int y = 0; y < 3; y++) OK(memcmp(b + 100 * y, a + 1000 + 40 * y, 20));
    EXPECT(cudaMemcpy2DToArray(array, 4, 6, a, 40, 20, 3, TO_DEVICE), 11);
    /* boxes: an extent comes by value, on the stack */
    Pitched box;
    OK(cudaMalloc3D(&box, (Extent){30, 5, 4}));
    OK(cudaMemset3D(box, 0x11, (Extent){30, 5, 4}));
    Copy3D c = {.from = {a, 32, 32, 6}, .to = box, .extent = {20, 3, 2}, .kind = TO_DEVICE, .to_pos = {4, 1, 1}};
    OK(cudaMemcpy3D(&c));
    Copy3D r = {.from = box, .to = {b, 30, 30, 5}, .extent = {30, 5, 4}, .kind = TO_HOST};
    OK(cudaMemcpy3D(&r));
    EXPECT(b[0], 0x11); EXPECT(b[150 + 30 + 4], a[0]); EXPECT(b[2 * 150 + 2 * 30 + 5], a[6 * 32 + 32 + 1]);
    Channel one = cudaCreateChannelDesc(32, 0, 0, 0, 2);
    void *volume;
    OK(cudaMalloc3DArray(&volume, &one, (Extent){4, 3, 2}, 0));
    Copy3D v = {.from = {a, 16, 4, 3}, .to_array = volume, .extent = {4, 3, 2}, .kind = TO_DEVICE};
    OK(cudaMemcpy3D(&v));
    Copy3D w = {.from_array = volume, .from_pos = {1, 1, 1}, .to = {b, 12, 3, 2}, .extent = {3, 2, 1}, .kind = TO_HOST};
    OK(cudaMemcpy3D(&w));
    OK(memcmp(b, a + 48 + 16 + 4, 12)); OK(memcmp(b + 12, a + 48 + 32 + 4, 12));
    OK(cudaFreeArray(array)); OK(cudaFreeArray(other)); OK(cudaFreeArray(volume));
    EXPECT(cudaFreeArray(array), 33);
}

static void errors(void)
{
    void *d;
    char a[64] = {0};
    float x[4];
    OK(cudaMalloc(&d, 64));
    EXPECT(cudaMalloc(&d, SIZE_MAX / 2 + 1), 2);
    EXPECT(cudaGetLastError(), 2); OK(cudaGetLastError());
    OK(cudaMalloc(&d, 64));
    EXPECT(cudaMemcpy(d, a, 65, TO_DEVICE), 11);
    EXPECT(cudaMemcpy(d, a, SIZE_MAX / 2 + 1, TO_DEVICE), 11);
    EXPECT(cudaMemcpy(d, a, (size_t)-1, TO_DEVICE), 11);
    EXPECT(cudaMemcpy((char *)d + 60, a, (size_t)-30, TO_DEVICE), 11);
    EXPECT(cudaMemcpy((void *)8, a, 4, TO_DEVICE), 11);
    EXPECT(cudaMemcpy(d, 0, 4, TO_DEVICE), 11);
    EXPECT(cudaMemcpy(d, a, 4, 4), 21);
    EXPECT(cudaMemcpy(d, a, 4, 9), 21);
    EXPECT(cudaPeekAtLastError(), 21); EXPECT(cudaGetLastError(), 21);
    EXPECT(cudaFree((char *)d + 4), 17);
    EXPECT(cudaSetDevice(1), 10);
    EXPECT(cudaLaunch(&affine), 1);
    unsigned n = 0;
    EXPECT(launch(&count, (dim3){1, 1, 1}, (dim3){1024, 1, 1}, &n, 4), 9);
    EXPECT(launch(&count, (dim3){1, 1, 2}, (dim3){1, 1, 1}, &n, 4), 9);
    EXPECT(launch(&count, (dim3){0, 1, 1}, (dim3){1, 1, 1}, &n, 4), 9);
    EXPECT(launch(&count, (dim3){65536, 1, 1}, (dim3){1, 1, 1}, &n, 4), 9);
    OK(cudaConfigureCall((dim3){1, 1, 1}, (dim3){1, 1, 1}, 1 << 20, 0)); OK(cudaSetupArgument(&n, 4, 0));
    EXPECT(cudaLaunch(&count), 9);
    EXPECT(cudaSetupArgument(&n, 4, 0), 1);
    EXPECT(launch(&nothing, (dim3){1, 1, 1}, (dim3){1, 1, 1}, &n, 4), 8);
    EXPECT(launch(a, (dim3){1, 1, 1}, (dim3){1, 1, 1}, &n, 4), 8);
    EXPECT(cudaEventElapsedTime(x, (void *)12345, 0), 33);
    EXPECT(cudaStreamSynchronize((void *)77), 33);
    EXPECT(cudaGraphicsGLRegisterBuffer(a, 1, 0), 30);
    OK(strcmp(cudaGetErrorString(2), "out of memory")); OK(strcmp(cudaGetErrorString(0), "no error"));
    cudaGetLastError();
    /* a fault: the launch is accepted, everything after it fails until the device is reset */
    unsigned far = 0xd0000000;
    OK(launch(&stray, (dim3){1, 1, 1}, (dim3){32, 1, 1}, &far, 4));
    EXPECT(cudaThreadSynchronize(), 4); EXPECT(cudaGetLastError(), 4);
    EXPECT(cudaMalloc(&d, 64), 4);
    EXPECT(launch(&count, (dim3){1, 1, 1}, (dim3){1, 1, 1}, &n, 4), 4);
    OK(cudaThreadExit());
    cudaGetLastError();
    OK(cudaMalloc(&d, 64));
    OK(launch(&count, (dim3){1, 1, 1}, (dim3){1, 1, 1}, &n, 4));
}

static void textures(void)
{
    float data[64], out[64];
    void *d, *o, *u;
    size_t offset = 99;
    for (int i = 0; i < 64; i++) data[i] = (float)i + 0.25f;
    OK(cudaMalloc(&d, sizeof data)); OK(cudaMalloc(&o, 4096)); OK(cudaMalloc(&u, 4096));
    OK(cudaMemcpy(d, data, sizeof data, TO_DEVICE));
    Channel f = cudaCreateChannelDesc(32, 0, 0, 0, 2);
    uint64_t argument = (uintptr_t)o, both[2] = {(uintptr_t)o, (uintptr_t)u};
    OK(cudaBindTexture(&offset, &line, d, &f, sizeof data));
    EXPECT(offset, 0);
    OK(launch(&fetch, (dim3){1, 1, 1}, (dim3){64, 1, 1}, &argument, 8));
    OK(cudaMemcpy(out, o, sizeof out, TO_HOST)); OK(memcmp(out, data, sizeof data));
    OK(cudaBindTexture(&offset, &line, (char *)d + 16, &f, 128));
    EXPECT(offset, 16);
    EXPECT(cudaBindTexture(0, &line, (char *)d + 16, &f, 128), 11);
    Channel bad = cudaCreateChannelDesc(24, 0, 0, 0, 2);
    EXPECT(cudaBindTexture(&offset, &line, d, &bad, 128), 20);
    /* a plane of bytes, read as numbers from 0 to 1, filtered, clamped */
    unsigned char texels[4][4] = {{0, 255, 0, 255}, {255, 0, 255, 0}, {0, 0, 0, 0}, {255, 255, 255, 255}};
    Channel byte = cudaCreateChannelDesc(8, 0, 0, 0, 1);
    void *array;
    OK(cudaMallocArray(&array, &byte, 4, 4, 0));
    OK(cudaMemcpyToArray(array, 0, 0, texels, 16, TO_DEVICE));
    plane.normalized = 0, plane.filter = 1, plane.mode[0] = plane.mode[1] = 1;
    OK(cudaBindTextureToArray(&plane, array, &byte));
    float at[] = {0.5f, 0.5f, 1.0f, 0.5f, 1.5f, 0.5f, 1.0f, 1.0f, -5.0f, 3.5f, 9.0f, 9.0f}, got[6][4];
    float want[] = {0, 0.5f, 1, 0.5f, 1, 1};
    OK(cudaMemcpy(u, at, sizeof at, TO_DEVICE));
    OK(launch(&sample, (dim3){1, 1, 1}, (dim3){6, 1, 1}, both, 16));
    OK(cudaMemcpy(got, o, sizeof got, TO_HOST));
    for (int i = 0; i < 6; i++) EXPECT(fabsf(got[i][0] - want[i]) < 1e-6f, 1);
    /* normalised coordinates that wrap, points */
    plane.normalized = 1, plane.filter = 0, plane.mode[0] = plane.mode[1] = 0;
    OK(cudaBindTextureToArray(&plane, array, &byte));
    float turns[] = {0.3f, 0.1f, 1.3f, 0.1f, -0.7f, 1.1f};
    OK(cudaMemcpy(u, turns, sizeof turns, TO_DEVICE));
    OK(launch(&sample, (dim3){1, 1, 1}, (dim3){3, 1, 1}, both, 16));
    OK(cudaMemcpy(got, o, sizeof got, TO_HOST));
    for (int i = 0; i < 3; i++) EXPECT(got[i][0] * 255, 255);
    /* linear memory as a plane */
    plane.normalized = 0;
    void *rows;
    size_t pitch;
    OK(cudaMallocPitch(&rows, &pitch, 4, 4));
    OK(cudaMemcpy2D(rows, pitch, texels, 4, 4, 4, TO_DEVICE));
    OK(cudaBindTexture2D(&offset, &plane, rows, &byte, 4, 4, pitch));
    float points[] = {1.5f, 0.5f, 0.5f, 1.5f, 2.5f, 2.5f, 3.5f, 3.5f};
    OK(cudaMemcpy(u, points, sizeof points, TO_DEVICE));
    OK(launch(&sample, (dim3){1, 1, 1}, (dim3){4, 1, 1}, both, 16));
    OK(cudaMemcpy(got, o, sizeof got, TO_HOST));
    EXPECT(got[0][0], 1); EXPECT(got[1][0], 1); EXPECT(got[2][0], 0); EXPECT(got[3][0], 1);
    /* a reference may be changed while it is bound: launches see it as it is then */
    plane.filter = 1;
    float between[] = {1.0f, 0.5f};
    OK(cudaMemcpy(u, between, sizeof between, TO_DEVICE));
    OK(launch(&sample, (dim3){1, 1, 1}, (dim3){1, 1, 1}, both, 16));
    OK(cudaMemcpy(got, o, 16, TO_HOST));
    EXPECT(got[0][0] * 1000, 500);
    plane.filter = 0;
    OK(launch(&sample, (dim3){1, 1, 1}, (dim3){1, 1, 1}, both, 16));
    OK(cudaMemcpy(got, o, 16, TO_HOST));
    EXPECT(got[0][0] * 1000, 1000);
    Reference unknown = {0};
    EXPECT(cudaBindTextureToArray(&unknown, array, &byte), 18);
    Channel word = cudaCreateChannelDesc(32, 0, 0, 0, 1);
    EXPECT(cudaBindTexture2D(&offset, &plane, rows, &word, 1, 4, pitch), 27);
    OK(cudaUnbindTexture(&plane));
}

static void host_memory(void)
{
    float *h, *m, *x;
    void *d, *y;
    unsigned flags;
    OK(cudaMallocHost((void **)&h, 4096)); OK(cudaHostAlloc((void **)&m, 4096, 2)); OK(cudaMalloc(&y, 4096));
    OK(cudaHostGetDevicePointer(&d, m, 0));
    OK(cudaHostGetFlags(&flags, m));
    EXPECT(flags & 2, 2);
    for (int i = 0; i < 64; i++) m[i] = (float)i;
    OK(run_affine(d, d, 64)); /* the kernel writes what the host sees, without a copy */
    for (int i = 0; i < 64; i++) EXPECT(m[i], i * 2 + first_table[i & 3]);
    OK(cudaMemcpy(h, d, 256, TO_HOST)); OK(memcmp(h, m, 256));
    EXPECT(cudaHostGetDevicePointer(&d, &flags, 0), 11);
    /* memory of the program that becomes the device's as well: whole pages, contents stay */
    char *own = malloc(3 * 4096 + 100);
    memset(own, 0x33, 3 * 4096 + 100);
    x = (float *)(((uintptr_t)own + 4096 + 63) & ~(uintptr_t)63);
    for (int i = 0; i < 64; i++) x[i] = (float)i;
    OK(cudaHostRegister(x, 256, 2));
    EXPECT(cudaHostRegister(x, 256, 2), 61);
    OK(cudaHostGetDevicePointer(&d, x, 0));
    OK(run_affine(d, d, 64));
    for (int i = 0; i < 64; i++) EXPECT(x[i], i * 2 + first_table[i & 3]);
    OK(cudaMemcpy(y, x, 256, TO_DEVICE));
    OK(cudaHostUnregister(x));
    EXPECT(x[63], 63 * 2 + 4.5f); EXPECT(own[0], 0x33); EXPECT(own[3 * 4096 + 99], 0x33);
    EXPECT(cudaHostUnregister(x), 62);
    free(own);
    OK(cudaFreeHost(h)); OK(cudaFreeHost(m)); EXPECT(cudaFreeHost(&flags), 11);
}

static void events(void)
{
    void *stream = 0, *a = 0, *b = 0, *d;
    float ms = -1;
    OK(cudaMalloc(&d, 1 << 20));
    OK(cudaStreamCreate(&stream)); OK(cudaEventCreate(&a)); OK(cudaEventCreate(&b));
    EXPECT(cudaEventElapsedTime(&ms, a, b), 33);
    OK(cudaEventRecord(a, stream));
    usleep(20000);
    OK(cudaEventRecord(b, stream)); OK(cudaEventSynchronize(b)); OK(cudaEventQuery(b)); OK(cudaStreamQuery(stream));
    OK(cudaEventElapsedTime(&ms, a, b));
    EXPECT(ms >= 20 && ms < 5000, 1);
    OK(cudaEventElapsedTime(&ms, a, a));
    EXPECT(ms > 0, 1);
    OK(cudaEventDestroy(a)); OK(cudaStreamDestroy(stream)); EXPECT(cudaStreamDestroy(stream), 33);
    EXPECT(cudaEventRecord(b, stream), 33);
}

static void device(void)
{
    struct { unsigned char before[8], p[1024], after[8]; } room;
    int count_, version, driver;
    size_t free_, total;
    struct { size_t shared, constant, local; int threads, registers, ptx, binary; } a;
    memset(&room, 0xa5, sizeof room);
    OK(cudaGetDeviceCount(&count_)); EXPECT(count_, 1);
    OK(cudaGetDeviceProperties(room.p, 0));
    EXPECT(cudaGetDeviceProperties(room.p, 1), 10);
    int size = 1024;
    while (size && room.p[size - 1] == 0xa5) size--;
    OK(cudaRuntimeGetVersion(&version)); OK(cudaDriverGetVersion(&driver));
    OK(cudaMemGetInfo(&free_, &total));
    EXPECT(free_ <= total && total > 100 << 20, 1);
    OK(cudaFuncGetAttributes(&a, &affine));
    EXPECT(a.threads, 512); EXPECT(a.binary, 10); EXPECT(a.registers > 3 && a.registers < 8, 1);
    printf("name %s major %d minor %d size %d version %d mapped %d\n", (char *)room.p, *(int *)(room.p + 328),
           *(int *)(room.p + 332), size, version, *(int *)(room.p + (version >= 4010 ? 368 : 360)));
}

static void *worker(void *p)
{
    float x[64], y[64];
    void *d;
    for (int i = 0; i < 64; i++) x[i] = (float)(i + 100 * (intptr_t)p);
    OK(cudaMalloc(&d, sizeof x));
    for (int k = 0; k < 20; k++) {
        OK(cudaMemcpy(d, x, sizeof x, TO_DEVICE)); OK(run_affine(d, d, 64)); OK(cudaMemcpy(y, d, sizeof y, TO_HOST));
        check_affine(y, x, 64, 2.0f, first_table);
        EXPECT(cudaFree((char *)d + 1), 17); EXPECT(cudaGetLastError(), 17); /* errors belong to a thread */
    }
    OK(cudaFree(d));
    return 0;
}
static void threads(void)
{
    pthread_t t[8];
    cudaGetLastError();
    for (intptr_t k = 0; k < 8; k++) pthread_create(t + k, 0, worker, (void *)k);
    for (int k = 0; k < 8; k++) pthread_join(t[k], 0);
    OK(cudaGetLastError());
}

static void forks(void)
{
    /* processes that begin with CUDA after a fork have devices of their own */
    pid_t children[3];
    int status;
    for (int k = 0; k < 3; k++)
        if (!(children[k] = fork())) { worker((void *)(intptr_t)k); exit(7); }
    for (int k = 0; k < 3; k++) { waitpid(children[k], &status, 0); EXPECT(WEXITSTATUS(status), 7); }
    void *d;
    OK(cudaMalloc(&d, 64));
    /* a copy of a process that has begun cannot use its device */
    if (!(children[0] = fork())) exit(cudaMalloc(&d, 64));
    waitpid(children[0], &status, 0); EXPECT(WEXITSTATUS(status), 3);
    OK(cudaMemset(d, 1, 64));
}

static void endless(void)
{
    void *d;
    uint64_t a;
    OK(cudaMalloc(&d, 64));
    OK(cudaMemset(d, 0, 64));
    a = (uintptr_t)d;
    puts("waiting"); fflush(stdout);
    launch(&wait_, (dim3){1, 1, 1}, (dim3){1, 1, 1}, &a, 8);
}

/* Many small launches, as benchmarks of launch overhead make them. */
static void many(void)
{
    enum { N = 64 };
    float x[N], y[N];
    for (int i = 0; i < N; i++) x[i] = (float)i;
    void *dx, *dy;
    OK(cudaMalloc(&dx, sizeof x)); OK(cudaMalloc(&dy, sizeof y));
    OK(cudaMemcpy(dx, x, sizeof x, TO_DEVICE));
    for (int k = 0; k < 10000; k++) OK(run_affine(k & 1 ? dx : dy, k & 1 ? dy : dx, 1 + k % N));
    OK(cudaMemcpy(dx, x, sizeof x, TO_DEVICE));
    OK(run_affine(dy, dx, N));
    OK(cudaMemcpy(y, dy, sizeof y, TO_HOST));
    check_affine(y, x, N, 2.0f, first_table);
}

static void crash(void)
{
    void *d;
    OK(cudaMalloc(&d, 64));
    *(volatile int *)16 = 1;
}

static void strays(void)
{
    char *d, b;
    OK(cudaMalloc((void **)&d, 300));
    unsigned before = (unsigned)(uintptr_t)d - 512;
    OK(launch(&stray, (dim3){1, 1, 1}, (dim3){1, 1, 1}, &before, 4));
    printf("stray %d\n", cudaThreadSynchronize());
    printf("copy %d\n", cudaMemcpy(&b, d, 1, TO_HOST));
}

static void unwritten(void)
{
    unsigned char *d, b[16];
    OK(cudaMalloc((void **)&d, 1 << 20)); OK(cudaMemset(d, 7, 1 << 20)); OK(cudaFree(d));
    OK(cudaMalloc((void **)&d, 1 << 20)); OK(cudaMemcpy(b, d + 1000, 16, TO_HOST));
    printf("byte %d\n", b[3]);
}

static const struct { const char *name; void (*run)(void); } all[] = {
    {"launches", launches}, {"later_launches", later_launches}, {"symbols", symbols}, {"copies", copies}, {"errors", errors}, {"textures", textures},
    {"host_memory", host_memory}, {"events", events}, {"device", device}, {"threads", threads}, {"forks", forks},
    {"endless", endless}, {"many", many}, {"crash", crash}, {"strays", strays}, {"unwritten", unwritten},
};

int main(int count_, char **words)
{
    for (int k = 1; k < count_; k++)
        for (size_t n = 0; n < sizeof all / sizeof *all; n++)
            if (!strcmp(words[k], all[n].name)) {
                all[n].run();
                printf("%s ok\n", words[k]);
                fflush(stdout);
            }
    return count_ > 2 && !strcmp(words[count_ - 1], "status") ? 42 : 0;
}

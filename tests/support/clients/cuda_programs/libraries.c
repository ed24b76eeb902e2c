/* The libraries that programs of the time were linked with: cuBLAS in both interfaces, cuFFT, cuRAND. */
#include "cuda_api.h"

typedef struct { float x, y; } Complex;
typedef struct { double x, y; } Complex64;
int cublasInit(void), cublasShutdown(void), cublasGetError(void), cublasAlloc(int, int, void *), cublasFree(void *);
int cublasSetVector(int, int, const void *, int, void *, int), cublasGetVector(int, int, const void *, int, void *, int);
int cublasSetMatrix(int, int, int, const void *, int, void *, int);
int cublasGetMatrix(int, int, int, const void *, int, void *, int);
void cublasSaxpy(int, float, const float *, int, float *, int);
float cublasSdot(int, const float *, int, const float *, int);
Complex cublasCdotc(int, const Complex *, int, const Complex *, int);
void cublasZscal(int, Complex64, Complex64 *, int);
int cublasIdamax(int, const double *, int);
void cublasSgemm(char, char, int, int, int, float, const float *, int, const float *, int, float, float *, int);
int cublasCreate_v2(void *), cublasDestroy_v2(void *), cublasSetPointerMode_v2(void *, int);
int cublasSetStream_v2(void *, void *), cublasGetVersion_v2(void *, int *);
int cublasSgemm_v2(void *, int, int, int, int, int, const float *, const float *, int, const float *, int, const float *, float *, int);
int cublasSnrm2_v2(void *, int, const float *, int, float *);
int cublasSgemmBatched(void *, int, int, int, int, int, const float *, void *, int, void *, int, const float *, void *, int, int);
int cufftPlan1d(unsigned *, int, int, int), cufftPlan2d(unsigned *, int, int, int), cufftDestroy(unsigned);
int cufftPlanMany(unsigned *, int, int *, int *, int, int, int *, int, int, int, int);
int cufftExecC2C(unsigned, void *, void *, int), cufftExecR2C(unsigned, void *, void *), cufftExecC2R(unsigned, void *, void *);
int cufftSetStream(unsigned, void *);
int curandCreateGenerator(void *, int), curandCreateGeneratorHost(void *, int), curandDestroyGenerator(void *);
int curandSetPseudoRandomGeneratorSeed(void *, unsigned long long);
int curandGenerateUniform(void *, float *, size_t), curandGenerateNormal(void *, float *, size_t, float, float);

static int near_to(double a, double b, double most) { return fabs(a - b) <= most; }
#define NEAR(a, b, most) EXPECT(near_to(a, b, most), 1)

static void *on_device(const void *data, size_t size)
{
    void *p;
    OK(cudaMalloc(&p, size));
    OK(cudaMemcpy(p, data, size, TO_DEVICE));
    return p;
}

static void first_blas(void)
{
    enum { N = 100 };
    float x[N], y[N], back[N];
    for (int k = 0; k < N; k++) x[k] = k, y[k] = 1;
    void *dx, *dy;
    cublasSaxpy(N, 2, 0, 1, 0, 1);
    EXPECT(cublasGetError(), 1); /* nothing was initialised */
    OK(cublasGetError());
    OK(cublasInit());
    OK(cublasAlloc(N, sizeof *x, &dx)); OK(cublasAlloc(N, sizeof *y, &dy));
    OK(cublasSetVector(N, sizeof *x, x, 1, dx, 1)); OK(cublasSetVector(N, sizeof *y, y, 1, dy, 1));
    cublasSaxpy(N, 2, dx, 1, dy, 1);
    OK(cublasGetError());
    EXPECT(cublasSdot(N, dx, 1, dy, 1), 2 * 328350 + 4950);
    OK(cublasGetVector(N / 2, sizeof *y, dy, 2, back, 1));
    for (int k = 0; k < N / 2; k++) EXPECT(back[k], 4 * k + 1);
    Complex z[3] = {{1, 2}, {3, 4}, {5, 6}};
    void *dz = on_device(z, sizeof z);
    Complex dot = cublasCdotc(3, dz, 1, dz, 1);
    EXPECT(dot.x, 91); EXPECT(dot.y, 0);
    Complex64 w[2] = {{1, 2}, {3, 4}};
    void *dw = on_device(w, sizeof w);
    cublasZscal(2, (Complex64){0, 1}, dw, 1);
    OK(cudaMemcpy(w, dw, sizeof w, TO_HOST));
    EXPECT(w[0].x, -2); EXPECT(w[0].y, 1); EXPECT(w[1].x, -4); EXPECT(w[1].y, 3);
    double v[4] = {1, -7, 7, 2};
    EXPECT(cublasIdamax(4, on_device(v, sizeof v), 1), 2);
    float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 1, 0, 1, 0}, c[4]; /* A 2 x 3 and B 3 x 2, in columns */
    void *da = on_device(a, sizeof a), *db = on_device(b, sizeof b), *dc;
    OK(cublasAlloc(4, sizeof *c, &dc));
    cublasSgemm('N', 'n', 2, 2, 3, 1, da, 2, db, 3, 0, dc, 2);
    OK(cublasGetMatrix(2, 2, sizeof *c, dc, 2, c, 2));
    EXPECT(c[0], 6); EXPECT(c[1], 8); EXPECT(c[2], 3); EXPECT(c[3], 4);
    cublasSgemm('x', 'n', 2, 2, 3, 1, da, 2, db, 3, 0, dc, 2);
    EXPECT(cublasGetError(), 7);
    cublasSgemm('n', 'n', 2, 2, 3, 1, da, 1, db, 3, 0, dc, 2);
    EXPECT(cublasGetError(), 7);
    OK(cublasFree(dc)); EXPECT(cublasFree(dc), 7);
    EXPECT(cublasSetVector(-1, 4, x, 1, dx, 1), 7);
    EXPECT(cublasSetVector(N + 1, 4, x, 1, dx, 1), 7);
    OK(cublasShutdown()); EXPECT(cublasShutdown(), 1);
    puts("first_blas ok");
}

static void blas(void)
{
    void *handle, *stream;
    float a[4] = {1, 2, 3, 4}, c[4], one = 1, zero = 0, norm;
    int version;
    void *da = on_device(a, sizeof a), *dc = on_device(a, sizeof a), *done = on_device(&one, 4), *dzero = on_device(&zero, 4);
    OK(cublasCreate_v2(&handle));
    OK(cublasGetVersion_v2(handle, &version)); EXPECT(version, 4200);
    OK(cublasSgemm_v2(handle, 1, 0, 2, 2, 2, &one, da, 2, da, 2, &zero, dc, 2));
    OK(cudaMemcpy(c, dc, sizeof c, TO_HOST));
    EXPECT(c[0], 5); EXPECT(c[1], 11); EXPECT(c[2], 11); EXPECT(c[3], 25);
    OK(cublasSnrm2_v2(handle, 4, da, 1, &norm)); NEAR(norm, sqrt(30), 1e-5);
    EXPECT(cublasSnrm2_v2(handle, 4, da, 1, 0), 7);
    OK(cublasSetPointerMode_v2(handle, 1)); /* numbers lie in device memory */
    OK(cublasSgemm_v2(handle, 0, 0, 2, 2, 2, done, da, 2, da, 2, dzero, dc, 2));
    OK(cublasSnrm2_v2(handle, 4, da, 1, done));
    OK(cudaMemcpy(&norm, done, 4, TO_HOST)); NEAR(norm, sqrt(30), 1e-5);
    OK(cublasSetPointerMode_v2(handle, 0));
    OK(cudaMemcpy(c, dc, sizeof c, TO_HOST));
    EXPECT(c[0], 7); EXPECT(c[1], 10); EXPECT(c[2], 15); EXPECT(c[3], 22);
    uint64_t places[2] = {(uintptr_t)da, (uintptr_t)dc};
    void *list = on_device(places, sizeof places), *out = on_device((uint64_t[]){(uintptr_t)dc, (uintptr_t)da}, 16);
    OK(cublasSgemmBatched(handle, 0, 0, 2, 2, 2, &one, list, 2, list, 2, &zero, out, 2, 1));
    OK(cudaMemcpy(c, dc, sizeof c, TO_HOST)); EXPECT(c[3], 22);
    OK(cudaStreamCreate(&stream)); OK(cublasSetStream_v2(handle, stream));
    OK(cudaStreamDestroy(stream));
    EXPECT(cublasSnrm2_v2(handle, 4, da, 1, &norm), 1);
    OK(cublasDestroy_v2(handle)); EXPECT(cublasDestroy_v2(handle), 1);
    EXPECT(cublasSnrm2_v2(handle, 4, da, 1, &norm), 1);
    EXPECT(cublasSnrm2_v2(0, 4, da, 1, &norm), 1);
    puts("blas ok");
}

static void fft(void)
{
    enum { N = 16, FORWARD = -1, INVERSE = 1, R2C = 0x2a, C2R = 0x2c, C2C = 0x29 };
    unsigned plan, back, many;
    Complex z[2 * N], got[2 * N];
    for (int k = 0; k < 2 * N; k++) z[k] = (Complex){(float)cos(k * 2 * M_PI * 3 / N), (float)(k == 20)};
    void *dz = on_device(z, sizeof z), *to = on_device(z, sizeof z);
    OK(cufftPlan1d(&plan, N, C2C, 2));
    OK(cufftExecC2C(plan, dz, to, FORWARD));
    OK(cudaMemcpy(got, to, sizeof got, TO_HOST));
    NEAR(got[3].x, N / 2, 1e-4); NEAR(got[13].x, N / 2, 1e-4); NEAR(got[5].x, 0, 1e-4);
    OK(cufftExecC2C(plan, to, to, INVERSE)); /* not scaled */
    OK(cudaMemcpy(got, to, sizeof got, TO_HOST));
    for (int k = 0; k < 2 * N; k++) { NEAR(got[k].x, N * z[k].x, 1e-4); NEAR(got[k].y, N * z[k].y, 1e-4); }
    EXPECT(cufftExecC2C(plan, dz, to, 0), 4); EXPECT(cufftExecC2C(plan, 0, to, FORWARD), 4);
    EXPECT(cufftExecR2C(plan, dz, to), 1);
    /* real numbers in place: rows of 4 have room for 3 complex ones */
    float r[4][6] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {1, 1, 1, 1}, {0, 2, 0, 2}}, last[4][6];
    void *dr = on_device(r, sizeof r);
    OK(cufftPlan2d(&back, 4, 4, R2C));
    OK(cufftExecR2C(back, dr, dr));
    OK(cudaMemcpy(last, dr, sizeof last, TO_HOST));
    NEAR(last[0][0], 44, 1e-4); NEAR(last[0][1], 0, 1e-4);
    OK(cufftDestroy(back)); OK(cufftPlan2d(&back, 4, 4, C2R));
    OK(cufftExecC2R(back, dr, dr));
    OK(cudaMemcpy(last, dr, sizeof last, TO_HOST));
    for (int k = 0; k < 16; k++) NEAR(last[k / 4][k % 4], 16 * r[k / 4][k % 4], 1e-3);
    /* two transforms whose elements alternate */
    int n[1] = {N};
    OK(cufftPlanMany(&many, 1, n, n, 2, 1, n, 1, N, C2C, 2));
    OK(cudaMemcpy(dz, z, sizeof z, TO_DEVICE));
    OK(cufftExecC2C(many, dz, to, FORWARD));
    OK(cudaMemcpy(got, to, sizeof got, TO_HOST));
    float sum = 0;
    for (int k = 0; k < N; k++) sum += z[2 * k + 1].x;
    NEAR(got[N].x, sum, 1e-4);
    EXPECT(cufftPlan1d(&many, 0, C2C, 1), 8); EXPECT(cufftPlan1d(&many, N, 7, 1), 3);
    EXPECT(cufftPlan1d(&many, 1 << 27, C2C, 1 << 20), 2);
    EXPECT(cufftPlanMany(&many, 4, n, 0, 1, 0, 0, 1, 0, C2C, 1), 4);
    OK(cufftDestroy(plan)); EXPECT(cufftDestroy(plan), 1); EXPECT(cufftExecC2C(plan, dz, to, FORWARD), 1);
    puts("fft ok");
}

static void random_numbers(void)
{
    static const float published[] = {0.145468f, 0.820181f, 0.550399f, 0.294830f, 0.914733f};
    static const float normal[] = {2.561947f, -2.603156f, 0.438303f, 2.127093f, -1.022666f};
    float numbers[10000] = {0}, again[10000];
    void *device, *host, *to = on_device(numbers, sizeof numbers);
    OK(curandCreateGenerator(&device, 100)); OK(curandCreateGeneratorHost(&host, 101));
    OK(curandSetPseudoRandomGeneratorSeed(device, 1234)); OK(curandSetPseudoRandomGeneratorSeed(host, 1234));
    OK(curandGenerateUniform(device, to, 10000)); OK(curandGenerateUniform(host, again, 10000));
    OK(cudaMemcpy(numbers, to, sizeof numbers, TO_HOST));
    OK(memcmp(numbers, again, sizeof numbers));
    for (int k = 0; k < 5; k++) NEAR(numbers[k], published[k], 1e-6);
    OK(curandSetPseudoRandomGeneratorSeed(host, 1234));
    OK(curandGenerateNormal(host, again, 10, 1, 2));
    for (int k = 0; k < 5; k++) NEAR(again[k], normal[k], 2e-6);
    EXPECT(curandGenerateNormal(host, again, 3, 0, 1), 105);
    EXPECT(curandCreateGenerator(&device, 999), 103); EXPECT(curandCreateGenerator(&device, 141), 999);
    EXPECT(curandGenerateUniform(host, again, (size_t)1 << 40), 102);
    OK(curandDestroyGenerator(host)); EXPECT(curandDestroyGenerator(host), 101);
    EXPECT(curandGenerateUniform(host, again, 1), 101);
    puts("random_numbers ok");
}

/* An address of the program is none of the device: what was asked for never happens, and the device is lost. */
static void outside(void)
{
    void *handle, *memory;
    float mine[4] = {1, 2, 3, 4}, one = 1, norm;
    OK(cublasCreate_v2(&handle));
    OK(cudaMalloc(&memory, 16));
    OK(cublasSnrm2_v2(handle, 4, memory, 1, &norm));
    EXPECT(cublasSgemm_v2(handle, 0, 0, 2, 2, 2, &one, memory, 2, memory, 2, &one, mine, 2), 13);
    EXPECT(mine[0] == 1 && mine[3] == 4, 1);
    EXPECT(cudaThreadSynchronize(), 4);
    puts("outside ok");
}

int main(int n, char **names)
{
    for (int k = 1; k < n; k++) {
        if (!strcmp(names[k], "first_blas")) first_blas();
        if (!strcmp(names[k], "blas")) blas();
        if (!strcmp(names[k], "fft")) fft();
        if (!strcmp(names[k], "random_numbers")) random_numbers();
        if (!strcmp(names[k], "outside")) outside();
    }
    fflush(stdout);
}

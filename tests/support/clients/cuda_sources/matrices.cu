// Tiles in shared memory, rows with a pitch, a member function as part of a kernel.
#include "check.h"
#define TILE 16

struct Matrix {
    float *elements;
    size_t pitch;
    int width, height;
    __host__ __device__ float &at(int y, int x) const { return ((float *)((char *)elements + y * pitch))[x]; }
};

__global__ void multiply(Matrix a, Matrix b, Matrix c)
{
    __shared__ float as[TILE][TILE], bs[TILE][TILE + 1];
    int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < a.width; k += TILE) {
        as[threadIdx.y][threadIdx.x] = y < a.height && k + threadIdx.x < a.width ? a.at(y, k + threadIdx.x) : 0;
        bs[threadIdx.y][threadIdx.x] = k + threadIdx.y < b.height && x < b.width ? b.at(k + threadIdx.y, x) : 0;
        __syncthreads();
#pragma unroll
        for (int j = 0; j < TILE; j++) sum += as[threadIdx.y][j] * bs[j][threadIdx.x];
        __syncthreads();
    }
    if (y < c.height && x < c.width) c.at(y, x) = sum;
}

static Matrix made(int height, int width)
{
    Matrix m = {0, 0, width, height};
    CALL(cudaMallocPitch(&m.elements, &m.pitch, width * sizeof(float), height));
    return m;
}

int main()
{
    static float a[40][50], b[50][33], c[40][33];
    for (int i = 0; i < 40; i++) for (int j = 0; j < 50; j++) a[i][j] = (i * 3 + j) % 11 - 5;
    for (int i = 0; i < 50; i++) for (int j = 0; j < 33; j++) b[i][j] = (i + j * 5) % 7 - 3;
    Matrix da = made(40, 50), db = made(50, 33), dc = made(40, 33);
    CALL(cudaMemcpy2D(da.elements, da.pitch, a, sizeof a[0], sizeof a[0], 40, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy2D(db.elements, db.pitch, b, sizeof b[0], sizeof b[0], 50, cudaMemcpyHostToDevice));
    dim3 block(TILE, TILE), grid((33 + TILE - 1) / TILE, (40 + TILE - 1) / TILE);
    multiply<<<grid, block>>>(da, db, dc);
    CALL(cudaMemcpy2D(c, sizeof c[0], dc.elements, dc.pitch, sizeof c[0], 40, cudaMemcpyDeviceToHost));
    int wrong = 0;
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 33; j++) {
            float want = 0;
            for (int k = 0; k < 50; k++) want += a[i][k] * b[k][j];
            wrong += c[i][j] != want;
        }
    return verdict("matrices", wrong);
}

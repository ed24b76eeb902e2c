// Variables of the device: constants, tables with contents, addresses, names as text, structures as arguments.
#include "check.h"

struct Settings { char kind; double factor; short counts[3]; };

__constant__ float weights[4] = {1, 2, 3, 4};
__constant__ Settings settings;
__device__ int counter = 5;
__device__ int table[3][2] = {{1, 2}, {3, 4}, {5, 6}};
static __device__ float hidden;

__global__ void use(Settings by_value, float *o)
{
    int i = threadIdx.x;
    o[i] = weights[i] * (float)settings.factor + by_value.counts[i % 3] + table[i % 3][1] + hidden + settings.kind;
    if (i == 0) counter += by_value.kind;
}

int main()
{
    Settings s = {'A', 2.5, {10, 20, 30}}, t = {3, 0, {100, 200, 300}};
    float w[4] = {8, 7, 6, 5}, out[4], *o, h = 0.5f;
    int count;
    void *address;
    size_t size;
    CALL(cudaMemcpyToSymbol(settings, &s, sizeof s));
    CALL(cudaMemcpyToSymbol("weights", w, sizeof w));
    CALL(cudaMemcpyToSymbol(weights, w + 3, sizeof(float), 2 * sizeof(float), cudaMemcpyHostToDevice));
    CALL(cudaMemcpyToSymbol(hidden, &h, sizeof h));
    CALL(cudaMalloc(&o, sizeof out));
    use<<<1, 4>>>(t, o);
    CALL(cudaMemcpy(out, o, sizeof out, cudaMemcpyDeviceToHost));
    CALL(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    CALL(cudaGetSymbolAddress(&address, table));
    CALL(cudaGetSymbolSize(&size, table));
    int row[2], wrong = count != 8 || size != sizeof table;
    CALL(cudaMemcpy(row, (char *)address + 8, sizeof row, cudaMemcpyDeviceToHost));
    wrong += row[0] != 3 || row[1] != 4;
    const float now[4] = {8, 7, 5, 5};
    for (int i = 0; i < 4; i++) wrong += out[i] != now[i] * 2.5f + 100 * (i % 3 + 1) + 2 * (i % 3 + 1) + h + 'A';
    return verdict("symbols", wrong);
}

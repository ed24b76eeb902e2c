// Texture references: linear memory, arrays with filters, vectors, numbers read as fractions.
#include "check.h"

texture<float, 1, cudaReadModeElementType> line;
texture<int4, 1> vectors;
texture<uchar4, 2, cudaReadModeNormalizedFloat> picture;
texture<float, 2> field(1, cudaFilterModeLinear, cudaAddressModeWrap);
texture<short, 3> box;

template <class T> __device__ float first(T reference, int i) { return tex1Dfetch(reference, i); }

__global__ void fetch(float *o)
{
    int i = threadIdx.x;
    int4 v = tex1Dfetch(vectors, i);
    float4 c = tex2D(picture, i % 4 + 0.5f, i / 4 + 0.5f);
    o[i] = first(line, i) + 10 * v.w + 1000 * (c.x + c.w);
    o[16 + i] = tex2D(field, i / 4.0f, 0.5f);
    o[32 + i] = tex3D(box, i & 1, i >> 1 & 1, i >> 2 & 1);
}

int main()
{
    float data[16], plane[2][4], out[48], *d, *o;
    int4 quads[16], *q;
    uchar4 pixels[4][4];
    short cube[8];
    for (int i = 0; i < 16; i++) {
        data[i] = i, quads[i] = make_int4(1, 2, 3, i);
        pixels[i / 4][i % 4] = make_uchar4(17 * i, 0, 0, 255), plane[i / 4 & 1][i % 4] = i % 4;
        cube[i & 7] = 100 * (i & 7) - 300;
    }
    cudaArray *image, *values, *volume;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<uchar4>();
    cudaChannelFormatDesc floats = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    cudaChannelFormatDesc shorts = cudaCreateChannelDesc<short>();
    CALL(cudaMallocArray(&image, &format, 4, 4));
    CALL(cudaMallocArray(&values, &floats, 4, 2));
    CALL(cudaMalloc3DArray(&volume, &shorts, make_cudaExtent(2, 2, 2)));
    CALL(cudaMemcpyToArray(image, 0, 0, pixels, sizeof pixels, cudaMemcpyHostToDevice));
    CALL(cudaMemcpyToArray(values, 0, 0, plane, sizeof plane, cudaMemcpyHostToDevice));
    cudaMemcpy3DParms copy = {0};
    copy.srcPtr = make_cudaPitchedPtr(cube, 4, 2, 2), copy.dstArray = volume;
    copy.extent = make_cudaExtent(2, 2, 2), copy.kind = cudaMemcpyHostToDevice;
    CALL(cudaMemcpy3D(&copy));
    CALL(cudaMalloc(&d, sizeof data)); CALL(cudaMalloc(&q, sizeof quads)); CALL(cudaMalloc(&o, sizeof out));
    CALL(cudaMemcpy(d, data, sizeof data, cudaMemcpyHostToDevice));
    CALL(cudaMemcpy(q, quads, sizeof quads, cudaMemcpyHostToDevice));
    size_t offset = 7;
    CALL(cudaBindTexture(&offset, line, d, sizeof data));
    CALL(cudaBindTexture(0, vectors, q, cudaCreateChannelDesc<int4>(), sizeof quads));
    CALL(cudaBindTextureToArray(picture, image, format));
    CALL(cudaBindTextureToArray(field, values));
    CALL(cudaBindTextureToArray(box, volume));
    fetch<<<1, 16>>>(o);
    CALL(cudaMemcpy(out, o, sizeof out, cudaMemcpyDeviceToHost));
    int wrong = offset != 0;
    for (int i = 0; i < 16; i++) {
        float off = out[i] - (11 * i + 1000 * (i / 15.0f + 1));
        wrong += off > 0.01f || off < -0.01f;
        wrong += out[32 + i] != 100 * (i & 7) - 300;
    }
    wrong += out[16] != 1.5f; /* between the last and the first of four texels */
    wrong += out[18] != 1.5f;
    CALL(cudaUnbindTexture(line));
    return verdict("textures", wrong);
}

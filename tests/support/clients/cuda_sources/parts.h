#ifndef PARTS_H
#define PARTS_H
#include <cuda_runtime.h>
int squares(int n);
int cubes(int n);
#ifdef __CUDACC__
struct Shape {
    int side;
    __device__ Shape(int s) : side(s) {}
    __device__ virtual int size() const { return side; }
};
#endif
#endif

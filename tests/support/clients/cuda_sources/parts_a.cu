#include "parts.h"
#include "check.h"
struct Square : Shape {
    __device__ Square(int s) : Shape(s) {}
    __device__ int size() const { return side * side; }
};
static __global__ void kernel(int *o, int n)
{
    Square q(n);
    Shape p(1);
    const Shape *s = threadIdx.x ? (const Shape *)&p : &q;
    o[threadIdx.x] = s->size();
}
int squares(int n)
{
    int got[2], *o;
    CALL(cudaMalloc(&o, sizeof got));
    kernel<<<1, 2>>>(o, n);
    CALL(cudaMemcpy(got, o, sizeof got, cudaMemcpyDeviceToHost));
    return got[0] * 10 + got[1];
}

/* Which thread of which block this is. */
#ifndef ISAKIT_DEVICE_LAUNCH_PARAMETERS_H
#define ISAKIT_DEVICE_LAUNCH_PARAMETERS_H
#include "vector_types.h"

#ifdef __CUDACC__
#define __ISAKIT_SPECIAL(NAME, REGISTER)                                                        \
    struct __isakit_##NAME {                                                                    \
        __declspec(property(get = __x)) unsigned x;                                             \
        __declspec(property(get = __y)) unsigned y;                                             \
        __declspec(property(get = __z)) unsigned z;                                             \
        __ISAKIT_INLINED unsigned __x() const { return __nvvm_read_ptx_sreg_##REGISTER##_x(); } \
        __ISAKIT_INLINED unsigned __y() const { return __nvvm_read_ptx_sreg_##REGISTER##_y(); } \
        __ISAKIT_INLINED unsigned __z() const { return __nvvm_read_ptx_sreg_##REGISTER##_z(); } \
        __ISAKIT_INLINED operator uint3() const { return make_uint3(__x(), __y(), __z()); }     \
        __ISAKIT_INLINED operator dim3() const { return dim3(__x(), __y(), __z()); }            \
    };                                                                                          \
    extern const __attribute__((device, weak)) __isakit_##NAME NAME;
__ISAKIT_SPECIAL(threadIdx, tid)
__ISAKIT_SPECIAL(blockIdx, ctaid)
__ISAKIT_SPECIAL(blockDim, ntid)
__ISAKIT_SPECIAL(gridDim, nctaid)
#undef __ISAKIT_SPECIAL
static const int warpSize = 32;
#endif

#endif

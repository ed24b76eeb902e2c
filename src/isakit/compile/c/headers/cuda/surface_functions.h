/* Surfaces, which need compute capability 2.0: they are declared for programs that mention them. A kernel that reads or
 * writes one is refused where it does. */
#ifndef ISAKIT_SURFACE_FUNCTIONS_H
#define ISAKIT_SURFACE_FUNCTIONS_H
#include "driver_types.h"
#include "later_chips.h"

#ifdef __CUDACC__
extern "C++" { /* PyCUDA includes it within extern "C" */
enum cudaSurfaceBoundaryMode { cudaBoundaryModeZero = 0, cudaBoundaryModeClamp = 1, cudaBoundaryModeTrap = 2 };
enum cudaSurfaceFormatMode { cudaFormatModeForced = 0, cudaFormatModeAuto = 1 };
struct surfaceReference {
    cudaChannelFormatDesc channelDesc;
};
template <class T, int dimensions = 1>
struct __attribute__((device_builtin_surface_type)) surface : surfaceReference {
    surface() : surfaceReference() {}
};

#define __ISAKIT_SURFACE(NAME, ...)                                                                           \
    template <class T, class S> __device__ inline T NAME##read(S, __VA_ARGS__,                                \
                                                               cudaSurfaceBoundaryMode = cudaBoundaryModeTrap) \
    {                                                                                                         \
        return __isakit_lacks_surfaces(), T();                                                                \
    }                                                                                                         \
    template <class T, class S> __device__ inline void NAME##read(T *, S, __VA_ARGS__,                        \
                                                                  cudaSurfaceBoundaryMode = cudaBoundaryModeTrap) \
    {                                                                                                         \
        __isakit_lacks_surfaces();                                                                            \
    }                                                                                                         \
    template <class T, class S> __device__ inline void NAME##write(T, S, __VA_ARGS__,                         \
                                                                   cudaSurfaceBoundaryMode = cudaBoundaryModeTrap) \
    {                                                                                                         \
        __isakit_lacks_surfaces();                                                                            \
    }
__ISAKIT_SURFACE(surf1D, int)
__ISAKIT_SURFACE(surf2D, int, int)
__ISAKIT_SURFACE(surf3D, int, int, int)
__ISAKIT_SURFACE(surf1DLayered, int, int)
__ISAKIT_SURFACE(surf2DLayered, int, int, int)
__ISAKIT_SURFACE(surfCubemap, int, int, int)
__ISAKIT_SURFACE(surfCubemapLayered, int, int, int)
#undef __ISAKIT_SURFACE
extern "C" cudaError_t cudaBindSurfaceToArray(const surfaceReference *, cudaArray_const_t,
                                              const cudaChannelFormatDesc *);
template <class T, int D> inline cudaError_t cudaBindSurfaceToArray(const surface<T, D> &s, cudaArray_const_t array)
{
    return cudaBindSurfaceToArray(&s, array, &s.channelDesc);
}
template <class T, int D>
inline cudaError_t cudaBindSurfaceToArray(const surface<T, D> &s, cudaArray_const_t array,
                                          const cudaChannelFormatDesc &channel)
{
    return cudaBindSurfaceToArray(&s, array, &channel);
}
}
#endif

#endif

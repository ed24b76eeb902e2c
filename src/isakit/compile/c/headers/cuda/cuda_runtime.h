/* What every .cu file begins with: the runtime, its C++ forms, and the functions of kernels. */
#ifndef ISAKIT_CUDA_RUNTIME_H
#define ISAKIT_CUDA_RUNTIME_H
#define __CUDA_RUNTIME_H__ /* programs ask for it */
#include "host_defines.h"
#include "vector_types.h"
#include "device_launch_parameters.h"
#include "device_functions.h"
#include "printing.h"
#include "math_functions.h"
#include "cuda_runtime_api.h"
#include "texture_fetch_functions.h"
#include "later_chips.h"
#include "surface_functions.h"

typedef unsigned char uchar;
#ifdef __ISAKIT_ALONE__
typedef unsigned short ushort;
typedef unsigned int uint;
typedef __INT8_TYPE__ int8_t;
typedef __UINT8_TYPE__ uint8_t;
typedef __INT16_TYPE__ int16_t;
typedef __UINT16_TYPE__ uint16_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;
#endif

#ifdef __cplusplus
/* --- the C++ forms of functions of the runtime ------------------------------------------------------------------------ */
template <class T> static inline cudaError_t cudaMalloc(T **pointer, size_t size)
{
    return cudaMalloc((void **)pointer, size);
}
template <class T> static inline cudaError_t cudaMallocHost(T **pointer, size_t size, unsigned flags = 0)
{
    return cudaHostAlloc((void **)(void *)pointer, size, flags);
}
static inline cudaError_t cudaMallocHost(void **pointer, size_t size, unsigned flags)
{
    return cudaHostAlloc(pointer, size, flags);
}
template <class T> static inline cudaError_t cudaHostAlloc(T **pointer, size_t size, unsigned flags)
{
    return cudaHostAlloc((void **)(void *)pointer, size, flags);
}
template <class T> static inline cudaError_t cudaHostGetDevicePointer(T **device, void *host, unsigned flags)
{
    return cudaHostGetDevicePointer((void **)(void *)device, host, flags);
}
template <class T> static inline cudaError_t cudaMallocPitch(T **pointer, size_t *pitch, size_t width, size_t height)
{
    return cudaMallocPitch((void **)(void *)pointer, pitch, width, height);
}
template <class T> static inline cudaError_t cudaMemcpyToSymbol(
    const T &symbol, const void *from, size_t count, size_t offset = 0, cudaMemcpyKind kind = cudaMemcpyHostToDevice)
{
    return cudaMemcpyToSymbol((const void *)&symbol, from, count, offset, kind);
}
template <class T> static inline cudaError_t cudaMemcpyToSymbolAsync(
    const T &symbol, const void *from, size_t count, size_t offset = 0, cudaMemcpyKind kind = cudaMemcpyHostToDevice,
    cudaStream_t stream = 0)
{
    return cudaMemcpyToSymbolAsync((const void *)&symbol, from, count, offset, kind, stream);
}
template <class T> static inline cudaError_t cudaMemcpyFromSymbol(
    void *to, const T &symbol, size_t count, size_t offset = 0, cudaMemcpyKind kind = cudaMemcpyDeviceToHost)
{
    return cudaMemcpyFromSymbol(to, (const void *)&symbol, count, offset, kind);
}
template <class T> static inline cudaError_t cudaMemcpyFromSymbolAsync(
    void *to, const T &symbol, size_t count, size_t offset = 0, cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
    cudaStream_t stream = 0)
{
    return cudaMemcpyFromSymbolAsync(to, (const void *)&symbol, count, offset, kind, stream);
}
template <class T> static inline cudaError_t cudaGetSymbolAddress(void **pointer, const T &symbol)
{
    return cudaGetSymbolAddress(pointer, (const void *)&symbol);
}
template <class T> static inline cudaError_t cudaGetSymbolSize(size_t *size, const T &symbol)
{
    return cudaGetSymbolSize(size, (const void *)&symbol);
}
/* Names of variables instead of the variables, as programs before CUDA 5.0 have them. */
#define __ISAKIT_NAMED(CHAR)                                                                                           \
    static inline cudaError_t cudaMemcpyToSymbol(CHAR *symbol, const void *from, size_t count, size_t offset = 0,      \
                                                 cudaMemcpyKind kind = cudaMemcpyHostToDevice)                         \
    {                                                                                                                  \
        return cudaMemcpyToSymbol((const void *)symbol, from, count, offset, kind);                                    \
    }                                                                                                                  \
    static inline cudaError_t cudaMemcpyFromSymbol(void *to, CHAR *symbol, size_t count, size_t offset = 0,            \
                                                   cudaMemcpyKind kind = cudaMemcpyDeviceToHost)                       \
    {                                                                                                                  \
        return cudaMemcpyFromSymbol(to, (const void *)symbol, count, offset, kind);                                    \
    }                                                                                                                  \
    static inline cudaError_t cudaGetSymbolAddress(void **pointer, CHAR *symbol)                                       \
    {                                                                                                                  \
        return cudaGetSymbolAddress(pointer, (const void *)symbol);                                                    \
    }                                                                                                                  \
    static inline cudaError_t cudaGetSymbolSize(size_t *size, CHAR *symbol)                                            \
    {                                                                                                                  \
        return cudaGetSymbolSize(size, (const void *)symbol);                                                          \
    }
__ISAKIT_NAMED(char)
__ISAKIT_NAMED(const char)
#undef __ISAKIT_NAMED
static inline cudaError_t cudaEventCreate(cudaEvent_t *event, unsigned flags)
{
    return cudaEventCreateWithFlags(event, flags);
}
template <class T> static inline cudaError_t cudaSetupArgument(T argument, size_t offset)
{
    return cudaSetupArgument((const void *)&argument, sizeof(T), offset);
}
template <class R, class... A> static inline cudaError_t cudaLaunch(R (*function)(A...))
{
    return cudaLaunch((const void *)function);
}
template <class R, class... A>
static inline cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, R (*function)(A...))
{
    return cudaFuncGetAttributes(attributes, (const void *)function);
}
template <class R, class... A> static inline cudaError_t cudaFuncSetCacheConfig(R (*function)(A...), cudaFuncCache config)
{
    return cudaFuncSetCacheConfig((const void *)function, config);
}
template <class R, class... A>
static inline cudaError_t cudaFuncSetSharedMemConfig(R (*function)(A...), cudaSharedMemConfig config)
{
    return cudaFuncSetSharedMemConfig((const void *)function, config);
}
template <class R, class... A>
static inline cudaError_t cudaLaunchKernel(R (*function)(A...), dim3 grid, dim3 block, void **arguments,
                                           size_t shared = 0, cudaStream_t stream = 0)
{
    return cudaLaunchKernel((const void *)function, grid, block, arguments, shared, stream);
}
#endif

#ifdef __CUDACC__
/* --- texture references of C++ ---------------------------------------------------------------------------------------- */
#define __ISAKIT_TEXTURE template <class T, int D, cudaTextureReadMode M> static inline cudaError_t
__ISAKIT_TEXTURE cudaBindTexture(size_t *offset, const texture<T, D, M> &t, const void *pointer,
                                 const cudaChannelFormatDesc &channel, size_t size = 0xffffffffu)
{
    return cudaBindTexture(offset, (const textureReference *)&t, pointer, &channel, size);
}
__ISAKIT_TEXTURE cudaBindTexture(size_t *offset, const texture<T, D, M> &t, const void *pointer,
                                 size_t size = 0xffffffffu)
{
    return cudaBindTexture(offset, t, pointer, t.channelDesc, size);
}
__ISAKIT_TEXTURE cudaBindTexture2D(size_t *offset, const texture<T, D, M> &t, const void *pointer,
                                   const cudaChannelFormatDesc &channel, size_t width, size_t height, size_t pitch)
{
    return cudaBindTexture2D(offset, (const textureReference *)&t, pointer, &channel, width, height, pitch);
}
__ISAKIT_TEXTURE cudaBindTexture2D(size_t *offset, const texture<T, D, M> &t, const void *pointer, size_t width,
                                   size_t height, size_t pitch)
{
    return cudaBindTexture2D(offset, t, pointer, t.channelDesc, width, height, pitch);
}
__ISAKIT_TEXTURE cudaBindTextureToArray(const texture<T, D, M> &t, cudaArray_const_t array,
                                        const cudaChannelFormatDesc &channel)
{
    return cudaBindTextureToArray((const textureReference *)&t, array, &channel);
}
__ISAKIT_TEXTURE cudaBindTextureToArray(const texture<T, D, M> &t, cudaArray_const_t array)
{
    cudaChannelFormatDesc channel;
    cudaError_t status = cudaGetChannelDesc(&channel, array);
    return status == cudaSuccess ? cudaBindTextureToArray(t, array, channel) : status;
}
__ISAKIT_TEXTURE cudaUnbindTexture(const texture<T, D, M> &t) { return cudaUnbindTexture((const textureReference *)&t); }
__ISAKIT_TEXTURE cudaGetTextureAlignmentOffset(size_t *offset, const texture<T, D, M> &t)
{
    return cudaGetTextureAlignmentOffset(offset, (const textureReference *)&t);
}
#undef __ISAKIT_TEXTURE
#endif

#endif

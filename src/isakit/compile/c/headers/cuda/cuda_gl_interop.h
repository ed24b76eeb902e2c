/* The runtime's functions for buffers and images of OpenGL. */
#ifndef ISAKIT_CUDA_GL_INTEROP_H
#define ISAKIT_CUDA_GL_INTEROP_H
#define __CUDA_GL_INTEROP_H__ /* programs ask for it */
#include "cuda_runtime_api.h"
#if defined __has_include
#if __has_include(<GL/gl.h>)
#include <GL/gl.h>
#endif
#endif

enum cudaGLDeviceList { cudaGLDeviceListAll = 1, cudaGLDeviceListCurrentFrame = 2, cudaGLDeviceListNextFrame = 3 };
enum cudaGLMapFlags { cudaGLMapFlagsNone = 0, cudaGLMapFlagsReadOnly = 1, cudaGLMapFlagsWriteDiscard = 2 };

#ifdef __cplusplus
extern "C" {
#endif
cudaError_t cudaGLGetDevices(unsigned int *count, int *devices, unsigned int most, enum cudaGLDeviceList list);
cudaError_t cudaGraphicsGLRegisterImage(struct cudaGraphicsResource **resource, unsigned int image, unsigned int target,
                                        unsigned int flags);
cudaError_t cudaGraphicsGLRegisterBuffer(struct cudaGraphicsResource **resource, unsigned int buffer, unsigned int flags);
cudaError_t cudaGLSetGLDevice(int device);
cudaError_t cudaGLRegisterBufferObject(unsigned int buffer);
cudaError_t cudaGLMapBufferObject(void **pointer, unsigned int buffer);
cudaError_t cudaGLUnmapBufferObject(unsigned int buffer);
cudaError_t cudaGLUnregisterBufferObject(unsigned int buffer);
cudaError_t cudaGLSetBufferObjectMapFlags(unsigned int buffer, unsigned int flags);
cudaError_t cudaGLMapBufferObjectAsync(void **pointer, unsigned int buffer, cudaStream_t stream);
cudaError_t cudaGLUnmapBufferObjectAsync(unsigned int buffer, cudaStream_t stream);
#ifdef __cplusplus
}
#endif
#endif

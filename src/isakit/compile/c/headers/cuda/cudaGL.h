/* The driver interface's functions for buffers and images of OpenGL. */
#ifndef ISAKIT_CUDAGL_H
#define ISAKIT_CUDAGL_H
#define CUDAGL_H /* programs ask for it */
#include "cuda.h"
#if defined __has_include
#if __has_include(<GL/gl.h>)
#include <GL/gl.h>
#endif
#endif

#define cuGLCtxCreate cuGLCtxCreate_v2
#define cuGLMapBufferObject cuGLMapBufferObject_v2
#define cuGLMapBufferObjectAsync cuGLMapBufferObjectAsync_v2

typedef enum CUGLDeviceList_enum {
    CU_GL_DEVICE_LIST_ALL = 1, CU_GL_DEVICE_LIST_CURRENT_FRAME = 2, CU_GL_DEVICE_LIST_NEXT_FRAME = 3
} CUGLDeviceList;
typedef enum CUGLmap_flags_enum {
    CU_GL_MAP_RESOURCE_FLAGS_NONE = 0, CU_GL_MAP_RESOURCE_FLAGS_READ_ONLY = 1, CU_GL_MAP_RESOURCE_FLAGS_WRITE_DISCARD = 2
} CUGLmap_flags;

#ifdef __cplusplus
extern "C" {
#endif
CUresult cuGraphicsGLRegisterBuffer(CUgraphicsResource *resource, unsigned int buffer, unsigned int flags);
CUresult cuGraphicsGLRegisterImage(CUgraphicsResource *resource, unsigned int image, unsigned int target,
                                   unsigned int flags);
CUresult cuGLGetDevices(unsigned int *count, CUdevice *devices, unsigned int most, CUGLDeviceList list);
CUresult cuGLCtxCreate(CUcontext *context, unsigned int flags, CUdevice device);
CUresult cuGLInit(void);
CUresult cuGLRegisterBufferObject(unsigned int buffer);
CUresult cuGLMapBufferObject(CUdeviceptr *address, size_t *size, unsigned int buffer);
CUresult cuGLUnmapBufferObject(unsigned int buffer);
CUresult cuGLUnregisterBufferObject(unsigned int buffer);
CUresult cuGLSetBufferObjectMapFlags(unsigned int buffer, unsigned int flags);
CUresult cuGLMapBufferObjectAsync(CUdeviceptr *address, size_t *size, unsigned int buffer, CUstream stream);
CUresult cuGLUnmapBufferObjectAsync(unsigned int buffer, CUstream stream);
#ifdef __cplusplus
}
#endif
#endif

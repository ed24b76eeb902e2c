/* Buffers and images shared with OpenGL, by the functions of both generations and of both interfaces. */
#include "cuda_api.h"

#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>

int cudaGLSetGLDevice(int), cudaGLRegisterBufferObject(unsigned), cudaGLUnregisterBufferObject(unsigned);
int cudaGLMapBufferObject(void **, unsigned), cudaGLUnmapBufferObject(unsigned), cudaGLSetBufferObjectMapFlags(unsigned, unsigned);
int cudaGLMapBufferObjectAsync(void **, unsigned, void *), cudaGLUnmapBufferObjectAsync(unsigned, void *);
int cudaGLGetDevices(unsigned *, int *, unsigned, int), cudaGraphicsGLRegisterImage(void *, unsigned, unsigned, unsigned);
int cudaGraphicsMapResources(int, void *, void *), cudaGraphicsUnmapResources(int, void *, void *);
int cudaGraphicsResourceGetMappedPointer(void **, size_t *, void *), cudaGraphicsUnregisterResource(void *);
int cudaGraphicsResourceSetMapFlags(void *, unsigned), cudaGraphicsSubResourceGetMappedArray(void **, void *, unsigned, unsigned);
int cuGraphicsGLRegisterBuffer(void *, unsigned, unsigned), cuGraphicsGLRegisterImage(void *, unsigned, unsigned, unsigned);
int cuGraphicsMapResources(unsigned, void *, void *), cuGraphicsUnmapResources(unsigned, void *, void *);
int cuGraphicsResourceGetMappedPointer_v2(size_t *, size_t *, void *), cuGraphicsUnregisterResource(void *);
int cuGraphicsResourceSetMapFlags(void *, unsigned), cuGraphicsSubResourceGetMappedArray(void **, void *, unsigned, unsigned);
int cuGraphicsResourceGetMappedPointer(unsigned *, unsigned *, void *);
int cuGLRegisterBufferObject(unsigned), cuGLUnregisterBufferObject(unsigned), cuGLUnmapBufferObject(unsigned);
int cuGLMapBufferObject_v2(size_t *, size_t *, unsigned), cuGLMapBufferObject(unsigned *, unsigned *, unsigned);
int cuGLSetBufferObjectMapFlags(unsigned, unsigned), cuGLGetDevices(unsigned *, int *, unsigned, int), cuGLInit(void);
int cuGLCtxCreate_v2(void **, unsigned, int), cuCtxDestroy_v2(void *);

enum { N = 256, READ_ONLY = 1, WRITE_DISCARD = 2 };

static void begin(void)
{
    PFNEGLGETPLATFORMDISPLAYEXTPROC platform = (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
    EGLDisplay display = platform(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, 0);
    EGLConfig config;
    EGLint count;
    EXPECT(eglInitialize(display, 0, 0), 1);
    EXPECT(eglBindAPI(EGL_OPENGL_API), 1);
    EXPECT(eglChooseConfig(display, (EGLint[]){EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, 0, EGL_NONE}, &config, 1, &count), 1);
    EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, 0);
    EXPECT(eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context), 1);
}

static unsigned buffer_of(const float *values)
{
    unsigned name;
    glGenBuffers(1, &name);
    glBindBuffer(GL_ARRAY_BUFFER, name);
    glBufferData(GL_ARRAY_BUFFER, N * sizeof *values, values, GL_DYNAMIC_DRAW);
    return name;
}

static void content(unsigned name, float *values)
{
    glBindBuffer(GL_ARRAY_BUFFER, name);
    glGetBufferSubData(GL_ARRAY_BUFFER, 0, N * sizeof *values, values);
}

static void no_context(void)
{
    void *resource;
    EXPECT(cudaGraphicsGLRegisterBuffer(&resource, 1, 0), 30);
    EXPECT(cudaGLRegisterBufferObject(1), 30);
    EXPECT(cudaGetLastError(), 30);
    puts("no_context ok");
}

static void buffers(void)
{
    float x[N], got[N];
    void *resource, *both[2], *p, *q;
    size_t size;
    for (int k = 0; k < N; k++) x[k] = k;
    unsigned one = buffer_of(x), two = buffer_of(x);
    OK(cudaGLSetGLDevice(0));
    EXPECT(cudaGraphicsGLRegisterBuffer(&resource, 12345, 0), 11);
    EXPECT(cudaGraphicsGLRegisterBuffer(&resource, one, 64), 11);
    OK(cudaGraphicsGLRegisterBuffer(&resource, one, 0));
    EXPECT(cudaGraphicsResourceGetMappedPointer(&p, &size, resource), 30);
    EXPECT(cudaGraphicsUnmapResources(1, &resource, 0), 30);
    OK(cudaGraphicsMapResources(1, &resource, 0));
    EXPECT(cudaGraphicsMapResources(1, &resource, 0), 30);
    EXPECT(cudaGraphicsResourceSetMapFlags(resource, 1), 30);
    OK(cudaGraphicsResourceGetMappedPointer(&p, &size, resource));
    EXPECT(size, N * 4);
    EXPECT(cudaGraphicsSubResourceGetMappedArray(&q, resource, 0, 0), 30);
    OK(run_affine(p, p, N));
    OK(cudaGraphicsUnmapResources(1, &resource, 0));
    content(one, got);
    check_affine(got, x, N, 2, first_table);
    /* what is only read stays as it was, what is discarded is not read */
    OK(cudaGraphicsResourceSetMapFlags(resource, READ_ONLY));
    OK(cudaGraphicsMapResources(1, &resource, 0));
    OK(cudaMemset(p, 0, size));
    OK(cudaGraphicsUnmapResources(1, &resource, 0));
    content(one, got);
    check_affine(got, x, N, 2, first_table);
    OK(cudaGraphicsGLRegisterBuffer(&both[1], two, WRITE_DISCARD));
    both[0] = resource;
    OK(cudaGraphicsMapResources(2, both, 0));
    OK(cudaGraphicsResourceGetMappedPointer(&p, &size, both[0]));
    OK(cudaGraphicsResourceGetMappedPointer(&q, &size, both[1]));
    OK(cudaMemcpy(q, p, size, ON_DEVICE));
    OK(cudaGraphicsUnmapResources(2, both, 0));
    content(two, got);
    check_affine(got, x, N, 2, first_table);
    int bound;
    glGetIntegerv(GL_ARRAY_BUFFER_BINDING, &bound);
    EXPECT(bound, two);
    OK(cudaGraphicsUnregisterResource(resource));
    EXPECT(cudaGraphicsUnregisterResource(resource), 33); EXPECT(cudaGraphicsMapResources(1, &resource, 0), 33);
    EXPECT(cudaGraphicsMapResources(0, &resource, 0), 11); EXPECT(cudaGraphicsMapResources(1, 0, 0), 11);
    /* a buffer that shrinks while it is registered: no more than it has is touched */
    glBindBuffer(GL_ARRAY_BUFFER, two);
    glBufferData(GL_ARRAY_BUFFER, 16, x, GL_DYNAMIC_DRAW);
    OK(cudaGraphicsMapResources(1, &both[1], 0)); OK(cudaGraphicsUnmapResources(1, &both[1], 0));
    EXPECT(glGetError(), 0);
    OK(cudaDeviceReset());
    EXPECT(cudaGraphicsMapResources(1, &both[1], 0), 33);
    puts("buffers ok");
}

static void first_generation(void)
{
    float x[N], got[N];
    unsigned count;
    int device;
    void *p, *stream;
    for (int k = 0; k < N; k++) x[k] = k;
    unsigned name = buffer_of(x);
    OK(cudaGLGetDevices(&count, &device, 1, 1)); EXPECT(count, 1);
    EXPECT(cudaGLMapBufferObject(&p, name), 33);
    OK(cudaGLRegisterBufferObject(name)); EXPECT(cudaGLRegisterBufferObject(name), 30);
    OK(cudaGLSetBufferObjectMapFlags(name, 0));
    OK(cudaGLMapBufferObject(&p, name)); EXPECT(cudaGLMapBufferObject(&p, name), 30);
    OK(run_affine(p, p, N));
    OK(cudaGLUnmapBufferObject(name)); EXPECT(cudaGLUnmapBufferObject(name), 30);
    content(name, got);
    check_affine(got, x, N, 2, first_table);
    OK(cudaStreamCreate(&stream));
    OK(cudaGLMapBufferObjectAsync(&p, name, stream)); OK(cudaGLUnmapBufferObjectAsync(name, stream));
    OK(cudaStreamDestroy(stream)); EXPECT(cudaGLMapBufferObjectAsync(&p, name, stream), 33);
    OK(cudaGLUnregisterBufferObject(name)); EXPECT(cudaGLUnregisterBufferObject(name), 33);
    puts("first_generation ok");
}

static unsigned texture_of(unsigned internal, unsigned format, unsigned type, int width, int height, const void *texels)
{
    unsigned name;
    glGenTextures(1, &name);
    glBindTexture(GL_TEXTURE_2D, name);
    glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
    glTexImage2D(GL_TEXTURE_2D, 0, internal, width, height, 0, format, type, texels);
    return name;
}

static void images(void)
{
    unsigned char texels[6][5][4], got[6][5][4];
    float numbers[6][5], back[6][5];
    void *resource, *array;
    Channel channel;
    for (unsigned k = 0; k < sizeof texels; k++) ((unsigned char *)texels)[k] = (unsigned char)(7 * k);
    unsigned name = texture_of(GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, 5, 6, texels);
    EXPECT(cudaGraphicsGLRegisterImage(&resource, 999, GL_TEXTURE_2D, 0), 11);
    EXPECT(cudaGraphicsGLRegisterImage(&resource, name, GL_TEXTURE_CUBE_MAP, 0), 11);
    OK(cudaGraphicsGLRegisterImage(&resource, name, GL_TEXTURE_2D, 0));
    OK(cudaGraphicsMapResources(1, &resource, 0));
    EXPECT(cudaGraphicsSubResourceGetMappedArray(&array, resource, 1, 0), 11);
    OK(cudaGraphicsSubResourceGetMappedArray(&array, resource, 0, 0));
    OK(cudaGetChannelDesc(&channel, array)); EXPECT(channel.x, 8); EXPECT(channel.w, 8); EXPECT(channel.f, 1);
    OK(cudaMemcpy2DFromArray(got, 20, array, 0, 0, 20, 6, TO_HOST));
    OK(memcmp(got, texels, sizeof texels));
    for (unsigned k = 0; k < sizeof texels; k++) ((unsigned char *)texels)[k] ^= 255;
    OK(cudaMemcpy2DToArray(array, 0, 0, texels, 20, 20, 6, TO_DEVICE));
    glPixelStorei(GL_UNPACK_ROW_LENGTH, 17); /* the program's storage of pixels is not that of the copy, and stays */
    glPixelStorei(GL_PACK_SKIP_PIXELS, 0);
    OK(cudaGraphicsUnmapResources(1, &resource, 0));
    int kept;
    glGetIntegerv(GL_UNPACK_ROW_LENGTH, &kept);
    EXPECT(kept, 17);
    glPixelStorei(GL_UNPACK_ROW_LENGTH, 0);
    glPixelStorei(GL_PACK_ALIGNMENT, 1);
    glGetTexImage(GL_TEXTURE_2D, 0, GL_RGBA, GL_UNSIGNED_BYTE, got);
    OK(memcmp(got, texels, sizeof texels));
    OK(cudaGraphicsMapResources(1, &resource, 0));
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, 1, 1, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
    EXPECT(cudaGraphicsUnmapResources(1, &resource, 0), 11); /* another size than it was registered with */
    OK(cudaGraphicsUnregisterResource(resource));
    for (int k = 0; k < 30; k++) numbers[k / 5][k % 5] = 0.5f * (float)k;
    name = texture_of(GL_R32F, GL_RED, GL_FLOAT, 5, 6, numbers);
    OK(cuGraphicsGLRegisterImage(&resource, name, GL_TEXTURE_2D, READ_ONLY));
    OK(cuGraphicsMapResources(1, &resource, 0));
    OK(cuGraphicsSubResourceGetMappedArray(&array, resource, 0, 0));
    OK(cudaMemcpy2DFromArray(back, 20, array, 0, 0, 20, 6, TO_HOST));
    OK(memcmp(back, numbers, sizeof numbers));
    OK(cuGraphicsUnmapResources(1, &resource, 0)); OK(cuGraphicsUnregisterResource(resource));
    EXPECT(glGetError(), 0);
    puts("images ok");
}

static void driver(void)
{
    float x[N], got[N];
    unsigned count, narrow, narrow_size;
    int device;
    size_t at, size;
    void *resource;
    for (int k = 0; k < N; k++) x[k] = k;
    unsigned name = buffer_of(x);
    OK(cudaGLSetGLDevice(0)); OK(cudaThreadSynchronize());
    OK(cuGLInit()); OK(cuGLGetDevices(&count, &device, 1, 1)); EXPECT(count, 1);
    OK(cuGraphicsGLRegisterBuffer(&resource, name, 0));
    EXPECT(cuGraphicsResourceGetMappedPointer_v2(&at, &size, resource), 211);
    OK(cuGraphicsMapResources(1, &resource, 0)); EXPECT(cuGraphicsMapResources(1, &resource, 0), 208);
    OK(cuGraphicsResourceGetMappedPointer_v2(&at, &size, resource)); EXPECT(size, 4 * N);
    OK(cuGraphicsResourceGetMappedPointer(&narrow, &narrow_size, resource)); EXPECT(narrow, at); EXPECT(narrow_size, size);
    OK(run_affine((void *)at, (void *)at, N));
    OK(cuGraphicsUnmapResources(1, &resource, 0)); EXPECT(cuGraphicsUnmapResources(1, &resource, 0), 211);
    content(name, got);
    check_affine(got, x, N, 2, first_table);
    OK(cuGraphicsResourceSetMapFlags(resource, 2)); EXPECT(cuGraphicsResourceSetMapFlags(resource, 9), 1);
    OK(cuGraphicsUnregisterResource(resource)); EXPECT(cuGraphicsUnregisterResource(resource), 400);
    OK(cuGLRegisterBufferObject(name)); OK(cuGLSetBufferObjectMapFlags(name, 0));
    OK(cuGLMapBufferObject_v2(&at, &size, name)); OK(cuGLUnmapBufferObject(name));
    OK(cuGLMapBufferObject(&narrow, &narrow_size, name)); EXPECT(narrow, at); OK(cuGLUnmapBufferObject(name));
    OK(cuGLUnregisterBufferObject(name)); EXPECT(cuGLUnmapBufferObject(name), 400);
    OK(cuGLCtxCreate_v2(&resource, 0, 0)); OK(cuCtxDestroy_v2(resource));
    puts("driver ok");
}

int main(int n, char **names)
{
    no_context();
    begin();
    for (int k = 1; k < n; k++) {
        if (!strcmp(names[k], "buffers")) buffers();
        if (!strcmp(names[k], "first_generation")) first_generation();
        if (!strcmp(names[k], "images")) images();
        if (!strcmp(names[k], "driver")) driver();
    }
    fflush(stdout);
    _exit(0); /* what a driver of the host leaves running does not matter here */
}

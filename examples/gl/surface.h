/* What the examples share: a context without a window, shaders, and a picture file. */
#ifndef SURFACE_H
#define SURFACE_H

#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GLES3/gl31.h>
#include <stdio.h>
#include <stdlib.h>

static void fail(const char *what)
{
    fprintf(stderr, "%s: EGL error %x, GL error %x\n", what, eglGetError(), glGetError());
    exit(1);
}

/* A context of OpenGL ES `major`.`minor` that draws into a framebuffer object of its own. */
static inline void make_context(int major, int minor)
{
    PFNEGLGETPLATFORMDISPLAYEXTPROC get_display =
        (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
    EGLDisplay display = get_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
    if (!eglInitialize(display, NULL, NULL))
        fail("no display");
    eglBindAPI(EGL_OPENGL_ES_API);
    const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_ES3_BIT, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_NONE};
    const EGLint version[] = {EGL_CONTEXT_MAJOR_VERSION, major, EGL_CONTEXT_MINOR_VERSION, minor, EGL_NONE};
    EGLConfig config;
    EGLint count;
    if (!eglChooseConfig(display, wanted, &config, 1, &count) || count < 1)
        fail("no configuration");
    EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, version);
    if (context == EGL_NO_CONTEXT || !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
        fail("no context");
    printf("%s, %s\n", (const char *)glGetString(GL_RENDERER), (const char *)glGetString(GL_VERSION));
}

static inline void make_target(int size, int with_depth)
{
    GLuint framebuffer, color, depth;
    glGenFramebuffers(1, &framebuffer);
    glBindFramebuffer(GL_FRAMEBUFFER, framebuffer);
    glGenRenderbuffers(1, &color);
    glBindRenderbuffer(GL_RENDERBUFFER, color);
    glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, size, size);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, color);
    if (with_depth) {
        glGenRenderbuffers(1, &depth);
        glBindRenderbuffer(GL_RENDERBUFFER, depth);
        glRenderbufferStorage(GL_RENDERBUFFER, GL_DEPTH_COMPONENT24, size, size);
        glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER, depth);
    }
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
        fail("no framebuffer");
    glViewport(0, 0, size, size);
}

static inline GLuint shader(GLenum kind, const char *text)
{
    GLuint made = glCreateShader(kind);
    GLint good;
    glShaderSource(made, 1, &text, NULL);
    glCompileShader(made);
    glGetShaderiv(made, GL_COMPILE_STATUS, &good);
    if (!good) {
        char message[1024];
        glGetShaderInfoLog(made, sizeof message, NULL, message);
        fprintf(stderr, "%s\n", message);
        exit(1);
    }
    return made;
}

static inline GLuint linked(GLuint first, GLuint second)
{
    GLuint program = glCreateProgram();
    GLint good;
    glAttachShader(program, first);
    if (second)
        glAttachShader(program, second);
    glLinkProgram(program);
    glGetProgramiv(program, GL_LINK_STATUS, &good);
    if (!good)
        fail("the program does not link");
    glUseProgram(program);
    return program;
}

/* Vertices of `width` floats; each of the `parts` consecutive attributes has as many as it says. */
static inline void vertices(const float *data, size_t bytes, const int *parts, int count, int width)
{
    GLuint buffer;
    int at = 0;
    glGenBuffers(1, &buffer);
    glBindBuffer(GL_ARRAY_BUFFER, buffer);
    glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)bytes, data, GL_STATIC_DRAW);
    for (int i = 0; i < count; i++) {
        glVertexAttribPointer((GLuint)i, parts[i], GL_FLOAT, GL_FALSE, width * 4, (const void *)(size_t)(at * 4));
        glEnableVertexAttribArray((GLuint)i);
        at += parts[i];
    }
}

/* The target as a PPM, upper row first. */
static inline void save(const char *path, int size)
{
    unsigned char *pixels = malloc((size_t)size * (size_t)size * 4);
    glReadPixels(0, 0, size, size, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    if (glGetError() != GL_NO_ERROR)
        fail("drawing");
    FILE *file = path == NULL ? NULL : fopen(path, "wb");
    if (file != NULL) {
        fprintf(file, "P6 %d %d 255\n", size, size);
        for (int y = size - 1; y >= 0; y--)
            for (int x = 0; x < size; x++)
                fwrite(pixels + 4 * (y * size + x), 1, 3, file);
        fclose(file);
    }
    free(pixels);
}

static inline int number(int count, char **arguments, int n, int otherwise)
{
    return count > n ? atoi(arguments[n]) : otherwise;
}
#endif

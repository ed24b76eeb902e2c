/* Buffers and images that the program shares with OpenGL: what is drawn with the program's own OpenGL is copied to the
 * device's memory when it is mapped, and back when it is unmapped. OpenGL is called as the program does it, in the context
 * that is current. */
#include "isakit.h"

#include <dlfcn.h>

enum {
    ARRAY_BUFFER = 0x8892, ARRAY_BUFFER_BINDING = 0x8894, BUFFER_SIZE = 0x8764, TEXTURE_2D = 0x0DE1, TEXTURE_3D = 0x806F,
    TEXTURE_RECTANGLE = 0x84F5, RENDERBUFFER = 0x8D41, TEXTURE_BINDING_2D = 0x8069, TEXTURE_BINDING_3D = 0x806A,
    TEXTURE_BINDING_RECTANGLE = 0x84F6, TEXTURE_WIDTH = 0x1000, TEXTURE_HEIGHT = 0x1001, TEXTURE_INTERNAL_FORMAT = 0x1003,
    TEXTURE_DEPTH = 0x8071, PIXEL_PACK_BUFFER = 0x88EB, PIXEL_UNPACK_BUFFER = 0x88EC, PIXEL_PACK_BUFFER_BINDING = 0x88ED,
    PIXEL_UNPACK_BUFFER_BINDING = 0x88EF, NO_CONTEXT = -20, NOT_OPENGL = -21
};
enum kind { BUFFER, IMAGE };
enum { READ_ONLY = 1, WRITE_DISCARD = 2 };

static struct gl {
    void (*GetIntegerv)(unsigned, int *), (*BindBuffer)(unsigned, unsigned);
    void (*GetBufferParameteriv)(unsigned, unsigned, int *);
    void (*GetBufferSubData)(unsigned, intptr_t, intptr_t, void *);
    void (*BufferSubData)(unsigned, intptr_t, intptr_t, const void *);
    unsigned char (*IsBuffer)(unsigned), (*IsTexture)(unsigned);
    void (*BindTexture)(unsigned, unsigned), (*GetTexLevelParameteriv)(unsigned, int, unsigned, int *);
    void (*GetTexImage)(unsigned, int, unsigned, unsigned, void *);
    void (*TexSubImage2D)(unsigned, int, int, int, int, int, unsigned, unsigned, const void *);
    void (*TexSubImage3D)(unsigned, int, int, int, int, int, int, int, unsigned, unsigned, const void *);
    void (*PixelStorei)(unsigned, int);
    const unsigned char *(*GetString)(unsigned);
} gl;

/* --- the program's OpenGL ------------------------------------------------------------------------------------------------ */
static void *library_function(const char *name)
{
    static const char *const libraries[] = {"libGL.so.1", "libOpenGL.so.0", "libGLX.so.0", "libEGL.so.1", 0};
    void *found = dlsym(RTLD_DEFAULT, name);
    for (int k = 0; !found && libraries[k]; k++) {
        void *library = dlopen(libraries[k], RTLD_LAZY | RTLD_NOLOAD);
        if (library) found = dlsym(library, name), dlclose(library);
    }
    return found;
}

static void *gl_function(const char *name)
{
    void *found = library_function(name), *(*asked)(const char *);
    static const char *const askers[] = {"glXGetProcAddressARB", "eglGetProcAddress"};
    for (int k = 0; !found && k < 2; k++) {
        void *asker = library_function(askers[k]);
        memcpy(&asked, &asker, sizeof asked);
        if (asker) found = asked(name);
    }
    return found;
}

static int gl_ready(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int missing = 0;
    pthread_mutex_lock(&lock);
    if (!gl.GetString) {
#define FIND(name)                                       \
    do {                                                 \
        void *found = gl_function("gl" #name);           \
        memcpy(&gl.name, &found, sizeof found);          \
        missing |= !found;                               \
    } while (0)
        FIND(GetIntegerv); FIND(BindBuffer); FIND(GetBufferParameteriv); FIND(GetBufferSubData); FIND(BufferSubData);
        FIND(IsBuffer); FIND(IsTexture); FIND(BindTexture); FIND(GetTexLevelParameteriv); FIND(GetTexImage);
        FIND(TexSubImage2D); FIND(TexSubImage3D); FIND(PixelStorei); FIND(GetString);
        if (missing) gl.GetString = 0;
    }
    pthread_mutex_unlock(&lock);
    if (missing) return NOT_OPENGL;
    return gl.GetString(0x1F02) ? 0 : NO_CONTEXT; /* without a context nothing has a version */
}

static int gl_number(unsigned name)
{
    int out = 0;
    gl.GetIntegerv(name, &out);
    return out;
}

/* --- formats: components of the array, and how OpenGL calls them ----------------------------------------------------------- */
enum { RED = 0x1903, RG = 0x8227, RGBA = 0x1908, RED_INTEGER = 0x8D94, RG_INTEGER = 0x8228, RGBA_INTEGER = 0x8D99 };
static const struct format { int internal, count, bits, kind; } formats[] = {
    {0x8229, 1, 8, 1}, {0x822B, 2, 8, 1}, {0x8058, 4, 8, 1}, {RGBA, 4, 8, 1}, {0x8043, 4, 8, 1}, /* R8 RG8 RGBA8 */
    {4, 4, 8, 1}, {0x8040, 1, 8, 1}, {0x8C43, 4, 8, 1},
    {0x822A, 1, 16, 1}, {0x822C, 2, 16, 1}, {0x805B, 4, 16, 1},
    {0x822D, 1, 16, 2}, {0x822F, 2, 16, 2}, {0x881A, 4, 16, 2},
    {0x822E, 1, 32, 2}, {0x8230, 2, 32, 2}, {0x8814, 4, 32, 2}, {0x8818, 1, 32, 2},
    {0x8231, 1, 8, 0}, {0x8237, 2, 8, 0}, {0x8D8E, 4, 8, 0}, {0x8232, 1, 8, 1}, {0x8238, 2, 8, 1}, {0x8D7C, 4, 8, 1},
    {0x8233, 1, 16, 0}, {0x8239, 2, 16, 0}, {0x8D88, 4, 16, 0}, {0x8234, 1, 16, 1}, {0x823A, 2, 16, 1}, {0x8D76, 4, 16, 1},
    {0x8235, 1, 32, 0}, {0x823B, 2, 32, 0}, {0x8D82, 4, 32, 0}, {0x8236, 1, 32, 1}, {0x823C, 2, 32, 1}, {0x8D70, 4, 32, 1},
};

static const struct format *format_of(int internal)
{
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (formats[k].internal == internal) return formats + k;
    return 0;
}

static unsigned transfer_type(const struct format *f)
{
    static const unsigned types[3][3] = {{0x1400, 0x1401, 0}, {0x1402, 0x1403, 0x140B}, {0x1404, 0x1405, 0x1406}};
    return types[f->bits == 8 ? 0 : f->bits == 16 ? 1 : 2][f->kind];
}

static unsigned transfer_format(const struct format *f)
{
    int integer = (f->internal >= 0x8231 && f->internal <= 0x823C) || (f->internal >= 0x8D70 && f->internal <= 0x8D8E);
    if (f->internal == 0x8040 || f->internal == 0x8818) return 0x1909; /* luminance */
    if (f->count == 1) return integer ? RED_INTEGER : RED;
    if (f->count == 2) return integer ? RG_INTEGER : RG;
    return integer ? RGBA_INTEGER : RGBA;
}

static unsigned binding_of(unsigned target)
{
    return target == TEXTURE_2D ? TEXTURE_BINDING_2D : target == TEXTURE_3D ? TEXTURE_BINDING_3D
         : target == TEXTURE_RECTANGLE ? TEXTURE_BINDING_RECTANGLE : 0;
}

/* --- resources -------------------------------------------------------------------------------------------------------------- */
struct shared_with_gl { uint64_t kind, name, target, flags, at, size, width, height, depth, format; };

static int graphics_status(uint64_t driver, int status)
{
    if (status == NO_CONTEXT || status == NOT_OPENGL) {
        refuse("sharing with OpenGL", status == NO_CONTEXT ? "no context of OpenGL is current in this thread"
                                                           : "the program has no library of OpenGL loaded");
        return driver ? driver_status(219) : runtime_status(30);
    }
    return driver ? driver_status(status) : runtime_status(status);
}

static int register_buffer(uint64_t driver, uint64_t *resource, unsigned buffer, unsigned flags)
{
    int size = 0, status = gl_ready();
    if (status) return status;
    if (!gl.IsBuffer(buffer)) return INVALID;
    int before = gl_number(ARRAY_BUFFER_BINDING);
    gl.BindBuffer(ARRAY_BUFFER, buffer);
    gl.GetBufferParameteriv(ARRAY_BUFFER, BUFFER_SIZE, &size);
    gl.BindBuffer(ARRAY_BUFFER, (unsigned)before);
    const uint64_t in[] = {driver, BUFFER, buffer, 0, flags, (uint64_t)(int64_t)size, 0, 0, 0, 0, 0, 0};
    return say(OP_graphics_register, in, 12, resource, 1);
}

static int register_image(uint64_t driver, uint64_t *resource, unsigned image, unsigned target, unsigned flags)
{
    int width = 0, height = 0, depth = 0, internal = 0, status = gl_ready();
    unsigned binding = binding_of(target);
    if (status) return status;
    if (!binding) {
        refuse("sharing of such an image", target == RENDERBUFFER ? "renderbuffers are not there; textures are"
                                                                  : "only textures of two and three dimensions are there");
        return INVALID;
    }
    if (!gl.IsTexture(image)) return INVALID;
    int before = gl_number(binding);
    gl.BindTexture(target, image);
    gl.GetTexLevelParameteriv(target, 0, TEXTURE_WIDTH, &width);
    gl.GetTexLevelParameteriv(target, 0, TEXTURE_HEIGHT, &height);
    gl.GetTexLevelParameteriv(target, 0, TEXTURE_DEPTH, &depth);
    gl.GetTexLevelParameteriv(target, 0, TEXTURE_INTERNAL_FORMAT, &internal);
    gl.BindTexture(target, (unsigned)before);
    const struct format *f = format_of(internal);
    if (!f) {
        refuse("sharing of such an image", "its format has no counterpart in arrays");
        return INVALID;
    }
    const uint64_t in[] = {driver, IMAGE, image, target, flags, 0, (uint64_t)width, (uint64_t)height,
                           target == TEXTURE_3D ? (uint64_t)depth : 0, (uint64_t)f->count, (uint64_t)f->bits,
                           (uint64_t)f->kind};
    return say(OP_graphics_register, in, 12, resource, 1);
}

/* Copies between OpenGL and the device's memory. Bindings and the storage of pixels are as before afterwards. */
static void copy_buffer(const struct shared_with_gl *s, int to_device)
{
    int before = gl_number(ARRAY_BUFFER_BINDING), size = 0;
    gl.BindBuffer(ARRAY_BUFFER, (unsigned)s->name);
    gl.GetBufferParameteriv(ARRAY_BUFFER, BUFFER_SIZE, &size);
    if ((uint64_t)size > s->size) size = (int)s->size;
    if (size > 0 && to_device) gl.GetBufferSubData(ARRAY_BUFFER, 0, size, window.base + s->at);
    if (size > 0 && !to_device) gl.BufferSubData(ARRAY_BUFFER, 0, size, window.base + s->at);
    gl.BindBuffer(ARRAY_BUFFER, (unsigned)before);
}

enum { SWAP_BYTES, LSB_FIRST, ROW_LENGTH, SKIP_ROWS, SKIP_PIXELS, ALIGNMENT, IMAGE_HEIGHT, SKIP_IMAGES, STORAGES };
static const unsigned packing[STORAGES] = {0x0D00, 0x0D01, 0x0D02, 0x0D03, 0x0D04, 0x0D05, 0x806C, 0x806B};
static const unsigned unpacking[STORAGES] = {0x0CF0, 0x0CF1, 0x0CF2, 0x0CF3, 0x0CF4, 0x0CF5, 0x806E, 0x806D};

static int copy_image(const struct shared_with_gl *s, int to_device)
{
    int saved[STORAGES], width = 0, height = 0, internal = 0, depth = 0;
    const unsigned *names = to_device ? packing : unpacking, target = (unsigned)s->target;
    const unsigned buffer = to_device ? PIXEL_PACK_BUFFER : PIXEL_UNPACK_BUFFER;
    int bound = gl_number(to_device ? PIXEL_PACK_BUFFER_BINDING : PIXEL_UNPACK_BUFFER_BINDING);
    int before = gl_number(binding_of(target));
    gl.BindTexture(target, (unsigned)s->name);
    gl.GetTexLevelParameteriv(target, 0, TEXTURE_WIDTH, &width);
    gl.GetTexLevelParameteriv(target, 0, TEXTURE_HEIGHT, &height);
    gl.GetTexLevelParameteriv(target, 0, TEXTURE_DEPTH, &depth);
    gl.GetTexLevelParameteriv(target, 0, TEXTURE_INTERNAL_FORMAT, &internal);
    const struct format *f = format_of(internal);
    int same = f && (uint64_t)width == s->width && (uint64_t)height == s->height && (!s->depth || (uint64_t)depth == s->depth)
               && s->size >= times(times(times(s->width, s->height), s->depth ? s->depth : 1), (uint64_t)(f->count * f->bits / 8));
    if (same) {
        gl.BindBuffer(buffer, 0);
        for (int k = 0; k < STORAGES; k++) {
            saved[k] = gl_number(names[k]);
            gl.PixelStorei(names[k], k == ALIGNMENT);
        }
        void *texels = window.base + s->at;
        unsigned format = transfer_format(f), type = transfer_type(f);
        if (to_device) gl.GetTexImage(target, 0, format, type, texels);
        else if (s->depth) gl.TexSubImage3D(target, 0, 0, 0, 0, width, height, depth, format, type, texels);
        else gl.TexSubImage2D(target, 0, 0, 0, width, height, format, type, texels);
        for (int k = 0; k < STORAGES; k++) gl.PixelStorei(names[k], saved[k]);
        gl.BindBuffer(buffer, (unsigned)bound);
    }
    gl.BindTexture(target, (unsigned)before);
    return same ? 0 : INVALID; /* the texture was given another size since it was registered */
}

static int copy_shared(const struct shared_with_gl *s, int to_device)
{
    if (s->at > window.size || s->size > window.size - s->at) return LOST;
    if (s->flags & (to_device ? WRITE_DISCARD : READ_ONLY)) return 0;
    if (s->kind == IMAGE) return copy_image(s, to_device);
    copy_buffer(s, to_device);
    return 0;
}

/* Mapping copies once the simulator agrees, unmapping before it lets go. */
static int map_one(uint64_t driver, uint64_t resource, uint64_t stream)
{
    const uint64_t in[] = {driver, resource, stream};
    struct shared_with_gl s;
    int status = gl_ready();
    if (!status) status = say(OP_graphics_map, in, 3, (uint64_t *)&s, sizeof s / 8);
    return status ? status : copy_shared(&s, 1);
}

static int unmap_one(uint64_t driver, uint64_t resource, uint64_t stream)
{
    const uint64_t in[] = {driver, resource, stream};
    struct shared_with_gl s;
    int status = gl_ready();
    if (!status) status = say(OP_graphics_unmap, in, 3, (uint64_t *)&s, sizeof s / 8);
    return status ? status : copy_shared(&s, 0);
}

static int each(int (*act)(uint64_t, uint64_t, uint64_t), uint64_t driver, unsigned count, void *const *resources,
                const void *stream)
{
    int status = !count || !resources ? INVALID : 0;
    for (unsigned k = 0; !status && k < count; k++) status = act(driver, address_number(resources[k]), handle_number(stream));
    return graphics_status(driver, status);
}

static int mapped_pointer(uint64_t driver, uint64_t resource, uint64_t out[2])
{
    const uint64_t in[] = {driver, resource};
    return say(OP_graphics_pointer, in, 2, out, 2);
}

static int mapped_array(uint64_t driver, void **out, const void *resource, unsigned index, unsigned level)
{
    const uint64_t in[] = {driver, address_number(resource), index, level};
    uint64_t handle;
    int status = out ? say(OP_graphics_array, in, 4, &handle, 1) : INVALID;
    if (!status) *out = address_of(handle);
    return status;
}

static int with_resource(uint64_t driver, unsigned op, const void *resource, unsigned flags)
{
    const uint64_t in[] = {driver, address_number(resource), flags};
    return say(op, in, op == OP_graphics_unregister ? 2 : 3, 0, 0);
}

/* The first generation names buffers by OpenGL's number; each is a resource behind it. */
static int resource_of(uint64_t driver, unsigned buffer, uint64_t *resource)
{
    const uint64_t in[] = {driver, buffer};
    return say(OP_graphics_named, in, 2, resource, 1);
}

static int old_register(uint64_t driver, unsigned buffer)
{
    uint64_t resource;
    if (!resource_of(driver, buffer, &resource)) return driver ? 208 : 30; /* it is registered already */
    return register_buffer(driver, &resource, buffer, 0);
}
static int old_unregister(uint64_t driver, unsigned buffer)
{
    uint64_t resource;
    int status = resource_of(driver, buffer, &resource);
    return status ? status : with_resource(driver, OP_graphics_unregister, address_of(resource), 0);
}
static int old_flags(uint64_t driver, unsigned buffer, unsigned flags)
{
    uint64_t resource;
    int status = resource_of(driver, buffer, &resource);
    return status ? status : with_resource(driver, OP_graphics_flags, address_of(resource), flags);
}
static int old_map(uint64_t driver, uint64_t out[2], unsigned buffer, const void *stream)
{
    uint64_t resource;
    int status = resource_of(driver, buffer, &resource);
    if (!status) status = map_one(driver, resource, handle_number(stream));
    return status ? status : mapped_pointer(driver, resource, out);
}
static int old_unmap(uint64_t driver, unsigned buffer, const void *stream)
{
    uint64_t resource;
    int status = resource_of(driver, buffer, &resource);
    return status ? status : unmap_one(driver, resource, handle_number(stream));
}
static int one_device(unsigned *count, int *devices, unsigned most)
{
    if (!count || !devices || !most) return INVALID;
    *count = 1, *devices = 0;
    return 0;
}

/* --- the runtime's functions -------------------------------------------------------------------------------------------------- */
static int finish_register(uint64_t driver, int status, void **out, const uint64_t *resource)
{
    if (!status) *out = address_of(*resource);
    return graphics_status(driver, status);
}
EXPORT int cudaGLGetDevices(unsigned *count, int *devices, unsigned most, int list)
{
    (void)list;
    return runtime_status(one_device(count, devices, most));
}
EXPORT int cudaGraphicsGLRegisterBuffer(void **resource, unsigned buffer, unsigned flags)
{
    uint64_t made = 0;
    return finish_register(0, resource ? register_buffer(0, &made, buffer, flags) : INVALID, resource, &made);
}
EXPORT int cudaGraphicsGLRegisterImage(void **resource, unsigned image, unsigned target, unsigned flags)
{
    uint64_t made = 0;
    return finish_register(0, resource ? register_image(0, &made, image, target, flags) : INVALID, resource, &made);
}
EXPORT int cudaGraphicsUnregisterResource(void *resource)
{
    return runtime_status(with_resource(0, OP_graphics_unregister, resource, 0));
}
EXPORT int cudaGraphicsResourceSetMapFlags(void *resource, unsigned flags)
{
    return runtime_status(with_resource(0, OP_graphics_flags, resource, flags));
}
EXPORT int cudaGraphicsMapResources(int count, void **resources, void *stream)
{
    return each(map_one, 0, count > 0 ? (unsigned)count : 0, resources, stream);
}
EXPORT int cudaGraphicsUnmapResources(int count, void **resources, void *stream)
{
    return each(unmap_one, 0, count > 0 ? (unsigned)count : 0, resources, stream);
}
EXPORT int cudaGraphicsResourceGetMappedPointer(void **pointer, size_t *size, void *resource)
{
    uint64_t out[2];
    int status = pointer ? mapped_pointer(0, address_number(resource), out) : INVALID;
    if (!status) *pointer = address_of(out[0]);
    if (!status && size) *size = out[1];
    return runtime_status(status);
}
EXPORT int cudaGraphicsSubResourceGetMappedArray(void **array_handle, void *resource, unsigned index, unsigned level)
{
    return runtime_status(mapped_array(0, array_handle, resource, index, level));
}
EXPORT int cudaGLRegisterBufferObject(unsigned buffer) { return graphics_status(0, old_register(0, buffer)); }
EXPORT int cudaGLUnregisterBufferObject(unsigned buffer) { return graphics_status(0, old_unregister(0, buffer)); }
EXPORT int cudaGLSetBufferObjectMapFlags(unsigned buffer, unsigned flags) { return graphics_status(0, old_flags(0, buffer, flags)); }
EXPORT int cudaGLMapBufferObjectAsync(void **pointer, unsigned buffer, void *stream)
{
    uint64_t out[2];
    int status = pointer ? old_map(0, out, buffer, stream) : INVALID;
    if (!status) *pointer = address_of(out[0]);
    return graphics_status(0, status);
}
EXPORT int cudaGLMapBufferObject(void **pointer, unsigned buffer) { return cudaGLMapBufferObjectAsync(pointer, buffer, 0); }
EXPORT int cudaGLUnmapBufferObjectAsync(unsigned buffer, void *stream) { return graphics_status(0, old_unmap(0, buffer, stream)); }
EXPORT int cudaGLUnmapBufferObject(unsigned buffer) { return cudaGLUnmapBufferObjectAsync(buffer, 0); }

/* --- the driver's ------------------------------------------------------------------------------------------------------------ */
EXPORT int cuGLGetDevices(unsigned *count, int *devices, unsigned most, int list)
{
    (void)list;
    return driver_status(one_device(count, devices, most));
}
EXPORT int cuGLCtxCreate(void **context, unsigned flags, int device_number) { return cuCtxCreate(context, flags, device_number); }
EXPORT int cuGLCtxCreate_v2(void **context, unsigned flags, int device_number) { return cuCtxCreate_v2(context, flags, device_number); }
EXPORT int cuGraphicsGLRegisterBuffer(void **resource, unsigned buffer, unsigned flags)
{
    uint64_t made = 0;
    return finish_register(1, resource ? register_buffer(1, &made, buffer, flags) : INVALID, resource, &made);
}
EXPORT int cuGraphicsGLRegisterImage(void **resource, unsigned image, unsigned target, unsigned flags)
{
    uint64_t made = 0;
    return finish_register(1, resource ? register_image(1, &made, image, target, flags) : INVALID, resource, &made);
}
EXPORT int cuGraphicsUnregisterResource(void *resource)
{
    return driver_status(with_resource(1, OP_graphics_unregister, resource, 0));
}
EXPORT int cuGraphicsResourceSetMapFlags(void *resource, unsigned flags)
{
    return driver_status(with_resource(1, OP_graphics_flags, resource, flags));
}
EXPORT int cuGraphicsMapResources(unsigned count, void **resources, void *stream)
{
    return each(map_one, 1, count, resources, stream);
}
EXPORT int cuGraphicsUnmapResources(unsigned count, void **resources, void *stream)
{
    return each(unmap_one, 1, count, resources, stream);
}
static int driver_pointer(int status, const uint64_t out[2], void *address, void *size, size_t width)
{
    if (!status && address) memcpy(address, out, width); /* little endian: the lower bytes */
    if (!status && size) memcpy(size, out + 1, width);
    return graphics_status(1, status);
}
EXPORT int cuGraphicsResourceGetMappedPointer(unsigned *address, unsigned *size, void *resource)
{
    uint64_t out[2];
    return driver_pointer(address ? mapped_pointer(1, address_number(resource), out) : INVALID, out, address, size, 4);
}
EXPORT int cuGraphicsResourceGetMappedPointer_v2(size_t *address, size_t *size, void *resource)
{
    uint64_t out[2];
    return driver_pointer(address ? mapped_pointer(1, address_number(resource), out) : INVALID, out, address, size, sizeof *size);
}
EXPORT int cuGraphicsSubResourceGetMappedArray(void **array_handle, void *resource, unsigned index, unsigned level)
{
    return driver_status(mapped_array(1, array_handle, resource, index, level));
}
EXPORT int cuGLRegisterBufferObject(unsigned buffer) { return graphics_status(1, old_register(1, buffer)); }
EXPORT int cuGLUnregisterBufferObject(unsigned buffer) { return graphics_status(1, old_unregister(1, buffer)); }
EXPORT int cuGLSetBufferObjectMapFlags(unsigned buffer, unsigned flags) { return graphics_status(1, old_flags(1, buffer, flags)); }
EXPORT int cuGLMapBufferObjectAsync(unsigned *address, unsigned *size, unsigned buffer, void *stream)
{
    uint64_t out[2];
    return driver_pointer(address ? old_map(1, out, buffer, stream) : INVALID, out, address, size, 4);
}
EXPORT int cuGLMapBufferObjectAsync_v2(size_t *address, size_t *size, unsigned buffer, void *stream)
{
    uint64_t out[2];
    return driver_pointer(address ? old_map(1, out, buffer, stream) : INVALID, out, address, size, sizeof *size);
}
EXPORT int cuGLMapBufferObject(unsigned *address, unsigned *size, unsigned buffer)
{
    return cuGLMapBufferObjectAsync(address, size, buffer, 0);
}
EXPORT int cuGLMapBufferObject_v2(size_t *address, size_t *size, unsigned buffer)
{
    return cuGLMapBufferObjectAsync_v2(address, size, buffer, 0);
}
EXPORT int cuGLUnmapBufferObjectAsync(unsigned buffer, void *stream) { return graphics_status(1, old_unmap(1, buffer, stream)); }
EXPORT int cuGLUnmapBufferObject(unsigned buffer) { return cuGLUnmapBufferObjectAsync(buffer, 0); }

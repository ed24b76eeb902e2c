/* Launches, memory that both sides see, arrays and textures of the runtime. */
#include "isakit.h"

#include <sys/mman.h>
#include <unistd.h>

/* --- launches ------------------------------------------------------------------------------------------------------- */
#define DEEPEST 16
#define ARGUMENT_BYTES 4096

static __thread struct launch {
    struct dim3 grid, block;
    size_t shared, length;
    uint64_t stream;
    unsigned char arguments[ARGUMENT_BYTES];
} *launches;
static __thread int depth;

EXPORT int cudaConfigureCall(struct dim3 grid, struct dim3 block, size_t shared, void *stream)
{
    if (!launches) launches = malloc(DEEPEST * sizeof *launches);
    if (!launches || depth == DEEPEST) return runtime_status(NO_MEMORY);
    struct launch *l = launches + depth++;
    l->grid = grid, l->block = block, l->shared = shared, l->length = 0, l->stream = handle_number(stream);
    memset(l->arguments, 0, sizeof l->arguments);
    return 0;
}

EXPORT int cudaSetupArgument(const void *argument, size_t size, size_t offset)
{
    if (!depth) return runtime_status(1);
    struct launch *l = launches + depth - 1;
    if (size > ARGUMENT_BYTES || offset > ARGUMENT_BYTES - size) return runtime_status(INVALID);
    memcpy(l->arguments + offset, argument, size);
    if (l->length < offset + size) l->length = offset + size;
    return 0;
}

static int launch(uint64_t driver, uint64_t function, const struct launch *l)
{
    const uint64_t in[] = {driver,     function,   l->stream,  l->grid.x,  l->grid.y,
                           l->grid.z,  l->block.x, l->block.y, l->block.z, l->shared};
    struct request r = {OP_launch, in, sizeof in / sizeof *in, l->arguments, l->length, 0, 0, 0, 0, 0};
    return ask(&r);
}

static int function_number(const void *function, uint64_t *number)
{
    int status = entry_number(FUNCTION, function, number);
    return status == NO_SYMBOL ? 8 : status;
}

EXPORT int cudaLaunch(const void *function)
{
    if (!depth) return runtime_status(1);
    struct launch *l = launches + --depth;
    uint64_t number;
    int status = function_number(function, &number);
    if (!status) status = send_texture_states();
    return runtime_status(status ? status : launch(0, number, l));
}

/* Parameters of such a launch are an array of pointers; how long each is, the module says. */
static int gather(struct launch *l, uint64_t driver, uint64_t function, void **parameters, void **extra)
{
    l->length = 0;
    if (extra) {
        void *data = 0;
        size_t size = 0;
        for (; extra[0]; extra += 2) {
            if (extra[0] == (void *)1) data = extra[1];
            else if (extra[0] == (void *)2) size = *(size_t *)extra[1];
            else return INVALID;
        }
        if (size > ARGUMENT_BYTES || (size && !data)) return INVALID;
        if (size) memcpy(l->arguments, data, size);
        l->length = size;
        return 0;
    }
    uint32_t table[128];
    const uint64_t in[] = {driver, function};
    struct request r = {OP_parameters, in, 2, 0, 0, 0, 0, table, sizeof table, 0};
    int status = ask(&r);
    if (status) return status;
    for (size_t k = 0; k < r.back_length / 8; k++) {
        size_t at = table[2 * k], size = table[2 * k + 1];
        if (!parameters || !parameters[k] || size > ARGUMENT_BYTES || at > ARGUMENT_BYTES - size) return INVALID;
        memcpy(l->arguments + at, parameters[k], size);
        if (l->length < at + size) l->length = at + size;
    }
    return 0;
}

EXPORT int cuLaunchKernel(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared, void *stream, void **parameters,
                          void **extra)
{
    struct launch l = {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, 0, handle_number(stream), {0}};
    int status = gather(&l, 1, address_number(function), parameters, extra);
    return driver_status(status ? status : launch(1, address_number(function), &l));
}

/* Later forms of what is above, whose additions need later chips. */
#define NOT_SUPPORTED 801
EXPORT int cuLaunchKernelEx(const struct launch_config *c, void *function, void **parameters, void **extra)
{
    if (!c) return driver_status(INVALID);
    if (c->count) {
        refuse("cuLaunchKernelEx", "attributes of a launch need later chips");
        return driver_status(NOT_SUPPORTED);
    }
    return cuLaunchKernel(function, c->grid.x, c->grid.y, c->grid.z, c->block.x, c->block.y, c->block.z, c->shared,
                          c->stream, parameters, extra);
}

EXPORT int cuCtxCreate_v3(void **context, void *affinity, int count, unsigned flags, int device)
{
    if (affinity || count) {
        refuse("cuCtxCreate_v3", "parts of a device need sm_60");
        return driver_status(NOT_SUPPORTED);
    }
    return cuCtxCreate_v2(context, flags, device);
}

EXPORT int cuCtxCreate_v4(void **context, void *parameters, unsigned flags, int device)
{
    return cuCtxCreate_v3(context, parameters, 0, flags, device);
}

/* The launches of compilers since CUDA 7: an array of pointers, and since 9.2 a configuration that the stub fetches. */
EXPORT int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments, size_t shared,
                            void *stream)
{
    uint64_t number;
    struct launch l = {grid, block, shared, 0, handle_number(stream), {0}};
    int status = function_number(function, &number);
    if (!status) status = gather(&l, 0, number, arguments, 0);
    if (!status) status = send_texture_states();
    return runtime_status(status ? status : launch(0, number, &l));
}

EXPORT unsigned __cudaPushCallConfiguration(struct dim3 grid, struct dim3 block, size_t shared, void *stream)
{
    return (unsigned)cudaConfigureCall(grid, block, shared, stream);
}

EXPORT int __cudaPopCallConfiguration(struct dim3 *grid, struct dim3 *block, size_t *shared, void *stream)
{
    if (!depth) return runtime_status(1);
    const struct launch *l = launches + --depth;
    void *handle = address_of(l->stream);
    *grid = l->grid, *block = l->block, *shared = l->shared;
    memcpy(stream, &handle, sizeof handle);
    return 0;
}

struct attributes { size_t shared, constant, local; int threads, registers, ptx, binary; };

EXPORT int cudaFuncGetAttributes(void *attributes, const void *function)
{
    uint64_t number, out[7];
    if (!attributes) return runtime_status(INVALID);
    int status = function_number(function, &number);
    const uint64_t in[] = {0, number};
    if (!status) status = say(OP_attributes, in, 2, out, 7);
    if (status) return runtime_status(status);
    struct attributes a = {out[0], out[1], out[2], (int)out[3], (int)out[4], (int)out[5], (int)out[6]};
    memcpy(attributes, &a, sizeof a);
    return 0;
}

/* There is no cache to divide and one width of banks: a valid function is all that is asked for. */
EXPORT int cudaFuncSetCacheConfig(const void *function, int config)
{
    uint64_t number;
    (void)config;
    return runtime_status(function_number(function, &number));
}
EXPORT int cudaFuncSetSharedMemConfig(const void *function, int config)
{
    return cudaFuncSetCacheConfig(function, config);
}

EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *function, int size, size_t shared)
{
    uint64_t number, out;
    if (!blocks) return runtime_status(INVALID);
    int status = function_number(function, &number);
    const uint64_t in[] = {number, (uint64_t)size, shared};
    if (!status) status = say(OP_occupancy, in, 3, &out, 1);
    if (!status) *blocks = (int)out;
    return runtime_status(status);
}
EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *function, int size,
                                                                  size_t shared, unsigned flags)
{
    (void)flags;
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, size, shared);
}

/* The largest block with the best occupancy; as many blocks as then fill the chip. */
EXPORT int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *function, size_t (*shared_of)(int),
                                            size_t shared, int limit)
{
    int best = 0, most, processors;
    int status = grid && block ? cuFuncGetAttribute(&most, 0, function) : INVALID;
    if (!status) status = cuDeviceGetAttribute(&processors, 16, 0);
    if (!status && limit > 0 && limit < most) most = limit;
    for (int size = most; !status && size > 0; size = size % 32 ? size - size % 32 : size - 32) {
        int blocks;
        status = cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, size, shared_of ? shared_of(size) : shared);
        if (!status && blocks * size > best) best = blocks * size, *block = size, *grid = blocks * processors;
    }
    return driver_status(status);
}

EXPORT int cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block, void *function, size_t (*shared_of)(int),
                                                     size_t shared, int limit, unsigned flags)
{
    if (flags & ~1u) return driver_status(INVALID);
    return cuOccupancyMaxPotentialBlockSize(grid, block, function, shared_of, shared, limit);
}

/* Work is done when a call returns, so a callback is due at once. */
EXPORT int cuLaunchHostFunc(void *stream, void (*function)(void *), void *data)
{
    uint64_t in = address_number(stream);
    int status = function ? say(OP_cuStreamSynchronize, &in, 1, 0, 0) : INVALID;
    if (!status) function(data);
    return driver_status(status);
}
EXPORT int cudaStreamAddCallback(void *stream, void (*callback)(void *, int, void *), void *data, unsigned flags)
{
    (void)flags;
    uint64_t in = handle_number(stream);
    int status = callback ? say(OP_cudaStreamSynchronize, &in, 1, 0, 0) : INVALID;
    if (!status) callback(stream, 0, data);
    return runtime_status(status);
}
EXPORT int cuStreamAddCallback(void *stream, void (*callback)(void *, int, void *), void *data, unsigned flags)
{
    (void)flags;
    uint64_t in = address_number(stream);
    int status = callback ? say(OP_cuStreamSynchronize, &in, 1, 0, 0) : INVALID;
    if (!status) callback(stream, 0, data);
    return driver_status(status);
}

/* --- memory of the host that the device sees -------------------------------------------------------------------------- */
#define MOST_REGISTERED 256
static struct registered { unsigned char *host; size_t size; uint64_t offset; int aliased; } registered[MOST_REGISTERED];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

uint64_t mapped_number(const void *host)
{
    const unsigned char *p = host;
    if (window.base && p >= window.base && p < window.base + window.size) return (uint64_t)(p - window.base);
    uint64_t found = UINT64_MAX;
    pthread_mutex_lock(&lock);
    for (int k = 0; k < MOST_REGISTERED; k++) {
        struct registered *r = registered + k;
        if (r->aliased && p >= r->host && p < r->host + r->size) found = r->offset + (uint64_t)(p - r->host);
    }
    pthread_mutex_unlock(&lock);
    return found;
}

void *mapped_address(uint64_t offset)
{
    device_memory_shown();
    return offset < window.size ? window.base + offset : 0;
}

/* Put the device's file in the place of pages of the program, or the program's own memory back; contents stay.
 * What holds them meanwhile does not come from malloc: it could lie in these very pages. */
static int to_device_file(unsigned char *first, size_t length, uint64_t offset)
{
    memcpy(window.base + offset, first, length);
    void *now = mmap(first, length, PROT_READ | PROT_WRITE, MAP_FIXED | MAP_SHARED, window.file, (off_t)offset);
    return now == MAP_FAILED ? NO_MEMORY : 0;
}

static int to_own_memory(unsigned char *first, size_t length)
{
    void *own = mmap(0, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED) return NO_MEMORY;
    memcpy(own, first, length);
    if (mremap(own, length, length, MREMAP_MAYMOVE | MREMAP_FIXED, first) != MAP_FAILED) return 0;
    munmap(own, length);
    return NO_MEMORY;
}

static struct registered *registered_at(const void *host)
{
    for (int k = 0; k < MOST_REGISTERED; k++)
        if (registered[k].size && registered[k].host == host) return registered + k;
    return 0;
}

static int overlaps(const unsigned char *host, size_t size)
{
    for (int k = 0; k < MOST_REGISTERED; k++)
        if (registered[k].size && host < registered[k].host + registered[k].size && registered[k].host < host + size)
            return 1;
    return 0;
}

enum { MAPPED = 2 };

static int register_host(unsigned char *host, size_t size, unsigned flags)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = address_number(host) & ~(page - 1), end, offset = 0;
    if (!host || !size || __builtin_add_overflow(address_number(host), size + page - 1, &end)) return INVALID;
    end &= ~(page - 1);
    struct registered *free_place = 0;
    for (int k = 0; k < MOST_REGISTERED && !free_place; k++)
        if (!registered[k].size) free_place = registered + k;
    if (!free_place) return NO_MEMORY;
    if (overlaps(host, size)) return 61; /* 712 in the driver interface */
    int aliased = (flags & MAPPED) != 0;
    uint64_t in[] = {UINT64_MAX, aliased ? end - start : 0, flags};
    int status = say(OP_pin, in, 3, &offset, 1);
    if (!status && aliased) {
        if (offset % page || offset >= window.size || end - start > window.size - offset) return LOST;
        device_memory_shown();
        status = to_device_file((unsigned char *)(uintptr_t)start, end - start, offset);
        if (status) say(OP_unpin, &offset, 1, in, 2);
    }
    if (!status) *free_place = (struct registered){host, size, offset + (address_number(host) - start), aliased};
    return status;
}

static int unregister_host(unsigned char *host)
{
    struct registered *r = registered_at(host);
    if (!r) return 62;
    int status = 0;
    if (r->aliased) {
        uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = address_number(host) & ~(page - 1), out[2];
        uint64_t end = (address_number(host) + r->size + page - 1) & ~(page - 1);
        status = to_own_memory((unsigned char *)(uintptr_t)start, end - start);
        uint64_t offset = r->offset - (address_number(host) - start);
        if (!status) status = say(OP_unpin, &offset, 1, out, 2);
    }
    r->size = 0, r->aliased = 0;
    return status;
}

static int with_lock(int add, void *host, size_t size, unsigned flags)
{
    pthread_mutex_lock(&lock);
    int status = add ? register_host(host, size, flags) : unregister_host(host);
    pthread_mutex_unlock(&lock);
    return status;
}
static int driver_code(int status) { return status == 61 ? 712 : status == 62 ? 713 : driver_status(status); }

EXPORT int cudaHostRegister(void *host, size_t size, unsigned flags)
{
    return runtime_status(with_lock(1, host, size, flags));
}
EXPORT int cudaHostUnregister(void *host) { return runtime_status(with_lock(0, host, 0, 0)); }
EXPORT int cuMemHostRegister(void *host, size_t size, unsigned flags) { return driver_code(with_lock(1, host, size, flags)); }
EXPORT int cuMemHostRegister_v2(void *host, size_t size, unsigned flags)
{
    return driver_code(with_lock(1, host, size, flags));
}
EXPORT int cuMemHostUnregister(void *host) { return driver_code(with_lock(0, host, 0, 0)); }

EXPORT int cudaMalloc3D(struct pitched_ptr *p, struct extent extent)
{
    const uint64_t in[] = {extent.width, extent.height, extent.depth};
    uint64_t out[2];
    int status = p ? say(OP_pitched, in, 3, out, 2) : INVALID;
    if (!status) *p = (struct pitched_ptr){address_of(out[0]), out[1], extent.width, extent.height};
    return runtime_status(status);
}

/* --- arrays and textures --------------------------------------------------------------------------------------------- */
EXPORT struct channel cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
    return (struct channel){x, y, z, w, kind};
}

EXPORT int cudaMalloc3DArray(void **array_handle, const struct channel *desc, struct extent extent, unsigned flags)
{
    if (!array_handle || !desc) return runtime_status(INVALID);
    const uint64_t in[] = {extent.width, extent.height, extent.depth, flags};
    uint64_t out;
    struct request r = {OP_box_array, in, 4, desc, sizeof *desc, &out, 1, 0, 0, 0};
    int status = ask(&r);
    if (!status) *array_handle = address_of(out);
    return runtime_status(status);
}

EXPORT int cudaArrayGetInfo(struct channel *desc, struct extent *extent, unsigned *flags, void *array_handle)
{
    uint64_t in = address_number(array_handle), out[4];
    struct channel back;
    struct request r = {OP_array_info, &in, 1, 0, 0, out, 4, &back, sizeof back, 0};
    int status = ask(&r);
    if (!status && r.back_length != sizeof back) status = LOST;
    if (status) return runtime_status(status);
    if (desc) *desc = back;
    if (extent) *extent = (struct extent){out[0], out[1], out[2]};
    if (flags) *flags = (unsigned)out[3];
    return 0;
}

enum { UNBOUND, BUFFER, PLANE, ARRAY };

static int bind(size_t *offset, const struct texture_reference *texture, const struct channel *desc, uint64_t what,
                uint64_t at, uint64_t width, uint64_t height, uint64_t pitch)
{
    uint64_t number, back = 0;
    if (!texture) return 18;
    int status = entry_number(TEXTURE, texture, &number);
    if (status) return status == NO_SYMBOL ? 18 : status;
    int32_t state[10] = {texture->normalized, texture->filter, texture->mode[0], texture->mode[1], texture->mode[2]};
    if (!desc) desc = &texture->channel;
    memcpy(state + 5, desc, sizeof *desc);
    const uint64_t in[] = {number, what, at, width, height, pitch};
    struct request r = {OP_bind, in, 6, state, sizeof state, &back, 1, 0, 0, 0};
    status = ask(&r);
    if (!status) texture_bound(texture, what == UNBOUND ? 0 : state);
    if (!status && offset) *offset = back;
    else if (!status && back) return 11; /* the kernel would have to know the offset */
    return status;
}

EXPORT int cudaBindTexture(size_t *offset, const struct texture_reference *texture, const void *address,
                           const struct channel *desc, size_t size)
{
    return runtime_status(bind(offset, texture, desc, BUFFER, address_number(address), size, 0, 0));
}
EXPORT int cudaBindTexture2D(size_t *offset, const struct texture_reference *texture, const void *address,
                             const struct channel *desc, size_t width, size_t height, size_t pitch)
{
    return runtime_status(bind(offset, texture, desc, PLANE, address_number(address), width, height, pitch));
}
EXPORT int cudaBindTextureToArray(const struct texture_reference *texture, void *array_handle, const struct channel *desc)
{
    return runtime_status(bind(0, texture, desc, ARRAY, address_number(array_handle), 0, 0, 0));
}
EXPORT int cudaUnbindTexture(const struct texture_reference *texture)
{
    return runtime_status(bind(0, texture, 0, UNBOUND, 0, 0, 0, 0));
}
EXPORT int cudaGetTextureAlignmentOffset(size_t *offset, const struct texture_reference *texture)
{
    uint64_t number, out;
    if (!offset) return runtime_status(INVALID);
    int status = entry_number(TEXTURE, texture, &number);
    if (status == NO_SYMBOL) status = 18;
    if (!status) status = say(OP_texture_offset, &number, 1, &out, 1);
    if (!status) *offset = out;
    return runtime_status(status);
}
EXPORT int cudaGetTextureReference(const struct texture_reference **texture, const void *key)
{
    uint64_t number;
    int status = texture ? entry_number(TEXTURE, key, &number) : INVALID;
    if (status == NO_SYMBOL && address_number(key) >= 4096 && (key = texture_named(key)))
        status = entry_number(TEXTURE, key, &number);
    if (!status) *texture = key;
    return runtime_status(status == NO_SYMBOL ? 18 : status);
}

/* --- the device's name and properties ---------------------------------------------------------------------------------- */
/* The structure has grown with every version: no more is written than the program's own has room for. */
static size_t property_bytes(void)
{
    static const struct { const char *end; size_t size; } sizes[] = {
        {".so.2", 512}, {".so.3", 520}, {".so.4", 568}, {".so.5.0", 584}, {".so.5.5", 584}};
    const char *name = runtime_name();
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        if (strstr(name, sizes[k].end)) return sizes[k].size;
    return 632;
}

EXPORT int cudaGetDeviceProperties(void *properties, int device_number)
{
    unsigned char back[632];
    uint64_t in = (uint64_t)(int64_t)device_number;
    struct request r = {OP_properties, &in, 1, 0, 0, 0, 0, back, property_bytes(), 0};
    int status = properties ? ask(&r) : INVALID;
    if (!status) memcpy(properties, back, r.back_length);
    return runtime_status(status);
}

EXPORT int cuDeviceGetName(char *name, int length, int device_number)
{
    char text[256];
    uint64_t in = (uint64_t)(int64_t)device_number;
    struct request r = {OP_device_name, &in, 1, 0, 0, 0, 0, text, sizeof text - 1, 0};
    if (!name || length < 1) return driver_status(INVALID);
    int status = ask(&r);
    if (status) return driver_status(status);
    text[r.back_length] = 0;
    snprintf(name, (size_t)length, "%s", text);
    return 0;
}

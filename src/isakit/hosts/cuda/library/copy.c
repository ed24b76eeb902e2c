/* Copies and fills: the server says where the device's side of a copy lies, the bytes are moved here. */
#include "isakit.h"

static int on_device(enum place p) { return p == ON_DEVICE || p == IN_ARRAY || p == IN_SYMBOL; }

/* Which sides a runtime copy kind means; arrays and symbols are on the device whatever it says. */
static int direct(struct side *to, struct side *from, int kind)
{
    if (kind == FIXED) return 0;
    if (kind < HOST_TO_HOST || kind > DEVICE_TO_DEVICE) return DIRECTION;
    int to_device = kind & 1, from_device = kind >> 1 & 1;
    if ((on_device(to->place) && !to_device) || (on_device(from->place) && !from_device)) return DIRECTION;
    if (to->place == BY_KIND) to->place = to_device ? ON_DEVICE : ON_HOST;
    if (from->place == BY_KIND) from->place = from_device ? ON_DEVICE : ON_HOST;
    return 0;
}

static int resolve_symbol(struct side *side)
{
    return side->place == IN_SYMBOL ? entry_number(VARIABLE, side->host, &side->at) : 0;
}

/* A side as bytes in this process: where it starts, and how far rows and slices are apart. */
struct bytes { unsigned char *start; uint64_t pitch, slice; };

static int in_window(struct bytes *b, uint64_t at, uint64_t width, uint64_t height, uint64_t depth)
{
    uint64_t rows, slices, end;
    if (__builtin_mul_overflow(b->pitch, height - 1, &rows) || __builtin_mul_overflow(b->slice, depth - 1, &slices)
        || __builtin_add_overflow(rows, slices, &end) || __builtin_add_overflow(end, at, &end)
        || __builtin_add_overflow(end, width, &end) || end > window.size)
        return LOST; /* the server has agreed to something that is not there */
    b->start = window.base + at;
    return 0;
}

static int on_host(struct bytes *b, const struct side *s, uint64_t width, uint64_t height, uint64_t depth)
{
    if (address_number(s->host) < 4096) return INVALID;
    b->pitch = s->pitch == UINT64_MAX ? width : s->pitch;
    if (height > 1 && b->pitch < width) return PITCH;
    uint64_t rows = s->rows ? s->rows : height, end;
    if (__builtin_mul_overflow(b->pitch, rows, &b->slice) || __builtin_mul_overflow(b->slice, depth, &end)
        || end > (uint64_t)1 << 47)
        return INVALID;
    b->start = (unsigned char *)(uintptr_t)s->host + s->x + s->y * b->pitch + s->z * b->slice;
    return 0;
}

static void fill_row(unsigned char *to, uint64_t width, uint64_t value, uint64_t size)
{
    if (size == 1) memset(to, (int)(value & 255), width);
    else
        for (uint64_t k = 0; k + size <= width; k += size) memcpy(to + k, &value, size);
}

int move_in_stream(uint64_t stream, unsigned op, struct side to, struct side from, uint64_t width, uint64_t height,
                   uint64_t depth, int kind)
{
    int status = direct(&to, &from, kind);
    if (status) return status;
    if ((status = resolve_symbol(&to)) || (status = resolve_symbol(&from))) return status;
    uint64_t out[6] = {0};
    if (on_device(to.place) || on_device(from.place)) {
        const uint64_t in[] = {
            op, stream, (uint64_t)(int64_t)kind, width, height, depth,
            to.place, to.place == ON_HOST ? 0 : to.at, to.x, to.y, to.z, to.pitch, to.rows,
            from.place, from.place == ON_HOST ? 0 : from.at, from.x, from.y, from.z, from.pitch, from.rows};
        status = say(OP_copy, in, sizeof in / sizeof *in, out, 6);
        if (status) return status;
    }
    if (!width || !height || !depth) return 0;
    struct bytes t = {0, out[1], out[2]}, f = {0, out[3 + 1], out[3 + 2]};
    status = to.place == ON_HOST ? on_host(&t, &to, width, height, depth) : in_window(&t, out[0], width, height, depth);
    if (status) return status;
    if (from.place == ON_HOST) status = on_host(&f, &from, width, height, depth);
    else if (from.place != VALUE) status = in_window(&f, out[3], width, height, depth);
    if (status) return status;
    for (uint64_t z = 0; z < depth; z++)
        for (uint64_t y = 0; y < height; y++) {
            unsigned char *row = t.start + z * t.slice + y * t.pitch;
            if (from.place == VALUE) fill_row(row, width, from.at, from.pitch);
            else memmove(row, f.start + z * f.slice + y * f.pitch, width);
        }
    return 0;
}

/* --- boxes of the runtime ------------------------------------------------------------------------------------------- */
static struct side runtime_side(void *array_handle, struct position at, const struct pitched_ptr *p)
{
    if (array_handle) return (struct side){IN_ARRAY, 0, address_number(array_handle), at.x, at.y, at.z, 0, 0};
    return (struct side){BY_KIND, p->ptr, address_number(p->ptr), at.x, at.y, at.z, p->pitch, p->rows};
}

/* Where an array takes part, width and its own x count elements, whose size only the server knows. */
static int copy_3d(unsigned op, const struct copy_3d *p)
{
    if (!p || (p->to_array && p->to.ptr) || (p->from_array && p->from.ptr)) return INVALID;
    struct side to = runtime_side(p->to_array, p->to_at, &p->to), from = runtime_side(p->from_array, p->from_at, &p->from);
    uint64_t element = 1;
    const void *counted = p->to_array ? p->to_array : p->from_array;
    if (counted) {
        uint64_t in = address_number(counted);
        int status = say(OP_element, &in, 1, &element, 1);
        if (status) return status;
        if (element == 0 || element > 16) return LOST;
    }
    if (to.place == IN_ARRAY) to.x *= element;
    if (from.place == IN_ARRAY) from.x *= element;
    return move_bytes(op, to, from, times(p->extent.width, element), p->extent.height, p->extent.depth, p->kind);
}

EXPORT int cudaMemcpy3D(const struct copy_3d *p) { return runtime_status(copy_3d(OP_cudaMemcpy3D, p)); }
EXPORT int cudaMemcpy3DAsync(const struct copy_3d *p, void *stream)
{
    (void)stream;
    return runtime_status(copy_3d(OP_cudaMemcpy3D, p));
}

EXPORT int cudaMemset3D(struct pitched_ptr p, int value, struct extent extent)
{
    struct side to = {ON_DEVICE, 0, address_number(p.ptr), 0, 0, 0, p.pitch, p.rows};
    return runtime_status(
        move_bytes(OP_cudaMemset3D, to, fill((uint64_t)value, 1), extent.width, extent.height, extent.depth, FIXED));
}
EXPORT int cudaMemset3DAsync(struct pitched_ptr p, int value, struct extent extent, void *stream)
{
    (void)stream;
    return cudaMemset3D(p, value, extent);
}

static int peer(void *to, int to_device, const void *from, int from_device, size_t count)
{
    if (to_device || from_device) return 10;
    return move_bytes(OP_cudaMemcpyPeer, device(to), device(from), count, 1, 1, FIXED);
}
EXPORT int cudaMemcpyPeer(void *to, int to_device, const void *from, int from_device, size_t count)
{
    return runtime_status(peer(to, to_device, from, from_device, count));
}
EXPORT int cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t count, void *stream)
{
    (void)stream;
    return runtime_status(peer(to, to_device, from, from_device, count));
}

/* --- boxes of the driver -------------------------------------------------------------------------------------------- */
enum { MEMORY_HOST = 1, MEMORY_DEVICE, MEMORY_ARRAY };

static struct side driver_side(const struct box *b)
{
    enum place place = b->what == MEMORY_HOST ? ON_HOST : b->what == MEMORY_DEVICE ? ON_DEVICE : IN_ARRAY;
    uint64_t at = b->what == MEMORY_DEVICE ? b->device : address_number(b->array);
    uint64_t pitch = b->pitch ? b->pitch : UINT64_MAX;
    return (struct side){place, b->host, at, b->x, b->y, b->z, pitch, b->rows};
}

static int copy_box(unsigned op, const struct copy_box *c)
{
    if (c->to.what < MEMORY_HOST || c->to.what > MEMORY_ARRAY || c->from.what < MEMORY_HOST || c->from.what > MEMORY_ARRAY)
        return INVALID;
    return move_bytes(op, driver_side(&c->to), driver_side(&c->from), c->width, c->height, c->depth, FIXED);
}

static struct box box_of_plane(const struct plane *p)
{
    return (struct box){p->x, p->y, 0, 0, p->what, p->host, p->device, p->array, 0, p->pitch, 0};
}
static struct plane newer_plane(const struct plane_old *p)
{
    return (struct plane){p->x, p->y, p->what, p->host, p->device, p->array, p->pitch};
}
static struct box newer_box(const struct box_old *b)
{
    return (struct box){b->x, b->y, b->z, b->level, b->what, b->host, b->device, b->array, 0, b->pitch, b->rows};
}
static int copy_plane(const struct copy_2d *c)
{
    if (!c) return INVALID;
    struct copy_box box = {box_of_plane(&c->from), box_of_plane(&c->to), c->width, c->height, 1};
    return copy_box(OP_cuMemcpy2D_v2, &box);
}
static int copy_plane_old(const struct copy_2d_old *c)
{
    if (!c) return INVALID;
    struct copy_2d newer = {newer_plane(&c->from), newer_plane(&c->to), c->width, c->height};
    return copy_plane(&newer);
}
static int copy_box_old(const struct copy_box_old *c)
{
    if (!c) return INVALID;
    struct copy_box newer = {newer_box(&c->from), newer_box(&c->to), c->width, c->height, c->depth};
    return copy_box(OP_cuMemcpy3D_v2, &newer);
}

EXPORT int cuMemcpy2D(const struct copy_2d_old *c) { return driver_status(copy_plane_old(c)); }
EXPORT int cuMemcpy2DUnaligned(const struct copy_2d_old *c) { return driver_status(copy_plane_old(c)); }
EXPORT int cuMemcpy2DAsync(const struct copy_2d_old *c, void *s) { (void)s; return driver_status(copy_plane_old(c)); }
EXPORT int cuMemcpy2D_v2(const struct copy_2d *c) { return driver_status(copy_plane(c)); }
EXPORT int cuMemcpy2DUnaligned_v2(const struct copy_2d *c) { return driver_status(copy_plane(c)); }
EXPORT int cuMemcpy2DAsync_v2(const struct copy_2d *c, void *s) { (void)s; return driver_status(copy_plane(c)); }
EXPORT int cuMemcpy3D(const struct copy_box_old *c) { return driver_status(copy_box_old(c)); }
EXPORT int cuMemcpy3DAsync(const struct copy_box_old *c, void *s) { (void)s; return driver_status(copy_box_old(c)); }
EXPORT int cuMemcpy3D_v2(const struct copy_box *c) { return driver_status(c ? copy_box(OP_cuMemcpy3D_v2, c) : INVALID); }
EXPORT int cuMemcpy3DAsync_v2(const struct copy_box *c, void *s)
{
    (void)s;
    return driver_status(c ? copy_box(OP_cuMemcpy3D_v2, c) : INVALID);
}

/* --- symbols --------------------------------------------------------------------------------------------------------- */
static int where(const void *key, uint64_t out[2])
{
    uint64_t number;
    int status = entry_number(VARIABLE, key, &number);
    return status ? status : say(OP_where, &number, 1, out, 2);
}
EXPORT int cudaGetSymbolAddress(void **address, const void *key)
{
    uint64_t out[2];
    int status = address ? where(key, out) : INVALID;
    if (!status) *address = address_of(out[0]);
    return runtime_status(status);
}
EXPORT int cudaGetSymbolSize(size_t *size, const void *key)
{
    uint64_t out[2];
    int status = size ? where(key, out) : INVALID;
    if (!status) *size = out[1];
    return runtime_status(status);
}

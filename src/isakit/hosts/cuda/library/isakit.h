/* The libraries libcudart and libcuda of `isakit cuda`: what their parts share.
 *
 * A call becomes a message to the process that simulates the chip. Bytes of copies never travel: the memory of the
 * device is a file that both processes map. Nothing that the other side says is taken on trust.
 */
#ifndef ISAKIT_H
#define ISAKIT_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#define _FILE_OFFSET_BITS 64 /* in programs of 32 bits, too */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* Negative results are our own; `runtime_status` and `driver_status` turn them into codes of the interface. */
enum { LOST = -1, NO_SERVER = -2, FORKED = -3, INVALID = -4, DIRECTION = -5, PITCH = -6, NO_SYMBOL = -7, NO_MEMORY = -8 };

struct dim3 { unsigned x, y, z; };
struct extent { size_t width, height, depth; };
struct position { size_t x, y, z; };
struct pitched_ptr { void *ptr; size_t pitch, width, rows; };
struct channel { int x, y, z, w, kind; };
struct texture_reference { int normalized, filter, mode[3]; struct channel channel; };
struct copy_3d {
    void *from_array; struct position from_at; struct pitched_ptr from;
    void *to_array; struct position to_at; struct pitched_ptr to;
    struct extent extent; int kind;
};
/* The descriptions of the driver interface: `old` with 32-bit sizes and device pointers, before CUDA 3.2. */
struct plane_old { unsigned x, y; int what; void *host; unsigned device; void *array; unsigned pitch; };
struct plane { size_t x, y; int what; void *host; uintptr_t device; void *array; size_t pitch; };
struct copy_2d_old { struct plane_old from, to; unsigned width, height; };
struct copy_2d { struct plane from, to; size_t width, height; };
struct box_old {
    unsigned x, y, z, level; int what; void *host; unsigned device; void *array, *reserved; unsigned pitch, rows;
};
struct box {
    size_t x, y, z, level; int what; void *host; uintptr_t device; void *array, *reserved; size_t pitch, rows;
};
struct copy_box_old { struct box_old from, to; unsigned width, height, depth; };
struct copy_box { struct box from, to; size_t width, height, depth; };

/* A launch with attributes, since CUDA 11.8. */
struct launch_config { struct dim3 grid, block; unsigned shared; void *stream, *attributes; unsigned count; };

struct complex32 { float x, y; };
struct complex64 { double x, y; };

struct export { const char *name; void (*function)(void); };
extern const struct export exports[];
#include "table.h"

/* --- transport.c: the connection ------------------------------------------------------------------------------- */
struct request {
    unsigned op;
    const uint64_t *in; unsigned in_count;
    const void *tail; size_t tail_length;
    uint64_t *out; unsigned out_count;
    void *back; size_t back_room, back_length;
};
extern struct device_window { unsigned char *base; uint64_t size; int file; } window;
int ask(struct request *request);
int say(unsigned op, const uint64_t *in, unsigned count, uint64_t *out, unsigned out_count);
int connected(void);
void look_for_printing(const void *image, size_t size);
void device_memory_shown(void);
const char *runtime_name(void);
void refuse(const char *name, const char *why);
int runtime_status(int status);
int driver_status(int status);
int cublas_status(int status);
int cufft_status(int status);
int curand_status(int status);

static inline uint64_t address_number(const void *p) { return (uint64_t)(uintptr_t)p; }
static inline void *address_of(uint64_t n) { return (void *)(uintptr_t)n; }
/* Streams and events are ints before CUDA 3.0: the upper half of their register says nothing. */
static inline uint64_t handle_number(const void *p) { return (uint32_t)(uintptr_t)p; }
void store_handle(void *place, uint64_t handle);
static inline uint64_t float_bits(float f) { uint32_t n; memcpy(&n, &f, 4); return n; }
static inline float float_of(uint32_t n) { float f; memcpy(&f, &n, 4); return f; }
static inline uint64_t double_bits(double f) { uint64_t n; memcpy(&n, &f, 8); return n; }
uint64_t mapped_number(const void *host);
void *mapped_address(uint64_t offset);

/* --- registry.c: what the program registers ---------------------------------------------------------------------- */
enum entry_kind { FUNCTION, VARIABLE, TEXTURE };
int entry_number(enum entry_kind kind, const void *key, uint64_t *number);
const void *texture_named(const char *name);
int send_modules(void);
void texture_bound(const void *key, const int32_t state[10]);
int send_texture_states(void);
enum image_kind { FAT_CONTAINER = 1, OLD_LIST, WHOLE_FILE };
int image_size(const void *image, size_t *size);
int load_image(const void *image, uint64_t *module);

/* --- copy.c: copies and fills ------------------------------------------------------------------------------------- */
enum place { BY_KIND, ON_HOST, ON_DEVICE, IN_ARRAY, IN_SYMBOL, VALUE };
enum { FIXED = -1, HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE };
struct side {
    enum place place; const void *host; uint64_t at, x, y, z, pitch, rows;
};
int move_in_stream(uint64_t stream, unsigned op, struct side to, struct side from, uint64_t width, uint64_t height,
                   uint64_t depth, int kind);
static inline int move_bytes(unsigned op, struct side to, struct side from, uint64_t width, uint64_t height,
                             uint64_t depth, int kind)
{
    return move_in_stream(0, op, to, from, width, height, depth, kind);
}

static inline struct side pitched(const void *p, uint64_t pitch)
{
    return (struct side){BY_KIND, p, address_number(p), 0, 0, 0, pitch, 0};
}
static inline struct side linear(const void *p) { return pitched(p, UINT64_MAX); }
static inline struct side host(const void *p)
{
    return (struct side){ON_HOST, p, 0, 0, 0, 0, UINT64_MAX, 0};
}
static inline struct side device_rows(uint64_t address, uint64_t pitch)
{
    return (struct side){ON_DEVICE, 0, address, 0, 0, 0, pitch, 0};
}
static inline struct side device_at(uint64_t address) { return device_rows(address, UINT64_MAX); }
static inline struct side device_pitched(const void *p, uint64_t pitch) { return device_rows(address_number(p), pitch); }
static inline struct side device(const void *p) { return device_at(address_number(p)); }
static inline struct side array(const void *handle, uint64_t x, uint64_t y)
{
    return (struct side){IN_ARRAY, 0, address_number(handle), x, y, 0, 0, 0};
}
static inline struct side symbol(const void *key, uint64_t offset)
{
    return (struct side){IN_SYMBOL, key, 0, offset, 0, 0, UINT64_MAX, 0};
}
static inline struct side fill(uint64_t value, uint64_t size)
{
    return (struct side){VALUE, 0, value, 0, 0, 0, size, 0};
}
static inline uint64_t times(uint64_t a, uint64_t b) { return a > UINT64_MAX / b ? UINT64_MAX : a * b; }

/* --- libraries.c: routines whose work the simulator does on the host -------------------------------------------------- */
int scalars_on_device(const void *handle);
uint64_t scalar_part(char type, const void *scalar, int part, int on_device);
int blas(unsigned op, const void *handle, int on_device, const uint64_t *in, size_t count, char type, void *result);

#endif

/* Windows of an X server: drivers ask the server for the card (DRI3) and hand it pictures as descriptors. Here the card is
 * the simulated one, and a picture becomes the content of an ordinary pixmap with the same name. All else (showing pixmaps,
 * events, sizes) is the server's own extension Present, which it must have.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

/* --- what of xcb is used; its headers need not be there ---------------------------------------------------------------- */
typedef struct { unsigned sequence; } cookie;
struct extension { const char *name; int global_id; };
struct extension_reply {
    uint8_t type, pad0; uint16_t sequence; uint32_t length; uint8_t present, opcode, first_event, first_error;
};
struct version_reply { uint8_t type, pad0; uint16_t sequence; uint32_t length, major, minor; };
struct open_reply { uint8_t type, count; uint16_t sequence; uint32_t length; uint8_t pad0[24]; int fd; };

/* The next function of a name, also where its library was opened by the driver alone. */
static void *next(const char *name)
{
    static const char *const libraries[] = {"libxcb.so.1", "libxcb-dri3.so.0", "libxcb-present.so.0", "libxcb-sync.so.1",
                                            "libEGL.so.1", "libxshmfence.so.1", 0};
    void *found = dlsym(RTLD_NEXT, name);
    for (int k = 0; found == NULL && libraries[k] != NULL; k++) {
        void *library = dlopen(libraries[k], RTLD_LAZY | RTLD_NOLOAD);
        if (library != NULL) {
            found = dlsym(library, name);
            dlclose(library);
        }
    }
    return found;
}
#define NEXT(type, name, parameters)                                                                                   \
    static type(*next_##name) parameters;                                                                              \
    if (next_##name == NULL) {                                                                                         \
        void *found = next(#name);                                                                                     \
        memcpy(&next_##name, &found, sizeof found);                                                                    \
    }
#define OURS (getenv("ISAKIT_DRM_SOCKET") != NULL)

/* --- the card of a display ------------------------------------------------------------------------------------------------ */
const struct extension_reply *xcb_get_extension_data(void *c, struct extension *wanted)
{
    static const struct extension_reply there = {.type = 1, .present = 1, .opcode = 255};
    NEXT(const struct extension_reply *, xcb_get_extension_data, (void *, struct extension *))
    if (OURS && strcmp(wanted->name, "DRI3") == 0)
        return &there;
    return next_xcb_get_extension_data(c, wanted);
}

cookie xcb_dri3_query_version(void *c, uint32_t major, uint32_t minor)
{
    (void)c, (void)major, (void)minor;
    return (cookie){0};
}

struct version_reply *xcb_dri3_query_version_reply(void *c, cookie asked, void **error)
{
    (void)c, (void)asked;
    struct version_reply *reply = calloc(1, sizeof *reply);
    if (error != NULL)
        *error = NULL;
    if (reply != NULL)
        reply->type = 1, reply->major = 1; /* 1.0: pictures of one plane, without modifiers */
    return reply;
}

cookie xcb_dri3_open(void *c, uint32_t drawable, uint32_t provider)
{
    (void)c, (void)drawable, (void)provider;
    return (cookie){0};
}

struct open_reply *xcb_dri3_open_reply(void *c, cookie asked, void **error)
{
    (void)c, (void)asked;
    if (error != NULL)
        *error = NULL;
    int fd = session_open();
    if (fd == 0)
        fd = session_node();
    struct open_reply *reply = fd < 0 ? NULL : calloc(1, sizeof *reply);
    if (reply != NULL)
        reply->type = 1, reply->count = 1, reply->fd = fd;
    return reply;
}

int *xcb_dri3_open_reply_fds(void *c, struct open_reply *reply)
{
    (void)c;
    return &reply->fd;
}

/* --- pictures ---------------------------------------------------------------------------------------------------------------- */
/* A descriptor that stands for a memory object: a file with its handle in it. */
struct token { char magic[8]; uint32_t process, handle; };
static const char MAGIC[8] = "isakitp";

int window_export(uint32_t handle)
{
    struct token token = {{0}, (uint32_t)getpid(), handle};
    int fd = memfd_create("isakit-picture", MFD_CLOEXEC);
    memcpy(token.magic, MAGIC, sizeof MAGIC);
    if (fd < 0)
        return -errno;
    if (write(fd, &token, sizeof token) != (ssize_t)sizeof token) {
        close(fd);
        return -ENOMEM;
    }
    return fd;
}

int window_import(int fd, uint32_t *handle)
{
    struct token token;
    if (pread(fd, &token, sizeof token, 0) != (ssize_t)sizeof token || memcmp(token.magic, MAGIC, sizeof MAGIC) != 0)
        return -EINVAL;
    if (token.process != (uint32_t)getpid()) /* the memory of another process is another card's */
        return -EINVAL;
    *handle = token.handle;
    return 0;
}

enum { MOST_PICTURES = 1024 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct picture { void *c; uint32_t pixmap, gc, handle; uint16_t width, height, stride; uint8_t depth, bits; } pictures[MOST_PICTURES];

static int picture_of(const void *c, uint32_t pixmap, struct picture *found)
{
    int there = 0;
    pthread_mutex_lock(&lock);
    for (int k = 0; k < MOST_PICTURES && !there && pixmap != 0; k++)
        if (pictures[k].pixmap == pixmap && pictures[k].c == c)
            *found = pictures[k], there = 1;
    pthread_mutex_unlock(&lock);
    return there;
}

static int keep(const struct picture *made)
{
    int kept = 0;
    pthread_mutex_lock(&lock);
    for (int k = 0; k < MOST_PICTURES && !kept; k++)
        if (pictures[k].pixmap == 0)
            pictures[k] = *made, kept = 1;
    pthread_mutex_unlock(&lock);
    return kept;
}

cookie xcb_dri3_pixmap_from_buffer(void *c, uint32_t pixmap, uint32_t drawable, uint32_t size, uint16_t width,
                                   uint16_t height, uint16_t stride, uint8_t depth, uint8_t bits, int32_t fd)
{
    NEXT(uint32_t, xcb_generate_id, (void *))
    NEXT(cookie, xcb_create_pixmap, (void *, uint8_t, uint32_t, uint32_t, uint16_t, uint16_t))
    NEXT(cookie, xcb_create_gc, (void *, uint32_t, uint32_t, uint32_t, const void *))
    struct picture made = {c, pixmap, 0, 0, width, height, stride, depth, bits};
    (void)size;
    cookie sent = next_xcb_create_pixmap(c, depth, pixmap, drawable, width, height);
    if (window_import(fd, &made.handle) == 0) {
        made.gc = next_xcb_generate_id(c);
        next_xcb_create_gc(c, made.gc, pixmap, 0, NULL);
        if (!keep(&made))
            fprintf(stderr, "isakit: more than %d pictures of windows; this one stays empty\n", MOST_PICTURES);
    }
    close(fd);
    return sent;
}

cookie xcb_free_pixmap(void *c, uint32_t pixmap)
{
    NEXT(cookie, xcb_free_pixmap, (void *, uint32_t))
    NEXT(cookie, xcb_free_gc, (void *, uint32_t))
    struct picture gone;
    if (picture_of(c, pixmap, &gone)) {
        pthread_mutex_lock(&lock);
        for (int k = 0; k < MOST_PICTURES; k++)
            if (pictures[k].pixmap == pixmap && pictures[k].c == c)
                memset(&pictures[k], 0, sizeof pictures[k]);
        pthread_mutex_unlock(&lock);
        next_xcb_free_gc(c, gone.gc);
    }
    return next_xcb_free_pixmap(c, pixmap);
}

/* Let a pixmap hold what the card has drawn. Requests have a largest size, so it goes in bands of rows. */
static void upload(void *c, const struct picture *p)
{
    NEXT(cookie, xcb_put_image,
         (void *, uint8_t, uint32_t, uint32_t, uint16_t, uint16_t, int16_t, int16_t, uint8_t, uint8_t, uint32_t,
          const uint8_t *))
    NEXT(uint32_t, xcb_get_maximum_request_length, (void *))
    const uint32_t row = ((uint32_t)p->width * p->bits / 8 + 3) & ~3u, asked[] = {p->handle, row, p->height, p->stride};
    const struct piece piece = {asked, sizeof asked};
    const size_t size = (size_t)row * p->height;
    uint8_t *pixels = malloc(size + 1);
    if (pixels == NULL || session_call(OP_PICTURE, 0, &piece, 1, pixels, size) != 0) {
        free(pixels);
        return;
    }
    size_t most = 4 * (size_t)next_xcb_get_maximum_request_length(c);
    uint16_t band = most > row + 64 ? (uint16_t)((most - 64) / row > 4096 ? 4096 : (most - 64) / row) : 1;
    for (uint32_t y = 0; y < p->height; y += band) {
        uint16_t rows = (uint16_t)(p->height - y < band ? p->height - y : band);
        next_xcb_put_image(c, 2 /* whole pixels */, p->pixmap, p->gc, p->width, rows, 0, (int16_t)y, 0, p->depth,
                           row * rows, pixels + (size_t)y * row);
    }
    free(pixels);
}

cookie xcb_present_pixmap(void *c, uint32_t window, uint32_t pixmap, uint32_t serial, uint32_t valid, uint32_t update,
                          int16_t x, int16_t y, uint32_t crtc, uint32_t wait_fence, uint32_t idle_fence, uint32_t options,
                          uint64_t target, uint64_t divisor, uint64_t remainder, uint32_t count, const void *notifies)
{
    NEXT(cookie, xcb_present_pixmap,
         (void *, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, int16_t, int16_t, uint32_t, uint32_t, uint32_t, uint32_t,
          uint64_t, uint64_t, uint64_t, uint32_t, const void *))
    struct picture shown;
    if (picture_of(c, pixmap, &shown)) {
        upload(c, &shown);
        wait_fence = idle_fence = 0; /* drawing is done when a push returns */
    }
    return next_xcb_present_pixmap(c, window, pixmap, serial, valid, update, x, y, crtc, wait_fence, idle_fence, options,
                                   target, divisor, remainder, count, notifies);
}

/* Windows with one buffer, and parts of a window, are copied from a pixmap. */
cookie xcb_copy_area(void *c, uint32_t from, uint32_t to, uint32_t gc, int16_t from_x, int16_t from_y, int16_t to_x,
                     int16_t to_y, uint16_t width, uint16_t height)
{
    NEXT(cookie, xcb_copy_area, (void *, uint32_t, uint32_t, uint32_t, int16_t, int16_t, int16_t, int16_t, uint16_t, uint16_t))
    struct picture shown;
    if (picture_of(c, from, &shown))
        upload(c, &shown);
    return next_xcb_copy_area(c, from, to, gc, from_x, from_y, to_x, to_y, width, height);
}

/* --- fences: what the card was asked for is done at once, so nobody waits for anything -------------------------------------- */
cookie xcb_dri3_fence_from_fd(void *c, uint32_t drawable, uint32_t fence, uint8_t triggered, int32_t fd)
{
    (void)c, (void)drawable, (void)fence, (void)triggered;
    close(fd);
    return (cookie){0};
}

cookie xcb_sync_trigger_fence(void *c, uint32_t fence)
{
    (void)c, (void)fence;
    return (cookie){0};
}

cookie xcb_sync_destroy_fence(void *c, uint32_t fence)
{
    (void)c, (void)fence;
    return (cookie){0};
}

int xshmfence_await(void *fence)
{
    (void)fence;
    return 0;
}

/* --- EGL: a program that names no display wants none of a window system ------------------------------------------------------- */
void *eglGetDisplay(void *native)
{
    enum { SURFACELESS = 0x31DD };
    NEXT(void *, eglGetDisplay, (void *))
    NEXT(void *, eglGetPlatformDisplay, (unsigned, void *, const intptr_t *))
    if (native == NULL && OURS && getenv("EGL_PLATFORM") == NULL && next_eglGetPlatformDisplay != NULL)
        return next_eglGetPlatformDisplay(SURFACELESS, NULL, NULL);
    return next_eglGetDisplay == NULL ? NULL : next_eglGetDisplay(native);
}

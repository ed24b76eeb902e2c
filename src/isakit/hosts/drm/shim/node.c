/* The ioctls of the render node. All but two are structures without pointers, which travel as they are. */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#define DRM_TYPE 'd'
enum { NR_VERSION = 0x00, NR_PRIME_EXPORT = 0x2d, NR_PRIME_IMPORT = 0x2e, NR_GEM_PUSHBUF = 0x81 };

/* Layouts of the kernel's interface (drm.h, nouveau_drm.h). */
struct drm_version {
    int major, minor, patch;
    size_t name_length;
    char *name;
    size_t date_length;
    char *date;
    size_t description_length;
    char *description;
};

struct pushbuf {
    uint32_t channel, buffer_count;
    uint64_t buffers;
    uint32_t relocation_count, push_count;
    uint64_t relocations, pushes;
    uint32_t suffix0, suffix1;
    uint64_t vram_available, gart_available;
};
enum { BUFFER_BYTES = 40, PUSH_BYTES = 24, MOST_BUFFERS = 1024, MOST_PUSHES = 512, MOST_BYTES = 1 << 14 };

static void answer(char *room, size_t *length, const char *text)
{
    if (room != NULL)
        memcpy(room, text, *length < strlen(text) ? *length : strlen(text));
    *length = strlen(text);
}

static int version(struct drm_version *v)
{
    /* 1.3.1 is the first interface with NVIF, which drivers of today ask for. */
    v->major = 1;
    v->minor = 3;
    v->patch = 1;
    answer(v->name, &v->name_length, "nouveau");
    answer(v->date, &v->date_length, "20120801");
    answer(v->description, &v->description_length, "isakit");
    return 0;
}

static int pushed(unsigned long request, struct pushbuf *p)
{
    if (p->buffer_count > MOST_BUFFERS || p->push_count > MOST_PUSHES)
        return -EINVAL;
    struct piece pieces[] = {
        {p, sizeof *p},
        {(const void *)(uintptr_t)p->buffers, (size_t)p->buffer_count * BUFFER_BYTES},
        {(const void *)(uintptr_t)p->pushes, (size_t)p->push_count * PUSH_BYTES},
    };
    return session_call(OP_PUSHBUF, (uint32_t)request, pieces, 3, p, sizeof *p);
}

/* Memory objects as descriptors: those of this process only. */
struct prime {
    uint32_t handle, flags;
    int32_t fd;
};

static int shared(struct prime *p, int out)
{
    if (!out)
        return window_import(p->fd, &p->handle);
    int fd = window_export(p->handle);
    if (fd < 0)
        return fd;
    p->fd = fd;
    return 0;
}

int node_ioctl(unsigned long request, void *argument)
{
    size_t length = _IOC_SIZE(request);
    if (_IOC_TYPE(request) != DRM_TYPE)
        return -ENOTTY;
    if (argument == NULL || length > MOST_BYTES)
        return -EFAULT;
    if (_IOC_NR(request) == NR_VERSION)
        return length == sizeof(struct drm_version) ? version(argument) : -EINVAL;
    if (_IOC_NR(request) == NR_GEM_PUSHBUF)
        return length == sizeof(struct pushbuf) ? pushed(request, argument) : -EINVAL;
    if (_IOC_NR(request) == NR_PRIME_EXPORT || _IOC_NR(request) == NR_PRIME_IMPORT)
        return length == sizeof(struct prime) ? shared(argument, _IOC_NR(request) == NR_PRIME_EXPORT) : -EINVAL;
    struct piece whole = {argument, length};
    return session_call(OP_IOCTL, (uint32_t)request, &whole, 1, argument, length);
}

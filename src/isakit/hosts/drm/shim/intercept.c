/* The C library's functions through which a driver finds and uses a render node.
 *
 * Everything that does not concern the node goes on to the C library. Descriptors need no watching: the node's are
 * known by their inode (session.c), so close and dup stay the library's own.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { MAJOR = 226, MINOR = 128 };
#define NODE_NAME "renderD128"
#define DIRECTORY "/dev/dri"
#define NODE DIRECTORY "/" NODE_NAME
#define SYSFS "/sys/dev/char/226:128/device"

/* The next function of a name; dlsym's result is no function pointer to ISO C, so it is copied. */
#define NEXT(type, name)                                                                                               \
    static type (*next_##name)();                                                                                      \
    if (next_##name == NULL) {                                                                                         \
        void *found = dlsym(RTLD_NEXT, #name);                                                                         \
        if (found == NULL)                                                                                             \
            abort();                                                                                                   \
        memcpy(&next_##name, &found, sizeof found);                                                                    \
    }

static int failed(int error)
{
    errno = -error;
    return -1;
}

/* --- open ------------------------------------------------------------------------------------------------------- */
static int is_node(const char *path)
{
    return path != NULL && strcmp(path, NODE) == 0;
}

static int opened(void)
{
    int fd = session_open();
    if (fd == 0)
        fd = session_node();
    return fd < 0 ? failed(fd) : fd;
}

static mode_t mode_of(int flags, va_list arguments)
{
    return (flags & (O_CREAT | __O_TMPFILE)) != 0 ? (mode_t)va_arg(arguments, int) : 0;
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        mode_t mode = mode_of(flags, arguments);                                                                       \
        va_end(arguments);                                                                                             \
        if (is_node(path))                                                                                             \
            return opened();                                                                                           \
        NEXT(int, name)                                                                                                \
        return next_##name(path, flags, mode);                                                                         \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                                                                   \
    int name(int directory, const char *path, int flags, ...)                                                          \
    {                                                                                                                  \
        va_list arguments;                                                                                             \
        va_start(arguments, flags);                                                                                    \
        mode_t mode = mode_of(flags, arguments);                                                                       \
        va_end(arguments);                                                                                             \
        if (is_node(path))                                                                                             \
            return opened();                                                                                           \
        NEXT(int, name)                                                                                                \
        return next_##name(directory, path, flags, mode);                                                              \
    }
OPENAT(openat)
OPENAT(openat64)

#define CHECKED_OPEN(name, plain)                                                                                      \
    int name(const char *path, int flags);                                                                             \
    int name(const char *path, int flags)                                                                              \
    {                                                                                                                  \
        return plain(path, flags);                                                                                     \
    }
CHECKED_OPEN(__open_2, open)
CHECKED_OPEN(__open64_2, open64)

/* --- ioctl ------------------------------------------------------------------------------------------------------ */
int ioctl(int fd, unsigned long request, ...)
{
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    if (session_owns(fd)) {
        int status = node_ioctl(request, argument);
        return status < 0 ? failed(status) : status;
    }
    NEXT(int, ioctl)
    return next_ioctl(fd, request, argument);
}

/* --- mmap --------------------------------------------------------------------------------------------------------- */
enum { MOST_MAPPINGS = 4096 };
#define EVERYTHING ((size_t)1 << 40)
static struct {
    void *address;
    size_t length;
} mappings[MOST_MAPPINGS]; /* those of the node, of which the simulator is told when they end; of further ones not */
static int mapping_count;
static pthread_mutex_t mapping_lock = PTHREAD_MUTEX_INITIALIZER, listings = PTHREAD_MUTEX_INITIALIZER;

/* A signal's handler may map and unmap, too: none comes while its thread has the lock. */
static void lock_mappings(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, before);
    pthread_mutex_lock(&mapping_lock);
}

static void unlock_mappings(const sigset_t *before)
{
    pthread_mutex_unlock(&mapping_lock);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* System calls: dlsym may itself map memory. */
static void *mapped(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    void *made = (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
    if (made == MAP_FAILED || fd < 0 || !session_owns(fd))
        return made;
    int error = session_mapped(1, made, (uint64_t)offset, length);
    if (error != 0) { /* memory of which the simulator does not know that it is seen must not be */
        syscall(SYS_munmap, made, length);
        failed(error);
        return MAP_FAILED;
    }
    sigset_t signals;
    lock_mappings(&signals);
    if (mapping_count < MOST_MAPPINGS) {
        mappings[mapping_count].address = made;
        mappings[mapping_count++].length = length;
    }
    unlock_mappings(&signals);
    return made;
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    return mapped(address, length, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    return mapped(address, length, protection, flags, fd, offset);
}

int munmap(void *address, size_t length)
{
    int found = 0;
    sigset_t signals;
    lock_mappings(&signals);
    for (int i = 0; i < mapping_count && !found; i++)
        if (mappings[i].address == address && mappings[i].length == length) {
            mappings[i] = mappings[--mapping_count];
            found = 1;
        }
    unlock_mappings(&signals);
    if (found) /* before somebody else gets the address */
        session_mapped(0, address, 0, length);
    return (int)syscall(SYS_munmap, address, length);
}

/* Mappings of the node that grow or are doubled may show anything from then on. */
void *mremap(void *address, size_t before, size_t after, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    void *wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void *) : NULL;
    va_end(arguments);
    int found = 0;
    sigset_t signals;
    lock_mappings(&signals);
    for (int i = 0; i < mapping_count && !found; i++)
        found = (uintptr_t)address - (uintptr_t)mappings[i].address < mappings[i].length;
    unlock_mappings(&signals);
    int error = found ? session_mapped(1, NULL, 0, EVERYTHING) : 0;
    if (error != 0) {
        failed(error);
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mremap, address, before, after, flags, wanted);
}

/* A child has none of its parent's threads, one of which may hold a lock, and sees what its own session maps. */
static void forked(void)
{
    pthread_mutex_init(&mapping_lock, NULL);
    pthread_mutex_init(&listings, NULL);
    mapping_count = 0;
    session_forked();
}

__attribute__((constructor)) static void loaded(void)
{
    pthread_atfork(NULL, NULL, forked);
}

/* --- stat; before version 2.33 of the C library these were called __xstat and so on ------------------------------ */
#define LIKE_NODE(status)                                                                                              \
    (memset(status, 0, sizeof *(status)), (status)->st_mode = S_IFCHR | 0666,                                          \
     (status)->st_rdev = makedev(MAJOR, MINOR), (status)->st_nlink = 1, 0)
#define LIKE_DIRECTORY(status) (memset(status, 0, sizeof *(status)), (status)->st_mode = S_IFDIR | 0755, 0)

static int is_directory(const char *path)
{
    return path != NULL && (strcmp(path, DIRECTORY) == 0 || strcmp(path, SYSFS) == 0 || strcmp(path, SYSFS "/drm") == 0);
}

#define STAT(name, type)                                                                                               \
    int name(const char *restrict path, struct type *restrict status)                                                  \
    {                                                                                                                  \
        if (is_node(path))                                                                                             \
            return LIKE_NODE(status);                                                                                  \
        if (is_directory(path))                                                                                        \
            return LIKE_DIRECTORY(status);                                                                             \
        NEXT(int, name)                                                                                                \
        return next_##name(path, status);                                                                              \
    }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

#define FSTAT(name, type)                                                                                              \
    int name(int fd, struct type *status)                                                                              \
    {                                                                                                                  \
        if (session_owns(fd))                                                                                          \
            return LIKE_NODE(status);                                                                                  \
        NEXT(int, name)                                                                                                \
        return next_##name(fd, status);                                                                                \
    }
FSTAT(fstat, stat)
FSTAT(fstat64, stat64)

#define OLD_STAT(name, type)                                                                                           \
    int name(int version, const char *path, struct type *status);                                                      \
    int name(int version, const char *path, struct type *status)                                                       \
    {                                                                                                                  \
        if (is_node(path))                                                                                             \
            return LIKE_NODE(status);                                                                                  \
        if (is_directory(path))                                                                                        \
            return LIKE_DIRECTORY(status);                                                                             \
        NEXT(int, name)                                                                                                \
        return next_##name(version, path, status);                                                                     \
    }
OLD_STAT(__xstat, stat)
OLD_STAT(__xstat64, stat64)
OLD_STAT(__lxstat, stat)
OLD_STAT(__lxstat64, stat64)

#define OLD_FSTAT(name, type)                                                                                          \
    int name(int version, int fd, struct type *status);                                                                \
    int name(int version, int fd, struct type *status)                                                                 \
    {                                                                                                                  \
        if (session_owns(fd))                                                                                          \
            return LIKE_NODE(status);                                                                                  \
        NEXT(int, name)                                                                                                \
        return next_##name(version, fd, status);                                                                       \
    }
OLD_FSTAT(__fxstat, stat)
OLD_FSTAT(__fxstat64, stat64)

int access(const char *path, int mode)
{
    if (is_node(path) || is_directory(path))
        return (mode & X_OK) != 0 && is_node(path) ? failed(-EACCES) : 0;
    NEXT(int, access)
    return next_access(path, mode);
}

/* --- /dev/dri as a directory with one entry ------------------------------------------------------------------------ */
enum { MOST_LISTINGS = 16 };
static struct {
    DIR *stream;
    int read;
} listing[MOST_LISTINGS];

static int listing_of(DIR *stream)
{
    for (int i = 0; i < MOST_LISTINGS; i++)
        if (listing[i].stream == stream)
            return i;
    return -1;
}

DIR *opendir(const char *path)
{
    NEXT(DIR *, opendir)
    if (strcmp(path, DIRECTORY) != 0)
        return next_opendir(path);
    DIR *stream = next_opendir("/"); /* a real one, so that dirfd and the like work */
    if (stream == NULL)
        return NULL;
    pthread_mutex_lock(&listings);
    int n = listing_of(NULL);
    if (n >= 0) {
        listing[n].stream = stream;
        listing[n].read = 0;
    }
    pthread_mutex_unlock(&listings);
    if (n < 0) {
        closedir(stream);
        errno = EMFILE;
        return NULL;
    }
    return stream;
}

/* The entry to return for one of our listings: 1, 0 at the end, -1 for another directory. */
static int listed(DIR *stream)
{
    pthread_mutex_lock(&listings);
    int n = stream == NULL ? -1 : listing_of(stream);
    int first = n >= 0 && listing[n].read++ == 0;
    pthread_mutex_unlock(&listings);
    return n < 0 ? -1 : first;
}

#define READDIR(name, type)                                                                                            \
    struct type *name(DIR *stream)                                                                                     \
    {                                                                                                                  \
        static struct type entry = {.d_ino = 1, .d_type = DT_CHR, .d_name = NODE_NAME, .d_reclen = sizeof entry};      \
        int mine = listed(stream);                                                                                     \
        if (mine >= 0)                                                                                                 \
            return mine ? &entry : NULL;                                                                               \
        NEXT(struct type *, name)                                                                                      \
        return next_##name(stream);                                                                                    \
    }
READDIR(readdir, dirent)
READDIR(readdir64, dirent64)

int closedir(DIR *stream)
{
    pthread_mutex_lock(&listings);
    int n = listing_of(stream);
    if (n >= 0)
        listing[n].stream = NULL;
    pthread_mutex_unlock(&listings);
    NEXT(int, closedir)
    return next_closedir(stream);
}

/* --- sysfs: where libdrm learns what card the node belongs to ------------------------------------------------------- */
ssize_t readlink(const char *restrict path, char *restrict room, size_t length)
{
    static const char bus[] = "/sys/bus/pci";
    if (strcmp(path, SYSFS "/subsystem") == 0) {
        size_t n = length < sizeof bus - 1 ? length : sizeof bus - 1;
        memcpy(room, bus, n);
        return (ssize_t)n;
    }
    NEXT(ssize_t, readlink)
    return next_readlink(path, room, length);
}

char *realpath(const char *restrict path, char *restrict room)
{
    if (strcmp(path, SYSFS) == 0) {
        if (room == NULL)
            room = malloc(PATH_MAX);
        return room == NULL ? NULL : strcpy(room, path);
    }
    NEXT(char *, realpath)
    return next_realpath(path, room);
}

static FILE *sysfs_file(const char *name)
{
    char text[256];
    unsigned device = session_pci_device();
    if (strcmp(name, "uevent") == 0)
        snprintf(text, sizeof text,
                 "DRIVER=nouveau\nPCI_CLASS=30000\nPCI_ID=10DE:%04X\nPCI_SUBSYS_ID=10DE:0000\n"
                 "PCI_SLOT_NAME=0000:01:00.0\n",
                 device);
    else if (strcmp(name, "vendor") == 0 || strcmp(name, "subsystem_vendor") == 0)
        snprintf(text, sizeof text, "0x10de\n");
    else if (strcmp(name, "device") == 0)
        snprintf(text, sizeof text, "0x%04x\n", device);
    else if (strcmp(name, "subsystem_device") == 0)
        snprintf(text, sizeof text, "0x0000\n");
    else if (strcmp(name, "revision") == 0)
        snprintf(text, sizeof text, "0xa1\n");
    else {
        errno = ENOENT;
        return NULL;
    }
    FILE *file = fmemopen(NULL, strlen(text) + 1, "w+");
    if (file != NULL) {
        fputs(text, file);
        rewind(file);
    }
    return file;
}

#define FOPEN(name)                                                                                                    \
    FILE *name(const char *restrict path, const char *restrict mode)                                                   \
    {                                                                                                                  \
        if (strncmp(path, SYSFS "/", strlen(SYSFS "/")) == 0 && session_open() == 0)                   \
            return sysfs_file(path + strlen(SYSFS "/"));                                                               \
        NEXT(FILE *, name)                                                                                             \
        return next_##name(path, mode);                                                                                \
    }
FOPEN(fopen)
FOPEN(fopen64)

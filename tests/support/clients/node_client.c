/* Calls of the render node, good and bad, through the library that is linked in. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK(what)                                                                                                    \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            printf("line %d: %s (errno %d)\n", __LINE__, #what, errno);                                                \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

struct gem_new {
    uint32_t handle, domain;
    uint64_t size, offset, map_handle;
    uint32_t tile_mode, tile_flags, channel_hint, align;
};
struct pushbuf {
    uint32_t channel, buffer_count;
    uint64_t buffers;
    uint32_t relocation_count, push_count;
    uint64_t relocations, pushes;
    uint32_t suffix0, suffix1;
    uint64_t vram, gart;
};
#define GEM_NEW _IOWR('d', 0x80, struct gem_new)
#define PUSHBUF _IOWR('d', 0x81, struct pushbuf)

/* A program's handler that asks the card for something, whatever the program is doing. */
static int asked_fd, asked, asked_failed;

static void ask_in_handler(int signal)
{
    struct gem_new new = {.domain = 2, .size = 0x10000};
    int error = errno;
    (void)signal;
    asked++;
    asked_failed += ioctl(asked_fd, GEM_NEW, &new) != 0;
    void *map = mmap(NULL, 0x1000, PROT_READ, MAP_SHARED, asked_fd, (off_t)new.map_handle);
    asked_failed += map == MAP_FAILED || munmap(map, 0x1000) != 0;
    errno = error;
}

/* Calls that are interrupted all the time by a handler that calls, too. */
static int interrupted(int fd)
{
    struct sigaction action = {.sa_handler = ask_in_handler};
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    asked_fd = fd;
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &often, NULL) == 0);
    for (int i = 0; i < 100000 && asked < 50; i++) {
        struct gem_new new = {.domain = 2, .size = 0x10000};
        CHECK(ioctl(fd, GEM_NEW, &new) == 0);
    }
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0 && asked >= 50 && asked_failed == 0);
    return 0;
}

int main(void)
{
    struct stat status;
    struct gem_new new = {.domain = 2, .size = 0x20000};
    char text[64] = {0};
    int fd = open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK(fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) && major(status.st_rdev) == 226);
    CHECK(stat("/dev/dri/renderD128", &status) == 0 && minor(status.st_rdev) == 128);
    int other = dup(fd);
    CHECK(other >= 0 && fstat(other, &status) == 0 && S_ISCHR(status.st_mode));
    CHECK(ioctl(other, GEM_NEW, &new) == 0 && new.size == 0x20000);
    uint32_t *map = mmap(NULL, new.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)new.map_handle);
    CHECK(map != MAP_FAILED);
    map[0] = 0x12345678;
    void *again = mmap(NULL, 0x1000, PROT_READ, MAP_SHARED, other, (off_t)new.map_handle);
    CHECK(again != MAP_FAILED && *(uint32_t *)again == 0x12345678 && munmap(again, 0x1000) == 0);
    void *anything = mmap(NULL, 0x1000, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(anything != MAP_FAILED && munmap(anything, 0x1000) == 0);
    CHECK(mmap(NULL, 0, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED && errno == EINVAL);
    void *grown = mmap(NULL, 0x1000, PROT_READ, MAP_SHARED, fd, (off_t)new.map_handle);
    CHECK(grown != MAP_FAILED && (grown = mremap(grown, 0x1000, 0x20000, MREMAP_MAYMOVE)) != MAP_FAILED);
    CHECK(*(uint32_t *)grown == 0x12345678);
    CHECK(ioctl(fd, GEM_NEW, NULL) == -1 && errno == EFAULT);
    CHECK(ioctl(fd, _IOWR('d', 0x99, uint64_t), text) == -1 && errno == EINVAL);
    CHECK(ioctl(fd, _IOWR('x', 0x80, uint64_t), text) == -1 && errno == ENOTTY);
    struct pushbuf push = {.channel = 1, .buffer_count = 1, .buffers = 8, .push_count = 1, .pushes = 8};
    CHECK(ioctl(fd, PUSHBUF, &push) == -1 && errno == EFAULT); /* pointers to nowhere */
    DIR *list = opendir("/dev/dri");
    CHECK(list != NULL);
    struct dirent *entry = readdir(list);
    CHECK(entry != NULL && strcmp(entry->d_name, "renderD128") == 0 && readdir(list) == NULL);
    CHECK(closedir(list) == 0);
    FILE *file = fopen("/sys/dev/char/226:128/device/vendor", "r");
    CHECK(file != NULL && fgets(text, sizeof text, file) != NULL && strncmp(text, "0x10de", 6) == 0);
    CHECK(fclose(file) == 0);
    CHECK(fopen("/sys/dev/char/226:128/device/nothing", "r") == NULL && errno == ENOENT);
    CHECK(access("/dev/dri/renderD128", R_OK) == 0 && access("/nowhere", R_OK) == -1);
    pid_t child = fork();
    if (child == 0) { /* the parent's node does not work here, one of its own does */
        if (mmap(NULL, new.size, PROT_READ, MAP_SHARED, fd, (off_t)new.map_handle) != MAP_FAILED || errno != ENODEV)
            _exit(1);
        struct gem_new mine = {.domain = 2, .size = 0x10000};
        int own = open("/dev/dri/renderD128", O_RDWR);
        _exit(own < 0 || ioctl(own, GEM_NEW, &mine) != 0 || mine.handle != 1);
    }
    int result = -1;
    CHECK(child > 0 && waitpid(child, &result, 0) == child && WIFEXITED(result) && WEXITSTATUS(result) == 0);
    CHECK(ioctl(fd, GEM_NEW, &new) == 0 && new.handle == 2);
    if (interrupted(fd))
        return 1;
    CHECK(munmap(map, new.size) == 0 && close(other) == 0 && close(fd) == 0);
    puts("all as expected");
    return 0;
}

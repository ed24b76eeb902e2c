/* The connection to the simulator: one socket and one shared memory file for each process.
 *
 * The memory file stands for the render node: its descriptors can be duplicated, inherited and mapped at the offsets
 * that the simulator hands out, and are told from others by their inode.
 */
#define _GNU_SOURCE
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int channel = -1, memory = -1;
static pid_t owner;
static dev_t memory_device;
static ino_t memory_inode;
static unsigned pci_device;

static int all_sent(int fd, struct iovec *parts, int count)
{
    while (count > 0) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
        ssize_t sent = sendmsg(fd, &message, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        while (count > 0 && (size_t)sent >= parts->iov_len) {
            sent -= (ssize_t)parts->iov_len;
            parts++;
            count--;
        }
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + sent;
            parts->iov_len -= (size_t)sent;
        }
    }
    return 0;
}

static int all_received(int fd, void *bytes, size_t length)
{
    char *at = bytes;
    while (length > 0) {
        ssize_t got = recv(fd, at, length, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            return -ENODEV;
        at += got;
        length -= (size_t)got;
    }
    return 0;
}

/* The first reply carries the memory file. */
static int welcomed(int fd, struct welcome *welcome, int *file)
{
    struct reply reply;
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } control;
    struct iovec part = {&reply, sizeof reply};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
    ssize_t got;
    do
        got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_WAITALL);
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof reply)
        return got < 0 ? -errno : -ENODEV;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head == NULL || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
        return -EPROTO;
    memcpy(file, CMSG_DATA(head), sizeof *file);
    if (reply.status != 0 || reply.length != sizeof *welcome) {
        close(*file);
        return -EPROTO;
    }
    return all_received(fd, welcome, sizeof *welcome);
}

static int connected(void)
{
    const char *path = getenv("ISAKIT_DRM_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path == NULL || strlen(path) >= sizeof address.sun_path)
        return -ENODEV;
    memcpy(address.sun_path, path, strlen(path));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    struct hello hello = {PROTOCOL_VERSION, (uint32_t)getpid()};
    struct request request = {OP_HELLO, 0, sizeof hello};
    struct iovec parts[] = {{&request, sizeof request}, {&hello, sizeof hello}};
    struct welcome welcome;
    struct stat status;
    int file = -1;
    int error = 0;
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0)
        error = -errno;
    if (error == 0)
        error = all_sent(fd, parts, 2);
    if (error == 0)
        error = welcomed(fd, &welcome, &file);
    if (error == 0 && welcome.version != PROTOCOL_VERSION)
        error = -EPROTO;
    /* fstat is intercepted, but lets every descriptor pass while there is no session. */
    if (error == 0 && fstat(file, &status) < 0)
        error = -errno;
    if (error != 0) {
        fprintf(stderr, "isakit: no simulator at %s: %s\n", path, strerror(-error));
        close(fd);
        if (file >= 0)
            close(file);
        return error;
    }
    memory_device = status.st_dev;
    memory_inode = status.st_ino;
    pci_device = welcome.pci_device;
    channel = fd;
    memory = file;
    owner = getpid();
    return 0;
}

/* A child shares its parent's connection by accident: it begins one of its own. */
static void forget_parent(void)
{
    if (memory >= 0 && owner != getpid()) {
        if (channel >= 0)
            close(channel);
        close(memory);
        channel = memory = -1;
        memory_inode = 0;
    }
}

void session_forked(void)
{
    pthread_mutex_init(&lock, NULL);
}

int session_open(void)
{
    pthread_mutex_lock(&lock);
    forget_parent();
    /* A session that broke does not begin again: descriptors of the old memory would mean another file. */
    int error = channel >= 0 ? 0 : memory >= 0 ? -ENODEV : connected();
    pthread_mutex_unlock(&lock);
    return error;
}

int session_node(void)
{
    int fd = fcntl(memory, F_DUPFD_CLOEXEC, 0);
    return fd < 0 ? -errno : fd;
}

int session_owns(int fd)
{
    struct stat status;
    if (memory_inode == 0 || fd < 0)
        return 0;
    /* newfstatat instead of fstat: the latter comes back here. */
    if (syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) < 0)
        return 0;
    return status.st_ino == memory_inode && status.st_dev == memory_device;
}

unsigned session_pci_device(void)
{
    return pci_device;
}

/* Copy from where a program points, which may be nowhere: a negated errno then, as the kernel would give. */
static int copied(void *to, const struct piece *from)
{
    struct iovec here = {to, from->length}, there = {(void *)(uintptr_t)from->bytes, from->length};
    ssize_t got;
    if (from->length == 0)
        return 0;
    got = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
    if (got < 0 && (errno == ENOSYS || errno == EPERM)) { /* a sandbox: the program is trusted then */
        memcpy(to, from->bytes, from->length);
        return 0;
    }
    return got == (ssize_t)from->length ? 0 : -EFAULT;
}

/* The simulator keeps what it has made of memory that the program does not see. */
int session_mapped(int is, const void *address, uint64_t offset, size_t length)
{
    struct mapping mapping = {(uint64_t)is, (uint64_t)(uintptr_t)address, offset, length};
    struct piece piece = {&mapping, sizeof mapping};
    return session_call(OP_MAPPING, 0, &piece, 1, NULL, 0);
}

/* Put off the handlers of signals until a call is over, as a kernel does: one that draws itself would wait for the call
 * that it interrupts. Signals that end the program are left alone, so that it can be ended while the card draws. */
static void put_off_handlers(sigset_t *before)
{
    static const int may_come[] = {SIGHUP,  SIGINT,    SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM,  SIGTERM,
                                   SIGCHLD, SIGVTALRM, SIGPROF, SIGIO,   SIGPWR,  SIGWINCH, SIGURG};
    sigset_t some;
    sigemptyset(&some);
    for (size_t i = 0; i < sizeof may_come / sizeof *may_come; i++) {
        struct sigaction now;
        if (sigaction(may_come[i], NULL, &now) == 0 && now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN)
            sigaddset(&some, may_come[i]);
    }
    pthread_sigmask(SIG_BLOCK, &some, before);
}

enum { USUAL = 4096 };

/* Room for what is sent, without malloc: a handler may call while its thread is in malloc. NULL where there is none. */
static char *room_for(uint64_t length, char *usual)
{
    if (length <= USUAL)
        return usual;
    long made = syscall(SYS_mmap, NULL, (size_t)length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
    return made == -1 ? NULL : (char *)made;
}

static void give_back(char *room, uint64_t length)
{
    if (length > USUAL)
        syscall(SYS_munmap, room, (size_t)length);
}

int session_call(uint32_t op, uint32_t command, const struct piece *pieces, int count, void *back, size_t room)
{
    struct request request = {op, command, 0};
    struct reply reply;
    int error = 0;
    for (int i = 0; i < count; i++)
        request.length += pieces[i].length;
    char usual[USUAL], *payload = room_for(request.length, usual);
    if (payload == NULL)
        return -ENOMEM;
    size_t at = 0;
    for (int i = 0; i < count && error == 0; i++) {
        error = copied(payload + at, &pieces[i]);
        at += pieces[i].length;
    }
    if (error != 0) {
        give_back(payload, request.length);
        return error;
    }
    struct iovec parts[] = {{&request, sizeof request}, {payload, (size_t)request.length}};
    sigset_t signals;
    put_off_handlers(&signals);
    pthread_mutex_lock(&lock);
    error = -ENODEV;
    if (channel >= 0 && owner == getpid()) {
        error = all_sent(channel, parts, 2);
        if (error == 0)
            error = all_received(channel, &reply, sizeof reply);
        if (error == 0 && reply.length > room)
            error = -EPROTO;
        if (error == 0)
            error = all_received(channel, back, reply.length);
        if (error != 0) { /* half a message: nothing more can be said */
            close(channel);
            channel = -1;
        }
    }
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, &signals, NULL);
    give_back(payload, request.length);
    return error != 0 ? error : reply.status;
}

/* The connection to the simulator: made at the first call that needs it, one per process. */
#include "isakit.h"

#include <errno.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define LONGEST ((size_t)1 << 28)
#define PRINTED_TEXT 65536

struct device_window window = {0, 0, -1};

static struct {
    int socket;
    pid_t process; /* 0 before the first connection */
    int broken;
} link_ = {-1, 0, 0};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static __thread int last_error;

struct header { uint32_t op, length; };
struct answer { int32_t status; uint32_t length; };

static int send_all(struct iovec *parts, int count)
{
    while (count) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = (size_t)count};
        ssize_t sent = sendmsg(link_.socket, &message, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EINTR) continue;
            return LOST;
        }
        while (count && (size_t)sent >= parts->iov_len) sent -= (ssize_t)parts->iov_len, parts++, count--;
        if (count) parts->iov_base = (char *)parts->iov_base + sent, parts->iov_len -= (size_t)sent;
    }
    return 0;
}

static int receive_all(void *to, size_t length)
{
    for (char *at = to; length;) {
        ssize_t got = recv(link_.socket, at, length, 0);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return LOST;
        at += got, length -= (size_t)got;
    }
    return 0;
}

static int send_request(const struct request *r, unsigned op)
{
    size_t numbers = 8 * (size_t)r->in_count;
    if (r->tail_length > LONGEST) return INVALID;
    struct header header = {op, (uint32_t)(numbers + r->tail_length)};
    struct iovec parts[] = {
        {&header, sizeof header}, {(void *)(uintptr_t)r->in, numbers}, {(void *)(uintptr_t)r->tail, r->tail_length}};
    return send_all(parts, 3);
}

/* One message and its answer. An answer of the wrong shape ends the connection: nothing after it can be read. */
static int exchange(struct request *r)
{
    size_t results = 8 * (size_t)r->out_count;
    struct answer answer;
    int status = send_request(r, r->op);
    if (status) return status;
    if (receive_all(&answer, sizeof answer)) return LOST;
    if (answer.status) return answer.length || answer.status < 0 ? LOST : answer.status;
    if (answer.length < results || answer.length - results > r->back_room) return LOST;
    r->back_length = answer.length - results;
    if (results && receive_all(r->out, results)) return LOST;
    if (r->back_length && receive_all(r->back, r->back_length)) return LOST;
    return 0;
}

static void disconnect(void)
{
    if (!link_.broken++) fprintf(stderr, "isakit: the connection to the simulated device is lost\n");
    if (link_.socket >= 0) close(link_.socket);
    link_.socket = -1;
}

/* The name under which the program knows the runtime: the same file has many. */
const char *runtime_name(void)
{
    struct link_map *map = _r_debug.r_map;
    const char *own = "";
    for (; map; map = map->l_next) {
        const char *strings = 0;
        const ElfW(Dyn) *dynamic = map->l_ld;
        if (!dynamic) continue;
        for (; dynamic->d_tag != DT_NULL; dynamic++)
            if (dynamic->d_tag == DT_STRTAB) strings = (const char *)dynamic->d_un.d_ptr;
        /* Some objects (the vDSO) hold offsets instead of addresses. */
        if (!strings || (uintptr_t)strings < map->l_addr) continue;
        for (dynamic = map->l_ld; dynamic->d_tag != DT_NULL; dynamic++)
            if (dynamic->d_tag == DT_NEEDED && !strncmp(strings + dynamic->d_un.d_val, "libcudart.so", 12))
                return strings + dynamic->d_un.d_val;
        const char *name = map->l_name ? strrchr(map->l_name, '/') : 0;
        if (name && !strncmp(name + 1, "libcudart.so", 12)) own = name + 1;
    }
    return own;
}

static int old_handles(void)
{
    static int old = -1;
    if (old < 0) old = !strcmp(runtime_name(), "libcudart.so.2");
    return old;
}

void store_handle(void *place, uint64_t handle)
{
    if (old_handles()) {
        uint32_t small = (uint32_t)handle;
        memcpy(place, &small, sizeof small);
    } else {
        void *pointer = address_of(handle);
        memcpy(place, &pointer, sizeof pointer);
    }
}

/* Hand one end of a new pair of sockets to the simulator, through the socket it left us. */
static int introduce(int broker)
{
    int pair[2];
    struct stat about;
    if (fstat(broker, &about) || !S_ISSOCK(about.st_mode)) return NO_SERVER;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return LOST;
    union { char room[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control;
    memset(&control, 0, sizeof control);
    char greeting = 'c';
    struct iovec part = {&greeting, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET, rights->cmsg_type = SCM_RIGHTS, rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &pair[1], sizeof(int));
    ssize_t sent;
    do sent = sendmsg(broker, &message, MSG_NOSIGNAL); while (sent < 0 && errno == EINTR);
    close(pair[1]);
    if (sent != 1) {
        close(pair[0]);
        return NO_SERVER;
    }
    link_.socket = pair[0];
    return 0;
}

/* The file of the device's memory comes as one byte with a descriptor, before the answer to the greeting. */
static int receive_window(void)
{
    union { char room[CMSG_SPACE(sizeof(int))]; struct cmsghdr align; } control;
    char byte;
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    ssize_t got;
    do got = recvmsg(link_.socket, &message, MSG_CMSG_CLOEXEC); while (got < 0 && errno == EINTR);
    struct cmsghdr *rights = got == 1 ? CMSG_FIRSTHDR(&message) : 0;
    if (!rights || rights->cmsg_type != SCM_RIGHTS || rights->cmsg_len != CMSG_LEN(sizeof(int))) return LOST;
    memcpy(&window.file, CMSG_DATA(rights), sizeof(int));
    return 0;
}

static int greet(void)
{
    const char *name = runtime_name();
    uint64_t in[] = {TABLE, (uint64_t)getpid(), sizeof(void *)}, size = 0;
    struct request hello = {OP_hello, in, 3, name, strlen(name), &size, 1, 0, 0, 0};
    if (exchange(&hello) || receive_window()) return LOST;
    struct stat file;
    if (fstat(window.file, &file) || size == 0 || size > SIZE_MAX || (uint64_t)file.st_size < size) return LOST;
    void *base = mmap(0, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, window.file, 0);
    if (base == MAP_FAILED) {
        fprintf(stderr, "isakit: %.1f GB of address space for the device's memory cannot be had\n", (double)size / 1e9);
        return LOST;
    }
    window.base = base, window.size = size;
    return 0;
}

int connected(void) { return link_.process == getpid() && link_.socket >= 0; }

static int connect_once(void)
{
    if (link_.process) return link_.socket >= 0 ? 0 : LOST;
    const char *fd = getenv("ISAKIT_CUDA");
    int status = fd ? introduce(atoi(fd)) : NO_SERVER;
    if (status) {
        static int told;
        if (!told++) fprintf(stderr, "isakit: no simulated device; start the program with `isakit cuda`\n");
        return status;
    }
    link_.process = getpid();
    return greet();
}

/* Launches of a shape that the simulator has found good are sent without waiting for an answer, as drivers do: waiting
 * costs more than small kernels take. A fault or a late error comes with the next answer. What a program could see of a
 * kernel that has not ended yet must not depend on how fast either side is: where it sees memory of the device, or wants
 * launches to report their own faults, every launch is waited for. */
enum { SHAPES = 64, SHAPE_NUMBERS = 10 };
static struct shape { uint64_t numbers[SHAPE_NUMBERS]; size_t length; } shapes[SHAPES];
static int device_memory_is_shown;

void device_memory_shown(void) { device_memory_is_shown = 1; }

static struct shape *shape_slot(const struct request *r)
{
    uint64_t hash = r->tail_length;
    for (unsigned k = 0; k < SHAPE_NUMBERS; k++) hash = (hash ^ r->in[k]) * 0x9e3779b97f4a7c15u;
    return shapes + (hash >> 58);
}
static void forget_shapes(void) { memset(shapes, 0, sizeof shapes); }
static void remember_shape(const struct request *r)
{
    struct shape *s = shape_slot(r);
    memcpy(s->numbers, r->in, sizeof s->numbers);
    s->length = r->tail_length + 1; /* 0: nothing is remembered here */
}
static int may_post(const struct request *r)
{
    static int blocking = -1;
    if (blocking < 0) {
        const char *wanted = getenv("CUDA_LAUNCH_BLOCKING");
        blocking = wanted && *wanted && strcmp(wanted, "0");
    }
    const struct shape *s = shape_slot(r);
    return !blocking && !device_memory_is_shown && s->length == r->tail_length + 1 &&
           !memcmp(s->numbers, r->in, sizeof s->numbers);
}
/* Messages that leave functions, streams and limits as they are. */
static int harmless(unsigned op)
{
    switch (op) {
    case OP_copy: case OP_texture_state: case OP_bind: case OP_where: case OP_cudaEventRecord: case OP_cudaEventQuery:
    case OP_cudaEventSynchronize: case OP_cudaEventElapsedTime: case OP_cudaStreamQuery: case OP_cudaStreamSynchronize:
    case OP_cudaThreadSynchronize: case OP_cudaDeviceSynchronize: case OP_cudaMalloc: case OP_cudaFree: return 1;
    default: return 0;
    }
}

static int locked(struct request *r)
{
    static unsigned threads, last;
    static __thread unsigned number; /* contexts belong to threads, so the server has to know which one it is */
    int first = !link_.process, status = connect_once();
    if (!status && first) status = send_modules();
    if (!number) number = ++threads;
    if (!status && number != last) {
        const uint64_t in = number;
        struct request who = {OP_thread, &in, 1, 0, 0, 0, 0, 0, 0, 0};
        if (!(status = exchange(&who))) last = number;
    }
    if (status) return status;
    if (r->op != OP_launch) {
        if (!harmless(r->op)) forget_shapes();
        return exchange(r);
    }
    if (may_post(r)) return send_request(r, OP_post);
    status = exchange(r);
    if (!status) remember_shape(r);
    return status;
}

/* What kernels print comes when the program waits for them: with every message but a launch. */
static int prints;

void look_for_printing(const void *image, size_t size)
{
    static const char name[] = "__isakit_printed"; /* the buffer of modules whose kernels print */
    if (memmem(image, size, name, sizeof name - 1)) prints = 1;
}

static void write_printed(void)
{
    static char text[PRINTED_TEXT];
    const uint64_t room = sizeof text;
    struct request r = {OP_printed, &room, 1, 0, 0, 0, 0, text, sizeof text, 0};
    while (!exchange(&r) && r.back_length) fwrite(text, 1, r.back_length, stdout);
}

int ask(struct request *r)
{
    /* A copy of the process has the connection of its parent: it may not use it. As with the real library. */
    if (link_.process && link_.process != getpid()) return FORKED;
    static __thread int inside; /* modules are sent while the connection is being made */
    if (inside) return exchange(r);
    pthread_mutex_lock(&lock);
    inside = 1;
    int status = locked(r);
    if (prints && r->op != OP_launch && connected()) write_printed();
    if (status == LOST) disconnect();
    inside = 0;
    pthread_mutex_unlock(&lock);
    return status;
}

int say(unsigned op, const uint64_t *in, unsigned count, uint64_t *out, unsigned out_count)
{
    struct request r = {op, in, count, 0, 0, out, out_count, 0, 0, 0};
    return ask(&r);
}

void refuse(const char *name, const char *why)
{
    char text[256];
    int length = snprintf(text, sizeof text, "%s is not available: %s", name, why);
    struct request r = {OP_refused, 0, 0, text, length < 255 ? (size_t)length : 255, 0, 0, 0, 0, 0};
    if (ask(&r)) fprintf(stderr, "isakit: %s\n", text);
}

static int code(int status, int runtime)
{
    switch (status) {
    case LOST: return runtime ? 30 : 999;
    case NO_SERVER: return runtime ? 38 : 100;
    case FORKED: return 3;
    case INVALID: return runtime ? 11 : 1;
    case DIRECTION: return runtime ? 21 : 1;
    case PITCH: return runtime ? 12 : 1;
    case NO_SYMBOL: return runtime ? 13 : 500;
    case NO_MEMORY: return 2;
    default: return status;
    }
}

int runtime_status(int status)
{
    status = code(status, 1);
    if (status && status != 34) last_error = status; /* "not ready" is no error */
    return status;
}

int driver_status(int status) { return code(status, 0); }

EXPORT int cudaGetLastError(void)
{
    int error = last_error;
    last_error = 0;
    return error;
}

EXPORT int cudaPeekAtLastError(void) { return last_error; }

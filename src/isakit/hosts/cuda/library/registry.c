/* What constructors of the program register: modules, kernels, variables, textures. Kept until the first real call. */
#include "isakit.h"

#define NEW_WRAPPER 0x466243b1u
#define CONTAINER 0xba55ed50u
#define OLD_FATBIN 0x1ee55a01u
#define ELF 0x464c457fu
#define MOST_ENTRIES 1024

struct module { const void *description; uint64_t number; int sent; };
struct entry {
    enum entry_kind kind;
    const void *host;
    char *name;
    struct module *module;
    uint64_t about[2];
    uint64_t number; /* what the server calls it; 0 before it was asked */
    int bound;
    int32_t state[10]; /* of a texture reference that is bound, as the server knows it */
};

static struct entry *entries;
static size_t bound_textures;
static size_t entry_count, entry_room;
static struct module **modules;
static size_t module_count, module_room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *larger(void *block, size_t count, size_t *room, size_t size)
{
    if (count < *room) return block;
    *room = *room ? 2 * *room : 64;
    block = realloc(block, *room * size);
    if (!block) abort();
    return block;
}

/* --- images ------------------------------------------------------------------------------------------------------- */
static uint32_t word(const void *p) { uint32_t n; memcpy(&n, p, 4); return n; }
static uint64_t wide(const void *p) { uint64_t n; memcpy(&n, p, 8); return n; }
static uint16_t half(const void *p) { uint16_t n; memcpy(&n, p, 2); return n; }

static size_t elf_size(const unsigned char *p)
{
    int is64 = p[4] == 2;
    uint64_t sections = is64 ? wide(p + 0x28) : word(p + 0x20), programs = is64 ? wide(p + 0x20) : word(p + 0x1c);
    unsigned step = half(p + (is64 ? 0x3a : 0x2e)), count = half(p + (is64 ? 0x3c : 0x30));
    uint64_t end = sections + (uint64_t)step * count;
    uint64_t other = programs + (uint64_t)half(p + (is64 ? 0x36 : 0x2a)) * half(p + (is64 ? 0x38 : 0x2c));
    if (programs && other > end) end = other;
    for (unsigned k = 0; sections && k < count; k++) {
        const unsigned char *s = p + sections + (size_t)step * k;
        uint64_t at = is64 ? wide(s + 0x18) : word(s + 0x10), size = is64 ? wide(s + 0x20) : word(s + 0x14);
        if (word(s + 4) != 8 && at + size > end) end = at + size; /* 8: a section without content */
    }
    return end;
}

/* Length of a program image in memory, which comes without one. */
int image_size(const void *image, size_t *size)
{
    uint32_t magic = word(image);
    if (magic == ELF) *size = elf_size(image);
    else if (magic == CONTAINER) *size = half((const char *)image + 6) + wide((const char *)image + 8);
    else *size = strlen(image);
    return 0;
}

/* Images of a list are packed as {kind, architecture, length, bytes}: kind 1 is PTX, 2 ELF, 3 a text cubin. */
struct packed { char *data; size_t size, room; };

static void pack(struct packed *to, uint32_t kind, const char *profile, const void *image, size_t size)
{
    const char *digits = profile ? strchr(profile, '_') : 0;
    uint32_t head[4] = {kind, digits ? (uint32_t)atoi(digits + 1) : 0, (uint32_t)size, 0};
    if (size > UINT32_MAX) return;
    while (to->size + sizeof head + size > to->room) {
        to->room = to->room ? 2 * to->room : 1 << 16;
        to->data = realloc(to->data, to->room);
        if (!to->data) abort();
    }
    memcpy(to->data + to->size, head, sizeof head);
    memcpy(to->data + to->size + sizeof head, image, size);
    to->size += sizeof head + size;
}

struct profile_list { const char *profile, *image; };
struct elf_list { const char *profile; const void *image; const struct elf_list *next; unsigned size; };

static void pack_old(const void *description, struct packed *to)
{
    void *const *words = description;
    const struct profile_list *list;
    for (list = words[6]; list && list->profile && list->image; list++)
        pack(to, 1, list->profile, list->image, strlen(list->image));
    for (list = words[7]; list && list->profile && list->image; list++)
        pack(to, 3, list->profile, list->image, strlen(list->image));
    if ((uintptr_t)words[1] < 4) return; /* objects of version 3 end before the list of ELF images */
    int n = 0;
    for (const struct elf_list *e = words[15]; e && n < MOST_ENTRIES; e = e->next, n++)
        if (e->image) pack(to, 2, e->profile, e->image, e->size);
}

static int send_image(uint64_t kind, const void *image, size_t size, uint64_t *number)
{
    look_for_printing(image, size);
    struct request r = {OP_module, &kind, 1, image, size, number, 1, 0, 0, 0};
    return ask(&r);
}

int load_image(const void *image, uint64_t *number)
{
    if (word(image) == NEW_WRAPPER) memcpy(&image, (const char *)image + 8, sizeof image);
    if (word(image) == OLD_FATBIN) {
        struct packed list = {0, 0, 0};
        pack_old(image, &list);
        int status = send_image(OLD_LIST, list.data, list.size, number);
        free(list.data);
        return status;
    }
    size_t size;
    image_size(image, &size);
    return send_image(word(image) == CONTAINER ? FAT_CONTAINER : WHOLE_FILE, image, size, number);
}

/* --- registration --------------------------------------------------------------------------------------------------- */
static int send_module(struct module *m)
{
    if (m->sent) return 0;
    int status = load_image(m->description, &m->number);
    if (!status) m->sent = 1;
    return status;
}

int send_modules(void)
{
    /* The caller holds the connection; registration never holds `lock` and waiting for it. */
    for (size_t k = 0; k < module_count; k++) {
        int status = send_module(modules[k]);
        if (status) return status;
    }
    return 0;
}

EXPORT void **__cudaRegisterFatBinary(void *description)
{
    struct module *m = calloc(1, sizeof *m);
    if (!m) abort();
    m->description = description;
    pthread_mutex_lock(&lock);
    modules = larger(modules, module_count, &module_room, sizeof *modules);
    modules[module_count++] = m;
    pthread_mutex_unlock(&lock);
    if (connected()) send_module(m); /* a library opened later; what fails here fails again at the launch */
    return (void **)m;
}

/* Says that all of a fat binary is registered: nothing waits for that here. */
EXPORT void __cudaRegisterFatBinaryEnd(void **handle) { (void)handle; }

EXPORT void __cudaUnregisterFatBinary(void **handle)
{
    struct module *m = (struct module *)handle;
    if (!m) return;
    if (m->sent && connected()) say(OP_unregister, &m->number, 1, 0, 0);
    pthread_mutex_lock(&lock);
    size_t kept = 0;
    for (size_t k = 0; k < entry_count; k++) {
        if (entries[k].module == m) bound_textures -= (size_t)entries[k].bound, free(entries[k].name);
        else entries[kept++] = entries[k];
    }
    entry_count = kept;
    kept = 0;
    for (size_t k = 0; k < module_count; k++)
        if (modules[k] != m) modules[kept++] = modules[k];
    module_count = kept;
    pthread_mutex_unlock(&lock);
    free(m);
}

static void add(enum entry_kind kind, void **handle, const void *host, const char *name, uint64_t a, uint64_t b)
{
    char *copy = name ? strdup(name) : 0;
    if (!copy) return;
    pthread_mutex_lock(&lock);
    entries = larger(entries, entry_count, &entry_room, sizeof *entries);
    entries[entry_count++] = (struct entry){
        .kind = kind, .host = host, .name = copy, .module = (struct module *)handle, .about = {a, b}};
    pthread_mutex_unlock(&lock);
}

EXPORT void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int limit,
                                   void *tid, void *bid, void *block, void *grid, int *warp)
{
    (void)device, (void)limit, (void)tid, (void)bid, (void)block, (void)grid, (void)warp;
    add(FUNCTION, handle, host, name, 0, 0);
}

EXPORT void __cudaRegisterVar(void **handle, char *host, char *device, const char *name, int ext, int size,
                              int constant, int global)
{
    (void)device, (void)ext, (void)global;
    add(VARIABLE, handle, host, name, (uint64_t)size, (uint64_t)constant);
}

EXPORT void __cudaRegisterTexture(void **handle, const void *host, const void **device, const char *name,
                                  int dimensions, int normalized, int ext)
{
    (void)device, (void)ext;
    add(TEXTURE, handle, host, name, (uint64_t)dimensions, (uint64_t)normalized);
}

/* Surfaces need sm_20: one that is registered is used by no code that runs here. */
EXPORT void __cudaRegisterSurface(void **handle, const void *host, const void **device, const char *name,
                                  int dimensions, int ext)
{
    (void)handle, (void)host, (void)device, (void)name, (void)dimensions, (void)ext;
}

/* Shared variables are laid out by the compiler; the host's idea of them served device emulation. */
EXPORT void __cudaRegisterShared(void **handle, void **address) { (void)handle, (void)address; }
EXPORT void __cudaRegisterSharedVar(void **handle, void **address, size_t size, size_t alignment, int storage)
{
    (void)handle, (void)address, (void)size, (void)alignment, (void)storage;
}
EXPORT char __cudaInitModule(void **handle) { (void)handle; return 1; }

/* Managed memory needs sm_30: a variable of that kind is an ordinary one, and copies to it fail with the others' error. */
EXPORT void __cudaRegisterManagedVar(void **handle, void **host, char *device, const char *name, int ext, int size,
                                     int constant, int global)
{
    (void)device, (void)ext, (void)global;
    add(VARIABLE, handle, host, name, (uint64_t)size, (uint64_t)constant);
}
EXPORT char __cudaInitManagedRuntime(void **handle) { (void)handle; return 1; }

/* Functions that kernels call are part of the machine code; they are never launched. */
EXPORT void __cudaRegisterDeviceFunction(void **handle, const char *host, char *device, const char *name)
{
    (void)handle, (void)host, (void)device, (void)name;
}

/* Device emulation ran kernels on the host and called these; no program with machine code does. */
EXPORT void __cudaMutexOperation(int operation) { (void)operation; }
EXPORT int __cudaSynchronizeThreads(void **one, void *two) { (void)one, (void)two; return 0; }
EXPORT void __cudaTextureFetch(const void *texture, void *index, int integer, void *value)
{
    (void)texture, (void)index, (void)integer, (void)value;
}

/* --- from addresses to what the server calls them ------------------------------------------------------------------ */
/* By address; until CUDA 4.2 a name does as well. */
static struct entry *find(enum entry_kind kind, const void *key)
{
    static size_t last;
    if (last < entry_count && entries[last].host == key && entries[last].kind == kind) return entries + last;
    for (size_t k = 0; k < entry_count; k++)
        if (entries[k].kind == kind && entries[k].host == key) return last = k, entries + k;
    return 0;
}

static struct entry *named(enum entry_kind kind, const char *name)
{
    for (size_t k = 0; k < entry_count; k++)
        if (entries[k].kind == kind && !strcmp(entries[k].name, name)) return entries + k;
    return 0;
}

int entry_number(enum entry_kind kind, const void *key, uint64_t *number)
{
    if (address_number(key) < 4096) return NO_SYMBOL;
    pthread_mutex_lock(&lock);
    struct entry *found = find(kind, key);
    if (!found && kind != TEXTURE) found = named(kind, key);
    struct entry e = found ? *found : (struct entry){.number = 0};
    char *name = found && !e.number ? strdup(e.name) : 0;
    pthread_mutex_unlock(&lock);
    if (!found) return NO_SYMBOL;
    *number = e.number;
    if (e.number) return 0;
    uint64_t nothing;
    int status = say(OP_connect, 0, 0, &nothing, 1); /* sends the modules, if that is to be done */
    if (!status) {
        const uint64_t in[] = {e.module->number, e.about[0], e.about[1]};
        const unsigned ops[] = {OP_function, OP_symbol, OP_texture};
        struct request r = {ops[kind], in, kind == FUNCTION ? 1 : 3, name, strlen(name), number, 1, 0, 0, 0};
        status = e.module->sent ? ask(&r) : NO_SYMBOL;
    }
    free(name);
    if (status) return status;
    pthread_mutex_lock(&lock);
    found = find(kind, key);
    if (!found && kind != TEXTURE) found = named(kind, key);
    if (found && found->module == e.module) found->number = *number;
    pthread_mutex_unlock(&lock);
    return 0;
}

/* The reference that is registered under a name, as it was asked for until CUDA 4.2; 0 if there is none. */
const void *texture_named(const char *name)
{
    pthread_mutex_lock(&lock);
    const struct entry *found = named(TEXTURE, name);
    const void *host = found ? found->host : 0;
    pthread_mutex_unlock(&lock);
    return host;
}

/* --- what programs change in a texture reference while it is bound -------------------------------------------------- */
/* A reference has been bound (with this state) or unbound (0). */
void texture_bound(const void *key, const int32_t state[10])
{
    pthread_mutex_lock(&lock);
    struct entry *e = find(TEXTURE, key);
    if (e) {
        if (state) memcpy(e->state, state, sizeof e->state);
        bound_textures += (size_t)(state != 0) - (size_t)e->bound;
        e->bound = state != 0;
    }
    pthread_mutex_unlock(&lock);
}

/* The next bound reference in which the program has changed something; its state is then up to date. */
static int changed_texture(size_t *from, uint64_t *number, int32_t state[10])
{
    for (; *from < entry_count; ++*from) {
        struct entry *e = entries + *from;
        if (e->kind != TEXTURE || !e->bound || !e->number) continue;
        const struct texture_reference *r = e->host;
        const int32_t now[5] = {r->normalized, r->filter, r->mode[0], r->mode[1], r->mode[2]};
        if (!memcmp(now, e->state, sizeof now)) continue;
        memcpy(e->state, now, sizeof now);
        memcpy(state, e->state, sizeof e->state);
        *number = e->number;
        return 1;
    }
    return 0;
}

/* A launch sees what references hold when it begins, not when they were bound. */
int send_texture_states(void)
{
    int32_t state[10];
    uint64_t number;
    for (size_t from = 0; bound_textures; from++) {
        pthread_mutex_lock(&lock);
        int found = changed_texture(&from, &number, state);
        pthread_mutex_unlock(&lock);
        if (!found) break;
        struct request r = {OP_texture_state, &number, 1, state, sizeof state, 0, 0, 0, 0, 0};
        int status = ask(&r);
        if (status) return status;
    }
    return 0;
}

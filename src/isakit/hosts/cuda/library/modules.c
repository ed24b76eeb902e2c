/* Modules the driver interface loads, the options of its compiler, and its linker. */
#include "isakit.h"

/* --- options ------------------------------------------------------------------------------------------------------- */
/* Where results of the compiler go; the rest of the options steer optimisations, which are always the same here. */
enum { MAX_REGISTERS, WALL_TIME = 2, INFO_LOG, INFO_SIZE, ERROR_LOG, ERROR_SIZE };
enum { MOST_OPTIONS = 64 };
struct options { unsigned count; int names[MOST_OPTIONS]; void **values; };

static int read_options(struct options *o, unsigned count, const int *names, void **values)
{
    if (count > MOST_OPTIONS || (count && (!names || !values))) return INVALID;
    o->count = count, o->values = values;
    if (count) memcpy(o->names, names, count * sizeof *names);
    return 0;
}

/* The values of options are numbers in the place of pointers. */
static void **option(const struct options *o, int name)
{
    for (unsigned k = 0; k < o->count; k++)
        if (o->names[k] == name) return o->values + k;
    return 0;
}
static uint64_t option_number(const struct options *o, int name)
{
    void **place = option(o, name);
    return place ? (uint32_t)address_number(*place) : 0;
}

/* A log goes to a buffer of the program, cut to its size and ended with a zero; the size becomes that of the text. */
static int store_log(const struct options *o, uint64_t number, int log, int size)
{
    void **text = option(o, log), **length = option(o, size);
    if (!text || !*text || !length || !(uint32_t)address_number(*length)) return 0;
    uint64_t room = (uint32_t)address_number(*length) - 1;
    const uint64_t in[] = {number, log == ERROR_LOG, room};
    struct request r = {OP_module_log, in, 3, 0, 0, 0, 0, *text, room, 0};
    ((char *)*text)[0] = 0;
    int status = ask(&r);
    if (status) return status;
    ((char *)*text)[r.back_length] = 0;
    *length = address_of(r.back_length);
    return 0;
}

/* Look at a module that was sent, compile it if need be, and hand out what the compiler had to say. */
static int built(const struct options *o, uint64_t number, uint64_t *size)
{
    const uint64_t in[] = {number, option_number(o, MAX_REGISTERS)};
    uint64_t out[2];
    int status = say(OP_build_module, in, 2, out, 2);
    int logs = store_log(o, number, INFO_LOG, INFO_SIZE), errors = store_log(o, number, ERROR_LOG, ERROR_SIZE);
    void **time = option(o, WALL_TIME);
    if (!status && time) { /* milliseconds, as a float in the place of the value */
        float milliseconds = (float)out[1] / 1000;
        memcpy(time, &milliseconds, sizeof milliseconds);
    }
    if (!status) *size = out[0];
    return status ? status : logs ? logs : errors;
}

/* --- modules ------------------------------------------------------------------------------------------------------- */
static int load_sent(void **module, uint64_t number, const struct options *o)
{
    uint64_t out;
    int status = built(o, number, &out);
    if (!status) status = say(OP_module_handle, &number, 1, &out, 1);
    if (!status) *module = address_of(out);
    return status;
}

static int load_data(void **module, const void *image, const struct options *o)
{
    uint64_t number;
    if (!module || !image) return INVALID;
    int status = load_image(image, &number);
    return status ? status : load_sent(module, number, o);
}

static const struct options none;

EXPORT int cuModuleLoadData(void **module, const void *image) { return driver_status(load_data(module, image, &none)); }
EXPORT int cuModuleLoadFatBinary(void **module, const void *image)
{
    return driver_status(load_data(module, image, &none));
}
EXPORT int cuModuleLoadDataEx(void **module, const void *image, unsigned count, int *names, void **values)
{
    struct options o;
    int status = read_options(&o, count, names, values);
    return driver_status(status ? status : load_data(module, image, &o));
}

/* The bytes of a file, with zeros after them: texts end with one, and the first word can always be read. */
static int read_file(const char *path, char **bytes, size_t *size)
{
    FILE *file = path ? fopen(path, "rb") : 0;
    if (!file) return path ? 301 : INVALID;
    char *image = 0;
    size_t length = 0, got = 1;
    while (got) {
        char *more = realloc(image, length + 65536 + 8);
        if (!more) break;
        image = more;
        got = fread(image + length, 1, 65536, file);
        length += got;
    }
    fclose(file);
    if (!image || got) {
        free(image);
        return NO_MEMORY;
    }
    memset(image + length, 0, 8);
    *bytes = image, *size = length;
    return 0;
}

static int send_bytes(const void *bytes, size_t size, uint64_t *number)
{
    uint64_t kind = WHOLE_FILE;
    look_for_printing(bytes, size);
    struct request r = {OP_module, &kind, 1, bytes, size, number, 1, 0, 0, 0};
    return ask(&r);
}

EXPORT int cuModuleLoad(void **module, const char *path)
{
    char *image;
    size_t size;
    uint64_t number;
    if (!module) return driver_status(INVALID);
    int status = read_file(path, &image, &size);
    if (status) return driver_status(status);
    status = send_bytes(image, size, &number);
    free(image);
    return driver_status(status ? status : load_sent(module, number, &none));
}

/* --- the linker ---------------------------------------------------------------------------------------------------- */
/* Code in several pieces needs sm_20, so there is one input, and linking is compiling. */
struct link { struct options options; uint64_t number, size; void *code; };
enum { CUBIN, PTX, FATBINARY, INPUTS = 5 };

static int link_input(struct link *l, int type, const void *data, size_t size, const struct options *given)
{
    if (!l || !data || type < CUBIN || type >= INPUTS) return INVALID;
    if (l->number || type > FATBINARY) {
        static int told;
        if (!told++) refuse("cuLinkAddData", "linking several pieces of code needs sm_20");
        return 801;
    }
    int status = type == FATBINARY ? load_image(data, &l->number) : send_bytes(data, size, &l->number);
    if (status) return status;
    const struct options *o = given->count ? given : &l->options;
    return built(o, l->number, &l->size);
}

static int link_create(struct link **state, unsigned count, const int *names, void **values)
{
    struct link *l = state ? calloc(1, sizeof *l) : 0;
    if (!l) return state ? NO_MEMORY : INVALID;
    int status = read_options(&l->options, count, names, values);
    uint64_t nothing;
    if (!status) status = say(OP_cuCtxGetDevice, 0, 0, &nothing, 1); /* asks for a context */
    if (status) free(l);
    else *state = l;
    return status;
}

static int link_data(struct link *l, int type, const void *data, size_t size, unsigned count, int *names, void **values)
{
    struct options o;
    int status = read_options(&o, count, names, values);
    return status ? status : link_input(l, type, data, size, &o);
}

static int link_file(struct link *l, int type, const char *path, unsigned count, int *names, void **values)
{
    char *image;
    size_t size;
    int status = read_file(path, &image, &size);
    if (status) return status;
    status = link_data(l, type, image, size, count, names, values);
    free(image);
    return status;
}

/* The code stays the linker's until that is destroyed. */
static int link_complete(struct link *l, void **code, size_t *size)
{
    if (!l || !code || !l->size) return INVALID;
    free(l->code);
    l->code = malloc(l->size);
    if (!l->code) return NO_MEMORY;
    const uint64_t in[] = {l->number, l->size};
    struct request r = {OP_module_code, in, 2, 0, 0, 0, 0, l->code, l->size, 0};
    int status = ask(&r);
    if (!status && r.back_length != l->size) status = LOST;
    if (status) return status;
    *code = l->code;
    if (size) *size = l->size;
    return 0;
}

EXPORT int cuLinkCreate(unsigned count, int *names, void **values, void **state)
{
    return driver_status(link_create((struct link **)state, count, names, values));
}
EXPORT int cuLinkCreate_v2(unsigned count, int *names, void **values, void **state)
{
    return cuLinkCreate(count, names, values, state);
}
EXPORT int cuLinkAddData(void *state, int type, void *data, size_t size, const char *name, unsigned count, int *names,
                         void **values)
{
    (void)name;
    return driver_status(link_data(state, type, data, size, count, names, values));
}
EXPORT int cuLinkAddData_v2(void *state, int type, void *data, size_t size, const char *name, unsigned count, int *names,
                            void **values)
{
    return cuLinkAddData(state, type, data, size, name, count, names, values);
}
EXPORT int cuLinkAddFile(void *state, int type, const char *path, unsigned count, int *names, void **values)
{
    return driver_status(link_file(state, type, path, count, names, values));
}
EXPORT int cuLinkAddFile_v2(void *state, int type, const char *path, unsigned count, int *names, void **values)
{
    return cuLinkAddFile(state, type, path, count, names, values);
}
EXPORT int cuLinkComplete(void *state, void **code, size_t *size) { return driver_status(link_complete(state, code, size)); }
EXPORT int cuLinkDestroy(void *state)
{
    struct link *l = state;
    if (!l) return driver_status(INVALID);
    if (l->number) say(OP_unregister, &l->number, 1, 0, 0);
    free(l->code);
    free(l);
    return 0;
}

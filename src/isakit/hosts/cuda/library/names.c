/* Names and texts of errors, from the table; functions by their names. */
#include "isakit.h"
#include <dlfcn.h>

static const struct error { int runtime, driver; const char *runtime_name, *driver_name, *text; } errors[] = {
#include "errors.h"
};
#define COUNT (sizeof errors / sizeof *errors)

/* The row of a code that has a name in an interface; others only say what the interfaces make of each other's errors. */
static const struct error *error_of(int code, int driver)
{
    for (const struct error *e = errors; e < errors + COUNT; e++)
        if ((driver ? e->driver : e->runtime) == code && *(driver ? e->driver_name : e->runtime_name)) return e;
    return 0;
}

EXPORT const char *cudaGetErrorString(int error)
{
    const struct error *e = error_of(error, 0);
    return e ? e->text : "unknown error";
}

EXPORT const char *cudaGetErrorName(int error)
{
    const struct error *e = error_of(error, 0);
    return e ? e->runtime_name : "unrecognized error code";
}

EXPORT int cuGetErrorName(int error, const char **name)
{
    const struct error *e = error_of(error, 1);
    if (!name) return driver_status(INVALID);
    *name = e ? e->driver_name : 0;
    return driver_status(e ? 0 : INVALID);
}

EXPORT int cuGetErrorString(int error, const char **text)
{
    const struct error *e = error_of(error, 1);
    if (!text) return driver_status(INVALID);
    *text = e ? e->text : 0;
    return driver_status(e ? 0 : INVALID);
}

/* What a name means from a version on where it is neither the plain one nor `_v2`; the newest first. */
static const struct changed { const char *name; int version; const char *means; } changed[] = {
    {"cuCtxCreate", 12050, "cuCtxCreate_v4"}, {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
};

/* A function of this library by its name, as a version of the interface means it: `_v2` from 3.2 on, where there is one. */
static int function_by_name(const char *symbol, void **function, int version, int *status)
{
    char name[96];
    Dl_info here;
    void *library, *found = 0;
    if (status) *status = 1; /* not there */
    if (!symbol || !function) return driver_status(INVALID);
    *function = 0;
    for (size_t k = 0; k < sizeof changed / sizeof *changed; k++)
        if (!strcmp(symbol, changed[k].name) && version >= changed[k].version) {
            symbol = changed[k].means;
            break;
        }
    if (strncmp(symbol, "cu", 2) || !strncmp(symbol, "cuda", 4) || !dladdr((void *)function_by_name, &here))
        return driver_status(NO_SYMBOL);
    if (!(library = dlopen(here.dli_fname, RTLD_LAZY | RTLD_NOLOAD))) return driver_status(NO_SYMBOL);
    if (version >= (strcmp(symbol, "cuGetProcAddress") ? 3020 : 12000) &&
        snprintf(name, sizeof name, "%s_v2", symbol) < (int)sizeof name)
        found = dlsym(library, name);
    if (!found) found = dlsym(library, symbol);
    dlclose(library);
    if (!found) return driver_status(NO_SYMBOL);
    *function = found;
    if (status) *status = 0;
    return driver_status(0);
}

EXPORT int cuGetProcAddress(const char *symbol, void **function, int version, uint64_t flags)
{
    (void)flags; /* which default stream: there is one */
    return function_by_name(symbol, function, version, 0);
}

EXPORT int cuGetProcAddress_v2(const char *symbol, void **function, int version, uint64_t flags, int *status)
{
    (void)flags;
    return function_by_name(symbol, function, version, status);
}

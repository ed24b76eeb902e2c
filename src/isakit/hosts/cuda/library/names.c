/* Names and texts of errors, from the table. */
#include "isakit.h"

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

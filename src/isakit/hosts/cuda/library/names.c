/* Names and texts of errors, from the table. */
#include "isakit.h"

static const struct error { int runtime, driver; const char *runtime_name, *driver_name, *text; } errors[] = {
#include "errors.h"
};
#define COUNT (sizeof errors / sizeof *errors)

EXPORT const char *cudaGetErrorString(int error)
{
    for (size_t k = 0; k < COUNT; k++)
        if (errors[k].runtime == error) return errors[k].text;
    return "unknown error";
}

EXPORT const char *cudaGetErrorName(int error)
{
    for (size_t k = 0; k < COUNT; k++)
        if (errors[k].runtime == error) return errors[k].runtime_name;
    return "unrecognized error code";
}

static int driver_text(int error, const char **to, int name)
{
    if (!to) return driver_status(INVALID);
    *to = 0;
    for (size_t k = 0; k < COUNT && !*to; k++)
        if (errors[k].driver == error) *to = name ? errors[k].driver_name : errors[k].text;
    return driver_status(*to ? 0 : INVALID);
}
EXPORT int cuGetErrorName(int error, const char **name) { return driver_text(error, name, 1); }
EXPORT int cuGetErrorString(int error, const char **text) { return driver_text(error, text, 0); }

/* What the programs have in common: calls that must succeed, and one word at the end. */
#ifndef CHECK_H
#define CHECK_H
#include <stdio.h>
#include <stdlib.h>

#define CALL(call)                                                                                          \
    do {                                                                                                    \
        cudaError_t status = (call);                                                                        \
        if (status != cudaSuccess) {                                                                        \
            fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));      \
            exit(1);                                                                                        \
        }                                                                                                   \
    } while (0)

static inline int verdict(const char *name, int wrong)
{
    if (wrong) printf("%s: %d wrong\n", name, wrong);
    else printf("%s ok\n", name);
    return wrong != 0;
}
#endif

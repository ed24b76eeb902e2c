/* One instruction out of bytes, for programs that count addresses in bytes. */
#ifndef ISAKIT_TAKE_APART_H
#define ISAKIT_TAKE_APART_H
#include <stddef.h>
#include <stdint.h>
/* `group` is one of the header's; `conditional`: it depends on a register; `target` is that of a branch, in bytes.
   What is no instruction has `valid` 0 and a text all the same. */
typedef struct isakit_taken {
    char text[1024], mnemonic[64];
    int32_t valid, group, conditional, has_target;
    uint64_t target;
} isakit_taken;
enum { ISAKIT_BRANCHES = 5, ISAKIT_CALLS = 6, ISAKIT_RETURNS = 7, ISAKIT_EXITS = 8 };
/* Takes the instruction at `data` apart and returns its bytes; 0 where there are too few for a unit of code. */
unsigned isakit_take_apart(const unsigned char *data, size_t size, uint64_t address, isakit_taken *out);
#endif

/* Programs with the runtime linked into them: their own functions are made to jump to ours before anything runs. */
#include "isakit.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define JUMP 14 /* jmp *0(%rip), and the address past it */
#define CLASS ELFCLASS64
static void write_jump(unsigned char *at, void (*to)(void))
{
    memcpy(at, "\xff\x25\0\0\0\0", 6);
    memcpy(at + 6, &to, sizeof to);
}
#elif defined(__i386__)
#define JUMP 5 /* jmp, and how far it is from after it */
#define CLASS ELFCLASS32
static void write_jump(unsigned char *at, void (*to)(void))
{
    uint32_t far = (uint32_t)(uintptr_t)to - (uint32_t)(uintptr_t)(at + JUMP);
    *at = 0xe9;
    memcpy(at + 1, &far, sizeof far);
}
#endif

#ifdef JUMP

static void divert(unsigned char *at, void (*to)(void))
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)at & ~(page - 1);
    size_t length = (uintptr_t)at + JUMP - first;
    if (mprotect((void *)first, length, PROT_READ | PROT_WRITE | PROT_EXEC)) return;
    write_jump(at, to);
    mprotect((void *)first, length, PROT_READ | PROT_EXEC);
}

static void (*ours(const char *name))(void)
{
    for (const struct export *e = exports; e->name; e++)
        if (!strcmp(e->name, name)) return e->function;
    return 0;
}

static void divert_all(const unsigned char *file, size_t size, uintptr_t base)
{
    const ElfW(Ehdr) *head = (const void *)file;
    if (size < sizeof *head || memcmp(file, ELFMAG, SELFMAG) || head->e_ident[EI_CLASS] != CLASS) return;
    if (head->e_shoff > size || head->e_shnum > (size - head->e_shoff) / sizeof(ElfW(Shdr))) return;
    const ElfW(Shdr) *sections = (const void *)(file + head->e_shoff);
    for (int k = 0; k < head->e_shnum; k++) {
        const ElfW(Shdr) *s = sections + k;
        if (s->sh_type != SHT_SYMTAB || s->sh_link >= head->e_shnum || s->sh_offset > size
            || s->sh_size > size - s->sh_offset)
            continue;
        const ElfW(Shdr) *names = sections + s->sh_link;
        if (names->sh_offset > size || names->sh_size > size - names->sh_offset) continue;
        for (size_t n = 0; n < s->sh_size / sizeof(ElfW(Sym)); n++) {
            const ElfW(Sym) *symbol = (const ElfW(Sym) *)(const void *)(file + s->sh_offset) + n;
            if (ELF32_ST_TYPE(symbol->st_info) != STT_FUNC || !symbol->st_value || symbol->st_size < JUMP
                || symbol->st_name >= names->sh_size)
                continue;
            const char *name = (const char *)file + names->sh_offset + symbol->st_name;
            if (strncmp(name, "cuda", 4) && strncmp(name, "__cuda", 6)) continue;
            void (*to)(void) = ours(name);
            if (to) divert((unsigned char *)(base + symbol->st_value), to);
        }
    }
}

__attribute__((constructor)) static void at_start(void)
{
    if (!getenv("ISAKIT_CUDA_STATIC")) return;
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat about;
    if (fd < 0) return;
    if (!fstat(fd, &about) && about.st_size > 0) {
        void *file = mmap(0, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (file != MAP_FAILED) {
            divert_all(file, (size_t)about.st_size, _r_debug.r_map ? _r_debug.r_map->l_addr : 0);
            munmap(file, (size_t)about.st_size);
        }
    }
    close(fd);
}
#endif

/* The lines of a listing, as isakit.asm.printer writes them: labels, text, address, words, the error of what does not
   decode. `view.h` is generated: it includes the disassembler of one view and says what its names begin with. */
#include <stdlib.h>
#include <string.h>
#include "view.h"

enum { COLUMN = 44, SHORTEST_RUN = 32, LINE = TEXT_MAX + 512, ROOM = 2 * LINE };

struct isakit_listing {
    uint64_t *units;
    size_t count, next, run, run_end;
    uint64_t first;
    int words, collapse, width, digits;
    unsigned char *labels; /* a bit for each unit: something branches there, and an instruction begins there */
};

typedef struct Decoded {
    const FORM *form; /* may be one whose operands are a decode error */
    uint64_t word;
    unsigned units;
} Decoded;

static int bit(const unsigned char *bits, size_t k) { return bits && bits[k >> 3] >> (k & 7) & 1; }
static void set(unsigned char *bits, size_t k) { bits[k >> 3] |= (unsigned char)(1 << (k & 7)); }

static Decoded decoded(const struct isakit_listing *s, size_t at)
{
    Decoded d;
    d.units = DECODE(s->units + at, s->count - at, s->first + at, &d.form, &d.word, 0);
    return d;
}

static const char *error_of(const struct isakit_listing *s, size_t at)
{
    Decoded d;
    const char *error;
    DECODE(s->units + at, s->count - at, s->first + at, &d.form, &d.word, &error);
    return error;
}

/* What branches count (bytes, or units) for a place, and back; `count` for what is no place of the listing. */
static uint64_t code_address(const struct isakit_listing *s, size_t at) { return (s->first + at) * STEP; }
static size_t place(const struct isakit_listing *s, int64_t address)
{
    uint64_t unit = (uint64_t)address / STEP;
    if (address < 0 || (uint64_t)address % STEP || unit < s->first || unit - s->first >= s->count) return s->count;
    return (size_t)(unit - s->first);
}

/* The place for which a label may stand in an instruction; `count` for none. */
static size_t target(const struct isakit_listing *s, size_t at, const Decoded *d)
{
    int64_t address;
    if (!d->form || !d->form->target || d->form->error(d->word)) return s->count;
    return d->form->target(d->word, s->first + at, &address) ? place(s, address) : s->count;
}

/* Finds the next run of at least SHORTEST_RUN equal units that begins at `from` or later. */
static void find_run(struct isakit_listing *s, size_t from)
{
    size_t k = from, last;
    s->run = s->run_end = s->count;
    while (k + SHORTEST_RUN <= s->count) {
        last = k + SHORTEST_RUN - 1;
        while (last > k && s->units[last - 1] == s->units[k + SHORTEST_RUN - 1]) last--;
        if (last > k) { k = last; continue; }
        s->run = k;
        for (last = k + SHORTEST_RUN; last < s->count && s->units[last] == s->units[k]; last++) ;
        s->run_end = last;
        return;
    }
}

static int depends_on_place(const struct isakit_listing *s, size_t at, const Decoded *d)
{
    char here[LINE], there[LINE], *a, *b;
    const char *error = error_of(s, at);
    if (error) return !strcmp(error, MISALIGNED);
    if (d->form->jumps && d->form->jumps(d->word)) return 1;
    a = d->form->write(here, d->word, 0, 0);
    b = d->form->write(there, d->word, 1, 0);
    return !a || !b || a - here != b - there || memcmp(here, there, (size_t)(a - here));
}

/* Returns how often the instruction at `at` stands there one after the other, as a part of a run. */
static size_t repetitions(struct isakit_listing *s, size_t at, const Decoded *d)
{
    if (!s->collapse) return 1;
    while (at >= s->run_end && s->run < s->count) find_run(s, s->run_end);
    if (at < s->run || at >= s->run_end || depends_on_place(s, at, d)) return 1;
    return (s->run_end - at) / d->units ? (s->run_end - at) / d->units : 1;
}

static int find_labels(struct isakit_listing *s)
{
    size_t bytes = s->count / 8 + 1, at, k;
    unsigned char *starts = calloc(bytes, 1);
    int any = 0;
    s->labels = calloc(bytes, 1);
    if (!starts || !s->labels) { free(starts); return 0; }
    for (at = 0; at < s->count;) {
        Decoded d = decoded(s, at);
        set(starts, at);
        k = target(s, at, &d);
        if (k < s->count) { set(s->labels, k); any = 1; }
        at += d.units;
    }
    for (k = 0; k < bytes; k++) s->labels[k] &= starts[k];
    free(starts);
    if (!any) { free(s->labels); s->labels = 0; }
    return 1;
}

static char *copy(char *o, const char *text) { size_t n = strlen(text); memcpy(o, text, n); return o + n; }
static char *hexed(char *o, uint64_t v, int digits)
{
    while (digits < 16 && v >> 4 * digits) digits++;
    while (digits--) *o++ = "0123456789abcdef"[v >> 4 * digits & 15];
    return o;
}
static char *decimal(char *o, uint64_t v)
{
    char digits[24];
    int n = 0;
    do digits[n++] = (char)('0' + v % 10); while (v /= 10);
    while (n--) *o++ = digits[n];
    return o;
}
static char *label_name(const struct isakit_listing *s, char *o, size_t at)
{
    *o++ = 'L';
    return hexed(o, code_address(s, at), 4);
}
static char *words_of(char *o, const uint64_t *units, unsigned n)
{
    unsigned k;
    o = copy(o, ".word");
    for (k = 0; k < n; k++) o = hexed(copy(o, " 0x"), units[k], 8);
    return o;
}
/* Writes the text of an instruction; returns NULL for what is none. */
static char *text_of(const struct isakit_listing *s, char *o, size_t at, const Decoded *d, const char *label)
{
    return d->form ? d->form->write(o, d->word, s->first + at, label) : 0;
}

/* Writes what follows the text of a line: blanks, the address. */
static char *noted(const struct isakit_listing *s, char *start, char *o, size_t at)
{
    if (!s->words) return copy(o, "  // ");
    while (o < start + COLUMN) *o++ = ' ';
    o = hexed(copy(o, " // "), code_address(s, at), s->width);
    return copy(o, ": ");
}

static char *line(const struct isakit_listing *s, char *o, size_t at, const Decoded *d)
{
    char name[32], *label = 0, *start;
    const char *error = 0;
    unsigned k;
    size_t to = s->labels ? target(s, at, d) : s->count;
    if (to < s->count && bit(s->labels, to)) { label = name; *label_name(s, name, to) = 0; }
    start = copy(o, "    ");
    o = text_of(s, start, at, d, label);
    if (!o) { error = error_of(s, at); o = words_of(start, s->units + at, d->units); }
    if (s->words) {
        o = noted(s, start, o, at);
        for (k = 0; k < d->units; k++) {
            if (k) *o++ = ' ';
            o = hexed(o, s->units[at + k], s->digits);
        }
        if (error) o = copy(copy(o, "  "), error);
    } else if (error) {
        o = copy(copy(o, "  // "), error);
    }
    *o++ = '\n';
    return o;
}

static char *fill(const struct isakit_listing *s, char *o, size_t at, const Decoded *d, size_t count)
{
    char *start;
    unsigned k;
    o = start = copy(o, "    ");
    o = hexed(copy(o, ".fill 0x"), count, 1);
    for (k = 0; k < d->units; k++) o = hexed(copy(o, ", 0x"), s->units[at + k], s->digits);
    o = copy(decimal(noted(s, start, o, at), count), " times ");
    start = text_of(s, o, at, d, 0);
    o = start ? start : copy(o, error_of(s, at));
    *o++ = '\n';
    return o;
}

void isakit_listing_close(struct isakit_listing *s)
{
    if (s) { free(s->labels); free(s->units); free(s); }
}

/* Begins the listing of `count` units of `size` bytes each, lowest byte first, of which the first has address `first`,
   counted in units; NULL without memory. `width`: digits of addresses. */
struct isakit_listing *isakit_listing_open(const unsigned char *code, size_t count, unsigned size, uint64_t first,
                                           int words, int labels, int collapse, int width)
{
    struct isakit_listing *s = calloc(1, sizeof *s);
    size_t k;
    unsigned byte;
    if (!s) return 0;
    s->units = malloc((count ? count : 1) * sizeof *s->units);
    if (!s->units) { free(s); return 0; }
    for (k = 0; k < count; k++) {
        uint64_t unit = 0;
        for (byte = 0; byte < size; byte++) unit |= (uint64_t)*code++ << 8 * byte;
        s->units[k] = unit;
    }
    s->count = count; s->first = first;
    s->words = words; s->collapse = collapse; s->width = width; s->digits = (UNIT_BITS + 3) / 4;
    if (labels && !find_labels(s)) { isakit_listing_close(s); return 0; }
    if (collapse) find_run(s, 0);
    return s;
}

/* Writes lines, each whole, and returns their bytes: 0 after the last. `room` must be at least ROOM. */
size_t isakit_listing_read(struct isakit_listing *s, char *out, size_t room)
{
    char *o = out, *end = out + room;
    while (s->next < s->count && (size_t)(end - o) >= ROOM) {
        Decoded d = decoded(s, s->next);
        size_t count = repetitions(s, s->next, &d), part = 1;
        if (bit(s->labels, s->next)) { o = label_name(s, o, s->next); *o++ = ':'; *o++ = '\n'; }
        while (part < count && !bit(s->labels, s->next + part * d.units)) part++;
        o = part == 1 ? line(s, o, s->next, &d) : fill(s, o, s->next, &d, part);
        s->next += part * d.units;
    }
    return (size_t)(o - out);
}

size_t isakit_listing_room(void) { return ROOM; }

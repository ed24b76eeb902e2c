/* See take_apart.h. `view.h` is generated: it includes the disassembler of one view and says what its names begin with. */
#include "take_apart.h"
#include "view.h"

enum { MOST_UNITS = 4 };
typedef char groups_are_those_of_the_header[(int)ISAKIT_GROUP_BRANCH == (int)ISAKIT_BRANCHES &&
    (int)ISAKIT_GROUP_EXIT == (int)ISAKIT_EXITS ? 1 : -1];
typedef char texts_have_room[sizeof(((INSTRUCTION *)0)->text) <= sizeof(((isakit_taken *)0)->text) &&
    sizeof(((INSTRUCTION *)0)->mnemonic) <= sizeof(((isakit_taken *)0)->mnemonic) ? 1 : -1];

unsigned isakit_take_apart(const unsigned char *data, size_t size, uint64_t address, isakit_taken *out)
{
    uint64_t units[MOST_UNITS];
    INSTRUCTION found;
    size_t count = size / UNIT_BYTES, k;
    unsigned byte, used;
    if (count > MOST_UNITS) count = MOST_UNITS;
    for (k = 0; k < count; k++)
        for (units[k] = 0, byte = 0; byte < UNIT_BYTES; byte++)
            units[k] |= (uint64_t)data[k * UNIT_BYTES + byte] << 8 * byte;
    for (k = 0; k < count; k++)
        if (UNIT_BITS < 64 && units[k] >> (UNIT_BITS & 63)) { count = k; break; }
    used = count ? INSTRUCTION_AT(units, count, address / UNIT_BYTES, &found) : 0;
    memset(out, 0, sizeof *out);
    if (!used) return 0;
    strcpy(out->text, found.text);
    strcpy(out->mnemonic, found.mnemonic);
    out->valid = !found.error;
    out->group = found.error ? 0 : (int32_t)found.group;
    out->conditional = found.read_count > 0;
    for (k = 0; k < found.operand_count; k++)
        if (found.operands[k].kind == ISAKIT_OP_CODE_ADDRESS && found.operands[k].value >= 0) {
            out->has_target = 1;
            out->target = (uint64_t)found.operands[k].value * STEP;
        }
    return used * UNIT_BYTES;
}

/* A plug-in of rizin: disassembly and the flow of control. rizin up to 0.7 takes one library for each of the two
   (ISAKIT_ANALYSIS: the second), later ones take both at once. */
#include <rz_types.h>
#include <rz_lib.h>
#include <rz_util.h>
#include <rz_asm.h>
#include <rz_analysis.h>
#if defined(__has_include)
#if __has_include(<rz_arch.h>)
#include <rz_arch.h>
#define TOGETHER
#endif
#endif
#include "take_apart.h"
#include "names.h"

#if defined(TOGETHER) || !defined(ISAKIT_ANALYSIS)
static int disassemble(RzAsm *a, RzAsmOp *op, const ut8 *buf, int len)
{
    isakit_taken taken;
    op->size = (int)isakit_take_apart(buf, len < 0 ? 0 : (size_t)len, a->pc, &taken);
    if (op->size) rz_strbuf_set(&op->buf_asm, taken.text);
    return op->size ? op->size : -1;
}
static RzAsmPlugin asm_plugin = {
    .name = NAME, .arch = NAME, .author = "isakit", .version = VERSION, .license = "MIT", .desc = ABOUT,
    .bits = 32 | 64, .endian = RZ_SYS_ENDIAN_LITTLE, .disassemble = disassemble,
};
#endif

#if defined(TOGETHER) || defined(ISAKIT_ANALYSIS)
static int analyse(RzAnalysis *analysis, RzAnalysisOp *op, ut64 addr, const ut8 *data, int len,
                   RzAnalysisOpMask mask)
{
    isakit_taken taken;
    (void)analysis; (void)mask;
    op->addr = addr;
    op->size = (int)isakit_take_apart(data, len < 0 ? 0 : (size_t)len, addr, &taken);
    if (!op->size) return -1;
    op->delay = taken.group >= ISAKIT_BRANCHES && taken.group <= ISAKIT_RETURNS ? DELAY : 0;
    op->type = taken.valid ? RZ_ANALYSIS_OP_TYPE_UNK : RZ_ANALYSIS_OP_TYPE_ILL;
    if (taken.has_target) op->jump = taken.target;
    switch (taken.group) {
    case ISAKIT_BRANCHES:
        op->type = taken.has_target ? RZ_ANALYSIS_OP_TYPE_JMP : RZ_ANALYSIS_OP_TYPE_UJMP;
        if (taken.has_target && taken.conditional) {
            op->type = RZ_ANALYSIS_OP_TYPE_CJMP;
            op->fail = addr + (ut64)op->size;
        }
        break;
    case ISAKIT_CALLS:
        op->type = taken.has_target ? RZ_ANALYSIS_OP_TYPE_CALL : RZ_ANALYSIS_OP_TYPE_UCALL;
        op->fail = addr + (ut64)op->size;
        break;
    case ISAKIT_RETURNS:
    case ISAKIT_EXITS:
        op->type = taken.conditional ? RZ_ANALYSIS_OP_TYPE_CRET : RZ_ANALYSIS_OP_TYPE_RET;
        break;
    default:
        break;
    }
    return op->size;
}
static char *registers(RzAnalysis *analysis)
{
    (void)analysis;
    return strdup(PROFILE);
}
static RzAnalysisPlugin analysis_plugin = {
    .name = NAME, .arch = NAME, .author = "isakit", .version = VERSION, .license = "MIT", .desc = ABOUT,
    .bits = 32 | 64, .op = analyse, .get_reg_profile = registers,
};
#endif

#if defined(TOGETHER)
static RzArchPlugin plugin = {.p_asm = &asm_plugin, .p_analysis = &analysis_plugin};
#define TYPE RZ_LIB_TYPE_ARCH
#elif defined(ISAKIT_ANALYSIS)
#define plugin analysis_plugin
#define TYPE RZ_LIB_TYPE_ANALYSIS
#else
#define plugin asm_plugin
#define TYPE RZ_LIB_TYPE_ASM
#endif
RZ_API RzLibStruct rizin_plugin = {.type = TYPE, .data = &plugin, .version = RZ_VERSION};

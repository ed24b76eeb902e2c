"""Bit positions of the USSE instruction layouts: the only place with bit numbers.

Written as in [usse] 2.6: `name@high:low` or `name@bit`. A name may stand several times, low part first.
"""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

from isakit.spec import Bits, Field, Layout, bits

_ITEM = re.compile(r"(\w+)@(\d+)(?::(\d+))?$")


def layout(text: str) -> Any:
    """A namespace of fields from a list of `name@high:low`."""
    out: dict[str, Field] = {}
    for item in text.split():
        m = _ITEM.match(item)
        if m is None:
            raise ValueError(item)
        name, high, low = m[1], int(m[2]), int(m[3] or m[2])
        field = bits(low, high, name)
        out[name] = Field(out[name].slices + field.slices, name) if name in out else field
    return SimpleNamespace(**out)


WORD = Layout("word", 1, Bits(), doc="one 64-bit word")
OPCODE = bits(59, 63, "opcode1")

_BANKS = "dbank@33:32 s1bank@31:30 s2bank@29:28 "

VMAD2 = layout(
    "fmt@58 pred@57:56 skipinv@55 sync@52 s0abs@50 s1ext@49 s2ext@48 s2swz@47:45 nosched@43 mask@42:39 s1neg@37 "
    "s1abs@38 s2neg@35 s2abs@36 s0bank@34 " + _BANKS + "dn@27:22 s1swz@21:20 s1swz@44 s0swz@19:18 s0swz@53 s0n@17:12 "
    "s1n@11:6 s2n@5:0"
)
NMAD = layout(
    "pred@58:56 skipinv@55 sync@52 dext@51 s1ext@49 s2ext@48 s2swz@47:44 nosched@43 mask@42:39 s1neg@37 s1abs@38 "
    "s2abs@36 " + _BANKS + "dn@27:22 s1swz@21:15 s1swz@35:34 s1swz@50 s1swz@54:53 op@14:12 s1n@11:6 s2n@5:0"
)
VMAD = layout(
    "pred@58:56 skipinv@55 opcode2@53 vec4@52 dext@51 end@50 s1ext@49 rptmode@48:47 g0abs@46 rpt@45:44 nosched@43 "
    "mask@42:39 s1neg@38 s1abs@37 g1neg@36 g1abs@35 " + _BANKS + "g0n@29:28 dn@27:22 g0swz@21:18 g0swz@34 "
    "g1swz@17:14 g1swz@54 g1n@13:12 g0neg@11 s1swz@9:6 s1swz@10 s1n@5:0"
)
VDP = layout(
    "pred@58:56 skipinv@55 clip@36:34 clip@54 opcode2@53 vec4@52 dext@51 end@50 s1ext@49 rptmode@48:47 g0abs@46 "
    "rpt@45:44 nosched@43 mask@42:39 s1neg@38 s1abs@37 " + _BANKS + "g0n@29:28 dn@27:22 g0swz@21:18 "
    "s1swz@17:6 s1n@5:0 clip_en@54"
)
VCOMP = layout(
    "pred@58:56 skipinv@55 dtype@54:53 sync@52 dext@51 end@50 s1ext@49 rpt@47:44 nosched@43 op@42:41 stype@40:39 "
    "s1neg@37 s1abs@38 s1chan@36:35 " + _BANKS + "dn@27:21 s1n@13:7 mask@3:0"
)
VDUAL = layout(
    "vec4@59 g1neg@58 pred@57:56 skipinv@55 w54@54 f16@53 uswz@51:48 uneg@47 op1@46:44 op2@20:18 op2@43 prim_u@42 "
    "g0swz@41:38 g1swz@37:34 g1swz@52 udbank@33:32 usbank@31:30 gdn@29:28 udn@27:21 srccfg@17:16 g2n@15:14 uswzx@15 "
    "uabs@14 g1n@13:12 g0n@11:10 gmask@9:7 usn@6:0"
)
VMOV = layout(
    "pred@58:56 skipinv@55 cond@39 cond@54 s0usesswz@53 sync@52 dext@51 end@50 s0ext@50 s1ext@49 s2ext@48 type@47:46 "
    "rpt@45:44 nosched@43 dt@42:40 swz@38:35 s0bank@34 " + _BANKS + "mask@27:24 dn@23:18 s0n@17:12 s1n@11:6 s2n@5:0 "
    "condhigh@54"
)
VPCK = layout(
    "pred@58:56 skipinv@55 nosched@54 sync@52 dext@51 end@50 s1ext@49 s2ext@48 rpt@47:44 sfmt@43:41 dfmt@40:38 "
    "mask@37:34 " + _BANKS + "dn@27:21 sel3@20:19 scale@18 sel1@17:16 sel2@15:14 s1n@13:8 a@7 s2n@6:1 sel0low@0 "
    "sel0bit1@1 unknown53@53"
)
VTST = layout(
    "pred@58:56 skipinv@55 nosched@54 once@53 sync@52 dext@51 s1neg@50 s1ext@49 s2ext@48 prec@47 s2scalar@46 rpt@45:44 "
    "sign@43:42 zero@41:40 and_@39 chan@38:36 masktype@37:36 pdst@35:34 " + _BANKS + "dn@27:21 wben@20 alusel@19:18 "
    "aluop@17:14 s1n@13:7 s2n@6:0"
)
VBW = layout(
    "op1@61:59 pred@58:56 skipinv@55 nosched@54 rptsel@53 sync@52 dext@51 end@50 s1ext@49 s2ext@48 rpt@47:44 s2inv@43 "
    "s2rot@42:38 immhi@37:36 op2@35 partial@34 " + _BANKS + "dn@27:21 immmid@20:14 s1n@13:7 s2n@6:0 "
    "imm16@6:0 imm16@20:14 imm16@37:36"
)
SOP2 = layout(
    "pred@58:57 cmod1@56 skipinv@55 nosched@54 asel1@53:52 dext@51 end@50 s1ext@49 s2ext@48 cmod2@47 rpt@46:44 "
    "amod1@43 "
    "asel2@42:41 csel1@40:38 csel2@37:35 amod2@34 " + _BANKS + "dn@27:21 s1mod@20 cop@19:18 aop@17:16 asrc1mod@15 "
    "dmod@14 s1n@13:7 s2n@6:0"
)
SOP2M = layout(
    "pred@58:57 cmod1@56 skipinv@55 nosched@54 cop@53:52 dext@51 end@50 s1ext@49 s2ext@48 cmod2@47 wmask@46:43 "
    "aop@42:41 csel1@40:38 csel2@37:35 " + _BANKS + "dn@27:21 s1n@13:7 s2n@6:0"
)
SOP3 = layout(
    "pred@58:57 cmod1@56 skipinv@55 nosched@54 cop@53:52 dext@51 end@50 s1ext@49 s2ext@48 cmod2@47 amod1@46 "
    "asel1@45:44 "
    "dmod@43 aop@42:41 csel1@40:38 csel2@37:35 s0bank@34 " + _BANKS + "dn@27:21 s0n@20:14 s1n@13:7 s2n@6:0"
)
I8MAD = layout(
    "pred@58:57 cmod1@56 skipinv@55 nosched@54 csel0@53:52 dext@51 end@50 s1ext@49 s2ext@48 cmod2@47 rpt@46:44 sat@43 "
    "cmod0@42 asel0@41 amod2@40 amod1@39 amod0@38 csel1@37 csel2@36 s0neg@35 s0bank@34 "
    + _BANKS
    + "dn@27:21 s0n@20:14 "
    "s1n@13:7 s2n@6:0"
)
I16MAD = layout(
    "pred@58:57 abs@56 skipinv@55 nosched@54 s2neg@53 sel1h@52 dext@51 end@50 s1ext@49 s2ext@48 rpt@46:44 mode@43:42 "
    "s2fmt@41:40 s1fmt@39:38 sel2h@37 orshift@36:35 s0bank@34 " + _BANKS + "dn@27:21 s0n@20:14 s1n@13:7 s2n@6:0"
)
I32MAD = layout(
    "pred@58:57 s0high@56 skipinv@55 nosched@54 s1high@53 s2high@52 dext@51 end@50 s1ext@49 s2ext@48 rpt@46:44 "
    "signed@43 sat@42 s2type@39:38 s0bank@34 " + _BANKS + "dn@27:21 s0n@20:14 s1n@13:7 s2n@6:0"
)
I32MAD2 = layout(
    "pred@58:56 skipinv@55 nosched@54 step@53:52 dext@51 end@50 s1ext@49 s2ext@48 s0ext@47 rpt@46:44 signed@41 "
    "s1neg@40 s2neg@39 s0bank@34 " + _BANKS + "dn@27:21 s0n@20:14 s1n@13:7 s2n@6:0"
)
SMP = layout(
    "pred@58:56 skipinv@55 nosched@54 sync@52 minpack@51 s0ext@50 s1ext@49 s2ext@48 conv@47:46 maskcount@45:44 "
    "dim@43:42 "
    "lod@41:40 destpa@39 sb@38:37 ctype@36:35 s0bank@34 drc@33:32 s1bank@31:30 s2bank@29:28 dn@27:21 s0n@20:14 "
    "s1n@13:7 "
    "s2n@6:0"
)
LDST = layout(
    "pred@58:56 skipinv@55 nosched@54 moe@53 sync@52 cacheext@51 s0ext@50 s1ext@49 s2ext@48 count@47:44 addrmode@43:42 "
    "mode@41:40 destpa@39 range@38 dtype@37:36 incdec@35 s0bank@34 cachebyp@33 drc@32 s1bank@31:30 s2bank@29:28 "
    "dn@27:21 s0n@20:14 s1n@13:7 s2n@6:0"
)
SPECIAL = layout("cat@53:52 op2@58:56 special@54")
BR = layout(
    "zero@54:52 sub@40:38 pred@58:56 syncend@55 exception@51 pwait@45 syncext@44 nosched@43 monitor@42 savelink@41 "
    "relative@38 anyinst@21 allinst@20 off@19:0"
)
NOP = layout("zero@54:52 sub@40:38 end@50 nosched@43")
PHAS = layout(
    "op2@58:56 cat@54:52 sprvv@55 end@51 imm@50 s1ext@49 s2ext@48 mode@45 ratehi@44 rate@43 wait@42:40 tempcount@39:32 "
    "s1bank@31:30 s2bank@29:28 addr@6:0 addr@13:7 addr@19:14"
)
SMLSI = layout(
    "nosched@50 templim@47:44 palim@43:40 salim@39:36 dmode@35 s0mode@34 s1mode@33 s2mode@32 dinc@31:24 s0inc@23:16 "
    "s1inc@15:8 s2inc@7:0 special@54 cat@53:52 op2@58:56"
)
SMBO = layout("nosched@50 doff@47:36 s0off@35:24 s1off@23:12 s2off@11:0 special@54 cat@53:52 op2@58:56")
KILL = layout("pred@42:41 special@54 cat@53:52 op2@58:56 s1bank@31:30 s2bank@29:28 s1n@13:7 s2n@6:0")
LIMM = layout(
    "op2@58:56 cat@53:52 skipinv@55 nosched@54 dext@51 end@50 imm@20:0 imm@40:36 imm@49:44 pred@43:41 dbank@33:32 "
    "dn@27:21"
)
DEPTHF = layout(
    "op2@58:56 cat@53:52 sync@55 s0ext@51 end@50 s1ext@49 s2ext@48 nosched@43 pred@42:41 twosided@37 feedback@36:35 "
    "s0bank@34 s1bank@31:30 s2bank@29:28 dn@27:21 s0n@20:14 s1n@13:7 s2n@6:0 special@54"
)
WDF = layout("op2@58:56 cat@53:52 drc@32 nosched@43 special@54")
EMIT = layout("op2@58:56 cat@53:52 special@54 end@50")

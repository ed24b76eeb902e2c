"""Pieces that assembler texts with mistakes are made of."""

from __future__ import annotations

SOURCE = """\
.kernel first
.regs 4
.shared 0x20
.param x ptr
.param n u32
.const 1
    .word 0x1, 0x2
    .byte 1 2 3
.code
loop:
    mov b32 $r1 b32 s[x]
    (lg $c0) add b32 $r0 $r1 $r0
    ld b32 $r1 g14[$r1]
    set $c0 # le s32 $r0 $r124
    cvt rn f32 $r0 s32 $r0
    add f32 $r2 (mul $r1 $r3) $r2
    bra loop
    tex 2d all $r0 $t0 $s0 $r0 $r1 // 0000
    exit st b32 g14[$r0] $r2 {0x10}
.equ size (1 << 4) + n
.align 8
.word size, 0xffffffff
"""
PIECES = [
    "$r1", "$a1", "$c0", "s[", "c0[", "g14[", "]", "(", ")", "{0x1}", "0x", "0xffffffffffffffffffff", "-", "~", "<<",
    "*", "1e400", "1.5", "loop", "long ", "exit ", "join ", ".word ", ".kernel ", ".param ", ".const ", ".align ",
    ".equ ", ".org ", "/", "%0", "|", ";", ":", "=", "/*", "//", "\n", "\t", ",", "\0", "é", "²", "٣", "\u2028", "#",
    "@",     "secondary", "add ", "mov ", "b32 ", "f32 ",
]  # fmt: skip

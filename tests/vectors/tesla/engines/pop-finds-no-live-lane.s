// {"seed": 121, "chip": "g80", "grid": 3, "block": 50, "flags": {"mul_zero_wins": true, "sat_nan": false, "nonfp_deriv_inf": true}, "budget": null}
// A pop that found no live lane went on in the wrong block: an endless loop.
    cvt u32 $r12 u16 u16 s[0xc]
    mov b32 $r13 0x2
    shr u32 $r14 $r0 0x5
    add $r12 (mul u24 $r12 $r13) $r14
    shl b32 $r14 $r14 0x6
    and b32 $r13 $r0 0x1f
    shl b32 $r15 $r12 0x5
    add b32 $r15 $r15 $r13
    shl b32 $r15 $r15 0x7
    add b32 $r15 b32 s[0x10] $r15
    shl b32 $r12 $r12 0x8
    add b32 $r12 b32 s[0x14] $r12
    ld b32 $r1 g14[$r15]
    add b32 $r15 $r15 0x4
    ld b32 $r2 g14[$r15]
    add b32 $r15 $r15 0x4
    ld b32 $r3 g14[$r15]
    add b32 $r15 $r15 0x4
    ld b32 $r4 g14[$r15]
    add b32 $r15 $r15 0x4
    ld b32 $r5 g14[$r15]
    add b32 $r15 $r15 0x4
    ld b32 $r6 g14[$r15]
    add b32 $r15 $r15 0x4
    ld b32 $r7 g14[$r15]
    add b32 $r15 $r15 0x4
    mov b32 $r8 0x0
    mov b32 $r9 0x0
    mov b32 $r10 0x0
    mov b32 $r11 0x0
    set $c0 # ge s32 $r0 $r6
    (e $c0) ret
    joinat #L2
    set $c2 # g f32 $r3 $r2
    (ns $c2) bra #L1
    call #F0
    bra #L2
L1:
    and b32 $r8 $r6 0x3
    breakaddr #L4
L3:
    and b32 $c1 # $r8 $r8
    (e $c1) break
    addc $r16 (mul s16 $r3l 0xc1cf263e) $r16 $c0
    (c $c1) ex2 f32 sat $r3 $r1
    add b32 $r8 $r8 0xffffffff
    bra #L3
L4:
    (lgu $c0) mov $r1 $pm0
    set $c2 # g f32 $r7 $r3
    and b32 $r13 $r1 0x3c
    add b32 $r13 $r14 $r13
    shl $a1 $r13 0x0
    (e $c2) st b32 s[$a1+0x40] $r0
    joinat #L6
    set $c3 # le s32 $r4 $r2
    (c $c3) bra #L5
    bar inc 0x3 0xfff
    set $c0 # e f32 $r1 $r1
    (l $c0) ret
    bra #L6
L5:
    (x19 $c2) addc b16 $r3l $r4h $r16l $c2
    set $c0 # e u32 $r7 $r2
    (e $c0) ret
    (leu $c3) cvt rmi u16 $c3 $r2h f16 $r16l
    (gu $c0) nop5
L6:
    join nop
L2:
    join (o $c1) max f32 $c0 $r0 abs $r2 $r4
    set $c2 # g s32 $r1 $r2
    and b32 $r13 $r1 0xfc
    add b32 $r13 $r12 $r13
    (e $c2) ld b32 $r1 g14[$r13]
    st b32 g14[$r15] $r0
    add b32 $r15 $r15 0x4
    st b32 g14[$r15] $r1
    add b32 $r15 $r15 0x4
    st b32 g14[$r15] $r2
    add b32 $r15 $r15 0x4
    st b32 g14[$r15] $r3
    add b32 $r15 $r15 0x4
    st b32 g14[$r15] $r4
    add b32 $r15 $r15 0x4
    st b32 g14[$r15] $r5
    add b32 $r15 $r15 0x4
    st b32 g14[$r15] $r6
    add b32 $r15 $r15 0x4
    st b32 g14[$r15] $r7
    add b32 $r15 $r15 0x4
    mov $r1 $c1
    st b32 g14[$r15] $r1
    add b32 $r15 $r15 0x4
    mov $r1 $c2
    st b32 g14[$r15] $r1
    add b32 $r15 $r15 0x4
    exit nop
F0:
    set $c2 # ge u32 $r7 $r3
    and b32 $r13 $r2 0x3c
    add b32 $r13 $r14 $r13
    shl $a1 $r13 0x0
    (e $c2) st b32 s[$a1+0x40] $r5
    ret
F1:
    (u $c1) ld $r16 u16 c0[0x224]
    quadon
    sad $r0 u16 $r0l c0[0x4] $r0
    quadpop
    (eu $c0) cvt f32 $r6 f16 $r0l
    ret

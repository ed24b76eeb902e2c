// {"seed": 11, "chip": "g84", "grid": 1, "block": 32, "flags": {}, "budget": 110}
// The budget ends in a loop while other lanes wait: what they will read was not handed over.
    cvt u32 $r12 u16 u16 s[0xc]
    mov b32 $r13 0x1
    shr u32 $r14 $r0 0x5
    add $r12 (mul u24 $r12 $r13) $r14
    add b32 $r14 $r14 0x1
    shl b32 $r14 $r14 0x8
    and b32 $r13 $r0 0x1f
    shl b32 $r15 $r12 0x5
    add b32 $r15 $r15 $r13
    shl b32 $r15 $r15 0x7
    add b32 $r15 b32 s[0x10] $r15
    shl b32 $r12 $r12 0x8
    add b32 $r12 b32 s[0x14] $r12
    ld b128 $r0q g14[$r15]
    add b32 $r15 $r15 0x10
    ld b128 $r4q g14[$r15]
    mov b32 $r8 0x0
    mov b32 $r9 0x0
    mov b32 $r10 0x0
    mov b32 $r11 0x0
    mov $c0 $r2
    mov $c1 $r3
    mov $c2 $r4
    mov $c3 $r5
    joinat #L2
    set $c2 # l f32 $r1 $r2
    (lg $c2) bra #L1
    add rz f32 $r6 $r3 $r0
    bra #L2
L1:
    set $c0 # lu f32 $r7 $r2
    mov b32 $r9 0x3
L3:
    and b32 $r3 $r0 0x7fffffff
    add b32 $r9 $r9 0xffffffff
    and b32 $c3 # $r9 $r9
    (lg $c3) bra #L3
L2:
    join nop
    bar inc wait 0x0 0xfff
    joinat #L5
    set $c2 # l f32 $r1 $r2
    (lg $c2) bra #L4
    add f32 $r3 (mul $r1 $r7) $r1
    add rz f32 $r1 neg $r2 $r2
    bra #L5
L4:
    add rz f32 $r1 neg $r7 neg $r1
    mov b32 $r9 0x3
L6:
    mul rz f32 $r0 neg $r7 $r2
    add f32 $r4 neg $r1 $r2
    mov b16 $r0l $r0l
    add b32 $r9 $r9 0xffffffff
    and b32 $c3 # $r9 $r9
    (lg $c3) bra #L6
L5:
    join nop
    add rz f32 $r0 $r7 $r7
    bar inc wait 0x0 0xfff
    add f32 $r4 neg $r5 $r1
    mov b16 $r0l $r0l
    add f32 $r1 neg $r2 $r6
    mov b16 $r0l $r0l
    mul rn f32 $r5 $r3 neg $r4
    mul rz f32 $r0 $r7 $r2
    add f32 $r0 $r5 $r1
    mov b16 $r0l $r0l
    add b32 $r15 $r15 0x10
    st b128 g14[$r15] $r0q
    add b32 $r15 $r15 0x10
    st b128 g14[$r15] $r4q
    mov $r0 $c0
    mov $r1 $c1
    mov $r2 $c2
    mov $r3 $c3
    mov $r4 $a1
    mov $r5 $a2
    mov $r6 $a3
    mov $r7 $a4
    add b32 $r15 $r15 0x10
    st b128 g14[$r15] $r0q
    add b32 $r15 $r15 0x10
    st b128 g14[$r15] $r4q
    and b32 $r13 $r15 0xf80
    shr u32 $r13 $r13 0x5
    add b32 $r13 $r13 $r14
    shl $a1 $r13 0x0
    mov $r5 $a7
    mov b32 $r4 b32 s[$a1]
    ld b64 $r6d l[0x70]
    add b32 $r15 $r15 0x10
    exit st b128 g14[$r15] $r4q

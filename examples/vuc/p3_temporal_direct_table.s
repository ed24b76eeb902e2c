// H.264 temporal direct prediction without a divider: tx comes from a table.
// In and out as in p3_temporal_direct.s; besides, D[0x100 + td + 128] = tx for td = -128 .. 127.

start:
    ld   $r1 D[0x0]             // tb
    ld   $r2 D[0x1]             // td
    ld   $r3 D[0x2]
    ld   $r4 D[0x3]
    mov  $r7 0x180
    add  $r7 $r7 $r2            // table + 128 + td
    ld   $r9 D[$r7]
    nop
    nop
    st   D[0x4] $r9
    lmuls $r9 $r1
    nop
    nop
    lsrr 0x5
    nop
    or   $r10 $llo 0x0
    clamps $r10 $r10 0xa
    st   D[0x5] $r10
    lmuls $r3 $r10
    nop
    nop
    lsrr 0x7
    nop
    or   $r11 $llo 0x0
    lmuls $r4 $r10
    st   D[0x6] $r11
    sub  $r12 $r11 $r3
    lsrr 0x7
    st   D[0x8] $r12
    or   $r11 $llo 0x0
    st   D[0x7] $r11
    sub  $r12 $r11 $r4
    st   D[0x9] $r12
end:
    bra  #end
    nop

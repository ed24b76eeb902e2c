// H.264 temporal direct prediction, 8.4.1.2.3: scale a co-located motion vector.
// In:  D[0] = tb, D[1] = td (not 0), D[2], D[3] = mvCol x, y.
// Out: D[4] = tx, D[5] = DistScaleFactor, D[6], D[7] = mvL0, D[8], D[9] = mvL1.
//
//   tx = (16384 + |td / 2|) / td,  DSF = Clip3(-1024, 1023, (tb * tx + 32) >> 6),
//   mvL0 = (DSF * mvCol + 128) >> 8,  mvL1 = mvL0 - mvCol
//
// The unusual instructions fit exactly: DSF is the 11-bit signed second factor of lmuls, lsrr 5 and lsrr 7 are the
// roundings, clamps 10 is the clip. (tb * tx + 32) >> 6 is cut to 16 bits before it is clipped, so tb = -128 with
// td = -1 gives -1024 instead of 1023.

start:
    ld   $r1 D[0x0]             // tb
    ld   $r2 D[0x1]             // td
    ld   $r3 D[0x2]             // mvCol x
    ld   $r4 D[0x3]             // mvCol y
    mov  $r7 0x2000
    add  $r7 $r7 $r7            // 16384 does not fit a constant
    setlt $p2 $r2 0x0
    sub  $r5 $r0 $r2
    slct $r5 $p2 $r5 $r2        // |td|
    shr  $r6 $r5 0x1
    add  $r7 $r7 $r6            // dividend
    mov  $llo $r7
    mov  $lhi $r0
    mov  $r8 0x9                // filler: $lhi is not forwarded; also the wait counter
    ldivu $r5                   // 34 cycles
wait:
    sub  $r8 $r8 0x1
    setgt $p3 $r8 0x0
    $p3 bra #wait
    nop
    or   $r9 $llo 0x0           // 36 cycles after the division began
    sub  $r10 $r0 $r9
    slct $r9 $p2 $r10 $r9       // tx with the sign of td
    st   D[0x4] $r9
    lmuls $r9 $r1               // tb has 8 bits, so it fits the 11-bit factor
    nop
    nop
    lsrr 0x5
    nop                         // before $llo is read by name
    or   $r10 $llo 0x0
    clamps $r10 $r10 0xa
    st   D[0x5] $r10
    lmuls $r3 $r10
    nop
    nop
    lsrr 0x7
    nop
    or   $r11 $llo 0x0
    lmuls $r4 $r10              // the y component, with useful fillers
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

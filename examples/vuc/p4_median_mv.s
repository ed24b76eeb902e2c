// H.264 luma motion vector prediction (8.4.1.3, P_Skip 8.4.1.1) for 16x16, skipped and intra macroblocks of a P slice.
// In:  macroblocks from the ring; D[1] = pitch = 4 * (width + 2); a frame of border cells with ref = -2.
// Out: D[0x200 + pitch * (y + 1) + 4 * (x + 1)] = {ref, mv x, mv y}; ref = -1 for intra. Also in $mvxl0, $mvyl0.
//
// The neighbours are kept in D[], because the neighbour registers are not documented. -2: not available, -1: no vector.

start:
    ld   $r2 D[0x1]
    nop
    nop
mb:
    clicnt
    sleep
    btest pnot $p2 $stat 0xa
    $p2 bra #done               // woken by the host, not by a macroblock
    nop
    mbiread
    nop
    nop
    nop
    nop
    nop
    // this cell: D + 0x200 + pitch * (y + 1) + 4 * (x + 1)
    or   $r13 $mbxy 0x0
    and  $r14 $r13 0x3f
    add  $r14 $r14 0x1
    lmulu $r2 $r14
    shr  $r13 $r13 0x8
    add  $r13 $r13 0x1
    shl  $r13 $r13 0x2
    or   $r1 $llo 0x0
    add  $r1 $r1 $r13
    mov  $r13 0x200
    add  $r1 $r1 $r13
    // A = left in r3 r4 r5, B = above in r6 r7 r8, C = above right in r9 r10 r11
    sub  $r14 $r1 0x4
    sub  $r15 $r1 $r2
    ld   $r3 D[$r14]
    ld   $r4 D[$r14+0x1]
    ld   $r5 D[$r14+0x2]
    ld   $r6 D[$r15]
    ld   $r7 D[$r15+0x1]
    ld   $r8 D[$r15+0x2]
    ld   $r9 D[$r15+0x4]
    ld   $r10 D[$r15+0x5]
    ld   $r11 D[$r15+0x6]
    not  $r13 $r0               // -1
    sub  $r15 $r15 0x4          // above left
    sub  $r12 $r13 0x1          // -2
    seteq $p3 $r9 $r12          // C not available: take D
    $p3 ld $r9 D[$r15]
    $p3 ld $r10 D[$r15+0x1]
    $p3 ld $r11 D[$r15+0x2]
    seteq $p4 $r3 $r12          // A not available
    seteq $p5 $r6 $r12          // B not available
    nop
    seteq $p6 $r9 $r12          // C and D not available
    btest $p8 $mbflags 0x1      // intra
    btest $p9 $mbflags 0xd      // P_Skip
    max  $r3 $r3 $r13           // from here on -1 means no vector
    max  $r6 $r6 $r13
    max  $r9 $r9 $r13
    // P_Skip has a zero vector if A or B is missing, or has reference 0 and a zero vector
    or   $r14 $r3 $r4
    or   $r14 $r14 $r5
    seteq $p10 $r14 0x0
    or   $r14 $r6 $r7
    or   $r14 $r14 $r8
    seteq por $p10 $r14 0x0
    or   $p10 $p10 $p4
    or   $p10 $p10 $p5
    and  $p10 $p10 $p9
    // only A is available: use it for all three
    and  $p7 $p5 $p6
    and  $p7 $p7 not $p4
    $p7 add $r6 $r3 $r0
    $p7 add $r7 $r4 $r0
    $p7 add $r8 $r5 $r0
    $p7 add $r9 $r3 $r0
    $p7 add $r10 $r4 $r0
    $p7 add $r11 $r5 $r0
    lut  $r12 $r0 0x6           // reference of list 0, 0 for P_Skip
    seteq $p11 $r3 $r12
    seteq $p12 $r6 $r12
    seteq $p13 $r9 $r12
    // median = max(min(a, b), min(max(a, b), c))
    min  $r14 $r4 $r7
    max  $r15 $r4 $r7
    min  $r15 $r15 $r10
    max  $r14 $r14 $r15
    min  $r15 $r5 $r8
    max  $r13 $r5 $r8
    min  $r13 $r13 $r11
    max  $r15 $r15 $r13
    // exactly one neighbour with the same reference: its vector
    and  $p2 $p11 not $p12
    and  $p2 $p2 not $p13
    $p2 add $r14 $r4 $r0
    $p2 add $r15 $r5 $r0
    and  $p2 $p12 not $p11
    and  $p2 $p2 not $p13
    $p2 add $r14 $r7 $r0
    $p2 add $r15 $r8 $r0
    and  $p2 $p13 not $p11
    and  $p2 $p2 not $p12
    $p2 add $r14 $r10 $r0
    $p2 add $r15 $r11 $r0
    lut  $r3 $r0 0x4            // difference from the stream, 0 for P_Skip
    lut  $r4 $r0 0x5
    add  $r14 $r14 $r3
    add  $r15 $r15 $r4
    $p10 add $r14 $r0 $r0
    $p10 add $r15 $r0 $r0
    $p8 not $r12 $r0            // intra
    $p8 add $r14 $r0 $r0
    $p8 add $r15 $r0 $r0
    st   D[$r1] $r12
    st   D[$r1+0x1] $r14
    st   D[$r1+0x2] $r15
    mov  $mvxl0 $r14
    mov  $mvyl0 $r15
    mbinext
    bra  #mb
    nop
done:
    bra  #done
    nop

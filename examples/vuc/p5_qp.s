// Quantiser parameters of 8-bit H.264 video, 7.4.5 and 8.5.8.
// In:  macroblocks from the ring; D[2], D[3] = chroma_qp_index_offset of Cb and Cr, D[4] = QPY of the slice,
//      D[0x40 + i] = QPc of qPI = i, i = 0 .. 51.
// Out: $qpy, $qpc = Cb | Cr << 8; D[0x100 + 2 * mbaddr] = QPY, the cell after it = the chroma pair.
//
//   QPY = (previous QPY + mb_qp_delta + 52) mod 52,  qPI = Clip3(0, 51, QPY + offset)

start:
    ld   $r2 D[0x2]
    ld   $r3 D[0x3]
    ld   $r4 D[0x4]
    mov  $r9 0x33               // 51
    mov  $r10 0x34              // 52
mb:
    clicnt
    sleep
    mbiread
    nop
    nop
    nop
    nop
    nop
    or   $r5 $qpy 0x0
    sext $r6 $r5 0x5            // six bits, signed
    add  $r4 $r4 $r6
    setlt $p2 $r4 0x0
    $p2 add $r4 $r4 $r10
    setlt pnot $p2 $r4 $r10
    $p2 sub $r4 $r4 $r10
    add  $r7 $r4 $r2
    clamplep $r7 $r7 $r9
    add  $r8 $r4 $r3
    clamplep $r8 $r8 $r9
    ld   $r7 D[$r7+0x40]
    ld   $r8 D[$r8+0x40]
    or   $r11 $mbaddr 0x0
    mov  $r12 0xfff
    and  $r11 $r11 $r12
    shl  $r8 $r8 0x8
    or   $r7 $r7 $r8
    mov  $r13 0x100
    st   D[$r13+$r11*0x2] $r4   // the second register counts twice
    shl  $r11 $r11 0x1
    add  $r11 $r11 $r13
    st   D[$r11+0x1] $r7
    mov  $qpy $r4
    mov  $qpc $r7
    mbinext
    bra  #mb
    nop

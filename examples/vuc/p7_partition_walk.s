// Walk all partitions and sub-partitions of every macroblock.
// In: macroblocks from the ring. Out: from D[0x300] on, for each macroblock the number of blocks and their $spidx.

start:
    mov  $r9 0x300              // output
    mov  $r7 0x4                // index "number of partitions" of lut table 8
mb:
    clicnt
    sleep
    mbiread
    nop
    nop
    nop
    nop
    nop
    mov  $r5 0x0                // index: sub-partition << 8 | partition
    lut  $r6 $r7 0x8            // partitions
    add  $r11 $r9 0x0           // where the count goes
    add  $r9 $r9 0x1
    mov  $r12 0x0               // count
walk:
    lut  $r8 $r5 0x9            // $spidx of the block
    st   D[$r9] $r8
    add  $r9 $r9 0x1
    add  $r12 $r12 0x1
    lut  $p4 $r5 $r5 0xa        // next index; $p4: still in the same partition
    and  $r10 $r5 0x3f
    setlt $p2 $r10 $r6
    $p2 bra #walk
    nop
    st   D[$r11] $r12
    mbinext
    bra  #mb
    nop

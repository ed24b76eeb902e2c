// out[x][y] = in[y][x], one block of 16 x 16 threads.
.isa tesla gt200
.kernel transpose
.shared 0x480
.param in ptr
.param out ptr

    cvt u32 $r1 u16 $r0l                // x
    cvt u32 $r2 u16 $r0h                // y
    shl b32 $r3 $r2 0x4
    add b32 $r3 $r3 $r1
    shl b32 $r3 $r3 0x2                 // 4 * (16 y + x): where this thread reads and writes in g[]
    add b32 $r4 b32 s[in] $r3
    ld b32 $r4 g14[$r4]

    shl b32 $r5 $r2 0x6                 // row y, word x; rows are 17 words apart
    shl b32 $r6 $r2 0x2
    add b32 $r5 $r5 $r6
    shl b32 $r6 $r1 0x2
    add b32 $r5 $r5 $r6
    shl $a1 $r5 0x0
    st b32 s[$a1+0x40] $r4
    bar inc wait 0x0 0xfff

    shl b32 $r5 $r1 0x6                 // row x, word y
    shl b32 $r6 $r1 0x2
    add b32 $r5 $r5 $r6
    shl b32 $r6 $r2 0x2
    add b32 $r5 $r5 $r6
    shl $a2 $r5 0x0
    ld $r4 b32 s[$a2+0x40]
    add b32 $r3 b32 s[out] $r3
    exit st b32 g14[$r3] $r4

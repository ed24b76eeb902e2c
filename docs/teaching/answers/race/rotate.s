// out[t] = in[(t + 2) mod n] for one block of n threads, n a power of two: two turns by one place.
.isa tesla gt200
.kernel rotate
.shared 0x840
.param in ptr
.param out ptr

    and b32 $r0 $r0 0xffff
    cvt u32 $r1 u16 u16 s[0x2]              // n
    add b32 $r1 $r1 -0x1
    add b32 $r2 $r0 0x1
    and b32 $r2 $r2 $r1                 // the neighbour
    shl $a1 $r0 0x2
    shl $a2 $r2 0x2
    shl b32 $r0 $r0 0x2
    add b32 $r3 b32 s[in] $r0
    ld b32 $r4 g14[$r3]
    st b32 s[$a1+0x40] $r4
    bar inc wait 0x0 0xfff
    ld $r4 b32 s[$a2+0x40]
    bar inc wait 0x0 0xfff
    st b32 s[$a1+0x40] $r4
    bar inc wait 0x0 0xfff
    ld $r4 b32 s[$a2+0x40]
    add b32 $r3 b32 s[out] $r0
    exit st b32 g14[$r3] $r4

// C = A * B for square matrices of singles, side a multiple of 16; 16 x 16 threads per block.
//
// Every block computes one 16 x 16 tile of C. It goes through the tiles of a row of A and a column of B, which all its
// threads first copy to shared memory: A's tile to s[0x40], B's to s[0x440].

.isa tesla
.kernel matmul
.shared 0x840
.param a ptr
.param b ptr
.param c ptr
.param n u32

    cvt u32 $r1 u16 $r0l                        // x in the tile
    cvt u32 $r2 u16 $r0h                        // y in the tile
    cvt u32 $r3 u16 u16 s[0xe]
    cvt u32 $r4 u16 u16 s[0xc]
    shl b32 $r3 $r3 0x4
    shl b32 $r4 $r4 0x4
    add b32 $r3 $r3 $r2                         // row of C
    add b32 $r4 $r4 $r1                         // column of C
    mov b32 $r5 b32 s[n]

    add $r6 (mul u24 $r3 $r5) $r1
    shl b32 $r6 $r6 0x2
    add b32 $r6 b32 s[a] $r6                    // this thread's element of A's tile
    add $r7 (mul u24 $r2 $r5) $r4
    shl b32 $r7 $r7 0x2
    add b32 $r7 b32 s[b] $r7                    // and of B's
    shl b32 $r8 $r5 0x6                         // 16 rows of B

    shl b32 $r9 $r2 0x4
    add b32 $r9 $r9 $r1
    shl $a1 $r9 0x2                             // where the copies go
    shl $a2 $r2 0x6                             // a row of A's tile
    shl $a3 $r1 0x2                             // a column of B's tile
    mov b32 $r10 0x0                            // the sum
    shr u32 $r12 $r5 0x4                        // tiles left
    mov b32 $r13 0x1

tile:
    ld b32 $r11 g14[$r6]
    ld b32 $r9 g14[$r7]
    st b32 s[$a1+0x40] $r11
    st b32 s[$a1+0x440] $r9
    add b32 $r6 $r6 0x40
    add b32 $r7 $r7 $r8
    bar inc wait 0x0 0xfff
    ld $r9 b32 s[$a3+0x440]
    add f32 $r10 (mul b32 s[$a2+0x40] $r9) $r10
    ld $r9 b32 s[$a3+0x480]
    add f32 $r10 (mul b32 s[$a2+0x44] $r9) $r10
    ld $r9 b32 s[$a3+0x4c0]
    add f32 $r10 (mul b32 s[$a2+0x48] $r9) $r10
    ld $r9 b32 s[$a3+0x500]
    add f32 $r10 (mul b32 s[$a2+0x4c] $r9) $r10
    ld $r9 b32 s[$a3+0x540]
    add f32 $r10 (mul b32 s[$a2+0x50] $r9) $r10
    ld $r9 b32 s[$a3+0x580]
    add f32 $r10 (mul b32 s[$a2+0x54] $r9) $r10
    ld $r9 b32 s[$a3+0x5c0]
    add f32 $r10 (mul b32 s[$a2+0x58] $r9) $r10
    ld $r9 b32 s[$a3+0x600]
    add f32 $r10 (mul b32 s[$a2+0x5c] $r9) $r10
    ld $r9 b32 s[$a3+0x640]
    add f32 $r10 (mul b32 s[$a2+0x60] $r9) $r10
    ld $r9 b32 s[$a3+0x680]
    add f32 $r10 (mul b32 s[$a2+0x64] $r9) $r10
    ld $r9 b32 s[$a3+0x6c0]
    add f32 $r10 (mul b32 s[$a2+0x68] $r9) $r10
    ld $r9 b32 s[$a3+0x700]
    add f32 $r10 (mul b32 s[$a2+0x6c] $r9) $r10
    ld $r9 b32 s[$a3+0x740]
    add f32 $r10 (mul b32 s[$a2+0x70] $r9) $r10
    ld $r9 b32 s[$a3+0x780]
    add f32 $r10 (mul b32 s[$a2+0x74] $r9) $r10
    ld $r9 b32 s[$a3+0x7c0]
    add f32 $r10 (mul b32 s[$a2+0x78] $r9) $r10
    ld $r9 b32 s[$a3+0x800]
    add f32 $r10 (mul b32 s[$a2+0x7c] $r9) $r10
    bar inc wait 0x0 0xfff                      // the tiles are overwritten only after all have used them
    sub b32 $c0 $r12 $r12 $r13
    (lg $c0) bra #tile

    add $r3 (mul u24 $r3 $r5) $r4
    shl b32 $r3 $r3 0x2
    add b32 $r3 b32 s[c] $r3
    exit st b32 g14[$r3] $r10

// out[y][x] = the mean of the texels (2x, 2y) to (2x + 1, 2y + 1); coordinates count texels, the texture is `linear`.
.isa tesla gt200
.kernel shrink
.param out ptr

    cvt u32 $r1 u16 $r0l                // x
    cvt u32 $r2 u16 $r0h                // y
    shl b32 $r3 $r2 0x3
    add b32 $r3 $r3 $r1
    shl b32 $r3 $r3 0x2
    add b32 $r3 b32 s[out] $r3
    cvt rn f32 $r4 u32 $r1
    cvt rn f32 $r5 u32 $r2
    add rn f32 $r4 $r4 $r4
    add rn f32 $r5 $r5 $r5
    mov b32 $r6 1.0
    add rn f32 $r8 $r4 $r6              // where four texels meet
    add rn f32 $r9 $r5 $r6
    texauto all $r8:$r9:$r10:$r11 $t0 $s0 $r8:$r9
    mov b32 $r8 $r8                     // 4 bytes, as the fetch: what follows has 8 and starts at a multiple of 8
    exit st b32 g14[$r3] $r8

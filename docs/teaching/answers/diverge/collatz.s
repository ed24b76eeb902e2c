// out[i] = in[i] odd ? 3 * in[i] + 1 : in[i] / 2, one thread per element, one block.
.isa tesla gt200
.kernel collatz
.param in ptr
.param out ptr

    and b32 $r0 $r0 0xffff
    shl b32 $r0 $r0 0x2
    add b32 $r1 b32 s[in] $r0
    ld b32 $r2 g14[$r1]
    mov b32 $r5 0x1
    shr u32 $r3 $r2 0x1
    shl b32 $r4 $r2 0x1
    add b32 $r4 $r4 $r2
    add b32 $r4 $r4 0x1
    and b32 $c0 # $r2 $r5
    (lg $c0) mov b32 $r3 $r4
    add b32 $r1 b32 s[out] $r0
    exit st b32 g14[$r1] $r3

// y[i] = a * x[i] + y[i], one thread per element.
//
// s[0x2] is the number of threads of a block, s[0xc] the number of the block, $r0l the number of the thread in it.
// `.param` names are addresses in s[]: the parameters stand after the launch header.

.isa tesla
.kernel saxpy
.param n u32
.param a f32
.param x ptr
.param y ptr

    mov b16 $r1l u16 s[0x2]
    cvt u32 $r2 u16 $r0l
    add $r2 (mul u16 u16 s[0xc] $r1l) $r2       // i = block * threads + thread
    set $c0 # le u32 b32 s[n] $r2               // n <= i: nothing to do
    (lg $c0) ret
    shl b32 $r3 $r2 0x2
    add b32 $r4 b32 s[x] $r3
    add b32 $r5 b32 s[y] $r3
    ld b32 $r6 g14[$r4]
    ld b32 $r7 g14[$r5]
    add f32 $r7 (mul b32 s[a] $r6) $r7          // mad: the product is cut to 24 bits before the addition
    exit st b32 g14[$r5] $r7

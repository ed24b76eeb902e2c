// Iterations until z = z*z + c leaves the circle of radius 2, for every pixel; 16 x 16 threads per block.
//
// Lanes leave the loop after different numbers of turns. `joinat` notes where they meet again; a lane that leaves waits
// at the `join` for the others.

.isa tesla
.kernel mandelbrot
.param out ptr
.param width u32            // pixels per row
.param limit u32            // most iterations
.param left f32             // real part of the first column
.param top f32              // imaginary part of the first row
.param step f32             // distance of pixels

    cvt u32 $r1 u16 $r0l
    cvt u32 $r2 u16 $r0h
    cvt u32 $r3 u16 u16 s[0xc]
    cvt u32 $r4 u16 u16 s[0xe]
    shl b32 $r3 $r3 0x4
    shl b32 $r4 $r4 0x4
    add b32 $r1 $r3 $r1                         // column
    add b32 $r2 $r4 $r2                         // row
    cvt rn f32 $r5 u32 $r1
    cvt rn f32 $r6 u32 $r2
    mov b32 $r7 b32 s[step]
    mul rn f32 $r5 $r5 $r7
    mul rn f32 $r6 $r6 $r7
    add rn f32 $r5 b32 s[left] $r5                 // c
    add rn f32 $r6 b32 s[top] $r6
    mov b32 $r7 0x0                             // z = 0
    mov b32 $r8 0x0
    mov b32 $r9 0x0                             // turns
    mov b32 $r10 4.0
    mov b32 $r14 b32 s[limit]
    joinat #met
turn:
    mul rn f32 $r11 $r7 $r7
    mul rn f32 $r12 $r8 $r8
    add rn f32 $r13 $r11 $r12
    set $c0 # g f32 $r13 $r10                   // |z|^2 > 4
    (lg $c0) bra #met
    add rn f32 $r13 $r7 $r7
    mul rn f32 $r13 $r13 $r8
    add rn f32 $r8 $r13 $r6                        // 2 re im + c.im
    add rn f32 $r7 $r11 neg $r12
    add rn f32 $r7 $r7 $r5                         // re^2 - im^2 + c.re
    add b32 $r9 $r9 0x1
    set $c0 # l u32 $r9 $r14
    (lg $c0) bra #turn
met:
    join nop
    mov b32 $r3 b32 s[width]
    add $r2 (mul u24 $r2 $r3) $r1
    shl b32 $r2 $r2 0x2
    add b32 $r2 b32 s[out] $r2
    exit st b32 g14[$r2] $r9

// Five petals: the distance from the centre against a wave of the angle, without computing the angle: the real part of
// (x + iy)^5 over the fifth power of the distance is its cosine. What is outside is discarded.
    long interp $r4 v[0x4]              // x
    long interp $r5 v[0x8]              // y
    mul rn f32 $r6 $r4 $r4
    mul rn f32 $r7 $r5 $r5
    add rn f32 $r8 $r6 $r7              // squared distance
    rsqrt f32 $r9 $r8
    mul rn f32 $r4 $r4 $r9              // cosine and sine of the angle
    mul rn f32 $r10 $r4 $r4             // cos 5a = cos a (16 cos^4 a - 20 cos^2 a + 5)
    mul f32 $r11 $r10 0x41800000
    add f32 $r11 $r11 0xc1a00000
    mul rn f32 $r11 $r11 $r10
    add f32 $r11 $r11 0x40a00000
    mul rn f32 $r11 $r11 $r4
    mul f32 $r11 $r11 0x3e800000
    add f32 $r11 $r11 0x3f2a0000        // radius of the edge: between 0.41 and 0.91
    mul rn f32 $r12 $r8 $r9             // distance
    set $c0 # g f32 $r12 $r11
    (lg $c0) discard
    long interp $r0 flat v[0xc]
    long interp $r1 flat v[0x10]
    long interp $r2 flat v[0x14]
    mov b32 $r13 0x3e4ccccd             // a yellow heart
    set $c0 # l f32 $r12 $r13
    mov b32 $r14 0x3f800000
    mov b32 $r15 0x3f4ccccd
    mov b32 $r16 0x3e000000
    (lg $c0) mov b32 $r0 $r14
    (lg $c0) mov b32 $r1 $r15
    (lg $c0) mov b32 $r2 $r16
    long mov b32 $r3 $r14
    exit (never) nop

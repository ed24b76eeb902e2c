// How long z = z * z + c stays inside the circle of radius 2. Pixels of a warp leave the loop at different times: they
// wait behind `breakaddr` until the last one has left.
    long interp $r4 v[0x4]              // re z
    long interp $r5 v[0x8]              // im z
    ld $r6 b32 c0[0x0]                  // re c
    ld $r7 b32 c0[0x4]                  // im c
    mov b32 $r8 0x0                     // turns
    breakaddr done
loop:
    mul rn f32 $r9 $r4 $r4
    mul rn f32 $r10 $r5 $r5
    add rn f32 $r11 $r9 $r10
    mov b32 $r12 0x40800000
    set $c0 # g f32 $r11 $r12
    (lg $c0) break
    mov b32 $r12 0x60
    set $c0 # ge u32 $r8 $r12
    (lg $c0) break
    mul rn f32 $r12 $r4 $r5
    add rn f32 $r5 $r12 $r12
    add rn f32 $r5 $r5 $r7
    add rn f32 $r4 $r9 neg $r10
    add rn f32 $r4 $r4 $r6
    add b32 $r8 $r8 0x1
    bra loop
done:
    cvt rn f32 $r8 u32 $r8
    mul f32 $r2 $r8 0x3c2aaaab          // turns / 96
    rsqrt f32 $r9 $r2
    rcp f32 $r2 $r9                     // blue: square root
    mul rn f32 $r0 $r2 $r2              // red: linear
    mul rn f32 $r1 $r0 $r2              // green: between
    mov b32 $r3 0x3f800000
    exit (never) nop

// A texture, fading into the sky with the distance. The unit finds the level of detail from the coordinates of the four
// pixels of a quad, so even pixels outside the triangle compute theirs.
    interp $r8 v[0x0]                   // 1 / w
    rcp f32 $r9 $r8
    interp $r0 v[0x4] $r9
    interp $r1 v[0x8] $r9
    texauto live $r0:$r1:$r2:$r3 $t0 $s0 $r0:$r1
    mul f32 $r10 $r9 0x3d4ccccd         // fog: w / 20, at most 1
    mov b32 $r11 0x3f800000
    min f32 $r10 $r10 $r11
    add rn f32 $r12 $r11 neg $r10
    mul f32 $r4 $r10 0x3f19999a         // the sky is 0.6, 0.75, 0.9
    mul f32 $r5 $r10 0x3f400000
    mul f32 $r6 $r10 0x3f666666
    add f32 $r0 (mul $r0 $r12) $r4
    add f32 $r1 (mul $r1 $r12) $r5
    add f32 $r2 (mul $r2 $r12) $r6
    exit (never) nop

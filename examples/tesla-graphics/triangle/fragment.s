// v[0x0] is 1/w; the colour comes divided by w and is multiplied by w again.
    interp $r4 v[0x0]
    rcp f32 $r4 $r4
    interp $r0 v[0x4] $r4
    interp $r1 v[0x8] $r4
    interp $r2 v[0xc] $r4
    mov b32 $r3 0x3f800000
    exit (never) nop

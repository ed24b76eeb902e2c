.program fragment
// v[0x0] is 1/w; the colour comes divided by w and is multiplied by w again.
    interp $r4 v[0x0]
    rcp f32 $r4 $r4
    interp $r0 v[0x4] $r4
    interp $r1 v[0x8] $r4
    interp $r2 v[0xc] $r4
    mov b32 $r5 0.299
    mul rn f32 $r6 $r0 $r5
    mov b32 $r5 0.587
    add f32 $r6 (mul $r1 $r5) $r6
    mov b32 $r5 0.114
    add f32 $r6 (mul $r2 $r5) $r6
    mov b32 $r0 $r6
    mov b32 $r1 $r6
    mov b32 $r2 $r6
    mov b32 $r3 1.0
    exit (never) nop

// Four dot products with the columns of the matrix in c0[0x0] to c0[0x3c]; the texture coordinate follows.
    mov b32 $r0 a[0x0]
    mov b32 $r1 a[0x4]
    mov b32 $r2 a[0x8]
    mul rn f32 $r4 $r0 c0[0x0]
    add f32 $r4 (mul $r1 c0[0x10]) $r4
    add f32 $r4 (mul $r2 c0[0x20]) $r4
    mul rn f32 $r5 $r0 c0[0x4]
    add f32 $r5 (mul $r1 c0[0x14]) $r5
    add f32 $r5 (mul $r2 c0[0x24]) $r5
    mul rn f32 $r6 $r0 c0[0x8]
    add f32 $r6 (mul $r1 c0[0x18]) $r6
    add f32 $r6 (mul $r2 c0[0x28]) $r6
    mul rn f32 $r7 $r0 c0[0xc]
    add f32 $r7 (mul $r1 c0[0x1c]) $r7
    add f32 $r7 (mul $r2 c0[0x2c]) $r7
    add rn f32 o[0x0] $r4 c0[0x30]
    add rn f32 o[0x4] $r5 c0[0x34]
    add rn f32 o[0x8] $r6 c0[0x38]
    add rn f32 o[0xc] $r7 c0[0x3c]
    mov b32 o[0x10] a[0xc]
    exit mov b32 o[0x14] a[0x10]

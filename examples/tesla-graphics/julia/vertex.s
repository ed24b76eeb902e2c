// The whole target: position from a[], and the point of the plane c0 scales it to.
    ld $r0 b32 c0[0x0]
    mov b32 $r1 a[0x0]
    mov b32 $r2 a[0x4]
    mov b32 $r3 0x0
    mov b32 $r4 0x3f800000
    mul rn f32 $r5 $r1 $r0
    mul rn f32 $r6 $r2 $r0
    st b32 o[0x0] $r1
    st b32 o[0x4] $r2
    st b32 o[0x8] $r3
    st b32 o[0xc] $r4
    st b32 o[0x10] $r5
    exit st b32 o[0x14] $r6

// One point becomes a square of two triangles. p[] holds x, y, size, red, green, blue of the point; a[0x0] says where.
// Every emit clears o[], so a vertex is always written whole.
    shl $a1 a[0x0] 0x0
    long mov b32 $r8 p[$a1+0x8]
    mov b32 $r5 0x3f800000
    mov b32 $r6 0xbf800000
    mov b32 $r4 0x0

    add rn f32 o[0x0] p[$a1] neg $r8
    add rn f32 o[0x4] p[$a1+0x4] neg $r8
    st b32 o[0x10] $r6
    st b32 o[0x14] $r6
    call rest
    emit
    add rn f32 o[0x0] p[$a1] $r8
    add rn f32 o[0x4] p[$a1+0x4] neg $r8
    st b32 o[0x10] $r5
    st b32 o[0x14] $r6
    call rest
    emit
    add rn f32 o[0x0] p[$a1] neg $r8
    add rn f32 o[0x4] p[$a1+0x4] $r8
    st b32 o[0x10] $r6
    st b32 o[0x14] $r5
    call rest
    emit
    add rn f32 o[0x0] p[$a1] $r8
    add rn f32 o[0x4] p[$a1+0x4] $r8
    st b32 o[0x10] $r5
    st b32 o[0x14] $r5
    call rest
    emit
    exit restart

rest:                                   // depth, w and the colour are the same for all four
    st b32 o[0x8] $r4
    st b32 o[0xc] $r5
    long mov b32 $r9 p[$a1+0xc]
    long mov b32 $r10 p[$a1+0x10]
    long mov b32 $r11 p[$a1+0x14]
    st b32 o[0x18] $r9
    st b32 o[0x1c] $r10
    st b32 o[0x20] $r11
    ret

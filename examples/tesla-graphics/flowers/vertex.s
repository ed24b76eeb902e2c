// A point with a colour and a size goes on to the geometry program as it is.
    mov b32 o[0x0] a[0x0]
    mov b32 o[0x4] a[0x4]
    mov b32 o[0x8] a[0x8]
    mov b32 o[0xc] a[0xc]
    mov b32 o[0x10] a[0x10]
    exit mov b32 o[0x14] a[0x14]

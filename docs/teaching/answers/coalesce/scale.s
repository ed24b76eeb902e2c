// data[k] *= 2 for 256 numbers, with one block of 64 threads.
.isa tesla gt200
.kernel scale
.param data ptr

    and b32 $r0 $r0 0xffff
    shl b32 $r1 $r0 0x2                 // thread t begins with number t
    add b32 $r1 b32 s[data] $r1
    mov b32 $r3 0x4
    mov b32 $r4 0x1
next:
    ld b32 $r2 g14[$r1]
    add b32 $r2 $r2 $r2
    st b32 g14[$r1] $r2
    add b32 $r1 $r1 0x100               // and goes on 64 numbers later
    sub b32 $c0 $r3 $r3 $r4
    (lg $c0) bra #next
    exit nop

// out[0] = the sum of in[0 ... 255], with one block of 256 threads.
.isa tesla gt200
.kernel sum
.shared 0x440
.param in ptr
.param out ptr

    and b32 $r0 $r0 0xffff
    shl b32 $r1 $r0 0x2
    add b32 $r2 b32 s[in] $r1
    ld b32 $r3 g14[$r2]
    shl $a1 $r1 0x0
    st b32 s[$a1+0x40] $r3
    bar inc wait 0x0 0xfff

    mov b32 $r4 0x80
halve:
    joinat #added
    set $c0 # ge u32 $r0 $r4
    (lg $c0) bra #added                 // only threads below `half` add
    add b32 $r5 $r0 $r4
    shl $a2 $r5 0x2
    ld $r6 b32 s[$a2+0x40]
    add b32 $r3 $r3 $r6
    st b32 s[$a1+0x40] $r3
added:
    join nop
    bar inc wait 0x0 0xfff
    shr u32 $c0 $r4 $r4 0x1
    (lg $c0) bra #halve

    and b32 $c0 # $r0 $r0
    (lg $c0) ret
    mov b32 $r2 b32 s[out]
    exit st b32 g14[$r2] $r3

// Lanes 0 to 15 double their number in a function, the others add 100: a warp that diverges, calls and meets again.

.isa tesla
.kernel diverge
.shared 0x140
.param out ptr

    and b32 $r1 $r0 0xffff                      // the thread's number
    mov b32 $r2 $r1
    mov b32 $r4 0x10
    and b32 $c0 $r5 $r1 $r4                     // does it have bit 4?
    joinat #met
    (e $c0) bra #low
    add b32 $r2 $r2 0x64
    bra #met
low:
    call #twice
    add b32 $r2 $r2 0x1
met:
    join nop
    shl b32 $r3 $r1 0x2
    add b32 $r3 b32 s[out] $r3
    exit st b32 g14[$r3] $r2
twice:
    add b32 $r2 $r2 $r2
    ret

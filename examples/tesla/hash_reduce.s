// Every thread hashes its number with some rounds of a xorshift generator; the block adds up the results.
//
// The sum is a tree in shared memory: half of the threads add the other half's numbers, then a quarter, and so on.
// 256 threads per block; out[block] is the sum modulo 2^32.

.isa tesla
.kernel hash_reduce
.shared 0x440
.param out ptr
.param seed u32
.param rounds u32

    cvt u32 $r1 u16 $r0l
    cvt u32 $r2 u16 u16 s[0xc]
    shl b32 $r3 $r2 0x8
    add b32 $r3 $r3 $r1
    add b32 $r3 b32 s[seed] $r3
    or b32 $r3 $r3 0x1                          // the generator must not start at 0
    mov b32 $r4 b32 s[rounds]
    mov b32 $r7 0x1
next:
    shl b32 $r5 $r3 0xd
    xor b32 $r3 $r3 $r5
    shr u32 $r5 $r3 0x11
    xor b32 $r3 $r3 $r5
    shl b32 $r5 $r3 0x5
    xor b32 $r3 $r3 $r5
    sub b32 $c0 $r4 $r4 $r7
    (lg $c0) bra #next

    shl $a1 $r1 0x2
    st b32 s[$a1+0x40] $r3
    bar inc wait 0x0 0xfff
    mov b32 $r4 0x80                            // threads that add
halve:
    joinat #added
    set $c0 # ge u32 $r1 $r4
    (lg $c0) bra #added
    add b32 $r5 $r1 $r4
    shl $a2 $r5 0x2
    ld $r6 b32 s[$a2+0x40]
    add b32 $r3 $r3 $r6
    st b32 s[$a1+0x40] $r3
added:
    join nop
    bar inc wait 0x0 0xfff
    shr u32 $c0 $r4 $r4 0x1
    (lg $c0) bra #halve

    and b32 $c0 # $r1 $r1
    (lg $c0) ret                                // only the first thread writes
    shl b32 $r2 $r2 0x2
    add b32 $r2 b32 s[out] $r2
    exit st b32 g14[$r2] $r3

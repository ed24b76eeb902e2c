// {"seed": 1, "chip": "gt200", "grid": 1, "block": 64, "flags": {}, "budget": null}
// Lanes that a quadon wakes after a barrier read what they wrote in front of it, though others overwrote the register.
    shl b32 $r15 $r0 0x7
    add b32 $r15 b32 s[0x10] $r15
    and b32 $r2 $r0 0x1
    and b32 $c0 # $r2 $r2
    joinat #met
    (lg $c0) bra #odd
    bar inc wait 0x0 0xfff
    mov b32 $r1 0x5
    quadon
    st b32 g14[$r15] $r1
    quadpop
    bra #met
odd:
    mov b32 $r1 0x9
met:
    join nop
    exit nop

// {"seed": 17, "chip": "gt200", "grid": 2, "block": 64, "flags": {"mul_zero_wins": false, "sat_nan": false, "nonfp_deriv_inf": false}, "budget": null}
// What the reference machine reads when it goes on after a texture instruction was not saved.
    cvt u32 $r13 u16 u16 s[0xc]
    shl b32 $r13 $r13 0x6
    add b32 $r13 $r13 $r0
    shl b32 $r15 $r13 0x7
    add b32 $r15 b32 s[0x10] $r15
    ld b128 $r0q g14[$r15]
    add b32 $r4 $r0 $r1
    texfetch all $r0:$r1:$r2:$r3 $t0 $s0 $r0:$r1:$r2 0x1 -0x1 0x0
    st b128 g14[$r15] $r0q
    add b32 $r15 $r15 0x10
    exit st b32 g14[$r15] $r4

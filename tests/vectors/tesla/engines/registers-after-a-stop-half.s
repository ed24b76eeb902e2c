// {"seed": 69, "chip": "mcp77", "grid": 1, "block": 7, "flags": {"mul_zero_wins": true, "sat_nan": false, "nonfp_deriv_inf": false}, "budget": null}
// The same where only some lanes are active.
    add b32 $r15 b32 s[0x10] $r15
    bra c15[0x0]
L3:
    st b128 g14[$r15] $r4q
    exit nop
.const 15
    .word L3

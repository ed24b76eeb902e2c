// {"seed": 500002, "chip": "gt200", "grid": 3, "block": 32, "flags": {"mul_zero_wins": false, "sat_nan": false, "nonfp_deriv_inf": false}, "budget": null}
// What the reference machine reads when it goes on was not saved.
    add b32 $r15 b32 s[0x10] $r15
    bra c15[0x0]
L5:
    exit st b128 g14[$r15] $r4q
.const 15
    .word L5

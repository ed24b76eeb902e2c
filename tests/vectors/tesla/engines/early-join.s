// {"seed": 42, "chip": "gt200", "grid": 1, "block": 32, "flags": {"mul_zero_wins": false, "sat_nan": true, "nonfp_deriv_inf": true}, "budget": null}
// A join in front of the one its joinat named took the token off.
    joinat #L2
    join nop
L2:
    join nop
    exit nop

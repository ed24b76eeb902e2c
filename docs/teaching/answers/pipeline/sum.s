// D[0] = n > 0, D[0x100 ...] = n cells. Leaves their sum, modulo 2^16, in D[1] and in V2H.
.isa vuc vp3

    ld   $r1 D[0x0]
    mov  $r2 0x100
    mov  $r3 0x0
loop:
    ld   $r4 D[$r2]
    add  $r2 $r2 0x1
    sub  $r1 $r1 0x1
    setgt $p2 $r1 0x0
    $p2 bra #loop
    add  $r3 $r3 $r4            // delay slot: executed in any case, and four cycles after the load
    st   D[0x1] $r3
    mov  $v2h $r3
end:
    bra  #end
    nop

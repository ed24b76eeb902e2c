// Copy a block of D[] and compute two running sums over it.
// In:  D[0] = n > 0, D[0x100 ...] = the block.
// Out: D[0x200 ...] = the copy, D[1] = s1 = sum of the cells, D[2] = s2 = sum of all s1, V2H = s1 (all modulo 2^16).
//
// A load takes three cycles: two instructions that do not need its result stand between `ld` and its first reader.
// Take one away and the store writes the cell before.

start:
    ld   $r1 D[0x0]             // n; first needed in the loop
    mov  $r2 0x100              // source
    mov  $r3 0x200              // destination
    mov  $r5 0x0                // s1
    mov  $r6 0x0                // s2
loop:
    ld   $r4 D[$r2]
    add  $r2 $r2 0x1            // filler 1
    sub  $r1 $r1 0x1            // filler 2
    st   D[$r3] $r4
    add  $r5 $r5 $r4
    add  $r6 $r6 $r5
    setgt $p2 $r1 0x0
    $p2 bra #loop               // $p2 is forwarded, no filler needed
    add  $r3 $r3 0x1            // delay slot: executed in any case
    st   D[0x1] $r5
    st   D[0x2] $r6
    mov  $v2h $r5
end:
    bra  #end
    nop

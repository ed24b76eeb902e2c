// VP2: fill VP[0x200 .. 0x21f] with sixteen words, flush the CTRL buffer, tell the host.
// Out: the CTRL ring holds 0x3000, 0x3011 ... 0x30ff; V2H = 0x3110.
//
// The loop leaves by the relative branch that shares a word with the store, and goes on by a plain branch.
// What VP[] and the ring records look like is not documented: this relies on the emulator's convention.

    mov  $r1 0x10               // words
    mov  $r2 0x200              // VP[] address
    mov  $r3 0x3000
loop:
    sub  $r1 $r1 0x1
    setgt $p8 $r1 0x0
    not $p8 rbra #out st VP[$r2] $r3
    add  $r3 $r3 0x11           // delay slot of the relative branch
    bra  #loop
    add  $r2 $r2 0x2
out:
    mov  $stat 0x4              // trigger CTRL buffer 0
    nop                         // $stat is not forwarded
    wstc 0x2
    mov  $v2h $r3
end:
    bra  #end
    nop

// Answer every word x from the host with 3*x + 1; x = 0xffff makes the program hang until the watchdog notices.
// In: H2V. Out: V2H with its interrupt. The host sets WDCNT for the second part.

start:
    not  $r2 $r0                // 0xffff
next:
    clicnt                      // feed the watchdog just before sleeping
    sleep                       // until $stat bit 11 (or 10)
    or   $r1 $h2v 0x0           // reading clears bit 11
    seteq $p2 $r1 $r2
    $p2 bra #hang
    add  $r3 $r1 $r1            // delay slot, harmless in both cases
    add  $r3 $r3 $r1
    add  $r3 $r3 0x1
    bra  #next
    mov  $v2h $r3
hang:
    bra  #hang
    nop

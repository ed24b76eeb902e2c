.isa tesla gt200
.header elfclass=0x40 e_flags=0xd010d e_type=0x2 e_version=0x1 osabi=0x33 abiversion=0x2
.kernel limit
.regs 4
.shared 0x14
.local 0x0
.bars 0
.param p0 b32
    and b32 $r0 $r0 0xffff                       // 0000: d03f0001 00000fff
    shl b32 $r0 $r0 0x2                          // 0008: 30020001 c4100780
    long add b32 $r1 b32 s[0x10] $r0             // 0010: 2000c805 04200780
    ld b32 $r2 g14[$r1]                          // 0018: d00e0209 80c00780
    mov b32 $r3 0xff                             // 0020: 1024800d 00000007
    min u32 $r2 $r2 $r3                          // 0028: 30030409 a4000780
    exit st b32 g14[$r1] $r2                     // 0030: d00e0209 a0c00781

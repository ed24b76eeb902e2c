// The interpolated colour.
.gxp fragment
.varying color0 f16x4
.result f16x4
.program primary
    phas wait7 temps 0 addr 0
    vmov.f16 pa0.xyzw pa0.xyzw

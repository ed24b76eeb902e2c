// A fragment shader that swaps red and blue of a colour and multiplies it by a uniform.
//
//     isakit asm -m usse examples/usse/tint.s -o tint.gxp --format gxp
//     isakit run tint.gxp --arg tint=ramp:f32:4 --arg texcoord0=random:f32:8x4

.gxp fragment
.uniform tint f32x4
.varying texcoord0 f32x4
.result f16x4

.program primary
    phas wait7 temps 0 addr 0
    vpck.f32.f32 i0.xyzw pa0.xyzw pa2       // the varying, into internal register 0
    vmul.f32 i0.xyzw i0.zyxw sa0.xyzw       // channels in another order, times the uniform
    vpck.f16.f32 pa0.xyzw i0.xyzw #0x0      // four halves in pa0 and pa1: the colour

// Texture, light from one side, and a highlight.
.gxp fragment
.uniform light f32x4 sa0
.sampler image f32x4 unit 0
.texture unit 0 sa4
.varying texcoord0 f32x2
.varying texcoord1 f32x3
.result f16x4
.program primary
    phas wait7 temps 0 addr 0
    smp2d.f32 f32 r0 pa0 sa4 drc0                   // texel
    vpck.f32.f32 i0.xyz pa2.xyzx pa4                // normal
    vdp3.f32 r4.x pa2.xyz i0.xyz                    // its length squared
    vrsq.f32 i1.x r4.x
    vmul.f32 i0.xyz i0.xyzw i1.xxxx
    vdp3.f32 r4.x sa0.xyz i0.xyz                    // cosine to the light
    vmax.f32 i1.x r4.xxxx c0.xxxx
    vmul.f32 i2.x i1.xxxx i1.xxxx                   // highlight: cosine to the power of 16
    vmul.f32 i2.x i2.xxxx i2.xxxx
    vmul.f32 i2.x i2.xxxx i2.xxxx
    vmul.f32 i2.x i2.xxxx i2.xxxx
    vmul.f32 i2.x i2.xxxx c12.xxxx
    vadd.f32 i1.x i1.xxxx sa2.yyyy                  // ambient light
    wdf drc0
    vpck.f32.f32 i0.xyzw r0.xyzw r2
    vmul.f32 i0.xyz i0.xyzw i1.xxxx
    vadd.f32 i0.xyz i0.xyzw i2.xxxx
    vpck.f16.f32 pa0.xyzw i0.xyzw #0x0

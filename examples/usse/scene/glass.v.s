// Something of one colour per vertex.
.gxp vertex
.attribute position f32x3 pa0
.attribute color f32x4 pa4 COLOR
.uniform transform f32x4[4] sa0
.outputs position color0
.program primary
    phas wait7 temps 0 addr 0
    vpck.f32.f32 i0.xyzw pa0.xyzw pa2
    vmul.f32 i0.w i0.xyz1 c1.yyyy
    vmov.f32 o4.xy pa4.xyzw
    vmov.f32 o6.xy pa6.xyzw
    vdp4.f32 o0.x sa0.xyzw i0.xyzw repeat 4
    emit end

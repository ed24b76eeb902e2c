// A solid body: the position through a matrix; normal and texture coordinate go on as they are.
.gxp vertex
.attribute position f32x3 pa0
.attribute normal f32x3 pa4
.attribute uv f32x2 pa8
.uniform transform f32x4[4] sa0
.outputs position texcoord0.xy texcoord1.xyz
.program primary
    phas wait7 temps 0 addr 0
    vpck.f32.f32 i0.xyzw pa0.xyzw pa2               // position
    vmul.f32 i0.w i0.xyz1 c1.yyyy                   // its w is 1
    vmov.f32 o4.xy pa8.xyzw                         // texcoord0
    vmov.f32 o6.xy pa4.xyzw                         // texcoord1: the normal
    vmov.f32 o8.x pa6.xyzw
    vdp4.f32 o0.x sa0.xyzw i0.xyzw repeat 4         // position: the rows of the matrix one after the other
    emit end

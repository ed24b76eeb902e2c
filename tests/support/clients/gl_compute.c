/* What compute shaders of OpenGL ES 3.1 can do, case by case: compute [NAME...]; prints the words every case leaves. */
#include "../../../examples/gl/surface.h"
#include <string.h>

#define HEAD "#version 310 es\nprecision highp float; precision highp int;\n"
#define WORDS 64

static GLuint buffer(GLenum target, GLuint place, const void *data, size_t bytes)
{
    GLuint made;
    glGenBuffers(1, &made);
    glBindBufferBase(target, place, made);
    glBufferData(target, (GLsizeiptr)bytes, data, GL_DYNAMIC_COPY);
    return made;
}

static void program(const char *text)
{
    linked(shader(GL_COMPUTE_SHADER, text), 0);
}

static void shown(const char *name, GLuint from, int words)
{
    glMemoryBarrier(GL_ALL_BARRIER_BITS);
    glBindBuffer(GL_SHADER_STORAGE_BUFFER, from);
    const unsigned *found = glMapBufferRange(GL_SHADER_STORAGE_BUFFER, 0, words * 4, GL_MAP_READ_BIT);
    if (found == NULL || glGetError() != GL_NO_ERROR)
        fail(name);
    printf("%s:", name);
    for (int i = 0; i < words; i++)
        printf(" %x", found[i]);
    printf("\n");
    glUnmapBuffer(GL_SHADER_STORAGE_BUFFER);
}

static unsigned numbers[WORDS];

static void image(GLuint unit, GLenum format, GLenum layout, GLenum type, const void *texels, int size)
{
    GLuint made;
    glGenTextures(1, &made);
    glBindTexture(GL_TEXTURE_2D, made);
    glTexStorage2D(GL_TEXTURE_2D, 1, format, size, size);
    if (texels != NULL)
        glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, size, size, layout, type, texels);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
    glBindImageTexture(unit, made, 0, GL_FALSE, 0, GL_READ_WRITE, format);
}

static void storage(const char *name)
{
    buffer(GL_SHADER_STORAGE_BUFFER, 0, numbers, sizeof numbers);
    GLuint out = buffer(GL_SHADER_STORAGE_BUFFER, 1, NULL, sizeof numbers);
    program(HEAD "layout(local_size_x = 16) in;\n"
                 "layout(std430, binding = 0) readonly buffer A { uint a[]; };\n"
                 "layout(std430, binding = 1) buffer B { uint b[]; };\n"
                 "void main() { uint i = gl_GlobalInvocationID.x; b[i] = a[63u - i] * 3u + uint(a.length()); }\n");
    glDispatchCompute(4, 1, 1);
    shown(name, out, WORDS);
}

static void atomics(const char *name)
{
    static const unsigned start[16] = {0, 0xFFFFFFFF, 0, 0xFFFF, 0, 0, 7, 5};
    GLuint out = buffer(GL_SHADER_STORAGE_BUFFER, 0, start, sizeof start);
    program(HEAD "layout(local_size_x = 32) in;\n"
                 "layout(std430, binding = 0) buffer A { uint add; uint low; uint high; uint both; uint any; uint odd;\n"
                 "uint last; uint swapped; int slow; int shigh; uint sum; };\n"
                 "void main() { uint i = gl_GlobalInvocationID.x;\n"
                 "uint before = atomicAdd(add, i); atomicAdd(sum, before >= 0u ? 1u : 0u);\n"
                 "atomicMin(low, 100u + i * 7u); atomicMax(high, i * 5u); atomicAnd(both, ~(1u << (i & 15u)));\n"
                 "atomicOr(any, 1u << (i & 31u)); atomicXor(odd, 0x10001u * i); atomicCompSwap(swapped, 5u, 77u);\n"
                 "atomicMin(slow, 3 - int(i)); atomicMax(shigh, int(i) - 9); if (i == 63u) atomicExchange(last, 1234u); }\n");
    glDispatchCompute(2, 1, 1);
    shown(name, out, 11);
}

static void shared_atomics(const char *name)
{
    GLuint out = buffer(GL_SHADER_STORAGE_BUFFER, 0, numbers, sizeof numbers);
    program(HEAD "layout(local_size_x = 64) in;\n"
                 "shared uint sum; shared uint most; shared uint list[64];\n"
                 "layout(std430, binding = 0) buffer A { uint a[]; };\n"
                 "void main() { uint i = gl_LocalInvocationIndex; if (i == 0u) { sum = 0u; most = 0u; }\n"
                 "barrier(); atomicAdd(sum, a[i]); atomicMax(most, a[i] ^ 0x55u); list[i] = a[i]; barrier();\n"
                 "a[i] = list[63u - i] + sum * (i & 1u) + most; }\n");
    glDispatchCompute(1, 1, 1);
    shown(name, out, WORDS);
}

static void counters(const char *name)
{
    static const unsigned start[2] = {10, 100};
    GLuint counted = buffer(GL_ATOMIC_COUNTER_BUFFER, 0, start, sizeof start);
    buffer(GL_SHADER_STORAGE_BUFFER, 0, numbers, sizeof numbers);
    program(HEAD "layout(local_size_x = 8) in;\n"
                 "layout(binding = 0, offset = 0) uniform atomic_uint up; layout(binding = 0, offset = 4) uniform "
                 "atomic_uint down;\nlayout(std430, binding = 0) buffer A { uint a[]; };\n"
                 "void main() { atomicCounterIncrement(up); if (gl_GlobalInvocationID.x < 5u) "
                 "a[0] = atomicCounterDecrement(down) * 0u; }\n");
    glDispatchCompute(3, 1, 1);
    shown(name, counted, 2);
}

static void indirect(const char *name)
{
    static const unsigned sizes[4] = {9, 3, 2, 2};
    GLuint out = buffer(GL_SHADER_STORAGE_BUFFER, 0, NULL, sizeof numbers);
    GLuint commands;
    program(HEAD "layout(local_size_x = 2, local_size_y = 2) in;\n"
                 "layout(std430, binding = 0) buffer A { uint a[]; };\n"
                 "void main() { uvec3 g = gl_GlobalInvocationID; uvec3 n = gl_NumWorkGroups * gl_WorkGroupSize;\n"
                 "a[(g.z * n.y + g.y) * n.x + g.x] = g.x | g.y << 8 | g.z << 16 | gl_NumWorkGroups.x << 24; }\n");
    glGenBuffers(1, &commands);
    glBindBuffer(GL_DISPATCH_INDIRECT_BUFFER, commands);
    glBufferData(GL_DISPATCH_INDIRECT_BUFFER, sizeof sizes, sizes, GL_STATIC_DRAW);
    glDispatchComputeIndirect(4);
    shown(name, out, 48);
}

static void indirect_by_shader(const char *name)
{
    GLuint out = buffer(GL_SHADER_STORAGE_BUFFER, 0, NULL, sizeof numbers);
    GLuint commands = buffer(GL_SHADER_STORAGE_BUFFER, 1, numbers, 16);
    program(HEAD "layout(local_size_x = 1) in; layout(std430, binding = 1) buffer C { uint c[]; };\n"
                 "void main() { c[0] = 5u; c[1] = 2u; c[2] = 1u; }\n");
    glDispatchCompute(1, 1, 1);
    glMemoryBarrier(GL_COMMAND_BARRIER_BIT);
    program(HEAD "layout(local_size_x = 1) in; layout(std430, binding = 0) buffer A { uint a[]; };\n"
                 "void main() { a[gl_WorkGroupID.y * 5u + gl_WorkGroupID.x] = 1000u + gl_WorkGroupID.x; }\n");
    glBindBuffer(GL_DISPATCH_INDIRECT_BUFFER, commands);
    glDispatchComputeIndirect(0);
    shown(name, out, 10);
}

static void image_words(const char *name)
{
    unsigned texels[64];
    for (int i = 0; i < 64; i++)
        texels[i] = (unsigned)i * 0x01010101u;
    image(0, GL_R32UI, GL_RED_INTEGER, GL_UNSIGNED_INT, texels, 8);
    image(1, GL_R32UI, GL_RED_INTEGER, GL_UNSIGNED_INT, NULL, 8);
    GLuint out = buffer(GL_SHADER_STORAGE_BUFFER, 0, NULL, sizeof numbers);
    program(HEAD "layout(local_size_x = 8, local_size_y = 8) in; precision highp uimage2D;\n"
                 "layout(r32ui, binding = 0) readonly uniform uimage2D s; layout(r32ui, binding = 1) writeonly uniform "
                 "uimage2D d;\nvoid main() { ivec2 p = ivec2(gl_LocalInvocationID.xy); imageStore(d, p, imageLoad(s, "
                 "p.yx) + uvec4(imageSize(s).x)); }\n");
    glDispatchCompute(1, 1, 1);
    glMemoryBarrier(GL_SHADER_IMAGE_ACCESS_BARRIER_BIT);
    program(HEAD "layout(local_size_x = 8, local_size_y = 8) in; precision highp uimage2D;\n"
                 "layout(r32ui, binding = 1) readonly uniform uimage2D d; layout(std430, binding = 0) buffer A { uint "
                 "a[]; };\nvoid main() { ivec2 p = ivec2(gl_LocalInvocationID.xy); a[p.y * 8 + p.x] = imageLoad(d, p).x; }\n");
    glDispatchCompute(1, 1, 1);
    shown(name, out, WORDS);
}

static void image_colors(const char *name)
{
    image(1, GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, NULL, 8);
    GLuint out = buffer(GL_SHADER_STORAGE_BUFFER, 0, NULL, sizeof numbers);
    program(HEAD "layout(local_size_x = 8, local_size_y = 8) in; precision highp image2D;\n"
                 "layout(rgba8, binding = 1) writeonly uniform image2D d;\n"
                 "void main() { ivec2 p = ivec2(gl_LocalInvocationID.xy); imageStore(d, p, vec4(p, p.x + p.y, 15) / 15.0); }\n");
    glDispatchCompute(1, 1, 1);
    glMemoryBarrier(GL_TEXTURE_FETCH_BARRIER_BIT);
    program(HEAD "layout(local_size_x = 8, local_size_y = 8) in;\n"
                 "uniform sampler2D s; layout(std430, binding = 0) buffer A { uint a[]; };\n"
                 "void main() { ivec2 p = ivec2(gl_LocalInvocationID.xy); a[p.y * 8 + p.x] = "
                 "packUnorm4x8(texelFetch(s, p, 0)); }\n");
    glDispatchCompute(1, 1, 1);
    shown(name, out, WORDS);
}

static void texture_in_compute(const char *name)
{
    unsigned texels[16];
    for (int i = 0; i < 16; i++)
        texels[i] = (unsigned)i * 0x0F070301u;
    image(0, GL_RGBA8, GL_RGBA, GL_UNSIGNED_BYTE, texels, 4);
    GLuint out = buffer(GL_SHADER_STORAGE_BUFFER, 0, NULL, sizeof numbers);
    program(HEAD "layout(local_size_x = 4, local_size_y = 4) in;\n"
                 "uniform sampler2D s; layout(std430, binding = 0) buffer A { uint a[]; };\n"
                 "void main() { vec2 t = (vec2(gl_LocalInvocationID.xy) + 0.5) / 4.0; a[gl_LocalInvocationIndex] = "
                 "packUnorm4x8(textureLod(s, t.yx, 0.0)); }\n");
    glDispatchCompute(1, 1, 1);
    shown(name, out, 16);
}

static void uniforms(const char *name)
{
    unsigned block[16];
    for (int i = 0; i < 16; i++)
        block[i] = 100u + (unsigned)i;
    buffer(GL_UNIFORM_BUFFER, 0, block, sizeof block);
    GLuint out = buffer(GL_SHADER_STORAGE_BUFFER, 0, NULL, sizeof numbers);
    GLuint made = linked(shader(GL_COMPUTE_SHADER, HEAD
                                "layout(local_size_x = 16) in; uniform uint k[4]; layout(std140, binding = 0) uniform U { "
                                "uvec4 u[4]; };\nlayout(std430, binding = 0) buffer A { uint a[]; };\n"
                                "void main() { uint i = gl_LocalInvocationIndex; a[i] = u[i >> 2][i & 3u] + k[i & 3u]; }\n"),
                         0);
    glUniform1uiv(glGetUniformLocation(made, "k"), 4, (const unsigned[]){1000, 2000, 3000, 4000});
    glDispatchCompute(1, 1, 1);
    shown(name, out, 16);
}

static const struct {
    const char *name;
    void (*run)(const char *);
} CASES[] = {
#define CASE(name) {#name, name}
    CASE(storage), CASE(atomics), CASE(shared_atomics), CASE(counters), CASE(indirect), CASE(indirect_by_shader),
    CASE(image_words), CASE(image_colors), CASE(texture_in_compute), CASE(uniforms),
};

int main(int count, char **arguments)
{
    make_context(3, 1);
    for (int i = 0; i < WORDS; i++)
        numbers[i] = (unsigned)(i * i * 2654435761u >> 20);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        int named = count == 1;
        for (int k = 1; k < count; k++)
            named |= !strcmp(arguments[k], CASES[i].name);
        if (named)
            CASES[i].run(CASES[i].name);
    }
    return 0;
}

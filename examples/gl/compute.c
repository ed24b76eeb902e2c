/* A compute shader: blocks reverse their part of an array in shared memory and add up with an atomic. Needs OpenGL ES
 * 3.1, which the driver offers on chips a3, a5 and a8. */
#include "surface.h"

enum { BLOCK = 64, TOTAL = 1024 };

int main(void)
{
    static unsigned input[TOTAL];
    static const unsigned zero = 0;
    const unsigned factor = 3;
    unsigned sum = 0, wrong = 0;
    GLuint buffers[3];
    make_context(3, 1);
    GLuint program =
        linked(shader(GL_COMPUTE_SHADER, "#version 310 es\n"
                                         "layout(local_size_x = 64) in;\n"
                                         "layout(std430, binding = 0) buffer A { uint from[]; };\n"
                                         "layout(std430, binding = 1) buffer B { uint to[]; };\n"
                                         "layout(std430, binding = 2) buffer C { uint total; };\n"
                                         "uniform uint factor;\n"
                                         "shared uint part[64];\n"
                                         "void main() {\n"
                                         "  uint here = gl_LocalInvocationID.x, at = gl_GlobalInvocationID.x;\n"
                                         "  part[here] = from[at];\n"
                                         "  barrier();\n"
                                         "  uint value = part[63u - here] * factor + gl_WorkGroupID.x;\n"
                                         "  to[at] = value;\n"
                                         "  atomicAdd(total, value);\n"
                                         "}\n"),
               0);
    for (unsigned i = 0; i < TOTAL; i++)
        input[i] = i * i + 7;
    glGenBuffers(3, buffers);
    for (GLuint k = 0; k < 3; k++) {
        glBindBufferBase(GL_SHADER_STORAGE_BUFFER, k, buffers[k]);
        if (k == 2)
            glBufferData(GL_SHADER_STORAGE_BUFFER, sizeof zero, &zero, GL_DYNAMIC_READ);
        else
            glBufferData(GL_SHADER_STORAGE_BUFFER, sizeof input, k == 0 ? input : NULL, GL_DYNAMIC_READ);
    }
    glUniform1ui(glGetUniformLocation(program, "factor"), factor);
    glDispatchCompute(TOTAL / BLOCK, 1, 1);
    glMemoryBarrier(GL_BUFFER_UPDATE_BARRIER_BIT);
    glBindBuffer(GL_SHADER_STORAGE_BUFFER, buffers[1]);
    const unsigned *found = glMapBufferRange(GL_SHADER_STORAGE_BUFFER, 0, sizeof input, GL_MAP_READ_BIT);
    if (found == NULL)
        fail("no result");
    for (unsigned i = 0; i < TOTAL; i++) {
        unsigned block = i / BLOCK, other = block * BLOCK + BLOCK - 1 - i % BLOCK;
        unsigned expected = input[other] * factor + block;
        sum += expected;
        wrong += found[i] != expected;
    }
    glUnmapBuffer(GL_SHADER_STORAGE_BUFFER);
    glBindBuffer(GL_SHADER_STORAGE_BUFFER, buffers[2]);
    const unsigned *total = glMapBufferRange(GL_SHADER_STORAGE_BUFFER, 0, sizeof zero, GL_MAP_READ_BIT);
    wrong += total == NULL || *total != sum;
    printf("%u of %d words are wrong\n", wrong, TOTAL + 1);
    return wrong != 0;
}

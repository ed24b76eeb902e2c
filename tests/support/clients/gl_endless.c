/* A program that never ends, then one that does. Usage: gl_endless vertex|fragment|compute SIZE
   Prints the pixel in the middle: red only if something was drawn behind the endless program. */
#include "../../../examples/gl/surface.h"
#include <string.h>

#define VERSION "#version 300 es\nprecision highp float;\n"
#define ENDLESS "uniform float step_;\nfloat turn(float x) { while (x < 2.0) x = fract(x + step_); return x; }\n"

static const char *const plain[2] = {
    VERSION "layout(location = 0) in vec2 place;\nvoid main() { gl_Position = vec4(place, 0.0, 1.0); }\n",
    VERSION "out vec4 color;\nvoid main() { color = vec4(1, 0, 0, 1); }\n",
};
static const char *const endless[2] = {
    VERSION ENDLESS "layout(location = 0) in vec2 place;\n"
                    "void main() { gl_Position = vec4(place * turn(place.x), 0.0, 1.0); }\n",
    VERSION ENDLESS "out vec4 color;\nvoid main() { color = vec4(turn(gl_FragCoord.x)); }\n",
};

int main(int count, char **arguments)
{
    static const float corners[] = {-1, -1, 3, -1, -1, 3};
    static const int parts[] = {2};
    const char *where = count > 1 ? arguments[1] : "fragment";
    int size = number(count, arguments, 2, 32), compute = !strcmp(where, "compute");
    make_context(3, compute);
    make_target(size, 0);
    glClearColor(0, 1, 0, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    printf("begun\n");
    fflush(stdout);
    if (compute) {
        linked(shader(GL_COMPUTE_SHADER,
                      "#version 310 es\nlayout(local_size_x = 32) in;\n"
                      "layout(std430, binding = 0) buffer B { float words[]; };\nuniform float step_;\n"
                      "void main() { float x = 0.0; while (x < 2.0) x = fract(x + step_); words[0] = x; }\n"),
               0);
        GLuint buffer;
        glGenBuffers(1, &buffer);
        glBindBufferBase(GL_SHADER_STORAGE_BUFFER, 0, buffer);
        glBufferData(GL_SHADER_STORAGE_BUFFER, 4096, NULL, GL_DYNAMIC_COPY);
        glDispatchCompute(1, 1, 1);
        glFinish();
    } else {
        int in_vertices = !strcmp(where, "vertex");
        linked(shader(GL_VERTEX_SHADER, in_vertices ? endless[0] : plain[0]),
               shader(GL_FRAGMENT_SHADER, in_vertices ? plain[1] : endless[1]));
        vertices(corners, sizeof corners, parts, 1, 2);
        glDrawArrays(GL_TRIANGLES, 0, 3);
        glFinish();
    }
    linked(shader(GL_VERTEX_SHADER, plain[0]), shader(GL_FRAGMENT_SHADER, plain[1]));
    vertices(corners, sizeof corners, parts, 1, 2);
    glDrawArrays(GL_TRIANGLES, 0, 3);
    unsigned char pixel[4] = {0};
    glReadPixels(size / 2, size / 2, 1, 1, GL_RGBA, GL_UNSIGNED_BYTE, pixel);
    printf("%d %d %d\n", pixel[0], pixel[1], pixel[2]);
    return 0;
}

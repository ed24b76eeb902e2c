/* A shaded triangle. Usage: triangle [SIZE [PICTURE.ppm [FRAMES]]] */
#include "surface.h"

int main(int count, char **arguments)
{
    static const float corners[] = {
        -0.9f, -0.8f, 1, 0.2f, 0.1f, 0.85f, -0.6f, 0.1f, 0.9f, 0.3f, -0.1f, 0.9f, 0.2f, 0.3f, 1,
    };
    static const int parts[] = {2, 3};
    int size = number(count, arguments, 1, 256);
    make_context(3, 0);
    make_target(size, 0);
    linked(shader(GL_VERTEX_SHADER, "#version 300 es\n"
                                    "layout(location = 0) in vec2 place; layout(location = 1) in vec3 color;\n"
                                    "out vec3 shade;\n"
                                    "void main() { gl_Position = vec4(place, 0.0, 1.0); shade = color; }\n"),
           shader(GL_FRAGMENT_SHADER, "#version 300 es\nprecision highp float;\n"
                                      "in vec3 shade; out vec4 color;\n"
                                      "void main() { color = vec4(shade, 1.0); }\n"));
    vertices(corners, sizeof corners, parts, 2, 5);
    for (int n = number(count, arguments, 3, 1); n > 0; n--) {
        glClearColor(0.1f, 0.15f, 0.25f, 1);
        glClear(GL_COLOR_BUFFER_BIT);
        glDrawArrays(GL_TRIANGLES, 0, 3);
        glFinish();
    }
    save(count > 2 ? arguments[2] : NULL, size);
    return 0;
}

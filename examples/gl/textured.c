/* A bilinear texture over the whole target. Usage: textured [SIZE [PICTURE.ppm [FRAMES]]] */
#include "surface.h"

int main(int count, char **arguments)
{
    static const float corners[] = {-1, -1, 0, 0, 1, -1, 2, 0, -1, 1, 0, 2, 1, 1, 2, 2};
    static const int parts[] = {2, 2};
    unsigned char texels[32][32][4];
    int size = number(count, arguments, 1, 256);
    make_context(3, 0);
    make_target(size, 0);
    linked(shader(GL_VERTEX_SHADER, "#version 300 es\n"
                                    "layout(location = 0) in vec2 place; layout(location = 1) in vec2 where;\n"
                                    "out vec2 at;\n"
                                    "void main() { gl_Position = vec4(place, 0.0, 1.0); at = where; }\n"),
           shader(GL_FRAGMENT_SHADER, "#version 300 es\nprecision highp float;\n"
                                      "in vec2 at; out vec4 color; uniform sampler2D image;\n"
                                      "void main() { color = texture(image, at); }\n"));
    for (int y = 0; y < 32; y++)
        for (int x = 0; x < 32; x++) {
            texels[y][x][0] = (unsigned char)(x * 8);
            texels[y][x][1] = (unsigned char)(y * 8);
            texels[y][x][2] = (unsigned char)((x ^ y) * 8);
            texels[y][x][3] = 255;
        }
    GLuint texture;
    glGenTextures(1, &texture);
    glBindTexture(GL_TEXTURE_2D, texture);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA, 32, 32, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
    vertices(corners, sizeof corners, parts, 2, 4);
    for (int n = number(count, arguments, 3, 1); n > 0; n--) {
        glClearColor(0, 0, 0, 1);
        glClear(GL_COLOR_BUFFER_BIT);
        glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
        glFinish();
    }
    save(count > 2 ? arguments[2] : NULL, size);
    return 0;
}

/* Three gears that turn, lit and with depth. Usage: gears [SIZE [PICTURE.ppm [FRAMES]]] */
#include "surface.h"

#include <math.h>

enum { MOST = 24000, FLOATS = 6 };
static float mesh[MOST * FLOATS];
static int used;

static void corner(const float *place, float nx, float ny, float nz)
{
    float *to = mesh + FLOATS * used++;
    to[0] = place[0], to[1] = place[1], to[2] = place[2];
    to[3] = nx, to[4] = ny, to[5] = nz;
}

/* A flat quad, counter-clockwise seen from its normal. */
static void quad(const float a[3], const float b[3], const float c[3], const float d[3])
{
    float u[3], v[3];
    for (int k = 0; k < 3; k++)
        u[k] = b[k] - a[k], v[k] = d[k] - a[k];
    float n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
    float length = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    const float *order[] = {a, b, c, a, c, d};
    for (int k = 0; k < 6; k++)
        corner(order[k], n[0] / length, n[1] / length, n[2] / length);
}

/* Returns how many vertices a gear has. */
static int gear(float hole, float body, float tip, float thick, int teeth)
{
    int before = used;
    for (int i = 0; i < 4 * teeth; i++) {
        float angle[2], radius[2];
        for (int k = 0; k < 2; k++) {
            angle[k] = (float)(i + k) * 6.2831853f / (float)(4 * teeth);
            radius[k] = (i + k) % 4 == 1 || (i + k) % 4 == 2 ? tip : body;
        }
        float p[8][3]; /* inner and outer edge at both angles, in front and behind */
        for (int k = 0; k < 8; k++) {
            float r = k & 1 ? radius[k >> 1 & 1] : hole;
            p[k][0] = r * cosf(angle[k >> 1 & 1]);
            p[k][1] = r * sinf(angle[k >> 1 & 1]);
            p[k][2] = k & 4 ? -thick / 2 : thick / 2;
        }
        quad(p[0], p[1], p[3], p[2]);
        quad(p[4], p[6], p[7], p[5]);
        quad(p[1], p[5], p[7], p[3]);
        quad(p[0], p[2], p[6], p[4]);
    }
    return used - before;
}

int main(int count, char **arguments)
{
    static const int parts[] = {3, 3};
    static const float place[3][2] = {{-3, -2}, {3.1f, -2}, {-3.1f, 4.2f}};
    static const float color[3][3] = {{0.8f, 0.1f, 0}, {0, 0.8f, 0.2f}, {0.2f, 0.2f, 1}};
    static const float speed[3] = {1, -2, -2}, phase[3] = {0, -0.157f, -0.436f};
    int size = number(count, arguments, 1, 256), frames = number(count, arguments, 3, 1);
    make_context(3, 0);
    make_target(size, 1);
    GLuint program =
        linked(shader(GL_VERTEX_SHADER,
                      "#version 300 es\n"
                      "layout(location = 0) in vec3 place; layout(location = 1) in vec3 normal;\n"
                      "uniform vec4 turn; uniform vec3 paint; out vec3 shade;\n"
                      "void main() {\n"
                      "  vec2 cs = turn.zw;\n"
                      "  vec3 p = vec3(cs.x * place.x - cs.y * place.y, cs.y * place.x + cs.x * place.y, place.z);\n"
                      "  vec3 n = vec3(cs.x * normal.x - cs.y * normal.y, cs.y * normal.x + cs.x * normal.y, normal.z);\n"
                      "  p.xy += turn.xy;\n"
                      "  p = vec3(0.87 * p.x + 0.5 * p.z, p.y, 0.87 * p.z - 0.5 * p.x);\n"
                      "  n = vec3(0.87 * n.x + 0.5 * n.z, n.y, 0.87 * n.z - 0.5 * n.x);\n"
                      "  p = vec3(p.x, 0.94 * p.y - 0.34 * p.z, 0.94 * p.z + 0.34 * p.y - 20.0);\n"
                      "  n = vec3(n.x, 0.94 * n.y - 0.34 * n.z, 0.94 * n.z + 0.34 * n.y);\n"
                      "  gl_Position = vec4(2.4 * p.xy, -1.1818 * p.z - 10.909, -p.z);\n"
                      "  shade = paint * (0.2 + max(dot(n, vec3(0.408, 0.408, 0.816)), 0.0));\n"
                      "}\n"),
               shader(GL_FRAGMENT_SHADER, "#version 300 es\nprecision highp float;\n"
                                          "in vec3 shade; out vec4 color;\n"
                                          "void main() { color = vec4(shade, 1.0); }\n"));
    int first[3], length[3];
    length[0] = gear(1, 3.65f, 4.35f, 1, 20);
    length[1] = gear(0.5f, 1.65f, 2.35f, 2, 10);
    length[2] = gear(1.3f, 1.65f, 2.35f, 0.5f, 10);
    first[0] = 0, first[1] = length[0], first[2] = length[0] + length[1];
    vertices(mesh, sizeof(float) * FLOATS * (size_t)used, parts, 2, FLOATS);
    glEnable(GL_DEPTH_TEST);
    glEnable(GL_CULL_FACE);
    for (int n = 0; n < frames; n++) {
        glClearColor(0, 0, 0, 1);
        glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
        for (int k = 0; k < 3; k++) {
            float angle = speed[k] * (0.3f + 0.03f * (float)n) + phase[k];
            glUniform4f(glGetUniformLocation(program, "turn"), place[k][0], place[k][1], cosf(angle), sinf(angle));
            glUniform3fv(glGetUniformLocation(program, "paint"), 1, color[k]);
            glDrawArrays(GL_TRIANGLES, first[k], length[k]);
        }
        glFinish();
    }
    save(count > 2 ? arguments[2] : NULL, size);
    return 0;
}

/* One small picture for each fixed function of the pipeline: features SIZE FOLDER NAME...; without names all of them.
 *
 * Every scene has a context of its own and writes FOLDER/NAME.ppm. `features` without arguments lists the names. */
#define GL_GLEXT_PROTOTYPES
#include <EGL/egl.h>
#include <EGL/eglext.h>
#include <GL/gl.h>
#include <GL/glext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int size;

static void fail(const char *what)
{
    fprintf(stderr, "%s: EGL error %x, GL error %x\n", what, eglGetError(), glGetError());
    exit(1);
}

/* --- what the scenes share --- */
static GLuint shader(GLenum kind, const char *text)
{
    GLuint made = glCreateShader(kind);
    GLint good;
    char message[1024];
    glShaderSource(made, 1, &text, NULL);
    glCompileShader(made);
    glGetShaderiv(made, GL_COMPILE_STATUS, &good);
    if (!good) {
        glGetShaderInfoLog(made, sizeof message, NULL, message);
        fprintf(stderr, "%s\n%s\n", text, message);
        exit(1);
    }
    return made;
}

static GLuint program_of(const char *vertex, const char *geometry, const char *fragment, const char *captured)
{
    GLuint made = glCreateProgram();
    GLint good;
    glAttachShader(made, shader(GL_VERTEX_SHADER, vertex));
    if (geometry)
        glAttachShader(made, shader(GL_GEOMETRY_SHADER, geometry));
    if (fragment)
        glAttachShader(made, shader(GL_FRAGMENT_SHADER, fragment));
    glBindAttribLocation(made, 0, "position");
    glBindAttribLocation(made, 1, "color");
    if (captured)
        glTransformFeedbackVaryings(made, 1, &captured, GL_INTERLEAVED_ATTRIBS);
    glLinkProgram(made);
    glGetProgramiv(made, GL_LINK_STATUS, &good);
    if (!good)
        fail("link");
    glUseProgram(made);
    return made;
}

#define PLAIN_VERTEX                                                                                                   \
    "#version 150\nin vec4 position; in vec4 color; out vec4 shade;\n"                                                 \
    "void main() { gl_Position = position; shade = color; }\n"
#define PLAIN_FRAGMENT "#version 150\nin vec4 shade; out vec4 result;\nvoid main() { result = shade; }\n"
#define PASS_FRAGMENT "#version 150\nin vec4 passed; out vec4 result;\nvoid main() { result = passed; }\n"

static GLuint texture_of(GLenum target, GLenum format, int width, int height, int layers, int filter)
{
    GLuint made;
    glGenTextures(1, &made);
    glBindTexture(target, made);
    if (target == GL_TEXTURE_2D_ARRAY)
        glTexImage3D(target, 0, (GLint)format, width, height, layers, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    else
        glTexImage2D(target, 0, (GLint)format, width, height, 0, GL_RGBA, GL_UNSIGNED_BYTE, NULL);
    glTexParameteri(target, GL_TEXTURE_MIN_FILTER, filter);
    glTexParameteri(target, GL_TEXTURE_MAG_FILTER, filter);
    return made;
}

static GLuint framebuffer(void)
{
    GLuint made;
    glGenFramebuffers(1, &made);
    glBindFramebuffer(GL_FRAMEBUFFER, made);
    return made;
}

static GLuint bound_framebuffer(void)
{
    GLint found;
    glGetIntegerv(GL_FRAMEBUFFER_BINDING, &found);
    return (GLuint)found;
}

static GLuint renderbuffer(GLenum format, GLenum point, int samples)
{
    GLuint made;
    glGenRenderbuffers(1, &made);
    glBindRenderbuffer(GL_RENDERBUFFER, made);
    glRenderbufferStorageMultisample(GL_RENDERBUFFER, samples, format, size, size);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, point, GL_RENDERBUFFER, made);
    return made;
}

static void complete(void)
{
    if (glCheckFramebufferStatus(GL_FRAMEBUFFER) != GL_FRAMEBUFFER_COMPLETE)
        fail("framebuffer");
}

static void rectangle(float x0, float y0, float x1, float y1, float z)
{
    glBegin(GL_QUADS);
    glTexCoord2f(0, 0), glVertex3f(x0, y0, z);
    glTexCoord2f(1, 0), glVertex3f(x1, y0, z);
    glTexCoord2f(1, 1), glVertex3f(x1, y1, z);
    glTexCoord2f(0, 1), glVertex3f(x0, y1, z);
    glEnd();
}

/* A triangle whose corners have colours. */
static void triangle(float shift, float z)
{
    glBegin(GL_TRIANGLES);
    glColor4f(1, 0, 0, 1), glVertex3f(-0.8f + shift, -0.7f, z);
    glColor4f(0, 1, 0, 0.6f), glVertex3f(0.7f + shift, -0.55f, z);
    glColor4f(0, 0, 1, 0.2f), glVertex3f(0.1f + shift, 0.8f, z);
    glEnd();
}

/* Eight corners around the middle; as a strip, from one side to the other. */
static void fan(GLenum mode)
{
    static const int across[] = {7, 0, 6, 1, 5, 2, 4, 3};
    static const float corners[][2] = {{-0.8f, -0.3f}, {-0.3f, -0.8f}, {0.4f, -0.75f}, {0.85f, -0.1f},
                                       {0.6f, 0.65f},  {-0.1f, 0.85f}, {-0.7f, 0.5f},  {-0.85f, 0.1f}};
    glBegin(mode);
    for (int i = 0; i < 8; i++) {
        glColor3f((float)i / 7, 1 - (float)i / 7, (float)(i & 1));
        glVertex2fv(corners[mode == GL_QUAD_STRIP ? across[i] : i]);
    }
    glEnd();
}

static void star(GLenum mode)
{
    static const float ends[][2] = {{-0.9f, -0.7f}, {0.8f, -0.4f}, {-0.6f, 0.85f}, {0.1f, -0.95f},
                                    {0.7f, 0.9f},   {-0.85f, 0.05f}, {0.95f, 0.3f}, {-0.2f, -0.52f}};
    glBegin(mode);
    for (int i = 0; i < 8; i++) {
        glColor3f(1 - (float)i / 7, (float)i / 7, 0.5f);
        glVertex2fv(ends[i]);
    }
    glEnd();
}

static const float STRIP[] = {-0.9f, -0.8f, 0, 1, 1, 0, 0, 1, -0.6f, 0.7f,  0, 1, 0, 1, 0, 1,
                              -0.3f, -0.6f, 0, 1, 0, 0, 1, 1, 0.05f, 0.75f, 0, 1, 1, 1, 0, 1,
                              0.3f,  -0.7f, 0, 1, 0, 1, 1, 1, 0.6f,  0.6f,  0, 1, 1, 0, 1, 1,
                              0.9f,  -0.5f, 0, 1, 1, 1, 1, 1, 0.95f, 0.9f,  0, 1, 0.5f, 0.5f, 0.5f, 1};

static void strip_buffer(void)
{
    GLuint array, made;
    glGenVertexArrays(1, &array);
    glBindVertexArray(array);
    glGenBuffers(1, &made);
    glBindBuffer(GL_ARRAY_BUFFER, made);
    glBufferData(GL_ARRAY_BUFFER, sizeof STRIP, STRIP, GL_STATIC_DRAW);
    glVertexAttribPointer(0, 4, GL_FLOAT, GL_FALSE, 32, NULL);
    glVertexAttribPointer(1, 4, GL_FLOAT, GL_FALSE, 32, (void *)16);
    glEnableVertexAttribArray(0);
    glEnableVertexAttribArray(1);
}

/* Column `n` of `of` shows the texture that is bound. */
static void column(int n, int of)
{
    float width = 2.0f / (float)of;
    rectangle(-1 + width * (float)n, -1, -1 + width * (float)(n + 1), 1, 0);
}

/* --- lines and points --- */
static void lines(void) { star(GL_LINES); }
static void line_strip(void) { star(GL_LINE_STRIP); }
static void line_loop(void) { star(GL_LINE_LOOP); }
static void wide_lines(void) { glLineWidth(5), star(GL_LINES); }

static void line_stipple(void)
{
    glEnable(GL_LINE_STIPPLE);
    for (int i = 0; i < 4; i++) { /* along rows and columns, where renderers agree how long a line is */
        float low = -0.95f + 0.1f * (float)i, high = 0.9f - 0.13f * (float)i, half = 1.0f / (float)size;
        low = half * (float)(2 * (int)(low * (float)size / 2) + 1), high = half * (float)(2 * (int)(high * (float)size / 2) + 1);
        glLineStipple(1 + i, 0x3A57);
        glColor3f(1, 0.3f * (float)i, 0.5f);
        glBegin(i & 1 ? GL_LINE_STRIP : GL_LINES);
        glVertex2f(low, low), glVertex2f(high, low), glVertex2f(high, low), glVertex2f(high, high);
        glEnd();
    }
}

static void smooth_lines(void)
{
    float x = 0.98f, y = 0.2f; /* turned by 41 degrees from line to line */
    glEnable(GL_BLEND), glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
    glEnable(GL_LINE_SMOOTH);
    for (int i = 0; i < 9; i++) {
        float before = x;
        glLineWidth(1 + 0.5f * (float)i);
        glColor3f(1, 0.1f * (float)i, 0.5f);
        glBegin(GL_LINES);
        glVertex2f(0.2f * x, 0.2f * y), glVertex2f(0.9f * x, 0.9f * y);
        glEnd();
        x = 0.7547f * x - 0.6561f * y, y = 0.6561f * before + 0.7547f * y;
    }
}

static void line_adjacency(void)
{
    program_of(PLAIN_VERTEX,
               "#version 150\nlayout(lines_adjacency) in; layout(line_strip, max_vertices = 4) out;\n"
               "in vec4 shade[]; out vec4 passed;\n"
               "void main() { for (int i = 0; i < 4; i++) { gl_Position = gl_in[i].gl_Position;"
               " passed = shade[3 - i]; EmitVertex(); } }\n",
               PASS_FRAGMENT, NULL);
    strip_buffer();
    glDrawArrays(GL_LINES_ADJACENCY, 0, 8);
    glDrawArrays(GL_LINE_STRIP_ADJACENCY, 1, 6);
}

static void triangle_adjacency(void)
{
    program_of(PLAIN_VERTEX,
               "#version 150\nlayout(triangles_adjacency) in; layout(triangle_strip, max_vertices = 6) out;\n"
               "in vec4 shade[]; out vec4 passed;\n"
               "void main() { for (int i = 0; i < 3; i++) { gl_Position = gl_in[2 * i].gl_Position;"
               " passed = shade[2 * i + 1]; EmitVertex(); } EndPrimitive(); }\n",
               PASS_FRAGMENT, NULL);
    strip_buffer();
    glDrawArrays(GL_TRIANGLE_STRIP_ADJACENCY, 0, 8);
}

static void points(void)
{
    glPointSize(1), star(GL_POINTS);
    glPointSize(6), fan(GL_POINTS);
}

static void sprites(GLenum origin)
{
    glEnable(GL_POINT_SPRITE);
    glPointParameteri(GL_POINT_SPRITE_COORD_ORIGIN, (GLint)origin);
    program_of("#version 120\nvoid main() { gl_Position = gl_Vertex; }\n", NULL,
               "#version 120\nvoid main() { gl_FragColor = vec4(gl_PointCoord, 0.25, 1.0); }\n", NULL);
    glPointSize(13);
    star(GL_POINTS);
}

static void sprites_upper(void) { sprites(GL_UPPER_LEFT); }
static void sprites_lower(void) { sprites(GL_LOWER_LEFT); }

static void point_size(void)
{
    glEnable(GL_VERTEX_PROGRAM_POINT_SIZE);
    program_of("#version 120\nvarying vec4 c; void main() { gl_Position = gl_Vertex; c = gl_Color;"
               " gl_PointSize = 2.0 * floor(3.0 + 2.05 * gl_Vertex.x); }\n",
               NULL, "#version 120\nvarying vec4 c; void main() { gl_FragColor = c; }\n", NULL);
    star(GL_POINTS);
}

/* --- polygons --- */
static void polygons(void)
{
    glShadeModel(GL_FLAT);
    glViewport(0, 0, size / 2, size / 2), fan(GL_POLYGON);
    glViewport(size / 2, 0, size / 2, size / 2), fan(GL_TRIANGLE_FAN);
    glViewport(0, size / 2, size / 2, size / 2), fan(GL_QUADS);
    glViewport(size / 2, size / 2, size / 2, size / 2), fan(GL_QUAD_STRIP);
}

static void polygon_line(void) { glPolygonMode(GL_FRONT_AND_BACK, GL_LINE), triangle(0, 0); }

static void polygon_point(void)
{
    glPointSize(5);
    glPolygonMode(GL_FRONT_AND_BACK, GL_POINT);
    triangle(0, 0);
}

static void polygon_offset(void)
{
    glEnable(GL_DEPTH_TEST);
    glColor3f(1, 1, 1), rectangle(-0.9f, -0.9f, 0.9f, 0.9f, 0.25f);
    glEnable(GL_POLYGON_OFFSET_FILL);
    glPolygonOffset(0, -4), triangle(0, 0.25f);
    glPolygonOffset(0, 4);
    glColor3f(0, 0, 0), rectangle(-0.5f, -0.5f, 0.5f, 0.5f, 0.25f);
}

static void polygon_stipple(void)
{
    GLubyte mask[128];
    for (int i = 0; i < 128; i++)
        mask[i] = (GLubyte)(i * 37 + (i >> 3));
    glPolygonStipple(mask);
    glEnable(GL_POLYGON_STIPPLE);
    fan(GL_POLYGON);
}

static void clip_distances(void)
{
    glEnable(GL_CLIP_DISTANCE0);
    glEnable(GL_CLIP_DISTANCE1);
    program_of("#version 130\nout vec4 c; out float gl_ClipDistance[2]; void main() { gl_Position = gl_Vertex;"
               " c = gl_Color; gl_ClipDistance[0] = gl_Vertex.x + 0.3 + 0.2 * gl_Vertex.y;"
               " gl_ClipDistance[1] = 0.4 - gl_Vertex.y; }\n",
               NULL, "#version 130\nin vec4 c; void main() { gl_FragColor = c; }\n", NULL);
    fan(GL_POLYGON);
}

static void two_sides(void)
{
    glEnable(GL_VERTEX_PROGRAM_TWO_SIDE);
    program_of("#version 120\nvoid main() { gl_Position = gl_Vertex; gl_FrontColor = gl_Color;"
               " gl_BackColor = vec4(1.0) - gl_Color; }\n",
               NULL, "#version 120\nvoid main() { gl_FragColor = gl_Color; }\n", NULL);
    glColor3f(0.9f, 0.4f, 0.2f);
    rectangle(-0.9f, -0.9f, -0.1f, 0.9f, 0);
    rectangle(0.9f, -0.9f, 0.1f, 0.9f, 0);
}

static void flat(GLenum vertex)
{
    glShadeModel(GL_FLAT);
    glProvokingVertex(vertex);
    triangle(0.1f, 0);
    glViewport(0, 0, size / 2, size / 2);
    star(GL_TRIANGLE_STRIP);
}

static void flat_first(void) { flat(GL_FIRST_VERTEX_CONVENTION); }
static void flat_last(void) { flat(GL_LAST_VERTEX_CONVENTION); }

static void culling(void)
{
    glEnable(GL_CULL_FACE);
    glCullFace(GL_BACK), triangle(0, 0);
    glFrontFace(GL_CW);
    glColor3f(0.5f, 0.5f, 0), rectangle(-0.9f, 0.2f, -0.3f, 0.9f, 0);
    glCullFace(GL_FRONT);
    glColor3f(0, 0.5f, 0.5f), rectangle(0.3f, 0.2f, 0.9f, 0.9f, 0);
}

/* --- tests and merging --- */
static void alpha_test(void)
{
    static const GLenum functions[] = {GL_NEVER, GL_LESS, GL_EQUAL, GL_LEQUAL, GL_GREATER, GL_NOTEQUAL, GL_GEQUAL, GL_ALWAYS};
    glEnable(GL_ALPHA_TEST);
    for (int i = 0; i < 8; i++) {
        glAlphaFunc(functions[i], 0.5f);
        for (int k = 0; k < 3; k++) {
            glColor4f(0.1f * (float)i, 1, 0.3f * (float)k, 0.25f + 0.25f * (float)k);
            rectangle(-1 + 0.25f * (float)i, -0.9f + 0.6f * (float)k, -0.8f + 0.25f * (float)i, -0.5f + 0.6f * (float)k, 0);
        }
    }
}

static void logic_operation(void)
{
    static const GLenum operations[] = {GL_XOR, GL_AND_REVERSE, GL_EQUIV, GL_OR_INVERTED};
    glShadeModel(GL_FLAT);
    triangle(0, 0);
    glEnable(GL_COLOR_LOGIC_OP);
    for (int i = 0; i < 4; i++) {
        glLogicOp(operations[i]);
        glColor4f(0.7f, 0.3f, 0.55f, 0.4f);
        rectangle(-1 + 0.5f * (float)i, -0.6f, -0.6f + 0.5f * (float)i, 0.6f, 0);
    }
}

static void blend_per_target(void)
{
    static const GLenum both[] = {GL_COLOR_ATTACHMENT0, GL_COLOR_ATTACHMENT1};
    GLuint shown = bound_framebuffer();
    framebuffer();
    GLuint first = texture_of(GL_TEXTURE_2D, GL_RGBA8, size, size, 1, GL_NEAREST);
    GLuint second = texture_of(GL_TEXTURE_2D, GL_RGBA16, size, size, 1, GL_NEAREST);
    glFramebufferTexture2D(GL_FRAMEBUFFER, both[0], GL_TEXTURE_2D, first, 0);
    glFramebufferTexture2D(GL_FRAMEBUFFER, both[1], GL_TEXTURE_2D, second, 0);
    glDrawBuffers(2, both);
    complete();
    glClearColor(0.3f, 0.2f, 0.4f, 0.5f);
    glClear(GL_COLOR_BUFFER_BIT);
    program_of("#version 130\nout vec4 c; void main() { gl_Position = gl_Vertex; c = gl_Color; }\n", NULL,
               "#version 130\nin vec4 c; out vec4 a; out vec4 b; void main() { a = c; b = c.gbra; }\n", NULL);
    glEnablei(GL_BLEND, 0);
    glEnablei(GL_BLEND, 1);
    glBlendFuncSeparate(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA, GL_ONE, GL_ZERO);
    triangle(-0.2f, 0);
    glDisablei(GL_BLEND, 1);
    glBlendEquation(GL_FUNC_REVERSE_SUBTRACT);
    glBlendFunc(GL_DST_COLOR, GL_ONE);
    glColorMaski(1, GL_TRUE, GL_FALSE, GL_TRUE, GL_TRUE);
    triangle(0.3f, 0);
    glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
    glDisable(GL_BLEND);
    glBindFramebuffer(GL_FRAMEBUFFER, shown);
    glUseProgram(0);
    glEnable(GL_TEXTURE_2D);
    glColor3f(1, 1, 1);
    glBindTexture(GL_TEXTURE_2D, first), column(0, 2);
    glBindTexture(GL_TEXTURE_2D, second), column(1, 2);
}

static void blending(void)
{
    static const GLenum equations[] = {GL_FUNC_ADD, GL_FUNC_SUBTRACT, GL_FUNC_REVERSE_SUBTRACT, GL_MIN, GL_MAX};
    static const GLenum sources[] = {GL_SRC_ALPHA, GL_DST_COLOR, GL_CONSTANT_COLOR, GL_ONE, GL_ONE};
    static const GLenum targets[] = {GL_ONE_MINUS_SRC_ALPHA, GL_SRC_ALPHA_SATURATE, GL_ONE_MINUS_CONSTANT_ALPHA,
                                     GL_ONE, GL_ONE};
    triangle(0, 0);
    glBlendColor(0.2f, 0.9f, 0.6f, 0.3f);
    glEnable(GL_BLEND);
    for (int i = 0; i < 5; i++) {
        glBlendEquation(equations[i]);
        glBlendFunc(sources[i], targets[i]);
        glColor4f(0.6f, 0.35f, 0.8f, 0.45f);
        rectangle(-1 + 0.4f * (float)i, -0.8f, -0.65f + 0.4f * (float)i, 0.8f, 0);
    }
}

static void two_source_blending(void)
{
    triangle(0, 0);
    glEnable(GL_BLEND);
    glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC1_COLOR);
    GLuint made = glCreateProgram();
    glAttachShader(made, shader(GL_VERTEX_SHADER,
                                "#version 130\nout vec4 c; void main() { gl_Position = gl_Vertex; c = gl_Color; }\n"));
    glAttachShader(made, shader(GL_FRAGMENT_SHADER,
                                "#version 130\nin vec4 c; out vec4 a; out vec4 b;"
                                " void main() { a = c; b = vec4(0.2, 0.5, 0.9, 0.3); }\n"));
    glBindFragDataLocationIndexed(made, 0, 0, "a");
    glBindFragDataLocationIndexed(made, 0, 1, "b");
    glLinkProgram(made);
    glUseProgram(made);
    glColor4f(0.9f, 0.8f, 0.1f, 0.5f);
    rectangle(-0.6f, -0.6f, 0.7f, 0.3f, 0);
}

static void stencil_sides(void)
{
    glEnable(GL_STENCIL_TEST);
    glStencilOpSeparate(GL_FRONT, GL_KEEP, GL_KEEP, GL_INCR_WRAP);
    glStencilOpSeparate(GL_BACK, GL_KEEP, GL_KEEP, GL_DECR_WRAP);
    glColorMask(GL_FALSE, GL_FALSE, GL_FALSE, GL_FALSE);
    rectangle(-0.9f, -0.9f, 0.5f, 0.5f, 0);
    rectangle(0.9f, -0.5f, -0.5f, 0.9f, 0);
    glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
    glStencilOp(GL_KEEP, GL_KEEP, GL_KEEP);
    for (int i = -1; i < 2; i++) {
        glStencilFunc(GL_EQUAL, i & 0xFF, 0xFF);
        glColor3f(i < 0 ? 1.0f : 0.1f, i == 0 ? 1.0f : 0.2f, i > 0 ? 1.0f : 0.3f);
        rectangle(-1, -1, 1, 1, 0);
    }
}

static void depth_formats(void)
{
    static const GLenum formats[] = {GL_DEPTH_COMPONENT16, GL_DEPTH_COMPONENT24, GL_DEPTH24_STENCIL8,
                                     GL_DEPTH_COMPONENT32F, GL_DEPTH32F_STENCIL8};
    glEnable(GL_DEPTH_TEST);
    for (int i = 0; i < 5; i++) {
        int stencil = i == 2 || i == 4;
        glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_STENCIL_ATTACHMENT, GL_RENDERBUFFER, 0);
        renderbuffer(formats[i], stencil ? GL_DEPTH_STENCIL_ATTACHMENT : GL_DEPTH_ATTACHMENT, 0);
        complete();
        glClear(GL_DEPTH_BUFFER_BIT | (stencil ? GL_STENCIL_BUFFER_BIT : 0u));
        glViewport(i * size / 5, 0, size / 5, size);
        glBegin(GL_TRIANGLES);
        glColor3f(1, 0.5f, 0), glVertex3f(-1, -1, -0.5f), glVertex3f(1, -1, 0.5f), glVertex3f(0, 1, 0.25f);
        glColor3f(0, 0.5f, 1), glVertex3f(-1, 1, 0.5f), glVertex3f(1, 1, -0.5f), glVertex3f(0, -1, 0.125f);
        glEnd();
        glDepthFunc(i & 1 ? GL_LEQUAL : GL_LESS);
    }
}

static void depth_clamp(void)
{
    glEnable(GL_DEPTH_TEST);
    triangle(-0.2f, 0.99f);
    glEnable(GL_DEPTH_CLAMP);
    glColor3f(1, 1, 0), rectangle(-0.4f, -0.4f, 0.9f, 0.1f, -1.5f);
    glDisable(GL_DEPTH_CLAMP);
    glColor3f(1, 0, 1), rectangle(-0.9f, 0.2f, 0.9f, 0.6f, -1.5f);
}

static void scissors(void)
{
    glEnable(GL_SCISSOR_TEST);
    glScissor(size / 8, size / 4, size / 2, size / 3);
    glClearColor(0.1f, 0.3f, 0.2f, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    fan(GL_POLYGON);
}

/* --- formats --- */
static void color_formats(void)
{
    static const GLenum formats[] = {GL_R8,      GL_RG8,     GL_RGBA8,   GL_SRGB8_ALPHA8, GL_RGB565,        GL_RGB5_A1,
                                     GL_RGB10_A2, GL_R16,    GL_RG16,    GL_RGBA16,       GL_R16F,          GL_RG16F,
                                     GL_RGBA16F, GL_R32F,    GL_RG32F,   GL_RGBA32F,      GL_R11F_G11F_B10F, GL_RGBA8_SNORM,
                                     GL_ALPHA8};
    enum { COUNT = sizeof formats / sizeof *formats };
    GLuint shown = bound_framebuffer();
    for (int i = 0; i < COUNT; i++) {
        GLuint made = texture_of(GL_TEXTURE_2D, formats[i], size, size, 1, GL_NEAREST);
        GLuint other = framebuffer();
        glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, made, 0);
        if (glCheckFramebufferStatus(GL_FRAMEBUFFER) == GL_FRAMEBUFFER_COMPLETE) {
            glDisable(GL_TEXTURE_2D);
            glViewport(0, 0, size, size);
            glClearColor(0.25f, 0.5f, 0.75f, 0.5f);
            glClear(GL_COLOR_BUFFER_BIT);
            triangle(0, 0);
        }
        glBindFramebuffer(GL_FRAMEBUFFER, shown);
        glViewport(i % 4 * size / 4, i / 4 * size / 5, size / 4, size / 5);
        glEnable(GL_TEXTURE_2D);
        glColor3f(1, 1, 1);
        rectangle(-1, -1, 1, 1, 0);
        glDeleteFramebuffers(1, &other);
        glDeleteTextures(1, &made);
    }
}

static void integer_formats(void)
{
    static const GLenum formats[] = {GL_RGBA8UI, GL_RGBA8I, GL_RG16UI, GL_R16I, GL_RGBA32UI, GL_R32I, GL_RGB10_A2UI};
    enum { COUNT = sizeof formats / sizeof *formats };
    const char *vertex = "#version 130\nvoid main() { gl_Position = gl_Vertex; }\n";
    GLuint shown = bound_framebuffer();
    for (int i = 0; i < COUNT; i++) {
        int plain = i == 0 || i == 2 || i == 4 || i == 6;
        GLuint made;
        glGenTextures(1, &made);
        glBindTexture(GL_TEXTURE_2D, made);
        glTexImage2D(GL_TEXTURE_2D, 0, (GLint)formats[i], 16, 16, 0, GL_RGBA_INTEGER, GL_INT, NULL);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
        framebuffer();
        glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, made, 0);
        complete();
        glViewport(0, 0, 16, 16);
        program_of(vertex, NULL,
                   plain ? "#version 130\nout uvec4 r; void main() { r = uvec4(gl_FragCoord.x * 40.0,"
                           " gl_FragCoord.y * 3000.0, 7u, 2u); }\n"
                         : "#version 130\nout ivec4 r; void main() { r = ivec4(gl_FragCoord.x * 20.0 - 150.0,"
                           " 900.0 - gl_FragCoord.y * 30.0, -7, 2); }\n",
                   NULL);
        rectangle(-1, -1, 1, 1, 0);
        glBindFramebuffer(GL_FRAMEBUFFER, shown);
        glViewport(i % 4 * size / 4, i / 4 * size / 2, size / 4, size / 2);
        program_of("#version 130\nout vec2 t; void main() { gl_Position = gl_Vertex; t = gl_MultiTexCoord0.xy; }\n",
                   NULL,
                   plain ? "#version 130\nuniform usampler2D s; in vec2 t; void main() { uvec4 v = texture(s, t);"
                           " gl_FragColor = vec4(v & 255u) / 255.0; }\n"
                         : "#version 130\nuniform isampler2D s; in vec2 t; void main() { ivec4 v = texture(s, t);"
                           " gl_FragColor = vec4(v & 255) / 255.0; }\n",
                   NULL);
        rectangle(-1, -1, 1, 1, 0);
    }
}

static void srgb(void)
{
    GLuint shown = bound_framebuffer();
    GLuint made = texture_of(GL_TEXTURE_2D, GL_SRGB8_ALPHA8, size, size, 1, GL_LINEAR);
    framebuffer();
    glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, made, 0);
    complete();
    glEnable(GL_FRAMEBUFFER_SRGB);
    triangle(0, 0);
    glEnable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ONE);
    glColor3f(0.1f, 0.2f, 0.05f);
    rectangle(-0.5f, -1, 0.5f, 0.5f, 0);
    glDisable(GL_BLEND);
    glDisable(GL_FRAMEBUFFER_SRGB);
    glColor3f(0.5f, 0.5f, 0.5f);
    rectangle(-1, 0.8f, 1, 1, 0);
    glBindFramebuffer(GL_FRAMEBUFFER, shown);
    glEnable(GL_TEXTURE_2D);
    glColor3f(1, 1, 1);
    column(0, 2);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_SRGB_DECODE_EXT, GL_SKIP_DECODE_EXT);
    column(1, 2);
}

static void luminance_formats(void)
{
    static const GLenum formats[] = {GL_LUMINANCE8,  GL_LUMINANCE8_ALPHA8,  GL_INTENSITY8,         GL_ALPHA8,
                                     GL_SLUMINANCE8, GL_SLUMINANCE8_ALPHA8, GL_LUMINANCE16_ALPHA16, GL_LUMINANCE4_ALPHA4};
    GLubyte texels[4 * 4 * 4];
    for (int i = 0; i < 64; i++)
        texels[i] = (GLubyte)(i * 29 + 11);
    glEnable(GL_TEXTURE_2D);
    glEnable(GL_BLEND);
    glBlendFunc(GL_SRC_ALPHA, GL_ONE_MINUS_SRC_ALPHA);
    for (int i = 0; i < 8; i++) {
        GLuint made;
        glGenTextures(1, &made);
        glBindTexture(GL_TEXTURE_2D, made);
        glTexImage2D(GL_TEXTURE_2D, 0, (GLint)formats[i], 4, 4, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, GL_NEAREST);
        glViewport(i % 4 * size / 4, i / 4 * size / 2, size / 4, size / 2);
        rectangle(-1, -1, 1, 1, 0);
    }
}

/* --- textures --- */
static void mipmaps(void)
{
    GLubyte *texels = malloc(64 * 64 * 4);
    for (int i = 0; i < 64 * 64; i++) {
        texels[4 * i] = (GLubyte)(i & 1 ? 255 : i % 64 * 3);
        texels[4 * i + 1] = (GLubyte)(i / 64 * 4);
        texels[4 * i + 2] = (GLubyte)(i % 7 * 36);
        texels[4 * i + 3] = 255;
    }
    texture_of(GL_TEXTURE_2D, GL_RGBA8, 64, 64, 1, GL_NEAREST);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, 64, 64, GL_RGBA, GL_UNSIGNED_BYTE, texels);
    free(texels);
    glGenerateMipmap(GL_TEXTURE_2D);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_NEAREST_MIPMAP_NEAREST);
    glEnable(GL_TEXTURE_2D);
    for (int level = 1; level < 6; level++) { /* each as large as it is */
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_BASE_LEVEL, level);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, level);
        glViewport(level % 2 * 32, level / 2 * 20, 64 >> level, 64 >> level);
        rectangle(-1, -1, 1, 1, 0);
    }
}

static void trilinear(void)
{
    static const GLubyte colors[7][4] = {{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {255, 255, 0, 255},
                                         {0, 255, 255, 255}, {255, 0, 255, 255}, {255, 255, 255, 255}};
    GLubyte *texels = malloc(64 * 64 * 4);
    texture_of(GL_TEXTURE_2D, GL_RGBA8, 64, 64, 1, GL_LINEAR);
    for (int level = 0; level < 7; level++) {
        for (int i = 0; i < 64 * 64; i++)
            memcpy(texels + 4 * i, colors[level], 4);
        glTexImage2D(GL_TEXTURE_2D, level, GL_RGBA8, 64 >> level, 64 >> level, 0, GL_RGBA, GL_UNSIGNED_BYTE, texels);
    }
    free(texels);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR_MIPMAP_LINEAR);
    glEnable(GL_TEXTURE_2D);
    glBegin(GL_QUADS);
    for (int i = 0; i < 4; i++) {
        float repeats = 8 * (float)(1 << i) / 4 / 2;
        float x = -1 + 0.5f * (float)i;
        glTexCoord2f(0, 0), glVertex2f(x, -1);
        glTexCoord2f(repeats / 4, 0), glVertex2f(x + 0.5f, -1);
        glTexCoord2f(repeats / 4, repeats), glVertex2f(x + 0.5f, 1);
        glTexCoord2f(0, repeats), glVertex2f(x, 1);
    }
    glEnd();
}

static void wrap_modes(void)
{
    static const GLint modes[] = {GL_REPEAT, GL_CLAMP, GL_CLAMP_TO_EDGE, GL_CLAMP_TO_BORDER, GL_MIRRORED_REPEAT,
                                  GL_MIRROR_CLAMP_EXT, GL_MIRROR_CLAMP_TO_EDGE_EXT, GL_MIRROR_CLAMP_TO_BORDER_EXT};
    static const float border[] = {0.2f, 0.9f, 0.4f, 1};
    GLubyte texels[4 * 4 * 4];
    for (int i = 0; i < 64; i++)
        texels[i] = (GLubyte)(i * 29 + 11);
    texture_of(GL_TEXTURE_2D, GL_RGBA8, 4, 4, 1, GL_NEAREST);
    glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, 4, 4, GL_RGBA, GL_UNSIGNED_BYTE, texels);
    glTexParameterfv(GL_TEXTURE_2D, GL_TEXTURE_BORDER_COLOR, border);
    glEnable(GL_TEXTURE_2D);
    for (int i = 0; i < 16; i++) {
        /* What a filter reads across the axis of a mirror is not the same everywhere. */
        GLint filter = i & 8 && (i & 7) != 5 && (i & 7) != 7 ? GL_LINEAR : GL_NEAREST;
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_S, modes[i & 7]);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_WRAP_T, modes[i & 7]);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, filter);
        glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAG_FILTER, filter);
        glViewport(i % 4 * size / 4, i / 4 * size / 4, size / 4, size / 4);
        glBegin(GL_QUADS);
        glTexCoord2f(-1.52f, -1.52f), glVertex2f(-1, -1);
        glTexCoord2f(2.48f, -1.52f), glVertex2f(1, -1);
        glTexCoord2f(2.48f, 2.48f), glVertex2f(1, 1);
        glTexCoord2f(-1.52f, 2.48f), glVertex2f(-1, 1);
        glEnd();
    }
}

/* --- streams of vertices --- */
static void primitive_restart(void)
{
    static const GLushort indices[] = {0, 1, 2, 3, 0xFFFF, 4, 5, 6, 0xFFFF, 7, 6, 5};
    GLuint made;
    program_of(PLAIN_VERTEX, NULL, PLAIN_FRAGMENT, NULL);
    strip_buffer();
    glGenBuffers(1, &made);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, made);
    glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof indices, indices, GL_STATIC_DRAW);
    glEnable(GL_PRIMITIVE_RESTART);
    glPrimitiveRestartIndex(0xFFFF);
    glDrawElements(GL_TRIANGLE_STRIP, 12, GL_UNSIGNED_SHORT, NULL);
}

static void index_widths(void)
{
    static const GLubyte bytes[] = {0, 1, 2, 2, 1, 3};
    static const GLuint words[] = {0, 1, 2, 2, 1, 3};
    GLuint made[2];
    program_of(PLAIN_VERTEX, NULL, PLAIN_FRAGMENT, NULL);
    strip_buffer();
    glGenBuffers(2, made);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, made[0]);
    glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof bytes, bytes, GL_STATIC_DRAW);
    glDrawElements(GL_TRIANGLES, 6, GL_UNSIGNED_BYTE, NULL);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, made[1]);
    glBufferData(GL_ELEMENT_ARRAY_BUFFER, sizeof words, words, GL_STATIC_DRAW);
    glDrawElementsBaseVertex(GL_TRIANGLES, 6, GL_UNSIGNED_INT, NULL, 4);
}

static void instances(void)
{
    static const float shifts[] = {-0.6f, -0.5f, 0.1f, 0.4f, 0.5f, -0.4f};
    GLuint made;
    program_of("#version 140\nin vec4 position; in vec4 color; in vec2 shift; out vec4 shade;\n"
               "void main() { gl_Position = vec4(position.xy * 0.3 + shift, 0, 1);"
               " gl_Position.y += 0.15 * float(gl_InstanceID); shade = color; }\n",
               NULL, PLAIN_FRAGMENT, NULL);
    GLint current;
    glGetIntegerv(GL_CURRENT_PROGRAM, &current);
    GLuint place = (GLuint)glGetAttribLocation((GLuint)current, "shift");
    strip_buffer();
    glGenBuffers(1, &made);
    glBindBuffer(GL_ARRAY_BUFFER, made);
    glBufferData(GL_ARRAY_BUFFER, sizeof shifts, shifts, GL_STATIC_DRAW);
    glVertexAttribPointer(place, 2, GL_FLOAT, GL_FALSE, 8, NULL);
    glEnableVertexAttribArray(place);
    glVertexAttribDivisor(place, 2);
    glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 5, 6);
}

static void attribute_formats(void)
{
    static const GLubyte bytes[] = {255, 0, 0, 255, 0, 200, 30, 255, 20, 60, 255, 255, 255, 255, 0, 128};
    static const GLshort shorts[] = {32767, 0, 100, 32767, -300, 20000, 0, 32767, 12, 800, 32000, 32767, 1, 2, 3, 4};
    static const GLuint packed[] = {0x3FF00000, 0x000FFC00, 0x000003FF, 0xFFFFFFFF};
    static const GLushort halves[] = {0x3C00, 0, 0, 0x3C00, 0, 0x3800, 0, 0x3C00, 0, 0, 0x3A00, 0x3C00, 0, 0, 0, 0};
    const void *const data[] = {bytes, shorts, packed, halves};
    static const GLsizeiptr sizes[] = {sizeof bytes, sizeof shorts, sizeof packed, sizeof halves};
    static const GLenum types[] = {GL_UNSIGNED_BYTE, GL_SHORT, GL_UNSIGNED_INT_2_10_10_10_REV, GL_HALF_FLOAT};
    program_of(PLAIN_VERTEX, NULL, PLAIN_FRAGMENT, NULL);
    strip_buffer();
    for (int i = 0; i < 4; i++) {
        GLuint made;
        glGenBuffers(1, &made);
        glBindBuffer(GL_ARRAY_BUFFER, made);
        glBufferData(GL_ARRAY_BUFFER, sizes[i], data[i], GL_STATIC_DRAW);
        glVertexAttribPointer(1, 4, types[i], GL_TRUE, 0, NULL);
        glViewport(i % 2 * size / 2, i / 2 * size / 2, size / 2, size / 2);
        glDrawArrays(GL_TRIANGLE_STRIP, 0, 4);
    }
}

static void transform_feedback(void)
{
    GLuint made, query, written = 0;
    program_of("#version 150\nin vec4 position; out vec4 moved;\n"
               "void main() { moved = vec4(position.yx * 0.9, 0, 1); gl_Position = moved; }\n",
               NULL, NULL, "moved");
    strip_buffer();
    glGenBuffers(1, &made);
    glBindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, 0, made);
    glBufferData(GL_TRANSFORM_FEEDBACK_BUFFER, 16 * 3 * 5, NULL, GL_STATIC_DRAW); /* room for five of six triangles */
    glGenQueries(1, &query);
    glEnable(GL_RASTERIZER_DISCARD);
    glBeginQuery(GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN, query);
    glBeginTransformFeedback(GL_TRIANGLES);
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 8);
    glEndTransformFeedback();
    glEndQuery(GL_TRANSFORM_FEEDBACK_PRIMITIVES_WRITTEN);
    glDisable(GL_RASTERIZER_DISCARD);
    glGetQueryObjectuiv(query, GL_QUERY_RESULT, &written);
    program_of(PLAIN_VERTEX, NULL, PLAIN_FRAGMENT, NULL);
    glBindBuffer(GL_ARRAY_BUFFER, made);
    glVertexAttribPointer(0, 4, GL_FLOAT, GL_FALSE, 16, NULL);
    glDisableVertexAttribArray(1);
    glVertexAttrib4f(1, 0.3f * (float)written / 2, 0.2f, 0.9f, 1);
    glDrawArrays(GL_TRIANGLES, 0, 15);
}

static void draw_feedback(void)
{
    GLuint made, object;
    program_of("#version 150\nin vec4 position; out vec4 moved;\n"
               "void main() { moved = vec4(position.xy * vec2(0.5, 0.8), 0, 1); gl_Position = moved; }\n",
               NULL, NULL, "moved");
    strip_buffer();
    glGenTransformFeedbacks(1, &object);
    glBindTransformFeedback(GL_TRANSFORM_FEEDBACK, object);
    glGenBuffers(1, &made);
    glBindBufferBase(GL_TRANSFORM_FEEDBACK_BUFFER, 0, made);
    glBufferData(GL_TRANSFORM_FEEDBACK_BUFFER, 1024, NULL, GL_STATIC_DRAW);
    glEnable(GL_RASTERIZER_DISCARD);
    glBeginTransformFeedback(GL_TRIANGLES);
    glDrawArrays(GL_TRIANGLE_STRIP, 1, 6);
    glEndTransformFeedback();
    glDisable(GL_RASTERIZER_DISCARD);
    program_of(PLAIN_VERTEX, NULL, PLAIN_FRAGMENT, NULL);
    glBindBuffer(GL_ARRAY_BUFFER, made);
    glVertexAttribPointer(0, 4, GL_FLOAT, GL_FALSE, 16, NULL);
    glDisableVertexAttribArray(1);
    glVertexAttrib4f(1, 0.9f, 0.4f, 0.2f, 1);
    glDrawTransformFeedback(GL_TRIANGLES, object);
}

/* --- queries --- */
static void bar(int row, GLuint value, GLuint most)
{
    glColor3f(1, 1, 0.2f * (float)row);
    rectangle(-1, -0.9f + 0.3f * (float)row, -1 + 2 * (float)value / (float)most, -0.7f + 0.3f * (float)row, -0.9f);
}

static void occlusion_query(void)
{
    GLuint queries[3], results[3];
    glEnable(GL_DEPTH_TEST);
    glGenQueries(3, queries);
    triangle(0, 0);
    for (int i = 0; i < 3; i++) {
        glBeginQuery(i == 2 ? GL_ANY_SAMPLES_PASSED : GL_SAMPLES_PASSED, queries[i]);
        glColor3f(0.3f, 0.3f, 0.3f);
        rectangle(-0.5f, -0.5f, 0.5f, 0.5f, i == 0 ? 0.5f : -0.5f + 0.1f * (float)i);
        glEndQuery(i == 2 ? GL_ANY_SAMPLES_PASSED : GL_SAMPLES_PASSED);
    }
    for (int i = 0; i < 3; i++)
        glGetQueryObjectuiv(queries[i], GL_QUERY_RESULT, &results[i]);
    bar(0, results[0], (GLuint)(size * size)), bar(1, results[1], (GLuint)(size * size)), bar(2, results[2], 2);
}

static void primitive_query(void)
{
    GLuint query, result;
    glGenQueries(1, &query);
    glBeginQuery(GL_PRIMITIVES_GENERATED, query);
    star(GL_TRIANGLE_STRIP);
    star(GL_LINES);
    glEndQuery(GL_PRIMITIVES_GENERATED);
    glGetQueryObjectuiv(query, GL_QUERY_RESULT, &result);
    bar(3, result, 16);
}

static void time_query(void)
{
    GLuint queries[2];
    GLuint64 elapsed, stamp;
    glGenQueries(2, queries);
    glBeginQuery(GL_TIME_ELAPSED, queries[0]);
    triangle(0, 0);
    glEndQuery(GL_TIME_ELAPSED);
    glQueryCounter(queries[1], GL_TIMESTAMP);
    glGetQueryObjectui64v(queries[0], GL_QUERY_RESULT, &elapsed);
    glGetQueryObjectui64v(queries[1], GL_QUERY_RESULT, &stamp);
    if (elapsed && stamp && elapsed < 60000000000u)
        bar(4, 1, 2);
}

static void conditional_rendering(void)
{
    GLuint queries[2];
    glEnable(GL_DEPTH_TEST);
    glGenQueries(2, queries);
    triangle(0, 0);
    for (int i = 0; i < 2; i++) {
        glColorMask(GL_FALSE, GL_FALSE, GL_FALSE, GL_FALSE);
        glBeginQuery(GL_SAMPLES_PASSED, queries[i]);
        rectangle(-0.1f, -0.1f, 0.1f, 0.1f, i ? 0.5f : -0.5f);
        glEndQuery(GL_SAMPLES_PASSED);
        glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
        glBeginConditionalRender(queries[i], GL_QUERY_WAIT);
        glColor3f((float)i, 1, 1 - (float)i);
        rectangle(-0.9f + (float)i, -0.9f, -0.2f + (float)i, 0.9f, -0.75f);
        glEndConditionalRender();
    }
}

/* --- layers, viewports, samples --- */
static void shown_layers(GLuint made, GLuint shown)
{
    int layers = size / 16; /* of 16 pixels, as the shader has them */
    glBindFramebuffer(GL_FRAMEBUFFER, shown);
    glViewport(0, 0, size, size);
    program_of("#version 130\nout vec2 t; void main() { gl_Position = gl_Vertex; t = gl_MultiTexCoord0.xy; }\n", NULL,
               "#version 130\n#extension GL_EXT_texture_array : enable\nuniform sampler2DArray s; in vec2 t;"
               " void main() { gl_FragColor = texture(s, vec3(t.x, t.y, floor(gl_FragCoord.x / 16.0))); }\n",
               NULL);
    glBindTexture(GL_TEXTURE_2D_ARRAY, made);
    for (int i = 0; i < layers; i++)
        column(i, layers);
}

static void layered_target(void)
{
    GLuint shown = bound_framebuffer();
    GLuint made = texture_of(GL_TEXTURE_2D_ARRAY, GL_RGBA8, size, size, 4, GL_NEAREST);
    framebuffer();
    glFramebufferTexture(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, made, 0);
    complete();
    glClearColor(0.1f, 0.1f, 0.3f, 1);
    glClear(GL_COLOR_BUFFER_BIT);
    program_of(PLAIN_VERTEX,
               "#version 150\nlayout(triangles) in; layout(triangle_strip, max_vertices = 3) out;\n"
               "in vec4 shade[]; out vec4 passed;\n"
               "void main() { for (int i = 0; i < 3; i++) { gl_Layer = gl_PrimitiveIDIn % 4;"
               " gl_Position = gl_in[i].gl_Position; passed = shade[i]; EmitVertex(); } }\n",
               PASS_FRAGMENT, NULL);
    strip_buffer();
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 8);
    glBindVertexArray(0);
    shown_layers(made, shown);
}

static void array_target(void)
{
    GLuint shown = bound_framebuffer();
    GLuint made = texture_of(GL_TEXTURE_2D_ARRAY, GL_RGBA8, size, size, 4, GL_NEAREST);
    framebuffer();
    for (int i = 0; i < 4; i++) {
        glFramebufferTextureLayer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, made, 0, i);
        complete();
        glClearColor(0.2f * (float)i, 0.1f, 0.3f, 1);
        glClear(GL_COLOR_BUFFER_BIT);
        triangle(0.15f * (float)i, 0);
    }
    shown_layers(made, shown);
}

static void viewport_array(void)
{
    for (GLuint i = 0; i < 4; i++) {
        glViewportIndexedf(i, (float)(size / 2 * (int)(i & 1)), (float)(size / 2 * (int)(i >> 1)), (float)size / 2,
                           (float)size / 2);
        glEnablei(GL_SCISSOR_TEST, i);
        glScissorIndexed(i, size / 2 * (int)(i & 1), size / 2 * (int)(i >> 1), size / 2 - 4 * (int)i, size / 2 - 6);
    }
    program_of(PLAIN_VERTEX,
               "#version 150\n#extension GL_ARB_viewport_array : require\n"
               "layout(triangles) in; layout(triangle_strip, max_vertices = 12) out;\n"
               "in vec4 shade[]; out vec4 passed;\n"
               "void main() { for (int n = 0; n < 4; n++) { for (int i = 0; i < 3; i++) { gl_ViewportIndex = n;"
               " gl_Position = gl_in[i].gl_Position; passed = shade[(i + n) % 3]; EmitVertex(); }"
               " EndPrimitive(); } }\n",
               PASS_FRAGMENT, NULL);
    strip_buffer();
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 5);
}

static void sampled(void (*draw)(void))
{
    GLuint shown = bound_framebuffer();
    GLuint other = framebuffer();
    renderbuffer(GL_RGBA8, GL_COLOR_ATTACHMENT0, 4);
    renderbuffer(GL_DEPTH24_STENCIL8, GL_DEPTH_STENCIL_ATTACHMENT, 4);
    complete();
    glClearColor(0.2f, 0.2f, 0.2f, 1);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT);
    draw();
    glBindFramebuffer(GL_READ_FRAMEBUFFER, other);
    glBindFramebuffer(GL_DRAW_FRAMEBUFFER, shown);
    glBlitFramebuffer(0, 0, size, size, 0, 0, size, size, GL_COLOR_BUFFER_BIT, GL_NEAREST);
    glBindFramebuffer(GL_FRAMEBUFFER, shown);
}

/* Edges stay away from the samples, whose places are the card's own. */
static void steps(void)
{
    float half = 1.0f / (float)size;
    glEnable(GL_DEPTH_TEST);
    for (int i = 0; i < 6; i++) {
        glColor3f((float)i / 5, 1 - (float)i / 5, 0.5f);
        rectangle(-1 + 8 * (float)i * half, -1 + 12 * (float)i * half, (float)i * 8 * half, half * (float)i * 4,
                  0.1f * (float)i);
    }
}

static void covered(void)
{
    glEnable(GL_SAMPLE_COVERAGE);
    glSampleCoverage(0.5f, GL_FALSE), glColor3f(1, 0, 0), rectangle(-1, -1, 0, 0, 0);
    glSampleCoverage(0.25f, GL_TRUE), glColor3f(0, 1, 0), rectangle(0, -1, 1, 0, 0);
    glDisable(GL_SAMPLE_COVERAGE);
    glEnable(GL_SAMPLE_ALPHA_TO_ONE);
    glColor4f(0, 0, 1, 0.5f), rectangle(-1, 0, 0, 1, 0);
    glDisable(GL_SAMPLE_ALPHA_TO_ONE);
    glEnable(GL_SAMPLE_ALPHA_TO_COVERAGE);
    glColor4f(1, 1, 0, 1), rectangle(0, 0, 0.5f, 1, 0);
    glColor4f(1, 1, 1, 0), rectangle(0.5f, 0, 1, 1, 0);
}

static void multisampling(void) { sampled(steps); }
static void sample_coverage(void) { sampled(covered); }

static void flat_lines(void) { glShadeModel(GL_FLAT), star(GL_LINE_STRIP); }

static void bitmap(void)
{
    GLubyte bits[8 * 8];
    GLubyte pixels[16 * 16 * 4];
    for (int i = 0; i < 64; i++)
        bits[i] = (GLubyte)(i * 91 + 5);
    for (int i = 0; i < 16 * 16 * 4; i++)
        pixels[i] = (GLubyte)(i * 7);
    glColor3f(0.9f, 0.7f, 0.1f);
    glWindowPos2i(3, 5);
    glBitmap(60, 8, 0, 0, 0, 0, bits);
    glWindowPos2i(20, 30);
    glDrawPixels(16, 16, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    glWindowPos2i(2, 40);
    glCopyPixels(20, 30, 12, 12, GL_COLOR);
}

static const struct scene {
    const char *name;
    void (*draw)(void);
} SCENES[] = {
#define SCENE(name) {#name, name}
    SCENE(lines), SCENE(line_strip), SCENE(line_loop), SCENE(wide_lines), SCENE(line_stipple), SCENE(flat_lines),
    SCENE(smooth_lines), SCENE(line_adjacency), SCENE(triangle_adjacency), SCENE(points), SCENE(sprites_upper), SCENE(sprites_lower),
    SCENE(point_size), SCENE(polygons), SCENE(polygon_line), SCENE(polygon_point), SCENE(polygon_offset),
    SCENE(polygon_stipple), SCENE(clip_distances), SCENE(two_sides), SCENE(flat_first), SCENE(flat_last),
    SCENE(culling), SCENE(alpha_test), SCENE(logic_operation), SCENE(blending), SCENE(blend_per_target),
    SCENE(two_source_blending), SCENE(stencil_sides), SCENE(depth_formats), SCENE(depth_clamp), SCENE(scissors),
    SCENE(color_formats), SCENE(integer_formats), SCENE(srgb), SCENE(luminance_formats), SCENE(mipmaps),
    SCENE(trilinear), SCENE(wrap_modes), SCENE(primitive_restart), SCENE(index_widths), SCENE(instances),
    SCENE(attribute_formats), SCENE(transform_feedback), SCENE(draw_feedback), SCENE(occlusion_query),
    SCENE(primitive_query), SCENE(time_query), SCENE(conditional_rendering), SCENE(layered_target),
    SCENE(array_target), SCENE(viewport_array), SCENE(multisampling), SCENE(sample_coverage), SCENE(bitmap),
};

/* --- one scene --- */
static void save(const char *folder, const char *name)
{
    char path[1024];
    size_t bytes = (size_t)size * (size_t)size * 4;
    unsigned char *pixels = malloc(bytes);
    GLenum error;
    glReadPixels(0, 0, size, size, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
    if ((error = glGetError()) != GL_NO_ERROR)
        fprintf(stderr, "%s: GL error %x\n", name, error), exit(1);
    snprintf(path, sizeof path, "%s/%s.ppm", folder, name);
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        fail(path);
    fprintf(file, "P6 %d %d 255\n", size, size);
    for (int y = size - 1; y >= 0; y--)
        for (int x = 0; x < size; x++)
            fwrite(pixels + 4 * (y * size + x), 1, 3, file);
    fclose(file);
    free(pixels);
}

static void run(EGLDisplay display, EGLConfig config, const struct scene *scene, const char *folder)
{
    EGLContext context = eglCreateContext(display, config, EGL_NO_CONTEXT, NULL);
    if (context == EGL_NO_CONTEXT || !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
        fail("context");
    framebuffer();
    renderbuffer(GL_RGBA8, GL_COLOR_ATTACHMENT0, 0);
    renderbuffer(GL_DEPTH24_STENCIL8, GL_DEPTH_STENCIL_ATTACHMENT, 0);
    complete();
    glViewport(0, 0, size, size);
    glClearColor(0.2f, 0.2f, 0.2f, 1);
    glClear(GL_COLOR_BUFFER_BIT | GL_DEPTH_BUFFER_BIT | GL_STENCIL_BUFFER_BIT);
    scene->draw();
    save(folder, scene->name);
    eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
    eglDestroyContext(display, context);
}

int main(int count, char **arguments)
{
    size_t scenes = sizeof SCENES / sizeof *SCENES;
    if (count < 3) {
        for (size_t i = 0; i < scenes; i++)
            puts(SCENES[i].name);
        return 0;
    }
    size = atoi(arguments[1]);
    PFNEGLGETPLATFORMDISPLAYEXTPROC get_display =
        (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
    EGLDisplay display = get_display(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
    const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_NONE};
    EGLConfig config;
    EGLint found;
    if (!eglInitialize(display, NULL, NULL) || !eglBindAPI(EGL_OPENGL_API) ||
        !eglChooseConfig(display, wanted, &config, 1, &found) || found < 1)
        fail("display");
    for (size_t i = 0; i < scenes; i++) {
        int named = count == 3;
        for (int k = 3; k < count; k++)
            named |= !strcmp(arguments[k], SCENES[i].name);
        if (named)
            run(display, config, &SCENES[i], arguments[2]);
    }
    return 0;
}

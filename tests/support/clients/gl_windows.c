/* Windows of an X server whose pixels come from the card: what the server has in them is asked of the server. */
#define _DEFAULT_SOURCE
#define GL_GLEXT_PROTOTYPES
#include <GL/gl.h>
#include <GL/glext.h>
#include <GL/glx.h>
#include <X11/Xlib.h>
#include <X11/Xutil.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static Display *display;
static XVisualInfo *visual;

static void expect(const char *what, unsigned long got, unsigned long wanted)
{
    if (got != wanted) {
        printf("%s is %lx, expected %lx\n", what, got, wanted);
        fflush(stdout);
        _exit(1);
    }
}

/* A window where no other one covers it: the server keeps no pixels of what is covered. */
static Window window(Display *on, int x, int y, int width, int height)
{
    XSetWindowAttributes set = {.event_mask = StructureNotifyMask};
    set.colormap = XCreateColormap(on, DefaultRootWindow(on), visual->visual, AllocNone);
    Window made = XCreateWindow(on, DefaultRootWindow(on), x, y, (unsigned)width, (unsigned)height, 0, visual->depth,
                                InputOutput, visual->visual, CWColormap | CWEventMask, &set);
    XMapWindow(on, made);
    XEvent event;
    do
        XNextEvent(on, &event);
    while (event.type != MapNotify);
    return made;
}

/* The colour of a pixel as the server has it, once it is what is waited for or two seconds have passed. */
static unsigned long pixel(Display *on, Window of, int x, int y, unsigned long wanted)
{
    unsigned long got = 0;
    for (int tries = 0; tries < 100; tries++) {
        XImage *image = XGetImage(on, of, x, y, 1, 1, AllPlanes, ZPixmap);
        got = XGetPixel(image, 0, 0) & 0xffffff;
        XDestroyImage(image);
        if (got == wanted)
            break;
        usleep(20000);
    }
    return got;
}

/* The left half in one colour, the right half in another. */
static void halves(int width, int height, unsigned left, unsigned right)
{
    unsigned colours[2] = {left, right};
    glEnable(GL_SCISSOR_TEST);
    for (int k = 0; k < 2; k++) {
        glScissor(k * width / 2, 0, width / 2, height);
        glClearColor((float)(colours[k] >> 16) / 255, (float)(colours[k] >> 8 & 255) / 255, (float)(colours[k] & 255) / 255, 1);
        glClear(GL_COLOR_BUFFER_BIT);
    }
    glDisable(GL_SCISSOR_TEST);
}

static void two_windows(GLXContext context, GLXContext sharing)
{
    Window one = window(display, 0, 0, 60, 50), two = window(display, 100, 0, 90, 40);
    unsigned texture;
    expect("current", (unsigned)glXMakeCurrent(display, one, context), 1);
    puts((const char *)glGetString(GL_RENDERER));
    halves(60, 50, 0xff0000, 0x0000ff);
    glXSwapBuffers(display, one);
    glGenTextures(1, &texture);
    glBindTexture(GL_TEXTURE_2D, texture);
    glFinish();
    expect("current", (unsigned)glXMakeCurrent(display, two, sharing), 1);
    expect("a shared texture", glIsTexture(texture), 1);
    halves(90, 40, 0x00ff00, 0xffff00);
    glXSwapBuffers(display, two);
    expect("left of one", pixel(display, one, 10, 10, 0xff0000), 0xff0000);
    expect("right of one", pixel(display, one, 50, 40, 0x0000ff), 0x0000ff);
    expect("left of two", pixel(display, two, 10, 10, 0x00ff00), 0x00ff00);
    expect("right of two", pixel(display, two, 80, 30, 0xffff00), 0xffff00);
    /* a window that grows has a picture of the new size at its next frame */
    XResizeWindow(display, two, 200, 120);
    XSync(display, False);
    for (int frame = 0; frame < 3; frame++) {
        glViewport(0, 0, 200, 120);
        halves(200, 120, 0x808080, 0xffffff);
        glXSwapBuffers(display, two);
    }
    expect("left of the large one", pixel(display, two, 20, 100, 0x808080), 0x808080);
    expect("right of the large one", pixel(display, two, 190, 110, 0xffffff), 0xffffff);
    glXMakeCurrent(display, None, NULL);
    XDestroyWindow(display, one);
    XDestroyWindow(display, two);
    puts("two_windows ok");
}

static void intervals(GLXContext context)
{
    PFNGLXSWAPINTERVALEXTPROC interval = (PFNGLXSWAPINTERVALEXTPROC)glXGetProcAddress((const GLubyte *)"glXSwapIntervalEXT");
    Window one = window(display, 0, 0, 32, 32);
    glXMakeCurrent(display, one, context);
    for (int wait = 0; wait < 2; wait++) {
        if (interval)
            interval(display, one, wait);
        for (int frame = 0; frame < 5; frame++) {
            halves(32, 32, 0x100000u * (unsigned)frame, 0x10u * (unsigned)frame);
            glXSwapBuffers(display, one);
        }
        expect("the last frame", pixel(display, one, 2, 2, 0x400000), 0x400000);
    }
    glXMakeCurrent(display, None, NULL);
    XDestroyWindow(display, one);
    puts("intervals ok");
}

static void *in_thread(void *given)
{
    unsigned colour = *(unsigned *)given;
    Display *own = XOpenDisplay(NULL);
    Window one = window(own, colour == 0xff8000 ? 0 : 100, 0, 40, 40);
    GLXContext context = glXCreateContext(own, visual, NULL, True);
    expect("current", (unsigned)glXMakeCurrent(own, one, context), 1);
    for (int frame = 0; frame < 4; frame++) {
        halves(40, 40, colour, colour);
        glXSwapBuffers(own, one);
    }
    expect("the window of a thread", pixel(own, one, 20, 20, colour), colour);
    glXMakeCurrent(own, None, NULL);
    return NULL;
}

static void threads(void)
{
    unsigned colours[2] = {0xff8000, 0x0080ff};
    pthread_t made[2];
    for (int k = 0; k < 2; k++)
        pthread_create(&made[k], NULL, in_thread, &colours[k]);
    for (int k = 0; k < 2; k++)
        pthread_join(made[k], NULL);
    puts("threads ok");
}

int main(int n, char **names)
{
    int wanted[] = {GLX_RGBA, GLX_DOUBLEBUFFER, GLX_RED_SIZE, 8, GLX_GREEN_SIZE, 8, GLX_BLUE_SIZE, 8, GLX_DEPTH_SIZE, 16, None};
    XInitThreads();
    display = XOpenDisplay(NULL);
    if (!display || !(visual = glXChooseVisual(display, DefaultScreen(display), wanted))) {
        puts("no display");
        return 2;
    }
    GLXContext context = glXCreateContext(display, visual, NULL, True), sharing = glXCreateContext(display, visual, context, True);
    expect("direct rendering", (unsigned)glXIsDirect(display, context), 1);
    for (int k = 1; k < n; k++) {
        if (!strcmp(names[k], "two_windows"))
            two_windows(context, sharing);
        if (!strcmp(names[k], "intervals"))
            intervals(context);
        if (!strcmp(names[k], "threads"))
            threads();
        if (!strcmp(names[k], "exit")) { /* in the middle of a frame */
            Window one = window(display, 0, 0, 40, 40);
            glXMakeCurrent(display, one, context);
            halves(40, 40, 1, 2);
            exit(7);
        }
    }
    fflush(stdout);
    return 0;
}

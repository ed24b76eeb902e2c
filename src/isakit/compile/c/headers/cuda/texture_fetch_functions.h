/* What kernels read of textures. */
#ifndef ISAKIT_TEXTURE_FETCH_FUNCTIONS_H
#define ISAKIT_TEXTURE_FETCH_FUNCTIONS_H
#include "later_chips.h"
#include "texture_types.h"

#ifdef __CUDACC__
/* The chip gives four words; T says how many of them count and what they are, the read mode whether they are floats. */
template <class T> struct __isakit_texel;
#define __ISAKIT_TEXEL(T, BASE, F, ...)                                                                     \
    template <> struct __isakit_texel<T> {                                                                  \
        typedef BASE word;                                                                                  \
        typedef F as_float;                                                                                 \
        template <class W, class V> static inline __ISAKIT_INLINED T made(V v) { return __VA_ARGS__; } \
    };
#define __ISAKIT_TEXELS(T, N, BASE)                                                                         \
    __ISAKIT_TEXEL(T, BASE, float, (T)v.x)                                                                  \
    __ISAKIT_TEXEL(N##1, BASE, float1, make_##N##1((T)v.x))                                                 \
    __ISAKIT_TEXEL(N##2, BASE, float2, make_##N##2((T)v.x, (T)v.y))                                         \
    __ISAKIT_TEXEL(N##3, BASE, float3, make_##N##3((T)v.x, (T)v.y, (T)v.z))                                 \
    __ISAKIT_TEXEL(N##4, BASE, float4, make_##N##4((T)v.x, (T)v.y, (T)v.z, (T)v.w))
__ISAKIT_TEXEL(char, int, float, (char)v.x)
__ISAKIT_TEXELS(signed char, char, int)
__ISAKIT_TEXELS(unsigned char, uchar, unsigned)
__ISAKIT_TEXELS(short, short, int)
__ISAKIT_TEXELS(unsigned short, ushort, unsigned)
__ISAKIT_TEXELS(int, int, int)
__ISAKIT_TEXELS(unsigned int, uint, unsigned)
__ISAKIT_TEXELS(float, float, float)
#undef __ISAKIT_TEXELS
#undef __ISAKIT_TEXEL

/* What a fetch from texture<T, D, mode> gives, and what the chip is asked for. */
template <class T, cudaTextureReadMode mode> struct __isakit_fetched {
    typedef T type;
    typedef typename __isakit_texel<T>::word word;
};
template <class T> struct __isakit_fetched<T, cudaReadModeNormalizedFloat> {
    typedef typename __isakit_texel<T>::as_float type;
    typedef float word;
};

template <class W> struct __isakit_words;
template <> struct __isakit_words<float> { typedef float4 type; };
template <> struct __isakit_words<int> { typedef int4 type; };
template <> struct __isakit_words<unsigned> { typedef uint4 type; };

#define __ISAKIT_FETCH(NAME, W, V, KIND, LETTER, GEOMETRY, COORDINATE, PLACES, PARAMETERS, ...)              \
    static inline __ISAKIT_INLINED V NAME(W, unsigned long long handle, PARAMETERS)   \
    {                                                                                                       \
        V v;                                                                                                \
        asm("tex." GEOMETRY ".v4." KIND "." COORDINATE " {%0, %1, %2, %3}, [%4, {" PLACES "}];"             \
            : "=" LETTER(v.x), "=" LETTER(v.y), "=" LETTER(v.z), "=" LETTER(v.w)                            \
            : "l"(handle), __VA_ARGS__);                                                                    \
        return v;                                                                                           \
    }
#define __ISAKIT_COMMA ,
#define __ISAKIT_FETCHES(W, V, KIND, LETTER)                                                                \
    __ISAKIT_FETCH(__isakit_tex1, W, V, KIND, LETTER, "1d", "s32", "%5", int x, "r"(x))                     \
    __ISAKIT_FETCH(__isakit_tex1, W, V, KIND, LETTER, "1d", "f32", "%5", float x, "f"(x))                   \
    __ISAKIT_FETCH(__isakit_tex2, W, V, KIND, LETTER, "2d", "f32", "%5, %6", float x __ISAKIT_COMMA float y, "f"(x), "f"(y)) \
    __ISAKIT_FETCH(__isakit_tex3, W, V, KIND, LETTER, "3d", "f32", "%5, %6, %7, %7",                        \
                   float x __ISAKIT_COMMA float y __ISAKIT_COMMA float z, "f"(x), "f"(y), "f"(z))
__ISAKIT_FETCHES(float, float4, "f32", "f")
__ISAKIT_FETCHES(int, int4, "s32", "r")
__ISAKIT_FETCHES(unsigned, uint4, "u32", "r")
#undef __ISAKIT_FETCHES
#undef __ISAKIT_COMMA
#undef __ISAKIT_FETCH

#define __ISAKIT_TEXTURE(NAME, D, CALL, ...)                                                                \
    template <class T, cudaTextureReadMode mode>                                                            \
    static inline __ISAKIT_INLINED typename __isakit_fetched<T, mode>::type           \
    NAME(texture<T, D, mode> t, __VA_ARGS__)                                                                \
    {                                                                                                       \
        typedef __isakit_fetched<T, mode> fetched;                                                          \
        unsigned long long handle = *(unsigned long long *)&t;                                              \
        return __isakit_texel<typename fetched::type>::template made<typename fetched::word>(CALL);         \
    }
__ISAKIT_TEXTURE(tex1Dfetch, 1, __isakit_tex1(typename fetched::word(), handle, x), int x)
__ISAKIT_TEXTURE(tex1D, 1, __isakit_tex1(typename fetched::word(), handle, x), float x)
__ISAKIT_TEXTURE(tex2D, 2, __isakit_tex2(typename fetched::word(), handle, x, y), float x, float y)
__ISAKIT_TEXTURE(tex3D, 3, __isakit_tex3(typename fetched::word(), handle, x, y, z), float x, float y, float z)
#undef __ISAKIT_TEXTURE

#define __ISAKIT_LAYERS(NAME, ...)                                                                           \
    template <class T, int D, cudaTextureReadMode M>                                                         \
    __device__ inline typename __isakit_fetched<T, M>::type NAME(texture<T, D, M>, __VA_ARGS__)              \
    {                                                                                                        \
        return __isakit_lacks_layers(), typename __isakit_fetched<T, M>::type();                             \
    }
__ISAKIT_LAYERS(tex1DLayered, float, int)
__ISAKIT_LAYERS(tex2DLayered, float, float, int)
__ISAKIT_LAYERS(texCubemap, float, float, float)
__ISAKIT_LAYERS(texCubemapLayered, float, float, float, int)
__ISAKIT_LAYERS(tex2Dgather, float, float, int = 0)
#undef __ISAKIT_LAYERS
#endif

#endif

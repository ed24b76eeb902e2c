/* References to textures, as the host fills them in; see also `texture_fetch_functions.h`. */
#ifndef ISAKIT_TEXTURE_TYPES_H
#define ISAKIT_TEXTURE_TYPES_H
#define __TEXTURE_TYPES_H__ /* programs ask for it */
#include "driver_types.h"

#define cudaTextureType1D 1
#define cudaTextureType2D 2
#define cudaTextureType3D 3
#define cudaTextureTypeCubemap 0x0C
#define cudaTextureType1DLayered 0xF1
#define cudaTextureType2DLayered 0xF2
#define cudaTextureTypeCubemapLayered 0xFC
#define cudaSurfaceType1D 1
#define cudaSurfaceType2D 2
#define cudaSurfaceType3D 3
#define cudaSurfaceTypeCubemap 0x0C
#define cudaSurfaceType1DLayered 0xF1
#define cudaSurfaceType2DLayered 0xF2
#define cudaSurfaceTypeCubemapLayered 0xFC

enum cudaTextureAddressMode {
    cudaAddressModeWrap = 0, cudaAddressModeClamp = 1, cudaAddressModeMirror = 2, cudaAddressModeBorder = 3
};
enum cudaTextureFilterMode { cudaFilterModePoint = 0, cudaFilterModeLinear = 1 };
enum cudaTextureReadMode { cudaReadModeElementType = 0, cudaReadModeNormalizedFloat = 1 };

struct textureReference {
    int normalized;
    enum cudaTextureFilterMode filterMode;
    enum cudaTextureAddressMode addressMode[3];
    struct cudaChannelFormatDesc channelDesc;
    int sRGB;
    unsigned int maxAnisotropy;
    enum cudaTextureFilterMode mipmapFilterMode;
    float mipmapLevelBias, minMipmapLevelClamp, maxMipmapLevelClamp;
    int __cudaReserved[16];
};

#ifdef __cplusplus
/* How many bits each component of T has, and of which kind they are. */
#define __ISAKIT_CHANNEL(T, X, Y, Z, W, KIND)                                                              \
    template <> inline cudaChannelFormatDesc cudaCreateChannelDesc<T>()                                    \
    {                                                                                                      \
        return cudaCreateChannelDesc(8 * (int)(X), 8 * (int)(Y), 8 * (int)(Z), 8 * (int)(W), cudaChannelFormatKind##KIND); \
    }
#define __ISAKIT_CHANNELS(T, N, KIND)                                                                      \
    __ISAKIT_CHANNEL(T, sizeof(T), 0, 0, 0, KIND)                                                          \
    __ISAKIT_CHANNEL(N##1, sizeof(T), 0, 0, 0, KIND)                                                       \
    __ISAKIT_CHANNEL(N##2, sizeof(T), sizeof(T), 0, 0, KIND)                                               \
    __ISAKIT_CHANNEL(N##3, sizeof(T), sizeof(T), sizeof(T), 0, KIND)                                       \
    __ISAKIT_CHANNEL(N##4, sizeof(T), sizeof(T), sizeof(T), sizeof(T), KIND)
extern "C" cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind);
template <class T> inline cudaChannelFormatDesc cudaCreateChannelDesc()
{
    return cudaCreateChannelDesc(0, 0, 0, 0, cudaChannelFormatKindNone);
}
__ISAKIT_CHANNEL(char, 1, 0, 0, 0, Signed)
__ISAKIT_CHANNELS(signed char, char, Signed)
__ISAKIT_CHANNELS(unsigned char, uchar, Unsigned)
__ISAKIT_CHANNELS(short, short, Signed)
__ISAKIT_CHANNELS(unsigned short, ushort, Unsigned)
__ISAKIT_CHANNELS(int, int, Signed)
__ISAKIT_CHANNELS(unsigned int, uint, Unsigned)
__ISAKIT_CHANNELS(float, float, Float)
#undef __ISAKIT_CHANNELS
#undef __ISAKIT_CHANNEL
#endif

#ifdef __CUDACC__
/* The attribute makes the compiler register the reference, and give kernels its number. */
template <class T, int dimensions = 1, cudaTextureReadMode mode = cudaReadModeElementType>
struct __attribute__((device_builtin_texture_type)) texture : textureReference {
    texture(int norm = 0, cudaTextureFilterMode filter = cudaFilterModePoint,
            cudaTextureAddressMode address = cudaAddressModeClamp)
        : textureReference()
    {
        set(norm, filter, address, cudaCreateChannelDesc<T>());
    }
    texture(int norm, cudaTextureFilterMode filter, cudaTextureAddressMode address, cudaChannelFormatDesc channel)
        : textureReference()
    {
        set(norm, filter, address, channel);
    }

private:
    void set(int norm, cudaTextureFilterMode filter, cudaTextureAddressMode address, cudaChannelFormatDesc channel)
    {
        normalized = norm, filterMode = filter, channelDesc = channel;
        addressMode[0] = addressMode[1] = addressMode[2] = address;
    }
};
#endif

#endif

/* cuRAND in kernels: XORWOW. Its numbers are those of the library's generator of that name, of which number n is the
 * first of sequence n; both were checked with values that NVIDIA has published. Of the other generators, of numbers of
 * type double and of Poisson's there are none: calls are refused.
 */
#ifndef CURAND_KERNEL_H_
#define CURAND_KERNEL_H_
#include "curand.h"
#include "cuda_runtime.h"

/* What a state is, the host's files are told as well. */
struct curandStateXORWOW {
    unsigned int d, v[5];
    int boxmuller_flag, boxmuller_flag_double;
    float boxmuller_extra;
    double boxmuller_extra_double;
};
typedef struct curandStateXORWOW curandStateXORWOW_t;
typedef struct curandStateXORWOW curandState_t;
typedef struct curandStateXORWOW curandState;
#define __ISAKIT_STATE(NAME)                              \
    struct curandState##NAME { unsigned int state[64]; }; \
    typedef struct curandState##NAME curandState##NAME##_t;
__ISAKIT_STATE(MRG32k3a)
__ISAKIT_STATE(Sobol32)
__ISAKIT_STATE(ScrambledSobol32)
__ISAKIT_STATE(Sobol64)
__ISAKIT_STATE(ScrambledSobol64)
__ISAKIT_STATE(Philox4_32_10)
#undef __ISAKIT_STATE

#ifdef __CUDACC__
/* Row k: x^(2^k) modulo the characteristic polynomial of a step, from the constant term on. 2^k steps are the sum of the
   states after i steps over the terms i of row k. */
static __device__ const unsigned __isakit_xorwow_jumps[131][5] = {
    {0x00000002, 0x00000000, 0x00000000, 0x00000000, 0x00000000},
    {0x00000004, 0x00000000, 0x00000000, 0x00000000, 0x00000000},
    {0x00000010, 0x00000000, 0x00000000, 0x00000000, 0x00000000},
    {0x00000100, 0x00000000, 0x00000000, 0x00000000, 0x00000000},
    {0x00010000, 0x00000000, 0x00000000, 0x00000000, 0x00000000},
    {0x00000000, 0x00000001, 0x00000000, 0x00000000, 0x00000000},
    {0x00000000, 0x00000000, 0x00000001, 0x00000000, 0x00000000},
    {0x00000000, 0x00000000, 0x00000000, 0x00000000, 0x00000001},
    {0xbebd3534, 0x7064f5bc, 0x20be29eb, 0x536d5b32, 0x063a0069},
    {0x9df022be, 0x4c2ee09f, 0x0939c7c8, 0xe711c2f8, 0xc6f135ae},
    {0xed64ec08, 0xafc48684, 0xd81c59ee, 0x1640314f, 0x2bf0ccef},
    {0x16ade0a0, 0x3ff6a2d3, 0x4746bd83, 0x2e65a497, 0x263e40a4},
    {0x9d10e028, 0xee56d79c, 0xfb1b3286, 0x0f747418, 0x26f9476d},
    {0x284e9f80, 0x95328d41, 0x97ec0360, 0x1e655d95, 0x60a9306f},
    {0x3f490634, 0x9ae593fc, 0x1a95bb6b, 0xda10a3fc, 0xa3abaf54},
    {0xa80ecea0, 0x392ca981, 0x191e801e, 0xceb66042, 0x2f4edc3f},
    {0xfb9680e9, 0xbdaba0b2, 0x3986540f, 0x23fe6ccc, 0x0994e82f},
    {0x4d53badb, 0x3e30e97d, 0x19abbaf6, 0x5cd52f87, 0x98663641},
    {0x32da6db4, 0x80135829, 0x3abd4734, 0x2060c3f9, 0x38b2dd97},
    {0xbd3a57bd, 0x066101a8, 0x0b4f188e, 0x16890623, 0x8bf58771},
    {0x0c5b636f, 0x4407a814, 0x60204515, 0x5bd4dbd2, 0x2509eeb5},
    {0xa87f2bfe, 0x0143dfcb, 0x4b5142ba, 0xfd21a24b, 0x3dac4527},
    {0x21e9179d, 0x2b57aa94, 0x5f06e1fc, 0x6735dc98, 0x9aa0181f},
    {0x4a85a684, 0x2ff777f0, 0x8e58b0ed, 0xd4e84a39, 0x6d37f6a0},
    {0x793adf2b, 0x3d3e75c8, 0x0b091758, 0x9deb3f50, 0xbcd116ec},
    {0x89c7a15d, 0x43629d41, 0x8a870ba5, 0xa7916f56, 0x9db15489},
    {0xfa8fc346, 0x694921b1, 0xf2bd4c48, 0x8b05ae1b, 0x2de7aee2},
    {0xbc1bc6b9, 0xd73ea395, 0xfbdd753d, 0xe45dbacd, 0x7b16eae0},
    {0xf144e1f3, 0xb9b4b3c4, 0x8222f622, 0x9072105a, 0x66083550},
    {0xd88a6c5e, 0x9ac20a72, 0x209ef9a8, 0xe8e4fd8a, 0x1ec855a5},
    {0xbd734cf1, 0x9254a905, 0xfb38236d, 0x11e62fd3, 0xf9e7d21e},
    {0x8d333839, 0x69fed6df, 0x79338fde, 0xa38a8714, 0x0e538bca},
    {0x943999e4, 0xc05db913, 0x4e4010f3, 0x9b865d3d, 0x0fd64174},
    {0x13da6451, 0x4f1636fa, 0x6e523e62, 0xac374f44, 0x69a2e37f},
    {0x19eb1bbb, 0xbaea3750, 0x0fa8f206, 0xd49dd019, 0x9b3bccaf},
    {0x013e4fc6, 0x8fb0b988, 0xbad0233b, 0x63941ad7, 0xf5f02d75},
    {0xc97b5642, 0x2ebac13d, 0xbfe04058, 0x2c6a7132, 0x576780a5},
    {0x4add1023, 0x5f64e54e, 0xb0c250a8, 0xcf4bd212, 0x9a873149},
    {0x0ac5eea9, 0xa37bfcd3, 0x790ec91d, 0xba339dbc, 0xc83db5cd},
    {0x67dd06cb, 0xcbfe08ec, 0xf64e2fa5, 0x75fe23cf, 0x0fc09983},
    {0xa33b53ff, 0x1ce9360d, 0x4727f89b, 0x05eacbcd, 0x01632278},
    {0x9aee97cb, 0x0de7db52, 0x74719fda, 0x51b8e04b, 0x959e9904},
    {0x22b4f98c, 0xd23a7f5a, 0x8d420edd, 0xeadda806, 0xcfd2a002},
    {0x817ef0eb, 0xd19e838e, 0xb26e9dc8, 0xf5ba04fb, 0x8adf73e9},
    {0xf66ad52b, 0x3ab8e3d7, 0x1e8352a4, 0xe44a8605, 0x6c106869},
    {0x480973c1, 0xb4f4959e, 0x173d230a, 0x6f15e08e, 0xf07c940e},
    {0x79a31c08, 0xc28d5d18, 0x91649708, 0x8b1bb8f8, 0xf9158a86},
    {0x8e346bed, 0x85425fb6, 0xbcd60f3a, 0x4d16f104, 0xff233c77},
    {0x670f870e, 0xa7bb9766, 0xef013c78, 0xeb4a1373, 0x256f3323},
    {0x9d89e990, 0x682dbe05, 0xc85ca267, 0x2cbf3ed6, 0xfd2d1a54},
    {0xf333af18, 0x3b4e266b, 0xa872663e, 0x3888cd82, 0x4daf13ec},
    {0x304ad7f4, 0x3728f391, 0xbf3ca967, 0xc7b1330d, 0x264c2cbd},
    {0x75689dc9, 0x036bf3a9, 0x64ce979c, 0x3bdff14f, 0x51e43048},
    {0x42defd6d, 0xde992014, 0x478a54ff, 0x7802d9cb, 0xb6d27a79},
    {0xef06fe75, 0xefd6d1d8, 0x09319075, 0x69d568f5, 0x5b2bd898},
    {0x51c810c4, 0xfacd06d9, 0xe3a66475, 0x81ae21e0, 0x6418d45c},
    {0xf05ae255, 0xc4df4ca0, 0xf032420c, 0xf44ae9f0, 0xe0298de2},
    {0xf9b9947b, 0x7326e30a, 0x3366c775, 0x91d00e4c, 0x86c178cc},
    {0x02308bc9, 0xdbe74dee, 0xf4c5fe7d, 0xaac571a1, 0xaa1f5f8b},
    {0x32d9c79b, 0x0d1bae44, 0x2bb4e02c, 0xc92178df, 0x6632236d},
    {0x6e8043ca, 0x0ed24ff6, 0x1e668b6a, 0x538fc45f, 0x4bfb509d},
    {0x9319804d, 0x48c2c289, 0xe00641cb, 0x49929826, 0x35e4c368},
    {0x9f564f7b, 0x543973e4, 0x9b33ee2c, 0x149df73a, 0x58f31585},
    {0xbfe990f7, 0xb6e2abc8, 0x011498fa, 0x240651ed, 0x88cb16b1},
    {0x6bd93537, 0x22ed6832, 0x8b017aaf, 0x13e131d3, 0x9c6b67eb},
    {0x0d8c647e, 0xb53c8924, 0xeef4d989, 0x01d22be6, 0x425b5575},
    {0xaaa88fa0, 0xcbed02d4, 0x74c6e7f6, 0xefeef36c, 0xa9e3aec1},
    {0x26294934, 0x77bbc248, 0x1a87dad0, 0x930052d4, 0x947e6dd2},
    {0x5f39c379, 0x95e20ba6, 0x20e9ff72, 0x1244ce5e, 0xe8fd228f},
    {0xa7474d19, 0x37c549e0, 0x140877d2, 0x24c43924, 0xcd52ebec},
    {0xe0360ec5, 0xb1c96c24, 0xdbb91766, 0x666ff5dc, 0xf19a7e52},
    {0xfcc8f692, 0x35aa698a, 0x04ebbf85, 0x448304b0, 0x082f3fd5},
    {0x48c289bd, 0xe851cf98, 0x845ad581, 0xfd70752a, 0x2c3e63f6},
    {0xe502f5b3, 0x77859d31, 0x97e1cbb3, 0xea09047a, 0x61d5f37e},
    {0xb89326d0, 0x5a8655a9, 0xfb6e98f5, 0x02102162, 0x7e6fcf6f},
    {0xb3a15db4, 0xc6df3330, 0x1a8be751, 0xf1e4b221, 0x6bb61c05},
    {0x133de1d0, 0x361e4422, 0xc6131fcf, 0xd9719f45, 0x9658a164},
    {0x19e2bee8, 0xf8974218, 0x4e65536a, 0xa2570336, 0xe9b88082},
    {0x7863644b, 0x2a21ce84, 0x112e86f1, 0xed01ce0e, 0xba143e84},
    {0x0e2cae2e, 0xd1011279, 0x58923768, 0x2bf650ba, 0xc985bcda},
    {0x213a286a, 0x6596b510, 0x6fc10eae, 0x38a13547, 0x11c7749e},
    {0x146281e7, 0xa45b4452, 0xafa8c695, 0x74a0ac94, 0x4b250e0a},
    {0x2306bc52, 0x790f3b4c, 0x2fe473b9, 0xbc81d7c0, 0x093efe98},
    {0x89658c8b, 0xf3914315, 0xa73fe84b, 0x3c5fadb6, 0xadba8dd6},
    {0x09e49814, 0x09caf5ed, 0x6b2460d9, 0x1b9981c1, 0x2d1fefc3},
    {0x82161afc, 0x9bb13c55, 0xfd20d7fb, 0x306d90b9, 0x92bf386f},
    {0x96d32350, 0x0e081864, 0x69faa798, 0xe7faecf5, 0xf1f951be},
    {0x3e9058c1, 0x71da9705, 0xe2cb1f2b, 0x73456536, 0xbd6501b6},
    {0x990ffc6e, 0xbfdd1b5d, 0xc83e520b, 0xe972936a, 0xac79abb9},
    {0xb1321eb5, 0xb06d01a2, 0x51532012, 0x8fb59962, 0x141d3b0b},
    {0x3257dfe1, 0xd8a3d601, 0x3a58c735, 0x845f36e4, 0x0112c611},
    {0xa0ffe9a4, 0xf57be00e, 0xe706880c, 0x191211ef, 0xee5664fb},
    {0x9a3385b8, 0xc540c30a, 0xb241d1e0, 0x00626569, 0x6b355fe9},
    {0xe129d45d, 0xac3e698b, 0xd61f79fd, 0x7a72a28b, 0x7f4942be},
    {0x612501bb, 0xae7b767d, 0xaa66c165, 0x09bfaf8e, 0x3e55c16d},
    {0x874e26a7, 0x33bc5a47, 0xad95cba5, 0x67651c39, 0xf1f07dca},
    {0xb5ed0732, 0x30e7a573, 0x5c056714, 0x2304f8fa, 0xebc584e1},
    {0x4b324c2e, 0x2bdcc5a0, 0x53eb4240, 0xcac4fbc1, 0x13e529e7},
    {0xe1683e38, 0xa2339994, 0x7308a647, 0xc7c3f0b1, 0x4a3dcd33},
    {0x5fe4b704, 0xd77445c3, 0xb80eeb3c, 0x6720fc6d, 0x7da33f71},
    {0xea0715d2, 0x435bf5e0, 0x8b125b82, 0x2bf15174, 0x451636c0},
    {0x27786b0d, 0x55a8b8bb, 0xad73d087, 0x548172a6, 0xb8dcb607},
    {0xedbc74ac, 0x9333668e, 0x5330ec7e, 0x139bc173, 0x8df22694},
    {0x1e9372dd, 0xe081adcc, 0xf9650df2, 0x0ad599e4, 0x21aeba83},
    {0x81e94b95, 0x02bd032f, 0x4241ada2, 0x7cf446d1, 0x585759bb},
    {0x552ec26f, 0x2663dad8, 0x25bf8d5e, 0x538f9e9b, 0x804bfd4c},
    {0xaed86880, 0x7cc53d77, 0x2379080d, 0x66b5ba47, 0x271e9c90},
    {0xab750c90, 0x454415ef, 0xd94a347c, 0xd23c81be, 0x551c7096},
    {0x3024c55f, 0x9b3a9b08, 0xcef11c55, 0x3019557d, 0x08303d6d},
    {0xbc6d2665, 0xc1fd8153, 0xd43c38c9, 0xd70344cc, 0x279357c0},
    {0x685d57df, 0xda26a2f1, 0x5174006a, 0xe55bf1f1, 0x5f20a739},
    {0x88aced61, 0x3925e5e8, 0xc8af3caa, 0xefa299b1, 0xbc1538f8},
    {0x2b0ca967, 0xf25d1aba, 0x4062850b, 0x683d0590, 0xabd1b043},
    {0xc3051a0a, 0x11a68894, 0x0ec32c75, 0xb9e1af76, 0x45d20f13},
    {0xbd2198a4, 0xc68fea4b, 0x09de877e, 0x2b15c9cf, 0x7b2e8734},
    {0x54f062f0, 0xcf7989d8, 0x443e496b, 0x17d83e81, 0xa2be8639},
    {0x6cb408db, 0x56912973, 0xebc71d0f, 0x21fbfabc, 0xf266d5dc},
    {0x267af43c, 0x14dfd913, 0x2dbb25b6, 0x227b1a06, 0x24402bc6},
    {0xac63df96, 0x4e3cf79b, 0xe20e3c11, 0x1a5771cf, 0xc0e37c49},
    {0xad66cdfe, 0x7cfa6a50, 0x8fca746a, 0x7b18f04b, 0x28eeb28f},
    {0xef049d6f, 0xf7192531, 0xabc5f1de, 0x1ea75f09, 0x3be64a78},
    {0x37abb017, 0x7735fb03, 0x557fb7cd, 0x520ea993, 0x69e4a18d},
    {0xc83c8e40, 0x9fb2f16f, 0xf95170a2, 0x401ffac4, 0x6b70bfeb},
    {0x53140fdd, 0x0dfb37a9, 0x88772b05, 0x20be07e3, 0x128c07bd},
    {0x5df0aeb5, 0x9f52cccd, 0x0e8b1551, 0x06935a9c, 0x648b1463},
    {0x1e72e926, 0x829ca1d2, 0x084c2bd7, 0xcea065e7, 0xd2b401bf},
    {0x0b97fcd4, 0xd9a6c1c6, 0x705a959a, 0x0cc8d909, 0xe38aca23},
    {0x93d21898, 0x97c7960e, 0xb2899f9d, 0xd528a53d, 0x04f33fca},
    {0x0942240e, 0xc18f6e56, 0x9551c4dd, 0x61c8179b, 0xead20f15},
    {0x06e1a24f, 0x4a7295af, 0x5534bfe6, 0x452ec8f1, 0x79685920},
    {0xa0bcccfe, 0x2de5181c, 0x33c9d258, 0xaf27908d, 0xcfd04995},
};
__ISAKIT_DEVICE void __isakit_xorwow_step(unsigned *v)
{
    unsigned t = v[0] ^ (v[0] >> 2);
    v[0] = v[1], v[1] = v[2], v[2] = v[3], v[3] = v[4];
    v[4] = (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1));
}
/* n 2^first steps */
__attribute__((device)) static __attribute__((noinline)) void __isakit_xorwow_skip(unsigned *state, unsigned long long n, int first)
{
    unsigned v[5], sum[5];
    for (int j = 0; j < 5; j++) v[j] = state[j];
    for (int row = first; n; n >>= 1, row++) {
        if (!(n & 1)) continue;
        for (int j = 0; j < 5; j++) sum[j] = 0;
        for (int word = 0; word < 5; word++) {
            unsigned terms = __isakit_xorwow_jumps[row][word];
            for (int k = 0; k < 32; k++, terms >>= 1) {
                unsigned taken = 0 - (terms & 1);
                for (int j = 0; j < 5; j++) sum[j] ^= v[j] & taken;
                __isakit_xorwow_step(v);
            }
        }
        for (int j = 0; j < 5; j++) v[j] = sum[j];
    }
    for (int j = 0; j < 5; j++) state[j] = v[j];
}
__ISAKIT_DEVICE void skipahead(unsigned long long n, curandStateXORWOW_t *state)
{
    __isakit_xorwow_skip(state->v, n, 0);
    state->d += 362437u * (unsigned)n;
}
/* Sequences are 2^67 numbers apart. */
__ISAKIT_DEVICE void skipahead_sequence(unsigned long long n, curandStateXORWOW_t *state)
{
    __isakit_xorwow_skip(state->v, n, 67);
}
__ISAKIT_DEVICE void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset,
                                 curandStateXORWOW_t *state)
{
    unsigned low = 1099087573u * ((unsigned)seed ^ 0xaad26b49u), high = 2591861531u * ((unsigned)(seed >> 32) ^ 0xf7dcefddu);
    state->d = 6615241u + high + low;
    state->v[0] = 123456789u + low, state->v[1] = 362436069u ^ low, state->v[2] = 521288629u + high;
    state->v[3] = 88675123u ^ high, state->v[4] = 5783321u + low;
    skipahead_sequence(sequence, state);
    skipahead(offset, state);
    state->boxmuller_flag = state->boxmuller_flag_double = 0;
    state->boxmuller_extra = 0.0f, state->boxmuller_extra_double = 0.0;
}
__ISAKIT_DEVICE unsigned int curand(curandStateXORWOW_t *state)
{
    __isakit_xorwow_step(state->v);
    return state->v[4] + (state->d += 362437u);
}
/* Above 0, up to 1. */
__ISAKIT_DEVICE float curand_uniform(curandStateXORWOW_t *state)
{
    return (float)curand(state) * 2.3283064365386963e-10f + 1.1641532182693481e-10f;
}
/* Two numbers of the method of Box and Muller. */
__ISAKIT_DEVICE float2 curand_normal2(curandStateXORWOW_t *state)
{
    float u = curand_uniform(state), angle = (float)curand(state) * 1.46291807926715968e-9f + 7.31459039633579839e-10f;
    float radius = sqrtf(-2.0f * logf(u));
    float2 out;
    sincosf(angle, &out.x, &out.y);
    out.x *= radius, out.y *= radius;
    return out;
}
__ISAKIT_DEVICE float curand_normal(curandStateXORWOW_t *state)
{
    if (state->boxmuller_flag) {
        state->boxmuller_flag = 0;
        return state->boxmuller_extra;
    }
    float2 pair = curand_normal2(state);
    state->boxmuller_flag = 1, state->boxmuller_extra = pair.y;
    return pair.x;
}
__ISAKIT_DEVICE float curand_log_normal(curandStateXORWOW_t *state, float mean, float deviation)
{
    return expf(mean + deviation * curand_normal(state));
}
__ISAKIT_DEVICE float2 curand_log_normal2(curandStateXORWOW_t *state, float mean, float deviation)
{
    float2 pair = curand_normal2(state);
    pair.x = expf(mean + deviation * pair.x), pair.y = expf(mean + deviation * pair.y);
    return pair;
}

/* What is declared for programs that mention it. */
extern "C" {
__attribute__((device)) void __isakit_lacks_random_doubles(void);
__attribute__((device)) void __isakit_lacks_random_poisson(void);
__attribute__((device)) void __isakit_lacks_random_generator(void);
}
#define __ISAKIT_LATER template <class S> __attribute__((device)) inline
__ISAKIT_LATER double curand_uniform_double(S *) { return __isakit_lacks_random_doubles(), 0.0; }
__ISAKIT_LATER double curand_normal_double(S *) { return __isakit_lacks_random_doubles(), 0.0; }
__ISAKIT_LATER double2 curand_normal2_double(S *) { return __isakit_lacks_random_doubles(), double2(); }
__ISAKIT_LATER double curand_log_normal_double(S *, double, double) { return __isakit_lacks_random_doubles(), 0.0; }
__ISAKIT_LATER double2 curand_log_normal2_double(S *, double, double)
{
    return __isakit_lacks_random_doubles(), double2();
}
__ISAKIT_LATER unsigned int curand_poisson(S *, double) { return __isakit_lacks_random_poisson(), 0; }
#define __ISAKIT_GENERATOR(NAME)                                                                                        \
    template <class A, class B> __attribute__((device)) inline void curand_init(A, B, unsigned long long,               \
                                                                                curandState##NAME *)                    \
    {                                                                                                                   \
        __isakit_lacks_random_generator();                                                                              \
    }                                                                                                                   \
    __ISAKIT_DEVICE unsigned int curand(curandState##NAME *) { return __isakit_lacks_random_generator(), 0; }           \
    __ISAKIT_DEVICE float curand_uniform(curandState##NAME *) { return __isakit_lacks_random_generator(), 0.0f; }       \
    __ISAKIT_DEVICE float curand_normal(curandState##NAME *) { return __isakit_lacks_random_generator(), 0.0f; }
__ISAKIT_GENERATOR(MRG32k3a)
__ISAKIT_GENERATOR(Sobol32)
__ISAKIT_GENERATOR(ScrambledSobol32)
__ISAKIT_GENERATOR(Sobol64)
__ISAKIT_GENERATOR(ScrambledSobol64)
__ISAKIT_GENERATOR(Philox4_32_10)
#undef __ISAKIT_GENERATOR
#undef __ISAKIT_LATER
#endif

#endif

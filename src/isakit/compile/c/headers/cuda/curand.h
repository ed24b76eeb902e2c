/* cuRAND for programs of the host. */
#ifndef CURAND_H_
#define CURAND_H_
#include "cuda_runtime.h"

typedef enum curandStatus {
    CURAND_STATUS_SUCCESS = 0, CURAND_STATUS_VERSION_MISMATCH = 100, CURAND_STATUS_NOT_INITIALIZED = 101,
    CURAND_STATUS_ALLOCATION_FAILED = 102, CURAND_STATUS_TYPE_ERROR = 103, CURAND_STATUS_OUT_OF_RANGE = 104,
    CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105, CURAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
    CURAND_STATUS_LAUNCH_FAILURE = 201, CURAND_STATUS_PREEXISTING_FAILURE = 202,
    CURAND_STATUS_INITIALIZATION_FAILED = 203, CURAND_STATUS_ARCH_MISMATCH = 204, CURAND_STATUS_INTERNAL_ERROR = 999
} curandStatus_t;
typedef enum curandRngType {
    CURAND_RNG_TEST = 0, CURAND_RNG_PSEUDO_DEFAULT = 100, CURAND_RNG_PSEUDO_XORWOW = 101,
    CURAND_RNG_PSEUDO_MRG32K3A = 121, CURAND_RNG_PSEUDO_MTGP32 = 141, CURAND_RNG_PSEUDO_MT19937 = 142,
    CURAND_RNG_QUASI_DEFAULT = 200, CURAND_RNG_QUASI_SOBOL32 = 201, CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 202,
    CURAND_RNG_QUASI_SOBOL64 = 203, CURAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 204
} curandRngType_t;
typedef enum curandOrdering {
    CURAND_ORDERING_PSEUDO_BEST = 100, CURAND_ORDERING_PSEUDO_DEFAULT = 101, CURAND_ORDERING_PSEUDO_SEEDED = 102,
    CURAND_ORDERING_QUASI_DEFAULT = 201
} curandOrdering_t;
typedef enum curandDirectionVectorSet {
    CURAND_DIRECTION_VECTORS_32_JOEKUO6 = 101, CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6 = 102,
    CURAND_DIRECTION_VECTORS_64_JOEKUO6 = 103, CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6 = 104
} curandDirectionVectorSet_t;
typedef unsigned int curandDirectionVectors32_t[32];
typedef unsigned long long curandDirectionVectors64_t[64];
typedef void *curandGenerator_t;

/* From here on made from the table of functions by library_headers.py; not to be edited. */
#ifdef __cplusplus
extern "C" {
#endif
curandStatus_t curandCreateGenerator(void **generator, int type);
curandStatus_t curandCreateGeneratorHost(void **generator, int type);
curandStatus_t curandDestroyGenerator(void *generator);
curandStatus_t curandGetVersion(int *version);
curandStatus_t curandSetStream(void *generator, void *stream);
curandStatus_t curandSetPseudoRandomGeneratorSeed(void *generator, unsigned long long seed);
curandStatus_t curandSetGeneratorOffset(void *generator, unsigned long long offset);
curandStatus_t curandSetGeneratorOrdering(void *generator, int order);
curandStatus_t curandSetQuasiRandomGeneratorDimensions(void *generator, unsigned dimensions);
curandStatus_t curandGenerateSeeds(void *generator);
curandStatus_t curandGenerate(void *generator, unsigned *output, size_t count);
curandStatus_t curandGenerateUniform(void *generator, float *output, size_t count);
curandStatus_t curandGenerateNormal(void *generator, float *output, size_t count, float mean, float deviation);
curandStatus_t curandGenerateLogNormal(void *generator, float *output, size_t count, float mean, float deviation);
curandStatus_t curandGenerateLongLong(void *generator, const void *output, size_t count);
curandStatus_t curandGenerateUniformDouble(void *generator, const void *output, size_t count);
curandStatus_t curandGenerateNormalDouble(void *generator, const void *output, size_t count, double mean, double deviation);
curandStatus_t curandGenerateLogNormalDouble(void *generator, const void *output, size_t count, double mean, double deviation);
curandStatus_t curandGeneratePoisson(void *generator, const void *output, size_t count, double lambda);
curandStatus_t curandCreatePoissonDistribution(double lambda, const void *distribution);
curandStatus_t curandDestroyDistribution(const void *distribution);
curandStatus_t curandGetDirectionVectors32(const void *vectors, int set);
curandStatus_t curandGetScrambleConstants32(const void *constants);
curandStatus_t curandGetDirectionVectors64(const void *vectors, int set);
curandStatus_t curandGetScrambleConstants64(const void *constants);
curandStatus_t curandMakeMTGP32Constants(const void *parameters, const void *constants);
curandStatus_t curandMakeMTGP32KernelState(const void *state, const void *parameters, const void *constants, int count, unsigned long long seed);
#ifdef __cplusplus
}
#endif
#endif

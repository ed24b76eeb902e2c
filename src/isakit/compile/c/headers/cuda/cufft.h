/* cuFFT for programs of the host. */
#ifndef _CUFFT_H_
#define _CUFFT_H_
#include "cuComplex.h"
#include "driver_types.h"

#define CUFFT_FORWARD (-1)
#define CUFFT_INVERSE 1
typedef enum cufftResult_t {
    CUFFT_SUCCESS = 0, CUFFT_INVALID_PLAN = 1, CUFFT_ALLOC_FAILED = 2, CUFFT_INVALID_TYPE = 3, CUFFT_INVALID_VALUE = 4,
    CUFFT_INTERNAL_ERROR = 5, CUFFT_EXEC_FAILED = 6, CUFFT_SETUP_FAILED = 7, CUFFT_INVALID_SIZE = 8,
    CUFFT_UNALIGNED_DATA = 9, CUFFT_INCOMPLETE_PARAMETER_LIST = 10, CUFFT_INVALID_DEVICE = 11, CUFFT_PARSE_ERROR = 12,
    CUFFT_NO_WORKSPACE = 13, CUFFT_NOT_IMPLEMENTED = 14, CUFFT_LICENSE_ERROR = 15, CUFFT_NOT_SUPPORTED = 16
} cufftResult;
typedef enum cufftType_t {
    CUFFT_C2C = 0x29, CUFFT_R2C = 0x2a, CUFFT_C2R = 0x2c, CUFFT_Z2Z = 0x69, CUFFT_D2Z = 0x6a, CUFFT_Z2D = 0x6c
} cufftType;
typedef enum cufftCompatibility_t {
    CUFFT_COMPATIBILITY_NATIVE = 0, CUFFT_COMPATIBILITY_FFTW_PADDING = 1, CUFFT_COMPATIBILITY_FFTW_ASYMMETRIC = 2,
    CUFFT_COMPATIBILITY_FFTW_ALL = 3
} cufftCompatibility;
#define CUFFT_COMPATIBILITY_DEFAULT CUFFT_COMPATIBILITY_FFTW_PADDING
typedef unsigned int cufftHandle;
typedef float cufftReal;
typedef double cufftDoubleReal;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;

/* From here on made from the table of functions by library_headers.py; not to be edited. */
#ifdef __cplusplus
extern "C" {
#endif
cufftResult cufftPlan1d(unsigned *plan, int nx, int type, int batch);
cufftResult cufftPlan2d(unsigned *plan, int nx, int ny, int type);
cufftResult cufftPlan3d(unsigned *plan, int nx, int ny, int nz, int type);
cufftResult cufftPlanMany(unsigned *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride, int odist, int type, int batch);
cufftResult cufftCreate(unsigned *plan);
cufftResult cufftMakePlan1d(unsigned plan, int nx, int type, int batch, size_t *bytes);
cufftResult cufftMakePlan2d(unsigned plan, int nx, int ny, int type, size_t *bytes);
cufftResult cufftMakePlan3d(unsigned plan, int nx, int ny, int nz, int type, size_t *bytes);
cufftResult cufftMakePlanMany(unsigned plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride, int odist, int type, int batch, size_t *bytes);
cufftResult cufftEstimate1d(int nx, int type, int batch, size_t *bytes);
cufftResult cufftEstimate2d(int nx, int ny, int type, size_t *bytes);
cufftResult cufftEstimate3d(int nx, int ny, int nz, int type, size_t *bytes);
cufftResult cufftGetSize(unsigned plan, size_t *bytes);
cufftResult cufftSetAutoAllocation(unsigned plan, int on);
cufftResult cufftSetWorkArea(unsigned plan, const void *area);
cufftResult cufftDestroy(unsigned plan);
cufftResult cufftSetStream(unsigned plan, void *stream);
cufftResult cufftSetCompatibilityMode(unsigned plan, int mode);
cufftResult cufftGetVersion(int *version);
cufftResult cufftExecC2C(unsigned plan, const void *input, const void *output, int direction);
cufftResult cufftExecR2C(unsigned plan, const void *input, const void *output);
cufftResult cufftExecC2R(unsigned plan, const void *input, const void *output);
cufftResult cufftExecZ2Z(unsigned plan, const void *input, const void *output, int direction);
cufftResult cufftExecD2Z(unsigned plan, const void *input, const void *output);
cufftResult cufftExecZ2D(unsigned plan, const void *input, const void *output);
cufftResult cufftXtSetGPUs(unsigned plan, int count, const void *devices);
cufftResult cufftXtMalloc(unsigned plan, const void *descriptor, int format);
cufftResult cufftXtFree(const void *descriptor);
cufftResult cufftXtMemcpy(unsigned plan, const void *to, const void *from, int type);
cufftResult cufftXtExecDescriptorC2C(unsigned plan, const void *input, const void *output, int direction);
cufftResult cufftXtSetCallback(unsigned plan, const void *callbacks, int type, const void *data);
cufftResult cufftXtClearCallback(unsigned plan, int type);
#ifdef __cplusplus
}
#endif
#endif

/* The libraries cuBLAS, cuFFT and cuRAND: what their tables do not say. The numbers are computed by the simulator. */
#include "isakit.h"

/* --- status -------------------------------------------------------------------------------------------------------------- */
static const struct { int no_device, invalid, memory, other; } library_codes[] = {
#include "library_codes.h"
};

static int library_status(enum library which, int status)
{
    switch (status) {
    case NO_SERVER: return library_codes[which].no_device;
    case INVALID: case DIRECTION: case PITCH: return library_codes[which].invalid;
    case NO_MEMORY: return library_codes[which].memory;
    default: return status < 0 ? library_codes[which].other : status;
    }
}
int cublas_status(int status) { return library_status(CUBLAS, status); }
int cufft_status(int status) { return library_status(CUFFT, status); }
int curand_status(int status) { return library_status(CURAND, status); }

/* --- cuBLAS ------------------------------------------------------------------------------------------------------------- */
/* Handles whose scalars lie in device memory; all others have them in the program's own. */
#define MOST_MODES 1024
static uint32_t modes[MOST_MODES];
static unsigned mode_count;
static pthread_mutex_t mode_lock = PTHREAD_MUTEX_INITIALIZER;
static int first_interface_error;

int scalars_on_device(const void *handle)
{
    int found = 0;
    pthread_mutex_lock(&mode_lock);
    for (unsigned k = 0; k < mode_count; k++) found |= modes[k] == handle_number(handle);
    pthread_mutex_unlock(&mode_lock);
    return found;
}

static int note_mode(const void *handle, int on_device)
{
    int status = 0;
    pthread_mutex_lock(&mode_lock);
    for (unsigned k = 0; k < mode_count; k++)
        if (modes[k] == handle_number(handle)) modes[k--] = modes[--mode_count];
    if (on_device && mode_count == MOST_MODES) status = NO_MEMORY;
    else if (on_device) modes[mode_count++] = (uint32_t)handle_number(handle);
    pthread_mutex_unlock(&mode_lock);
    return status;
}

EXPORT int cublasSetPointerMode_v2(void *handle, int mode)
{
    const uint64_t in[] = {OP_cublasSetPointerMode_v2, address_number(handle), (uint64_t)mode};
    int status = say(OP_blas_mode, in, 3, 0, 0);
    return cublas_status(status ? status : note_mode(handle, mode));
}

EXPORT int cublasDestroy_v2(void *handle)
{
    const uint64_t in[] = {OP_cublasDestroy_v2, address_number(handle)};
    int status = say(OP_blas_destroy, in, 2, 0, 0);
    return cublas_status(status ? status : note_mode(handle, 0));
}

uint64_t scalar_part(char type, const void *scalar, int part, int on_device)
{
    if (on_device) return part ? 0 : address_number(scalar);
    switch (type) {
    case 'S': return part ? 0 : double_bits(*(const float *)scalar);
    case 'D': return part ? 0 : double_bits(*(const double *)scalar);
    case 'C': return double_bits(((const float *)scalar)[part]);
    default: return double_bits(((const double *)scalar)[part]);
    }
}

static void store_result(char type, void *result, const uint64_t bits[2])
{
    double parts[2];
    memcpy(parts, bits, sizeof parts);
    switch (type) {
    case 'I': *(int *)result = (int)parts[0]; break;
    case 'S': *(float *)result = (float)parts[0]; break;
    case 'D': *(double *)result = parts[0]; break;
    case 'C': *(struct complex32 *)result = (struct complex32){(float)parts[0], (float)parts[1]}; break;
    default: *(struct complex64 *)result = (struct complex64){parts[0], parts[1]};
    }
}

#define MOST_NUMBERS 32
int blas(unsigned op, const void *handle, int on_device, const uint64_t *in, size_t count, char type, void *result)
{
    uint64_t head[] = {op, address_number(handle), (uint64_t)on_device}, out[2], numbers[MOST_NUMBERS];
    memcpy(numbers, in, count * sizeof *in);
    numbers[count++] = on_device ? address_number(result) : 0;
    struct request r = {OP_blas, head, 3, numbers, count * sizeof *numbers, out, 2, 0, 0, 0};
    int status = ask(&r);
    if (!status && result && !on_device) store_result(type, result, out);
    status = cublas_status(status);
    if (!handle && status) first_interface_error = status;
    return status;
}

EXPORT int cublasGetError(void)
{
    int error = first_interface_error;
    first_interface_error = 0;
    return error;
}

static struct side host_columns(const void *p, uint64_t pitch) { return (struct side){ON_HOST, p, 0, 0, 0, 0, pitch, 0}; }

/* `height` pieces of `width` elements, `lda` and `ldb` elements apart; a vector has pieces of one element. */
static int columns(unsigned op, void *stream, int to_device, int width, int height, int size, const void *a, int lda,
                   void *b, int ldb)
{
    if (width < 0 || height < 0 || size < 1 || lda < 1 || ldb < 1) return cublas_status(INVALID);
    if (height > 1 && (lda < width || ldb < width)) return cublas_status(INVALID);
    if (width == 1 && lda == 1 && ldb == 1) width = height, height = 1; /* one piece */
    const uint64_t bytes = times((uint64_t)width, (uint64_t)size);
    const uint64_t from = times((uint64_t)lda, (uint64_t)size), to = times((uint64_t)ldb, (uint64_t)size);
    if (!width || !height) return 0;
    return cublas_status(move_in_stream(
        handle_number(stream), op, to_device ? device_pitched(b, height > 1 ? to : bytes) : host_columns(b, height > 1 ? to : bytes),
        to_device ? host_columns(a, height > 1 ? from : bytes) : device_pitched(a, height > 1 ? from : bytes), bytes,
        (uint64_t)height, 1, FIXED));
}

EXPORT int cublasSetVector(int n, int size, const void *x, int incx, void *y, int incy)
{
    return columns(OP_cublasSetVector, 0, 1, 1, n, size, x, incx, y, incy);
}
EXPORT int cublasGetVector(int n, int size, const void *x, int incx, void *y, int incy)
{
    return columns(OP_cublasGetVector, 0, 0, 1, n, size, x, incx, y, incy);
}
EXPORT int cublasSetMatrix(int rows, int count, int size, const void *a, int lda, void *b, int ldb)
{
    return columns(OP_cublasSetMatrix, 0, 1, rows, count, size, a, lda, b, ldb);
}
EXPORT int cublasGetMatrix(int rows, int count, int size, const void *a, int lda, void *b, int ldb)
{
    return columns(OP_cublasGetMatrix, 0, 0, rows, count, size, a, lda, b, ldb);
}
EXPORT int cublasSetVectorAsync(int n, int size, const void *x, int incx, void *y, int incy, void *stream)
{
    return columns(OP_cublasSetVectorAsync, stream, 1, 1, n, size, x, incx, y, incy);
}
EXPORT int cublasGetVectorAsync(int n, int size, const void *x, int incx, void *y, int incy, void *stream)
{
    return columns(OP_cublasGetVectorAsync, stream, 0, 1, n, size, x, incx, y, incy);
}
EXPORT int cublasSetMatrixAsync(int rows, int count, int size, const void *a, int lda, void *b, int ldb, void *stream)
{
    return columns(OP_cublasSetMatrixAsync, stream, 1, rows, count, size, a, lda, b, ldb);
}
EXPORT int cublasGetMatrixAsync(int rows, int count, int size, const void *a, int lda, void *b, int ldb, void *stream)
{
    return columns(OP_cublasGetMatrixAsync, stream, 0, rows, count, size, a, lda, b, ldb);
}

/* --- cuFFT -------------------------------------------------------------------------------------------------------------- */
static int plan_many(unsigned op, unsigned *plan, int rank, const int *n, const int *inembed, int istride, int idist,
                     const int *onembed, int ostride, int odist, int type, int batch, size_t *bytes)
{
    if (rank < 1 || rank > 3 || !n) return INVALID;
    uint64_t sizes[9] = {0}, out[2]; /* of the transform and, where it says so, of what it is embedded in */
    for (int k = 0; k < rank; k++) {
        sizes[k] = (uint64_t)(int64_t)n[k];
        if (inembed) sizes[3 + k] = (uint64_t)(int64_t)inembed[k];
        if (onembed) sizes[6 + k] = (uint64_t)(int64_t)onembed[k];
    }
    const uint64_t in[] = {op, *plan, (uint64_t)rank, (uint64_t)(int64_t)type, (uint64_t)(int64_t)batch,
                           inembed ? (uint64_t)(int64_t)istride : 0, inembed ? (uint64_t)(int64_t)idist : 0,
                           onembed ? (uint64_t)(int64_t)ostride : 0, onembed ? (uint64_t)(int64_t)odist : 0};
    struct request r = {OP_fft_many, in, sizeof in / sizeof *in, sizes, sizeof sizes, out, 2, 0, 0, 0};
    int status = ask(&r);
    if (!status) *plan = (unsigned)out[0];
    if (!status && bytes) *bytes = out[1];
    return status;
}

EXPORT int cufftPlanMany(unsigned *plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed, int ostride,
                         int odist, int type, int batch)
{
    unsigned made = 0;
    int status = plan ? plan_many(OP_cufftPlanMany, &made, rank, n, inembed, istride, idist, onembed, ostride, odist, type,
                                  batch, 0) : INVALID;
    if (!status) *plan = made;
    return cufft_status(status);
}
EXPORT int cufftMakePlanMany(unsigned plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                             int ostride, int odist, int type, int batch, size_t *bytes)
{
    if (!plan) return cufft_status(INVALID);
    return cufft_status(plan_many(OP_cufftMakePlanMany, &plan, rank, n, inembed, istride, idist, onembed, ostride, odist,
                                  type, batch, bytes));
}

/* --- cuRAND ------------------------------------------------------------------------------------------------------------- */
/* Numbers of a generator of the host come through the device's memory. */
static int numbers(unsigned op, void *generator, void *output, size_t count, double mean, double deviation)
{
    const uint64_t in[] = {op, address_number(generator), address_number(output), count, double_bits(mean),
                           double_bits(deviation)};
    uint64_t at = 0;
    int status = say(OP_numbers, in, 6, &at, 1);
    if (status || !at) return curand_status(status);
    const uint64_t bytes = times(count, 4), taken[] = {op, at};
    if (at > window.size || bytes > window.size - at) return curand_status(LOST);
    if (output) memcpy(output, window.base + at, bytes);
    status = say(OP_numbers_taken, taken, 2, 0, 0);
    return curand_status(status ? status : output ? 0 : INVALID);
}

EXPORT int curandGenerate(void *generator, unsigned *output, size_t count)
{
    return numbers(OP_curandGenerate, generator, output, count, 0, 0);
}
EXPORT int curandGenerateUniform(void *generator, float *output, size_t count)
{
    return numbers(OP_curandGenerateUniform, generator, output, count, 0, 0);
}
EXPORT int curandGenerateNormal(void *generator, float *output, size_t count, float mean, float deviation)
{
    return numbers(OP_curandGenerateNormal, generator, output, count, (double)mean, (double)deviation);
}
EXPORT int curandGenerateLogNormal(void *generator, float *output, size_t count, float mean, float deviation)
{
    return numbers(OP_curandGenerateLogNormal, generator, output, count, (double)mean, (double)deviation);
}

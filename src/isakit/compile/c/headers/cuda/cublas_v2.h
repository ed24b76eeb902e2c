/* cuBLAS, the interface with handles. */
#ifndef CUBLAS_V2_H_
#define CUBLAS_V2_H_
#include "cublas_api.h"

/* From here on made from the table of functions by library_headers.py; not to be edited. */
#ifdef __cplusplus
extern "C" {
#endif
cublasStatus_t cublasCreate_v2(void **handle);
cublasStatus_t cublasDestroy_v2(void *handle);
cublasStatus_t cublasGetVersion_v2(void *handle, int *version);
cublasStatus_t cublasSetStream_v2(void *handle, void *stream);
cublasStatus_t cublasGetStream_v2(void *handle, void **stream);
cublasStatus_t cublasGetPointerMode_v2(void *handle, int *mode);
cublasStatus_t cublasSetPointerMode_v2(void *handle, int mode);
cublasStatus_t cublasGetAtomicsMode(void *handle, int *mode);
cublasStatus_t cublasSetAtomicsMode(void *handle, int mode);
cublasStatus_t cublasSetVector(int n, int size, const void *x, int incx, const void *y, int incy);
cublasStatus_t cublasGetVector(int n, int size, const void *x, int incx, const void *y, int incy);
cublasStatus_t cublasSetMatrix(int rows, int columns, int size, const void *a, int lda, const void *b, int ldb);
cublasStatus_t cublasGetMatrix(int rows, int columns, int size, const void *a, int lda, const void *b, int ldb);
cublasStatus_t cublasSetVectorAsync(int n, int size, const void *x, int incx, const void *y, int incy, void *stream);
cublasStatus_t cublasGetVectorAsync(int n, int size, const void *x, int incx, const void *y, int incy, void *stream);
cublasStatus_t cublasSetMatrixAsync(int rows, int columns, int size, const void *a, int lda, const void *b, int ldb, void *stream);
cublasStatus_t cublasGetMatrixAsync(int rows, int columns, int size, const void *a, int lda, const void *b, int ldb, void *stream);
cublasStatus_t cublasSaxpy_v2(void *handle, int n, const float *alpha, const void *x, int incx, const void *y, int incy);
cublasStatus_t cublasDaxpy_v2(void *handle, int n, const double *alpha, const void *x, int incx, const void *y, int incy);
cublasStatus_t cublasCaxpy_v2(void *handle, int n, const cuComplex *alpha, const void *x, int incx, const void *y, int incy);
cublasStatus_t cublasZaxpy_v2(void *handle, int n, const cuDoubleComplex *alpha, const void *x, int incx, const void *y, int incy);
cublasStatus_t cublasScopy_v2(void *handle, int n, const void *x, int incx, const void *y, int incy);
cublasStatus_t cublasDcopy_v2(void *handle, int n, const void *x, int incx, const void *y, int incy);
cublasStatus_t cublasCcopy_v2(void *handle, int n, const void *x, int incx, const void *y, int incy);
cublasStatus_t cublasZcopy_v2(void *handle, int n, const void *x, int incx, const void *y, int incy);
cublasStatus_t cublasSswap_v2(void *handle, int n, const void *x, int incx, const void *y, int incy);
cublasStatus_t cublasDswap_v2(void *handle, int n, const void *x, int incx, const void *y, int incy);
cublasStatus_t cublasCswap_v2(void *handle, int n, const void *x, int incx, const void *y, int incy);
cublasStatus_t cublasZswap_v2(void *handle, int n, const void *x, int incx, const void *y, int incy);
cublasStatus_t cublasSscal_v2(void *handle, int n, const float *alpha, const void *x, int incx);
cublasStatus_t cublasDscal_v2(void *handle, int n, const double *alpha, const void *x, int incx);
cublasStatus_t cublasCscal_v2(void *handle, int n, const cuComplex *alpha, const void *x, int incx);
cublasStatus_t cublasZscal_v2(void *handle, int n, const cuDoubleComplex *alpha, const void *x, int incx);
cublasStatus_t cublasCsscal_v2(void *handle, int n, const float *alpha, const void *x, int incx);
cublasStatus_t cublasZdscal_v2(void *handle, int n, const double *alpha, const void *x, int incx);
cublasStatus_t cublasSdot_v2(void *handle, int n, const void *x, int incx, const void *y, int incy, float *result);
cublasStatus_t cublasDdot_v2(void *handle, int n, const void *x, int incx, const void *y, int incy, double *result);
cublasStatus_t cublasCdotu_v2(void *handle, int n, const void *x, int incx, const void *y, int incy, cuComplex *result);
cublasStatus_t cublasZdotu_v2(void *handle, int n, const void *x, int incx, const void *y, int incy, cuDoubleComplex *result);
cublasStatus_t cublasCdotc_v2(void *handle, int n, const void *x, int incx, const void *y, int incy, cuComplex *result);
cublasStatus_t cublasZdotc_v2(void *handle, int n, const void *x, int incx, const void *y, int incy, cuDoubleComplex *result);
cublasStatus_t cublasSnrm2_v2(void *handle, int n, const void *x, int incx, float *result);
cublasStatus_t cublasDnrm2_v2(void *handle, int n, const void *x, int incx, double *result);
cublasStatus_t cublasScnrm2_v2(void *handle, int n, const void *x, int incx, float *result);
cublasStatus_t cublasDznrm2_v2(void *handle, int n, const void *x, int incx, double *result);
cublasStatus_t cublasSasum_v2(void *handle, int n, const void *x, int incx, float *result);
cublasStatus_t cublasDasum_v2(void *handle, int n, const void *x, int incx, double *result);
cublasStatus_t cublasScasum_v2(void *handle, int n, const void *x, int incx, float *result);
cublasStatus_t cublasDzasum_v2(void *handle, int n, const void *x, int incx, double *result);
cublasStatus_t cublasIsamax_v2(void *handle, int n, const void *x, int incx, int *result);
cublasStatus_t cublasIdamax_v2(void *handle, int n, const void *x, int incx, int *result);
cublasStatus_t cublasIcamax_v2(void *handle, int n, const void *x, int incx, int *result);
cublasStatus_t cublasIzamax_v2(void *handle, int n, const void *x, int incx, int *result);
cublasStatus_t cublasIsamin_v2(void *handle, int n, const void *x, int incx, int *result);
cublasStatus_t cublasIdamin_v2(void *handle, int n, const void *x, int incx, int *result);
cublasStatus_t cublasIcamin_v2(void *handle, int n, const void *x, int incx, int *result);
cublasStatus_t cublasIzamin_v2(void *handle, int n, const void *x, int incx, int *result);
cublasStatus_t cublasSrot_v2(void *handle, int n, const void *x, int incx, const void *y, int incy, const float *c, const float *s);
cublasStatus_t cublasDrot_v2(void *handle, int n, const void *x, int incx, const void *y, int incy, const double *c, const double *s);
cublasStatus_t cublasCsrot_v2(void *handle, int n, const void *x, int incx, const void *y, int incy, const float *c, const float *s);
cublasStatus_t cublasZdrot_v2(void *handle, int n, const void *x, int incx, const void *y, int incy, const double *c, const double *s);
cublasStatus_t cublasSgemv_v2(void *handle, int trans, int m, int n, const float *alpha, const void *A, int lda, const void *x, int incx, const float *beta, const void *y, int incy);
cublasStatus_t cublasDgemv_v2(void *handle, int trans, int m, int n, const double *alpha, const void *A, int lda, const void *x, int incx, const double *beta, const void *y, int incy);
cublasStatus_t cublasCgemv_v2(void *handle, int trans, int m, int n, const cuComplex *alpha, const void *A, int lda, const void *x, int incx, const cuComplex *beta, const void *y, int incy);
cublasStatus_t cublasZgemv_v2(void *handle, int trans, int m, int n, const cuDoubleComplex *alpha, const void *A, int lda, const void *x, int incx, const cuDoubleComplex *beta, const void *y, int incy);
cublasStatus_t cublasSgbmv_v2(void *handle, int trans, int m, int n, int kl, int ku, const float *alpha, const void *A, int lda, const void *x, int incx, const float *beta, const void *y, int incy);
cublasStatus_t cublasDgbmv_v2(void *handle, int trans, int m, int n, int kl, int ku, const double *alpha, const void *A, int lda, const void *x, int incx, const double *beta, const void *y, int incy);
cublasStatus_t cublasCgbmv_v2(void *handle, int trans, int m, int n, int kl, int ku, const cuComplex *alpha, const void *A, int lda, const void *x, int incx, const cuComplex *beta, const void *y, int incy);
cublasStatus_t cublasZgbmv_v2(void *handle, int trans, int m, int n, int kl, int ku, const cuDoubleComplex *alpha, const void *A, int lda, const void *x, int incx, const cuDoubleComplex *beta, const void *y, int incy);
cublasStatus_t cublasSger_v2(void *handle, int m, int n, const float *alpha, const void *x, int incx, const void *y, int incy, const void *A, int lda);
cublasStatus_t cublasDger_v2(void *handle, int m, int n, const double *alpha, const void *x, int incx, const void *y, int incy, const void *A, int lda);
cublasStatus_t cublasCgeru_v2(void *handle, int m, int n, const cuComplex *alpha, const void *x, int incx, const void *y, int incy, const void *A, int lda);
cublasStatus_t cublasZgeru_v2(void *handle, int m, int n, const cuDoubleComplex *alpha, const void *x, int incx, const void *y, int incy, const void *A, int lda);
cublasStatus_t cublasCgerc_v2(void *handle, int m, int n, const cuComplex *alpha, const void *x, int incx, const void *y, int incy, const void *A, int lda);
cublasStatus_t cublasZgerc_v2(void *handle, int m, int n, const cuDoubleComplex *alpha, const void *x, int incx, const void *y, int incy, const void *A, int lda);
cublasStatus_t cublasSsymv_v2(void *handle, int uplo, int n, const float *alpha, const void *A, int lda, const void *x, int incx, const float *beta, const void *y, int incy);
cublasStatus_t cublasDsymv_v2(void *handle, int uplo, int n, const double *alpha, const void *A, int lda, const void *x, int incx, const double *beta, const void *y, int incy);
cublasStatus_t cublasChemv_v2(void *handle, int uplo, int n, const cuComplex *alpha, const void *A, int lda, const void *x, int incx, const cuComplex *beta, const void *y, int incy);
cublasStatus_t cublasZhemv_v2(void *handle, int uplo, int n, const cuDoubleComplex *alpha, const void *A, int lda, const void *x, int incx, const cuDoubleComplex *beta, const void *y, int incy);
cublasStatus_t cublasSsbmv_v2(void *handle, int uplo, int n, int k, const float *alpha, const void *A, int lda, const void *x, int incx, const float *beta, const void *y, int incy);
cublasStatus_t cublasDsbmv_v2(void *handle, int uplo, int n, int k, const double *alpha, const void *A, int lda, const void *x, int incx, const double *beta, const void *y, int incy);
cublasStatus_t cublasChbmv_v2(void *handle, int uplo, int n, int k, const cuComplex *alpha, const void *A, int lda, const void *x, int incx, const cuComplex *beta, const void *y, int incy);
cublasStatus_t cublasZhbmv_v2(void *handle, int uplo, int n, int k, const cuDoubleComplex *alpha, const void *A, int lda, const void *x, int incx, const cuDoubleComplex *beta, const void *y, int incy);
cublasStatus_t cublasSspmv_v2(void *handle, int uplo, int n, const float *alpha, const void *A, const void *x, int incx, const float *beta, const void *y, int incy);
cublasStatus_t cublasDspmv_v2(void *handle, int uplo, int n, const double *alpha, const void *A, const void *x, int incx, const double *beta, const void *y, int incy);
cublasStatus_t cublasChpmv_v2(void *handle, int uplo, int n, const cuComplex *alpha, const void *A, const void *x, int incx, const cuComplex *beta, const void *y, int incy);
cublasStatus_t cublasZhpmv_v2(void *handle, int uplo, int n, const cuDoubleComplex *alpha, const void *A, const void *x, int incx, const cuDoubleComplex *beta, const void *y, int incy);
cublasStatus_t cublasSsyr_v2(void *handle, int uplo, int n, const float *alpha, const void *x, int incx, const void *A, int lda);
cublasStatus_t cublasDsyr_v2(void *handle, int uplo, int n, const double *alpha, const void *x, int incx, const void *A, int lda);
cublasStatus_t cublasCher_v2(void *handle, int uplo, int n, const float *alpha, const void *x, int incx, const void *A, int lda);
cublasStatus_t cublasZher_v2(void *handle, int uplo, int n, const double *alpha, const void *x, int incx, const void *A, int lda);
cublasStatus_t cublasSsyr2_v2(void *handle, int uplo, int n, const float *alpha, const void *x, int incx, const void *y, int incy, const void *A, int lda);
cublasStatus_t cublasDsyr2_v2(void *handle, int uplo, int n, const double *alpha, const void *x, int incx, const void *y, int incy, const void *A, int lda);
cublasStatus_t cublasCher2_v2(void *handle, int uplo, int n, const cuComplex *alpha, const void *x, int incx, const void *y, int incy, const void *A, int lda);
cublasStatus_t cublasZher2_v2(void *handle, int uplo, int n, const cuDoubleComplex *alpha, const void *x, int incx, const void *y, int incy, const void *A, int lda);
cublasStatus_t cublasSspr_v2(void *handle, int uplo, int n, const float *alpha, const void *x, int incx, const void *A);
cublasStatus_t cublasDspr_v2(void *handle, int uplo, int n, const double *alpha, const void *x, int incx, const void *A);
cublasStatus_t cublasChpr_v2(void *handle, int uplo, int n, const float *alpha, const void *x, int incx, const void *A);
cublasStatus_t cublasZhpr_v2(void *handle, int uplo, int n, const double *alpha, const void *x, int incx, const void *A);
cublasStatus_t cublasSspr2_v2(void *handle, int uplo, int n, const float *alpha, const void *x, int incx, const void *y, int incy, const void *A);
cublasStatus_t cublasDspr2_v2(void *handle, int uplo, int n, const double *alpha, const void *x, int incx, const void *y, int incy, const void *A);
cublasStatus_t cublasChpr2_v2(void *handle, int uplo, int n, const cuComplex *alpha, const void *x, int incx, const void *y, int incy, const void *A);
cublasStatus_t cublasZhpr2_v2(void *handle, int uplo, int n, const cuDoubleComplex *alpha, const void *x, int incx, const void *y, int incy, const void *A);
cublasStatus_t cublasStrmv_v2(void *handle, int uplo, int trans, int unit, int n, const void *A, int lda, const void *x, int incx);
cublasStatus_t cublasDtrmv_v2(void *handle, int uplo, int trans, int unit, int n, const void *A, int lda, const void *x, int incx);
cublasStatus_t cublasCtrmv_v2(void *handle, int uplo, int trans, int unit, int n, const void *A, int lda, const void *x, int incx);
cublasStatus_t cublasZtrmv_v2(void *handle, int uplo, int trans, int unit, int n, const void *A, int lda, const void *x, int incx);
cublasStatus_t cublasStbmv_v2(void *handle, int uplo, int trans, int unit, int n, int k, const void *A, int lda, const void *x, int incx);
cublasStatus_t cublasDtbmv_v2(void *handle, int uplo, int trans, int unit, int n, int k, const void *A, int lda, const void *x, int incx);
cublasStatus_t cublasCtbmv_v2(void *handle, int uplo, int trans, int unit, int n, int k, const void *A, int lda, const void *x, int incx);
cublasStatus_t cublasZtbmv_v2(void *handle, int uplo, int trans, int unit, int n, int k, const void *A, int lda, const void *x, int incx);
cublasStatus_t cublasStpmv_v2(void *handle, int uplo, int trans, int unit, int n, const void *A, const void *x, int incx);
cublasStatus_t cublasDtpmv_v2(void *handle, int uplo, int trans, int unit, int n, const void *A, const void *x, int incx);
cublasStatus_t cublasCtpmv_v2(void *handle, int uplo, int trans, int unit, int n, const void *A, const void *x, int incx);
cublasStatus_t cublasZtpmv_v2(void *handle, int uplo, int trans, int unit, int n, const void *A, const void *x, int incx);
cublasStatus_t cublasStrsv_v2(void *handle, int uplo, int trans, int unit, int n, const void *A, int lda, const void *x, int incx);
cublasStatus_t cublasDtrsv_v2(void *handle, int uplo, int trans, int unit, int n, const void *A, int lda, const void *x, int incx);
cublasStatus_t cublasCtrsv_v2(void *handle, int uplo, int trans, int unit, int n, const void *A, int lda, const void *x, int incx);
cublasStatus_t cublasZtrsv_v2(void *handle, int uplo, int trans, int unit, int n, const void *A, int lda, const void *x, int incx);
cublasStatus_t cublasStbsv_v2(void *handle, int uplo, int trans, int unit, int n, int k, const void *A, int lda, const void *x, int incx);
cublasStatus_t cublasDtbsv_v2(void *handle, int uplo, int trans, int unit, int n, int k, const void *A, int lda, const void *x, int incx);
cublasStatus_t cublasCtbsv_v2(void *handle, int uplo, int trans, int unit, int n, int k, const void *A, int lda, const void *x, int incx);
cublasStatus_t cublasZtbsv_v2(void *handle, int uplo, int trans, int unit, int n, int k, const void *A, int lda, const void *x, int incx);
cublasStatus_t cublasStpsv_v2(void *handle, int uplo, int trans, int unit, int n, const void *A, const void *x, int incx);
cublasStatus_t cublasDtpsv_v2(void *handle, int uplo, int trans, int unit, int n, const void *A, const void *x, int incx);
cublasStatus_t cublasCtpsv_v2(void *handle, int uplo, int trans, int unit, int n, const void *A, const void *x, int incx);
cublasStatus_t cublasZtpsv_v2(void *handle, int uplo, int trans, int unit, int n, const void *A, const void *x, int incx);
cublasStatus_t cublasSgemm_v2(void *handle, int transa, int transb, int m, int n, int k, const float *alpha, const void *A, int lda, const void *B, int ldb, const float *beta, const void *C, int ldc);
cublasStatus_t cublasDgemm_v2(void *handle, int transa, int transb, int m, int n, int k, const double *alpha, const void *A, int lda, const void *B, int ldb, const double *beta, const void *C, int ldc);
cublasStatus_t cublasCgemm_v2(void *handle, int transa, int transb, int m, int n, int k, const cuComplex *alpha, const void *A, int lda, const void *B, int ldb, const cuComplex *beta, const void *C, int ldc);
cublasStatus_t cublasZgemm_v2(void *handle, int transa, int transb, int m, int n, int k, const cuDoubleComplex *alpha, const void *A, int lda, const void *B, int ldb, const cuDoubleComplex *beta, const void *C, int ldc);
cublasStatus_t cublasSsymm_v2(void *handle, int side, int uplo, int m, int n, const float *alpha, const void *A, int lda, const void *B, int ldb, const float *beta, const void *C, int ldc);
cublasStatus_t cublasDsymm_v2(void *handle, int side, int uplo, int m, int n, const double *alpha, const void *A, int lda, const void *B, int ldb, const double *beta, const void *C, int ldc);
cublasStatus_t cublasCsymm_v2(void *handle, int side, int uplo, int m, int n, const cuComplex *alpha, const void *A, int lda, const void *B, int ldb, const cuComplex *beta, const void *C, int ldc);
cublasStatus_t cublasZsymm_v2(void *handle, int side, int uplo, int m, int n, const cuDoubleComplex *alpha, const void *A, int lda, const void *B, int ldb, const cuDoubleComplex *beta, const void *C, int ldc);
cublasStatus_t cublasChemm_v2(void *handle, int side, int uplo, int m, int n, const cuComplex *alpha, const void *A, int lda, const void *B, int ldb, const cuComplex *beta, const void *C, int ldc);
cublasStatus_t cublasZhemm_v2(void *handle, int side, int uplo, int m, int n, const cuDoubleComplex *alpha, const void *A, int lda, const void *B, int ldb, const cuDoubleComplex *beta, const void *C, int ldc);
cublasStatus_t cublasSsyrk_v2(void *handle, int uplo, int trans, int n, int k, const float *alpha, const void *A, int lda, const float *beta, const void *C, int ldc);
cublasStatus_t cublasDsyrk_v2(void *handle, int uplo, int trans, int n, int k, const double *alpha, const void *A, int lda, const double *beta, const void *C, int ldc);
cublasStatus_t cublasCsyrk_v2(void *handle, int uplo, int trans, int n, int k, const cuComplex *alpha, const void *A, int lda, const cuComplex *beta, const void *C, int ldc);
cublasStatus_t cublasZsyrk_v2(void *handle, int uplo, int trans, int n, int k, const cuDoubleComplex *alpha, const void *A, int lda, const cuDoubleComplex *beta, const void *C, int ldc);
cublasStatus_t cublasCherk_v2(void *handle, int uplo, int trans, int n, int k, const float *alpha, const void *A, int lda, const float *beta, const void *C, int ldc);
cublasStatus_t cublasZherk_v2(void *handle, int uplo, int trans, int n, int k, const double *alpha, const void *A, int lda, const double *beta, const void *C, int ldc);
cublasStatus_t cublasSsyr2k_v2(void *handle, int uplo, int trans, int n, int k, const float *alpha, const void *A, int lda, const void *B, int ldb, const float *beta, const void *C, int ldc);
cublasStatus_t cublasDsyr2k_v2(void *handle, int uplo, int trans, int n, int k, const double *alpha, const void *A, int lda, const void *B, int ldb, const double *beta, const void *C, int ldc);
cublasStatus_t cublasCsyr2k_v2(void *handle, int uplo, int trans, int n, int k, const cuComplex *alpha, const void *A, int lda, const void *B, int ldb, const cuComplex *beta, const void *C, int ldc);
cublasStatus_t cublasZsyr2k_v2(void *handle, int uplo, int trans, int n, int k, const cuDoubleComplex *alpha, const void *A, int lda, const void *B, int ldb, const cuDoubleComplex *beta, const void *C, int ldc);
cublasStatus_t cublasCher2k_v2(void *handle, int uplo, int trans, int n, int k, const cuComplex *alpha, const void *A, int lda, const void *B, int ldb, const float *beta, const void *C, int ldc);
cublasStatus_t cublasZher2k_v2(void *handle, int uplo, int trans, int n, int k, const cuDoubleComplex *alpha, const void *A, int lda, const void *B, int ldb, const double *beta, const void *C, int ldc);
cublasStatus_t cublasStrmm_v2(void *handle, int side, int uplo, int trans, int unit, int m, int n, const float *alpha, const void *A, int lda, const void *B, int ldb, const void *C, int ldc);
cublasStatus_t cublasDtrmm_v2(void *handle, int side, int uplo, int trans, int unit, int m, int n, const double *alpha, const void *A, int lda, const void *B, int ldb, const void *C, int ldc);
cublasStatus_t cublasCtrmm_v2(void *handle, int side, int uplo, int trans, int unit, int m, int n, const cuComplex *alpha, const void *A, int lda, const void *B, int ldb, const void *C, int ldc);
cublasStatus_t cublasZtrmm_v2(void *handle, int side, int uplo, int trans, int unit, int m, int n, const cuDoubleComplex *alpha, const void *A, int lda, const void *B, int ldb, const void *C, int ldc);
cublasStatus_t cublasStrsm_v2(void *handle, int side, int uplo, int trans, int unit, int m, int n, const float *alpha, const void *A, int lda, const void *B, int ldb);
cublasStatus_t cublasDtrsm_v2(void *handle, int side, int uplo, int trans, int unit, int m, int n, const double *alpha, const void *A, int lda, const void *B, int ldb);
cublasStatus_t cublasCtrsm_v2(void *handle, int side, int uplo, int trans, int unit, int m, int n, const cuComplex *alpha, const void *A, int lda, const void *B, int ldb);
cublasStatus_t cublasZtrsm_v2(void *handle, int side, int uplo, int trans, int unit, int m, int n, const cuDoubleComplex *alpha, const void *A, int lda, const void *B, int ldb);
#ifdef __cplusplus
}
#endif
#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasGetVersion cublasGetVersion_v2
#define cublasSetStream cublasSetStream_v2
#define cublasGetStream cublasGetStream_v2
#define cublasGetPointerMode cublasGetPointerMode_v2
#define cublasSetPointerMode cublasSetPointerMode_v2
#define cublasSaxpy cublasSaxpy_v2
#define cublasDaxpy cublasDaxpy_v2
#define cublasCaxpy cublasCaxpy_v2
#define cublasZaxpy cublasZaxpy_v2
#define cublasScopy cublasScopy_v2
#define cublasDcopy cublasDcopy_v2
#define cublasCcopy cublasCcopy_v2
#define cublasZcopy cublasZcopy_v2
#define cublasSswap cublasSswap_v2
#define cublasDswap cublasDswap_v2
#define cublasCswap cublasCswap_v2
#define cublasZswap cublasZswap_v2
#define cublasSscal cublasSscal_v2
#define cublasDscal cublasDscal_v2
#define cublasCscal cublasCscal_v2
#define cublasZscal cublasZscal_v2
#define cublasCsscal cublasCsscal_v2
#define cublasZdscal cublasZdscal_v2
#define cublasSdot cublasSdot_v2
#define cublasDdot cublasDdot_v2
#define cublasCdotu cublasCdotu_v2
#define cublasZdotu cublasZdotu_v2
#define cublasCdotc cublasCdotc_v2
#define cublasZdotc cublasZdotc_v2
#define cublasSnrm2 cublasSnrm2_v2
#define cublasDnrm2 cublasDnrm2_v2
#define cublasScnrm2 cublasScnrm2_v2
#define cublasDznrm2 cublasDznrm2_v2
#define cublasSasum cublasSasum_v2
#define cublasDasum cublasDasum_v2
#define cublasScasum cublasScasum_v2
#define cublasDzasum cublasDzasum_v2
#define cublasIsamax cublasIsamax_v2
#define cublasIdamax cublasIdamax_v2
#define cublasIcamax cublasIcamax_v2
#define cublasIzamax cublasIzamax_v2
#define cublasIsamin cublasIsamin_v2
#define cublasIdamin cublasIdamin_v2
#define cublasIcamin cublasIcamin_v2
#define cublasIzamin cublasIzamin_v2
#define cublasSrot cublasSrot_v2
#define cublasDrot cublasDrot_v2
#define cublasCsrot cublasCsrot_v2
#define cublasZdrot cublasZdrot_v2
#define cublasSgemv cublasSgemv_v2
#define cublasDgemv cublasDgemv_v2
#define cublasCgemv cublasCgemv_v2
#define cublasZgemv cublasZgemv_v2
#define cublasSgbmv cublasSgbmv_v2
#define cublasDgbmv cublasDgbmv_v2
#define cublasCgbmv cublasCgbmv_v2
#define cublasZgbmv cublasZgbmv_v2
#define cublasSger cublasSger_v2
#define cublasDger cublasDger_v2
#define cublasCgeru cublasCgeru_v2
#define cublasZgeru cublasZgeru_v2
#define cublasCgerc cublasCgerc_v2
#define cublasZgerc cublasZgerc_v2
#define cublasSsymv cublasSsymv_v2
#define cublasDsymv cublasDsymv_v2
#define cublasChemv cublasChemv_v2
#define cublasZhemv cublasZhemv_v2
#define cublasSsbmv cublasSsbmv_v2
#define cublasDsbmv cublasDsbmv_v2
#define cublasChbmv cublasChbmv_v2
#define cublasZhbmv cublasZhbmv_v2
#define cublasSspmv cublasSspmv_v2
#define cublasDspmv cublasDspmv_v2
#define cublasChpmv cublasChpmv_v2
#define cublasZhpmv cublasZhpmv_v2
#define cublasSsyr cublasSsyr_v2
#define cublasDsyr cublasDsyr_v2
#define cublasCher cublasCher_v2
#define cublasZher cublasZher_v2
#define cublasSsyr2 cublasSsyr2_v2
#define cublasDsyr2 cublasDsyr2_v2
#define cublasCher2 cublasCher2_v2
#define cublasZher2 cublasZher2_v2
#define cublasSspr cublasSspr_v2
#define cublasDspr cublasDspr_v2
#define cublasChpr cublasChpr_v2
#define cublasZhpr cublasZhpr_v2
#define cublasSspr2 cublasSspr2_v2
#define cublasDspr2 cublasDspr2_v2
#define cublasChpr2 cublasChpr2_v2
#define cublasZhpr2 cublasZhpr2_v2
#define cublasStrmv cublasStrmv_v2
#define cublasDtrmv cublasDtrmv_v2
#define cublasCtrmv cublasCtrmv_v2
#define cublasZtrmv cublasZtrmv_v2
#define cublasStbmv cublasStbmv_v2
#define cublasDtbmv cublasDtbmv_v2
#define cublasCtbmv cublasCtbmv_v2
#define cublasZtbmv cublasZtbmv_v2
#define cublasStpmv cublasStpmv_v2
#define cublasDtpmv cublasDtpmv_v2
#define cublasCtpmv cublasCtpmv_v2
#define cublasZtpmv cublasZtpmv_v2
#define cublasStrsv cublasStrsv_v2
#define cublasDtrsv cublasDtrsv_v2
#define cublasCtrsv cublasCtrsv_v2
#define cublasZtrsv cublasZtrsv_v2
#define cublasStbsv cublasStbsv_v2
#define cublasDtbsv cublasDtbsv_v2
#define cublasCtbsv cublasCtbsv_v2
#define cublasZtbsv cublasZtbsv_v2
#define cublasStpsv cublasStpsv_v2
#define cublasDtpsv cublasDtpsv_v2
#define cublasCtpsv cublasCtpsv_v2
#define cublasZtpsv cublasZtpsv_v2
#define cublasSgemm cublasSgemm_v2
#define cublasDgemm cublasDgemm_v2
#define cublasCgemm cublasCgemm_v2
#define cublasZgemm cublasZgemm_v2
#define cublasSsymm cublasSsymm_v2
#define cublasDsymm cublasDsymm_v2
#define cublasCsymm cublasCsymm_v2
#define cublasZsymm cublasZsymm_v2
#define cublasChemm cublasChemm_v2
#define cublasZhemm cublasZhemm_v2
#define cublasSsyrk cublasSsyrk_v2
#define cublasDsyrk cublasDsyrk_v2
#define cublasCsyrk cublasCsyrk_v2
#define cublasZsyrk cublasZsyrk_v2
#define cublasCherk cublasCherk_v2
#define cublasZherk cublasZherk_v2
#define cublasSsyr2k cublasSsyr2k_v2
#define cublasDsyr2k cublasDsyr2k_v2
#define cublasCsyr2k cublasCsyr2k_v2
#define cublasZsyr2k cublasZsyr2k_v2
#define cublasCher2k cublasCher2k_v2
#define cublasZher2k cublasZher2k_v2
#define cublasStrmm cublasStrmm_v2
#define cublasDtrmm cublasDtrmm_v2
#define cublasCtrmm cublasCtrmm_v2
#define cublasZtrmm cublasZtrmm_v2
#define cublasStrsm cublasStrsm_v2
#define cublasDtrsm cublasDtrsm_v2
#define cublasCtrsm cublasCtrsm_v2
#define cublasZtrsm cublasZtrsm_v2
#endif

/* Mathematical functions: single precision on every chip, double precision on sm_13.
 *
 * Below sm_13 a double is a float, and the functions of doubles are those of floats. Polynomials were fitted at
 * Chebyshev points to the function named beside them.
 */
#ifndef ISAKIT_MATH_FUNCTIONS_H
#define ISAKIT_MATH_FUNCTIONS_H
#define __MATH_FUNCTIONS_H__ /* programs ask for it */
#include "device_functions.h"

#ifdef __CUDACC__
#include "math_single.h"
#include "math_special.h"
#include "math_double.h"
#include "math_overloads.h"
#endif

/* The host's own functions; a program finds those of both sides by one name. */
#ifndef __ISAKIT_ALONE__
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined __CUDACC__ && defined __cplusplus
#include <cmath>
#include "math_host.h"
#endif
#endif

#endif

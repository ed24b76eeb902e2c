/* A name that CUDA has for a part of it. */
#include "math_functions.h"

/* A name that CUDA has for a part of it. */
#include "cuda_runtime_api.h"

/* A name that CUDA has for a part of it. */
#include "driver_types.h"

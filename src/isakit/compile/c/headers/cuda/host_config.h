/* A name that CUDA has for a part of it. */
#include "host_defines.h"

/* A name that CUDA has for a part of it. */
#include "texture_types.h"

/* A name that CUDA has for a part of it. */
#include "device_functions.h"

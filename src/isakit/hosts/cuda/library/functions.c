/* The functions that the table generates. */
#include "isakit.h"

#include "functions.h"

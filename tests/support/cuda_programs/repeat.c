/* As many launches of a kernel of one thread as the argument says, and what all of them have added up to. */
#include "cuda_api.h"

int main(int argc, char **argv)
{
    unsigned count_of = argc > 1 ? (unsigned)atoi(argv[1]) : 1000, by = 3, counted;
    for (unsigned k = 0; k < count_of; k++) OK(launch(&count, (dim3){1, 1, 1}, (dim3){1, 1, 1}, &by, 4));
    OK(cudaMemcpyFromSymbol(&counted, counter_shadow, 4, 0, TO_HOST));
    EXPECT(counted, 40 + by * count_of);
    puts("PASSED");
}

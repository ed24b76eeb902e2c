/* Functions that are not there: the calls are made from the table of the interfaces. */
#include "cuda_api.h"
#include "refused.h"

int cuInit(unsigned);

int main(void)
{
    OK(cuInit(0));
    calls();
}

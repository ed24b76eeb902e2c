/* What later chips have: declared, so that a kernel that uses it is told what its chip lacks and what to write instead. The
 * back end refuses calls of the functions that are nowhere defined (`compile.translate.function`); what a program never
 * calls, such as a part of a library, is not refused. */
#ifndef ISAKIT_LATER_CHIPS_H
#define ISAKIT_LATER_CHIPS_H
#include "vector_types.h"

#ifdef __CUDACC__
extern "C" {
__attribute__((device)) void *malloc(__SIZE_TYPE__);
__attribute__((device)) void free(void *);
__attribute__((device)) void __isakit_lacks_shuffles(void);
__attribute__((device)) void __isakit_lacks_ballots(void);
__attribute__((device)) void __isakit_lacks_surfaces(void);
__attribute__((device)) void __isakit_lacks_layers(void);
}
/* Templates give way to functions of these names that a program defines itself. */
#define __ISAKIT_LATER template <class T> __attribute__((device)) inline
#define __ISAKIT_LATER_NUMBERS \
    template <class T, class = decltype(__isakit_converted(T()))> __attribute__((device)) inline
__ISAKIT_LATER unsigned __ballot(T) { return __isakit_lacks_ballots(), 0; }
__ISAKIT_LATER unsigned __ballot_sync(unsigned, T) { return __isakit_lacks_ballots(), 0; }
/* Of numbers only: programs define those of vectors themselves, with arguments of other types. */
__attribute__((device, host)) void __isakit_converted(double);
#define __ISAKIT_SHUFFLED(NAME, N)                                                                        \
    __ISAKIT_LATER_NUMBERS T NAME(T v, N, int = 32) { return __isakit_lacks_shuffles(), v; }              \
    __ISAKIT_LATER_NUMBERS T NAME##_sync(unsigned, T v, N, int = 32) { return __isakit_lacks_shuffles(), v; }
__ISAKIT_SHUFFLED(__shfl, int)
__ISAKIT_SHUFFLED(__shfl_up, unsigned)
__ISAKIT_SHUFFLED(__shfl_down, unsigned)
__ISAKIT_SHUFFLED(__shfl_xor, int)
#undef __ISAKIT_SHUFFLED
#undef __ISAKIT_LATER_NUMBERS
#undef __ISAKIT_LATER

/* An object at a place that is there: no heap. Some clangs' own <new> has these for devices too; it calls malloc. */
#ifndef __ISAKIT_ALONE__
#include <new>
#endif
#ifndef __CLANG_CUDA_WRAPPERS_NEW
__attribute__((device)) inline void *operator new(__SIZE_TYPE__, void *place) noexcept { return place; }
__attribute__((device)) inline void *operator new[](__SIZE_TYPE__, void *place) noexcept { return place; }
__attribute__((device)) inline void operator delete(void *, void *) noexcept {}
__attribute__((device)) inline void operator delete[](void *, void *) noexcept {}
#endif
#endif

#endif

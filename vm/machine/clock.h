/* Seconds that pass, for intervals. */
#ifndef PHINTYS_CLOCK_H
#define PHINTYS_CLOCK_H
#include <time.h>

static inline double phintys_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

#endif

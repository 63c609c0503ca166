/* Whether numbers are finite: LAPACK is not asked about others. */
#ifndef PHINTYS_FINITE_LOOPS_H
#define PHINTYS_FINITE_LOOPS_H

#include "native/vectors.h"

#define LOOPS "factorizations/finite_loops.template.h"
#define FLOATS
#define TWO_SETS
#include "native/each_set.h"
BY_TWO_SETS(all_finite_float);
BY_TWO_SETS(all_finite_double);

#endif

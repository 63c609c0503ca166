/* Whether numbers are finite: LAPACK is not asked about others. all_finite of stack_kernel.pyx calls it for the kernels
 * of factorizations; finite_loops.template.h has the loops. Numbers have no gaps. The answer is the same with each set:
 * only a sum differs, which nobody sees. */
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

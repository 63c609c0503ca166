/* Polynomials of many coefficients: Horner's rule, and sums of powers, of float32 and float64; without gaps. A block of
 * elements is read once for all coefficients.
 */
#ifndef PHINTYS_POLYNOMIAL_LOOPS_H
#define PHINTYS_POLYNOMIAL_LOOPS_H

#include <numpy/npy_common.h>

#include "native/sets.h"

enum { PHINTYS_POLYNOMIAL_BLOCK = 64 };

#define LOOPS "linalg/polynomial_loops.template.h"
#define FLOATS
#include "native/each_set.h"
BY_TYPE_AND_SET(phintys_horner, FOR_EACH_SET);
BY_TYPE_AND_SET(phintys_power_sums, FOR_EACH_SET);

#endif

/* Two normal numbers of two uniform ones, by the method of Box and Muller: sqrt(-2 log u) times the cosine, and the
 * sine, of 2 pi v.
 *
 * The three functions are written for these arguments: u from 2^-31 to 1, angles from 0 to 2 pi. They have no branches,
 * so the compiler makes vectors of them, and no fused multiplication, so all processors compute the same bits. Errors
 * are below 1 ulp (logarithm) and 1.3 ulp (cosine, sine), where that of the angle itself is left out.
 */
#ifndef PHINTYS_BOX_MULLER_LOOPS_H
#define PHINTYS_BOX_MULLER_LOOPS_H

#include "native/sets.h"
#include "mrg_loops.h"
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Polynomials of minimal error, the lowest power first. With s = f / (2 + f): log(1 + f) = 2 s + s z LOG(z), z = s^2;
 * sin r = r + r z SIN(z), cos r = 1 - z / 2 + z^2 COS(z), z = r^2. */
#define T double
#define BITS uint64_t
#define NAME(name) name##_double
#define PAIRS 8                                 /* of a block: vectors of 64 bytes */
#define LOG {0x1.5555555555558p-1, 0x1.99999999952d7p-2, 0x1.2492492df281ap-2, 0x1.c71c62e3f11e5p-3, \
             0x1.7462b51cb66eap-3, 0x1.39fe51a7c12d9p-3, 0x1.2b5900de57b3bp-3}
#define SIN {-0x1.5555555555555p-3, 0x1.1111111110bb2p-7, -0x1.a01a019e83816p-13, 0x1.71de379654304p-19, \
             -0x1.ae600aca92c63p-26, 0x1.5e0b05bff209ap-33}
#define COS {0x1.5555555555555p-5, -0x1.6c16c16c16967p-10, 0x1.a01a019f4e9b4p-16, -0x1.27e4fa17bf139p-22, \
             0x1.1eeb68cd22f56p-29, -0x1.907d8f29fe7d9p-37}
#define FRACTION 52                             /* bits after the point, */
#define LEAST 0x3fe6a09e667f3bcdULL             /* and those of sqrt(1/2), 1 and 2^FRACTION */
#define ONE 0x3ff0000000000000ULL
#define POWER 0x4330000000000000ULL
#define LOG_2_HIGH 0x1.62e42fee00000p-1         /* high parts have so few bits that their multiples are exact */
#define LOG_2_LOW 0x1.a39ef35793c76p-33
#define ROUND 0x1.8p52
#define QUARTER_HIGH 0x1.921fb54400000p+0       /* pi / 2 */
#define QUARTER_MIDDLE 0x1.0b4611a600000p-34
#define QUARTER_LOW 0x1.3198a2e037073p-69
#define SQRT sqrt
#define SAMPLE phintys_mrg_double
#include "box_muller_loops.template.h"

#define T float
#define BITS uint32_t
#define NAME(name) name##_float
#define PAIRS 16
#define LOG {0x1.55555cp-1f, 0x1.997c2ep-2f, 0x1.2ee656p-2f}
#define SIN {-0x1.555552p-3f, 0x1.110c28p-7f, -0x1.9ac98ep-13f}
#define COS {0x1.555554p-5f, -0x1.6c12d2p-10f, 0x1.9bd88p-16f}
#define FRACTION 23
#define LEAST 0x3f3504f3u
#define ONE 0x3f800000u
#define POWER 0x4b000000u
#define LOG_2_HIGH 0x1.62e4p-1f
#define LOG_2_LOW 0x1.7f7d1cp-20f
#define ROUND 0x1.8p23f
#define QUARTER_HIGH 0x1.921fap+0f
#define QUARTER_MIDDLE 0x1.54442p-20f
#define QUARTER_LOW 0x1.a308d4p-41f
#define SQRT sqrtf
#define SAMPLE phintys_mrg_float
#include "box_muller_loops.template.h"

#endif

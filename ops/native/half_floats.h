/* Conversion of float16, stored in a uint16_t, to double, and back with rounding half to even. For casts
 * where the processor has no instruction for it, and for single numbers. The bits are those of NumPy's conversions, NaN
 * aside: it is the quiet one of its sign. */
#ifndef PHINTYS_HALF_FLOATS_H
#define PHINTYS_HALF_FLOATS_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline double phintys_from_half(uint16_t half) {
    int exponent = (half >> 10) & 31, fraction = half & 1023;
    double magnitude;
    if (exponent == 31) magnitude = fraction ? NAN : INFINITY;
    else if (exponent == 0) magnitude = fraction * 0x1p-24;
    else {
        uint64_t bits = (uint64_t)(exponent + 1008) << 52 | (uint64_t)fraction << 42;
        memcpy(&magnitude, &bits, 8);
    }
    return half & 0x8000 ? -magnitude : magnitude;
}

static inline uint16_t phintys_to_half(double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
    double magnitude = fabs(value);
    if (magnitude != magnitude) return sign | 0x7e00;
    if (magnitude >= 65520.0) return sign | 0x7c00;
    if (magnitude < 0x1p-14) return sign | (uint16_t)rint(magnitude * 0x1p24);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t scale_bits = (uint64_t)(1023 + 10 - exponent) << 52;
    double scale;
    memcpy(&scale, &scale_bits, 8);
    /* rint rounds half to even; a carry out of the fraction correctly increments the exponent */
    return sign | (uint16_t)(((exponent + 14) << 10) + (int)rint(magnitude * scale));
}

#endif

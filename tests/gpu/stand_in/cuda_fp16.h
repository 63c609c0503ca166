// The functions of CUDA's header of this name that kernels use, for the stand-in.
#pragma once
#include <cstdint>
#include <cstring>

struct __half { unsigned short bits; };
static inline __half __ushort_as_half(unsigned short bits) { return {bits}; }
static inline unsigned short __half_as_ushort(__half half) { return half.bits; }

static inline float __half2float(__half half) {
    const uint32_t sign = (uint32_t)(half.bits & 0x8000) << 16, exponent = half.bits >> 10 & 31;
    uint32_t mantissa = half.bits & 1023, bits;
    if (exponent == 31) bits = sign | 0x7F800000 | mantissa << 13;
    else if (exponent) bits = sign | (exponent + 112) << 23 | mantissa << 13;
    else {                                       // zero, or a subnormal number
        const float small = (float)mantissa / 16777216.0f;
        memcpy(&bits, &small, 4);
        bits |= sign;
    }
    float result;
    memcpy(&result, &bits, 4);
    return result;
}

static inline __half __float2half_rn(float number) {
    uint32_t bits;
    memcpy(&bits, &number, 4);
    const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7FFFFFFF;
    if (magnitude > 0x7F800000) return {(unsigned short)(sign | 0x7E00)};
    if (magnitude >= 0x47800000) return {(unsigned short)(sign | 0x7C00)};
    if (magnitude < 0x38800000) {                // a subnormal result: let addition round it
        float positive;
        memcpy(&positive, &magnitude, 4);
        positive += 0.5f;
        memcpy(&bits, &positive, 4);
        return {(unsigned short)(sign | (bits - 0x3F000000))};
    }
    const uint32_t rounded = magnitude + 0xFFF + (magnitude >> 13 & 1);
    return {(unsigned short)(sign | ((rounded - 0x38000000) >> 13))};
}

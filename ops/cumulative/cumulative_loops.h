/* Cumulative sums and products along lines of any stride, with the totals in registers.
 *
 * `phintys_cumulative[multiplies][type]` has the types in the order of `loops.TYPES` up to float64; the entry for half
 * precision is empty, because C has no arithmetic for it. Integers wrap around. The sum of booleans is `or`, the
 * product is `and`. Each step depends on the total of the previous one, so a single line runs at the latency of the
 * operation; where that is several cycles, four independent lines are processed at once.
 */
#ifndef PHINTYS_CUMULATIVE_LOOPS_H
#define PHINTYS_CUMULATIVE_LOOPS_H

#include <numpy/npy_common.h>
#include <stdint.h>

/* Processes `lines` lines of `count` elements; `next_source` and `next_target` are the strides between lines. If the
 * lines are continued, the totals before the first elements of `target` are there already. */
typedef void (*phintys_running)(const char *source, npy_intp stride, npy_intp next_source, char *target,
                                npy_intp target_stride, npy_intp next_target, npy_intp count, npy_intp lines,
                                int continued);

/* AT_ONCE: the number of lines processed at once, 4 or 1. `NAME` calls `NAME##_lines` with constant strides for
 * contiguous lines, so that the compiler generates a second version of the loop with fixed strides. */
#define PHINTYS_RUNNING(NAME, TYPE, START, OPERATION, AT_ONCE)                                                         \
    static inline __attribute__((always_inline)) void NAME##_lines(                                                    \
            const char *source, npy_intp stride, npy_intp next_source, char *target, npy_intp target_stride,           \
            npy_intp next_target, npy_intp count, npy_intp lines, int continued) {                                     \
        for (; AT_ONCE == 4 && lines >= 4; lines -= 4, source += 4 * next_source, target += 4 * next_target) {         \
            TYPE a = continued ? *(const TYPE *)(target - target_stride) : START;                                      \
            TYPE b = continued ? *(const TYPE *)(target - target_stride + next_target) : START;                        \
            TYPE c = continued ? *(const TYPE *)(target - target_stride + 2 * next_target) : START;                    \
            TYPE d = continued ? *(const TYPE *)(target - target_stride + 3 * next_target) : START;                    \
            const char *from = source;                                                                                 \
            char *to = target;                                                                                         \
            for (npy_intp i = 0; i < count; i++, from += stride, to += target_stride) {                                \
                a = OPERATION(a, *(const TYPE *)from);                                                                 \
                b = OPERATION(b, *(const TYPE *)(from + next_source));                                                 \
                c = OPERATION(c, *(const TYPE *)(from + 2 * next_source));                                             \
                d = OPERATION(d, *(const TYPE *)(from + 3 * next_source));                                             \
                *(TYPE *)to = a;                                                                                       \
                *(TYPE *)(to + next_target) = b;                                                                       \
                *(TYPE *)(to + 2 * next_target) = c;                                                                   \
                *(TYPE *)(to + 3 * next_target) = d;                                                                   \
            }                                                                                                          \
        }                                                                                                              \
        for (; lines > 0; lines--, source += next_source, target += next_target) {                                     \
            TYPE total = continued ? *(const TYPE *)(target - target_stride) : START;                                  \
            const char *from = source;                                                                                 \
            char *to = target;                                                                                         \
            for (npy_intp i = 0; i < count; i++, from += stride, to += target_stride) {                                \
                total = OPERATION(total, *(const TYPE *)from);                                                         \
                *(TYPE *)to = total;                                                                                   \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void NAME(const char *source, npy_intp stride, npy_intp next_source, char *target, npy_intp target_stride,  \
                     npy_intp next_target, npy_intp count, npy_intp lines, int continued) {                            \
        if (stride == sizeof(TYPE) && target_stride == sizeof(TYPE))                                                   \
            NAME##_lines(source, sizeof(TYPE), next_source, target,                                                    \
                           sizeof(TYPE), next_target, count, lines, continued);                                        \
        else                                                                                                           \
            NAME##_lines(source, stride, next_source, target, target_stride, next_target, count, lines, continued);    \
    }

#define PHINTYS_PLUS(x, y) ((x) + (y))
#define PHINTYS_TIMES(x, y) ((x) * (y))
#define PHINTYS_TIMES_SHORT(x, y) ((uint32_t)(x) * (uint32_t)(y))      /* promoted to int, the product could overflow */
#define PHINTYS_OR(x, y) ((x) | ((y) != 0))
#define PHINTYS_AND(x, y) ((x) & ((y) != 0))

PHINTYS_RUNNING(running_or, uint8_t, 0, PHINTYS_OR, 1)
PHINTYS_RUNNING(running_and, uint8_t, 1, PHINTYS_AND, 1)
PHINTYS_RUNNING(running_sum_1, uint8_t, 0, PHINTYS_PLUS, 1)
PHINTYS_RUNNING(running_sum_2, uint16_t, 0, PHINTYS_PLUS, 1)
PHINTYS_RUNNING(running_sum_4, uint32_t, 0, PHINTYS_PLUS, 1)
PHINTYS_RUNNING(running_sum_8, uint64_t, 0, PHINTYS_PLUS, 1)
PHINTYS_RUNNING(running_sum_float, float, 0, PHINTYS_PLUS, 4)
PHINTYS_RUNNING(running_sum_double, double, 0, PHINTYS_PLUS, 4)
PHINTYS_RUNNING(running_product_1, uint8_t, 1, PHINTYS_TIMES, 4)
PHINTYS_RUNNING(running_product_2, uint16_t, 1, PHINTYS_TIMES_SHORT, 4)
PHINTYS_RUNNING(running_product_4, uint32_t, 1, PHINTYS_TIMES, 4)
PHINTYS_RUNNING(running_product_8, uint64_t, 1, PHINTYS_TIMES, 4)
PHINTYS_RUNNING(running_product_float, float, 1, PHINTYS_TIMES, 4)
PHINTYS_RUNNING(running_product_double, double, 1, PHINTYS_TIMES, 4)

/* Signed integers share the loops of unsigned ones, because both wrap around in the same way. */
#define PHINTYS_ALL_RUNNING(KIND, FIRST)                                                                               \
    {FIRST, KIND##_1, KIND##_2, KIND##_4, KIND##_8, KIND##_1, KIND##_2, KIND##_4, KIND##_8, 0, KIND##_float,           \
     KIND##_double}
static const phintys_running phintys_cumulative[2][12] = {PHINTYS_ALL_RUNNING(running_sum, running_or),
                                                          PHINTYS_ALL_RUNNING(running_product, running_and)};

#endif

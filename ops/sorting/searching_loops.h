/* Binary searches for many needles at once, for every dtype that can be sorted.
 *
 * Needles come in blocks that step through one search together: halving a range takes as many steps wherever a needle
 * ends up, so there is no branch to guess, and the loads of a block overlap. A block of ascending needles that starts
 * behind the one before it searches only the range that it spans, found by steps of doubling length; so sorted needles
 * cost little. NaN counts as larger than every number, as in NumPy; such needles are searched for one by one. Where it
 * costs little to see that values are not sorted, the places, which mean nothing, are those that NumPy finds.
 */
#ifndef PHINTYS_SEARCHING_LOOPS_H
#define PHINTYS_SEARCHING_LOOPS_H

#include <numpy/npy_common.h>
#include <stdint.h>

#define PHINTYS_NEEDLES 16
#if defined(__GNUC__)
#define PHINTYS_INLINE static inline __attribute__((always_inline))
#else
#define PHINTYS_INLINE static inline
#endif

typedef struct {
    const char *values;
    npy_intp stride, length;
    const int64_t *order;               /* in which the values are sorted; or NULL */
    int wrong;                          /* set when a number of the order that was looked at is no position */
} Haystack;

typedef void (*phintys_search_needles)(Haystack *haystack, const char *needles, npy_intp count, int64_t *places);

/* ---- what stands in front of what; x stands for an element, y for the needle ------------------------------------- */
typedef struct { float real, imag; } phintys_complex64;
typedef struct { double real, imag; } phintys_complex128;

/* float16 as an integer that orders alike. */
PHINTYS_INLINE int half_rank(uint16_t half) { return half & 0x8000 ? -(half & 0x7fff) : half & 0x7fff; }

#define NEVER_NAN(x) 0
#define REAL_NAN(x) ((x) != (x))
#define HALF_NAN(x) (((x) & 0x7fff) > 0x7c00)
#define COMPLEX_NAN(x) (REAL_NAN((x).real) | REAL_NAN((x).imag))
#define LESS(x, y) ((x) < (y))
#define SAME(x, y) ((x) == (y))
#define HALF_LESS(x, y) (!HALF_NAN(x) & (half_rank(x) < half_rank(y)))
#define HALF_SAME(x, y) (!HALF_NAN(x) & (half_rank(x) == half_rank(y)))
#define COMPLEX_LESS(x, y)                                                                                             \
    ((((x).real < (y).real) & !REAL_NAN((x).imag)) | (((x).real == (y).real) & ((x).imag < (y).imag)))
#define COMPLEX_SAME(x, y) (((x).real == (y).real) & ((x).imag == (y).imag))
/* The same when y is NaN. Complex numbers without NaN stand before x + NaNj, NaN + xj and NaN + NaNj. */
#define NAN_KIND(x) (2 * REAL_NAN((x).real) + REAL_NAN((x).imag))
#define NUMBER_BESIDE_NAN(x) (REAL_NAN((x).real) ? (x).imag : (x).real)
#define COMPLEX_LESS_NAN(x, y)                                                                                         \
    (NAN_KIND(x) != NAN_KIND(y) ? NAN_KIND(x) < NAN_KIND(y)                                                            \
                                : NAN_KIND(y) < 3 && NUMBER_BESIDE_NAN(x) < NUMBER_BESIDE_NAN(y))
#define COMPLEX_SAME_NAN(x, y)                                                                                         \
    (NAN_KIND(x) == NAN_KIND(y) && (NAN_KIND(y) == 3 || NUMBER_BESIDE_NAN(x) == NUMBER_BESIDE_NAN(y)))
#define LESS_NAN(x, y) (!REAL_NAN(x))
#define SAME_NAN(x, y) REAL_NAN(x)
#define HALF_LESS_NAN(x, y) (!HALF_NAN(x))
#define HALF_SAME_NAN(x, y) HALF_NAN(x)
#define NEVER(x, y) 0

/* ---- one dtype; `or_equal` and `ordered` are constants where these functions are inlined ------------------------- */
#define DEFINE_SEARCH(NAME, T, IS_NAN, IS_LESS, IS_SAME, IS_LESS_NAN, IS_SAME_NAN)                                     \
    PHINTYS_INLINE T element_##NAME(Haystack *hay, npy_intp place, int ordered) {                                      \
        if (ordered) {                                                                                                 \
            int outside = (uint64_t)hay->order[place] >= (uint64_t)hay->length;                                        \
            hay->wrong |= outside;                                                                                     \
            place = outside ? 0 : hay->order[place];                                                                   \
        }                                                                                                              \
        return *(const T *)(hay->values + place * hay->stride);                                                        \
    }                                                                                                                  \
    PHINTYS_INLINE int is_before_##NAME(T x, T y, int or_equal) {                                                      \
        return IS_LESS(x, y) | (or_equal && IS_SAME(x, y));                                                            \
    }                                                                                                                  \
    PHINTYS_INLINE int is_before_nan_##NAME(T x, T y, int or_equal) {                                                  \
        return IS_LESS_NAN(x, y) || (or_equal && IS_SAME_NAN(x, y));                                                   \
    }                                                                                                                  \
    PHINTYS_INLINE int is_before_any_##NAME(T x, T y, int or_equal) {                                                  \
        return IS_NAN(y) ? is_before_nan_##NAME(x, y, or_equal) : is_before_##NAME(x, y, or_equal);                    \
    }                                                                                                                  \
    /* The place of a NaN. */                                                                                          \
    PHINTYS_INLINE npy_intp place_of_nan_##NAME(Haystack *hay, T needle, int or_equal, int ordered) {                  \
        npy_intp first = 0, behind = hay->length;                                                                      \
        while (first < behind) {                                                                                       \
            npy_intp middle = first + (behind - first) / 2;                                                            \
            if (is_before_nan_##NAME(element_##NAME(hay, middle, ordered), needle, or_equal)) first = middle + 1;      \
            else behind = middle;                                                                                      \
        }                                                                                                              \
        return first;                                                                                                  \
    }                                                                                                                  \
    PHINTYS_INLINE int is_ascending_##NAME(const T *needles, int count) {                                              \
        int ascending = 1;                                                                                             \
        for (int j = 0; j < count; j++) ascending &= !(IS_NAN(needles[j]));                                            \
        for (int j = 1; j < count; j++) ascending &= !(IS_LESS(needles[j], needles[j - 1]));                           \
        return ascending;                                                                                              \
    }                                                                                                                  \
    /* A length from `start` on that holds all places up to that of the needle. */                                     \
    PHINTYS_INLINE npy_intp reach_##NAME(Haystack *hay, npy_intp start, T needle, int or_equal, int ordered) {         \
        npy_intp end = start, step = 1;                                                                                \
        while (end < hay->length && is_before_##NAME(element_##NAME(hay, end, ordered), needle, or_equal)) {           \
            end += step;                                                                                               \
            step *= 2;                                                                                                 \
        }                                                                                                              \
        return (end < hay->length ? end + 1 : hay->length) - start;                                                    \
    }                                                                                                                  \
    /* The places of a whole block, between `start` and `start + left`. */                                             \
    PHINTYS_INLINE void halve_##NAME(Haystack *hay, const T *needles, npy_intp start, npy_intp left, int64_t *places,  \
                                     int or_equal, int ordered) {                                                      \
        for (int j = 0; j < PHINTYS_NEEDLES; j++) places[j] = start;                                                   \
        if (left == 0) return;                                                                                         \
        for (; left > 1; left -= left / 2) {                                                                           \
            npy_intp half = left / 2;                                                                                  \
            for (int j = 0; j < PHINTYS_NEEDLES; j++) {                                                                \
                T element = element_##NAME(hay, places[j] + half - 1, ordered);                                        \
                places[j] += half & -(npy_intp)(is_before_##NAME(element, needles[j], or_equal) != 0);                 \
            }                                                                                                          \
        }                                                                                                              \
        for (int j = 0; j < PHINTYS_NEEDLES; j++)                                                                      \
            places[j] += is_before_##NAME(element_##NAME(hay, places[j], ordered), needles[j], or_equal) != 0;         \
    }                                                                                                                  \
    PHINTYS_INLINE int is_sorted_##NAME(Haystack *hay, int ordered) {                                                  \
        int sorted = 1;                                                                                                \
        for (npy_intp i = 1; i < hay->length; i++)                                                                     \
            sorted &= !(IS_LESS(element_##NAME(hay, i, ordered), element_##NAME(hay, i - 1, ordered)));                \
        return sorted;                                                                                                 \
    }                                                                                                                  \
    /* NumPy's own steps: each needle starts between the ends where the one before it stopped. */                      \
    PHINTYS_INLINE void search_unsorted_##NAME(Haystack *hay, const T *needles, npy_intp count, int64_t *places,       \
                                               int or_equal, int ordered) {                                            \
        npy_intp first = 0, behind = hay->length;                                                                      \
        for (npy_intp i = 0; i < count; i++) {                                                                         \
            if (i && is_before_any_##NAME(needles[i - 1], needles[i], or_equal)) behind = hay->length;                 \
            else first = 0, behind = behind < hay->length ? behind + 1 : hay->length;                                  \
            while (first < behind) {                                                                                   \
                npy_intp middle = first + (behind - first) / 2;                                                        \
                if (is_before_any_##NAME(element_##NAME(hay, middle, ordered), needles[i], or_equal))                  \
                    first = middle + 1;                                                                                \
                else behind = middle;                                                                                  \
            }                                                                                                          \
            places[i] = first;                                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    PHINTYS_INLINE void search_##NAME(Haystack *hay, const T *needles, npy_intp count, int64_t *places, int or_equal,  \
                                      int ordered) {                                                                   \
        if (hay->length <= count && !is_sorted_##NAME(hay, ordered)) {                                                 \
            search_unsorted_##NAME(hay, needles, count, places, or_equal, ordered);                                    \
            return;                                                                                                    \
        }                                                                                                              \
        for (npy_intp done = 0; done < count; done += PHINTYS_NEEDLES) {                                               \
            int block = count - done < PHINTYS_NEEDLES ? (int)(count - done) : PHINTYS_NEEDLES;                        \
            int64_t found[PHINTYS_NEEDLES];                                                                            \
            T sought[PHINTYS_NEEDLES];                                                                                 \
            npy_intp start = 0, left = hay->length;                                                                    \
            for (int j = 0; j < PHINTYS_NEEDLES; j++) sought[j] = needles[done + (j < block ? j : block - 1)];         \
            if (done && is_ascending_##NAME(needles + done - 1, block + 1)) {                                          \
                start = places[done - 1];                                                                              \
                left = reach_##NAME(hay, start, sought[block - 1], or_equal, ordered);                                 \
            }                                                                                                          \
            halve_##NAME(hay, sought, start, left, found, or_equal, ordered);                                          \
            for (int j = 0; j < block; j++)                                                                            \
                places[done + j] = IS_NAN(sought[j]) ? place_of_nan_##NAME(hay, sought[j], or_equal, ordered)          \
                                                     : found[j];                                                       \
        }                                                                                                              \
    }                                                                                                                  \
    static void left_##NAME(Haystack *hay, const char *needles, npy_intp count, int64_t *places) {                     \
        search_##NAME(hay, (const T *)needles, count, places, 0, 0);                                                   \
    }                                                                                                                  \
    static void right_##NAME(Haystack *hay, const char *needles, npy_intp count, int64_t *places) {                    \
        search_##NAME(hay, (const T *)needles, count, places, 1, 0);                                                   \
    }                                                                                                                  \
    static void left_ordered_##NAME(Haystack *hay, const char *needles, npy_intp count, int64_t *places) {             \
        search_##NAME(hay, (const T *)needles, count, places, 0, 1);                                                   \
    }                                                                                                                  \
    static void right_ordered_##NAME(Haystack *hay, const char *needles, npy_intp count, int64_t *places) {            \
        search_##NAME(hay, (const T *)needles, count, places, 1, 1);                                                   \
    }

/* In the order of TYPES in loops.pyx. */
#define SEARCHED_TYPES(X)                                                                                              \
    X(bool, uint8_t, NEVER_NAN, LESS, SAME, NEVER, NEVER)                                                              \
    X(int8, int8_t, NEVER_NAN, LESS, SAME, NEVER, NEVER)                                                               \
    X(int16, int16_t, NEVER_NAN, LESS, SAME, NEVER, NEVER)                                                             \
    X(int32, int32_t, NEVER_NAN, LESS, SAME, NEVER, NEVER)                                                             \
    X(int64, int64_t, NEVER_NAN, LESS, SAME, NEVER, NEVER)                                                             \
    X(uint8, uint8_t, NEVER_NAN, LESS, SAME, NEVER, NEVER)                                                             \
    X(uint16, uint16_t, NEVER_NAN, LESS, SAME, NEVER, NEVER)                                                           \
    X(uint32, uint32_t, NEVER_NAN, LESS, SAME, NEVER, NEVER)                                                           \
    X(uint64, uint64_t, NEVER_NAN, LESS, SAME, NEVER, NEVER)                                                           \
    X(float16, uint16_t, HALF_NAN, HALF_LESS, HALF_SAME, HALF_LESS_NAN, HALF_SAME_NAN)                                 \
    X(float32, float, REAL_NAN, LESS, SAME, LESS_NAN, SAME_NAN)                                                        \
    X(float64, double, REAL_NAN, LESS, SAME, LESS_NAN, SAME_NAN)                                                       \
    X(complex64, phintys_complex64, COMPLEX_NAN, COMPLEX_LESS, COMPLEX_SAME, COMPLEX_LESS_NAN, COMPLEX_SAME_NAN)       \
    X(complex128, phintys_complex128, COMPLEX_NAN, COMPLEX_LESS, COMPLEX_SAME, COMPLEX_LESS_NAN, COMPLEX_SAME_NAN)
SEARCHED_TYPES(DEFINE_SEARCH)

#define SEARCH_ROW(NAME, ...) {{left_##NAME, left_ordered_##NAME}, {right_##NAME, right_ordered_##NAME}},
/* [dtype][right][ordered] */
static const phintys_search_needles phintys_searches_for_needles[][2][2] = {SEARCHED_TYPES(SEARCH_ROW)};

#endif

/* Selection without sorting: partitions of a line, and its largest or smallest elements with their positions, for every
 * dtype. selection_loops.template.h has them for one dtype and one instruction set, quickselect.template.h the
 * partitions, selection_vectors.h what vectors need.
 *
 * NaN is after every number, as NumPy sorts. Among equal values the best are those that are first in the line, so their
 * positions are determined.
 */
#ifndef PHINTYS_SELECTION_LOOPS_H
#define PHINTYS_SELECTION_LOOPS_H

#include <numpy/npy_common.h>
#include <stdint.h>
#include <string.h>

#include "native/sets.h"
#include "orders.h"

enum { PHINTYS_BELOW, PHINTYS_AT_MOST, PHINTYS_NUMBERS };   /* which elements a separation moves to the front */
enum { PHINTYS_LONG_LINE = 100000 };                        /* one that does not fit in the L1 and L2 caches */
enum { PHINTYS_SAMPLE = 255, PHINTYS_MARGIN = 16 };         /* two deviations of the rank of an element in a sample */
enum { PHINTYS_FEW = 12 };                                /* so many best ones are kept in order while a line is read */

typedef struct {
    npy_intp wanted;                    /* elements, at least 1 */
    npy_intp capacity;                  /* candidates that there is room for: more than `wanted`, or the whole line */
    int largest;                        /* or the smallest ones */
    int sorted;                         /* the best one first */
    int position_size;                     /* bytes of the integers that hold positions */
    int (*sort)(void *, npy_intp, void *);                  /* NumPy's, of the dtype */
    int (*argsort)(void *, npy_intp *, npy_intp, void *);
    int (*sort_positions)(void *, npy_intp, void *);           /* NumPy's, of npy_intp */
} Best;

/* A partition reads a line without gaps and writes another one, or the same. */
typedef void (*phintys_partition)(const char *from, char *line, npy_intp count, const npy_intp *chosen,
                                  npy_intp n_chosen, char *room);
typedef void (*phintys_argpartition)(const char *line, npy_intp step, npy_intp count, const npy_intp *chosen,
                                     npy_intp n_chosen, char *room, char *positions, npy_intp positions_step);
typedef void (*phintys_best)(const char *line, npy_intp step, npy_intp count, const Best *best, char *room,
                             char *values, npy_intp values_step, char *positions, npy_intp positions_step);

typedef struct {
    phintys_partition partition;
    phintys_argpartition argpartition;
    phintys_best best;
    int value_size, position_size, pair_size;                  /* bytes */
} Selection;

/* Bytes of an array in `room`. Vectors may be written past its end, and another one after these. */
PHINTYS_INLINE npy_intp phintys_segment(npy_intp count, npy_intp itemsize) {
    return (count * itemsize + 2 * 64 + 63) & ~(npy_intp)63;
}
static npy_intp phintys_partition_room(const Selection *of, npy_intp count) {
    return phintys_segment(count, of->value_size);
}
static npy_intp phintys_argpartition_room(const Selection *of, npy_intp count) {
    return 2 * phintys_segment(count, of->value_size) + 2 * phintys_segment(count, of->position_size);
}
static npy_intp phintys_best_room(const Selection *of, const Best *best) {
    if (best->wanted <= PHINTYS_FEW) return phintys_segment(best->wanted, of->pair_size);
    return 3 * phintys_segment(best->capacity, of->value_size) + phintys_segment(best->capacity, of->position_size)
           + phintys_segment(best->wanted, sizeof(npy_intp));
}

PHINTYS_INLINE void phintys_write_position(char *to, int size, npy_intp position) {
    switch (size) {
        case 1: *(int8_t *)to = (int8_t)position; break;
        case 2: *(int16_t *)to = (int16_t)position; break;
        case 4: *(int32_t *)to = (int32_t)position; break;
        default: *(int64_t *)to = position;
    }
}

/* ---- every dtype, without vectors of its own --------------------------------------------------------------------- */
/* Dtypes that have vectors below use this where there are none, so they need no clones. For others the widest registers
 * gain nothing: they compare numbers of 4 and 8 bytes only. */
#if defined(__GNUC__) && defined(__x86_64__)
#define ENTRY_OF_VECTORS
#else
#define ENTRY_OF_VECTORS PHINTYS_CLONES
#endif
#define SET baseline
#define FOR_SET
#define WIDTH 1
#define HAS_NAN 0                       /* BEFORE orders it */
#define P npy_intp
#define BEFORE BEFORE_OF_INTEGERS
#define MAYBE_ABOVE ABOVE_OF_INTEGERS
#define MAYBE_BELOW BELOW_OF_INTEGERS
#define ENTRY PHINTYS_AVX2_CLONES
#define T uint8_t
#define DTYPE uint8
#include "selection_loops.template.h"
#define T uint16_t
#define DTYPE uint16
#include "selection_loops.template.h"
#define T int8_t
#define DTYPE int8
#include "selection_loops.template.h"
#define T int16_t
#define DTYPE int16
#include "selection_loops.template.h"
#undef ENTRY
#define ENTRY ENTRY_OF_VECTORS
#define T uint32_t
#define DTYPE uint32
#include "selection_loops.template.h"
#define T uint64_t
#define DTYPE uint64
#include "selection_loops.template.h"
#define T int32_t
#define DTYPE int32
#include "selection_loops.template.h"
#define T int64_t
#define DTYPE int64
#include "selection_loops.template.h"
#undef BEFORE
#undef MAYBE_ABOVE
#undef MAYBE_BELOW

#define BEFORE BEFORE_OF_FLOATS
#define MAYBE_ABOVE ABOVE_OF_FLOATS
#define MAYBE_BELOW BELOW_OF_FLOATS
#define T float
#define DTYPE float32
#include "selection_loops.template.h"
#define T double
#define DTYPE float64
#include "selection_loops.template.h"
#undef BEFORE
#undef MAYBE_ABOVE
#undef MAYBE_BELOW

#undef ENTRY
#define ENTRY PHINTYS_AVX2_CLONES
#define BEFORE BEFORE_OF_HALVES
#define MAYBE_ABOVE(a, b) BEFORE(b, a)
#define MAYBE_BELOW(a, b) BEFORE(a, b)
#define T uint16_t
#define DTYPE float16
#define P npy_intp
#include "selection_loops.template.h"
#undef BEFORE

#undef ENTRY
#define ENTRY                           /* complex numbers are not compared by vectors: no clones */
#define BEFORE BEFORE_OF_COMPLEX
#define T phintys_pair_of_floats
#define DTYPE complex64
#define P npy_intp
#include "selection_loops.template.h"
#define T phintys_pair_of_doubles
#define DTYPE complex128
#define P npy_intp
#include "selection_loops.template.h"
#undef BEFORE
#undef MAYBE_ABOVE
#undef MAYBE_BELOW
#undef SET
#undef FOR_SET
#undef ENTRY
#undef ENTRY_OF_VECTORS
#undef WIDTH
#undef HAS_NAN
#undef P

#define SELECTION_ROW(DTYPE, SET, PLACE) \
    {partition_line_##DTYPE##_##SET, argpartition_line_##DTYPE##_##SET, best_of_line_##DTYPE##_##SET, \
     sizeof(value_##DTYPE##_##SET), sizeof(PLACE), sizeof(pair_##DTYPE##_##SET)}
#define BASELINE_ROW(DTYPE) SELECTION_ROW(DTYPE, baseline, npy_intp)

/* In the order of TYPES in loops.pyx. */
static const Selection phintys_selections[] = {
    BASELINE_ROW(uint8), BASELINE_ROW(int8), BASELINE_ROW(int16), BASELINE_ROW(int32), BASELINE_ROW(int64),
    BASELINE_ROW(uint8), BASELINE_ROW(uint16), BASELINE_ROW(uint32), BASELINE_ROW(uint64),
    BASELINE_ROW(float16), BASELINE_ROW(float32), BASELINE_ROW(float64), BASELINE_ROW(complex64),
    BASELINE_ROW(complex128),
};

/* ---- dtypes of 4 and 8 bytes, by vectors ------------------------------------------------------------------------- */
#if defined(__GNUC__) && defined(__x86_64__)
#include "selection_vectors.h"

#define SET avx2
#define FOR_SET PHINTYS_FOR_AVX2
#define V __m256i
#define ALL 255
#define LOAD(from) _mm256_loadu_si256((const __m256i *)(from))
#define STORE(to, vector) _mm256_storeu_si256((__m256i *)(to), vector)
#define STORE_FIRST(to, vector, mask) phintys_store_first_avx2((int *)(to), vector, __builtin_popcount(mask))
#define SPREAD(x) PHINTYS_NAMED(AVX2_SPREAD, DTYPE)(x)
#define BELOW(a, b) PHINTYS_NAMED(AVX2_BELOW, DTYPE)(a, b)
#define AT_MOST(a, b) PHINTYS_NAMED(AVX2_AT_MOST, DTYPE)(a, b)
#define PACK(vector, mask) phintys_pack_avx2(vector, mask)

#define WIDTH 8
#define COUNT(mask) __builtin_popcount(mask)
#define POSITIONS(first) AVX2_POSITIONS_4(first)
#include "selection_of_4_bytes.template.h"

#define WIDTH 4
#define COUNT(mask) (__builtin_popcount(mask) >> 1)
#define POSITIONS(first) AVX2_POSITIONS_8(first)
#include "selection_of_8_bytes.template.h"

#undef SET
#undef FOR_SET
#undef V
#undef ALL
#undef LOAD
#undef STORE
#undef SPREAD
#undef BELOW
#undef AT_MOST
#undef PACK
#undef STORE_FIRST

#define SET avx512
#define FOR_SET PHINTYS_FOR_AVX512
#define V __m512i
#define LOAD(from) _mm512_loadu_si512(from)
#define STORE(to, vector) _mm512_storeu_si512(to, vector)
#define SPREAD(x) PHINTYS_NAMED(AVX512_SPREAD, DTYPE)(x)
#define BELOW(a, b) PHINTYS_NAMED(AVX512_BELOW, DTYPE)(a, b)
#define AT_MOST(a, b) PHINTYS_NAMED(AVX512_AT_MOST, DTYPE)(a, b)

#define WIDTH 16
#define COUNT(mask) __builtin_popcount(mask)
#define ALL 0xffff
#define PACK(vector, mask) AVX512_PACK_4(vector, mask)
#define STORE_FIRST(to, vector, mask) _mm512_mask_storeu_epi32(to, AVX512_FIRST(16, mask), vector)
#define POSITIONS(first) AVX512_POSITIONS_4(first)
#include "selection_of_4_bytes.template.h"
#undef ALL
#undef PACK
#undef STORE_FIRST

#define COUNT(mask) __builtin_popcount(mask)
#define WIDTH 8
#define ALL 0xff
#define PACK(vector, mask) AVX512_PACK_8(vector, mask)
#define STORE_FIRST(to, vector, mask) _mm512_mask_storeu_epi64(to, AVX512_FIRST(8, mask), vector)
#define POSITIONS(first) AVX512_POSITIONS_8(first)
#include "selection_of_8_bytes.template.h"
#undef ALL
#undef PACK
#undef STORE_FIRST

#undef SET
#undef FOR_SET
#undef V
#undef LOAD
#undef STORE
#undef SPREAD
#undef BELOW
#undef AT_MOST

#define SELECTION_ROWS(SET) { \
    SELECTION_ROW(int32, SET, int32_t), SELECTION_ROW(int64, SET, int64_t), SELECTION_ROW(uint32, SET, int32_t), \
    SELECTION_ROW(uint64, SET, int64_t), SELECTION_ROW(float32, SET, int32_t), SELECTION_ROW(float64, SET, int64_t)}
#else
#define SELECTION_ROWS(SET) { \
    BASELINE_ROW(int32), BASELINE_ROW(int64), BASELINE_ROW(uint32), \
    BASELINE_ROW(uint64), BASELINE_ROW(float32), BASELINE_ROW(float64)}
static void phintys_fill_bits_of_mask(void) {}
#endif

/* For AVX2 and AVX-512; in this order: int32, int64, uint32, uint64, float32, float64. */
static const Selection phintys_vector_selections[2][6] = {SELECTION_ROWS(avx2), SELECTION_ROWS(avx512)};

#endif

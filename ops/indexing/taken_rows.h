/* Copies of rows at positions, checked in the same pass: for few rows, where three passes (checks, offsets, copies)
 * take longer than the copies themselves. `rows_kernel.pyx` calls them. What was copied before a position that is out
 * of range does not matter, as the call then fails. */
#ifdef SET                                  /* what is compiled for each set */
#define DEFINE_TAKE_ROWS(NAME, T)                                                                                      \
    static npy_intp IN_SET(take_rows_##NAME)(char *result, const char *array, npy_intp step,                           \
                                             npy_intp length, const char *positions, npy_intp stride,                  \
                                             npy_intp count, npy_intp bytes) {                                         \
        typedef T Position;                                                                                            \
        WALK_ROWS(EACH_POSITION, result, row, bytes)                                                                   \
        return -1;                                                                                                     \
    }
POSITION_TYPES(DEFINE_TAKE_ROWS)
#undef DEFINE_TAKE_ROWS

#elif !defined(PHINTYS_TAKEN_ROWS_H)
#define PHINTYS_TAKEN_ROWS_H

#include "native/indexed_loops.h"
#include "native/row_copy.h"

/* Returns the number of the first position that is out of range, or -1. The rows of the result have no gaps. */
typedef npy_intp (*TakeRowsLoop)(char *result, const char *array, npy_intp step, npy_intp length,
                                 const char *positions, npy_intp stride, npy_intp count, npy_intp bytes);

#define EACH_POSITION(COPY)                                                                                            \
    for (npy_intp i = 0; i < count; i++, positions += stride, result += bytes) {                                       \
        const uint64_t place = FROM_START(Position, *(const Position *)positions, length);                             \
        if (place >= (uint64_t)length) return i;                                                                       \
        const char *const row = array + (npy_intp)place * step;                                                        \
        COPY;                                                                                                          \
    }

#define TAKE_ROWS_ROW(NAME, T) FOR_TWO_SETS(take_rows_##NAME),
#define LOOPS "indexing/taken_rows.h"
#define TWO_SETS
#include "native/each_set.h"
static const TakeRowsLoop phintys_take_rows[][PHINTYS_SETS] = {POSITION_TYPES(TAKE_ROWS_ROW)};

#endif

/* Inner loops of copies for each element size: one line, many short lines, and tiles of a transposed copy.
 *
 * Strides are in bytes and may be negative; a source stride of zero repeats a value. strided_copy.h selects the loop
 * for given dimensions.
 */
#ifdef SET                                  /* what is compiled for each set */
/* Lines of `count` times the same value, without gaps: what a store of WIDTH values writes beyond the line, the next
 * one overwrites. */
#define DEFINE_REPEATED(WIDTH)                                                                                         \
    static void IN_SET(repeat_each_##WIDTH)(char *target, const char *source, npy_intp ss, npy_intp lines,             \
                                            npy_intp count) {                                                          \
        for (; lines * count >= WIDTH; lines--, target += 8 * count, source += ss)                                     \
            *(Repeated##WIDTH *)target = *(const Word8 *)source - (Repeated##WIDTH){0};                                \
        for (; lines > 0; lines--, source += ss)                                                                       \
            for (npy_intp i = 0; i < count; i++, target += 8) *(Word8 *)target = *(const Word8 *)source;               \
    }
DEFINE_REPEATED(2) DEFINE_REPEATED(4) DEFINE_REPEATED(8)

/* The same for lines of more than eight values. */
static void IN_SET(repeat_each)(char *target, const char *source, npy_intp ss, npy_intp lines, npy_intp count) {
    for (; lines > 1; lines--, target += 8 * count, source += ss) {
        const Repeated8 value = *(const Word8 *)source - (Repeated8){0};
        for (npy_intp i = 0; i < count; i += 8) *(Repeated8 *)(target + 8 * i) = value;
    }
    for (npy_intp i = 0; i < count; i++) *(Word8 *)(target + 8 * i) = *(const Word8 *)source;
}
#undef DEFINE_REPEATED

#elif !defined(PHINTYS_COPY_LOOPS_H)
#define PHINTYS_COPY_LOOPS_H

#include <numpy/npy_common.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "native/sets.h"

#if defined(__GNUC__) && !defined(__clang__)
#define PHINTYS_UNROLL _Pragma("GCC unroll 4")
#else
#define PHINTYS_UNROLL
#endif

typedef struct __attribute__((may_alias)) { uint64_t low, high; } Word16;
typedef uint8_t __attribute__((may_alias)) Word1;
typedef uint16_t __attribute__((may_alias)) Word2;
typedef uint32_t __attribute__((may_alias, aligned(2))) Word4;
typedef uint64_t __attribute__((may_alias, aligned(4))) Word8;      /* complex64 has an alignment of only 4 bytes */

/* ---- one line ---------------------------------------------------------------------------------------------------- */
#define DEFINE_COPY_LINE(SIZE)                                                                                         \
    static inline void copy_line_##SIZE(char *target, npy_intp ts, const char *source, npy_intp ss, npy_intp count) {  \
        if (ts == SIZE && ss == 0) {                                                                                   \
            Word##SIZE value = *(const Word##SIZE *)source;                                                            \
            for (npy_intp i = 0; i < count; i++) ((Word##SIZE *)target)[i] = value;                                    \
        } else if (ts == SIZE && ss == -SIZE) {                                                                        \
            for (npy_intp i = 0; i < count; i++) ((Word##SIZE *)target)[i] = ((const Word##SIZE *)source)[-i];         \
        } else if (ts == SIZE) {                                                                                       \
            PHINTYS_UNROLL                                                                                             \
            for (npy_intp i = 0; i < count; i++, source += ss) ((Word##SIZE *)target)[i] = *(const Word##SIZE *)source;\
        } else {                                                                                                       \
            PHINTYS_UNROLL                                                                                             \
            for (npy_intp i = 0; i < count; i++, target += ts, source += ss)                                           \
                *(Word##SIZE *)target = *(const Word##SIZE *)source;                                                   \
        }                                                                                                              \
    }
DEFINE_COPY_LINE(1) DEFINE_COPY_LINE(2) DEFINE_COPY_LINE(4) DEFINE_COPY_LINE(8) DEFINE_COPY_LINE(16)

static inline void copy_line(char *target, npy_intp ts, const char *source, npy_intp ss, npy_intp count, int itemsize) {
    if (ts == itemsize && ss == itemsize) {
        memcpy(target, source, (size_t)count * itemsize);
        return;
    }
    switch (itemsize) {
    case 1: copy_line_1(target, ts, source, ss, count); return;
    case 2: copy_line_2(target, ts, source, ss, count); return;
    case 4: copy_line_4(target, ts, source, ss, count); return;
    case 8: copy_line_8(target, ts, source, ss, count); return;
    case 16: copy_line_16(target, ts, source, ss, count); return;
    default:
        for (npy_intp i = 0; i < count; i++) memcpy(target + i * ts, source + i * ss, itemsize);
    }
}

/* ---- many lines that are too short for separate calls of a loop; contiguous in the target ------------------------ */
#define PHINTYS_SHORT_LINE 8

typedef uint64_t Repeated2 __attribute__((vector_size(16), aligned(4), may_alias));
typedef uint64_t Repeated4 __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint64_t Repeated8 __attribute__((vector_size(64), aligned(4), may_alias));
#define LOOPS "native/copy_loops.h"
#include "native/each_set.h"
BY_SET(repeat_each_2);
BY_SET(repeat_each_4);
BY_SET(repeat_each_8);
BY_SET(repeat_each);

/* Each usual length has a loop in which it is a constant; a line that repeats one value loads it once. */
#define SHORT_LINES(WORD, COUNT)                                                                                       \
    if (step == 0)                                                                                                     \
        for (npy_intp line = 0; line < lines; line++, target += ts, source += ss) {                                    \
            WORD value = *(const WORD *)source;                                                                        \
            for (npy_intp i = 0; i < (COUNT); i++) ((WORD *)target)[i] = value;                                        \
        }                                                                                                              \
    else                                                                                                               \
        for (npy_intp line = 0; line < lines; line++, target += ts, source += ss)                                      \
            for (npy_intp i = 0; i < (COUNT); i++) ((WORD *)target)[i] = *(const WORD *)(source + i * step);           \
    return;
#define DEFINE_SHORT_LINES(SIZE)                                                                                       \
    static void short_lines_##SIZE(char *target, npy_intp ts, const char *source, npy_intp ss, npy_intp lines,         \
                                   npy_intp step, npy_intp count) {                                                    \
        switch (count) {                                                                                               \
        case 2: SHORT_LINES(Word##SIZE, 2)                                                                             \
        case 3: SHORT_LINES(Word##SIZE, 3)                                                                             \
        case 4: SHORT_LINES(Word##SIZE, 4)                                                                             \
        case 5: SHORT_LINES(Word##SIZE, 5)                                                                             \
        case 6: SHORT_LINES(Word##SIZE, 6)                                                                             \
        default: SHORT_LINES(Word##SIZE, count)                                                                        \
        }                                                                                                              \
    }
DEFINE_SHORT_LINES(1) DEFINE_SHORT_LINES(2) DEFINE_SHORT_LINES(4) DEFINE_SHORT_LINES(8) DEFINE_SHORT_LINES(16)

/* The first `size` bytes again and again, up to `total`: twice as many each time, as long as they are near. */
static inline void repeat_bytes(char *target, npy_intp size, npy_intp total) {
    npy_intp done = size;
    for (; done < total; done += size) {
        if (size < done && done <= 4096) size = done;
        if (size > total - done) size = total - done;
        memmove(target + done, target, size);                   /* of memcpy the compiler would make a slow loop */
    }
}

/* ---- transposed copies: the source is contiguous along columns, the target along rows ---------------------------- */
/* A tile is one cache line wide in both source and target, and its loops are unrolled. */
#define DEFINE_COPY_TILE(SIZE, WIDTH)                                                                                  \
    static inline void copy_tile_##SIZE(char *target, npy_intp ts, const char *source, npy_intp ss) {                  \
        for (int row = 0; row < WIDTH; row++)                                                                          \
            for (int column = 0; column < WIDTH; column++)                                                             \
                ((Word##SIZE *)(target + row * ts))[column] = *((const Word##SIZE *)(source + column * ss) + row);     \
    }
#ifdef __SSE2__
static inline void copy_tile_8(char *target, npy_intp ts, const char *source, npy_intp ss) {
    for (int row = 0; row < 8; row += 2)
        for (int column = 0; column < 8; column += 2) {
            const char *corner = source + row * 8 + column * ss;
            __m128i first = _mm_loadu_si128((const __m128i *)corner);
            __m128i second = _mm_loadu_si128((const __m128i *)(corner + ss));
            char *place = target + row * ts + column * 8;
            _mm_storeu_si128((__m128i *)place, _mm_unpacklo_epi64(first, second));
            _mm_storeu_si128((__m128i *)(place + ts), _mm_unpackhi_epi64(first, second));
        }
}

static inline void copy_tile_4(char *target, npy_intp ts, const char *source, npy_intp ss) {
    for (int row = 0; row < 16; row += 4)
        for (int column = 0; column < 16; column += 4) {
            const char *corner = source + row * 4 + column * ss;
            __m128i a = _mm_loadu_si128((const __m128i *)corner);
            __m128i b = _mm_loadu_si128((const __m128i *)(corner + ss));
            __m128i c = _mm_loadu_si128((const __m128i *)(corner + 2 * ss));
            __m128i d = _mm_loadu_si128((const __m128i *)(corner + 3 * ss));
            __m128i ab_low = _mm_unpacklo_epi32(a, b), ab_high = _mm_unpackhi_epi32(a, b);
            __m128i cd_low = _mm_unpacklo_epi32(c, d), cd_high = _mm_unpackhi_epi32(c, d);
            char *place = target + row * ts + column * 4;
            _mm_storeu_si128((__m128i *)place, _mm_unpacklo_epi64(ab_low, cd_low));
            _mm_storeu_si128((__m128i *)(place + ts), _mm_unpackhi_epi64(ab_low, cd_low));
            _mm_storeu_si128((__m128i *)(place + 2 * ts), _mm_unpacklo_epi64(ab_high, cd_high));
            _mm_storeu_si128((__m128i *)(place + 3 * ts), _mm_unpackhi_epi64(ab_high, cd_high));
        }
}
#else
DEFINE_COPY_TILE(8, 8)
DEFINE_COPY_TILE(4, 16)
#endif
DEFINE_COPY_TILE(1, 16)
DEFINE_COPY_TILE(2, 16)
DEFINE_COPY_TILE(16, 4)

/* Copy all full tiles; copy_transposed copies the remainder by lines. */
#define DEFINE_COPY_TILES(SIZE, WIDTH)                                                                                 \
    static void copy_tiles_##SIZE(char *target, npy_intp ts, const char *source, npy_intp ss, npy_intp rows,           \
                                  npy_intp columns) {                                                                  \
        for (npy_intp column = 0; column + WIDTH <= columns; column += WIDTH)                                          \
            for (npy_intp row = 0; row + WIDTH <= rows; row += WIDTH)                                                  \
                copy_tile_##SIZE(target + row * ts + column * SIZE, ts, source + row * SIZE + column * ss, ss);        \
    }
DEFINE_COPY_TILES(1, 16) DEFINE_COPY_TILES(2, 16) DEFINE_COPY_TILES(4, 16) DEFINE_COPY_TILES(8, 8)
DEFINE_COPY_TILES(16, 4)

typedef void (*ShortLines)(char *target, npy_intp ts, const char *source, npy_intp ss, npy_intp lines, npy_intp step,
                           npy_intp count);
typedef void (*CopyTiles)(char *target, npy_intp ts, const char *source, npy_intp ss, npy_intp rows, npy_intp columns);
typedef struct {
    ShortLines short_lines;
    CopyTiles tiles;
    npy_intp tile;                      /* the width of a tile */
} CopyLoops;

static inline const CopyLoops *copy_loops_for(int itemsize) {
    static const CopyLoops loops[] = {{short_lines_1, copy_tiles_1, 16}, {short_lines_2, copy_tiles_2, 16},
                                      {short_lines_4, copy_tiles_4, 16}, {short_lines_8, copy_tiles_8, 8},
                                      {short_lines_16, copy_tiles_16, 4}};
    switch (itemsize) {
    case 1: return &loops[0];
    case 2: return &loops[1];
    case 4: return &loops[2];
    case 8: return &loops[3];
    case 16: return &loops[4];
    default: return NULL;
    }
}

#endif

/* Partitions and the largest or smallest elements, for one dtype; see selection_loops.h. Defined before the include,
 * undefined at its end: T, the type; DTYPE, its name. Left to the next dtype: BEFORE(a, b), the order of values, and
 * MAYBE_ABOVE and MAYBE_BELOW, tests that vectorise and are true at least where BEFORE(b, a) or BEFORE(a, b) is.
 */
#define OF(FUNCTION) PHINTYS_NAMED(FUNCTION, DTYPE)
#define PAIR OF(pair)

typedef struct { T value; npy_intp place; } PAIR;

#define NAME DTYPE
#define E T
#define LESS BEFORE
#include "quickselect.template.h"

/* Pairs in ascending and in descending order of values; equal values in the order of their places. */
#define NAME PHINTYS_NAMED(ascending, DTYPE)
#define E PAIR
#define LESS(a, b) (BEFORE((a).value, (b).value) | (!BEFORE((b).value, (a).value) & ((a).place < (b).place)))
#include "quickselect.template.h"

#define NAME PHINTYS_NAMED(descending, DTYPE)
#define E PAIR
#define LESS(a, b) (BEFORE((b).value, (a).value) | (!BEFORE((a).value, (b).value) & ((a).place < (b).place)))
#include "quickselect.template.h"

static void OF(partition_line)(char *line, npy_intp count, const npy_intp *chosen, npy_intp n_chosen) {
    npy_intp start = 0;
    for (npy_intp i = 0; i < n_chosen; i++) {
        if (chosen[i] < start) continue;                    /* a repetition */
        OF(select)((T *)line + start, count - start, chosen[i] - start);
        start = chosen[i] + 1;
    }
}

static void OF(argpartition_line)(const char *line, npy_intp step, npy_intp count, const npy_intp *chosen,
                                  npy_intp n_chosen, char *room, char *places, npy_intp places_step) {
    PAIR *pairs = (PAIR *)room;
    npy_intp start = 0;
    for (npy_intp i = 0; i < count; i++) pairs[i].value = *(const T *)(line + i * step), pairs[i].place = i;
    for (npy_intp i = 0; i < n_chosen; i++) {
        if (chosen[i] < start) continue;
        PHINTYS_NAMED(select_ascending, DTYPE)(pairs + start, count - start, chosen[i] - start);
        start = chosen[i] + 1;
    }
    for (npy_intp i = 0; i < count; i++) *(int64_t *)(places + i * places_step) = pairs[i].place;
}

/* Whether one of 32 elements without gaps may be better than `bound`. */
PHINTYS_INLINE int OF(any_better)(const T *values, T bound, int largest) {
    int found = 0;
    if (largest) for (int i = 0; i < 32; i++) found |= MAYBE_ABOVE(values[i], bound);
    else for (int i = 0; i < 32; i++) found |= MAYBE_BELOW(values[i], bound);
    return found;
}

#define BETTER(a, b) (largest ? BEFORE(b, a) : BEFORE(a, b))

/* The same for few: the best so far are in order, and a better element is inserted. */
PHINTYS_INLINE void OF(insert_best)(const char *line, npy_intp step, npy_intp count, npy_intp wanted, int largest,
                                    PAIR *pairs) {
    npy_intp held = 0;
    for (npy_intp i = 0; i < count; i++) {
        while (held == wanted && step == sizeof(T) && i + 32 <= count
               && !OF(any_better)((const T *)line + i, pairs[wanted - 1].value, largest)) i += 32;
        if (i == count) return;
        const T value = *(const T *)(line + i * step);
        if (held == wanted && !BETTER(value, pairs[wanted - 1].value)) continue;
        npy_intp place = held < wanted ? held++ : wanted - 1;
        for (; place > 0 && BETTER(value, pairs[place - 1].value); place--) pairs[place] = pairs[place - 1];
        pairs[place].value = value, pairs[place].place = i;
    }
}

/* The best `wanted` elements of a line, at the front of `pairs`, which has room for `capacity` > wanted. Elements that
 * are better than the worst of the best so far are collected; when the room is full, the best are selected again. */
PHINTYS_INLINE void OF(collect_best)(const char *line, npy_intp step, npy_intp count, npy_intp wanted, int largest,
                                     PAIR *pairs, npy_intp capacity) {
    npy_intp held = 0, i = 0;
    T bound = {0};
    for (; i < count && held < capacity; i++, held++)
        pairs[held].value = *(const T *)(line + i * step), pairs[held].place = i;
    for (;;) {
        if (held > wanted) {
            if (largest) PHINTYS_NAMED(select_descending, DTYPE)(pairs, held, wanted - 1);
            else PHINTYS_NAMED(select_ascending, DTYPE)(pairs, held, wanted - 1);
            held = wanted, bound = pairs[wanted - 1].value;
        }
        if (i == count) return;
        while (i < count && held < capacity) {
            if (step == sizeof(T) && i + 32 <= count && !OF(any_better)((const T *)line + i, bound, largest)) {
                i += 32;
                continue;
            }
            for (npy_intp end = i + 32 < count ? i + 32 : count; i < end && held < capacity; i++) {
                T value = *(const T *)(line + i * step);
                pairs[held].value = value, pairs[held].place = i;
                held += BETTER(value, bound);
            }
        }
    }
}

PHINTYS_CLONES
static void OF(best_of_line)(const char *line, npy_intp step, npy_intp count, const Best *best, char *room,
                             char *values, npy_intp values_step, char *places, npy_intp places_step) {
    PAIR *pairs = (PAIR *)room;
    if (best->wanted <= 12) {
        if (best->largest) OF(insert_best)(line, step, count, best->wanted, 1, pairs);
        else OF(insert_best)(line, step, count, best->wanted, 0, pairs);
    } else {
        OF(collect_best)(line, step, count, best->wanted, best->largest, pairs, best->capacity);
    }
    if (best->sorted && best->wanted > 12) {
        if (best->largest) PHINTYS_NAMED(sort_all_descending, DTYPE)(pairs, best->wanted);
        else PHINTYS_NAMED(sort_all_ascending, DTYPE)(pairs, best->wanted);
    }
    if (values) for (npy_intp i = 0; i < best->wanted; i++) *(T *)(values + i * values_step) = pairs[i].value;
    if (!places) return;
    for (npy_intp i = 0; i < best->wanted; i++) {
        char *place = places + i * places_step;
        switch (best->place_size) {
            case 1: *(int8_t *)place = (int8_t)pairs[i].place; break;
            case 2: *(int16_t *)place = (int16_t)pairs[i].place; break;
            case 4: *(int32_t *)place = (int32_t)pairs[i].place; break;
            default: *(int64_t *)place = pairs[i].place;
        }
    }
}

#undef OF
#undef BETTER
#undef PAIR
#undef T
#undef DTYPE

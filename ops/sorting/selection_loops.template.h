/* Partitions and the largest or smallest elements, for one dtype and one instruction set. Included by each_order.h.
 * Numbers of 4 and 8 bytes are compared and packed by vectors V, where there are some (selection_vectors.h); others by
 * loops that the compiler makes vectors of. P is the type of a position while it is computed: where there are vectors,
 * positions have the size of the elements, and are packed as these are.
 */
#if SET_LEVEL < LEVELS
#define OF(FUNCTION) PHINTYS_NAMED(PHINTYS_NAMED(FUNCTION, DTYPE), SET)
#define PAIR OF(pair)
#define P OF(place)
typedef T OF(value);
#if SET_LEVEL && LEVELS == 3
#define VECTORS 1
typedef __typeof__(__builtin_choose_expr(sizeof(T) == 4, (int32_t)0, (int64_t)0)) P;
typedef T LANES __attribute__((vector_size(SET_BYTES)));
#else
#define VECTORS 0
typedef npy_intp P;
#endif
typedef struct { T value; npy_intp position; } PAIR;

#include "quickselect.template.h"

static void OF(partition_line)(const char *from, char *line, npy_intp count, const npy_intp *chosen,
                               npy_intp n_chosen, char *room) {
    OF(select_all)((const T *)from, (T *)line, NULL, count, chosen, n_chosen, (T *)room, NULL);
}

static void OF(argpartition_line)(const char *line, npy_intp step, npy_intp count, const npy_intp *chosen,
                                  npy_intp n_chosen, char *room, char *positions, npy_intp positions_step) {
    const npy_intp values_size = phintys_segment(count, sizeof(T)), positions_size = phintys_segment(count, sizeof(P));
    T *values = (T *)room, *value_room = (T *)(room + values_size);
    P *moved = (P *)(room + 2 * values_size), *position_room = (P *)(room + 2 * values_size + positions_size);
    const T *from = (const T *)line;
    if (step != sizeof(T)) {
        from = values;
        for (npy_intp i = 0; i < count; i++) values[i] = *(const T *)(line + i * step), moved[i] = (P)i;
    }
    if (sizeof(P) == sizeof(int64_t) && positions_step == sizeof(int64_t)) {
        for (npy_intp i = 0; i < count && from == values; i++) ((P *)positions)[i] = (P)i;
        moved = (P *)positions;
    }
    OF(select_all)(from, values, moved, count, chosen, n_chosen, value_room, position_room);
    for (npy_intp i = 0; i < count && (char *)moved != positions; i++) *(int64_t *)(positions + i
                                                                                    * positions_step) = moved[i];
}

/* ---- the best elements ------------------------------------------------------------------------------------------- */
/* Whether one of 32 elements without gaps may be better than `bound`. */
PHINTYS_INLINE int OF(any_better)(const T *values, T bound, int largest) {
    int found = 0;
    if (largest) for (int i = 0; i < 32; i++) found |= MAYBE_ABOVE(values[i], bound);
    else for (int i = 0; i < 32; i++) found |= MAYBE_BELOW(values[i], bound);
    return found;
}

#define BETTER(a, b) (largest ? BEFORE(b, a) : BEFORE(a, b))

/* For few: the best so far are in order, and a better element is inserted. */
PHINTYS_INLINE void OF(insert_best)(const char *line, npy_intp step, npy_intp count, npy_intp wanted,
                                    int largest, PAIR *pairs) {
    npy_intp held = 0;
    for (npy_intp i = 0; i < count; i++) {
        while (held == wanted && step == sizeof(T) && i + 32 <= count
               && !OF(any_better)((const T *)line + i, pairs[wanted - 1].value, largest)) i += 32;
        if (i == count) return;
        const T value = *(const T *)(line + i * step);
        if (held == wanted && !BETTER(value, pairs[wanted - 1].value)) continue;
        npy_intp position = held < wanted ? held++ : wanted - 1;
        for (; position > 0 && BETTER(value, pairs[position - 1].value); position--) pairs[position] = pairs[position
                                                                                                             - 1];
        pairs[position].value = value, pairs[position].position = i;
    }
}

/* Elements that are candidates, in the order of the line, and room to select among them. */
typedef struct {
    T *values, *copy, *room;
    P *positions;
    npy_intp held;
} OF(Candidates);

/* Appends the elements of a block that are better than `bound`, or of `with_equal`, not worse, until `capacity` are
 * held or, by a vector, exceeded; returns how many elements were read. `first` is the position of the block. The block
 * may be the array of candidates itself. */
PHINTYS_INLINE npy_intp OF(append_better)(const T *block, const P *block_positions, npy_intp count,
                                          npy_intp first,
                                          T bound, const int with_equal, const int largest,
                                          const int with_positions, OF(Candidates) *found, npy_intp capacity) {
    npy_intp i = 0, held = found->held;
#if VECTORS
    const V limit = SPREAD(bound);
    const int vectors = IS_NUMBER(bound);
#endif
    while (i < count && held < capacity) {
        if (!with_equal && i + 32 <= count && !OF(any_better)(block + i, bound, largest)) {
            i += 32;
            continue;
        }
#if VECTORS
        if (vectors && i + WIDTH <= count) {
            const V values = LOAD(block + i);
            const int mask = largest == with_equal ? BELOW(values, limit) ^ (largest ? ALL : 0)
                                                   : NOT_ABOVE(values, limit) ^ (largest ? ALL : 0);
            STORE(found->values + held, PACK(values, mask));
            if (with_positions) {
                const V numbers = block_positions ? LOAD(block_positions + i) : POSITIONS(first + i);
                STORE(found->positions + held, PACK(numbers, mask));
            }
            held += COUNT(mask), i += WIDTH;
            continue;
        }
#endif
        const T value = block[i];
        const P position = block_positions ? block_positions[i] : (P)(first + i);
        found->values[held] = value;
        if (with_positions) found->positions[held] = position;
        held += with_equal ? !(largest ? BEFORE(value, bound) : BEFORE(bound, value)) : BETTER(value, bound);
        i++;
    }
    found->held = held;
    return i;
}

/* Keeps the best `wanted` candidates, of equal ones the first, and their order if positions are wanted, too; returns
 * the worst of them. */
PHINTYS_INLINE T OF(keep_best)(OF(Candidates) *found, npy_intp wanted, int largest, const int with_positions) {
    const npy_intp count = found->held, chosen = largest ? count - wanted : wanted - 1;
    OF(select_all)(found->values, found->copy, NULL, count, &chosen, 1, found->room, NULL);
    const T bound = found->copy[chosen];
    if (!with_positions) {
        memcpy(found->values, found->copy + (largest ? chosen : 0), wanted * sizeof(T));
        found->held = wanted;
        return bound;
    }
    found->held = 0;
    if (largest) OF(append_better)(found->values, found->positions, count, 0, bound, 1, 1, with_positions, found,
                                   count);
    else OF(append_better)(found->values, found->positions, count, 0, bound, 1, 0, with_positions, found, count);
    if (found->held > wanted) {                             /* too many are equal to the worst one */
        npy_intp left = 0, better = 0;
        for (npy_intp i = 0; i < found->held; i++) better += BETTER(found->values[i], bound);
        npy_intp equal = wanted - better;
        for (npy_intp i = 0; i < found->held; i++) {
            const T value = found->values[i];
            const int is_better = BETTER(value, bound), kept = is_better | (equal > 0);
            found->values[left] = value;
            if (with_positions) found->positions[left] = found->positions[i];
            equal -= !is_better, left += kept;
        }
        found->held = wanted;
    }
    return bound;
}

/* The best elements of a line, in its order. Elements that are better than the worst of the best so far are collected;
 * when the room is full, the best are selected again. */
PHINTYS_INLINE void OF(collect_best)(const char *line, npy_intp step, npy_intp count, npy_intp wanted,
                                     int largest, const int with_positions, OF(Candidates) *found,
                                     npy_intp capacity) {
    T gathered[256];
    npy_intp i = 0;
    for (; i < count && i < capacity; i++) {
        found->values[i] = *(const T *)(line + i * step);
        if (with_positions) found->positions[i] = (P)i;
    }
    found->held = i;
    while (found->held > wanted) {                          /* the room was full, or the line has ended */
        const T bound = OF(keep_best)(found, wanted, largest, with_positions);
        while (i < count && found->held < capacity) {
            const T *block = (const T *)line + i;
            npy_intp length = count - i;
            if (step != sizeof(T)) {
                length = length < 256 ? length : 256;
                for (npy_intp k = 0; k < length; k++) gathered[k] = *(const T *)(line + (i + k) * step);
                block = gathered;
            }
            if (largest) i += OF(append_better)(block, NULL, length, i, bound, 0, 1, with_positions, found, capacity);
            else i += OF(append_better)(block, NULL, length, i, bound, 0, 0, with_positions, found, capacity);
        }
    }
}

/* Where each element belongs in ascending order; equal ones stay in their order. */
static void OF(order_of)(T *values, npy_intp count, const Best *best, npy_intp *order) {
    for (npy_intp i = 0; i < count; i++) order[i] = i;
    best->argsort(values, order, count, NULL);
    for (npy_intp start = 0, end; start < count; start = end) {
        end = start + 1;
        while (end < count && !BEFORE(values[order[start]], values[order[end]])) end++;
        if (end - start > 1) best->sort_positions(order + start, end - start, NULL);
    }
}

static void OF(write_best)(OF(Candidates) *found, const Best *best, npy_intp *order, char *values,
                           npy_intp values_step, char *positions, npy_intp positions_step) {
    const npy_intp count = best->wanted;
    if (!best->sorted || !positions) {
        if (best->sorted) best->sort(found->values, count, NULL);
        const int backwards = best->sorted && best->largest;
        for (npy_intp i = 0; values && i < count; i++)
            *(T *)(values + i * values_step) = found->values[backwards ? count - 1 - i : i];
        for (npy_intp i = 0; positions && i < count; i++)
            phintys_write_position(positions + i * positions_step, best->position_size, found->positions[i]);
        return;
    }
    OF(order_of)(found->values, count, best, order);
    for (npy_intp end = count, start, out = 0; end > 0 && best->largest; end = start) {     /* the last ones first */
        start = end - 1;
        while (start > 0 && !BEFORE(found->values[order[start - 1]], found->values[order[start]])) start--;
        for (npy_intp i = start; i < end; i++) found->room[out] = found->values[order[i]],
            phintys_write_position(positions + out++ * positions_step, best->position_size, found->positions[order[i]]);
    }
    for (npy_intp i = 0; i < count && !best->largest; i++) {
        found->room[i] = found->values[order[i]];
        phintys_write_position(positions + i * positions_step, best->position_size, found->positions[order[i]]);
    }
    for (npy_intp i = 0; values && i < count; i++) *(T *)(values + i * values_step) = found->room[i];
}

static void OF(best_of_line)(const char *line, npy_intp step, npy_intp count, const Best *best, char *room,
                             char *values, npy_intp values_step, char *positions, npy_intp positions_step) {
    if (best->wanted <= PHINTYS_FEW) {
        PAIR *pairs = (PAIR *)room;
        if (best->largest) OF(insert_best)(line, step, count, best->wanted, 1, pairs);
        else OF(insert_best)(line, step, count, best->wanted, 0, pairs);
        for (npy_intp i = 0; i < best->wanted; i++) {
            if (values) *(T *)(values + i * values_step) = pairs[i].value;
            if (positions) phintys_write_position(positions + i * positions_step, best->position_size,
                                                  pairs[i].position);
        }
        return;
    }
    const npy_intp values_size = phintys_segment(best->capacity, sizeof(T));
    const npy_intp positions_size = phintys_segment(best->capacity, sizeof(P));
    OF(Candidates) found = {(T *)room, (T *)(room + values_size), (T *)(room + 2 * values_size),
                            (P *)(room + 3 * values_size), 0};
    if (positions) OF(collect_best)(line, step, count, best->wanted, best->largest, 1, &found, best->capacity);
    else OF(collect_best)(line, step, count, best->wanted, best->largest, 0, &found, best->capacity);
    OF(write_best)(&found, best, (npy_intp *)(room + 3 * values_size + positions_size), values, values_step, positions,
                   positions_step);
}

#undef OF
#undef P
#undef PAIR
#undef VECTORS
#undef BETTER
#endif

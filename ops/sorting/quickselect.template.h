/* Selection by separations: elements of a line, and their positions if wanted, as two arrays side by side. Defined
 * before the include: what selection_loops.template.h names. Where the positions go does not depend on them, so a
 * partition of elements and the partition of their positions are one and the same permutation.
 *
 * A separation has no branch that depends on the elements: those that come first are packed at the front of the line,
 * others in `room`, which has the length of the line and a vector more, and then follow. The first separation may read
 * the elements elsewhere (`from`), and number their positions, so that they need not be copied before. A range that
 * shrinks too slowly is sorted by heaps, so no order of elements takes quadratic time.
 */

/* Whether a single element comes first. */
PHINTYS_INLINE int OF(passes)(T element, T pivot, const int which) {
    return which == PHINTYS_BELOW ? BEFORE(element, pivot) : which == PHINTYS_AT_MOST ? !BEFORE(pivot, element)
                                                                                      : IS_NUMBER(element);
}

PHINTYS_INLINE npy_intp OF(separate)(const T *from, T *line, P *positions, npy_intp count, T pivot,
                                     const int which, const int numbered, T *room, P *position_room) {
    npy_intp i = 0, first = 0, others = 0;
#if VECTORS
    const V bound = SPREAD(pivot);
    for (; i + WIDTH <= count; i += WIDTH) {
        const V values = LOAD(from + i);
        const int mask = which == PHINTYS_BELOW ? BELOW(values, bound)
                         : which == PHINTYS_AT_MOST ? NOT_ABOVE(values, bound) : NOT_ABOVE(values, values);
        const int passed = COUNT(mask);
        STORE(line + first, PACK(values, mask));
        STORE(room + others, PACK(values, mask ^ ALL));
        if (positions) {
            const V moved = numbered ? LOAD(positions + i) : POSITIONS(i);
            STORE(positions + first, PACK(moved, mask));
            STORE(position_room + others, PACK(moved, mask ^ ALL));
        }
        first += passed, others += WIDTH - passed;
    }
#endif
    for (; i < count; i++) {
        const T element = from[i];
        const int passed = OF(passes)(element, pivot, which);
        line[first] = element, room[others] = element;
        if (positions) {
            const P position = numbered ? positions[i] : (P)i;
            positions[first] = position, position_room[others] = position;
        }
        first += passed, others += !passed;
    }
    memcpy(line + first, room, others * sizeof(T));
    if (positions) memcpy(positions + first, position_room, others * sizeof(P));
    return first;
}

/* Moves the elements that pass to the front; returns how many these are. */
#define SEPARATE(WHICH) \
    positions == NULL ? OF(separate)(from, line, NULL, count, pivot, WHICH, 1, room, NULL) \
    : from == line ? OF(separate)(from, line, positions, count, pivot, WHICH, 1, room, position_room) \
                   : OF(separate)(from, line, positions, count, pivot, WHICH, 0, room, position_room)
static npy_intp OF(divide)(const T *from, T *line, P *positions, npy_intp count, T pivot, int which, T *room,
                           P *position_room) {
    switch (which) {
        case PHINTYS_BELOW: return SEPARATE(PHINTYS_BELOW);
        case PHINTYS_AT_MOST: return SEPARATE(PHINTYS_AT_MOST);
        default: return SEPARATE(PHINTYS_NUMBERS);
    }
}
#undef SEPARATE

static void OF(copy)(const T *from, T *line, P *positions, npy_intp count) {
    if (from == line) return;
    memcpy(line, from, count * sizeof(T));
    for (npy_intp i = 0; positions && i < count; i++) positions[i] = (P)i;
}

static void OF(sift)(T *heap, P *positions, npy_intp root, npy_intp count) {
    const T moved = heap[root];
    const P position = positions ? positions[root] : 0;
    for (npy_intp child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && BEFORE(heap[child], heap[child + 1])) child++;
        if (!BEFORE(moved, heap[child])) break;
        heap[root] = heap[child];
        if (positions) positions[root] = positions[child];
    }
    heap[root] = moved;
    if (positions) positions[root] = position;
}

/* All elements in their order. */
static void OF(sort_by_heap)(T *line, P *positions, npy_intp count) {
    for (npy_intp root = count / 2; root-- > 0;) OF(sift)(line, positions, root, count);
    for (npy_intp last = count; last-- > 1;) {
        const T greatest = line[0];
        line[0] = line[last], line[last] = greatest;
        if (positions) {
            const P position = positions[0];
            positions[0] = positions[last], positions[last] = position;
        }
        OF(sift)(line, positions, 0, last);
    }
}

static void OF(sort_by_insertion)(T *line, P *positions, npy_intp count) {
    for (npy_intp i = 1; i < count; i++) {
        const T moved = line[i];
        const P position = positions ? positions[i] : 0;
        npy_intp at = i;
        for (; at > 0 && BEFORE(moved, line[at - 1]); at--) {
            line[at] = line[at - 1];
            if (positions) positions[at] = positions[at - 1];
        }
        line[at] = moved;
        if (positions) positions[at] = position;
    }
}

/* An element that is likely to be a little beyond the one chosen, as seen from the nearer end: of a sample that is
 * spread over all, the one with the same rank, or some further. So the part in which the search goes on is small. */
static T OF(likely_bound)(const T *line, npy_intp count, npy_intp chosen) {
    T sample[63];
    const int size = count > 32768 ? 63 : count > 2048 ? 31 : count > 256 ? 15 : 5;
    int rank = (int)(chosen * size / count);
    for (int i = 0; i < size; i++) sample[i] = line[count / size * i];
    OF(sort_by_insertion)(sample, NULL, size);
    const int further = size > 31 ? 4 : size > 15 ? 3 : size > 5 ? 2 : 0;
    rank += rank < size / 2 ? further : -further;
    return sample[rank];
}

#if VECTORS
/* Two elements of a sample between which the chosen one is most likely. */
static void OF(likely_bounds)(const T *line, npy_intp count, npy_intp chosen, T *low, T *high) {
    T sample[PHINTYS_SAMPLE];
    for (int i = 0; i < PHINTYS_SAMPLE; i++) sample[i] = line[count / PHINTYS_SAMPLE * i];
    OF(sort_by_insertion)(sample, NULL, PHINTYS_SAMPLE);
    const int rank = (int)(chosen * PHINTYS_SAMPLE / count);
    const int first = rank - PHINTYS_MARGIN, last = rank + PHINTYS_MARGIN;
    *low = sample[first < 0 ? 0 : first], *high = sample[last < PHINTYS_SAMPLE ? last : PHINTYS_SAMPLE - 1];
}

/* What is below `low` goes to the front of the line, what is above `high` to its end, and the rest between them, by way
 * of the room: one pass over memory for most of a long line. The elements are read elsewhere, perhaps in the room,
 * where the rest never overtakes what is to be read; so are the positions, unless they are numbered here
 * (`from_positions` is NULL). Returns where the middle starts, and its length. */
PHINTYS_INLINE npy_intp OF(split)(const T *from, T *line, const P *from_positions, P *positions, npy_intp count,
                                  T low, T high, const int placed, T *room, P *position_room,
                                      npy_intp *middle) {
    npy_intp i = 0, first = 0, end = count, between = 0;
    const V least = SPREAD(low), most = SPREAD(high);
    for (; i + WIDTH <= count; i += WIDTH) {
        const V values = LOAD(from + i);
        const int below = BELOW(values, least), above = BELOW(most, values), inside = (below | above) ^ ALL;
        const npy_intp last = end - COUNT(above);
        if (placed) {
            const V moved = from_positions ? LOAD(from_positions + i) : POSITIONS(i);
            STORE(positions + first, PACK(moved, below));
            STORE_FIRST(positions + last, PACK(moved, above), above);
            STORE(position_room + between, PACK(moved, inside));
        }
        STORE(line + first, PACK(values, below));           /* garbage after them is overwritten later */
        STORE_FIRST(line + last, PACK(values, above), above);
        STORE(room + between, PACK(values, inside));
        first += COUNT(below), end = last, between += COUNT(inside);
    }
    for (; i < count; i++) {
        const T element = from[i];
        const P position = !placed ? 0 : from_positions ? from_positions[i] : (P)i;
        const int below = BEFORE(element, low), above = BEFORE(high, element);
        if (below || above) {
            const npy_intp to = below ? first++ : --end;
            line[to] = element;
            if (placed) positions[to] = position;
        } else {
            if (placed) position_room[between] = position;
            room[between++] = element;
        }
    }
    memcpy(line + first, room, between * sizeof(T));
    if (placed) memcpy(positions + first, position_room, between * sizeof(P));
    *middle = between;
    return first;
}

/* The same of a line that is read elsewhere, or in its own position: the order that results does not depend on that. */
static npy_intp OF(divide_long)(const T *from, T *line, P *positions, npy_intp count, npy_intp chosen, T *room,
                                P *position_room, npy_intp *middle) {
    T low, high;
    const P *from_positions = NULL;
    OF(likely_bounds)(from, count, chosen, &low, &high);
    if (from == line) {
        from = memcpy(room, line, count * sizeof(T));
        if (positions) from_positions = memcpy(position_room, positions, count * sizeof(P));
    }
    return positions
        ? OF(split)(from, line, from_positions, positions, count, low, high, 1, room, position_room, middle)
                  : OF(split)(from, line, NULL, NULL, count, low, high, 0, room, NULL, middle);
}
#endif

/* Element number `chosen` of the order goes to its position, what is before it to the front, what is after it to the
 * back. */
static void OF(select)(const T *from, T *line, P *positions, npy_intp count, npy_intp chosen, T *room,
                       P *position_room) {
    int rounds = 8;
    for (npy_intp left = count; left; left >>= 1) rounds += 3;
#if VECTORS
    if (count >= PHINTYS_LONG_LINE) {
        npy_intp middle;
        const npy_intp first = OF(divide_long)(from, line, positions, count, chosen, room, position_room, &middle);
        const npy_intp start = chosen < first ? 0 : chosen < first + middle ? first : first + middle;
        count = chosen < first ? first : chosen < first + middle ? middle : count - start;
        line += start, chosen -= start, from = line;
        if (positions) positions += start;
    }
#endif
    while (count > 16) {
        if (rounds-- == 0) {
            OF(sort_by_heap)(line, positions, count);
            return;
        }
        const T pivot = OF(likely_bound)(from, count, chosen);
        npy_intp before = OF(divide)(from, line, positions, count, pivot, PHINTYS_BELOW, room, position_room);
        from = line;
        if (chosen < before) {
            count = before;
            continue;
        }
        const int shrinks = before > count / 8;
        line += before, count -= before, chosen -= before;
        if (positions) positions += before;
        from = line;
        if (shrinks) continue;                              /* else many elements may equal the pivot */
        npy_intp equal = OF(divide)(from, line, positions, count, pivot, PHINTYS_AT_MOST, room, position_room);
        if (chosen < equal) return;
        line += equal, count -= equal, chosen -= equal;
        if (positions) positions += equal;
        from = line;
    }
    OF(copy)(from, line, positions, count);
    OF(sort_by_insertion)(line, positions, count);
}

/* Several of them, ascending; NaNs, which vectors do not compare, go to the end first. */
static void OF(select_all)(const T *from, T *line, P *positions, npy_intp count, const npy_intp *chosen,
                           npy_intp n_chosen, T *room, P *position_room) {
    npy_intp start = 0;
    if (VECTORS && n_chosen) {
        int found = 0;
        for (npy_intp i = 0; i < count; i++) found |= !IS_NUMBER(from[i]);
        if (found) {
            count = OF(divide)(from, line, positions, count, from[0], PHINTYS_NUMBERS, room, position_room);
            from = line;
        }
    }
    for (npy_intp i = 0; i < n_chosen && chosen[i] < count; i++) {
        if (chosen[i] < start) continue;                    /* a repetition */
        OF(select)(from + start, line + start, positions ? positions + start : NULL, count - start, chosen[i] - start,
                   room,
                   position_room);
        start = chosen[i] + 1, from = line;
    }
    OF(copy)(from, line, positions, count);                    /* if nothing was chosen */
}

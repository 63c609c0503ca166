/* Selection by partitions, of elements of one type in one order. Defined before the include, undefined at its end: E,
 * the type; LESS(a, b), whether element a is before b; NAME, the ending of the functions' names.
 *
 * A partition has no branch that depends on the elements: each one is written to the place where the next smaller one
 * goes, and the place moves on or not. A range that shrinks too slowly is sorted by heaps, so no order of elements
 * takes quadratic time.
 */
#define NAMED(FUNCTION) PHINTYS_NAMED(FUNCTION, NAME)

PHINTYS_INLINE void NAMED(exchange)(E *a, E *b) {
    E kept = *a;
    *a = *b, *b = kept;
}

static void NAMED(sift)(E *heap, npy_intp root, npy_intp count) {
    E moved = heap[root];
    for (npy_intp child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count && LESS(heap[child], heap[child + 1])) child++;
        if (!LESS(moved, heap[child])) break;
        heap[root] = heap[child];
    }
    heap[root] = moved;
}

/* All elements in their order. */
static void NAMED(sort_by_heap)(E *elements, npy_intp count) {
    for (npy_intp root = count / 2; root-- > 0;) NAMED(sift)(elements, root, count);
    for (npy_intp last = count; last-- > 1;) {
        NAMED(exchange)(elements, elements + last);
        NAMED(sift)(elements, 0, last);
    }
}

static void NAMED(sort_by_insertion)(E *elements, npy_intp count) {
    for (npy_intp i = 1; i < count; i++) {
        E moved = elements[i];
        npy_intp place = i;
        for (; place > 0 && LESS(moved, elements[place - 1]); place--) elements[place] = elements[place - 1];
        elements[place] = moved;
    }
}

/* All elements in their order, by what is quickest for so many. */
static void NAMED(sort_all)(E *elements, npy_intp count) {
    if (count <= 32) NAMED(sort_by_insertion)(elements, count);
    else NAMED(sort_by_heap)(elements, count);
}

/* Moves elements that are before the pivot, or none that is after it, to the front; returns how many these are. */
PHINTYS_INLINE npy_intp NAMED(divide)(E *elements, npy_intp count, E pivot, int with_equal) {
    npy_intp first = 0;
    for (npy_intp i = 0; i < count; i++) {
        E element = elements[i];
        elements[i] = elements[first], elements[first] = element;
        first += with_equal ? !LESS(pivot, element) : LESS(element, pivot);
    }
    return first;
}

/* The median of the first, the middle and the last element. */
PHINTYS_INLINE E NAMED(median)(const E *elements, npy_intp count) {
    E a = elements[0], b = elements[count / 2], c = elements[count - 1];
    if (LESS(b, a)) { E kept = a; a = b, b = kept; }
    if (LESS(c, b)) b = LESS(c, a) ? a : c;
    return b;
}

/* An element that is likely to be a little beyond the one chosen, as seen from the nearer end: of 63 that are spread
 * over many, the one with the same rank, or 4 further. So the part in which the search goes on is small. */
static E NAMED(likely_bound)(const E *elements, npy_intp count, npy_intp chosen) {
    E sample[63];
    npy_intp rank = chosen * 63 / count;
    for (int i = 0; i < 63; i++) sample[i] = elements[count / 63 * i];
    NAMED(sort_by_insertion)(sample, 63);
    rank += rank < 32 ? 4 : -4;
    return sample[rank];
}

/* Element number `chosen` of the order goes to its place, what is before it to the front, what is after it to the
 * back. */
static void NAMED(select)(E *elements, npy_intp count, npy_intp chosen) {
    int rounds = 8;
    for (npy_intp left = count; left; left >>= 1) rounds += 3;
    while (count > 16) {
        E pivot = count > 4096 ? NAMED(likely_bound)(elements, count, chosen) : NAMED(median)(elements, count);
        npy_intp before = NAMED(divide)(elements, count, pivot, 0);
        if (rounds-- == 0) {
            NAMED(sort_all)(elements, count);
            return;
        }
        if (chosen < before) {
            count = before;
            continue;
        }
        int shrinks = before > count / 8;
        elements += before, count -= before, chosen -= before;
        if (shrinks) continue;                              /* else many elements may equal the pivot */
        npy_intp equal = NAMED(divide)(elements, count, pivot, 1);
        if (chosen < equal) return;
        elements += equal, count -= equal, chosen -= equal;
    }
    NAMED(sort_by_insertion)(elements, count);
}

#undef NAMED
#undef E
#undef LESS
#undef NAME

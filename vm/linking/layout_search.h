/* Layouts by search: places values with different lives in a block of a given size, or improves a layout.
 *
 * Time is cut into sections, at each moment at which a value begins or ends. `search_fit` places values from the bottom
 * up. In each section it knows the `floor`, below which nothing that is not placed yet can be, and the `rest`, the
 * sizes of all values that are to be placed there; floor + rest must not be more than the capacity. A value that is not
 * placed is at least at `least`, the highest floor of its sections; and the floor of a section rises to the lowest
 * `least` of the values that it lacks. These two rules are applied until nothing changes, after each placement.
 *
 * A layout in which no value can move into a hole further down can be written as a list by offsets, so each value is
 * placed at its `least`, and never lower than the one before. The next value must begin below the lowest end that any
 * other could have, since that other would fit in the hole. Values that are left and that live in separate parts of
 * time are placed part by part.
 *
 * Each floor and each `least` carries the set of the placed values that caused it. If what follows a placement fails
 * for a reason that does not contain the placed value, another value in its place would fail as well: the search
 * returns to the last placement that is part of the reason. The rule of holes has no such reason, so now and then a
 * layout is missed: only `1` is an answer. Since a bad first placement can cost years, a round ends after some
 * placements, and the next one tries values in another order.
 *
 * `search_improve` is for inputs at which that fails: values are placed one by one at the lowest free offset; those
 * that end highest come earlier in the next round. */
#ifndef PHINTYS_LAYOUT_SEARCH_H
#define PHINTYS_LAYOUT_SEARCH_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct { int at; int64_t before; } search_number;       /* a floor or a `least`, before it rose */

typedef struct {
    search_number* numbers;
    uint64_t* reasons;
    size_t used, room;
} search_trail;

typedef struct {
    /* The problem: sizes, and the sections of each value, begin <= section < end. */
    int count, sections, words;                                 /* words: of a set of values */
    int64_t *size, capacity;
    int *begin, *end;
    int *alive, *alive_from;                                    /* of a section: alive[alive_from[s]] and further */
    /* The layout so far. */
    int64_t *floor, *rest, *least, *offset, last;
    uint64_t *floor_reason, *least_reason, *conflict;
    int *rank, *lowest, *queue;                                 /* lowest: of a section, a value at its floor */
    char *placed, *queued;
    int queue_used, by_offset, failed;
    search_trail floors, leasts, lows;
    int* stack;                                                 /* lists of values, one above the other */
    long placements, most;
    double until;
    uint64_t random;
} search;

static double search_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

static double search_random(search* s) {                        /* from 0 to 1 */
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return (s->random >> 11) * 0x1p-53;
}

/* ---- sets and trails --------------------------------------------------------------------------------------------- */
static void search_unite(uint64_t* set, const uint64_t* other, int words) {
    for (int word = 0; word < words; word++) set[word] |= other[word];
}

static int search_contains(const uint64_t* set, int value) { return set[value / 64] >> value % 64 & 1; }
static void search_add(uint64_t* set, int value) { set[value / 64] |= (uint64_t)1 << value % 64; }
static void search_remove(uint64_t* set, int value) { set[value / 64] &= ~((uint64_t)1 << value % 64); }

static void search_note(search* s, search_trail* trail, int at, int64_t before, const uint64_t* reason) {
    if (trail->used == trail->room) {
        size_t room = trail->room ? 2 * trail->room : 1024;
        search_number* numbers = (search_number*)realloc(trail->numbers, room * sizeof *numbers);
        if (numbers) trail->numbers = numbers;
        uint64_t* reasons = (uint64_t*)realloc(trail->reasons, room * s->words * 8);
        if (reasons) trail->reasons = reasons;
        if (!numbers || !reasons) { s->failed = 1; return; }
        trail->room = room;
    }
    trail->numbers[trail->used] = (search_number){at, before};
    if (reason) memcpy(trail->reasons + trail->used * s->words, reason, s->words * 8);
    trail->used++;
}

static void search_restore(search* s, search_trail* trail, size_t used, int64_t* values, uint64_t* reasons) {
    while (trail->used > used) {
        search_number number = trail->numbers[--trail->used];
        values[number.at] = number.before;
        memcpy(reasons + number.at * s->words, trail->reasons + trail->used * s->words, s->words * 8);
    }
}

/* ---- what follows from a placement ------------------------------------------------------------------------------- */
static void search_raise(search* s, int section, int64_t floor, const uint64_t* reason) {
    search_note(s, &s->floors, section, s->floor[section], s->floor_reason + section * s->words);
    s->floor[section] = floor;
    memcpy(s->floor_reason + section * s->words, reason, s->words * 8);
    if (!s->queued[section]) s->queue[s->queue_used++ % s->sections] = section;
    s->queued[section] = 1;
}

/* Look for a value that can be at the floor of a section; if there is none, the floor rises to the lowest. */
static void search_lowest(search* s, int section, uint64_t* room) {
    int64_t lowest = INT64_MAX, floor = s->floor[section] > s->last ? s->floor[section] : s->last;
    int found = -1;
    const int *from = s->alive + s->alive_from[section], *to = s->alive + s->alive_from[section + 1];
    for (const int* each = from; each < to && lowest > floor; each++)
        if (!s->placed[*each] && s->least[*each] < lowest) lowest = s->least[found = *each];
    if (found < 0) return;
    if (found != s->lowest[section]) {
        search_note(s, &s->lows, section, s->lowest[section], NULL);
        s->lowest[section] = found;
    }
    if (lowest <= floor) return;
    memset(room, 0, s->words * 8);
    for (const int* each = from; each < to; each++)
        if (s->placed[*each]) search_add(room, *each);
        else search_unite(room, s->least_reason + *each * s->words, s->words);
    search_raise(s, section, lowest, room);
}

/* 0 if the placements so far cannot be completed; then `conflict` says why. */
static int search_follow(search* s, uint64_t* room) {
    int possible = 1;
    for (int next = 0; next < s->queue_used; next++) {
        int section = s->queue[next % s->sections];
        int64_t floor = s->floor[section];
        uint64_t* reason = s->floor_reason + section * s->words;
        s->queued[section] = 0;
        if (!possible || !s->rest[section]) continue;
        if (floor + s->rest[section] > s->capacity) {
            memcpy(s->conflict, reason, s->words * 8);
            possible = 0;
            continue;
        }
        for (int each = s->alive_from[section]; each < s->alive_from[section + 1]; each++) {
            int value = s->alive[each];
            if (s->placed[value] || s->least[value] >= floor) continue;
            search_note(s, &s->leasts, value, s->least[value], s->least_reason + value * s->words);
            s->least[value] = floor;
            memcpy(s->least_reason + value * s->words, reason, s->words * 8);
            if (floor + s->size[value] > s->capacity) {
                memcpy(s->conflict, reason, s->words * 8);
                possible = 0;
                break;
            }
            for (int at = s->begin[value]; at < s->end[value]; at++)
                if (s->lowest[at] == value && floor > s->floor[at] && floor > s->last) search_lowest(s, at, room);
        }
        if (possible && s->placed[s->lowest[section]]) search_lowest(s, section, room);
    }
    s->queue_used = 0;
    return possible;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */
static int search_parts(search* s, int* values, int count, int64_t last, const uint64_t* last_reason, int* stack);

static int64_t search_at(const search* s, int value, int64_t last) {
    return s->least[value] > last ? s->least[value] : last;
}

/* The values that can come next, in the order in which they are tried. */
static int search_candidates(search* s, const int* values, int count, int64_t last, int* candidates) {
    int64_t end = INT64_MAX;
    int found = 0;
    for (int each = 0; each < count; each++) {
        int64_t other = search_at(s, values[each], last) + s->size[values[each]];
        if (other < end) end = other;
    }
    for (int each = 0; each < count; each++) {
        int value = values[each], place = found;
        int64_t at = search_at(s, value, last);
        if (at >= end) continue;
        while (place > 0) {
            int other = candidates[place - 1];
            int64_t there = s->by_offset ? search_at(s, other, last) : at;
            if (there < at || (there == at && s->rank[other] < s->rank[value])) break;
            candidates[place] = other;
            place--;
        }
        candidates[place] = value;
        found++;
    }
    return found;
}

static int search_is_like(const search* s, int one, int other) {
    return s->begin[one] == s->begin[other] && s->end[one] == s->end[other] && s->size[one] == s->size[other];
}

static void search_unplace(search* s, int value) {
    s->placed[value] = 0;
    for (int at = s->begin[value]; at < s->end[value]; at++) s->rest[at] += s->size[value];
}

/* Place a value, and all that is left after it. `from` and `to`: the sections of the values that are left. */
static int search_place(search* s, int value, int* values, int count, int64_t last, const uint64_t* last_reason,
                        int from, int to, int* stack) {
    uint64_t reason[s->words], room[s->words];
    int64_t at = search_at(s, value, last);
    int possible = 1, left = 0;
    memcpy(reason, s->least[value] >= last ? s->least_reason + value * s->words : last_reason, s->words * 8);
    search_add(reason, value);
    s->placed[value] = 1;
    s->offset[value] = s->last = at;
    for (int section = s->begin[value]; section < s->end[value]; section++) {
        s->rest[section] -= s->size[value];
        search_raise(s, section, at + s->size[value], reason);
    }
    for (int section = from; section < to && possible && at > last; section++)
        if (s->rest[section] && s->floor[section] < at && at + s->rest[section] > s->capacity) {
            memcpy(s->conflict, reason, s->words * 8);
            possible = 0;
        }
    if (!possible) {
        for (int each = 0; each < s->queue_used; each++) s->queued[s->queue[each % s->sections]] = 0;
        s->queue_used = 0;
        return 0;
    }
    if (!search_follow(s, room)) return 0;
    for (int each = 0; each < count; each++)
        if (values[each] != value) stack[left++] = values[each];
    return search_parts(s, stack, left, at, reason, stack + left);
}

/* Place values that live in one part of time, each section of which some of them share. */
static int search_values(search* s, int* values, int count, int64_t last, const uint64_t* last_reason, int* stack) {
    if (++s->placements > s->most || (s->placements % 256 == 0 && search_now() > s->until)) s->failed = 1;
    if (s->failed) return 0;
    uint64_t reason[s->words];
    int *candidates = stack, found = search_candidates(s, values, count, last, candidates);
    int from = s->sections, to = 0;
    memset(reason, 0, sizeof reason);
    for (int each = 0; each < count; each++) {
        if (s->begin[values[each]] < from) from = s->begin[values[each]];
        if (s->end[values[each]] > to) to = s->end[values[each]];
    }
    for (int each = 0; each < found; each++) {
        int value = candidates[each], alike = 0;
        for (int before = 0; before < each && !alike; before++) alike = search_is_like(s, value, candidates[before]);
        if (alike) continue;
        size_t floors = s->floors.used, leasts = s->leasts.used, lows = s->lows.used;
        int done = search_place(s, value, values, count, last, last_reason, from, to, stack + found);
        if (done || s->failed) return done;
        for (int other = 0; other < count; other++)             /* also those of parts that were possible */
            if (s->placed[values[other]]) search_unplace(s, values[other]);
        search_restore(s, &s->floors, floors, s->floor, s->floor_reason);
        search_restore(s, &s->leasts, leasts, s->least, s->least_reason);
        while (s->lows.used > lows) {
            s->lows.used--;
            s->lowest[s->lows.numbers[s->lows.used].at] = (int)s->lows.numbers[s->lows.used].before;
        }
        if (!search_contains(s->conflict, value)) return 0;
        search_unite(reason, s->conflict, s->words);
    }
    for (int each = 0; each < count; each++) search_remove(reason, values[each]);
    memcpy(s->conflict, reason, sizeof reason);
    return 0;
}

/* Place values, part of time by part; they are sorted by their begin. */
static int search_parts(search* s, int* values, int count, int64_t last, const uint64_t* last_reason, int* stack) {
    for (int first = 0, next, end; first < count; first = next) {
        end = s->end[values[first]];
        for (next = first + 1; next < count && s->begin[values[next]] < end; next++)
            if (s->end[values[next]] > end) end = s->end[values[next]];
        s->last = last;
        if (!search_values(s, values + first, next - first, last, last_reason, stack)) return 0;
    }
    return 1;
}

static void search_reset(search* s) {
    memset(s->floor, 0, s->sections * 8);
    memset(s->rest, 0, s->sections * 8);
    memset(s->least, 0, s->count * 8);
    memset(s->floor_reason, 0, (size_t)s->sections * s->words * 8);
    memset(s->least_reason, 0, (size_t)s->count * s->words * 8);
    memset(s->placed, 0, s->count);
    memset(s->queued, 0, s->sections);
    s->queue_used = s->failed = 0;
    s->floors.used = s->leasts.used = s->lows.used = 0;
    s->placements = 0;
    s->last = 0;
    for (int section = 0; section < s->sections; section++) {
        s->lowest[section] = s->alive_from[section] < s->alive_from[section + 1] ? s->alive[s->alive_from[section]] : 0;
        for (int each = s->alive_from[section]; each < s->alive_from[section + 1]; each++)
            s->rest[section] += s->size[s->alive[each]];
    }
}

/* 1 if all values have been placed below the capacity. `order` is that in which values are tried, `values` all values
 * sorted by their begin; the round ends after `most` placements. */
static int search_fit(search* s, const int* order, int* values, int by_offset, long most) {
    uint64_t nothing[s->words];
    memset(nothing, 0, sizeof nothing);
    search_reset(s);
    for (int place = 0; place < s->count; place++) s->rank[order[place]] = place;
    s->by_offset = by_offset;
    s->most = most;
    return search_parts(s, values, s->count, 0, nothing, s->stack) && !s->failed;
}

/* ---- one by one -------------------------------------------------------------------------------------------------- */
/* Place values in an order at the lowest free offsets. `sorted`: room for places. Returns the end of the highest. */
static int64_t search_first_fit(search* s, const int* order, int* sorted) {
    int64_t highest = 0;
    int used = 0;
    for (int each = 0; each < s->count; each++) {
        int value = order[each], place;
        int64_t at = 0;
        for (place = 0; place < used; place++) {                /* placed values, by their offsets */
            int other = sorted[place];
            if (s->begin[other] >= s->end[value] || s->begin[value] >= s->end[other]) continue;
            if (s->offset[other] >= at + s->size[value]) break;
            if (s->offset[other] + s->size[other] > at) at = s->offset[other] + s->size[other];
        }
        s->offset[value] = at;
        for (place = used++; place > 0 && s->offset[sorted[place - 1]] > at; place--) sorted[place] = sorted[place - 1];
        sorted[place] = value;
        if (at + s->size[value] > highest) highest = at + s->size[value];
    }
    return highest;
}

static void search_sort(search* s, const double* priority, int* order) {        /* nearly sorted: by insertion */
    for (int each = 1; each < s->count; each++) {
        int value = order[each], place = each;
        for (; place > 0 && priority[order[place - 1]] < priority[value]; place--) order[place] = order[place - 1];
        order[place] = value;
    }
}

enum { SEARCH_STALE = 200, SEARCH_MOVED = 50 };

/* Improve a layout until it has the size `bound` or the time is up. Values that end at the size of the best layout or
 * above come earlier in the next round; after many rounds without success the search goes on from the best, a little
 * changed. `order` is the first order. The offsets of the best layout are in `best`, if one was found that is smaller
 * than `size`; returns the size of the best. */
static int64_t search_improve(search* s, int* order, int64_t bound, int64_t size, int64_t* best, double* priorities) {
    int count = s->count, stale = 0;
    double *now = priorities, *of_best = priorities + count;
    int64_t current_size = INT64_MAX;
    for (int each = 0; each < count; each++) now[order[each]] = count - each;
    memcpy(of_best, now, count * sizeof *now);
    while (size > bound && search_now() < s->until) {
        search_sort(s, now, order);
        int64_t found = search_first_fit(s, order, s->queue);
        if (found < size) {
            size = found;
            memcpy(best, s->offset, count * sizeof *best);
            memcpy(of_best, now, count * sizeof *now);
        }
        if (found <= current_size) {
            current_size = found;
            stale = 0;
        } else if (++stale > SEARCH_STALE) {
            stale = 0;
            current_size = size;
            memcpy(now, of_best, count * sizeof *now);
            for (int each = 0; each < 3; each++)
                now[(int)(search_random(s) * count)] += count * 0.1 * (2 * search_random(s) - 1);
            continue;
        }
        for (int each = 0; each < count; each++)
            if (s->offset[each] + s->size[each] >= size) now[each] += count * 0.05 * (0.5 + search_random(s));
        if (stale % SEARCH_MOVED == SEARCH_MOVED - 1)
            now[(int)(search_random(s) * count)] = search_random(s) * count * 1.2;
    }
    return size;
}
#endif

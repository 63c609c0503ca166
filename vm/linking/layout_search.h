/* Layouts by search: places values with different lives in a block of a given size, or improves a layout.
 *
 * Time is cut into sections, at each moment at which a value begins or ends. `search_fit` places values from the bottom
 * up. In each section it knows the `floor`, below which nothing that is not placed yet can be, and the `rest`, the
 * sizes of all values that are to be placed there; floor + rest must not be more than the capacity. A value that is not
 * placed is at least at `least`, the highest end of the placed values that share a section with it; and the floor of a
 * section is at least the lowest `least` of the values that it lacks.
 *
 * A layout in which no value can move into a hole further down can be written as a list of values by offset, and by
 * rank where offsets are equal: so each value is placed at its `least`, never before the last one in this order. The
 * next value must begin below the lowest end that any other could have, since that other would fit in the hole. Values
 * that are left and that live in separate parts of time are placed part by part, each as a problem of its own: with
 * ranks by what is left, and without a last value.
 *
 * Each floor and each `least` carries the set of the placed values that caused it. If what follows a placement fails
 * for a reason that does not contain the placed value, another value in its place would fail as well: the search
 * returns to the last placement that is part of the reason. The rule of holes has such a reason only in `careful`
 * rounds, which are slower; in others now and then a layout is missed, so only `1` is an answer. Since a bad first
 * placement can cost years, a round ends after some placements, and the next one ranks values in another way.
 *
 * `search_niches` goes another way, which is better where hardly any memory may stay free for any time. A
 * `niche` is a part of time in which the floor is the same, with higher floors beside it. In each of its sections some
 * value begins at the floor, or memory stays free there: then the floor rises to what could hold the next value. The
 * section that is tried next is one with few such values and little free memory, of those that had no room before
 * the more often. Reasons are those of all floors below a value, but not of the values that could hold the next one.
 *
 * `search_improve` is for inputs at which both fail: values are placed one by one at the lowest free offset; those
 * that end highest come earlier in the next round. */
#ifndef PHINTYS_LAYOUT_SEARCH_H
#define PHINTYS_LAYOUT_SEARCH_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct { int at; int64_t before; } search_number;       /* a number before it changed, and its place */

typedef struct {
    search_number* numbers;
    uint64_t* reasons;
    size_t used, room;
} search_trail;

enum { SEARCH_KEYS = 3, SEARCH_PRESSURE = 0 };

typedef struct {
    /* The problem: sizes, and the sections of each value, begin <= section < end. */
    int count, sections, words;                                 /* words: of a set of values */
    int64_t *size, capacity;
    int *begin, *end;
    int *alive, *alive_from;                                    /* of a section: alive[alive_from[s]] and further */
    int *beside, *beside_from;                                  /* of a value: those that share a section with it */
    /* How values are ranked: by three of the measures, the largest first. */
    double *measures, *pressure;
    int keys[SEARCH_KEYS], careful;
    /* The layout so far. */
    int64_t *floor, *rest, *least, *offset;
    uint64_t *floor_reason, *least_reason, *conflict;
    int *rank, *lowest, *queue;                                 /* lowest: of a section, a value at its floor */
    char *placed, *queued;
    int queue_used, failed;
    search_trail floors, leasts, lows;
    int* stack;                                                 /* lists of values, one above the other */
    long placements, most;
    double until;
    uint64_t random;
    /* In niches: of a section the lowest values that are not placed, how many there are, the least size of them, and
     * what the others need above them; whether these must be found again; how often it had no room. */
    int64_t *low, *step, *next;
    int *choices, by_walls;
    char* stale;
    double* blame;
} search;

/* A part of time, its values, and the last value that was placed in it (-1: none), at `at`. */
typedef struct { int *values, count, from, to, last; int64_t at; } search_part;

static double search_now(void) {                              /* of this thread: others do not make layouts worse */
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
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
static void search_raise_floor(search* s, int section, int64_t floor, const uint64_t* reason) {
    search_note(s, &s->floors, section, s->floor[section], s->floor_reason + section * s->words);
    s->floor[section] = floor;
    memcpy(s->floor_reason + section * s->words, reason, s->words * 8);
}

static void search_ask(search* s, int section, int value) {     /* who is the lowest there without this value? */
    if (s->lowest[section] != value || s->queued[section]) return;
    s->queued[section] = 1;
    s->queue[s->queue_used++] = section;
}

/* Values that share a section with a placed one are not below its end. 0 if one of them has no room there. */
static int search_raise(search* s, int value, int64_t end, const uint64_t* reason) {
    for (int each = s->beside_from[value]; each < s->beside_from[value + 1]; each++) {
        int other = s->beside[each];
        if (s->placed[other] || s->least[other] >= end) continue;
        if (end + s->size[other] > s->capacity) return 0;
        search_note(s, &s->leasts, other, s->least[other], s->least_reason + other * s->words);
        s->least[other] = end;
        memcpy(s->least_reason + other * s->words, reason, s->words * 8);
        for (int section = s->begin[other]; section < s->end[other]; section++) search_ask(s, section, other);
    }
    for (int section = s->begin[value]; section < s->end[value]; section++) search_ask(s, section, value);
    return 1;
}

/* Look for a value that can be at the floor of a section; if there is none, the floor rises to the lowest. 0 if what is
 * left has no room above it; then `conflict` says why. */
static int search_lowest(search* s, int section) {
    int64_t lowest = INT64_MAX, floor = s->floor[section];
    int found = -1;
    const int *from = s->alive + s->alive_from[section], *to = s->alive + s->alive_from[section + 1];
    for (const int* each = from; each < to && lowest > floor; each++)
        if (!s->placed[*each] && s->least[*each] < lowest) lowest = s->least[found = *each];
    if (found < 0) return 1;
    if (found != s->lowest[section]) {
        search_note(s, &s->lows, section, s->lowest[section], NULL);
        s->lowest[section] = found;
    }
    if (lowest <= floor) return 1;
    uint64_t reason[s->words];
    memset(reason, 0, sizeof reason);
    for (const int* each = from; each < to; each++)
        if (s->placed[*each]) search_add(reason, *each);
        else search_unite(reason, s->least_reason + *each * s->words, s->words);
    search_raise_floor(s, section, lowest, reason);
    memcpy(s->conflict, reason, sizeof reason);
    return lowest + s->rest[section] <= s->capacity;
}

/* 0 if a value that has just been placed leaves too little room; then `conflict` says why. */
static int search_follow(search* s, int value, const search_part* part, const uint64_t* reason) {
    int64_t at = s->offset[value];
    int possible = 1;
    for (int section = part->from; section < part->to; section++) {     /* nothing comes below `at` any more */
        int low = s->floor[section] < at;
        if (!s->rest[section] || (low ? at : s->floor[section]) + s->rest[section] <= s->capacity) continue;
        memcpy(s->conflict, low ? reason : s->floor_reason + section * s->words, s->words * 8);
        return 0;
    }
    if (!search_raise(s, value, at + s->size[value], reason)) {
        memcpy(s->conflict, reason, s->words * 8);
        possible = 0;
    }
    for (int each = 0; each < s->queue_used; each++) {
        s->queued[s->queue[each]] = 0;
        possible = possible && search_lowest(s, s->queue[each]);
    }
    s->queue_used = 0;
    return possible;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */
static int search_is_before(const search* s, int one, int other) {
    for (int key = 0; key < SEARCH_KEYS; key++) {
        const double* measure = s->keys[key] == SEARCH_PRESSURE ? s->pressure : s->measures + s->keys[key] * s->count;
        if (measure[one] != measure[other]) return measure[one] > measure[other];
    }
    return one < other;
}

static void search_merge_sort(const search* s, int* values, int count, int* room) {
    if (count < 2) return;
    int half = count / 2, left = 0, right = half, place = 0;
    search_merge_sort(s, values, half, room);
    search_merge_sort(s, values + half, count - half, room);
    memcpy(room, values, count * sizeof *values);
    while (place < count) {
        int from_left = right == count || (left < half && search_is_before(s, room[left], room[right]));
        values[place++] = from_left ? room[left++] : room[right++];
    }
}

/* Rank the values of a part. `order`: room for twice as many. */
static void search_rank(search* s, const search_part* part, int* order) {
    for (int each = 0; each < part->count; each++) {
        int value = order[each] = part->values[each];
        int64_t most = 0;
        for (int section = s->begin[value]; section < s->end[value]; section++)
            if (s->rest[section] > most) most = s->rest[section];
        s->pressure[value] = most * s->measures[SEARCH_PRESSURE * s->count + value];
    }
    search_merge_sort(s, order, part->count, order + part->count);
    for (int place = 0; place < part->count; place++) s->rank[order[place]] = place;
}

/* ---- the search -------------------------------------------------------------------------------------------------- */
static int search_parts(search* s, search_part whole, int* stack);

/* The values that can come next, in the order in which they are tried; `reason`: why others cannot. */
static int search_candidates(search* s, const search_part* part, int* candidates, uint64_t* reason) {
    int64_t end = INT64_MAX;
    int found = 0;
    for (int each = 0; each < part->count; each++) {
        int64_t other = s->least[part->values[each]] + s->size[part->values[each]];
        if (other < end) end = other;
    }
    for (int each = 0; each < part->count; each++) {
        int value = part->values[each], place = found;
        int64_t at = s->least[value];
        if (at >= end) {
            if (s->careful) search_unite(reason, s->least_reason + value * s->words, s->words);
            continue;
        }
        if (part->last >= 0 && (at < part->at || (at == part->at && s->rank[value] < s->rank[part->last]))) {
            search_add(reason, part->last);
            continue;
        }
        for (; place > 0; place--) {
            int other = candidates[place - 1];
            if (s->least[other] < at || (s->least[other] == at && s->rank[other] < s->rank[value])) break;
            candidates[place] = other;
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

/* Place a value, and all that is left of its part after it. */
static int search_place(search* s, int value, const search_part* part, int* stack) {
    uint64_t reason[s->words];
    search_part left = {stack, 0, part->from, part->to, value, s->least[value]};
    memcpy(reason, s->least_reason + value * s->words, s->words * 8);
    search_add(reason, value);
    s->placed[value] = 1;
    s->offset[value] = left.at;
    for (int section = s->begin[value]; section < s->end[value]; section++) {
        s->rest[section] -= s->size[value];
        search_raise_floor(s, section, left.at + s->size[value], reason);
    }
    if (!search_follow(s, value, part, reason)) return 0;
    for (int each = 0; each < part->count; each++)
        if (part->values[each] != value) stack[left.count++] = part->values[each];
    return search_parts(s, left, stack + left.count);
}

/* Place values that live in one part of time, each section of which some of them share. */
static int search_values(search* s, search_part part, int* stack) {
    if (++s->placements > s->most || (s->placements % 64 == 0 && search_now() > s->until)) s->failed = 1;
    if (s->failed) return 0;
    uint64_t reason[s->words];
    memset(reason, 0, sizeof reason);
    int *candidates = stack, found = search_candidates(s, &part, candidates, reason);
    for (int each = 0; each < found; each++) {
        int value = candidates[each], alike = 0;
        for (int before = 0; before < each && !alike; before++) alike = search_is_like(s, value, candidates[before]);
        if (alike) continue;
        size_t floors = s->floors.used, leasts = s->leasts.used, lows = s->lows.used;
        int done = search_place(s, value, &part, stack + found);
        if (done || s->failed) return done;
        for (int other = 0; other < part.count; other++)        /* also those of parts that were possible */
            if (s->placed[part.values[other]]) search_unplace(s, part.values[other]);
        search_restore(s, &s->floors, floors, s->floor, s->floor_reason);
        search_restore(s, &s->leasts, leasts, s->least, s->least_reason);
        while (s->lows.used > lows) {
            s->lows.used--;
            s->lowest[s->lows.numbers[s->lows.used].at] = (int)s->lows.numbers[s->lows.used].before;
        }
        if (!search_contains(s->conflict, value)) return 0;
        search_unite(reason, s->conflict, s->words);
    }
    for (int each = 0; each < part.count; each++) search_remove(reason, part.values[each]);
    memcpy(s->conflict, reason, sizeof reason);
    return 0;
}

/* Place a part whose values are a problem of their own. */
static int search_separate(search* s, search_part part, int* stack) {
    int *ranks = stack, possible;
    part.last = -1;
    for (int each = 0; each < part.count; each++) ranks[each] = s->rank[part.values[each]];
    search_rank(s, &part, stack + part.count);
    possible = search_values(s, part, stack + part.count);
    for (int each = 0; each < part.count; each++) s->rank[part.values[each]] = ranks[each];
    return possible;
}

/* Place values, sorted by their begin, part of time by part. */
static int search_parts(search* s, search_part whole, int* stack) {
    for (int first = 0, next; first < whole.count; first = next) {
        int from = s->begin[whole.values[first]], to = s->end[whole.values[first]];
        for (next = first + 1; next < whole.count && s->begin[whole.values[next]] < to; next++)
            if (s->end[whole.values[next]] > to) to = s->end[whole.values[next]];
        if (from == whole.from && to == whole.to) return search_values(s, whole, stack);
        if (!search_separate(s, (search_part){whole.values + first, next - first, from, to, -1, 0}, stack)) return 0;
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
    for (int section = 0; section < s->sections; section++) {
        s->lowest[section] = -1;
        for (int each = s->alive_from[section]; each < s->alive_from[section + 1]; each++) {
            s->lowest[section] = s->alive[s->alive_from[section]];
            s->rest[section] += s->size[s->alive[each]];
        }
    }
}

/* 1 if all values have been placed below the capacity. `values`: all values, sorted by their begin; the round ends
 * after `most` placements. */
static int search_fit(search* s, int* values, long most) {
    search_reset(s);
    s->most = most;
    return search_parts(s, (search_part){values, s->count, -1, -1, -1, 0}, s->stack) && !s->failed;
}

/* ---- niches ------------------------------------------------------------------------------------------------------ */
static void search_renew(search* s, int value) {                /* its sections are looked at again */
    memset(s->stale + s->begin[value], 1, s->end[value] - s->begin[value]);
}

static void search_go_back(search* s, size_t floors, size_t leasts) {
    for (size_t each = leasts; each < s->leasts.used; each++) search_renew(s, s->leasts.numbers[each].at);
    search_restore(s, &s->floors, floors, s->floor, s->floor_reason);
    search_restore(s, &s->leasts, leasts, s->least, s->least_reason);
}

static int search_no_room(search* s, int section, const uint64_t* reason) {
    memcpy(s->conflict, reason, s->words * 8);
    s->blame[section]++;
    return 0;
}

/* A value that is not placed is not below `least`. 0 if it has no room there; then `conflict` says why. */
static int search_heave(search* s, int value, int64_t least, int section, const uint64_t* reason) {
    if (s->placed[value] || s->least[value] >= least) return 1;
    if (least + s->size[value] > s->capacity) return search_no_room(s, section, reason);
    search_note(s, &s->leasts, value, s->least[value], s->least_reason + value * s->words);
    s->least[value] = least;
    memcpy(s->least_reason + value * s->words, reason, s->words * 8);
    search_renew(s, value);
    return 1;
}

/* Add the reasons why values of a section are above its floor, and the floor where it is. */
static void search_explain(const search* s, int section, uint64_t* reason) {
    search_unite(reason, s->floor_reason + section * s->words, s->words);
    for (int each = s->alive_from[section]; each < s->alive_from[section + 1]; each++) {
        int value = s->alive[each];
        if (!s->placed[value] && s->least[value] > s->floor[section])
            search_unite(reason, s->least_reason + value * s->words, s->words);
    }
}

/* Look which values can be at the floor of a section; it rises to the lowest. 0 if what is left has no room, or has
 * none above those at the floor. */
static int search_look(search* s, int section) {
    if (s->stale[section]) {
        int64_t low = INT64_MAX, next = INT64_MAX, sum = 0, step = INT64_MAX;
        int found = 0;
        for (int each = s->alive_from[section]; each < s->alive_from[section + 1]; each++) {
            int value = s->alive[each];
            int64_t least = s->least[value], size = s->size[value];
            if (s->placed[value] || least > low) {
                if (!s->placed[value] && least < next) next = least;
                continue;
            }
            if (least < low) { next = low; low = least; found = 0; sum = 0; step = INT64_MAX; }
            found++;
            sum += size;
            if (size < step) step = size;
        }
        s->low[section] = low;
        s->next[section] = next == INT64_MAX ? 0 : next - sum;
        s->step[section] = step;
        s->choices[section] = found;
        s->stale[section] = 0;
    }
    int64_t low = s->low[section];
    if (low == s->floor[section] && s->next[section] + s->rest[section] <= s->capacity) return 1;
    uint64_t reason[s->words];
    memset(reason, 0, sizeof reason);
    search_explain(s, section, reason);
    if ((low > s->next[section] ? low : s->next[section]) + s->rest[section] > s->capacity)
        return search_no_room(s, section, reason);
    search_raise_floor(s, section, low, reason);
    return 1;
}

typedef struct { int from, to, section; int64_t wall; } search_niche;           /* from <= section < to */

static int64_t search_wall(const search* s, int section) {
    return section < 0 || section >= s->sections || !s->rest[section] ? INT64_MAX : s->floor[section];
}

/* Choose a section of a niche: the floor is the same from end to end, and higher beside it. 0 if some section has no
 * room; `section` is -1 if all values are placed. */
static int search_choose(search* s, search_niche* chosen) {
    double least = INFINITY;
    chosen->section = -1;
    for (int section = 0; section < s->sections; section++)
        if (s->rest[section] && !search_look(s, section)) return 0;
    for (int from = 0, to; from < s->sections; from = to) {
        to = from + 1;
        if (!s->rest[from]) continue;
        int64_t floor = s->floor[from], step = s->step[from];
        for (; to < s->sections && s->rest[to] && s->floor[to] == floor; to++)
            if (s->step[to] < step) step = s->step[to];
        int64_t left = search_wall(s, from - 1), right = search_wall(s, to), wall = left < right ? left : right;
        if (wall < floor) continue;
        if (wall - floor < step) step = wall - floor;
        for (int section = from; section < to; section++) {
            int64_t slack = s->capacity - floor - s->rest[section];
            double cost = (0.01 + (double)slack / s->capacity) / s->blame[section]
                          * (s->choices[section] + (slack >= step));
            if (cost >= least) continue;
            least = cost;
            *chosen = (search_niche){from, to, section, wall};
        }
    }
    return 1;
}

/* Place a value in a niche. */
static int search_put(search* s, int value) {
    int64_t end = s->least[value] + s->size[value];
    uint64_t reason[s->words];
    s->offset[value] = s->least[value];
    s->placed[value] = 1;
    search_renew(s, value);
    for (int section = s->begin[value]; section < s->end[value]; section++) {
        s->rest[section] -= s->size[value];
        memcpy(reason, s->floor_reason + section * s->words, sizeof reason);
        search_unite(reason, s->least_reason + value * s->words, s->words);
        search_add(reason, value);
        search_raise_floor(s, section, end, reason);
    }
    for (int each = s->beside_from[value]; each < s->beside_from[value + 1]; each++) {
        int other = s->beside[each], section = s->begin[value] > s->begin[other] ? s->begin[value] : s->begin[other];
        if (!search_heave(s, other, end, section, s->floor_reason + section * s->words)) return 0;
    }
    return 1;
}

static int search_touches(const search* s, int value, const search_niche* niche) {
    return s->by_walls ? (s->begin[value] == niche->from) + (s->end[value] == niche->to) : 0;
}

/* The values that can be at the floor of a section, in the order in which they are tried. */
static int search_choices(const search* s, const search_niche* niche, int* choices) {
    int found = 0;
    for (int each = s->alive_from[niche->section]; each < s->alive_from[niche->section + 1]; each++) {
        int value = s->alive[each], place = found, touches = search_touches(s, value, niche);
        if (s->placed[value] || s->least[value] > s->floor[niche->section]) continue;
        for (; place > 0; place--) {
            int other = choices[place - 1], others = search_touches(s, other, niche);
            if (others > touches || (others == touches && s->rank[other] < s->rank[value])) break;
            choices[place] = other;
        }
        choices[place] = value;
        found++;
    }
    return found;
}

/* Nothing is at the floor of a section: it rises to what could hold the next value there. 0 if it cannot. */
static int search_lift(search* s, const search_niche* niche, uint64_t* reason) {
    int section = niche->section;
    int64_t floor = s->floor[section], to = niche->wall;
    for (int other = niche->from; other < niche->to; other++) {
        if (s->step[other] >= to - floor) continue;
        for (int each = s->alive_from[other]; each < s->alive_from[other + 1]; each++) {
            int value = s->alive[each];
            if (s->placed[value] || s->least[value] > floor || s->size[value] >= to - floor) continue;
            if (s->begin[value] > section || s->end[value] <= section) to = floor + s->size[value];
        }
    }
    if (to == INT64_MAX || to + s->rest[section] > s->capacity) return search_no_room(s, section, reason);
    if (search_wall(s, niche->from - 1) < INT64_MAX)
        search_unite(reason, s->floor_reason + (niche->from - 1) * s->words, s->words);
    if (search_wall(s, niche->to) < INT64_MAX)
        search_unite(reason, s->floor_reason + niche->to * s->words, s->words);
    search_raise_floor(s, section, to, reason);
    for (int each = s->alive_from[section]; each < s->alive_from[section + 1]; each++)
        if (!search_heave(s, s->alive[each], to, section, reason)) return 0;
    return 1;
}

/* Place all values that are left, niche by niche. */
static int search_fill(search* s, int* stack) {
    size_t floors = s->floors.used, leasts = s->leasts.used;
    uint64_t reason[s->words];
    search_niche niche;
    while (search_choose(s, &niche)) {
        if (niche.section < 0) return 1;
        size_t higher = s->floors.used, greater = s->leasts.used;
        int found = search_choices(s, &niche, stack);
        memset(reason, 0, sizeof reason);
        search_explain(s, niche.section, reason);
        for (int each = 0; each < found; each++) {
            int value = stack[each], alike = 0;
            for (int before = 0; before < each && !alike; before++) alike = search_is_like(s, value, stack[before]);
            if (alike) continue;
            if (++s->placements > s->most || (s->placements % 64 == 0 && search_now() > s->until)) s->failed = 1;
            if (s->failed) return 0;
            if (search_put(s, value) && search_fill(s, stack + found)) return 1;
            if (s->failed) return 0;
            search_unplace(s, value);
            search_renew(s, value);
            search_go_back(s, higher, greater);
            if (!search_contains(s->conflict, value)) goto failed;
            search_remove(s->conflict, value);
            search_unite(reason, s->conflict, s->words);
        }
        for (int section = niche.from; section < niche.to; section++)
            if (s->stale[section]) search_look(s, section);
        if (!search_lift(s, &niche, reason)) break;
    }
failed:
    search_go_back(s, floors, leasts);
    return 0;
}

static int search_niches(search* s, int* values, long most) {
    search_reset(s);
    s->most = most;
    memset(s->stale, 1, s->sections);
    search_rank(s, &(search_part){values, s->count, 0, s->sections, -1, 0}, s->stack);
    return search_fill(s, s->stack) && !s->failed;
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

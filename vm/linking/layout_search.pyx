"""Search for small layouts, where placing values by a simple order leaves gaps: see ``layout_search.h``.

``packing.py`` calls ``searched`` when the best of its layouts is larger than the lower bound.
"""
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free

from itertools import count as numbers
from random import Random

cdef extern from "layout_search.h":
    enum:
        SEARCH_KEYS
    ctypedef struct search_trail:
        void* numbers
        void* reasons
    ctypedef struct search:
        int count, sections, words
        int64_t *size
        int64_t capacity
        int *begin
        int *end
        int *alive
        int *alive_from
        int *beside
        int *beside_from
        double *measures
        double *pressure
        int keys[SEARCH_KEYS]
        int careful
        int64_t *floor
        int64_t *rest
        int64_t *least
        int64_t *offset
        uint64_t *floor_reason
        uint64_t *least_reason
        uint64_t *conflict
        int *rank
        int *lowest
        int *queue
        char *placed
        char *queued
        int *stack
        search_trail floors, leasts, lows
        double until
        uint64_t random
        int64_t *low
        int64_t *step
        int64_t *next
        int *choices
        int by_walls
        char *stale
        double *blame
    double search_now() nogil
    int search_fit(search* s, int* values, long most) nogil
    int search_niches(search* s, int* values, long most) nogil
    int64_t search_improve(search* s, int* order, int64_t bound, int64_t size, int64_t* best, double* priorities) nogil

SHARES = 0.7, 0.8, 0.2              # of the time: when fitting and improving end; the most for a size in between
FEWEST = 300                        # placements of a round in which chance changes the ranks

# What values are ranked by: the largest sum of sizes that are left during its life, its life in moments, its size
# times its life, or an order that is given. The three ways are those that MiniMalloc tries.
PRESSURE, LIFE, AREA, GIVEN = range(4)
MEASURES = 4
WAYS = (PRESSURE, LIFE, AREA), (PRESSURE, AREA, LIFE), (LIFE, AREA, PRESSURE)


def searched(sizes, begins, ends, lives, offsets, bound, seconds):
    """Return better offsets, if some are found in the time.

    Parameters
    ----------
    sizes : list of int
        Bytes, multiples of the alignment.
    begins, ends : list of int
        The sections of time in which each value lives: ``begin <= section < end``.
    lives : list of int
        How long each lives, in moments.
    offsets : list of int
        A layout.
    bound : int
        A size that no layout can be smaller than.
    seconds : float

    Returns
    -------
    list of int
    """
    return _Search(sizes, begins, ends, lives).better(list(offsets), bound, seconds)


cdef class _Search:
    """The memory of a search, and the orders in which it tries values."""
    cdef search state
    cdef void* blocks[40]
    cdef int taken
    cdef int *order
    cdef int *values
    cdef int64_t *best
    cdef double *priorities
    cdef list sizes, begins, ends, lives

    def __cinit__(self, sizes, begins, ends, lives):
        cdef int count = len(sizes), sections = max(ends), words = (count + 63) // 64
        cdef int value, other, section, place = 0, beside = 0
        cdef search* s = &self.state
        s.count, s.sections, s.words, s.random = count, sections, words, 0x9E3779B97F4A7C15
        s.size = <int64_t*>self.take(count, 8)
        s.begin, s.end = <int*>self.take(count, 4), <int*>self.take(count, 4)
        s.alive = <int*>self.take(sum(ends) - sum(begins), 4)
        s.alive_from = <int*>self.take(sections + 1, 4)
        s.measures, s.pressure = <double*>self.take(MEASURES * count, 8), <double*>self.take(count, 8)
        s.floor, s.rest = <int64_t*>self.take(sections, 8), <int64_t*>self.take(sections, 8)
        s.least, s.offset = <int64_t*>self.take(count, 8), <int64_t*>self.take(count, 8)
        s.floor_reason = <uint64_t*>self.take(sections * words, 8)
        s.least_reason = <uint64_t*>self.take(count * words, 8)
        s.conflict = <uint64_t*>self.take(words, 8)
        s.rank, s.lowest = <int*>self.take(count, 4), <int*>self.take(sections, 4)
        s.queue = <int*>self.take(max(sections, count), 4)
        s.placed, s.queued = <char*>self.take(count, 1), <char*>self.take(sections, 1)
        s.low, s.step = <int64_t*>self.take(sections, 8), <int64_t*>self.take(sections, 8)
        s.next, s.choices = <int64_t*>self.take(sections, 8), <int*>self.take(sections, 4)
        s.stale, s.blame = <char*>self.take(sections, 1), <double*>self.take(sections, 8)
        s.stack = <int*>self.take(2 * count * (count + 4), 4)
        self.order, self.values = <int*>self.take(count, 4), <int*>self.take(count, 4)
        self.best, self.priorities = <int64_t*>self.take(count, 8), <double*>self.take(2 * count, 8)
        for value in range(count):
            s.size[value], s.begin[value], s.end[value] = sizes[value], begins[value], ends[value]
        for section in range(sections):
            s.alive_from[section] = place
            for value in range(count):
                if s.begin[value] <= section < s.end[value]:
                    s.alive[place] = value
                    place += 1
        s.alive_from[sections] = place
        neighbours = [[other for other in range(count) if other != value and begins[other] < ends[value]
                       and begins[value] < ends[other]] for value in range(count)]
        s.beside = <int*>self.take(sum([len(others) for others in neighbours]), 4)
        s.beside_from = <int*>self.take(count + 1, 4)
        for value, others in enumerate(neighbours):
            for other in others:
                s.beside[beside] = other
                beside += 1
            s.beside_from[value + 1] = beside
        self.sizes, self.begins, self.ends, self.lives = sizes, begins, ends, lives

    cdef void* take(self, size_t count, size_t size) except NULL:
        """Memory that ends with the object."""
        cdef void* block = calloc(max(count, 1), size)
        if block == NULL:
            raise MemoryError("a search for a layout has no memory")
        self.blocks[self.taken] = block
        self.taken += 1
        return block

    def __dealloc__(self):
        for number in range(self.taken):
            free(self.blocks[number])
        free(self.state.floors.numbers)
        free(self.state.floors.reasons)
        free(self.state.leasts.numbers)
        free(self.state.leasts.reasons)
        free(self.state.lows.numbers)
        free(self.state.lows.reasons)

    def better(self, offsets, bound, seconds):
        """Fit values into the bound; then improve the layout; then fit them into sizes between the two."""
        start, size = search_now(), max([offset + length for offset, length in zip(offsets, self.sizes)])
        found = self.fit(bound, [self.rounds(), self.niches()], start + SHARES[0] * seconds)
        if found is not None:
            return found
        found, size, order = self.improve(offsets, size, bound, start + SHARES[1] * seconds)
        while size > bound and search_now() < start + seconds:
            until = min(start + seconds, search_now() + SHARES[2] * seconds)
            fitting = self.fit(size - max(64, (size - bound) // 640 * 64), [self.near(order), self.niches()], until)
            if fitting is None:
                break
            found, size = fitting, max([offset + length for offset, length in zip(fitting, self.sizes)])
        return found

    cdef fit(self, int64_t capacity, kinds, double until):
        """Offsets below the capacity, if some are found in the time by one of the rounds; else None.

        ``kinds``: generators of rounds; each has the same share of the time.
        """
        cdef search* s = &self.state
        cdef int value, found, key, in_niches
        cdef long most
        cdef double start
        for place, number in enumerate(sorted(range(s.count), key=self.begins.__getitem__)):
            self.values[place] = number
        for place in range(s.sections):
            s.blame[place] = 1
        s.capacity, s.until, spent = capacity, until, [0.0] * len(kinds)
        while (start := search_now()) < until:
            kind = spent.index(min(spent))
            keys, manner, limit = next(kinds[kind])
            for key in range(SEARCH_KEYS):
                s.keys[key] = keys[key]
            s.careful = s.by_walls = manner
            most, in_niches = limit, kind
            with nogil:
                found = search_niches(s, self.values, most) if in_niches else search_fit(s, self.values, most)
            if found:
                return [s.offset[value] for value in range(s.count)]
            spent[kind] += search_now() - start

    def niches(self):
        """Yield (keys, by walls, placements) for the search by niches: once plainly, then with ranks by chance."""
        chance, plain = Random(1), [1.0] * self.state.count
        for number in numbers(1):
            for way in (AREA, PRESSURE, LIFE), (LIFE, PRESSURE, AREA), (PRESSURE, AREA, LIFE):
                for by_walls in (False, True):
                    self.measure(plain if number == 1 else [chance.uniform(0.8, 1.25) for _ in plain])
                    yield way, by_walls, self.state.count + FEWEST * luby(number)

    def rounds(self):
        """Yield (keys, careful, placements): each way plainly, and with ranks that chance changes."""
        cdef int count = self.state.count
        chance, plain = Random(0), [1.0] * count
        for number in numbers(1):
            for careful in (False, True):
                for way in WAYS:
                    self.measure(plain)
                    yield way, careful, count << min(number, 20)
            for way in WAYS:
                self.measure([chance.uniform(0.8, 1.25) for _ in range(count)])
                yield way, False, count + FEWEST * luby(number)

    def near(self, order):
        """Yield rounds as ``rounds``: with the ranks of an order, and with what chance makes of it."""
        cdef search* s = &self.state
        chance = Random(0)
        for number in numbers(1):
            for place, value in enumerate(order):
                s.measures[GIVEN * s.count + value] = -place + (number > 1) * chance.uniform(-0.025, 0.025) * s.count
            for careful in (False, True):
                yield (GIVEN,) * SEARCH_KEYS, careful, s.count + FEWEST * luby(number)

    cdef measure(self, factors):
        """Set what values are ranked by."""
        cdef search* s = &self.state
        cdef int value
        for value in range(s.count):
            s.measures[PRESSURE * s.count + value] = factors[value]
            s.measures[LIFE * s.count + value] = factors[value] * self.lives[value]
            s.measures[AREA * s.count + value] = factors[value] * self.lives[value] * self.sizes[value]

    cdef improve(self, offsets, int64_t size, int64_t bound, double until):
        """Better offsets, their size, and the order that gave them."""
        cdef search* s = &self.state
        cdef int value
        for place, value in enumerate(sorted(range(s.count), key=self.area, reverse=True)):
            self.order[place] = value
        for value in range(s.count):
            self.best[value] = offsets[value]
        s.until = until
        with nogil:
            size = search_improve(s, self.order, bound, size, self.best, self.priorities)
        order = sorted(range(s.count), key=lambda value: -self.priorities[s.count + value])
        return [self.best[value] for value in range(s.count)], size, order

    def area(self, value):
        """Bytes times sections."""
        return self.sizes[value] * (self.ends[value] - self.begins[value])


def luby(number):
    """The sequence 1, 1, 2, 1, 1, 2, 4, 1, …: how long rounds are, if nobody knows how long is right."""
    power = number.bit_length()
    return 1 << power - 1 if number + 1 == 1 << power else luby(number - (1 << power - 1) + 1)

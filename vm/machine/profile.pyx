"""Profiles: how often each instruction of a program ran, how long it took, and how much it computed.

In a program that is profiled, PROFILE replaces each instruction; the interpreter calls ``begin`` and then
does what the instruction is for. Nothing is there in other programs. A frame has records of its own, so that threads
need no lock; at the end of a call they are added to those of the program.
"""
cimport cython
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from phintys.vm.abi cimport CELL_OBJECT, Cell, cell_size


cdef class Profile:

    def __cinit__(self, int count):
        self.count = count
        self.totals = <Record*>calloc(count + 1, sizeof(Record))
        if self.totals == NULL:
            raise MemoryError()

    def records(self):
        """What each instruction took.

        Returns
        -------
        list of (int, float, float)
            How often it ran, seconds, and bytes of the values that it computed.
        """
        cdef int position
        return [(self.totals[position].calls, self.totals[position].seconds, self.totals[position].bytes)
                for position in range(self.count)]

    def seconds_at_device(self):
        """How many seconds a device worked on each instruction, by its own clock.

        Returns
        -------
        list of float
        """
        return [self.totals[position].at_device for position in range(self.count)]

    def reset(self):
        """Forget all calls."""
        memset(self.totals, 0, self.count * sizeof(Record))
        self.calls, self.seconds = 0, 0

    cdef Timing* new_timing(self, const unsigned char* ops) except NULL:
        """What a new frame needs."""
        cdef Timing* timing = <Timing*>calloc(1, sizeof(Timing))
        if timing == NULL:
            raise MemoryError()
        timing.ops, timing.running = ops, -1
        timing.records = <Record*>calloc(self.count + 1, sizeof(Record))
        if timing.records == NULL:
            free(timing)
            raise MemoryError()
        return timing

    cdef void add(self, Timing* timing) noexcept:
        """The end of a call: its records become the program's."""
        cdef int position
        with cython.critical_section(self):
            for position in range(self.count):
                self.totals[position].calls += timing.records[position].calls
                self.totals[position].seconds += timing.records[position].seconds
                self.totals[position].bytes += timing.records[position].bytes
                self.totals[position].at_device += timing.records[position].at_device
        memset(timing.records, 0, self.count * sizeof(Record))

    cdef void add_call(self, double seconds) noexcept:
        with cython.critical_section(self):
            self.calls += 1
            self.seconds += seconds
        if self.skips_first:
            self.skips_first = False
            self.reset()

    def __dealloc__(self):
        free(self.totals)


cdef double bytes_of(Cell** cells, int count) noexcept nogil:
    cdef double total = 0
    cdef int index
    for index in range(count):
        if not cells[index].flags & CELL_OBJECT and cells[index].data != NULL:
            total += <double>cell_size(cells[index]) * cells[index].itemsize
    return total


cdef void end(Timing* timing) noexcept nogil:
    """The running instruction is done."""
    cdef Record* record
    if timing.running < 0:
        return
    record = &timing.records[timing.running]
    record.calls += 1
    record.seconds += phintys_seconds() - timing.started
    record.at_device += timing.at_device
    timing.at_device = 0
    record.bytes += bytes_of(timing.outputs, timing.n_outputs)
    timing.running = -1


cdef void begin(Timing* timing, int position, Cell** outputs, int n_outputs) noexcept nogil:
    """The next instruction starts; the one before is done."""
    end(timing)
    timing.running, timing.outputs, timing.n_outputs = position, outputs, n_outputs
    timing.started = phintys_seconds()


cdef void free_timing(Timing* timing) noexcept:
    if timing != NULL:
        free(timing.records)
        free(timing)

"""The instruction sets that the processor has and ``config.cpu`` allows: the only test of the processor."""
from phintys.graph.config import config

NAMES = ("baseline", "avx2", "avx512")                  # by level, as in sets.h
cdef int processor = phintys_set_of_processor()
cdef int usable = processor


cdef int usable_set() noexcept nogil:
    """The level whose loops a kernel that is made now is to use."""
    return usable


cdef const int* set_of_process() noexcept nogil:
    """Where the present level is, for loops that belong to no kernel."""
    return &usable


def usable_sets():
    """The names of the sets that a kernel that is made now may use, the widest last; the baseline goes without
    saying."""
    return NAMES[1:usable + 1]


def sets_of_processor():
    """The names of the sets that the processor has, the widest last; the baseline goes without saying."""
    return NAMES[1:processor + 1]


def follow(cpu):
    """Allow the sets of a value of ``config.cpu``."""
    global usable
    usable = processor if cpu == "native" else min(processor, NAMES.index(cpu))


config.on_change("cpu", follow)

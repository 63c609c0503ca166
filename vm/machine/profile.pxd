"""What calls take, instruction by instruction; see ``profile.pyx``."""
from phintys.vm.abi cimport Cell

cdef extern from "machine/clock.h" nogil:
    double phintys_seconds()

cdef struct Record:                 # of one instruction
    long long calls
    double seconds
    double bytes                    # of the values that it computed
    double at_device                # seconds that a device worked on it

cdef struct Timing:                 # of one frame
    const unsigned char* ops        # what PROFILE replaces, by position
    Record* records                 # of the present call, by position
    int running                     # the instruction that is timed now, or -1
    double started                  # when
    double at_device                # seconds that a device has worked since then
    Cell** outputs                  # the cells that it computes
    int n_outputs

cdef class Profile:
    """The records of a program, of all its frames together. All but ``begin`` needs the GIL."""
    cdef Record* totals
    cdef readonly int count         # of instructions
    cdef readonly long long calls   # of the function
    cdef readonly double seconds    # that they took, with all that is done for arguments and results
    cdef public bint skips_first    # the first call is not counted
    cdef Timing* new_timing(self, const unsigned char* ops) except NULL
    cdef void add(self, Timing* timing) noexcept
    cdef void add_call(self, double seconds) noexcept

cdef void begin(Timing* timing, int position, Cell** outputs, int n_outputs) noexcept nogil
cdef void end(Timing* timing) noexcept nogil
cdef void free_timing(Timing* timing) noexcept

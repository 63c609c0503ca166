"""Steps of a loop whose kernels are bound and whose memory stays; see ``replay.pyx``."""

from phintys.vm.abi cimport Cell
from phintys.vm.machine.code cimport Instruction
from phintys.vm.machine.frame cimport Frame
from phintys.vm.machine.plays cimport Play

cdef class Replay:
    cdef Frame frame
    cdef Play* plays
    cdef Cell** written                 # cells that own what they have, and where it is
    cdef char** addresses
    cdef Cell** views                   # cells that look at the memory of others
    cdef int n_plays, n_written, n_views
    cdef int record(self) except -1
    cdef int _run_kernel(self, const Instruction* at) except -1
    cdef int _copy(self, const Instruction* at) except -1
    cdef int _note(self, Cell* cell) noexcept
    cdef char* address_of(self, const Cell* cell) noexcept
    cdef bint can_hold(self) noexcept
    cdef int hold(self) noexcept
    cdef int release(self) noexcept

"""Calls of a frame's copy that repeat a recorded one; see ``recorded_call.pyx``."""
from phintys.vm.abi cimport Cell, Span
from phintys.vm.machine.code cimport Code
from phintys.vm.machine.frame cimport Machine
from phintys.vm.machine.plays cimport Play

cdef struct Leaf:                   # an argument or a shared value
    Cell* cell
    char* data                      # where it was in the last call
    Span span                       # its memory in the recorded call
    Cell** views                    # cells that look at it
    int n_views

cdef struct Recording:              # all in one block of memory, this struct first
    long long epoch
    int n_plays, n_written, n_leaves, n_wandering
    Play* plays
    Cell** written                  # cells that own what they have,
    char** addresses                   # and where it is
    Cell** wandering                # cells that look elsewhere in each call
    Leaf* leaves

# For each instruction, whether its kernel makes views of what lies at the same address in each call, and nothing else.
cdef unsigned char* kernels_that_look(Code code) except NULL
# Run a call as `execute` does, up to RESULT or HALT, and note what it does. NULL if that fails, or there is no memory
# to note it: then `failed` says whether the call itself did. Of each instruction, `only_looks` says whether its kernel,
# if it makes its outputs views, does nothing else, so that it need not run again.
cdef Recording* record(Machine* machine, int n_instructions, int n_cells, int* leaves, int n_leaves,
                       const unsigned char* only_looks, bint* failed) noexcept nogil
# When the recorded call is over: let each value have the address that it had. Returns whether the frame has kept them.
cdef bint hold(Recording* recording, Machine* machine) noexcept nogil
# Do what the recorded call did, on arguments that are elsewhere; as `execute`.
cdef int play(Recording* recording, Machine* machine) noexcept nogil
# Let the cells have what the frame says again, and free the recording. Values are lost.
cdef void release(Recording* recording) noexcept nogil

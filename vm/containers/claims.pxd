"""Claims: who may change containers, and when others must wait; see ``claims.pyx``."""
from phintys.vm.python_api cimport PyObject

cdef struct Claim:                  # one in each container; read and changed under the GIL only
    unsigned long thread            # that updates the container; 0: none
    int depth                       # how many calls of that thread, one inside the other
    int changing                    # a commit is writing to the container's memory without the GIL
    long generation                 # of the process: a forked child forgets what vanished threads claimed
    PyObject* container             # whose claim it is, for messages; borrowed

# What containers and claims are read and changed under, where there is no GIL; see ``free_threads.h``.
cdef object values_turn

cdef int changes_in_progress        # how many containers are `changing`; 0 nearly always

# All are called with the GIL held, and return with the GIL held. Arrays of several claims are sorted by address.
# Claim all for this thread, in the order given; waits. On an exception nothing is claimed.
cdef int claim(Claim** claims, int count) except -1
# Give up what `claim` got; wakes who waits.
cdef void give_up(Claim** claims, int count) noexcept
# A commit starts, or has ended, to write to the memory of these containers without the GIL.
cdef void begin_change(Claim** claims, int count) noexcept
cdef void end_change(Claim** claims, int count) noexcept
# Wait until none of them is changing.
cdef int wait_until_whole(Claim** claims, int count) except -1
# In the middle of long work with the GIL: look at signals, and let other threads run.
cdef int let_others_in() except -1
# Whether this thread has claimed it.
cdef bint is_mine(const Claim* wanted) noexcept

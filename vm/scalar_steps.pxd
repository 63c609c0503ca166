"""What the kernel of loops and the body of a loop over single numbers tell each other.

A body whose values are all of rank 0 may be run by a kernel of ops (``ops/loops/scalar_body.pyx``), many steps in one
call: its ``run`` finds a ``ScalarSteps`` in ``context.private_memory``. So may a body whose values are rows of one
shape, all of them contiguous, and which is the same for each element (``ops/loops/recurrence_body.pyx``).
"""
from numpy cimport npy_intp

cdef extern from *:
    """
    #ifndef PHINTYS_SCALAR_STEPS
    #define PHINTYS_SCALAR_STEPS
    typedef struct {
        char* data;
        npy_intp stride;
        char* begin;
        char* end;
    } phintys_lane;
    typedef struct {
        npy_intp steps, done;
        int stopped;
        phintys_lane* lanes;
        char** fixed;
        npy_intp size;
    } phintys_scalar_steps;
    #endif
    """
    ctypedef struct Lane "phintys_lane":        # what a step reads or writes, one element
        char* data                              # that of the next step; moves on with each step
        npy_intp stride
        char* begin                             # of a ring: follows `end`
        char* end                               # NULL: no ring

    ctypedef struct ScalarSteps "phintys_scalar_steps":
        npy_intp steps                          # how many to do
        npy_intp done                           # how many have been done
        bint stopped                            # by the condition of a while loop
        Lane* lanes                             # sequences, taps, states' rows, stacked rows
        char** fixed                            # carried values, which are read and written, then wholes
        npy_intp size                           # elements of a row; 1 of a body over single numbers

"""Storage of one value between calls; see ``container.pyx``."""
cimport numpy as cnp
from numpy cimport npy_intp

from phintys.vm.abi cimport Cell, Context
from phintys.vm.containers.claims cimport Claim


cdef class Container:
    cdef void* previous                 # neighbours in the list of all containers of arrays
    cdef void* next
    cdef Cell cell                      # never empty: a container always has a value
    cdef Context context                # its free lists stay empty: big buffers go to the pool, small ones too
    cdef Claim claim                    # who updates it
    cdef long long changes              # how often the value has been replaced
    cdef npy_intp* dimensions
    cdef readonly object type
    cdef public object name
    cdef public bint readonly
    cdef public bint strict
    cdef public object allow_downcast
    cdef bint load(self, Context* context, Cell* target) noexcept nogil    # returns whether the layout is another
    cdef void store(self, Context* context, Cell* source) noexcept nogil
    cdef int _wait_until_whole(self) except -1
    cdef object _lent_array(self)
    cdef int _replace(self, value, bint borrow, Cell* fresh) except -1
    cdef bint _overwrite(self, value) except -1
    cdef int _copy_in(self, value, Cell* fresh) except -1
    cdef bint _is_alone(self) noexcept
    cdef object _got(self, bint borrow)
    cdef object _device_value(self, bint borrow)
    cdef int _new_cell(self, Cell* fresh, npy_intp* dimensions) except -1
    cdef int _replace_at_device(self, value, bint borrow, Cell* fresh) except -1
    cdef tuple _shape(self)

# `target` gets a reference to the object of `source`.
cdef void copy_object(Cell* target, Cell* source) noexcept with gil
# Whether the value of a container other than `asking` (which may be None) lies in the array's memory.
cdef bint is_held_by_another(Container asking, cnp.ndarray array) noexcept

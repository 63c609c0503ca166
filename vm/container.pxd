"""Storage of one value between calls; see ``container.pyx``."""
from numpy cimport npy_intp

from phintys.vm.abi cimport Cell, Context


cdef class Container:
    cdef Cell cell                      # never empty: a container always has a value
    cdef Context context                # its free lists stay empty: big buffers go to the pool, small ones too
    cdef npy_intp* dimensions
    cdef readonly object type
    cdef public object name
    cdef public bint readonly
    cdef public bint strict
    cdef public object allow_downcast
    cdef void load(self, Context* context, Cell* target) noexcept nogil
    cdef void store(self, Context* context, Cell* source) noexcept nogil
    cdef object _lent_array(self)
    cdef int _copy_in(self, value) except -1

# `target` gets a reference to the object of `source`.
cdef void copy_object(Cell* target, Cell* source) noexcept with gil

"""Labels, as other kernels of the device use them; see ``softmax_kernel.pyx``."""
from phintys.gpu.runtime.driver cimport Arguments, put_integer
from phintys.vm.abi cimport Cell

cdef inline void put_labels(Arguments* arguments, const Cell* labels, bint from_end,
                            unsigned long long note) noexcept nogil:
    """The struct `Labels`."""
    put_integer(arguments, <long long>labels.data if labels != NULL else 0)
    put_integer(arguments, labels.strides[0] if labels != NULL else 0)
    put_integer(arguments, from_end)
    put_integer(arguments, <long long>note)

# Raise the error for a note: the complement of the row, the label, and how many classes there are.
cdef int raise_bad_label(const long long* words, bint as_index) except -1

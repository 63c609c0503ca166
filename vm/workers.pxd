"""Built-in threads for large loops; see ``workers.pyx``."""
from numpy cimport npy_intp

cdef void workers_run(void* task, void* argument, npy_intp total, npy_intp grain, int threads,
                      void* stops, void* context) noexcept nogil
cdef bint workers_look(int threads) noexcept nogil

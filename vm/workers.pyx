"""Worker threads: they claim small pieces one by one, wait on condition variables, and are reset after ``fork``.

libgomp is not used because it hangs in a forked child. Before a worker sleeps, it looks for the next loop for 0.1 ms,
but only where loops have followed each other that quickly, and not on a machine that others keep busy: spinning slows
such a machine down (measured on Theano: ten times). A worker that the system does not schedule claims nothing, so the
caller does the work itself and waits for at most one piece. Where it has to wait long, because the system runs
something else in the middle of a piece, loops of up to about 4 ms run alone for a while. Workers never touch Python.
"""
from numpy cimport npy_intp

cdef extern from "worker_threads.h" nogil:
    void phintys_workers_run(void* task, void* argument, npy_intp total, npy_intp grain, int threads, void* asked,
                             void* context)
    int phintys_workers_look(int threads)
    int phintys_workers_started()


cdef void workers_run(void* task, void* argument, npy_intp total, npy_intp grain, int threads,
                      void* stops, void* context) noexcept nogil:
    phintys_workers_run(task, argument, total, grain, threads, stops, context)


cdef bint workers_look(int threads) noexcept nogil:
    return phintys_workers_look(threads)


def workers_started():
    """Return how many worker threads this process has (they start at the first large loop)."""
    return phintys_workers_started()

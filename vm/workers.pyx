"""Worker threads: condition variables, small pieces claimed one by one, reset after ``fork``.

Not libgomp, which hangs in a forked child; no spinning, which makes a busy machine crawl (measured on Theano: ten times
slower). A worker that the system does not schedule claims nothing, so the caller does the work itself and waits at most
for one piece. Workers never touch Python.
"""
from numpy cimport npy_intp

cdef extern from "worker_threads.h" nogil:
    void phintys_workers_run(void* task, void* argument, npy_intp total, npy_intp grain, int threads)
    int phintys_workers_started()


cdef void workers_run(void* task, void* argument, npy_intp total, npy_intp grain, int threads) noexcept nogil:
    phintys_workers_run(task, argument, total, grain, threads)


def workers_started():
    """How many worker threads live in this process (started at the first large loop)."""
    return phintys_workers_started()

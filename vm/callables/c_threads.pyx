"""Threads that Python does not know, which call a C function: for tests and measurements.

Nothing else calls this. The threads are started and joined without the GIL and have no thread state, as those of a
sampler written in another language.
"""
cimport numpy as cnp
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport calloc, free

import numpy

cnp.import_array()

cdef extern from "pthread.h" nogil:
    ctypedef unsigned long pthread_t
    int pthread_create(pthread_t*, void*, void* (*)(void*) noexcept nogil, void*)
    int pthread_join(pthread_t, void**)

cdef extern from * nogil:
    """
    #include <time.h>
    static double phintys_thread_seconds(void) {
        struct timespec now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return now.tv_sec + 1e-9 * now.tv_nsec;
    }
    """
    double phintys_thread_seconds()

ctypedef int64_t (*Expand)(uint64_t, uint64_t, const double*, double*, void*) noexcept nogil

cdef struct Work:
    pthread_t thread
    Expand function
    uint64_t dim, expanded
    const double* x
    double* out
    void* user_data
    long repeats
    int64_t status                  # of the first call that failed
    double seconds


cdef void* work(void* argument) noexcept nogil:
    cdef Work* mine = <Work*>argument
    cdef double start = phintys_thread_seconds()
    cdef int64_t status
    cdef long number
    for number in range(mine.repeats):
        status = mine.function(mine.dim, mine.expanded, mine.x, mine.out, mine.user_data)
        if status and not mine.status:
            mine.status = status
    mine.seconds = phintys_thread_seconds() - start
    return NULL


def call_in_threads(size_t address, list points, int expanded, long repeats=1, bint keep_gil=False,
                    size_t user_data=0):
    """Call a C function of the signature ``expand`` in a new thread for each point, all at once.

    Parameters
    ----------
    address : int
    points : list of numpy.ndarray
        Vectors of float64.
    expanded : int
        How many numbers the function returns.
    repeats : int
        How often each thread calls it.
    keep_gil : bool
        Hold the GIL while the threads work: if one needs it, this never returns.
    user_data : int

    Returns
    -------
    list of (int, numpy.ndarray, float)
        For each point: the status of the first call that failed, or 0; the results of the last call; the processor
        time of the thread, in seconds.
    """
    cdef Work* works = <Work*>calloc(len(points) + 1, sizeof(Work))
    cdef int index, started = 0
    if works == NULL:
        raise MemoryError()
    inputs = [numpy.ascontiguousarray(point, dtype="float64") for point in points]
    outputs = [numpy.full(expanded, numpy.nan) for _ in points]
    try:
        for index in range(len(points)):
            works[index].function, works[index].dim, works[index].expanded = (
                <Expand><void*>address, len(inputs[index]), expanded)
            works[index].x = <const double*>cnp.PyArray_DATA(inputs[index])
            works[index].out = <double*>cnp.PyArray_DATA(outputs[index])
            works[index].user_data, works[index].repeats = <void*>user_data, repeats
            if pthread_create(&works[index].thread, NULL, work, &works[index]) != 0:
                raise RuntimeError("no thread could be started")
            started += 1
    finally:
        if keep_gil:
            for index in range(started):
                pthread_join(works[index].thread, NULL)
        else:
            with nogil:
                for index in range(started):
                    pthread_join(works[index].thread, NULL)
        results = [(works[index].status, outputs[index], works[index].seconds) for index in range(started)]
        free(works)
    return results

/* What stands in for the GIL in a CPython without one (`--disable-gil`); with a GIL, nothing of it is left. The state
 * of a running call belongs to its thread. What threads share has one of these:
 *
 * what                                                         by
 * idle frames and whose calls are recorded, of a callable  its latch, held for a few instructions; lists pop whole
 * containers, claims, which memory containers hold         a turn at `values_turn`: of calls that read or update shared
 *                                                          variables, or may write to their arguments, and of all
 *                                                          methods of containers
 * how arguments convert, profiles, errors of C functions   a critical section of the object
 * references to buffers, numbers of all threads            atomic operations
 * the pool, the workers, BLAS, snapshots                   locks, as with a GIL
 *
 * A turn is a critical section of CPython: a thread that leaves Python (to compute, to sleep, or as it waits for
 * another lock) gives it up and gets it back as it returns, which is what the GIL does. So all that is said of the GIL
 * in the files of containers and claims is true of it, and long kernels run outside of it. */
#ifndef PHINTYS_FREE_THREADS_H
#define PHINTYS_FREE_THREADS_H
#include <Python.h>

#ifdef Py_GIL_DISABLED
typedef PyMutex phintys_latch;
typedef PyCriticalSection phintys_turn;

static inline void phintys_shut(phintys_latch* latch) { PyMutex_Lock(latch); }
static inline void phintys_open(phintys_latch* latch) { PyMutex_Unlock(latch); }
/* `of` may be NULL: then there is no turn to take. */
static inline void phintys_take_turn(phintys_turn* turn, PyObject* of) {
    if (of != NULL) PyCriticalSection_Begin(turn, of);
}
static inline void phintys_end_turn(phintys_turn* turn, PyObject* of) {
    if (of != NULL) PyCriticalSection_End(turn);
}
/* How many references there are, if this thread alone has made them. Other threads count theirs in another number, and
 * both cannot be read at once; so there may be any number, if one is there. Its lowest bit is no count: it says that
 * there were weak references. */
static inline Py_ssize_t phintys_references(PyObject* object) {
    const Py_ssize_t others = __atomic_load_n(&object->ob_ref_shared, __ATOMIC_ACQUIRE) & ~(Py_ssize_t)1;
    if (others || !_Py_IsOwnedByCurrentThread(object)) return PY_SSIZE_T_MAX;
    return __atomic_load_n(&object->ob_ref_local, __ATOMIC_RELAXED);
}
#else
typedef char phintys_latch;
typedef char phintys_turn;

static inline void phintys_shut(phintys_latch* latch) { (void)latch; }
static inline void phintys_open(phintys_latch* latch) { (void)latch; }
static inline void phintys_take_turn(phintys_turn* turn, PyObject* of) { (void)turn; (void)of; }
static inline void phintys_end_turn(phintys_turn* turn, PyObject* of) { (void)turn; (void)of; }
static inline Py_ssize_t phintys_references(PyObject* object) { return Py_REFCNT(object); }
#endif

/* A number that says that other data may be read: written after them, read before them. */
static inline void phintys_publish(long* number, long value) { __atomic_store_n(number, value, __ATOMIC_RELEASE); }
static inline long phintys_published(const long* number) { return __atomic_load_n(number, __ATOMIC_ACQUIRE); }
/* Of threads that count together; returns nothing, so no order is needed. */
static inline void phintys_add(int* number, int value) { __atomic_fetch_add(number, value, __ATOMIC_RELAXED); }

#endif

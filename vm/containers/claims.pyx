"""Claims: who may change containers, and when others must wait.

A call that updates containers claims them for its whole length, so that calls which read and write the same container
come one after the other. A commit that writes to a container's memory without the GIL marks it as changing meanwhile;
a thread that wants to read it waits.

* Claims are plain fields, read and changed under the GIL; one that no other thread wants costs two nanoseconds. The
  mutex below only puts threads to sleep and wakes them. No thread waits for the GIL while holding it.
* Several containers are claimed in the order of their addresses, so calls cannot lock each other out. A call inside a
  call (a user's op that calls a function) can break that order: a thread that would wait for itself raises.
* Waiting threads get a container in the order in which they came, and readers before the next writer; otherwise a
  thread that calls in a loop would keep out all others, since it still has the GIL when it gives up its claim.
* A forked child has only the thread that forked; what others had claimed is free there. A fork waits for running
  changes, so the child finds every value whole.
"""
cimport cython
from libc.stdlib cimport free, malloc

import os

cdef extern from "Python.h" nogil:
    unsigned long PyThread_get_thread_ident()
    void* PyEval_SaveThread()
    void PyEval_RestoreThread(void*)

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef extern from * nogil:
    """
    #include <pthread.h>
    #include <time.h>
    static pthread_mutex_t phintys_claims_lock;
    static pthread_cond_t phintys_claims_news;
    static clockid_t phintys_claims_clock;          /* one that nobody sets, where there is one to wait by */
    static void phintys_make_claims_lock(void) {
        pthread_condattr_t attributes;
        pthread_condattr_init(&attributes);
        phintys_claims_clock = CLOCK_REALTIME;
    #ifndef __APPLE__
        if (pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0) phintys_claims_clock = CLOCK_MONOTONIC;
    #endif
        pthread_mutex_init(&phintys_claims_lock, NULL);
        pthread_cond_init(&phintys_claims_news, &attributes);
        pthread_condattr_destroy(&attributes);
    }
    static void phintys_lock_claims(void) { pthread_mutex_lock(&phintys_claims_lock); }
    static void phintys_unlock_claims(void) { pthread_mutex_unlock(&phintys_claims_lock); }
    static void phintys_tell_news(void) { pthread_cond_broadcast(&phintys_claims_news); }
    /* Under the lock: until there is news, at most so many milliseconds. */
    static void phintys_await_news(long milliseconds) {
        struct timespec end;
        clock_gettime(phintys_claims_clock, &end);
        end.tv_nsec += milliseconds * 1000000;
        end.tv_sec += end.tv_nsec / 1000000000;
        end.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&phintys_claims_news, &phintys_claims_lock, &end);
    }
    """
    void phintys_make_claims_lock()
    void phintys_lock_claims()
    void phintys_unlock_claims()
    void phintys_tell_news()
    void phintys_await_news(long)
    int pthread_atfork(void (*)() noexcept nogil, void (*)() noexcept nogil, void (*)() noexcept nogil)

cdef enum:
    SLICE_MILLISECONDS = 50         # a waiting thread looks at signals this often

cdef struct Waiter:                 # one waiting thread; never on its stack, which may vanish at the interpreter's end
    unsigned long thread
    bint reads                      # waits for whole values, not for a claim
    bint granted                    # the claim has been handed over
    Waiter* next
    int count
    Claim* claims[1]                # `count` of them

cdef Waiter* waiters = NULL         # in the order in which they came
cdef int sleepers = 0               # threads inside `sleep`
cdef int forks_in_progress = 0
cdef long generation = 0            # of this process: how many forks lead to it
cdef unsigned long survivor = 0     # the thread that forked this process,
cdef long survivor_since = 0        # and the generation since which it is the same thread
changes_in_progress = 0
values_turn = object()


# ---- sleeping and waking ---------------------------------------------------------------------------------------------
cdef void sleep() noexcept:
    """Leave the GIL until something changes, at most for a slice. No news is missed: news is told under the GIL."""
    global sleepers
    cdef void* state
    sleepers += 1
    phintys_lock_claims()
    state = PyEval_SaveThread()
    phintys_await_news(SLICE_MILLISECONDS)
    phintys_unlock_claims()
    PyEval_RestoreThread(state)
    sleepers -= 1


cdef int let_others_in() except -1:
    PyErr_CheckSignals()
    PyEval_RestoreThread(PyEval_SaveThread())
    return 0


cdef void wake() noexcept:
    if sleepers:
        phintys_lock_claims()
        phintys_tell_news()
        phintys_unlock_claims()


cdef Waiter* enlist(Claim** claims, int count, bint reads) except NULL:
    """A new waiter at the end of the line."""
    cdef Waiter* waiter = <Waiter*>malloc(sizeof(Waiter) + count * sizeof(Claim*))
    cdef Waiter** link = &waiters
    cdef int index
    if waiter == NULL:
        raise MemoryError()
    waiter.thread, waiter.reads, waiter.granted = PyThread_get_thread_ident(), reads, False
    waiter.next, waiter.count = NULL, count
    for index in range(count):
        waiter.claims[index] = claims[index]
    while link[0] != NULL:
        link = &link[0].next
    link[0] = waiter
    return waiter


cdef void strike_off(Waiter* waiter) noexcept:
    """Out of the line, if it is still there."""
    cdef Waiter** link = &waiters
    while link[0] != NULL and link[0] != waiter:
        link = &link[0].next
    if link[0] != NULL:
        link[0] = waiter.next


cdef inline bint concerns(Waiter* waiter, Claim* wanted) noexcept:
    cdef int index
    for index in range(waiter.count):
        if waiter.claims[index] == wanted:
            return True
    return False


cdef Waiter* first_in_line(Claim* wanted) noexcept:
    """Who waits longest for this claim, or NULL."""
    cdef Waiter* waiter = waiters
    while waiter != NULL and (waiter.reads or not concerns(waiter, wanted)):
        waiter = waiter.next
    return waiter


cdef bint others_read(Claim* wanted, unsigned long thread) noexcept:
    """Whether threads other than this one wait to read the container. (A signal's handler may want to write to what the
    thread it interrupted waits to read.)"""
    cdef Waiter* waiter = waiters
    while waiter != NULL and not (waiter.reads and waiter.thread != thread and concerns(waiter, wanted)):
        waiter = waiter.next
    return waiter != NULL


# ---- claims ----------------------------------------------------------------------------------------------------------
cdef inline bint is_current(const Claim* wanted) noexcept:
    """Whether the thread that claimed it exists in this process."""
    return wanted.generation == generation or (wanted.thread == survivor and wanted.generation >= survivor_since)


cdef inline bint is_free(const Claim* wanted) noexcept:
    return wanted.thread == 0 or not is_current(wanted)


cdef bint is_mine(const Claim* wanted) noexcept:
    return wanted.thread == PyThread_get_thread_ident() and is_current(wanted)


cdef inline void take(Claim* wanted, unsigned long thread) noexcept:
    wanted.thread, wanted.depth, wanted.generation = thread, 1, generation
    wanted.changing = 0


cdef void hand_over(Claim* wanted) noexcept:
    """A free claim goes to the longest waiter, unless readers come first."""
    cdef Waiter* waiter
    if is_free(wanted):
        waiter = first_in_line(wanted)
        if waiter != NULL and not others_read(wanted, waiter.thread):
            take(wanted, waiter.thread)
            waiter.granted = True
            strike_off(waiter)


cdef int claim(Claim** claims, int count) except -1:
    cdef unsigned long me = PyThread_get_thread_ident()
    cdef int index
    for index in range(count):
        if claims[index].thread != 0 or waiters != NULL:
            return claim_in_turn(claims, index, count, me)
        take(claims[index], me)
    return 0


cdef int claim_in_turn(Claim** claims, int first, int count, unsigned long me) except -1:
    """Claim the rest, from ``first`` on, although others have or want some of them."""
    cdef int index
    for index in range(first, count):
        try:
            claim_or_wait(claims[index], me)
        except:
            give_up(claims, index)
            raise
    return 0


cdef int claim_or_wait(Claim* wanted, unsigned long me) except -1:
    cdef Waiter* waiter
    if is_mine(wanted):
        wanted.depth += 1
        return 0
    if is_free(wanted) and not others_read(wanted, me):
        take(wanted, me)
        return 0
    refuse_deadlock(wanted, me)
    waiter = enlist(&wanted, 1, False)
    try:
        while not waiter.granted:
            PyErr_CheckSignals()
            sleep()
            if not waiter.granted:
                hand_over(wanted)           # a fork may have freed it without handing it over
            if not waiter.granted and is_mine(wanted):      # granted to the wait that this signal's handler interrupted
                wanted.depth += 1
                break
    except:
        if waiter.granted:
            give_up(&wanted, 1)
        raise
    finally:
        strike_off(waiter)
        free(waiter)
    return 0


cdef int refuse_deadlock(Claim* wanted, unsigned long me) except -1:
    """Raise if the thread that has this claim waits, directly or through others, for this thread."""
    cdef Claim* step = wanted
    cdef Waiter* blocked
    cdef list way = []
    while True:
        if is_free(step):
            return 0
        blocked = last_of_thread(step.thread)
        if blocked == NULL or blocked.reads:
            return 0
        way.append((<object>step.container, step.thread))
        step = blocked.claims[0]
        if is_mine(step):
            break
    steps = " waits for ".join([f"{described(container)}, which thread {thread} updates and"
                                for container, thread in way])
    raise RuntimeError(f"deadlock between threads: this call waits for {steps} waits for "
                       f"{described(<object>step.container)}, which this thread ({me}) updates. Calls inside calls "
                       "(a user's op that calls a function) must update shared variables in the same order")


cdef Waiter* last_of_thread(unsigned long thread) noexcept:
    """What a thread waits for: the last entry, as a signal's handler may wait inside a wait."""
    cdef Waiter* waiter = waiters
    cdef Waiter* found = NULL
    while waiter != NULL:
        if waiter.thread == thread:
            found = waiter
        waiter = waiter.next
    return found


cdef object described(container):
    name = getattr(container, "name", None)
    return f"the shared variable {name!r}" if name else f"a shared variable of type {container.type}"


cdef void give_up(Claim** claims, int count) noexcept:
    cdef int index
    cdef Claim* given
    for index in range(count):
        given = claims[index]
        given.depth -= 1
        if given.depth == 0:
            given.thread = 0
            if waiters != NULL:
                hand_over(given)
                wake()


# ---- changes ---------------------------------------------------------------------------------------------------------
cdef void begin_change(Claim** claims, int count) noexcept:
    global changes_in_progress
    cdef int index
    for index in range(count):
        claims[index].changing = 1
        claims[index].generation = generation
    changes_in_progress += count
    while forks_in_progress:
        sleep()


cdef void end_change(Claim** claims, int count) noexcept:
    global changes_in_progress
    cdef int index
    for index in range(count):
        claims[index].changing = 0
    changes_in_progress -= count
    wake()


cdef bint are_whole(Claim** claims, int count) noexcept:
    cdef int index
    if changes_in_progress:
        for index in range(count):
            if claims[index].changing and claims[index].generation == generation:
                return False
    return True


cdef int wait_until_whole(Claim** claims, int count) except -1:
    cdef Waiter* waiter
    cdef int index
    if are_whole(claims, count):
        return 0
    waiter = enlist(claims, count, True)
    try:
        while not are_whole(claims, count):
            PyErr_CheckSignals()
            sleep()
    finally:
        strike_off(waiter)
        for index in range(count):
            hand_over(claims[index])        # who wanted to write next has let this thread go first
        free(waiter)
        wake()
    return 0


# ---- forks -----------------------------------------------------------------------------------------------------------
cdef void forget_vanished_threads() noexcept nogil:
    """In a forked child."""
    global sleepers, forks_in_progress, generation, survivor, survivor_since, changes_in_progress
    cdef unsigned long me = PyThread_get_thread_ident()
    cdef Waiter** link = &waiters
    if me != survivor:
        survivor, survivor_since = me, generation
    generation += 1
    while link[0] != NULL:                  # what waits is this thread's, if the handler of a signal has forked
        if link[0].thread == me:
            link = &link[0].next
        else:
            link[0] = link[0].next
    sleepers, forks_in_progress, changes_in_progress = 0, 0, 0
    phintys_make_claims_lock()


def before_fork():
    """Wait for running changes, and let none begin until the fork is done."""
    global forks_in_progress
    with cython.critical_section(values_turn):
        while changes_in_progress:
            sleep()
        forks_in_progress += 1


def after_fork():
    """In the parent: changes may begin again."""
    global forks_in_progress
    with cython.critical_section(values_turn):
        forks_in_progress -= 1
        wake()


phintys_make_claims_lock()
pthread_atfork(NULL, NULL, forget_vanished_threads)
if hasattr(os, "register_at_fork"):          # Windows has no forks
    os.register_at_fork(before=before_fork, after_in_parent=after_fork)

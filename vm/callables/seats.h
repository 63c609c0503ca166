/* Idle frames of C functions, with the calls that they have recorded. Included by c_entries.h only.
 *
 * What threads that call C functions hand to each other, and by what the other sees what was written before:
 *
 * handed over                               by                                                    tests
 * an idle frame, its recorded call, and     a seat: put there by a release, taken by an acquire   seats_program.c
 * which snapshot of shared variables it has
 * a snapshot: references to values          the lock of snapshots; made under the GIL (a turn),   test_c_functions.py,
 *                                           and not changed from then on                          test_free_threads.py
 * that a shared variable has another value  `changes`: whoever must see the value knows of the    the same
 *                                           update otherwise; the value is read after the lock
 * memory that no snapshot has any more      its count of references (vm/pool.pxd): given up by a  the same
 *                                           release, and by an acquire seen to be the last
 * updates of shared variables               the GIL (a turn): such calls claim their containers   test_c_updates.py
 * the function itself, its end              by whoever hands its address to other threads         -
 *
 * Numbers of threads and of frames are counted, and nothing belongs to them. Steps that a loop repeats
 * (vm/loops/replay.pyx) and calls that are repeated stay with the frame: worker threads see what these call by the way
 * in which loops are handed over (vm/worker_threads.h). */
#ifndef PHINTYS_SEATS_H
#define PHINTYS_SEATS_H
#include <stddef.h>

#define PHINTYS_SEATS 64            /* frames that an entry keeps; a thread looks first at its own seat */

typedef struct { void* frame; char line[64 - sizeof(void*)]; } phintys_seat;

static unsigned phintys_threads;
static __thread unsigned phintys_thread __attribute__((tls_model("initial-exec")));       /* found without a call */

static inline unsigned phintys_own_seat(void) {
    if (phintys_thread == 0) phintys_thread = __atomic_add_fetch(&phintys_threads, 1, __ATOMIC_RELAXED);
    return phintys_thread % PHINTYS_SEATS;
}

static inline void* phintys_take(phintys_seat* seat) {
    if (__atomic_load_n(&seat->frame, __ATOMIC_RELAXED) == NULL) return NULL;
    return __atomic_exchange_n(&seat->frame, NULL, __ATOMIC_ACQUIRE);
}

static inline int phintys_put(phintys_seat* seat, void* frame) {
    void* none = NULL;
    return __atomic_compare_exchange_n(&seat->frame, &none, frame, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
}

static inline long long phintys_look(const long long* number) { return __atomic_load_n(number, __ATOMIC_RELAXED); }
static inline void phintys_count(long long* number) { __atomic_fetch_add(number, 1, __ATOMIC_RELAXED); }

#endif

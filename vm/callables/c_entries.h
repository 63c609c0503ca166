/* The functions that C code calls. A C function has no memory of its own, so there are as many for each signature as
 * entries may live at once: number i passes entry i, with its arguments, to the handler of the signature, which
 * `c_function.pyx` sets. Such a function is two instructions. */
#ifndef PHINTYS_C_ENTRIES_H
#define PHINTYS_C_ENTRIES_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <numpy/ndarraytypes.h>

#define PHINTYS_ENTRIES 512

static void* phintys_entries[PHINTYS_ENTRIES];

#define PHINTYS_16(M, p) M(p##0) M(p##1) M(p##2) M(p##3) M(p##4) M(p##5) M(p##6) M(p##7) \
                         M(p##8) M(p##9) M(p##a) M(p##b) M(p##c) M(p##d) M(p##e) M(p##f)
#define PHINTYS_256(M, p) PHINTYS_16(M, p##0) PHINTYS_16(M, p##1) PHINTYS_16(M, p##2) PHINTYS_16(M, p##3) \
                          PHINTYS_16(M, p##4) PHINTYS_16(M, p##5) PHINTYS_16(M, p##6) PHINTYS_16(M, p##7) \
                          PHINTYS_16(M, p##8) PHINTYS_16(M, p##9) PHINTYS_16(M, p##a) PHINTYS_16(M, p##b) \
                          PHINTYS_16(M, p##c) PHINTYS_16(M, p##d) PHINTYS_16(M, p##e) PHINTYS_16(M, p##f)
#define PHINTYS_EACH(M) PHINTYS_256(M, 0x0) PHINTYS_256(M, 0x1)
#define PHINTYS_PASTE(a, b, c) a##b##c
#define PHINTYS_NAMED(a, b, c) PHINTYS_PASTE(a, b, c)

#define NAME general
#define TYPE int64_t
#define PARAMETERS const void** inputs, const int64_t** shapes, void** outputs, int64_t** output_shapes, void* user_data
#define PASSED inputs, shapes, outputs, output_shapes, user_data
#include "callables/c_entries.template.h"

#define NAME log_density
#define TYPE int64_t
#define PARAMETERS uint64_t dim, const double* x, double* gradient, double* value, void* user_data
#define PASSED dim, x, gradient, value, user_data
#include "callables/c_entries.template.h"

#define NAME expand
#define TYPE int64_t
#define PARAMETERS uint64_t dim, uint64_t expanded, const double* x, double* out, void* user_data
#define PASSED dim, expanded, x, out, user_data
#include "callables/c_entries.template.h"

#define NAME number
#define TYPE double
#define PARAMETERS double x
#define PASSED x
#include "callables/c_entries.template.h"

#define NAME number_data
#define TYPE double
#define PARAMETERS double x, void* user_data
#define PASSED x, user_data
#include "callables/c_entries.template.h"

#define NAME numbers
#define TYPE double
#define PARAMETERS int count, double* x
#define PASSED count, x
#include "callables/c_entries.template.h"

#define NAME numbers_data
#define TYPE double
#define PARAMETERS int count, double* x, void* user_data
#define PASSED count, x, user_data
#include "callables/c_entries.template.h"

#define NAME window
#define TYPE int
#define PARAMETERS double* x, intptr_t count, double* result, void* user_data
#define PASSED x, count, result, user_data
#include "callables/c_entries.template.h"

#define NAME line
#define TYPE int
#define PARAMETERS double* x, intptr_t count, double* result, intptr_t result_count, void* user_data
#define PASSED x, count, result, result_count, user_data
#include "callables/c_entries.template.h"

typedef struct { const char* name; void** functions; } phintys_signature;
#define PHINTYS_SIGNATURE(name) {#name, phintys_functions_##name}
static const phintys_signature phintys_signatures[] = {
    PHINTYS_SIGNATURE(general), PHINTYS_SIGNATURE(log_density), PHINTYS_SIGNATURE(expand), PHINTYS_SIGNATURE(number),
    PHINTYS_SIGNATURE(number_data), PHINTYS_SIGNATURE(numbers), PHINTYS_SIGNATURE(numbers_data),
    PHINTYS_SIGNATURE(window), PHINTYS_SIGNATURE(line)};

/* ---- threads ---------------------------------------------------------------------------------------------------- */
#include "callables/seats.h"

/* Python must know a thread before an exception is raised there: one that it gets to know when the GIL is taken is
 * forgotten when the GIL is released, along with the exception, and from 3.12 on Cython then crashes. Making Python's
 * state of a thread needs no GIL, but removing it does. The thread that ends cannot wait for the GIL, because whoever
 * has it may wait for the thread; so a thread that is made for this does. */
static pthread_key_t phintys_states;
static PyInterpreterState* phintys_interpreter;

static void* phintys_remove_state(void* state) {
    /* With a state of this thread: clearing the other frees objects, and what that calls may ask for the thread's. */
    PyThreadState* own = Py_IsInitialized() ? PyThreadState_New(phintys_interpreter) : NULL;
    if (own != NULL) {
        PyEval_RestoreThread(own);
        PyThreadState_Clear((PyThreadState*)state);
        PyThreadState_Delete((PyThreadState*)state);
        PyThreadState_Clear(own);
        PyThreadState_DeleteCurrent();
    }
    return NULL;
}

static void phintys_leave_state(void* state) {
    pthread_t remover;
    if (pthread_create(&remover, NULL, phintys_remove_state, state) == 0) pthread_detach(remover);
}

static int phintys_follow_threads(void) {
    phintys_interpreter = PyInterpreterState_Get();
    return pthread_key_create(&phintys_states, phintys_leave_state);
}

static inline int phintys_meet_thread(void) {
    if (PyGILState_GetThisThreadState() != NULL) return 0;
    PyThreadState* state = PyThreadState_New(phintys_interpreter);
    return state == NULL ? -1 : pthread_setspecific(phintys_states, state);
}

/* The lock of all snapshots. Who waits for the GIL does not have it; a child process finds it open. */
static pthread_mutex_t phintys_snapshots = PTHREAD_MUTEX_INITIALIZER;
static void phintys_lock_snapshots(void) { pthread_mutex_lock(&phintys_snapshots); }
static void phintys_unlock_snapshots(void) { pthread_mutex_unlock(&phintys_snapshots); }
static void phintys_follow_forks(void) {
    pthread_atfork(phintys_lock_snapshots, phintys_unlock_snapshots, phintys_unlock_snapshots);
}

/* ---- results as doubles ----------------------------------------------------------------------------------------- */
/* Turns numbers that are at the end of the memory for as many doubles into doubles: each is read before what follows
 * is written to. */
#define PHINTYS_SPREAD(number, type) case number: { \
        const type* packed = (const type*)((char*)(out + count) - count * (intptr_t)sizeof(type)); \
        for (intptr_t i = 0; i < count; i++) out[i] = (double)packed[i]; \
        break; \
    }

static void phintys_spread(double* out, intptr_t count, int typenum) {
    switch (typenum) {
        PHINTYS_SPREAD(NPY_BOOL, npy_bool)
        PHINTYS_SPREAD(NPY_BYTE, npy_byte)
        PHINTYS_SPREAD(NPY_UBYTE, npy_ubyte)
        PHINTYS_SPREAD(NPY_SHORT, npy_short)
        PHINTYS_SPREAD(NPY_USHORT, npy_ushort)
        PHINTYS_SPREAD(NPY_INT, npy_int)
        PHINTYS_SPREAD(NPY_UINT, npy_uint)
        PHINTYS_SPREAD(NPY_LONG, npy_long)
        PHINTYS_SPREAD(NPY_ULONG, npy_ulong)
        PHINTYS_SPREAD(NPY_LONGLONG, npy_longlong)
        PHINTYS_SPREAD(NPY_ULONGLONG, npy_ulonglong)
        PHINTYS_SPREAD(NPY_FLOAT, npy_float)
    }
}

/* Four differences side by side: each is 0, or NaN from the first number on that is infinite or NaN. */
static int phintys_all_finite(const double* numbers, uint64_t count) {
    double a = 0, b = 0, c = 0, d = 0;
    uint64_t i = 0;
    for (; i + 4 <= count; i += 4) {
        a += numbers[i] - numbers[i];
        b += numbers[i + 1] - numbers[i + 1];
        c += numbers[i + 2] - numbers[i + 2];
        d += numbers[i + 3] - numbers[i + 3];
    }
    for (; i < count; i++) a += numbers[i] - numbers[i];
    return a + b + c + d == 0;
}

#endif

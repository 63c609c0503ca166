/* How many threads OpenBLAS uses: one setting for the whole process, which kernels change for a while without the GIL.
 *
 * What one thread hands to another, and by what the other sees what was written before:
 *
 * handed over                              by                                                    tests
 * the functions that set and tell the      the one that sets it: written last, by a release,     blas_threads_program.c
 * number, once the library is loaded       and read first, by an acquire
 * how many run on one thread, and the      the lock                                              the same
 * user's number meanwhile
 * the addresses of BLAS's functions        `is_loaded` of a kernel, likewise; written under      test_blas.py
 *                                          LOADING (blas_kernel.pyx)
 *
 * Threads whose products need no BLAS ask for the number while another one loads the library. Included by
 * blas_library.pyx only. */
#ifndef PHINTYS_BLAS_THREADS_H
#define PHINTYS_BLAS_THREADS_H
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static void (*phintys_set_threads)(int) = NULL;
static int (*phintys_get_threads)(void) = NULL;
static pthread_mutex_t phintys_blas_lock = PTHREAD_MUTEX_INITIALIZER;
static int phintys_blas_users = 0, phintys_blas_threads = 1;
static int phintys_threads_without = 1;     /* what a library that is not loaded yet will want; 1 if it does not say */

/* Find a symbol of the loaded library at `path` or of a library it depends on. */
static void* phintys_symbol(const char* path, const char* name) {
    void* library = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    void* symbol = library ? dlsym(library, name) : NULL;
    if (library) dlclose(library);
    return symbol;
}

static int phintys_find_threads(const char* path, const char* setter, const char* getter) {
    void (*set)(int);
    *(void**)&set = phintys_symbol(path, setter);
    *(void**)&phintys_get_threads = phintys_symbol(path, getter);
    if (!set || !phintys_get_threads) return 0;
    __atomic_store_n(&phintys_set_threads, set, __ATOMIC_RELEASE);
    return 1;
}
static int phintys_knows_threads(void) { return __atomic_load_n(&phintys_set_threads, __ATOMIC_ACQUIRE) != NULL; }
static void phintys_expect_threads(int number) { __atomic_store_n(&phintys_threads_without, number, __ATOMIC_RELAXED); }

/* The name that OpenBLAS has for the processor whose functions it uses, or NULL. */
static const char* phintys_blas_core(const char* path, const char* getter) {
    char* (*get)(void);
    *(void**)&get = phintys_symbol(path, getter);
    return get ? get() : NULL;
}

static void phintys_enter_single(void) {
    if (!phintys_knows_threads()) return;
    pthread_mutex_lock(&phintys_blas_lock);
    if (phintys_blas_users++ == 0) {
        phintys_blas_threads = phintys_get_threads();
        if (phintys_blas_threads > 1) phintys_set_threads(1);
    }
    pthread_mutex_unlock(&phintys_blas_lock);
}
static void phintys_leave_single(void) {
    if (!phintys_knows_threads()) return;
    pthread_mutex_lock(&phintys_blas_lock);
    if (phintys_blas_users && --phintys_blas_users == 0 && phintys_blas_threads > 1)    /* 0: loaded meanwhile */
        phintys_set_threads(phintys_blas_threads);
    pthread_mutex_unlock(&phintys_blas_lock);
}

/* The user's setting, which is also known between enter and leave. */
static int phintys_wanted_threads(void) {
    int threads;
    if (!phintys_knows_threads()) return __atomic_load_n(&phintys_threads_without, __ATOMIC_RELAXED);
    pthread_mutex_lock(&phintys_blas_lock);
    threads = phintys_blas_users ? phintys_blas_threads : phintys_get_threads();
    pthread_mutex_unlock(&phintys_blas_lock);
    return threads;
}

/* In a forked child, the lock is free and the user's setting is restored. */
static void phintys_before_fork(void) { pthread_mutex_lock(&phintys_blas_lock); }
static void phintys_after_fork(void) { pthread_mutex_unlock(&phintys_blas_lock); }
static void phintys_child_of_fork(void) {
    if (phintys_blas_users && phintys_blas_threads > 1) phintys_set_threads(phintys_blas_threads);
    phintys_blas_users = 0;
    pthread_mutex_unlock(&phintys_blas_lock);
}
static void phintys_guard_blas_in_fork(void) {
    pthread_atfork(phintys_before_fork, phintys_after_fork, phintys_child_of_fork);
}

#endif

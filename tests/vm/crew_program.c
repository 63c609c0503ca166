/* Loops that follow each other quickly, beside a thread that looks at the workers: for ThreadSanitizer, and for other
 * processors than x86. Its clock counts how often it was read: so workers look for the next loop on a busy machine, too.
 *
 * usage: crew_program ROUNDS THREADS     prints how many workers there were, or the first wrong number */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int64_t passed;
static int quick_clock(struct timespec* now) {
    const int64_t nanoseconds = __atomic_add_fetch(&passed, 500, __ATOMIC_RELAXED);
    now->tv_sec = nanoseconds / 1000000000;
    now->tv_nsec = nanoseconds % 1000000000;
    return 0;
}
#define clock_gettime(kind, now) quick_clock(now)
#include "worker_threads.h"

enum { ITEMS = 4096 };
static double from[ITEMS], to[ITEMS];
static int rounds, threads, ended;

static int ends(void* flag) { return __atomic_load_n((int*)flag, __ATOMIC_RELAXED); }

static void add(void* number, int worker, intptr_t start, intptr_t stop) {
    (void)worker;
    for (intptr_t i = start; i < stop; i++) to[i] = from[i] + *(double*)number;
}

static void* onlooker(void* unused) {
    for (int k = 0; k < 10 * rounds; k++) phintys_workers_look(threads), phintys_workers_started();
    return unused;
}

int main(int count, char** words) {
    pthread_t other;
    rounds = count > 1 ? atoi(words[1]) : 0, threads = count > 2 ? atoi(words[2]) : 2;
    pthread_create(&other, NULL, onlooker, NULL);
    for (int round = 0; round < rounds; round++) {
        double number = round;
        for (int i = 0; i < ITEMS; i++) from[i] = (double)round * i;
        phintys_workers_run((void*)add, &number, ITEMS, round % 3 ? 64 : 2000, threads, (void*)ends, &ended);
        for (int i = 0; i < ITEMS; i++)
            if (to[i] != from[i] + number) return printf("round %d, item %d: %g\n", round, i, to[i]);
    }
    pthread_join(other, NULL);
    printf("%d workers\n", phintys_workers_started());
    return 0;
}

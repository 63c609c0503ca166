/* Threads that ask for BLAS's number of threads and change it, before, while and after another one loads the library: for
 * ThreadSanitizer, and for other processors than x86. This program is the library.
 *
 * usage: blas_threads_program ROUNDS THREADS    prints the number of threads at the end */
#include <stdio.h>
#include <stdlib.h>
#include "products/blas_threads.h"

static int threads = 7, rounds;

void library_sets(int number) { threads = number; }             /* called under the lock only */
int library_tells(void) { return threads; }

static void* use(void* unused) {
    for (int round = 0; round < rounds; round++) {
        const int wanted = phintys_wanted_threads();
        if (wanted != 5 && wanted != 7) abort();
        if (round < rounds / 2) continue;
        phintys_enter_single();
        phintys_leave_single();
    }
    return unused;
}

int main(int count, char** words) {
    pthread_t users[16];
    const int n = count > 2 ? atoi(words[2]) : 2;
    rounds = count > 1 ? atoi(words[1]) : 1;
    phintys_expect_threads(5);
    for (int k = 0; k < n; k++) pthread_create(&users[k], NULL, use, NULL);
    const int found = !phintys_find_threads(NULL, "library_sets", "no_such") && !phintys_knows_threads()
        && phintys_find_threads(NULL, "library_sets", "library_tells");
    for (int k = 0; k < n; k++) pthread_join(users[k], NULL);
    printf("%d threads\n", found ? phintys_wanted_threads() : -1);
    return 0;
}

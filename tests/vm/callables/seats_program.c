/* Threads that take idle frames, change what belongs to them, and put them back, as calls of C functions do: for
 * ThreadSanitizer, and for other processors than x86.
 *
 * usage: seats_program ROUNDS THREADS    prints the calls that were counted in frames */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "callables/seats.h"

enum { FEW = 2 };                       /* seats, so that threads meet at them */
typedef struct { long calls; long* recorded; } frame;
static phintys_seat seats[FEW];
static long long counted;
static int rounds;

static frame* taken(int own) {
    frame* found = phintys_take(&seats[own]);
    for (int k = 0; found == NULL && k < FEW; k++) found = phintys_take(&seats[k]);
    return found != NULL ? found : calloc(1, sizeof(frame));
}

static void freed(frame* idle) {
    __atomic_fetch_add(&counted, idle->calls, __ATOMIC_RELAXED);
    free(idle->recorded);
    free(idle);
}

static void put(frame* idle, int own) {
    if (phintys_put(&seats[own], idle)) return;
    for (int k = 0; k < FEW; k++)
        if (phintys_put(&seats[k], idle)) return;
    freed(idle);
}

static void* call(void* unused) {
    for (int round = 0; round < rounds; round++) {
        const int own = phintys_own_seat() % FEW;
        frame* mine = taken(own);
        if (mine->recorded != NULL && *mine->recorded != mine->calls) abort();
        if (mine->calls++ % 8 == 0) {
            free(mine->recorded);
            mine->recorded = malloc(sizeof(long));
        }
        *mine->recorded = mine->calls;
        put(mine, own);
    }
    return unused;
}

int main(int count, char** words) {
    pthread_t threads[16];
    const int n = count > 2 ? atoi(words[2]) : 2;
    rounds = count > 1 ? atoi(words[1]) : 1;
    for (int k = 0; k < n; k++) pthread_create(&threads[k], NULL, call, NULL);
    for (int k = 0; k < n; k++) pthread_join(threads[k], NULL);
    for (int k = 0; k < FEW; k++) {
        frame* idle = phintys_take(&seats[k]);
        if (idle != NULL) freed(idle);
    }
    printf("%lld calls\n", counted);
    return 0;
}

/* Worker threads for parallel loops; workers.pyx describes their guarantees.
 *
 * One loop runs at a time; a second caller, or a nested loop, finds the workers busy and runs its loop alone. The
 * pieces of a loop are claimed with an atomic counter. Included by workers.pyx only, so the state below exists once.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef void (*phintys_task)(void* argument, int worker, intptr_t start, intptr_t stop);

enum { PHINTYS_MAX_WORKERS = 64 };

typedef struct {
    phintys_task task;
    void* argument;
    intptr_t total, piece, next;   /* next: the first unclaimed item */
    int threads;                   /* the caller, and the workers that may join */
    int wanted;                    /* how many workers may still join */
    int inside;                    /* workers that joined and have not left */
    unsigned long number;          /* counts loops, so that a worker joins each at most once */
} phintys_loop;

static phintys_loop current_loop;
static int started_workers = 0;
static pthread_mutex_t crew_busy = PTHREAD_MUTEX_INITIALIZER;    /* held by the caller whose loop runs */
static pthread_mutex_t loop_lock = PTHREAD_MUTEX_INITIALIZER;    /* guards wanted, inside, number */
static pthread_cond_t loop_posted = PTHREAD_COND_INITIALIZER;
static pthread_cond_t workers_left = PTHREAD_COND_INITIALIZER;

/* `worker` is below `threads`, so that tasks can have a place for each. */
static void claim_pieces(int worker) {
    phintys_loop* loop = &current_loop;
    for (;;) {
        intptr_t start = __atomic_fetch_add(&loop->next, loop->piece, __ATOMIC_RELAXED);
        if (start >= loop->total) return;
        intptr_t stop = start + loop->piece < loop->total ? start + loop->piece : loop->total;
        loop->task(loop->argument, worker, start, stop);
    }
}

static void* worker_main(void* unused) {
    unsigned long seen = 0;
    int worker;
    (void)unused;
    pthread_mutex_lock(&loop_lock);
    for (;;) {
        while (current_loop.wanted == 0 || current_loop.number == seen)
            pthread_cond_wait(&loop_posted, &loop_lock);
        seen = current_loop.number;
        worker = current_loop.threads - current_loop.wanted;
        current_loop.wanted--;
        current_loop.inside++;
        pthread_mutex_unlock(&loop_lock);
        claim_pieces(worker);
        pthread_mutex_lock(&loop_lock);
        if (--current_loop.inside == 0) pthread_cond_signal(&workers_left);
    }
    return NULL;
}

/* The child of a fork has only the caller's thread: forget the workers, so that new ones are started. */
static void forget_workers(void) {
    started_workers = 0;
    current_loop.wanted = current_loop.inside = 0;
    pthread_mutex_init(&crew_busy, NULL);
    pthread_mutex_init(&loop_lock, NULL);
    pthread_cond_init(&loop_posted, NULL);
    pthread_cond_init(&workers_left, NULL);
}

static void start_workers(int count) {
    static int fork_handler = 0;
    pthread_attr_t attributes;
    pthread_t thread;
    if (!fork_handler) {
        pthread_atfork(NULL, NULL, forget_workers);
        fork_handler = 1;
    }
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    while (started_workers < count) {
        if (pthread_create(&thread, &attributes, worker_main, NULL)) break;
        started_workers++;
    }
    pthread_attr_destroy(&attributes);
}

static int phintys_workers_started(void) { return started_workers; }

static void phintys_workers_run(void* task, void* argument, intptr_t total, intptr_t grain, int threads) {
    phintys_task run = (phintys_task)task;
    intptr_t pieces = grain > 0 ? total / grain : total;
    if (threads > PHINTYS_MAX_WORKERS) threads = PHINTYS_MAX_WORKERS;
    if (threads < 2 || pieces < 2 || pthread_mutex_trylock(&crew_busy)) {
        if (total > 0) run(argument, 0, 0, total);
        return;
    }
    if (pieces < threads) threads = (int)pieces;
    if (started_workers < threads - 1) start_workers(threads - 1);
    /* Eight pieces per thread: a worker that loses its core delays the end of the loop only a little. */
    intptr_t piece = total / (threads * 8);
    if (piece < grain) piece = grain;
    pthread_mutex_lock(&loop_lock);
    current_loop.task = run;
    current_loop.argument = argument;
    current_loop.total = total;
    current_loop.piece = piece;
    current_loop.next = 0;
    current_loop.threads = threads;
    current_loop.wanted = threads - 1;
    current_loop.number++;
    pthread_cond_broadcast(&loop_posted);
    pthread_mutex_unlock(&loop_lock);
    claim_pieces(0);
    pthread_mutex_lock(&loop_lock);
    current_loop.wanted = 0;                       /* workers that have not joined yet stay out */
    while (current_loop.inside) pthread_cond_wait(&workers_left, &loop_lock);
    pthread_mutex_unlock(&loop_lock);
    pthread_mutex_unlock(&crew_busy);
}

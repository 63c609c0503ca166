/* Worker threads for parallel loops; workers.pyx describes their guarantees.
 *
 * One loop runs at a time; a second caller, or a nested loop, finds the workers busy and runs its loop alone. The items
 * of a loop are divided into a share for each thread. A thread claims its own share piece by piece, with an atomic
 * counter, then what is left of the others'. So in a sequence of loops over the same arrays a thread finds its share in
 * its own cache, and a thread that the system does not run leaves its share to the others. Included by workers.pyx
 * only, so the state below exists once.
 *
 * What one thread hands to another, and by what the other sees what was written before (no x86 order is relied on):
 *
 * handed over                                 by
 * a loop: its task, shares, argument          the lock, which post_loop holds to count `number` and a worker to join
 * what a worker's task wrote                  `inside`: released when the worker leaves, acquired, or read under the
 *                                             lock, by the caller before it goes on
 * items                                       an exchange of a share's `next`; no data belongs to it, so it is relaxed
 * the state of the crew between loops         crew_busy, which a caller holds while its loop runs
 * that the call is to end                     a flag of the call that `stops` reads; nothing else belongs to it
 *
 * Numbers that only guess whether sharing is worth it (awake, busy_until, busy_for, started_workers, usable_cores) are
 * read and written whole, in no order.
 */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef void (*phintys_task)(void* argument, int worker, intptr_t start, intptr_t stop);

enum { PHINTYS_MAX_WORKERS = 64, PHINTYS_LINE = 64 };

/* Nanoseconds. Waking a sleeping thread takes about 50 us where its core sleeps, too. So a worker that has finished
 * looks for the next loop for a while before it sleeps, but only if loops have followed each other that quickly. */
enum {
    PHINTYS_LOOK = 100000,
    PHINTYS_SHORT_LOOPS = 5000000,      /* 16 short loops in this time are worth waking the workers */
    PHINTYS_INTERRUPTED = 200000,       /* more between two looks at the clock: the system ran something else */
    PHINTYS_LATE = 500000,              /* longer waits for the last worker: likewise */
    PHINTYS_BUSY = 10000000,            /* for so long loops run alone after the first such event, */
    PHINTYS_BUSIEST = 40000000          /* and for at most so long after repeated ones */
};
enum { PHINTYS_LONG = 160 };            /* times the grain: loops that are shared also where a worker may be late */
/* Of a thread that works alone: it asks whether the call is to end after pieces of at least 1 ms, if it can. */
enum { PHINTYS_UNASKED = 1000000 };
enum { PHINTYS_MOST = 64 };             /* times the grain: the most that a thread claims, about 3 ms */

/* Whether the loop is to end early: the items that no thread has claimed are left out. */
typedef int (*phintys_stops)(void* context);

typedef struct {
    intptr_t next, stop;                /* next: the first unclaimed item */
    char unused[PHINTYS_LINE - 2 * sizeof(intptr_t)];
} phintys_share;

typedef struct {
    phintys_task task;
    void* argument;
    phintys_stops stops;
    void* context;                      /* the argument of `stops` */
    intptr_t piece, most;               /* the smallest and the largest number of items that a thread claims */
    int threads;
    int wanted;                         /* how many workers may still join */
    unsigned long inside;               /* workers that joined and have not left; changed under the lock */
    unsigned long number;               /* counts loops, so that a worker joins each at most once */
    int soon;                           /* the last one came soon after the one before, so the next may, too */
    int awake;                          /* workers that look for the next loop */
    int short_loops;                    /* that ran alone because all workers slept */
    int64_t ended, short_since;         /* when the last loop ended; when the last 16 short ones began */
    int64_t busy_until, busy_for;       /* until when the machine is taken for busy, and for how long that was */
    phintys_share shares[PHINTYS_MAX_WORKERS];
} phintys_loop;

static phintys_loop current_loop;
static int started_workers = 0, usable_cores = 0;
static int thread_limit = 0;            /* no loop uses more threads; 0: no limit but that of its caller */
static pthread_mutex_t crew_busy = PTHREAD_MUTEX_INITIALIZER;    /* held by the caller whose loop runs */
static pthread_mutex_t loop_lock = PTHREAD_MUTEX_INITIALIZER;    /* guards wanted, inside, number */
static pthread_cond_t loop_posted = PTHREAD_COND_INITIALIZER;
static pthread_cond_t workers_left = PTHREAD_COND_INITIALIZER;

static int64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

#define PHINTYS_LOOK_AT(NUMBER) __atomic_load_n(&(NUMBER), __ATOMIC_RELAXED)
#define PHINTYS_NOTE(NUMBER, VALUE) __atomic_store_n(&(NUMBER), VALUE, __ATOMIC_RELAXED)

static inline void relax(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Others use the cores: leave them alone for a while, twice as long as last time if that is not long ago. */
static void note_busy(int64_t now) {
    const int64_t ago = now - PHINTYS_LOOK_AT(current_loop.busy_until), last = PHINTYS_LOOK_AT(current_loop.busy_for);
    int64_t length = ago > 4 * last ? PHINTYS_BUSY : 2 * last;
    if (length > PHINTYS_BUSIEST) length = PHINTYS_BUSIEST;
    PHINTYS_NOTE(current_loop.busy_for, length);
    PHINTYS_NOTE(current_loop.busy_until, now + length);
}

static int is_busy(int64_t now) { return now < PHINTYS_LOOK_AT(current_loop.busy_until); }

static int has_a_core_for_each(void) { return PHINTYS_LOOK_AT(started_workers) < PHINTYS_LOOK_AT(usable_cores); }

/* Look whether a counter has changed, for at most `limit` nanoseconds. Ends when the system has interrupted the thread:
 * then others need the core. */
static int has_changed_soon(const unsigned long* counter, unsigned long old, int64_t limit) {
    int64_t start = nanoseconds(), last = start, now;
    if (is_busy(start)) return 0;
    for (;;) {
        for (int k = 0; k < 16; k++, relax())
            if (__atomic_load_n(counter, __ATOMIC_ACQUIRE) != old) return 1;
        now = nanoseconds();
        if (now - last > PHINTYS_INTERRUPTED) {
            if (!is_busy(now)) note_busy(now);
            return 0;
        }
        if (now - start > limit) return 0;
        last = now;
    }
}

/* Claim the next pieces of a share: an eighth of what is left of it, so that a thread that loses its core delays the
 * end only a little, and the last pieces are small. Returns where they end; 0 if nothing is left. */
static intptr_t claim(phintys_share* share, intptr_t piece, intptr_t* start) {
    intptr_t next = PHINTYS_LOOK_AT(share->next), stop;
    do {
        if (next >= share->stop) return 0;
        intptr_t pieces = (share->stop - next) / 8 / piece;
        if (pieces * piece > current_loop.most) pieces = current_loop.most / piece;
        stop = next + (pieces > 1 ? pieces : 1) * piece;
        if (stop > share->stop) stop = share->stop;
    } while (!__atomic_compare_exchange_n(&share->next, &next, stop, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    *start = next;
    return stop;
}

/* `worker` is below the number of the loop's threads, so that tasks can have a place for each. */
static void claim_pieces(int worker) {
    phintys_loop* loop = &current_loop;
    intptr_t start, stop;
    for (int k = 0; k < loop->threads; k++) {
        phintys_share* share = &loop->shares[(worker + k) % loop->threads];
        while (!loop->stops(loop->context) && (stop = claim(share, loop->piece, &start)) != 0)
            loop->task(loop->argument, worker, start, stop);
    }
}

/* Wait for a loop that this worker has not seen. The caller holds the lock. */
static void await_loop(unsigned long seen, int quickly) {
    if (quickly && current_loop.number == seen) {
        __atomic_add_fetch(&current_loop.awake, 1, __ATOMIC_RELAXED);
        pthread_mutex_unlock(&loop_lock);
        has_changed_soon(&current_loop.number, seen, PHINTYS_LOOK);
        pthread_mutex_lock(&loop_lock);
        __atomic_sub_fetch(&current_loop.awake, 1, __ATOMIC_RELAXED);
    }
    while (current_loop.number == seen) pthread_cond_wait(&loop_posted, &loop_lock);
}

static void* worker_main(void* identity) {
    int worker = (int)(intptr_t)identity, quickly = 0;
    unsigned long seen = 0;
    pthread_mutex_lock(&loop_lock);
    for (;;) {
        await_loop(seen, quickly);
        seen = current_loop.number;
        quickly = current_loop.soon && has_a_core_for_each();
        if (current_loop.wanted && worker < current_loop.threads) {
            current_loop.wanted--;
            PHINTYS_NOTE(current_loop.inside, current_loop.inside + 1);
            pthread_mutex_unlock(&loop_lock);
            claim_pieces(worker);
            pthread_mutex_lock(&loop_lock);
            __atomic_store_n(&current_loop.inside, current_loop.inside - 1, __ATOMIC_RELEASE);
            if (current_loop.inside == 0) pthread_cond_signal(&workers_left);
        }
    }
    return NULL;
}

/* The child of a fork has only the caller's thread: forget the workers, so that new ones are started. */
static void forget_workers(void) {
    started_workers = 0;
    current_loop.wanted = current_loop.inside = current_loop.awake = 0;
    pthread_mutex_init(&crew_busy, NULL);
    pthread_mutex_init(&loop_lock, NULL);
    pthread_cond_init(&loop_posted, NULL);
    pthread_cond_init(&workers_left, NULL);
}

static int count_usable_cores(void) {
#if defined(__linux__)
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof(cores), &cores) == 0) return CPU_COUNT(&cores);
#endif
    return PHINTYS_MAX_WORKERS;
}

static void start_workers(int count) {
    static int fork_handler = 0;
    pthread_attr_t attributes;
    pthread_t thread;
    if (!fork_handler) {
        pthread_atfork(NULL, NULL, forget_workers);
        fork_handler = 1;
    }
    PHINTYS_NOTE(usable_cores, count_usable_cores());
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    while (started_workers < count) {
        if (pthread_create(&thread, &attributes, worker_main, (void*)(intptr_t)(started_workers + 1))) break;
        PHINTYS_NOTE(started_workers, started_workers + 1);
    }
    pthread_attr_destroy(&attributes);
}

static int phintys_workers_started(void) { return PHINTYS_LOOK_AT(started_workers); }

/* Exported: threadpoolctl finds them by name in the loaded library, and may call them while loops run. */
__attribute__((visibility("default"))) void phintys_set_thread_limit(int limit) {
    PHINTYS_NOTE(thread_limit, limit);
}

__attribute__((visibility("default"))) int phintys_thread_limit(void) {
    return PHINTYS_LOOK_AT(thread_limit);
}

/* Divide [0, total) into shares of whole pieces. */
static void divide(intptr_t total, intptr_t piece, int threads) {
    intptr_t pieces = (total + piece - 1) / piece;
    for (int k = 0; k < threads; k++) {
        intptr_t stop = (k + 1) * pieces / threads * piece;
        current_loop.shares[k].next = k * pieces / threads * piece;
        current_loop.shares[k].stop = stop < total ? stop : total;
    }
    current_loop.piece = piece;
    current_loop.threads = threads;
}

/* Let workers look at what there is: a loop of which `wanted` of them may take pieces, or none yet. */
static void post_loop(int wanted, int soon) {
    pthread_mutex_lock(&loop_lock);
    current_loop.wanted = wanted;
    current_loop.soon = soon;
    PHINTYS_NOTE(current_loop.number, current_loop.number + 1);
    pthread_cond_broadcast(&loop_posted);
    pthread_mutex_unlock(&loop_lock);
}

static void await_workers(int64_t posted) {
    int64_t finished = nanoseconds(), late;
    unsigned long inside;
    pthread_mutex_lock(&loop_lock);
    current_loop.wanted = 0;                       /* workers that have not joined yet stay out */
    if (current_loop.inside && has_a_core_for_each()) {
        pthread_mutex_unlock(&loop_lock);
        while ((inside = __atomic_load_n(&current_loop.inside, __ATOMIC_ACQUIRE)) != 0)
            if (!has_changed_soon(&current_loop.inside, inside, PHINTYS_LOOK)) break;
        pthread_mutex_lock(&loop_lock);
    }
    while (current_loop.inside) pthread_cond_wait(&workers_left, &loop_lock);
    pthread_mutex_unlock(&loop_lock);
    current_loop.ended = nanoseconds();
    late = current_loop.ended - finished;
    if (late > PHINTYS_LATE && late > (finished - posted) / 4 && !is_busy(finished)) note_busy(current_loop.ended);
}

/* Count a short loop that runs alone. If 16 came quickly, wake the workers for those that will come. */
static void count_short_loop(int threads) {
    if (++current_loop.short_loops % 16) return;
    int64_t now = nanoseconds();
    if (now - current_loop.short_since < PHINTYS_SHORT_LOOPS) {
        if (started_workers < threads - 1) start_workers(threads - 1);
        post_loop(0, 1);
    }
    current_loop.short_since = now;
}

/* The smallest pieces to divide a loop into; 0: it is too short for more than one thread. A quarter of `grain` is worth
 * it for workers that look for a loop. */
static intptr_t smallest_piece(intptr_t total, intptr_t grain, int threads) {
    const intptr_t least = grain > 4 ? grain / 4 : 1;
    if (total / least < 2) return 0;
    if (PHINTYS_LOOK_AT(current_loop.awake)) return least;
    if (total / grain >= 2) return grain;
    count_short_loop(threads);
    return 0;
}

/* Whether workers look for a loop; else it counts as a short one. For loops whose items are pieces by themselves, such
 * as parts of a product: they ask this where the loop is long enough for such workers only. */
static int phintys_workers_look(int threads) {
    if (PHINTYS_LOOK_AT(current_loop.awake)) return 1;
    if (pthread_mutex_trylock(&crew_busy)) return 0;
    if (!is_busy(nanoseconds())) count_short_loop(threads);
    pthread_mutex_unlock(&crew_busy);
    return 0;
}

/* A loop on the caller's thread. It begins with pieces of about 0.2 ms, or of one item if these may take any time, and
 * doubles them while they take less than 1 ms. */
static void run_alone(phintys_task run, void* argument, intptr_t total, intptr_t grain, phintys_stops stops,
                      void* context) {
    intptr_t start = 0, piece = grain > 1 ? 4 * grain : 1;
    int64_t last = 0, now;
    if (total <= piece) {
        if (total > 0) run(argument, 0, 0, total);
        return;
    }
    last = nanoseconds();
    while (total - start > piece) {
        run(argument, 0, start, start + piece);
        start += piece;
        if (stops(context)) return;
        now = nanoseconds();
        if (now - last < PHINTYS_UNASKED) piece *= 2;
        last = now;
    }
    run(argument, 0, start, total);
}

static void phintys_workers_run(void* task, void* argument, intptr_t total, intptr_t grain, int threads, void* asked,
                                void* context) {
    const phintys_task run = (phintys_task)task;
    const phintys_stops stops = (phintys_stops)asked;
    intptr_t piece;
    int64_t posted;
    int soon;
    const int limit = phintys_thread_limit();
    if (limit && threads > limit) threads = limit;
    if (threads > PHINTYS_MAX_WORKERS) threads = PHINTYS_MAX_WORKERS;
    if (grain < 1) grain = 1;
    if (threads < 2 || total < 2 || pthread_mutex_trylock(&crew_busy)) {
        run_alone(run, argument, total, grain, stops, context);
        return;
    }
    posted = nanoseconds();
    /* Items that are pieces by themselves, such as parts of a product of matrices, may take any time. */
    piece = grain > 1 && total / grain < PHINTYS_LONG && is_busy(posted) ? 0 : smallest_piece(total, grain, threads);
    if (piece == 0) {
        pthread_mutex_unlock(&crew_busy);
        run_alone(run, argument, total, grain, stops, context);
        return;
    }
    soon = total / grain < 2 || posted - current_loop.ended < PHINTYS_LOOK
        || PHINTYS_LOOK_AT(current_loop.awake);
    if (total / piece < threads) threads = (int)(total / piece);
    if (started_workers < threads - 1) start_workers(threads - 1);
    divide(total, piece, threads);
    current_loop.task = run;
    current_loop.argument = argument;
    current_loop.stops = stops;
    current_loop.context = context;
    current_loop.most = grain > PTRDIFF_MAX / PHINTYS_MOST ? grain : PHINTYS_MOST * grain;
    post_loop(threads - 1, soon);
    claim_pieces(0);
    await_workers(posted);
    pthread_mutex_unlock(&crew_busy);
}

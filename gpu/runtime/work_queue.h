/* The device's work, in order: launches, copies and fills on the device, and calls of libraries, are collected, and
 * submitted together. A list whose shape comes a second time - the same kernels and calls, in the same order - is made
 * a graph of CUDA; from then on one call of the driver submits all of it. A list that is equal in all bytes is replayed
 * as it is; of one with other arguments, addresses or grids, the nodes that differ are changed before (0.3 us each).
 * So a program is replayed whatever memory its values are in, and so are the steps of its loops.
 *
 * A launch is a node of its own. Everything else - copies, fills, calls of libraries - is captured, and what was
 * captured is kept, to be set again: as a node, too, if it is a single kernel, and else as a child graph, which takes
 * the driver far longer to change. Of one shape there are at most VERSIONS graphs, so
 * that calls which alternate between two sets of addresses change nothing; the least recently used graph is given up.
 *
 * Small copies between the places are work, too, and so a part of the graph; large ones to the device are done on a
 * stream of their own, beside work that was submitted before: see the end of the file.
 *
 * A push takes no lock. It reserves a piece of the list by one exchange of `state`, which gives work of all threads one
 * order, fills it in, and writes the record's kind last. Who submits has the lock. While others push, it puts the
 * other, empty list in place by one exchange, and waits until the pushes that came before have written their kinds,
 * which takes as long as to copy the arguments of a launch.
 *
 * driver.pyx includes this after the struct `driver` of the driver's functions.
 */
#ifndef PHINTYS_WORK_QUEUE_H
#define PHINTYS_WORK_QUEUE_H

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WORK_LAUNCH = 1, WORK_COPY, WORK_FILL, WORK_CALL };
enum { ROOM = (1 << 17) - 1, GRAPHS = 64, VERSIONS = 4 };                   /* ROOM: of a list, in words of 8 bytes */
enum { CHILDREN = 1024, WAYS = 4 }; /* of what is captured so much is kept, in one of so many places each */
enum { MOST_REFUSALS = 4, REFUSED = -1, KERNEL_NODE = 0 };                  /* the last: CU_GRAPH_NODE_TYPE_KERNEL */
enum { SEEN = 64 };                 /* of so many lists it is known whether they have come before */
enum { CAPTURE_THREAD_LOCAL = 1, MARKS = 8, TIMING = 0, NO_TIMING = 2 };    /* the last: CU_EVENT_DISABLE_TIMING */
enum { OUT_OF_MEMORY = 2, NOT_READY = 600 };        /* CUDA_ERROR_...; the second: of an event that has not come */
enum { MOST_RANGED = 1 << 26 };     /* bytes */
enum { DEVICE_MAP = 2 };            /* CU_MEMHOSTALLOC_DEVICEMAP */

typedef struct {                    /* a record of a list: this, and behind it the arguments, up to a whole word */
    uint32_t kind;                  /* written last; 0: the record is not complete yet */
    uint32_t bytes;                 /* of arguments */
    union {
        struct {
            void* function;         /* of a launch; or int (*)(void* arguments, void* stream) */
            uint32_t blocks, rows, threads, shared;
        };
        struct {
            uint64_t target, source, size;          /* of a copy or a fill; the source of a fill is the byte */
        };
    };
} phintys_work;

typedef struct {
    uint64_t shape, hash, used;     /* used: when it was last; 0: never */
    size_t words, count;
    uint64_t* list;                 /* with the arguments that the graph has now */
    void *exec, *graph;             /* NULL: it came once */
    void** nodes;                   /* of the graph, one for each piece of work; behind them the functions of calls of
                                     * libraries that are single kernels */
    int refused;                    /* it could not be made */
    int refusals;                   /* how often the driver did not change a graph of this shape; after MOST_REFUSALS
                                     * only equal lists are replayed */
} phintys_graph;

typedef struct {                    /* CUDA_KERNEL_NODE_PARAMS_v2 */
    void* function;
    unsigned blocks, rows, depth, threads, y, z, shared;
    void **parameters, **extra, *kernel, *context;
} phintys_node;

typedef struct {                    /* what a piece of work was captured as */
    uint64_t hash;
    uint64_t* work;
    void* graph;                    /* NULL: nothing is here */
    void* node;                     /* if it is a single kernel: its node, */
    phintys_node launch;            /* and how it is launched */
} phintys_child;

/* Of `state`: from the lowest bit on, how many words of the list are reserved; which of the two lists it is; how much
 * work has been pushed so far. A state that comes again is the same in all respects, as lists are empty at first. */
#define STATE_USED(state) ((state) & ROOM)
#define STATE_LIST(state) ((state) >> 17 & 1)
#define STATE_PUSHED(state) ((state) >> 18)
#define STATE_OTHER_LIST(state) ((((state) >> 17) ^ 1) << 17)
#define STATE_ONE_MORE(state, words) ((state) + ((uint64_t)1 << 18) + (words))

static struct {
    uint64_t state __attribute__((aligned(64)));
    uint64_t lists[2][ROOM + 1] __attribute__((aligned(64)));
    void *stream, *capturing;       /* where work is done; another one, of which nothing depends, for captures */
    void *begin, *end;              /* events that measure a submission */
    void *joint;                    /* an event for which a stream of another library waits, or the default stream */
    phintys_graph graphs[GRAPHS];
    phintys_child children[CHILDREN];
    int only_children;              /* single kernels cannot be taken out of what was captured */
    unsigned next_way;              /* of those where what is captured may be kept, the one that is given up next */
    uint64_t clock, seen[SEEN];     /* seen: the hashes of lists that came, a ring */
    int next_seen;
    int collects, measures;
    uint64_t lost;                  /* how much work had been pushed when a list was lost the last time, by an error */
    int lost_by;                    /* this error */
    long captured, replayed, changed, submitted;       /* changed: replayed with other arguments */
    uint64_t finished;              /* how much work was submitted; the rest of what was pushed is collected */
    uint64_t done;                  /* how much work the device has done, as far as somebody has waited for it */
    struct { void* event; uint64_t pushed; } marks[MARKS];     /* after which work an event comes; a ring */
    int mark;                       /* of the ring: the next to be used */
    pthread_mutex_t lock;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t phintys_pushed(void) { return STATE_PUSHED(__atomic_load_n(&queue.state, __ATOMIC_ACQUIRE)); }

/* A list has work of all threads, and one of them submits it. If that fails, the work of all is lost, and each of them
 * is told when it asks next. `unsure` is the number of the first work that this thread has pushed since all of its work
 * was submitted, or an error was told; 0: there is none. */
static __thread uint64_t unsure;

static void phintys_lose(uint64_t pushed, int error) {
    __atomic_store_n(&queue.lost_by, error, __ATOMIC_RELAXED);
    __atomic_store_n(&queue.lost, pushed, __ATOMIC_RELEASE);
}

/* The error by which work of this thread was lost, or work that came after it. */
static int phintys_loss(void) {
    return unsure && unsure <= __atomic_load_n(&queue.lost, __ATOMIC_ACQUIRE)
        ? __atomic_load_n(&queue.lost_by, __ATOMIC_RELAXED) : 0;
}

static void phintys_is_told(void) { unsure = 0; }

/* Whether all work has been submitted, and no error is to be told. */
static int phintys_is_submitted(void) {
    if (__atomic_load_n(&queue.finished, __ATOMIC_ACQUIRE) != phintys_pushed() || phintys_loss()) return 0;
    unsure = 0;
    return 1;
}

static size_t phintys_words(const phintys_work* work) { return sizeof *work / 8 + (work->bytes + 7) / 8; }

static int phintys_do(phintys_work* work, void* stream) {
    void* arguments = work + 1;
    size_t size = work->bytes;
    /* CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END */
    void* extra[] = {(void*)1, arguments, (void*)2, &size, (void*)0};
    switch (work->kind) {
        case WORK_LAUNCH:
            return driver.launch(work->function, work->blocks, work->rows, 1, work->threads, 1, 1, work->shared, stream,
                                 NULL, extra);
        case WORK_COPY: return driver.within(work->target, work->source, work->size, stream);
        case WORK_FILL: return driver.fill(work->target, (unsigned char)work->source, work->size, stream);
        default: return ((int (*)(void*, void*))work->function)(arguments, stream);
    }
}

static int phintys_do_all(uint64_t* list, size_t words, void* stream) {
    int error = 0;
    for (size_t at = 0; at < words && !error; at += phintys_words((phintys_work*)(list + at)))
        error = phintys_do((phintys_work*)(list + at), stream);
    return error;
}

static uint64_t phintys_mix(uint64_t hash, const void* data, size_t bytes) {
    const char* at = (const char*)data;
    uint64_t word;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
        hash ^= hash >> 29;
    }
    for (; bytes; bytes--) hash = (hash ^ (unsigned char)*at++) * 0x9E3779B97F4A7C15ull;
    return hash ^ hash >> 32;
}

static void phintys_free_graph(phintys_graph* graph) {
    if (graph->exec) driver.destroy_exec(graph->exec);
    if (graph->graph) driver.destroy_graph(graph->graph);
    free(graph->nodes);
    graph->exec = graph->graph = NULL, graph->nodes = NULL;
}

static void phintys_forget(phintys_graph* graph) {
    phintys_free_graph(graph);
    free(graph->list);
    memset(graph, 0, sizeof *graph);
}

static void phintys_forget_child(phintys_child* child) {
    if (child->graph) driver.destroy_graph(child->graph);
    free(child->work);
    memset(child, 0, sizeof *child);
}

/* Whether what was captured is a single kernel; if so, how it is launched. */
static void phintys_look_for_kernel(phintys_child* child) {
    size_t count = 0;
    int kind = -1;
    child->node = NULL;
    if (driver.nodes_of(child->graph, NULL, &count) || count != 1
        || driver.nodes_of(child->graph, &child->node, &count) || driver.kind_of(child->node, &kind)
        || kind != KERNEL_NODE || driver.launch_of(child->node, &child->launch))
        child->node = NULL;
}

/* What a piece of work is that is no launch, captured unless it is kept. */
static int phintys_capture(const phintys_work* work, phintys_child** captured) {
    const size_t bytes = 8 * phintys_words(work);
    const uint64_t hash = phintys_mix(bytes, work, bytes);
    phintys_child* set = queue.children + hash % (CHILDREN / WAYS) * WAYS;
    for (int way = 0; way < WAYS; way++) {
        *captured = set + way;
        if (set[way].graph && set[way].hash == hash && !memcmp(set[way].work, work, bytes)) return 0;
    }
    phintys_child* child = *captured = set + queue.next_way++ % WAYS;
    phintys_forget_child(child);
    int error = driver.begin_capture(queue.capturing, CAPTURE_THREAD_LOCAL);
    if (error) return error;
    error = phintys_do((phintys_work*)work, queue.capturing);
    const int ended = driver.end_capture(queue.capturing, &child->graph);
    if (!error) error = ended;
    if (!error && !(child->work = (uint64_t*)malloc(bytes))) error = OUT_OF_MEMORY;
    if (error) {
        phintys_forget_child(child);
        return error;
    }
    memcpy(child->work, work, bytes);
    child->hash = hash;
    phintys_look_for_kernel(child);
    return 0;
}

/* Add the node of a piece of work, number `number`, to a graph, or change it in a graph that is ready. */
static int phintys_set_node(phintys_graph* graph, size_t number, phintys_work* work, int add) {
    void **node = graph->nodes + number, **before = number ? node - 1 : NULL, **function = node + graph->count;
    phintys_child* child = NULL;
    size_t size = work->bytes;
    void* extra[] = {(void*)1, work + 1, (void*)2, &size, (void*)0};        /* as in `phintys_do` */
    const phintys_node launch = {work->function, work->blocks, work->rows, 1, work->threads, 1, 1, work->shared, NULL,
                                 extra, NULL, NULL};
    int error = work->kind == WORK_LAUNCH ? 0 : phintys_capture(work, &child);
    if (error) return error;
    const phintys_node* kernel = !child ? &launch : child->node && !queue.only_children ? &child->launch : NULL;
    void* called = child && kernel ? kernel->function ? kernel->function : kernel->kernel : NULL;
    if (!add && *function != called) return REFUSED;            /* another kernel, perhaps with other attributes */
    if (!add) return kernel ? driver.set_kernel(graph->exec, *node, kernel)
                            : driver.set_child(graph->exec, *node, child->graph);
    *function = called;
    if (!kernel) return driver.add_child(node, graph->graph, before, before != NULL, child->graph);
    error = driver.add_kernel(node, graph->graph, before, before != NULL, kernel);
    if (child && !error) error = driver.copy_attributes(*node, child->node);
    if (child && error) queue.only_children = 1;
    return error;
}

/* Make the graph of its list; 0: it is ready. Nothing has been done then. */
static int phintys_make(phintys_graph* made) {
    const int children = queue.only_children;
    size_t number = 0;
    made->nodes = (void**)calloc(2 * made->count, sizeof(void*));
    int error = made->nodes ? driver.create_graph(&made->graph, 0) : OUT_OF_MEMORY;
    for (size_t at = 0; at < made->words && !error; at += phintys_words((phintys_work*)(made->list + at)), number++)
        error = phintys_set_node(made, number, (phintys_work*)(made->list + at), 1);
    if (!error) error = driver.instantiate(&made->exec, made->graph, 0);
    if (!error) {
        queue.captured++;
        return 0;
    }
    made->exec = NULL;
    phintys_free_graph(made);
    return queue.only_children == children ? error : phintys_make(made);
}

/* Whether two pieces of work are the same kernel or call, whatever their arguments. */
static int phintys_is_alike(const phintys_work* a, const phintys_work* b) {
    return a->kind == b->kind && a->bytes == b->bytes
        && (a->kind == WORK_COPY || a->kind == WORK_FILL || a->function == b->function);
}

/* Give a graph the arguments of a list of its shape; returns an error if it cannot have them. */
static int phintys_change(phintys_graph* graph, uint64_t* list) {
    size_t number = 0;
    for (size_t at = 0; at < graph->words; number++) {
        phintys_work *old = (phintys_work*)(graph->list + at), *work = (phintys_work*)(list + at);
        if (!phintys_is_alike(old, work)) return REFUSED;                   /* two shapes have one hash */
        const size_t words = phintys_words(work);
        if (memcmp(old, work, 8 * words)) {
            const int error = phintys_set_node(graph, number, work, 0);
            if (error) return error;
            memcpy(old, work, 8 * words);
        }
        at += words;
    }
    queue.changed++;
    return 0;
}

/* Whether a list came not long ago; from now on it has. */
static int phintys_was_seen(uint64_t hash) {
    for (int i = 0; i < SEEN; i++)
        if (queue.seen[i] == hash) return 1;
    queue.seen[queue.next_seen] = hash;
    queue.next_seen = (queue.next_seen + 1) % SEEN;
    return 0;
}

/* A place for a list, without a graph. */
static int phintys_note_list(phintys_graph* place, const uint64_t* list, size_t words, size_t count) {
    phintys_forget(place);
    place->list = (uint64_t*)malloc(words * 8);
    if (!place->list) return 0;
    memcpy(place->list, list, words * 8);
    place->words = words, place->count = count;
    return 1;
}

/* The graph with which a list is done, ready to be launched; NULL: it is done piece by piece. */
static phintys_graph* phintys_graph_of(uint64_t* list, size_t words, size_t count) {
    uint64_t shape = count;
    for (size_t at = 0; at < words; at += phintys_words((phintys_work*)(list + at))) {
        const phintys_work* work = (phintys_work*)(list + at);
        const int moves = work->kind == WORK_COPY || work->kind == WORK_FILL;
        const uint64_t alike[] = {(uint64_t)work->kind << 32 | work->bytes, moves ? 0 : (uint64_t)work->function};
        shape = phintys_mix(shape, alike, sizeof alike);
    }
    const uint64_t hash = phintys_mix(words, list, words * 8);
    phintys_graph *oldest = queue.graphs, *found = NULL;        /* found: of this shape, the one used longest ago */
    int versions = 0, refusals = 0;
    for (int i = 0; i < GRAPHS; i++) {
        phintys_graph* graph = &queue.graphs[i];
        if (graph->used < oldest->used) oldest = graph;
        if (!graph->used || graph->shape != shape || graph->words != words) continue;
        if (graph->hash == hash && !memcmp(graph->list, list, words * 8)) {
            if (!graph->exec && !graph->refused) graph->refused = phintys_make(graph) != 0;
            graph->used = ++queue.clock;
            return graph->exec ? graph : NULL;
        }
        if (graph->refused) refusals = MOST_REFUSALS;
        if (graph->refusals > refusals) refusals = graph->refusals;
        versions++;
        if (!found || graph->used < found->used) found = graph;
    }
    const int again = phintys_was_seen(hash);
    const int may_change = found && refusals < MOST_REFUSALS;
    if (may_change && found->exec && (!again || versions >= VERSIONS)) {
        found->used = ++queue.clock;
        if (!phintys_change(found, list)) {
            found->hash = hash;
            return found;
        }
        oldest = found, refusals++;
    } else if (may_change && !found->exec) {
        oldest = found;
    }
    if (!phintys_note_list(oldest, list, words, count)) return NULL;
    oldest->shape = shape, oldest->hash = hash, oldest->used = ++queue.clock, oldest->refusals = refusals;
    if (may_change) oldest->refused = phintys_make(oldest) != 0;
    return oldest->exec ? oldest : NULL;
}

static int phintys_wait_for_copies(void);

/* Note that an event comes when all work submitted so far is done. */
static int phintys_mark(void) {
    const int at = queue.mark;
    if (!queue.marks[at].event) return 0;
    const int error = driver.record(queue.marks[at].event, queue.stream);
    if (error) return error;
    queue.marks[at].pushed = queue.finished;
    queue.mark = (at + 1) % MARKS;
    return 0;
}

/* Put an empty list in place of the one that was collected, and wait until this one is complete; the caller has the
 * lock. Returns how much work was pushed until then. */
static uint64_t phintys_take_list(uint64_t** list, size_t* words, size_t* count) {
    uint64_t old = __atomic_load_n(&queue.state, __ATOMIC_RELAXED), next;
    do {
        next = STATE_PUSHED(old) << 18 | (STATE_OTHER_LIST(old) & (uint64_t)1 << 17);
    } while (!__atomic_compare_exchange_n(&queue.state, &old, next, 1, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
    *list = queue.lists[STATE_LIST(old)];
    *words = STATE_USED(old), *count = 0;
    for (size_t at = 0; at < *words; ++*count) {
        const phintys_work* work = (phintys_work*)(*list + at);
        while (!__atomic_load_n(&work->kind, __ATOMIC_ACQUIRE)) sched_yield();
        at += phintys_words(work);
    }
    return STATE_PUSHED(old);
}

/* Do a list, as a graph if it has come before. */
static int phintys_do_list(uint64_t* list, size_t words, size_t count) {
    phintys_graph* graph = queue.collects && queue.capturing ? phintys_graph_of(list, words, count) : NULL;
    queue.submitted++;
    int error = phintys_wait_for_copies();
    if (!error && queue.measures) error = driver.record(queue.begin, queue.stream);
    if (error) return error;
    if (!graph) return phintys_do_all(list, words, queue.stream);
    error = driver.launch_graph(graph->exec, queue.stream);
    if (!error) queue.replayed++;
    return error;
}

/* Submit what was collected; the caller has the lock. Returns the driver's error; what was collected is gone then. */
static int phintys_submit_all(void) {
    uint64_t* list;
    size_t words, count;
    if (!STATE_USED(__atomic_load_n(&queue.state, __ATOMIC_ACQUIRE))) return 0;
    const uint64_t pushed = phintys_take_list(&list, &words, &count);
    int error = phintys_do_list(list, words, count);
    if (error) phintys_lose(pushed, error);
    memset(list, 0, words * 8);
    __atomic_store_n(&queue.finished, pushed, __ATOMIC_RELEASE);
    if (!error && queue.collects) error = phintys_mark();       /* without collecting: when a copy needs it */
    return error;
}

/* The mark after which the first `work` of all that was pushed is done; the caller has the lock. */
static int phintys_mark_after(uint64_t work, int* found) {
    int error = work > queue.finished ? phintys_submit_all() : 0;
    *found = -1;
    for (int turn = 0; turn < 2 && *found < 0 && !error; turn++) {
        for (int i = 0; i < MARKS; i++)             /* the first mark that covers it */
            if (queue.marks[i].pushed >= work && (*found < 0 || queue.marks[i].pushed < queue.marks[*found].pushed))
                *found = i;
        if (*found < 0) error = phintys_mark();
    }
    return error;
}

static void phintys_note_done(uint64_t work) {
    uint64_t done = __atomic_load_n(&queue.done, __ATOMIC_RELAXED);
    while (done < work
           && !__atomic_compare_exchange_n(&queue.done, &done, work, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* Wait until the first `work` of all that was pushed is done. */
static int phintys_wait_for_work(uint64_t work) {
    int found = -1, error = phintys_enter_context();
    if (!error) error = phintys_loss();
    if (error || work <= __atomic_load_n(&queue.done, __ATOMIC_ACQUIRE)) return error;
    pthread_mutex_lock(&queue.lock);
    error = queue.marks[0].event ? phintys_mark_after(work, &found) : phintys_submit_all();
    if (!error) error = phintys_loss();
    const uint64_t done = found < 0 ? queue.finished : queue.marks[found].pushed;
    void* event = found < 0 ? NULL : queue.marks[found].event;
    pthread_mutex_unlock(&queue.lock);
    if (!error) error = event ? driver.wait_for_event(event) : driver.synchronize();
    if (!error) phintys_note_done(done);
    return error;
}

static int phintys_submit(void) {
    int error = phintys_enter_context();
    if (error) return error;
    pthread_mutex_lock(&queue.lock);
    error = phintys_submit_all();
    if (!error) error = phintys_loss();
    pthread_mutex_unlock(&queue.lock);
    if (!error) unsure = 0;
    return error;
}

/* Submit, and say how long the device has worked on it. */
static int phintys_measure(double* seconds) {
    float milliseconds = 0;
    pthread_mutex_lock(&queue.lock);
    const long submitted = queue.submitted;
    queue.measures = queue.begin && queue.end;
    int error = phintys_submit_all();
    if (!error && queue.measures && queue.submitted != submitted) {
        error = driver.record(queue.end, queue.stream);
        if (!error) error = driver.wait_for_event(queue.end);
        if (!error) error = driver.elapsed(&milliseconds, queue.begin, queue.end);
    }
    queue.measures = 0;
    if (error) phintys_lose(queue.finished, error);
    pthread_mutex_unlock(&queue.lock);
    *seconds = 1e-3 * milliseconds;
    return error;
}

/* Add work, whose arguments are copied. Without collecting it is done at once, and waited for, so that an error is its
 * own. */
static int phintys_push(const phintys_work* work, const void* arguments) {
    const uint64_t words = phintys_words(work);
    uint64_t state = __atomic_load_n(&queue.state, __ATOMIC_RELAXED);
    do {
        while (STATE_USED(state) + words > ROOM) {
            const int error = phintys_submit();
            if (error) return error;
            state = __atomic_load_n(&queue.state, __ATOMIC_RELAXED);
        }
    } while (!__atomic_compare_exchange_n(&queue.state, &state, STATE_ONE_MORE(state, words), 1, __ATOMIC_ACQUIRE,
                                          __ATOMIC_RELAXED));
    if (!unsure) unsure = STATE_PUSHED(state) + 1;
    phintys_work* at = (phintys_work*)(queue.lists[STATE_LIST(state)] + STATE_USED(state));
    at->bytes = work->bytes;
    at->target = work->target, at->source = work->source, at->size = work->size;
    memcpy(at + 1, arguments, work->bytes);                     /* what is left of the last word is 0 */
    __atomic_store_n(&at->kind, work->kind, __ATOMIC_RELEASE);
    if (__atomic_load_n(&queue.collects, __ATOMIC_RELAXED)) return 0;
    const int error = phintys_submit();
    return error ? error : driver.synchronize();
}

/* Small copies between the places are pieces of work: a kernel reads or writes memory of the host that the device sees.
 * They are parts of a call's list, so that a call with arguments and results is one graph, and waits once.
 *
 * Arguments of at most DESK_BYTES wait on a desk until the device has taken them. A desk is used again when the work
 * that reads it is done; the first free one is taken, so that equal calls use equal ones.
 *
 * Results of at most TRAY_BYTES come in trays. Who asked for one, a call of a function, has its trays until it takes
 * the elements out, when the work is done. A call that fails waits for the work and gives up its trays. */
enum { DESKS = 16, DESK_BYTES = 1 << 17, TRAYS = 16, TRAY_BYTES = 1 << 18, MOVE_THREADS = 256, MOVE_BYTES = 16 };
static struct {
    struct { char* mapped; uint64_t seen, work; } desks[DESKS];     /* seen: its address on the device; work: until then
                                                                     * it is in use; ~0: it is being filled */
    struct {
        char *mapped, *target;
        uint64_t seen;
        size_t size;
        void* owner;                /* NULL: nobody */
    } trays[TRAYS];
    int usable;
    long uploads, downloads, late;  /* late: of the downloads, those that a call has begun and waits for at its end */
    void* kernel;                   /* (target, source, size); NULL: it has not been loaded */
} moves;

static int phintys_map(char** memory, uint64_t* seen, size_t size) {
    const int error = driver.allocate_pinned((void**)memory, size, DEVICE_MAP);
    return error ? error : driver.address_of((phintys_address*)seen, *memory, 0);
}

static void phintys_open_moves(void) {
    memset(&moves, 0, sizeof moves);
    moves.usable = 1;
    for (int i = 0; i < DESKS && moves.usable; i++)
        moves.usable = !phintys_map(&moves.desks[i].mapped, &moves.desks[i].seen, DESK_BYTES);
    for (int i = 0; i < TRAYS && moves.usable; i++)
        moves.usable = !phintys_map(&moves.trays[i].mapped, &moves.trays[i].seen, TRAY_BYTES);
}

static int phintys_can_move(size_t size) { return moves.usable && moves.kernel && size <= TRAY_BYTES; }

static int phintys_move(uint64_t target, uint64_t source, uint64_t size) {
    const uint64_t arguments[] = {target, source, size};
    const phintys_work work = {WORK_LAUNCH, sizeof arguments,
                               {{moves.kernel, (uint32_t)((size + MOVE_THREADS * MOVE_BYTES - 1)
                                                          / (MOVE_THREADS * MOVE_BYTES)), 1, MOVE_THREADS, 0}}};
    return phintys_push(&work, arguments);
}

/* A desk that nobody uses, now being filled. */
static int phintys_take_desk(int* found) {
    while (1) {
        uint64_t least = ~(uint64_t)0;
        const uint64_t done = __atomic_load_n(&queue.done, __ATOMIC_ACQUIRE);
        for (int i = 0; i < DESKS; i++) {
            uint64_t work = __atomic_load_n(&moves.desks[i].work, __ATOMIC_RELAXED);
            if (work < least) least = work;
            if (work <= done && __atomic_compare_exchange_n(&moves.desks[i].work, &work, ~(uint64_t)0, 0,
                                                            __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
                *found = i;
                return 0;
            }
        }
        const int error = least == ~(uint64_t)0 ? sched_yield() : phintys_wait_for_work(least);
        if (error) return error;
    }
}

/* Copy to the device in the order of the work; the source may be changed at once. */
static int phintys_take_along(uint64_t target, const char* source, size_t size) {
    int desk, error = phintys_take_desk(&desk);
    if (error) return error;
    memcpy(moves.desks[desk].mapped, source, size);
    __atomic_add_fetch(&moves.uploads, 1, __ATOMIC_RELAXED);
    error = phintys_move(target, moves.desks[desk].seen, size);
    __atomic_store_n(&moves.desks[desk].work, phintys_pushed(), __ATOMIC_RELEASE);
    return error;
}

/* Let a tray get elements in the order of the work; *found: whether one was free. */
static int phintys_fill_tray(char* target, uint64_t source, size_t size, void* owner, int* found) {
    *found = 0;
    for (int i = 0; i < TRAYS; i++) {
        void* nobody = NULL;
        if (!__atomic_compare_exchange_n(&moves.trays[i].owner, &nobody, owner, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            continue;
        moves.trays[i].target = target, moves.trays[i].size = size;
        __atomic_add_fetch(&moves.downloads, 1, __ATOMIC_RELAXED);
        *found = 1;
        return phintys_move(moves.trays[i].seen, source, size);
    }
    return 0;
}

static int phintys_has_trays(void* owner) {
    for (int i = 0; i < TRAYS; i++)
        if (__atomic_load_n(&moves.trays[i].owner, __ATOMIC_RELAXED) == owner) return 1;
    return 0;
}

/* Take out what an owner has in trays, for which somebody has waited; or, if it is not wanted, only give them up. */
static void phintys_empty_trays(void* owner, int wanted) {
    for (int i = 0; i < TRAYS; i++) {
        if (__atomic_load_n(&moves.trays[i].owner, __ATOMIC_RELAXED) != owner) continue;
        if (wanted) memcpy(moves.trays[i].target, moves.trays[i].mapped, moves.trays[i].size);
        __atomic_store_n(&moves.trays[i].owner, NULL, __ATOMIC_RELEASE);
    }
}

/* Notes: what a kernel finds wrong while it runs, such as a label that is no class. It writes this into a note of the
 * device, and sets the note's flag, in memory of the host that the device sees, only then: so a call that has waited
 * looks at the flags, and nothing is copied if all is well. Notes belong to threads until they are read. */
enum { NOTES = 64, NOTE_WORDS = 8, NOTE_FLAG = 4 };         /* the address of the flag is the fourth word of a note */
static struct {
    char* flags;
    uint64_t seen, device;          /* addresses on the device: of the flags, and of the notes */
    uint64_t taken;                 /* a bit for each */
} notes;
static __thread struct { int count, numbers[NOTES]; void* kernels[NOTES]; } noted;

static int phintys_open_notes(void) {
    uint64_t words[NOTES * NOTE_WORDS] = {0};
    memset(&notes, 0, sizeof notes);
    noted.count = 0;
    int error = phintys_map(&notes.flags, &notes.seen, 8 * NOTES);
    if (!error) error = driver.allocate((phintys_address*)&notes.device, sizeof words);
    if (error) return error;
    memset(notes.flags, 0, 8 * NOTES);
    for (int i = 0; i < NOTES; i++) words[i * NOTE_WORDS + NOTE_FLAG] = notes.seen + 8 * i;
    return driver.to_device(notes.device, words, sizeof words);
}

static int phintys_has_notes(void) { return noted.count; }

/* The address of a note for a kernel of this thread's call; 0: none is free. */
static uint64_t phintys_take_note(void* kernel) {
    uint64_t taken = __atomic_load_n(&notes.taken, __ATOMIC_RELAXED);
    int number;
    do {
        if (!~taken) return 0;
        number = __builtin_ctzll(~taken);
    } while (!__atomic_compare_exchange_n(&notes.taken, &taken, taken | (uint64_t)1 << number, 1, __ATOMIC_ACQUIRE,
                                          __ATOMIC_RELAXED));
    noted.numbers[noted.count] = number, noted.kernels[noted.count++] = kernel;
    return notes.device + 8 * NOTE_WORDS * number;
}

/* Notes of a kernel that is a part of another one are this other one's from here on. */
static void phintys_pass_notes(void* part, void* kernel) {
    for (int i = 0; i < noted.count; i++)
        if (noted.kernels[i] == part) noted.kernels[i] = kernel;
}

/* Read this thread's notes, for whose kernels it has waited, and give them back: the first kernel that has written, and
 * what; NULL: none has. */
static int phintys_read_notes(void** kernel, long long* words) {
    const uint64_t zeros[NOTE_FLAG] = {0};
    int error = 0;
    *kernel = NULL;
    for (int i = 0; i < noted.count; i++) {
        volatile uint64_t* flag = (volatile uint64_t*)notes.flags + noted.numbers[i];
        const uint64_t note = notes.device + 8 * NOTE_WORDS * noted.numbers[i];
        if (*flag) {
            if (!*kernel && !error) error = driver.to_host(words, note, sizeof zeros), *kernel = noted.kernels[i];
            if (!error) error = driver.to_device(note, zeros, sizeof zeros);
            *flag = 0;
        }
        __atomic_and_fetch(&notes.taken, ~((uint64_t)1 << noted.numbers[i]), __ATOMIC_RELEASE);
    }
    noted.count = 0;
    return error;
}

/* Large copies to the device go through slots of pinned memory, and are not waited for. A slot is used again when the
 * event after its copy has come. They are done on a stream of their own:
 *
 * - a copy waits for the work that may still use its target: for the event of the mark that covers this work. Of memory
 *   that was acquired for the copy, this is the work that was pushed before the memory was given back; of other memory
 *   all work. Later work that was submitted goes on beside the copy;
 * - all work that is submitted after a copy waits for the event that `copied` records.
 *
 * Without pinned memory or streams the driver copies, after all work, and waits. */
enum { SLOTS = 4, SLOT_BYTES = 1 << 20 };
static struct {
    char* pinned[SLOTS];
    void* copied[SLOTS];            /* events */
    int used[SLOTS], next, usable;
    void *stream, *last;            /* the stream of copies; an event after the last of them */
    int pending;                    /* work has not waited for it yet */
    uint64_t waited;                /* for how much work the stream has waited */
    long copies, beside, downloads; /* beside: of the copies to the device, those that did not wait for all work */
} slots;

static void phintys_open_slots(void) {
    memset(&slots, 0, sizeof slots);
    memset(queue.marks, 0, sizeof queue.marks);
    queue.mark = 0;
    slots.usable = queue.stream && !driver.new_stream(&slots.stream, 0) && !driver.new_event(&slots.last, NO_TIMING);
    for (int i = 0; i < MARKS && slots.usable; i++)
        slots.usable = !driver.new_event(&queue.marks[i].event, NO_TIMING);
    for (int i = 0; i < SLOTS && slots.usable; i++)
        slots.usable = !driver.allocate_pinned((void**)&slots.pinned[i], SLOT_BYTES, 0)
            && !driver.new_event(&slots.copied[i], NO_TIMING);
}

static int phintys_wait_for_copies(void) {
    const int error = slots.pending ? driver.stream_wait(queue.stream, slots.last, 0) : 0;
    slots.pending = 0;
    return error;
}

/* Let the stream of copies wait for the first `work` of all that was pushed. */
static int phintys_uploads_wait_for(uint64_t work) {
    int found;
    if (work <= slots.waited) return 0;
    int error = phintys_mark_after(work, &found);
    if (!error) error = driver.stream_wait(slots.stream, queue.marks[found].event, 0);
    if (!error) slots.waited = queue.marks[found].pushed;
    return error;
}

/* The next slot, which nobody uses any more. */
static int phintys_next_slot(int* slot) {
    *slot = slots.next;
    slots.next = (*slot + 1) % SLOTS;
    return slots.used[*slot] ? driver.wait_for_event(slots.copied[*slot]) : 0;
}

static int phintys_copy_piece(uint64_t target, const char* source, size_t size) {
    int slot, error = phintys_next_slot(&slot);
    if (error) return error;
    memcpy(slots.pinned[slot], source, size);
    error = driver.to_device_async(target, slots.pinned[slot], size, slots.stream);
    if (!error) error = driver.record(slots.copied[slot], slots.stream);
    slots.used[slot] = !error;
    return error;
}

/* Copy to the device, after the first `work` of all that was pushed; the source may be changed at once. */
static int phintys_to_device(uint64_t target, const char* source, size_t size, uint64_t work) {
    pthread_mutex_lock(&queue.lock);
    const uint64_t pushed = phintys_pushed();
    if (work > pushed) work = pushed;
    int error = slots.usable ? phintys_uploads_wait_for(work) : phintys_submit_all();
    if (!error && !slots.usable) error = driver.to_device(target, source, size);
    if (!error && slots.usable) {
        slots.copies++;
        slots.beside += slots.waited < queue.finished;
        while (!error && size) {
            const size_t piece = size < SLOT_BYTES ? size : SLOT_BYTES;
            error = phintys_copy_piece(target, source, piece);
            target += piece, source += piece, size -= piece;
        }
        if (!error) error = driver.record(slots.last, slots.stream);
        slots.pending = 1;
    }
    pthread_mutex_unlock(&queue.lock);
    return error;
}

/* Copy to the host through all slots in turn, and wait; the caller has the lock. */
static int phintys_copy_to_host(char* target, uint64_t source, size_t size) {
    size_t begun = 0, taken = 0;
    int slot, first = slots.next, error = 0;
    while (taken < size && !error) {
        while (begun < size && begun - taken < SLOTS * (size_t)SLOT_BYTES && !error) {
            const size_t piece = size - begun < SLOT_BYTES ? size - begun : SLOT_BYTES;
            error = phintys_next_slot(&slot);
            if (!error) error = driver.to_host_async(slots.pinned[slot], source + begun, piece, queue.stream);
            if (!error) error = driver.record(slots.copied[slot], queue.stream);
            slots.used[slot] = !error;
            begun += piece;
        }
        const size_t piece = size - taken < SLOT_BYTES ? size - taken : SLOT_BYTES;
        if (!error) error = driver.wait_for_event(slots.copied[first]);
        if (!error) memcpy(target + taken, slots.pinned[first], piece);
        taken += piece, first = (first + 1) % SLOTS;
    }
    return error;
}

/* Copy to the host, after all work. */
static int phintys_to_host(char* target, uint64_t source, size_t size) {
    pthread_mutex_lock(&queue.lock);
    int error = phintys_submit_all();
    if (!error) error = phintys_loss();
    if (!error) error = phintys_wait_for_copies();
    slots.downloads++;
    if (!error && slots.usable) error = phintys_copy_to_host(target, source, size);
    else if (!error) error = driver.to_host(target, source, size);
    pthread_mutex_unlock(&queue.lock);
    return error;
}

/* Let a stream of another library wait for all work so far. NULL is the default stream, with which CUDA itself keeps
 * the order once work is there. */
static int phintys_let_wait(void* stream) {
    int error = phintys_enter_context();
    if (error) return error;
    pthread_mutex_lock(&queue.lock);
    error = phintys_submit_all();
    if (!error) error = phintys_loss();
    if (!error) error = phintys_wait_for_copies();
    if (!error && stream) error = driver.record(queue.joint, queue.stream);
    if (!error && stream) error = driver.stream_wait(stream, queue.joint, 0);
    pthread_mutex_unlock(&queue.lock);
    return error;
}

/* Let the default stream wait for another one: so do all of ours, those of copies, too. */
static int phintys_wait_for(void* stream) {
    pthread_mutex_lock(&queue.lock);
    int error = driver.record(queue.joint, stream);
    if (!error) error = driver.stream_wait(NULL, queue.joint, 0);
    pthread_mutex_unlock(&queue.lock);
    return error;
}

/* Whether the first `work` of all that was pushed is done, and copies to the host that were asked for until now. The
 * caller keeps the event, NULL at first, until then, or until this is known. After an error of the driver nothing reads
 * any more. */
static int phintys_is_done(uint64_t work, void** event, int known) {
    int error = phintys_enter_context();
    pthread_mutex_lock(&queue.lock);
    if (!error && !*event && !known) {
        if (work > queue.finished) error = NOT_READY;
        if (!error) error = phintys_wait_for_copies();
        if (!error) error = driver.new_event(event, NO_TIMING);
        if (!error) error = driver.record(*event, queue.stream);
    }
    if (!error && !known) error = driver.query(*event);
    if (error != NOT_READY && *event) driver.destroy_event(*event);
    pthread_mutex_unlock(&queue.lock);
    return error != NOT_READY;
}

/* Give up all graphs, and collect from here on, or not. */
static int phintys_collect(int collects) {
    pthread_mutex_lock(&queue.lock);
    const int error = phintys_submit_all();
    for (int i = 0; i < GRAPHS; i++) phintys_forget(&queue.graphs[i]);
    for (int i = 0; i < CHILDREN; i++) phintys_forget_child(&queue.children[i]);
    queue.only_children = 0;
    __atomic_store_n(&queue.collects, collects, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&queue.lock);
    return error;
}

#endif

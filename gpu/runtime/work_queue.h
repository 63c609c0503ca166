/* The device's work, in order: launches, copies and fills at the device, and calls of libraries, are collected, and
 * submitted together. A list that comes a second time is captured as a graph of CUDA; from then on one call of the
 * driver submits all of it. So a program whose shapes and addresses repeat, and the steps of its loops, are replayed.
 *
 * Lists are compared whole: kernels, grids and the bytes of all arguments, addresses included. Where one differs, it is
 * another list, and is captured when it comes again; the least recently used one is given up.
 *
 * Copies to the device are done on a stream of their own, beside work that was submitted before: see the end of the file.
 *
 * driver.pyx includes this after the struct `driver` of the driver's functions. All of it is done under one lock, that
 * is taken for a push, too: it keeps the order of several threads.
 */
#ifndef PHINTYS_WORK_QUEUE_H
#define PHINTYS_WORK_QUEUE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { WORK_LAUNCH, WORK_COPY, WORK_FILL, WORK_CALL };
enum { MOST_WORK = 2048, WORK_ROOM = 1 << 20, GRAPHS = 32, FEWEST_FOR_A_GRAPH = 3 };
enum { CAPTURE_THREAD_LOCAL = 1, MARKS = 8 };

typedef struct {
    long kind;
    void* function;                 /* of a launch; or int (*)(void* arguments, void* stream) */
    uint32_t blocks, rows, threads, shared;
    uint64_t target, source, size;  /* of a copy or a fill; the source of a fill is the byte */
    size_t start, bytes;            /* arguments in `room` */
} phintys_work;

typedef struct {
    uint64_t hash, used;            /* used: when it was last; 0: never */
    size_t count, bytes;
    phintys_work* work;
    char* room;
    void* exec;                     /* NULL: it came once */
    int refused;                    /* it could not be captured */
} phintys_graph;

static struct {
    phintys_work work[MOST_WORK];
    size_t count, bytes;
    char* room;
    void *stream, *capturing;       /* where work is done; another one, of which nothing depends, for captures */
    phintys_graph graphs[GRAPHS];
    uint64_t clock;
    int collects;
    int late;                       /* an error that nobody has been told yet */
    long captured, replayed, submitted;
    uint64_t pushed;                /* how much work there was so far; `count` of it is not submitted yet */
    struct { void* event; uint64_t pushed; } marks[MARKS];     /* after which work an event comes; a ring */
    int mark;                       /* of the ring: the next to be used */
    pthread_mutex_t lock;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int phintys_do(const phintys_work* work, char* room, void* stream) {
    char* arguments = room + work->start;
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

static int phintys_do_all(const phintys_work* work, size_t count, char* room, void* stream) {
    for (size_t i = 0; i < count; i++) {
        const int error = phintys_do(&work[i], room, stream);
        if (error) return error;
    }
    return 0;
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

static void phintys_forget(phintys_graph* graph) {
    if (graph->exec) driver.destroy_exec(graph->exec);
    free(graph->work);
    free(graph->room);
    memset(graph, 0, sizeof *graph);
}

/* The graph of the list that was collected, or the place where it is noted now. */
static phintys_graph* phintys_find_graph(int* is_new) {
    const size_t size = queue.count * sizeof *queue.work;
    const uint64_t hash = phintys_mix(phintys_mix(queue.count, queue.work, size), queue.room, queue.bytes);
    phintys_graph* oldest = queue.graphs;
    *is_new = 0;
    for (int i = 0; i < GRAPHS; i++) {
        phintys_graph* graph = &queue.graphs[i];
        if (graph->used && graph->hash == hash && graph->count == queue.count && graph->bytes == queue.bytes
            && !memcmp(graph->work, queue.work, size) && !memcmp(graph->room, queue.room, queue.bytes))
            return graph;
        if (graph->used < oldest->used) oldest = graph;
    }
    phintys_forget(oldest);
    oldest->work = (phintys_work*)malloc(size);
    oldest->room = (char*)malloc(queue.bytes + 1);
    if (!oldest->work || !oldest->room) {
        phintys_forget(oldest);
        return NULL;
    }
    memcpy(oldest->work, queue.work, size);
    memcpy(oldest->room, queue.room, queue.bytes);
    oldest->hash = hash, oldest->count = queue.count, oldest->bytes = queue.bytes;
    *is_new = 1;
    return oldest;
}

/* Make the graph of a list; 0: it is ready. Nothing has been done then. */
static int phintys_capture(phintys_graph* list) {
    void* graph = NULL;
    int error = driver.begin_capture(queue.capturing, CAPTURE_THREAD_LOCAL);
    if (error) return error;
    error = phintys_do_all(list->work, list->count, list->room, queue.capturing);
    const int ended = driver.end_capture(queue.capturing, &graph);
    if (!error) error = ended;
    if (!error) error = driver.instantiate(&list->exec, graph, 0);
    if (graph) driver.destroy_graph(graph);
    if (error) list->exec = NULL;
    else queue.captured++;
    return error;
}

static int phintys_wait_for_copies(void);

/* Note that an event comes when all work submitted so far is done. */
static int phintys_mark(void) {
    const int at = queue.mark;
    if (!queue.marks[at].event) return 0;
    const int error = driver.record(queue.marks[at].event, queue.stream);
    if (error) return error;
    queue.marks[at].pushed = queue.pushed - queue.count;
    queue.mark = (at + 1) % MARKS;
    return 0;
}

/* Submit what was collected; the caller has the lock. Returns the driver's error; what was collected is gone then. */
static int phintys_submit_all(void) {
    int error = 0, is_new = 1;
    phintys_graph* graph = NULL;
    if (queue.late) {
        error = queue.late;
        queue.late = 0, queue.count = queue.bytes = 0;
        return error;
    }
    if (!queue.count) return 0;
    if (queue.collects && queue.count >= FEWEST_FOR_A_GRAPH && queue.capturing) graph = phintys_find_graph(&is_new);
    if (graph) {
        graph->used = ++queue.clock;
        if (!is_new && !graph->exec && !graph->refused) graph->refused = phintys_capture(graph) != 0;
    }
    queue.submitted++;
    error = phintys_wait_for_copies();
    if (error) {
        queue.count = queue.bytes = 0;
        return error;
    }
    if (graph && graph->exec) {
        error = driver.launch_graph(graph->exec, queue.stream);
        if (!error) queue.replayed++;
    } else {
        error = phintys_do_all(queue.work, queue.count, queue.room, queue.stream);
    }
    queue.count = queue.bytes = 0;
    if (!error && queue.collects) error = phintys_mark();       /* without collecting: when a copy needs it */
    return error;
}

static int phintys_submit(void) {
    pthread_mutex_lock(&queue.lock);
    const int error = phintys_submit_all();
    pthread_mutex_unlock(&queue.lock);
    return error;
}

/* Submit where an error cannot be raised: whoever submits next gets it. */
static int phintys_submit_quietly(void) {
    pthread_mutex_lock(&queue.lock);
    const int error = phintys_submit_all();
    if (error) queue.late = error;
    pthread_mutex_unlock(&queue.lock);
    return error;
}

/* Add work, whose arguments are copied; without collecting it is done at once. */
static int phintys_push(phintys_work work, const void* arguments, size_t bytes) {
    int error = 0;
    pthread_mutex_lock(&queue.lock);
    if (!queue.room) queue.room = (char*)malloc(WORK_ROOM);
    if (!queue.room) {
        pthread_mutex_unlock(&queue.lock);
        return 2;                                   /* no memory */
    }
    if (queue.count == MOST_WORK || queue.bytes + bytes + 8 > WORK_ROOM) error = phintys_submit_all();
    if (!error) {
        work.start = queue.bytes, work.bytes = bytes;
        queue.bytes = (queue.bytes + bytes + 7) & ~(size_t)7;
        memcpy(queue.room + work.start, arguments, bytes);
        memset(queue.room + work.start + bytes, 0, queue.bytes - work.start - bytes);
        queue.work[queue.count++] = work;
        queue.pushed++;
        if (!queue.collects) error = phintys_submit_all();
    }
    pthread_mutex_unlock(&queue.lock);
    return error;
}

/* Copies to the device go through slots of pinned memory, and are not waited for. A slot is used again when the event
 * after its copy has come. They are done on a stream of their own:
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
    long copies, beside;            /* how many, and how many did not wait for all that was submitted */
} slots;

static void phintys_open_slots(void) {
    memset(&slots, 0, sizeof slots);
    memset(queue.marks, 0, sizeof queue.marks);
    queue.mark = 0;
    slots.usable = queue.stream && !driver.new_stream(&slots.stream, 0) && !driver.new_event(&slots.last, 2);
    for (int i = 0; i < MARKS && slots.usable; i++)
        slots.usable = !driver.new_event(&queue.marks[i].event, 2);
    for (int i = 0; i < SLOTS && slots.usable; i++)
        slots.usable = !driver.allocate_pinned((void**)&slots.pinned[i], SLOT_BYTES, 0)
            && !driver.new_event(&slots.copied[i], 2);              /* CU_EVENT_DISABLE_TIMING */
}

static int phintys_wait_for_copies(void) {
    if (!slots.pending) return 0;
    slots.pending = 0;
    return driver.stream_wait(queue.stream, slots.last, 0);
}

/* Let the stream of copies wait for the first `work` of all that was pushed. */
static int phintys_copies_wait_for(uint64_t work) {
    int error = 0, found = -1;
    if (work > queue.pushed - queue.count) error = phintys_submit_all();
    if (error || work <= slots.waited) return error;
    for (int turn = 0; turn < 2 && found < 0; turn++) {
        for (int i = 0; i < MARKS; i++)             /* the first mark that covers it */
            if (queue.marks[i].pushed >= work && (found < 0 || queue.marks[i].pushed < queue.marks[found].pushed))
                found = i;
        if (found < 0 && (error = phintys_mark())) return error;
    }
    error = driver.stream_wait(slots.stream, queue.marks[found].event, 0);
    if (!error) slots.waited = queue.marks[found].pushed;
    return error;
}

static int phintys_copy_piece(uint64_t target, const char* source, size_t size) {
    const int slot = slots.next;
    int error = slots.used[slot] ? driver.wait_for_event(slots.copied[slot]) : 0;
    if (error) return error;
    memcpy(slots.pinned[slot], source, size);
    slots.next = (slot + 1) % SLOTS;
    error = driver.to_device_async(target, slots.pinned[slot], size, slots.stream);
    if (!error) error = driver.record(slots.copied[slot], slots.stream);
    slots.used[slot] = !error;
    return error;
}

/* Copy to the device, after the first `work` of all that was pushed; the source may be changed at once. */
static int phintys_to_device(uint64_t target, const char* source, size_t size, uint64_t work) {
    pthread_mutex_lock(&queue.lock);
    if (work > queue.pushed) work = queue.pushed;
    int error = slots.usable ? phintys_copies_wait_for(work) : phintys_submit_all();
    if (!error && !slots.usable) error = driver.to_device(target, source, size);
    if (!error && slots.usable) {
        slots.copies++;
        slots.beside += slots.waited < queue.pushed - queue.count;
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

/* Give up all graphs, and collect from here on, or not. */
static int phintys_collect(int collects) {
    pthread_mutex_lock(&queue.lock);
    const int error = phintys_submit_all();
    for (int i = 0; i < GRAPHS; i++) phintys_forget(&queue.graphs[i]);
    queue.collects = collects;
    pthread_mutex_unlock(&queue.lock);
    return error;
}

#endif

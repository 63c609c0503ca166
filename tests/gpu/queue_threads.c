/* Threads push work to the queue of gpu/runtime/work_queue.h, while others submit. A driver that only takes notes sees
 * each piece of work once, whole, and that of each thread in its order. Arguments: how many threads push, how much work
 * each, how many others submit, and whether work is collected; none: a list with work of two threads fails. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>

typedef unsigned long long phintys_address;
enum { MOST_THREADS = 8, MOST_ARGUMENTS = 61 };
typedef struct { long thread, number, sum; unsigned char bytes[MOST_ARGUMENTS]; } Arguments;

static long seen[MOST_THREADS], wrong, works, begun;

static int note(void* function, unsigned blocks, unsigned rows, unsigned depth, unsigned threads, unsigned y,
                unsigned z, unsigned shared, void* stream, void** parameters, void** extra) {
    const Arguments* arguments = (const Arguments*)extra[1];
    const size_t size = *(size_t*)extra[3], count = size - offsetof(Arguments, bytes);
    long sum = 0;
    (void)rows, (void)depth, (void)y, (void)z, (void)stream, (void)parameters;
    for (size_t i = 0; i < count; i++) sum += arguments->bytes[i];
    wrong += sum != arguments->sum || seen[arguments->thread]++ != arguments->number || blocks != arguments->number + 1
        || threads != 32 || shared != count || function != &seen[arguments->thread];
    works++;
    return 0;
}
static int nothing(void) { return 0; }
static int one_context(void** context) { *context = NULL; return 0; }

static struct {
    int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
    int (*get_context)(void**);
    int (*set_context)(void*), (*within)(phintys_address, phintys_address, size_t, void*);
    int (*fill)(phintys_address, unsigned char, size_t, void*), (*destroy_exec)(void*), (*destroy_graph)(void*);
    int (*begin_capture)(void*, int), (*end_capture)(void*, void**), (*launch_graph)(void*, void*);
    int (*instantiate)(void**, void*, unsigned long long), (*record)(void*, void*), (*wait_for_event)(void*);
    int (*elapsed)(float*, void*, void*), (*new_stream)(void**, unsigned), (*new_event)(void**, unsigned);
    int (*allocate_pinned)(void**, size_t, unsigned), (*stream_wait)(void*, void*, unsigned);
    int (*to_device)(phintys_address, const void*, size_t), (*to_host)(void*, phintys_address, size_t);
    int (*to_device_async)(phintys_address, const void*, size_t, void*);
    int (*to_host_async)(void*, phintys_address, size_t, void*), (*create_graph)(void**, unsigned);
    int (*add_kernel)(void**, void*, void**, size_t, const void*), (*add_child)(void**, void*, void**, size_t, void*);
    int (*set_kernel)(void*, void*, const void*), (*set_child)(void*, void*, void*);
    int (*nodes_of)(void*, void**, size_t*), (*kind_of)(void*, int*), (*launch_of)(void*, void*);
    int (*copy_attributes)(void*, void*);
    int (*address_of)(phintys_address*, void*, unsigned), (*allocate)(phintys_address*, size_t), (*synchronize)(void);
    int (*query)(void*), (*destroy_event)(void*);
} driver;
static int phintys_enter_context(void) { void* context; return driver.get_context(&context); }
#include "work_queue.h"

static long threads, count, running;

static void* push(void* argument) {
    const long thread = (long)argument;
    Arguments arguments = {thread};
    __atomic_add_fetch(&begun, 1, __ATOMIC_RELAXED);
    while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < threads) sched_yield();
    for (long number = 0; number < count; number++) {
        const long bytes = (number * 7 + thread) % (MOST_ARGUMENTS + 1);
        arguments.number = number, arguments.sum = 0;
        for (long i = 0; i < bytes; i++) arguments.sum += arguments.bytes[i] = (unsigned char)(number + i);
        const phintys_work work = {WORK_LAUNCH, (uint32_t)(offsetof(Arguments, bytes) + bytes),
                                   {{&seen[thread], (uint32_t)number + 1, 1, 32, (uint32_t)bytes}}};
        if (phintys_push(&work, &arguments)) __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
    }
    __atomic_sub_fetch(&running, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void* submit(void* argument) {
    (void)argument;
    while (__atomic_load_n(&running, __ATOMIC_ACQUIRE)) {
        if (phintys_submit()) __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
        sched_yield();
    }
    return NULL;
}

static int refuse(void* function, unsigned blocks, unsigned rows, unsigned depth, unsigned threads_, unsigned y, unsigned z,
                  unsigned shared, void* stream, void** parameters, void** extra) {
    (void)function, (void)blocks, (void)rows, (void)depth, (void)threads_, (void)y, (void)z, (void)shared, (void)stream;
    (void)parameters, (void)extra;
    return 719;
}

static void push_one(long thread) {
    const Arguments arguments = {thread, seen[thread], 0, {0}};
    const phintys_work work = {WORK_LAUNCH, offsetof(Arguments, bytes),
                               {{&seen[thread], (uint32_t)seen[thread] + 1, 1, 32, 0}}};
    phintys_push(&work, &arguments);
}

/* What a thread finds: whether all is submitted, the error of a wait and of a submission, and the same when it is told. */
static void ask(const char* who) {
    const int submitted = phintys_is_submitted(), waited = phintys_wait_for_work(phintys_pushed()), error = phintys_submit();
    phintys_is_told();
    const int later = phintys_is_submitted();
    printf("%s: %d, %d, %d, then %d, %d\n", who, submitted, waited, error, later, phintys_submit());
}

static void* fail(void* argument) {
    (void)argument;
    push_one(1);
    const int error = phintys_submit();
    phintys_is_told();
    printf("submits: %d\n", error);
    return NULL;
}

static void* work_later(void* argument) {
    (void)argument;
    push_one(2);
    ask("later");
    return NULL;
}

static int lose_a_list(void) {
    pthread_t made;
    driver.launch = refuse;
    push_one(0);
    pthread_create(&made, NULL, fail, NULL);
    pthread_join(made, NULL);
    driver.launch = note;
    pthread_create(&made, NULL, work_later, NULL);
    pthread_join(made, NULL);
    ask("pushed");
    return 0;
}

int main(int argc, char** argv) {
    pthread_t made[2 * MOST_THREADS];
    threads = argc > 1 ? atol(argv[1]) : 4, count = argc > 2 ? atol(argv[2]) : 1000;
    const long submitters = argc > 3 ? atol(argv[3]) : 1;
    driver.launch = note, driver.get_context = one_context, driver.synchronize = nothing, queue.collects = argc > 4 ? atoi(argv[4]) : 1;
    driver.destroy_exec = (int (*)(void*))nothing, driver.record = (int (*)(void*, void*))nothing;
    if (argc == 1) return lose_a_list();
    running = threads;
    for (long i = 0; i < threads; i++) pthread_create(&made[i], NULL, push, (void*)i);
    for (long i = 0; i < submitters; i++) pthread_create(&made[threads + i], NULL, submit, NULL);
    for (long i = 0; i < threads + submitters; i++) pthread_join(made[i], NULL);
    const int error = phintys_submit();
    printf("%ld of %ld, %ld wrong, error %d, all submitted: %d, pushed %ld\n", works, threads * count, wrong, error,
           phintys_is_submitted(), (long)phintys_pushed());
    return 0;
}

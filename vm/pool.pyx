"""The pool: allocates buffers and keeps freed ones for the next request.

Freed blocks are kept because fresh pages from the kernel cost more than arithmetic does (8 MB: 3.3 ms of page faults
for 0.5 ms of work). Blocks up to 4096 bytes have 64-byte size classes; up to 256 KiB there are eight classes for each
doubling; larger blocks are whole pages, mapped one by one and found by best fit. ``set_pool_limit`` bounds the memory
that the pool keeps. A frame's arena is one block, whose pieces (PLANNED) the frame itself assigns. The pool knows
neither cells nor programs; frames keep small blocks themselves, see ``abi.pyx``.

Under ``set_stress(True)`` nothing is kept: every block comes from ``malloc`` and is filled with poison before it is
freed, so that tests, and tools that watch ``malloc``, detect each use of freed memory. Under ``set_guards`` every block
lies between two pages that cannot be touched, so that the processor detects each access next to it. A build with
AddressSanitizer marks kept blocks, and memory beside each block: it reports who touches them.
"""
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from phintys.vm cimport guards
from phintys.vm.guards cimport (
    GUARDS_AFTER, GUARDS_BEFORE, NO_GUARDS, give_back_guarded, header_of_guarded, take_guarded)
from phintys.vm.python_api cimport Py_XDECREF, Py_XINCREF, PyObject

cdef extern from * nogil:
    """
    #include <pthread.h>
    #include <sys/mman.h>
    static pthread_mutex_t phintys_pool_lock = PTHREAD_MUTEX_INITIALIZER;
    static void phintys_lock_pool(void) { pthread_mutex_lock(&phintys_pool_lock); }
    static void phintys_unlock_pool(void) { pthread_mutex_unlock(&phintys_pool_lock); }
    /* A forked child needs an unlocked pool in a consistent state. */
    static void phintys_guard_pool_in_fork(void) {
        pthread_atfork(phintys_lock_pool, phintys_unlock_pool, phintys_unlock_pool);
    }
    /* From HUGE_PAGE * 2 on, mappings start at the border of a huge page and ask for huge pages; without them a + 1 on
     * 8 MB is a fifth slower, because of misses in the address translation cache. Pages of ARM have up to 64 KiB; what
     * is unmapped begins with a page. */
    enum { HUGE_PAGE = 1 << 21, LARGEST_PAGE = 1 << 16 };
    static inline void* phintys_map(size_t size) {
        const int protection = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
        size_t spare = 0;
    #ifdef MADV_HUGEPAGE                /* of Linux */
        if (size >= 2 * HUGE_PAGE) spare = HUGE_PAGE;
    #endif
        char* block = mmap(NULL, size + spare, protection, flags, -1, 0);
        if (block == MAP_FAILED) return NULL;
    #ifdef MADV_HUGEPAGE
        if (spare) {
            const size_t head = -(size_t)block & (HUGE_PAGE - 1);
            const size_t end = (head + size + LARGEST_PAGE - 1) & ~(size_t)(LARGEST_PAGE - 1);
            if (head) munmap(block, head);
            if (end < size + spare) munmap(block + end, size + spare - end);
            block += head;
            madvise(block, size, MADV_HUGEPAGE);
        }
    #endif
        return block;
    }
    static inline void phintys_unmap(void* block, size_t size) { munmap(block, size); }
    /* glibc keeps up to tens of megabytes of memory that was freed at the end of its heap. */
    #ifdef __GLIBC__
    #include <malloc.h>
    static inline void phintys_trim_heap(void) { malloc_trim(0); }
    #else
    static inline void phintys_trim_heap(void) {}
    #endif
    """
    void phintys_lock_pool()
    void phintys_unlock_pool()
    void phintys_guard_pool_in_fork()
    void* phintys_map(size_t)
    void phintys_unmap(void*, size_t)
    void phintys_trim_heap()

cdef extern from "windows/aligned.h" nogil:
    void* phintys_aligned(size_t, size_t)
    void phintys_free_aligned(void*)
    size_t PHINTYS_MARGIN
    void phintys_forbid(void*, size_t)
    void phintys_permit(void*, size_t)

cdef enum:
    ALIGNMENT = 64
    # Offset of the data of a large block in its first page. The large arrays of NumPy start at 16. With equal offsets a
    # load has to wait for an earlier store with the same last 12 address bits, which makes a + 1 a third slower.
    LARGE_OFFSET = 2112
    STRESSED = 127                  # size class of blocks made under stress,
    GUARDED = 126                   # and of those between pages that cannot be touched

phintys_guard_pool_in_fork()


# ---- the pool --------------------------------------------------------------------------------------------------------
cdef Buffer* free_blocks[SMALL_CLASSES + MEDIUM_CLASSES + 1]    # by size class; [0]: large, in order of release
memset(free_blocks, 0, sizeof(free_blocks))
stress = False
cdef bint wants_stress = False                                  # although there are no guards
cdef size_t kept_bytes = 0
pool_limit = <size_t>1 << 28
cdef long live_buffers = 0                                      # allocated and not yet freed
cdef long requests = 0                                          # calls of buffer_acquire
cdef long misses = 0                                            # requests that the operating system served
cdef size_t live_bytes = 0                                      # capacity of the live buffers
cdef size_t peak_bytes = 0                                      # the largest ``live_bytes`` since ``reset_peak``
device_gives_back = NULL
cdef long fails_after = 0                                       # for tests: number of the allocation that fails, or 0


cdef inline size_t capacity_of(int size_class) noexcept nogil:
    cdef int medium = size_class - SMALL_CLASSES - 1
    if size_class <= SMALL_CLASSES:
        return <size_t>size_class << 6
    return (<size_t>SMALL_LIMIT << (medium >> 3)) + (((medium & 7) + 1) * (<size_t>SMALL_LIMIT >> 3) << (medium >> 3))


cdef Buffer* new_block(size_t size, int size_class) noexcept nogil:
    """Allocate a block from the operating system; its header occupies the first 64 bytes."""
    cdef void* block
    cdef size_t capacity, offset = ALIGNMENT + PHINTYS_MARGIN
    cdef Buffer* buffer
    if guards.guards:
        return new_guarded_block(size)
    if stress:
        size_class, capacity = STRESSED, size
        block = NULL if size > (<size_t>-1) - offset else phintys_aligned(ALIGNMENT, size + offset)
        if block == NULL:
            return NULL
        memset(<char*>block + offset, FRESH, size)
    elif size_class:
        capacity = capacity_of(size_class)
        block = phintys_aligned(ALIGNMENT, capacity + offset)
        if block == NULL:
            return NULL
    else:
        if size > (<size_t>-1) - 3 * PAGE:
            return NULL
        offset = LARGE_OFFSET
        capacity = ((size + LARGE_OFFSET + PHINTYS_MARGIN + PAGE - 1) // PAGE) * PAGE - LARGE_OFFSET - PHINTYS_MARGIN
        block = phintys_map(capacity + LARGE_OFFSET + PHINTYS_MARGIN)
        if block == NULL:
            return NULL
        phintys_forbid(<char*>block + offset + capacity, PHINTYS_MARGIN)
    phintys_forbid(<char*>block + ALIGNMENT, offset - ALIGNMENT)
    buffer = <Buffer*>block
    buffer.data = <char*>block + offset
    buffer.capacity = capacity
    buffer.owner = NULL
    buffer.size_class = size_class
    buffer.place = HOST
    return buffer


cdef Buffer* new_guarded_block(size_t size) noexcept nogil:
    """A block between pages that cannot be touched. Its header is in the page before these, after the mapping's."""
    cdef char* data = take_guarded(size)
    cdef Buffer* buffer
    if data == NULL:
        return NULL
    memset(data, FRESH, size)
    buffer = <Buffer*>header_of_guarded(data)
    buffer.data, buffer.capacity, buffer.owner = data, size, NULL
    buffer.size_class, buffer.place = GUARDED, HOST
    return buffer


cdef void destroy_block(Buffer* buffer) noexcept nogil:
    if buffer.size_class == GUARDED:
        give_back_guarded(buffer.data)
        return
    if buffer.size_class == STRESSED:
        memset(buffer.data, DEAD, buffer.capacity)
    if buffer.size_class:
        phintys_permit(buffer + 1, buffer.data - <char*>(buffer + 1) + buffer.capacity)
        phintys_free_aligned(buffer)
    else:
        phintys_permit(buffer, buffer.capacity + LARGE_OFFSET + PHINTYS_MARGIN)     # who maps it next may touch it
        phintys_unmap(buffer, buffer.capacity + LARGE_OFFSET + PHINTYS_MARGIN)


cdef Buffer* take_close(Buffer** first, size_t size) noexcept nogil:
    cdef Buffer** link = first
    cdef Buffer** best = NULL
    cdef Buffer* found
    while link[0] != NULL:
        if is_close(link[0].capacity, size) and (best == NULL or link[0].capacity < best[0].capacity):
            best = link
            if link[0].capacity < size + PAGE:      # no fitting block can be smaller than this by a page
                break
        link = &link[0].next
    if best == NULL:
        return NULL
    found = best[0]
    best[0] = found.next
    return found


cdef bint allocation_fails() noexcept nogil:
    global fails_after
    if fails_after == 0:
        return False
    fails_after -= 1
    return fails_after == 0


cdef inline void count_live(size_t capacity) noexcept nogil:
    """Count an allocated block; the caller holds the lock."""
    global live_buffers, live_bytes, peak_bytes
    live_buffers += 1
    live_bytes += capacity
    if live_bytes > peak_bytes:
        peak_bytes = live_bytes


cdef Buffer* buffer_acquire(size_t size) noexcept nogil:
    global kept_bytes, requests, misses
    cdef int size_class = size_class_of(size)
    cdef Buffer* buffer
    if fails_after and allocation_fails():
        return NULL
    phintys_lock_pool()
    requests += 1
    if size_class:
        buffer = free_blocks[size_class]
        if buffer != NULL:
            free_blocks[size_class] = buffer.next
    else:
        buffer = take_close(&free_blocks[0], size)
    if buffer != NULL:
        kept_bytes -= buffer.capacity
        count_live(buffer.capacity)
        phintys_permit(buffer.data, buffer.capacity)
    else:
        misses += 1
    phintys_unlock_pool()
    if buffer == NULL:
        buffer = new_block(size, size_class)
        if buffer == NULL:
            trim()                                  # memory kept by the pool may be enough
            buffer = new_block(size, size_class)
        if buffer == NULL:
            return NULL
        phintys_lock_pool()
        count_live(buffer.capacity)
        phintys_unlock_pool()
    buffer.references = 1
    buffer.next = NULL
    return buffer


cdef Buffer* buffer_acquire_arena(size_t size) noexcept nogil:
    """Allocate one block to replace many: kept blocks are returned to the system first, unless one of them fits."""
    cdef Buffer* link
    cdef bint fits = False
    if size > LARGE_LIMIT:
        phintys_lock_pool()
        link = free_blocks[0]
        while link != NULL and not fits:
            fits = is_close(link.capacity, size)
            link = link.next
        phintys_unlock_pool()
        if not fits:
            trim()
    return buffer_acquire(size)


cdef void keep_or_return(Buffer* buffer) noexcept nogil:
    """Take pool memory without references: keep it while the limit allows, else return it to the system."""
    global kept_bytes, live_buffers, live_bytes
    cdef bint keep
    phintys_lock_pool()
    live_buffers -= 1
    live_bytes -= buffer.capacity
    keep = kept_bytes + buffer.capacity <= pool_limit and not stress and buffer.size_class < GUARDED
    if keep:
        kept_bytes += buffer.capacity
        phintys_forbid(buffer.data, buffer.capacity)
        buffer.next = free_blocks[buffer.size_class]
        free_blocks[buffer.size_class] = buffer
    phintys_unlock_pool()
    if not keep:
        destroy_block(buffer)


cdef void trim() noexcept nogil:
    """Return every kept block to the system."""
    global kept_bytes
    cdef Buffer* chain = NULL
    cdef Buffer* buffer
    cdef int size_class
    phintys_lock_pool()
    for size_class in range(SMALL_CLASSES + MEDIUM_CLASSES + 1):
        while free_blocks[size_class] != NULL:
            buffer = free_blocks[size_class]
            free_blocks[size_class] = buffer.next
            buffer.next = chain
            chain = buffer
    kept_bytes = 0
    phintys_unlock_pool()
    while chain != NULL:
        buffer = chain
        chain = buffer.next
        destroy_block(buffer)


cdef void release_owner(Buffer* buffer) noexcept with gil:
    Py_XDECREF(buffer.owner)
    free(buffer)


cdef Buffer* buffer_of_owner(PyObject* owner) except NULL:
    cdef Buffer* buffer = NULL if allocation_fails() else <Buffer*>malloc(sizeof(Buffer))
    if buffer == NULL:
        raise MemoryError("no memory for a buffer")
    memset(buffer, 0, sizeof(Buffer))
    buffer.references = 1
    buffer.size_class = FOREIGN
    buffer.owner = owner
    Py_XINCREF(owner)
    return buffer


cdef void buffer_give_back(Buffer* buffer) noexcept nogil:
    if buffer.place == DEVICE:
        device_gives_back(buffer)
    elif buffer.owner != NULL:
        release_owner(buffer)
    elif buffer.size_class != PLANNED:
        keep_or_return(buffer)
    elif stress:
        memset(buffer.data, DEAD, buffer.capacity)


cdef void buffer_release(Buffer* buffer) noexcept nogil:
    if buffer_forsake(buffer):
        buffer_give_back(buffer)


def set_pool_limit(size_t size):
    """Bound the bytes that the pool keeps; memory above the limit is returned at once.

    Examples
    --------
    >>> before = phintys.memory.stats()["limit_bytes"]
    >>> phintys.memory.set_limit(2 ** 30)
    >>> phintys.memory.stats()["limit_bytes"]
    1073741824
    >>> phintys.memory.set_limit(before)
    """
    global pool_limit
    pool_limit = size
    if kept_bytes > size:
        trim()


def set_stress(bint on):
    """Take every block from ``malloc``, and poison it before it is freed; see the top of this file."""
    global stress, wants_stress
    trim()
    wants_stress, stress = on, on or guards.guards != NO_GUARDS


def set_guards(str where):
    """Map every block between pages that cannot be touched.

    Parameters
    ----------
    where : {"none", "after", "before"}
        Which of the pages follows a block, or precedes it, without a gap of more than 63 bytes.
    """
    global stress
    trim()
    guards.guards = {"none": NO_GUARDS, "after": GUARDS_AFTER, "before": GUARDS_BEFORE}[where]
    stress = wants_stress or guards.guards != NO_GUARDS


def pool_statistics():
    """Return what the pool holds and what was requested.

    Returns
    -------
    dict
        ``kept_bytes`` for the next request, at most ``limit_bytes``; ``live_buffers`` allocated, with ``live_bytes``,
        and ``peak_bytes``, the maximum since ``reset_peak``; ``requests`` for blocks so far, of which the operating
        system served ``misses``.
    """
    return {"kept_bytes": kept_bytes, "limit_bytes": pool_limit, "live_buffers": live_buffers, "live_bytes": live_bytes,
            "peak_bytes": peak_bytes, "requests": requests, "misses": misses}


def reset_peak():
    """Let ``peak_bytes`` start again from the bytes that are allocated now.

    Examples
    --------
    >>> phintys.memory.reset_peak()
    >>> stats = phintys.memory.stats()
    >>> stats["peak_bytes"] == stats["live_bytes"]
    True
    """
    global peak_bytes
    peak_bytes = live_bytes


def fail_allocation(long number):
    """Make the ``number``-th allocation from now on fail once, as if the system had no memory; 0: none.

    Returns
    -------
    bool
        Whether the previously requested failure has not happened yet.
    """
    global fails_after
    cdef bint waiting = fails_after > 0
    fails_after = number
    return waiting


def trim_pool():
    """Return all kept memory, and free memory in the C heap, to the operating system."""
    trim()
    phintys_trim_heap()

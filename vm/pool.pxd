"""Reference-counted memory and the pool it comes from; see ``pool.pyx``."""
from phintys.vm.python_api cimport PyObject

cdef enum:
    SMALL_CLASSES = 64         # size classes of small blocks: multiples of 64 bytes up to 4096
    MEDIUM_CLASSES = 48        # of larger ones: eight for each doubling, up to LARGE_LIMIT
    SMALL_LIMIT = 4096         # bytes: larger requests take the pool's lock
    LARGE_LIMIT = 262144       # bytes: larger blocks are mapped pages, found by best fit
    PAGE = 4096
    FOREIGN = -1               # memory that the pool does not own
    GIVEN = -2                 # as FOREIGN, but it may be overwritten
    PLANNED = -3               # a piece of a frame's arena: not owned, and never given to others
    ON_DEVICE = -4             # the buffer of a device's memory: it goes back to ``device_gives_back``
    HOST = 0                   # the place of memory that the processor reads; see ``places.py``
    DEVICE = 1                 # the place of memory that a GPU reads

cdef struct Buffer:
    char* data
    size_t capacity
    long references            # changed atomically
    PyObject* owner            # the object that keeps foreign memory alive; NULL for pool memory
    Buffer* next               # link of a free list
    int size_class             # FOREIGN, GIVEN, PLANNED, ON_DEVICE; 0: large; 1..64: small; 65..112: medium
    int place                  # where the memory is: HOST, which is all that the pool has, or DEVICE

cdef extern from * nogil:
    """
    static inline void phintys_retain(long* count) { __atomic_fetch_add(count, 1, __ATOMIC_RELAXED); }
    static inline long phintys_release(long* count) { return __atomic_sub_fetch(count, 1, __ATOMIC_ACQ_REL); }
    static inline long phintys_read(long* count) { return __atomic_load_n(count, __ATOMIC_ACQUIRE); }
    """
    void phintys_retain(long*)
    long phintys_release(long*)
    long phintys_read(long*)

cdef inline void buffer_retain(Buffer* buffer) noexcept nogil:
    """Add a reference."""
    phintys_retain(&buffer.references)

cdef inline bint buffer_forsake(Buffer* buffer) noexcept nogil:
    """Remove a reference. Returns whether it was the last; the caller must then give the buffer back."""
    if phintys_read(&buffer.references) == 1:       # the caller's own: no other thread can add one, so no lock
        buffer.references = 0
        return True
    return phintys_release(&buffer.references) == 0

cdef inline long buffer_references(const Buffer* buffer) noexcept nogil:
    """Return the number of references."""
    return phintys_read(<long*>&buffer.references)

cdef Buffer* buffer_acquire(size_t size) noexcept nogil          # one reference; NULL if there is no memory
cdef Buffer* buffer_acquire_arena(size_t size) noexcept nogil    # the same; kept blocks are freed first
cdef Buffer* buffer_of_owner(PyObject* owner) except NULL        # foreign memory; the caller sets data and capacity
cdef void buffer_give_back(Buffer* buffer) noexcept nogil        # no reference is left
cdef void buffer_release(Buffer* buffer) noexcept nogil          # remove a reference; free if it was the last

# Who takes buffers ON_DEVICE that have no reference left; set by the runtime of devices. NULL: there is none.
cdef void (*device_gives_back)(Buffer* buffer) noexcept nogil

cdef inline int size_class_of(size_t size) noexcept nogil:
    """Return the size class. Small: 1..64. Medium: 65..112. Large: 0."""
    cdef size_t step
    cdef int doubling
    if size <= SMALL_LIMIT:
        return <int>((size + 63) >> 6) if size else 1
    if size > LARGE_LIMIT:
        return 0
    step, doubling = SMALL_LIMIT >> 3, 0
    while size > (<size_t>SMALL_LIMIT << (doubling + 1)):
        doubling += 1
    step <<= doubling
    return SMALL_CLASSES + 1 + doubling * 8 + <int>((size - (<size_t>SMALL_LIMIT << doubling) - 1) // step)

cdef inline bint is_close(size_t capacity, size_t size) noexcept nogil:
    """Return whether a block is large enough for a request, and at most an eighth too large."""
    return size <= capacity <= size + (size >> 3) + PAGE

# Take from a list of large blocks the smallest that fits and is at most an eighth too large; NULL if there is none.
cdef Buffer* take_close(Buffer** first, size_t size) noexcept nogil

cdef size_t pool_limit         # bytes that the pool, and each frame, may keep

# Whether this allocation is to fail, as requested by ``fail_allocation``.
cdef bint allocation_fails() noexcept nogil

# The bytes that memory is filled with under `stress`, after allocation and before it is freed.
cdef enum:
    FRESH = 0xCB
    DEAD = 0xDB

# `config.stress`: each block comes from the system, and is poisoned when its last reference goes.
cdef bint stress

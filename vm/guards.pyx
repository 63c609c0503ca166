"""Blocks of memory between pages that cannot be touched, to find kernels that read or write outside of a block.

Under ``config.guards`` the pool's blocks and the scratch memory of frames are such blocks, each of just the size that
was asked for. A mapping has a page for the block's header, a page that cannot be touched, the block, and another such
page. The block begins at a cache line, and ends in the last one before a page, or begins after a page. What is left of
its pages is filled with a pattern, which is compared when the block is given back.
"""
cdef extern from * nogil:
    """
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/mman.h>
    #ifdef _WIN32
    static size_t phintys_page(void) { SYSTEM_INFO about; GetSystemInfo(&about); return about.dwPageSize; }
    #else
    #include <unistd.h>
    static size_t phintys_page(void) { return (size_t)sysconf(_SC_PAGESIZE); }
    #endif
    enum { GUARD_FILL = 0x5A, GUARD_LINE = 64 };
    typedef struct { size_t length, size; } phintys_guarded;
    static inline size_t phintys_lines(size_t size) { return (size + GUARD_LINE - 1) / GUARD_LINE * GUARD_LINE; }
    static inline phintys_guarded* phintys_guarded_header(char* block, size_t page) {
        return (phintys_guarded*)(((size_t)block & ~(page - 1)) - 2 * page);
    }
    static char* phintys_take_guarded(size_t size, size_t page, int before) {
        const size_t lines = phintys_lines(size ? size : 1), pages = (lines + page - 1) / page * page;
        const size_t length = pages + 3 * page;
        char* base = size > (size_t)1 << 48 ? MAP_FAILED
            : mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (base == MAP_FAILED) return NULL;
        char* first = base + 2 * page;
        memset(first, GUARD_FILL, pages);
        if (mprotect(base + page, page, PROT_NONE) || mprotect(first + pages, page, PROT_NONE)) {
            munmap(base, length);
            return NULL;
        }
        *(phintys_guarded*)base = (phintys_guarded){length, size};
        return first + (before ? 0 : pages - lines);
    }
    static void phintys_give_back_guarded(char* block, size_t page) {
        phintys_guarded* header = phintys_guarded_header(block, page);
        const size_t length = header->length, size = header->size, pages = length - 3 * page;
        const char *first = (char*)header + 2 * page, *end = block + size;
        for (const char* at = first; at < first + pages; at++)
            if ((at < block || at >= end) && *at != GUARD_FILL) {
                fprintf(stderr, "phintys: a kernel has written %ld bytes from the %s of a block of %zu bytes\\n",
                        (long)(at < block ? block - at : at - end), at < block ? "beginning" : "end", size);
                abort();
            }
        munmap(header, length);
    }
    """
    size_t phintys_page()
    char* phintys_take_guarded(size_t size, size_t page, bint before)
    void phintys_give_back_guarded(char* block, size_t page)
    void* phintys_guarded_header(char* block, size_t page)

cdef extern from "windows/aligned.h" nogil:
    void* phintys_aligned(size_t, size_t)
    void phintys_free_aligned(void*)
    size_t PHINTYS_SCRATCH_UNIT

cdef enum:
    LINE = 64

guards = NO_GUARDS
page = phintys_page()


cdef char* take_guarded(size_t size) noexcept nogil:
    return phintys_take_guarded(size, page, guards == GUARDS_BEFORE)


cdef char* header_of_guarded(char* block) noexcept nogil:
    return <char*>phintys_guarded_header(block, page) + LINE      # the mapping's own is in the line before


cdef void give_back_guarded(char* block) noexcept nogil:
    phintys_give_back_guarded(block, page)


cdef char* take_scratch(size_t* size) noexcept nogil:
    cdef char* guarded
    if guards:
        guarded = take_guarded(size[0])
        size[0] = (size[0] + 1) | 1
        return guarded
    size[0] = (max(size[0], <size_t>1) + PHINTYS_SCRATCH_UNIT - 1) // PHINTYS_SCRATCH_UNIT * PHINTYS_SCRATCH_UNIT
    return <char*>phintys_aligned(LINE, size[0])


cdef void give_back_scratch(char* block, size_t size) noexcept nogil:
    if size & 1:
        give_back_guarded(block)
    else:
        phintys_free_aligned(block)

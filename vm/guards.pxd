"""Blocks of memory between pages that cannot be touched (`config.guards`); see ``guards.pyx``."""

# Where each block has such a page without a gap; ROOMS_GUARDED_AFTER of ops/convolution/rooms.h is one of these.
cdef enum:
    NO_GUARDS
    GUARDS_AFTER
    GUARDS_BEFORE

cdef int guards
cdef size_t page                    # bytes: 4096 on x86, 16384 on Apple's processors, up to 65536 on other ARM

# A block, 64-byte aligned, or NULL if there is no memory; and where the 64 bytes of its header are.
cdef char* take_guarded(size_t size) noexcept nogil
cdef char* header_of_guarded(char* block) noexcept nogil
# Ends the process if what lies between the block and the page that is farther away has been written to.
cdef void give_back_guarded(char* block) noexcept nogil

# Scratch memory for ``size`` bytes, or NULL. The size becomes a multiple of 4096, or odd for a block with guards.
cdef char* take_scratch(size_t* size) noexcept nogil
cdef void give_back_scratch(char* block, size_t size) noexcept nogil

/* Memory that begins at a multiple of a power of two; only `phintys_free_aligned` takes it back. */
#ifndef PHINTYS_ALIGNED_H
#define PHINTYS_ALIGNED_H
#include <stdlib.h>

#ifdef _WIN32
#include <malloc.h>
static inline void* phintys_aligned(size_t alignment, size_t size) { return _aligned_malloc(size, alignment); }
static inline void phintys_free_aligned(void* block) { _aligned_free(block); }
#else
static inline void* phintys_aligned(size_t alignment, size_t size) {
    void* block;
    return posix_memalign(&block, alignment, size) ? NULL : block;
}
static inline void phintys_free_aligned(void* block) { free(block); }
#endif

/* AddressSanitizer knows what malloc has given out. A build with it is also told which blocks the pool keeps, and of
 * margins beside blocks, so that it reports who touches them. `PHINTYS_SCRATCH_UNIT`: what sizes of scratch memory are
 * multiples of. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PHINTYS_WATCHED
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define PHINTYS_WATCHED
#endif

#ifdef PHINTYS_WATCHED
#include <sanitizer/asan_interface.h>
enum { PHINTYS_MARGIN = 64, PHINTYS_SCRATCH_UNIT = 2 };
static inline void phintys_forbid(void* at, size_t size) { __asan_poison_memory_region(at, size); }
static inline void phintys_permit(void* at, size_t size) { __asan_unpoison_memory_region(at, size); }
#else
enum { PHINTYS_MARGIN = 0, PHINTYS_SCRATCH_UNIT = 4096 };
static inline void phintys_forbid(void* at, size_t size) { (void)at; (void)size; }
static inline void phintys_permit(void* at, size_t size) { (void)at; (void)size; }
#endif

#endif

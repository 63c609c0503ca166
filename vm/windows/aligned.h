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

#endif

/* Pages of Windows by the names of POSIX: private memory, given back whole. */
#ifndef PHINTYS_MMAN_H
#define PHINTYS_MMAN_H

enum { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2, MAP_PRIVATE = 2, MAP_ANONYMOUS = 32 };
#define MAP_FAILED ((void*)-1)

static inline void* mmap(void* where, size_t size, int protection, int flags, int file, long long offset) {
    void* pages = VirtualAlloc(where, size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    (void)protection, (void)flags, (void)file, (void)offset;
    return pages == NULL ? MAP_FAILED : pages;
}
static inline int munmap(void* pages, size_t size) {
    (void)size;
    return VirtualFree(pages, 0, MEM_RELEASE) ? 0 : -1;
}
static inline int mprotect(void* pages, size_t size, int protection) {
    DWORD before;
    return VirtualProtect(pages, size, protection == PROT_NONE ? PAGE_NOACCESS : PAGE_READWRITE, &before) ? 0 : -1;
}

#endif

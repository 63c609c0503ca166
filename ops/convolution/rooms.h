/* Rooms: the parts of a kernel's scratch memory.
 *
 * A kernel describes its rooms once, in one function that is called twice: by `prepare` without memory, to learn how
 * many bytes there have to be, and by `run` with it, to learn where each room is. So the two cannot contradict each
 * other. Each room begins at a cache line. Under config.guards each, also each worker's of several, has pages before
 * and after it that cannot be touched; one of them without a gap.
 */
#ifndef PHINTYS_ROOMS_H
#define PHINTYS_ROOMS_H

#include <numpy/ndarraytypes.h>
#include <sys/mman.h>

enum { ROOMS_GUARDED_AFTER = 1 };       /* as GUARDS_AFTER of vm/guards.pxd */

typedef struct {
    char* memory;                       /* or NULL */
    int guards;                         /* as in vm/guards.pxd */
    size_t page;                        /* bytes, as there */
    size_t used;                        /* bytes up to now */
} phintys_rooms;

/* Bytes of whole cache lines. */
static inline size_t whole_lines(size_t size) { return (size + 63) & ~(size_t)63; }

static void* phintys_guarded_rooms(phintys_rooms* rooms, npy_intp count, size_t* size) {
    const size_t lines = *size, page = rooms->page, pages = (lines + page - 1) & ~(page - 1);
    *size = pages + page;
    if (rooms->memory == NULL) {
        rooms->used += 2 * page + count * *size;
        return NULL;
    }
    char* first = (char*)(((size_t)rooms->memory + rooms->used + page - 1) & ~(page - 1));
    for (npy_intp n = 0; n <= count; n++) mprotect(first + n * *size, page, PROT_NONE);
    rooms->used = first + page + count * *size - rooms->memory;
    return first + page + (rooms->guards == ROOMS_GUARDED_AFTER ? pages - lines : 0);
}

/* `count` rooms of `size` bytes; `size` becomes the distance from one to the next. */
static inline void* phintys_rooms_of(phintys_rooms* rooms, npy_intp count, size_t* size) {
    *size = whole_lines(*size);
    if (rooms->guards) return phintys_guarded_rooms(rooms, count, size);
    char* found = rooms->memory == NULL ? NULL : rooms->memory + rooms->used;
    rooms->used += count * *size;
    return found;
}

/* One room. */
static inline void* phintys_room(phintys_rooms* rooms, size_t size) { return phintys_rooms_of(rooms, 1, &size); }

#endif

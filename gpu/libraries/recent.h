/* Tables of what libraries were asked for last, the most recent first: an entry begins with what it is found by. They
 * have a bound, since each new shape is an entry; who calls holds a lock. */
#ifndef PHINTYS_RECENT_H
#define PHINTYS_RECENT_H
#include <string.h>

enum { MOST_RECENT = 64, LARGEST_OF_RECENT = 512 };

/* Find an entry and make it the first; whether it is there. Equal bytes are equal, so entries have no gaps. */
static inline int phintys_find_recent(void* all, long count, size_t bytes, const void* sought, size_t sought_bytes) {
    char *entries = (char*)all, entry[LARGEST_OF_RECENT];
    for (long i = 0; i < count; i++) {
        char* found = entries + i * bytes;
        if (memcmp(found, sought, sought_bytes)) continue;
        if (i) {
            memcpy(entry, found, bytes);
            memmove(entries + bytes, entries, i * bytes);
            memcpy(entries, entry, bytes);
        }
        return 1;
    }
    return 0;
}
/* Put an entry first; of MOST_RECENT entries the last one goes. */
static inline void phintys_add_recent(void* all, long* count, size_t bytes, const void* entry) {
    if (*count < MOST_RECENT) ++*count;
    memmove((char*)all + bytes, all, (*count - 1) * bytes);
    memcpy(all, entry, bytes);
}
#endif

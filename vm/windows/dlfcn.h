/* Libraries of Windows by the names of POSIX. */
#ifndef PHINTYS_DLFCN_H
#define PHINTYS_DLFCN_H

enum { RTLD_LOCAL = 0, RTLD_LAZY = 1, RTLD_NOW = 2, RTLD_NOLOAD = 4, RTLD_GLOBAL = 8 };

static inline void* dlopen(const char* path, int flags) {
    return flags & RTLD_NOLOAD ? (void*)GetModuleHandleA(path) : (void*)LoadLibraryA(path);
}
static inline void* dlsym(void* library, const char* name) { return (void*)GetProcAddress((HMODULE)library, name); }
static inline int dlclose(void* library) { (void)library; return 0; }      /* it stays: modules are never unloaded */

#endif

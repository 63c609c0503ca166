/* What mingw-w64 lacks of POSIX; `setup.py` includes it before all else there. Threads are those of winpthreads. */
#ifndef PHINTYS_POSIX_H
#define PHINTYS_POSIX_H
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#undef near                                             /* words of 1985, which are names of ours */
#undef far

#define pthread_atfork(before, parent, child) 0         /* no process forks */

#endif

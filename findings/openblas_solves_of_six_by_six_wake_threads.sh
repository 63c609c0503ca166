#!/bin/bash
# OpenBLAS in SciPy 1.18.1: getrs, which solves by LU factors, divides two right-hand sides among two threads, also of a
# system of 6 x 6. The second thread spins as long as the first one works, and on a loaded machine the first one waits
# for it: a solution of microseconds takes up to milliseconds. One right-hand side stays on one thread.
. "$(dirname "$0")/environment" "$(mktemp -d)"
PYTHON=${PYTHON:-python3.12} install numpy==2.4.6 scipy==1.18.1
export OPENBLAS_NUM_THREADS=2
shows "1 right-hand side: one thread computes
2 right-hand sides: several threads compute" <<'PROGRAM'
import time
import numpy, scipy.linalg

factors = scipy.linalg.lu_factor(numpy.eye(6) * 6 + numpy.arange(36.0).reshape(6, 6) % 5)
for columns in (1, 2):
    sides = numpy.ones((6, columns))
    scipy.linalg.lu_solve(factors, sides)
    time.sleep(0.5)                                    # threads that were just started sleep again
    process, thread = time.process_time(), time.thread_time()
    for _ in range(2000):
        scipy.linalg.lu_solve(factors, sides)
    process, thread = time.process_time() - process, time.thread_time() - thread
    print(f"{columns} right-hand side{'s' * (columns > 1)}:",
          "several threads compute" if process > 1.3 * thread else "one thread computes")
PROGRAM

# Up to which orders built-in loops (short_loops.h) are used, and not LAPACK or BLAS, by instruction set: the baseline,
# AVX2, AVX-512. Included by the kernels that have both.
#
# Measured on an AMD EPYC with AVX-512 (Zen 4), one thread, against SciPy's OpenBLAS 0.3 (OPENBLAS_CORETYPE=Haswell for
# AVX2, Nehalem for the baseline), float64, us a call of the whole function, LAPACK and loops. Order 50: Cholesky 8.6
# and 3.9 (AVX2 9.9, 3.9), 50 right-hand sides 8.3 and 3.3 (7.5, 3.5; transposed 12.7, 3.5), one 0.60 and 0.52 (0.99,
# 0.52). Order 128: 61 and 29 (65, 33), 108 and 39 (62, 41), 2.8 and 1.3 (2.9, 1.3). Order 4: 0.32 and 0.17, 0.36 and
# 0.16, 0.15 and 0.12. Baseline: order 40 4.6 and 3.8, 50 7.6 and 9.1; 32 right-hand sides 3.3 and 2.8, 40 5.7 and 6.6.

cdef npy_intp[3] SHORT_CHOLESKY
cdef npy_intp[3] SHORT_SOLUTIONS           # of several right-hand sides
cdef npy_intp[3] SHORT_SOLUTION            # of one
SHORT_CHOLESKY[:] = [40, 128, 128]         # at most SHORT_ORDER, as the others
SHORT_SOLUTIONS[:] = [32, 128, 128]
SHORT_SOLUTION[:] = [40, 128, 128]

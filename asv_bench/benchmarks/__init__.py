"""Benchmarks of phintys for asv; one file per question, each class or function named after what it tells.

Only the public interface that Theano's users know is used, so that the same file measures old and new commits. Inputs
are seeded; every benchmark compiles in ``setup`` unless compiling is what it measures. The thread counts of BLAS
libraries are set to one here, before NumPy is loaded: what is compared is work, not how many cores were idle.
"""
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

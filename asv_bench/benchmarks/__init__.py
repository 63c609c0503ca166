"""Benchmarks of phintys for asv; one file per topic, each class or function named after what it measures.

They use only the public interface that Theano also has, so that the same file measures old and new commits. Inputs are
seeded; every benchmark compiles in ``setup`` unless it measures compilation. The thread counts of BLAS libraries are
set to one here, before NumPy is loaded, so that results do not depend on the number of idle cores.
"""
import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

"""Floor 2: the ops, in one folder per family. ``ARCHITECTURE.md`` lists the folders in the order of imports.

A family has up to three kinds of files: the symbolic ops, their kernels in Cython (``_kernel.pyx``) and their loops in
C (``_loops.h``). The files directly in this folder import from all families: the operators of variables, and functions
of NumPy.
"""

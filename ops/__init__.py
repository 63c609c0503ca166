"""Floor 2: the ops, in rooms by family. ``ARCHITECTURE.md`` lists the rooms in the order of imports.

A family has up to three kinds of files: the symbolic ops, their kernels in Cython (``_kernel.pyx``) and their loops in
C (``_loops.h``). The files of this folder itself build on all rooms: operators of variables, and functions of NumPy.
"""

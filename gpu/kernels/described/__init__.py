"""Families of kernels that need no Cython: each is described by its operands and the text of its kernels.

``general_source.py`` says what a description is, and ``general_kernel.pyx`` launches it. The import of this package
describes all of them.
"""
from phintys.gpu.kernels.described import (
    block_sparse,
    choice,
    convolution,
    creation,
    factorization,
    fourier,
    indexing,
    line,
    random,
    rearranging,
    spectral,
    window,
)

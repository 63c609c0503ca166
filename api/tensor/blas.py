"""Theano's name ``tensor.blas`` for the matrix products of BLAS: names only, see ``phintys.ops.blas``.

The ops called ``inplace`` and ``destructive`` permit a function to overwrite their first input; the virtual machine of
this version makes no use of it.
"""
from phintys.graph.errors import InconsistencyError
from phintys.ops.blas import (
    Dot, Dot22, Dot22Scalar, Gemm, Gemv, Ger, dot, dot22, dot22scalar, gemm, gemv, ger, outer, tensordot)

_dot22, _dot22scalar = dot22, dot22scalar
gemm_no_inplace, gemm_inplace = gemm, Gemm(inplace=True)
gemv_no_inplace, gemv_inplace = gemv, Gemv(inplace=True)
ger_destructive = Ger(destructive=True)

__all__ = ["Dot", "Dot22", "Dot22Scalar", "Gemm", "Gemv", "Ger", "InconsistencyError", "_dot22", "_dot22scalar", "dot",
           "dot22", "dot22scalar", "gemm", "gemm_inplace", "gemm_no_inplace", "gemv", "gemv_inplace",
           "gemv_no_inplace", "ger", "ger_destructive", "outer", "tensordot"]

"""Theano's name ``tensor.blas`` for the matrix products of BLAS: names only, see ``phintys.ops.products.blas``.

The ops called ``inplace`` and ``destructive`` permit a function to overwrite their first input.
"""
from phintys.graph.errors import InconsistencyError
from phintys.missing_names import lookup as _lookup
from phintys.ops.products.batched_product import BatchedDot
from phintys.ops.products.batched_product import batched_dot_op as batched_dot
from phintys.ops.products.blas import (
    Dot,
    Dot22,
    Dot22Scalar,
    Gemm,
    Gemv,
    Ger,
    dot,
    dot22,
    dot22scalar,
    gemm,
    gemv,
    ger,
    outer,
    tensordot,
)

_dot22, _dot22scalar = dot22, dot22scalar
gemm_no_inplace, gemm_inplace = gemm, Gemm(inplace=True)
gemv_no_inplace, gemv_inplace = gemv, Gemv(inplace=True)
ger_destructive = Ger(destructive=True)

__all__ = ["BatchedDot", "Dot", "Dot22", "Dot22Scalar", "Gemm", "Gemv", "Ger", "InconsistencyError", "_dot22",
           "_dot22scalar", "batched_dot", "dot", "dot22", "dot22scalar", "gemm", "gemm_inplace", "gemm_no_inplace",
           "gemv", "gemv_inplace", "gemv_no_inplace", "ger", "ger_destructive", "outer", "tensordot"]
__getattr__ = _lookup(__name__)

"""Written by docs/write_stubs.py."""
from phintys.graph.errors import InconsistencyError as InconsistencyError
from phintys.ops.products.batched_product import BatchedDot as BatchedDot
from phintys.ops.products.blas import Dot22 as Dot22, Dot22Scalar as Dot22Scalar, Gemm as Gemm, Gemv as Gemv, Ger as Ger
from phintys.tensor import Dot as Dot, dot as dot, outer as outer, tensordot as tensordot

_dot22: Dot22
_dot22scalar: Dot22Scalar
batched_dot: BatchedDot
dot22: Dot22
dot22scalar: Dot22Scalar
gemm: Gemm
gemm_inplace: Gemm
gemm_no_inplace: Gemm
gemv: Gemv
gemv_inplace: Gemv
gemv_no_inplace: Gemv
ger: Ger
ger_destructive: Ger

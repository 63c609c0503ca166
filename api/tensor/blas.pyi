"""Written by docs/write_stubs.py."""
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any as _Any

from numpy.typing import DTypeLike

from phintys.graph.errors import InconsistencyError as InconsistencyError
from phintys.graph.op import Op
from phintys.graph.variable import Variable
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.operators import TensorVariable, _Axis, _OfMany, _OfOne, _OfThree, _OfTwo, _Shape, _TensorLike
from phintys.ops.products.batched_product import BatchedDot as BatchedDot
from phintys.ops.products.blas import Dot22 as Dot22, Dot22Scalar as Dot22Scalar, Gemm as Gemm, Gemv as Gemv, Ger as Ger
from phintys.ops.products.dot import Dot as Dot
from phintys.ops.types.tensor_type import TensorType

_dot22: Dot22
_dot22scalar: Dot22Scalar
batched_dot: BatchedDot
def dot(a: _TensorLike, b: _TensorLike) -> TensorVariable: ...
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
def outer(x: _TensorLike, y: _TensorLike) -> TensorVariable: ...
def tensordot(a: _TensorLike, b: _TensorLike, axes: _Any = 2) -> TensorVariable: ...

"""Written by docs/write_stubs.py."""
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any as _Any

from numpy.typing import DTypeLike

from phintys.graph.op import Op
from phintys.graph.variable import Variable
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.operators import TensorVariable, _Axis, _OfMany, _OfOne, _OfThree, _OfTwo, _Shape, _TensorLike
from phintys.ops.pooling.pool import (
    AveragePoolGrad as AveragePoolGrad, DownsampleFactorMaxGradGrad as DownsampleFactorMaxGradGrad,
    MaxPoolGrad as MaxPoolGrad, MaxPoolRop as MaxPoolRop, Pool as Pool, PoolGrad as PoolGrad,
)
from phintys.ops.types.tensor_type import TensorType

def max_pool_2d_same_size(input: _TensorLike, patch_size: _Any) -> TensorVariable: ...
def pool_2d(input: _TensorLike, ws: _Any = None, ignore_border: _Any = None, stride: _Any = None,
            pad: _Any = (0, 0), mode: str = 'max', ds: _Any = None, st: _Any = None, padding: _Any = None
            ) -> TensorVariable: ...
def pool_3d(input: _TensorLike, ws: _Any = None, ignore_border: _Any = None, stride: _Any = None,
            pad: _Any = (0, 0, 0), mode: str = 'max', ds: _Any = None, st: _Any = None, padding: _Any = None
            ) -> TensorVariable: ...

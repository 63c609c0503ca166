"""Written by docs/write_stubs.py."""
from phintys.ops.operators import TensorVariable, _TensorLike
from phintys.ops.pooling.pool import (
    AveragePoolGrad as AveragePoolGrad, DownsampleFactorMaxGradGrad as DownsampleFactorMaxGradGrad,
    MaxPoolGrad as MaxPoolGrad, MaxPoolRop as MaxPoolRop, Pool as Pool, PoolGrad as PoolGrad,
)
from typing import Any as _Any

def max_pool_2d_same_size(input: _TensorLike, patch_size: _Any) -> TensorVariable: ...
def pool_2d(input: _TensorLike, ws: _Any = None, ignore_border: _Any = None, stride: _Any = None,
            pad: _Any = (0, 0), mode: str = 'max', ds: _Any = None, st: _Any = None, padding: _Any = None
            ) -> TensorVariable: ...
def pool_3d(input: _TensorLike, ws: _Any = None, ignore_border: _Any = None, stride: _Any = None,
            pad: _Any = (0, 0, 0), mode: str = 'max', ds: _Any = None, st: _Any = None, padding: _Any = None
            ) -> TensorVariable: ...

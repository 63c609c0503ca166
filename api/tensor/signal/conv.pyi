"""Written by docs/write_stubs.py."""
from phintys.ops.operators import TensorVariable, _TensorLike
from typing import Any as _Any

def conv2d(input: _TensorLike, filters: _Any, image_shape: _Any = None, filter_shape: _Any = None,
           border_mode: str = 'valid', subsample: _Any = (1, 1), **kargs: _Any) -> TensorVariable: ...

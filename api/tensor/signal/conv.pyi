"""Written by docs/write_stubs.py."""
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any as _Any

from numpy.typing import DTypeLike

from phintys.graph.op import Op
from phintys.graph.variable import Variable
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.operators import TensorVariable, _Axis, _OfMany, _OfOne, _OfThree, _OfTwo, _Shape, _TensorLike
from phintys.ops.types.tensor_type import TensorType

def conv2d(input: _TensorLike, filters: _Any, image_shape: _Any = None, filter_shape: _Any = None,
           border_mode: str = 'valid', subsample: _Any = (1, 1), **kargs: _Any) -> TensorVariable: ...

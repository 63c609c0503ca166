"""Written by docs/write_stubs.py."""
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any as _Any

from numpy.typing import DTypeLike

from phintys.ops.creation.allocation import Bartlett as Bartlett
from phintys.ops.cumulative.cumulative import CumOp as CumOp
from phintys.ops.cumulative.cumulative import DiffOp as DiffOp
from phintys.ops.indexing.flat_index import RavelMultiIndex as RavelMultiIndex
from phintys.ops.indexing.flat_index import UnravelIndex as UnravelIndex
from phintys.ops.linalg.diagonal import FillDiagonal as FillDiagonal
from phintys.ops.linalg.diagonal import FillDiagonalOffset as FillDiagonalOffset
from phintys.ops.rearranging.repeat import RepeatOp as RepeatOp
from phintys.ops.shape.contiguous import CpuContiguous as CpuContiguous
from phintys.ops.sorting.searching import SearchsortedOp as SearchsortedOp
from phintys.ops.sorting.searching import Unique as Unique
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.graph.op import Op
from phintys.ops.types.tensor_type import TensorType
from phintys.ops.operators import TensorVariable
from phintys.graph.variable import Variable
from phintys.ops.operators import _Axis, _OfMany, _OfOne, _OfThree, _OfTwo, _Shape, _TensorLike

__all__ = [
    "Bartlett",
    "CpuContiguous",
    "CumOp",
    "CumprodOp",
    "CumsumOp",
    "DiffOp",
    "FillDiagonal",
    "FillDiagonalOffset",
    "RavelMultiIndex",
    "RepeatOp",
    "SearchsortedOp",
    "Unique",
    "UnravelIndex",
    "bartlett",
    "bartlett_",
    "bincount",
    "compress",
    "cpu_contiguous",
    "cumprod",
    "cumsum",
    "diff",
    "fill_diagonal",
    "fill_diagonal_",
    "fill_diagonal_offset",
    "fill_diagonal_offset_",
    "ravel_multi_index",
    "repeat",
    "searchsorted",
    "squeeze",
    "to_one_hot",
    "unravel_index",
]

def CumprodOp(axis: _Axis = None) -> TensorVariable: ...
def CumsumOp(axis: _Axis = None) -> TensorVariable: ...
def bartlett(M: _Any) -> TensorVariable: ...
bartlett_: Bartlett
def bincount(x: _TensorLike, weights: _TensorLike | None = None, minlength: _Any = None,
             assert_nonneg: bool = False) -> TensorVariable: ...
def compress(condition: _TensorLike, x: _TensorLike, axis: _Axis = None) -> TensorVariable: ...
cpu_contiguous: CpuContiguous
def cumprod(x: _TensorLike, axis: _Axis = None) -> TensorVariable: ...
def cumsum(x: _TensorLike, axis: _Axis = None) -> TensorVariable: ...
def diff(x: _TensorLike, n: int | Variable = 1, axis: _Axis = -1, prepend: _Any = None, append: _Any = None
         ) -> TensorVariable: ...
def fill_diagonal(a: _TensorLike, val: _Any) -> TensorVariable: ...
fill_diagonal_: FillDiagonal
def fill_diagonal_offset(a: _TensorLike, val: _Any, offset: _Any) -> TensorVariable: ...
fill_diagonal_offset_: FillDiagonalOffset
def ravel_multi_index(multi_index: _Any, dims: _Any, mode: str = 'raise', order: str = 'C') -> TensorVariable: ...
def repeat(x: _TensorLike, repeats: _TensorLike, axis: _Axis = None) -> TensorVariable: ...
def searchsorted(x: _TensorLike, v: _TensorLike, side: str = 'left', sorter: _TensorLike | None = None
                 ) -> TensorVariable: ...
def squeeze(x: _TensorLike, axis: _Axis = None) -> TensorVariable: ...
def to_one_hot(y: _TensorLike, nb_class: _Any, dtype: DTypeLike | None = None) -> TensorVariable: ...
def unravel_index(indices: _Any, dims: _Any, order: str = 'C', ndim: int | None = None) -> _Any: ...

"""Written by docs/write_stubs.py."""
from phintys.ops.indexing.flat_index import RavelMultiIndex as RavelMultiIndex, UnravelIndex as UnravelIndex
from phintys.ops.operators import TensorVariable, _Axis, _TensorLike
from phintys.ops.shape.contiguous import CpuContiguous as CpuContiguous
from phintys.ops.sorting.searching import SearchsortedOp as SearchsortedOp, Unique as Unique
from phintys.tensor import (
    Bartlett as Bartlett, CumOp as CumOp, DiffOp as DiffOp, FillDiagonal as FillDiagonal,
    FillDiagonalOffset as FillDiagonalOffset, RepeatOp as RepeatOp, bartlett as bartlett, bincount as bincount,
    compress as compress, cumprod as cumprod, cumsum as cumsum, diff as diff, fill_diagonal as fill_diagonal,
    fill_diagonal_offset as fill_diagonal_offset, ravel_multi_index as ravel_multi_index, repeat as repeat,
    searchsorted as searchsorted, squeeze as squeeze, to_one_hot as to_one_hot, unravel_index as unravel_index,
)
from typing import Any as _Any

def CumprodOp(axis: _Axis = None) -> TensorVariable: ...
def CumsumOp(axis: _Axis = None) -> TensorVariable: ...
def bartlett_(M: _Any) -> TensorVariable: ...
cpu_contiguous: CpuContiguous
def fill_diagonal_(a: _TensorLike, val: _Any) -> TensorVariable: ...
def fill_diagonal_offset_(a: _TensorLike, val: _Any, offset: _Any) -> TensorVariable: ...

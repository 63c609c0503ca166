"""Theano's name ``tensor.extra_ops``: cumulative sums, repetition, searching and the like; names only."""
from phintys.graph import public_names as _public_names
from phintys.missing_names import lookup as _lookup
from phintys.ops.creation.allocation import Bartlett, bartlett, bartlett_
from phintys.ops.cumulative.cumulative import CumOp, CumprodOp, CumsumOp, DiffOp, cumprod, cumsum, diff
from phintys.ops.indexing.flat_index import RavelMultiIndex, UnravelIndex, ravel_multi_index, unravel_index
from phintys.ops.linalg.diagonal import (
    FillDiagonal,
    FillDiagonalOffset,
    fill_diagonal,
    fill_diagonal_,
    fill_diagonal_offset,
    fill_diagonal_offset_,
)
from phintys.ops.rearranging.rearranging import squeeze
from phintys.ops.rearranging.repeat import RepeatOp, compress, repeat
from phintys.ops.shape.contiguous import CpuContiguous, cpu_contiguous
from phintys.ops.sorting.bincount import bincount
from phintys.ops.sorting.searching import SearchsortedOp, Unique, searchsorted, to_one_hot

__all__ = ["Bartlett", "CpuContiguous", "CumOp", "CumprodOp", "CumsumOp", "DiffOp", "FillDiagonal",
           "FillDiagonalOffset", "RavelMultiIndex", "RepeatOp", "SearchsortedOp", "Unique", "UnravelIndex",
           "bartlett", "bartlett_", "bincount", "compress", "cpu_contiguous", "cumprod", "cumsum", "diff",
           "fill_diagonal", "fill_diagonal_", "fill_diagonal_offset", "fill_diagonal_offset_",
           "ravel_multi_index", "repeat", "searchsorted", "squeeze", "to_one_hot", "unravel_index"]
_public_names.adopt(globals())
__getattr__ = _lookup(__name__)

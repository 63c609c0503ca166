"""Theano's name ``tensor.type_other``: slices and None as variables; names only."""
from phintys.missing_names import lookup as _lookup
from phintys.ops.types.slice_type import (
    MakeSlice,
    NoneConst,
    NoneTypeT,
    SliceConstant,
    SliceType,
    make_slice,
    none_type_t,
    slicetype,
)

__all__ = ["MakeSlice", "NoneConst", "NoneTypeT", "SliceConstant", "SliceType", "make_slice", "none_type_t",
           "slicetype"]
__getattr__ = _lookup(__name__)

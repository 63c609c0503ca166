"""PyTensor's types and constants as those of phintys."""
from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from pytensor.scalar.basic import ScalarType
from pytensor.tensor.random.type import RandomType
from pytensor.tensor.type import TensorType
from pytensor.tensor.type_other import NoneTypeT, SliceType

from phintys import tensor as T
from phintys.graph.type import generic
from phintys.graph.variable import Constant
from phintys.ops.random.generator_objects import state_of
from phintys.ops.random.generator_states import WORDS

if TYPE_CHECKING:
    from phintys.graph.type import Type
    from phintys.graph.variable import Variable

STATE_TYPE = T.TensorType("uint64", (False,), shape=(WORDS["PCG64"],))      # of generators on PCG64
MOST_TYPES = 1024              # that are kept, and not made again for each variable


@cache
def _family(kind_class):
    """Of what values are: arrays ("dense"), sparse matrices or others; the class for sparse is derived from arrays'.

    Tensors with named dimensions are arrays."""
    if kind_class.__module__ == "pytensor.xtensor.type":
        return "dense"
    if not issubclass(kind_class, TensorType):
        return "other"
    return "sparse" if hasattr(kind_class, "format_cls") else "dense"


def is_dense(kind: Any) -> bool:
    """Whether values are arrays."""
    return _family(type(kind)) == "dense"


def is_sparse(kind: Any) -> bool:
    """Whether values are sparse matrices."""
    return _family(type(kind)) == "sparse"


@lru_cache(MOST_TYPES)
def _tensor_type(dtype, lengths):
    return T.TensorType(dtype, tuple([length == 1 for length in lengths]), shape=lengths)


def translated_type(kind: Any) -> Type:
    """The type of phintys that has the same values.

    Tensors keep dtype, rank and static lengths, sparse matrices dtype and format, lists the type of their elements;
    PyTensor's scalars are tensors of rank 0. Random generators are states of PCG64; PyTensor's type does not say what
    bit generator a value has, so callers that meet another one pass on the object. So are all other values.
    """
    if is_dense(kind):
        return _tensor_type(kind.dtype, kind.shape)
    if isinstance(kind, ScalarType):
        return _tensor_type(kind.dtype, ())
    if isinstance(kind, NoneTypeT):
        return T.none_type_t
    if is_sparse(kind):
        return import_module("phintys.sparse").SparseType(kind.format, kind.dtype)
    if isinstance(kind, RandomType):
        return STATE_TYPE
    if hasattr(kind, "ttype"):
        return import_module("phintys.ops.lists.typed_lists").TypedListType(translated_type(kind.ttype))
    return generic


def translated_constant(constant: Any) -> Constant:
    """A constant with the same value; a slice is a Python slice."""
    if isinstance(constant.type, SliceType):
        return constant.data
    if isinstance(constant.type, RandomType):
        state = state_of(constant.data)
        return generic.make_constant(constant.data) if state is None else T.constant(state)
    kind = translated_type(constant.type)
    if isinstance(kind, T.TensorType):
        return T.constant(constant.data, ndim=kind.ndim, dtype=kind.dtype)
    return T.NoneConst if kind == T.none_type_t else kind.make_constant(constant.data)


def number(variable: Variable) -> int | None:
    """The Python number of a constant of rank 0, or the variable itself."""
    if isinstance(variable, Constant) and getattr(variable.type, "ndim", None) == 0:
        return variable.data.item()
    return None if isinstance(variable, Constant) and variable.data is None else variable


def numbers(vector: Any) -> Any:
    """The numbers of a constant vector as a tuple, or the variable itself."""
    return tuple(vector.data.tolist()) if isinstance(vector, Constant) else vector

"""PyTensor's types and constants as those of phintys."""
from importlib import import_module

from pytensor.scalar.basic import ScalarType
from pytensor.tensor.type import TensorType
from pytensor.tensor.type_other import NoneTypeT, SliceType

from phintys import tensor as T
from phintys.graph.type import generic
from phintys.graph.variable import Constant


def is_dense(kind):
    """Whether values are arrays; the type of sparse matrices is derived from that of arrays."""
    return isinstance(kind, TensorType) and not hasattr(kind, "format_cls")


def is_sparse(kind):
    """Whether values are sparse matrices."""
    return isinstance(kind, TensorType) and hasattr(kind, "format_cls")


def translated_type(kind):
    """The type of phintys that has the same values.

    Tensors keep dtype, rank and static lengths, sparse matrices dtype and format; PyTensor's scalars are tensors of
    rank 0. All other values, such as random generators, are passed on as objects.
    """
    if is_dense(kind):
        return T.TensorType(kind.dtype, tuple(length == 1 for length in kind.shape), shape=kind.shape)
    if isinstance(kind, ScalarType):
        return T.TensorType(kind.dtype, ())
    if isinstance(kind, NoneTypeT):
        return T.none_type_t
    if is_sparse(kind):
        return import_module("phintys.sparse").SparseType(kind.format, kind.dtype)
    return generic


def translated_constant(constant):
    """A constant with the same value; a slice is a Python slice."""
    if isinstance(constant.type, SliceType):
        return constant.data
    kind = translated_type(constant.type)
    if isinstance(kind, T.TensorType):
        return T.constant(constant.data, ndim=kind.ndim, dtype=kind.dtype)
    return T.NoneConst if kind == T.none_type_t else kind.make_constant(constant.data)


def number(variable):
    """The Python number of a constant of rank 0, or the variable itself."""
    if isinstance(variable, Constant) and getattr(variable.type, "ndim", None) == 0:
        return variable.data.item()
    return None if isinstance(variable, Constant) and variable.data is None else variable


def numbers(vector):
    """The numbers of a constant vector as a tuple, or the variable itself."""
    return tuple(vector.data.tolist()) if isinstance(vector, Constant) else vector

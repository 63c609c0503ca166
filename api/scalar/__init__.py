"""The scalar namespace: one op for each elementwise operation, and the types of single numbers.

``phintys.scalar.add`` is what ``Elemwise`` applies to every element; called on variables it applies that ``Elemwise``.
A single number is a 0-d tensor here, so ``phintys.scalar.float64`` is the ``TensorType`` of rank 0.
"""
from phintys.ops import scalar as _table
from phintys.ops.composite import Composite
from phintys.ops.constant import as_tensor_variable as as_scalar
from phintys.ops.constant import autocast_float, autocast_float_as, constant
from phintys.ops.dtypes import (
    ALL_DTYPES, complex_dtypes, continuous_dtypes, discrete_dtypes, float_dtypes, int_dtypes, integer_dtypes,
    uint_dtypes)
from phintys.ops.elementwise_functions import cast, div_proxy
from phintys.ops.scalar import *  # noqa: F403
from phintys.ops.scalar_op import upgrade_to_float
from phintys.ops.tensor_type import TensorType
from phintys.submodules import submodules
from phintys.tensor.constructors import plural_of

globals().update(submodules(__name__, {"basic": "phintys.scalar"}))

all_types = list(ALL_DTYPES)


def Scalar(dtype):
    """The type of single numbers of one dtype: a ``TensorType`` of rank 0."""
    return TensorType(dtype, ())


_TYPES = {dtype: Scalar(dtype) for dtype in ALL_DTYPES}
globals().update(_TYPES)


ints, floats, complexs = [plural_of(name, _TYPES[dtype]) for name, dtype in (
    ("ints", "int64"), ("floats", "float64"), ("complexs", "complex128"))]

__all__ = ["Composite", "Scalar", "all_types", "as_scalar", "autocast_float", "autocast_float_as", "cast",
           "complex_dtypes", "complexs", "constant", "continuous_dtypes", "discrete_dtypes", "div_proxy",
           "float_dtypes", "floats",
           "int_dtypes", "integer_dtypes", "ints", "uint_dtypes", "upgrade_to_float", *_TYPES, *_table.__all__]

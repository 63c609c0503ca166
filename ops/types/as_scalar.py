"""Conversion of values and variables to single numbers: ``as_scalar``, and constants of a ``Scalar`` type.

Python numbers get the same dtype as when they are converted to tensors (``constant.py``).
"""
from phintys.graph.apply import Apply
from phintys.graph.errors import made_at
from phintys.graph.variable import Constant, Variable
from phintys.ops.types.constant import convert
from phintys.ops.types.number_views import scalar_from_tensor
from phintys.ops.types.scalar_type import get_scalar_type
from phintys.ops.types.tensor_type import TensorType


def scalar_constant(x, name=None, dtype=None):
    """Make a constant from a single number.

    Parameters
    ----------
    x : number, or array of rank 0
    name : str, optional
    dtype : str, optional
        The default is the dtype of ``x``; Python numbers are autocast.

    Returns
    -------
    ScalarConstant

    Raises
    ------
    TypeError
        If ``x`` is not a single number.

    Examples
    --------
    >>> phintys.scalar.constant(2.5, dtype="float64").type
    Scalar(float64)
    """
    try:
        array = convert(x, dtype)
    except (TypeError, OverflowError) as error:
        raise TypeError(f"Cannot convert {x} of {type(x)} to a single number: {error}") from error
    if array.ndim:
        raise TypeError(f"Expected a single number, got {x} of shape {array.shape}.")
    return get_scalar_type(array.dtype.name).make_constant(array[()], name=name)


def as_scalar(x, name=None):
    """Convert ``x`` to a variable of a ``Scalar`` type.

    Parameters
    ----------
    x : Variable, Apply, number, or array of rank 0
        Tensors of rank 0 are converted.
    name : str, optional
        The name of the constant if one is made.

    Returns
    -------
    ScalarVariable or ScalarConstant

    Raises
    ------
    TypeError
        If ``x`` is not a single number.
    ValueError
        If ``x`` is an Apply with several outputs.

    Examples
    --------
    >>> phintys.scalar.as_scalar(T.as_tensor([1.5, 2.5])[0]).type
    Scalar(float64)
    """
    if isinstance(x, Apply):
        if len(x.outputs) != 1:
            raise ValueError(f"It is ambiguous which output of {x} is meant: it has {len(x.outputs)}.")
        x, = x.outputs
    if not isinstance(x, Variable):
        return scalar_constant(x, name)
    if x.type.is_number:
        return x
    if not isinstance(x.type, TensorType) or x.type.ndim:
        raise TypeError(f"Expected a single number, a variable of a Scalar type or a tensor of rank 0, got {x} of type "
                        f"{x.type}{made_at(x)}.")
    if isinstance(x, Constant):
        return get_scalar_type(x.type.dtype).make_constant(x.data[()], name=x.name)
    return scalar_from_tensor(x)

"""Counting the occurrences of integers: ``bincount``.

The counting itself is an addition at index arrays (``inc_subtensor``), which has a gradient with respect to the
weights.
"""
from phintys.ops.creation.allocation import zeros
from phintys.ops.elementwise import scalar
from phintys.ops.identity.assertion import Assert, Check
from phintys.ops.indexing.inc_subtensor import inc_subtensor
from phintys.ops.reduction.reduction import all as all_true
from phintys.ops.reduction.reduction import max as max_of
from phintys.ops.reduction.reduction import min as min_of
from phintys.ops.shape.join import join
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import discrete_dtypes, integer_dtypes, reduced_dtype


def bincount(x, weights=None, minlength=None, assert_nonneg=False):
    """Count the occurrences of each integer.

    Parameters
    ----------
    x : vector of non-negative integers
    weights : vector, optional
        The weight of each occurrence.
    minlength : int or symbolic integer, optional
        The least length of the result; it is longer if an integer of ``x`` requires this.
    assert_nonneg : bool
        Whether a negative integer raises an ``AssertionError`` instead of a ``ValueError`` at run time.

    Returns
    -------
    TensorVariable
        Of dtype int64; with weights, of their dtype, or of 64 bits if they are integers.

    Raises
    ------
    TypeError
        If ``x`` is not a vector of integers.
    ValueError
        At run time, if an integer or ``minlength`` is negative.

    Examples
    --------
    >>> T.bincount(T.as_tensor([1, 3, 1])).eval()
    array([0, 2, 0, 1])
    """
    x = as_tensor_variable(x)
    if x.type.ndim != 1 or x.type.dtype not in discrete_dtypes:
        raise TypeError(f"bincount: the input must be a vector of integers, got {x} of type {x.type}")
    x = scalar.as_dtype(x, "uint8") if x.type.dtype == "bool" else x
    if assert_nonneg:
        x = Assert("Input to bincount has negative values!")(x, all_true(scalar.ge(x, 0)))
    counts = zeros([_counters(x, _least_length(minlength))], dtype=_dtype_of_counts(weights))
    return inc_subtensor(counts[x], constant(1, dtype="int64") if weights is None else weights)


def _counters(x, least):
    """The largest element of a vector of integers plus 1, but at least ``least``."""
    least = Check("bincount: minlength must not be negative")(least, scalar.ge(least, 0))
    with_zero = join(0, x, constant([0], dtype=x.type.dtype))       # an extremum of no elements is an error
    largest = max_of(with_zero)
    if x.type.dtype.startswith("int"):
        largest = Check("bincount: an element is negative")(largest, scalar.ge(min_of(with_zero), 0))
    if x.type.dtype in ("int64", "uint64"):
        largest = Check("bincount: an element does not fit into 63 bits")(
            largest, scalar.lt(largest, constant(2 ** 63 - 1, dtype=x.type.dtype)))
    return scalar.maximum(scalar.as_dtype(largest, "int64") + scalar.gt(shape_i(x, 0), 0), least)


def _least_length(minlength):
    least = constant(0, dtype="int64") if minlength is None else as_tensor_variable(minlength)
    if least.type.ndim or least.type.dtype not in integer_dtypes:
        raise TypeError(f"bincount: minlength must be an integer, got {least} of type {least.type}")
    return scalar.as_dtype(least, "int64")


def _dtype_of_counts(weights):
    return "int64" if weights is None else reduced_dtype(as_tensor_variable(weights).type.dtype)

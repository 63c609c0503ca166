"""``linspace``: evenly spaced numbers, like NumPy's."""
from phintys.graph.config import config
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise import elementwise_functions as elementwise
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.types.axes import one_axis
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import float_dtypes, integer_dtypes, upcast


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    """Evenly spaced numbers from ``start`` to ``stop``.

    Parameters
    ----------
    start, stop : tensor-like
    num : int or symbolic integer
        The number of samples.
    endpoint : bool
        Whether ``stop`` is the last sample; otherwise it is excluded and would be the next one.
    retstep : bool
        Whether to return the distance between samples as well.
    dtype : str, optional
        The default is the common dtype of ``start`` and ``stop``, but floatX for integers, and at least that for
        Python's numbers. For an integer dtype, samples are rounded down.
    axis : int
        The position of the dimension of length ``num`` in the result, if ``start`` or ``stop`` have dimensions.

    Returns
    -------
    TensorVariable, or tuple (TensorVariable, TensorVariable)

    Raises
    ------
    ValueError
        If ``num`` is negative.

    Examples
    --------
    >>> T.linspace(0, 1, 5).eval()
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    if isinstance(num, int) and num < 0:
        raise ValueError(f"linspace: number of samples, {num}, must be non-negative.")
    least = [] if hasattr(start, "dtype") or hasattr(stop, "dtype") else [config.floatX]
    start, stop, num = as_tensor_variable(start), as_tensor_variable(stop), as_tensor_variable(num)
    work = upcast(start.type.dtype, stop.type.dtype, *least)
    work = config.floatX if work in integer_dtypes or work == "bool" else work
    start, stop = elementwise.cast(start, work), elementwise.cast(stop, work)
    distance = stop - start
    real = work if work in float_dtypes else {"complex64": "float32"}.get(work, "float64")
    gaps = elementwise.cast(elementwise.maximum(num - 1 if endpoint else num, 1), real)
    rank = distance.type.ndim
    numbers = dimshuffle(arange(num), 0, *["x"] * rank)
    found = start + elementwise.cast(numbers, real) * (distance / gaps)
    if endpoint:                                    # the last sample is `stop` exactly, without a rounding error
        found = elementwise.switch(elementwise.and_(elementwise.eq(numbers, num - 1), num > 1), stop, found)
    axis = one_axis("linspace", found, axis)
    if axis:
        order = list(range(1, rank + 1))
        order.insert(axis, 0)
        found = dimshuffle(found, *order)
    if dtype is not None:
        found = elementwise.cast(elementwise.floor(found) if str(dtype) in integer_dtypes else found, dtype)
    return (found, distance / gaps) if retstep else found

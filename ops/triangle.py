"""``tril`` and ``triu``: one triangle of a matrix, zeros elsewhere. They are elementwise; there is no op of their own."""
from phintys.ops.allocation import arange
from phintys.ops.constant import as_tensor_variable, constant
from phintys.ops.dimshuffle import dimshuffle
from phintys.ops.scalar import ge, switch
from phintys.ops.shape import shape_i


def tril(m, k=0):
    """The lower triangle.

    Parameters
    ----------
    m : tensor-like
        A matrix, or matrices along the last two dimensions.
    k : int or symbolic integer
        The highest diagonal that is kept: 0 is the main one, positive ones are above it.

    Returns
    -------
    TensorVariable
        Like ``m``, with zeros above diagonal ``k``.

    Raises
    ------
    ValueError
        If ``m`` has fewer than two dimensions.
    """
    m, on_or_above = _compared(m, k)
    return switch(on_or_above, _zero(m), m)


def triu(m, k=0):
    """The upper triangle: like ``m``, with zeros below diagonal ``k``; otherwise as `tril`."""
    m, on_or_above = _compared(m, k - 1)
    return switch(on_or_above, m, _zero(m))


def _zero(m):
    return constant(0, dtype=m.type.dtype)


def _compared(m, k):
    """``m``, and a mask of what is above diagonal ``k``."""
    m = as_tensor_variable(m)
    if m.type.ndim < 2:
        raise ValueError(f"a triangle needs a matrix, {m} has {m.type.ndim} dimensions")
    rows = dimshuffle(arange(shape_i(m, m.type.ndim - 2)), [0, "x"])
    columns = arange(shape_i(m, m.type.ndim - 1))
    return m, ge(columns - rows, as_tensor_variable(k) + 1)

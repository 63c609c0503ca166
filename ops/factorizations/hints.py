"""Hints: properties of a matrix that a user knows, but the optimizer cannot see.

A hint is an identity op, which the optimizer uses and then removes. `psd` says that a matrix is symmetric (or
Hermitian) and positive semi-definite. Then its Cholesky factor, which costs half as much as LU factors, is used for
systems and for logarithms of its determinant.
"""
from phintys.graph.op import IdentityOp
from phintys.graph.variable import Constant
from phintys.ops.linalg.diagonal import trace
from phintys.ops.products.products import dot
from phintys.ops.types.constant import as_tensor_variable


class Hint(IdentityOp):
    """Returns its input; ``hints`` are pairs of a name and a value.

    Parameters
    ----------
    **hints
        ``psd`` (positive semi-definite) and ``symmetric`` are used by the optimizer.

    Examples
    --------
    >>> x = phintys.sandbox.linalg.ops.Hint(symmetric=True)(T.dmatrix("x"))
    >>> phintys.sandbox.linalg.ops.is_symmetric(x)
    True
    """

    __props__ = ("hints",)
    view_map = {0: [0]}

    def __init__(self, **hints):
        self.hints = tuple(hints.items())

    def make_node(self, x):
        return super().make_node(as_tensor_variable(x))


def psd(v):
    """Say that a matrix is symmetric (Hermitian) and positive semi-definite; the optimizer may use its Cholesky factor.

    Parameters
    ----------
    v : matrix, or stack of matrices

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, where the factor is used, if the matrix is not positive definite.

    Examples
    --------
    >>> x = phintys.sandbox.linalg.psd(T.dmatrix("x"))
    >>> phintys.sandbox.linalg.ops.is_psd(x)
    True
    """
    return Hint(psd=True, symmetric=True)(v)


def hints(variable):
    """The hints that were given for a variable, as a dict.

    Examples
    --------
    >>> x = phintys.sandbox.linalg.psd(T.dmatrix("x"))
    >>> sorted(phintys.sandbox.linalg.ops.hints(x))
    ['psd', 'symmetric']
    """
    owner = variable.owner
    return dict(owner.op.hints) if owner is not None and isinstance(owner.op, Hint) else {}


def is_psd(v):
    """Whether the variable has the hint of `psd`.

    Examples
    --------
    >>> phintys.sandbox.linalg.ops.is_psd(phintys.sandbox.linalg.psd(T.dmatrix("x")))
    True
    """
    return hints(v).get("psd", False)


def is_symmetric(v):
    """Whether the variable has the hint of being symmetric.

    Examples
    --------
    >>> phintys.sandbox.linalg.ops.is_symmetric(phintys.sandbox.linalg.psd(T.dmatrix("x")))
    True
    """
    return hints(v).get("symmetric", False)


def is_positive(v):
    """Whether the variable has the hint of being positive, or is an even power of another.

    Examples
    --------
    >>> phintys.sandbox.linalg.ops.is_positive(T.dmatrix("x"))
    False
    """
    if hints(v).get("positive", False):
        return True
    if v.owner is None or getattr(getattr(v.owner.op, "scalar_op", None), "name", None) != "pow":
        return False
    exponent = v.owner.inputs[1]
    while exponent.owner is not None and len(exponent.owner.inputs) == 1:       # made as long as the base
        exponent = exponent.owner.inputs[0]
    return isinstance(exponent, Constant) and exponent.data.size == 1 and exponent.data.item() % 2 == 0


def spectral_radius_bound(X, log2_exponent):
    """An upper bound of the largest eigenvalue of a symmetric positive semi-definite matrix: a root of the trace of its
    power ``2 ** log2_exponent``; see Pan, "Estimating the extremal eigenvalues of a symmetric matrix", 1990.

    Parameters
    ----------
    X : matrix
    log2_exponent : int
        Positive; the larger, the tighter the bound.

    Raises
    ------
    TypeError
        If X is not a matrix, or the exponent not an integer.
    ValueError
        If the exponent is not positive.

    Examples
    --------
    >>> phintys.sandbox.linalg.spectral_radius_bound(T.as_tensor([[2.0, 0.0], [0.0, 1.0]]), 5).eval().round(4)
    np.float64(2.0)
    """
    if X.type.ndim != 2:
        raise TypeError(f"spectral_radius_bound requires a matrix argument, got {X!r}")
    if not isinstance(log2_exponent, int):
        raise TypeError(f"spectral_radius_bound requires an integer exponent, got {log2_exponent!r}")
    if log2_exponent <= 0:
        raise ValueError(f"spectral_radius_bound requires a strictly positive exponent, got {log2_exponent!r}")
    power = X
    for _ in range(log2_exponent):
        power = dot(power, power)
    return trace(power) ** (2.0 ** -log2_exponent)

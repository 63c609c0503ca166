"""Singular values and orthogonal factors."""
from phintys.graph.apply import Apply
from phintys.graph.valueless_types import grad_not_implemented
from phintys.ops.creation.allocation import arange, zeros
from phintys.ops.elementwise.scalar import as_dtype, eq, minimum
from phintys.ops.factorizations.solve import solve_triangular
from phintys.ops.factorizations.spectral_kernel import PivotedQRKernel, QRKernel, SVDKernel
from phintys.ops.factorizations.stacks import (
    TwiceReversed,
    adjoint,
    columns,
    connected,
    identity_for,
    matrices,
    missing,
    product,
    real_dtype,
    result,
    rows,
    transposed,
)
from phintys.ops.indexing.getitem import getitem
from phintys.ops.linalg.triangle import tril, triu
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.dtypes import complex_dtypes
from phintys.ops.types.tensor_type import TensorType


def least(x):
    """The static minimum of rows and columns."""
    height, width = x.type.shape[-2:]
    return None if height is None or width is None else min(height, width)


def vector_of(x, dtype):
    """A variable for a vector as long as the shorter side of ``x``, or for a stack of them."""
    lead = x.type.ndim - 2
    return TensorType(dtype, [*x.type.broadcastable[:lead], least(x) == 1], shape=[*x.type.shape[:lead], least(x)])()


class SVD(TwiceReversed):
    """Singular values and vectors of each matrix: u, s and vh with ``x == (u * s).vh``; s is in descending order.

    Parameters
    ----------
    full_matrices : bool
        Whether u and vh are square.
    compute_uv : bool
        Whether to compute u and vh; otherwise s is the only output.
    by_numpy : bool
        Call NumPy's own LAPACK instead of SciPy's, in double precision: where singular values are equal, their vectors
        are those of ``numpy.linalg.svd``.

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, for infinities and NaN, and if LAPACK does not converge.

    Examples
    --------
    >>> left, values, right = T.nlinalg.SVD(full_matrices=False)(T.as_tensor([[3.0, 0.0], [0.0, 4.0]]))
    >>> values.eval()
    array([4., 3.])
    """

    __props__ = ("full_matrices", "compute_uv", "by_numpy")

    def __init__(self, full_matrices=True, compute_uv=True, by_numpy=False):
        self.full_matrices, self.compute_uv, self.by_numpy = bool(full_matrices), bool(compute_uv), bool(by_numpy)

    def make_node(self, x):
        x, = matrices("svd", x)
        if self.by_numpy:
            x = as_dtype(x, "complex128" if x.type.dtype in complex_dtypes else "float64")
        height, width = x.type.shape[-2:]
        values = vector_of(x, real_dtype(x.type.dtype))
        if not self.compute_uv:
            return Apply(self, [x], [values])
        left = result(x.type.dtype, x, height, height if self.full_matrices else least(x))
        right = result(x.type.dtype, x, width if self.full_matrices else least(x), width)
        return Apply(self, [x], [left, values, right])

    def make_kernel(self, node):
        return SVDKernel(node.inputs[0].type.dtype, self.lead(node), self.full_matrices, self.compute_uv,
                         self.by_numpy)

    def infer_shape(self, node, input_shapes):
        *lead, height, width = input_shapes[0]
        short = minimum(height, width)
        if not self.compute_uv:
            return [(*lead, short)]
        return [(*lead, height, height if self.full_matrices else short), (*lead, short),
                (*lead, width if self.full_matrices else short, width)]

    def L_op(self, inputs, outputs, output_gradients):
        """See Townsend, "Differentiating the Singular Value Decomposition". Vectors beyond the singular values are not
        determined by the matrix, so the gradient of full u and vh is defined for square matrices only."""
        x, = inputs
        if not self.compute_uv:
            left, _, right = SVD(full_matrices=False)(x)
            return [product(left * as_dtype(rows(output_gradients[0]), x.type.dtype), right)]
        by_left, by_values, by_right = output_gradients
        left, values, right = outputs
        if missing(by_left) and missing(by_right) and self.full_matrices:
            return SVD(False, False).L_op(inputs, [values], [by_values])
        if self._is_undetermined(x):
            return [grad_not_implemented(self, 0, x, "use full_matrices=False, or specify_shape to say that the matrix "
                                         "is square")]
        by_left, by_values, by_right = connected(outputs, output_gradients)
        dtype = x.type.dtype
        s, across = as_dtype(rows(values), dtype), as_dtype(columns(values), dtype)
        identity = identity_for(s)
        differences = s * s - across * across + identity
        inner_left, inner_right = product(adjoint(left), by_left), product(right, adjoint(by_right))
        both = (inner_left - adjoint(inner_left)) / differences * s
        both = both + across * ((inner_right - adjoint(inner_right)) / differences)
        both = both + identity * as_dtype(rows(by_values), dtype)
        if dtype in complex_dtypes:                  # the phases of vectors that belong together
            both = both + identity * (inner_left - adjoint(inner_left)) / (2 * s)
        total = product(left, both, right)
        outside_left = (by_left - product(left, inner_left)) / s
        outside_right = (by_right - product(adjoint(inner_right), right)) / across
        return [total + product(outside_left, right) + product(left, outside_right)]


    def _is_undetermined(self, x):
        """Whether u or vh have, or may have, vectors beyond the singular values."""
        height, width = x.type.shape[-2:]
        return self.full_matrices and (height is None or height != width)

    def R_op(self, inputs, eval_points):
        if not self.compute_uv or eval_points[0] is None or not self._is_undetermined(inputs[0]):
            return super().R_op(inputs, eval_points)
        by_values, = SVD(False, False).R_op(inputs, eval_points)
        why = "use full_matrices=False for derivatives of singular vectors"
        return [grad_not_implemented(self, 0, inputs[0], why), by_values,
                grad_not_implemented(self, 0, inputs[0], why)]


def svd(a, full_matrices=True, compute_uv=True):
    """Singular values and vectors, like ``numpy.linalg.svd``.

    Parameters
    ----------
    a : matrix, or stack of matrices
    full_matrices : bool
        Whether u and vh are square.
    compute_uv : bool
        Whether to compute u and vh.

    Returns
    -------
    list of TensorVariable, or TensorVariable
        u, s and vh with ``a == (u * s).vh``, or only s, in descending order.

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, for infinities and NaN, and if LAPACK does not converge.

    Examples
    --------
    >>> T.nlinalg.svd(T.as_tensor([[3.0, 0.0], [0.0, 2.0]]), compute_uv=False).eval()
    array([3., 2.])
    """
    return SVD(full_matrices, compute_uv)(a)


class QRFull(TwiceReversed):
    """Orthogonal factors of each matrix: q and r with ``x == q.r``, where r is upper triangular.

    Parameters
    ----------
    mode : {"reduced", "complete", "raw"}
        Whether q has as many columns as the smaller dimension of x, or is square; "raw" returns LAPACK's reflections,
        transposed, and their factors, as NumPy does.
    pivoting : bool
        Whether the columns are put in such an order that the diagonal of r descends in magnitude:
        ``x[:, order] == q.r``. The order, int32, is the last output.

    Examples
    --------
    >>> q, r = T.nlinalg.QRFull("complete")(T.ones((3, 2)))
    >>> q.eval().shape, r.eval().shape
    ((3, 3), (3, 2))
    """

    __props__ = ("mode", "pivoting")

    def __init__(self, mode="reduced", pivoting=False):
        if mode not in ("reduced", "complete", "raw"):
            raise ValueError(f"Unrecognized mode {mode!r} of qr")
        self.mode, self.pivoting = mode, bool(pivoting)

    def make_node(self, x):
        x, = matrices("qr", x)
        height, width = x.type.shape[-2:]
        dtype = x.type.dtype
        order = orders_of(x) if self.pivoting else []
        if self.mode == "raw":
            return Apply(self, [x], [result(dtype, x, width, height), vector_of(x, dtype), *order])
        inner = height if self.mode == "complete" else least(x)
        return Apply(self, [x], [result(dtype, x, height, inner), result(dtype, x, inner, width), *order])

    def make_kernel(self, node):
        kernel = PivotedQRKernel if self.pivoting else QRKernel
        return kernel(node.inputs[0].type.dtype, self.lead(node), self.mode)

    def infer_shape(self, node, input_shapes):
        *lead, height, width = input_shapes[0]
        short = minimum(height, width)
        order = [(*lead, width)] if self.pivoting else []
        if self.mode == "raw":
            return [(*lead, width, height), (*lead, short), *order]
        inner = height if self.mode == "complete" else short
        return [(*lead, height, inner), (*lead, inner, width), *order]

    def L_op(self, inputs, outputs, output_gradients):
        """See Roberts and Roberts, "QR and LQ decomposition matrix backpropagation algorithms", arXiv:2009.10071. The
        columns beyond the smaller dimension are functions of the others."""
        x, = inputs
        if self.mode == "raw" or self.mode == "complete" and (
                None in x.type.shape[-2:] or x.type.shape[-2] > x.type.shape[-1]):
            return [grad_not_implemented(self, 0, x, f"the gradient of qr in mode {self.mode!r} is not defined for "
                                         "matrices that have, or may have, more rows than columns")]
        q, r = outputs[:2]
        by_q, by_r = connected([q, r], output_gradients[:2])
        return [in_order(x, outputs[2:], lambda x: orthogonal_gradient(x, q, r, by_q, by_r))]


class QRIncomplete(TwiceReversed):
    """The upper triangular factor of each matrix: r with ``adjoint(r).r == adjoint(x).x``.

    Parameters
    ----------
    mode : {"r"}
    pivoting : bool
        As of `QRFull`.

    Examples
    --------
    >>> T.nlinalg.QRIncomplete("r")(T.ones((3, 2))).eval().shape
    (2, 2)
    """

    __props__ = ("mode", "pivoting")

    def __init__(self, mode="r", pivoting=False):
        if mode != "r":
            raise ValueError(f"Unrecognized mode {mode!r} of qr for one factor")
        self.mode, self.pivoting = mode, bool(pivoting)

    def make_node(self, x):
        x, = matrices("qr", x)
        order = orders_of(x) if self.pivoting else []
        return Apply(self, [x], [result(x.type.dtype, x, least(x), x.type.shape[-1]), *order])

    def make_kernel(self, node):
        kernel = PivotedQRKernel if self.pivoting else QRKernel
        return kernel(node.inputs[0].type.dtype, self.lead(node), "r")

    def infer_shape(self, node, input_shapes):
        *lead, height, width = input_shapes[0]
        return [(*lead, minimum(height, width), width), *([(*lead, width)] if self.pivoting else [])]

    def L_op(self, inputs, outputs, output_gradients):
        x, = inputs
        by_r = output_gradients[0]
        q, r, *order = QRFull("reduced", self.pivoting)(x)
        return [in_order(x, order, lambda x: orthogonal_gradient(x, q, r, q.zeros_like(), by_r))]


def orders_of(x):
    """A variable for the order of the columns of each matrix, in a list."""
    lead, width = x.type.ndim - 2, x.type.shape[-1]
    return [TensorType("int32", [*x.type.broadcastable[:lead], width == 1], shape=[*x.type.shape[:lead], width])()]


def in_order(x, order, gradient):
    """The gradient with respect to x, if it is known as a function of x with its columns in another order."""
    if not order:
        return gradient(x)
    moves = as_dtype(eq(columns(arange(shape_i(x, x.type.ndim - 1))), rows(order[0])), x.type.dtype)
    return product(gradient(product(x, moves)), transposed(moves))


def orthogonal_gradient(x, q, r, by_q, by_r):
    """The gradient with respect to x. Its columns beyond its rows, if any, are q times those of r."""
    rank = x.type.ndim
    short = minimum(shape_i(x, rank - 2), shape_i(x, rank - 1))
    first, beyond = (..., slice(None, short)), (..., slice(short, None))
    by_beyond = product(q, getitem(by_r, beyond))
    by_q = by_q + product(getitem(x, beyond), adjoint(getitem(by_r, beyond)))
    r, by_r = getitem(r, first), triu(getitem(by_r, first))
    inner = product(r, adjoint(by_r)) - product(adjoint(by_q), q)
    inner = tril(inner, -1) + adjoint(tril(inner, -1)) + _real_diagonal(inner)
    whole = solve_triangular(r, adjoint(by_q + product(q, inner)), lower=False)
    return concatenate([adjoint(whole), by_beyond], axis=rank - 1)


def _real_diagonal(x):
    half = (x + adjoint(x)) / 2
    return triu(tril(half))


def qr(a, mode="reduced"):
    """Orthogonal factors, like ``numpy.linalg.qr``.

    Parameters
    ----------
    a : matrix, or stack of matrices
    mode : {"reduced", "complete", "r", "raw"}
        "r" returns r only.

    Returns
    -------
    list of TensorVariable, or TensorVariable
        q and r with ``a == q.r``, or r, or LAPACK's reflections and their factors.

    Raises
    ------
    ValueError
        For another mode.

    Examples
    --------
    >>> q, r = T.nlinalg.qr(T.as_tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> abs(r).eval().round(3)
    array([[5. , 2.2],
           [0. , 0.4]])
    """
    return QRIncomplete(mode)(a) if mode == "r" else QRFull(mode)(a)


MODES = {"full": "complete", "qr": "complete", "r": "r", "economic": "reduced", "raw": "raw"}    # SciPy's → NumPy's


def scipy_qr(a, mode="full", pivoting=False):
    """Orthogonal factors, like ``scipy.linalg.qr``.

    Parameters
    ----------
    a : matrix, or stack of matrices
    mode : {"full", "r", "economic", "raw"}
        "full": q is square. "economic": it has as many columns as the smaller dimension. "r": r only, of the shape of
        ``a``. "raw": LAPACK's reflections and their factors in place of q.
    pivoting : bool
        Whether the columns are put in such an order that the diagonal of r descends in magnitude:
        ``a[:, p] == q.r``.

    Returns
    -------
    q, r : TensorVariable
        ``a == q.r``; for "r" r only (alone, if there is no p), for "raw" a pair in place of q.
    p : TensorVariable
        Only with ``pivoting``: the order. int32.

    Raises
    ------
    ValueError
        For another mode.

    Examples
    --------
    >>> q, r, p = T.slinalg.qr(T.as_tensor([[1.0, 3.0], [2.0, 4.0]]), pivoting=True)
    >>> abs(r).eval().round(3), p.eval()
    (array([[5. , 2.2],
           [0. , 0.4]]), array([1, 0], dtype=int32))
    """
    if mode not in MODES:
        raise ValueError(f"qr: mode must be one of {', '.join(map(repr, MODES))}, got {mode!r}")
    a, = matrices("qr", a)
    rank = a.type.ndim
    lead, height, width = [shape_i(a, axis) for axis in range(rank - 2)], *[shape_i(a, rank - 2), shape_i(a, rank - 1)]
    if mode == "r":
        found = QRIncomplete(pivoting=pivoting)(a)
        upper, *order = found if pivoting else [found]
        beyond = zeros([*lead, height - minimum(height, width), width], dtype=a.type.dtype)
        upper = concatenate([upper, beyond], axis=rank - 2)
        return (upper, *order) if pivoting else upper
    first, second, *order = QRFull(MODES[mode], pivoting)(a)
    if mode != "raw":
        return (first, second, *order)
    reflections = transposed(first)
    upper = triu(getitem(reflections, (..., slice(None, minimum(height, width)), slice(None))))
    return ((reflections, second), upper, *order)

"""Eigenvalues and eigenvectors."""
import numpy

from phintys.graph.apply import Apply
from phintys.ops.elementwise.complex_derivatives import conjugated
from phintys.ops.elementwise.scalar import as_dtype, real
from phintys.ops.factorizations.general_kernel import EigKernel
from phintys.ops.factorizations.solve import Solve
from phintys.ops.factorizations.spectral_kernel import EighKernel, RelativeEighKernel
from phintys.ops.factorizations.stacks import (
    MatrixOp,
    TwiceReversed,
    adjoint,
    columns,
    connected,
    identity_for,
    matrices,
    missing,
    order_of,
    product,
    real_dtype,
    result,
    rows,
)
from phintys.ops.linalg.diagonal import diagonal
from phintys.ops.linalg.triangle import tril, triu
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.slice_type import NoneConst
from phintys.ops.types.tensor_type import TensorType


def values_of(x, dtype):
    """A variable for a vector of eigenvalues of each matrix."""
    lead = x.type.ndim - 2
    return TensorType(dtype, [*x.type.broadcastable[:lead], order_of(x) == 1],
                      shape=[*x.type.shape[:lead], order_of(x)])()


def gaps(values):
    """``1 / (values[j] - values[i])`` at row i and column j, and 0 on the diagonal."""
    identity = identity_for(values)
    return 1 / (rows(values) - columns(values) + identity) - identity


def by_triangle(gradient, lower):
    """The gradient with respect to a Hermitian matrix of which one triangle is read, from the gradient by all
    elements."""
    both = gradient + adjoint(gradient)
    half = numpy.asarray(0.5, "float32")
    return (tril(both) + tril(both, -1)) * half if lower else (triu(both) + triu(both, 1)) * half


class Eig(TwiceReversed):
    """Eigenvalues and right eigenvectors of each square matrix, of its dtype. If those of a real matrix are complex,
    their imaginary parts are lost, with a ComplexWarning, as in Theano; use a complex matrix to keep them. NumPy 2.5
    and later always return complex numbers.

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square or not finite.

    Examples
    --------
    >>> values, vectors = T.nlinalg.eig(T.as_tensor([[2.0, 0.0], [0.0, 3.0]]))
    >>> values.eval(), vectors.eval()
    (array([2., 3.]), array([[1., 0.],
           [0., 1.]]))
    """

    __props__ = ()

    def make_node(self, x):
        x, = matrices(str(self).lower(), x)
        return Apply(self, [x], [values_of(x, x.type.dtype), result(x.type.dtype, x, *[order_of(x)] * 2)])

    def make_kernel(self, node):
        return EigKernel(node.inputs[0].type.dtype, self.lead(node))

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0][:-1], input_shapes[0]]

    def L_op(self, inputs, outputs, output_gradients):
        """Each eigenvector keeps the length 1 and, as LAPACK scales it, a real largest component.

        So costs that depend on the phase of an eigenvector have no valid gradient."""
        values, vectors = outputs
        by_values, by_vectors = connected(outputs, output_gradients)
        overlap = product(adjoint(vectors), vectors)
        inner = product(adjoint(vectors), by_vectors)
        scaled = rows(real(diagonal(inner, axis1=inner.type.ndim - 2, axis2=inner.type.ndim - 1)))
        inner = inner - overlap * as_dtype(scaled, vectors.type.dtype)
        middle = conjugated(gaps(values)) * inner + identity_for(values) * columns(by_values)
        return [Solve()(adjoint(vectors), product(middle, adjoint(vectors)))]


eig = Eig()


def by_eigensystem(values, vectors, by_values, by_vectors, lower):
    """The gradient with respect to a Hermitian matrix, from those with respect to its eigenvalues and -vectors."""
    inner = None
    if not missing(by_vectors):
        inner = as_dtype(gaps(values), vectors.type.dtype) * product(adjoint(vectors), by_vectors)
    if not missing(by_values):
        weights = identity_for(vectors) * as_dtype(columns(by_values), vectors.type.dtype)
        inner = weights if inner is None else inner + weights
    return by_triangle(product(vectors, inner, adjoint(vectors)), lower)


class Eigh(Eig):
    """Eigenvalues, in ascending order, and eigenvectors of each Hermitian matrix.

    Parameters
    ----------
    UPLO : {"L", "U"}
        Which triangle is read.
    driver : {"evd", "evr"}
        LAPACK's method, which decides the signs of the vectors: divide and conquer, as ``numpy.linalg.eigh``, or for
        real matrices relatively robust representations, as ``scipy.linalg.eigh``.

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square or not finite.

    Examples
    --------
    >>> values, vectors = T.nlinalg.Eigh()(T.as_tensor([[2.0, 0.0], [0.0, 3.0]]))
    >>> values.eval()
    array([2., 3.])
    """

    __props__ = ("UPLO", "driver")

    def __init__(self, UPLO="L", driver="evd"):
        for name, value, allowed in (("UPLO", UPLO, ("L", "U")), ("driver", driver, ("evd", "evr"))):
            if value not in allowed:
                raise ValueError(f"{name} argument must be {allowed[0]!r} or {allowed[1]!r}, got {value!r}")
        self.UPLO, self.driver = UPLO, driver

    def make_node(self, x):
        x, = matrices("eigh", x)
        return Apply(self, [x], [values_of(x, real_dtype(x.type.dtype)),
                                 result(x.type.dtype, x, *[order_of(x)] * 2)])

    def make_kernel(self, node):
        dtype, lower = node.inputs[0].type.dtype, self.UPLO == "L"
        if self.driver == "evr" and dtype in ("float32", "float64"):
            return RelativeEighKernel(dtype, self.lead(node), lower)
        return EighKernel(dtype, self.lead(node), lower, True)

    def L_op(self, inputs, outputs, output_gradients):
        return [by_eigensystem(*outputs, *output_gradients, self.UPLO == "L")]

    def R_op(self, inputs, eval_points):
        values, vectors = self(*inputs)
        point, = eval_points
        point = tril(point) + adjoint(tril(point, -1)) if self.UPLO == "L" else triu(point) + adjoint(triu(point, 1))
        inner = product(adjoint(vectors), point, vectors)
        rank = inner.type.ndim
        return [real(diagonal(inner, axis1=rank - 2, axis2=rank - 1)),
                product(vectors, as_dtype(gaps(values), vectors.type.dtype) * inner)]


class EighGrad(MatrixOp):
    """The gradient of `Eigh`, from its input, its outputs and their gradients. Calling it makes a graph of other ops.

    Parameters
    ----------
    UPLO : {"L", "U"}
        Which triangle is read.

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> values, vectors = T.nlinalg.eigh(x)
    >>> phintys.grad(values.sum(), x).eval({x: [[2.0, 0.0], [0.0, 3.0]]})
    array([[1., 0.],
           [0., 1.]])
    """

    __props__ = ("UPLO",)

    def __init__(self, UPLO="L"):
        self.UPLO = Eigh(UPLO).UPLO

    def __call__(self, x, w, v, gw, gv):
        x, v, gv = matrices("eigh", x, v, gv)
        return by_eigensystem(as_tensor_variable(w), v, as_tensor_variable(gw), gv, self.UPLO == "L")


def eigh(a, UPLO="L"):
    """Eigenvalues and eigenvectors of Hermitian matrices, like ``numpy.linalg.eigh``.

    Parameters
    ----------
    a : square matrix, or stack of them
    UPLO : {"L", "U"}
        Which triangle is read.

    Returns
    -------
    list of TensorVariable
        The eigenvalues, in ascending order, and the eigenvectors, as columns.

    Raises
    ------
    ValueError
        For another UPLO.
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square or not finite.

    Examples
    --------
    >>> values, vectors = T.nlinalg.eigh(T.as_tensor([[2.0, 0.0], [0.0, 1.0]]))
    >>> values.eval()
    array([1., 2.])
    """
    return Eigh(UPLO)(a)


class Eigvalsh(MatrixOp):
    """Eigenvalues, in ascending order, of a Hermitian matrix; with a second, positive definite matrix b, the numbers w
    with ``a v = w b v``.

    Parameters
    ----------
    lower : bool
        Which triangle of the matrices is read.

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square or not finite, or if b is not positive definite.

    Examples
    --------
    >>> T.slinalg.Eigvalsh()(T.as_tensor([[2.0, 1.0], [1.0, 2.0]]), None).eval()
    array([1., 3.])
    """

    __props__ = ("lower",)

    def __init__(self, lower=True):
        if lower not in (True, False):
            raise ValueError(f"lower must be True or False, got {lower!r}")
        self.lower = bool(lower)

    def make_node(self, a, b=None):
        alone = b is None or b is NoneConst
        operands = matrices("eigvalsh", *([a] if alone else [a, b]))
        if not alone and {operand.type.ndim for operand in operands} != {2}:
            raise ValueError("eigvalsh: generalized eigenvalues need two matrices, not stacks of them")
        return Apply(self, operands, [values_of(operands[0], real_dtype(operands[0].type.dtype))])

    def make_kernel(self, node):
        if len(node.inputs) == 2:
            return None
        return EighKernel(node.inputs[0].type.dtype, self.lead(node), self.lower, False)

    def perform(self, node, inputs, output_storage):
        if len(inputs) == 1:
            MatrixOp.perform(self, node, inputs, output_storage)
            return
        import scipy.linalg
        output_storage[0][0] = scipy.linalg.eigvalsh(*inputs, lower=self.lower)

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0][:-1]]

    def L_op(self, inputs, outputs, output_gradients):
        by_values, = output_gradients
        if len(inputs) == 2:
            return EigvalshGrad(self.lower)(*inputs, by_values)
        _, vectors = Eigh("L" if self.lower else "U")(inputs[0])
        weighted = vectors * as_dtype(rows(by_values), vectors.type.dtype)
        return [by_triangle(product(weighted, adjoint(vectors)), self.lower)]

    def R_op(self, inputs, eval_points):
        if len(inputs) == 1:
            return Eigh("L" if self.lower else "U").R_op(inputs, eval_points)[:1]
        values = self(*inputs)
        points = [x.zeros_like() if point is None else point for x, point in zip(inputs, eval_points)]
        if all([point is None for point in eval_points]):
            return [None]
        _, vectors = GeneralizedEigh(self.lower)(*inputs)
        triangle = tril if self.lower else triu
        first, second = [triangle(point) + adjoint(triangle(point, -1 if self.lower else 1)) for point in points]
        by_first, by_second = [diagonal(product(adjoint(vectors), point, vectors)) for point in (first, second)]
        return [real(by_first - values * by_second)]


class GeneralizedEigh(MatrixOp):
    """The numbers w and the vectors v with ``a v = w b v``, for a Hermitian a and a positive definite b; the vectors
    are scaled so that ``adjoint(v).b.v`` is the identity.

    Parameters
    ----------
    lower : bool
        Which triangle of the matrices is read.
    """

    __props__ = ("lower",)

    def __init__(self, lower=True):
        self.lower = bool(lower)

    def make_node(self, a, b):
        a, b = matrices("eigh", a, b)
        return Apply(self, [a, b], [values_of(a, real_dtype(a.type.dtype)), result(a.type.dtype, a, None, None)])

    def perform(self, node, inputs, output_storage):
        import scipy.linalg
        values, vectors = scipy.linalg.eigh(*inputs, lower=self.lower)
        output_storage[0][0], output_storage[1][0] = values, numpy.ascontiguousarray(vectors)

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0][:-1], input_shapes[0]]

    def L_op(self, inputs, outputs, output_gradients):
        values, vectors = outputs
        by_values, by_vectors = connected(outputs, output_gradients)
        dtype = vectors.type.dtype
        inner = product(adjoint(vectors), by_vectors)
        identity = identity_for(vectors)
        by_first = as_dtype(gaps(values), dtype) * inner + identity * as_dtype(columns(by_values), dtype)
        by_second = -by_first * as_dtype(rows(values), dtype) - identity * inner * numpy.asarray(0.5, "float32")
        return [by_triangle(product(vectors, middle, adjoint(vectors)), self.lower) for middle in (by_first, by_second)]


class EigvalshGrad(MatrixOp):
    """The gradients of generalized eigenvalues by both matrices; ``gw`` is the gradient by the eigenvalues.

    Calling it makes a graph of other ops.

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> values = T.slinalg.eigvalsh(x, T.eye(2))
    >>> phintys.grad(values.sum(), x).eval({x: [[2.0, 0.0], [0.0, 1.0]]})
    array([[1., 0.],
           [0., 1.]])
    """

    __props__ = ("lower",)

    def __init__(self, lower=True):
        self.lower = bool(lower)

    def __call__(self, a, b, gw):
        a, b = matrices("eigvalsh", a, b)
        values, vectors = GeneralizedEigh(self.lower)(a, b)
        gw = as_tensor_variable(gw)
        return [by_triangle(product(vectors * rows(weights), adjoint(vectors)), self.lower)
                for weights in (gw, -gw * values)]


def eigvalsh(a, b=None, lower=True):
    """Eigenvalues of Hermitian matrices, in ascending order, like ``scipy.linalg.eigvalsh``.

    Parameters
    ----------
    a : square matrix, or stack of them
    b : positive definite matrix, optional
        If given, the numbers w with ``a v = w b v`` are computed.
    lower : bool
        Which triangle is read.

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square or not finite, or if b is not positive definite.

    Examples
    --------
    >>> T.slinalg.eigvalsh(T.as_tensor([[2.0, 1.0], [1.0, 2.0]]), None).eval()
    array([1., 3.])
    """
    return Eigvalsh(lower)(a, b)

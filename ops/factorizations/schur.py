"""Schur forms of matrices and of pairs of matrices, and Sylvester's and Lyapunov's equations."""
from phintys.graph.apply import Apply
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.factorizations.schur_kernel import SORTS, GeneralizedSchurKernel, SchurKernel, SylvesterKernel
from phintys.ops.factorizations.solve import as_operand, checked_on_error, solve
from phintys.ops.factorizations.stacks import (
    MatrixOp,
    adjoint,
    identity_for,
    matrices,
    order_of,
    product,
    result,
)
from phintys.ops.linalg.triangle import triu
from phintys.ops.shape.dimshuffle import shape_padleft
from phintys.ops.types.dtypes import complex_dtypes
from phintys.ops.types.tensor_type import TensorType

COMPLEX = {"float32": "complex64", "float64": "complex128"}
OUTPUTS = {"real": False, "r": False, "complex": True, "c": True}


def checked_sort(name, sort):
    """Return how eigenvalues are sorted; raise ValueError for anything that SciPy does not know."""
    if sort is not None and (not isinstance(sort, str) or sort not in SORTS):
        raise ValueError(f"{name}: sort must be None or one of {', '.join(map(repr, SORTS))}, got {sort!r}"
                         + (" (functions are not supported)" if callable(sort) else ""))
    return sort


def of_output(name, output, *operands):
    """Matrices for the output, ``"real"`` or ``"complex"``: of a complex dtype for the latter."""
    if output not in OUTPUTS:
        raise ValueError(f"{name}: output must be 'real' or 'complex', got {output!r}")
    operands = matrices(name, *operands)
    dtype = operands[0].type.dtype
    return [as_dtype(x, COMPLEX.get(dtype, dtype)) for x in operands] if OUTPUTS[output] else operands


class Stacked(MatrixOp):
    """The base class of ops of several matrices whose leading dimensions broadcast."""

    def operands(self, name, *operands):
        """Operands of one dtype, with equally many leading dimensions, and a variable like the result's."""
        operands = matrices(name, *operands)
        rank = max([x.type.ndim for x in operands])
        operands = [shape_padleft(x, rank - x.type.ndim) if x.type.ndim < rank else x for x in operands]
        flags, lengths = [], []
        for axis in range(rank - 2):
            whole = [x for x in operands if not x.type.broadcastable[axis]]
            flags.append(not whole)
            lengths.append(next((x.type.shape[axis] for x in whole if x.type.shape[axis] is not None), None)
                           if whole else 1)
        like = TensorType(operands[0].type.dtype, [*flags, False, False], shape=[*lengths, None, None])()
        return operands, like

    def lead_shape(self, node, input_shapes):
        """The lengths of the leading dimensions of the results."""
        found = []
        for axis in range(self.lead(node)):
            whole = [position for position, x in enumerate(node.inputs) if not x.type.broadcastable[axis]]
            found.append(input_shapes[whole[0] if whole else 0][axis])
        return found

    def masks(self, node):
        """The kernel's argument that names the leading dimensions in which inputs are broadcast."""
        return self.spread(node).get("spread", (0,) * len(node.inputs))


class Schur(MatrixOp):
    """The Schur form of each square matrix: t, z and a count with ``x == z.t.adjoint(z)``.

    z is unitary, and t upper triangular; that of a real matrix has blocks of 2 by 2 for pairs of complex eigenvalues.

    Parameters
    ----------
    sort : {None, "lhp", "rhp", "iuc", "ouc"}
        Which eigenvalues come first: those in the left or right half of the plane, or inside or outside the unit
        circle. The third output says how many these are; it is 0 without an order.
    on_error : {"raise", "nan"}
        "nan": what cannot be computed is NaN.

    Raises
    ------
    ValueError
        For another ``sort``; at run time, for infinities and NaN.
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square, and if LAPACK does not converge or cannot sort.

    Examples
    --------
    >>> t, z, count = T.slinalg.Schur(sort="lhp")(T.as_tensor([[1.0, 2.0], [0.0, -3.0]]))
    >>> t.eval().diagonal(), count.eval()
    (array([-3.,  1.]), array(1, dtype=int32))
    """

    __props__ = ("sort", "on_error")

    def __init__(self, sort=None, on_error="raise"):
        self.sort, self.on_error = checked_sort("schur", sort), checked_on_error(on_error)

    def make_node(self, x):
        x, = matrices("schur", x)
        lead, order = x.type.ndim - 2, order_of(x)
        return Apply(self, [x], [
            result(x.type.dtype, x, order, order), result(x.type.dtype, x, order, order),
            TensorType("int32", x.type.broadcastable[:lead], shape=x.type.shape[:lead])()])

    def make_kernel(self, node):
        return SchurKernel(node.inputs[0].type.dtype, self.lead(node), self.sort, self.on_error == "nan")

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0], input_shapes[0], input_shapes[0][:-2]]


class GeneralizedSchur(Stacked):
    """The Schur forms of pairs of square matrices, by the QZ algorithm: s, t, alpha, beta, q and z with
    ``a == q.s.adjoint(z)`` and ``b == q.t.adjoint(z)``. The eigenvalues are ``alpha / beta``; alpha is complex.

    Parameters
    ----------
    sort : {None, "lhp", "rhp", "iuc", "ouc"}
        Which eigenvalues come first, as of `Schur`. An infinite one is only outside the unit circle.
    on_error : {"raise", "nan"}
        "nan": what cannot be computed is NaN.

    Raises
    ------
    ValueError
        For another ``sort``; at run time, for matrices that are not square or of different orders, for infinities and
        NaN, and if eigenvalues cannot be sorted.
    numpy.linalg.LinAlgError
        At run time, if LAPACK does not converge.

    Examples
    --------
    >>> a, b = T.as_tensor([[1.0, 2.0], [3.0, 4.0]]), T.as_tensor([[2.0, 0.0], [0.0, 1.0]])
    >>> s, t, alpha, beta, q, z = T.slinalg.GeneralizedSchur("lhp")(a, b)
    >>> (q.dot(s).dot(z.T)).eval().round(6)
    array([[1., 2.],
           [3., 4.]])
    """

    __props__ = ("sort", "on_error")

    def __init__(self, sort=None, on_error="raise"):
        self.sort, self.on_error = checked_sort("qz", sort), checked_on_error(on_error)

    def make_node(self, a, b):
        (a, b), like = self.operands("qz", a, b)
        dtype, order = like.type.dtype, order_of(a)
        lead = like.type.ndim - 2

        def vector(dtype):
            return TensorType(dtype, [*like.type.broadcastable[:lead], order == 1],
                              shape=[*like.type.shape[:lead], order])()

        forms = [result(dtype, like, order, order) for _ in range(4)]
        return Apply(self, [a, b], [*forms[:2], vector(COMPLEX.get(dtype, dtype)), vector(dtype), *forms[2:]])

    def make_kernel(self, node):
        return GeneralizedSchurKernel(node.inputs[0].type.dtype, self.lead(node), self.masks(node), self.sort,
                                      self.on_error == "nan")

    def infer_shape(self, node, input_shapes):
        lead, order = self.lead_shape(node, input_shapes), input_shapes[0][-1]
        matrix, vector = (*lead, order, order), (*lead, order)
        return [matrix, matrix, vector, vector, matrix, matrix]


class SolveSylvester(Stacked):
    """Solves ``a.x + x.b == q`` for x.

    Parameters
    ----------
    triangular : bool
        Whether a and b are Schur forms, which saves computing them. What is below their diagonals, and the blocks of
        real ones, is not read.
    on_error : {"raise", "nan"}
        "nan": infinities and NaN are computed with.

    Raises
    ------
    ValueError
        At run time, for lengths that do not fit, and for infinities and NaN.
    numpy.linalg.LinAlgError
        At run time, for matrices a and b that are not square.

    Examples
    --------
    >>> a, b = T.as_tensor([[1.0, 0.0], [0.0, 2.0]]), T.as_tensor([[3.0]])
    >>> T.slinalg.SolveSylvester()(a, b, T.as_tensor([[4.0], [10.0]])).eval()
    array([[1.],
           [2.]])
    """

    __props__ = ("triangular", "on_error")

    def __init__(self, triangular=False, on_error="raise"):
        self.triangular, self.on_error = bool(triangular), checked_on_error(on_error)

    def make_node(self, a, b, q):
        operands, like = self.operands("solve_sylvester", a, b, q)
        a, b, q = operands
        rows, columns = [known if known is not None else order_of(x)
                         for known, x in zip(q.type.shape[-2:], (a, b))]
        return Apply(self, operands, [result(like.type.dtype, like, rows, columns)])

    def make_kernel(self, node):
        return SylvesterKernel(node.inputs[0].type.dtype, self.lead(node), self.masks(node), self.triangular,
                               self.on_error == "nan")

    def infer_shape(self, node, input_shapes):
        return [(*self.lead_shape(node, input_shapes), *input_shapes[2][-2:])]

    def part(self, x):
        """The part of a matrix that the op reads."""
        if not self.triangular:
            return x
        return triu(x, 0 if x.type.dtype in complex_dtypes else -1)

    def L_op(self, inputs, outputs, output_gradients):
        """See Kao and Hennequin, "Automatic differentiation of Sylvester, Lyapunov, and algebraic Riccati equations",
        arXiv:2011.11430."""
        a, b, q = inputs
        x, = outputs
        by_q = SolveSylvester(on_error=self.on_error)(adjoint(self.part(a)), adjoint(self.part(b)), output_gradients[0])
        by_a, by_b = -product(by_q, adjoint(x)), -product(adjoint(x), by_q)
        return [as_operand(self.part(by_a), a), as_operand(self.part(by_b), b), as_operand(by_q, q)]

    def R_op(self, inputs, eval_points):
        by_a, by_b, by_q = eval_points
        if by_a is None and by_b is None and by_q is None:
            return [None]
        x = self(*inputs)
        right = x.zeros_like() if by_q is None else by_q
        if by_a is not None:
            right = right - product(self.part(by_a), x)
        if by_b is not None:
            right = right - product(x, self.part(by_b))
        return [self(inputs[0], inputs[1], right)]


def schur(a, output="real", sort=None):
    """The Schur form of a square matrix, like ``scipy.linalg.schur``.

    Parameters
    ----------
    a : square matrix, or stack of them
    output : {"real", "complex"}
        "complex" makes t of a real matrix upper triangular; otherwise it may have blocks of 2 by 2 on its diagonal.
    sort : {None, "lhp", "rhp", "iuc", "ouc"}
        Which eigenvalues come first: those in the left or right half of the plane, or inside or outside the unit
        circle.

    Returns
    -------
    t, z : TensorVariable
        ``a == z.t.adjoint(z)``.
    sdim : TensorVariable
        Only with ``sort``: how many eigenvalues come first.

    Raises
    ------
    ValueError
        For another ``output`` or ``sort``, a function too; at run time, for infinities and NaN.
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square, and if LAPACK does not converge or cannot sort.

    Examples
    --------
    >>> t, z = T.slinalg.schur(T.as_tensor([[1.0, 2.0], [0.0, 3.0]]))
    >>> t.eval()
    array([[1., 2.],
           [0., 3.]])
    """
    a, = of_output("schur", output, a)
    t, z, count = Schur(sort)(a)
    return (t, z) if sort is None else (t, z, count)


def qz(A, B, output="real"):
    """The Schur forms of a pair of square matrices, like ``scipy.linalg.qz``.

    Parameters
    ----------
    A, B : square matrix, or stack of them
    output : {"real", "complex"}
        As of `schur`.

    Returns
    -------
    AA, BB, Q, Z : TensorVariable
        ``A == Q.AA.adjoint(Z)`` and ``B == Q.BB.adjoint(Z)``.

    Raises
    ------
    ValueError
        For another ``output``; at run time, for matrices that are not square or of different orders, and for infinities
        and NaN.
    numpy.linalg.LinAlgError
        At run time, if LAPACK does not converge.

    Examples
    --------
    >>> a, b = T.as_tensor([[1.0, 2.0], [3.0, 4.0]]), T.as_tensor([[2.0, 0.0], [0.0, 1.0]])
    >>> AA, BB, Q, Z = T.slinalg.qz(a, b)
    >>> Q.dot(BB).dot(Z.T).eval().round(6) + 0.0
    array([[2., 0.],
           [0., 1.]])
    """
    s, t, _, _, q, z = GeneralizedSchur()(*of_output("qz", output, A, B))
    return s, t, q, z


def ordqz(A, B, sort="lhp", output="real"):
    """The Schur forms of a pair of square matrices with its eigenvalues in an order, like ``scipy.linalg.ordqz``.

    Parameters
    ----------
    A, B : square matrix, or stack of them
    sort : {"lhp", "rhp", "iuc", "ouc"}
        Which eigenvalues come first, as of `schur`. An infinite one is only outside the unit circle.
    output : {"real", "complex"}

    Returns
    -------
    AA, BB, alpha, beta, Q, Z : TensorVariable
        ``A == Q.AA.adjoint(Z)`` and ``B == Q.BB.adjoint(Z)``; the eigenvalues are ``alpha / beta``. alpha is complex.

    Raises
    ------
    ValueError
        For another ``sort`` or ``output``; see `qz`.
    numpy.linalg.LinAlgError
        At run time, if LAPACK does not converge.

    Examples
    --------
    >>> a, b = T.as_tensor([[1.0, 2.0], [3.0, 4.0]]), T.as_tensor([[2.0, 0.0], [0.0, 1.0]])
    >>> AA, BB, alpha, beta, Q, Z = T.slinalg.ordqz(a, b, "rhp")
    >>> (T.real(alpha) / beta).eval().round(3)
    array([ 4.712, -0.212])
    """
    if sort is None:
        raise ValueError(f"ordqz: sort must be one of {', '.join(map(repr, SORTS))}; qz does not sort")
    return tuple(GeneralizedSchur(sort)(*of_output("ordqz", output, A, B)))


def solve_sylvester(a, b, q):
    """Solve ``a.x + x.b == q`` for x, like ``scipy.linalg.solve_sylvester``.

    Parameters
    ----------
    a, b : square matrix, or stack of them
    q : matrix, or stack of matrices

    Returns
    -------
    TensorVariable
        Of the shape of ``q``, with leading dimensions broadcast.

    Raises
    ------
    ValueError
        At run time, for lengths that do not fit, and for infinities and NaN.
    numpy.linalg.LinAlgError
        At run time, for matrices a and b that are not square.

    Examples
    --------
    >>> T.slinalg.solve_sylvester(T.as_tensor([[2.0]]), T.as_tensor([[3.0]]), T.as_tensor([[10.0]])).eval()
    array([[2.]])
    """
    return SolveSylvester()(a, b, q)


def solve_continuous_lyapunov(a, q):
    """Solve ``a.x + x.adjoint(a) == q`` for x, like ``scipy.linalg.solve_continuous_lyapunov``.

    Parameters
    ----------
    a, q : square matrix, or stack of them

    Raises
    ------
    ValueError, numpy.linalg.LinAlgError
        See `solve_sylvester`.

    Examples
    --------
    >>> T.slinalg.solve_continuous_lyapunov(T.as_tensor([[2.0]]), T.as_tensor([[8.0]])).eval()
    array([[2.]])
    """
    a, q = matrices("solve_continuous_lyapunov", a, q)
    return SolveSylvester()(a, adjoint(a), q)


def solve_discrete_lyapunov(a, q):
    """Solve ``a.x.adjoint(a) - x + q == 0`` for x, like ``scipy.linalg.solve_discrete_lyapunov``.

    The equation is made a continuous one by a bilinear transformation.

    Parameters
    ----------
    a, q : square matrix, or stack of them

    Raises
    ------
    ValueError
        At run time, for lengths that do not fit, and for infinities and NaN.
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square, and if -1 is an eigenvalue of ``a``.

    Examples
    --------
    >>> T.slinalg.solve_discrete_lyapunov(T.as_tensor([[0.5]]), T.as_tensor([[3.0]])).eval().round(9)
    array([[4.]])
    """
    a, q = matrices("solve_discrete_lyapunov", a, q)
    plus, minus = adjoint(a) + identity_for(a), adjoint(a) - identity_for(a)
    # Products with the inverse of `plus`, from the right: solutions with the transpose
    b = adjoint(solve(adjoint(plus), adjoint(minus)))
    c = 2 * adjoint(solve(adjoint(plus), adjoint(solve(adjoint(plus), q))))
    return SolveSylvester()(adjoint(b), b, -c)

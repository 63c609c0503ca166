"""Cholesky factors of positive definite matrices."""
from phintys.graph.apply import Apply
from phintys.ops.factorizations.cholesky_kernel import CholeskyKernel
from phintys.ops.factorizations.factor_gradient import gradient_by_factor, halved
from phintys.ops.factorizations.solve import solve_triangular
from phintys.ops.factorizations.stacks import MatrixOp, adjoint, matrices, order_of, product, result
from phintys.ops.linalg.triangle import tril, triu


class Cholesky(MatrixOp):
    """The triangular factor of each Hermitian positive definite matrix: ``factor.adjoint(factor) == x`` for the lower
    one, ``adjoint(factor).factor == x`` for the upper one. Only this triangle of the matrix is read.

    Parameters
    ----------
    lower : bool
    on_error : {"raise", "nan"}
        What happens for a matrix that is not positive definite: an error, or a factor of NaN.
    destructive : bool
        Whether the factor may overwrite the matrix.

    Raises
    ------
    ValueError
        At run time, for infinities and NaN, if ``on_error`` is "raise".
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square, or not positive definite.

    Examples
    --------
    >>> T.slinalg.cholesky(T.as_tensor([[4.0, 2.0], [2.0, 5.0]])).eval()
    array([[2., 0.],
           [1., 2.]])
    """

    __props__ = ("lower", "destructive", "on_error")
    shape_as = 0
    can_overwrite = {0: (0,)}
    inplace_property = "destructive"

    def __init__(self, lower=True, on_error="raise", destructive=False):
        if on_error not in ("raise", "nan"):
            raise ValueError('on_error must be one of "raise" or "nan"')
        self.lower, self.on_error, self.destructive = bool(lower), on_error, bool(destructive)
        if self.destructive:
            self.destroy_map = {0: [0]}

    def make_node(self, x):
        x, = matrices("cholesky", x)
        return Apply(self, [x], [result(x.type.dtype, x, *[order_of(x)] * 2)])

    def make_kernel(self, node):
        return CholeskyKernel(node.inputs[0].type.dtype, self.lead(node), self.lower, self.on_error == "nan")

    def L_op(self, inputs, outputs, output_gradients):
        return [gradient_by_factor(outputs[0], output_gradients[0], self.lower, self.on_error == "nan")]

    def R_op(self, inputs, eval_points):
        x, = inputs
        factor = self(x)
        point = eval_points[0]
        triangle = tril if self.lower else triu
        point = triangle(point) + adjoint(triangle(point, -1 if self.lower else 1))
        lower = factor if self.lower else adjoint(factor)
        inner = solve_triangular(lower, point, lower=True)
        inner = adjoint(solve_triangular(lower, adjoint(inner), lower=True))
        changed = product(lower, halved(inner))
        return [changed if self.lower else adjoint(changed)]


class CholeskyGrad(MatrixOp):
    """The gradient of `Cholesky` under the name of Theano's op. Calling it makes a graph of other ops.

    The inputs are the matrix, its factor and the gradient with respect to the factor.

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> phintys.grad(T.slinalg.cholesky(x).sum(), x).eval({x: [[4.0, 0.0], [0.0, 1.0]]})
    array([[0.25, 0.  ],
           [0.5 , 0.5 ]])
    """

    __props__ = ("lower", "destructive")

    def __init__(self, lower=True, destructive=False):
        self.lower, self.destructive = bool(lower), bool(destructive)

    def __call__(self, x, l, dz):
        _, factor, gradient = matrices("cholesky", x, l, dz)
        return gradient_by_factor(factor, gradient, self.lower)


cholesky = Cholesky()

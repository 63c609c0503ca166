"""The matrix exponential."""
from phintys.graph.apply import Apply
from phintys.ops.factorizations.general_kernel import ExpmKernel
from phintys.ops.factorizations.stacks import MatrixOp, adjoint, matrices, order_of, result
from phintys.ops.indexing.getitem import getitem
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i


class Expm(MatrixOp):
    """The exponential of each square matrix, by scaling and squaring; NaN where an element is not finite.

    Raises
    ------
    numpy.linalg.LinAlgError
        At run time, for matrices that are not square.

    Examples
    --------
    >>> T.slinalg.expm(T.as_tensor([[0.0, 1.0], [0.0, 0.0]])).eval()
    array([[1., 1.],
           [0., 1.]])
    """

    __props__ = ()
    shape_as = 0

    def make_node(self, A):
        A, = matrices("expm", A)
        return Apply(self, [A], [result(A.type.dtype, A, *[order_of(A)] * 2)])

    def make_kernel(self, node):
        return ExpmKernel(node.inputs[0].type.dtype, self.lead(node))

    def L_op(self, inputs, outputs, output_gradients):
        return [along(adjoint(inputs[0]), output_gradients[0])]

    def R_op(self, inputs, eval_points):
        return [along(inputs[0], eval_points[0])]


def along(x, direction):
    """The derivative of the exponential along a direction: a block of the exponential of a matrix of twice the order.
    The gradient is the derivative at the adjoint, along the output gradient. Unlike formulas with eigenvectors, this is
    valid for all matrices."""
    rank = x.type.ndim
    order = shape_i(x, rank - 1)
    upper = concatenate([x, direction], axis=rank - 1)
    lower = concatenate([x.zeros_like(), x], axis=rank - 1)
    whole = expm(concatenate([upper, lower], axis=rank - 2))
    return getitem(whole, (..., slice(None, order), slice(order, None)))


class ExpmGrad(MatrixOp):
    """The gradient of `Expm`. Calling it makes a graph of other ops.

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> phintys.grad(T.slinalg.expm(x).sum(), x).eval({x: numpy.zeros((2, 2))})
    array([[1., 1.],
           [1., 1.]])
    """

    __props__ = ()

    def __call__(self, A, gw):
        A, gw = matrices("expm", A, gw)
        return along(adjoint(A), gw)


expm = Expm()

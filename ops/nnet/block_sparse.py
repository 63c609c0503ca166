"""Products with some blocks of a large matrix; the other blocks are not computed.

``SparseBlockGemv`` multiplies vectors by blocks, and ``SparseBlockOuter`` adds outer products to blocks; the gradients
of both are products of the same kinds.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import grad_undefined
from phintys.ops.elementwise.scalar import as_dtype
from phintys.ops.indexing.take import take
from phintys.ops.nnet.block_sparse_kernel import BlockGemvKernel, BlockOuterKernel
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import integer_dtypes


def sparse_block_dot(W, h, inputIdx, b, outputIdx):
    """The product of blocks of a vector with blocks of a matrix, plus a bias.

    Parameters
    ----------
    W : 4-D tensor of floats
        (blocks of the input, blocks of the output, size of an input block, size of an output block).
    h : 3-D tensor, or matrix
        The blocks of the input that are not zero: (examples, blocks, size of an input block). A matrix is one example.
    inputIdx : matrix of integers, or vector
        Which blocks of the input these are.
    b : matrix
        The bias: (blocks of the output, size of an output block).
    outputIdx : matrix of integers, or vector
        Which blocks of the output to compute: (examples, blocks).

    Returns
    -------
    Variable
        (examples, blocks, size of an output block).

    Raises
    ------
    TypeError
        If ranks do not fit together, or positions are not integers.
    ValueError, IndexError
        At run time, for shapes that do not fit together, and for positions out of range.

    Examples
    --------
    >>> W, h, b = T.tensor4(), T.tensor3(), T.matrix()
    >>> out = T.nnet.blocksparse.sparse_block_dot(W, h, numpy.array([[1]]), b, numpy.array([[0]]))
    >>> f = phintys.function([W, h, b], out)
    >>> f(numpy.ones((2, 1, 3, 2)), [[[1, 2, 3]]], [[0.5, 1]])
    array([[[6.5, 7. ]]])
    """
    h, inputIdx, outputIdx = map(as_tensor_variable, (h, inputIdx, outputIdx))
    if inputIdx.type.ndim != h.type.ndim - 1 or outputIdx.type.ndim != inputIdx.type.ndim:
        raise TypeError("sparse_block_dot: inputIdx and outputIdx have one dimension less than h, got ranks "
                        f"{inputIdx.type.ndim}, {outputIdx.type.ndim} and {h.type.ndim}")
    if h.type.ndim == 2:
        h, inputIdx, outputIdx = [dimshuffle(variable, "x", *range(variable.type.ndim))
                                  for variable in (h, inputIdx, outputIdx)]
    return sparse_block_gemv(take(as_tensor_variable(b), outputIdx, axis=0), W, h, inputIdx, outputIdx)


class BlockSparseOp(Op):
    """Base of the two ops. Inputs 3 and 4 are the positions of blocks; the result may take the memory of input 0.

    Parameters
    ----------
    inplace : bool
        Whether the result overwrites the first input.
    """

    __props__ = ("inplace",)
    shape_as = 0
    registered_opts = []
    can_overwrite = {0: (0,)}

    def __init__(self, inplace=False):
        self.inplace = inplace
        if inplace:
            self.destroy_map = {0: [0]}

    def operands(self, values, ranks):
        """Floats of one dtype, that of the first."""
        variables = [as_tensor_variable(value) for value in values]
        first = variables[0]
        if first.type.dtype not in ("float32", "float64"):
            raise TypeError(f"{self} takes float32 or float64, got {first} of type {first.type}")
        for position, (variable, rank) in enumerate(zip(variables, ranks)):
            if variable.type.ndim != rank:
                raise TypeError(f"{self}: input {position} must have {rank} dimensions, got {variable} of type "
                                f"{variable.type}")
        return [variable if variable.type.dtype == first.type.dtype else as_dtype(variable, first.type.dtype)
                for variable in variables]

    def positions(self, *values):
        """Positions of blocks as variables; TypeError unless they are matrices of integers."""
        variables = [as_tensor_variable(value) for value in values]
        for variable in variables:
            if variable.type.ndim != 2 or variable.type.dtype not in integer_dtypes:
                raise TypeError(f"{self}: the positions of blocks must be a matrix of integers, got {variable} of type "
                                f"{variable.type}")
        return variables

    def position_dtypes(self, node):
        """The dtypes of the inputs that are positions."""
        return tuple([variable.type.dtype for variable in node.inputs[3:5]])

    def undefined(self, inputs):
        """The undefined gradients by the inputs that are positions."""
        return [grad_undefined(self, position, inputs[position], "the positions of blocks have no gradient")
                for position in (3, 4)]


class SparseBlockGemv(BlockSparseOp):
    """``o[b, j] + sum over i of dot(h[b, i], W[inputIdx[b, i], outputIdx[b, j]])``. The inputs are o, W, h, inputIdx
    and outputIdx, as in `sparse_block_dot`; o is (examples, blocks, size of an output block).

    Parameters
    ----------
    inplace : bool
        Whether the result overwrites o.

    Examples
    --------
    >>> o, w, h = T.zeros((1, 1, 2)), T.ones((3, 1, 4, 2)), T.ones((1, 2, 4))
    >>> T.nnet.blocksparse.sparse_block_gemv(o, w, h, [[0, 2]], [[0]]).eval()
    array([[[8., 8.]]])
    """

    def make_node(self, o, W, h, inputIdx, outputIdx):
        o, W, h = self.operands((o, W, h), (3, 4, 3))
        return Apply(self, [o, W, h, *self.positions(inputIdx, outputIdx)], [o.type()])

    def make_kernel(self, node):
        return BlockGemvKernel(self.position_dtypes(node))

    def grad(self, inputs, output_grads):
        o, W, h, froms, tos = inputs
        gradient, = output_grads
        by_weights = sparse_block_outer(W.zeros_like(), h, gradient, froms, tos)
        by_h = sparse_block_gemv(h.zeros_like(), dimshuffle(W, 1, 0, 3, 2), gradient, tos, froms)
        return [gradient, by_weights, by_h, *self.undefined(inputs)]

    def R_op(self, inputs, eval_points):
        o, W, h, froms, tos = inputs
        along_o, along_weights, along_h = eval_points[:3]
        total = along_o
        for weights, vector in ((along_weights, h), (W, along_h)):
            if weights is not None and vector is not None:
                total = sparse_block_gemv(o.zeros_like() if total is None else total, weights, vector, froms, tos)
        return [total]


class SparseBlockOuter(BlockSparseOp):
    """o with ``alpha * outer(x[b, i], y[b, j])`` added to its block (xIdx[b, i], yIdx[b, j]), for all b, i, j. The
    inputs are o, x, y, xIdx, yIdx and alpha, a number that is 1 if it is left out. It is involved in the gradient of
    `SparseBlockGemv`.

    Parameters
    ----------
    inplace : bool
        Whether the result overwrites o.

    Examples
    --------
    >>> o, x, y = T.zeros((2, 1, 3, 2)), T.ones((1, 1, 3)), T.ones((1, 1, 2))
    >>> T.nnet.blocksparse.sparse_block_outer(o, x, y, [[1]], [[0]]).eval()[1, 0]
    array([[1., 1.],
           [1., 1.],
           [1., 1.]])
    """

    def make_node(self, o, x, y, xIdx, yIdx, alpha=None):
        alpha = numpy.float32(1) if alpha is None else alpha
        o, x, y, alpha = self.operands((o, x, y, alpha), (4, 3, 3, 0))
        return Apply(self, [o, x, y, *self.positions(xIdx, yIdx), alpha], [o.type()])

    def make_kernel(self, node):
        return BlockOuterKernel(self.position_dtypes(node))

    def grad(self, inputs, output_grads):
        o, x, y, froms, tos, alpha = inputs
        gradient, = output_grads
        by_x = sparse_block_gemv(x.zeros_like(), dimshuffle(gradient, 1, 0, 3, 2), y, tos, froms)
        by_y = sparse_block_gemv(y.zeros_like(), gradient, x, froms, tos)
        return [gradient, alpha * by_x, alpha * by_y, *self.undefined(inputs), (by_x * x).sum()]

    def R_op(self, inputs, eval_points):
        o, x, y, froms, tos, alpha = inputs
        along_o, along_x, along_y, _, _, along_alpha = eval_points
        total = along_o
        for left, right, factor in ((along_x, y, alpha), (x, along_y, alpha), (x, y, along_alpha)):
            if left is not None and right is not None and factor is not None:
                total = sparse_block_outer(o.zeros_like() if total is None else total, left, right, froms, tos, factor)
        return [total]


sparse_block_gemv, sparse_block_gemv_inplace = SparseBlockGemv(False), SparseBlockGemv(True)
sparse_block_outer, sparse_block_outer_inplace = SparseBlockOuter(False), SparseBlockOuter(True)

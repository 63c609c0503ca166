"""Permutations of the last dimension: PermuteRowElements, ``inverse_permutation``."""
from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.valueless_types import grad_undefined
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise import scalar
from phintys.ops.indexing.permutation_kernel import PermuteRowsKernel
from phintys.ops.reduction.careduce import Sum
from phintys.ops.shape.dimshuffle import dimshuffle, shape_padleft
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import discrete_dtypes, integer_dtypes
from phintys.ops.types.tensor_type import TensorType


class PermuteRowElements(Op):
    """Permutes each row (last dimension) of a tensor. The inputs are the tensor, the permutations, and whether to
    invert them.

    The tensor and the permutations are broadcast together in all dimensions but the last.

    Raises
    ------
    TypeError
        Raised by ``make_node`` if permutations are not integers.
    ValueError
        At run time, if lengths do not match.
    IndexError
        At run time, if a permutation contains a position that a row does not have.

    Examples
    --------
    >>> T.PermuteRowElements()(T.as_tensor([[1, 2, 3]]), T.as_tensor([2, 0, 1]), 0).eval()
    array([[3, 1, 2]])
    """

    runs_alone = True
    __props__ = ()
    linear_in = (0,)

    def make_node(self, x, y, inverse):
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        if y.type.dtype not in integer_dtypes:
            raise TypeError(f"PermuteRowElements: permutations must be integers, got {y} of type {y.type}")
        inverse = inverse if hasattr(inverse, "type") else constant(int(bool(inverse)), dtype="int8")
        rank = max(x.type.ndim, y.type.ndim)
        x, y = shape_padleft(x, rank - x.type.ndim), shape_padleft(y, rank - y.type.ndim)
        flags = [first and second for first, second in zip(x.type.broadcastable, y.type.broadcastable)]
        return Apply(self, [x, y, inverse], [TensorType(x.type.dtype, flags)()])

    def make_kernel(self, node):
        x, y, _ = [value.type for value in node.inputs]
        return PermuteRowsKernel(y.dtype, list(zip(x.broadcastable, y.broadcastable)))

    def infer_shape(self, node, input_shapes):
        return [tuple([other if flag else length for flag, length, other
                       in zip(node.inputs[0].type.broadcastable, *input_shapes[:2])])]

    def grad(self, inputs, output_grads):
        x, y, inverse = inputs
        gz, = output_grads
        undefined = [grad_undefined(self, 1, y), grad_undefined(self, 2, inverse)]
        if x.type.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX), *undefined]
        gradient = permute_row_elements(gz, y, scalar.eq(inverse, 0))
        repeated = [axis for axis in range(gz.type.ndim)
                    if x.type.broadcastable[axis] and not gz.type.broadcastable[axis]]
        kept = iter(range(gz.type.ndim - len(repeated)))
        gradient = dimshuffle(Sum(repeated)(gradient), ["x" if axis in repeated else next(kept)
                                                        for axis in range(gz.type.ndim)])
        return [gradient, *undefined]


_permute_row_elements = PermuteRowElements()


def permute_row_elements(x, y, inverse=0):
    """Permute each row of ``x`` by the permutation in ``y`` or, with ``inverse``, by its inverse.

    Examples
    --------
    >>> x = T.as_tensor([[1, 2, 3], [4, 5, 6]])
    >>> T.permute_row_elements(x, T.as_tensor([2, 0, 1])).eval()
    array([[3, 1, 2],
           [6, 4, 5]])
    """
    return _permute_row_elements(x, y, inverse)


def inverse_permutation(perm):
    """The inverses of the permutations in the rows of ``perm``, of the same dtype.

    Examples
    --------
    >>> T.inverse_permutation(T.as_tensor([2, 0, 1])).eval()
    array([1, 2, 0])
    """
    perm = as_tensor_variable(perm)
    return permute_row_elements(arange(shape_i(perm, perm.type.ndim - 1), dtype=perm.type.dtype), perm, inverse=True)

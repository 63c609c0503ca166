"""The positions of nonzero elements: the op Nonzero, ``nonzero``, ``flatnonzero`` and ``nonzero_values``.

The op works on masks; numbers are compared with zero first. The number of positions is known only at run time.
"""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import grad_undefined
from phintys.ops.elementwise.scalar import neq
from phintys.ops.indexing.nonzero_kernel import NonzeroKernel
from phintys.ops.reduction.careduce import Sum
from phintys.ops.shape.reshape import flatten
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.tensor_type import TensorType


class Nonzero(Op):
    """The positions of the true elements of a mask, in C order: a matrix of int64 with one row per dimension.

    Raises
    ------
    ValueError
        For a scalar.

    Examples
    --------
    >>> [positions.eval() for positions in T.Nonzero()(T.as_tensor([[0, 1], [2, 0]]))]
    [array([0, 1]), array([1, 0])]
    """

    __props__ = ()
    runs_alone = True
    depends_on = ()

    def make_node(self, a):
        a = as_tensor_variable(a)
        if a.type.ndim == 0:
            raise ValueError("Nonzero only supports non-scalar arrays.")
        mask = a if a.type.dtype == "bool" else neq(a, 0)
        return Apply(self, [mask], [TensorType("int64", (False, False), shape=(a.type.ndim, None))()])

    def make_kernel(self, node):
        return NonzeroKernel()

    def infer_shape(self, node, input_shapes):
        return [(len(input_shapes[0]), Sum(None, dtype="int64")(node.inputs[0]))]

    def grad(self, inputs, output_grads):
        return [grad_undefined(self, 0, inputs[0])]


_nonzero = Nonzero()


def nonzero(a, return_matrix=False):
    """The positions of the elements that are not zero.

    Parameters
    ----------
    a : tensor-like
        Must have at least one dimension.
    return_matrix : bool
        Whether to return a matrix with one row per dimension; otherwise the result is a tuple of vectors.

    Returns
    -------
    tuple of TensorVariable, or TensorVariable
        Of dtype int64; the tuple can be used as an index: ``a[nonzero(a)]``.

    Raises
    ------
    ValueError
        For a scalar.

    Examples
    --------
    >>> T.nonzero(T.as_tensor([0, 3, 4]))[0].eval()
    array([1, 2])
    """
    a = as_tensor_variable(a)
    positions = _nonzero(a)
    return positions if return_matrix else tuple([positions[axis] for axis in range(a.type.ndim)])


def flatnonzero(a):
    """The positions of the elements of ``a.flatten()`` that are not zero: a vector of int64.

    Raises
    ------
    ValueError
        For a scalar.

    Examples
    --------
    >>> T.flatnonzero(T.as_tensor([[0, 1], [2, 0]])).eval()
    array([1, 2])
    """
    a = as_tensor_variable(a)
    if a.type.ndim == 0:
        raise ValueError("Nonzero only supports non-scalar arrays.")
    return _nonzero(flatten(a))[0]


def nonzero_values(a):
    """The elements of ``a`` that are not zero: a vector.

    Examples
    --------
    >>> T.nonzero_values(T.as_tensor([[0, 1], [2, 0]])).eval()
    array([1, 2])
    """
    a = as_tensor_variable(a)
    return flatten(a)[flatnonzero(a)]

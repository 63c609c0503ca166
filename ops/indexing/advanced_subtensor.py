"""The ops of advanced indexing: they copy, set or add to elements selected by arrays of integers and masks.

The most frequent index, one vector of integers for the first dimension, has separate ops: AdvancedSubtensor1 and
AdvancedIncSubtensor1. The meaning of other indices is defined in ``advanced_index.py``; basic indexing is in
``subtensor.py``. If an element is set several times, it gets the last value, so only that value has a gradient
(``last_writers.py``).
"""
from phintys.graph import hooks
from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.graph.variable import Constant
from phintys.ops.creation.alloc import gradient_of_broadcast
from phintys.ops.indexing.advanced_index import AdvancedIndexing, as_index_array
from phintys.ops.indexing.advanced_subtensor_kernel import AdvancedIncSubtensorKernel, AdvancedSubtensorKernel
from phintys.ops.indexing.last_writers import of_last_writers
from phintys.ops.indexing.rows_kernel import RowsKernel
from phintys.ops.indexing.subtensor import Assignment, fitting_value, index_text, zero_gradients
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import discrete_dtypes, integer_dtypes
from phintys.ops.types.tensor_type import TensorType

__all__ = ["AdvancedBooleanIncSubtensor", "AdvancedBooleanSubtensor", "AdvancedIncSubtensor", "AdvancedIncSubtensor1",
           "AdvancedSubtensor", "AdvancedSubtensor1", "advanced_boolean_inc_subtensor",
           "advanced_boolean_set_subtensor", "advanced_boolean_subtensor", "advanced_inc_subtensor",
           "advanced_inc_subtensor1", "advanced_set_subtensor", "advanced_set_subtensor1", "advanced_subtensor",
           "advanced_subtensor1", "sparse_grad"]

MOST_TABULATED = 8192           # positions: with more, the elements no longer fit into the nearest cache


# ---- one vector of integers for the first dimension ------------------------------------------------------------------
def _vector_of_positions(x, ilist):
    ilist = as_index_array(ilist)
    if ilist.type.dtype not in integer_dtypes:
        raise TypeError("index must be integers")
    if ilist.type.ndim != 1:
        raise TypeError("index must be vector")
    if x.type.ndim == 0:
        raise TypeError("cannot index into a scalar")
    return ilist


def _constants(ilist):
    """The argument that lets kernels keep a table of positions that are constants."""
    if isinstance(ilist, Constant) and 0 < ilist.data.shape[0] <= MOST_TABULATED:
        return {"constants": ilist.data.shape[0]}
    return {}


class AdvancedSubtensor1(Op):
    """``x[ilist]`` for a vector of integers: copies rows of x.

    Parameters
    ----------
    sparse_grad : bool
        Whether the gradient is a sparse matrix, in CSC format, that stores only these rows.

    Raises
    ------
    TypeError
        Raised by ``grad`` if ``sparse_grad`` is true and x is not a matrix.

    Examples
    --------
    >>> T.advanced_subtensor1(T.as_tensor([1, 2, 3]), [2, 0]).eval()
    array([3, 1])
    """

    __props__ = ()
    moves_elements = True
    linear_in = (0,)
    depends_on = (0,)

    def __init__(self, sparse_grad=False):
        self.sparse_grad = sparse_grad

    def make_node(self, x, ilist):
        x = as_tensor_variable(x)
        ilist = _vector_of_positions(x, ilist)
        pattern = ilist.type.broadcastable + x.type.broadcastable[1:]
        kind = TensorType(x.type.dtype, pattern, shape=ilist.type.shape + x.type.shape[1:])
        return Apply(self, [x, ilist], [kind.make_variable()])

    def make_kernel(self, node):
        return RowsKernel(node.inputs[1].type.dtype, **_constants(node.inputs[1]))

    def infer_shape(self, node, input_shapes):
        return [(input_shapes[1][0], *input_shapes[0][1:])]

    def grad(self, inputs, output_grads):
        x, ilist = inputs
        if x.type.dtype in discrete_dtypes:
            return [x.zeros_like(dtype=config.floatX), disconnected_type()]
        if self.sparse_grad:
            return [hooks.sparse().construct_sparse_from_list(x, output_grads[0], ilist), disconnected_type()]
        return [advanced_inc_subtensor1(x.zeros_like(), output_grads[0], ilist), disconnected_type()]


class AdvancedIncSubtensor1(Assignment, Op):
    """A copy of x in which rows are set or added to. The inputs are x, y, and the vector of row numbers.

    Parameters
    ----------
    inplace : bool
        Whether the result may overwrite x.
    set_instead_of_inc : bool
        Whether to set the rows to y, where the last value for a row counts; otherwise all values for a row are added.

    Examples
    --------
    >>> x = T.as_tensor([1, 2, 3])
    >>> T.advanced_inc_subtensor1(x, [10, 20], [0, 0]).eval()
    array([31,  2,  3])
    """

    __props__ = ("inplace", "set_instead_of_inc")
    shape_as = 0
    linear_in = (0, 1)
    can_overwrite = {0: (0,)}
    cannot_fail = changes_part = runs_alone = writes_by_strides = True
    first_examined = 2
    depends_on = (0, 1)

    def __init__(self, inplace=False, set_instead_of_inc=False):
        self.inplace, self.set_instead_of_inc = bool(inplace), bool(set_instead_of_inc)
        if self.inplace:
            self.destroy_map = {0: [0]}

    def overwriting(self, pairs):
        return AdvancedIncSubtensor1(bool(pairs), self.set_instead_of_inc)

    def make_node(self, x, y, ilist):
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        ilist = _vector_of_positions(x, ilist)
        if y.type.ndim > x.type.ndim:
            raise TypeError(f"cannot {'set' if self.set_instead_of_inc else 'increment'} x subtensor with "
                            f"ndim={x.type.ndim} by y with ndim={y.type.ndim}")
        return Apply(self, [x, fitting_value(x, y, self.set_instead_of_inc), ilist], [x.type.make_variable()])

    def make_kernel(self, node):
        x, _, ilist = node.inputs
        table = {} if self.set_instead_of_inc or x.type.ndim != 1 else _constants(ilist)
        return AdvancedIncSubtensorKernel([("array", 2, ilist.type.dtype, 1)], 0, 3, x.type.dtype,
                                          self.set_instead_of_inc, **table)

    def grad(self, inputs, output_grads):
        x, y, ilist = inputs
        gz, = output_grads
        if x.type.dtype in discrete_dtypes:
            return zero_gradients(x, y) + [disconnected_type()]
        by_x, by_part = gz, advanced_subtensor1(gz, ilist)
        if self.set_instead_of_inc:
            by_x = advanced_set_subtensor1(gz, constant(0, dtype=gz.type.dtype), ilist)
            by_part = of_last_writers(by_part, x, [ilist.type], 0, [ilist], _ops_for_rows)
        return [by_x, gradient_of_broadcast(by_part, y), disconnected_type()]

    def __str__(self):
        return f"AdvancedIncSubtensor1{{{_flags(self)}}}"


def _flags(op):
    return ("inplace" if op.inplace else "no_inplace") + (",set" if op.set_instead_of_inc else ",inc")


def sparse_grad(var):
    """``var``, rows of a matrix, with a gradient that is a sparse matrix and stores only these rows.

    Raises
    ------
    AssertionError
        If ``var`` is not the result of ``x[positions]`` for a vector of positions.

    Examples
    --------
    >>> table = T.dmatrix("table")
    >>> rows = T.sparse_grad(table[[0, 2]])
    >>> rows.eval({table: [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]})
    array([[1., 2.],
           [5., 6.]])
    >>> phintys.grad(rows.sum(), table).type
    Sparse[float64, csc]
    """
    assert isinstance(getattr(getattr(var, "owner", None), "op", None), AdvancedSubtensor1), (
        f"sparse_grad takes the result of x[positions] for a vector of integers, not {var}")
    return AdvancedSubtensor1(sparse_grad=True)(*var.owner.inputs)


advanced_subtensor1 = AdvancedSubtensor1()
advanced_inc_subtensor1 = AdvancedIncSubtensor1()
advanced_set_subtensor1 = AdvancedIncSubtensor1(set_instead_of_inc=True)


def _ops_for_rows(idx_list):
    return advanced_subtensor1, advanced_set_subtensor1


# ---- any index -------------------------------------------------------------------------------------------------------
class AdvancedSubtensor(AdvancedIndexing):
    """A copy of the part of x selected by arrays of integers. The inputs are x and the symbolic parts of the index.

    Parameters
    ----------
    idx_list : sequence, optional
        The index; see `AdvancedIndexing`. If it is omitted, it is given when the op is applied:
        ``AdvancedSubtensor()(x, rows, slice(1, None))``.

    Examples
    --------
    >>> x = T.as_tensor([[1, 2], [3, 4]])
    >>> T.advanced_subtensor(x, [0, 1], [1, 0]).eval()
    array([2, 3])
    """

    __props__ = ("indices",)
    moves_elements = True
    __str__ = AdvancedIndexing.__str__
    runs_alone = True
    linear_in = (0,)
    depends_on = (0,)

    def __init__(self, idx_list=None):
        AdvancedIndexing.__init__(self, idx_list)

    def make_node(self, x, *index):
        x = as_tensor_variable(x)
        if self.idx_list is None:
            idx_list, inputs = self.split(index)
            return type(self)(idx_list).make_node(x, *inputs)
        inputs = [as_tensor_variable(value) for value in index]
        self.check_inputs(x, inputs)
        return Apply(self, [x, *inputs], [self.region_type(x, inputs).make_variable()])

    def make_kernel(self, node):
        return AdvancedSubtensorKernel(self.plan(1), self.lead, len(node.inputs))

    def infer_shape(self, node, input_shapes):
        return [self.region_shape(input_shapes[0], node.inputs[1:], input_shapes[1:])]

    def grad(self, inputs, output_grads):
        x, *rest = inputs
        if x.type.dtype in discrete_dtypes:
            gradient = x.zeros_like(dtype=config.floatX)
        else:
            gradient = self.changing(False)(x.zeros_like(), output_grads[0], *rest)
        return [gradient] + [disconnected_type() for _ in rest]

    def changing(self, set_instead_of_inc, inplace=False):
        """The op that sets or adds to the part that this op copies."""
        return AdvancedIncSubtensor(inplace, set_instead_of_inc, self.idx_list)


class AdvancedBooleanSubtensor(AdvancedSubtensor):
    """`AdvancedSubtensor` for an index with masks.

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> T.advanced_boolean_subtensor(x, x > 0).eval({x: [[1.0, -2.0], [3.0, 4.0]]})
    array([1., 3., 4.])
    """

    masks = True

    def changing(self, set_instead_of_inc, inplace=False):
        return AdvancedBooleanIncSubtensor(inplace, set_instead_of_inc, self.idx_list)


class AdvancedIncSubtensor(Assignment, AdvancedIndexing):
    """A copy of x in which the part selected by arrays of integers is set or added to. The inputs are x, y, and the
    symbolic parts of the index.

    Parameters
    ----------
    inplace : bool
        Whether the result may overwrite x.
    set_instead_of_inc : bool
        Whether to set the part to y; otherwise y is added to it, repeatedly if an element is selected several times.
    idx_list : sequence, optional
        See `AdvancedSubtensor`.

    Examples
    --------
    >>> x = T.as_tensor([[1, 2], [3, 4]])
    >>> T.advanced_inc_subtensor(x, 10, [0, 1], [1, 0]).eval()
    array([[ 1, 12],
           [13,  4]])
    """

    __props__ = ("indices", "inplace", "set_instead_of_inc")
    shape_as = 0
    linear_in = (0, 1)
    can_overwrite = {0: (0,)}
    cannot_fail = changes_part = runs_alone = writes_by_strides = True
    first_examined = 2
    taking = AdvancedSubtensor
    depends_on = (0, 1)

    def __init__(self, inplace=False, set_instead_of_inc=False, idx_list=None):
        AdvancedIndexing.__init__(self, idx_list)
        self.inplace, self.set_instead_of_inc = bool(inplace), bool(set_instead_of_inc)
        if self.inplace:
            self.destroy_map = {0: [0]}

    def overwriting(self, pairs):
        return type(self)(bool(pairs), self.set_instead_of_inc, self.idx_list)

    def make_node(self, x, y, *index):
        x, y = as_tensor_variable(x), as_tensor_variable(y)
        if self.idx_list is None:
            idx_list, inputs = self.split(index)
            return type(self)(self.inplace, self.set_instead_of_inc, idx_list).make_node(x, y, *inputs)
        inputs = [as_tensor_variable(value) for value in index]
        self.check_inputs(x, inputs)
        region = self.region_type(x, inputs)
        if y.type.ndim > region.ndim:
            raise TypeError(f"Trying to increment a {region.ndim}-dimensional subtensor with a "
                            f"{y.type.ndim}-dimensional value.")
        return Apply(self, [x, fitting_value(x, y, self.set_instead_of_inc), *inputs], [x.type.make_variable()])

    def make_kernel(self, node):
        return AdvancedIncSubtensorKernel(self.plan(2), self.lead, len(node.inputs),
                                          node.inputs[0].type.dtype, self.set_instead_of_inc)

    def grad(self, inputs, output_grads):
        x, y, *rest = inputs
        gz, = output_grads
        ends = [disconnected_type() for _ in rest]
        if x.type.dtype in discrete_dtypes:
            return zero_gradients(x, y) + ends
        by_x, by_part = gz, self.taking(self.idx_list)(gz, *rest)
        if self.set_instead_of_inc:
            by_x = type(self)(False, True, self.idx_list)(gz, constant(0, dtype=gz.type.dtype), *rest)
            by_part = of_last_writers(by_part, x, self.idx_list, self.lead, rest, self._taking_and_setting)
        return [by_x, gradient_of_broadcast(by_part, y)] + ends

    def _taking_and_setting(self, idx_list):
        return self.taking(idx_list), type(self)(False, True, idx_list)

    def __str__(self):
        index = "" if self.idx_list is None else f"; {index_text(self.idx_list)}"
        return f"{type(self).__name__}{{{_flags(self)}{index}}}"


class AdvancedBooleanIncSubtensor(AdvancedIncSubtensor):
    """`AdvancedIncSubtensor` for an index with masks.

    Examples
    --------
    >>> x = T.dmatrix("x")
    >>> T.advanced_boolean_set_subtensor(x, 0.0, x < 0).eval({x: [[1.0, -2.0], [3.0, 4.0]]})
    array([[1., 0.],
           [3., 4.]])
    """

    masks = True
    taking = AdvancedBooleanSubtensor


advanced_subtensor = AdvancedSubtensor()
advanced_boolean_subtensor = AdvancedBooleanSubtensor()
advanced_inc_subtensor = AdvancedIncSubtensor()
advanced_set_subtensor = AdvancedIncSubtensor(set_instead_of_inc=True)
advanced_boolean_inc_subtensor = AdvancedBooleanIncSubtensor()
advanced_boolean_set_subtensor = AdvancedBooleanIncSubtensor(set_instead_of_inc=True)

"""Permutations from LAPACK's pivots."""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise.scalar import as_dtype, eq
from phintys.ops.factorizations.stacks import columns, rows
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.tensor_type import TensorType


class PivotsToPermutation(Op):
    """The order of rows after LAPACK's exchanges: vectors of int64 from vectors of pivots that count from 1."""

    __props__ = ()
    depends_on = ()
    shape_as = 0

    def make_node(self, pivots):
        pivots = as_tensor_variable(pivots)
        return Apply(self, [pivots], [TensorType("int64", pivots.type.broadcastable, shape=pivots.type.shape)()])

    def perform(self, node, inputs, output_storage):
        pivots, = inputs
        lines = pivots.reshape(int(numpy.prod(pivots.shape[:-1])), pivots.shape[-1])
        orders = numpy.empty(lines.shape, "int64")
        for line, order in zip(lines, orders):
            order[:] = numpy.arange(len(line))
            for position, pivot in enumerate(line):
                order[[position, pivot - 1]] = order[[pivot - 1, position]]
        output_storage[0][0] = orders.reshape(pivots.shape)


def permutation_matrix(pivots, dtype):
    """The matrix that exchanges rows as LAPACK did: row i has its 1 in the column with the number of the row that moved
    to i."""
    orders = PivotsToPermutation()(pivots)
    positions = arange(shape_i(orders, orders.type.ndim - 1), dtype="int64")
    return as_dtype(eq(columns(orders), rows(positions)), dtype)

"""Ops that are computed on the device as graphs of others, which have kernels there.

The matrix exponential is a Padé approximant of a scaled matrix, squared again. How often depends on the elements, which
the host does not see: as many squarings as may be needed are in the graph, and those that are not leave the matrix as
it is. It is expanded only where its input is on the device; elsewhere the kernel of the processor is faster.
"""
import sys
from functools import reduce
from operator import add

import numpy

from phintys.gpu.placement import Placer, uses_device
from phintys.ops.creation.allocation import eye
from phintys.ops.elementwise.elementwise_functions import abs_, ceil, eq, le, log2, lt, maximum, switch
from phintys.ops.factorizations.exponential import Expm
from phintys.ops.factorizations.solve import solve
from phintys.ops.identity.assertion import Check
from phintys.ops.products.products import matmul
from phintys.ops.shape.join import concatenate
from phintys.ops.shape.shape import shape_i

# dtype → the largest norm of a scaled matrix, how many squarings there may be, and the approximant's coefficients
# (Higham 2005). A larger norm than that leaves no digit of the result, which is NaN then.
APPROXIMANTS = {
    "float32": (3.925724783138660, 24, (17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1)),
    "float64": (5.371920351148152, 48, (
        64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000, 10559470521600,
        670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1))}
SQUARE = Check("expm: Last 2 dimensions of the array must be square", "LinAlgError")


def exponential(x):
    """The exponential of each matrix, by ops with kernels on the device."""
    rank, dtype = x.type.ndim, x.type.dtype
    largest, most, coefficients = APPROXIMANTS[dtype]

    def number(value):
        return numpy.full((1,) * rank, value, dtype)
    x = SQUARE(x, eq(shape_i(x, rank - 1), shape_i(x, rank - 2)))
    if rank > 3:                                    # one stack
        lengths = [shape_i(x, axis) for axis in range(rank)]
        return exponential(x.reshape((-1, *lengths[-2:]), ndim=3)).reshape(lengths, ndim=rank)
    sums = abs_(x).sum(rank - 1, keepdims=True)
    norm = concatenate([sums, number(0) * sums.sum(rank - 2, keepdims=True)], rank - 2).max(rank - 2, keepdims=True)
    squarings = maximum(ceil(log2(norm / number(largest))), number(0))
    is_known = le(squarings, number(most))          # no NaN either
    scaled = switch(is_known, x * number(2) ** -squarings, number(0))
    one = eye(shape_i(x, rank - 1), dtype=dtype)
    square = matmul(scaled, scaled)
    powers = [one, square]
    while len(powers) < 4:
        powers.append(matmul(powers[-1], square))

    def polynomial(first):
        """Of the square, with every other coefficient from one on."""
        low, high = [reduce(add, [powers[degree] * number(coefficients[first + 6 * part + 2 * degree])
                                  for degree in range(part, 4) if 6 * part + 2 * degree < len(coefficients)] or [None])
                     for part in (0, 1)]
        return low if high is None else low + matmul(powers[3], high)
    odd, even = matmul(scaled, polynomial(1)), polynomial(0)
    result = solve(even - odd, even + odd)
    for done in range(most):
        result = switch(lt(number(done), squarings), matmul(result, result), result)
    return switch(is_known, result, number(float("nan")))


def matrix_of(node):
    """The matrix, if it is real."""
    return node.inputs[0] if node.outputs[0].type.dtype in APPROXIMANTS else None


# Type of an op → the input of a node that must be on the device, or None if the node cannot be expanded; and the
# function of its inputs that does it.
EXPANSIONS = {Expm: (matrix_of, exponential)}
SPARSE = "phintys.ops.sparse.products"


def expand(fgraph):
    """Expand such ops where they would run on the device; return how many there were."""
    if SPARSE in sys.modules:                       # else there is none, and SciPy's matrices take long to import
        from phintys.gpu.sparse_product import EXPANSIONS as more
        EXPANSIONS.update(more)
    nodes = [node for node in fgraph.toposort()
             if type(node.op) in EXPANSIONS and EXPANSIONS[type(node.op)][0](node) is not None]
    if not nodes or not uses_device(fgraph):
        return 0
    found = 0
    for node in nodes:                              # the next one may depend on it
        operand_of, expansion = EXPANSIONS[type(node.op)]
        placer = Placer(fgraph)
        placer.find()
        if operand_of(node) in placer.here:
            made = expansion(*node.inputs)
            fgraph.replace(node.outputs[0], node.outputs[0].type.filter_variable(made), reason="expansion")
            found += 1
    return found

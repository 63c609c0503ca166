"""Pseudo-inverses, computed from singular values and vectors, so that kernels do the work without the GIL."""
import numpy

from phintys.ops.elementwise.scalar import as_dtype, gt, switch
from phintys.ops.factorizations.orthogonal import svd
from phintys.ops.factorizations.stacks import adjoint, columns, product, rows
from phintys.ops.reduction.careduce import MaxOrLowest
from phintys.optimizer.engine.database import FAST_COMPILE, FAST_RUN, Rewrite

SMALLEST_RATIO = 1e-15             # NumPy's: smaller singular values, relative to the largest, count as zero


def by_singular_values(fgraph, node):
    """A pseudo-inverse from the singular values and vectors."""
    x, op = node.inputs[0], node.op
    left, values, right = svd(x, full_matrices=False)
    largest = MaxOrLowest(values.type.ndim - 1)(values)                 # there may be none
    kept = gt(values, columns(largest * numpy.asarray(op.rcond or SMALLEST_RATIO, values.type.dtype)))
    one = numpy.asarray(1, values.type.dtype)
    inverses = switch(kept, one / switch(kept, values, one), numpy.asarray(0, values.type.dtype))
    return product(adjoint(right) * as_dtype(rows(inverses), x.type.dtype), adjoint(left))


REWRITES = [Rewrite("local_pinv", ("MatrixPinv",), by_singular_values, (FAST_RUN, FAST_COMPILE))]

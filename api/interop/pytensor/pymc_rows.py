"""Ops that PyMC defines itself; they are read when a graph has the first of them."""
import numpy
from scipy.interpolate import PPoly, UnivariateSpline

from phintys import tensor as T
from phintys.graph.variable import Constant
from phintys.interop.pytensor.translation import row
from phintys.ops.factorizations.inverse import slogdet
from phintys.ops.identity.assertion import Check

EXTRAPOLATED, ZEROS, CONSTANT = 0, 1, 3                 # what SciPy's splines are outside their ends; 2 is an error
EXTENSIONS = (EXTRAPOLATED, ZEROS, CONSTANT)


row("pymc.LogDet")(lambda op, node, a: slogdet(a)[1])


@row("pymc.BatchedDiag")
def _diagonals(op, node, rows):
    """A stack of matrices with these diagonals."""
    return T.switch(T.eye(rows.shape[1], dtype="bool"), rows.dimshuffle(0, "x", 1), 0.0)


row("pymc.I0e")(lambda op, node, x: T.i0e(x))
row("pymc.I1e")(lambda op, node, x: T.i1e(x))


@row("pymc.SplineWrapper")
def _spline(op, node, x):
    """SciPy's spline, by the polynomial of the piece that x is in."""
    spline = op.spline
    if not isinstance(spline, UnivariateSpline) or spline.ext not in EXTENSIONS or x.type.dtype != "float64":
        return None
    pieces = PPoly.from_spline(spline._eval_args)
    first, last = [numpy.nonzero(numpy.diff(pieces.x))[0][position] for position in (0, -1)]
    knots, factors = pieces.x[first:last + 2], pieces.c[:, first:last + 1]
    ends = knots[0], knots[-1]
    inside = T.clip(x, *ends) if spline.ext == CONSTANT else x
    position = T.clip(T.searchsorted(T.constant(knots), inside.flatten(), side="right") - 1, 0, len(knots) - 2)
    position = T.reshape(position, x.shape, ndim=x.type.ndim)
    offset = inside - T.constant(knots)[position]
    found = T.constant(factors[0])[position]
    for factor in factors[1:]:
        found = found * offset + T.constant(factor)[position]
    return T.switch(T.or_(T.lt(x, ends[0]), T.gt(x, ends[1])), 0.0, found) if spline.ext == ZEROS else found


@row("pymc.BSplineBasis")
def _spline_basis(op, node, x, count, degree):
    """The B-splines of pymc-extras at some points: a column for each, with knots at equal distances from 0 to 1.

    At a point, those of the interval that it is in are not 0. They are computed by de Boor's recurrence, which begins
    with the one of degree 0; beyond the ends the pieces next to them go on.
    """
    if not isinstance(degree, Constant):
        return None
    degree, count, x = int(degree.data), T.cast(count, "int64"), T.cast(x, "float64")
    intervals = Check(f"B-splines of degree {degree} must be more than {degree}")(count - degree, T.gt(count, degree))
    inner = T.arange(intervals) * (1.0 / intervals)
    knots = T.concatenate([T.zeros((degree,)), inner, T.ones((degree + 1,))])
    position = T.clip(T.searchsorted(inner, x, side="right") - 1, 0, intervals - 1)
    found = [T.ones_like(x)]
    for order in range(1, degree + 1):
        left = [x - knots[position + degree + 1 - step] for step in range(1, order + 1)]
        right = [knots[position + degree + step] - x for step in range(1, order + 1)]
        carried, after = T.zeros_like(x), []
        for number, value in enumerate(found):
            part = value / (right[number] + left[order - 1 - number])
            after.append(carried + right[number] * part)
            carried = left[order - 1 - number] * part
        found = [*after, carried]
    columns = position[:, None] + T.arange(degree + 1)
    basis = T.set_subtensor(T.zeros((x.shape[0], count))[T.arange(x.shape[0])[:, None], columns],
                            T.stack(found, axis=1))
    basis = T.cast(T.switch(T.isnan(x)[:, None], numpy.nan, basis), node.outputs[0].type.dtype)
    if not op.sparse:
        return basis
    from phintys import sparse
    return sparse.csr_from_dense(basis)

"""Ops that PyMC defines itself; they are read when a graph has the first of them."""
import numpy
from scipy.interpolate import PPoly, UnivariateSpline

from phintys import tensor as T
from phintys.interop.pytensor.translation import row
from phintys.ops.factorizations.inverse import slogdet

EXTRAPOLATED, ZEROS, CONSTANT = 0, 1, 3                 # what SciPy's splines are outside their ends; 2 is an error
EXTENSIONS = (EXTRAPOLATED, ZEROS, CONSTANT)


@row("pymc.LogDet")
def _log_determinant(op, node, a):
    return slogdet(a)[1]


@row("pymc.BatchedDiag")
def _diagonals(op, node, rows):
    """A stack of matrices with these diagonals."""
    return T.switch(T.eye(rows.shape[1], dtype="bool"), rows.dimshuffle(0, "x", 1), 0.0)


@row("pymc.I0e")
def _i0e(op, node, x):
    return T.i0e(x)


@row("pymc.I1e")
def _i1e(op, node, x):
    return T.i1e(x)


@row("pymc.SplineWrapper")
def _spline(op, node, x):
    """SciPy's spline, by the polynomial of the piece that x is in."""
    spline = op.spline
    if not isinstance(spline, UnivariateSpline) or spline.ext not in EXTENSIONS or x.type.dtype != "float64":
        return None
    pieces = PPoly.from_spline(spline._eval_args)
    first, last = [numpy.nonzero(numpy.diff(pieces.x))[0][place] for place in (0, -1)]
    knots, factors = pieces.x[first:last + 2], pieces.c[:, first:last + 1]
    ends = knots[0], knots[-1]
    inside = T.clip(x, *ends) if spline.ext == CONSTANT else x
    place = T.clip(T.searchsorted(T.constant(knots), inside.flatten(), side="right") - 1, 0, len(knots) - 2)
    place = T.reshape(place, x.shape, ndim=x.type.ndim)
    offset = inside - T.constant(knots)[place]
    found = T.constant(factors[0])[place]
    for factor in factors[1:]:
        found = found * offset + T.constant(factor)[place]
    return T.switch(T.or_(T.lt(x, ends[0]), T.gt(x, ends[1])), 0.0, found) if spline.ext == ZEROS else found

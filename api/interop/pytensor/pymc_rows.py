"""Ops that PyMC defines itself; they are read when a graph has the first of them."""
from pymc.distributions.dist_math import I0e, I1e
from pymc.math import BatchedDiag, LogDet

from phintys import tensor as T
from phintys.tensor import nlinalg


def _log_determinant(op, node, a):
    return nlinalg.slogdet(a)[1]


def _diagonals(op, node, rows):
    """A stack of matrices with these diagonals."""
    return T.switch(T.eye(rows.shape[1], dtype="bool"), rows.dimshuffle(0, "x", 1), 0.0)


ROWS = {
    I0e: lambda op, node, x: T.i0e(x),
    I1e: lambda op, node, x: T.i1e(x),
    LogDet: _log_determinant,
    BatchedDiag: _diagonals,
}

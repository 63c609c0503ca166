"""Ops that PyMC defines itself; they are read when a graph has the first of them."""
from phintys import tensor as T
from phintys.interop.pytensor.translation import row
from phintys.tensor import nlinalg


@row("pymc.LogDet")
def _log_determinant(op, node, a):
    return nlinalg.slogdet(a)[1]


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

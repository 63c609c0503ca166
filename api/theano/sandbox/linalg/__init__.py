"""Theano's name ``sandbox.linalg``: linear algebra under the names of its first version. Names only."""
from phintys.ops.factorizations.cholesky import cholesky
from phintys.ops.factorizations.eigen import eig, eigh, eigvalsh
from phintys.ops.factorizations.hints import psd, spectral_radius_bound
from phintys.ops.factorizations.inverse import det, matrix_inverse
from phintys.ops.factorizations.solve import solve
from phintys.ops.linalg.diagonal import diag, trace
from phintys.sandbox.linalg import ops
from phintys.tensor.nlinalg import alloc_diag, extract_diag

__all__ = ["alloc_diag", "cholesky", "det", "diag", "eig", "eigh", "eigvalsh", "extract_diag", "matrix_inverse", "ops",
           "psd", "solve", "spectral_radius_bound", "trace"]

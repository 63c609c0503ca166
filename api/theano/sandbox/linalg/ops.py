"""Theano's name ``sandbox.linalg.ops``: hints on matrices, and the rewrites that use them. Names only."""
from phintys.gof.local_optimizers import local_optimizer
from phintys.graph import public_names as _public_names
from phintys.ops.factorizations.cholesky import Cholesky, cholesky
from phintys.ops.factorizations.hints import (
    Hint,
    hints,
    is_positive,
    is_psd,
    is_symmetric,
    psd,
    spectral_radius_bound,
)
from phintys.ops.factorizations.inverse import MatrixInverse, det, matrix_inverse
from phintys.ops.factorizations.solve import Solve, solve
from phintys.ops.linalg.diagonal import trace
from phintys.ops.products.blas import Dot22
from phintys.ops.products.dot import Dot
from phintys.ops.shape.dimshuffle import DimShuffle
from phintys.optimizer.rewrites.systems import HINTS as _HINTS
from phintys.optimizer.rewrites.systems import REWRITES as _REWRITES
from phintys.tensor.nlinalg import extract_diag
from phintys.theano_finder import lookup as _lookup

imported_scipy = True


class _WithoutReaders:
    """In place of a graph, for nodes that are in none."""

    clients: dict = {}


def _local_optimizer(name, tracks):
    """A rewrite of the optimizer's table as a local optimizer, which is applied to one node."""
    rewrite = next(rewrite for rewrite in [*_REWRITES, *_HINTS] if rewrite.name == name)

    def transform(node):
        found = rewrite.apply(getattr(node, "fgraph", None) or _WithoutReaders, node)
        return False if found is None else [found]

    transform.__name__ = name
    return local_optimizer(tracks)(transform)


inv_as_solve = _local_optimizer("inv_as_solve", [Dot, Dot22])
psd_solve_with_chol = _local_optimizer("psd_solve_with_chol", [Solve])
tag_solve_triangular = _local_optimizer("tag_solve_triangular", [Solve])
transinv_to_invtrans = _local_optimizer("transinv_to_invtrans", [DimShuffle])
remove_hint_nodes = _local_optimizer("remove_hint_nodes", [Hint])

__all__ = ["Cholesky", "Hint", "MatrixInverse", "Solve", "cholesky", "det", "extract_diag", "hints", "imported_scipy",
           "inv_as_solve", "is_positive", "is_psd", "is_symmetric", "matrix_inverse", "psd", "psd_solve_with_chol",
           "remove_hint_nodes", "solve", "spectral_radius_bound", "tag_solve_triangular", "trace",
           "transinv_to_invtrans"]
_public_names.adopt(globals())
__getattr__ = _lookup(__name__)

"""Theano's module ``sparse.sandbox.sp2``: sparse matrices of random numbers, from NumPy's global state."""
from phintys.missing_names import lookup as _lookup
from phintys.ops.sparse.draws import (
    Binomial,
    Multinomial,
    Poisson,
    csc_dbinomial,
    csc_fbinomial,
    csr_dbinomial,
    csr_fbinomial,
    multinomial,
    poisson,
)
from phintys.ops.sparse.structure import Remove0 as EliminateZeros
from phintys.ops.sparse.structure import remove0 as eliminate_zeros

__all__ = ["Binomial", "EliminateZeros", "Multinomial", "Poisson", "csc_dbinomial", "csc_fbinomial", "csr_dbinomial",
           "csr_fbinomial", "eliminate_zeros", "multinomial", "poisson"]
__getattr__ = _lookup(__name__)

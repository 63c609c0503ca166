"""Theano's name ``tensor.nnet.blocksparse``: products with some blocks of a large matrix. Names only."""
from phintys.graph import public_names as _public_names
from phintys.missing_names import lookup
from phintys.ops.nnet.block_sparse import (
    SparseBlockGemv,
    SparseBlockOuter,
    sparse_block_dot,
    sparse_block_gemv,
    sparse_block_gemv_inplace,
    sparse_block_outer,
    sparse_block_outer_inplace,
)

__all__ = ["SparseBlockGemv", "SparseBlockOuter", "sparse_block_dot", "sparse_block_gemv", "sparse_block_gemv_inplace",
           "sparse_block_outer", "sparse_block_outer_inplace"]
_public_names.adopt(globals())
__getattr__ = lookup(__name__)

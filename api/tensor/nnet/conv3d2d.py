"""Theano's name ``tensor.nnet.conv3d2d`` for convolutions of movies: names only."""
from phintys.graph import public_names as _public_names
from phintys.ops.convolution.movies import (
    DiagonalSubtensor,
    IncDiagonalSubtensor,
    conv3d,
    diagonal_subtensor,
    get_diagonal_subtensor_view,
    inc_diagonal_subtensor,
)

__all__ = ["DiagonalSubtensor", "IncDiagonalSubtensor", "conv3d", "diagonal_subtensor", "get_diagonal_subtensor_view",
           "inc_diagonal_subtensor"]
_public_names.adopt(globals())

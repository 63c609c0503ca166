"""Theano's name ``tensor.signal.pool``: pooling of images by maxima, sums and averages. Names only."""
from phintys.graph import public_names as _public_names
from phintys.missing_names import lookup
from phintys.ops.pooling.pool import (
    AveragePoolGrad,
    DownsampleFactorMaxGradGrad,
    MaxPoolGrad,
    MaxPoolRop,
    Pool,
    PoolGrad,
    max_pool_2d_same_size,
    pool_2d,
    pool_3d,
)

__all__ = ["AveragePoolGrad", "DownsampleFactorMaxGradGrad", "MaxPoolGrad", "MaxPoolRop", "Pool", "PoolGrad",
           "max_pool_2d_same_size", "pool_2d", "pool_3d"]
_public_names.adopt(globals())
__getattr__ = lookup(__name__)

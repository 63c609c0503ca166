"""Theano's name ``tensor.signal.downsample``, which is now ``tensor.signal.pool``; importing it warns. Names only."""
import warnings as _warnings

from phintys.graph.debug_values import level_of_user as _level_of_user
from phintys.missing_names import lookup
from phintys.tensor.signal.pool import (
    AveragePoolGrad,
    DownsampleFactorMaxGradGrad,
    MaxPoolGrad,
    PoolGrad,
    max_pool_2d_same_size,
)
from phintys.tensor.signal.pool import MaxPoolGrad as DownsampleFactorMaxGrad
from phintys.tensor.signal.pool import Pool as DownsampleFactorMax
from phintys.tensor.signal.pool import pool_2d as max_pool_2d

__all__ = ["AveragePoolGrad", "DownsampleFactorMax", "DownsampleFactorMaxGrad", "DownsampleFactorMaxGradGrad",
           "MaxPoolGrad", "PoolGrad", "max_pool_2d", "max_pool_2d_same_size"]
__getattr__ = lookup(__name__)

_warnings.warn("downsample module has been moved to the tensor.signal.pool module.", stacklevel=_level_of_user())

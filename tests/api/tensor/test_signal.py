"""Theano's namespace ``tensor.signal``."""
import importlib
import sys

import pytest

import phintys.tensor as T
from phintys.ops.pooling import pool


def test_pool_has_the_names_of_theano():
    for name in ("pool_2d", "pool_3d", "max_pool_2d_same_size", "Pool", "PoolGrad", "MaxPoolGrad", "AveragePoolGrad",
                 "DownsampleFactorMaxGradGrad", "MaxPoolRop"):
        assert getattr(T.signal.pool, name) is getattr(pool, name)
    assert T.signal.pool.Pool.__module__ == "phintys.tensor.signal.pool"


def test_the_old_name_of_the_module_warns():
    sys.modules.pop("phintys.tensor.signal.downsample", None)
    with pytest.warns(UserWarning, match="moved to the tensor.signal.pool module"):
        downsample = importlib.import_module("phintys.tensor.signal.downsample")
    assert downsample.max_pool_2d is pool.pool_2d and downsample.DownsampleFactorMax is pool.Pool
    assert downsample.DownsampleFactorMaxGrad is pool.MaxPoolGrad


def test_unknown_names():
    with pytest.raises(AttributeError, match="no attribute 'wavelets'"):
        T.signal.wavelets

"""Random variables of pymc-extras; they are read when a graph has the first of them."""
from pymc_extras.distributions import continuous

from phintys import tensor as T
from phintys.interop.pytensor.random_rows import by_scipy, drawn


@drawn(continuous.GenExtremeRV)
def _generalized_extreme_value(draws, op, mean, scale, shape):
    shape = draws.floating(shape)

    def quantile(p):
        x = -T.log(-T.log(p))
        return T.switch(T.eq(shape, 0), x, T.expm1(shape * x) / shape)

    return by_scipy(draws, mean, scale, "random", ("xi", shape, "finite"), then=quantile)

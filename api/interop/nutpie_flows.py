"""nutpie's adaptation by a flow (``adaptation="flow"``) on models of phintys.

JAX learns the flow, which calls the log-density at its starts. nutpie gives it one only if the model is of its backend
JAX: by Numba such a run ends in a ``TypeError``. Here JAX calls the function of phintys.
"""
from __future__ import annotations

from functools import wraps
from typing import TYPE_CHECKING, Any

import jax
import numpy
from nutpie import transform_adapter

from phintys.interop.nutpie_entries import is_numerical
from phintys.interop.swaps import Swaps, marked

if TYPE_CHECKING:
    from collections.abc import Callable

DOUBLE = numpy.dtype("float64")


def density_of(function: Callable[..., Any]) -> Any:
    """The log-density as nutpie's flows call it, ``point -> (value,)``, with its gradient for JAX.

    Parameters
    ----------
    function : phintys function
        Point → log-density and gradient.
    """
    jax.config.update("jax_enable_x64", True)           # as PyTensor does before it runs JAX

    def called(point):
        point = numpy.asarray(point, DOUBLE)
        try:
            value, slope = function(point)
        except Exception as error:
            if not is_numerical(error):
                raise
            value, slope = numpy.float64("nan"), numpy.full_like(point, numpy.nan)
        return numpy.asarray(value), slope

    @jax.custom_vjp
    def density(point):
        return forward(point)[0]

    def forward(point):
        return jax.pure_callback(called, (jax.ShapeDtypeStruct((), DOUBLE), jax.ShapeDtypeStruct(point.shape, DOUBLE)),
                                 point)

    density.defvjp(forward, lambda slope, factor: (factor * slope,))
    return lambda point: (density(point),)


@marked
def taking_density(make_transform_adapter: Any) -> Any:
    """nutpie's maker of what learns a flow, with one more option: the log-density."""
    @wraps(make_transform_adapter)
    def make(*, density=None, **options):
        learner = make_transform_adapter(**options)
        if density is None:
            return learner
        return lambda *arguments, logp_fn=None, **more: learner(*arguments, logp_fn=density, **more)
    return make


FLOWS = Swaps([(transform_adapter, "make_transform_adapter", taking_density)])
FLOWS.begin()                           # for good: runs begin in threads of their own

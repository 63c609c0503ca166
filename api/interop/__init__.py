"""phintys as a back end of other libraries. Each module needs the library after which it is named, and must be imported
explicitly."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.interop.log_density import LogDensity

__all__ = ["logp"]


def logp(model: Any = None, jacobian: bool = True, fixed: Sequence[Any] = ()) -> LogDensity:
    """Return the log-density of a PyMC model and its gradient, for samplers and optimizers of your own.

    Parameters
    ----------
    model : pymc.Model, optional
        By default the model whose block this is.
    jacobian : bool, default True
        Whether the density is that of the coordinates without bounds, as samplers need it. If False, it is that of the
        variables themselves, whose maximum is what ``pm.find_MAP`` finds.
    fixed : dict, optional
        Coordinates that are held at a value, by their names in ``model.initial_point()``. Discrete ones must be.

    Returns
    -------
    phintys.interop.log_density.LogDensity
        It is called with a vector, a matrix whose rows are points, a dictionary of coordinates, or symbolic ones, and
        returns the value and the gradient.

    Raises
    ------
    ValueError
        If discrete variables are not fixed.

    Examples
    --------
    >>> import numpy as np, pymc as pm, phintys.interop
    >>> with pm.Model() as model:
    ...     mean = pm.Normal("mean")
    ...     y = pm.Normal("y", mean, 1, observed=[2.0, 4.0])
    >>> value, gradient = phintys.interop.logp(model)(np.array([1.0]))
    >>> gradient
    array([3.])
    """
    from phintys.interop.log_density import log_density
    return log_density(model, jacobian, fixed)

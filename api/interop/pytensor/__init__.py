"""PyTensor's graphs, and PyMC's models, run by phintys.

Importing this module registers a linker and a mode with PyTensor::

    import phintys.interop.pytensor
    f = pytensor.function([x, y], cost, mode="PHINTYS")
    pm.sample(..., compile_kwargs={"mode": "PHINTYS"})

``translate`` makes phintys variables from PyTensor's, for programs that need the graph itself.
"""
from importlib import import_module as _import_module

from phintys.graph import hooks as _hooks
from phintys.interop.pytensor_versions import check_versions

check_versions()

from phintys.interop.pytensor import random_rows as _random_rows  # noqa: E402
from phintys.interop.pytensor import translation as _translation  # noqa: E402
from phintys.interop.pytensor.fallback import PyTensorFallbackWarning  # noqa: E402  (PyTensor's version comes first)
from phintys.interop.pytensor.linker import PhintysLinker, register  # noqa: E402
from phintys.interop.pytensor.translation import TranslationError, translate  # noqa: E402

__all__ = ["PhintysLinker", "PyTensorFallbackWarning", "TranslationError", "register", "translate"]


def _specified_ones(axis, rank):
    """PyTensor's words for a length of 1 that is to be repeated."""
    lengths = ", ".join(["1" if position == axis else "None" for position in range(rank)])
    return (f"; in PyTensor, use pt.specify_broadcastable(x, {axis}), or declare it by pt.tensor(shape=({lengths}"
            f"{',' * (rank == 1)}))")


_translation.late_rows.update({
    area: (lambda name=name: _import_module(f"phintys.interop.pytensor.{name}_rows"))
    for area, name in (("optimize", "optimize"), ("sparse", "sparse"), ("typed_list", "list"), ("pymc", "pymc"))})
_random_rows.late_rows.update({
    f"{package}.": (lambda package=package: _import_module(f"phintys.interop.pytensor.{package}_random_rows"))
    for package in ("pymc", "pymc_extras")})
_hooks.broadcast_advice = _specified_ones
register()

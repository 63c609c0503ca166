"""PyTensor's graphs, and PyMC's models, run by phintys.

Importing this module registers a linker and a mode with PyTensor::

    import phintys.interop.pytensor
    f = pytensor.function([x, y], cost, mode="PHINTYS")
    pm.sample(..., compile_kwargs={"mode": "PHINTYS"})

``translate`` makes phintys variables from PyTensor's, for programs that need the graph itself.
"""
from importlib import import_module as _import_module

from phintys.interop.pytensor.versions import check_versions

check_versions()

from phintys.interop.pytensor import translation as _translation  # noqa: E402
from phintys.interop.pytensor.fallback import PyTensorFallbackWarning  # noqa: E402  (PyTensor's version comes first)
from phintys.interop.pytensor.linker import PhintysLinker, register  # noqa: E402
from phintys.interop.pytensor.translation import TranslationError, translate  # noqa: E402

__all__ = ["PhintysLinker", "PyTensorFallbackWarning", "TranslationError", "register", "translate"]

_translation.late_rows = lambda: _import_module("phintys.interop.pytensor.sparse_rows")
_translation.rows_of_pymc = lambda: _import_module("phintys.interop.pytensor.pymc_rows")
register()

"""PyTensor for tests: imported without its warnings, without a C compiler, and with its Python mode for comparison.

A test that imports this is skipped, with the reason, where PyTensor is missing or of a version that is not supported.
"""
import os
import warnings

os.environ.setdefault("PYTENSOR_FLAGS", "cxx=")          # Python functions: no compiler, no cache of compiled modules

import pytest

from phintys.interop.pytensor_versions import check_versions, imported

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    try:
        check_versions()
    except ImportError as error:
        pytest.skip(str(error), allow_module_level=True)
    import pytensor
    from pytensor.compile.mode import Mode

import phintys.interop.pytensor  # noqa: F401  (registers the mode)

PYTHON = Mode("py", "minimum_compile")
ifelse = imported("ifelse")


def functions(inputs, outputs, **options):
    """The same function by phintys and in PyTensor's Python mode."""
    return [pytensor.function(inputs, outputs, mode=mode, on_unused_input="ignore", **options)
            for mode in ("PHINTYS", PYTHON)]

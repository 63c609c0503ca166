"""PyTensor for tests: imported without its warnings, without a C compiler, and with its Python mode for comparison."""
import os
import warnings

os.environ.setdefault("PYTENSOR_FLAGS", "cxx=")          # Python functions: no compiler, no cache of compiled modules

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import pytensor
    from pytensor.compile.mode import Mode

import phintys.interop.pytensor  # noqa: F401  (registers the mode)

PYTHON = Mode("py", "minimum_compile")


def functions(inputs, outputs, **options):
    """The same function by phintys and in PyTensor's Python mode."""
    return [pytensor.function(inputs, outputs, mode=mode, on_unused_input="ignore", **options)
            for mode in ("PHINTYS", PYTHON)]

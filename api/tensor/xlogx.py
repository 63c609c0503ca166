"""Theano's name ``tensor.xlogx`` for ``x log x`` and ``x log y`` that are 0 where x is 0: names only."""
from phintys.missing_names import lookup as _lookup
from phintys.ops.elementwise.elementwise_functions import xlogx, xlogy0
from phintys.ops.elementwise.scalar import XlogX, XlogY0
from phintys.ops.elementwise.scalar import xlogx as scalar_xlogx
from phintys.ops.elementwise.scalar import xlogy0 as scalar_xlogy0

__all__ = ["XlogX", "XlogY0", "scalar_xlogx", "scalar_xlogy0", "xlogx", "xlogy0"]
__getattr__ = _lookup(__name__)

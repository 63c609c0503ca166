"""What the lower floors call on the upper ones, which they may not import. ``phintys/__init__.py`` sets these names.

Ops of one family that need one of a later family have such a hook on a class instead, for example ``Join.Split``.
"""
from typing import Any

function: Any = None                 # phintys.function, which evaluates variables and compiles the graphs inside ops
numpy_protocol: Any = None           # loads and returns the module phintys.numpy_protocol

"""Theano's ``scan_op``: the op of a loop."""
from phintys.ops.loops import loop_direction, loop_gradient  # noqa: F401  (they give the op its derivatives)
from phintys.ops.loops.loop import Scan

__all__ = ["Scan"]

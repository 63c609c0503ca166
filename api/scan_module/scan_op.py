"""Theano's ``scan_op``: the op of a loop, which is called ``Loop`` here."""
from phintys.ops.loops import loop_direction, loop_gradient  # noqa: F401  (they give the op its derivatives)
from phintys.ops.loops.loop import Loop

Scan = Loop

__all__ = ["Scan"]

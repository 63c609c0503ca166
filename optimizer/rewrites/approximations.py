"""Cheaper approximations of functions; they are applied only if a mode includes them by name.

``mode.including("local_ultra_fast_sigmoid")`` replaces every sigmoid, after the stable forms have been found.
"""
from phintys.ops.nnet.activations import hard_sigmoid, ultra_fast_sigmoid
from phintys.optimizer.engine.database import Rewrite


def fast(fgraph, node):
    """Return ``sigmoid(x)`` as a few fractions and lines, within 0.03."""
    return ultra_fast_sigmoid(node.inputs[0])


def hard(fgraph, node):
    """Return ``sigmoid(x)`` as three lines, within 0.1."""
    return hard_sigmoid(node.inputs[0])


REWRITES = [
    Rewrite("local_ultra_fast_sigmoid", ("sigmoid",), fast, (), changes="range rounding"),
    Rewrite("local_hard_sigmoid", ("sigmoid",), hard, (), changes="range rounding"),
]

"""Theano's name ``gof.op`` for ops and test values: names only."""
from phintys.graph import public_names as _public_names
from phintys.graph.debug_values import (
    compute_test_values,
    debug_assert,
    debug_error_message,
    get_debug_values,
    get_test_value,
    missing_test_message,
)
from phintys.graph.op import Op, PureOp

__all__ = ["Op", "PureOp", "compute_test_values", "debug_assert", "debug_error_message", "get_debug_values",
           "get_test_value", "missing_test_message"]
_public_names.adopt(globals())

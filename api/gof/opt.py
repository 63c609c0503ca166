"""Theano's name ``gof.opt`` for what looks at optimised graphs: names only."""
from phintys.stack_trace import check_stack_trace

__all__ = ["check_stack_trace"]

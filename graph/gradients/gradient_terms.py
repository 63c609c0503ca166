"""The terms of one node in the gradients of its inputs: calls ``L_op``, and checks its results.

``gradient.py`` has the rules for gradients. This file calls the op by these rules (only if a gradient with a value
reaches it, and with gradients of its outputs' dtypes) and checks that the op's results obey them.
"""
from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph.config import config
from phintys.graph.debug_values import get_debug_values
from phintys.graph.errors import made_at
from phintys.graph.valueless_types import DisconnectedType, NullType, disconnected_type
from phintys.graph.variable import Constant, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.apply import Apply

FLOAT_DTYPES = frozenset(["float16", "float32", "float64"])
CONTINUOUS_DTYPES = FLOAT_DTYPES | {"complex64", "complex128"}
ALLOWED_DTYPES = CONTINUOUS_DTYPES | {None}         # None: the values have no dtype

NOT_WANTED = NullType("This variable is Null because nothing reads this gradient.").make_variable()


def dtype_of(variable: Variable) -> str | None:
    """Return the dtype of a variable whose values have one, else None."""
    return getattr(variable.type, "dtype", None)


def is_valueless(variable: Variable) -> bool:
    """Return whether a gradient is undefined or disconnected."""
    return isinstance(variable.type, (NullType, DisconnectedType))


def terms_of(node: Apply, output_gradients: Sequence[Constant | Variable], pattern: Sequence[Sequence[bool]] | None,
             L_op: Callable[..., Any], wanted: Sequence[bool] | None = None) -> list[Constant | Variable]:
    """Return the terms of a node in the gradients of its inputs, as a list of variables.

    Parameters
    ----------
    node : Apply
    output_gradients : list of Variable
    pattern : list of list of bool, or None
        The connection pattern, unless all is connected.
    L_op : callable
        The method that the op has for them.
    wanted : list of bool, optional
        For each input, whether its term will be read; another one is not made if the method ``takes_wanted``.
    """
    flow = _Flow(node, output_gradients, pattern)
    if not any(flow.inputs_connected):
        return [disconnected_type() for _ in node.inputs]
    if all(flow.only_null):
        return [flow.null_gradient_of(position) if connected else disconnected_type()
                for position, connected in enumerate(flow.inputs_connected)]
    inputs = _undestroyed(node)
    typed = [_with_dtype_of(output, gradient) for output, gradient in zip(node.outputs, output_gradients)]
    for output, gradient in zip(node.outputs, typed):
        _check_test_shapes(output, gradient, f"the gradient on an output of {node.op}")
    if wanted is not None and getattr(L_op, "takes_wanted", False):
        terms = [NOT_WANTED if term is None else term for term in L_op(inputs, node.outputs, typed, wanted)]
    else:
        terms = L_op(inputs, node.outputs, typed)
    terms = _checked_list(node, terms)
    for position in range(len(terms)):
        if terms[position] is NOT_WANTED:
            continue
        null = flow.null_gradient_of(position)
        if null is not None and not isinstance(terms[position].type, DisconnectedType):
            terms[position] = null
        _check_term(node, position, terms[position], flow)
        _check_test_shapes(inputs[position], terms[position], f"{node.op}.grad on input {position}")
    return terms


class _Flow:
    """Which gradients reach a node's inputs, by its connection pattern and the kinds of its outputs' gradients."""

    def __init__(self, node, output_gradients, pattern):
        self.output_gradients = output_gradients
        self.pattern = pattern
        count = len(node.inputs)
        if pattern is None and not any(map(is_valueless, output_gradients)):        # as nearly always
            is_whole = all([dtype_of(output) not in ALLOWED_DTYPES for output in node.outputs])
            self.inputs_connected, self.only_null = [True] * count, [False] * count
            self.only_whole, self._null = [is_whole] * count, ()
            return
        connected = [not isinstance(gradient.type, DisconnectedType) for gradient in output_gradients]
        null = [isinstance(gradient.type, NullType) for gradient in output_gradients]
        whole = [dtype_of(output) is not None and dtype_of(output) not in CONTINUOUS_DTYPES for output in node.outputs]
        valued = [reached and not is_null for reached, is_null in zip(connected, null)]
        not_whole = [reached and not is_whole for reached, is_whole in zip(connected, whole)]
        self.inputs_connected = self._reached(connected, count)
        self.only_null = [not reached for reached in self._reached(valued, count)]
        self.only_whole = [not reached for reached in self._reached(not_whole, count)]
        self._null = null

    def _reached(self, outputs, count):
        """Return for each input whether it is connected to one of the marked outputs."""
        if self.pattern is None:
            return [any(outputs)] * count
        return [any([linked and marked for linked, marked in zip(row, outputs)]) for row in self.pattern]

    def null_gradient_of(self, position):
        """Return the last undefined gradient of an output that depends on the input, or None."""
        found = None
        if True in self._null:
            for index, gradient in enumerate(self.output_gradients):
                if self._null[index] and (self.pattern is None or self.pattern[position][index]):
                    found = gradient
        return found


def _undestroyed(node):
    """Return a node's inputs, with copies of those that its op overwrites: the gradient needs the old values."""
    destroyed = {positions[0] for positions in node.op.destroy_map.values()}
    if not destroyed:
        return list(node.inputs)
    return [variable.copy() if position in destroyed and hasattr(variable, "copy") else variable
            for position, variable in enumerate(node.inputs)]


def _with_dtype_of(output, gradient):
    """Cast the gradient to the dtype of a continuous output, so that a wider dtype does not spread from here."""
    wanted, given = dtype_of(output), dtype_of(gradient)
    if given is None or given == wanted or (wanted is not None and wanted not in CONTINUOUS_DTYPES):
        return gradient
    return gradient if wanted is None else gradient.astype(wanted)


# ---- checking what an op returns -------------------------------------------------------------------------------------
def _checked_list(node, terms):
    if terms is None:
        raise TypeError(f"{node.op}.grad returned NoneType, expected iterable.{made_at(node)}")
    terms = list(terms)
    if len(terms) != len(node.inputs):
        raise ValueError(f"{node.op} returned the wrong number of gradient terms: {len(terms)}, not {len(node.inputs)}."
                         f"{made_at(node)}")
    for position, term in enumerate(terms):
        if term is None:
            raise TypeError(f"{node.op}.grad returned None for input {position}, this is prohibited. Instead of None, "
                            f"return zeros_like(input), disconnected_type(), or a NullType variable such as those made "
                            f"with grad_undefined or grad_not_implemented.")
        if not isinstance(term, Variable):
            raise TypeError(f"{node.op}.grad returned {type(term)} for input {position}, expected Variable instance.")
    return terms


def _check_term(node, position, term, flow):
    """Check one term's dtype, and whether it agrees with the connection pattern."""
    if not is_valueless(term):
        if dtype_of(term) not in CONTINUOUS_DTYPES:
            raise TypeError(f"{node.op}.grad illegally returned an integer-valued variable. (Input index {position}, "
                            f"dtype {dtype_of(term)}){made_at(node)}")
        if flow.only_whole[position] and _is_nonzero_constant(term):
            raise ValueError(f"{node.op}.grad returned {term} of type {term.type} for input {position}. Since this "
                             f"input is only connected to integer-valued outputs, it should evaluate to zeros, but it "
                             f"evaluates to {term.data}.")
    connected = not isinstance(term.type, DisconnectedType)
    if connected == flow.inputs_connected[position]:
        return
    if connected:
        raise TypeError(f"{node.op}.grad returned {term} of type {term.type} for input {position}. Expected "
                        f"DisconnectedType instance based on the output of the op's connection_pattern method.")
    message = f"{node.op}.grad returned DisconnectedType for input {position}."
    if flow.pattern is not None:
        raise TypeError(message + " Its connection_pattern method does not allow this.")
    warnings.warn(message + " You may want to implement a connection_pattern method for it.", stacklevel=2)


def check_rank(term: Variable, variable: Variable, node: Apply) -> None:
    """Check that a gradient has the rank of its variable."""
    wanted, given = getattr(variable.type, "ndim", None), getattr(term.type, "ndim", None)
    if wanted != given and wanted is not None:
        raise ValueError(f"{node.op}.grad returned a term with {given} dimensions, but {wanted} are required."
                         f"{made_at(node)}")


def _check_test_shapes(variable, gradient, what):
    """Check that a gradient and its variable have the same shape, if test values are on."""
    if config.compute_test_value == "off" or is_valueless(gradient) or not hasattr(gradient, "shape"):
        return
    for value, gradient_value in get_debug_values(variable, gradient):
        if value.shape != gradient_value.shape:
            raise ValueError(f"{what} has shape {gradient_value.shape}, but the variable has shape {value.shape}")


def _is_nonzero_constant(term):
    return isinstance(term, Constant) and bool(numpy.any(term.data != 0))

"""A log-density with its gradient as one op of PyTensor.

PyTensor rewrites a log-density, writes its gradient, puts pieces of a vector in the places of its variables and copies
the graph several times, which takes longer than all that phintys does. So PyTensor gets one node, and the translation
of the node takes the gradient of the translated log-density.

The gradient is PyTensor's: it passes checks of parameters, and a choice counts what it did not take. All is left to
PyTensor where its rewrites of a log-density do more than those of phintys, or its gradients may be others: linear
algebra, logarithms of many gamma functions, ops that change gradients, run in Python or hold graphs of users.
"""
from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property, wraps
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytensor
from pymc.model import core
from pymc.pytensorf import rewrite_pregrad
from pytensor.compile.mode import get_mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.gradient import disconnected_type
from pytensor.graph.basic import Apply, Constant
from pytensor.graph.op import HasInnerGraph, Op
from pytensor.graph.replace import clone_replace as copied
from pytensor.graph.traversal import applys_between, graph_inputs
from pytensor.scalar.math import GammaLn
from pytensor.scan.op import Scan
from pytensor.tensor import special
from pytensor.tensor.type import TensorType

import phintys
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.gradients.gradient import plain_gradients
from phintys.graph.traversal import clone_replace
from phintys.interop.pytensor import PhintysLinker
from phintys.interop.pytensor.parameter_checks import rows_instead_of, unchecked_value
from phintys.interop.pytensor.translation import row_of, rules_of_densities, translated
from phintys.interop.swaps import Swaps, marked
from phintys.optimizer.pipeline import stabilize_before_gradient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from phintys.graph.variable import Variable

LogSumExp = getattr(special, "LogSumExp", None)         # PyTensor 2.38 and 3.0 have none
_rewrites = ContextVar("rewrites of a log-density that is to be one op", default=None)


class LogDensityWithGradient(Op):
    """``inputs`` → a log-density, and its gradient by each input of floats that is not shared.

    Parameters
    ----------
    density : pytensor variable
        A number.
    inputs : list of pytensor variables
        What it depends on.
    rows_instead : dict
        As of ``translated``.
    """

    def __init__(self, density: Any, inputs: Sequence[Any], rows_instead: Mapping[type, Any]) -> None:
        self.density, self.inputs, self.rows_instead = density, inputs, rows_instead
        self.floats = [position for position, each in enumerate(inputs)
                       if each.type.dtype.startswith("float") and not isinstance(each, SharedVariable)]

    def make_node(self, *inputs: Any) -> Apply:
        """A node whose outputs are the density and the gradients."""
        return Apply(self, inputs, [self.density.type(), *[self.inputs[each].type() for each in self.floats]])

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        """The density depends on the inputs of floats; gradients have no gradients."""
        return [[each in self.floats, *[False] * len(self.floats)] for each in range(len(node.inputs))]

    def pullback(self, inputs: Sequence[Any], outputs: Sequence[Any], gradients: Sequence[Any]) -> list[Any]:
        """The gradients that the node computes anyway."""
        known = dict(zip(self.floats, outputs[1:]))
        return [gradients[0] * known[each] if each in known else disconnected_type() for each in range(len(inputs))]

    if not hasattr(Op, "pullback"):             # before PyTensor 3.1
        L_op = pullback

    def translation(self, op: Op, node: Apply, *inputs: Variable) -> list[Variable]:
        """The row of this op."""
        leaves = [variable.type() for variable in inputs]
        try:
            found = self._by_phintys(leaves)
        except Exception:                       # PyTensor has a gradient, or an error that says why there is none
            found = translated([rewrite_pregrad(self.density), *self._gradients], dict(zip(self.inputs, leaves)),
                               self.rows_instead)
        return clone_replace(found, dict(zip(leaves, inputs)))

    def _by_phintys(self, leaves):
        unchecked = dict.fromkeys(self.rows_instead, unchecked_value)
        fgraph = FunctionGraph(leaves, [translated([self.density], dict(zip(self.inputs, leaves)), rows)[0]
                                        for rows in (unchecked, self.rows_instead)], clone=False)
        with rules_of_densities(), plain_gradients():
            stabilize_before_gradient(fgraph)
            cost, density = fgraph.outputs
            return [density, *phintys.grad(cost, [leaves[each] for each in self.floats],
                                           disconnected_inputs="ignore")]

    @property
    def _gradients(self):
        return pytensor.grad(rewrite_pregrad(self.density), [self.inputs[each] for each in self.floats],
                             disconnected_inputs="ignore")

    @cached_property
    def _function(self):
        inputs = [each.type() for each in self.inputs]
        results = copied([self.density, *self._gradients], dict(zip(self.inputs, inputs)))
        return pytensor.function(inputs, results, on_unused_input="ignore")

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: Sequence[list[Any]]) -> None:
        """Compute the results by PyTensor, for linkers other than that of phintys."""
        for storage, value in zip(output_storage, self._function(*inputs)):
            storage[0] = value


def _fits(node):
    """Whether phintys has all that a node of a log-density needs, for its gradient, too."""
    op = getattr(node.op, "core_op", node.op)
    module = type(op).__module__
    if "linalg" in module or module == "pytensor.gradient" or row_of(op, len(node.inputs)) is None:
        return False
    if isinstance(getattr(op, "scalar_op", None), GammaLn) and not all(node.outputs[0].type.broadcastable):
        return all([isinstance(each, Constant) for each in graph_inputs(node.inputs)])      # x + n - n is x
    if not isinstance(op, HasInnerGraph):
        return True
    return module.startswith(("pytensor.tensor.", "pytensor.scan.")) and all(map(_fits, op.fgraph.apply_nodes))


def _as_one_op(density, optimizer):
    """A log-density as the output of a node that has the gradient, too; None if all is left to PyTensor."""
    inputs = [variable for variable in graph_inputs([density]) if not isinstance(variable, Constant)]
    if density.type.ndim or not all([type(variable.type) is TensorType for variable in [density, *inputs]]):
        return None
    nodes = set(applys_between([], [density]))
    rows = rows_instead_of(optimizer, SimpleNamespace(apply_nodes=nodes))
    kinds = {type(node.op) for node in nodes}
    if LogSumExp in kinds and Scan not in kinds:        # calls would take longer, and compiling is no matter
        return None
    if rows is None or not all([type(node.op) in rows or _fits(node) for node in nodes]):
        return None
    return LogDensityWithGradient(density, inputs, rows)(*inputs)[0]


@marked
def _density_as_one_op(rewrite: Callable[..., Any]) -> Callable[..., Any]:
    """What rewrites a log-density before its gradient is taken."""
    @wraps(rewrite)
    def rewritten(density, *arguments, **options):
        optimizer = _rewrites.get()
        found = None if optimizer is None or isinstance(density, (list, tuple)) else _as_one_op(density, optimizer)
        return rewrite(density, *arguments, **options) if found is None else found
    return rewritten


DENSITIES = Swaps([(core, "rewrite_pregrad", _density_as_one_op),             # of PyMC, and of nutpie
                   (pytensor.graph, "rewrite_graph", _density_as_one_op)])


@contextmanager
def densities_as_one_op(mode: Any, check_bounds: bool) -> Iterator[None]:
    """A block in which PyMC writes log-densities with their gradients for a mode as nodes of this op.

    Other threads write them as before.
    """
    mode = get_mode(mode)
    if not isinstance(mode.linker, PhintysLinker):
        yield
        return
    checks = "local_check_parameter_to_ninf_switch" if check_bounds else "local_remove_check_parameter"
    token = _rewrites.set(mode.including(checks).optimizer)
    try:
        with DENSITIES.used():
            yield
    finally:
        _rewrites.reset(token)

"""Minima and roots of inner graphs: SciPy's methods on a compiled function of phintys, and their derivatives.

A solution is an implicit function of the other arguments: of those that make the equations, or the gradient of the
objective, zero. Its derivatives are those of the implicit function theorem, and need no step of the method.
"""
from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy

from phintys import tensor as T
from phintys.graph.apply import Apply
from phintys.graph.gradients.forward_gradient import Rop
from phintys.graph.gradients.gradient import float_zeros_like, grad
from phintys.graph.traversal import clone_replace, io_connection_pattern
from phintys.graph.valueless_types import DisconnectedType, disconnected_type
from phintys.ops.graphs.ifelse import ifelse
from phintys.ops.graphs.inner_graph import InnerGraphOp
from phintys.ops.graphs.op_from_graph import OpFromGraph
from phintys.solvers.box_loops import minimum_in_box
from phintys.solvers.fixed_points import fixed_point_by_loop
from phintys.solvers.minimum_loops import minimum_by_loop
from phintys.solvers.root_loops import root_by_loop as scalar_root_by_loop
from phintys.solvers.vector_loops import root_by_loop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from phintys.graph.variable import Variable


# Our methods → SciPy's, which go on where ours fail.
OF_SCIPY = {"L-BFGS": "L-BFGS-B", "Newton": "Newton-CG"}


class _Remembered:
    """A function of one point that keeps its last values: SciPy asks for the value and its derivatives one by one.

    Parameters
    ----------
    function : callable
        Of a point and the arguments; it returns a list of values.
    start : numpy.ndarray
        The dtype and the shape of points. SciPy makes vectors of points, and changes them in place.
    arguments : list of numpy.ndarray
    """

    def __init__(self, function, start, arguments):
        self.function, self.start, self.arguments = function, start, arguments
        self.name = None

    def __call__(self, number, point):
        """The value of an output at a point."""
        point = numpy.array(point, dtype=self.start.dtype).reshape(self.start.shape)
        name = point.tobytes()
        if name != self.name:
            self.values, self.name = self.function(point, *self.arguments), name
        return self.values[number]

    def number(self, number, point):
        """The same, a number."""
        return self(number, point).reshape(())[()]

    def vector(self, number, point):
        """The same in the dtype with which all of SciPy's methods compute."""
        return self(number, point).reshape(-1).astype("float64", copy=False)

    def matrix(self, number, point):
        size = self.start.size
        return self(number, point).reshape(-1, size).astype("float64", copy=False)


class Optimizer(InnerGraphOp):
    """The base class: the point that solves a problem, and whether the method says that it has converged.

    The inputs of a node are the start, the other arguments of the inner graph, and vectors that say where to search.

    Parameters
    ----------
    inputs : list of Variable
        Of the inner graph: the unknown, and other arguments.
    outputs : list of Variable
        The objective or the equations, and those of their derivatives that SciPy is given.
    method : str
    options : dict
        Further arguments of SciPy's function.
    bounds : tuple of str
        The names of SciPy's arguments that the vectors are.
    """

    is_minimum = False

    def __init__(self, inputs: Sequence[Variable], outputs: Sequence[Variable], method: Any, options: Any,
                 bounds: Any = ()) -> None:
        super().__init__(inputs, outputs, f"{type(self).__name__}{{{method}}}")
        self.method, self.options, self.bounds = method, dict(options), tuple(bounds)

    def make_node(self, *inputs: Any) -> Apply:
        kinds = [variable.type for variable in self.local_inputs]
        inputs = [kind.filter_variable(given) for kind, given in zip(kinds, inputs)] + list(inputs[len(kinds):])
        return Apply(self, inputs, [kinds[0](), T.scalar(dtype="bool")])

    def infer_shape(self, node: Apply, input_shapes: Sequence[Any]) -> list[Any]:
        return [input_shapes[0], ()]

    def perform(self, node: Apply, inputs: Sequence[Any], output_storage: list[list[Any]]) -> None:
        count = len(self.local_inputs)
        start, *arguments = inputs[:count]
        bounds = {name: tuple(value) for name, value in zip(self.bounds, inputs[count:])}
        point, converged = self.solved(_Remembered(self.fn, start, arguments), start,
                                       {"method": self.method, **bounds, **self.options})
        output_storage[0][0] = numpy.asarray(point).reshape(start.shape).astype(start.dtype)
        output_storage[1][0] = numpy.asarray(bool(converged))

    def solved(self, values: Any, start: Any, options: Any) -> Any:
        """The solution, and whether the method has converged."""
        raise NotImplementedError

    def by_loop(self, values: Any, *inputs: Any) -> Any:
        """The outputs of a loop without Python, or None if there is none for the method and the options.

        Parameters
        ----------
        values : callable
            Of a point, as a variable; it returns the outputs of the inner graph.
        *inputs : Variable
            Those of a node.
        """
        return None

    def solution(self, *inputs: Any) -> Any:
        """The outputs for these inputs: of a loop, if there is one and all is float64, or of a node."""
        kinds = {variable.type.dtype for variable in [self.local_inputs[0], *self.local_outputs]}
        if kinds != {"float64"}:
            return self(*inputs, return_list=True)
        node = self.make_node(*inputs)
        inner = [variable.type() for variable in node.inputs]
        count = len(self.local_inputs)

        def values(point):
            return clone_replace(self.local_outputs, dict(zip(self.local_inputs, [point, *inner[1:count]])))

        found = self.by_loop(values, *inner)
        if found is None:
            return self(*inputs, return_list=True)
        loop = OpFromGraph(inner, list(found), inline=True, lop_overrides=self.L_op, rop_overrides=self._moved,
                           connection_pattern=self.connection_pattern(node), name=self.name)
        return loop(*node.inputs, return_list=True)

    def _moved(self, inputs, eval_points):
        """The R-operator as an override returns it."""
        return [disconnected_type() if each is None else each for each in self.R_op(inputs, eval_points)]

    # ---- derivatives -----------------------------------------------------------------------------------------
    def condition(self) -> Any:
        """What is zero at the solution, as a variable of the inner graph."""
        value = self.local_outputs[0]
        return grad(value, self.local_inputs[0]) if self.is_minimum else value

    def connection_pattern(self, node: Apply) -> list[list[bool]]:
        rows = io_connection_pattern(self.local_inputs, [self.condition()])
        return [*[[row[0], False] for row in rows], *[[False, False] for _ in self.bounds]]

    def L_op(self, inputs: Sequence[Variable], outputs: Sequence[Variable], output_gradients: Any) -> list[Variable]:
        by_solution = output_gradients[0]
        unknown, *arguments = self.local_inputs
        nothing = [disconnected_type() for _ in inputs]
        if isinstance(by_solution.type, DisconnectedType):
            return nothing
        by_start = float_zeros_like(inputs[0])          # another start near by leads to the same solution
        if not arguments:
            return [by_start, *nothing[1:]]
        condition = self.condition()
        weight = condition.type()
        found = grad(None, arguments, known_grads={condition: weight}, disconnected_inputs="ignore",
                     null_gradients="return", return_disconnected="Disconnected")
        given = dict(zip(self.local_inputs, [outputs[0], *inputs[1:]]))
        slope = clone_replace(self._slope(condition, unknown), given)
        given[weight] = -self._solution(slope.T, by_solution)
        return [by_start, *[clone_replace(each, given) if hasattr(each.type, "dtype") else each for each in found],
                *nothing[len(self.local_inputs):]]

    def R_op(self, inputs: Sequence[Variable], eval_points: Sequence[Variable | None]) -> list[Variable | None]:
        if all([point is None for point in eval_points[1:]]):
            return [None if eval_points[0] is None else float_zeros_like(inputs[0]), None]
        unknown, *arguments = self.local_inputs
        condition = self.condition()
        moved = [(argument, argument.type(), point)
                 for argument, point in zip(arguments, eval_points[1:]) if point is not None]
        change = Rop(condition, [argument for argument, _, _ in moved], [inner for _, inner, _ in moved])
        solution = self.solution(*inputs)[0]
        given = dict(zip(self.local_inputs, [solution, *inputs[1:]]))
        given.update({inner: point for _, inner, point in moved})
        if change is None:
            change = float_zeros_like(condition)
        slope, change = clone_replace([self._slope(condition, unknown), change], given)
        return [-self._solution(slope, change), None]

    @staticmethod
    def _slope(condition, unknown):
        """How the condition changes with the unknown: a matrix, or a number."""
        if not unknown.type.ndim:
            return grad(condition.reshape(()), unknown) if condition.type.ndim else grad(condition, unknown)
        count = unknown.size
        return T.reshape(T.jacobian(condition.flatten(), unknown), (count, count), ndim=2)

    @staticmethod
    def _solution(slope, right):
        if not slope.type.ndim:
            return right / slope
        return T.reshape(T.slinalg.solve(slope, right.flatten()), right.shape, ndim=right.type.ndim)


class Minimum(Optimizer):
    """``scipy.optimize.minimize``; the outputs of the inner graph are the objective, then its gradient if there are
    two or more, then its Hessian."""

    is_minimum = True

    def by_loop(self, values: Any, *inputs: Any) -> Any:
        """As SciPy, but where its first search along a line fails all is done again by SciPy, which has another one."""
        found = minimum_by_loop(self.method, self.options, values, inputs[0], len(self.local_outputs))
        return found and self._or_by_scipy(*found, *inputs)

    def _or_by_scipy(self, point, converged, failed, *inputs):
        return [ifelse(failed, other, ours) for other, ours in zip(self(*inputs, return_list=True), (point, converged))]

    def solved(self, values: Any, start: Any, options: Any) -> Any:
        from scipy.optimize import minimize

        derivatives = {}
        if len(self.local_outputs) > 1:
            derivatives["jac"] = partial(values.vector, 1)
        if len(self.local_outputs) > 2:
            derivatives["hess"] = partial(values.matrix, 2)
        if derivatives:                             # some methods compute in the dtype of the start, or refuse others
            start = start.astype("float64")
        options = {**options, "method": OF_SCIPY.get(options["method"], options["method"])}
        found = minimize(partial(values.number, 0), start, **derivatives, **options)
        return found.x, found.success


class BoxMinimum(Minimum):
    """The same between bounds, which are the last two arguments: of the unknown's type and shape."""

    def condition(self) -> Any:
        """The gradient, or how far the unknown is from the bound that holds it."""
        unknown, *_, low, high = self.local_inputs
        slope = grad(self.local_outputs[0], unknown, disconnected_inputs="ignore")
        ahead = unknown - slope
        return T.switch(T.le(ahead, low), unknown - low, T.switch(T.ge(ahead, high), unknown - high, slope))

    def by_loop(self, values: Any, *inputs: Any) -> Any:
        found = minimum_in_box(self.options, values, inputs[0], *inputs[-2:]) if self.method == "L-BFGS-B" else None
        return found and self._or_by_scipy(*found, *inputs)

    def solved(self, values: Any, start: Any, options: Any) -> Any:
        low, high = [bound.flatten().tolist() for bound in values.arguments[-2:]]
        return super().solved(values, start, {**options, "bounds": list(zip(low, high))})


class ScalarMinimum(Optimizer):
    """``scipy.optimize.minimize_scalar``."""

    is_minimum = True

    def solved(self, values: Any, start: Any, options: Any) -> Any:
        from scipy.optimize import minimize_scalar

        found = minimize_scalar(partial(values.number, 0), **options)
        return found.x, found.success


class Root(Optimizer):
    """``scipy.optimize.root``; the outputs of the inner graph are the equations, and perhaps their Jacobian."""

    def by_loop(self, values: Any, *inputs: Any) -> Any:
        return root_by_loop(self.method, self.options, values, inputs[0], len(self.local_outputs))

    def solved(self, values: Any, start: Any, options: Any) -> Any:
        from scipy.optimize import root

        jacobian = partial(values.matrix, 1) if len(self.local_outputs) > 1 else None
        found = root(partial(values.vector, 0), start, jac=jacobian, **options)
        return found.x, found.success


class ScalarRoot(Optimizer):
    """``scipy.optimize.root_scalar``; the outputs are the equation, and perhaps its first and second derivatives."""

    def by_loop(self, values: Any, *inputs: Any) -> Any:
        limits = dict(zip(self.bounds, inputs[len(self.local_inputs):]))
        return scalar_root_by_loop(self.method, self.options, values, inputs[0], len(self.local_outputs), limits)

    def solved(self, values: Any, start: Any, options: Any) -> Any:
        from scipy.optimize import root_scalar

        names = ("fprime", "fprime2")[:len(self.local_outputs) - 1]
        derivatives = {name: partial(values.number, 1 + position) for position, name in enumerate(names)}
        found = root_scalar(partial(values.number, 0), x0=start, **derivatives, **options)
        return found.root, found.converged


class FixedPoint(Optimizer):
    """``scipy.optimize.fixed_point``; the output of the inner graph is the function."""

    def by_loop(self, values: Any, *inputs: Any) -> Any:
        return fixed_point_by_loop(self.method, self.options, values, inputs[0])

    def condition(self) -> Any:
        return self.local_outputs[0] - self.local_inputs[0]

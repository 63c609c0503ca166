"""The log-density of a PyMC model and its gradient as functions of vectors, of dictionaries, and of rows of vectors.

PyMC writes the graph, with its checks of parameters made minus infinity; it is translated once for each kind of call. A
call for many vectors runs one program: the graph on all rows at once where all its ops can be, else a loop inside the
virtual machine (``phintys.ops.loops.row_map``).
"""
from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy
from pymc.model.core import Model, ValueGradFunction, modelcontext
from pymc.pytensorf import compile, join_nonshared_inputs
from pytensor.graph.replace import clone_replace

import phintys
from phintys.graph.variable import Variable
from phintys.interop.pytensor.quick_function import nodes_made_quickly
from phintys.interop.pytensor.translation import named_input, rules_of_densities, translated
from phintys.ops.loops.row_map import map_rows
from phintys.ops.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from phintys.interop.pytensor.quick_function import QuickFunction

MODE = "PHINTYS"


class LogDensity:
    """The log-density of a model and its gradient; ``phintys.interop.logp`` makes one.

    Coordinates are the model's values without bounds, one after the other in a vector: for a positive variable
    ``spread`` the coordinate is ``spread_log__``, its logarithm. ``constrain`` and ``unconstrain`` convert points.

    A point is a vector, a dictionary of coordinates, or a symbolic vector of phintys. Each of them may have one more
    dimension, the first, for many points: one call computes all of them.

    Attributes
    ----------
    names : list of str
        The coordinates, by the names that the model gives them.
    shapes : dict
        The shape of each.
    size : int
        The length of a vector.
    start : numpy.ndarray
        The model's initial point, a vector.

    Examples
    --------
    >>> import numpy as np, pymc as pm, phintys
    >>> with pm.Model() as model:
    ...     spread = pm.HalfNormal("spread")
    ...     y = pm.Normal("y", 0, spread, observed=[2.0, 4.0])
    >>> density = phintys.interop.logp(model)
    >>> value, gradient = density(np.zeros(1))
    >>> gradient
    array([18.])
    >>> density(np.zeros((100, 1)))[1].shape
    (100, 1)
    >>> density({"spread_log__": 0.0})[1]
    {'spread_log__': array(18.)}
    >>> density.constrain(np.zeros(1))
    {'spread': array(1.)}
    """

    def __init__(self, model: Any, jacobian: bool, fixed: Mapping[Any, Any]) -> None:
        self.model, self.fixed = model, dict(fixed)
        self._point = _with_fixed(model, self.fixed)
        self._free = [value for value in model.value_vars if value.name not in self.fixed]
        discrete = [value.name for value in self._free if value.dtype not in ("float64", "float32", "float16")]
        if discrete:
            raise ValueError(f"phintys.interop.logp: the discrete variables {discrete} have no gradient; give their "
                             f"values, as in logp(model, fixed={{{discrete[0]!r}: ...}})")
        if not self._free:
            raise ValueError("phintys.interop.logp: the model has no variables that are free")
        self.names = [value.name for value in self._free]
        self.shapes = {name: self._point[name].shape for name in self.names}
        self.dtype = numpy.result_type(*[self._point[name].dtype for name in self.names])
        ends = numpy.cumsum([self._point[name].size for name in self.names])
        self._parts = {name: slice(end - self._point[name].size, end) for name, end in zip(self.names, ends)}
        self.size = int(ends[-1])
        self.start = self.ravel(self._point)
        extra = {value: self._point[value.name] for value in model.value_vars if value.name in self.fixed}
        with nodes_made_quickly():
            found = ValueGradFunction([model.logp(jacobian=jacobian)], self._free, extra, dtype=self.dtype.name,
                                      casting="same_kind", model=model, initial_point=self._point, ravel_inputs=True,
                                      mode=MODE)
        found.set_extra_values(self._point)
        self._value_and_gradient = RowFunction(found._pytensor_function)
        self._value = RowFunction(found._pytensor_function, [0])

    def __call__(self, point: numpy.ndarray) -> tuple[Any, ...]:
        """Return the log-density and its gradient.

        Parameters
        ----------
        point : array_like, dict or phintys variable
            A vector, a matrix whose rows are points, or a dictionary of coordinates.

        Returns
        -------
        value : number, vector or phintys variable
            Minus infinity outside the support.
        gradient : numpy.ndarray, dict or phintys variable
            Of the form of ``point``.
        """
        value, gradient = self._value_and_gradient(self.ravel(point))
        return value, self.unravel(gradient) if isinstance(point, dict) else gradient

    def value(self, point: Any) -> Any:
        """Return the log-density without its gradient, which takes less time; the argument is that of a call."""
        return self._value(self.ravel(point))[0]

    def gradient(self, point: Any) -> Any:
        """Return the gradient; the argument is that of a call."""
        return self(point)[1]

    def ravel(self, point: Mapping[str, numpy.ndarray] | numpy.ndarray) -> numpy.ndarray:
        """Return the vector, or matrix, of a dictionary of coordinates; what is one already, checked and converted.

        Raises
        ------
        ValueError
            If a coordinate is missing or unknown, or has a wrong shape.
        """
        if isinstance(point, Variable):
            return point
        if not isinstance(point, dict):
            found = numpy.ascontiguousarray(point, dtype=self.dtype)
            if found.ndim not in (1, 2) or found.shape[-1] != self.size:
                raise ValueError(f"phintys.interop.logp: expected a vector of {self.size} coordinates, or a matrix "
                                 f"with {self.size} columns, but got an array of shape {numpy.shape(point)}")
            return found
        missing = [name for name in self.names if name not in point]
        unknown = [name for name in point if name not in self._point]
        if missing or unknown:
            raise ValueError(f"phintys.interop.logp: coordinates are {self.names}; missing: {missing}, "
                             f"unknown: {unknown}")
        values = [numpy.asarray(point[name], dtype=self.dtype) for name in self.names]
        leads = {value.shape[:value.ndim - len(self.shapes[name])] if value.ndim >= len(self.shapes[name]) else None
                 for name, value in zip(self.names, values)}
        lead = next(iter(leads))
        wrong = [f"{name} {value.shape}" for name, value in zip(self.names, values)
                 if value.shape[value.ndim - len(self.shapes[name]):] != self.shapes[name]]
        if wrong or len(leads) > 1 or len(lead) > 1:
            found = ", ".join(f"{name} {value.shape}" for name, value in zip(self.names, values))
            raise ValueError(f"phintys.interop.logp: expected coordinates of shapes {self.shapes}, or all with one "
                             f"more dimension, the first, but got {found}")
        return numpy.concatenate([value.reshape(*lead, -1) for value in values], axis=-1)

    def unravel(self, vector: Any) -> Any:
        """Return the dictionary of coordinates of a vector, or of a matrix whose rows are points.

        The values are views.
        """
        vector = numpy.asarray(vector)
        return {name: vector[..., part].reshape((*vector.shape[:-1], *self.shapes[name]))
                for name, part in self._parts.items()}

    def constrain(self, point: Any, deterministics: bool = False) -> Any:
        """Return the values of the model's variables at a point, each in its own bounds.

        Parameters
        ----------
        point : array_like or dict
            That of a call.
        deterministics : bool, default False
            Whether the values of ``pm.Deterministic`` belong to them.

        Returns
        -------
        dict
            Name of a variable → numpy.ndarray, with one more dimension for many points.
        """
        names = [variable.name for variable in self._outputs]
        kept = names if deterministics else [variable.name for variable in self._outputs
                                             if variable in self.model.free_RVs]
        values = dict(zip(names, self._constrained(self.ravel(point))))
        return {name: numpy.asarray(values[name]) for name in kept}

    def unconstrain(self, values: Any) -> Any:
        """Return the vector of coordinates at which the model's variables have these values.

        Parameters
        ----------
        values : dict
            Name of each free variable → its value in its own bounds; all may have one more dimension, the first.

        Returns
        -------
        numpy.ndarray
            A vector, or a matrix. Values outside their bounds give coordinates that are not finite.

        Raises
        ------
        ValueError
            If a variable is missing.
        """
        missing = [variable.name for variable in self._inputs if variable.name not in values]
        if missing:
            raise ValueError(f"phintys.interop.logp: unconstrain needs the values of "
                             f"{[variable.name for variable in self._inputs]}; missing: {missing}")
        found = self._unconstrained(*[numpy.asarray(values[variable.name], dtype=variable.dtype)
                                      for variable in self._inputs])
        return self.ravel(dict(zip(self.names, found)))

    @property
    def _outputs(self):
        """The variables whose values ``constrain`` computes."""
        return [*self.model.free_RVs, *self.model.deterministics]

    @property
    def _inputs(self):
        """The variables whose values ``unconstrain`` needs."""
        return [self.model.values_to_rvs[value] for value in self._free]

    @cached_property
    def _constrained(self):
        model = self.model
        known = {value: value.type.constant_type(value.type, self._point[value.name])
                 for value in model.value_vars if value.name in self.fixed}
        found = clone_replace(model.replace_rvs_by_values(self._outputs), known)
        outputs, vector = join_nonshared_inputs({name: self._point[name] for name in self.names}, found, self._free)
        with model:
            return RowFunction(compile([vector], outputs, mode=MODE, on_unused_input="ignore"))

    @cached_property
    def _unconstrained(self):
        model = self.model
        given = {variable: variable.type(name=variable.name) for variable in model.free_RVs}
        known = {given[model.values_to_rvs[value]]: value.type.constant_type(value.type, self._point[value.name])
                 for value in model.value_vars if value.name in self.fixed}
        found = []
        for variable in self._inputs:
            transform = model.rvs_to_transforms[variable]
            found.append(given[variable] if transform is None else
                         transform.forward(given[variable], *variable.owner.inputs))
        outputs = clone_replace(clone_replace(found, given), known)
        with model:
            return RowFunction(compile([given[variable] for variable in self._inputs], outputs, mode=MODE,
                                       on_unused_input="ignore"))


class RowFunction:
    """A function of PyTensor for one point, for many, or for symbolic ones.

    Parameters
    ----------
    function : pytensor.compile.Function
        Compiled in the mode PHINTYS. Its shared variables are read at each call.
    positions : list of int, optional
        Which outputs are wanted; all by default.
    """

    def __init__(self, function: QuickFunction, positions: Sequence[int] | None = None) -> None:
        fgraph = function.maker.fgraph
        count = sum(container.required for container in function.input_storage)
        self._inputs, self._others = fgraph.inputs[:count], fgraph.inputs[count:]
        self._outputs = fgraph.outputs if positions is None else [fgraph.outputs[position] for position in positions]
        self._rows_instead = fgraph.rows_instead
        self._storage = [container.storage for container in function.input_storage[count:]]
        self._ranks = [variable.type.ndim for variable in self._inputs]
        if positions is None:
            self._one = function.vm.jit_fn

    def __call__(self, *points: Any) -> list[numpy.generic | numpy.ndarray]:
        values = [storage[0] for storage in self._storage]
        if isinstance(points[0], Variable):
            others = [phintys.shared(value, name=other.name) for value, other in zip(values, self._others)]
            return self._applied(points, others)
        program = self._one if points[0].ndim == self._ranks[0] else self._many
        return [found if found.ndim else found[()] for found in program(*points, *values)]

    @cached_property
    def _one(self):
        return self._compiled(0)

    @cached_property
    def _many(self):
        return self._compiled(1)

    def _compiled(self, extra):
        """The program for points with this number of additional dimensions."""
        points = self._points(extra)
        others = [named_input(variable) for variable in self._others]
        with rules_of_densities():
            return phintys.function([*points, *others], self._applied(points, others), on_unused_input="ignore",
                                    name="phintys.interop.logp")

    def _points(self, extra):
        """Variables for points with this number of additional dimensions; a length of 1 is no broadcastable one."""
        return [TensorType(each.type.dtype, (False,) * (each.type.ndim + extra))(each.name) for each in self._inputs]

    def _applied(self, points, others):
        """The outputs as variables of phintys."""
        if points[0].type.ndim == self._ranks[0]:
            return self._translated(points, others)
        if points[0].type.ndim != self._ranks[0] + 1:
            raise ValueError(f"phintys.interop.logp: expected a variable of {self._ranks[0]} or {self._ranks[0] + 1} "
                             f"dimensions, but got {points[0]} of type {points[0].type}")
        rows = self._points(0)
        return map_rows(self._translated(rows, others), list(zip(rows, points)), "phintys.interop.logp")

    def _translated(self, points, others):
        """The outputs for one point."""
        known = dict(zip([*self._inputs, *self._others], [*points, *others]))
        return translated(self._outputs, known, self._rows_instead)


def _with_fixed(model, fixed):
    """The initial point of a model, with the values of its coordinates that are fixed."""
    point = {name: numpy.asarray(value) for name, value in model.initial_point().items()}
    for name, value in fixed.items():
        if name not in point:
            raise ValueError(f"phintys.interop.logp: fixed has the unknown coordinate {name!r}; the model's are "
                             f"{[*point]}")
        if numpy.shape(value) != point[name].shape:
            raise ValueError(f"phintys.interop.logp: fixed[{name!r}] has shape {numpy.shape(value)}, but the model's "
                             f"coordinate has {point[name].shape}")
        point[name] = numpy.asarray(value, dtype=point[name].dtype)
    return point


def log_density(model: Any = None, jacobian: bool = True, fixed: Sequence[Any] = ()) -> LogDensity:
    """What ``phintys.interop.logp`` does."""
    model = modelcontext(model)
    if not isinstance(model, Model):
        raise TypeError(f"phintys.interop.logp: expected a PyMC model, but got {model!r}")
    return LogDensity(model, jacobian, dict(fixed))

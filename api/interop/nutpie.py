"""nutpie's sampler on functions of phintys.

``compile_pymc_model`` takes the place of nutpie's function of this name::

    from phintys.interop.nutpie import compile_pymc_model
    samples = nutpie.sample(compile_pymc_model(model), draws=1000)

The model that it returns is nutpie's own, ``CompiledPyMCModel``, with other functions: nutpie writes the graphs of the
log-density, its gradient and the variables to store, and phintys compiles them. All that concerns names, shapes, dims,
coordinates, starts, adaptation, storage and progress is nutpie's code.
"""
from __future__ import annotations

import dataclasses
import warnings
from functools import wraps
from types import SimpleNamespace
from typing import Any

import numpy
import nutpie
import pytensor
from nutpie import compile_pymc as nutpie_models
from pymc.initial_point import make_initial_point_fn
from pymc.model.transform.optimization import freeze_dims_and_data
from pytensor.compile.mode import Mode
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.tensor import as_tensor

import phintys
from phintys import tensor as T
from phintys.interop.density_op import densities_as_one_op
from phintys.interop.nutpie_entries import Calls, PythonExpansion, Sampler
from phintys.interop.pytensor.fallback import PyTensorFallbackWarning
from phintys.interop.pytensor.linker import REWRITES, PhintysLinker
from phintys.interop.pytensor.quick_function import nodes_made_quickly
from phintys.interop.pytensor.translation import named_input, rules_of_densities, translated
from phintys.interop.pytensor.types import is_dense, translated_type
from phintys.interop.pytensor_versions import text_of, version_of
from phintys.interop.starts import IN_PYTHON, STARTS
from phintys.interop.swaps import Swaps, marked

__all__ = ["compile_pymc_model"]

TESTED = (0, 16)                        # minor version of nutpie, whose classes have no promised interface

NO_USER_DATA = SimpleNamespace(ctypes=SimpleNamespace(data=0))      # the functions know where their data are


def check_version(text: str) -> None:
    """Refuse a nutpie older than the one tested, and warn of a newer one."""
    found = version_of(text)
    tested = text_of(TESTED)
    if found < TESTED:
        raise ImportError(f"phintys.interop.nutpie needs nutpie {tested}, not version {text}, which is installed: "
                          "pip install phintys[nutpie]")
    if found > TESTED:
        warnings.warn(f"phintys.interop.nutpie was tested with nutpie {tested}; version {text} is installed, and its "
                      "classes may have changed", stacklevel=3)


check_version(nutpie.__version__)


def compile_pymc_model(model: Any, *, initial_points: Any = None, jitter_rvs: Any = None,
                       default_initialization_strategy: str = "support_point", var_names: Any = None,
                       freeze_model: Any = None, backend: str = "phintys",
                       gradient_backend: str = "pytensor") -> PhintysModel:
    """Compile a PyMC model for ``nutpie.sample``; the arguments are those of ``nutpie.compile_pymc_model``.

    Parameters
    ----------
    model : pymc.Model
        A model whose free variables are all continuous.
    initial_points : dict, optional
        Variable, or its name → the value, or the strategy, to start from instead of the model's.
    jitter_rvs : set of variables, optional
        Variables whose starts are moved by a draw from U(-1, 1); all by default, if the strategy is "support_point".
    default_initialization_strategy : {"support_point", "prior"}
        Where variables start that have no initial value.
    var_names : iterable of str, optional
        The variables to store besides the free ones; all by default.
    freeze_model : bool, optional
        Make data and lengths of dimensions constants, as they are now; ``with_data`` cannot change them then.
    backend, gradient_backend : str
        For programs that pass nutpie's arguments on: only "phintys" and "pytensor".

    Returns
    -------
    PhintysModel
        A ``nutpie.compile_pymc.CompiledPyMCModel``.

    Raises
    ------
    ValueError
        If free variables are discrete, or the back end is another one.
    phintys.interop.pytensor.TranslationError
        If there is an op that phintys cannot run.

    Examples
    --------
    >>> import nutpie, pymc as pm
    >>> with pm.Model() as model:
    ...     x = pm.Normal("x", 1.0)
    >>> compiled = phintys.interop.nutpie.compile_pymc_model(model)
    >>> samples = nutpie.sample(compiled, draws=100, tune=100, chains=2, seed=1, progress_bar=False)
    >>> samples.posterior["x"].shape
    (2, 100)
    """
    for name, found, wanted in (("backend", backend, "phintys"), ("gradient_backend", gradient_backend, "pytensor")):
        if found != wanted:
            raise ValueError(f"{name} is {found!r}: phintys.interop.nutpie has only {wanted!r}")
    discrete = [variable.name for variable in model.free_RVs if variable.dtype.startswith(("int", "uint", "bool"))]
    if discrete:
        raise ValueError(f"nutpie samples continuous variables only; of this model {', '.join(discrete)} "
                         f"{'is' if len(discrete) == 1 else 'are'} discrete. pymc.sample chooses other steps for them")
    recipe = dict(initial_points=initial_points, jitter_rvs=jitter_rvs, var_names=var_names,
                  default_initialization_strategy=default_initialization_strategy, freeze_model=freeze_model)
    without_c = pytensor.config.change_flags(cxx="")        # for loops in starts it takes PyTensor seconds
    mode = Mode(_GraphLinker(), RewriteDatabaseQuery(include=list(REWRITES)))
    with nodes_made_quickly(), STARTS.used(), SHAPES.used(), densities_as_one_op(mode, model.check_bounds), without_c:
        return _compiled(model, mode, recipe)


def _compiled(model, mode, recipe):
    """The compiled model; the arguments are checked."""
    written = freeze_dims_and_data(model) if recipe["freeze_model"] else model
    jittered, strategy = recipe["jitter_rvs"], recipe["default_initialization_strategy"]
    if jittered is None and strategy == "support_point":
        jittered = set(written.free_RVs)
    start = nutpie_models._wrap_with_lock(make_initial_point_fn(
        model=written, overrides=recipe["initial_points"], default_strategy=strategy, jitter_rvs=jittered,
        return_transformed=True))
    n_dim, n_expanded, logp, expand, start, shape_info, reparameterized = nutpie_models._make_functions(
        written, mode=mode, compute_grad=True, join_expanded=True, pymc_initial_point_fn=start,
        var_names=recipe["var_names"])
    sources = list(dict.fromkeys([variable for function in (logp, expand) for variable in function.get_shared()
                                  if is_dense(variable.type)]))
    keys = {source: str(position) for position, source in enumerate(sources)}
    data = {keys[source]: numpy.array(source.get_value(borrow=True), order="C") for source in sources}
    for value in data.values():
        value.flags.writeable = False
    shared = {source: _shared(source, data[keys[source]]) for source in sources}
    dims, coords = nutpie_models._prepare_dims_and_coords(written, shape_info, reparameterized)
    compiled = PhintysModel(
        _n_dim=n_dim, dims=dims, _coords=coords, _shapes={name: tuple(shape) for name, _, shape in zip(*shape_info)},
        compiled_logp_func=None, compiled_expand_func=None, initial_point_func=start, shared_data=data,
        shared_var_keys=keys, user_data=nutpie_models.make_user_data(keys, data), n_expanded=n_expanded,
        shape_info=shape_info, logp_func=_function(logp, 2, "log-density and gradient", shared),
        expand_func=_function(expand, 1, "stored variables", shared), reparameterized_names=reparameterized,
        source=model, recipe=recipe, first_data=data, shared={keys[source]: shared[source] for source in sources})
    for reason in dict.fromkeys(map(str, Calls(compiled.logp_func, compiled.expand_func, 0).reasons)):
        warnings.warn(f"a function of the model runs Python code, so chains take turns at it. {reason}",
                      PyTensorFallbackWarning, stacklevel=4)
    return compiled


@marked
def _shapes_by_types(compute_shapes):
    """nutpie's function for the shapes of all variables: most types know them, and the rest needs a function."""
    @wraps(compute_shapes)
    def shapes_of(model):
        variables = {variable.name: variable for variable in model.value_vars + model.free_RVs + model.deterministics}
        unknown = {name: variable for name, variable in variables.items() if None in variable.type.shape}
        found = [variable.shape for variable in unknown.values()]
        if unknown:
            start = make_initial_point_fn(model=model, return_transformed=True)(0)
            given = {variables[name]: value for name, value in start.items()}
            given.update({variable: model.rvs_to_values[variable] for variable in model.observed_RVs})
            found = pytensor.function([], [as_tensor(shape) for shape in found], givens=given, mode=IN_PYTHON,
                                      on_unused_input="ignore")()
        known = {name: numpy.array(variable.type.shape, "int64") for name, variable in variables.items()
                 if name not in unknown}
        return known | dict(zip(unknown, found))
    return shapes_of


SHAPES = Swaps([(nutpie_models, "_compute_shapes", _shapes_by_types)])


class _GraphLinker(PhintysLinker):
    """A linker that translates, and compiles nothing: the data become shared variables of phintys only afterwards."""

    def fgraph_convert(self, fgraph, **options):
        known = {variable: named_input(variable) for variable in fgraph.inputs}
        outputs = translated(fgraph.outputs, known, getattr(fgraph, "rows_instead", None))
        return [known[variable] for variable in fgraph.inputs], outputs


def _shared(source, value):
    """A shared variable of phintys for one of PyTensor."""
    return phintys.shared(value, name=source.name, borrow=True,
                          broadcastable=translated_type(source.type).broadcastable)


def _function(written, count, name, shared):
    """The function of phintys for the first results of a function of nutpie.

    Its arguments are the point, and random generators if there are any.
    """
    (point, *others), results = written.vm.jit_fn
    data = {other: shared[source] for other, source in zip(others, written.get_shared()) if source in shared}
    with rules_of_densities():
        return phintys.function([point, *[other for other in others if other not in data]],
                                [T.cast(result, "float64") for result in results[:count]], givens=data, name=name,
                                on_unused_input="ignore")


@dataclasses.dataclass(frozen=True, eq=False)
class PhintysModel(nutpie_models.CompiledPyMCModel):
    """nutpie's compiled model with functions of phintys; ``compile_pymc_model`` makes it.

    ``logp_func`` and ``expand_func`` are functions of phintys of one vector, the unconstrained point. They keep the
    values that data had when the model was compiled. Pickling stores the PyMC model (which needs cloudpickle) and the
    data, and unpickling compiles again.
    """

    source: Any = dataclasses.field(kw_only=True)               # the model
    recipe: dict = dataclasses.field(kw_only=True)              # the arguments of `compile_pymc_model`
    first_data: dict = dataclasses.field(kw_only=True)          # `shared_data` at compilation
    shared: dict = dataclasses.field(kw_only=True)              # key of `shared_data` → the functions' shared variable
    calls: Any = dataclasses.field(kw_only=True, default=None)  # what the sampler calls in one run

    def with_data(self, **updates: Any) -> Any:
        """The model with other values of its data.

        Parameters
        ----------
        **updates : array_like
            Name of a shared variable → its value, which is converted to the variable's dtype and copied.

        Returns
        -------
        PhintysModel

        Raises
        ------
        KeyError
            If there is no such variable.
        ValueError
            If several have this name, the rank is another, or the conversion to integers would change values.
        """
        changed = super().with_data(**updates)
        for source, key in self.shared_var_keys.items():
            if source.name in updates:
                _refuse_other_numbers(source.name, updates[source.name], changed.shared_data[key])
        return changed._with_values([key for key, value in changed.shared_data.items()
                                     if value is not self.shared_data[key]])

    def _with_values(self, keys):
        """The model with functions that read the values of ``shared_data`` with these keys."""
        shared = {key: _shared(source, self.shared_data[key]) for source, key in self.shared_var_keys.items()
                  if key in keys}
        functions = {}
        for name in ("logp_func", "expand_func"):
            function = getattr(self, name)
            swap = {self.shared[key]: new for key, new in shared.items() if self.shared[key] in function.get_shared()}
            functions[name] = function.copy(swap=swap, name=function.name) if swap else function
        return dataclasses.replace(self, shared=self.shared | shared, **functions)

    def _running(self, seed=0):
        """The model with what the sampler calls in one run."""
        self._check_lengths()
        calls = Calls(self.logp_func, self.expand_func, seed)
        return dataclasses.replace(self, calls=calls, compiled_logp_func=calls.logp, compiled_expand_func=calls.expand,
                                   user_data=NO_USER_DATA)

    def _make_model(self, init_mean):
        return super(PhintysModel, self if self.calls else self._running())._make_model(init_mean)

    def _make_sampler(self, settings, *arguments, **options):
        self._look_for_changed_data()
        chosen = settings.as_dict()
        running = self._running(chosen["settings"]["seed"])
        if chosen["adaptation"] == "flow":
            from phintys.interop.nutpie_flows import density_of
            running = running.with_transform_adapt(**(self._transform_adapt_args or {}),
                                                   density=density_of(self.logp_func))
        return Sampler(super(PhintysModel, running)._make_sampler(settings, *arguments, **options), running)

    def _check_lengths(self):
        """Data of other lengths must not change how much there is to store."""
        changed = [source for source, key in self.shared_var_keys.items()
                   if self.shared_data[key].shape != self.first_data[key].shape]
        if not changed:
            return
        found, = PythonExpansion(self.expand_func, 0).at(self.initial_point_func(0))
        if found.shape != (self.n_expanded,):
            raise ValueError(
                f"with_data: {', '.join([str(source.name) for source in changed])} of another length gives "
                f"{found.size} numbers to store, but the model was compiled for {self.n_expanded}: leave the variables "
                "that depend on it out (var_names), or compile a model with these data")

    def _look_for_changed_data(self):
        """Say that the model does not follow ``pymc.set_data``."""
        for source, key in self.shared_var_keys.items():
            first, now = self.first_data[key], source.get_value(borrow=True)
            if self.shared_data[key] is first and not numpy.array_equal(first, now, equal_nan=first.dtype.kind in "fc"):
                warnings.warn(f"the value of {source.name} was changed after the model was compiled, which has no "
                              f"effect on it: use compiled.with_data({source.name}=...)", stacklevel=4)

    def describe_start(self) -> Any:
        """What is wrong with a point to start from, for nutpie's error; empty if nothing is."""
        value, slope = self.logp_func(self.initial_point_func(0))
        names = numpy.asarray(self.coords[nutpie_models._UNCONSTRAINED_PARAMETER])
        return "; ".join([text + ", ".join(map(str, names[where][:10])) for text, where in (
            ("the gradient is not finite for ", ~numpy.isfinite(slope)),
            ("the gradient is exactly 0, which nutpie refuses, for ", slope == 0)) if where.any()]
            + [f"the log-density is {value}"] * (not numpy.isfinite(value)))

    def __reduce__(self):
        return _compiled_again, (self.source, self.recipe, list(self.shared_data.values()))


def _refuse_other_numbers(name, given, converted):
    """Integers must be the numbers that were given: a conversion would cut their fractions off."""
    if converted.dtype.kind in "iub" and not numpy.array_equal(numpy.asarray(given), converted):
        raise ValueError(f"with_data: {name} holds {converted.dtype}, and the values given are no such numbers")


def _compiled_again(source, recipe, values):
    """A model that was pickled."""
    model = compile_pymc_model(source, **recipe)
    data = dict(zip(model.shared_data, values))
    return dataclasses.replace(model, shared_data=data)._with_values(list(data))

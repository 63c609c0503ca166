"""PyMC's loops over draws, run as one: predictive sampling, ``draw``, and what is computed of each draw of a posterior.

PyMC calls a compiled function once for each draw, and copies what it returns. ``DRAWING`` exchanges what these loops
are made of, so that each takes one step: its function is ``StackedCalls``, which gets the points of the whole posterior
and returns the results of all calls. All else, what is drawn and in which order included, is PyMC's own code.
"""
from __future__ import annotations

import inspect
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import TYPE_CHECKING, Any

import numpy
import pymc
from pymc.backends import arviz
from pymc.pytensorf import PointFunc
from pymc.sampling import forward

from phintys.interop.pytensor.stacked_calls import StackedCalls
from phintys.interop.swaps import Swaps, marked

if TYPE_CHECKING:
    from collections.abc import Callable

_current = ContextVar("what the loop over draws of this call of PyMC is", default=None)


class Loop:
    """A loop over draws that is run as one.

    Attributes
    ----------
    count : int or None
        How many draws; None: not known yet.
    maker : str
        The name of the function of PyMC that returns the function that the loop calls.
    report : callable
        Told how many draws have been made.
    point : dict
        Name → all values of a variable that draws are made for.
    """

    def __init__(self, count: int, maker: Any) -> None:
        self.count, self.maker, self.report, self.point = count, maker, lambda rows: None, {}


@contextmanager
def _as_one(count, maker):
    token = _current.set(Loop(count, maker))
    try:
        yield
    finally:
        _current.reset(token)


def _loop_of(maker):
    """The loop that runs here as one, and calls what this function of PyMC makes, or None."""
    loop = _current.get()
    return loop if loop is not None and loop.maker == maker and loop.count is not None else None


def _arguments(function, arguments, options):
    """All arguments of a call by name, or None if PyMC is to refuse them."""
    try:
        bound = inspect.signature(function).bind(*arguments, **options)
    except TypeError:
        return None
    bound.apply_defaults()
    return bound.arguments


# ---- the functions that users call ---------------------------------------------------------------------------------
@marked
def one_draw(draw: Callable[..., Any]) -> Callable[..., Any]:
    """``pymc.draw`` with a loop of one step."""
    @wraps(draw)
    def draw_by(*arguments, **options):
        given = _arguments(draw, arguments, options)
        if given is None or not _is_many(given["draws"]):
            return draw(*arguments, **options)
        with _as_one(given["draws"], "compile"):
            return draw(given.pop("vars"), **{**given.pop("kwargs"), **given, "draws": 1})
    return draw_by


@marked
def one_prior(sample_prior_predictive: Callable[..., Any]) -> Callable[..., Any]:
    """``pymc.sample_prior_predictive`` with a loop of one step."""
    @wraps(sample_prior_predictive)
    def sample_by(*arguments, **options):
        given = _arguments(sample_prior_predictive, arguments, options)
        if given is None or not _is_many(given["draws"]):
            return sample_prior_predictive(*arguments, **options)
        with _as_one(given["draws"], "compile_forward_sampling_function"):
            found = sample_prior_predictive(**{**given, "draws": 1, "return_inferencedata": False})
        prior = {name: values[0] for name, values in found.items()}
        if not given["return_inferencedata"]:
            return prior
        return pymc.to_inference_data(prior=prior, **{"model": given["model"], **(given["idata_kwargs"] or {})})
    return sample_by


@marked
def one_predictive(sample_posterior_predictive: Callable[..., Any]) -> Callable[..., Any]:
    """``pymc.sample_posterior_predictive`` with a loop of one step, if the posterior is a Dataset or has one."""
    @wraps(sample_posterior_predictive)
    def sample_by(*arguments, **options):
        with _as_one(None, "compile_forward_sampling_function"):
            return sample_posterior_predictive(*arguments, **options)
    return sample_by


@marked
def one_application(apply_function_over_dataset: Callable[..., Any]) -> Callable[..., Any]:
    """What computes log-likelihoods, log-priors and deterministic variables, with a loop of one step."""
    @wraps(apply_function_over_dataset)
    def apply_by(fn, dataset, **options):
        if not isinstance(fn, PointFunc):
            return apply_function_over_dataset(fn, dataset, **options)
        with _as_one(None, "compile_fn"):
            return apply_function_over_dataset(WholePoint(fn.f, _current.get()), dataset, **options)
    return apply_by


class WholePoint:
    """A function of a point, which gets all points at once if they are so.

    Parameters
    ----------
    function : pytensor.compile.executor.Function
    loop : Loop
    """

    def __init__(self, function: Callable[..., Any], loop: Any) -> None:
        self.f, self.loop = function, loop

    def __call__(self, point: Any) -> Any:
        if self.loop.count is None:
            return self.f(**point)
        return StackedCalls(self.f, self.loop.count, lambda rows: self.loop.report(rows))(**point)


def _is_many(draws):
    return isinstance(draws, (int, numpy.integer)) and draws > 1


# ---- what their loops are made of ----------------------------------------------------------------------------------
@marked
def stacked_compile(compile_function: Callable[..., Any]) -> Callable[..., Any]:
    """What compiles the function of ``pymc.draw``."""
    @wraps(compile_function)
    def compile_by(*arguments, **options):
        function, loop = compile_function(*arguments, **options), _loop_of("compile")
        return function if loop is None else StackedCalls(function, loop.count)
    return compile_by


@marked
def stacked_sampler(compile_forward_sampling_function: Callable[..., Any]) -> Callable[..., Any]:
    """What compiles the function of predictive sampling."""
    @wraps(compile_forward_sampling_function)
    def compile_by(*arguments, **options):
        function, volatile = compile_forward_sampling_function(*arguments, **options)
        loop = _loop_of("compile_forward_sampling_function")
        return function if loop is None else Sampler(function, loop), volatile
    return compile_by


class Sampler:
    """All calls of a function, which PyMC makes by the names of its inputs.

    Parameters
    ----------
    function : pytensor.compile.executor.Function
    loop : Loop
    """

    def __init__(self, function: Callable[..., Any], loop: Any) -> None:
        self.maker, self.loop = function.maker, loop
        self.calls = StackedCalls(function, loop.count, lambda rows: loop.report(rows))

    def __call__(self, **given: Any) -> Any:
        try:
            return self.calls(**given)
        except KeyboardInterrupt:               # PyMC goes on with the draws that there are
            if self.calls.results is None or not self.loop.point:
                raise
            return self.calls.results


@marked
def whole_points(dataset_to_point_list: Callable[..., Any]) -> Callable[..., Any]:
    """What turns a posterior into a list of points: one point, with the draws of each variable stacked."""
    @wraps(dataset_to_point_list)
    def points_of(dataset, sample_dims):
        loop, sizes = _current.get(), [dataset.sizes.get(name) for name in sample_dims]
        if loop is None or not all(sizes) or not all([isinstance(name, str) for name in dataset]) or not len(dataset):
            return dataset_to_point_list(dataset, sample_dims)
        values = {name: array.transpose(*sample_dims, ...).values for name, array in dataset.items()}
        count = len(sizes)
        loop.point = {name: array.reshape(-1, *array.shape[count:]) for name, array in values.items()}
        first = next(iter(values))
        loop.count = len(loop.point[first])
        return [loop.point], {name: dataset[first][name] for name in sample_dims}
    return points_of


@marked
def whole_trace(trace: type) -> Callable[..., Any]:
    """What PyMC keeps draws in: as they are, if all draws come at once."""
    @wraps(trace)
    def kept(samples):
        loop = _current.get()
        return Kept(loop.point) if loop is not None and loop.point else trace(samples)
    return kept


class Kept:
    """All draws of each variable; those of the point are copied.

    Parameters
    ----------
    point : dict
    """

    def __init__(self, point: Any) -> None:
        self.point, self.trace_dict = point, {}

    def insert(self, name: str, values: Any, index: int) -> None:
        self.trace_dict[name] = values.copy() if values is self.point.get(name) else values


@marked
def whole_progress(create_simple_progress: Callable[..., Any] | type) -> Callable[..., Any]:
    """What shows the progress: of the draws, not of the steps of the loop."""
    @wraps(create_simple_progress)
    def shown(*arguments, **options):
        progress, loop = create_simple_progress(*arguments, **options), _current.get()
        return Progress(progress, loop) if loop is not None and loop.point else progress
    return shown


class Progress:
    """PyMC's progress bar, moved by the draws.

    Parameters
    ----------
    progress : pymc.progress_bar.SimpleProgressBackend
    loop : Loop
    """

    def __init__(self, progress: Any, loop: Any) -> None:
        self.progress, self.loop = progress, loop

    def __enter__(self):
        self.progress.__enter__()
        return self

    def __exit__(self, *error):
        return self.progress.__exit__(*error)

    def add_task(self, description: Any, **options: Any) -> Any:
        """Let the loop move the bar, which shows as many draws as the loop has."""
        task = self.progress.add_task(description, **{**options, "total": self.loop.count})
        self.loop.report = lambda rows: self.progress.advance(task, rows)
        return task

    def advance(self, task: Any) -> None:
        """Do nothing: the loop does it."""

    def update(self, task: Any, refresh: Any, completed: Any) -> None:
        """Show that all draws are done."""
        self.progress.update(task, refresh=refresh, completed=self.loop.count)


def _homes(name, function):
    """The modules of PyMC that have a function. They are not asked for it: to find a name that it does not have, a
    module may import others, as that of plots does with all of ArviZ and Matplotlib."""
    return [module for key, module in list(sys.modules.items())
            if key.partition(".")[0] == "pymc" and vars(module).get(name) is function]


DRAWING = Swaps([(forward, "compile", stacked_compile),
                 (forward, "compile_forward_sampling_function", stacked_sampler),
                 (forward, "create_simple_progress", whole_progress),
                 (arviz, "CustomProgress", whole_progress),
                 *[(module, name, replaced) for module in (forward, arviz) for name, replaced in (
                     ("dataset_to_point_list", whole_points), ("_DefaultTrace", whole_trace))],
                 *[(module, name, replaced) for home, name, replaced in (
                     (forward, "draw", one_draw), (forward, "sample_prior_predictive", one_prior),
                     (forward, "sample_posterior_predictive", one_predictive),
                     (arviz, "apply_function_over_dataset", one_application))
                     for module in _homes(name, getattr(home, name))]])

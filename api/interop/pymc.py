"""PyMC on phintys: ``sample``, and ``installed``, in which PyMC's own functions use phintys without further changes.

What has no mode of its own is compiled in PyTensor's default mode, ``pytensor.config.mode``, and a mode may be its
value; inside one call of ``sample`` PyMC takes that of phintys for the default. Four things of PyMC need more: PyMC 6
samples by nutpie only in modes whose linker it knows, it lets nutpie compile by Numba whatever the mode is, a frozen
model keeps functions by the mode that was asked for, so that those of the default mode would survive a change of it,
and what draws starts is compiled in the mode FAST_COMPILE. Besides, the graph of a log-density with its gradient is
written sooner, and a gradient by all variables says whether there is one by each. ``SAMPLING``, ``COMPILING`` and
``STARTS`` list what is exchanged for each of them.
"""
from __future__ import annotations

import inspect
import re
import weakref
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import pymc
import pytensor
from pymc import pytensorf
from pymc.model import core
from pymc.sampling import mcmc
from pytensor.compile.mode import get_mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import graph_inputs
from pytensor.tensor.rewriting import elemwise

from phintys.interop.density_op import densities_as_one_op
from phintys.interop.pymc_draws import DRAWING
from phintys.interop.pytensor import PhintysLinker
from phintys.interop.pytensor.quick_function import nodes_made_quickly
from phintys.interop.starts import STARTS
from phintys.interop.swaps import Swaps, marked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytensor.graph.basic import Variable

__all__ = ["install", "installed", "sample", "uninstall"]

MODE = "PHINTYS"
BACKEND = "phintys"                     # nutpie's name of a way to compile a model
OLDEST_NUTPIE = "0.16.10"               # which is the oldest one for PyMC 6, too

_here = ContextVar("phintys", default=False)            # whether a call of `sample` is running


def has_nutpie() -> bool:
    """Whether there is a nutpie that phintys works with; it is not imported, which takes Numba, too."""
    try:
        return check_nutpie() is None
    except ImportError:
        return False


def check_nutpie() -> None:
    """Raise an ImportError if nutpie is not installed, or too old."""
    try:
        found = version("nutpie")
    except PackageNotFoundError:
        raise ImportError(f"nutpie is not installed: pip install 'nutpie>={OLDEST_NUTPIE}'") from None
    if _numbers(found) < _numbers(OLDEST_NUTPIE):
        raise ImportError(f"phintys works with nutpie {OLDEST_NUTPIE} or newer, and {found} is installed: "
                          f"pip install 'nutpie>={OLDEST_NUTPIE}'")


def _compiler_for_nutpie():
    """``phintys.interop.nutpie.compile_pymc_model``, imported when a model is to be sampled."""
    check_nutpie()
    from phintys.interop.nutpie import compile_pymc_model
    return compile_pymc_model


def _numbers(text):
    """``"0.16.10"`` → ``[0, 16, 10]``."""
    return [int(part) for part in re.findall(r"\d+", text)[:3]]


# ---- what is exchanged while phintys is in use -------------------------------------------------------------------
def known_linkers(linker: type) -> Any:
    """The linkers in whose modes PyMC 6 lets nutpie sample, with that of phintys."""
    return linker | PhintysLinker if has_nutpie() else linker


@marked
def external_sampler(sample_external: Callable[..., Any]) -> Callable[..., Any]:
    """PyMC's call of another sampler: it tells nutpie to compile by phintys if that is the mode."""
    @wraps(sample_external)
    def sample_by(*arguments, **options):
        given = options.get("compile_kwargs")           # PyMC 5 hands over none
        mode = get_mode((given or {}).get("mode"))
        sampler = arguments[0] if arguments else options["sampler"]
        if sampler != "nutpie" or not isinstance(mode.linker, PhintysLinker):
            return sample_external(*arguments, **options)
        keyword = "nuts_sampler_kwargs" if given is None else "compile_kwargs"
        options[keyword] = {"backend": BACKEND, **(options.get(keyword) or {})}
        with _nutpie_swaps().used():
            return sample_external(*arguments, **options)
    return sample_by


@marked
def compiler_of_nutpie(compile_pymc_model: Callable[..., Any]) -> Callable[..., Any]:
    """``nutpie.compile_pymc_model`` with one more backend."""
    @wraps(compile_pymc_model)
    def compile_model(model, *arguments, backend="numba", **options):
        if backend != BACKEND:
            return compile_pymc_model(model, *arguments, backend=backend, **options)
        return _compiler_for_nutpie()(model, *arguments, **options)
    return compile_model


def default_mode() -> Any:
    """The mode of what has no other: inside ``sample`` that of phintys."""
    return MODE if _here.get() else pytensor.config.mode


@marked
def mode_here(mode_of: Callable[..., Any]) -> Callable[..., Any]:
    """The function by which PyMC finds the mode of all that it compiles: ``sample`` has a default mode of its own."""
    @wraps(mode_of)
    def found(mode=None):
        return mode_of(default_mode() if mode is None else mode)
    return found


@marked
def in_default_mode(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a frozen model that keeps functions: they are kept by the mode that is used, not by None."""
    @wraps(method)
    def with_mode(self, *arguments, mode=None, **options):
        return method(self, *arguments, mode=default_mode() if mode is None else mode, **options)
    return with_mode


def _checks_bounds():
    """Whether a function that is compiled here checks the bounds of parameters."""
    try:
        return core.modelcontext(None).check_bounds
    except TypeError:                           # there is no model whose block this is
        return True


@marked
def value_and_gradient(make: Callable[..., Any]) -> Callable[..., Any]:
    """The constructor of the function of a log-density and its gradient, most of whose time PyTensor takes."""
    @wraps(make)
    def make_quickly(self, *arguments, **options):
        mode = get_mode(options.get("mode") or default_mode())
        if not isinstance(mode.linker, PhintysLinker) or not options.get("compute_grads", True):
            return make(self, *arguments, **options)
        with nodes_made_quickly(), densities_as_one_op(mode, _checks_bounds()):
            return make(self, *arguments, **options)
    return make_quickly


class GradientsTogether:
    """PyTensor's module of gradients for the choice of steps, where PyMC asks for the gradient by each variable.

    It only asks whether there is one. So the gradient by all variables is taken, once; if there is none, each is asked
    for as before, and so are its errors.
    """

    def __init__(self, module: Any) -> None:
        self._module, self._cost, self._known = module, lambda: None, frozenset()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)

    def grad(self, cost: Variable, wrt: Variable) -> Any:
        """The gradient by a variable; None if there is one by all that the cost depends on."""
        if self._cost() is not cost:
            self._cost, self._known = weakref.ref(cost), self._with_gradients(cost)
        return None if wrt in self._known else self._module.grad(cost, wrt)

    def _with_gradients(self, cost):
        """The variables of floats that a cost depends on, if it has a gradient by all of them."""
        floats = frozenset([variable for variable in graph_inputs([cost])
                            if not isinstance(variable, (Constant, SharedVariable))
                            and getattr(variable.type, "dtype", "").startswith("float")])
        try:
            with nodes_made_quickly():
                self._module.grad(cost, list(floats))
        except Exception:
            return frozenset()
        return floats


@marked
def target_language(language_of: Any) -> Any:
    """PyTensor 2.38's rewrites for C ask for the language of the default mode, and know no other linkers."""
    @wraps(language_of)
    def known_language(mode=None):
        linker = get_mode(mode).linker
        return ("phintys",) if isinstance(linker, PhintysLinker) else language_of(mode)
    return known_language


FROZEN = getattr(core, "FrozenModel", None)
SAMPLING = Swaps([(mcmc, "NumbaLinker", known_linkers), (mcmc, "_sample_external_nuts", external_sampler),
                  (mcmc, "tg", GradientsTogether), (pytensorf, "get_mode", mode_here),
                  (core.ValueGradFunction, "__init__", value_and_gradient),
                  *[(FROZEN, name, in_default_mode) for name in ("compile_fn", "_logp_dlogp_function")]])
COMPILING = Swaps([(pytensor.config, "mode", lambda mode: get_mode(MODE)),
                   (elemwise, "get_target_language", target_language)])
ALL = STARTS, SAMPLING, COMPILING, DRAWING
_of_nutpie = []


def _nutpie_swaps():
    """The exchange in nutpie, which is imported when a model is sampled by it."""
    if not _of_nutpie:
        import nutpie
        _of_nutpie.append(Swaps([(nutpie, "compile_pymc_model", compiler_of_nutpie)]))
    return _of_nutpie[0]


# ---- what users call ---------------------------------------------------------------------------------------------
_installed = []                         # what each call of ``install`` found


def install() -> None:
    """Let PyMC use phintys until ``uninstall`` is called.

    One line at the top of a program is enough: everything of PyMC, and of what is built with it, that does not ask for
    a mode runs in the mode PHINTYS from then on. ``installed`` does the same for a block.

    See Also
    --------
    installed : the same for a block, with all that it changes.

    Examples
    --------
    >>> import pymc as pm, phintys.interop.pymc
    >>> phintys.interop.pymc.install()
    >>> float(pm.draw(pm.Normal.dist(5, 1e-9), random_seed=1).round(3))
    5.0
    >>> phintys.interop.pymc.uninstall()
    """
    _installed.append([swaps.begin() for swaps in ALL])


def uninstall() -> None:
    """Undo the last ``install``.

    Raises
    ------
    RuntimeError
        If there is none.

    Examples
    --------
    >>> import phintys.interop.pymc
    >>> phintys.interop.pymc.install()
    >>> phintys.interop.pymc.uninstall()
    """
    try:
        users = _installed.pop()
    except IndexError:
        raise RuntimeError("phintys.interop.pymc.uninstall() was called, but phintys is not installed: each call "
                           "undoes one of install()") from None
    for swaps, user in zip(reversed(ALL), reversed(users)):
        swaps.end(user)


@contextmanager
def installed() -> Iterator[None]:
    """A block in which PyMC uses phintys without further changes.

    ``pm.sample``, ``compile_logp``, ``sample_prior_predictive``, ``sample_posterior_predictive``, ``find_MAP``,
    ``fit``, ``draw`` and all else that is compiled without a mode of its own run in the mode PHINTYS. In PyMC 6,
    ``pm.sample`` uses nutpie under PyMC's own conditions, and phintys compiles the model for it. What asks for a mode
    or a backend, as ``pm.sample(nuts_sampler="numpyro")`` does, gets it.

    Like ``pytensor.config``, this is a matter of the whole process: threads that are started inside see it, and so do
    others while a block is open. Blocks may be nested, and may end in any order in several threads; after the last one
    all is as before the first one. Chains in processes run what was compiled here. The functions that were compiled
    inside stay functions of phintys afterwards.

    Examples
    --------
    >>> import pymc as pm, phintys.interop.pymc
    >>> with pm.Model() as model:
    ...     mean = pm.Normal("mean")
    ...     y = pm.Normal("y", mean, 1, observed=[2.0, 4.0])
    >>> with phintys.interop.pymc.installed():
    ...     start = pm.find_MAP(model=model, progressbar=False)
    >>> float(start["mean"].round(4))
    2.0
    """
    with STARTS.used(), SAMPLING.used(), COMPILING.used(), DRAWING.used():
        yield


def sample(*arguments: Any, client: Any = None, **options: Any) -> Any:
    """Draw samples from the posterior by phintys: ``pymc.sample`` in the mode PHINTYS.

    nutpie samples if it is installed, all variables are continuous, and no argument is given that only PyMC's samplers
    know (``step``, ``init``, ``callback``, ``trace``, several ``initvals``, ``return_inferencedata=False``); else
    PyMC's own NUTS and its other steps do. ``nuts_sampler`` decides otherwise, as in PyMC. Other threads are not
    affected.

    Parameters
    ----------
    model : pymc.Model, optional
        Also as the first argument; by default the model whose block this is.
    draws : int, optional
        Draws of each chain, 1000 by default; the first argument but for the model.
    client : optional
        Who draws the chains, 4 by default, each as a task: a ``dask.distributed.Client``, a cluster or its address, or
        an executor of processes, as of ``phintys.distributed.map``. Chains depend on ``random_seed`` alone.
    **options
        All others of ``pymc.sample``.

    Returns
    -------
    xarray.DataTree or arviz.InferenceData
        What ``pymc.sample`` returns: a DataTree in PyMC 6, InferenceData in PyMC 5.

    Raises
    ------
    ValueError
        If ``backend`` or ``compile_kwargs["mode"]`` ask for another mode.

    Examples
    --------
    >>> import pymc as pm, phintys.interop.pymc
    >>> with pm.Model() as model:
    ...     mean = pm.Normal("mean")
    ...     y = pm.Normal("y", mean, 1, observed=[2.0, 4.0])
    >>> samples = phintys.interop.pymc.sample(model, draws=20, tune=20, chains=2, cores=1, random_seed=1, quiet=True,
    ...                                       compute_convergence_checks=False)
    >>> samples.posterior["mean"].shape
    (2, 20)
    """
    if arguments and isinstance(arguments[0], core.Model if FROZEN is None else core.BaseModel):
        options["model"], *arguments = arguments
    options["compile_kwargs"] = _with_mode(options)
    if client is not None:
        from phintys.interop.pymc_chains import sample_over

        return sample_over(client, sample, arguments, options)
    with STARTS.used(), SAMPLING.used(), default_here():
        if _nutpie_is_to_be_asked_for(options):
            options["nuts_sampler"] = "nutpie"
            options["nuts_sampler_kwargs"] = {"backend": BACKEND, **(options.get("nuts_sampler_kwargs") or {})}
            del options["compile_kwargs"]
            with _nutpie_swaps().used():
                return pymc.sample(*arguments, **options)
        return pymc.sample(*arguments, **options)


@contextmanager
def default_here() -> Iterator[None]:
    """A block in which PyMC takes the mode of phintys for the default one; other threads are not affected."""
    token = _here.set(True)
    try:
        yield
    finally:
        _here.reset(token)


_parameters = inspect.signature(pymc.sample).parameters
sample.__signature__ = inspect.Signature([            # type: ignore[attr-defined]
    *[one for one in _parameters.values() if one.kind is not one.VAR_KEYWORD],
    inspect.Parameter("client", inspect.Parameter.KEYWORD_ONLY, default=None),
    *[one for one in _parameters.values() if one.kind is one.VAR_KEYWORD]])


def _with_mode(options):
    """The options of what is compiled, with the mode; another one is refused."""
    found = {"mode": MODE, **(options.get("compile_kwargs") or {})}
    if options.get("backend") is not None or not isinstance(get_mode(found["mode"]).linker, PhintysLinker):
        asked = f"backend={options['backend']!r}" if options.get("backend") is not None else f"mode={found['mode']!r}"
        raise ValueError(f"phintys.interop.pymc.sample always uses the mode {MODE}, but got {asked}; "
                         "pymc.sample takes other ones")
    return found


def _nutpie_is_to_be_asked_for(options):
    """Whether nutpie can sample, and PyMC does not find out by itself: PyMC 5 uses it only if it is asked to.

    The conditions are those of PyMC 6. PyMC 5 gives nutpie no initial values, so there must be none.
    """
    if hasattr(mcmc, "NumbaLinker"):
        return False
    if options.get("nuts_sampler") is not None:
        return options["nuts_sampler"] == "nutpie"
    if any(options.get(name) is not None for name in ("step", "trace", "callback", "initvals", "start")):
        return False
    if options.get("init", "auto") != "auto" or not options.get("return_inferencedata", True):
        return False
    if not has_nutpie():
        return False
    _, chosen = mcmc.assign_step_methods(core.modelcontext(options.get("model")), None, methods=pymc.STEP_METHODS)
    return [*chosen] == [pymc.NUTS]

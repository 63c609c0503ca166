"""What nutpie's threads call: the log-density and the expansion of a compiled model, for one run of the sampler.

nutpie knows an address and a pointer of each, and only the number that a call returns. 0 is success; a positive number
says that the point has no density, which nutpie takes for a divergence. At a negative one nutpie's threads panic, print
that they did, and lose what went wrong, and so they do if an expansion fails. So after an error each density is a
divergence and each value to store NaN, which ends the run soon, and the error is kept here, for the thread that waits
for the samples.
"""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy
from numpy.ctypeslib import as_array
from pymc.logprob.utils import ParameterValueError

from phintys.interop.pytensor.types import STATE_TYPE
from phintys.ops.random.generator_objects import state_of
from phintys.vm.callables.c_signatures import SIGNATURES

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.interop.nutpie import PhintysModel
    from phintys.making.compiled_function import Function
    from phintys.vm.callables.c_function import CFunction

LOGP, EXPAND = [SIGNATURES[name].ctypes_type() for name in ("log_density", "expand")]
GOOD, UNDEFINED, BAD_GRADIENT, BAD_DENSITY = 0, 1, 3, 4                 # nutpie's numbers

# Errors of ops at points that have no density; each other error ends the run.
NUMERICAL = (ArithmeticError, AssertionError, numpy.linalg.LinAlgError, ParameterValueError)


def in_c(function: Function, signature: str) -> CFunction:
    """A C function that needs no GIL; or the exception that says why there is none, with the op and its line."""
    if len(function.argument_types) > 1:
        return NotImplementedError("Stored variables draw random numbers, for which each draw makes generators")
    try:
        return function.c_function(signature, recoverable=NUMERICAL)
    except NotImplementedError as reason:
        return reason


class Calls:
    """What the sampler calls in one run.

    Parameters
    ----------
    density : phintys function
        Point → log-density and gradient.
    expansion : phintys function
        Point, and a random generator for each further argument → the values to store.
    seed : int
        Of the random generators.
    """

    def __init__(self, density: Function, expansion: Function, seed: int) -> None:
        self.logp, self.expand = in_c(density, "log_density"), in_c(expansion, "expand")
        self.reasons = [each for each in (self.logp, self.expand) if isinstance(each, NotImplementedError)]
        if self.logp in self.reasons:
            self.logp = PythonDensity(density)
        if self.expand in self.reasons:
            self.expand = PythonExpansion(expansion, seed)
        self.logp.be_quiet()
        self.expand.be_quiet(self.logp.end)

    @property
    def failure(self) -> Any:
        """What ended the run: an exception, or None."""
        if self.expand.error is not None:
            return self.expand.error
        return None if is_numerical(self.logp.error) else self.logp.error


def is_numerical(error: Any) -> Any:
    """Whether an error says that a density has no value here, so that the sampler may go on."""
    return isinstance(error, NUMERICAL) or getattr(error, "is_recoverable", False)


class PythonDensity:
    """A log-density that runs Python code; calls take turns at the GIL.

    Attributes
    ----------
    address : int
    error : Exception or None
        What has failed.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.error, self.has_ended = function, None, False
        self.callback = LOGP(self._call)                    # refers to this object, as it must
        self.address = ctypes.cast(self.callback, ctypes.c_void_p).value

    def be_quiet(self) -> None:
        """Do as a C function does then, which this does anyway."""

    def end(self) -> None:
        """Let later calls compute nothing."""
        self.has_ended = True

    def _call(self, length, point, gradient, logp, _):
        if self.has_ended:
            return UNDEFINED
        try:
            value, slope = self.function(as_array(point, (length,)))
            logp[0] = value
            as_array(gradient, (length,))[:] = slope
        except Exception as error:
            if not is_numerical(error):
                self.error = self.error or error
                self.end()
            return UNDEFINED
        return BAD_GRADIENT if not numpy.isfinite(slope).all() else GOOD if numpy.isfinite(value) else BAD_DENSITY


class PythonExpansion:
    """An expansion that runs Python code, or draws random numbers; calls take turns at the GIL.

    nutpie gives chains no seeds. The generators for a point are determined by the seed and the point, so draws are the
    same whatever thread asks for them, and in whatever order.
    """

    def __init__(self, function: Callable[..., Any], seed: Any) -> None:
        self.function, self.seed, self.error = function, seed, None
        self.generators = len(function.argument_types) - 1
        self.callback = EXPAND(self._call)
        self.address = ctypes.cast(self.callback, ctypes.c_void_p).value

    def _call(self, length, count, point, stored, _):
        results = as_array(stored, (count,))
        results[:] = numpy.nan
        try:
            if self.error is None:
                results[:], = self.at(as_array(point, (length,)))
        except Exception as error:
            self.error = error
            self.listener()
        return GOOD

    def be_quiet(self, listener: Callable[[], None]) -> None:
        """Let a call that fails call ``listener()``."""
        self.listener = listener

    def at(self, point: Any) -> Any:
        """The results for a point."""
        return self.function(point, *self._generators_at(point))

    def _generators_at(self, point):
        if not self.generators:
            return ()
        generators = numpy.random.default_rng([self.seed, *point.view(numpy.uint32)]).spawn(self.generators)
        return [state_of(generator) if kind == STATE_TYPE else generator
                for kind, generator in zip(self.function.argument_types[1:], generators)]


class Sampler:
    """nutpie's sampler, which raises what has failed in a run instead of what nutpie has made of it.

    Parameters
    ----------
    sampler : nutpie._lib.PySampler
    model : PhintysModel
        The running model.
    """

    def __init__(self, sampler: Any, model: PhintysModel) -> None:
        self._sampler, self._model = sampler, model

    def __getattr__(self, name):
        return getattr(self._sampler, name)

    def wait(self, timeout: Any = None) -> None:
        """Wait for the end of the run, at most so many seconds."""
        try:
            self._checked(self._sampler.wait, timeout)
        except RuntimeError as error:
            if "initialization points failed" in str(error):
                raise RuntimeError(f"nutpie found no point to start from. At one of its starts "
                                   f"{self._model.describe_start()}. Other starts: initial_points, jitter_rvs, "
                                   "default_initialization_strategy") from error
            raise

    def take_results(self) -> Any:
        """What was drawn."""
        return self._checked(self._sampler.take_results)

    def abort(self) -> None:
        """End the run; what has failed in it is raised where its results are taken."""
        try:
            self._sampler.abort()
        except BaseException:
            if self._model.calls.failure is None:
                raise

    def _checked(self, method, *arguments):
        found = None
        try:
            found = method(*arguments)
        except KeyboardInterrupt:
            raise
        except BaseException:               # also a panic of Rust's, which is no Exception
            if self._model.calls.failure is None:
                raise
        if self._model.calls.failure is not None:
            raise self._model.calls.failure
        return found

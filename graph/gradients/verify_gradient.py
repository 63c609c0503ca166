"""Gradients by finite differences, and the check of symbolic gradients against them.

``numeric_grad`` needs only NumPy. ``verify_grad`` compiles functions, which this floor cannot do. So the top floor
makes it with ``make_verify_grad``, to which it passes ``function``.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph.errors import GradientError
from phintys.graph.gradients.gradient import grad

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Relative and absolute tolerance, by the least precise dtype among the inputs.
TOLERANCES = {"float16": 5e-2, "float32": 1e-2, "float64": 1e-4}


class numeric_grad:
    """One-sided finite differences of a scalar function.

    Parameters
    ----------
    f : callable
        A function of arrays that returns a scalar.
    pt : numpy.ndarray, or list or tuple of numpy.ndarray
        The point.
    eps : float, optional
        The step; by default it depends on the least precise dtype.
    out_type : str, optional
        Dtype of the derivatives, if it is complex.

    Attributes
    ----------
    gf : numpy.ndarray or list of numpy.ndarray
        The derivatives, in the shapes of ``pt``.

    Examples
    --------
    >>> found = phintys.gradient.numeric_grad(lambda x: (x ** 2).sum(), [numpy.array([1.0, 2.0])])
    >>> [gradient.round(4) for gradient in found.gf]
    [array([2., 4.])]
    """

    # A large step has a bias where f is not linear, a small one loses digits in f(x + eps) - f(x).
    type_eps = {"float64": 1e-7, "float32": 3e-4, "float16": 1e-1}

    def __init__(self, f: Callable[..., Any], pt: Sequence[numpy.ndarray] | numpy.ndarray, eps: Any = None,
                 out_type: Any = None) -> None:
        single = not isinstance(pt, (list, tuple))
        points = [numpy.array(point) for point in ([pt] if single else pt)]
        dtypes = [str(point.dtype) for point in points]
        working = min(dtypes, key=self.type_eps.__getitem__, default="float64")
        if eps is None:
            eps = max(map(self.type_eps.__getitem__, dtypes), default=0.0)
        sizes = [point.size for point in points]
        flat = numpy.concatenate([point.reshape(-1).astype(working) for point in points] or [numpy.empty(0)])
        derivatives = numpy.empty(flat.size, out_type if out_type and out_type.startswith("complex") else working)
        arguments = self._pieces(flat, sizes, points)
        base = f(*[point.copy() for point in arguments])
        for position, value in enumerate(flat.copy()):
            flat[position] += eps
            derivatives[position] = (f(*arguments) - base) / eps
            flat[position] = value
        gradients = self._pieces(derivatives, sizes, points)
        self.gf = gradients[0] if single else gradients

    @staticmethod
    def _pieces(flat, sizes, points):
        """Return views of a vector in the shapes of ``points``."""
        ends = numpy.cumsum(sizes, dtype=int)
        return [flat[end - size:end].reshape(point.shape) for end, size, point in zip(ends, sizes, points)]

    @staticmethod
    def abs_rel_err(a: Any, b: Any) -> tuple[numpy.ndarray, ...]:
        """Return absolute error ``|a - b|`` and relative error ``|a - b| / max(|a| + |b|, 1e-8)``, elementwise."""
        absolute = abs(a - b)
        # An array of float64, because 1e-8 as a float16 is 0.
        relative = absolute / numpy.maximum(abs(a) + abs(b), numpy.array([1e-8]))
        return numpy.asarray(absolute), numpy.asarray(relative).reshape(numpy.shape(absolute))

    def abs_rel_errors(self, g_pt: Sequence[numpy.ndarray]) -> list[tuple[numpy.ndarray, ...]]:
        """Return the errors of a list of gradients, as pairs.

        Raises
        ------
        ValueError
            If their number or a shape is wrong.
        """
        if len(g_pt) != len(self.gf):
            raise ValueError(f"argument has wrong number of elements: {len(g_pt)}, not {len(self.gf)}")
        for position, (given, own) in enumerate(zip(g_pt, self.gf)):
            if given.shape != own.shape:
                raise ValueError(f"argument element {position} has wrong shape {(given.shape, own.shape)}")
        return [self.abs_rel_err(given, own) for given, own in zip(g_pt, self.gf)]

    def max_err(self, g_pt: Sequence[numpy.ndarray], abs_tol: float, rel_tol: float) -> tuple[Any, ...]:
        """Find the largest violation of the tolerances.

        Returns
        -------
        tuple (int, int, float, float)
            The number of the argument and of its element, the absolute and the relative error.

        Raises
        ------
        ValueError
            If an error is not finite.
        """
        worst = []
        for argument, (absolute, relative) in enumerate(self.abs_rel_errors(g_pt)):
            if not numpy.all(numpy.isfinite(absolute)):
                raise ValueError(f"abs_err not finite: {absolute!r}")
            if not numpy.all(numpy.isfinite(relative)):
                raise ValueError(f"rel_err not finite: {relative!r}")
            if absolute.size:
                scaled = numpy.minimum(absolute / abs_tol, relative / rel_tol).reshape(-1)
                position = int(scaled.argmax())
                worst.append((scaled[position], argument, position, absolute.flat[position], relative.flat[position]))
        return max(worst, key=lambda entry: entry[0])[1:] if worst else (0, 0, 0.0, 0.0)


def make_verify_grad(function: Callable[..., Any], tensor_type: type) -> Callable[..., Any]:
    """Make the function ``verify_grad``.

    Parameters
    ----------
    function : callable
        ``phintys.function``.
    tensor_type : class
        ``TensorType``.
    """

    def verify_grad(fun, pt, n_tests=2, rng=None, eps=None, out_type=None, abs_tol=None, rel_tol=None, mode=None,
                    cast_to_output_type=False, no_debug_ref=True):
        """Compare the symbolic gradient of a function with finite differences.

        The function's output is first projected to a scalar by random weights.

        Parameters
        ----------
        fun : callable
            Takes variables and returns one variable; an op, for example.
        pt : list or tuple of numpy.ndarray
            The point; float16, float32 or float64.
        n_tests : int
            The number of random projections.
        rng : numpy.random.RandomState
            The source of the weights; any object with a method ``rand``.
        eps : float, optional
            The step; see ``numeric_grad``.
        out_type : str, optional
            Dtype of the output, if it is complex.
        abs_tol, rel_tol : float, optional
            A difference is an error if it is above both.
        mode : Mode or str, optional
            The mode of the compiled functions.
        cast_to_output_type : bool
            Draw the projection in float32 when the output is float32, not in float64.
        no_debug_ref : bool
            Use a fast mode for the finite differences even if ``mode`` is FAST_COMPILE.

        Raises
        ------
        TypeError
            If an input does not have a float dtype, or ``rng`` is missing.
        GradientError
            If the gradients differ.

        Examples
        --------
        >>> phintys.gradient.verify_grad(T.tanh, [numpy.array([0.5, 1.0])], rng=numpy.random.RandomState(0))
        """
        points = _checked_points(pt, rng)
        tolerance = max([TOLERANCES[str(point.dtype)] for point in points])
        inputs, output = _applied(fun, points, tensor_type)
        forward = _compiled(function, inputs, output, "verify_grad forward", mode)
        shape = forward(*[point.copy() for point in points]).shape
        dtype = "float32" if cast_to_output_type and output.type.dtype == "float32" else "float64"
        weights = tensor_type(dtype, output.type.broadcastable)(name="random_projection")
        projected, arguments = (weights * output).sum(), [weights, *inputs]
        fast = "FAST_RUN" if no_debug_ref and mode == "FAST_COMPILE" else mode
        cost = _compiled(function, arguments, projected, "verify_grad cost", fast)
        gradient = _compiled(function, arguments, grad(projected, inputs, disconnected_inputs="ignore"),
                             "verify_grad gradient", mode)
        try:
            for _ in range(n_tests):
                # Weights near 0 would lose the digits of what they multiply.
                projection = numpy.array(rng.rand(*shape) + 0.5, dtype)
                numeric = numeric_grad(lambda *values: cost(projection, *values), points, eps, out_type)
                symbolic = gradient(projection, *[point.copy() for point in points])
                _compare(numeric, symbolic, tolerance if abs_tol is None else abs_tol,
                         tolerance if rel_tol is None else rel_tol)
        except Exception as error:
            error.args += ("\nThe error happened with the following inputs:", points, "\nThe value of eps is:", eps,
                           "\nThe out_type is:", out_type)
            raise

    verify_grad.E_grad = GradientError
    return verify_grad


def _applied(fun, points, tensor_type):
    """Variables for the points, and what the function makes of them."""
    inputs = [tensor_type(str(point.dtype), [length == 1 for length in point.shape])(name=f"input {position}")
              for position, point in enumerate(points)]
    output = fun(*inputs)
    if isinstance(output, (list, tuple)):
        raise NotImplementedError("can't (yet) autotest gradient of fun with multiple outputs")
    return inputs, output


def _compiled(function, arguments, result, name, mode):
    # numeric_grad works in the most precise dtype of the inputs, so values of the others need a downcast.
    return function(arguments, result, accept_inplace=True, allow_input_downcast=True, mode=mode,
                    on_unused_input="ignore", name=name)


def _checked_points(pt, rng):
    if not isinstance(pt, (list, tuple)):
        raise AssertionError(f"verify_grad: pt must be a list or tuple of arrays, not {type(pt)}")
    points = [numpy.array(point) for point in pt]
    for position, point in enumerate(points):
        if str(point.dtype) not in TOLERANCES:
            raise TypeError(f"verify_grad can work only with floating point inputs, but input {position} has dtype "
                            f'"{point.dtype}".')
    if rng is None:
        raise TypeError("rng should be a valid instance of numpy.random.RandomState.")
    return points


def _compare(numeric, symbolic, abs_tol, rel_tol):
    argument, position, absolute, relative = numeric.max_err(symbolic, abs_tol, rel_tol)
    if absolute > abs_tol and relative > rel_tol:
        raise GradientError(argument, position, symbolic[argument].shape, symbolic[argument].flat[position],
                            numeric.gf[argument].flat[position], absolute, relative, abs_tol, rel_tol)

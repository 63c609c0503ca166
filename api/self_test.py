"""``phintys.test()``: tests whether this installation computes correctly, and shows the libraries that it uses.

``"quick"`` runs a few small programs of each kind and compares them with NumPy; it needs nothing but the package, and
takes a second or two. ``"full"`` runs the project's tests with pytest, where the package is a source checkout.
"""
from __future__ import annotations

import platform
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy

if TYPE_CHECKING:
    from collections.abc import Callable

TESTS = Path(__file__).resolve().parent.parent / "tests"
TOLERANCE = 1e-6


def test(label: str = "quick", verbose: int = 1, extra_argv: list[str] | None = None) -> bool:
    """Test this installation.

    Parameters
    ----------
    label : {"quick", "full"}
        "quick": small programs, compared with NumPy. "full": all tests of the project, by pytest; they take many
        minutes, and need a source checkout.
    verbose : int
        0: print only failures; 1: also a line for each program, and the libraries that compute.
    extra_argv : list of str, optional
        More arguments for pytest.

    Returns
    -------
    bool
        Whether all programs compute correctly.

    Raises
    ------
    ValueError
        If there is no such label.
    RuntimeError
        If the project's tests are not available.

    Examples
    --------
    >>> import phintys
    >>> phintys.test(verbose=0)
    True
    """
    if label == "full":
        return _full(verbose, list(extra_argv or ()))
    if label != "quick":
        raise ValueError(f"there is no test {label!r}; expected 'quick' or 'full'")
    if verbose:
        print(_about())
    results = [_passes(name, program, verbose) for name, program in PROGRAMS.items()]
    if verbose:
        print(f"{sum(results)} of {len(results)} programs are right")
    return all(results)


test.__test__ = False           # type: ignore[attr-defined]    # pytest does not collect it


def _full(verbose: int, arguments: list[str]) -> bool:
    if not (TESTS / "test_tiny.py").exists():
        raise RuntimeError(f"the project's tests are not part of the installed package (there is no {TESTS}): get the "
                           f"sources, and run pytest there; phintys.test() needs no sources")
    import pytest

    return pytest.main([str(TESTS), *([] if verbose else ["-q"]), *arguments]) == 0


def _about() -> str:
    """Return what computes."""
    import scipy

    import phintys
    from phintys.vm.worker_count import usable_workers

    workers = usable_workers()
    return (f"phintys {phintys.__version__}, Python {platform.python_version()}, NumPy {numpy.__version__}, SciPy "
            f"{scipy.__version__}, {platform.machine()}, {workers} worker thread{'s' if workers > 1 else ''}")


def _passes(name: str, program: Callable[[Any, Any], tuple[Any, Any]], verbose: int) -> bool:
    """Run a program, and report errors."""
    try:
        found, expected = program(*map(import_module, ("phintys", "phintys.tensor")))
        wrong = None
        if numpy.shape(found) != numpy.shape(expected):
            wrong = f"the shape is {numpy.shape(found)}, not {numpy.shape(expected)}"
        elif not numpy.allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE):
            wrong = f"the result is {found}, not {expected}"
    except Exception as error:
        wrong = f"{type(error).__name__}: {error}"
    if wrong is not None:
        print(f"{name}: WRONG: {wrong}", file=sys.stderr)
    elif verbose:
        print(f"{name}: right")
    return wrong is None


# ---- programs: each returns what phintys computed, and what is right -------------------------------------------------
def _values(*shape: int) -> Any:
    return numpy.random.RandomState(sum(shape)).normal(size=shape)


def _elementwise(phintys: Any, T: Any) -> tuple[Any, Any]:
    x, values = T.dmatrix("x"), _values(40, 50)
    f = phintys.function([x], T.tanh(x) * T.exp(-x ** 2) + 1)
    return f(values), numpy.tanh(values) * numpy.exp(-values ** 2) + 1


def _reduction(phintys: Any, T: Any) -> tuple[Any, Any]:
    x, values = T.dmatrix("x"), _values(300, 400)
    return phintys.function([x], T.sqr(x).sum(axis=0))(values), (values ** 2).sum(axis=0)


def _product(phintys: Any, T: Any) -> tuple[Any, Any]:
    x, y, left, right = T.fmatrix("x"), T.fmatrix("y"), _values(60, 70).astype("f"), _values(70, 80).astype("f")
    found, expected = phintys.function([x, y], T.dot(x, y))(left, right), left.astype(float) @ right.astype(float)
    return abs(found - expected) < 1e-3, numpy.ones(expected.shape, bool)           # float32


def _gradient(phintys: Any, T: Any) -> tuple[Any, Any]:
    x, w, values, weights = T.dmatrix("x"), T.dvector("w"), _values(30, 5), _values(5)
    cost = T.log(1 + T.exp(T.dot(x, w))).sum()
    return (phintys.function([x, w], phintys.grad(cost, w))(values, weights),
            values.T @ (1 / (1 + numpy.exp(-values @ weights))))


def _updates(phintys: Any, T: Any) -> tuple[Any, Any]:
    total = phintys.shared(numpy.zeros(3))
    add = phintys.function([], total, updates=[(total, total + 2)])
    for _ in range(5):
        add()
    return total.get_value(), numpy.full(3, 10.0)


def _loop(phintys: Any, T: Any) -> tuple[Any, Any]:
    x, values = T.dvector("x"), _values(1000)
    rows, _ = phintys.scan(lambda row, before: before * 0.5 + row, sequences=x,
                           outputs_info=T.constant(0.0, dtype="float64"))
    expected = 0.0
    for value in values:
        expected = expected * 0.5 + value
    return phintys.function([x], rows[-1])(values), expected


def _branch(phintys: Any, T: Any) -> tuple[Any, Any]:
    c, x = T.iscalar("c"), T.dvector("x")
    f = phintys.function([c, x], phintys.ifelse.ifelse(c, x + 1, x[::-1]))
    return numpy.concatenate([f(1, [1.0, 2.0]), f(0, [1.0, 2.0])]), [2.0, 3.0, 2.0, 1.0]


def _convolution(phintys: Any, T: Any) -> tuple[Any, Any]:
    x, w, image, kernel = T.dtensor4("x"), T.dtensor4("w"), _values(1, 1, 8, 8), _values(1, 1, 3, 3)
    found = phintys.function([x, w], T.nnet.conv2d(x, w, filter_flip=False))(image, kernel)
    windows = numpy.lib.stride_tricks.sliding_window_view(image[0, 0], (3, 3))
    return found[0, 0], (windows * kernel[0, 0]).sum(axis=(2, 3))


def _system(phintys: Any, T: Any) -> tuple[Any, Any]:
    a, b, matrix, vector = T.dmatrix("a"), T.dvector("b"), _values(20, 20) + 20 * numpy.eye(20), _values(20)
    return phintys.function([a, b], T.slinalg.solve(a, b))(matrix, vector), numpy.linalg.solve(matrix, vector)


def _random(phintys: Any, T: Any) -> tuple[Any, Any]:
    return (phintys.function([], phintys.random.default_rng(5).normal(size=4))(),
            numpy.random.default_rng(5).normal(size=4))


def _error(phintys: Any, T: Any) -> tuple[Any, Any]:
    x, y = T.dvectors("x", "y")
    try:
        phintys.function([x, y], x + y)([1.0], [1.0, 2.0])
    except ValueError as error:
        return "Made at" in str(error), True
    return False, True


PROGRAMS = {"elementwise": _elementwise, "reduction": _reduction, "product": _product, "gradient": _gradient,
            "updates": _updates, "loop": _loop, "branch": _branch, "convolution": _convolution,
            "linear system": _system, "random numbers": _random, "error": _error}

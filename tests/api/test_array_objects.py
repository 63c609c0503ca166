"""Arrays with known lengths, for code of other libraries that asks for them."""
import doctest
import os
import subprocess
import sys
from pathlib import Path

import array_clients
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys import array_objects
from phintys.array_objects import Array, traced

X = numpy.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("package, version", [("scipy", "1.18"), ("sklearn", "1.9")])
def test_clients(package, version):
    """The calls of the documentation's list have NumPy's values, in a process of their own."""
    module = pytest.importorskip(package)
    if tuple(map(int, module.__version__.split(".")[:2])) < tuple(map(int, version.split("."))):
        pytest.skip(f"the list is that of {package} {version}")
    ran = subprocess.run([sys.executable, "-I", array_clients.__file__, package], capture_output=True, text=True,
                         env={**os.environ, "SCIPY_ARRAY_API": "1"})
    assert (ran.stdout, ran.returncode) == ("", 0), ran.stderr


def test_the_documentation_lists_these_calls():
    page = (Path(__file__).parents[2] / "docs/guide/other_libraries.md").read_text()
    names = [call.split("(")[0] for calls in array_clients.WORKS.values() for call in calls.split()]
    assert [name for name in names if f"`{name}`" not in page] == []


def test_examples():
    for name in ("Array", "asarray", "traced"):
        ran = doctest.DocTestFinder().find(getattr(array_objects, name), name, globs={"T": T})[0]
        assert ran.examples and doctest.DocTestRunner().run(ran).failed == 0


def test_lengths_are_numbers():
    def standard_error(x):
        xp = x.__array_namespace__()
        assert xp is array_objects and (x.shape, x.ndim, x.size, len(x), x.device) == ((3, 4), 2, 12, 3, "cpu")
        assert xp.mean(x, axis=1, keepdims=True).shape == (3, 1) and x.T.shape == x.mT.shape == (4, 3)
        rows = list(x)
        return xp.stack(rows) / x.shape[-1] ** 0.5, xp.linalg.trace(x @ x.T), (x == x) & (2 * x != x)
    x = T.tensor("float64", shape=X.shape)
    found = phintys.function([x], traced(standard_error, x))
    half, trace, same = found(X)
    assert half.tolist() == (X / 2).tolist() and trace == (X * X).sum() and same.sum() == 11
    with pytest.raises(TypeError, match=r"expected \(3, 4\), got \(4, 3\)"):
        found(X.T)


def test_elements_are_assigned():
    def changed(x):
        y = x + 0
        y[0, :] = 7
        y[y > 9] = -1
        return y, x
    x = T.tensor("float64", shape=X.shape)
    y, same = phintys.function([x], traced(changed, x))(X)
    wanted = X.copy()
    wanted[0], wanted[wanted > 9] = 7, -1
    assert y.tolist() == wanted.tolist() and same.tolist() == X.tolist()


def test_conditions_that_depend_on_values():
    def checked(x):
        xp = x.__array_namespace__()
        if xp.any(xp.isnan(x)):
            raise ValueError("NaN")
        return x * 2
    x = T.tensor("float64", shape=(2,))
    with pytest.raises(TypeError, match="depends on values, so it cannot become a Python bool"):
        traced(checked, x)
    f = phintys.function([x], traced(checked, x, conditions=False))
    assert f([1.0, 2.0]).tolist() == [2, 4]
    with pytest.raises(ValueError, match="was taken to be False, which it is not"):
        f([1.0, numpy.nan])


def test_what_is_refused():
    x = T.tensor("float64", shape=(2, None))
    with pytest.raises(ValueError, match="all lengths must be known, got .* static shape \\(2, None\\)"):
        traced(lambda x: x, x)
    x = T.tensor("float64", shape=(3,))
    with pytest.raises(ValueError, match="depends on values, so its lengths are not known"):
        traced(lambda x: x[x > 0].shape, x)
    with pytest.raises(TypeError, match="cannot become an array of NumPy"):
        traced(numpy.asarray, x)
    with pytest.raises(TypeError, match="iteration over .* which has no dimensions"):
        traced(lambda x: list(x[0]), x)
    with pytest.raises(TypeError, match="cannot become a Python float"):
        traced(lambda x: float(x[0]), x)
    with pytest.raises(TypeError):
        traced(lambda x: x + "1", x)


def test_constants_have_values():
    def converted(x):
        xp = x.__array_namespace__()
        number = xp.asarray([1, 2, 3])
        return (int(number[1]), float(number[0]), bool(number[0]), [10, 20, 30][number[1]], repr(number)[:5],
                isinstance(number, Array), xp.finfo(x).bits, xp.result_type(x, number), xp.asarray([x, x]).shape)
    x = T.tensor("float64", shape=(3,))
    assert traced(converted, x) == (2, 1.0, True, 30, "Array", True, 64, "float64", (2, 3))


def test_tensor_takes_shapes_alone():
    x = T.tensor("float32", shape=(1, None, 3))
    assert (x.type.broadcastable, x.type.shape) == ((True, False, False), (1, None, 3))

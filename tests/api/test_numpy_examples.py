"""The examples of NumPy's and SciPy's documentation have the same results when arrays are variables.

No call may fail when it runs or have other values, dtypes or shapes, except those of ``EXCEPTIONS``, each with its
reason. That a call is refused says an error when the graph is built.
"""
import numpy
import pytest
import scipy.special
from numpy_examples import walked

import phintys.tensor as T
from phintys.numpy_protocol import FUNCTIONS, UFUNCS
from phintys.ops.operators import UFUNCS as ELEMENTWISE


def numpy_functions():
    """NumPy's functions that the documentation lists → their names, and what is called: themselves."""
    found = {}
    for namespace, prefix in ((numpy, ""), (numpy.linalg, "linalg."), (numpy.fft, "fft.")):
        for name in dir(namespace):
            function = getattr(namespace, name)
            known = prefix + name in FUNCTIONS or isinstance(function, numpy.ufunc) and (
                function.__name__ in ELEMENTWISE or function.__name__ in UFUNCS)
            if known and callable(function) and prefix + name not in [*ARRAYS_FROM_NUMBERS, *OTHERS_BEFORE]:
                found.setdefault(function, (prefix + name, function))
    return found


ARRAYS_FROM_NUMBERS = "arange empty eye full identity ones zeros shape ndim size".split()
# NumPy before 2.5 crosses vectors of 2, sums float32 in another order, and has real eigenvalues if none is complex.
OTHERS_BEFORE = "cross mean linalg.eig linalg.eigvals".split() if numpy.lib.NumpyVersion(
    numpy.__version__) < "2.5.0" else []
NUMPY = numpy_functions()
SPECIAL = {getattr(scipy.special, name): (f"special.{name}", getattr(T.special, name)) for name in T.special.__all__
           if hasattr(scipy.special, name)}
# Text of a call → why its result is another one.
LENGTH = "a length of 1 must be declared by the type to be repeated"
SEVERAL = "several orders are right"
EXCEPTIONS = {
    "np.where(x < y, x, 10 + y)": LENGTH, "np.broadcast_arrays(x, y)": LENGTH, "iv(orders, points)": LENGTH,
    "jv(orders, points)": LENGTH, "huber(deltas, r)": LENGTH, "pseudo_huber(deltas, r)": LENGTH,
    "np.squeeze(x)": "without an axis, the lengths of 1 that the type declares",
    "np.ravel(x.T, order='A')": "variables have no order in memory: A and K mean C",
    "np.partition(a, (4, 8))": SEVERAL, "np.unique_values([1, 1, 2])": SEVERAL,
    "np.empty_like(a)": "not initialized", "np.trim_zeros([0, 1, 2, 0])": "an array in place of a list",
    "np.polyder(p, 4)": "a poly1d", "cond(a)": "the inverse of a rounding error",
}


@pytest.mark.parametrize("function", [*NUMPY, *SPECIAL], ids=[name for name, _ in [*NUMPY.values(), *SPECIAL.values()]])
def test_examples(function):
    functions = NUMPY if function in NUMPY else SPECIAL
    calls = walked({function: functions[function]})
    wrong = [call for call in calls if call.end in ("failing", "different") and call.text not in EXCEPTIONS]
    assert wrong == []


def test_most_calls_are_equal():
    """Of a sample of functions nearly all examples build the graph that they mean."""
    calls = walked({function: NUMPY[function] for function in [*NUMPY][::9]})
    ends = [call.end for call in calls]
    assert ends.count("equal") > 0.9 * len(ends) > 100, [call for call in calls if call.end != "equal"]


def test_ufuncs_of_scipy():
    x = T.dvector("x")
    found = scipy.special.psi(x) + scipy.special.beta(x, 2.0) + scipy.special.expit(x) + scipy.special.zeta(x + 2, 1)
    value = numpy.array([0.5, 3.0])
    wanted = scipy.special.psi(value) + scipy.special.beta(value, 2.0) + scipy.special.expit(
        value) + scipy.special.zeta(value + 2, 1)
    numpy.testing.assert_allclose(found.eval({x: value}), wanted, rtol=1e-13)
    with pytest.raises(TypeError, match="returned NotImplemented"):
        scipy.special.airy(x)

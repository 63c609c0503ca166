"""Examples in the docstrings of public functions give what they say, and the most used functions have one."""
import doctest
import importlib
import inspect

import numpy
import pytest

import phintys
import phintys.tensor as T

MODULES = ["phintys", "phintys.tensor", "phintys.tensor.nnet", "phintys.tensor.extra_ops", "phintys.tensor.fft",
           "phintys.tensor.nlinalg", "phintys.tensor.slinalg", "phintys.tensor.sort", "phintys.tensor.signal.pool"]
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MOST_USED = {
    "phintys": "debugprint grad scan shared",
    "phintys.tensor": """
        all alloc any arange argmax argmin argsort as_tensor_variable batched_dot bincount cast concatenate
        constant cumprod cumsum diag diagonal diff dot einsum eye flatten hessian inc_subtensor jacobian join
        kron max max_and_argmax mean min nonzero ones ones_like outer prod repeat reshape roll searchsorted
        set_subtensor sort split stack std sum take tensordot tile topk trace transpose var zeros zeros_like""",
    "phintys.tensor.nnet": "binary_crossentropy categorical_crossentropy conv2d hard_sigmoid relu softmax",
    "phintys.tensor.fft": "fft fftfreq fftn rfft",
    "phintys.tensor.nlinalg": "eigh matrix_power norm qr slogdet svd",
    "phintys.tensor.slinalg": "block_diag lu solve_triangular",
    "phintys.tensor.signal.pool": "pool_2d",
}


def functions_of(module):
    module = importlib.import_module(module)
    return {name: value for name in module.__all__ if inspect.isfunction(value := getattr(module, name))}


@pytest.mark.parametrize("module", MODULES)
def test_examples(module):
    runner, wrong = doctest.DocTestRunner(optionflags=OPTIONS, verbose=False), []
    for name, function in functions_of(module).items():
        names = {"phintys": phintys, "T": T, "numpy": numpy, name: function}
        text = inspect.getdoc(function) or ""
        if runner.run(doctest.DocTestParser().get_doctest(text, names, f"{module}.{name}", None, 0)).failed:
            wrong.append(name)
    assert wrong == [], "examples do not give what they say; see the output"


@pytest.mark.parametrize("module", MOST_USED)
def test_most_used_functions_have_an_example(module):
    functions = functions_of(module)
    assert [name for name in MOST_USED[module].split() if ">>> " not in functions[name].__doc__] == []

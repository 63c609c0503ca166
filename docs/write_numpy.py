"""Write docs/numpy.md: what each function of NumPy does with symbolic variables.

Run it with the newest NumPy: ``python docs/write_numpy.py``. Rows come from the tables of NumPy's protocol
(``api/numpy_names.py``, ``api/numpy_namesakes.py``) and from NumPy's signatures. ``api/numpy_refusals.py`` says why the
others are not supported, and what to use; a function that is in neither is an error.
"""
import inspect
from operator import attrgetter
from pathlib import Path
from textwrap import fill

import numpy

import phintys.tensor as T
from phintys.numpy_names import CHOOSING
from phintys.numpy_protocol import FUNCTIONS, UFUNCS
from phintys.numpy_refusals import REASONS
from phintys.ops.operators import UFUNCS as ELEMENTWISE

PAGE = Path(__file__).with_name("numpy.md")

HEAD = f"""# NumPy's functions

Written by `docs/write_numpy.py` for NumPy {".".join(numpy.__version__.split(".")[:2])}; edit the tables of
`api/numpy_names.py` and `docs/write_numpy.py`, not this file.

Each function in the first sections builds a graph when it is called with a symbolic variable, and gives the values,
dtypes and shapes that NumPy gives for arrays; `tests/api/test_numpy_arguments.py` compares them. The same functions are
in `phintys.tensor`, some with Theano's rules instead (see *T has* below). An argument that is not taken raises a
`TypeError` that names it; none is ignored silently: those that can make no difference to a variable, such as `subok`,
`order`, `device` and `overwrite_input`, must have one of NumPy's values. Functions that make arrays from numbers
(`zeros`, `arange`, `eye` ...) build a graph with `like=x`. `out=` is never taken, because a variable cannot be written
to. `tests/api/test_numpy_examples.py` runs the examples of NumPy's and SciPy's own documentation on variables.

Of 1,566 calls that were written as users of NumPy write them (documentation, user guide, methods, operators, indices,
all dtypes), 1,413 are equal through `numpy.f(x)` and 1,369 through `T.f(x)` in values, dtypes and shapes; the others
raise an error with the reason (112 and 121: values are asked for, a length must be known, an array is made or changed,
`T` does not have the name), are refused by NumPy, too (8), or differ as the following list and *T has* say.

These differ for all variables, as Theano's do:

* Elementwise functions of small integers give float32 where NumPy gives float16.
* Operators and methods give Python's integers the smallest signed dtype: `x << 2` of a uint8 variable is int16, as
  `x + 2` and `x.clip(0, 9)` are, and `x + 1` of a uint64 variable is float64, the dtype of uint64 and int8.
  `numpy.left_shift(x, 2)` and `phintys.array_api` give uint8, and an `OverflowError` for integers that uint8 lacks.
* `x == y` and `x != y` compare the variables, not their values, and give True or False: write `numpy.equal(x, y)` or
  `T.eq(x, y)`.
* Methods change nothing: `x.sort()` returns a sorted copy. Their arguments by position are Theano's: `x.sum(axis,
  dtype, keepdims)`.
* A number or array of NumPy has no symbolic index: write `T.constant(numpy.eye(3))[x]`, not `numpy.eye(3)[x]`. NumPy
  does not look into lists: write `T.sum([x, y])`, or `numpy.sum(T.stack([x, y]))`.
* A length of 1 is repeated only where the type declares it, except by `choose`; `squeeze` without an axis drops the
  lengths of 1 that are declared.
* Variables have no order in memory: the orders "A" and "K" mean C.
"""


ELEMENTWISE_ARGUMENTS = """\
Of their arguments only `dtype` and `casting` are taken; Python's numbers have the dtype that NumPy gives them. Their
methods `reduce`, `accumulate`, `outer` and, between indices that are numbers, `reduceat` are functions of variables,
too."""


def public_functions(namespace, prefix=""):
    """Names of NumPy's functions."""
    for name in sorted(dir(namespace), key=str.lower):
        value = getattr(namespace, name)
        if not name.startswith("_") and callable(value) and not isinstance(value, type):
            yield prefix + name, value


def canonical(name, function):
    """The name by which NumPy's protocol knows a function: some have several."""
    if isinstance(function, numpy.ufunc):
        return function.__name__
    return f"{function.__module__}.{function.__qualname__}".removeprefix("numpy.") if hasattr(
        function, "__qualname__") else name


def arguments_of(function):
    """NumPy's names of a function's arguments."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [parameter.name for parameter in parameters if parameter.kind not in (
        parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)]


def rows():
    """(name, what it is here, arguments that are not taken) of all functions that are supported."""
    for namespace, prefix in ((numpy, ""), (numpy.linalg, "linalg."), (numpy.fft, "fft.")):
        for name, function in public_functions(namespace, prefix):
            known = canonical(name, function)
            if isinstance(function, numpy.ufunc):
                if known in ELEMENTWISE or known in UFUNCS:
                    yield name, "elementwise", []
            elif known in FUNCTIONS:
                target, signature = FUNCTIONS[known]
                taken = signature.replace("|", " ").split() + CHOOSING.get(known, "").split()
                variadic = signature.startswith("*")
                missing = [argument for argument in arguments_of(function)
                           if argument not in (*taken, "like") and not (variadic and argument not in ("out", "where"))]
                yield name, target if isinstance(target, str) else "", missing


def unknown():
    """Functions of the installed NumPy that have neither a row nor a reason."""
    supported = {name for name, _, _ in rows()}
    refused = {name for names in REASONS.values() for name in names.split()}
    every = {name for namespace, prefix in ((numpy, ""), (numpy.linalg, "linalg."), (numpy.fft, "fft."))
             for name, _ in public_functions(namespace, prefix)}
    return sorted(every - supported - refused - {"linalg.test", "fft.test"})


def same_in_tensor(target, name):
    """Whether ``T`` has the function that NumPy's protocol calls, by NumPy's name."""
    try:
        return target and attrgetter(name)(T) is attrgetter(target)(T)
    except AttributeError:
        return False


def page():
    """The text of the page."""
    found = list(rows())
    elementwise = [name for name, kind, _ in found if kind == "elementwise"]
    whole = [name for name, kind, missing in found if kind != "elementwise" and not missing]
    parts = [row for row in found if row[1] != "elementwise" and row[2]]
    own = [name for name, kind, _ in found if kind != "elementwise" and not same_in_tensor(kind, name)]
    lines = [HEAD, "## Elementwise\n", wrapped(elementwise), "", ELEMENTWISE_ARGUMENTS, "",
             "## With all of their arguments\n", wrapped(whole), "", "## With some of their arguments\n",
             "| NumPy | not taken |", "|---|---|"]
    lines += [f"| `{name}` | {', '.join(f'`{argument}`' for argument in missing)} |" for name, _, missing in parts]
    lines += ["", "## T has", "",
              "These have another function of the same name in `phintys.tensor`, with Theano's arguments, dtypes or "
              "results, or none:", "", wrapped(own), "", "## Not supported"]
    for reason, names in REASONS.items():
        lines += ["", f"Functions that {reason}:", wrapped(sorted(set(names.split())))]
    return "\n".join(lines) + "\n"


def wrapped(names):
    """Names as a paragraph of lines of 120 columns."""
    return fill(", ".join(f"`{name}`" for name in names) + ".", 120, break_long_words=False, break_on_hyphens=False)


if __name__ == "__main__":
    missing = unknown()
    if missing:
        raise SystemExit(f"say in REASONS why these are not supported: {' '.join(missing)}")
    PAGE.write_text(page())

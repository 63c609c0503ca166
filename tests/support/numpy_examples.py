"""The examples in NumPy's and SciPy's own documentation, run with symbolic variables in the place of arrays.

``walked(functions)`` runs the docstrings of functions statement by statement. Each call of one of the functions is made
twice: with the example's arrays, whose result the example goes on with, and with variables. A call ends as

* "equal": values, dtypes and shapes are those of arrays;
* "refused": an error when the graph is built;
* "failing": an error when it runs;
* "different", of which the detail says how.
"""
import ast
import contextlib
import copy
import doctest
import inspect
import io
import warnings
from collections import namedtuple

import numpy

import phintys
import phintys.tensor as T
from phintys.graph.variable import Variable

Call = namedtuple("Call", "end name text detail")
# Statements with these need a display, files, time or a person.
ELSEWHERE = "plt matplotlib timeit open( tempfile input(".split()


class _Recorder(ast.NodeTransformer):
    """Replaces each call ``f(x)`` by ``called('f(x)', f, x)``."""

    def visit_Call(self, node):
        text = ast.unparse(node)
        self.generic_visit(node)
        return ast.Call(ast.Name("called", ast.Load()), [ast.Constant(text), node.func, *node.args], node.keywords)


def is_array(value):
    """Whether a variable may take its place."""
    return isinstance(value, (numpy.ndarray, numpy.generic)) and value.dtype.kind in "biufc" and value.dtype not in (
        numpy.longdouble, numpy.clongdouble) and type(value) in (numpy.ndarray, type(value[()]))


def has_arrays(value):
    return any(map(has_arrays, value)) if isinstance(value, (list, tuple)) else is_array(value)


def with_variables(arguments, options):
    """The arguments with a variable for each array, or for the first list or number; the variables and their values."""
    variables, values = [], []

    def variable(value):
        value = numpy.asarray(value)
        variables.append(T.TensorType(value.dtype.name, (False,) * value.ndim)())
        values.append(value)
        return variables[-1]

    def replaced(value):
        if is_array(value):
            return variable(value)
        return type(value)(map(replaced, value)) if type(value) in (list, tuple) and has_arrays(value) else value

    arguments = list(arguments)
    if arguments and not has_arrays(arguments) and not has_arrays(list(options.values())):
        with contextlib.suppress(ValueError):
            first = numpy.asarray(arguments[0])
            if first.dtype.kind in "biufc" and not isinstance(arguments[0], tuple):
                arguments[0] = first if first.ndim else first[()]
    return [*map(replaced, arguments)], {name: replaced(value) for name, value in options.items()}, variables, values


def flat(found):
    """The results as a list."""
    return [part for item in found for part in flat(item)] if isinstance(found, (list, tuple)) else [found]


def difference(found, wanted):
    """How a result differs from NumPy's; None if it does not."""
    found, wanted = numpy.asarray(found), numpy.asarray(wanted)
    if (found.shape, found.dtype) != (wanted.shape, wanted.dtype):
        return f"{found.dtype}{found.shape} in place of {wanted.dtype}{wanted.shape}"
    if numpy.allclose(found, wanted, rtol=1e-6, atol=1e-8, equal_nan=True):
        return None
    return f"{found!r} in place of {wanted!r}"


def ended(name, text, function, arguments, options, wanted):
    """How a call with variables ends, or None if none of its arguments is an array."""
    arguments, options, variables, values = with_variables(arguments, options)
    if not variables:
        return None
    try:
        found = flat(function(*arguments, **options))
    except Exception as refused:                    # the detail says why
        return Call("refused", name, text, f"{type(refused).__name__}: {refused}")
    if len(found) != len(flat(wanted)):
        return Call("different", name, text, f"{len(found)} results in place of {len(flat(wanted))}")
    try:
        with numpy.errstate(all="ignore"):
            results = iter(phintys.function(variables, [part for part in found if isinstance(part, Variable)],
                                            on_unused_input="ignore", mode="FAST_COMPILE")(*values))
    except Exception as failed:                     # the detail says why
        return Call("failing", name, text, f"{type(failed).__name__}: {failed}")
    for part, want in zip(found, flat(wanted)):
        detail = difference(next(results) if isinstance(part, Variable) else part, want)
        if detail:
            return Call("different", name, text, detail)
    return Call("equal", name, text, "")


def walked(functions):
    """The calls in the docstrings of functions.

    Parameters
    ----------
    functions : dict
        Function → (its name, what is called with variables).
    """
    calls, seen = [], set()

    def called(text, function, *arguments, **options):
        try:
            name, ours = functions.get(function, (None, None))
        except TypeError:                           # it has no hash
            name = None
        if name is None:
            return function(*arguments, **options)
        given = copy.deepcopy((arguments, options))
        wanted = function(*arguments, **options)
        if (text, repr(given)) not in seen and not inspect.isgenerator(wanted):
            seen.add((text, repr(given)))
            calls.extend(filter(None, [ended(name, text, ours, *given, wanted)]))
        return wanted

    for function in functions:
        names = {"np": numpy, "called": called}
        for example in doctest.DocTestParser().get_examples(function.__doc__ or ""):
            if any(word in example.source for word in ELSEWHERE):
                continue
            tree = ast.fix_missing_locations(_Recorder().visit(ast.parse(example.source)))
            with (contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), numpy.printoptions(),
                  numpy.errstate()):                                # which examples change
                warnings.simplefilter("ignore")
                with contextlib.suppress(Exception):                # examples of errors, and those that need others
                    exec(compile(tree, "<example>", "exec"), names)     # NumPy's own documentation
    return calls

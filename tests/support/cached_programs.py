"""A process with a cache of programs: it compiles and calls many functions, and prints what became of each, as JSON.

    python tests/support/cached_programs.py FOLDER

The folder is ``config.program_cache``, "" for none. Of each program the answer has the state of its maker, a digest of
its results and new shared values, and how often a graph was optimised for it.
"""
import contextlib
import hashlib
import io
import json
import sys
import warnings

import numpy
import scipy.sparse
from covering_programs import PROGRAMS, compiled
from random_programs import Program

import phintys
import phintys.tensor as T
from phintys import In, Out
from phintys.making import function_maker
from phintys.tensor.shared_randomstreams import RandomStreams

SEEDS = range(40)
runs = []
optimize = function_maker.optimize


def counted(*arguments):
    runs.append(arguments[0])
    return optimize(*arguments)


function_maker.optimize = counted


def bits(value):
    """What identifies a value to the bit."""
    if isinstance(value, (list, tuple)):
        return [bits(item) for item in value]
    if isinstance(value, dict):
        return [[key, bits(item)] for key, item in sorted(value.items())]
    if scipy.sparse.issparse(value):
        return [value.format, bits([value.data, value.indices, value.indptr])]
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return [str(value.dtype), value.shape, value.strides, numpy.ascontiguousarray(value).tobytes().hex()]
    if isinstance(value, numpy.random.RandomState):
        return bits(value.get_state(legacy=False)["state"])
    if isinstance(value, numpy.random.Generator):
        return repr(value.bit_generator.state)
    return repr(value)


def told(function, *arguments):
    """What becomes of a function, and of a call of it."""
    before, made = len(runs), function()
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            found = [bits(made(*arguments)), bits(made(*arguments)),
                     [bits(shared.get_value(borrow=True)) for shared in made.get_shared()]]
    except Exception as error:
        found = [type(error).__name__, str(error)]
    text = json.dumps(found)
    return {"state": made.maker.cached, "runs": len(runs) - before, "bits": hashlib.sha256(text.encode()).hexdigest(),
            "error": found[1] if len(found) == 2 else None}


def streams():
    """Draws of Theano's random streams, NumPy's generators and those of MRG, with the updates of their states."""
    x, normal, several = T.dvector("x"), RandomStreams(3), phintys.sandbox.rng_mrg.MRG_RandomStreams(5)
    return phintys.function([x], [x + normal.normal((3,)), several.uniform((3,)) * x])


def states():
    """Defaults, a state that callers may set, borrowed and mutable memory."""
    x, total = T.dvector("x"), T.dvector("total")
    return phintys.function([In(x, mutable=True, borrow=True), In(total, value=numpy.zeros(3), update=total + x),
                             In(T.dscalar("scale"), value=2.0)],
                            [Out(x * 2, borrow=True), total], on_unused_input="ignore")


def failing():
    """An error whose text names the line of this function."""
    x, y = T.dvector("x"), T.dvector("y")
    return phintys.function([x, y], T.exp(x) * 2 + y)       # the line of the error


def failing_in_a_loop():
    """An error in the body of a loop."""
    x, y = T.dmatrix("x"), T.dvector("y")
    rows, _ = phintys.scan(lambda row: T.dot(row, y).sum() + T.log(row + y), x)         # the line of the loop
    return phintys.function([x, y], rows)


def main(folder):
    phintys.config.program_cache = folder
    warnings.simplefilter("ignore")
    answers = {}
    for name in PROGRAMS:
        values = PROGRAMS[name]()[3]
        answers[name] = told(lambda: compiled(name)[0], *values)
    for seed in SEEDS:
        program = Program(seed)
        inputs, values = program.variables[:program.inputs], program.arrays[:program.inputs]
        answers[f"seed {seed}"] = told(lambda: phintys.function(inputs, program.variables[-3:],
                                                                on_unused_input="ignore"), *values)
    vector = numpy.arange(3.0)
    answers["streams"] = told(streams, vector)
    answers["states"] = told(states, vector.copy())
    answers["failing"] = told(failing, vector, numpy.zeros(2))
    answers["failing in a loop"] = told(failing_in_a_loop, numpy.ones((2, 3)), numpy.zeros(2))
    print(json.dumps(answers))


if __name__ == "__main__":
    main(sys.argv[1])

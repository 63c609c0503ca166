"""What the optimizer's tests share: making graphs of variables, optimising copies of them, and running them node by
node.
"""
import numpy

import phintys
from phintys.debugging.debug_mode import DebugMode
from phintys.graph.function_graph import FunctionGraph
from phintys.modes import OPT_FAST_COMPILE as FAST_COMPILE
from phintys.modes import OPT_FAST_RUN as FAST_RUN
from phintys.ops.types.tensor_type import TensorType
from phintys.optimizer.engine.forms import key_of
from phintys.optimizer.pipeline import optimize

UNFUSED = FAST_RUN.excluding("fusion", "length_checks")       # the rewrites alone
SPECIAL = numpy.array([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-20, 30.0, -30.0, 3.0])


def variable(kind, name=None):
    """``"d2"`` is a float64 matrix, ``"fr"`` a float32 row, ``"lc"`` an int64 column."""
    dtype = {"d": "float64", "f": "float32", "l": "int64", "i": "int32", "b": "int8", "u": "uint8", "B": "bool",
             "z": "complex128"}[kind[0]]
    rank = kind[1:]
    pattern = (False,) * int(rank) if rank.isdigit() else {"r": (True, False), "c": (False, True)}[rank]
    return TensorType(dtype, pattern)(name)


def optimized(inputs, outputs, query=FAST_RUN):
    """An optimised copy of a graph, checked for integrity."""
    fgraph = FunctionGraph(inputs, outputs)
    optimize(fgraph, query)
    fgraph.check_integrity()
    return fgraph


def evaluate(fgraph, values):
    """The outputs for these values of the inputs, node by node."""
    known = dict(zip(fgraph.inputs, values))

    def value(item):
        return known[item] if item in known else item.data

    with numpy.errstate(all="ignore"):
        for node in fgraph.toposort():
            storage = [[None] for _ in node.outputs]
            node.op.perform(node, [value(item) for item in node.inputs], storage)
            known.update(zip(node.outputs, [cell[0] for cell in storage]))
    return [value(item) for item in fgraph.outputs]


def operations(fgraph):
    """The keys of the nodes in order of execution."""
    return [key_of(node.op) for node in fgraph.toposort()]


def random_value(item, seed=0):
    """A value for a variable; of length 1 where it is broadcastable, else 10."""
    random = numpy.random.RandomState(seed)
    shape = tuple([1 if flag else len(SPECIAL) for flag in item.type.broadcastable])
    dtype = numpy.dtype(item.type.dtype)
    if dtype.kind == "b":
        return random.randint(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        return random.randint(0, 4, shape).astype(dtype)
    value = random.randn(*shape) if shape else numpy.asarray(random.randn())
    if shape and shape[-1] == len(SPECIAL):
        value[..., ::2] = SPECIAL[::2]
    return numpy.asarray(value, dtype)


def assert_same_results(inputs, outputs, queries=(FAST_COMPILE, UNFUSED, FAST_RUN), rtol=1e-10, values=None):
    """Each query's graph computes what the graph as written computes; where that is NaN or infinite, anything goes.
    DebugMode finds no rewrite of the last query that changes a value."""
    values = values or [random_value(item, seed) for seed, item in enumerate(inputs)]
    expected = evaluate(FunctionGraph(inputs, outputs), values)
    for query in queries:
        for before, after in zip(expected, evaluate(optimized(inputs, outputs, query), values)):
            assert after.dtype == before.dtype and after.shape == before.shape
            finite = numpy.isfinite(before)
            numpy.testing.assert_allclose(after[finite], before[finite], rtol=rtol, atol=1e-12)
    mode = DebugMode(queries[-1], check_isfinite=False)
    phintys.function(inputs, outputs, mode=mode, on_unused_input="ignore")(*values)

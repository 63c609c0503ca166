"""Pickles name modules that users import, so that they can be read after a file has moved; so do tracebacks."""
import importlib
import inspect
import pickle
import pickletools
import pkgutil
import subprocess
import sys
import warnings

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.compile import DebugMode, MonitorMode, NanGuardMode
from phintys.compile.debugmode import BadDestroyMap
from phintys.graph.op import IdentityOp, InPlaceOp
from phintys.graph.properties import Properties
from phintys.graph.public_names import HOMES, at_home, defined_in
from phintys.graph.serialization import GraphNode, GraphVariable
from phintys.ops.elementwise.first_dtype import in_first_dtype
from phintys.ops.elementwise.scalar_op import SCALAR_OPS, LoopedScalarOp
from phintys.ops.nnet.float_op import FloatOp

PUBLIC_MODULES = [f"phintys{name}" for name in (
    "", ".gradient", ".ifelse", ".tensor", ".tensor.nnet", ".tensor.nnet.bn", ".tensor.nnet.nnet", ".tensor.nnet.sigm",
    ".tensor.blas", ".tensor.extra_ops", ".tensor.linalg", ".tensor.nlinalg", ".tensor.slinalg", ".tensor.sort",
    ".tensor.subtensor", ".tensor.opt", ".tensor.utils", ".tensor.io", ".scalar", ".gof", ".gof.graph", ".gof.op",
    ".compile", ".compile.ops", ".compile.pfunc")]
INNER = ("ops", "vm", "graph", "optimizer", "making", "debugging", "reports", "theano")
ROWS = [(home, inner, name) for home, modules in HOMES.items() for inner, names in modules.items()
        for name in names.split()]
NEVER_PICKLED = {FloatOp, IdentityOp, InPlaceOp}    # bases that are no base of a type, but add methods to ops

x, v, i = T.dmatrix("x"), T.dvector("v"), T.lvector("i")
weights = phintys.shared(numpy.ones(3), "weights")
cube = T.dtensor3()


def is_inner(module):
    return module.startswith(tuple(f"phintys.{room}." for room in INNER))


def named_in(thing):
    """The pairs "module name" that a pickle of ``thing`` imports."""
    return {argument for opcode, argument, _ in pickletools.genops(pickle.dumps(thing, 2)) if opcode.name == "GLOBAL"}


def function(outputs, mode=None, **options):
    return phintys.function([x, phintys.In(v, value=[1.0, 2.0, 3.0])], outputs, mode=mode, on_unused_input="ignore",
                            **options)


THINGS = {
    "a graph": lambda: T.dot(x, v) + 1,
    "a gradient": lambda: T.grad((T.tanh(T.dot(x, v)) * weights).sum(), x),
    "indices": lambda: [x[1:, i], T.set_subtensor(x[0], v), T.inc_subtensor(x[i], 1), x[x > 0], v[i], x[:, None, i[0]]],
    "slices": lambda: [T.make_slice(0, i[0], 1), T.NoneConst],
    "shapes": lambda: [x.shape, x.shape[0], x.reshape((-1,)), x.T, T.specify_shape(x, (2, 3)), T.addbroadcast(x, 0),
                       T.stack([v, v]), T.concatenate([v, v]), T.split(v, [1, 2], 2), T.tile(v, 2), T.repeat(v, 2)],
    "reductions": lambda: [x.sum(0), x.prod(), x.mean(), x.max(1), x.min(), x.argmax(), T.all(x), T.any(x), x.cumsum(),
                           T.diff(v), T.max_and_argmax(x), T.logsumexp(x, axis=0)],
    "made tensors": lambda: [T.arange(i[0]), T.eye(3, i[0]), T.tri(i[0]), T.alloc(0.0, i[0]), T.AllocEmpty("int8")(3),
                             T.bartlett(i[0]), T.mgrid[0:2, 0:3]],
    "products": lambda: [T.dot(x, x), T.batched_dot(cube, cube), T.outer(v, v), T.blas.gemv(v, 2.0, x, v, 1.0),
                         T.blas.gemm(x, 2.0, x, x, 1.0), T.blas.ger(x, 2.0, v, v), T.blas.dot22(x, x)],
    "sorting": lambda: [T.sort(v), T.argsort(v), T.searchsorted(v, v), T.bincount(i), T.extra_ops.Unique()(i)],
    "diagonals": lambda: [T.diag(v), T.diag(x), T.fill_diagonal(x, 1.0), T.tril(x), T.nonzero(x)],
    "networks": lambda: [T.nnet.softmax(x), T.nnet.logsoftmax(x), T.nnet.crossentropy_softmax_argmax_1hot_with_bias(
        x, v, i), T.nnet.categorical_crossentropy(T.nnet.softmax(x), i)],
    "a branch": lambda: phintys.ifelse.ifelse(i[0], x, x + 1),
    "an op from a graph": lambda: phintys.OpFromGraph([x, v], [T.dot(x, v)])(x, v),
    "a print and an assertion": lambda: [phintys.printing.Print("v")(v), T.opt.Assert("v")(v, i[0] > 0)],
    "gradient ops": lambda: [phintys.gradient.disconnected_grad(x), phintys.gradient.zero_grad(x),
                             phintys.gradient.grad_clip(x, 0, 1), phintys.gradient.grad_undefined(Doubled(), 0, x)],
    "scalar ops": lambda: list(SCALAR_OPS.values()) + [in_first_dtype(SCALAR_OPS["add"])],
    "scalar variables": lambda: [phintys.scalar.float64("a") + 1, phintys.scalar.sharedvar.shared(numpy.float64(2))],
    "types": lambda: [x.type, phintys.generic, phintys.scalar.int8, T.lscalar, T.slicetype, T.none_type_t,
                      phintys.gradient.DisconnectedType()(), phintys.gof.NullType()()],
    "shared variables": lambda: [weights, phintys.shared(3), phintys.shared([1, 2]), weights.container],
    "specifications": lambda: [phintys.In(x, borrow=True), phintys.Out(x), phintys.OrderedUpdates([(weights, 2 * v)])],
    "modes": lambda: [phintys.Mode(), phintys.FAST_RUN.excluding("fusion"), DebugMode(), MonitorMode(), NanGuardMode()],
    "a function graph": lambda: phintys.FunctionGraph([x], [x + 1]),
    "an optimized graph": lambda: function([T.nnet.sigmoid(x).sum(0), T.tanh(x) * x + 1, T.dot(x, v)]).maker.fgraph,
    "a function": lambda: function([phintys.Out(x * 2, borrow=True), T.dot(x, v).sum()], name="twice",
                                   updates=[(weights, weights + v)]),
    "a function that checks itself": lambda: function(x * 2, mode="DebugMode"),
    "its maker": lambda: function(x * 2).maker,
    "an error": lambda: BadDestroyMap.__new__(BadDestroyMap),
}


class Doubled(phintys.Op):
    """An op of a user's."""

    def make_node(self, value):
        return phintys.Apply(self, [value], [value.type()])

    def perform(self, node, inputs, storage):
        storage[0][0] = 2 * inputs[0]


@pytest.mark.parametrize("thing", THINGS)
def test_no_pickle_names_an_inner_room(thing):
    names = named_in(THINGS[thing]())
    assert not [name for name in names if is_inner(name.replace(" ", "."))]
    assert any(name.startswith("phintys") for name in names)


@pytest.mark.parametrize("home, inner, name", ROWS)
def test_every_row_of_the_table_is_found_where_it_says(home, inner, name):
    found = getattr(importlib.import_module(home), name)
    assert found is getattr(importlib.import_module(f"phintys.{inner}"), name)
    assert found.__module__ == home and not is_inner(home + ".")
    assert defined_in(found) == f"phintys.{inner}"


def test_a_name_stands_in_one_row():
    assert len({(inner, name) for _, inner, name in ROWS}) == len({(home, name) for home, _, name in ROWS}) == len(ROWS)


def test_the_inner_room_is_recognized():
    assert is_inner("phintys.ops.shape.join.Join") and not is_inner("phintys.tensor.Join")
    assert not is_inner("phintys.gof.graph.Apply")


def test_every_op_type_and_variable_has_a_public_module():
    """A class that is missing needs a row in ``graph/public_names.py``: ``phintys.pickled`` if it is not exported."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")                 # of modules with names that Theano had given up
        for module in pkgutil.walk_packages(phintys.__path__, "phintys."):
            if not module.name.startswith(("phintys.gpu", "phintys.interop.")):    # these need other libraries
                importlib.import_module(module.name)
    inner = [module for name, module in list(sys.modules.items()) if is_inner(name + ".")]
    kinds = {kind for module in inner for kind in vars(module).values()
             if inspect.isclass(kind) and issubclass(kind, (Properties, GraphNode, GraphVariable))}
    kinds -= {Properties, GraphNode, GraphVariable} | NEVER_PICKLED
    assert len(kinds) > 100
    assert not sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in kinds if is_inner(kind.__module__ + "."))


def test_every_scalar_op_is_found_by_the_name_of_its_class():
    for row in SCALAR_OPS.values():
        assert isinstance(row, LoopedScalarOp) and getattr(phintys.scalar, type(row).__name__) is type(row)


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_exported_functions_are_pickled_by_a_public_name(module):
    namespace = importlib.import_module(module)
    values = {name: getattr(namespace, name) for name in namespace.__all__}
    functions = [value for name, value in values.items() if inspect.isfunction(value) and value.__qualname__ == name]
    assert functions
    for function in functions:
        assert not is_inner(function.__module__ + "."), function
        assert function.__module__ != module or pickle.loads(pickle.dumps(function)) is function


def test_an_adopted_function_is_still_found_in_its_file():
    assert T.nnet.softmax.__module__ == "phintys.tensor.nnet" and T.stack.__module__ == "phintys.tensor"
    assert defined_in(T.nnet.softmax) == "phintys.ops.nnet.softmax" and defined_in(T.stack) == "phintys.ops.shape.join"


def test_what_has_no_row_stays():
    assert at_home(Doubled) is Doubled and Doubled.__module__ == __name__ == defined_in(Doubled)


def test_an_op_that_became_a_composition_is_read_as_what_it_composes(monkeypatch):
    class Composed:
        def __call__(self, value):
            return value + value

    written = pickle.dumps((x, T.exp(Doubled()(x)).sum()))
    with monkeypatch.context() as later:
        later.setitem(globals(), "Doubled", Composed)
        read, result = pickle.loads(written)
    numpy.testing.assert_allclose(phintys.function([read], result)([[1.0, 2.0]]), numpy.exp(2) + numpy.exp(4))
    assert "Doubled" not in phintys.pp(result)
    assert pickle.loads(pickle.dumps(result)).type == result.type


def test_a_pickle_is_read_by_a_process_that_has_imported_nothing():
    program = "import pickle, sys; print(pickle.load(sys.stdin.buffer)([[1.0, 2.0, 3.0]]))"
    run = subprocess.run([sys.executable, "-c", program], input=pickle.dumps(function(2 * x)), capture_output=True,
                         check=True)
    assert run.stdout.decode().strip() == "[[2. 4. 6.]]"


def test_an_unknown_name_is_an_error():
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        importlib.import_module("phintys.pickled").Nothing

"""Programs of the case tables in another process: without graphs, without the optimizer, with the same bits."""
import pickle

import numpy
import pytest
from elementwise_cases import DIFFERENTIABLE, drawn, natural_dtype
from family_cases import values
from saved_programs import in_a_bare_process, round_trips

import phintys
import phintys.tensor as T
from phintys.graph.valueless_types import NullType
from phintys.ops.elementwise.scalar_op import SCALAR_OPS
from phintys.ops.types.tensor_type import TensorType

# Reads a list of (program, arguments, results), and prints how many programs gave just these results. No node is made
# on the way, and no module of the optimizer is imported.
RUN_ALL = """
import pickle
from phintys.graph.apply import Apply
def refuse(*arguments): raise AssertionError("a node was made")
Apply.__init__ = refuse
from phintys.vm.callables.callable import Callable
from phintys.vm.files.programs import loads
same = 0
for data, arguments, expected in pickle.load(open(sys.argv[1], "rb")):
    program, count = loads(data), len(arguments)
    results = Callable(program, program.argument_types, [None] * count, [False] * count, [None] * count)(*arguments)
    wrong = [(got, wanted) for got, wanted in zip(results, expected, strict=True)
             if type(got) is not type(wanted) or got.dtype != wanted.dtype or got.shape != wanted.shape
             or got.tobytes() != wanted.tobytes()]
    assert not wrong, wrong
    same += 1
print(same)
print([name for name in sys.modules if name.startswith(("phintys.optimizer", "phintys.making", "phintys.function"))])
"""


def variable(value):
    return TensorType(value.dtype, tuple([length == 1 for length in value.shape]))()


def elementwise_functions():
    """Each row of the table with its gradients, and its arguments."""
    for name in SCALAR_OPS:
        first, *others = drawn(name, (5, 3), natural_dtype(name))
        arguments = [first, *[value[:1] for value in others]]
        inputs = [variable(value) for value in arguments]
        output = SCALAR_OPS[name](*inputs)
        outputs = [output + output]
        if name in DIFFERENTIABLE:
            smooth = [x for x, flags in zip(inputs, output.owner.op.connection_pattern(output.owner)) if flags[0]]
            gradients = phintys.grad(output.sum(), smooth, null_gradients="return")
            outputs += [gradient for gradient in gradients if not isinstance(gradient.type, NullType)]
        yield phintys.function(inputs, outputs, on_unused_input="ignore"), arguments


def other_functions():
    """Reductions over all axes, products, indexing, sorting, shared variables, branches, inner graphs."""
    x, v, i = T.dtensor3("x"), T.dvector("v"), T.lvector("i")
    array, vector = values((3, 4, 5)), values((5,))
    for name in ("sum", "prod", "mean", "var", "std", "max", "min", "any", "all", "argmax", "argmin"):
        for axis in (None, 0, (0, 2)):
            yield phintys.function([x], getattr(T, name)(x, axis=axis)), [array]
    yield phintys.function([x, v], [T.dot(x, v), x[1:, ::-1], x + v, T.nnet.softmax(x[0])]), [array, vector]
    yield phintys.function([x, i], [x[i], T.sort(x, axis=1), x.T, x.reshape((5, -1))]), [array, numpy.array([2, 0, 2])]
    yield phintys.function([v], phintys.grad((T.tanh(v) ** 2).sum(), v), mode=phintys.Mode(allow_gc="plan")), [vector]
    state = phintys.shared(numpy.ones(5), "state")
    yield phintys.function([v], [state * 2, v.cumsum()], updates=[(state, state + v)]), [vector]
    yield phintys.function([v], phintys.ifelse.ifelse(T.gt(v[0], 0), T.exp(v), -v)), [vector]
    half = phintys.OpFromGraph([v], [v / 2, T.concatenate([v, v])])
    yield phintys.function([v], half(v + 1)), [vector]


@pytest.mark.parametrize("functions", [elementwise_functions, other_functions])
def test_programs_compute_the_same_in_another_process(functions, monkeypatch, tmp_path):
    with round_trips(monkeypatch, keep=True) as watch:
        count = 0
        for function, arguments in functions():
            function(*arguments)
            count += 1
    assert watch.refused == [] and len(watch.saved) > 0.9 * count           # rows that are alike have one program
    (tmp_path / "programs").write_bytes(pickle.dumps(watch.saved))
    assert in_a_bare_process(RUN_ALL, tmp_path / "programs") == [str(len(watch.saved)), "[]"]

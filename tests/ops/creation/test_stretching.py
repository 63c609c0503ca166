"""Lengths of 1 that no type declares: what is fitted to a given shape repeats them, and its gradient has the shape of
the value; ops that combine operands raise."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.graph.gradients.gradient import grad
from phintys.ops.creation.alloc import Alloc, SumStretched
from phintys.ops.types.tensor_type import TensorType

MODES = ("FAST_RUN", "FAST_COMPILE")
random = numpy.random.RandomState(0)
ONE, ROW, COLUMN, WHOLE = numpy.array([2.0]), random.rand(1, 3), random.rand(2, 1), numpy.array([[3.0]])
LINE, MATRIX, PLACES = numpy.array([0.5, 2.0, 3.0]), random.rand(4, 3), numpy.array([0, 2])
MASK = numpy.array([True, False, True])


def changed(function, build):
    return lambda y, x: function(build(x), y)


# name: (function of variables, values; the first one is repeated)
STRETCHED = {
    "alloc": (lambda y: T.alloc(y, 3), ONE),
    "alloc, new dimension": (lambda y: T.alloc(y, 4, 3), ONE),
    "alloc of a row": (lambda y: T.alloc(y, 4, 3), ROW),
    "alloc of a column": (lambda y: T.alloc(y, 2, 5), COLUMN),
    "alloc of one element": (lambda y: T.alloc(y, 2, 5), WHOLE),
    "alloc to a computed shape": (lambda y, x: T.alloc(y, *x.shape), ROW, MATRIX),
    "full": (lambda y: T.full((2, 3), y), ROW),
    "broadcast_to": (lambda y: T.broadcast_to(y, (4, 3)), ROW),
    "alloc of no elements": (lambda y: T.alloc(y, 0, 3), ROW),
}
for name, function in (("set", T.set_subtensor), ("inc", T.inc_subtensor)):
    STRETCHED.update({
        name + " slice": (changed(function, lambda x: x[1:]), ONE, LINE),
        name + " rows by slice": (changed(function, lambda x: x[1:]), ROW, MATRIX),
        name + " row of the last dimension": (changed(function, lambda x: x[1:]), ONE, MATRIX),
        name + " column": (changed(function, lambda x: x[:, 1]), ONE, MATRIX),
        name + " vector": (changed(function, lambda x: x[PLACES]), ONE, LINE),
        name + " repeated places": (changed(function, lambda x: x[[1, 1]]), ONE, LINE),
        name + " rows": (changed(function, lambda x: x[PLACES]), ROW, MATRIX),
        name + " rows, a column": (changed(function, lambda x: x[PLACES]), COLUMN, MATRIX),
        name + " rows, one element": (changed(function, lambda x: x[PLACES]), WHOLE, MATRIX),
        name + " elements": (changed(function, lambda x: x[PLACES, [1, 1]]), ONE, MATRIX),
        name + " slice and vector": (changed(function, lambda x: x[2:, PLACES]), WHOLE, MATRIX),
        name + " constant mask": (changed(function, lambda x: x[:, MASK]), WHOLE, MATRIX),
        name + " computed mask": (changed(function, lambda x: x[x > 0.5]), ONE, MATRIX),
    })

STACK, SIDES = random.rand(4, 3, 3) + 3 * numpy.eye(3), random.rand(4, 3, 2)
# name: (function of variables, values; one of them has a length of 1 where another one has more)
REFUSED = {
    "sum": (lambda y, x: y + x, ONE, LINE),
    "switch": (lambda y, x: T.switch(x > 1, y, x), ONE, LINE),
    "clip": (lambda y, x: T.clip(x, 0, y), ONE, LINE),
    "matmul": (T.matmul, STACK[:1], SIDES),
    "batched_dot": (T.batched_dot, STACK[:1], SIDES),
    "C + A.B": (lambda y, A, B: y + T.dot(A, B), ROW, MATRIX, numpy.eye(3)),
    "solve, one matrix": (T.slinalg.solve, STACK[:1], SIDES),
    "solve, one right-hand side": (T.slinalg.solve, STACK, SIDES[:1]),
    "solve_lower_triangular": (T.slinalg.solve_lower_triangular, numpy.tril(STACK)[:1], SIDES),
    "solve_upper_triangular": (T.slinalg.solve_upper_triangular, numpy.triu(STACK), SIDES[:1]),
    "cho_solve": (lambda c, b: T.slinalg.cho_solve((c, True), b), numpy.tril(STACK)[:1], SIDES),
    "lstsq": (lambda A, b: T.nlinalg.lstsq()(A, b)[0], STACK[:1], SIDES),
    "batch normalization": (lambda y, x: T.nnet.bn.batch_normalization_train(x, y, y)[0], ONE, MATRIX),
    "softmax with a bias": (lambda y, x: T.nnet.softmax_with_bias(x, y), ONE, MATRIX),
}
# the same, declared
DECLARED = {
    "solve, one matrix": (lambda A, b: T.slinalg.solve(T.addbroadcast(A, 0), b), STACK[:1], SIDES),
    "solve, one right-hand side": (lambda A, b: T.slinalg.solve(A, T.addbroadcast(b, 0)), STACK, SIDES[:1]),
    "solve_triangular": (lambda A, b: T.slinalg.solve_lower_triangular(T.addbroadcast(A, 0), b), STACK[:1], SIDES),
    "choose": (lambda y, x: T.choose(T.as_tensor([0, 1, 0]), [T.addbroadcast(y, 0), x]), ONE, LINE),
}


def variables_for(values):
    return [TensorType("float64", (False,) * value.ndim)() for value in values]


@pytest.mark.parametrize("name", [*STRETCHED, *DECLARED])
def test_gradients_of_repeated_values(name):
    build, *values = {**DECLARED, **STRETCHED}[name]
    inputs = variables_for(values)
    output = build(*inputs)
    weights = numpy.cos(numpy.arange(60.0))
    cost = (output ** 2 * T.as_tensor(weights)[:output.size].reshape(output.shape, ndim=output.ndim)).sum()
    computed = [phintys.function(inputs, [cost, *grad(cost, inputs, disconnected_inputs="ignore")], mode=mode,
                                 on_unused_input="ignore")(*values) for mode in MODES]
    for (_, *found), (_, *again) in zip(computed, computed[1:]):
        for value, mine, other in zip(values, found, again):
            assert mine.shape == other.shape == value.shape
            numpy.testing.assert_allclose(mine, other, rtol=1e-10)
    value_of = phintys.function(inputs, cost, on_unused_input="ignore")
    for position in numpy.ndindex(*values[0].shape):
        moved = []
        for step in (1e-5, -1e-5):
            first = values[0].copy()
            first[position] += step
            moved.append(value_of(first, *values[1:]))
        numpy.testing.assert_allclose(computed[0][1][position], (moved[0] - moved[1]) / 2e-5, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", REFUSED)
def test_operands_that_are_combined_are_refused(name, mode):
    build, *values = REFUSED[name]
    inputs = variables_for(values)
    for output in (build(*inputs), build(*inputs).sum()):
        with pytest.raises(ValueError, match="(?i)mismatch|mis-match|different lengths|does not match|expected"):
            phintys.function(inputs, output, mode=mode, on_unused_input="ignore")(*values)


# Sums of what is compared with another operand, which a rewrite could compute apart.
S = T.dscalar("s")
COMPARED = {
    "switch": lambda x, y: T.switch(S > 1, x, y).sum(),
    "switch, other branch": lambda x, y: T.switch(S > 3, x, y).sum(),
    "mean of a switch": lambda x, y: T.switch(S > 1, T.exp(x), y).mean(),
    "product of a switch": lambda x, y: T.switch(S > 1, x, y).prod(),
    "switch along an axis": lambda x, y: T.switch(S > 1, T.outer(x, [1.0, 2.0]), T.outer(y, [1.0, 2.0])).sum(axis=0),
    "stack": lambda x, y: T.stack([x, y]).sum(),
    "stack along an axis": lambda x, y: T.stack([x, y]).sum(axis=0),
    "columns": lambda x, y: T.concatenate([x.dimshuffle(0, "x"), y.dimshuffle(0, "x")], axis=1).sum(),
    "scaled product": lambda x, y: (S * x * y).sum(),
    "quotient": lambda x, y: (S * x / y).sum(),
    "linear combination": lambda x, y: (2 * x - S * y).sum(),
    "squared difference": lambda x, y: ((x - y) ** 2 / S).sum(),
    "largest": lambda x, y: T.maximum(x, y).max(),
    "product with a sum": lambda x, y: T.dot(x + y, x),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", COMPARED)
def test_sums_compare_what_their_operand_compares(name, mode):
    x, y = T.dvectors("x", "y")
    f = phintys.function([x, y, S], COMPARED[name](x, y), mode=mode, on_unused_input="ignore")
    for shorter in (8, 1):
        with pytest.raises(ValueError, match="(?i)mismatch|mis-match|must be equal"):
            f(numpy.ones(12), numpy.ones(shorter), 2.0)


def test_parts_of_repeated_values():
    """The optimizer takes parts of what an Alloc repeats, and leaves out an Alloc, only if it knows the lengths."""
    x, y = T.dmatrices("x", "y")
    filled = T.alloc(y, *x.shape)
    outputs = [filled[1], filled[:, 1:], filled[1:, 0], filled * x, T.exp(filled + x)[2], T.alloc(y, 4, 3)[::-1],
               T.set_subtensor(x[:], y)[1:], T.inc_subtensor(T.zeros((4, 3))[[1, 1, 3]], y).sum(axis=1)]
    for value in (ROW, MATRIX[:1] * 2, MATRIX[:1, :1]):
        fast, plain = [phintys.function([x, y], outputs, mode=mode)(MATRIX, value) for mode in MODES]
        for mine, other in zip(fast, plain):
            numpy.testing.assert_allclose(mine, other, rtol=1e-12)


def test_a_shared_bias_keeps_its_shape():
    """It grew from (1,) to (3,) by its update."""
    for mode in MODES:
        bias = phintys.shared(numpy.array([2.0]), "bias")
        cost = (T.alloc(bias, 3) ** 2).sum()
        phintys.function([], cost, updates=[(bias, bias - 0.1 * grad(cost, bias))], mode=mode)()
        numpy.testing.assert_allclose(bias.get_value(), [0.8])


def test_second_derivatives():
    y, x = T.dvector(), T.dvector()
    output = T.set_subtensor(x[1:], y) ** 3
    twice = grad(grad(output.sum(), y).sum(), [y, x], disconnected_inputs="ignore")
    for mode in MODES:
        by_y, by_x = phintys.function([y, x], twice, mode=mode, on_unused_input="ignore")(ONE, LINE)
        numpy.testing.assert_allclose(by_y, [24.0])
        numpy.testing.assert_allclose(by_x, [0.0, 0.0, 0.0])


def test_lengths_that_are_known_to_be_equal_cost_nothing():
    """The op is a view where the lengths are equal, and is removed where that is certain."""
    x, y = T.dmatrix(), T.dvector()
    outputs = [grad((T.alloc(y, x.shape[0], y.shape[0]) ** 2).sum(), y),
               grad((T.set_subtensor(x[1:3], T.exp(x[1:3])) ** 2).sum(), x),
               grad((T.inc_subtensor(x[[0, 1]], 2 * x[[0, 1]]) ** 2).sum(), x)]
    f = phintys.function([x, y], outputs)
    assert not [node for node in f.maker.fgraph.apply_nodes if isinstance(node.op, SumStretched)]
    static = TensorType("float64", (False,), shape=(3,))()
    gradient = grad((T.alloc(static, x.shape[0], 3) * x).sum(), static)
    assert not isinstance(gradient.owner.op, SumStretched)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_sums_over_repetitions(dtype):
    x, length = TensorType(dtype, (False, False))(), T.lscalar()
    f = phintys.function([x, length], SumStretched(1)(x, length))
    value = numpy.arange(6).reshape(2, 3).astype(dtype)
    for length, wanted in ((1, value.sum(axis=1, keepdims=True)), (3, value), (1, value.sum(axis=1, keepdims=True))):
        for _ in range(3):
            found = f(value, length)
            assert found.dtype == dtype
            numpy.testing.assert_array_equal(found, wanted)
    with pytest.raises(ValueError, match=r"length 2 in dimension 1 cannot have been broadcast to the shape \(2, 3\)"):
        f(value, 2)
    numpy.testing.assert_array_equal(f(value[:, :0], 1), numpy.zeros((2, 1)))


def test_debug_mode_and_derivatives_of_the_op():
    x, length = T.dmatrix(), T.lscalar()
    for value in (1, 2):
        f = phintys.function([x, length], SumStretched(0)(x, length), mode="DebugMode")
        f(numpy.ones((2, 3)), value)
        phintys.gradient.verify_grad(lambda x, value=value: SumStretched(0)(x, value), [numpy.ones((2, 3))],
                                     rng=numpy.random.RandomState(0))
    made = phintys.function([x], T.Rop(SumStretched(0)(x, 1), x, 2 * x))(numpy.ones((2, 3)))
    numpy.testing.assert_array_equal(made, [[4.0, 4.0, 4.0]])
    assert isinstance(Alloc()(x, 2, 3).owner.op, Alloc)

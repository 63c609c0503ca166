"""After all rewrites each node still knows where the user made what it computes."""
import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.gof.opt import check_stack_trace

x, y = T.dmatrices("xy")
v, n, c, rows, cube = T.dvector("v"), T.lscalar("n"), T.dscalar("c"), T.lvector("rows"), T.dtensor3("cube")
s = phintys.shared(numpy.zeros((3, 3)), "s")

EXPRESSIONS = [
    lambda: T.exp(x) * 2 + y, lambda: T.dot(x, y) + y * 2, lambda: T.dot(x, y).T, lambda: T.dot(2 * x, y) * 3 + s,
    lambda: T.nnet.softmax(T.dot(x, y) + v), lambda: -T.log(T.nnet.softmax(x))[T.arange(x.shape[0]), rows],
    lambda: x.sum(0) / x.shape[0], lambda: T.mean(x), lambda: T.var(x, 1), lambda: T.concatenate([x, y])[2:5],
    lambda: T.set_subtensor(x[1:], y[1:]), lambda: T.inc_subtensor(x[rows], y[rows]), lambda: x.reshape((n, -1)),
    lambda: T.grad(T.nnet.categorical_crossentropy(T.nnet.softmax(T.dot(x, y)), rows).mean(), x),
    lambda: T.grad(T.log(1 + T.exp(x)).sum(), x), lambda: T.grad((T.tanh(T.dot(x, y)) ** 2).sum(), y),
    lambda: T.switch(x > 0, x, 0 * y), lambda: T.ones_like(x) * y, lambda: T.zeros((n, 3)) + v, lambda: x.shape,
    lambda: T.alloc(c, n, n), lambda: T.batched_dot(cube, cube.dimshuffle(0, 2, 1)), lambda: T.max(x, axis=1),
    lambda: x.argmax(1), lambda: T.cumsum(x, 0), lambda: T.tile(v, 3), lambda: T.repeat(v, 2), lambda: T.sort(v),
    lambda: T.diag(v), lambda: T.eye(n), lambda: T.arange(n) * 2, lambda: T.nnet.relu(x), lambda: x ** 2 / y ** 3,
    lambda: T.log(T.sum(T.exp(x), axis=1)), lambda: T.outer(v, v), lambda: T.stack([x, y]),
    lambda: T.nnet.sigmoid(x) * (1 - T.nnet.sigmoid(x)), lambda: T.Rop(T.tanh(x), x, y), lambda: x[::-1][0],
    lambda: T.hessian((v ** 3).sum(), v), lambda: T.jacobian(T.tanh(v), v), lambda: T.cast(x, "float32"),
    lambda: T.roll(v, 2), lambda: T.prod(x), lambda: T.true_div(n, 2), lambda: T.clip(x, 0, 1), lambda: (x - x) + y,
    lambda: T.nnet.batch_normalization(x, v, v, v, v), lambda: T.exp(T.log(x)), lambda: T.sqrt(x) ** 2,
    lambda: T.dot(x, T.zeros_like(y)), lambda: x.T.T, lambda: x.dimshuffle(1, 0, "x").sum(2),
    lambda: x.flatten().reshape(x.shape), lambda: T.einsum("ij,kj->ik", x, y),
]


@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
@pytest.mark.parametrize("number", range(len(EXPRESSIONS)))
def test_optimised_nodes_know_where_they_come_from(number, mode):
    expression = EXPRESSIONS[number]()
    functions = [phintys.function([x, y, v, n, c, rows, cube], expression, mode=mode, on_unused_input="ignore")]
    if expression.type == s.type:
        functions.append(phintys.function([x, y, v, n, c, rows, cube], [], updates=[(s, expression)], mode=mode,
                                          on_unused_input="ignore"))
    for function in functions:
        assert {node.where[0] for node in function.maker.fgraph.apply_nodes} <= {__file__}
        assert check_stack_trace(function, "all", bug_print="ignore")

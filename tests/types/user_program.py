"""A program as users write it, for type checkers: it is correct, so they report nothing."""
from typing import Any

import numpy

import phintys
import phintys.tensor as T
from phintys import In, Mode, Out, function, shared
from phintys.tensor import dot, nnet

rng = numpy.random.default_rng(0)
x, t = T.dmatrix("x"), T.ivector("t")
rate = T.scalar("rate", dtype="float64")
w = shared(rng.normal(size=(4, 3)), name="w")
b = shared(numpy.zeros(3), name="b", borrow=True)
steps = shared(0, name="steps")

hidden = T.tanh(dot(x, w) + b) * 2 - 1.5 / (1 + abs(x[:, :3]))
probabilities = nnet.softmax(hidden)
cost = -T.log(probabilities)[T.arange(t.shape[0]), t].mean() + 0.01 * (w ** 2).sum()
by_w, by_b = phintys.grad(cost, [w, b])
norm = T.sqrt(T.sum(by_w ** 2, axis=(0, 1)) + T.dot(by_b, by_b))
clipped = T.switch(T.gt(norm, 5.0), by_w * 5 / norm, by_w)
updates = [(w, w - rate * clipped), (b, b - rate * by_b), (steps, steps + 1)]

train = function([x, t, In(rate, value=0.1)], [cost, Out(norm, borrow=True)], updates=updates,
                 mode=Mode(optimizer="fast_compile"), name="train")
predict = phintys.function([x], T.argmax(probabilities, axis=1).astype("int32"), allow_input_downcast=True)

values = rng.normal(size=(5, 4))
loss, size = train(values, numpy.array([0, 1, 2, 1, 0], "int32"), rate=0.5)
print(float(loss), predict(values).shape, w.get_value(borrow=True).sum(), train.explain(), train.name)
b.set_value(numpy.ones(3))
print(cost.dtype, hidden.ndim, x.type.broadcastable, cost.eval({x: values, t: numpy.zeros(5, "int32")}))
rows, columns = x.shape
print((T.concatenate([x.T, x[::2].T], axis=1) >= rows).any().eval({x: values}), columns.owner is not None)


class Double(phintys.Op):
    __props__ = ()

    def make_node(self, value: Any) -> phintys.Apply:
        variable = T.as_tensor_variable(value)
        return phintys.Apply(self, [variable], [variable.type()])

    def perform(self, node: phintys.Apply, inputs: Any, output_storage: Any) -> None:
        output_storage[0][0] = inputs[0] * 2

    def grad(self, inputs: Any, output_grads: Any) -> list[Any]:
        return [output_grads[0] * 2]


class Halves(phintys.Op):
    __props__ = ("rest",)
    itypes = [T.dvector]
    otypes = [T.dvector, T.dvector]
    default_output = 0
    view_map = {0: [0]}

    def __init__(self, rest: int = 0) -> None:
        self.rest = rest

    def perform(self, node: phintys.Apply, inputs: Any, output_storage: Any) -> None:
        middle = len(inputs[0]) // 2
        output_storage[0][0], output_storage[1][0] = inputs[0][:middle], inputs[0][middle:] + self.rest


print(Halves()(T.flatten(x)).eval({x: values}).shape, Double()(x).eval({x: values}).shape)

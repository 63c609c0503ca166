"""A program as users write it, for type checkers: it is correct, so they report nothing."""
from typing import Any

import numpy

import phintys
import phintys.tensor as T
from phintys import In, Mode, Out, compile, function, gof, printing, shared
from phintys.tensor import dot, extra_ops, fft, nlinalg, nnet, slinalg
from phintys.tensor.signal import pool

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


text: str = printing.debugprint([hidden, cost], depth=2, print_type=True, file="str")
nothing: None = printing.debugprint(predict)
formula: str = printing.min_informative_str(cost)
products = T.blas.dot22(x, x.T) + T.blas.gemm(x, 1.0, x, x, 0.5) + T.blas.batched_dot(x, x)[0]
squared: phintys.Function = compile.pfunc([x], (products ** 2).sum(), mode=compile.FAST_RUN)
twice = compile.orig_function([compile.In(x, borrow=True)], [x * 2], name="twice")
copied, made, rest = compile.rebuild_collect_shared(cost, [x, t])


@gof.local_optimizer([Double])
def undo(node: phintys.Apply) -> Any:
    return [node.inputs[0] * 2]


class Counter(gof.Feature):
    count = 0

    def on_import(self, fgraph: gof.FunctionGraph, node: phintys.Apply, reason: Any) -> None:
        self.count += 1


class Looks(gof.Optimizer):
    def apply(self, fgraph: gof.FunctionGraph) -> int:
        return len(gof.graph.io_toposort(fgraph.inputs, fgraph.outputs))


graph = gof.FunctionGraph([x], [Double()(x)])
graph.attach_feature(Counter())
gof.TopoOptimizer(undo).optimize(graph)
run = gof.PerformLinker(allow_gc=False).accept(graph).make_function()

images, filters = T.tensor4("images", dtype="float64"), T.tensor4("filters", dtype="float64")
pooled = pool.pool_2d(nnet.conv2d(images, filters, border_mode="half"), (2, 2), ignore_border=True)


def add_row(row: T.TensorVariable, sums: T.TensorVariable) -> T.TensorVariable:
    return sums + row


rows_of_steps, step_updates = phintys.scan(add_row, sequences=[x], outputs_info=[x[0]])
gram = T.dot(x.T, x)
solved = slinalg.solve(gram + T.eye(4), rows_of_steps[-1]) + slinalg.cholesky(gram + T.eye(4))[0] + nlinalg.trace(gram)
sign, magnitude = nlinalg.slogdet(gram)
largest = T.topk(extra_ops.cumsum(fft.rfft(x).sum(axis=2), axis=1), 2) + sign * magnitude
weights = T.dvector("weights")
slopes: T.TensorVariable = T.jacobian(T.tanh(weights) ** 2, weights)
curvature, = T.hessian((weights ** 3).sum(), [weights])
along: T.TensorVariable = T.hessian_vector_product((weights ** 3).sum(), weights, weights + 1)
late = phintys.function([x, images, filters], [pooled.sum(), solved, largest], updates=step_updates)
late(values, numpy.ones((1, 1, 4, 4)), numpy.ones((1, 1, 3, 3)))

print(Halves()(T.flatten(x)).eval({x: values}).shape, Double()(x).eval({x: values}).shape)

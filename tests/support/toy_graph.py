"""A small algebra for the tests of graph/: scalars and vectors of one dtype, and a few ops with only ``perform``."""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.type import Type
from phintys.graph.valueless_types import disconnected_type, grad_undefined
from phintys.graph.variable import Constant, Variable

LENGTH = 30_000     # of the chains that must not overflow any stack: of 8 MiB, with 280 bytes a call


class ToyVariable(Variable):
    dtype = property(lambda self: self.type.dtype)
    ndim = property(lambda self: self.type.ndim)

    def __add__(self, other):
        return add(self, other)

    def __mul__(self, other):
        return mul(self, other)

    __rmul__ = __mul__

    def astype(self, dtype):
        return Cast(dtype)(self)

    def zeros_like(self, dtype=None):
        return Like(0, dtype or self.dtype)(self)

    def ones_like(self, dtype=None):
        return Like(1, dtype or self.dtype)(self)

    def clip(self, low, high):
        return Clip(low, high)(self)

    def copy(self):
        return Copy()(self)


class ToyConstant(ToyVariable, Constant):
    pass


class ToyType(Type):
    __props__ = ("dtype", "ndim")
    Variable = ToyVariable
    Constant = ToyConstant

    def __init__(self, dtype="float64", ndim=0, shape=None):
        self.dtype, self.ndim, self.shape = dtype, ndim, shape

    def filter(self, value, strict=False, allow_downcast=None):
        array = numpy.asarray(value)
        if array.ndim != self.ndim or (strict and array.dtype != self.dtype):
            raise TypeError(f"{self} cannot take {value!r}")
        return array.astype(self.dtype)


class Elementwise(Op):
    """An op on toys of one type."""
    __props__ = ()

    def make_node(self, *inputs):
        inputs = [value if isinstance(value, Variable) else ToyConstant(ToyType(), value) for value in inputs]
        return Apply(self, inputs, [self.output_type(inputs).make_variable()])

    def output_type(self, inputs):
        return inputs[0].type

    def perform(self, node, inputs, output_storage, params=None):
        output_storage[0][0] = numpy.asarray(self.compute(*inputs), node.outputs[0].type.dtype)


class Add(Elementwise):
    def compute(self, *values):
        return sum(values)

    def grad(self, inputs, output_grads):
        return [output_grads[0] for _ in inputs]

    def R_op(self, inputs, eval_points):
        return [add(*[point for point in eval_points if point is not None])]


class Mul(Elementwise):
    def compute(self, a, b):
        return a * b

    def grad(self, inputs, output_grads):
        a, b = inputs
        return [output_grads[0] * b, output_grads[0] * a]

    def R_op(self, inputs, eval_points):
        return [eval_points[0] * inputs[1] + inputs[0] * eval_points[1]]


class Negate(Elementwise):
    """For chains."""

    def compute(self, a):
        return -a

    def grad(self, inputs, output_grads):
        return [negate(output_grads[0])]

    def R_op(self, inputs, eval_points):
        return [negate(eval_points[0])]


class Cast(Elementwise):
    __props__ = ("dtype",)

    def __init__(self, dtype):
        self.dtype = dtype

    def output_type(self, inputs):
        return ToyType(self.dtype, inputs[0].type.ndim)

    def compute(self, a):
        return a

    def grad(self, inputs, output_grads):
        if not self.dtype.startswith("float"):
            return [inputs[0].zeros_like("float64")]
        return [output_grads[0]]


class Like(Cast):
    """A constant in the shape of the input."""
    __props__ = ("value", "dtype")

    def __init__(self, value, dtype):
        self.value, self.dtype = value, dtype

    def compute(self, a):
        return numpy.full_like(a, self.value)

    def grad(self, inputs, output_grads):
        return [inputs[0].zeros_like()]


class Clip(Elementwise):
    __props__ = ("low", "high")

    def __init__(self, low, high):
        self.low, self.high = low, high

    def compute(self, a):
        return numpy.clip(a, self.low, self.high)


class Copy(Elementwise):
    def compute(self, a):
        return a.copy()


class Overwrite(Elementwise):
    """Squares its input in place."""
    destroy_map = {0: [0]}

    def compute(self, a):
        a *= a
        return a

    def grad(self, inputs, output_grads):
        return [output_grads[0] * inputs[0]]


class Pair(Op):
    """Two outputs: the first depends on the first input, the second on the second."""
    __props__ = ()

    def make_node(self, a, b):
        return Apply(self, [a, b], [a.type(), b.type()])

    def perform(self, node, inputs, output_storage, params=None):
        for value, storage in zip(inputs, output_storage):
            storage[0] = value

    def connection_pattern(self, node):
        return [[True, False], [False, True]]

    def grad(self, inputs, output_grads):
        return list(output_grads)


class Answers(Elementwise):
    """An op whose gradient is whatever it was told."""
    __props__ = ("answer",)

    def __init__(self, answer):
        self.answer = answer

    def compute(self, a):
        return a

    def grad(self, inputs, output_grads):
        return self.answer(self, inputs, output_grads)


class Undefined(Elementwise):
    def compute(self, a):
        return a

    def grad(self, inputs, output_grads):
        return [grad_undefined(self, position, variable) for position, variable in enumerate(inputs)]


class Cut(Elementwise):
    """Disconnected from its input without saying so beforehand."""

    def compute(self, a):
        return a

    def grad(self, inputs, output_grads):
        return [disconnected_type()]


add, mul, negate, pair = Add(), Mul(), Negate(), Pair()
scalar, vector, whole = ToyType(), ToyType(ndim=1), ToyType("int64")


def chain(x, length=LENGTH):
    for _ in range(length):
        x = negate(x)
    return x


def evaluate(outputs, values):
    """Compute variables by ``perform``."""
    from phintys.graph.toposort import io_toposort
    results = dict(values)

    def value_of(variable):
        return variable.data if isinstance(variable, Constant) else results[variable]

    for node in io_toposort(list(values), outputs):
        storage = [[None] for _ in node.outputs]
        node.op.perform(node, [numpy.array(value_of(variable)) for variable in node.inputs], storage)
        results.update(zip(node.outputs, [cell[0] for cell in storage]))
    return [value_of(variable) for variable in outputs]

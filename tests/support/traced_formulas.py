"""Formulas of Python as scalar code."""
import numpy

from phintys.ops.elementwise.scalar_code import ScalarCode


class Tracer:
    """Records the steps of a formula."""

    def __init__(self, slot, record):
        self.slot, self.record = slot, record

    def operate(self, ufunc, *operands):
        slots = [x.slot if isinstance(x, Tracer) else self.record.constant(x) for x in operands]
        self.record.steps.append((ufunc, slots))
        return Tracer(("step", len(self.record.steps) - 1), self.record)

    def __add__(self, other): return self.operate(numpy.add, self, other)
    def __radd__(self, other): return self.operate(numpy.add, other, self)
    def __sub__(self, other): return self.operate(numpy.subtract, self, other)
    def __rsub__(self, other): return self.operate(numpy.subtract, other, self)
    def __mul__(self, other): return self.operate(numpy.multiply, self, other)
    def __rmul__(self, other): return self.operate(numpy.multiply, other, self)
    def __truediv__(self, other): return self.operate(numpy.true_divide, self, other)
    def __rtruediv__(self, other): return self.operate(numpy.true_divide, other, self)
    def __neg__(self): return self.operate(numpy.negative, self)
    def __pow__(self, other): return self.operate(*((numpy.square, self) if other == 2 else (numpy.power, self, other)))


class Record:
    """Inputs, constants and steps of a traced formula."""

    def __init__(self):
        self.constants, self.steps = [], []

    def constant(self, value):
        self.constants.append(value)
        return "constant", len(self.constants) - 1

    def slot(self, name, inputs):
        kind, number = name
        return number + {"input": 0, "constant": inputs, "step": inputs + len(self.constants)}[kind]


def traced(function, inputs, dtype):
    """The scalar code of a function of ``inputs`` arrays of one dtype."""
    record = Record()
    result = function(*[Tracer(("input", k), record) for k in range(inputs)])
    steps = [(ufunc, [record.slot(name, inputs) for name in names], [dtype] * (len(names) + 1))
             for ufunc, names in record.steps]
    return ScalarCode([dtype] * inputs, [numpy.array(value, dtype) for value in record.constants], steps,
                      [record.slot(result.slot, inputs)])

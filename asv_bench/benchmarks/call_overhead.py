"""The cost of a call with almost nothing to compute: checking inputs, running, wrapping outputs."""
import numpy

import phintys
import phintys.tensor as T


class OneInstruction:
    """x + 1: the cost of a call."""

    def setup(self):
        scalar, vector = T.dscalar(), T.dvector()
        self.scalar_function = phintys.function([scalar], scalar + 1)
        self.vector_function = phintys.function([vector], vector + 1)
        self.scalar_value, self.vector_value = numpy.asarray(1.0), numpy.ones(1)

    def time_increment_0d(self):
        self.scalar_function(self.scalar_value)

    def time_increment_one_element(self):
        self.vector_function(self.vector_value)

    def time_increment_python_float(self):
        self.scalar_function(1.0)


class ManyInstructions:
    """Programs of 20 operations on 10 elements: the cost of an instruction, of a fused step, and of an output."""

    def setup(self):
        scalar, vector, matrix = T.dscalar(), T.dvector(), T.dmatrix()
        chain = mixed = vector
        for _ in range(10):
            chain = T.tanh(chain) + 0.1
            mixed = T.tanh(T.dot(matrix, mixed))
        self.chain = phintys.function([vector], chain)
        self.mixed = phintys.function([vector, matrix], mixed)
        self.outputs = phintys.function([scalar], [scalar + number for number in range(20)])
        self.scalar_value, self.vector_value = numpy.asarray(1.0), numpy.ones(10)
        self.matrix_value = 0.3 * numpy.eye(10) + 0.05

    def time_chain_of_20_elementwise(self):
        self.chain(self.vector_value)

    def time_10_products_and_10_tanh(self):
        self.mixed(self.vector_value, self.matrix_value)

    def time_20_outputs_0d(self):
        self.outputs(self.scalar_value)


class SharedUpdate:
    """A counter: the cost of loading and storing a shared variable."""

    def setup(self):
        counter = phintys.shared(numpy.asarray(0.0))
        self.count = phintys.function([], [], updates=[(counter, counter + 1)])

    def time_increment_shared_0d(self):
        self.count()


class AfterAFailure:
    """A program of 4,000 kernels whose last call failed: the cost of the next call, which finds no kept memory."""

    def setup(self):
        vector, matrix, position = T.dvector(), T.dmatrix(), T.lscalar()
        value = vector
        for _ in range(2000):
            value = T.tanh(T.dot(matrix, value))
        self.function = phintys.function([vector, matrix, position], value[position])
        self.arguments = numpy.ones(10), 0.9 * numpy.eye(10)

    def time_call_after_a_good_one(self):
        self.function(*self.arguments, 1)

    def time_failing_call_and_the_next(self):
        try:
            self.function(*self.arguments, 10)
        except IndexError:
            pass
        self.function(*self.arguments, 1)

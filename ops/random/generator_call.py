"""GeneratorCall: draws of ``numpy.random.Generator`` by its own methods: vectors, normal or of counts.

The op makes a ``Generator`` from the state, calls its method, and returns the new state and the sample. So the numbers
are NumPy's, and a call that fails changes no state. ``METHODS`` is the table of these methods.
"""
from collections import namedtuple

import numpy

from phintys.graph.apply import Apply
from phintys.graph.errors import MethodNotDefined
from phintys.ops.random.generator_states import WORDS, bit_generator_of, words_of
from phintys.ops.random.sampling import Sampling
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes

# parameters: names and ranks of the tensors; dtype: of the sample; added: dimensions of a sample
# beside those of its size.
Method = namedtuple("Method", "parameters dtype added")
METHODS = {
    "multivariate_hypergeometric": Method((("colors", 1), ("nsample", 0)), "int64", 1),
    "multivariate_normal": Method((("mean", 1), ("cov", 2)), "float64", 1),
}


class GeneratorCall(Sampling):
    """A sample of a method of ``numpy.random.Generator``. The inputs are the state, the size (an empty vector if there
    is none) and the parameters; the outputs are the new state and the sample.

    Parameters
    ----------
    name : str
        A key of ``METHODS``.
    kind : str
        The kind of the bit generator.
    outtype : TensorType
        Of the sample.
    options : tuple of (str, object)
        Further arguments of the method.
    """

    __props__ = ("name", "kind", "outtype", "options")

    def __init__(self, name, kind, outtype, options=()):
        self.name, self.kind, self.outtype, self.options = name, kind, outtype, tuple(options)

    def __str__(self):
        return f"GeneratorCall{{{self.name}, {self.kind}}}"

    def make_node(self, state, size, *parameters):
        state, size = self.as_state(state), as_tensor_variable(size)
        parameters = list(map(as_tensor_variable, parameters))
        for (name, rank), parameter in zip(METHODS[self.name].parameters, parameters):
            if parameter.type.ndim != rank:
                raise TypeError(f"{self.name}: {name} must have {rank} dimensions, got {parameter} of type "
                                f"{parameter.type}")
        return Apply(self, [state, size, *parameters], [state.type(), self.outtype()])

    def perform(self, node, inputs, output_storage, params=None):
        words, size, *parameters = inputs
        if words.shape != (WORDS[self.kind],):
            raise ValueError(f"{self.name}: the state has {len(words)} words, but that of a {self.kind} has "
                             f"{WORDS[self.kind]}: it is the state of another generator")
        generator = numpy.random.Generator(bit_generator_of(words))
        sample = self._drawn(generator, tuple(size.tolist()), parameters)
        if sample.ndim != self.outtype.ndim:
            raise ValueError(f"{self.name}: the sample has {sample.ndim} dimensions, expected {self.outtype.ndim}")
        output_storage[0][0] = words_of(generator.bit_generator)
        output_storage[1][0] = sample.astype(self.outtype.dtype, copy=False)

    def _drawn(self, generator, size, parameters):
        options = dict(self.options)
        if options.pop("sized", False):
            options["size"] = size
        method = getattr(generator, self.name)
        parameters = [value.item() if value.ndim == 0 and value.dtype.name in discrete_dtypes else value
                      for value in parameters]
        return numpy.asarray(method(*parameters, **options))

    def infer_shape(self, node, input_shapes):
        raise MethodNotDefined("the shape follows from the arguments")

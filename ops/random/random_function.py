"""RandomFunction: draws from a ``numpy.random.RandomState`` by calling one of its methods, or a function on it.

The op returns a new state and the sample. It draws from a copy of the given state, so that a call that fails changes no
state. Only users make variants that draw from the state itself.
"""
from itertools import islice

import numpy

from phintys.graph.apply import Apply
from phintys.graph.errors import MethodNotDefined
from phintys.graph.op import Op
from phintys.graph.valueless_types import grad_undefined
from phintys.graph.variable import Constant
from phintys.ops.random.generator_states import random_state_of, words_of_random_state
from phintys.ops.random.random_state_type import RandomStateType, twin_of
from phintys.ops.random.sampling import sample_shape, size_vector
from phintys.ops.random.vector_states import (
    STATE_TYPE,
    STATE_WORDS,
    kernel_parameters,
    native_draw_of,
    native_kernel,
)
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import integer_dtypes


class RandomFunction(Op):
    """Samples, and the state after them. The inputs are the state, the size, and the arguments of the function.

    Parameters
    ----------
    fn : str or callable
        A method of ``RandomState`` by its name, or a function that takes a state, the arguments, and the size last.
    outtype : TensorType
        Of the sample.
    inplace : bool
        The state is overwritten.
    ndim_added : int
        How many dimensions a sample has more than its size has entries.
    native_name : str, optional
        The key of ``NATIVE_DRAWS`` for the distribution of a function; for a method, its name.

    Examples
    --------
    >>> state = phintys.shared(numpy.random.RandomState(3))
    >>> uniform = phintys.tensor.raw_random.RandomFunction("uniform", T.dvector)
    >>> new_state, samples = uniform(state, (2,), 0.0, 1.0)
    >>> numpy.allclose(samples.eval(), numpy.random.RandomState(3).uniform(size=2))
    True
    """

    __props__ = ("fn", "outtype", "inplace", "ndim_added")
    is_foldable = False

    def __init__(self, fn, outtype, inplace=False, ndim_added=0, native_name=None):
        self.fn, self.outtype, self.inplace, self.ndim_added = fn, outtype, inplace, ndim_added
        self.native_name = fn if native_name is None and isinstance(fn, str) else native_name
        if inplace:
            self.destroy_map = {0: [0]}

    @property
    def exec_fn(self):
        """The function."""
        return getattr(numpy.random.RandomState, self.fn) if isinstance(self.fn, str) else self.fn

    def __str__(self):
        return f"RandomFunction{{{self.exec_fn.__name__}}}"

    def make_node(self, r, shape, *args):
        if r.type == STATE_TYPE:
            on_vectors = VectorRandomFunction(self.fn, self.outtype, False, self.ndim_added, self.native_name)
            return on_vectors.make_node(r, shape, *args)
        if not isinstance(r.type, RandomStateType):
            raise TypeError(f"{self} draws from a numpy.random.RandomState, got {r} of type {r.type}")
        size, _ = size_vector(shape)
        return Apply(self, [r, size, *map(as_tensor_variable, args)], [r.type(), self.outtype()])

    def overwriting(self, pairs):
        return RandomFunction(self.fn, self.outtype, bool(pairs), self.ndim_added, self.native_name)

    def infer_shape(self, node, input_shapes):
        size = node.inputs[1]
        if self.ndim_added or isinstance(size, Constant) and len(size.data) == 0:
            raise MethodNotDefined("the shape follows from the arguments, or is not known")
        return [None, sample_shape(size, node.outputs[1].type.ndim)]

    def perform(self, node, inputs, output_storage, params=None):
        state, size, *arguments = inputs
        if not self.inplace:
            state = twin_of(state)
        output_storage[0][0], output_storage[1][0] = state, self._drawn(state, size, arguments)

    def _drawn(self, state, size, arguments):
        """A sample of a ``RandomState``, which advances."""
        wanted = tuple(size.tolist()) if len(size) else None       # without a size, NumPy chooses
        if wanted is not None and self.outtype.ndim != len(wanted) + self.ndim_added:
            raise ValueError(f"Shape mismatch: self.outtype.ndim ({self.outtype.ndim}) != len(shape) ({len(wanted)}) + "
                             f"self.ndim_added ({self.ndim_added})")
        sample = numpy.asarray(self.exec_fn(state, *arguments, wanted)).astype(self.outtype.dtype, copy=False)
        return self._checked(sample, wanted)

    def _checked(self, sample, wanted):
        """The sample, or ``ValueError`` if it does not have the declared shape."""
        ndim = self.outtype.ndim
        if wanted is None and sample.ndim == 0 and ndim:
            sample = sample.reshape((1,) * ndim)
        if sample.ndim != ndim:
            raise ValueError(f'Shape mismatch: "out" should have dimension {ndim}, but the value produced by "perform" '
                             f"has dimension {sample.ndim}")
        if wanted is not None and sample.shape[:ndim - self.ndim_added] != wanted:
            raise ValueError(f'Shape mismatch: "out" should have a shape starting with {wanted} (plus '
                             f'{self.ndim_added} extra dimensions), but the value produced by "perform" has shape '
                             f"{sample.shape}")
        return sample

    def grad(self, inputs, output_grads):
        return [grad_undefined(self, position, variable, "No gradient defined through raw random numbers op")
                for position, variable in enumerate(inputs)]

    def R_op(self, inputs, eval_points):
        return [None, None]


class VectorRandomFunction(RandomFunction):
    """RandomFunction on a state that is a vector of uint64.

    It is native if ``NATIVE_DRAWS`` has the distribution; otherwise a ``RandomState`` is made from the vector.

    Parameters
    ----------
    fn, outtype, inplace, ndim_added, native_name
        As for `RandomFunction`.
    native : bool
        Whether a kernel draws; the node then has the inputs of the kernel.
    given : str, optional
        The dtype that the last parameter had before it became an input of the kernel.
    """

    __props__ = ("fn", "outtype", "inplace", "ndim_added", "native_name", "native", "given")
    cannot_fail = True                      # the kernel; no other work is done in place

    def __init__(self, fn, outtype, inplace=False, ndim_added=0, native_name=None, native=False, given=None):
        super().__init__(fn, outtype, inplace, ndim_added, native_name)
        self.native, self.given = native, given
        self.can_overwrite = {0: (0,)} if native else {}

    def __str__(self):
        return f"RandomFunction{{{self.native_name or self.exec_fn.__name__}}}"

    def make_node(self, r, shape, *args):
        r, (size, known) = as_tensor_variable(r), size_vector(shape)
        parameters = list(map(as_tensor_variable, args))
        draw = native_draw_of(self.native_name, self.outtype, self.ndim_added, known, parameters)
        given = None
        if draw is not None:
            given = parameters[draw.count - 1].type.dtype if draw.count else None
            parameters = kernel_parameters(draw, parameters)
        op = VectorRandomFunction(self.fn, self.outtype, self.inplace and draw is not None, self.ndim_added,
                                  self.native_name, draw is not None, given)
        return Apply(op, [r, size, *parameters], [r.type(), self.outtype()])

    def overwriting(self, pairs):
        return VectorRandomFunction(self.fn, self.outtype, bool(pairs), self.ndim_added, self.native_name, self.native,
                                    self.given)

    def infer_shape(self, node, input_shapes):
        if not (self.native and self.ndim_added):
            return [(STATE_WORDS,), *super().infer_shape(node, input_shapes)[1:]]
        last = node.inputs[2] if self.native_name == "permutation" else input_shapes[-1][-1]
        return [(STATE_WORDS,), (*sample_shape(node.inputs[1], self.outtype.ndim - self.ndim_added), last)]

    def make_kernel(self, node):
        return native_kernel(self.native_name, self.given) if self.native else None

    def perform(self, node, inputs, output_storage, params=None):
        if self.native:
            return Op.perform(self, node, inputs, output_storage)
        words, size, *arguments = inputs
        state = random_state_of(words)
        sample = self._drawn(state, size, arguments)
        output_storage[0][0], output_storage[1][0] = words_of_random_state(state), sample


# ---- states of computed seeds ----------------------------------------------------------------------------------------
def seeded(seed):
    """The ``RandomState`` from which the seeds of streams are drawn."""
    try:
        return numpy.random.RandomState(seed)
    except (TypeError, ValueError) as error:
        raise type(error)(f"a seed is an integer from 0 to 2**32 - 1, a sequence of them, or None, not {seed!r}") \
            from None


def seeds_of_streams(source):
    """The seeds of the states of streams, one after the other."""
    while True:
        yield int(source.randint(2 ** 30))


class SeededState(Op):
    """The state of a random variable of RandomStreams, as a vector of uint64, for a seed that is computed.

    The input is the seed of the streams: an integer, or a vector of integers.

    Parameters
    ----------
    position : int
        How many variables of the streams were made before this one.
    """

    __props__ = ("position",)
    depends_on = ()

    def __init__(self, position):
        self.position = position

    def make_node(self, seed):
        seed = as_tensor_variable(seed)
        if seed.type.ndim > 1 or seed.type.dtype not in integer_dtypes:
            raise TypeError(f"a seed is an integer from 0 to 2**32 - 1, or a vector of them, not {seed} of type "
                            f"{seed.type}")
        return Apply(self, [seed], [STATE_TYPE()])

    def perform(self, node, inputs, output_storage, params=None):
        seeds = seeds_of_streams(seeded(inputs[0].tolist()))
        own = next(islice(seeds, self.position, None))
        output_storage[0][0] = words_of_random_state(numpy.random.RandomState(own))

    def infer_shape(self, node, input_shapes):
        return [(STATE_WORDS,)]

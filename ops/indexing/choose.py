"""``choose``: selects each element from one of several tensors, by the number of the tensor."""
from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.ops.creation.allocation import arange
from phintys.ops.elementwise.elementwise import sum_broadcast
from phintys.ops.elementwise.elementwise_functions import clip, maximum
from phintys.ops.elementwise.scalar import as_dtype, eq, switch
from phintys.ops.indexing.choose_kernel import ChooseKernel
from phintys.ops.shape.dimshuffle import dimshuffle, shape_padleft
from phintys.ops.shape.reshape import reshape
from phintys.ops.shape.shape import patternbroadcast, shape_i
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import discrete_dtypes, upcast
from phintys.ops.types.tensor_type import TensorType

MODES = ("raise", "wrap", "clip")


class Choose(Op):
    """Element ``i`` of the result is element ``i`` of choice number ``a[i]``. The inputs are a and the choices.

    Parameters
    ----------
    mode : {'raise', 'wrap', 'clip'}
        The treatment of numbers out of range: an error, the remainder modulo the number of choices, or the first or
        last choice.
    listed : bool
        Whether each choice is an input; otherwise there is one input, whose slices along the first dimension are the
        choices. Applying the op to a list of choices makes a node of an op with ``listed=True``.

    Examples
    --------
    >>> T.Choose("raise")(T.as_tensor([1, 0]), T.as_tensor([[1, 2], [10, 20]])).eval()
    array([10,  2])
    """

    __props__ = ("mode", "listed")
    runs_alone = True
    linear_in = slice(1, None)
    depends_on = slice(1, None)

    def __init__(self, mode, listed=False):
        if mode not in MODES:
            raise ValueError(f"Choose: mode must be one of {', '.join(MODES)}, not {mode!r}")
        self.mode, self.listed = mode, listed

    def make_node(self, a, *choices):
        if len(choices) == 1 and isinstance(choices[0], (list, tuple)):
            return Choose(self.mode, True).make_node(a, *choices[0])
        a, choices = as_tensor_variable(a), [as_tensor_variable(choice) for choice in choices]
        if a.type.dtype not in discrete_dtypes:
            raise TypeError(f"choose first argument must have an [u]int* dtype. Got {a.type.dtype}.")
        if not choices or (not self.listed and choices[0].type.ndim == 0):
            raise ValueError(f"choose needs at least one choice, got {choices}")
        ranks = [choice.type.ndim - (not self.listed) for choice in choices]
        rank = max([a.type.ndim, *ranks])
        a = shape_padleft(a, rank - a.type.ndim)
        choices = [self._padded(choice, rank - own) for choice, own in zip(choices, ranks)]
        dtype = upcast(*[choice.type.dtype for choice in choices])
        choices = [as_dtype(choice, dtype) for choice in choices]
        patterns = [a.type.broadcastable, *[choice.type.broadcastable[not self.listed:] for choice in choices]]
        return Apply(self, [a, *choices], [TensorType(dtype, [all(flags) for flags in zip(*patterns)])()])

    def _padded(self, choice, missing):
        """A choice, or a tensor of choices, with leading dimensions of length 1 added to each choice."""
        if self.listed:
            return shape_padleft(choice, missing)
        return dimshuffle(choice, [0, *["x"] * missing, *range(1, choice.type.ndim)])

    def make_kernel(self, node):
        return ChooseKernel(node.inputs[0].type.dtype, self.mode, self.listed, len(node.inputs) - 1)

    def _patterns(self, node):
        """Which dimensions of the numbers and of each choice are declared to have length 1."""
        a, *choices = [x.type.broadcastable for x in node.inputs]
        return [a, *[flags[not self.listed:] for flags in choices]]

    def infer_shape(self, node, input_shapes):
        shapes = [input_shapes[0], *[shape[not self.listed:] for shape in input_shapes[1:]]]
        return [tuple([self._broadcast([length for flag, length in zip(flags, lengths) if not flag] or [1])
                       for flags, lengths in zip(zip(*self._patterns(node)), zip(*shapes))])]

    @staticmethod
    def _broadcast(lengths):
        """The first of the lengths that is not 1, or 1."""
        found, *others = lengths
        for length in others:
            found = found if length is found else switch(eq(found, 1), length, found)
        return found

    def grad(self, inputs, output_grads):
        a, *choices = inputs
        gz, = output_grads
        if choices[0].type.dtype in discrete_dtypes:
            return [disconnected_type()] + [choice.zeros_like(dtype=config.floatX) for choice in choices]
        zero = constant(0, dtype=gz.type.dtype)
        if self.listed:
            number = self._in_range(a, len(choices))
            parts = [switch(eq(number, position), gz, zero) for position in range(len(choices))]
            return [disconnected_type()] + [
                self._summed(part, choice) for part, choice in zip(parts, choices)]
        count = shape_i(choices[0], 0)
        positions = dimshuffle(arange(count), [0, *["x"] * a.type.ndim])
        part = switch(eq(dimshuffle(self._in_range(a, count), ["x", *range(a.type.ndim)]), positions),
                      dimshuffle(gz, ["x", *range(gz.type.ndim)]), zero)
        return [disconnected_type(), self._summed(part, choices[0])]

    @staticmethod
    def _summed(part, choice):
        """A gradient of the result's shape, summed where a choice was broadcast, as is known when it runs."""
        part = sum_broadcast(part, choice.type.broadcastable, part.type.broadcastable)
        pairs = [(own, shape_i(part, axis) // maximum(own, 1)) if not part.type.broadcastable[axis] else (1, 1)
                 for axis, own in enumerate([shape_i(choice, axis) for axis in range(choice.type.ndim)])]
        lengths = [length for pair in pairs for length in pair]
        summed = reshape(part, lengths, ndim=len(lengths)).sum(axis=[*range(1, len(lengths), 2)])
        return patternbroadcast(summed, choice.type.broadcastable)

    def _in_range(self, a, count):
        """The numbers of choices, brought into range."""
        a = as_dtype(a, "int64")
        return a if self.mode == "raise" else a % count if self.mode == "wrap" else clip(a, 0, count - 1)


def choose(a, choices, out=None, mode="raise"):
    """Select each element of the result from one of several tensors.

    Parameters
    ----------
    a : tensor-like
        The number of the choice for each element, an integer.
    choices : sequence of tensor-like, or tensor-like
        The tensors to choose from; a single tensor is split into its slices along the first dimension. They are
        broadcast together with ``a``, also where a length turns out to be 1 at run time.
    out : None
        Not supported.
    mode : {'raise', 'wrap', 'clip'}
        The treatment of numbers out of range: an error at run time, the remainder modulo the number of choices, or the
        nearest choice.

    Raises
    ------
    TypeError
        If ``a`` is not of an integer dtype.
    ValueError
        If ``out`` is given, or for another mode; at run time, for a number out of range.

    Examples
    --------
    >>> T.choose([0, 1, 1], T.as_tensor([[1, 2, 3], [10, 20, 30]])).eval()
    array([ 1, 20, 30])
    """
    if out is not None:
        raise ValueError("choose cannot write to out: variables cannot be changed")
    return Choose(mode)(a, choices)

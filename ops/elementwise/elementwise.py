"""Elemwise: a scalar op applied to tensors, element by element, with broadcasting.

Operands of lower rank get broadcastable dimensions on the left. A dimension of the output is broadcastable when it is
broadcastable in all operands; different lengths in a dimension that is not declared broadcastable are a run-time error.
``scalar.py`` defines what each scalar op does to one element; fusion replaces several Elemwise nodes by one Elemwise of
a ``Composite``.
"""
from phintys.graph import hooks
from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.graph.public_names import at_home
from phintys.graph.valueless_types import NullType, disconnected_type, grad_not_implemented
from phintys.graph.variable import Constant, Variable
from phintys.ops.elementwise.complex_derivatives import directions, gradients, real_like, refuses_complex
from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.ops.elementwise.help_text import HelpText, help_text
from phintys.ops.elementwise.masks import NONE
from phintys.ops.elementwise.scalar import add, as_dtype, second, zero_by
from phintys.ops.elementwise.scalar_code import CodeBuilder
from phintys.ops.elementwise.scalar_op import LoopedScalarOp
from phintys.ops.elementwise.scalar_protocol import ScalarOp, numbers_beside_uint64
from phintys.ops.elementwise.step_at_fault import step_at_fault
from phintys.ops.types.constant import AsTensorError, as_tensor_variable, is_padded_constant, padded_constant
from phintys.ops.types.dtypes import complex_dtypes, discrete_dtypes
from phintys.ops.types.tensor_type import known_type

OPTIONAL_OPERANDS = ("switch", "clip")          # NumPy's functions need not be given all three
MOST_KERNELS = 4096             # cached for equal nodes; a limit, because Composites with new constants keep coming
MOST_OVERWRITING = 64           # outputs that may overwrite an input: kernels have one bit for each, see read_later
MOST_SIGNATURES = 4096          # operand types cached by an op

# The gradient with respect to a number written in an expression: no variable exists by which it could be requested.
GRADIENT_BY_NUMBER = NullType("This variable is Null because it is the gradient by a number written in an expression.")

_kernels = {}                   # (options, scalar op, operand dtypes and patterns) → kernel


class Elemwise(Op):
    """Apply a scalar op to tensors.

    Parameters
    ----------
    scalar_op : ScalarOp
    inplace_pattern : dict, optional
        Maps the position of an output to the position of the input whose memory it overwrites.
    name : str, optional
        For printing.
    nfunc_spec, openmp : optional
        Accepted for compatibility with Theano and ignored: scalar ops know their loops, and large arrays are always
        split between worker threads.
    doc : str, optional
        For ``help``.

    Raises
    ------
    TypeError
        If ``scalar_op`` is not a ScalarOp.

    Examples
    --------
    >>> T.Elemwise(phintys.scalar.exp)(T.as_tensor([0.0, 1.0])).eval()
    array([1.        , 2.71828183])
    """

    __doc__ = HelpText(__doc__, lambda op: help_text(op.scalar_op))
    __props__ = ("scalar_op", "inplace_pattern")
    cannot_fail = reads_before_writing = True

    def __new__(cls, scalar_op=None, *arguments, **options):
        # A ScalarOp without loops gets the subclass that calls its impl.
        known = cls is Elemwise and isinstance(scalar_op, ScalarOp)
        return super().__new__(scalar_op.elementwise_class if known else cls)

    def __init__(self, scalar_op, inplace_pattern=None, name=None, nfunc_spec=None, openmp=None, doc=None):
        if not isinstance(scalar_op, ScalarOp):
            raise TypeError(f"Elemwise applies a ScalarOp, not {scalar_op!r}.")
        self.scalar_op = scalar_op
        self.inplace_pattern = dict(inplace_pattern or {})
        self.name = name
        self.nout = scalar_op.nout
        if self.inplace_pattern:
            self.destroy_map = {output: [position] for output, position in self.inplace_pattern.items()}
        if doc is not None:
            self.__doc__ = doc
        self._signatures = {}
        self._variants = {}                             # in-place pattern → this op with it
        self._hash = hash((Elemwise, scalar_op, tuple(sorted(self.inplace_pattern.items()))))

    def __eq__(self, other):
        return self is other or (type(other) is type(self) and self._hash == other._hash
                                 and self.scalar_op == other.scalar_op
                                 and self.inplace_pattern == other.inplace_pattern)

    def __hash__(self):
        return self._hash

    def __reduce__(self):
        return _rebuilt, (self.scalar_op, self.inplace_pattern, self.name)

    def __str__(self):
        if self.name is not None:
            return self.name
        where = str(sorted(self.inplace_pattern.items())) if self.inplace_pattern else ""
        return f"Elemwise{{{self.scalar_op}}}{where}"

    __repr__ = __str__

    # ---- building ----------------------------------------------------------------------------------------
    def __call__(self, *inputs, **options):
        """A node's output; with arguments of NumPy's function, such as ``dtype``, what that function gives."""
        if options and "return_list" not in options:
            return hooks.numpy_protocol().of_elementwise(self, inputs, options)
        try:
            return Op.__call__(self, *inputs, **options)
        except TypeError:
            if self.scalar_op.name not in OPTIONAL_OPERANDS or len([x for x in inputs if x is not None]) >= 3:
                raise
            return hooks.numpy_protocol().of_elementwise(self, inputs, options)

    def _as_method(name):
        def method(self, *inputs, **options):
            return hooks.numpy_protocol().of_elementwise(self, inputs, options, name)
        method.__doc__ = f"``{name}`` of the ufunc of NumPy that computes the same."
        return method

    reduce, accumulate, outer, reduceat = map(_as_method, ("reduce", "accumulate", "outer", "reduceat"))
    del _as_method

    def make_node(self, *inputs):
        """A node on tensors, numbers and arrays.

        Raises
        ------
        TypeError
            If an input cannot be made a tensor, or the scalar op refuses their number or dtypes.
        ValueError
            If an output would overwrite an input that is broadcast.
        """
        given = inputs
        try:
            inputs = [x if isinstance(x, Variable) else as_tensor_variable(x) for x in inputs]
        except AsTensorError as error:
            raise AsTensorError(f"{self.scalar_op}: {error}") from None
        try:
            key = (config.floatX, config.cast_policy, *[x.type.key for x in inputs])
        except AttributeError:                          # a variable of another type
            inputs = [as_tensor_variable(x) for x in inputs]
            key = (config.floatX, config.cast_policy, *[x.type.key for x in inputs])
        signature = self._signatures.get(key)
        if signature is None:
            if len(self._signatures) >= MOST_SIGNATURES:
                self._signatures.clear()
            try:
                signature = self._make_signature([x.type for x in inputs])
            except TypeError:
                given = numbers_beside_uint64(given, [x.type.dtype for x in inputs])
                if given is None:
                    raise
                return self.make_node(*given)
            self._signatures[key] = signature
        narrow, rank, output_types = signature
        if narrow:
            for position in narrow:
                x = inputs[position]
                # A number written in the expression can be padded in place; a variable keeps its identity.
                own = x is not given[position] and isinstance(x, Constant)
                inputs[position] = padded_constant(x, rank) if own else padded_left(x, rank)
        return Apply(self, inputs, [output_type.make_variable() for output_type in output_types])

    def _make_signature(self, types):
        """Which inputs have too low a rank, the common rank, and the types of the outputs."""
        output_dtypes = self.scalar_op.output_dtypes(tuple([type_.dtype for type_ in types]))
        rank = max([type_.ndim for type_ in types])
        narrow = [position for position, type_ in enumerate(types) if type_.ndim < rank]
        patterns = [(True,) * (rank - type_.ndim) + type_.broadcastable for type_ in types]
        shapes = [(1,) * (rank - type_.ndim) + type_.shape for type_ in types]
        pattern = tuple([all(flags) for flags in zip(*patterns)])
        shape = [_common_length(flags, lengths) for flags, lengths in zip(zip(*patterns), zip(*shapes))]
        self._check_inplace(types, patterns, pattern, output_dtypes)
        return narrow, rank, [known_type(dtype, pattern, shape) for dtype in output_dtypes]

    def _check_inplace(self, types, patterns, pattern, output_dtypes):
        for output, position in self.inplace_pattern.items():
            if output >= MOST_OVERWRITING:
                raise ValueError(f"Only the first {MOST_OVERWRITING} outputs can overwrite an input: {self}.")
            if patterns[position] != pattern:
                raise ValueError(f"Operation cannot be done inplace on an input with broadcasted dimensions: {self}, "
                                 f"input {position} of pattern {patterns[position]}.")
            if types[position].dtype != output_dtypes[output]:
                raise TypeError(f"Cannot do an inplace operation on incompatible data types: {self}, input {position} "
                                f"is {types[position].dtype}, output {output} is {output_dtypes[output]}.")

    # ---- overwriting -------------------------------------------------------------------------------------
    def inplace_candidates(self, node):
        """For each output, the inputs of exactly the same type.

        Inputs that a later step of the op reads come last, because a kernel has to copy their elements first."""
        pairs = [(output, position) for output, result in enumerate(node.outputs[:MOST_OVERWRITING])
                 for position, variable in enumerate(node.inputs)
                 if variable.type == result.type and not isinstance(variable, Constant)]
        if len(node.outputs) < 2 or self.scalar_op.steps is None:
            return pairs
        last = {position: number for number, (_, operands) in enumerate(self.scalar_op.steps) for position in operands}
        first = len(self.scalar_op.input_dtypes) + len(self.scalar_op.constants)
        made = [max(slot - first, -1) for slot in self.scalar_op.output_slots]      # by which step each output is made
        return sorted(pairs, key=lambda pair: last.get(pair[1], -1) > made[pair[0]])   # what is read later comes last

    def overwriting(self, pairs):
        """The same scalar op with ``pairs`` as its in-place pattern."""
        if not pairs:
            return self.scalar_op.elementwise
        key = tuple(pairs.items())
        if key not in self._variants:
            self._variants[key] = Elemwise(self.scalar_op, pairs)
        return self._variants[key]

    # ---- running -----------------------------------------------------------------------------------------
    def make_kernel(self, node):
        """The kernel of a node, reading all inputs; equal nodes share one kernel."""
        return self._kernel(node, [None] * len(node.inputs))

    def part_at_fault(self, node, shapes):
        return None if self.scalar_op.steps is None else step_at_fault(self.scalar_op, node, shapes)

    def lower(self, emitter, node):
        """Emit the kernel. Constants of one element become part of it: they are cast once, not at each call."""
        values = [inside_value(x) for x in node.inputs]
        inputs = [x for x, value in zip(node.inputs, values) if value is None]
        if inputs:
            emitter.kernel(self._kernel(node, values), node, inputs)
        else:
            emitter.kernel(self.make_kernel(node), node)

    def _kernel(self, node, values):
        """A kernel that reads the inputs whose value is None."""
        key = (config.math, config.cpu, self.scalar_op, *[x.type.dtype for x in node.outputs],
               *[(x.type.dtype, x.type.broadcastable) if value is None else (x.type.dtype, value.tobytes())
                 for x, value in zip(node.inputs, values)])
        kernel = _kernels.get(key)
        if kernel is None:
            if len(_kernels) >= MOST_KERNELS:
                _kernels.clear()
            kernel = _kernels[key] = self._build_kernel(node, values)
        return kernel

    def _build_kernel(self, node, values):
        inputs = [(x.type.dtype, x.type.broadcastable) for x, value in zip(node.inputs, values) if value is None]
        builder = CodeBuilder([dtype for dtype, _ in inputs])
        read = iter(range(len(inputs)))
        slots = [next(read) if value is None else builder.constant(value, x.type.dtype)
                 for x, value in zip(node.inputs, values)]
        outputs = self.scalar_op.emit(builder, [x.type.dtype for x in node.outputs], slots)
        return ElementwiseKernel(builder.finish(outputs), [pattern for _, pattern in inputs])

    def infer_shape(self, node, input_shapes):
        """For each dimension, the length of the first input not broadcastable there; known lengths are preferred, and
        those that can only be read from an input that is computed come last."""
        shape = []
        for axis, known in enumerate(node.outputs[0].type.shape):
            wide = [position for position, x in enumerate(node.inputs) if not x.type.broadcastable[axis]]
            fixed = [position for position in wide if node.inputs[position].type.shape[axis] is not None]
            inferred = [position for position in wide
                        if not _is_read_from(input_shapes[position][axis], node.inputs[position])]
            position = (fixed or inferred or wide or [0])[0]
            shape.append(input_shapes[position][axis])
        return [tuple(shape)] * len(node.outputs)

    # ---- gradients ---------------------------------------------------------------------------------------
    def connection_pattern(self, node):
        connected = self.scalar_op.connected or (True,) * len(node.inputs)
        return [[flag] * len(node.outputs) for flag in connected]

    def L_op(self, inputs, outputs, output_gradients, wanted=None):
        """Gradients with respect to the inputs, or to those that are ``wanted``: the scalar op's formula, summed where
        an input was broadcast."""
        connected = self.scalar_op.connected or (True,) * len(inputs)
        if any([x.type.dtype in discrete_dtypes for x in outputs]):
            return [zero_by(x) if flag else disconnected_type.make_variable() for x, flag in zip(inputs, connected)]
        terms = gradients(self.scalar_op, inputs, outputs, output_gradients, wanted)
        return [self._summed(position, x, term, None, outputs[0])[0] if wanted is None or wanted[position] else None
                for position, (x, term) in enumerate(zip(inputs, terms))]

    L_op.takes_wanted = True

    @property
    def chooses(self):
        return self.scalar_op.choices is not None

    def masked_L_op(self, inputs, outputs, output_grads, masks):
        """Gradients as if everything had been chosen, and their masks."""
        if len(outputs) > 1 or outputs[0].type.dtype in discrete_dtypes:
            return Op.masked_L_op(self, inputs, outputs, output_grads, masks)
        row, (gradient,), mask = self.scalar_op, output_grads, masks[0]
        if row.choices is not None and not refuses_complex(row, inputs, outputs):
            found = [(None, None) if choice is None else (gradient, (mask or NONE).also(*choice, row.lasts))
                     for choice in row.choices(*inputs, *outputs, gradient)]
        else:
            mask = mask if row.complex_rule == "real_slope" else mask.before_slopes(gradient)
            found = [(term, mask) for term in gradients(row, inputs, outputs, output_grads)]
        terms = [self._summed(position, x, *found[position], outputs[0]) for position, x in enumerate(inputs)]
        return [term for term, _ in terms], [own for _, own in terms]

    def _summed(self, position, x, gradient, mask, output):
        """The gradient with respect to an input, summed where that was broadcast, and its mask."""
        if self.scalar_op.connected is not None and not self.scalar_op.connected[position]:
            return disconnected_type.make_variable(), None
        if is_padded_constant(x):
            return GRADIENT_BY_NUMBER.make_variable(), None
        if gradient is None:
            return zero_by(x) if self.chooses else grad_not_implemented(self, position, x), None
        return summed_with_mask(x, real_like(x, gradient), mask, output)

    def R_op(self, inputs, eval_points):
        """Derivatives along ``eval_points``: each element depends only on its own operands, so the gradient's formula
        gives them.

        The derivatives are of a NullType if there is no formula for an input that has a direction.
        """
        outputs = self(*inputs, return_list=True)
        output = outputs[0]
        if output.type.dtype in discrete_dtypes:
            return [None]
        connected = self.scalar_op.connected or (True,) * len(inputs)
        moved = [(position, second(output, _direction(point, output.type.dtype)))
                 for position, point in enumerate(eval_points) if point is not None and connected[position]]
        if not moved:
            return [None if all([point is None for point in eval_points]) else zero_by(output)]
        terms = directions(self.scalar_op, inputs, outputs, moved)
        for (position, _), term in zip(moved, terms):
            if term is None:
                return [grad_not_implemented(self, position, inputs[position])]
        return [terms[0] if len(terms) == 1 else add(*terms)]


LoopedScalarOp.elementwise_class = Elemwise


@at_home
def _rebuilt(scalar_op, inplace_pattern, name):
    """Unpickle an Elemwise; ops of the table without an in-place pattern are shared."""
    shared = scalar_op.elementwise
    return shared if not inplace_pattern and name == shared.name else Elemwise(scalar_op, inplace_pattern, name)


def _direction(point, dtype):
    """A direction in the dtype of the output, as for gradients; ``complex_derivatives`` treats complex numbers."""
    return point if dtype in complex_dtypes or point.type.dtype in complex_dtypes else as_dtype(point, dtype)


def _is_read_from(length, x):
    """Whether a length can only be read from a variable, which must be computed for it."""
    reader = getattr(length, "owner", None)
    return x.owner is not None and reader is not None and x in reader.inputs


def _common_length(flags, lengths):
    """The length that a dimension has in the output, or None if no input fixes it."""
    known = {length for flag, length in zip(flags, lengths) if not flag and length is not None}
    return known.pop() if len(known) == 1 else None


def padded_left(variable, rank):
    """``variable`` with broadcastable dimensions on the left up to ``rank``."""
    return variable.dimshuffle(*["x"] * (rank - variable.type.ndim), *range(variable.type.ndim))


def sum_broadcast(gradient, pattern, output_pattern):
    """Sum a gradient of the output's shape over the dimensions along which an input of ``pattern`` was broadcast."""
    axes = broadcast_axes(pattern, output_pattern)
    return gradient.sum(axis=axes, keepdims=True) if axes else gradient


def summed_with_mask(x, gradient, mask, output):
    """A gradient with the output's shape, summed where the input was broadcast, and its mask."""
    axes = broadcast_axes(x.type.broadcastable, output.type.broadcastable)
    if axes and mask is not None:
        gradient, mask = mask.summed(gradient, axes)
    return gradient.sum(axis=axes, keepdims=True) if axes else gradient, mask


def broadcast_axes(pattern, output_pattern):
    """The dimensions along which an input of ``pattern`` was broadcast."""
    return [axis for axis, (own, full) in enumerate(zip(pattern, output_pattern)) if own and not full]


def inside_value(variable):
    """The value of a constant of one element, which does not affect the shape of the result; else None."""
    if isinstance(variable, Constant) and all(variable.type.broadcastable):
        return variable.data.reshape(())
    return None

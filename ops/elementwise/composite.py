"""Composite: several scalar ops in one, made by elementwise fusion or from a hand-written graph.

A Composite is a flat list of steps over slots: inputs, then constants, then the result of each step. The dtypes are
fixed when it is made. Because it is not an expression tree, it may have thousands of steps and use a result several
times; two Composites are equal when their lists are equal. The graph that a Composite represents (``fgraph``) is built
on first access. Fusion makes Composites of ops that have loops; a hand-written Composite may contain users' ops, and
then all of it runs as Python (`impl`).
"""
import numpy

from phintys.graph.config import change_flags, config
from phintys.graph.errors import made_at
from phintys.graph.function_graph import FunctionGraph
from phintys.graph.toposort import io_toposort
from phintys.ops.elementwise.composite_assembly import Assembly
from phintys.ops.elementwise.scalar import cast_op
from phintys.ops.elementwise.scalar_op import LoopedScalarOp
from phintys.ops.elementwise.scalar_protocol import ScalarOp
from phintys.ops.types.as_scalar import as_scalar, scalar_constant
from phintys.ops.types.dtypes import DTYPE_NAMES
from phintys.ops.types.scalar_type import get_scalar_type

LONGEST_INLINE_TEXT = 120       # characters; longer parts of a printed Composite get a separate name
MOST_KNOWN = 4096               # Composites of fused nodes: layers and steps of a graph fuse to equal ones

_known = {}                     # what `Composite.of_steps` gets, and the options that dtypes depend on → the Composite


class Composite(LoopedScalarOp):
    """Scalar ops applied one after another.

    Parameters
    ----------
    inputs, outputs : list of Variable
        A graph of scalar ops with one output each, on single numbers; tensors of rank 0 and elementwise ops on them
        are accepted, too. Composites in it are replaced by their steps.

    Attributes
    ----------
    input_dtypes : tuple of str
    constants : tuple of numpy.ndarray
        0-d arrays; their slots follow the inputs' slots.
    steps : tuple of (ScalarOp, tuple of int)
        See `of_steps`.
    output_slots : tuple of int

    Raises
    ------
    TypeError
        If an input is not a single number, or an op refuses the dtypes of its operands.
    ValueError
        If the graph contains other ops, or depends on anything other than ``inputs`` and constants.

    Examples
    --------
    >>> x, y = phintys.scalar.floats("xy")
    >>> op = phintys.scalar.Composite([x, y], [phintys.scalar.exp(x) * y])
    >>> T.Elemwise(op)(T.as_tensor([0.0, 0.0]), T.as_tensor([2.0, 3.0])).eval()
    array([2., 3.])
    """

    def __init__(self, inputs, outputs):
        self._set_steps(*_assembled(inputs, outputs))

    @classmethod
    def of_steps(cls, input_dtypes, steps, outputs, constants=()):
        """Make a Composite from its flat list.

        Parameters
        ----------
        input_dtypes : sequence of str
        steps : sequence of (ScalarOp, sequence of int)
            The op and the slots of its operands; a step's result is the next slot. Ops have one output.
        outputs : sequence of int
            Slots of the results.
        constants : sequence of numpy.ndarray
            0-d arrays.

        Returns
        -------
        Composite

        Raises
        ------
        TypeError
            If an op refuses the dtypes of its operands.
        ValueError
            If a slot does not exist yet where it is used.
        """
        steps = tuple([(scalar_op, tuple(slots)) for scalar_op, slots in steps])
        constants = [numpy.asarray(constant) for constant in constants]
        key = (cls, tuple(input_dtypes), steps, tuple(outputs), config.floatX, config.cast_policy,
               *[(constant.dtype.num, constant.tobytes()) for constant in constants])
        made = _known.get(key)
        if made is None:
            made = cls.__new__(cls)
            made._set_steps(input_dtypes, steps, outputs, constants)
            if len(_known) >= MOST_KNOWN:
                _known.clear()
            _known[key] = made
        return made

    def _set_steps(self, input_dtypes, steps, outputs, constants):
        self.input_dtypes = tuple(input_dtypes)
        self.constants = tuple([numpy.asarray(constant) for constant in constants])
        self.steps = tuple([(scalar_op, tuple(slots)) for scalar_op, slots in steps])
        self.output_slots = tuple(outputs)
        super().__init__("Composite", len(self.input_dtypes), None, None)
        self.nout = len(self.output_slots)
        self.slot_dtypes = self._slot_dtypes()
        self._key = (self.input_dtypes, self.steps, self.output_slots,
                     tuple([constant.tobytes() for constant in self.constants]), self.slot_dtypes)
        self._hash = hash(self._key)
        if not all([isinstance(scalar_op, LoopedScalarOp) for scalar_op, _ in self.steps]):
            self.elementwise_class, self.cannot_fail = ScalarOp.elementwise_class, False
        self._text = self._graph = None

    def _slot_dtypes(self):
        dtypes = [*self.input_dtypes, *[DTYPE_NAMES[constant.dtype.num] for constant in self.constants]]
        for scalar_op, slots in self.steps:
            if slots and (min(slots) < 0 or max(slots) >= len(dtypes)):
                raise ValueError(f"Step {scalar_op} of a Composite reads slots {slots}, but there are only "
                                 f"{len(dtypes)}.")
            dtypes += scalar_op.output_dtypes(tuple([dtypes[slot] for slot in slots]))
        if not all(0 <= slot < len(dtypes) for slot in self.output_slots):
            raise ValueError(f"A Composite has outputs {self.output_slots}, but only {len(dtypes)} slots.")
        return tuple(dtypes)

    def __eq__(self, other):
        return self is other or (type(other) is Composite and self._hash == other._hash and self._key == other._key)

    def __hash__(self):
        return self._hash

    def __reduce__(self):
        return Composite.of_steps, (self.input_dtypes, self.steps, self.output_slots, self.constants)

    @property
    def elementwise(self):
        if self._elementwise is None:
            self._elementwise = self.elementwise_class(self)
        return self._elementwise

    # ---- the graph -------------------------------------------------------------------------------------------
    @property
    def fgraph(self):
        """The computation as a FunctionGraph on single numbers."""
        if self._graph is None:
            inputs = [type_.make_variable() for type_ in self.inputs_type]
            slots = inputs + [scalar_constant(value) for value in self.constants]
            with change_flags(compute_test_value="off"):
                for scalar_op, operands in self.steps:
                    slots.append(scalar_op(*[slots[operand] for operand in operands]))
            self._graph = FunctionGraph(inputs, [slots[slot] for slot in self.output_slots], clone=False)
        return self._graph

    @property
    def inputs(self):
        """The inputs of ``fgraph``."""
        return list(self.fgraph.inputs)

    @property
    def outputs(self):
        """The outputs of ``fgraph``."""
        return list(self.fgraph.outputs)

    @property
    def inputs_type(self):
        """The types of ``inputs``."""
        return tuple([get_scalar_type(dtype) for dtype in self.input_dtypes])

    @property
    def outputs_type(self):
        """The types of ``outputs``."""
        return tuple([get_scalar_type(self.slot_dtypes[slot]) for slot in self.output_slots])

    def make_node(self, *inputs):
        """A node on single numbers; operands of other dtypes get a Composite made for their dtypes.

        Raises
        ------
        TypeError
            If the number of inputs is wrong, or an op refuses the dtypes.
        """
        inputs = [as_scalar(x) for x in inputs]
        dtypes = tuple([x.type.dtype for x in inputs])
        if dtypes == self.input_dtypes or len(dtypes) != self.nin:
            return super().make_node(*inputs)
        return Composite.of_steps(dtypes, self.steps, self.output_slots, self.constants).make_node(*inputs)

    def clone_float32(self):
        """The same computation with float32 wherever this one has float16."""
        wide = {"float16": "float32"}
        steps = [(cast_op("float32") if scalar_op is cast_op("float16") else scalar_op, slots)
                 for scalar_op, slots in self.steps]
        return Composite.of_steps([wide.get(dtype, dtype) for dtype in self.input_dtypes], steps, self.output_slots,
                                  [value.astype(wide.get(value.dtype.name, value.dtype)) for value in self.constants])

    def impl(self, *values):
        """The result for numbers; a tuple of several results."""
        if self.elementwise_class is LoopedScalarOp.elementwise_class:
            return super().impl(*values)
        self.check_count(values)
        slots = list(map(_number, self.slot_dtypes, values)) + [value[()] for value in self.constants]
        for scalar_op, operands in self.steps:
            result = scalar_op.impl(*[slots[operand] for operand in operands])
            slots.append(_number(self.slot_dtypes[len(slots)], result))
        results = tuple([slots[slot] for slot in self.output_slots])
        return results if len(results) > 1 else results[0]

    def missing_method(self):
        """What the first step that lacks something lacks."""
        return next(filter(None, [scalar_op.missing_method() for scalar_op, _ in self.steps]), None)

    # ---- what Elemwise needs -----------------------------------------------------------------------------------
    def output_dtypes(self, dtypes):
        if tuple(dtypes) != self.input_dtypes:
            raise TypeError(f"This Composite is made for operands of dtypes {self.input_dtypes}, got {tuple(dtypes)}.")
        return tuple([self.slot_dtypes[slot] for slot in self.output_slots])

    def emit(self, steps, output_dtypes, slots):
        slots = [*slots, *map(steps.constant, self.constants, self.slot_dtypes[len(self.input_dtypes):])]
        for scalar_op, operands in self.steps:
            slots += scalar_op.emit(steps, (self.slot_dtypes[len(slots)],), [slots[operand] for operand in operands])
        return [slots[output] for output in self.output_slots]

    def L_op(self, inputs, outputs, output_gradients):
        return self.gradients(inputs, outputs, output_gradients)

    def gradients(self, inputs, outputs, output_gradients, wanted=None):
        raise NotImplementedError("Composites are made after gradients; take the gradient of the original graph.")

    def __str__(self):
        """``Composite{((i0 + i1) * i1)}``; long parts and parts used twice are named: ``{(t0 * t0), t0=...}``."""
        if self._text is None:
            self._text = f"Composite{{{', '.join(self._parts())}}}"
        return self._text

    __repr__ = __str__

    def _parts(self):
        texts = [f"i{position}" for position in range(len(self.input_dtypes))]
        texts += [str(constant) for constant in self.constants]
        readers = [0] * len(self.slot_dtypes)
        for slots in [self.output_slots, *[slots for _, slots in self.steps]]:
            for slot in slots:
                readers[slot] += 1
        named = []
        for scalar_op, slots in self.steps:
            text = scalar_op.expression([texts[slot] for slot in slots])
            if readers[len(texts)] > 1 or (len(text) > LONGEST_INLINE_TEXT and len(texts) not in self.output_slots):
                named.append(f"t{len(named)}={text}")
                text = f"t{len(named) - 1}"
            texts.append(text)
        return [texts[slot] for slot in self.output_slots] + named


def _number(dtype, value):
    """A NumPy number of a dtype."""
    return numpy.asarray(value, dtype=dtype)[()]


def _assembled(inputs, outputs):
    """The flat list of a graph on single numbers, as `Composite.of_steps` takes it."""
    for position, variable in enumerate(inputs):
        if getattr(variable.type, "ndim", None) != 0 or inputs.index(variable) != position:
            raise TypeError(f"Input {position} of a Composite must be a single number, different from other inputs; "
                            f"got {variable} of type {variable.type}{made_at(variable)}.")
    assembly = Assembly()
    for variable in inputs:
        assembly.slot(variable)
    for node in io_toposort(inputs, outputs):
        scalar_op = node.op.scalar_op if isinstance(node.op, LoopedScalarOp.elementwise_class) else node.op
        if not isinstance(scalar_op, ScalarOp) or scalar_op.nout > 1 and scalar_op.steps is None:
            raise ValueError(f"The graph of a Composite must be exclusively composed of ScalarOp instances of one "
                             f"output, not of {node.op}{made_at(node)}.")
        assembly.add(node)
    flat = assembly.finish(outputs)
    if len(assembly.inputs) > len(inputs):
        unknown = list(assembly.inputs)[len(inputs)]
        raise ValueError(f"All leaves of a Composite's graph must be its inputs or constants: {unknown}"
                         f"{made_at(unknown)} is neither.")
    return flat

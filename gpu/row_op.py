"""``RowOp``: folds along rows, and elementwise work with what they give, in one kernel of the device.

It has the nodes that it replaces, in order, and a *layout* of each of their variables: for each dimension the axis of
the common rows that it is, or None where its length is 1. The last ``inner`` axes are those along which all folds go.
A variable with all axes is *wide*, one with the others alone *narrow*.
"""
import numpy

from phintys.gpu.device_op import DeviceOp, as_tensor
from phintys.gpu.gpu_array_type import GpuArrayType
from phintys.gpu.kernels.reduction_source import first_of
from phintys.gpu.kernels.rows.rows_kernel import GpuRowsKernel
from phintys.gpu.kernels.rows.rows_source import NARROW, VALUE, WIDE, Operand, Rows, Stage
from phintys.gpu.kernels.scalar_source import computed, literal, step_text
from phintys.graph.apply import Apply
from phintys.ops.elementwise.elementwise_kernel import ElementwiseKernel
from phintys.ops.native.shape_kernel import DimShuffleKernel
from phintys.ops.nnet.softmax_kernel import SoftmaxGradKernel, SoftmaxKernel
from phintys.ops.reduction.reduction_kernel import MeanKernel, ReductionKernel
from phintys.vm.places import WORK_AT_DEVICE

WORK_AT_DEVICE.add(GpuRowsKernel)
SOFTMAX = SoftmaxKernel, SoftmaxGradKernel
REDUCTION = "code", "patterns", "loop", "axes", "accumulator_dtype", "output_dtype", "keepdims", "identity"


class Part:
    """What a node on the device computes, as far as rows can have it.

    Attributes
    ----------
    node : Apply
    inputs : list of Variable
        Those that its kernel reads, in the kernel's order.
    kernel : Kernel
        Of the processor.
    code : ScalarCode or None
        What is computed from elements, and perhaps folded. None: the node makes a view, or is of softmax.
    patterns : sequence of tuple of bool
        Where each input is broadcast.
    folded : tuple of int
        The dimensions along which a fold goes.
    """

    def __init__(self, node, kernel, read):
        self.node, self.kernel, self.inputs = node, kernel, [node.inputs[position] for position in read]
        self.is_view = type(kernel) is DimShuffleKernel
        self.is_fold = type(kernel) in (ReductionKernel, MeanKernel)
        self.code, self.patterns, self.folded = None, [variable.type.broadcastable for variable in self.inputs], ()
        if type(kernel) in SOFTMAX:
            self.is_fold, self.folded = True, (1,)
        elif self.is_fold:
            self.fold = dict(zip(REDUCTION, kernel.arguments)) | (kernel.named_arguments or {})
            self.code, self.patterns, self.folded = self.fold["code"], self.fold["patterns"], tuple(self.fold["axes"])
        elif not self.is_view:
            self.code, self.patterns = kernel.arguments


def part_of(node, kernel, read):
    """The part that a node is, or None."""
    if type(kernel) not in (ElementwiseKernel, ReductionKernel, MeanKernel, DimShuffleKernel, *SOFTMAX):
        return None
    part = Part(node, kernel, read)
    if type(kernel) in SOFTMAX and any([any(pattern) or len(pattern) != 2 for pattern in part.patterns]):
        return None                                 # a bias, or a gradient that is broadcast
    if part.code is not None and (not part.patterns or any([dtype.startswith("complex") for dtype in
                                                            part.code.dtypes])):
        return None
    return part


class Writer:
    """Writes the ``Rows`` of some parts."""

    def __init__(self, rank, inner):
        self.rank, self.inner = rank, inner
        self.names, self.lines, self.stages = {}, {}, []        # lines: of elements, name → (text, what it reads)
        self.dtypes = {}

    def is_wide(self, layout):
        """Whether a value of this layout has an element for each of a row."""
        return any([axis is not None and axis >= self.rank - self.inner for axis in layout])

    def code(self, part, number, wide):
        """Write the steps of a part; returns the names of its slots."""
        names = [self.names[variable] for variable in part.inputs]
        constants, steps = part.code.by_slot()
        texts = {slot: (array.dtype.name, literal(array), ()) for slot, array in constants.items()}
        for slot in range(len(names), len(names) + len(constants) + len(steps)):
            names.append(f"n{number}s{slot}")
            if slot in steps:
                loop, operands, dtypes = steps[slot]
                read = [names[operand] for operand in operands]
                texts[slot] = dtypes[-1], step_text(loop, read, dtypes), read
            dtype, text, read = texts[slot]
            self.line(names[slot], f"const {computed(dtype)} {names[slot]} = {text};", read, wide)
        return names

    def line(self, name, text, read, wide):
        """Write a line: for each element of a row, or once, after the last fold."""
        if wide:
            self.lines[name] = text, tuple(read)
        else:
            self.stages[-1] = self.stages[-1]._replace(after=f"{self.stages[-1].after}\n{text}")

    def needed(self, *names):
        """The lines that compute some names from operands and folds."""
        wanted = set(names)
        for name in reversed(self.lines):
            if name in wanted:
                wanted.update(self.lines[name][1])
        return "\n".join([text for name, (text, _) in self.lines.items() if name in wanted])

    def add(self, part, number, layouts):
        """Write a part, the numberth."""
        if part.is_view:
            self.names[part.node.outputs[0]] = self.names[part.inputs[0]]
        elif part.code is None:
            self.softmax(part, f"n{number}")
        elif part.is_fold:
            self.fold(part, number)
        else:
            names = self.code(part, number, self.is_wide(layouts[part.node.outputs[0]]))
            for variable, slot in zip(part.node.outputs, part.code.outputs):
                self.names[variable] = names[slot]

    def fold(self, part, number):
        """Write a fold: a stage, which ends a pass over the rows."""
        given, (slot,) = part.fold, part.code.outputs
        accumulator, output = numpy.dtype(given["accumulator_dtype"]), given["output_dtype"]
        if accumulator == "float64" and output == "float32":
            accumulator = numpy.dtype("float32")
        known = given.get("identity")
        known = given["loop"].identity if known is None else known
        value, type_, name = self.code(part, number, True)[slot], computed(accumulator.name), f"t{number}"
        first = first_of(given["loop"], accumulator, None if known is None else numpy.array(known).astype(accumulator))
        total = f"({name} / ({type_})count)" if type(part.kernel) is MeanKernel else name
        result = self.names[part.node.outputs[0]] = f"f{number}"
        after = f"const {computed(output)} {result} = {step_text('cast', [total], (accumulator.name, output))};"
        self.stages.append(Stage(
            name, type_, first.replace("Accumulator", type_), step_text(given["loop"], ["a", "b"],
                                                                        (accumulator.name,) * 3),
            self.needed(value), step_text("cast", [value], (part.code.dtypes[slot], accumulator.name)), after))

    def softmax(self, part, name):
        """Softmax, its logarithm or its gradient."""
        names = [self.names[variable] for variable in part.inputs]
        type_ = computed(part.node.outputs[0].type.dtype)
        self.names[part.node.outputs[0]] = name
        if type(part.kernel) is SoftmaxGradKernel:
            gradient, softmax = names
            value, result, after = f"{gradient} * {softmax}", f"({gradient} - {name}sum) * {softmax}", ""
        else:
            given = {"logarithm": False} | dict(zip(("dtype", "logarithm"), part.kernel.arguments)) | (
                part.kernel.named_arguments or {})
            self.stages.append(Stage(f"{name}most", type_, f"({type_})-INFINITY", "fmax(a, b)", self.needed(*names),
                                     names[0]))
            self.line(f"{name}below", f"const {type_} {name}below = {names[0]} - {name}most;", names, True)
            names, value = [f"{name}below"], f"exp({name}below)"
            after = f"const {type_} {name}by = {f'log({name}sum)' if given['logarithm'] else f'1 / {name}sum'};"
            result = f"{name}below - {name}by" if given["logarithm"] else f"exp({name}below) * {name}by"
        self.stages.append(Stage(f"{name}sum", type_, "0", "a + b", self.needed(*names), value, after))
        self.line(name, f"const {type_} {name} = {result};", names, True)

    def rows(self, inputs, outputs):
        """All of it."""
        results = tuple([(operand, self.names[variable]) for operand, variable in outputs])
        wide = [name for operand, name in results if operand.kind == WIDE]
        return Rows(tuple(inputs), tuple(self.stages), self.needed(*wide), results, rank=self.rank, inner=self.inner)


def arguments_of(parts, inputs, outputs, layouts, rank, inner):
    """What a ``GpuRowsKernel`` is made from.

    Raises
    ------
    NoSource
    """
    writer = Writer(rank, inner)
    operands = []
    for number, variable in enumerate(inputs):
        kind = (VALUE if not isinstance(variable.type, GpuArrayType) else
                WIDE if writer.is_wide(layouts[variable]) else NARROW)
        operands.append(Operand(f"i{number}", variable.type.dtype, kind))
        writer.names[variable] = f"i{number}"
    for number, part in enumerate(parts):
        writer.add(part, number, layouts)
    results = [(Operand(f"o{number}", variable.type.dtype, WIDE if writer.is_wide(layouts[variable]) else NARROW),
                variable) for number, variable in enumerate(outputs)]
    axes = tuple([tuple(layouts[variable]) for variable in (*inputs, *outputs)])
    loops = [part.fold["loop"] for part in parts if part.is_fold and part.code and part.fold.get("identity") is None]
    empty = tuple([loop.__name__ for loop in loops if loop.identity is None])
    return writer.rows(operands, results), axes, empty[:1]


class NodesOp(DeviceOp):
    """Nodes on the device as one kernel, which a subclass makes (``make_kernel``).

    Parameters
    ----------
    nodes : sequence of Apply
        In an order in which they can be computed.
    inputs, outputs : sequence of Variable
        What they read from others, and what others read.
    """

    __props__ = ("arguments",)

    def __init__(self, nodes, inputs, outputs):
        self.view_map, self.destroy_map, self.host = {}, {}, frozenset()
        own = {variable: variable.type() for variable in inputs}
        self.nodes = []
        for given in nodes:
            node = Apply(given.op, [own.get(variable, variable) for variable in given.inputs],
                         [variable.type() for variable in given.outputs])
            own.update(zip(given.outputs, node.outputs))
            self.nodes.append(node)
        self.inputs, self.outputs = [own[variable] for variable in inputs], [own[variable] for variable in outputs]

    def make_node(self, *inputs):
        return Apply(self, list(inputs), [variable.type() for variable in self.outputs])

    def lower(self, emitter, node):
        emitter.kernel(self.make_kernel(node), node)

    def _through(self, given, of_constant, step):
        """What the outputs are, if ``step(node, inputs)`` gives it for each node."""
        known = dict(zip(self.inputs, given))
        for node in self.nodes:
            inputs = [known[variable] if variable in known else of_constant(as_tensor(variable).data)
                      for variable in node.inputs]
            known.update(zip(node.outputs, step(node, inputs)))
        return [known[variable] for variable in self.outputs]

    def perform_at_host(self, node, values):
        return self._through(values, lambda data: data, lambda inner, inputs: inner.op.perform_at_host(inner, inputs))

    def infer_shape(self, node, input_shapes):
        return self._through(input_shapes, lambda data: data.shape,
                             lambda inner, shapes: inner.op.infer_shape(inner, shapes))

    def inplace_candidates(self, node):
        return iter(())

    def overwriting(self, pairs):
        return None

    def part_at_fault(self, node, shapes):
        return None


class RowOp(NodesOp):
    """Folds along rows, and what is computed before and after them.

    Parameters
    ----------
    parts : sequence of Part
        In an order in which they can be computed.
    inputs, outputs : sequence of Variable
        What they read from others, and what others read.
    layouts : dict
        Of all variables.
    rank, inner : int
        How many axes there are, and how many of them are those of the folds.

    Raises
    ------
    NoSource
        If there is no kernel for this.
    """

    def __init__(self, parts, inputs, outputs, layouts, rank, inner):
        self.arguments = arguments_of(parts, inputs, outputs, layouts, rank, inner)
        GpuRowsKernel(*self.arguments)
        super().__init__([part.node for part in parts], inputs, outputs)

    def make_kernel(self, node):
        return GpuRowsKernel(*self.arguments)

    def __str__(self):
        return f"GpuRows({', '.join([str(node.op)[3:] for node in self.nodes if node.op.view_map == {}])})"

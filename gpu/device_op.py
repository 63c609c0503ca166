"""``DeviceOp``: any op, computed on the device.

It wraps the op of the host and asks it for everything that does not depend on the place: types, shapes, which input
an output is a view of or overwrites, variants in place. Its kernel is the twin of the op's kernel (``twins.py``). So a
new kernel on the device makes all ops with this kernel run there.
"""
from phintys.gpu.gpu_array_type import DTYPES, GpuArrayType
from phintys.gpu.runtime.compiler import begin
from phintys.gpu.transfers import GpuConstantValue
from phintys.gpu.twins import SEVERAL_RESULTS, Operand, own_kernel, twin_of
from phintys.graph.apply import Apply
from phintys.graph.op import Op, lower_node
from phintys.graph.variable import Constant
from phintys.ops.types.scalar_type import Scalar
from phintys.ops.types.tensor_type import TensorType


class Recorder:
    """In place of the linker's emitter: takes the only kernel that an op emits, and the positions of its inputs."""

    def __init__(self):
        self.kernels = []

    def kernel(self, kernel, node, inputs=None):
        """Note the kernel that an op emits."""
        chosen = node.inputs if inputs is None else inputs
        positions = {}                              # of each variable; one may be an input twice
        for number, variable in reversed(list(enumerate(node.inputs))):
            positions.setdefault(variable, []).append(number)
        self.kernels.append((kernel, [positions[variable].pop() if len(positions[variable]) > 1
                                      else positions[variable][0] for variable in chosen]))

    def __getattr__(self, name):
        raise NotOneKernel(name)


class NotOneKernel(Exception):
    """An op does not emit one kernel."""


def kernel_of(node):
    """The kernel of a node of the host, and the positions of the inputs that it reads; None if it has none. Some that
    have none get one of the device."""
    own = own_kernel(node)
    if own is not None:
        return own, list(range(len(node.inputs)))
    recorder = Recorder()
    try:
        lower_node(recorder, node)
    except NotOneKernel:
        return None
    return recorder.kernels[0] if len(recorder.kernels) == 1 else None


def may_stay(variable):
    """Whether an input of the host can be passed by value: it has one element, for certain, of at most 8 bytes."""
    return all(getattr(variable.type, "broadcastable", ())) and not variable.type.dtype.startswith("complex")


class Placement:
    """How a node of the host runs on the device.

    Attributes
    ----------
    kernel : Kernel
        The host's.
    read : list of int
        The positions of the inputs that the kernel reads; others are constants inside it.
    host : set of int
        The positions of inputs that stay on the host.
    results_at_host : frozenset of int
    """

    def __init__(self, kernel, read, host, twin, results_at_host):
        self.kernel, self.read, self.host, self.twin, self.results_at_host = kernel, read, host, twin, results_at_host

    def op_for(self, op):
        """The op that runs the twin."""
        return DeviceOp(op, self.host, self.results_at_host)


def placement_of(node, at_device, recorded=None):
    """How a node can run on the device, or None.

    Parameters
    ----------
    node : Apply
        Of the host.
    at_device : callable
        Whether an input, a variable of the host, is on the device already.
    recorded : (Kernel, list of int), optional
        The kernel, and the inputs that it reads; by default those that the op lowers to.
    """
    # The op: tensors, of dtypes that the device has, and no branches, which only the host can take.
    if not (all([isinstance(variable.type, (TensorType, Scalar)) for variable in node.inputs])
            and all([isinstance(variable.type, TensorType) for variable in node.outputs])):
        return None
    if node.op.lazy_branches(node) is not None:
        return None
    if not all([variable.type.dtype in DTYPES for variable in node.outputs]):
        return None
    # The kernel: one that has a twin, and that says which inputs it examines.
    recorded = recorded or kernel_of(node)
    row = recorded and twin_of(recorded[0])
    if row is None:
        return None
    kernel, read = recorded
    if kernel.examined is None:
        return None
    # Inputs that stay on the host: those whose values `prepare` reads, unless the twin checks them on the device; those
    # that the kernel does not read; and numbers that the twin takes by value, if they are not on the device already.
    checked = row.checked_at_device(kernel) if callable(row.checked_at_device) else row.checked_at_device
    examined = {read[number] for number in (*kernel.examined, *row.at_host)
                if number < len(read) and number not in checked}
    values = row.by_value(kernel) if callable(row.by_value) else row.by_value
    values = set(read) if values is True else {read[number] for number in values or () if number < len(read)}
    host = {position for position, variable in enumerate(node.inputs) if position in examined or position not in read
            or (position in values and may_stay(variable) and not at_device(variable))}
    # All other inputs must be arrays that can be moved.
    if any([node.inputs[position].type.dtype not in DTYPES or isinstance(node.inputs[position].type, Scalar)
            for position in read if position not in host]):
        return None
    operands = [Operand(type_.dtype, getattr(type_, "broadcastable", ()), position in host)
                for position, type_ in [(position, node.inputs[position].type) for position in read]]
    results = [Operand(variable.type.dtype, variable.type.broadcastable, number in row.results_at_host)
               for number, variable in enumerate(node.outputs)]
    twin = row.make(kernel, operands, results)
    at_host = frozenset([number for number, result in enumerate(results) if result.at_host])
    return None if twin is None else Placement(kernel, read, host, twin, at_host)


class DeviceOp(Op):
    """An op of the host on the device.

    Parameters
    ----------
    op : Op
        The host's.
    host : frozenset of int
        The positions of the inputs that are on the host.
    results_at_host : frozenset of int
        The numbers of the results that are on the host.
    """

    __props__ = ("op", "host", "results_at_host")

    def __init__(self, op, host, results_at_host=()):
        self.op, self.host, self.results_at_host = op, frozenset(host), frozenset(results_at_host)
        self.view_map, self.destroy_map = op.view_map, op.destroy_map
        self.can_overwrite, self.changes_part = op.can_overwrite, op.changes_part
        self.reads_before_writing, self.first_examined = op.reads_before_writing, op.first_examined
        self.destroyhandler_tolerate_same = op.destroyhandler_tolerate_same
        self.destroyhandler_tolerate_aliased = op.destroyhandler_tolerate_aliased

    def make_node(self, *inputs):
        return self.node_for(list(inputs), self.op.make_node(*[as_tensor(variable) for variable in inputs]).outputs)

    def node_for(self, inputs, outputs):
        """The node with these inputs whose outputs have the types, on the device, of those of the host's node."""
        return Apply(self, inputs, [variable.type() if number in self.results_at_host
                                    else GpuArrayType.of(variable.type)() for number, variable in enumerate(outputs)])

    def host_node(self, node):
        """The node that computes the same on the host. Not all ops make it from the inputs alone."""
        return Apply(self.op, [as_tensor(variable) for variable in node.inputs],
                     [getattr(variable.type, "tensor", variable.type)() for variable in node.outputs])

    def lower(self, emitter, node):
        shadow = self.host_node(node)
        placement = self._placement(shadow)
        if getattr(placement.twin, "source", "") and not placement.twin.is_last_resort:
            begin(placement.twin.source)
        emitter.kernel(placement.twin, node, [node.inputs[position] for position in placement.read])

    def _placement(self, shadow, recorded=None):
        number = {variable: position for position, variable in reversed(list(enumerate(shadow.inputs)))}
        return placement_of(shadow, lambda variable: number[variable] not in self.host, recorded)

    def make_kernel(self, node):
        """The twin of the kernel that reads all inputs; a program has one that has constants inside."""
        shadow = self.host_node(node)
        kernel = self.op.make_kernel(shadow)
        if kernel is None:
            return self._placement(shadow).twin
        return self._placement(shadow, (kernel, list(range(len(shadow.inputs))))).twin

    def perform_at_host(self, node, values):
        """What the host computes from values there; DebugMode compares it with the device. None: several results are
        right."""
        shadow = self.host_node(node)
        if type(self.op.make_kernel(shadow)) in SEVERAL_RESULTS:
            return None
        storage = [[None] for _ in shadow.outputs]
        self.op.perform(shadow, values, storage)
        return [cell[0] for cell in storage]

    def infer_shape(self, node, input_shapes):
        return self.op.infer_shape(self.host_node(node), input_shapes)

    def do_constant_folding(self, node):
        return False

    def inplace_candidates(self, node):
        for output, position in self.op.inplace_candidates(self.host_node(node)):
            if position not in self.host and node.inputs[position].type == node.outputs[output].type:
                yield output, position

    def overwriting(self, pairs):
        variant = self.op.overwriting(pairs)
        return None if variant is None else DeviceOp(variant, self.host, self.results_at_host)

    def part_at_fault(self, node, shapes):
        return self.op.part_at_fault(self.host_node(node), shapes)

    def __str__(self):
        return f"Gpu{self.op}"


def as_tensor(variable):
    """A variable of the host with the type that a variable has there; constants and tensors as they are."""
    if isinstance(variable, Constant) or not isinstance(variable.type, GpuArrayType):
        return variable
    if variable.owner is not None and isinstance(variable.owner.op, GpuConstantValue):
        return variable.owner.op.constant           # an op may choose its kernel by the value
    return variable.type.tensor.make_variable()

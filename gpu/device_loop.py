"""Loops of ``scan`` on the device: the inner graph is compiled once more, with values on the device.

Arrays of the loop are on the device: rows of sequences, states, stacked rows, sums and carried values, and wholes.
Numbers stay on the host where they are integers (counters, indices) or come from there; so do conditions and how many
steps there are. The kernel of loops is that of the processor: it moves addresses from step to step, whosever they are.

A loop whose body would have to transfer arrays in each step stays on the host.
"""
from phintys.gpu.device_op import DeviceOp, as_tensor
from phintys.gpu.gpu_array_type import DTYPES, GpuArrayType
from phintys.gpu.transfers import HostFromGpu, gpu_from_host, host_from_gpu
from phintys.graph import hooks
from phintys.graph.apply import Apply
from phintys.graph.config import change_flags, config
from phintys.graph.traversal import clone_get_equiv
from phintys.ops.elementwise.scalar import add
from phintys.ops.loops.loop import Scan
from phintys.ops.loops.native_steps import COMPILED_BY, arguments_of
from phintys.ops.loops.row_lengths import row_lengths
from phintys.ops.types.tensor_type import TensorType
from phintys.vm.loops.loop_kernel import LoopKernel
from phintys.vm.places import WORK_AT_DEVICE

WORK_AT_DEVICE.add(LoopKernel)


class LoopPlacement:
    """How a loop runs on the device; see ``device_op.Placement``.

    Attributes
    ----------
    host : set of int
        The positions of inputs that stay where they are.
    read : list of int
    results : tuple of bool
        Which outputs are on the device.
    """

    results_at_host = ()

    def __init__(self, node, host, results):
        self.host, self.results = host, results
        self.read = list(range(len(node.inputs)))

    def op_for(self, op):
        """The op that runs the loop with its rows on the device."""
        return DeviceLoop(op, self.host, self.results)


def is_array(variable):
    """Whether a value of a loop's body goes to the device: an array, or a real number."""
    type_ = variable.type
    return isinstance(type_, TensorType) and type_.dtype in DTYPES and (
        type_.ndim > 0 or type_.dtype.startswith("float"))


def placement_of_loop(node, at_device):
    """How a loop can run on the device, or None.

    Parameters
    ----------
    node : Apply
        Of a ``Scan``.
    at_device : callable
        Whether an input, a variable of the host, is on the device already.
    """
    op, parts = node.op, node.op.parts
    types = [variable.type for variable in op.local_inputs + op.local_outputs]
    if not all([isinstance(type_, (TensorType, GpuArrayType)) for type_ in types]):
        return None
    given, inner, found = parts.outer_inputs(node.inputs), op.inner_inputs, op.inner_outputs
    numbers = parts.outer_inputs(list(range(len(node.inputs))))
    moved = set()
    for outer, local, number in zip(given.sequences, inner.sequences, numbers.sequences):
        if is_array(local) and (local.type.ndim or at_device(outer)):
            moved.add(number)
    moved.update([number for own, number in zip(inner.states, numbers.states) if is_array(own[0])])
    moved.update([number for term, number in zip(found.summed, numbers.summed) if is_array(term)])
    moved.update([number for local, number in zip(inner.carried, numbers.carried) if is_array(local)])
    for outer, local, number in zip(given.wholes, inner.wholes, numbers.wholes):
        if is_array(local) and (local.type.ndim or at_device(outer)):
            moved.add(number)
    is_there = [number for number, variable in enumerate(node.inputs)
                if isinstance(variable.type, GpuArrayType) or (number in moved and at_device(variable))]
    if not is_there:
        return None
    states = [number in moved for number in numbers.states]
    results = (*states, *[is_array(row) for row in found.stacked], *[number in moved for number in numbers.summed],
               *[number in moved for number in numbers.carried], *([False] if parts.is_while else []))
    placement = LoopPlacement(node, set(range(len(node.inputs))) - moved, results)
    return None if placement.op_for(op).kernel_for() is None else placement


class DeviceLoop(DeviceOp):
    """A loop of the host on the device.

    Parameters
    ----------
    op : Scan
    host : set of int
        The positions of the inputs that stay where they are.
    results : tuple of bool
        Which outputs are on the device.
    """

    __props__ = ("op", "host", "results")

    def __init__(self, op, host, results):
        super().__init__(op, host)
        self.results = tuple(results)

    def node_for(self, inputs, outputs):
        return Apply(self, inputs, [GpuArrayType.of(variable.type)() if there else variable.type()
                                    for variable, there in zip(outputs, self.results)])

    def make_node(self, *inputs):
        return self.node_for(list(inputs), self.op.make_node(*[as_tensor(variable) for variable in inputs]).outputs)

    def inplace_candidates(self, node):
        return ()

    def __str__(self):
        return str(self.op).replace("{cpu,", "{gpu,", 1)

    def lower(self, emitter, node):
        emitter.kernel(self.op._measured(self.kernel_for()), node)

    def make_kernel(self, node):
        return self.kernel_for()

    def kernel_for(self):
        """The kernel, compiled at most once for all programs with the same options; None: the host runs the loop."""
        key = ("device", self.host, self.results, *[getattr(config, name) for name in COMPILED_BY])
        if key not in self.op._kernels:
            with change_flags(allow_gc=self.op.options.allow_gc):
                self.op._kernels[key] = self._compiled()
        return self.op._kernels[key]

    # ---- the inner graph ---------------------------------------------------------------------------------------------
    def _compiled(self):
        op, parts = self.op, self.op.parts
        inner, numbers = op.inner_inputs, parts.outer_inputs(list(range(1 + self._n_outer())))
        there = {local: self._is_there(number)
                 for locals_, positions in ((inner.sequences, numbers.sequences), (inner.carried, numbers.carried),
                                            (inner.wholes, numbers.wholes))
                 for local, number in zip(locals_, positions)}
        there |= {tap: self._is_there(number) for own, number in zip(inner.states, numbers.states) for tap in own}
        there |= {row: is_array(row) for row in inner.ahead}
        sums = [term.type() for term in op.inner_outputs.summed]
        there |= {total: self._is_there(number) for total, number in zip(sums, numbers.summed)}
        found = op.inner_outputs
        totals = [total.type.filter_variable(add(total, term)) for total, term in zip(sums, found.summed)]
        outputs = [*found.states, *found.stacked, *totals, *found.carried]
        condition = [] if found.condition is None else [found.condition]
        inputs = arguments_of(op, sums)
        mutable = set(sums) | set(inner.carried)
        results = [*self.results[:len(outputs)], *[False] * len(condition)]
        function = _function(inputs, [*outputs, *condition], there, results, mutable, str(op), op.kwargs)
        if function is None:
            return None
        ahead = None
        if op.ahead is not None:
            rows, blocks = op.ahead
            outer_rows = dict(zip(rows, [there[local] for local in (*inner.sequences, *inner.wholes)]))
            ahead = _function(rows, blocks, outer_rows, [there[row] for row in inner.ahead], (), f"{op}, ahead",
                              op.kwargs)
            if ahead is None:
                return None
        lengths = row_lengths(op, inputs, {local for local in inputs if there[local]})
        groups = (len(inner.sequences), parts.taps, len(found.stacked), len(sums) + len(inner.carried), parts.is_while)
        return hooks.loop_kernel(function.program, *groups, op.kept, lengths.entries, str(op), op.name, None,
                                 None if ahead is None else ahead.program, lengths.program, op.options.needs_step)

    def _n_outer(self):
        parts, inner = self.op.parts, self.op.inner_inputs
        return (parts.n_sequences + parts.n_states + parts.n_summed + parts.n_carried + parts.n_stacked
                + len(inner.wholes))

    def _is_there(self, number):
        return number not in self.host


def _function(inputs, outputs, there, results, mutable, name, options):
    """Compile a graph with some inputs and outputs on the device; None if it would transfer arrays."""
    made, replaced = [], {}
    for variable in inputs:
        if there[variable]:
            new = GpuArrayType.of(variable.type)()
            replaced[variable] = host_from_gpu(new)
        else:
            new = replaced[variable] = variable.type()
        new.name = variable.name
        made.append(hooks.input(new, mutable=True) if variable in mutable else new)
    memo = clone_get_equiv(inputs, outputs, copy_inputs=False, memo=dict(replaced))
    found = [gpu_from_host(memo[output]) if is_there else memo[output] for output, is_there in zip(outputs, results)]
    function = hooks.function(made, found, on_unused_input="ignore", name=name, profile=False, **options)
    program = getattr(function, "program", None)
    if program is None:
        return None
    transferred = [node for node in function.maker.fgraph.toposort()
                   if isinstance(node.op, HostFromGpu) and node.outputs[0].type.ndim]
    return None if transferred else function


def is_loop(node):
    """Whether an op is a loop."""
    return isinstance(node.op, Scan)

"""Placement: which nodes of a function run on the device, and where values are transferred.

It runs after fusion and before the search for work in place, so the device gets the fused nodes. The rule is that of
Theano's first paper: what has an input or an output on the device runs there, if the device can. A node with an input
there is placed; then, from the results to the inputs, a node of which all readers are placed; then, with more values at
the device, once more from the inputs. Each value is transferred at most once in each direction. What a kernel reads to
find out shapes (lengths, indices, conditions), and numbers that others pass by value, stay on the host.

All of it is linear in the size of the graph; a graph without a value on the device is left alone at once.
"""
import math
import warnings

from phintys.gpu.device_loop import is_loop, placement_of_loop
from phintys.gpu.device_op import DeviceOp, kernel_of, placement_of
from phintys.gpu.gpu_array_type import GpuArrayType
from phintys.gpu.product_fusion import fuse_products
from phintys.gpu.row_fusion import fuse_rows
from phintys.gpu.transfers import GpuFromHost, HostFromGpu, at_device, host_from_gpu
from phintys.graph.config import config
from phintys.graph.variable import Constant
from phintys.ops.identity.equal_lengths import EqualLengths


def uses_device(fgraph):
    """Whether a graph has a value on the device."""
    return any([isinstance(variable.type, GpuArrayType) for node in fgraph.apply_nodes
                for variable in (*node.inputs, *node.outputs)])


def place(fgraph):
    """Move work to the device; return how many nodes."""
    if not uses_device(fgraph):
        return 0
    placer = Placer(fgraph)
    placer.find()
    return placer.move() + fuse_rows(fgraph, placer.kernels) + fuse_products(fgraph)


class Placer:
    """One run over one graph."""

    def __init__(self, fgraph):
        self.fgraph = fgraph
        self.order = fgraph.toposort()
        self.placed = {}                # node of the host → Placement
        self.here = set()               # variables of the host that are, or could be, on the device
        self.twins = {}                 # variable of the host → its variable on the device
        self.results = {}               # variable of the host → its replacement there
        self.kernels = {}               # node of the device → the processor's kernel, and the inputs that this reads

    # ---- which nodes -------------------------------------------------------------------------------------------------
    def find(self):
        """Find what can run on the device, and where its operands are."""
        self._forward()
        if self._backward():
            self._forward()

    def _forward(self):
        for node in self.order:
            if isinstance(node.op, HostFromGpu):
                self.here.add(node.outputs[0])
            elif not isinstance(node.op, (GpuFromHost, DeviceOp)) and (
                    node in self.placed or any([variable in self.here for variable in node.inputs])):
                self._consider(node, needs_input=node not in self.placed)

    def _consider(self, node, needs_input):
        """Place a node, if it can be and an input that it would read on the device is there; it may have been placed
        already, with fewer inputs there."""
        if is_loop(node):
            return self._consider_loop(node)
        placement = placement_of(node, self.here.__contains__)
        if placement is None or not placement.read:
            return False
        moved = [node.inputs[position] for position in placement.read if position not in placement.host]
        if needs_input and not any([variable in self.here for variable in moved]):
            return False
        self._put(node, placement)
        return True

    def _put(self, node, placement):
        self.placed[node] = placement
        self.here.update([variable for number, variable in enumerate(node.outputs)
                          if number not in placement.results_at_host])

    def _consider_loop(self, node):
        """Place a loop, if some of what it reads is on the device; once, as its body is compiled for that."""
        if node in self.placed:
            return True
        placement = placement_of_loop(node, self.here.__contains__)
        if placement is None:
            return False
        self.placed[node] = placement
        self.here.update([variable for variable, there in zip(node.outputs, placement.results) if there])
        return True

    def _backward(self):
        """Place nodes of which all readers are on the device; return whether there are any."""
        found = False
        for node in reversed(self.order):
            if (node in self.placed or isinstance(node.op, (HostFromGpu, GpuFromHost, DeviceOp)) or is_loop(node)
                    or not node.inputs):
                continue
            wanted = {number for number, variable in enumerate(node.outputs) if self._is_wanted(variable)}
            placement = placement_of(node, self.here.__contains__) if wanted else None
            if placement is not None and placement.read and (
                    wanted | placement.results_at_host == set(range(len(node.outputs)))):
                self._put(node, placement)
                found = True
        return found

    def _is_wanted(self, variable):
        """Whether all readers of a variable read it on the device, and it has more than one element."""
        if not getattr(variable.type, "ndim", 0) or all(variable.type.broadcastable):
            return False
        clients = self.fgraph.clients[variable]
        return bool(clients) and all([reader != "output" and (
            isinstance(reader.op, GpuFromHost) or (reader in self.placed and position not in self.placed[reader].host))
            for reader, position in clients])

    # ---- the new nodes -----------------------------------------------------------------------------------------------
    def move(self):
        """Replace a node by the one that runs on the device."""
        replaced = []
        there = {}                      # variable that was transferred → the same, which is computed on the device now
        for node in self.order:
            if isinstance(node.op, HostFromGpu):
                self.twins[node.outputs[0]] = there.get(node.inputs[0], node.inputs[0])
                before = node.inputs[0].owner
                if before is not None and isinstance(before.op, GpuFromHost):   # to the device and back, for the host
                    replaced.append((node.outputs[0], before.inputs[0]))
            elif isinstance(node.op, GpuFromHost):
                if node.inputs[0] in self.twins:
                    there[node.outputs[0]] = self.twins[node.inputs[0]]
                    replaced.append((node.outputs[0], there[node.outputs[0]]))
                elif isinstance(node.inputs[0], Constant):
                    replaced.append((node.outputs[0], at_device(node.inputs[0])))
                else:
                    self.twins[node.inputs[0]] = node.outputs[0]
            elif node in self.placed:
                self._move(node)
            elif isinstance(node.op, EqualLengths) and any(
                    [isinstance(variable.type, GpuArrayType) for variable in node.inputs]):
                replaced.append((node.outputs[0], self._check_of_lengths(node, there)))
        for node in self.placed:
            for variable in node.outputs:
                self._host(variable)
        replaced += self.results.items()
        for old, new in replaced:
            if old in self.fgraph.clients:
                self.fgraph.replace(old, new, reason="placement")
        self._warn()
        return len(self.placed)

    def _move(self, node):
        placement = self.placed[node]
        op = placement.op_for(node.op)
        inputs = [self._host(variable) if position in placement.host else self._device(variable)
                  for position, variable in enumerate(node.inputs)]
        made = op.node_for(inputs, node.outputs)
        made._position = node._position
        if type(op) is DeviceOp:
            self.kernels[made] = placement.kernel, placement.read
        for old, new in zip(node.outputs, made.outputs):
            new.name = old.name
            if not isinstance(new.type, GpuArrayType):
                self.results[old] = new
            else:
                self.twins[old] = new

    def _check_of_lengths(self, node, there):
        """A check that reads a variable of the device itself: it looks at the shapes of others where these are. What it
        passes on stays where it is."""
        host = {*kernel_of(node)[0].examined, *([] if isinstance(node.outputs[0].type, GpuArrayType) else [0])}
        made = node.op.make_node(*[
            variable if position in host else there.get(variable, self.twins.get(variable, variable))
            for position, variable in enumerate(node.inputs)])
        made._position, made.outputs[0].name = node._position, node.outputs[0].name
        return made.outputs[0]

    def _device(self, variable):
        """The variable on the device of one of the host; the transfer is made once."""
        if variable not in self.twins:
            self.twins[variable] = at_device(variable)
        return self.twins[variable]

    def _host(self, variable):
        """What those read that stay on the host: of a value that is computed on the device, its transfer, made once."""
        if variable not in self.results and variable.owner in self.placed and variable in self.twins:
            self.results[variable] = host_from_gpu(self.twins[variable])
            self.results[variable].name = variable.name
        return self.results.get(variable, variable)

    def _warn(self):
        """Say once which nodes run on the host for want of a kernel, and what their transfers cost."""
        what_to_do = config.gpu.warn_host_ops
        lines = [] if what_to_do == "ignore" else list(filter(None, map(self._transfers_for, self.fgraph.toposort())))
        if not lines:
            return
        message = ("the device has no kernels for some ops, which run on the host (config.gpu.warn_host_ops = 'ignore' "
                   "stops this message):\n" + "\n".join(dict.fromkeys(lines)))
        if what_to_do == "raise":
            raise RuntimeError(message)
        warnings.warn(message, stacklevel=2)
        if what_to_do == "pdb":
            import pdb
            pdb.set_trace()

    def _transfers_for(self, node):
        """What a call transfers as a node has no kernel for the device; None if it has one, or nothing is."""
        if isinstance(node.op, (GpuFromHost, HostFromGpu, DeviceOp)):
            return None
        read = [f"{variable.owner.inputs[0]}{size_of(variable)} to the host" for variable in node.inputs
                if variable.owner is not None and isinstance(variable.owner.op, HostFromGpu) and variable.type.ndim]
        has_kernel = is_loop(node) or placement_of(node, self.here.__contains__) is not None
        if has_kernel and not read:
            return None
        written = [] if has_kernel else [
            f"{variable}{size_of(variable)} to the device" for variable in node.outputs
            if getattr(variable.type, "ndim", 0)
            and any([reader != "output" and isinstance(reader.op, GpuFromHost)
                     for reader, _ in self.fgraph.clients[variable]])]
        return f"  {node.op}: transfers {', '.join([*read, *written])}" if read or written else None


def size_of(variable):
    """ " (64 bytes)", or "" if the shape is not known."""
    shape = variable.type.shape
    if None in shape:
        return ""
    return f" ({math.prod(shape) * variable.type.numpy_dtype.itemsize:,} bytes)"

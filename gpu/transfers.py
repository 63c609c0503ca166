"""Ops that move values between host and device, with Theano's names; and ``transfer`` for the targets of this package.

Their gradients are on the host: users see arrays of NumPy unless they ask for others. The optimizer removes what moves
there and back.
"""
from phintys.gpu.gpu_array_type import GpuArrayType
from phintys.gpu.kernels.transfer_kernel import (
    ArrivalKernel,
    ConstantKernel,
    GpuContiguousKernel,
    LateToHostKernel,
    ToDeviceKernel,
    ToHostKernel,
)
from phintys.gpu.runtime.device import DeviceError, number_of, open_device, opened_for
from phintys.graph.apply import Apply
from phintys.graph.gradients.view_op import ViewOp
from phintys.graph.op import Op
from phintys.graph.public_names import at_home
from phintys.graph.variable import Constant, Variable
from phintys.ops.identity.transfer import register_transfer
from phintys.ops.types.constant import as_tensor_variable
from phintys.vm.places import LATE, TRANSFERS, WORK_AT_DEVICE

WORK_AT_DEVICE.update([ToDeviceKernel, ToHostKernel, ConstantKernel, GpuContiguousKernel, LateToHostKernel])
TRANSFERS.update({ToDeviceKernel: "to the device", ToHostKernel: "to the host",
                  LateToHostKernel: "to the host, waited for at the end", ArrivalKernel: "wait for the device"})
LATE[ToHostKernel] = LateToHostKernel, ArrivalKernel


class GpuFromHost(Op):
    """A tensor on the device."""

    __props__ = ()
    is_harmless = True

    def make_node(self, x):
        x = as_tensor_variable(x)
        return Apply(self, [x], [GpuArrayType.of(x.type)()])

    def make_kernel(self, node):
        return ToDeviceKernel()

    def infer_shape(self, node, input_shapes):
        return input_shapes

    def L_op(self, inputs, outputs, output_gradients):
        return [as_tensor_variable(output_gradients[0])]

    def R_op(self, inputs, eval_points):
        return [point if point is None else as_tensor_variable(point) for point in eval_points]

    def do_constant_folding(self, node):
        return False

    def __reduce__(self):
        return unpickled_transfer, ("gpu_from_host",)

    def __str__(self):
        return "GpuFromHost<None>"


class HostFromGpu(Op):
    """A value of the device on the host."""

    __props__ = ()
    is_harmless = True

    def make_node(self, x):
        if not isinstance(x, Variable) or not isinstance(x.type, GpuArrayType):
            raise TypeError(f"HostFromGpu takes a variable on the device, not {x!r}")
        return Apply(self, [x], [x.type.tensor()])

    def make_kernel(self, node):
        return ToHostKernel()

    def infer_shape(self, node, input_shapes):
        return input_shapes

    def L_op(self, inputs, outputs, output_gradients):
        return [output_gradients[0]]

    def R_op(self, inputs, eval_points):
        return [point if point is None else as_tensor_variable(point) for point in eval_points]

    def do_constant_folding(self, node):
        return False

    def __reduce__(self):
        return unpickled_transfer, ("host_from_gpu",)

    def __str__(self):
        return "HostFromGpu(gpuarray)"


class GpuConstantValue(Op):
    """A constant on the device, copied there by the first call.

    Parameters
    ----------
    constant : TensorConstant
    """

    def __init__(self, constant):
        self.constant = constant

    def __eq__(self, other):
        return self is other or (type(self) is type(other) and self.constant.equals(other.constant))

    def __hash__(self):
        return hash((type(self), self.constant.signature()))

    def make_node(self):
        return Apply(self, [], [GpuArrayType.of(self.constant.type)()])

    def make_kernel(self, node):
        return ConstantKernel(self.constant.data)

    def infer_shape(self, node, input_shapes):
        return [tuple([as_tensor_variable(length) for length in self.constant.data.shape])]

    def do_constant_folding(self, node):
        return False

    def __str__(self):
        return f"GpuConstant{{{self.constant}}}"


gpu_from_host = GpuFromHost()
host_from_gpu = HostFromGpu()


@at_home
def unpickled_transfer(name):
    """One of the two ops; without a device, the identity: then types of the device are opened as those of the host."""
    return globals()[name] if opened_for("a part of what is opened") else ViewOp()


def at_device(variable):
    """The variable on the device of a tensor, without a transfer if it comes from there."""
    if isinstance(variable, Constant):
        return GpuConstantValue(variable)()
    return transferred(variable)


def transferred(variable):
    """As `at_device`, in a graph of the user, which a pickle may open without a device."""
    node = variable.owner
    return node.inputs[0] if node is not None and node.op == host_from_gpu else gpu_from_host(variable)


GpuArrayType.to_host = staticmethod(host_from_gpu)
GpuArrayType.from_host = staticmethod(transferred)


def transfer_to_device(variable, target):
    """``variable`` on the device that the target names; None if it names none."""
    number = number_of(target)
    if number is None:
        return None
    try:
        open_device(number)
    except DeviceError as error:
        raise ValueError(f"Can't transfer to target {target}: {error}") from error
    if isinstance(variable.type, GpuArrayType):
        return variable
    return transferred(as_tensor_variable(variable))


register_transfer(transfer_to_device)

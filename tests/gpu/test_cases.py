"""Each case of the table gives the same at the device as at the host, and does run there."""
import cases
import numpy
import pytest
from support_gpu import assert_close, at_device

import phintys
from phintys.gpu.device_op import DeviceOp
from phintys.gpu.transfers import GpuConstantValue, GpuFromHost, HostFromGpu
from phintys.ops.shape.shape import Shape_i

TOLERANCES = {"float16": 4e-3, "float32": 3e-5, "float64": 1e-12}


def compiled(expression, values, target):
    variables = [phintys.shared(value, target=target) for value in values]
    results = expression(*[variable if target == "cpu" else phintys.gpu.host_from_gpu(variable)
                           for variable in variables])
    return phintys.function([], results)


def at_host(function):
    """The nodes that read the elements of arrays at the host although something is at the device."""
    return [node for node in function.maker.fgraph.toposort()
            if not isinstance(node.op, (DeviceOp, GpuFromHost, HostFromGpu, GpuConstantValue, Shape_i))
            and any([getattr(variable.type, "ndim", 0) for variable in node.inputs])]


@pytest.mark.parametrize("case", cases.CASES, ids=[case[0] for case in cases.CASES])
def test_case(device, order, case):
    _, expression, *values = case
    expected = compiled(expression, values, "cpu")()
    with at_device():
        function = compiled(expression, values, "cuda")
    assert not at_host(function), function.explain()
    for _ in range(3):                              # from the third call on, kernels are bound
        found = function()
        pairs = zip(found, expected, strict=True) if isinstance(expected, list) else [(found, expected)]
        for mine, theirs in pairs:
            tolerance = TOLERANCES.get(numpy.asarray(theirs).dtype.name, 0)
            assert_close(mine, theirs, rtol=tolerance, atol=tolerance)

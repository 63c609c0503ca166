"""Arrays of more than 2**32 elements and rows: every grid is one that a device runs.

The stand-in only looks at launches here; its memory is mapped, and nobody touches it. So these tests say nothing about
results, only that no number of blocks is too large, or has lost its upper bits.
"""
import pytest
from support_gpu import at_device

import phintys
import phintys.tensor as T
from phintys.gpu.device_op import DeviceOp
from phintys.gpu.transfers import GpuConstantValue
from phintys.ops.shape.shape import Shape_i
from phintys.tensor import nnet
from phintys.tensor import slinalg as S

MANY = 2 ** 32 + 5


@pytest.fixture
def looks(device):
    if not device.is_stand_in:
        pytest.skip("a real device has no memory for these arrays")
    with at_device(), phintys.change_flags({"gpu.cublas": False, "gpu.cusolver": False}):
        phintys.gpu.trim()
        device.library.stand_in_set_memory(1 << 46)
        device.library.stand_in_only_look(1)
        try:
            yield device
        finally:
            phintys.gpu.trim()
            device.library.stand_in_only_look(0)
            device.library.stand_in_set_memory(8 << 30)


CASES = {
    "elementwise": (lambda x: x * 2 + 1, "int8", (MANY,)),
    "a row": (lambda x: x + x[0], "int8", (MANY, 3)),
    "a column": (lambda x: x + x[:, 0].dimshuffle(0, "x"), "int8", (MANY, 3)),
    "transposed": (lambda x: x + x[:, ::-1].T.reshape(x.shape), "int8", (MANY, 2)),
    "strided": (lambda x: x[:, ::2] * 2, "int8", (MANY, 3)),
    "sum": (lambda x: x.sum(), "int8", (MANY,)),
    "sum of rows": (lambda x: x.sum(1), "int8", (MANY, 3)),
    "sum of columns": (lambda x: x.sum(0), "int8", (3, MANY)),
    "sum of long columns": (lambda x: x.sum(0), "int8", (MANY, 3)),
    "mean of channels": (lambda x: x.mean((0, 2)), "float16", (MANY, 2, 1)),
    "largest of rows": (lambda x: x.max(1), "int8", (MANY, 3)),
    "argmax of rows": (lambda x: x.argmax(1), "int8", (MANY, 3)),
    "argmax of columns": (lambda x: x.argmax(0), "int8", (3, MANY)),
    "argmax": (lambda x: x.argmax(), "int8", (MANY,)),
    "softmax": (lambda x: nnet.softmax(x), "float32", (MANY, 3)),
    "gradient of softmax": (lambda x: T.grad((nnet.softmax(x) ** 2).sum(), x), "float32", (MANY, 3)),
    "log of softmax": (lambda x: nnet.logsoftmax(x), "float32", (MANY, 3)),
    "cross-entropy": (lambda x: nnet.categorical_crossentropy(nnet.softmax(x), x[:, 0].astype("uint8")), "float32",
                      (MANY, 3)),
    "its gradient": (lambda x: T.grad(nnet.categorical_crossentropy(nnet.softmax(x), T.arange(x.shape[0])).mean(), x),
                     "float32", (MANY, 3)),
    "product with a vector": (lambda x: T.dot(x, x[0]), "float32", (MANY, 3)),
    "transposed product": (lambda x: T.dot(x.T, x[:, 0]), "float32", (MANY, 3)),
    "product of matrices": (lambda x: T.dot(x, x[:3, :]), "float32", (MANY, 3)),
    "outer product": (lambda x: T.outer(x, x[:2]), "float32", (MANY,)),
    "batched product": (lambda x: T.batched_dot(x, x), "float32", (MANY, 2, 2)),
    "cumulative sum": (lambda x: T.cumsum(x), "int8", (MANY,)),
    "cumulative sum of rows": (lambda x: T.cumsum(x, 1), "int8", (MANY, 3)),
    "cumulative sum of columns": (lambda x: T.cumsum(x, 0), "int8", (3, MANY)),
    "sort of rows": (lambda x: T.sort(x, 1), "int8", (MANY, 3)),
    "argsort of rows": (lambda x: T.argsort(x, 1, kind="stable"), "int8", (MANY, 3)),
    "joined": (lambda x: T.concatenate([x, x[:5]]), "int8", (MANY,)),
    "reshaped": (lambda x: x.T.reshape((-1,)), "int8", (MANY, 2)),
    "repeated": (lambda x: T.repeat(x, 2), "int8", (MANY,)),
    "rolled": (lambda x: T.roll(x, 3), "int8", (MANY,)),
    "part set": (lambda x: T.set_subtensor(x[::2], 1), "int8", (MANY,)),
    "part added to": (lambda x: T.inc_subtensor(x[:, 1:], x[:, :1]), "int8", (MANY, 2)),
    "rows at positions": (lambda x: x[x[:, 0].astype("int32")], "int8", (MANY, 2)),
    "added at positions": (lambda x: T.inc_subtensor(x[x[:, 0].astype("int32")], x), "float32", (MANY, 2)),
    "one of each row": (lambda x: x[T.arange(x.shape[0]), x[:, 0].astype("int32")], "float32", (MANY, 2)),
    "diagonals": (lambda x: T.diagonal(x, axis1=1, axis2=2) * 2, "int8", (MANY, 2, 2)),
    "lower triangles": (lambda x: T.tril(x), "float32", (MANY, 2)),
    "largest of windows": (lambda x: T.signal.pool.pool_2d(x, (2, 2), ignore_border=True), "float32", (MANY, 1, 2, 2)),
    "convolution": (lambda x: nnet.conv2d(x, x[:1, :, :1, :1]), "float32", (MANY, 1, 2, 2)),
    "Fourier": (lambda x: T.fft.rfft(x), "float32", (MANY, 4)),
    "Cholesky": (lambda x: S.cholesky(x), "float32", (MANY, 2, 2)),
    "solution": (lambda x: T.linalg.solve(x, x), "float32", (MANY, 2, 2)),
    "eigenvalues": (lambda x: T.linalg.eigh(x)[0], "float32", (MANY, 2, 2)),
}


@pytest.mark.parametrize("name", CASES)
def test_grids(looks, name):
    expression, dtype, shape = CASES[name]
    x = phintys.gpu.host_from_gpu(phintys.gpu.gpu_from_host(T.AllocEmpty(dtype)(*[T.lscalar() for _ in shape])))
    lengths = x.owner.inputs[0].owner.inputs[0].owner.inputs
    f = phintys.function(lengths, phintys.Out(phintys.gpu.gpu_from_host(expression(x)), borrow=True))
    nodes = f.maker.fgraph.toposort()
    assert [] == [node for node in nodes if not isinstance(node.op, (DeviceOp, GpuConstantValue, Shape_i)) and any([
        getattr(variable.type, "ndim", 0) for variable in node.inputs])]
    before = looks.counts()["launches"]
    assert f(*shape).size
    phintys.gpu.wait()
    assert looks.counts()["launches"] > before

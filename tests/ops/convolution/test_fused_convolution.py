"""Convolutions with a bias, an activation or another elementwise function in the same kernel: values on all paths of
the kernel, errors, and that derivatives are those of the parts."""
import numpy as np
import pytest
from convolutions import CASES

import phintys
import phintys.tensor as T
from phintys.graph.config import change_flags
from phintys.ops.convolution.convolution import AbstractConv2d, AbstractConv3d
from phintys.ops.convolution.fused_convolution import FusedConvolution


def by_channel(vector, rank=4):
    """A vector with an element for each channel of images."""
    return vector.dimshuffle("x", 0, *["x"] * (rank - 2))


FOLLOWING = {
    "a bias": lambda y, b: y + b,
    "a bias, which is on the left": lambda y, b: b + y,
    "limits alone": lambda y, b: T.nnet.relu(y),
    "a bias and limits": lambda y, b: T.nnet.relu(y + b),
    "both limits": lambda y, b: T.clip(y + b, -0.25, 0.5),
    "a maximum": lambda y, b: T.maximum(y, 0.125),
    "limits that are no constants": lambda y, b: T.maximum(y, b),
    "a function": lambda y, b: T.tanh(y + b),
    "limits after something else": lambda y, b: T.nnet.relu(y * b + 1),
    "a bias that is read again": lambda y, b: (y + b) * T.exp(b),
    "a result that is read again": lambda y, b: T.tanh(y + b) * y,
    "the result twice": lambda y, b: y + y,
    "a bias that is computed": lambda y, b: T.tanh(b * 2 + y),
    "steps before": lambda y, b: T.switch(T.sqrt(abs(b)) > 0.5, T.tanh(y + b), T.exp(y + b)),
    "an integer": lambda y, b: (y > 0) * (y + b),
}
MODES = [phintys.Mode(optimizer="fast_run"), phintys.Mode(optimizer=None)]


def compiled(inputs, output, fused=True):
    """A function in which the convolution is fused, and one in which nothing is."""
    f, plain = [phintys.function(inputs, output, mode=mode, on_unused_input="ignore") for mode in MODES]
    assert any([isinstance(node.op, FusedConvolution) for node in f.maker.fgraph.apply_nodes]) == fused
    return f, plain


@pytest.mark.parametrize("name", FOLLOWING)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_follows(name, dtype):
    """With many small images, whose elements are side by side, with few, and with rows that are written in place."""
    x, w = T.tensor4(dtype=dtype), T.tensor4(dtype=dtype)
    b = T.vector(dtype=dtype)
    f, plain = compiled([x, w, b], FOLLOWING[name](T.nnet.conv2d(x, w), by_channel(b)))
    random = np.random.default_rng(3)
    for images, filters in [((33, 2, 5, 6), (9, 2, 2, 3)), ((2, 3, 7, 7), (3, 3, 3, 3)), ((1, 1, 4, 40), (10, 1, 2, 5)),
                            ((1, 2, 60, 50), (1, 2, 1, 1)), ((2, 0, 4, 4), (3, 0, 2, 2)), ((0, 1, 4, 4), (3, 1, 2, 2))]:
        arrays = [random.normal(size=shape).astype(dtype) for shape in (images, filters, filters[:1])]
        np.testing.assert_array_equal(f(*arrays), plain(*arrays))


@pytest.mark.parametrize("case", [case for case in CASES if not case.parameters.get("unshared")], ids=str)
def test_parameters(case):
    """Steps, borders, groups, volumes."""
    rank = len(case.images)
    op = (AbstractConv2d if rank == 4 else AbstractConv3d)(**case.parameters)
    x, w = [T.TensorType("float64", (False,) * rank)() for _ in range(2)]
    b = T.dvector()
    f, plain = compiled([x, w, b], T.nnet.sigmoid(op(x, w) + by_channel(b, rank)))
    images, filters, *_ = case.values("float64", 0)
    bias = np.linspace(-1, 1, filters.shape[0])
    np.testing.assert_array_equal(f(images, filters, bias), plain(images, filters, bias))


@pytest.mark.parametrize("cpu", ["avx2", "baseline"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_instruction_sets_and_workers(dtype, cpu):
    x, w, b = T.tensor4(dtype=dtype), T.tensor4(dtype=dtype), T.vector(dtype=dtype)
    random = np.random.default_rng(0)
    with change_flags(cpu=cpu, workers=2):
        f, plain = compiled([x, w, b], T.nnet.relu(T.nnet.conv2d(x, w, border_mode="half") + by_channel(b)))
        for images in [(1, 9, 33, 35), (8, 9, 16, 15)]:
            arrays = [random.normal(size=shape).astype(dtype) for shape in (images, (20, 9, 3, 3), (20,))]
            np.testing.assert_array_equal(f(*arrays), plain(*arrays))


def test_nan_and_signs_of_zeros():
    x, w, b = T.dtensor4(), T.dtensor4(), T.dvector()
    f, plain = compiled([x, w, b], T.nnet.relu(T.nnet.conv2d(x, w) + by_channel(b)))
    images = np.array([np.nan, -0.0, 0.0, np.inf, -np.inf, 2.0, -2.0] * 6).reshape(1, 1, 6, 7)
    arrays = images, np.ones((2, 1, 1, 1)), np.array([-0.0, 2.0])
    np.testing.assert_array_equal(f(*arrays), plain(*arrays))
    np.testing.assert_array_equal(np.signbit(f(*arrays)), np.signbit(plain(*arrays)))


def test_a_bias_with_gaps():
    x, w, b = T.dtensor4(), T.dtensor4(), T.dmatrix()
    f, plain = compiled([x, w, b], T.tanh(T.nnet.conv2d(x, w) + by_channel(b[:, 1])))
    random = np.random.default_rng(0)
    arrays = random.normal(size=(2, 1, 5, 5)), random.normal(size=(4, 1, 3, 3)), random.normal(size=(4, 3))[:, ::-1]
    np.testing.assert_array_equal(f(*arrays), plain(*arrays))


@pytest.mark.parametrize("build", [
    lambda x, w, b: T.nnet.conv2d(x, w) + b.dimshuffle("x", "x", 0, "x"),       # another dimension than the channels
    lambda x, w, b: T.nnet.conv2d(x, w) + T.nnet.conv2d(x, 2 * w),              # another result of this shape
    lambda x, w, b: T.nnet.conv2d(x, w).astype("float64") + by_channel(b),      # another dtype
    lambda x, w, b: T.nnet.conv2d(x, w) + T.unbroadcast(by_channel(b), 2),
    lambda x, w, b: T.tanh(T.nnet.conv2d(x, w)).sum(axis=1),                    # a reduction, which is fused
])
def test_what_is_not_fused(build):
    x, w, b = T.ftensor4(), T.ftensor4(), T.fvector()
    compiled([x, w, b], build(x, w, b), fused=False)


def test_a_single_filter_and_a_longer_bias():
    """The sum has more channels than the convolution."""
    x, b = T.dtensor4(), T.dvector()
    w = T.TensorType("float64", (True, False, False, False))()
    f, plain = compiled([x, w, b], T.nnet.conv2d(x, w) + by_channel(b), fused=False)
    arrays = np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2)), np.arange(3.0)
    np.testing.assert_array_equal(f(*arrays), plain(*arrays))
    one = T.TensorType("float64", (True,))()
    f, plain = compiled([x, w, one], T.nnet.conv2d(x, w) + by_channel(one))
    np.testing.assert_array_equal(f(*arrays[:2], np.ones(1)), plain(*arrays[:2], np.ones(1)))


def test_errors_name_the_part():
    x, w, b = T.dtensor4("x"), T.dtensor4("w"), T.dvector("b")
    y = T.nnet.conv2d(x, w)
    z = T.tanh(y + by_channel(b))
    f = phintys.function([x, w, b], z, mode=MODES[0])
    with pytest.raises(ValueError, match=r"\(input\[0\].shape\[1\] = 3, input\[1\].shape\[1\] = 4\)") as error:
        f(np.zeros((1, 2, 5, 5)), np.zeros((3, 2, 3, 3)), np.zeros(4))
    assert "z = T.tanh" in str(error.value)
    with pytest.raises(ValueError, match="the image has 2 channels, but the filters have 1") as error:
        f(np.zeros((1, 2, 5, 5)), np.zeros((3, 1, 3, 3)), np.zeros(3))
    assert "y = T.nnet.conv2d" in str(error.value)


def test_gradients_are_those_of_the_parts():
    x, w, b = T.dtensor4(), T.dtensor4(), T.dvector()
    y = T.tanh(T.nnet.conv2d(x, w) + by_channel(b))
    f, plain = [phintys.function([x, w, b], T.grad((y ** 2).sum(), [x, w, b]), mode=mode) for mode in MODES]
    assert any([isinstance(node.op, FusedConvolution) for node in f.maker.fgraph.apply_nodes])
    random = np.random.default_rng(1)
    arrays = random.normal(size=(2, 3, 6, 6)), random.normal(size=(4, 3, 3, 3)), random.normal(size=4)
    for got, expected in zip(f(*arrays), plain(*arrays)):
        np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)


def test_debug_mode():
    x, w, b = T.dtensor4(), T.dtensor4(), T.dvector()
    for y in (T.nnet.relu(T.nnet.conv2d(x, w) + by_channel(b)), T.tanh(T.nnet.conv2d(x, w)) * by_channel(b)):
        f = phintys.function([x, w, b], y, mode="DebugMode")
        assert f(np.ones((2, 3, 6, 6)), np.ones((4, 3, 3, 3)), np.ones(4)).shape == (2, 4, 4, 4)


def test_wrong_operands():
    x = T.dtensor4()
    with pytest.raises(TypeError, match="must be constant in all dimensions but the second"):
        FusedConvolution(AbstractConv2d(), phintys.scalar.add)(x, x, x)
    with pytest.raises(TypeError, match="would convert the result from float64 to bool"):
        FusedConvolution(AbstractConv2d(), phintys.scalar.gt)(x, x, by_channel(T.dvector()))

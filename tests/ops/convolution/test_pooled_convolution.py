"""Convolutions whose result is pooled in the same kernel: values on all paths of the kernel, which steps follow
pooling, what is not fused, and that less memory is needed."""
import pickle

import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys.graph.config import change_flags
from phintys.ops.convolution.convolution import AbstractConv2d, AbstractConv3d
from phintys.ops.convolution.increasing_steps import are_increasing
from phintys.ops.convolution.pooled_convolution import PooledConvolution
from phintys.ops.pooling.pool import Pool
from phintys.tensor.signal.pool import pool_2d, pool_3d

MODES = [phintys.Mode(optimizer="fast_run"), phintys.Mode(optimizer=None)]

# Sizes, steps, paddings and whether windows that reach beyond the border are left out.
WINDOWS = [((2, 2), None, (0, 0), True), ((2, 2), None, (0, 0), False), ((3, 3), (2, 2), (1, 1), True),
           ((3, 2), (1, 2), (0, 0), False), ((2, 3), (4, 5), (1, 0), True), ((1, 1), (1, 1), (0, 0), True),
           ((4, 5), (3, 2), (3, 4), True)]
POOLING = ("max", "sum", "average_inc_pad", "average_exc_pad")

FOLLOWING = {
    "nothing": lambda y, b: y,
    "a bias and limits": lambda y, b: T.nnet.relu(y + b),
    "an increasing function": lambda y, b: T.tanh(y + b),
    "a function that falls": lambda y, b: T.exp(-y) + b,
    "a function that does both": lambda y, b: y ** 2 * b,
}
# Many small images, whose elements are side by side; few; rows that are written in place, in one strip and in several;
# no channels, and no images.
SHAPES = [((33, 2, 6, 7), (9, 2, 2, 3)), ((2, 3, 9, 8), (3, 3, 3, 3)), ((1, 2, 30, 40), (10, 2, 2, 5)),
          ((1, 1, 70, 140), (5, 1, 3, 3)), ((2, 0, 6, 7), (3, 0, 2, 2)), ((0, 1, 6, 7), (3, 1, 2, 2))]


def by_channel(vector):
    return vector.dimshuffle("x", 0, "x", "x")


def pooled_nodes(f):
    return [node for node in f.maker.fgraph.apply_nodes if isinstance(node.op, PooledConvolution)]


def compiled(inputs, output, fused=True):
    """A function in which pooling is part of the convolution, and one in which nothing is."""
    f, plain = [phintys.function(inputs, output, mode=mode, on_unused_input="ignore") for mode in MODES]
    assert bool(pooled_nodes(f)) == fused
    return f, plain


def check(f, plain, shapes, dtype, seed=3):
    random = np.random.default_rng(seed)
    for images, filters in shapes:
        arrays = [random.normal(size=shape).astype(dtype) for shape in (images, filters, filters[:1])]
        got, expected = f(*arrays), plain(*arrays)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=1e-5 if dtype == "float32" else 1e-13, atol=1e-5)


@pytest.mark.parametrize("mode", POOLING)
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows(window, mode):
    ws, stride, pad, ignore_border = window
    x, w, b = T.ftensor4(), T.ftensor4(), T.fvector()
    y = T.nnet.conv2d(x, w, border_mode="half")
    f, plain = compiled([x, w, b], pool_2d(T.nnet.relu(y + by_channel(b)), ws, ignore_border, stride, pad, mode))
    check(f, plain, SHAPES, "float32")


@pytest.mark.parametrize("mode", ["max", "average_exc_pad"])
@pytest.mark.parametrize("name", FOLLOWING)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_what_is_between_and_after(name, dtype, mode):
    """Elementwise steps before pooling, and after it."""
    x, w, b = T.tensor4(dtype=dtype), T.tensor4(dtype=dtype), T.vector(dtype=dtype)
    y = T.nnet.conv2d(x, w)
    for z in (pool_2d(FOLLOWING[name](y, by_channel(b)), (2, 2), True, mode=mode),
              FOLLOWING[name](pool_2d(y, (3, 2), False, (2, 2), mode=mode), by_channel(b))):
        f, plain = compiled([x, w, b], z)
        check(f, plain, SHAPES, dtype)
        assert len([node for node in f.maker.fgraph.apply_nodes if len(node.outputs[0].type.broadcastable) == 4]) <= 2


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_instruction_sets_and_workers(dtype, cpu):
    x, w, b = T.tensor4(dtype=dtype), T.tensor4(dtype=dtype), T.vector(dtype=dtype)
    with change_flags(cpu=cpu, workers=2):
        y = T.nnet.conv2d(x, w, border_mode="half") + by_channel(b)
        for mode in ("max", "average_inc_pad"):
            f, plain = compiled([x, w, b], pool_2d(y, (2, 2), True, mode=mode))
            check(f, plain, [((1, 9, 33, 35), (20, 9, 3, 3)), ((8, 9, 16, 15), (20, 9, 3, 3))], dtype)


def test_filters_of_one_element():
    """Planes that are together so large that they are copied in parts."""
    x, w, b = T.ftensor4(), T.ftensor4(), T.fvector()
    z = pool_2d(T.nnet.relu(T.nnet.conv2d(x, w) + by_channel(b)), (3, 3), True, (2, 2), (1, 1))
    check(*compiled([x, w, b], z), [((1, 64, 72, 72), (20, 64, 1, 1))], "float32")


def test_groups_steps_and_dilation():
    x, w = T.dtensor4(), T.dtensor4()
    for parameters in ({"num_groups": 2}, {"subsample": (2, 1)}, {"filter_dilation": (1, 2)}, {"border_mode": "full"}):
        z = pool_2d(T.tanh(AbstractConv2d(**parameters)(x, w)), (2, 2), True)
        f, plain = compiled([x, w], z)
        images = np.random.default_rng(0).normal(size=(3, 4, 20, 22))
        filters = np.random.default_rng(1).normal(size=(6, 4 // parameters.get("num_groups", 1), 3, 3))
        np.testing.assert_allclose(f(images, filters), plain(images, filters), rtol=1e-12, atol=1e-12)


def test_nan_is_the_maximum():
    x, w = T.dtensor4(), T.dtensor4()
    f, plain = compiled([x, w], pool_2d(T.nnet.conv2d(x, w), (2, 2), True))
    for images in (1, 40):
        values = np.random.default_rng(0).normal(size=(images, 1, 9, 20))
        values[:, :, 3::4, ::5] = np.nan
        got = f(values, np.ones((1, 1, 1, 1)))
        assert np.isnan(got).any() and not np.isnan(got).all()
        np.testing.assert_array_equal(got, plain(values, np.ones((1, 1, 1, 1))))


def test_a_bias_of_another_length_is_refused():
    x, w, b = T.dtensor4(), T.dtensor4(), T.dvector()
    f, _ = compiled([x, w, b], pool_2d(T.tanh(T.nnet.conv2d(x, w) + by_channel(b)), (2, 2), True))
    with pytest.raises(ValueError, match="Input dimension mis-match"):
        f(np.ones((1, 1, 5, 5)), np.ones((3, 1, 2, 2)), np.ones(4))
    with pytest.raises(ValueError, match="the image has 2 channels, but the filters have 1"):
        f(np.ones((1, 2, 5, 5)), np.ones((3, 1, 2, 2)), np.ones(3))


def test_what_is_not_fused():
    x, w, size = T.dtensor4("x"), T.dtensor4("w"), T.lvector("size")
    y = T.tanh(T.nnet.conv2d(x, w))
    volume = T.dtensor5("volume")
    for inputs, outputs in (
            ([x, w], [pool_2d(y, (2, 2), True), y]),                            # the result is read by others
            ([x, w, size], pool_2d(y, size, True)),                             # windows that are not known
            ([x, w], T.grad(pool_2d(y, (2, 2), True).sum(), w)),                # a gradient reads the result
            ([x, w], pool_2d(y.astype("float32"), (2, 2), True)),               # another dtype
            ([x, w], pool_3d(y, (1, 2, 2), True)),                              # channels are pooled, too
            ([volume], pool_2d(AbstractConv3d()(volume, volume), (2, 2), True))):
        compiled(inputs, outputs, fused=False)


def test_shapes_without_values():
    x, w = T.dtensor4(), T.dtensor4()
    z = pool_2d(T.nnet.conv2d(x, w), (3, 3), False, (2, 2))
    f = phintys.function([x, w], [z.shape, z], mode=MODES[0])
    shape, value = f(np.ones((2, 1, 9, 8)), np.ones((4, 1, 2, 3)))
    assert pooled_nodes(f) and tuple(shape) == value.shape == (2, 4, 4, 3)


def test_less_memory_and_listings():
    x, w, b = T.ftensor4("x"), T.ftensor4("w"), T.fvector("b")
    z = pool_2d(T.tanh(T.nnet.conv2d(x, w) + by_channel(b)), (4, 4), True)
    f, plain = [phintys.function([x, w, b], z, mode=mode) for mode in MODES]
    arrays = [np.ones(shape, "float32") for shape in ((16, 1, 64, 64), (8, 1, 5, 5), (8,))]
    peaks = []
    for function in (f, plain):
        function(*arrays)
        peaks.append(function.memory_report().modes[True].peak)
    assert peaks[0] < peaks[1] / 5
    assert "Pool{max, 4x4}(AbstractConv2d" in str(f.explain())
    copy = pickle.loads(pickle.dumps(f))
    np.testing.assert_array_equal(copy(*arrays), f(*arrays))
    assert pooled_nodes(copy)


def test_debug_mode():
    x, w, b = T.dtensor4(), T.dtensor4(), T.dvector()
    z = pool_2d(T.nnet.relu(T.nnet.conv2d(x, w) + by_channel(b)), (2, 2), True)
    f = phintys.function([x, w, b], z, mode="DebugMode")
    assert f(np.ones((2, 3, 6, 6)), np.ones((4, 3, 3, 3)), np.ones(4)).shape == (2, 4, 2, 2)


@pytest.mark.parametrize("build, expected", [
    (lambda y, b: T.tanh(y + b), True), (lambda y, b: T.nnet.sigmoid(y), True), (lambda y, b: T.nnet.softplus(y), True),
    (lambda y, b: 1.7159 * T.tanh(2 * y / 3), True), (lambda y, b: b - T.exp(-y), True),
    (lambda y, b: T.nnet.hard_sigmoid(y), True), (lambda y, b: T.tanh(y - b) + T.exp(y), True),
    (lambda y, b: T.tanh(-y), False), (lambda y, b: y * b, False), (lambda y, b: abs(y), False),
    (lambda y, b: T.tanh(y) - T.exp(y), False), (lambda y, b: 1 / y, False), (lambda y, b: T.log1p(y), False),
    (lambda y, b: T.switch(y > 0, y, b), False), (lambda y, b: T.maximum(-2 * y, b), False)])
def test_increasing_steps(build, expected):
    """By their steps, and by what they compute."""
    x, w, b = T.dtensor4(), T.dtensor4(), T.dvector()
    f, _ = compiled([x, w, b], pool_2d(build(T.nnet.conv2d(x, w), by_channel(b)), (1, 1), True))
    node, = pooled_nodes(f)
    convolution = node.op.convolution
    code, _, place, *_ = convolution.following(convolution.make_node(*node.inputs))
    assert are_increasing(code, place) == expected
    if expected:
        points = np.linspace(-3, 3, 61).reshape(1, 1, 1, -1)
        assert (np.diff(f(points, np.ones((1, 1, 1, 1)), [0.5])) >= 0).all()


def test_wrong_arguments():
    with pytest.raises(ValueError, match=r"cannot be pooled by .* ws = \(2, 2\), stride = \(2, 2\) and pad = \(2, 0\)"):
        PooledConvolution(AbstractConv2d(), Pool(True), (2, 2), (2, 2), (2, 0))
    volume = T.dtensor5()
    with pytest.raises(TypeError, match="pools images, got"):
        PooledConvolution(AbstractConv3d(), Pool(True), (2, 2), (2, 2), (0, 0))(volume, volume)

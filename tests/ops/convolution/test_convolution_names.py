"""The functions of Theano's namespaces against what Theano 1.0.5 computed, and what programs ask of their ops."""
import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
from convolutions import convolve

import phintys
import phintys.tensor as T
from phintys.tensor.nnet import abstract_conv, conv, conv3d2d
from phintys.tensor.signal import conv as signal_conv

TABLE = json.loads((Path(__file__).parents[2] / "support" / "convolutions_of_theano.json").read_text())
NAMES = {"T": T, "N": T.nnet, "A": abstract_conv, "C": conv, "S": signal_conv, "conv3d2d": conv3d2d}


def numbers(shape, seed):
    """Small whole numbers, so that sums of products are exact."""
    return ((np.arange(np.prod(shape)) * (seed + 3)) % (7 + seed) - 3.0).reshape(shape)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row['call']}-{len(row['inputs'][0])}{len(row['inputs'][-1])}")
def test_functions_as_in_theano(row):
    inputs = [T.TensorType("float64", (False,) * len(shape))() for shape in row["inputs"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        output = eval(row["call"], {**NAMES, **dict(zip("xw", inputs))})
    found = phintys.function(inputs, output)(*[numbers(shape, seed) for seed, shape in enumerate(row["inputs"])])
    weights = np.arange(found.size).reshape(found.shape) % 11 - 4.0
    assert list(found.shape) == row["shape"]
    np.testing.assert_allclose((found * weights).sum(), row["sum"], rtol=1e-9, atol=1e-5)


def test_shapes_are_inferred():
    x, w = T.dtensor4("x"), T.dtensor4("w")
    y = T.nnet.conv2d(x, w, border_mode="half", subsample=(2, 3), filter_dilation=(1, 2))
    by_x, by_w = T.grad(y.sum(), [x, w])
    f = phintys.function([x, w], [y.shape, by_x.shape, by_w.shape])
    assert not [node for node in f.maker.fgraph.toposort() if isinstance(node.op, abstract_conv.BaseAbstractConv)]
    images, filters = np.zeros((2, 3, 9, 10)), np.zeros((4, 3, 2, 3))
    assert [tuple(shape) for shape in f(images, filters)] == [
        convolve(images, filters, border_mode="half", subsample=(2, 3), filter_dilation=(1, 2)).shape, images.shape,
        filters.shape]


def test_known_lengths_are_static():
    x, w = T.tensor4("x"), T.tensor4("w")
    y = T.nnet.conv2d(x, w, (None, 3, 9, 8), (4, 3, 3, 2))
    assert y.type.shape == (None, 4, 7, 7) and y.type.broadcastable == (False,) * 4
    by_x = abstract_conv.conv2d_grad_wrt_inputs(y, w, (2, 3, 9, 8))
    assert by_x.type.shape == (2, 3, 9, 8)
    by_w = abstract_conv.conv2d_grad_wrt_weights(x, y, (None, None, 3, T.lscalar()))
    assert by_w.type.shape == (4, None, 3, None)


@pytest.mark.parametrize("layout", [np.asfortranarray, lambda x: np.flip(np.flip(x).copy()),
                                    lambda x: np.repeat(x, 2, 3)[:, :, :, ::2]])
def test_layouts(layout):
    x, w, g = [T.dtensor4(name) for name in "xwg"]
    y = T.nnet.conv2d(x, w, border_mode=1)
    f = phintys.function([x, w, g], [y, *T.Lop(y, [x, w], g)])
    random = np.random.default_rng(0)
    values = [random.normal(size=shape) for shape in [(2, 3, 6, 7), (4, 3, 3, 2), (2, 4, 6, 8)]]
    for found, expected in zip(f(*[layout(value) for value in values]), f(*values)):
        np.testing.assert_array_equal(found, expected)


def test_debug_mode():
    x, w = T.dtensor4("x"), T.dtensor4("w")
    y = T.nnet.conv2d(x, w, border_mode="half", subsample=(2, 1), num_groups=2)
    f = phintys.function([x, w], [y, *T.grad((y ** 2).sum(), [x, w])], mode="DebugMode")
    random = np.random.default_rng(0)
    assert f(random.normal(size=(2, 4, 5, 6)), random.normal(size=(4, 2, 3, 3)))[0].shape == (2, 4, 3, 6)


def test_several_workers_compute_the_same():
    x, w, g = [T.ftensor4(name) for name in "xwg"]
    y = T.nnet.conv2d(x, w, border_mode=1, num_groups=2)
    random = np.random.default_rng(0)
    for images, channels in ((9, 8), (1, 40)):
        values = [random.normal(size=shape).astype("float32") for shape in
                  [(images, channels, 40, 41), (48, channels // 2, 3, 3), (images, 48, 40, 41)]]
        found = []
        for workers in (1, 3):
            with phintys.change_flags(workers=workers):
                f = phintys.function([x, w, g], [y, *T.Lop(y, [x, w], g)])
            found.append(f(*values))
        for one, several in zip(*found):
            np.testing.assert_array_equal(one, several)


def test_ops_are_values():
    op = abstract_conv.AbstractConv2d(border_mode=(1, (0, 2)), subsample=(2, 1), imshp=(None, 3, 8, 8))
    same = abstract_conv.AbstractConv2d(border_mode=((1, 1), (0, 2)), subsample=[2, 1], imshp=[None, 3, 8, 8])
    assert op == same and hash(op) == hash(same) and pickle.loads(pickle.dumps(op)) == op
    assert op != abstract_conv.AbstractConv2d() and op.border_mode == (1, (0, 2))
    assert abstract_conv.AbstractConv2d(border_mode=0).border_mode == "valid"
    assert op.flops([(2, 3, 8, 8), (4, 3, 3, 3)], [(2, 4, 4, 8)]) == 2 * 2 * 4 * 3 * 9 * 4 * 8
    assert T.nnet.corr.CorrMM(1).pad == ((1, 1), (1, 1)) and T.nnet.corr3d.Corr3dMM("half").pad == ((-1, -1),) * 3
    assert isinstance(op, T.nnet.corr.CorrMM) and isinstance(op, abstract_conv.AbstractConv)


def test_equal_convolutions_are_merged():
    x, w = T.tensor4("x"), T.tensor4("w")
    f = phintys.function([x, w], T.nnet.conv2d(x, w) + T.nnet.conv2d(x, w, border_mode=0),
                         mode=phintys.compile.get_mode("FAST_RUN").excluding("convolution_fusion"))
    assert len([node for node in f.maker.fgraph.toposort() if isinstance(node.op, T.nnet.corr.CorrMM)]) == 1


def test_shapes_of_convolutions():
    assert abstract_conv.get_conv_gradweights_shape((2, 6, 9, 8), (2, 4, 7, 7), "valid", (1, 1), num_groups=2) == (
        4, 3, 3, 2)
    assert abstract_conv.get_conv_gradweights_shape((2, 6, 9, 8), (2, 4, 7, 7), "valid", (1, 1), unshared=True) == (
        4, 7, 7, 6, 3, 2)
    assert abstract_conv.get_conv_gradinputs_shape((4, 3, 3, 2), (2, 4, 7, 7), (1, (0, 2)), (1, 2)) == (2, 3, 7, None)
    assert abstract_conv.border_mode_to_pad("full", 2, (3, 5)) == ((2, 2), (4, 4))
    assert abstract_conv.assert_conv_shape((0, 1, 2, 3)) == (0, 1, 2, 3)
    with pytest.raises(ValueError, match=r"invalid shape \(dim\[2\]: 0 <= 0\)"):
        abstract_conv.assert_conv_shape((0, 1, 0, 3))
    with pytest.raises(ValueError, match="border_mode must be >= 0"):
        abstract_conv.get_conv_shape_1axis(4, 2, -1, 1)


def test_diagonal_subtensors_have_gradients():
    x = np.random.RandomState(0).normal(size=(2, 5, 3))
    T.verify_grad(lambda x: conv3d2d.diagonal_subtensor(x, 1, 2) ** 2, [x], rng=np.random.RandomState(1))
    with pytest.raises(NotImplementedError, match="there is no whole diagonal"):
        conv3d2d.get_diagonal_subtensor_view(x, 0, 1)


def test_volumes_by_channel_last():
    """``conv3D`` of Theano before 1.0 and its gradients, by its definition."""
    random = np.random.RandomState(5)
    v, w, b = random.normal(size=(2, 5, 6, 7, 3)), random.normal(size=(4, 2, 3, 2, 3)), random.normal(size=4)
    V, W, B, H = T.dtensor5(), T.dtensor5(), T.dvector(), T.dtensor5()
    steps = (1, 2, 3)
    y = T.nnet.conv3D(V, W, B, steps)
    expected = np.zeros((2, 4, 2, 2, 4)) + b
    for i, j, k in np.ndindex(2, 3, 2):
        seen = v[:, i:i + 4, j:j + 3:2, k:k + 4:3]
        expected += np.einsum("nxyzc,fc->nxyzf", seen, w[:, i, j, k])
    f = phintys.function([V, W, B, H], [y, *T.grad(None, [V, W], known_grads={y: H}, disconnected_inputs="ignore"),
                                        T.nnet.ConvTransp3D.convTransp3D(W, T.zeros(3), steps, H, (5, 6, 7)),
                                        T.nnet.ConvTransp3D.convTransp3D(W, T.zeros(3), steps, H),
                                        T.nnet.ConvGrad3D.convGrad3D(V, steps, w.shape, H)])
    h = random.normal(size=expected.shape)
    got, by_volumes, by_filters, transposed, least, gradient = f(v, w, b, h)
    np.testing.assert_allclose(got, expected, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(transposed, by_volumes, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(gradient, by_filters, rtol=1e-11, atol=1e-11)
    assert least.shape == (2, 5, 5, 5, 3)
    np.testing.assert_allclose(least, transposed[:, :5, :5, :5], rtol=1e-11, atol=1e-11)
    with pytest.raises(TypeError, match="conv3D: W must have 5 dimensions"):
        T.nnet.Conv3D.conv3D(V, B, B, steps)
    with pytest.raises(ValueError, match="conv3D: the steps d must be three constants"):
        T.nnet.conv3D(V, W, B, T.lvector())


def test_old_names():
    import phintys.sandbox.conv
    assert phintys.sandbox.conv.conv2d is conv.conv2d
    assert issubclass(T.nnet.corr.CorrMM_gradInputs, T.nnet.corr.BaseCorrMM)
    assert issubclass(T.nnet.corr3d.Corr3dMM, T.nnet.corr3d.BaseCorr3dMM)
    assert issubclass(T.nnet.abstract_conv.AbstractConv3d, T.nnet.corr3d.Corr3dMM)      # as if one had become the other

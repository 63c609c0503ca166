"""Wrong parameters and shapes that contradict each other: what is said when, and that nothing is lost."""
import numpy as np
import pytest

import phintys
import phintys.tensor as T
from phintys.graph.config import change_flags
from phintys.tensor.nnet import abstract_conv
from phintys.tensor.nnet.corr import CorrMM, CorrMM_gradInputs, CorrMM_gradWeights

AbstractConv2d, AbstractConv3d = abstract_conv.AbstractConv2d, abstract_conv.AbstractConv3d


@pytest.mark.parametrize("parameters, message", [
    (dict(border_mode="same"), "invalid border_mode 'same'"), (dict(border_mode=-1), "a border cannot be negative"),
    (dict(border_mode=(1, 2, 3)), "must be a tuple of length 2"),
    (dict(border_mode=((1, -2), 0)), "cannot be negative"),
    (dict(border_mode=(1.5, 0)), "only contain integers or pairs"), (dict(border_mode=((1, 2, 3), 0)), "only contain"),
    (dict(subsample=(0, 1)), "subsample must consist of integers that are at least 1"),
    (dict(subsample=2), "subsample should be None or a tuple of 2 integers, got 2"),
    (dict(subsample=(1,)), "subsample must have 2 elements"), (dict(subsample=(1, 1.5)), "subsample must consist"),
    (dict(filter_dilation=(1, 0)), "filter_dilation must consist"), (dict(num_groups=0), "num_groups must be"),
    (dict(imshp=(1, 2, 3)), "input_shape must have 4 elements"), (dict(kshp=(1, 2, -3, 1)), "which are not negative"),
    (dict(imshp=(None, 4, None, None), kshp=(None, 3, None, None)), "the input has 4 channels, but filters for 3"),
    (dict(imshp=(None, 4, None, None), num_groups=3), "4 channels of the input cannot be divided into num_groups=3"),
    (dict(kshp=(4, None, None, None), num_groups=3), "4 filters cannot be divided into num_groups=3"),
])
def test_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        AbstractConv2d(**parameters)


def test_lengths_that_are_no_constants():
    with pytest.raises(ValueError, match="imshp should be None or a tuple of constant int values"):
        AbstractConv2d(imshp=(None, None, T.lscalar(), None))
    for whole in (T.lvector(), T.tensor4().shape, T.constant([3, 5, 7, 11]), 5):
        with pytest.raises(ValueError, match="kshp should be None or a tuple of constant int values"):
            AbstractConv2d(kshp=whole)
    assert AbstractConv2d(imshp=(T.constant(2), np.int32(3), None, 5)).imshp == (2, 3, None, 5)


def test_what_three_dimensions_do_not_have():
    with pytest.raises(NotImplementedError, match="Unshared convolution not implemented for 3D"):
        abstract_conv.AbstractConv(3, unshared=True)
    with pytest.raises(ValueError, match="convolution dimension 4 is not supported"):
        abstract_conv.AbstractConv(4)


@pytest.mark.parametrize("build, message", [
    (lambda: AbstractConv2d()(T.tensor3(), T.tensor4()), "img must be 4D tensor"),
    (lambda: AbstractConv2d()(T.tensor4(), T.tensor3()), "kern must be 4D tensor"),
    (lambda: AbstractConv2d(unshared=True)(T.tensor4(), T.tensor4()), "kern must be 6D tensor for unshared"),
    (lambda: AbstractConv3d()(T.tensor4(), T.tensor4()), "img must be 5D tensor"),
    (lambda: AbstractConv2d()(T.itensor4(), T.itensor4()), "takes tensors of floats"),
    (lambda: AbstractConv2d()(T.ztensor4(), T.dtensor4()), "takes tensors of floats"),
    (lambda: CorrMM_gradWeights()(T.tensor4(), T.tensor4(), T.scalar()), "are a vector of integers"),
])
def test_types(build, message):
    with pytest.raises(TypeError, match=message):
        build()


def test_known_shapes_that_contradict_each_other():
    x = T.TensorType("float64", (False,) * 4, shape=(2, 3, 8, 8))("x")
    with pytest.raises(ValueError, match=r"input_shape is \(None, 4, None, None\), but the input x has the shape"):
        T.nnet.conv2d(x, T.dtensor4(), input_shape=(None, 4, None, None))
    w = T.TensorType("float64", (False,) * 4, shape=(5, 2, 3, 3))("w")
    with pytest.raises(ValueError, match="the input has 3 channels, but filters for 2 channels"):
        T.nnet.conv2d(x, w)
    with pytest.raises(ValueError, match="the result has 2 lengths, but 3 are given"):
        CorrMM_gradInputs()(w, T.dtensor4(), (1, 2, 3))


SHARED = AbstractConv2d(num_groups=2, border_mode=1)


@pytest.mark.parametrize("op, shapes, message", [
    (AbstractConv2d(), [(2, 3, 8, 8), (4, 2, 3, 3)], r"the image has 3 channels, but the filters have 2; got image of "
     r"shape \(2, 3, 8, 8\) and filters of shape \(4, 2, 3, 3\)"),
    (AbstractConv2d(), [(2, 3, 8, 8), (4, 3, 9, 3)], "a filter of 9 elements does not fit into 8 in dimension 2"),
    (AbstractConv2d(filter_dilation=(1, 4)), [(2, 3, 8, 8), (4, 3, 3, 3)], "does not fit into 8 in dimension 3"),
    (AbstractConv2d(), [(2, 3, 0, 8), (4, 3, 1, 1)], "need at least one row and one column"),
    (AbstractConv2d(), [(2, 3, 8, 8), (4, 3, 0, 1)], "need at least one row and one column"),
    (SHARED, [(2, 3, 8, 8), (4, 1, 3, 3)], "3 channels and 4 filters cannot be divided into 2 groups"),
    (SHARED, [(2, 4, 8, 8), (4, 3, 3, 3)], "the image has 4 channels, but the filters have 3 in each group"),
    (AbstractConv2d(imshp=(None, 3, 9, None)), [(2, 3, 8, 8), (4, 3, 3, 3)],
     r"the shape of the image is \(2, 3, 8, 8\), but input_shape says \(None, 3, 9, None\)"),
    (AbstractConv2d(kshp=(None, None, 2, 3)), [(2, 3, 8, 8), (4, 3, 3, 3)], "filter_shape says"),
    (AbstractConv2d(unshared=True), [(2, 3, 8, 8), (4, 5, 6, 3, 3, 3)],
     "6 results in dimension 2, but there are filters for 5"),
    (AbstractConv3d(), [(2, 3, 8, 8, 8), (4, 3, 3, 3, 9)], "does not fit into 8 in dimension 4"),
])
def test_shapes(op, shapes, message):
    inputs = [T.TensorType("float64", (False,) * len(shape))() for shape in shapes]
    with pytest.raises(ValueError, match=message):
        phintys.function(inputs, op(*inputs))(*[np.zeros(shape) for shape in shapes])


@pytest.mark.parametrize("op, shapes, lengths, message", [
    (CorrMM_gradInputs(), [(4, 3, 3, 3), (2, 4, 6, 6)], (9, 8), "would have 7 results in dimension 2, but the output "
     "gradient has 6"),
    (CorrMM_gradInputs(), [(4, 3, 3, 3), (2, 5, 6, 6)], (8, 8), "has 2 images and 5 channels, expected 2 and 4"),
    (CorrMM_gradInputs(), [(4, 3, 3, 3), (2, 4, 6, 6)], (8, 0), "need at least one row and one column"),
    (CorrMM_gradWeights(), [(2, 3, 8, 8), (3, 4, 6, 6)], (3, 3), "has 3 images and 4 channels, expected 2 and 4"),
    (CorrMM_gradWeights(), [(2, 3, 8, 8), (2, 4, 6, 6)], (3, 4), "would have 5 results in dimension 3"),
    (CorrMM_gradWeights(), [(2, 3, 8, 8), (2, 4, 6, 6)], (3,),
     r"the vector of lengths has 1 elements, not 2; .* of lengths \(3,\) "),
])
def test_shapes_of_gradients(op, shapes, lengths, message):
    inputs = [T.dtensor4() for _ in shapes]
    vector = T.lvector()
    f = phintys.function([*inputs, vector], op(*inputs, vector))
    with pytest.raises(ValueError, match=message):
        f(*[np.zeros(shape) for shape in shapes], np.array(lengths))


def test_lengths_that_operands_do_not_determine():
    for op in (CorrMM_gradInputs(subsample=(1, 2)), CorrMM_gradWeights(subsample=(1, 2)),
               CorrMM_gradWeights(border_mode="half")):
        with pytest.raises(ValueError, match="shape must be given if subsample"):
            op(T.tensor4(), T.tensor4())


def test_a_call_that_fails_changes_nothing():
    x, w = T.dtensor4("x"), phintys.shared(np.ones((1, 1, 2, 2)))
    y = T.nnet.conv2d(x, w)
    f = phintys.function([x], y, updates=[(w, w - T.grad(y.sum(), w))])
    with pytest.raises(ValueError, match="channels"):
        f(np.ones((1, 2, 3, 3)))
    np.testing.assert_array_equal(w.get_value(), np.ones((1, 1, 2, 2)))
    assert f(np.ones((1, 1, 3, 3))).shape == (1, 1, 2, 2)
    np.testing.assert_array_equal(w.get_value(), np.full((1, 1, 2, 2), -3))


@change_flags({"conv.assert_shape": True})
def test_shapes_are_asserted_if_wanted():
    x, w = T.dtensor4(), T.dtensor4()
    f = phintys.function([x, w], T.nnet.conv2d(x, w, input_shape=(2, 3, 8, 8), filter_shape=(4, 3, 3, 3)))
    assert f(np.zeros((2, 3, 8, 8)), np.zeros((4, 3, 3, 3))).shape == (2, 4, 6, 6)
    with pytest.raises(AssertionError, match="shape of image does not match given imshp"):
        f(np.zeros((2, 3, 9, 8)), np.zeros((4, 3, 3, 3)))
    with pytest.raises(AssertionError, match="shape of filters does not match given kshp"):
        f(np.zeros((2, 3, 8, 8)), np.zeros((4, 3, 3, 2)))


@pytest.mark.parametrize("call, error, message", [
    (lambda x, w: T.nnet.conv2d(x, w, input_shape=(1, 1, 1, 1), image_shape=(1, 1, 1, 1)), ValueError,
     "should not be provided at the same time"),
    (lambda x, w: T.nnet.conv2d(x, w, imshp_logical=(1, 2)), ValueError, "are not supported"),
    (lambda x, w: T.nnet.conv2d_transpose(x, w, (1, 1, None, 3)), ValueError, r"input_shape\[2\] must be a symbolic"),
    (lambda x, w: T.nnet.conv2d_transpose(x, w, (T.lscalar(), 1, 2, 3)), ValueError, "must be a constant or None"),
    (lambda x, w: T.nnet.conv2d_transpose(x, w, (1, 2, 3)), ValueError, "input_shape has 3 elements, expected 4"),
    (lambda x, w: abstract_conv.conv2d_grad_wrt_weights(x, w, (1, 1, None, 3)), ValueError, r"filter_shape\[2\]"),
    (lambda x, w: abstract_conv.causal_conv1d(x, w, (1, 1, 3)), ValueError, "Input should be 3D"),
    (lambda x, w: abstract_conv.causal_conv1d(x[0], w[0], (1, 1, None)), ValueError, "of which the last"),
    (lambda x, w: abstract_conv.causal_conv1d(x[0], w[0], (1, 1, 0)), ValueError, "filters need at least one element"),
    (lambda x, w: abstract_conv.bilinear_kernel_1D(0), ValueError, "ratio of a bilinear kernel must be at least 1"),
    (lambda x, w: abstract_conv.bilinear_upsampling(x), ValueError, "No ratio"),
    (lambda x, w: abstract_conv.bilinear_upsampling(x, 2, (3, 2)), ValueError, "can't use ratio and frac_ratio"),
    (lambda x, w: abstract_conv.bilinear_upsampling(x, frac_ratio=(3, 2)), ValueError, "use_1D_kernel as False"),
    (lambda x, w: abstract_conv.bilinear_upsampling(x, 0), ValueError, "must be at least 1"),
    (lambda x, w: abstract_conv.frac_bilinear_upsampling(x, (3, 0)), ValueError, "pair of positive integers"),
    (lambda x, w: abstract_conv.frac_bilinear_upsampling(x, 3), ValueError, "must be a tuple"),
    (lambda x, w: T.nnet.ConvOp(imshp=(1, 2, 3, 4)), ValueError, "must be 2 or 3, got 4"),
    (lambda x, w: T.nnet.ConvOp(kshp=(1,)), ValueError, "must be 2, got 1"),
    (lambda x, w: T.nnet.ConvOp(dx=1.5), TypeError, "dx must be an int"),
    (lambda x, w: T.nnet.ConvOp(output_mode="half"), ValueError, "must be 'valid' or 'full'"),
    (lambda x, w: T.nnet.ConvOp(imshp=(1, 2, 2), kshp=(3, 3)), ValueError, "do not fit into images"),
    (lambda x, w: T.nnet.ConvOp()(x, w.astype("float32")), NotImplementedError, "must have the same type"),
    (lambda x, w: T.nnet.conv3d2d.conv3d(T.tensor5(), T.tensor5(), border_mode="same"), ValueError, "invalid border"),
    (lambda x, w: T.nnet.conv3d2d.conv3d(T.tensor5(), T.tensor5(), border_mode=("full", "full", "valid")),
     NotImplementedError, "must match"),
    (lambda x, w: T.signal.conv.conv2d(x, w), AssertionError, "must have 2 or 3 dimensions"),
])
def test_functions(call, error, message):
    with pytest.raises(error, match=message):
        call(T.dtensor4("x"), T.dtensor4("w"))


def test_what_is_old_is_warned_of():
    x, w = T.dtensor4("x"), T.dtensor4("w")
    with pytest.warns(UserWarning, match="has been renamed to `input_shape`"):
        assert T.nnet.conv2d(x, w, image_shape=(2, 1, 3, 3)).owner.op.imshp == (2, 1, 3, 3)
    with pytest.warns(UserWarning, match="will be ignored"):
        T.nnet.conv2d(x, w, unroll_batch=2)
    with pytest.warns(UserWarning, match="deprecated"):
        T.nnet.conv.conv2d(x, w)
    with pytest.warns(UserWarning, match="deprecated"):
        assert T.nnet.ConvOp.getOutputShape((5, 6), (3, 3), (2, 1), "full") == (4, 8)


def test_text_shows_what_is_not_usual():
    assert str(AbstractConv2d()) == "AbstractConv2d"
    assert str(CorrMM("half", (2, 1))) == "CorrMM{border_mode='half', subsample=(2, 1)}"
    assert str(AbstractConv2d(kshp=(1, 2, 3, 4))) == "AbstractConv2d{kshp=(1, 2, 3, 4)}"

"""Derivatives of convolutions and of their gradients: all orders, both directions, for all rows at once."""
import numpy as np
import pytest
from convolutions import case, unshared, zeros_around

import phintys
import phintys.tensor as T
from phintys.gradient import jacobian
from phintys.graph.config import change_flags
from phintys.ops.convolution.convolution import FAMILIES, AbstractConv2d, AbstractConv3d, CorrMM
from phintys.ops.loops.loop import Scan
from phintys.tensor.nnet.abstract_conv import conv2d_grad_wrt_inputs, conv2d_grad_wrt_weights

DERIVED = [case((2, 2, 5, 4), (3, 2, 3, 2)), case((2, 2, 5, 6), (3, 2, 3, 2), border_mode="half", subsample=(2, 1)),
           case((2, 2, 5, 6), (2, 2, 2, 3), border_mode=((1, 0), 2), filter_dilation=(1, 2), filter_flip=False),
           case((2, 4, 4, 4), (4, 2, 3, 3), border_mode="full", num_groups=2, subsample=(3, 2)),
           case((1, 2, 3, 4, 3), (2, 2, 2, 2, 2), border_mode="half"),
           unshared((2, 2, 5, 4), (3, 2, 3, 2), subsample=(2, 1)),
           unshared((2, 2, 4, 4), (2, 1, 3, 2), border_mode=1, num_groups=2)]


def op_of(case):
    return (AbstractConv2d if len(case.images) == 4 else AbstractConv3d)(**case.parameters)


def three_ops(case):
    """The convolution, its gradient by filters and by images, as functions of two tensors, with values for them."""
    rank = len(case.images) - 2
    images, filters, result = case.values()
    op = op_of(case)
    return [(op, [images, filters]), (lambda x, g: op.same(1)(x, g, filters.shape[-rank:]), [images, result]),
            (lambda w, g: op.same(2)(w, g, images.shape[-rank:]), [filters, result])]


@pytest.mark.parametrize("which", range(3), ids=["forward", "by filters", "by images"])
@pytest.mark.parametrize("case", DERIVED, ids=str)
def test_gradients_of_all_three(case, which):
    build, values = three_ops(case)[which]
    T.verify_grad(build, values, rng=np.random.RandomState(3))


@pytest.mark.parametrize("case", DERIVED[:3] + DERIVED[5:6], ids=str)
def test_second_derivatives(case):
    images, filters, _ = case.values()

    def gradients(x, w):
        by_x, by_w = T.grad((op_of(case)(x, w) ** 3).sum(), [x, w])
        return (by_x ** 2).sum() + (by_w ** 2).sum()

    T.verify_grad(gradients, [images / 2, filters / 2], rng=np.random.RandomState(3))


@pytest.mark.parametrize("moving", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("which", range(3), ids=["forward", "by filters", "by images"])
@pytest.mark.parametrize("case", DERIVED, ids=str)
def test_r_operator(case, which, moving):
    build, values = three_ops(case)[which]
    inputs = [T.TensorType("float64", (False,) * value.ndim)() for value in values]
    points = [x.type() for x in inputs]
    output = build(*inputs)
    weight = output.type()
    wrt, directions = [[found[k] for k in moving] for found in (inputs, points)]
    forward = phintys.Rop(output, wrt, directions)
    backward = phintys.Lop(output, wrt, weight)
    f = phintys.function([*inputs, *points, weight], [forward, *backward], on_unused_input="ignore")
    random = np.random.default_rng(2)
    steps = [random.normal(size=value.shape) for value in values]
    shape = phintys.function(inputs, output)(*values).shape
    weights = random.normal(size=shape)
    along, *gradients = f(*values, *steps, weights)
    expected = sum([(gradient * steps[k]).sum() for gradient, k in zip(gradients, moving)])
    np.testing.assert_allclose((weights * along).sum(), expected, rtol=1e-9, atol=1e-9)


def loops_of(f):
    return [node for node in f.maker.fgraph.toposort() if isinstance(node.op, Scan)]


@pytest.mark.parametrize("which", range(3), ids=["forward", "by filters", "by images"])
@pytest.mark.parametrize("case", DERIVED[:5], ids=str)
def test_jacobians_at_once(case, which):
    """By each input; the rows of the identity become images, filters or channels of one convolution."""
    build, values = three_ops(case)[which]
    inputs = [T.TensorType("float64", (False,) * value.ndim)() for value in values]
    output = build(*inputs).flatten()[:5]
    f = phintys.function(inputs, jacobian(output, inputs))
    if "num_groups" not in case.parameters:
        assert loops_of(f) == []
    random = np.random.default_rng(1)
    value = phintys.function(inputs, output)
    for position, by_input in enumerate(f(*values)):
        step = random.normal(size=values[position].shape)
        moved = list(values)
        moved[position] = values[position] + step
        axes = tuple(range(1, by_input.ndim))
        np.testing.assert_allclose((by_input * step).sum(axes), value(*moved) - value(*values), rtol=1e-9, atol=1e-9)


def test_classes_of_gradients():
    x, w = T.tensor4("x"), T.tensor4("w")
    for family in FAMILIES[1:]:
        assert [op.family for op in family] == [family] * 3
    by_x = T.grad(CorrMM(border_mode="half")(x, w).sum(), x)
    ops = [type(node.op).__name__ for node in phintys.graph.toposort.io_toposort([x, w], [by_x])]
    assert "CorrMM_gradInputs" in ops


def test_gradients_keep_dtypes_and_patterns():
    x, w = T.ftensor4("x"), T.TensorType("float32", (True, True, False, False))("w")
    by_x, by_w = T.grad(T.nnet.conv2d(x, w).sum(), [x, w])
    assert by_x.type == x.type and by_w.type == w.type
    f = phintys.function([x, w], [by_x, by_w])
    by_x, by_w = f(np.ones((2, 1, 3, 3), "float32"), np.ones((1, 1, 2, 2), "float32"))
    np.testing.assert_array_equal(by_x[0, 0], [[1, 2, 1], [2, 4, 2], [1, 2, 1]])
    np.testing.assert_array_equal(by_w[0, 0], [[8, 8], [8, 8]])


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
@pytest.mark.parametrize("shapes", [((20, 64, 8, 8), (64, 64, 3, 3)), ((33, 16, 8, 8), (24, 16, 3, 3)),
                                    ((1, 64, 64, 64), (70, 64, 1, 1)), ((40, 16, 16, 16), (36, 16, 3, 3)),
                                    ((30, 3, 8, 16), (14, 3, 5, 5))], ids=str)
def test_results_of_several_workers(shapes, cpu):
    """Sets of images side by side, chunks of large planes, and gradients by filters whose workers do not wait for each
    other, or with joined lines: all workers together write what one of them writes."""
    x, w, g = [T.tensor4(dtype="float64") for _ in range(3)]
    images, filters = shapes
    random = np.random.default_rng(0)
    top = (images[0], filters[0], images[2], images[3])
    arrays = [random.normal(size=shape) for shape in (images, filters, top)]
    results = []
    for workers in (1, 2, 3):
        with change_flags(workers=workers, cpu=cpu):
            y = T.nnet.conv2d(x, w, border_mode="half")
            results.append(phintys.function([x, w, g], [y, T.Lop(y, x, g), T.Lop(y, w, g)])(*arrays))
    for result in results[1:]:
        for got, expected in zip(result, results[0], strict=True):
            np.testing.assert_array_equal(got, expected)
    inner = (results[0][0] * arrays[2]).sum()
    np.testing.assert_allclose((results[0][1] * arrays[0]).sum(), inner, rtol=1e-9)
    np.testing.assert_allclose((results[0][2] * arrays[1]).sum(), inner, rtol=1e-9)


@pytest.mark.parametrize("shapes", [((7, 2, 40, 40), (3, 1, 5, 5), 2), ((1, 1, 150, 90), (5, 1, 7, 7), 1),
                                    ((2, 1, 60, 70, 11), (4, 1, 5, 5, 5), 1), ((3, 3, 60, 60), (20, 3, 3, 3), 1),
                                    ((13, 32, 14, 14), (20, 16, 1, 1), 2)], ids=str)
def test_workers_share_the_gradient_by_few_filters(shapes):
    """Each has a part of the images, or of the lines if there are fewer images than workers."""
    images, filters, groups = shapes
    rank = len(images) - 2
    convolution = T.nnet.conv2d if rank == 2 else T.nnet.conv3d
    x, w, g = [T.TensorType("float64", (False,) * (rank + 2))() for _ in range(3)]
    filters = (filters[0] * groups, *filters[1:])
    y = convolution(x, w, num_groups=groups)
    results = []
    for workers in (1, 2, 3):
        with phintys.change_flags(workers=workers):
            f = phintys.function([x, w, g], T.Lop(y, w, g))
            random = np.random.default_rng(0)
            top = (images[0], filters[0], *[a - b + 1 for a, b in zip(images[2:], filters[2:])])
            results.append(f(*[random.normal(size=shape) for shape in (images, filters, top)]))
    for result in results[1:]:
        np.testing.assert_array_equal(result, results[0])
    # A convolution is linear in its filters, so the gradient's product with others is that of a convolution with `g`.
    direction = np.random.default_rng(1).normal(size=filters)
    random = np.random.default_rng(0)
    image, _, gradient = [random.normal(size=shape) for shape in (images, filters, top)]
    expected = (phintys.function([x, w], y)(image, direction) * gradient).sum()
    np.testing.assert_allclose((results[0] * direction).sum(), expected, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("length", [64, 63])
def test_filters_of_one_element_and_large_planes(length, workers):
    """They are a product of matrices; planes are copied in chunks, which end with what is left."""
    x, w, b = T.ftensor4(), T.ftensor4(), T.fvector()
    random = np.random.default_rng(0)
    images, filters, bias = [random.normal(size=shape).astype("float32")
                             for shape in ((1, 100, length, length), (30, 100, 1, 1), (30,))]
    y = T.nnet.conv2d(x, w)
    with phintys.change_flags(workers=workers):
        f = phintys.function([x, w, b], [y, T.tanh(y + b.dimshuffle("x", 0, "x", "x")), T.grad((y ** 2).sum(), x)])
        plain, followed, gradient = f(images, filters, bias)
    expected = np.einsum("nchw,fc->nfhw", images.astype("float64"), filters[:, :, 0, 0])
    np.testing.assert_allclose(plain, expected, atol=1e-3)
    np.testing.assert_allclose(followed, np.tanh(expected + bias[:, None, None]), atol=1e-3)
    np.testing.assert_allclose(gradient, 2 * np.einsum("nfhw,fc->nchw", expected, filters[:, :, 0, 0]), rtol=1e-4,
                               atol=2e-2)


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("channels", range(1, 6))
def test_filters_of_one_element_and_few_planes(channels, dtype, cpu):
    """Two filters at a time, over rows that are whole vectors and others, in two groups, and what follows."""
    x, w, b = T.tensor4(dtype=dtype), T.tensor4(dtype=dtype), T.vector(dtype=dtype)
    random = np.random.default_rng(0)
    y = T.nnet.conv2d(x, w, num_groups=2)
    follow = [y, T.nnet.relu(y), T.clip(y + b.dimshuffle("x", 0, "x", "x"), -0.5, 0.5)]
    with change_flags(cpu=cpu):
        f = phintys.function([x, w, b], follow)
        for filters, shape in [(1, (4, 4)), (2, (3, 7)), (7, (8, 16)), (9, (5, 7))]:
            images = random.normal(size=(2, 2 * channels, *shape)).astype(dtype)
            weights = random.normal(size=(2 * filters, channels, 1, 1)).astype(dtype)
            bias = random.normal(size=2 * filters).astype(dtype)
            expected = np.einsum("ngchw,gfc->ngfhw", images.reshape(2, 2, channels, *shape),
                                 weights.reshape(2, filters, channels)).reshape(2, -1, *shape)
            results = expected, np.maximum(expected, 0), np.clip(expected + bias[:, None, None], -0.5, 0.5)
            for got, wanted in zip(f(images, weights, bias), results, strict=True):
                np.testing.assert_allclose(got, wanted, atol=1e-5 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
@pytest.mark.parametrize("channels, length", [(4096, 8), (2700, 10), (500, 4), (130, 9)])
def test_filters_of_one_element_and_many_small_planes(channels, length, cpu):
    """A chunk of planes with what follows it would be longer than the planes."""
    x, w = T.ftensor4(), T.ftensor4()
    random = np.random.default_rng(0)
    images, filters = [random.normal(size=shape).astype("float32")
                       for shape in ((1, channels, length, length), (20, channels, 1, 1))]
    with change_flags(cpu=cpu):
        got = phintys.function([x, w], T.nnet.conv2d(x, w))(images, filters)
    expected = np.einsum("nchw,fc->nfhw", images.astype("float64"), filters[:, :, 0, 0])
    np.testing.assert_allclose(got, expected, atol=1e-2)


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_many_small_images_are_sums_over_them(dtype, cpu):
    """Images stand side by side where rows of results are short: as one batch, and image by image."""
    x, g = T.tensor4(dtype=dtype), T.tensor4(dtype=dtype)
    w = T.tensor4(dtype=dtype)
    random = np.random.default_rng(0)
    with change_flags(cpu=cpu, workers=2):
        for images, filters, parameters in [
                ((33, 3, 8, 8), (10, 3, 5, 5), {}), ((16, 1, 6, 7), (4, 1, 3, 2), {"border_mode": "half"}),
                ((20, 4, 9, 9), (6, 2, 3, 3), {"num_groups": 2, "subsample": (2, 2), "filter_flip": False}),
                ((40, 2, 9, 10), (5, 2, 3, 3), {"filter_dilation": (2, 3), "border_mode": (2, 1)}),
                # joined lines of one vector, of two and of those that are filled up
                ((33, 3, 8, 8), (10, 3, 5, 5), {"border_mode": "half"}),
                ((37, 6, 9, 16), (10, 3, 5, 5), {"border_mode": "half", "num_groups": 2}),
                ((9, 2, 7, 19), (5, 2, 5, 5), {"border_mode": "half", "filter_flip": False}),
                ((17, 1, 5, 5), (3, 1, 5, 5), {"border_mode": "full"}), ((18, 2, 4, 5), (9, 2, 1, 1), {}),
                # planes that are read where they are
                ((2, 17, 48, 48), (7, 17, 1, 1), {}), ((3, 10, 32, 32), (6, 5, 1, 1), {"num_groups": 2}),
                ((3, 1, 33, 32), (13, 1, 1, 1), {}), ((2, 14, 40, 40), (9, 14, 1, 1), {})]:
            by_filters = conv2d_grad_wrt_weights(x, g, (None, None, *filters[2:]), **parameters)
            by_images = conv2d_grad_wrt_inputs(g, w, (None, None, *images[2:]), **parameters)
            f = phintys.function([x, g, w], [by_filters, by_images])
            values, weights = random.normal(size=images).astype(dtype), random.normal(size=filters).astype(dtype)
            shape = T.nnet.conv2d(x, w, **parameters).eval({x: values, w: weights}).shape
            gradient = random.normal(size=shape).astype(dtype)
            got = f(values, gradient, weights)
            single = [f(values[n:n + 1], gradient[n:n + 1], weights) for n in range(len(values))]
            tolerance = 1e-3 if dtype == "float32" else 1e-10
            np.testing.assert_allclose(got[0], sum([one for one, _ in single]), rtol=tolerance, atol=tolerance)
            np.testing.assert_allclose(got[1], np.concatenate([one for _, one in single]), rtol=tolerance,
                                       atol=tolerance)


def by_images_and_taps(gradient, case):
    """The gradient by images at steps of 1, as a sum over taps."""
    _, filters, _ = case.values()
    dilation, groups = case.parameters.get("filter_dilation", (1, 1)), case.parameters.get("num_groups", 1)
    flipped = filters[:, :, ::-1, ::-1].reshape(groups, -1, *filters.shape[1:])
    top = gradient.reshape(len(gradient), groups, -1, *gradient.shape[2:])
    borders = zeros_around(case.parameters["border_mode"], filters.shape[2:], dilation)
    padded = np.pad(np.zeros(case.images), [(0, 0), (0, 0), *borders])
    for k, l in np.ndindex(*filters.shape[2:]):
        part = padded[:, :, k * dilation[0]:, l * dilation[1]:][..., :top.shape[3], :top.shape[4]]
        part += np.einsum("ngfyx,gfc->ngcyx", top, flipped[..., k, l]).reshape(part.shape)
    inside = [slice(low, low + length) for (low, _), length in zip(borders, case.images[2:])]
    return padded[(..., *inside)]


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_planes_of_taps_and_of_columns(dtype, cpu):
    """Few channels: sums of each tap apart. Short rows, many filters: a plane for each column of a filter. Filters of
    several blocks that are packed together. Many planes, in pieces where rows are whole vectors. Only products."""
    with change_flags(cpu=cpu, workers=2):
        for one in [case((3, 1, 9, 18), (16, 1, 3, 3), border_mode="half"),
                    case((1, 3, 5, 17), (8, 3, 2, 4), border_mode=((1, 0), (2, 3))),
                    case((5, 4, 6, 40), (22, 2, 3, 2), border_mode=1, num_groups=2, filter_dilation=(1, 2)),
                    case((2, 2, 4, 33), (9, 2, 2, 1), border_mode="full"),
                    case((2, 3, 7, 19), (9, 3, 1, 3), border_mode=0),
                    case((1, 24, 8, 8), (24, 24, 3, 3), border_mode="half"),
                    case((2, 19, 6, 6), (21, 19, 5, 3), border_mode=(2, 0)),
                    case((1, 34, 7, 5), (36, 17, 2, 4), border_mode=((0, 2), (1, 1)), num_groups=2,
                         filter_dilation=(2, 1)),
                    case((1, 130, 5, 5), (17, 130, 3, 3), border_mode="full"),
                    case((1, 70, 16, 16), (50, 70, 3, 3), border_mode="half"),
                    case((1, 50, 15, 20), (49, 50, 3, 3), border_mode="half"),
                    case((2, 1, 9, 11), (11, 1, 1, 1), border_mode=0),
                    case((2, 3, 6, 7), (12, 1, 1, 1), border_mode=0, num_groups=3)]:
            images, filters, result = one.values()
            x, w, g = [T.tensor4(dtype=dtype) for _ in range(3)]
            f = phintys.function([x, w, g], [op_of(one)(x, w), op_of(one).same(2)(w, g, images.shape[-2:])])
            tolerance = 1e-3 if dtype == "float32" else 1e-10
            got = f(*[array.astype(dtype) for array in (images, filters, result)])
            np.testing.assert_allclose(got[0], result, rtol=tolerance, atol=tolerance)
            np.testing.assert_allclose(got[1], by_images_and_taps(result, one), rtol=tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_few_results_of_many_filter_elements(dtype, cpu):
    """Filters are read where they are: the same as with more images, for which they are packed."""
    x, g, w, b = T.tensor4(dtype=dtype), T.tensor4(dtype=dtype), T.tensor4(dtype=dtype), T.vector(dtype=dtype)
    random = np.random.default_rng(2)
    with change_flags(cpu=cpu, workers=2):
        for images, filters, parameters in [
                ((1, 160, 5, 6), (67, 160, 5, 5), {}), ((2, 96, 5, 5), (115, 96, 5, 5), {"border_mode": "half",
                                                                                        "subsample": (2, 2)}),
                ((3, 192, 4, 5), (130, 96, 5, 5), {"num_groups": 2, "border_mode": 1, "filter_flip": False}),
                ((1, 208, 9, 9), (64, 208, 5, 5), {"filter_dilation": (2, 1), "subsample": (1, 2)})]:
            y = T.nnet.conv2d(x, w, **parameters)
            by_images = conv2d_grad_wrt_inputs(g, w, (None, None, *images[2:]), **parameters)
            bias = b.dimshuffle("x", 0, "x", "x")
            f = phintys.function([x, w, g, b], [y, by_images, T.nnet.relu(y + bias), T.tanh(y + bias)])
            values, weights = random.normal(size=images).astype(dtype), random.normal(size=filters).astype(dtype)
            shape = y.eval({x: values, w: weights}).shape
            assert shape[0] * shape[2] * shape[3] <= 40
            gradient, offset = random.normal(size=shape).astype(dtype), random.normal(size=filters[0]).astype(dtype)
            many = 33
            got = f(values, weights, gradient, offset)
            packed = f(*[np.concatenate([array] * many) if array is not weights else array
                         for array in (values, weights, gradient)], offset)
            for one, expected in zip(got, packed):
                np.testing.assert_allclose(one, expected[:len(one)], rtol=1e-3 if dtype == "float32" else 1e-9,
                                           atol=1e-3 if dtype == "float32" else 1e-9)

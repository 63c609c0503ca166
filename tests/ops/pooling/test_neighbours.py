"""Neighbourhoods of images against plain loops: all modes, steps, dtypes, layouts, derivatives, and the way back."""
import numpy
import pytest
from family_cases import DTYPES, LAYOUTS, check_equal, check_gradient, check_r_op, check_values, values

import phintys
import phintys.tensor as T
from phintys.ops.pooling.neighbours import Images2Neibs, images2neibs, neibs2images

# shape, neib_shape, neib_step, mode
CASES = [
    ((2, 3, 6, 8), (2, 2), None, "valid"), ((2, 3, 7, 8), (3, 2), (2, 3), "valid"),
    ((1, 1, 4, 5), (4, 5), None, "valid"),
    ((2, 1, 6, 6), (1, 2), (5, 2), "valid"), ((0, 3, 4, 4), (2, 2), None, "valid"),
    ((1, 2, 7, 9), (2, 3), (2, 2), "ignore_borders"), ((2, 1, 5, 5), (2, 2), None, "ignore_borders"),
    ((2, 1, 2, 5), (3, 2), (1, 1), "ignore_borders"), ((2, 1, 6, 9), (2, 3), (2, 2), "half"),
    ((1, 1, 7, 7), (3, 3), (2, 1), "half"), ((1, 2, 6, 5), (3, 2), (1, 5), "full"),
    ((1, 2, 4, 4), (3, 3), (5, 1), "full"),
    ((1, 2, 5, 6), (3, 5), (2, 2), "wrap_centered"), ((1, 1, 4, 4), (3, 1), (1, 1), "wrap_centered"),
    ((2, 2, 3, 3), (3, 3), None, "wrap_centered"), ((1, 1, 5, 7), (1, 3), (4, 4), "wrap_centered"),
]


def padded(x, patch, mode):
    if mode in ("valid", "ignore_borders"):
        return x
    sizes = [size - 1 if mode == "full" else size // 2 for size in patch]
    pads = [(0, 0), (0, 0), *[(size, size) for size in sizes]]
    return numpy.pad(x, pads, mode="wrap") if mode == "wrap_centered" else numpy.pad(x, pads)


def reference(x, patch, step=None, mode="valid"):
    step = step or patch
    image = padded(x, patch, mode)
    starts = [range(0, max(length - size + 1, 0), by) for length, size, by in zip(image.shape[2:], patch, step)]
    rows = [image[n, s, a:a + patch[0], b:b + patch[1]].ravel() for n in range(x.shape[0]) for s in range(x.shape[1])
            for a in starts[0] for b in starts[1]]
    return numpy.array(rows, x.dtype).reshape(len(rows), patch[0] * patch[1])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_and_gradients(case):
    shape, patch, step, mode = case
    x = values(shape)
    check_values(lambda x: images2neibs(x, patch, step, mode), lambda x: reference(x, patch, step, mode), [x],
                 modes=["FAST_RUN"])
    neibs = values(reference(x, patch, step, mode).shape, seed=1)
    def sums(neibs):                                    # the adjoint: a sum for each element of the images
        places = reference(numpy.arange(1, x.size + 1).reshape(shape), patch, step, mode).astype(int)
        return numpy.bincount(places.ravel(), neibs.ravel(), x.size + 1)[1:].reshape(shape).astype(x.dtype)

    image, rows = T.tensor4(), T.matrix()
    gradient = phintys.grad((images2neibs(image, patch, step, mode) * rows).sum(), image)
    numpy.testing.assert_allclose(phintys.function([image, rows], gradient)(x, neibs), sums(neibs))
    if x.size:
        check_gradient(lambda x: images2neibs(x, patch, step, mode), [x])
        check_r_op(lambda x: images2neibs(x, patch, step, mode), [x])
        check_gradient(lambda x: phintys.grad((images2neibs(x, patch, step, mode) ** 3).sum(), x), [x])


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    x = values((1, 2, 6, 4), dtype)
    for mode, patch, step in (("valid", (2, 2), None), ("half", (3, 3), (1, 1)), ("wrap_centered", (3, 3), (2, 1))):
        check_values(lambda x: images2neibs(x, patch, step, mode), lambda x: reference(x, patch, step, mode), [x],
                     modes=["FAST_RUN"])
    check_values(lambda x: neibs2images(images2neibs(x, (2, 1)), (2, 1), x.shape), lambda x: x, [x], modes=["FAST_RUN"])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    x = LAYOUTS[layout](values((2, 3, 6, 9)))
    for mode, patch, step in (("valid", (2, 3), None), ("full", (2, 3), (1, 1)), ("wrap_centered", (3, 3), (2, 2))):
        check_values(lambda x: images2neibs(x, patch, step, mode), lambda x: reference(x, patch, step, mode), [x],
                     modes=["FAST_RUN"])
    neibs = LAYOUTS[layout](reference(x, (2, 3)))
    check_values(lambda neibs: neibs2images(neibs, (2, 3), (2, 3, 6, 9)), lambda neibs: x, [neibs], modes=["FAST_RUN"])


def test_values_of_theano():
    """Samples of what Theano 1.0.5 computes."""
    x, image = T.tensor4(), numpy.arange(16.0).reshape(1, 1, 4, 4)
    wanted = {
        ("wrap_centered", (3, 3), (2, 2)): [
            [15, 12, 13, 3, 0, 1, 7, 4, 5], [13, 14, 15, 1, 2, 3, 5, 6, 7],
            [7, 4, 5, 11, 8, 9, 15, 12, 13], [5, 6, 7, 9, 10, 11, 13, 14, 15]],
        ("half", (2, 2), (4, 2)): [[0, 0, 0, 0], [0, 0, 1, 2], [0, 0, 3, 0], [0, 12, 0, 0], [13, 14, 0, 0],
                                   [15, 0, 0, 0]]}
    for (mode, patch, step), rows in wanted.items():
        check_equal(phintys.function([x], images2neibs(x, patch, step, mode))(image), numpy.array(rows, "float64"))


def test_symbolic_sizes():
    x, patch, step = T.tensor4(), T.ivector(), T.lvector()
    array = values((2, 1, 6, 9))
    for mode in ("valid", "ignore_borders", "half", "full", "wrap_centered"):
        function = phintys.function([x, patch, step], [out := images2neibs(x, patch, step, mode), out.shape,
                                                       phintys.grad((out ** 2).sum(), x)])
        for sizes in (((3, 3), (3, 3)), ((1, 3), (1, 1))):
            if mode in ("half", "full") and sizes[1] == (3, 3):
                sizes = (3, 3), (1, 1)
            got, shape, gradient = function(array, *sizes)
            check_equal(got, reference(array, *sizes, mode))
            assert tuple(shape) == got.shape and gradient.shape == array.shape


@pytest.mark.parametrize("mode", ["valid", "ignore_borders"])
def test_images_come_back(mode):
    shape = (2, 3, 6, 8) if mode == "valid" else (2, 3, 7, 9)
    x = values(shape)
    neibs, lengths = T.matrix(), T.ivector()
    function = phintys.function([neibs, lengths], [out := neibs2images(neibs, (3, 4), lengths, mode), out.shape])
    images, inferred = function(reference(x, (3, 4), None, mode), shape)
    wanted = x.copy()
    wanted[:, :, 6:], wanted[..., 8:] = 0, 0
    check_equal(images, wanted)
    assert tuple(inferred) == shape
    check_gradient(lambda neibs: neibs2images(neibs, (3, 4), shape, mode), [reference(x, (3, 4), None, mode)])


def response_normalization(x, alpha=1e-4, k=2, beta=0.75, n=5):
    """Local response normalization across channels, as programs for Theano write it."""
    half, squares = n // 2, T.sqr(x)
    batch, channels, rows, columns = x.shape
    extra = T.alloc(T.as_tensor_variable(0.0), batch, channels + 2 * half, rows, columns)
    squares = T.set_subtensor(extra[:, half:half + channels, :, :], squares)
    scale = k
    for position in range(n):
        scale += alpha * squares[:, position:position + channels, :, :]
    return x / scale ** beta


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint64"])
def test_products_of_lengths_do_not_wrap(dtype):
    x, patch, lengths = values((2, 3, 12, 24)), numpy.array([12, 12], dtype), numpy.array([2, 3, 12, 24], dtype)
    images, matrix, size, shape = T.tensor4(), T.dmatrix(), T.vector(dtype=dtype), T.vector(dtype=dtype)
    rows = phintys.function([images, size], images2neibs(images, size))(x, patch)
    numpy.testing.assert_array_equal(rows, reference(x, (12, 12)))
    back = phintys.function([matrix, size, shape], neibs2images(matrix, size, shape))
    numpy.testing.assert_array_equal(back(rows, patch, lengths), x)
    numpy.testing.assert_array_equal(neibs2images(rows, (12, 12), (2, 3, 12, 24)).eval(), x)


def test_response_normalization_across_channels():
    def expected(x):
        squares = numpy.pad(x ** 2, ((0, 0), (2, 2), (0, 0), (0, 0)))
        return x / (2 + 1e-4 * sum(squares[:, place:place + x.shape[1]] for place in range(5))) ** 0.75

    x = values((2, 6, 3, 4), "float32")
    with phintys.change_flags(floatX="float32"):
        check_values(response_normalization, expected, [x])
        check_gradient(response_normalization, [x])


def test_contrast_normalization_of_neighbourhoods():
    """Each patch minus its mean, by way of neighbourhoods and back."""
    def normalized(x):
        neibs = images2neibs(x, (2, 2))
        return neibs2images(neibs - neibs.mean(axis=1, keepdims=True), (2, 2), x.shape)

    x = values((2, 2, 4, 6))
    blocks = x.reshape(2, 2, 2, 2, 3, 2)
    check_values(normalized, lambda x: (blocks - blocks.mean(axis=(3, 5), keepdims=True)).reshape(x.shape), [x])
    check_gradient(normalized, [x])


# ---- errors ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("mode, shape, patch, step, error, message", [
    ("valid", (6, 7), (2, 2), None, TypeError,
     r"neib_shape\[1\]=2, neib_step\[1\]=2 and ten4.shape\[3\] not consistent"),
    ("valid", (1, 7), (2, 7), None, TypeError, r"neib_shape\[0\]=2, .* ten4.shape\[2\]"),
    ("half", (6, 6), (3, 3), (2, 2), TypeError, "not consistent"),
    ("full", (6, 6), (3, 3), (2, 2), TypeError, "not consistent"),
    ("wrap_centered", (6, 6), (3, 2), (1, 1), TypeError, "need patch with odd shapes"),
    ("wrap_centered", (6, 2), (3, 3), (1, 1), TypeError, "image shapes smaller then the patch"),
    ("valid", (6, 6), (2, 0), (1, 1), ValueError, r"neib_shape values <= 0. Got \[2, 0\]"),
    ("valid", (6, 6), (2, 2), (1, -1), ValueError, r"neib_step values <= 0. Got \[1, -1\]"),
    ("valid", (6, 6), (2, 2, 2), None, TypeError, "must contain 2 elements, got 3"),
])
def test_errors_while_running(mode, shape, patch, step, error, message):
    x = T.tensor4()
    with pytest.raises(error, match=message):
        phintys.function([x], images2neibs(x, patch, step, mode))(numpy.zeros((1, 1, *shape)))


@pytest.mark.parametrize("rows, shape, message", [
    (4, (1, 1, 4, 5), "not consistent"), (3, (1, 1, 4, 4), "dimension mis-match"),
    (4, (1, 4, 4), "dimension mis-match"), (4, (1, -1, 4, 4), "must not be negative")])
def test_images_that_do_not_have_such_neighbourhoods(rows, shape, message):
    neibs, lengths = T.matrix(), T.lvector()
    with pytest.raises(ValueError, match=message):
        phintys.function([neibs, lengths], neibs2images(neibs, (2, 2), lengths))(numpy.zeros((rows, 4)), shape)


@pytest.mark.parametrize("build, error, message", [
    (lambda: images2neibs(T.matrix(), (2, 2)), TypeError, "4 dimensions"),
    (lambda: images2neibs(T.tensor4(), (2.5, 2)), TypeError, "neib_shape must be a vector of integers"),
    (lambda: images2neibs(T.tensor4(), (2, 2), 1), TypeError, "neib_step must be a vector of integers"),
    (lambda: images2neibs(T.tensor4(), (2, 2), mode="same"), NotImplementedError, "Only modes valid, half"),
    (lambda: neibs2images(T.matrix(), (2, 2), (1, 1, 4, 4), "half"), NotImplementedError, "do not support mode=half"),
    (lambda: neibs2images(T.vector(), (2, 2), (1, 1, 4, 4)), TypeError, "takes a matrix"),
])
def test_errors_while_building(build, error, message):
    with pytest.raises(error, match=message):
        build()


def test_names():
    from phintys.sandbox import neighbours
    assert neighbours.images2neibs is T.nnet.neighbours.images2neibs is images2neibs
    assert T.nnet.neighbours.Images2Neibs is Images2Neibs

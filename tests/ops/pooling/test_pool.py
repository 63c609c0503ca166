"""Pooling against a plain reference in NumPy: modes, windows, padding, dtypes, layouts, derivatives, errors."""
import itertools

import numpy
import pytest
from family_cases import (
    FLOATS,
    INTEGERS,
    LAYOUTS,
    check_equal,
    check_gradient,
    check_r_op,
    check_values,
    values,
    variable_for,
)

import phintys
import phintys.tensor as T
from phintys.ops.pooling.pool import (
    AveragePoolGrad,
    DownsampleFactorMaxGradGrad,
    MaxPoolGrad,
    MaxPoolRop,
    Pool,
    max_pool_2d_same_size,
    pool_2d,
    pool_3d,
)
from phintys.ops.pooling.pool_kernel import AveragePoolGradKernel, MaxPoolGradKernel, PoolKernel
from phintys.vm.abi import run_kernel

MODES = ("max", "sum", "average_inc_pad", "average_exc_pad")


def count(length, window, step, pad, ignore_border):
    """How many windows begin in a dimension, by counting them."""
    if ignore_border:
        return len([start for start in range(0, length + 2 * pad, step) if start + window <= length + 2 * pad])
    starts = list(range(0, length, step))
    while len(starts) > 1 and starts[-2] + window >= length:         # the window before reaches the border
        starts.pop()
    return len(starts)


def windows(x, ws, ignore_border, stride=None, pad=None):
    """For each window: the index in the result, the slices of the image, how many elements it has with padding."""
    stride, pad = stride or ws, pad or (0,) * len(ws)
    lengths = x.shape[x.ndim - len(ws):]
    counts = [count(*numbers, ignore_border) for numbers in zip(lengths, ws, stride, pad)]
    for index in numpy.ndindex(*counts):
        starts = [place * step - padding for place, step, padding in zip(index, stride, pad)]
        parts = [slice(max(start, 0), min(start + size, length)) for start, size, length in zip(starts, ws, lengths)]
        if not ignore_border:
            size = numpy.prod([part.stop - part.start for part in parts])
        else:
            size = numpy.prod(ws)
        yield index, (..., *parts), size
    yield tuple(counts), None, None


def reference(x, ws, ignore_border, stride=None, pad=None, mode="max"):
    *all_windows, (counts, _, _) = windows(x, ws, ignore_border, stride, pad)
    out = numpy.zeros(x.shape[:x.ndim - len(ws)] + counts, x.dtype)
    axes = tuple(range(-len(ws), 0))
    for index, part, size in all_windows:
        if mode == "max":
            value = x[part].max(axis=axes)
        else:
            value = x[part].sum(axis=axes, dtype=None if x.dtype.kind == "f" else "int64")
            divisor = {"sum": 1, "average_inc_pad": size, "average_exc_pad": x[part].size // max(value.size, 1)}[mode]
            value = value / divisor if x.dtype.kind == "f" else numpy.trunc(value / divisor)
        out[(..., *index)] = value
    return out


def reference_gradient(x, gradient, ws, ignore_border, stride=None, pad=None, mode="max"):
    out = numpy.zeros_like(x)
    maxima = reference(x, ws, ignore_border, stride, pad)
    for index, part, size in windows(x, ws, ignore_border, stride, pad):
        if part is None:
            break
        place = (..., *index, *(None,) * len(ws))
        if mode == "max":
            out[part] += numpy.where(x[part] == maxima[place], gradient[place], 0)
        else:
            elements = numpy.prod([part_of.stop - part_of.start for part_of in part[1:]])
            divisor = {"sum": 1, "average_inc_pad": size, "average_exc_pad": elements}[mode]
            out[part] += (gradient[place] / divisor).astype(x.dtype)
    return out


# shape, ws, ignore_border, stride, pad
CASES = [
    ((2, 3, 8, 8), (2, 2), True, None, None), ((2, 3, 7, 9), (2, 2), True, None, None),
    ((2, 3, 7, 9), (2, 2), False, None, None), ((1, 2, 40, 37), (2, 2), False, None, None),
    ((2, 2, 35, 40), (3, 3), True, (2, 2), None), ((2, 9, 11), (3, 3), False, (2, 2), None),
    ((2, 9, 11), (3, 3), True, (2, 2), (1, 1)), ((9, 38), (3, 3), True, (1, 1), (1, 1)),
    ((6, 7), (4, 3), True, (3, 1), (2, 0)), ((6, 7), (2, 3), False, (3, 5), None), ((1, 1), (1, 1), True, None, None),
    ((5, 20), (5, 20), True, None, None), ((3, 3), (5, 2), True, None, None), ((3, 3), (5, 2), False, None, None),
    ((3, 3), (5, 5), False, (2, 2), None), ((2, 12), (2, 5), True, (2, 4), (1, 3)),
    ((3, 2), (2, 2), False, (1, 1), None),
    ((2, 2, 21, 38), (5, 5), True, None, None), ((3, 9, 20), (4, 3), False, None, None),
    ((2, 9, 20), (2, 3), False, (3, 5), None), ((2, 9, 20), (2, 3), True, (3, 5), (1, 2)),
    ((2, 9, 20), (3, 3), True, (2, 3), (1, 0)),
    ((0, 4, 4), (2, 2), True, None, None), ((2, 0, 4), (2, 2), True, None, None),
    ((2, 0, 4), (2, 2), False, None, None),
    ((7,), (3,), True, (2,), (1,)), ((2, 7), (2,), False, None, None), ((2, 1, 7), (3,), False, (1,), None),
    ((2, 4, 5, 6), (2, 2, 2), True, None, None), ((4, 5, 6), (3, 2, 3), False, (2, 1, 2), None),
    ((4, 5, 6), (3, 2, 3), True, (1, 2, 2), (1, 1, 2)),
    ((2, 3, 4, 3, 5), (2, 2, 1, 3), True, (1, 2, 1, 2), (0, 1, 0, 1)),
    # As many images as the gradient has tables for: of images, of rows because these are long or because windows of a
    # vector would be too far apart, and of more dimensions; the last has too many slots.
    ((4, 5, 8, 8), (3, 3), True, (2, 2), None), ((17, 7, 9), (3, 3), True, (2, 2), (1, 1)),
    ((16, 3, 67), (3, 3), True, (2, 2), (1, 1)), ((16, 9, 30), (3, 3), True, (2, 2), None),
    ((16, 5, 6), (3, 2), False, (1, 2), None), ((16, 1, 3), (2, 2), True, (1, 1), (1, 1)),
    ((16, 3, 4, 5), (2, 3, 2), True, (1, 2, 2), (0, 1, 1)), ((18, 21), (3,), True, (1,), (1,)),
    ((16, 9, 8), (4, 4), True, (1, 1), None),
]


def pooled(ws, ignore_border, stride=None, pad=None, mode="max"):
    op = Pool(ignore_border, ndim=len(ws), mode=mode)
    return lambda x: op(x, ws, stride, pad)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_values_gradients_and_shapes(case, mode):
    shape, *window = case
    x = values(shape)
    check_values(pooled(*window, mode), lambda x: reference(x, *window, mode), [x], modes=["FAST_RUN"])
    gradient = values(reference(x, *window).shape, seed=1)
    got = phintys.gradient.Lop(pooled(*window, mode)(variable := variable_for(x)), variable, variable_for(gradient))
    x = numpy.round(x)                                       # several elements of a window are equal to the maximum
    function = phintys.function([variable, got.owner.inputs[2 if mode == "max" else 1]], got)
    check_equal(function(x, gradient), reference_gradient(x, gradient, *window, mode))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", ["bool", *INTEGERS, *FLOATS])
@pytest.mark.parametrize("window", [((2, 2), True), ((3, 3), False, (2, 2)), ((3, 2), True, (1, 2), (1, 1)),
                                    ((2, 3), True)], ids=str)
def test_dtypes(window, dtype, mode):
    x = values((2, 7, 18), dtype)
    if dtype == "bool":
        return check_values(pooled(*window, mode=mode), lambda x: reference(x, *window), [x], modes=["FAST_RUN"])
    check_values(pooled(*window, mode=mode), lambda x: reference(x, *window, mode=mode), [x], modes=["FAST_RUN"])


@pytest.mark.parametrize("dtype", ["int16", "float16", "float32"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout, dtype):
    x = LAYOUTS[layout](values((2, 3, 7, 10), dtype))
    for mode in MODES:
        check_values(lambda x: pool_2d(x, (3, 2), True, (2, 2), (1, 1), mode),
                     lambda x: reference(x, (3, 2), True, (2, 2), (1, 1), mode), [x], modes=["FAST_RUN"])
    g = LAYOUTS[layout](values((2, 3, 4, 6), dtype, seed=1))
    maxima = LAYOUTS[layout](reference(x, (3, 2), True, (2, 2), (1, 1)))
    check_values(lambda x, m, g: MaxPoolGrad(True)(x, m, g, (3, 2), (2, 2), (1, 1)),
                 lambda x, m, g: reference_gradient(x, g, (3, 2), True, (2, 2), (1, 1)), [x, maxima, g],
                 modes=["FAST_RUN"])
    check_values(lambda x, g: AveragePoolGrad(True, "sum")(x, g, (3, 2), (2, 2), (1, 1)),
                 lambda x, g: reference_gradient(x, g, (3, 2), True, (2, 2), (1, 1), "sum"), [x, g], modes=["FAST_RUN"])


def gradient_function(arrays, ws, ignore_border, stride, pad):
    """The function of MaxPoolGrad for inputs like these: what was pooled, the maxima, and their gradient."""
    inputs = [variable_for(array) for array in arrays]
    return phintys.function(inputs, MaxPoolGrad(ignore_border)(*inputs, ws, stride, pad))


@pytest.mark.parametrize("cpu", ["native", "avx2", "baseline"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_many_images(dtype, cpu):
    """By tables: with NaN, equal maxima and workers, for each instruction set, and up to the end of memory."""
    for shape, *window in [((5, 5, 8, 8), (3, 3), True, (2, 2), (1, 1)), ((16, 7, 21), (3, 3), True, (2, 2), None),
                           ((40, 3, 66), (3, 3), True, (1, 1), (1, 1)), ((16, 1, 2), (2, 2), True, (1, 1), (1, 1)),
                           # Walked down: one image at once or two, whole and part vectors, a row left below.
                           ((17, 3, 8), (3, 3), True, (1, 1), (1, 1)), ((19, 6, 7), (2, 2), True, (2, 2), (1, 1)),
                           ((16, 1, 6), (3, 3), True, (2, 2), (1, 1)), ((16, 4, 5), (2, 3), True, (1, 2), None),
                           ((17, 9, 16), (3, 3), True, (2, 2), None), ((4, 5, 13), (2, 2), True, (1, 1), None),
                           ((5, 4, 40), (3, 2), True, (1, 1), (2, 1)), ((4, 6, 24), (2, 2), True, (2, 2), None)]:
        x = numpy.round(values(shape, dtype))
        x[3, 0, ..., 1] = numpy.nan
        maxima = reference(x, *window)
        gradient = values(maxima.shape, dtype, seed=1)
        with phintys.graph.config.change_flags(cpu=cpu, workers=2):
            f = gradient_function((x, maxima, gradient), *window)
            expected = reference_gradient(x, gradient, *window)
            check_equal(f(x, maxima, gradient), expected)
            # The same with gaps between images, and with images that have an element too many.
            wide = numpy.full((*shape[:-1], shape[-1] + 1), numpy.nan, dtype)
            wide[..., :-1] = x
            check_equal(f(wide[..., :-1], maxima, gradient), expected)


def whole_windows():
    """Shapes and windows whose gradients are walked without a table, by the number of lanes of a vector."""
    for lanes in (4, 8, 16):
        for window, step in ((2, 1), (3, 1), (2, 2), (3, 2)):
            yield from (((3, rows, length), (window, window), True, (step, step), None) for rows, length in
                        ((window, lanes), (window + 1, lanes), (9, 2 * lanes), (8, 2 * lanes + 6), (6, 2 * lanes + 1)))
            # One image, two, more than are walked down together, and more than one stripe of rows.
            yield (1, 5, lanes), (window, window), True, (step, step), None
            yield (2, 4, lanes), (window, window), True, (step, step), None
            yield (90, 5, lanes), (window, window), True, (step, step), None
            yield (2, 27, 24 * lanes), (window, window), True, (step, step), None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gradients_of_whole_windows(dtype):
    """Without a table: one image and two at once, columns computed twice, rows below all windows, stripes, NaN."""
    for shape, *window in whole_windows():
        x = numpy.round(2 * values(shape, dtype))
        x[0, 1, 1] = numpy.nan
        maxima = reference(x, *window)
        gradient = values(maxima.shape, dtype, seed=1)
        expected = reference_gradient(x, gradient, *window)
        for cpu in ("native", "avx2"):
            with phintys.graph.config.change_flags(cpu=cpu, workers=2):
                f = gradient_function((x, maxima, gradient), *window)
                check_equal(f(x, maxima, gradient), expected)


# Windows, steps and borders with different paths for rows.
DERIVED = [((2, 5, 6), (2, 2), True), ((2, 5, 7), (2, 2), False), ((5, 7), (3, 3), True, (2, 2), (1, 1)),
           ((5, 7), (3, 3), False, (1, 1)), ((5, 9), (3, 4), True, (4, 3), (2, 1)),
           ((3, 4, 5), (2, 2, 2), True, (1, 2, 1))]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", DERIVED, ids=str)
def test_derivatives(case, mode):
    """First and second ones, and along a direction."""
    shape, *window = case
    x = numpy.random.RandomState(3).permutation(int(numpy.prod(shape))).reshape(shape) / 7.0
    build = pooled(*window, mode=mode)
    check_gradient(build, [x])
    check_r_op(build, [x])
    weights = values(reference(x, *window).shape, seed=2)
    check_gradient(lambda x, w: phintys.grad((build(x) ** 2 * w).sum(), x), [x, weights])
    check_r_op(lambda x, w: phintys.grad((build(x) ** 2 * w).sum(), x), [x, weights])


@pytest.mark.parametrize("case", DERIVED, ids=str)
def test_ops_of_derivatives(case):
    """Each by itself: values, inferred shapes, and their own derivatives."""
    shape, *window = case
    x = numpy.round(values(shape) * 2)
    maxima, y = reference(x, *window), values(shape, seed=1)
    g, ndim = values(maxima.shape, seed=2), len(window[0])
    rest = window[0], *window[2:]
    selected, sends, first = (DownsampleFactorMaxGradGrad(window[1], ndim=ndim), MaxPoolGrad(window[1], ndim=ndim),
                              MaxPoolRop(window[1], ndim=ndim))

    def sums(x, maxima, y):
        out = numpy.zeros_like(maxima)
        for index, part, _ in list(windows(x, *window))[:-1]:
            chosen = numpy.where(x[part] == maxima[(..., *index, *(None,) * ndim)], y[part], 0)
            out[(..., *index)] = chosen.sum(axis=tuple(range(-ndim, 0)))
        return out

    def firsts(x, y):
        out = numpy.zeros_like(maxima)
        for index, part, _ in list(windows(x, *window))[:-1]:
            lines, chosen = [array[part].reshape(*array.shape[:-ndim], -1) for array in (x, y)]
            out[(..., *index)] = numpy.take_along_axis(chosen, lines.argmax(-1)[..., None], -1)[..., 0]
        return out

    check_values(lambda x, m, y: selected(x, m, y, *rest), sums, [x, maxima, y], modes=["FAST_RUN"])
    check_values(lambda x, y: first(x, y, *rest), firsts, [x, y], modes=["FAST_RUN"])
    check_values(lambda x, m, g: sends(x, m, g, *rest), lambda x, m, g: reference_gradient(x, g, *window),
                 [x, maxima, g], modes=["FAST_RUN"])
    check_gradient(lambda y: selected(x, maxima, y, *rest), [y])
    check_gradient(lambda g: sends(x, maxima, g, *rest), [g])
    check_r_op(lambda y: selected(x, maxima, y, *rest), [y])
    check_r_op(lambda g: sends(x, maxima, g, *rest), [g])
    for mode in MODES[1:]:
        spread = AveragePoolGrad(window[1], mode, ndim)
        check_gradient(lambda g: spread(x, g, *rest), [g])
        check_r_op(lambda g: spread(x, g, *rest), [g])


def test_values_of_theano():
    """A sample of what Theano 1.0.5 computes, with its C code."""
    x = (numpy.arange(30.0).reshape(5, 6) * 7 % 11).astype("float32")
    variable = T.fmatrix()
    wanted = {
        "max": ([[9, 7, 10, 2], [9, 10, 8, 9], [5, 10, 9, 7]],
                [[0, 1, 0, 2, 0, 3], [4, 0, 0, 6, 0, 0], [0, 0, 5, 0, 0, 7], [8, 0, 0, 0, 0, 11], [0, 9, 0, 0, 10, 0]]),
        "sum": ([[9, 16, 28, 2], [21, 28, 24, 16], [8, 25, 15, 12]],
                [[0, 1, 1, 2, 2, 3], [4, 6, 6, 8, 8, 10], [4, 5, 5, 6, 6, 7], [12, 14, 14, 16, 16, 18],
                 [8, 9, 9, 10, 10, 11]]),
    }
    wanted["average_inc_pad"] = [numpy.asarray(numbers) / 6 for numbers in wanted["sum"]]
    sizes = numpy.outer([2, 3, 2], [1, 2, 2, 1])
    for mode, (numbers, gradient) in wanted.items():
        pooled = pool_2d(variable, (3, 2), True, stride=(2, 2), pad=(1, 1), mode=mode)
        weights = T.arange(12).reshape((3, 4)).astype("float32")
        got = phintys.function([variable], [pooled, phintys.grad((pooled * weights).sum(), variable)])(x)
        numpy.testing.assert_allclose(got[0], numpy.asarray(numbers, "float32"), rtol=1e-6)
        numpy.testing.assert_allclose(got[1], numpy.asarray(gradient, "float32"), rtol=1e-6)
    average = pool_2d(variable, (3, 2), True, stride=(2, 2), pad=(1, 1), mode="average_exc_pad")
    numpy.testing.assert_allclose(phintys.function([variable], average)(x), wanted["sum"][0] / sizes, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "float64"])
def test_windows_as_large_as_the_images(dtype):
    x = values((2, 60, 70), dtype)
    for mode in MODES:
        check_values(lambda x: pool_2d(x, (60, 70), True, mode=mode), lambda x: reference(x, (60, 70), True, mode=mode),
                     [x], modes=["FAST_RUN"])
    transposed = x.swapaxes(1, 2)
    check_values(lambda x: pool_2d(x, (70, 60), True), lambda x: reference(x, (70, 60), True), [transposed],
                 modes=["FAST_RUN"])


def test_nan_is_the_maximum_of_its_window():
    x = numpy.arange(48.0).reshape(4, 12)
    for place in itertools.product((0, 1), (4, 5)):
        x[place] = numpy.nan
        for ws, stride in (((2, 2), None), ((3, 3), (1, 1)), ((3, 3), (2, 2)), ((4, 5), None)):
            got = phintys.function([m := T.matrix()], pool_2d(m, ws, True, stride))(x)
            numpy.testing.assert_array_equal(got, reference(x, ws, True, stride))
        x[place] = 7


@pytest.mark.parametrize("shape, pooling, patch", [((4, 7), 2, (2, 3)), ((2, 3, 6, 6), 2, (2, 2))])
def test_same_size(shape, pooling, patch):
    x = values(shape)
    check_values(lambda x: max_pool_2d_same_size(x, patch),
                 lambda x: reference_gradient(x, reference(x, patch, True), patch, True), [x])


def test_symbolic_windows():
    """Sizes, steps and paddings are inputs, vectors or tuples with numbers that are computed."""
    ws, stride, pad, size = T.ivector(), T.lvector(), T.bvector(), T.lscalar()
    x = values((2, 9, 10))
    symbol = T.tensor3()
    function = phintys.function([symbol, ws, stride, pad], [out := pool_2d(symbol, ws, True, stride, pad), out.shape])
    for window in (((2, 3), (1, 2), (1, 0)), ((3, 3), (3, 3), (0, 0)), ((4, 1), (2, 1), (3, 0)),
                   ((12, 3), (1, 1), (0, 0))):
        got, shape = function(x, *window)
        check_equal(got, reference(x, window[0], True, *window[1:]))
        assert tuple(shape) == got.shape
    gradient = phintys.function([symbol, ws], phintys.grad(pool_2d(symbol, ws, False).sum(), symbol))
    for window in ((2, 3), (9, 10), (4, 4)):
        ones = numpy.ones_like(reference(x, window, False))
        check_equal(gradient(x, window), reference_gradient(x, ones, window, False))
    several = phintys.function([symbol, size], [out := pool_2d(symbol, (size, 2), False, (1, size)), out.shape])
    for number in (1, 2, 3):
        got, shape = several(x, number)
        check_equal(got, reference(x, (number, 2), False, (1, number)))
        assert tuple(shape) == got.shape


@pytest.mark.parametrize("mode", ["sum", "average_inc_pad"])
def test_windows_of_padding_alone(mode):
    x, pad, window = T.matrix(), T.lvector(), ((3, 2), True, (2, 1), (4, 3))
    array = values((5, 6))
    padded = numpy.pad(array, ((4, 4), (3, 3)))
    wanted = reference(padded, *window[:3], mode=mode)
    pooled = pool_2d(x, *window[:3], pad, mode)
    function = phintys.function([x, pad], [pooled, phintys.grad((pooled ** 2).sum(), x)])
    got, gradient = function(array, window[3])
    check_equal(got, wanted)
    check_equal(gradient, reference_gradient(padded, 2 * wanted, *window[:3], mode=mode)[4:-4, 3:-3])


def test_windows_may_change_from_call_to_call_when_kernels_are_bound():
    x, ws = T.matrix(), T.lvector()
    function = phintys.function([x, ws], pool_2d(x, ws, True))
    array = values((6, 6))
    for window in ((2, 2),) * 4 + ((3, 2),) * 3 + ((2, 3),) * 3:
        check_equal(function(array, window), reference(array, window, True))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("window", [((2, 2), True), ((3, 3), False, (2, 2)), ((5, 4), False)], ids=str)
def test_workers_divide_rows(window, mode):
    x = values((3, 4, 150, 170), "float32")
    wanted = reference(x, *window, mode=mode)
    gradient = values(wanted.shape, "float32", seed=1)
    sizes = [numpy.array(numbers) for numbers in (window[0], window[2] if len(window) > 2 else window[0], (0, 0))]
    layout = [(x.dtype.num, 4)]
    got = run_kernel(PoolKernel("float32", 2, mode, window[1]), [x, *sizes], layout, 2)
    check_equal(got[0], wanted)
    if mode == "max":
        kernel, inputs = MaxPoolGradKernel("float32", 2, mode, window[1]), [x, wanted, gradient, *sizes]
    else:
        kernel, inputs = AveragePoolGradKernel("float32", 2, mode, window[1]), [x, gradient, *sizes]
    check_equal(run_kernel(kernel, inputs, layout, 2)[0], reference_gradient(x, gradient, *window, mode=mode))


# ---- names and errors ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape, ws, ignore_border, stride, pad, wanted", [
    ((2, 3, 5, 5), (2, 2), True, None, None, [2, 3, 2, 2]), ((2, 3, 5, 5), (2, 2), False, None, None, [2, 3, 3, 3]),
    ((10, 8), (3, 3), True, (1, 2), (1, 1), [10, 4]), ((10, 8), (3, 3), False, (2, 2), None, [5, 4]),
    ((2, 2), (3, 3), True, None, None, [0, 0]), ((2, 2), (5, 5), False, (2, 2), None, [1, 1]),
    ((7, 7), (5, 5), False, (3, 3), None, [2, 2]), ((0, 3), (2, 2), False, (1, 1), None, [0, 2])])
def test_out_shape(shape, ws, ignore_border, stride, pad, wanted):
    assert Pool.out_shape(shape, ws, ignore_border, stride, pad) == wanted
    symbols = [T.lscalar() for _ in shape]
    lengths = Pool.out_shape(symbols, ws, ignore_border, stride, pad)
    got = phintys.function(symbols, [T.as_tensor_variable(length) for length in lengths])(*shape)
    assert [int(length) for length in got] == wanted


def test_old_names_of_arguments():
    x = T.tensor3()
    array = values((2, 6, 7))
    with pytest.warns(UserWarning, match="'ds' parameter"):
        old = pool_2d(x, ds=(2, 3), ignore_border=True)
    with pytest.warns(UserWarning) as record:
        full = pool_2d(x, ds=(2, 3), st=(1, 2), padding=(1, 2), ignore_border=True)
    assert [str(warning.message).split("'")[1] for warning in record] == ["ds", "st", "padding"]
    assert {warning.filename for warning in record} == {__file__}
    with pytest.warns(UserWarning, match="ignore_border default"):
        border = pool_3d(x, (2, 2, 2))
    got = phintys.function([x], [old, full, border])(array)
    check_equal(got[0], reference(array, (2, 3), True))
    check_equal(got[1], reference(array, (2, 3), True, (1, 2), (1, 2)))
    check_equal(got[2], reference(array, (2, 2, 2), False))
    with pytest.warns(UserWarning, match="'st' parameter"):
        assert Pool.out_shape((5, 5), (2, 2), st=(1, 1)) == [4, 4]


@pytest.mark.parametrize("names", [{"ds": (2, 2)}, {"ws": (2, 2), "stride": (1, 1), "st": (1, 1)},
                                   {"ws": (2, 2), "pad": (1, 1), "padding": (1, 1)}])
def test_two_names_for_one_argument(names):
    names = {"ws": (2, 2), "ignore_border": True} | names
    with pytest.raises(ValueError, match="Please provide a value only to '(ws|stride|pad)'"):
        pool_2d(T.matrix(), **names)


def test_missing_size():
    with pytest.raises(ValueError, match="You must provide a tuple value for the window size"):
        pool_2d(T.matrix(), ignore_border=True)


@pytest.mark.parametrize("build, error, message", [
    (lambda: pool_2d(T.vector(), (2, 2), True), NotImplementedError, "pool_2d requires a dimension >= 2"),
    (lambda: pool_3d(T.matrix(), (2, 2, 2), True), NotImplementedError, "pool_3d requires a dimension >= 3"),
    (lambda: Pool(True)(T.vector(), (2, 2)), TypeError, "pools 2 dimensions"),
    (lambda: pool_2d(T.zmatrix(), (2, 2), True), TypeError, "pools real numbers"),
    (lambda: pool_2d(T.matrix(), (2, 2), True, mode="min"), ValueError, "Got min"),
    (lambda: MaxPoolRop(True, "sum"), ValueError, "Got sum"),
    (lambda: AveragePoolGrad(True, "max"), ValueError, "Got max"),
    (lambda: pool_2d(T.matrix(), (2.5, 2), True), TypeError, "Pool downsample parameters must be ints"),
    (lambda: pool_2d(T.matrix(), (2, 2), True, (1.5, 1)), TypeError, "Stride parameters must be ints"),
    (lambda: pool_2d(T.matrix(), (2, 2), True, pad=T.vector()), TypeError, "Padding parameters must be ints"),
    (lambda: pool_2d(T.matrix(), 2, True), TypeError, "must be a vector"),
    (lambda: pool_2d(T.matrix(), (2, 2, 2), True), ValueError, "vector of size 2"),
    (lambda: pool_2d(T.matrix(), (0, 2), True), ValueError, r"window sizes must be at least 1, got ws = \[0, 2\]"),
    (lambda: pool_2d(T.matrix(), (2, 2), True, (1, 0)), ValueError, r"strides must be at least 1, got stride = \[1, 0"),
    (lambda: pool_2d(T.matrix(), (2, 2), True, pad=(-1, 0)), ValueError, "paddings must not be negative"),
    (lambda: pool_2d(T.matrix(), (2, 2), False, pad=(1, 0)), NotImplementedError, "only with ignore_border=True"),
    (lambda: pool_2d(T.matrix(), (2, 2), True, pad=(2, 0)), NotImplementedError, "smaller than the window"),
    (lambda: MaxPoolGrad(True)(T.matrix(), T.vector(), T.matrix(), (2, 2)), TypeError, "same rank"),
    (lambda: Pool.out_shape((3,), (2, 2)), TypeError, "at least 2 dimensions"),
])
def test_errors_while_building(build, error, message):
    with pytest.raises(error, match=message):
        build()


@pytest.mark.parametrize("ignore_border, ws, stride, pad, message", [
    (True, (0, 2), (1, 1), (0, 0), r"window sizes must be at least 1, got ws = \[0, 2\]"),
    (True, (2, 2), (1, 0), (0, 0), r"strides must be at least 1, got stride = \[1, 0\]"),
    (True, (2, 2), (1, 1), (0, -1), r"paddings must not be negative, got pad = \[0, -1\]"),
    (True, (2, 2), (1, 1), (0, 2), r"padding must be smaller than the window: got pad = \[0, 2\] and ws = \[2, 2\]"),
    (False, (2, 2), (1, 1), (0, 1), "padding must be zero when ignore border is False"),
    (True, (2, 2, 2), (1, 1), (0, 0), "ws must be a vector of size 2, got one of size 3"),
    (True, (2, 2), (1,), (0, 0), "stride must be a vector of size 2, got one of size 1"),
])
def test_errors_while_running(ignore_border, ws, stride, pad, message):
    symbols = x, *sizes = T.matrix(), T.lvector(), T.lvector(), T.lvector()
    with pytest.raises(ValueError, match=message):
        phintys.function(symbols, pool_2d(x, *sizes[:1], ignore_border, *sizes[1:]))(values((4, 5)), ws, stride, pad)


def test_windows_without_elements():
    x = T.matrix()
    for mode, fails in zip(MODES, (True, False, False, True)):
        function = phintys.function([x], pool_2d(x, (2, 2), True, pad=(1, 1), mode=mode))
        if fails:
            with pytest.raises(ValueError, match=r"images of shape \(0, 3\) have no elements"):
                function(numpy.zeros((0, 3)))
        else:
            numpy.testing.assert_array_equal(function(numpy.zeros((0, 3))), numpy.zeros((1, 2)))


@pytest.mark.parametrize("op, shapes, message", [
    (MaxPoolGrad(True), [(4, 5), (2, 3), (2, 2)], r"input 1 has shape \(2, 3\), but pooling .* gives \(2, 2\)"),
    (MaxPoolGrad(True), [(4, 5), (2, 2), (3, 2)], r"input 2 has shape \(3, 2\)"),
    (AveragePoolGrad(True), [(4, 5), (2, 3)], r"input 1 has shape \(2, 3\)"),
    (DownsampleFactorMaxGradGrad(True), [(4, 5), (2, 2), (4, 4)], r"input 2 has shape \(4, 4\), but the images have"),
    (MaxPoolRop(True), [(4, 5), (4, 4)], r"input 1 has shape \(4, 4\), but the images have \(4, 5\)"),
])
def test_shapes_that_contradict_each_other(op, shapes, message):
    symbols = [T.matrix() for _ in shapes]
    with pytest.raises(ValueError, match=message):
        phintys.function(symbols, op(*symbols, (2, 2)))(*map(numpy.zeros, shapes))

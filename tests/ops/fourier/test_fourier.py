"""Fourier transforms, against NumPy's and Theano's definitions."""
import numpy
import pytest
from family_cases import LAYOUTS, check_equal, check_gradient, check_r_op, check_shape, check_values, values

import phintys
import phintys.tensor as T
from phintys.ops.fourier import transform
from phintys.tensor import fft

FAST = ("FAST_RUN",)
COMPLEX = ("fft", "ifft", "hfft", "complex_irfft", "fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn")
REAL = ("complex_rfft", "ihfft", "rfft2", "rfftn")
SEVERAL = ("fft2", "ifft2", "fftn", "ifftn", "irfft2", "irfftn", "rfft2", "rfftn")


def numpys(name):
    return getattr(numpy.fft, name.removeprefix("complex_"))


@pytest.mark.parametrize("name", COMPLEX + REAL)
def test_values(name):
    """Each dtype, shape and kind of arguments in one layout; each of them meets all layouts."""
    ours, expected = getattr(fft, name), numpys(name)
    rank = "axes" if name in SEVERAL else "axis"
    layouts = list(LAYOUTS.values())
    dtypes = ("float64", "float32", "int32") + (("complex128", "complex64") if name in COMPLEX else ())
    for row, dtype in enumerate(dtypes):
        for column, shape in enumerate(((4, 5), (2, 1, 6), (3, 16))):
            array = values(shape, dtype)
            axes = {"axes": (1, 0)} if rank == "axes" else {"axis": 0}
            # A line of one element has no inverse of default length.
            lengths = {"s": (3, 7)} if rank == "axes" else {"n": 7}
            every = ({}, {"norm": "ortho"}, {"norm": "forward", **axes}, {**axes, **lengths})
            for number, options in enumerate(every, start=row + column):
                check_values(lambda x: ours(x, **options), lambda a: expected(a, **options),
                             [layouts[number % len(layouts)](array)],
                             modes=FAST if dtype != "float64" or options else ("FAST_RUN", "FAST_COMPILE"))


def test_no_elements_and_one():
    for shape in ((0, 4), (1,), (1, 1)):
        array = values(shape)
        check_values(fft.fft, numpy.fft.fft, [array])
        check_values(fft.complex_rfft, numpy.fft.rfft, [array])
    check_values(lambda x: fft.fft(x, 3), lambda a: numpy.zeros(3, complex), [values(0)])
    check_values(lambda x: fft.complex_irfft(x, 3), lambda a: numpy.zeros(3), [values(0)])


def both_parts(transformed):
    return T.stack([T.real(transformed), T.imag(transformed)])


# Real expressions of real operands; complex operands are made of two.
DERIVATIVES = {
    "fft": (lambda x, y: both_parts(fft.fft(T.complex(x, y))), 2),
    "fft, axis": (lambda x, y: both_parts(fft.fft(T.complex(x, y), axis=0, norm="ortho")), 2),
    "ifft, cut": (lambda x, y: both_parts(fft.ifft(T.complex(x, y), 3)), 2),
    "ifft, padded": (lambda x, y: both_parts(fft.ifft(T.complex(x, y), 9, axis=0)), 2),
    "rfft": (lambda x: both_parts(fft.complex_rfft(x)), 1),
    "rfft, even": (lambda x: both_parts(fft.complex_rfft(x, axis=0)), 1),
    "rfft, cut": (lambda x: both_parts(fft.complex_rfft(x, 3)), 1),
    "rfft, padded": (lambda x: both_parts(fft.complex_rfft(x, 8)), 1),
    "irfft": (lambda x, y: fft.complex_irfft(T.complex(x, y)), 2),
    "irfft, odd": (lambda x, y: fft.complex_irfft(T.complex(x, y), 7), 2),
    "irfft, cut": (lambda x, y: fft.complex_irfft(T.complex(x, y), 4, axis=0), 2),
    "irfft, padded": (lambda x, y: fft.complex_irfft(T.complex(x, y), 12), 2),
    "hfft": (lambda x, y: fft.hfft(T.complex(x, y)), 2), "ihfft": (lambda x: both_parts(fft.ihfft(x)), 1),
    "rfftn": (lambda x: both_parts(fft.rfftn(x)), 1), "irfft2": (lambda x, y: fft.irfft2(T.complex(x, y)), 2),
    "fftshift": (lambda x: fft.fftshift(x), 1), "ifftshift": (lambda x: fft.ifftshift(x, 1), 1),
    "Theano's rfft": (fft.rfft, 1), "Theano's rfft, ortho": (lambda x: fft.rfft(x, "ortho"), 1),
    "Theano's irfft": (lambda x, y: fft.irfft(T.stack([x, y], axis=-1)), 2),
    "Theano's irfft, odd": (lambda x, y: fft.irfft(T.stack([x, y], axis=-1), "no_norm", is_odd=True), 2),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives(name):
    build, count = DERIVATIVES[name]
    arrays = [values((4, 5), seed=seed) for seed in range(count)]
    check_gradient(build, arrays)
    check_r_op(build, arrays)
    check_shape(build, arrays)
    check_gradient(lambda *x: T.grad((build(*x) ** 3).sum(), x[0]), arrays)


def pairs(transformed):
    return numpy.stack([transformed.real, transformed.imag], axis=-1)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(2, 6), (1, 5), (3, 4, 6), (2, 3, 5)])
@pytest.mark.parametrize("norm", [None, "ortho", "no_norm"])
def test_theanos_transforms(dtype, shape, norm):
    array = values(shape, dtype)
    axes, size = range(1, len(shape)), numpy.prod(shape[1:])
    scale = {None: 1, "ortho": size ** 0.5, "no_norm": 1}[norm]
    back = {None: 1, "ortho": size ** 0.5, "no_norm": size}[norm]
    for layout in LAYOUTS.values():
        check_values(lambda x: fft.rfft(x, norm),
                     lambda a: pairs(numpy.fft.rfftn(a, axes=axes) / dtype_of(array, scale)), [layout(array)],
                     modes=FAST)
        spectrum = pairs(numpy.fft.rfftn(array, axes=axes)).astype(dtype)
        check_values(lambda x: fft.irfft(x, norm, is_odd=shape[-1] % 2 == 1), lambda a: array * dtype_of(array, back),
                     [layout(spectrum)], modes=FAST)


def dtype_of(array, number):
    return numpy.asarray(number, array.dtype)


def test_lengths_may_be_symbolic():
    x, n = T.zmatrix(), T.lscalar()
    f = phintys.function([x, n], [fft.fft(x, n), fft.complex_irfft(x, n, axis=0), fft.fft(x, n).shape])
    array = values((3, 4), "complex128")
    for length in (1, 3, 8):
        found, back, shape = f(array, length)
        check_equal(found, numpy.fft.fft(array, length))
        check_equal(back, numpy.fft.irfft(array, length, axis=0))
        assert shape.tolist() == [3, length]
    with pytest.raises(ValueError, match=r"Invalid number of FFT data points \(0\)"):
        f(array, 0)


def test_long_lines_and_many():
    for shape in ((1 << 17,), (700, 300)):
        array = values(shape, "complex128")
        check_equal(phintys.function([], fft.fft(array))(), numpy.fft.fft(array))
        check_equal(phintys.function([], fft.fftn(array))(), numpy.fft.fftn(array))


def test_frequencies():
    for n in (1, 2, 7, 8):
        check_equal(fft.fftfreq(n, 0.5).eval(), numpy.fft.fftfreq(n, 0.5))
        check_equal(fft.rfftfreq(n).eval(), numpy.fft.rfftfreq(n))
        array = values((n, 3))
        check_values(fft.fftshift, numpy.fft.fftshift, [array])
        check_values(lambda x: fft.ifftshift(x, (0,)), lambda a: numpy.fft.ifftshift(a, (0,)), [array])


def test_transforms_work_in_place():
    x = T.zmatrix()
    f = phintys.function([x], fft.fft(fft.ifft(x * 2), axis=0))
    inplace = [node.op.inplace for node in f.maker.fgraph.toposort()
               if isinstance(node.op, transform.FourierTransform)]
    assert inplace == [True, True]
    array = values((4, 6), "complex128")
    check_equal(f(array), numpy.fft.fft(numpy.fft.ifft(array * 2), axis=0))


def test_without_numpys_ufuncs(monkeypatch):
    monkeypatch.setattr(transform, "has_loops", lambda: False)
    array = values((3, 6))
    for name, wanted in (("fft", numpy.fft.fft(array)), ("ifft", numpy.fft.ifft(array)),
                         ("complex_rfft", numpy.fft.rfft(array)), ("complex_irfft", numpy.fft.irfft(array))):
        check_equal(phintys.function([], getattr(fft, name)(array))(), wanted)


@pytest.mark.parametrize("call, error, message", [
    (lambda x: fft.fft(x, axis=2), ValueError, "fft: axis 2 is out of bounds for .* with 2 dimensions"),
    (lambda x: fft.fft(x, 2.5), TypeError, "length must be an integer"),
    (lambda x: fft.fft(x, norm="no_norm"), ValueError, "Invalid norm value no_norm"),
    (lambda x: fft.complex_rfft(T.zvector()), TypeError, "rfft: the input must be real"),
    (lambda x: fft.fftn(x, (3,), (0, 1)), ValueError, "Shape and axes have different lengths"),
    (lambda x: fft.rfftn(x, axes=()), ValueError, "at least one axis"),
    (lambda x: fft.rfft(x, "backward"), ValueError, "Invalid value backward for norm"),
    (lambda x: fft.rfft(x[0]), TypeError, "dimension >= 2"), (lambda x: fft.irfft(x), TypeError, "real/imag parts"),
    (lambda x: fft.rfft(T.zmatrix()), TypeError, "rfft: the input must be real"),
    (lambda x: fft.irfft(T.dtensor3(), is_odd=2), ValueError, "Invalid value 2 for is_odd"),
    (lambda x: transform.FourierTransform("sideways", 0), ValueError, "kind must be one of"),
    (lambda x: transform.FourierTransform("forward", 0)(x, 3, 1.0), TypeError, "takes complex64 or complex128"),
    (lambda x: transform.FourierTransform("real", 2)(x, 3, 1.0), ValueError, "axis 2 is out of bounds"),
    (lambda x: transform.FourierTransform("real", 0)(x, 3.5, 1.0), TypeError, "must be a 0-d integer"),
])
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(T.dmatrix())


def test_theanos_op():
    from phintys.tensor.fourier import Fourier
    from phintys.tensor.fourier import fft as transform_along
    array, x, axis, n = values((8, 6)), T.dmatrix(), T.iscalar(), T.iscalar()
    assert isinstance(transform_along, Fourier) and transform_along(T.fmatrix()).dtype == "complex128"
    f = phintys.function([x], [transform_along(x, 10, 0), transform_along(x), transform_along(x, None, 0)])
    numpys_own = numpy.fft.fft(array, 10, 0), numpy.fft.fft(array), numpy.fft.fft(array, axis=0)
    for found, wanted in zip(f(array), numpys_own):
        check_equal(found, wanted)
    outputs = [transform_along(x, n, axis), transform_along(x, None, axis)]
    g = phintys.function([x, n, axis], [*outputs, *[output.shape for output in outputs]])
    for number in (0, 1):
        padded, whole, *shapes = g(array, 5, number)
        check_equal(padded, numpy.fft.fft(array, 5, number))
        check_equal(whole, numpy.fft.fft(array, axis=number))
        assert [tuple(shape) for shape in shapes] == [padded.shape, whole.shape]
    with pytest.raises(ValueError, match="axis 2 is out of bounds"):
        g(array, 5, 2)
    with pytest.raises(NotImplementedError, match="a constant number"):
        phintys.grad(abs(outputs[0]).sum(), x)
    check_gradient(lambda x: abs(transform_along(x, 10, 0)), [array])
    node = transform_along.make_node(x, n, 0)
    back, _, _ = transform_along.grad(node.inputs, [node.outputs[0].zeros_like() + 1])
    check_equal(phintys.function([x, n], back)(array, 6), numpy.eye(8)[:, :1] * numpy.full(6, 6.0))


@pytest.mark.parametrize("arguments, message", [
    ((1.0,), "not a scalar"), (([1.0], 2.5), "length of the transformed axis"), (([1.0], 0), "strictly positive"),
    (([1.0], 3, 1.5), "index of the transformed axis"), (([1.0], 3, 1), "smaller than dimension of array, 1")])
def test_theanos_op_refuses(arguments, message):
    with pytest.raises(TypeError, match=message):
        T.fourier.fft(*arguments)


def test_theanos_ops_with_parts():
    array, x, s = values((2, 5, 6)), T.dtensor3(), T.lvector()
    half, padded = fft.rfft_op(x), fft.rfft_op(x, s)
    f = phintys.function([x, s], [half, padded, fft.irfft_op(half), fft.irfft_op(padded, s)])
    spectrum, longer, back, rest = f(array, [4, 7])
    check_equal(spectrum[..., 0] + 1j * spectrum[..., 1], numpy.fft.rfftn(array, axes=(1, 2)))
    check_equal(longer[..., 0] + 1j * longer[..., 1], numpy.fft.rfftn(array, (4, 7), axes=(1, 2)))
    check_equal(back, array * 30)
    check_equal(rest, numpy.pad(array[:, :4], ((0, 0), (0, 0), (0, 1))) * 28)
    assert isinstance(fft.rfft_op, fft.RFFTOp) and isinstance(fft.irfft_op, fft.IRFFTOp)
    for build, error in ((lambda: fft.rfft_op(x[0, 0]), "dimension >= 2"), (lambda: fft.irfft_op(x[0]), ">= 3"),
                         (lambda: fft.rfft_op(x, [1.5, 2.0]), "must be of type integer")):
        with pytest.raises(TypeError, match=error):
            build()


def test_the_transform_along_a_known_axis_is_computed_from_constants():
    """``perform`` of `FourierAlong` runs the kernel, not that of `Fourier`, whose third input is the axis."""
    transformed = T.fourier.fft(T.constant([[1.0, 2.0], [3.0, 5.0]]), axis=0)
    with phintys.change_flags(on_opt_error="raise"):
        folded = phintys.function([], transformed)
    assert "Fourier" not in str(folded.maker.fgraph)
    numpy.testing.assert_allclose(folded(), [[4, 7], [-2, -3]])

"""The array API's namespace: its names, values through NumPy, and code that is written for it.

The public suite of the standard runs over ``tests/support/evaluated_arrays.py``; what it found is here.
"""
import types

import numpy
import pytest
from evaluated_arrays import Array, computed

import phintys
import phintys.tensor as T
from phintys import array_api as xp


def test_the_namespace_of_a_variable():
    x = T.dmatrix("x")
    assert x.__array_namespace__() is xp and x.__array_namespace__(api_version="2023.12") is xp
    assert isinstance(xp, types.ModuleType) and xp.__array_api_version__ == "2025.12"
    with pytest.raises(ValueError, match="api_version must be None or one of 2021.12.*got '1999.1'"):
        x.__array_namespace__(api_version="1999.1")
    assert (x.device, x.dtype == xp.float64, x.to_device("cpu") is x) == ("cpu", True, True)
    with pytest.raises(ValueError, match="device must be 'cpu', got 'cuda'"):
        x.to_device("cuda")
    assert all([hasattr(xp, name) for name in xp.__all__])


def standard_deviation(x):
    """Code of a library that knows no array library."""
    space = x.__array_namespace__()
    center = space.mean(x, axis=-1, keepdims=True)
    scale = space.sqrt(space.sum((x - center) ** 2, axis=-1) / x.shape[-1])
    return space.where(scale > 0.5, scale, space.asarray(0.0, dtype=x.dtype)), space.linalg.vector_norm(x, ord=1)


def test_code_for_the_standard_builds_graphs():
    x = T.dmatrix("x")
    values = numpy.array([[1.0, 2.0, 4.0], [1.0, 1.0, 1.0]])
    f = phintys.function([x], [*standard_deviation(x), phintys.grad(standard_deviation(x)[0].sum(), x)])
    found, norm, slope = f(values)
    numpy.testing.assert_allclose(found, [values[0].std(), 0])
    assert (norm, slope.shape) == (10, (2, 3))
    assert [part.value.tolist() for part in computed(standard_deviation, Array(values))] == [found.tolist(), 10]


A, B, V = [numpy.random.RandomState(0).normal(size=shape) for shape in ((3, 3), (3, 3), (3,))]
# Calls as text; NumPy has the same functions under the same names.
CALLS = """abs(a) acos(a*0.1) atan2(a,b) ceil(a) clip(a,-1,1) hypot(a,3) logaddexp(a,b) maximum(a,0) pow(a,2)
    sign(a+1j*b) sign(a*0j) round(a) floor(i) trunc(i) remainder(i,2) bitwise_invert(i) bitwise_left_shift(i,i%3)
    logical_and(a>0,b>0) nextafter(a,b) copysign(a,b) signbit(a) not_equal(i,i) reciprocal(a) expm1(a) isfinite(a/0)
    all(a>0) any(a>0,axis=1) argmax(a,axis=0) argsort(i,axis=0,stable=True) concat([a,b],axis=1)
    concat([a,b],axis=None) count_nonzero(i,axis=0) cumulative_sum(v,include_initial=True) cumulative_prod(a,axis=1)
    diff(a,axis=0) expand_dims(a,axis=1) flip(a) matmul(a,b) vecdot(a,b,axis=0) matrix_transpose(a)
    tensordot(a,b,axes=1) max(a) mean(a) moveaxis(a,0,1) permute_dims(a,(1,0)) prod(i) repeat(v,2) reshape(a,(9,))
    roll(a,1,axis=1) searchsorted(s,v) sort(v) squeeze(expand_dims(a,axis=1),axis=1) stack([a,b])
    std(a,correction=1) sum(i,dtype='float32') take(a,i[0]%3,axis=1) tile(a,(2,1)) take_along_axis(a,i%3,axis=0)
    tril(a) triu(a,k=1) sort(unique_values(i)) unique_inverse(i) var(a,axis=0,correction=1) where(a>0,a,b)
    isin(i,[1,2]) broadcast_to(v,(3,3)) astype(a,'float32') nonzero(a>0) meshgrid(v,v,indexing='ij')
    linalg.cholesky(a@a.T) linalg.cross(a,b) linalg.det(a) linalg.inv(a) linalg.matrix_norm(a)
    linalg.matrix_power(a,2) linalg.matrix_rank(a) linalg.outer(v,v) linalg.pinv(a) linalg.slogdet(a)
    linalg.solve(a,v) linalg.svdvals(a) linalg.trace(a) linalg.vector_norm(a,axis=0) linalg.diagonal(a) fft.fft(v)
    fft.irfft(fft.rfft(v),n=3) fft.fftfreq(5) fft.fftshift(v) zeros((2,3)) ones(3,dtype='int8') full((2,),True)
    full((2,),1.5) eye(3,k=1) arange(3) arange(0.,1.,.3) linspace(0,1,5) linspace(0.0,1.0,3,endpoint=False)
    empty((0,2)) zeros_like(i) ones_like(a,dtype='bool') full_like(i,7) full_like(a>0,False) asarray([[1,2],[3,4]])
    asarray(3.5)""".split()


@pytest.mark.parametrize("call", CALLS)
def test_values_are_those_of_numpy(call):
    values = {"a": A, "b": B, "v": V, "i": numpy.array([[3, 1, 2], [0, 1, 7], [5, 5, 2]]), "s": numpy.sort(V)}
    variables = {name: T.as_tensor_variable(value).type() for name, value in values.items()}
    with numpy.errstate(all="ignore"):
        wanted = eval(call, {**vars(numpy), "fft": numpy.fft, "linalg": numpy.linalg}, values)
    found = eval(call, {**vars(xp)}, variables)
    found, wanted = [list(part) if isinstance(part, (tuple, list)) else [part] for part in (found, wanted)]
    f = phintys.function([*variables.values()], found, on_unused_input="ignore", mode="FAST_COMPILE")
    for got, want in zip(f(*values.values()), wanted, strict=True):
        want = numpy.asarray(want)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        if not call.startswith("empty"):
            numpy.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


def test_defaults_that_numpy_does_not_have():
    """Equal elements keep their order; singular values are small by the lengths."""
    i, a = T.TensorType("uint8", (False,))("i"), T.dmatrix("a")
    order, values = numpy.zeros(40, "uint8"), numpy.diag([1.0, 2.0 ** -50])
    order[::2] = 1
    found = phintys.function([i, a], [xp.argsort(i), xp.argsort(i, descending=True), xp.linalg.pinv(a)])(order, values)
    assert found[0].tolist() == [*range(1, 40, 2), *range(0, 40, 2)]
    assert found[1].tolist() == [*range(0, 40, 2), *range(1, 40, 2)]
    numpy.testing.assert_allclose(found[2], numpy.diag([1.0, 2.0 ** 50]))
    slope = phintys.function([a], T.grad(xp.linalg.pinv(a).sum(), a))(numpy.eye(2))
    numpy.testing.assert_allclose(slope, -numpy.ones((2, 2)))                  # also where singular values are equal


def test_results_have_names():
    x, v = T.dmatrix("x"), T.lvector("v")
    assert xp.linalg.slogdet(x)._fields == ("sign", "logabsdet") and xp.linalg.qr(x)._fields == ("Q", "R")
    assert xp.linalg.svd(x)._fields == ("U", "S", "Vh")
    assert xp.unique_all(v)._fields == ("values", "indices", "inverse_indices", "counts")


def test_numbers_have_the_dtype_of_arrays():
    x, i = T.fvector("x"), T.bvector("i")
    assert xp.add(x, 1.1).dtype == xp.multiply(1.1, x).dtype == xp.where(x > 0, x, 1.1).dtype == "float32"
    assert xp.add(i, 100).dtype == xp.clip(i, 0, 5).dtype == "int8" and xp.mean(x).dtype == "float32"


def test_dtypes():
    x = T.fvector("x")
    assert xp.result_type(x, xp.float64) == "float64" and xp.result_type(x, 1.0) == "float32"
    assert xp.can_cast(x, xp.float64) and not xp.can_cast(xp.float64, xp.int8)
    assert xp.isdtype(x.dtype, "real floating") and xp.isdtype(xp.int8, ("bool", "integral"))
    assert not xp.isdtype(xp.uint8, xp.int8) and xp.isdtype(numpy.dtype("bool"), "bool")
    with pytest.raises(ValueError, match="kind must be a dtype or one of bool, .* got 'real'"):
        xp.isdtype(xp.int8, "real")
    assert (xp.finfo(x).bits, xp.finfo("complex128").dtype, xp.iinfo(xp.int8).max) == (32, "float64", 127)
    assert xp.finfo(x).eps == numpy.finfo("float32").eps
    information = xp.__array_namespace_info__()
    assert information.dtypes(kind="signed integer") == {name: name for name in ("int8", "int16", "int32", "int64")}
    assert information.default_dtypes()["indexing"] == "int64" and information.devices() == ("cpu",)
    assert information.default_device() == "cpu" and information.capabilities()["boolean indexing"]


def test_what_is_refused():
    x = T.dmatrix("x")
    with pytest.raises(ValueError, match="device must be None or 'cpu', got 'gpu'"):
        xp.zeros(3, device="gpu")
    with pytest.raises(TypeError, match="does not take out"):
        xp.sum(x, out=x)
    with pytest.raises(ValueError, match="mT: .* has 1 dimensions"):
        x[0].mT
    assert x.mT.type.ndim == 2


def test_arrays_of_other_libraries_become_constants():
    assert xp.from_dlpack(A).eval().tolist() == A.tolist()
    assert (xp.asarray(A) + 1).eval().tolist() == (A + 1).tolist()


def test_a_function_that_compares_lengths_is_refused():
    """SciPy's `simpson` takes the way of an odd length for every symbolic one, and would be wrong."""
    program = {"__name__": "scipy.integrate._quadrature"}
    exec("def simpson(x):\n    return x.__array_namespace__()\ndef trapezoid(x):\n    return x.__array_namespace__()",
         program)
    x = T.dvector("x")
    with pytest.raises(TypeError, match="simpson of SciPy compares lengths, which are not known yet"):
        program["simpson"](x)
    assert program["trapezoid"](x).__name__ == "phintys.array_api"

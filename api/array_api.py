"""The array API standard for symbolic tensors: the namespace that ``x.__array_namespace__()`` returns.

Code that is written for the standard builds graphs with it: ``xp = x.__array_namespace__(); xp.sum(xp.exp(x))``. The
names, arguments and dtypes are the standard's, which are also those of NumPy 2: most functions are rows of NumPy's
protocol (``numpy_names.py``). Dtypes are their names, ``xp.float64 == "float64"``, as everywhere in phintys.

What a graph cannot have differs from the standard: variables have no truth value and no elements that can be assigned,
``x.shape`` is symbolic, and a dimension is repeated only if its type says that its length is 1.
"""
from __future__ import annotations

from inspect import signature
from sys import _getframe, modules
from types import SimpleNamespace
from typing import Any

import numpy

from phintys import numpy_namesakes as namesakes
from phintys.graph.variable import Variable
from phintys.numpy_namesakes import like, tensor
from phintys.numpy_protocol import row_applied
from phintys.ops.operators import UFUNCS
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import discrete_dtypes, in_bounds

__array_api_version__ = "2025.12"
VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
e, pi, inf, nan, newaxis = numpy.e, numpy.pi, numpy.inf, numpy.nan, None

KINDS = {"bool": ("bool",), "signed integer": ("int8", "int16", "int32", "int64"),
         "unsigned integer": ("uint8", "uint16", "uint32", "uint64"),
         "real floating": ("float32", "float64"), "complex floating": ("complex64", "complex128")}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]
DTYPES = KINDS["bool"] + KINDS["numeric"]
globals().update({dtype: dtype for dtype in DTYPES})

# Functions of the tensor namespace that work element by element.
ELEMENTWISE = """abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_invert bitwise_left_shift bitwise_or
    bitwise_right_shift bitwise_xor conj copysign cos cosh divide equal exp expm1 floor_divide greater greater_equal
    hypot imag isfinite isinf isnan less less_equal log log10 log1p log2 logaddexp logical_and logical_not logical_or
    logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder signbit
    sin sinh sqrt square subtract tan tanh"""
# Rows of NumPy's protocol: the standard's arguments → its functions. What comes before "/" is given by position.
ROWS = {
    "x": "matrix_transpose nonzero round unique_all unique_counts unique_inverse unique_values",
    "x, /, *, axis=None, keepdims=False": "all any argmax argmin count_nonzero max mean min",
    "x, /, *, axis=None, dtype=None, keepdims=False": "prod sum",
    "x, /, *, axis=None, correction=0.0, keepdims=False": "std var",
    "x, /, *, axis=None, dtype=None, include_initial=False": "cumulative_prod cumulative_sum",
    "x, /, *, axis=-1, descending=False, stable=True": "argsort sort",
    "x, /, *, axis=-1, n=1, prepend=None, append=None": "diff", "x, /, *, axis=None": "flip",
    "x, /, *, axis=0": "unstack", "x, /, *, k=0": "tril triu", "x, /, min=None, max=None": "clip",
    "x, /, axis": "expand_dims", "x, /, axis=None": "squeeze", "x, /, axes": "permute_dims",
    "x, /, shape": "broadcast_to", "x, /, shape, *, copy=None": "reshape", "x, /, shift, *, axis=None": "roll",
    "x, source, destination, /": "moveaxis",
    "x, repeats, /, *, axis=None": "repeat", "x, repetitions, /": "tile", "x, indices, /, *, axis=None": "take",
    "x, indices, /, *, axis=-1": "take_along_axis", "x1, x2, /, *, axes=2": "tensordot",
    "x1, x2, /, *, side='left', sorter=None": "searchsorted", "x1, x2, /, *, invert=False": "isin",
    "condition, x1, x2, /": "where", "arrays, /, *, axis=0": "concat stack", "*arrays": "broadcast_arrays",
    "*arrays, indexing='xy'": "meshgrid",
}
# Defaults that NumPy's functions do not have.
DEFAULTS = {"argsort": {"stable": True}, "sort": {"stable": True}, "pinv": {"rtol": None}}
OTHER_ROWS = {"concat": "concatenate", "permute_dims": "transpose"}      # NumPy's names of these
LINEAR = {
    "x": "det eig eigh eigvals eigvalsh inv matrix_transpose slogdet svdvals", "x, /, *, upper=False": "cholesky",
    "x, /, *, offset=0": "diagonal", "x, /, *, offset=0, dtype=None": "trace", "x, n, /": "matrix_power",
    "x, /, *, keepdims=False, ord='fro'": "matrix_norm", "x, /, *, axis=None, keepdims=False, ord=2": "vector_norm",
    "x, /, *, rtol=None": "matrix_rank pinv", "x, /, *, mode='reduced'": "qr", "x, /, *, full_matrices=True": "svd",
    "x1, x2, /": "outer solve", "x1, x2, /, *, axis=-1": "cross vecdot", "x1, x2, /, *, axes=2": "tensordot",
}
FOURIER = {"x, /, *, n=None, axis=-1, norm='backward'": "fft ifft rfft irfft hfft ihfft",
           "x, /, *, s=None, axes=None, norm='backward'": "fftn ifftn rfftn irfftn",
           "x, /, *, axes=None": "fftshift ifftshift"}


# ---- arguments and results -------------------------------------------------------------------------------------------
def _operands(operands):
    """Operands of one function: Python's numbers get the dtype of the others, if their kind allows it."""
    dtypes = [as_tensor_variable(operand).type.dtype for operand in operands if hasattr(operand, "dtype")]
    return [like(in_bounds(operand, dtypes[0]), dtypes[0]) for operand in operands] if dtypes else operands


def _on_host(device):
    """Refuse devices but the host's, whose name is the only one that graphs have."""
    if device not in (None, "cpu"):
        raise ValueError(f"phintys.array_api: device must be None or 'cpu', got {device!r}; see x.transfer")


def _named(function, name, counterpart):
    """``function`` with the name and the documentation that it has in this namespace."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"The array API's ``{name}``, as ``{counterpart}``."
    return function


def _elementwise(name):
    def function(*operands: Any, **options: Any) -> Any:
        return getattr(tensor(), name)(*_operands(operands), **options)
    return _named(function, name, f"phintys.tensor.{name}")


def _row(name, row, arguments):
    def function(*arguments: Any, **options: Any) -> Any:
        arguments = [as_tensor_variable(part) if isinstance(part, (numpy.ndarray, numpy.generic)) else part
                     for part in arguments]
        return row_applied(row, arguments, {**DEFAULTS.get(name, {}), **options})
    function.__signature__ = signature(eval(f"lambda {arguments}: None"))        # the text is a row of this file
    return _named(function, name, f"numpy.{row}")


def _rows(table, prefix=""):
    return {name: _row(name, prefix + OTHER_ROWS.get(name, name), arguments)
            for arguments, names in table.items() for name in names.split()}


globals().update({name: _elementwise(name) for name in ELEMENTWISE.split()})
globals().update(_rows(ROWS))


def _of_whole_numbers(name):
    def function(x: Any) -> Any:
        x = as_tensor_variable(x)
        return x if x.type.dtype in discrete_dtypes else getattr(tensor(), name)(x)
    return _named(function, name, f"numpy.{name}")


ceil, floor, trunc = [_of_whole_numbers(name) for name in ("ceil", "floor", "trunc")]


def sign(x: Any) -> Any:
    """The sign; of complex numbers ``x / abs(x)``."""
    return UFUNCS["sign"](as_tensor_variable(x))


def matmul(x1: Any, x2: Any, /) -> Any:
    """The matrix product, as ``numpy.matmul``."""
    return tensor().matmul(x1, x2)


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The products of vectors along an axis, as ``numpy.vecdot``."""
    return tensor().vecdot(x1, x2, axis=axis)


# ---- new tensors -----------------------------------------------------------------------------------------------------
def asarray(obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Any:
    """A tensor of what is given; a variable stays one, and a list may have variables."""
    _on_host(device)
    x = as_tensor_variable(obj) if isinstance(obj, (Variable, list, tuple)) else constant(numpy.asarray(obj))
    return x if dtype is None else astype(x, dtype)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """A constant of an array of another library."""
    _on_host(device)
    return constant(numpy.from_dlpack(x))


def arange(start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None) -> Any:
    """Numbers of equal distances, as ``numpy.arange``."""
    _on_host(device)
    return namesakes.arange(start, stop, step, name_of(dtype))


def _filled(name):
    def function(shape: Any, *, dtype: Any = None, device: Any = None) -> Any:
        _on_host(device)
        return getattr(tensor(), name)(shape, dtype=name_of(dtype) or "float64")
    return _named(function, name, f"numpy.{name}")


def _filled_like(name):
    def function(x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
        _on_host(device)
        return getattr(tensor(), name)(as_tensor_variable(x), dtype=name_of(dtype))
    return _named(function, f"{name}", f"numpy.{name}")


empty, ones, zeros = [_filled(name) for name in ("empty", "ones", "zeros")]
empty_like, ones_like, zeros_like = [_filled_like(name) for name in ("empty_like", "ones_like", "zeros_like")]


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A tensor of equal numbers, as ``numpy.full``."""
    _on_host(device)
    value = as_tensor_variable(fill_value if hasattr(fill_value, "dtype") else numpy.asarray(fill_value))
    return tensor().full(shape, value if dtype is None else astype(value, dtype))


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """A tensor of equal numbers with the shape of another, as ``numpy.full_like``."""
    _on_host(device)
    x = as_tensor_variable(x)
    fill_value = fill_value if hasattr(fill_value, "dtype") else numpy.asarray(fill_value)
    return tensor().full_like(x, fill_value, dtype=name_of(dtype) or x.type.dtype)


def eye(n_rows: Any, n_cols: Any = None, /, *, k: int = 0, dtype: Any = None, device: Any = None) -> Any:
    """Ones on a diagonal, as ``numpy.eye``."""
    _on_host(device)
    k = sorted((-2 ** 62, k, 2 ** 62))[1] if isinstance(k, int) else k       # numbers beyond 64 bits have no diagonal
    return tensor().eye(n_rows, n_cols, k, dtype=name_of(dtype) or "float64")


def linspace(start: Any, stop: Any, /, num: int, *, dtype: Any = None, device: Any = None,
             endpoint: bool = True) -> Any:
    """Numbers of equal distances, as ``numpy.linspace``."""
    _on_host(device)
    start, stop = [end if hasattr(end, "dtype") else numpy.asarray(end, "float64") for end in (start, stop)]
    return tensor().linspace(start, stop, num, endpoint=endpoint, dtype=name_of(dtype))


# ---- dtypes ----------------------------------------------------------------------------------------------------------
def name_of(dtype: Any) -> Any:
    """The name of a dtype, which may be given as NumPy's object; None stays None."""
    return dtype if dtype is None or isinstance(dtype, str) else numpy.dtype(dtype).name


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """``x`` in another dtype."""
    _on_host(device)
    return tensor().cast(as_tensor_variable(x), name_of(dtype))


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether a dtype, or that of a tensor, becomes another one without loss, as ``numpy.can_cast``."""
    return numpy.can_cast(name_of(getattr(from_, "dtype", from_)), name_of(to))


def result_type(*arrays_and_dtypes: Any) -> str:
    """The dtype of a result of these tensors, dtypes and Python's numbers, as ``numpy.result_type``."""
    return numpy.result_type(*[
        part if isinstance(part, (int, float, complex)) else numpy.dtype(name_of(getattr(part, "dtype", part)))
        for part in arrays_and_dtypes]).name


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind, such as "real floating", or of one of several."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    for one in kinds:
        if isinstance(one, str) and one not in KINDS and one not in DTYPES:
            raise ValueError(f"isdtype: kind must be a dtype or one of {', '.join(KINDS)}, got {one!r}")
    return name_of(dtype) in [member for one in kinds for member in KINDS.get(name_of(one), (name_of(one),))]


def finfo(type: Any, /) -> Any:
    """The limits of a floating-point dtype, or of that of a tensor."""
    dtype = name_of(getattr(type, "dtype", type))
    limits = numpy.finfo(dtype)
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype, dtype)
    return SimpleNamespace(bits=limits.bits, dtype=real, **{
        part: float(getattr(limits, part)) for part in ("eps", "max", "min", "smallest_normal")})


def iinfo(type: Any, /) -> Any:
    """The limits of an integer dtype, or of that of a tensor."""
    limits = numpy.iinfo(name_of(getattr(type, "dtype", type)))
    return SimpleNamespace(bits=limits.bits, dtype=limits.dtype.name, max=int(limits.max), min=int(limits.min))


def broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    """The shape to which shapes of known lengths are broadcast."""
    return numpy.broadcast_shapes(*shapes)


# ---- what the namespace says of itself -------------------------------------------------------------------------------
class _Information:
    """The standard's questions about the namespace."""

    def capabilities(self):
        """What code may rely on."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self):
        """The only device of graphs."""
        return "cpu"

    def devices(self):
        """All devices of graphs."""
        return "cpu",

    def default_dtypes(self, *, device=None):
        """The dtypes of tensors that are made from Python's numbers."""
        _on_host(device)
        return {"real floating": "float64", "complex floating": "complex128", "integral": "int64",
                "indexing": "int64"}

    def dtypes(self, *, device=None, kind=None):
        """The dtypes, of a kind or of several."""
        _on_host(device)
        return {dtype: dtype for dtype in DTYPES if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__() -> Any:
    """An object that answers the standard's questions about this namespace."""
    return _Information()


# ---- extensions ------------------------------------------------------------------------------------------------------
linalg = SimpleNamespace(matmul=matmul, **_rows(LINEAR, "linalg."))


def _frequencies(name):
    def function(n: int, /, *, d: float = 1.0, dtype: Any = None, device: Any = None) -> Any:
        _on_host(device)
        return constant(getattr(numpy.fft, name)(n, d).astype(name_of(dtype) or "float64"))
    return _named(function, name, f"numpy.fft.{name}")


fft = SimpleNamespace(**_rows(FOURIER, "fft."), **{name: _frequencies(name) for name in ("fftfreq", "rfftfreq")})

# The standard's names.
__all__ = sorted([*ELEMENTWISE.split(), *" ".join(ROWS.values()).split(), *DTYPES, *"""ceil floor trunc sign matmul
    vecdot asarray from_dlpack arange empty ones zeros empty_like ones_like zeros_like full full_like eye linspace
    astype can_cast result_type isdtype finfo iinfo broadcast_shapes linalg fft e pi inf nan newaxis""".split()])


# Functions of SciPy that compare lengths by ``==``, which is False for symbols: their results would be wrong.
COMPARE_LENGTHS = {"simpson": "scipy.integrate."}
DEEPEST = 6                                         # of the calls between such a function and the namespace


def matching(api_version: str | None) -> Any:
    """This namespace, if it has the version of the standard.

    Raises
    ------
    ValueError
        For another version.
    """
    if api_version not in (None, *VERSIONS):
        raise ValueError(f"__array_namespace__: api_version must be None or one of {', '.join(VERSIONS)}, got "
                         f"{api_version!r}")
    return modules[__name__]


def of_symbols(api_version: str | None) -> Any:
    """This namespace for a variable whose lengths are not known.

    Raises
    ------
    ValueError
        See `matching`.
    TypeError
        For a function that compares lengths.
    """
    asking = _getframe(1)
    for _ in range(DEEPEST):
        name, module = asking.f_code.co_name, asking.f_globals.get("__name__", "")
        if name in COMPARE_LENGTHS and module.startswith(COMPARE_LENGTHS[name]):
            raise TypeError(f"{name} of SciPy compares lengths, which are not known yet; call it by "
                            f"phintys.array_objects.traced({name}, x), with x of a type of known shape")
        asking = asking.f_back
        if asking is None:
            break
    return matching(api_version)

"""The tensor namespace, ``phintys.tensor as T``: constructors, elementwise functions, reductions, products, shapes.

Names only: each is defined in the file of its family under ``phintys.ops``. Many names are Python's own (``sum``,
``abs``, ``round``); import the namespace, not its names.
"""
from importlib import import_module as _import_module

from phintys.gradient import (
    Lop,
    Rop,
    consider_constant,
    grad,
    hessian,
    hessian_vector_product,
    jacobian,
    numeric_grad,
    verify_grad,
)
from phintys.graph import hooks as _hooks
from phintys.graph import public_names as _public_names
from phintys.graph.errors import EmptyConstantError, NotScalarConstantError
from phintys.graph.variable import Constant, Variable
from phintys.numpy_names import FUNCTIONS as _NUMPY
from phintys.numpy_names import ON_DEMAND as _COMPOSITIONS
from phintys.numpy_names import STANDARD_NAMES as _STANDARD_NAMES
from phintys.ops.creation.allocation import (
    Alloc,
    AllocEmpty,
    ARange,
    Bartlett,
    Eye,
    Tri,
    alloc,
    arange,
    bartlett,
    empty,
    eye,
    full,
    full_like,
    identity_like,
    ones,
    tri,
    zeros,
)
from phintys.ops.cumulative.cumulative import CumOp, DiffOp, cumprod, cumsum, diff
from phintys.ops.cumulative.product import Prod, ProdWithoutZeros, prod
from phintys.ops.elementwise import elementwise_functions as _elementwise
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.elementwise_functions import CASTS as _CASTS
from phintys.ops.elementwise.elementwise_functions import (
    abs,
    abs_,
    add,
    allclose,
    and_,
    angle,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    bitwise_and,
    bitwise_not,
    bitwise_or,
    bitwise_xor,
    cast,
    ceil,
    ceil_intdiv,
    chi2sf,
    clip,
    complex,
    complex_from_polar,
    conj,
    cos,
    cosh,
    deg2rad,
    div_proxy,
    divmod,
    eq,
    erf,
    erfc,
    erfcinv,
    erfcx,
    erfinv,
    exp,
    exp2,
    expm1,
    fill,
    floor,
    floor_div,
    gamma,
    gammainc,
    gammaincc,
    gammal,
    gammaln,
    gammau,
    ge,
    gt,
    hypot,
    i0,
    i1,
    identity,
    imag,
    int_div,
    inv,
    invert,
    iround,
    isclose,
    isfinite,
    isinf,
    isinf_,
    isnan,
    isnan_,
    iv,
    j0,
    j1,
    jv,
    largest,
    le,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    lt,
    maximum,
    minimum,
    mod,
    mod_check,
    mul,
    neg,
    negative,
    neq,
    ones_like,
    or_,
    pow,
    power,
    psi,
    rad2deg,
    real,
    reciprocal,
    rint,
    round,
    round_half_away_from_zero,
    round_half_to_even,
    second,
    sgn,
    sigmoid,
    sign,
    sin,
    sinh,
    smallest,
    softplus,
    sqr,
    sqrt,
    square,
    sub,
    switch,
    tan,
    tanh,
    tensor_copy,
    tri_gamma,
    true_div,
    trunc,
    where,
    xor,
    zeros_like,
)
from phintys.ops.elementwise.scalar import upcast
from phintys.ops.identity.transfer import register_transfer, transfer
from phintys.ops.indexing.advanced_subtensor import *  # noqa: F403
from phintys.ops.indexing.choose import Choose, choose
from phintys.ops.indexing.constant_value import extract_constant, get_scalar_constant_value, get_vector_length
from phintys.ops.indexing.inc_subtensor import inc_subtensor, set_subtensor
from phintys.ops.indexing.nonzero import Nonzero, flatnonzero, nonzero, nonzero_values
from phintys.ops.indexing.slices import get_canonical_form_slice
from phintys.ops.indexing.subtensor import IncSubtensor, Subtensor
from phintys.ops.indexing.take import take
from phintys.ops.linalg.diagonal import (
    AllocDiag,
    ExtractDiag,
    FillDiagonal,
    FillDiagonalOffset,
    diag,
    diagonal,
    fill_diagonal,
    fill_diagonal_offset,
    trace,
)
from phintys.ops.linalg.triangle import tril, triu
from phintys.ops.numpy_functions import (
    append,
    average,
    count_nonzero,
    expand_dims,
    fabs,
    flip,
    float_power,
    hstack,
    inner,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    ndim,
    positive,
    size,
    vdot,
    vstack,
)
from phintys.ops.operators import UFUNCS as _UFUNCS
from phintys.ops.operators import TensorConstant, TensorVariable
from phintys.ops.products.blas import Dot
from phintys.ops.products.dot import dot_op as _dot
from phintys.ops.products.products import batched_dot, batched_tensordot, dot, kron, matmul, outer, tensordot
from phintys.ops.rearranging.rearranging import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    broadcast_to,
    moveaxis,
    roll,
    squeeze,
)
from phintys.ops.rearranging.repeat import RepeatOp, Tile, compress, repeat, tile
from phintys.ops.reduction.reduction import (
    All,
    Any,
    Argmax,
    Argmin,
    CAReduce,
    CAReduceDtype,
    Max,
    MaxAndArgmax,
    Mean,
    Min,
    Sum,
    all,
    any,
    argmax,
    argmin,
    logsumexp,
    max,
    max_and_argmax,
    mean,
    min,
    ptp,
    std,
    sum,
    var,
)
from phintys.ops.shape.join import (
    Join,
    MakeVector,
    concatenate,
    horizontal_stack,
    join,
    join_,
    stack,
    stacklists,
    vertical_stack,
)
from phintys.ops.shape.reshape import Reshape, flatten, is_flat, reshape
from phintys.ops.shape.shape import (
    DimShuffle,
    Rebroadcast,
    Shape,
    Shape_i,
    SpecifyShape,
    addbroadcast,
    dimshuffle,
    patternbroadcast,
    shape,
    shape_i,
    shape_padaxis,
    shape_padleft,
    shape_padright,
    specify_shape,
    swapaxes,
    transpose,
    unbroadcast,
)
from phintys.ops.shape.split import Split, split  # the gradient of joins needs it
from phintys.ops.sorting.searching import searchsorted, to_one_hot
from phintys.ops.sorting.sorting import argsort, sort
from phintys.ops.sorting.topk import argtopk, topk, topk_and_argtopk
from phintys.ops.types.constant import AsTensorError, as_tensor_variable, constant
from phintys.ops.types.dtypes import (
    complex_dtypes,
    continuous_dtypes,
    discrete_dtypes,
    float_dtypes,
    int_dtypes,
    integer_dtypes,
    uint_dtypes,
)
from phintys.ops.types.number_views import ScalarFromTensor, TensorFromScalar, scalar_from_tensor, tensor_from_scalar
from phintys.ops.types.slice_type import *  # noqa: F403
from phintys.ops.types.tensor_type import DEFAULT_TOLERANCE as _DEFAULT_TOLERANCE
from phintys.ops.types.tensor_type import TOLERANCES as _TOLERANCES
from phintys.ops.types.tensor_type import (
    TensorType,
    _allclose,
    _get_atol_rtol,
    values_eq_approx_always_true,
)
from phintys.shared import ScalarSharedVariable, TensorSharedVariable
from phintys.shared import tensor_constructor as _shared
from phintys.tensor.constructors import *  # noqa: F403
from phintys.theano_finder import lookup as _lookup

as_tensor, Tensor = as_tensor_variable, TensorType
float16_rtol, float16_atol = _TOLERANCES["float16"]
float32_rtol, float32_atol = _TOLERANCES["float32"]
float64_rtol, float64_atol = _DEFAULT_TOLERANCE
globals().update({f"_convert_to_{dtype}": conversion for dtype, conversion in _CASTS.items()})
globals().update(_elementwise.public_functions())

# Files of phintys.ops whose names are imported when a program uses one: the optimizer does not need them.
_LATE = {
    "creation.grids": "mgrid ogrid",
    "creation.linspace": "linspace",
    "creation.load_from_disk": "LoadFromDisk load",
    "cumulative.convolution": "Convolution convolve correlate",
    "indexing.flat_index": "ravel_multi_index unravel_index",
    "indexing.permutation": "PermuteRowElements inverse_permutation permute_row_elements",
    "linalg.covariance": "corrcoef cov",
    "linalg.einsum": "einsum",
    "numerical_functions": "gradient interp polyval trapezoid",
    "sorting.bincount": "bincount",
    "sorting.histogram": "digitize histogram histogram_bin_edges",
    "sorting.partitioning": "argpartition median partition percentile quantile",
    "sorting.sets": "in1d intersect1d isin setdiff1d setxor1d union1d unique",
}
_HOMES = {name: home for homes in ({f"compositions.{file}": names for file, names in _COMPOSITIONS.items()}, _LATE)
          for home, names in homes.items() for name in names.split()}

# NumPy's names for functions with another name here (`amax`, `ravel`, `less`, ...), from the tables for NumPy's
# protocol.
for _name, _target in {**_UFUNCS, **{name: target for name, (target, _) in _NUMPY.items() if "." not in name},
                       **_STANDARD_NAMES}.items():
    if _name not in _HOMES:
        globals().setdefault(_name, globals()[_target] if isinstance(_target, str) else _target)

# Modules: Theano's, and those of Fourier transforms. `sort` and `var` are functions here.
_ON_DEMAND = ("basic", "blas", "elemwise", "extra_ops", "fft", "fourier", "inplace", "io", "linalg", "nlinalg", "nnet",
              "opt", "raw_random", "scal", "shared_randomstreams", "sharedvar", "signal", "slinalg", "special",
              "subtensor", "type", "type_other", "utils", "xlogx")
# NumPy's numbers, `array` and `asarray` are here, too.
_NUMBERS = ("e", "euler_gamma", "inf", "nan", "newaxis", "pi")
# All names without an underscore are public, except `constructors`, which is bound by its import, and `random` and
# those of the line above, which would replace others in programs that import all names.
__all__ = sorted({name for name in globals() if not name.startswith("_")} - {"constructors"}
                 | {*_ON_DEMAND, *_HOMES})

_public_names.adopt(globals())
_unknown = _lookup(__name__)


def __getattr__(name):
    if name in _ON_DEMAND or name == "random":
        return _import_module("phintys.tensor." + name)
    if name in _HOMES:
        value = globals()[name] = getattr(_import_module("phintys.ops." + _HOMES[name]), name)
        _public_names.adopt({"__name__": __name__, name: value})
        return value
    if name in _NUMBERS:
        return getattr(_import_module("numpy"), name)
    return _hooks.array_api().asarray if name in ("array", "asarray") else _unknown(name)


def __dir__():
    return __all__

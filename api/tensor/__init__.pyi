"""Written by docs/write_stubs.py."""
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any as _Any

from numpy.typing import DTypeLike

from phintys.graph.errors import EmptyConstantError as EmptyConstantError
from phintys.graph.errors import NotScalarConstantError as NotScalarConstantError
from phintys.graph.gradients.forward_gradient import Rop as Rop
from phintys.graph.gradients.gradient import Lop as Lop
from phintys.graph.gradients.gradient import grad as grad
from phintys.graph.gradients.verify_gradient import numeric_grad as numeric_grad
from phintys.graph.gradients.view_op import consider_constant as consider_constant
from phintys.graph.variable import Constant as Constant
from phintys.graph.variable import Variable as Variable
from phintys.ops.creation.alloc import Alloc as Alloc
from phintys.ops.creation.allocation import ARange as ARange
from phintys.ops.creation.allocation import AllocEmpty as AllocEmpty
from phintys.ops.creation.allocation import Bartlett as Bartlett
from phintys.ops.creation.allocation import Eye as Eye
from phintys.ops.creation.allocation import Tri as Tri
from phintys.ops.creation.load_from_disk import LoadFromDisk as LoadFromDisk
from phintys.ops.cumulative.convolution import Convolution as Convolution
from phintys.ops.cumulative.cumulative import CumOp as CumOp
from phintys.ops.cumulative.cumulative import DiffOp as DiffOp
from phintys.ops.cumulative.product import Prod as Prod
from phintys.ops.cumulative.product import ProdWithoutZeros as ProdWithoutZeros
from phintys.ops.elementwise.elementwise import Elemwise as Elemwise
from phintys.ops.indexing.advanced_subtensor import AdvancedBooleanIncSubtensor as AdvancedBooleanIncSubtensor
from phintys.ops.indexing.advanced_subtensor import AdvancedBooleanSubtensor as AdvancedBooleanSubtensor
from phintys.ops.indexing.advanced_subtensor import AdvancedIncSubtensor as AdvancedIncSubtensor
from phintys.ops.indexing.advanced_subtensor import AdvancedIncSubtensor1 as AdvancedIncSubtensor1
from phintys.ops.indexing.advanced_subtensor import AdvancedSubtensor as AdvancedSubtensor
from phintys.ops.indexing.advanced_subtensor import AdvancedSubtensor1 as AdvancedSubtensor1
from phintys.ops.indexing.choose import Choose as Choose
from phintys.ops.indexing.nonzero import Nonzero as Nonzero
from phintys.ops.indexing.permutation import PermuteRowElements as PermuteRowElements
from phintys.ops.indexing.subtensor import IncSubtensor as IncSubtensor
from phintys.ops.indexing.subtensor import Subtensor as Subtensor
from phintys.ops.linalg.diagonal import AllocDiag as AllocDiag
from phintys.ops.linalg.diagonal import ExtractDiag as ExtractDiag
from phintys.ops.linalg.diagonal import FillDiagonal as FillDiagonal
from phintys.ops.linalg.diagonal import FillDiagonalOffset as FillDiagonalOffset
from phintys.ops.loops.jacobian import hessian as hessian
from phintys.ops.loops.jacobian import hessian_vector_product as hessian_vector_product
from phintys.ops.loops.jacobian import jacobian as jacobian
from phintys.ops.operators import TensorConstant as TensorConstant
from phintys.ops.operators import TensorVariable as TensorVariable
from phintys.ops.products.dot import Dot as Dot
from phintys.ops.rearranging.repeat import RepeatOp as RepeatOp
from phintys.ops.rearranging.repeat import Tile as Tile
from phintys.ops.reduction.argmax import Argmax as Argmax
from phintys.ops.reduction.argmax import Argmin as Argmin
from phintys.ops.reduction.argmax import MaxAndArgmax as MaxAndArgmax
from phintys.ops.reduction.careduce import All as All
from phintys.ops.reduction.careduce import Any as Any
from phintys.ops.reduction.careduce import CAReduce as CAReduce
from phintys.ops.reduction.careduce import CAReduceDtype as CAReduceDtype
from phintys.ops.reduction.careduce import Max as Max
from phintys.ops.reduction.careduce import Min as Min
from phintys.ops.reduction.careduce import Sum as Sum
from phintys.ops.reduction.mean import Mean as Mean
from phintys.ops.shape.dimshuffle import DimShuffle as DimShuffle
from phintys.ops.shape.join import Join as Join
from phintys.ops.shape.join import MakeVector as MakeVector
from phintys.ops.shape.reshape import Reshape as Reshape
from phintys.ops.shape.shape import Rebroadcast as Rebroadcast
from phintys.ops.shape.shape import Shape as Shape
from phintys.ops.shape.shape import Shape_i as Shape_i
from phintys.ops.shape.shape import SpecifyShape as SpecifyShape
from phintys.ops.shape.split import Split as Split
from phintys.ops.types.constant import AsTensorError as AsTensorError
from phintys.ops.types.number_views import ScalarFromTensor as ScalarFromTensor
from phintys.ops.types.number_views import TensorFromScalar as TensorFromScalar
from phintys.ops.types.slice_type import MakeSlice as MakeSlice
from phintys.ops.types.slice_type import NoneTypeT as NoneTypeT
from phintys.ops.types.slice_type import SliceConstant as SliceConstant
from phintys.ops.types.slice_type import SliceType as SliceType
from phintys.ops.types.tensor_type import TensorType as Tensor
from phintys.ops.types.tensor_type import TensorType as TensorType
from phintys.shared import ScalarSharedVariable as ScalarSharedVariable
from phintys.shared import TensorSharedVariable as TensorSharedVariable
from phintys.tensor import blas as blas
from phintys.tensor import elemwise as elemwise
from phintys.tensor import extra_ops as extra_ops
from phintys.tensor import fft as fft
from phintys.tensor import fourier as fourier
from phintys.tensor import inplace as inplace
from phintys.tensor import io as io
from phintys.tensor import linalg as linalg
from phintys.tensor import nlinalg as nlinalg
from phintys.tensor import nnet as nnet
from phintys.tensor import opt as opt
from phintys.tensor import raw_random as raw_random
from phintys.tensor import shared_randomstreams as shared_randomstreams
from phintys.tensor import signal as signal
from phintys.tensor import slinalg as slinalg
from phintys.tensor import subtensor as subtensor
from phintys.tensor import type_other as type_other
from phintys.tensor import utils as utils
from phintys.tensor import xlogx as xlogx
from phintys.graph.op import Op
from phintys.ops.operators import _Axis, _OfMany, _OfOne, _OfThree, _OfTwo, _Shape, _TensorLike

__all__ = [
    "ARange",
    "AdvancedBooleanIncSubtensor",
    "AdvancedBooleanSubtensor",
    "AdvancedIncSubtensor",
    "AdvancedIncSubtensor1",
    "AdvancedSubtensor",
    "AdvancedSubtensor1",
    "All",
    "Alloc",
    "AllocDiag",
    "AllocEmpty",
    "Any",
    "Argmax",
    "Argmin",
    "AsTensorError",
    "Bartlett",
    "CAReduce",
    "CAReduceDtype",
    "Choose",
    "Constant",
    "Convolution",
    "CumOp",
    "DiffOp",
    "DimShuffle",
    "Dot",
    "Elemwise",
    "EmptyConstantError",
    "ExtractDiag",
    "Eye",
    "FillDiagonal",
    "FillDiagonalOffset",
    "IncSubtensor",
    "Join",
    "LoadFromDisk",
    "Lop",
    "MakeSlice",
    "MakeVector",
    "Max",
    "MaxAndArgmax",
    "Mean",
    "Min",
    "NoneConst",
    "NoneTypeT",
    "Nonzero",
    "NotScalarConstantError",
    "PermuteRowElements",
    "Prod",
    "ProdWithoutZeros",
    "Rebroadcast",
    "RepeatOp",
    "Reshape",
    "Rop",
    "ScalarFromTensor",
    "ScalarSharedVariable",
    "Shape",
    "Shape_i",
    "SliceConstant",
    "SliceType",
    "SpecifyShape",
    "Split",
    "Subtensor",
    "Sum",
    "Tensor",
    "TensorConstant",
    "TensorFromScalar",
    "TensorSharedVariable",
    "TensorType",
    "TensorVariable",
    "Tile",
    "Tri",
    "Variable",
    "abs",
    "abs_",
    "absolute",
    "acos",
    "acosh",
    "add",
    "addbroadcast",
    "advanced_boolean_inc_subtensor",
    "advanced_boolean_set_subtensor",
    "advanced_boolean_subtensor",
    "advanced_inc_subtensor",
    "advanced_inc_subtensor1",
    "advanced_set_subtensor",
    "advanced_set_subtensor1",
    "advanced_subtensor",
    "advanced_subtensor1",
    "all",
    "allclose",
    "alloc",
    "amax",
    "amin",
    "and_",
    "angle",
    "any",
    "append",
    "arange",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "argmax",
    "argmin",
    "argpartition",
    "argsort",
    "argtopk",
    "argwhere",
    "around",
    "array_equal",
    "array_split",
    "as_tensor",
    "as_tensor_variable",
    "asin",
    "asinh",
    "astype",
    "atan",
    "atan2",
    "atanh",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "average",
    "bartlett",
    "basic",
    "batched_dot",
    "batched_tensordot",
    "bcol",
    "beta",
    "betainc",
    "betaincinv",
    "betaln",
    "bincount",
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "blackman",
    "blas",
    "block",
    "bmatrix",
    "broadcast_arrays",
    "broadcast_to",
    "brow",
    "bscalar",
    "btensor3",
    "btensor4",
    "btensor5",
    "btensor6",
    "btensor7",
    "bvector",
    "cast",
    "cbrt",
    "ccol",
    "ceil",
    "ceil_intdiv",
    "chi2sf",
    "choose",
    "clip",
    "cmatrix",
    "col",
    "cols",
    "column_stack",
    "complex",
    "complex_dtypes",
    "complex_from_polar",
    "complex_matrix_types",
    "complex_scalar_types",
    "complex_types",
    "complex_vector_types",
    "compress",
    "concat",
    "concatenate",
    "conj",
    "conjugate",
    "consider_constant",
    "constant",
    "continuous_dtypes",
    "convolve",
    "copy",
    "copysign",
    "corrcoef",
    "correlate",
    "cos",
    "cosh",
    "count_nonzero",
    "cov",
    "cross",
    "crow",
    "cscalar",
    "ctensor3",
    "ctensor4",
    "ctensor5",
    "ctensor6",
    "ctensor7",
    "cumprod",
    "cumsum",
    "cumulative_prod",
    "cumulative_sum",
    "cvector",
    "dcol",
    "dcols",
    "deg2rad",
    "degrees",
    "delete",
    "diag",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "diff",
    "digitize",
    "dimshuffle",
    "discrete_dtypes",
    "div_proxy",
    "divide",
    "divmod",
    "dmatrices",
    "dmatrix",
    "dot",
    "drow",
    "drows",
    "dscalar",
    "dscalars",
    "dsplit",
    "dstack",
    "dtensor3",
    "dtensor3s",
    "dtensor4",
    "dtensor4s",
    "dtensor5",
    "dtensor5s",
    "dtensor6",
    "dtensor6s",
    "dtensor7",
    "dtensor7s",
    "dvector",
    "dvectors",
    "ediff1d",
    "einsum",
    "elemwise",
    "empty",
    "empty_like",
    "entr",
    "eq",
    "equal",
    "erf",
    "erfc",
    "erfcinv",
    "erfcx",
    "erfinv",
    "exp",
    "exp2",
    "expand_dims",
    "expm1",
    "extra_ops",
    "extract",
    "extract_constant",
    "eye",
    "fabs",
    "fcol",
    "fcols",
    "fft",
    "fill",
    "fill_diagonal",
    "fill_diagonal_offset",
    "fix",
    "flatnonzero",
    "flatten",
    "flip",
    "fliplr",
    "flipud",
    "float16_atol",
    "float16_rtol",
    "float32_atol",
    "float32_rtol",
    "float64_atol",
    "float64_rtol",
    "float_dtypes",
    "float_matrix_types",
    "float_power",
    "float_scalar_types",
    "float_types",
    "float_vector_types",
    "floor",
    "floor_div",
    "floor_divide",
    "fmatrices",
    "fmatrix",
    "fmax",
    "fmin",
    "fmod",
    "fourier",
    "frexp",
    "frow",
    "frows",
    "fscalar",
    "fscalars",
    "ftensor3",
    "ftensor3s",
    "ftensor4",
    "ftensor4s",
    "ftensor5",
    "ftensor5s",
    "ftensor6",
    "ftensor6s",
    "ftensor7",
    "ftensor7s",
    "full",
    "full_like",
    "fvector",
    "fvectors",
    "gamma",
    "gammainc",
    "gammaincc",
    "gammainccinv",
    "gammaincinv",
    "gammal",
    "gammaln",
    "gammau",
    "gcd",
    "ge",
    "geomspace",
    "get_canonical_form_slice",
    "get_scalar_constant_value",
    "get_vector_length",
    "grad",
    "gradient",
    "greater",
    "greater_equal",
    "gt",
    "hamming",
    "hanning",
    "heaviside",
    "hessian",
    "hessian_vector_product",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
    "horizontal_stack",
    "hsplit",
    "hstack",
    "hyp2f1",
    "hypot",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "icol",
    "icols",
    "identity",
    "identity_like",
    "imag",
    "imatrices",
    "imatrix",
    "in1d",
    "inc_subtensor",
    "indices",
    "inner",
    "inplace",
    "insert",
    "int_div",
    "int_dtypes",
    "int_matrix_types",
    "int_scalar_types",
    "int_types",
    "int_vector_types",
    "integer_dtypes",
    "interp",
    "intersect1d",
    "inv",
    "inverse_permutation",
    "invert",
    "io",
    "iround",
    "irow",
    "irows",
    "is_flat",
    "iscalar",
    "iscalars",
    "isclose",
    "iscomplex",
    "iscomplexobj",
    "isfinite",
    "isin",
    "isinf",
    "isinf_",
    "isnan",
    "isnan_",
    "isneginf",
    "isposinf",
    "isreal",
    "isrealobj",
    "itensor3",
    "itensor3s",
    "itensor4",
    "itensor4s",
    "itensor5",
    "itensor5s",
    "itensor6",
    "itensor6s",
    "itensor7",
    "itensor7s",
    "iv",
    "ive",
    "ivector",
    "ivectors",
    "ix_",
    "j0",
    "j1",
    "jacobian",
    "join",
    "join_",
    "jv",
    "k0",
    "k1",
    "kaiser",
    "kron",
    "kv",
    "kve",
    "largest",
    "lcm",
    "lcol",
    "lcols",
    "ldexp",
    "le",
    "left_shift",
    "less",
    "less_equal",
    "lexsort",
    "linalg",
    "linspace",
    "lmatrices",
    "lmatrix",
    "load",
    "log",
    "log10",
    "log1p",
    "log2",
    "log_ndtr",
    "logaddexp",
    "logaddexp2",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "logit",
    "logspace",
    "logsumexp",
    "lrow",
    "lrows",
    "lscalar",
    "lscalars",
    "lt",
    "ltensor3",
    "ltensor3s",
    "ltensor4",
    "ltensor4s",
    "ltensor5",
    "ltensor5s",
    "ltensor6",
    "ltensor6s",
    "ltensor7",
    "ltensor7s",
    "lvector",
    "lvectors",
    "make_slice",
    "matmul",
    "matrices",
    "matrix",
    "matrix_transpose",
    "matvec",
    "max",
    "max_and_argmax",
    "maximum",
    "mean",
    "median",
    "meshgrid",
    "mgrid",
    "min",
    "minimum",
    "mod",
    "mod_check",
    "modf",
    "moveaxis",
    "mul",
    "multiply",
    "nan_to_num",
    "nanargmax",
    "nanargmin",
    "nancumprod",
    "nancumsum",
    "nanmax",
    "nanmean",
    "nanmedian",
    "nanmin",
    "nanpercentile",
    "nanprod",
    "nanquantile",
    "nanstd",
    "nansum",
    "nanvar",
    "ndim",
    "ndtr",
    "ndtri",
    "neg",
    "negative",
    "neq",
    "nextafter",
    "nlinalg",
    "nnet",
    "none_type_t",
    "nonzero",
    "nonzero_values",
    "not_equal",
    "numeric_grad",
    "ogrid",
    "ones",
    "ones_like",
    "opt",
    "or_",
    "outer",
    "owens_t",
    "pad",
    "partition",
    "patternbroadcast",
    "percentile",
    "permute_dims",
    "permute_row_elements",
    "poly",
    "polyadd",
    "polyder",
    "polyfit",
    "polygamma",
    "polyint",
    "polymul",
    "polysub",
    "polyval",
    "positive",
    "pow",
    "power",
    "prod",
    "psi",
    "ptp",
    "put_along_axis",
    "quantile",
    "rad2deg",
    "radians",
    "ravel",
    "ravel_multi_index",
    "raw_random",
    "real",
    "reciprocal",
    "register_transfer",
    "remainder",
    "repeat",
    "reshape",
    "resize",
    "right_shift",
    "rint",
    "roll",
    "rollaxis",
    "rot90",
    "round",
    "round_half_away_from_zero",
    "round_half_to_even",
    "row",
    "rows",
    "scal",
    "scalar",
    "scalar_from_tensor",
    "scalars",
    "searchsorted",
    "second",
    "select",
    "set_subtensor",
    "setdiff1d",
    "setxor1d",
    "sgn",
    "shape",
    "shape_i",
    "shape_padaxis",
    "shape_padleft",
    "shape_padright",
    "shared_randomstreams",
    "sharedvar",
    "sigmoid",
    "sign",
    "signal",
    "signbit",
    "sin",
    "sinc",
    "sinh",
    "size",
    "slicetype",
    "slinalg",
    "smallest",
    "softplus",
    "sort",
    "sort_complex",
    "spacing",
    "sparse_grad",
    "specify_shape",
    "split",
    "sqr",
    "sqrt",
    "square",
    "squeeze",
    "stack",
    "stacklists",
    "std",
    "sub",
    "subtensor",
    "subtract",
    "sum",
    "swapaxes",
    "switch",
    "take",
    "take_along_axis",
    "tan",
    "tanh",
    "tensor",
    "tensor3",
    "tensor3s",
    "tensor4",
    "tensor4s",
    "tensor5",
    "tensor5s",
    "tensor6",
    "tensor6s",
    "tensor7",
    "tensor7s",
    "tensor_copy",
    "tensor_from_scalar",
    "tensordot",
    "tile",
    "to_one_hot",
    "topk",
    "topk_and_argtopk",
    "trace",
    "transfer",
    "transpose",
    "trapezoid",
    "tri",
    "tri_gamma",
    "tril",
    "tril_indices",
    "tril_indices_from",
    "trim_zeros",
    "triu",
    "triu_indices",
    "triu_indices_from",
    "true_div",
    "true_divide",
    "trunc",
    "type",
    "type_other",
    "uint_dtypes",
    "unbroadcast",
    "union1d",
    "unique",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "unravel_index",
    "unstack",
    "unwrap",
    "upcast",
    "utils",
    "values_eq_approx_always_true",
    "vander",
    "var",
    "vdot",
    "vecdot",
    "vecmat",
    "vector",
    "vectors",
    "verify_grad",
    "vertical_stack",
    "vsplit",
    "vstack",
    "wcol",
    "where",
    "wmatrix",
    "wrow",
    "wscalar",
    "wtensor3",
    "wtensor4",
    "wtensor5",
    "wtensor6",
    "wtensor7",
    "wvector",
    "xlog1py",
    "xlogx",
    "xlogy",
    "xor",
    "zcol",
    "zeros",
    "zeros_like",
    "zeta",
    "zmatrix",
    "zrow",
    "zscalar",
    "ztensor3",
    "ztensor4",
    "ztensor5",
    "ztensor6",
    "ztensor7",
    "zvector",
]

NoneConst: _Any
abs: _OfOne
abs_: _OfOne
absolute: _OfOne
acos: _OfOne
acosh: _OfOne
add: _OfMany
def addbroadcast(x: _TensorLike, *axes: _Any) -> TensorVariable: ...
advanced_boolean_inc_subtensor: AdvancedBooleanIncSubtensor
advanced_boolean_set_subtensor: AdvancedBooleanIncSubtensor
advanced_boolean_subtensor: AdvancedBooleanSubtensor
advanced_inc_subtensor: AdvancedIncSubtensor
advanced_inc_subtensor1: AdvancedIncSubtensor1
advanced_set_subtensor: AdvancedIncSubtensor
advanced_set_subtensor1: AdvancedIncSubtensor1
advanced_subtensor: AdvancedSubtensor
advanced_subtensor1: AdvancedSubtensor1
def all(x: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
def allclose(a: _TensorLike, b: _TensorLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
             ) -> TensorVariable: ...
def alloc(value: _TensorLike, *shape: _TensorLike) -> TensorVariable: ...
def amax(x: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
def amin(x: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
and_: _OfTwo
angle: _OfOne
def any(x: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
def append(arr: _TensorLike, values: _TensorLike, axis: _Axis = None) -> TensorVariable: ...
def arange(start: _Any, stop: _Any = None, step: int | Variable = 1, dtype: DTypeLike | None = None
           ) -> TensorVariable: ...
arccos: _OfOne
arccosh: _OfOne
arcsin: _OfOne
arcsinh: _OfOne
arctan: _OfOne
arctan2: _OfTwo
arctanh: _OfOne
def argmax(x: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
def argmin(x: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
def argpartition(a: _TensorLike, kth: _Any, axis: _Axis = -1, kind: str = 'introselect', order: _Any = None
                 ) -> TensorVariable: ...
def argsort(a: _TensorLike, axis: _Axis = -1, kind: str = 'quicksort', order: _Any = None, descending: bool = False
            ) -> TensorVariable: ...
def argtopk(x: _TensorLike, kth: _Any, axis: _Axis = -1, sorted: bool = True, idx_dtype: str = 'int64'
            ) -> TensorVariable: ...
def argwhere(a: _TensorLike) -> TensorVariable: ...
def around(a: _TensorLike, mode: _Any = None) -> TensorVariable: ...
def array_equal(a1: _Any, a2: _Any, equal_nan: bool = False) -> TensorVariable: ...
def array_split(ary: _Any, indices_or_sections: _Any, axis: _Axis = 0) -> TensorVariable: ...
def as_tensor(x: _TensorLike, name: str | None = None, ndim: int | None = None) -> TensorVariable: ...
def as_tensor_variable(x: _TensorLike, name: str | None = None, ndim: int | None = None) -> TensorVariable: ...
asin: _OfOne
asinh: _OfOne
def astype(x: _TensorLike, dtype: DTypeLike, *, copy: bool = True) -> TensorVariable: ...
atan: _OfOne
atan2: _OfTwo
atanh: _OfOne
def atleast_1d(*tensors: _Any) -> _Any: ...
def atleast_2d(*tensors: _Any) -> _Any: ...
def atleast_3d(*tensors: _Any) -> _Any: ...
def average(a: _TensorLike, axis: _Axis = None, weights: _TensorLike | None = None, returned: bool = False,
            keepdims: bool = False) -> _Any: ...
def bartlett(M: _Any) -> TensorVariable: ...
basic: ModuleType
def batched_dot(a: _TensorLike, b: _TensorLike) -> TensorVariable: ...
def batched_tensordot(x: _TensorLike, y: _TensorLike, axes: _Any = 2) -> TensorVariable: ...
bcol: TensorType
beta: _OfTwo
betainc: _OfThree
betaincinv: _OfThree
betaln: _OfTwo
def bincount(x: _TensorLike, weights: _TensorLike | None = None, minlength: _Any = None,
             assert_nonneg: bool = False) -> TensorVariable: ...
bitwise_and: _OfTwo
bitwise_count: _OfOne
bitwise_invert: _OfOne
bitwise_left_shift: _OfTwo
bitwise_not: _OfOne
bitwise_or: _OfTwo
bitwise_right_shift: _OfTwo
bitwise_xor: _OfTwo
def blackman(M: _Any) -> TensorVariable: ...
def block(arrays: _Any) -> TensorVariable: ...
bmatrix: TensorType
def broadcast_arrays(*tensors: _Any) -> list[TensorVariable]: ...
def broadcast_to(x: _TensorLike, shape: _Shape) -> TensorVariable: ...
brow: TensorType
bscalar: TensorType
btensor3: TensorType
btensor4: TensorType
btensor5: TensorType
btensor6: TensorType
btensor7: TensorType
bvector: TensorType
def cast(x: _TensorLike, dtype: DTypeLike) -> TensorVariable: ...
cbrt: _OfOne
ccol: TensorType
ceil: _OfOne
def ceil_intdiv(a: _TensorLike, b: _TensorLike) -> TensorVariable: ...
chi2sf: _OfTwo
def choose(a: _TensorLike, choices: _TensorLike | Sequence[_TensorLike], out: _Any = None, mode: str = 'raise'
           ) -> TensorVariable: ...
clip: _OfThree
cmatrix: TensorType
def col(name: str | None = None, dtype: DTypeLike | None = None) -> TensorVariable: ...
def cols(*names: str | int) -> list[TensorVariable]: ...
def column_stack(tup: _Any) -> TensorVariable: ...
complex: _OfTwo
complex_dtypes: frozenset[str]
complex_from_polar: _OfTwo
complex_matrix_types: tuple[TensorType, ...]
complex_scalar_types: tuple[TensorType, ...]
complex_types: tuple[TensorType, ...]
complex_vector_types: tuple[TensorType, ...]
def compress(condition: _TensorLike, x: _TensorLike, axis: _Axis = None) -> TensorVariable: ...
def concat(tensor_list: _Any, axis: _Axis = 0) -> TensorVariable: ...
def concatenate(tensor_list: _Any, axis: _Axis = 0) -> TensorVariable: ...
conj: _OfOne
conjugate: _OfOne
def constant(x: _TensorLike, name: str | None = None, ndim: int | None = None, dtype: DTypeLike | None = None
             ) -> TensorVariable: ...
continuous_dtypes: frozenset[str]
def convolve(a: _TensorLike, v: _TensorLike, mode: str = 'full') -> TensorVariable: ...
copy: _OfOne
copysign: _OfTwo
def corrcoef(x: _TensorLike, y: _TensorLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None
             ) -> TensorVariable: ...
def correlate(a: _TensorLike, v: _TensorLike, mode: str = 'valid') -> TensorVariable: ...
cos: _OfOne
cosh: _OfOne
def count_nonzero(a: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
def cov(m: _TensorLike, y: _TensorLike | None = None, rowvar: bool = True, bias: bool = False, ddof: _Any = None,
        fweights: _TensorLike | None = None, aweights: _TensorLike | None = None, dtype: DTypeLike | None = None
        ) -> TensorVariable: ...
def cross(a: _TensorLike, b: _TensorLike, axisa: int | Variable = -1, axisb: int | Variable = -1,
          axisc: int | Variable = -1, axis: _Axis = None) -> TensorVariable: ...
crow: TensorType
cscalar: TensorType
ctensor3: TensorType
ctensor4: TensorType
ctensor5: TensorType
ctensor6: TensorType
ctensor7: TensorType
def cumprod(x: _TensorLike, axis: _Axis = None) -> TensorVariable: ...
def cumsum(x: _TensorLike, axis: _Axis = None) -> TensorVariable: ...
def cumulative_prod(x: _TensorLike, *, axis: _Axis = None, dtype: DTypeLike | None = None,
                    include_initial: bool = False) -> TensorVariable: ...
def cumulative_sum(x: _TensorLike, *, axis: _Axis = None, dtype: DTypeLike | None = None,
                   include_initial: bool = False) -> TensorVariable: ...
cvector: TensorType
dcol: TensorType
def dcols(*names: str | int) -> list[TensorVariable]: ...
deg2rad: _OfOne
degrees: _OfOne
def delete(arr: _TensorLike, obj: _Any, axis: _Axis = None) -> TensorVariable: ...
def diag(v: _TensorLike, k: _Any = 0) -> TensorVariable: ...
def diag_indices(n: _Any, ndim: int | None = 2) -> TensorVariable: ...
def diag_indices_from(arr: _TensorLike) -> TensorVariable: ...
def diagflat(v: _TensorLike, k: _Any = 0) -> TensorVariable: ...
def diagonal(a: _TensorLike, offset: int | Variable = 0, axis1: int = 0, axis2: int = 1) -> TensorVariable: ...
def diff(x: _TensorLike, n: int | Variable = 1, axis: _Axis = -1, prepend: _Any = None, append: _Any = None
         ) -> TensorVariable: ...
def digitize(x: _TensorLike, bins: _Any, right: _TensorLike = False) -> TensorVariable: ...
def dimshuffle(x: _TensorLike, *pattern: _Any) -> TensorVariable: ...
discrete_dtypes: frozenset[str]
def div_proxy(x: _TensorLike, y: _TensorLike) -> TensorVariable: ...
divide: _OfTwo
def divmod(x: _TensorLike, y: _TensorLike) -> tuple[TensorVariable, TensorVariable]: ...
def dmatrices(*names: str | int) -> list[TensorVariable]: ...
dmatrix: TensorType
def dot(a: _TensorLike, b: _TensorLike) -> TensorVariable: ...
drow: TensorType
def drows(*names: str | int) -> list[TensorVariable]: ...
dscalar: TensorType
def dscalars(*names: str | int) -> list[TensorVariable]: ...
def dsplit(ary: _Any, indices_or_sections: _Any) -> TensorVariable: ...
def dstack(tup: _Any) -> TensorVariable: ...
dtensor3: TensorType
def dtensor3s(*names: str | int) -> list[TensorVariable]: ...
dtensor4: TensorType
def dtensor4s(*names: str | int) -> list[TensorVariable]: ...
dtensor5: TensorType
def dtensor5s(*names: str | int) -> list[TensorVariable]: ...
dtensor6: TensorType
def dtensor6s(*names: str | int) -> list[TensorVariable]: ...
dtensor7: TensorType
def dtensor7s(*names: str | int) -> list[TensorVariable]: ...
dvector: TensorType
def dvectors(*names: str | int) -> list[TensorVariable]: ...
def ediff1d(ary: _Any, to_end: _Any = None, to_begin: _Any = None) -> TensorVariable: ...
def einsum(subscripts: _Any, *operands: _Any, optimize: bool = False) -> TensorVariable: ...
def empty(shape: _Shape, dtype: DTypeLike | None = None) -> TensorVariable: ...
def empty_like(model: _TensorLike, dtype: DTypeLike | None = None, opt: bool = False) -> TensorVariable: ...
entr: _OfOne
eq: _OfTwo
equal: _OfTwo
erf: _OfOne
erfc: _OfOne
erfcinv: _OfOne
erfcx: _OfOne
erfinv: _OfOne
exp: _OfOne
exp2: _OfOne
def expand_dims(a: _TensorLike, axis: _Axis) -> TensorVariable: ...
expm1: _OfOne
def extract(condition: _TensorLike, arr: _TensorLike) -> TensorVariable: ...
def extract_constant(x: _TensorLike, elemwise: bool = True, only_process_constants: bool = False) -> _Any: ...
def eye(n: _Any, m: _TensorLike | None = None, k: _Any = 0, dtype: DTypeLike | None = None) -> TensorVariable: ...
def fabs(x: _TensorLike) -> TensorVariable: ...
fcol: TensorType
def fcols(*names: str | int) -> list[TensorVariable]: ...
fill: _OfTwo
def fill_diagonal(a: _TensorLike, val: _Any) -> TensorVariable: ...
def fill_diagonal_offset(a: _TensorLike, val: _Any, offset: _Any) -> TensorVariable: ...
def fix(x: _TensorLike) -> TensorVariable: ...
def flatnonzero(a: _TensorLike) -> TensorVariable: ...
def flatten(x: _TensorLike, ndim: int | None = None, outdim: int | None = None) -> TensorVariable: ...
def flip(m: _TensorLike, axis: _Axis = None) -> TensorVariable: ...
def fliplr(m: _TensorLike) -> TensorVariable: ...
def flipud(m: _TensorLike) -> TensorVariable: ...
float16_atol: float
float16_rtol: float
float32_atol: float
float32_rtol: float
float64_atol: float
float64_rtol: float
float_dtypes: frozenset[str]
float_matrix_types: tuple[TensorType, ...]
def float_power(x: _TensorLike, y: _TensorLike) -> TensorVariable: ...
float_scalar_types: tuple[TensorType, ...]
float_types: tuple[TensorType, ...]
float_vector_types: tuple[TensorType, ...]
floor: _OfOne
floor_div: _OfTwo
floor_divide: _OfTwo
def fmatrices(*names: str | int) -> list[TensorVariable]: ...
fmatrix: TensorType
fmax: _OfTwo
fmin: _OfTwo
fmod: _OfTwo
def frexp(x: _TensorLike) -> TensorVariable: ...
frow: TensorType
def frows(*names: str | int) -> list[TensorVariable]: ...
fscalar: TensorType
def fscalars(*names: str | int) -> list[TensorVariable]: ...
ftensor3: TensorType
def ftensor3s(*names: str | int) -> list[TensorVariable]: ...
ftensor4: TensorType
def ftensor4s(*names: str | int) -> list[TensorVariable]: ...
ftensor5: TensorType
def ftensor5s(*names: str | int) -> list[TensorVariable]: ...
ftensor6: TensorType
def ftensor6s(*names: str | int) -> list[TensorVariable]: ...
ftensor7: TensorType
def ftensor7s(*names: str | int) -> list[TensorVariable]: ...
def full(shape: _Shape, value: _TensorLike, dtype: DTypeLike | None = None) -> TensorVariable: ...
def full_like(model: _TensorLike, value: _TensorLike, dtype: DTypeLike | None = None) -> TensorVariable: ...
fvector: TensorType
def fvectors(*names: str | int) -> list[TensorVariable]: ...
gamma: _OfOne
gammainc: _OfTwo
gammaincc: _OfTwo
gammainccinv: _OfTwo
gammaincinv: _OfTwo
gammal: _OfTwo
gammaln: _OfOne
gammau: _OfTwo
gcd: _OfTwo
ge: _OfTwo
def geomspace(start: _Any, stop: _Any, num: int | Variable = 50, endpoint: bool = True,
              dtype: DTypeLike | None = None, axis: _Axis = 0) -> TensorVariable: ...
def get_canonical_form_slice(theslice: _Any, length: _Any) -> _Any: ...
def get_scalar_constant_value(orig_v: _Any, elemwise: bool = True, only_process_constants: bool = False,
                              max_recur: int | Variable = 10) -> _Any: ...
def get_vector_length(v: _TensorLike) -> int: ...
def gradient(f: _Any, *varargs: _Any, axis: _Axis = None, edge_order: int | Variable = 1) -> _Any: ...
greater: _OfTwo
greater_equal: _OfTwo
gt: _OfTwo
def hamming(M: _Any) -> TensorVariable: ...
def hanning(M: _Any) -> TensorVariable: ...
heaviside: _OfTwo
def histogram(a: _TensorLike, bins: int | Variable = 10, range: _Any = None, density: bool = False,
              weights: _TensorLike | None = None) -> list[TensorVariable]: ...
def histogram2d(x: _TensorLike, y: _TensorLike, bins: int | Variable = 10, range: _Any = None,
                density: _Any = None, weights: _TensorLike | None = None) -> TensorVariable: ...
def histogram_bin_edges(a: _TensorLike, bins: int | Variable = 10, range: _Any = None) -> TensorVariable: ...
def histogramdd(sample: _Any, bins: int | Variable = 10, range: _Any = None, density: _Any = None,
                weights: _TensorLike | None = None) -> TensorVariable: ...
def horizontal_stack(*args: _Any) -> TensorVariable: ...
def hsplit(ary: _Any, indices_or_sections: _Any) -> TensorVariable: ...
def hstack(tup: _Any) -> TensorVariable: ...
hyp2f1: Elemwise
hypot: _OfTwo
i0: _OfOne
i0e: _OfOne
i1: _OfOne
i1e: _OfOne
icol: TensorType
def icols(*names: str | int) -> list[TensorVariable]: ...
identity: _OfOne
def identity_like(x: _TensorLike) -> TensorVariable: ...
imag: _OfOne
def imatrices(*names: str | int) -> list[TensorVariable]: ...
imatrix: TensorType
def in1d(ar1: _Any, ar2: _Any, assume_unique: bool = False, invert: bool = False) -> TensorVariable: ...
def inc_subtensor(x: _TensorLike, y: _TensorLike, inplace: bool = False, set_instead_of_inc: bool = False,
                  tolerate_inplace_aliasing: bool = False, ignore_duplicates: bool = False) -> TensorVariable: ...
def indices(dimensions: _Any, dtype: DTypeLike | None = 'int64', sparse: bool = False) -> TensorVariable: ...
def inner(a: _TensorLike, b: _TensorLike) -> TensorVariable: ...
def insert(arr: _TensorLike, obj: _Any, values: _TensorLike, axis: _Axis = None) -> TensorVariable: ...
int_div: _OfTwo
int_dtypes: frozenset[str]
int_matrix_types: tuple[TensorType, ...]
int_scalar_types: tuple[TensorType, ...]
int_types: tuple[TensorType, ...]
int_vector_types: tuple[TensorType, ...]
integer_dtypes: frozenset[str]
def interp(x: _TensorLike, xp: _Any, fp: _Any, left: _Any = None, right: _TensorLike | None = None,
           period: _Any = None) -> TensorVariable: ...
def intersect1d(ar1: _Any, ar2: _Any, assume_unique: bool = False) -> TensorVariable: ...
inv: _OfOne
def inverse_permutation(perm: _TensorLike) -> TensorVariable: ...
invert: _OfOne
def iround(a: _TensorLike, mode: _Any = None) -> TensorVariable: ...
irow: TensorType
def irows(*names: str | int) -> list[TensorVariable]: ...
def is_flat(var: _Any, ndim: int | None = None, outdim: int | None = None) -> bool: ...
iscalar: TensorType
def iscalars(*names: str | int) -> list[TensorVariable]: ...
def isclose(a: _TensorLike, b: _TensorLike, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
            ) -> TensorVariable: ...
def iscomplex(x: _TensorLike) -> TensorVariable: ...
def iscomplexobj(x: _TensorLike) -> TensorVariable: ...
isfinite: _OfOne
def isin(element: _Any, test_elements: _Any, assume_unique: bool = False, invert: bool = False, kind: _Any = None
         ) -> TensorVariable: ...
isinf: _OfOne
isinf_: _OfOne
isnan: _OfOne
isnan_: _OfOne
def isneginf(x: _TensorLike) -> TensorVariable: ...
def isposinf(x: _TensorLike) -> TensorVariable: ...
def isreal(x: _TensorLike) -> TensorVariable: ...
def isrealobj(x: _TensorLike) -> TensorVariable: ...
itensor3: TensorType
def itensor3s(*names: str | int) -> list[TensorVariable]: ...
itensor4: TensorType
def itensor4s(*names: str | int) -> list[TensorVariable]: ...
itensor5: TensorType
def itensor5s(*names: str | int) -> list[TensorVariable]: ...
itensor6: TensorType
def itensor6s(*names: str | int) -> list[TensorVariable]: ...
itensor7: TensorType
def itensor7s(*names: str | int) -> list[TensorVariable]: ...
iv: _OfTwo
ive: _OfTwo
ivector: TensorType
def ivectors(*names: str | int) -> list[TensorVariable]: ...
def ix_(*args: _Any) -> TensorVariable: ...
j0: _OfOne
j1: _OfOne
def join(axis: int | Variable, *tensors_list: _Any) -> TensorVariable: ...
join_: Join
jv: _OfTwo
k0: _OfOne
k1: _OfOne
def kaiser(M: _Any, beta: _Any) -> TensorVariable: ...
def kron(a: _TensorLike, b: _TensorLike) -> TensorVariable: ...
kv: _OfTwo
kve: _OfTwo
def largest(*args: _Any) -> TensorVariable: ...
lcm: _OfTwo
lcol: TensorType
def lcols(*names: str | int) -> list[TensorVariable]: ...
def ldexp(x1: _Any, x2: _Any) -> TensorVariable: ...
le: _OfTwo
left_shift: _OfTwo
less: _OfTwo
less_equal: _OfTwo
def lexsort(keys: _Any, axis: _Axis = -1) -> TensorVariable: ...
def linspace(start: _Any, stop: _Any, num: int | Variable = 50, endpoint: bool = True, retstep: bool = False,
             dtype: DTypeLike | None = None, axis: _Axis = 0) -> _Any: ...
def lmatrices(*names: str | int) -> list[TensorVariable]: ...
lmatrix: TensorType
def load(path: _Any, dtype: DTypeLike | None, broadcastable: _Any, mmap_mode: _Any = None) -> TensorVariable: ...
log: _OfOne
log10: _OfOne
log1p: _OfOne
log2: _OfOne
log_ndtr: _OfOne
logaddexp: _OfTwo
logaddexp2: _OfTwo
def logical_and(x: _TensorLike, y: _TensorLike) -> TensorVariable: ...
def logical_not(x: _TensorLike) -> TensorVariable: ...
def logical_or(x: _TensorLike, y: _TensorLike) -> TensorVariable: ...
def logical_xor(x: _TensorLike, y: _TensorLike) -> TensorVariable: ...
logit: _OfOne
def logspace(start: _Any, stop: _Any, num: int | Variable = 50, endpoint: bool = True, base: float = 10.0,
             dtype: DTypeLike | None = None, axis: _Axis = 0) -> TensorVariable: ...
def logsumexp(x: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
lrow: TensorType
def lrows(*names: str | int) -> list[TensorVariable]: ...
lscalar: TensorType
def lscalars(*names: str | int) -> list[TensorVariable]: ...
lt: _OfTwo
ltensor3: TensorType
def ltensor3s(*names: str | int) -> list[TensorVariable]: ...
ltensor4: TensorType
def ltensor4s(*names: str | int) -> list[TensorVariable]: ...
ltensor5: TensorType
def ltensor5s(*names: str | int) -> list[TensorVariable]: ...
ltensor6: TensorType
def ltensor6s(*names: str | int) -> list[TensorVariable]: ...
ltensor7: TensorType
def ltensor7s(*names: str | int) -> list[TensorVariable]: ...
lvector: TensorType
def lvectors(*names: str | int) -> list[TensorVariable]: ...
make_slice: MakeSlice
def matmul(a: _TensorLike, b: _TensorLike) -> TensorVariable: ...
def matrices(*names: str | int) -> list[TensorVariable]: ...
def matrix(name: str | None = None, dtype: DTypeLike | None = None) -> TensorVariable: ...
def matrix_transpose(x: _TensorLike) -> TensorVariable: ...
def matvec(x1: _Any, x2: _Any) -> TensorVariable: ...
def max(x: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
def max_and_argmax(a: _TensorLike, axis: _Axis = None, keepdims: bool = False
                   ) -> tuple[TensorVariable, TensorVariable]: ...
maximum: _OfTwo
def mean(input: _TensorLike, axis: _Axis = None, dtype: DTypeLike | None = None, op: bool = False,
         keepdims: bool = False, acc_dtype: DTypeLike | None = None) -> TensorVariable: ...
def median(a: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
def meshgrid(*xi: _Any, copy: bool = True, sparse: bool = False, indexing: str = 'xy') -> TensorVariable: ...
mgrid: _Any
def min(x: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
minimum: _OfTwo
mod: _OfTwo
def mod_check(x: _TensorLike, y: _TensorLike) -> TensorVariable: ...
def modf(x: _TensorLike) -> TensorVariable: ...
def moveaxis(x: _TensorLike, source: _Any, destination: _Any) -> TensorVariable: ...
mul: _OfMany
multiply: _OfMany
def nan_to_num(x: _TensorLike, copy: bool = True, nan: float = 0.0, posinf: _Any = None, neginf: _Any = None
               ) -> TensorVariable: ...
def nanargmax(a: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
def nanargmin(a: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
def nancumprod(a: _TensorLike, axis: _Axis = None) -> TensorVariable: ...
def nancumsum(a: _TensorLike, axis: _Axis = None) -> TensorVariable: ...
def nanmax(a: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
def nanmean(a: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
def nanmedian(a: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
def nanmin(a: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
def nanpercentile(a: _TensorLike, q: _Any, axis: _Axis = None, method: str = 'linear', keepdims: bool = False
                  ) -> TensorVariable: ...
def nanprod(a: _TensorLike, axis: _Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False
            ) -> TensorVariable: ...
def nanquantile(a: _TensorLike, q: _Any, axis: _Axis = None, method: str = 'linear', keepdims: bool = False
                ) -> TensorVariable: ...
def nanstd(a: _TensorLike, axis: _Axis = None, ddof: int | Variable = 0, keepdims: bool = False) -> TensorVariable: ...
def nansum(a: _TensorLike, axis: _Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False
           ) -> TensorVariable: ...
def nanvar(a: _TensorLike, axis: _Axis = None, ddof: int | Variable = 0, keepdims: bool = False) -> TensorVariable: ...
def ndim(a: _TensorLike) -> int: ...
ndtr: _OfOne
ndtri: _OfOne
neg: _OfOne
negative: _OfOne
neq: _OfTwo
nextafter: _OfTwo
none_type_t: NoneTypeT
def nonzero(a: _TensorLike, return_matrix: bool = False) -> _Any: ...
def nonzero_values(a: _TensorLike) -> TensorVariable: ...
not_equal: _OfTwo
ogrid: _Any
def ones(shape: _Shape, dtype: DTypeLike | None = None) -> TensorVariable: ...
def ones_like(model: _TensorLike, dtype: DTypeLike | None = None, opt: bool = False) -> TensorVariable: ...
or_: _OfTwo
def outer(x: _TensorLike, y: _TensorLike) -> TensorVariable: ...
owens_t: _OfTwo
def pad(array: _Any, pad_width: _Any, mode: str = 'constant', **options: _Any) -> TensorVariable: ...
def partition(a: _TensorLike, kth: _Any, axis: _Axis = -1, kind: str = 'introselect', order: _Any = None
              ) -> TensorVariable: ...
def patternbroadcast(x: _TensorLike, broadcastable: _Any) -> TensorVariable: ...
def percentile(a: _TensorLike, q: _Any, axis: _Axis = None, method: str = 'linear', keepdims: bool = False
               ) -> TensorVariable: ...
def permute_dims(a: _TensorLike, axes: _Any = None) -> TensorVariable: ...
def permute_row_elements(x: _TensorLike, y: _TensorLike, inverse: int | Variable = 0) -> TensorVariable: ...
def poly(seq_of_zeros: _Any) -> TensorVariable: ...
def polyadd(a1: _Any, a2: _Any) -> TensorVariable: ...
def polyder(p: _Any, m: _TensorLike = 1) -> TensorVariable: ...
def polyfit(x: _TensorLike, y: _TensorLike, deg: _Any, rcond: _Any = None, w: _Any = None) -> TensorVariable: ...
polygamma: _OfTwo
def polyint(p: _Any, m: _TensorLike = 1, k: _Any = None) -> TensorVariable: ...
def polymul(a1: _Any, a2: _Any) -> TensorVariable: ...
def polysub(a1: _Any, a2: _Any) -> TensorVariable: ...
def polyval(p: _Any, x: _TensorLike) -> TensorVariable: ...
def positive(x: _TensorLike) -> TensorVariable: ...
pow: _OfTwo
power: _OfTwo
def prod(input: _TensorLike, axis: _Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False,
         acc_dtype: DTypeLike | None = None, no_zeros_in_input: bool = False) -> TensorVariable: ...
psi: _OfOne
def ptp(a: _TensorLike, axis: _Axis = None, keepdims: bool = False) -> TensorVariable: ...
def put_along_axis(arr: _TensorLike, indices: _Any, values: _TensorLike, axis: _Axis) -> TensorVariable: ...
def quantile(a: _TensorLike, q: _Any, axis: _Axis = None, method: str = 'linear', keepdims: bool = False
             ) -> TensorVariable: ...
rad2deg: _OfOne
radians: _OfOne
def ravel(x: _TensorLike, ndim: int | None = None, outdim: int | None = None) -> TensorVariable: ...
def ravel_multi_index(multi_index: _Any, dims: _Any, mode: str = 'raise', order: str = 'C') -> TensorVariable: ...
real: _OfOne
reciprocal: _OfOne
def register_transfer(fn: _Any) -> _Any: ...
remainder: _OfTwo
def repeat(x: _TensorLike, repeats: _TensorLike, axis: _Axis = None) -> TensorVariable: ...
def reshape(x: _TensorLike, newshape: _Shape, ndim: int | None = None) -> TensorVariable: ...
def resize(a: _TensorLike, new_shape: _Any) -> TensorVariable: ...
right_shift: _OfTwo
rint: _OfOne
def roll(x: _TensorLike, shift: _Any, axis: _Axis = None) -> TensorVariable: ...
def rollaxis(a: _TensorLike, axis: _Axis, start: int | Variable = 0) -> TensorVariable: ...
def rot90(m: _TensorLike, k: _Any = 1, axes: _Any = (0, 1)) -> TensorVariable: ...
def round(a: _TensorLike, mode: _Any = None) -> TensorVariable: ...
round_half_away_from_zero: _OfOne
round_half_to_even: _OfOne
def row(name: str | None = None, dtype: DTypeLike | None = None) -> TensorVariable: ...
def rows(*names: str | int) -> list[TensorVariable]: ...
scal: ModuleType
def scalar(name: str | None = None, dtype: DTypeLike | None = None) -> TensorVariable: ...
scalar_from_tensor: ScalarFromTensor
def scalars(*names: str | int) -> list[TensorVariable]: ...
def searchsorted(x: _TensorLike, v: _TensorLike, side: str = 'left', sorter: _TensorLike | None = None
                 ) -> TensorVariable: ...
second: _OfTwo
def select(condlist: _Any, choicelist: _Any, default: int | Variable = 0) -> TensorVariable: ...
def set_subtensor(x: _TensorLike, y: _TensorLike, inplace: bool = False, tolerate_inplace_aliasing: bool = False
                  ) -> TensorVariable: ...
def setdiff1d(ar1: _Any, ar2: _Any, assume_unique: bool = False) -> TensorVariable: ...
def setxor1d(ar1: _Any, ar2: _Any, assume_unique: bool = False) -> TensorVariable: ...
sgn: _OfOne
def shape(x: _TensorLike) -> TensorVariable: ...
def shape_i(x: _TensorLike, i: _Any) -> TensorVariable: ...
def shape_padaxis(t: _Any, axis: _Axis) -> TensorVariable: ...
def shape_padleft(t: _Any, n_ones: int | Variable = 1) -> TensorVariable: ...
def shape_padright(t: _Any, n_ones: int | Variable = 1) -> TensorVariable: ...
sharedvar: ModuleType
sigmoid: _OfOne
sign: _OfOne
signbit: _OfOne
sin: _OfOne
sinc: _OfOne
sinh: _OfOne
def size(a: _TensorLike, axis: _Axis = None) -> TensorVariable: ...
slicetype: SliceType
def smallest(*args: _Any) -> TensorVariable: ...
softplus: _OfOne
def sort(a: _TensorLike, axis: _Axis = -1, kind: str = 'quicksort', order: _Any = None, descending: bool = False
         ) -> TensorVariable: ...
def sort_complex(a: _TensorLike) -> TensorVariable: ...
spacing: _OfOne
def sparse_grad(var: _Any) -> _Any: ...
def specify_shape(x: _TensorLike, shape: _Shape) -> TensorVariable: ...
def split(x: _TensorLike, splits_size: _Any, n_splits: _Any, axis: _Axis = 0) -> list[TensorVariable]: ...
sqr: _OfOne
sqrt: _OfOne
square: _OfOne
def squeeze(x: _TensorLike, axis: _Axis = None) -> TensorVariable: ...
def stack(*tensors: _Any, **kwargs: _Any) -> TensorVariable: ...
def stacklists(arg: _Any) -> TensorVariable: ...
def std(input: _TensorLike, axis: _Axis = None, ddof: int | Variable = 0, keepdims: bool = False,
        corrected: bool = False) -> TensorVariable: ...
sub: _OfTwo
subtract: _OfTwo
def sum(input: _TensorLike, axis: _Axis = None, dtype: DTypeLike | None = None, keepdims: bool = False,
        acc_dtype: DTypeLike | None = None) -> TensorVariable: ...
def swapaxes(y: _TensorLike, axis1: int, axis2: int) -> TensorVariable: ...
switch: _OfThree
def take(a: _TensorLike, indices: _Any, axis: _Axis = None, mode: str = 'raise') -> TensorVariable: ...
def take_along_axis(arr: _TensorLike, indices: _Any, axis: _Axis = -1) -> TensorVariable: ...
tan: _OfOne
tanh: _OfOne
def tensor(dtype: DTypeLike | None = None, broadcastable: Sequence[bool] | None = None, name: str | None = None,
           **kwargs: _Any) -> TensorVariable: ...
def tensor3(name: str | None = None, dtype: DTypeLike | None = None) -> TensorVariable: ...
def tensor3s(*names: str | int) -> list[TensorVariable]: ...
def tensor4(name: str | None = None, dtype: DTypeLike | None = None) -> TensorVariable: ...
def tensor4s(*names: str | int) -> list[TensorVariable]: ...
def tensor5(name: str | None = None, dtype: DTypeLike | None = None) -> TensorVariable: ...
def tensor5s(*names: str | int) -> list[TensorVariable]: ...
def tensor6(name: str | None = None, dtype: DTypeLike | None = None) -> TensorVariable: ...
def tensor6s(*names: str | int) -> list[TensorVariable]: ...
def tensor7(name: str | None = None, dtype: DTypeLike | None = None) -> TensorVariable: ...
def tensor7s(*names: str | int) -> list[TensorVariable]: ...
tensor_copy: _OfOne
tensor_from_scalar: TensorFromScalar
def tensordot(a: _TensorLike, b: _TensorLike, axes: _Any = 2) -> TensorVariable: ...
def tile(x: _TensorLike, reps: _Shape, ndim: int | None = None) -> TensorVariable: ...
def to_one_hot(y: _TensorLike, nb_class: _Any, dtype: DTypeLike | None = None) -> TensorVariable: ...
def topk(x: _TensorLike, kth: _Any, axis: _Axis = -1, sorted: bool = True, idx_dtype: str = 'int64'
         ) -> TensorVariable: ...
def topk_and_argtopk(x: _TensorLike, kth: _Any, axis: _Axis = -1, sorted: bool = True, idx_dtype: str = 'int64'
                     ) -> list[TensorVariable]: ...
def trace(a: _TensorLike, offset: int | Variable = 0, axis1: int = 0, axis2: int = 1) -> TensorVariable: ...
def transfer(var: _Any, target: _Any) -> _Any: ...
def transpose(x: _TensorLike, axes: _Any = None) -> TensorVariable: ...
def trapezoid(y: _TensorLike, x: _TensorLike | None = None, dx: float = 1.0, axis: _Axis = -1) -> TensorVariable: ...
def tri(N: _Any, M: _Any = None, k: _Any = 0, dtype: DTypeLike | None = None) -> TensorVariable: ...
tri_gamma: _OfOne
def tril(m: _TensorLike, k: _Any = 0) -> TensorVariable: ...
def tril_indices(n: _Any, k: _Any = 0, m: _TensorLike | None = None) -> TensorVariable: ...
def tril_indices_from(arr: _TensorLike, k: _Any = 0) -> TensorVariable: ...
def trim_zeros(filt: _Any, trim: str = 'fb') -> TensorVariable: ...
def triu(m: _TensorLike, k: _Any = 0) -> TensorVariable: ...
def triu_indices(n: _Any, k: _Any = 0, m: _TensorLike | None = None) -> TensorVariable: ...
def triu_indices_from(arr: _TensorLike, k: _Any = 0) -> TensorVariable: ...
true_div: _OfTwo
true_divide: _OfTwo
trunc: _OfOne
type: ModuleType
uint_dtypes: frozenset[str]
def unbroadcast(x: _TensorLike, *axes: _Any) -> TensorVariable: ...
def union1d(ar1: _Any, ar2: _Any) -> TensorVariable: ...
def unique(ar: _Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: _Axis = None) -> _Any: ...
def unique_all(x: _TensorLike) -> TensorVariable: ...
def unique_counts(x: _TensorLike) -> TensorVariable: ...
def unique_inverse(x: _TensorLike) -> TensorVariable: ...
def unique_values(x: _TensorLike) -> TensorVariable: ...
def unravel_index(indices: _Any, dims: _Any, order: str = 'C', ndim: int | None = None) -> _Any: ...
def unstack(x: _TensorLike, *, axis: _Axis = 0) -> TensorVariable: ...
def unwrap(p: _Any, discont: _Any = None, axis: _Axis = -1, *, period: float = 6.283185307179586) -> TensorVariable: ...
def upcast(*dtypes: _Any) -> str: ...
def values_eq_approx_always_true(a: _TensorLike, b: _TensorLike) -> bool: ...
def vander(x: _TensorLike, N: _Any = None, increasing: bool = False) -> TensorVariable: ...
def var(input: _TensorLike, axis: _Axis = None, ddof: int | Variable = 0, keepdims: bool = False,
        corrected: bool = False) -> TensorVariable: ...
def vdot(a: _TensorLike, b: _TensorLike) -> TensorVariable: ...
def vecdot(x1: _Any, x2: _Any, axis: _Axis = -1) -> TensorVariable: ...
def vecmat(x1: _Any, x2: _Any) -> TensorVariable: ...
def vector(name: str | None = None, dtype: DTypeLike | None = None) -> TensorVariable: ...
def vectors(*names: str | int) -> list[TensorVariable]: ...
def verify_grad(fun: _Any, pt: _Any, n_tests: int | Variable = 2, rng: _Any = None, eps: _Any = None,
                out_type: _Any = None, abs_tol: _Any = None, rel_tol: _Any = None, mode: _Any = None,
                cast_to_output_type: bool = False, no_debug_ref: bool = True) -> None: ...
def vertical_stack(*args: _Any) -> TensorVariable: ...
def vsplit(ary: _Any, indices_or_sections: _Any) -> TensorVariable: ...
def vstack(tup: _Any) -> TensorVariable: ...
wcol: TensorType
where: _OfThree
wmatrix: TensorType
wrow: TensorType
wscalar: TensorType
wtensor3: TensorType
wtensor4: TensorType
wtensor5: TensorType
wtensor6: TensorType
wtensor7: TensorType
wvector: TensorType
xlog1py: _OfTwo
xlogy: _OfTwo
xor: _OfTwo
zcol: TensorType
def zeros(shape: _Shape, dtype: DTypeLike | None = None) -> TensorVariable: ...
def zeros_like(model: _TensorLike, dtype: DTypeLike | None = None, opt: bool = False) -> TensorVariable: ...
zeta: _OfTwo
zmatrix: TensorType
zrow: TensorType
zscalar: TensorType
ztensor3: TensorType
ztensor4: TensorType
ztensor5: TensorType
ztensor6: TensorType
ztensor7: TensorType
zvector: TensorType

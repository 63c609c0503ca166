"""What each version of PyTensor and PyMC has: one line for each class of ops that has a row.

An op is looked up by the names of its class and module, so a class that a version does not have costs nothing. Its line
says how many inputs and which properties (PyTensor's ``__props__``) the class may have. An op of another form, as a
newer version may have, gets no row: PyTensor's own code runs it.
"""
from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from phintys.interop.pytensor_versions import version_of

if TYPE_CHECKING:
    from phintys.graph.op import Op

COMPUTING = {"perform", "impl"}                          # methods of PyTensor's classes

# A section begins with the modules that have had its classes; "pytensor." is left out of their names. A
# line is: name, inputs, properties; after "|" come further forms. "2+" is two inputs or more. A form that not every
# version has ends with the versions that have it: "@-3.0" until 3.0, "@3.1-" from 3.1.
TABLE = """
scalar: scalar.basic scalar.math scalar.loop tensor.math tensor.xlogx
    Abs 1
    Add 1+
    AND 1+
    Angle 1 @-3.1
    ArcCos 1
    ArcCosh 1
    ArcSin 1
    ArcSinh 1
    ArcTan 1
    ArcTan2 2
    ArcTanh 1
    BetaInc 3
    BetaIncInv 3
    Cast 1
    Ceil 1
    Clip 3
    Complex 2
    ComplexFromPolar 2 @-3.1
    Composite 0+ @-2.38 | 0+ fgraph @3.0-
    Conj 1
    Cos 1
    Cosh 1
    Deg2Rad 1 @-3.1
    EQ 2
    Erf 1
    Erfc 1
    Erfcinv 1
    Erfcx 1
    Erfinv 1
    Exp 1
    Exp2 1
    Expm1 1
    Floor 1
    GE 2
    GT 2
    Gamma 1
    GammaInc 2
    GammaIncC 2
    GammaIncCInv 2
    GammaIncInv 2
    GammaL 2 @-3.1
    GammaLn 1
    GammaU 2 @-3.1
    Hyp2F1 4
    I0 1
    I1 1
    Identity 1
    Imag 1
    IntDiv 2
    Invert 1
    IsInf 1
    IsNan 1
    Iv 2 @-2.38
    Ive 2
    J0 1
    J1 1
    Jv 2
    Kve 2
    LE 2
    LT 2
    Log 1
    Log10 1
    Log1mexp 1
    Log1p 1
    Log2 1
    Maximum 2+
    Minimum 2+
    Mod 2
    Mul 1+
    MulWithoutZeros 2
    NEQ 2
    NdtriExp 1 @3.2-
    Neg 1
    OR 1+
    Owens_t 2
    PolyGamma 2
    Pow 2
    Psi 1
    Rad2Deg 1 @-3.1
    Real 1
    Reciprocal 1
    RoundHalfAwayFromZero 1
    RoundHalfToEven 1
    ScalarLoop 1+ @-2.38 | 1+ fgraph @3.0-
    Second 2
    Sigmoid 1
    Sign 1
    Sin 1
    Sinh 1
    Softplus 1
    Sqr 1
    Sqrt 1
    Sub 2
    Switch 3
    Tan 1
    Tanh 1
    TriGamma 1
    TrueDiv 2
    Trunc 1
    XOR 2+
    XlogX 1 @-2.38
    XlogY0 2 @-2.38

tensor: tensor.elemwise tensor.math
    All 1 scalar_op axis dtype acc_dtype upcast_discrete_output
    Any 1 scalar_op axis dtype acc_dtype upcast_discrete_output
    Argmax 1 axis
    CAReduce 1 scalar_op axis dtype acc_dtype upcast_discrete_output
    DimShuffle 1 input_ndim new_order
    Dot 2
    Elemwise 0+ scalar_op inplace_pattern
    Max 1 scalar_op axis dtype acc_dtype upcast_discrete_output @-3.2
      | 1 scalar_op axis dtype acc_dtype upcast_discrete_output initial @3.3-
    Min 1 scalar_op axis dtype acc_dtype upcast_discrete_output @-3.2
      | 1 scalar_op axis dtype acc_dtype upcast_discrete_output initial @3.3-
    Prod 1 scalar_op axis dtype acc_dtype no_zeros_in_input
    ProdWithoutZeros 1 scalar_op axis dtype acc_dtype upcast_discrete_output
    Sum 1 scalar_op axis dtype acc_dtype upcast_discrete_output

tensor: tensor.special
    LogSoftmax 1 axis
    Softmax 1 axis
    SoftmaxGrad 2 axis @-2.38
    XLog1PY 2 @3.0-
    XLogY 2 @3.0-

tensor: tensor.basic tensor.shape tensor.reshape tensor.sort tensor.extra_ops tensor.type_other
    Alloc 1+
    AllocDiag 1 @-2.38 | 1 axis1 axis2 offset @3.0-
    AllocEmpty 0+ dtype
    ARange 3 dtype
    ArgSortOp 2 kind @-3.2 | 1 kind axis @3.3-
    Choose 2 mode
    CpuContiguous 1
    CumOp 1 axis mode
    ExtractDiag 1 offset axis1 axis2 view
    Eye 3 dtype
    FillDiagonal 2
    FillDiagonalOffset 3
    Join 2+ @-3.0 | 1+ axis @3.1-
    JoinDims 1 start_axis n_axes
    MakeSlice 3
    MakeVector 0+ dtype
    Nonzero 1
    PermuteRowElements 2 inverse
    RavelMultiIndex 2+ mode order
    Repeat 2 axis
    Reshape 2 ndim
    ScalarFromTensor 1
    SearchsortedOp 2+ side
    Shape 1
    Shape_i 1 i
    SortOp 2 kind @-3.2 | 1 kind axis @3.3-
    SpecifyShape 1+
    Split 3 len_splits @-3.0 | 2 len_splits axis @3.1-
    SplitDims 2 axis
    TensorFromScalar 1
    Unique 1 return_index return_inverse return_counts axis
    UnravelIndex 2 order

tensor: tensor.extra_ops tensor.fft tensor.fourier tensor.signal.conv
    Bartlett 1
    Convolve1d 3
    Convolve2d 3 method
    Fourier 3
    IRFFTOp 2
    RFFTOp 2

tensor: tensor.subtensor
    AdvancedIncSubtensor 2+ inplace set_instead_of_inc ignore_duplicates @-2.38
                       | 2+ idx_list inplace set_instead_of_inc ignore_duplicates @3.0-
    AdvancedIncSubtensor1 3 inplace set_instead_of_inc @-3.1
    AdvancedSubtensor 1+ @-2.38 | 1+ idx_list @3.0-
    AdvancedSubtensor1 2 @-3.1
    IncSubtensor 2+ idx_list inplace set_instead_of_inc @-2.38
               | 2+ idx_list inplace set_instead_of_inc destroyhandler_tolerate_aliased @3.0-
    Subtensor 1+ idx_list

tensor: tensor.blas tensor.blas.batched tensor.blas.gemm tensor.blas.gemv tensor.blas.ger tensor.blockwise
    BatchedDot 2
    Blockwise 0+ core_op signature
    Dot22 2
    Dot22Scalar 3
    Gemm 5 inplace
    Gemv 5 inplace
    Ger 4 destructive @-3.2

tensor: tensor.nlinalg tensor.slinalg tensor.linalg.constructors tensor.linalg.inverse tensor.linalg.products
        tensor.linalg.summary tensor.linalg.decomposition.cholesky tensor.linalg.decomposition.eigen
        tensor.linalg.decomposition.lu tensor.linalg.decomposition.qr tensor.linalg.decomposition.schur
        tensor.linalg.decomposition.svd tensor.linalg.solvers.general tensor.linalg.solvers.linear_control
        tensor._linalg.solve.linear_control tensor.linalg.solvers.lstsq tensor.linalg.solvers.psd
        tensor.linalg.solvers.triangular tensor.linalg.solvers.tridiagonal tensor._linalg.solve.tridiagonal
    BlockDiagonal 1+ n_inputs
    Cholesky 1 lower overwrite_a
    CholeskySolve 2 lower b_ndim overwrite_b
    Det 1
    Eig 1
    Eigh 1 UPLO @-2.38 | 1+ lower overwrite_a overwrite_b driver @3.0-
    EighGrad 5 UPLO @-2.38
    Eigvalsh 1+ lower @-2.38 | 1+ lower overwrite_a overwrite_b @3.0-
    EigvalshGrad 3 lower @-2.38
    Expm 1 @-2.38 | 1 overwrite_a @3.0-
    KroneckerProduct 2
    LU 1 permute_l overwrite_a p_indices
    LUFactor 1 overwrite_a
    LUFactorTridiagonal 3 overwrite_dl overwrite_d overwrite_du
    Lstsq 3
    MatrixInverse 1
    MatrixPinv 1 hermitian
    PivotToPermutations 1 inverse
    QR 1 overwrite_a mode pivoting
    QZ 2 complex_output overwrite_a overwrite_b sort return_eigenvalues
    Schur 1 output overwrite_a sort
    SLogDet 1
    Solve 2 assume_a lower b_ndim overwrite_a overwrite_b
    SolveLUFactorTridiagonal 6 b_ndim overwrite_b transposed
    SolveTriangular 2 unit_diagonal lower b_ndim overwrite_b
    SolveSylvester 3
    SVD 1 full_matrices compute_uv @-2.38 | 1 full_matrices compute_uv overwrite_a @3.0-
    TensorInv 1 ind
    TensorSolve 2 axes
    TRSYL 3 overwrite_c

compile: compile.builders compile.ops ifelse conditional.op printing raise_op scan.op
    CheckAndRaise 1+ msg exc_type
    DeepCopyOp 1
    IfElse 1+ as_view n_outs
    LazyIfElse 1+ true_branch false_branch output_types @3.3-
    OpFromGraph 0+
    Print 1 message attrs global_fn
    Scan 1+
    TypeCastingOp 1
    ViewOp 1

random: tensor.random.op
    RandomVariable 2+ name signature dtype inplace

optimize: tensor.optimize
    MinimizeOp 1+
    MinimizeScalarOp 1+
    RootOp 1+ method jac @-3.0 | 1+ @3.1-
    RootScalarOp 1+

sparse: sparse.basic sparse.math
    AddSD 2 @-3.2
    AddSparseDense 2 @3.3-
    AddSparseSparse 2 @3.3-
    AddSparseSparseData 2 @3.3-
    AddSS 2 @-3.2
    AddSSData 2 @-3.2
    Cast 1 out_type
    ColScaleCSC 2
    ConstructSparseFromList 3
    CSM 4 format
    CSMGrad 8
    CSMProperties 1
    DenseFromSparse 1
    Diag 1
    Dot 2
    EnsureSortedIndices 1 inplace
    EqualSD 2 @-3.2
    EqualSparseDense 2 @3.3-
    EqualSparseSparse 2 @3.3-
    EqualSS 2 @-3.2
    GetItem2d 7
    GetItem2Lists 3
    GetItem2ListsGrad 4
    GetItemList 2
    GetItemListGrad 3
    GetItemScalar 3
    GreaterEqualSD 2 @-3.2
    GreaterEqualSparseDense 2 @3.3-
    GreaterEqualSparseSparse 2 @3.3-
    GreaterEqualSS 2 @-3.2
    GreaterThanSD 2 @-3.2
    GreaterThanSparseDense 2 @3.3-
    GreaterThanSparseSparse 2 @3.3-
    GreaterThanSS 2 @-3.2
    HStack 1+ format dtype
    LessEqualSD 2 @-3.2
    LessEqualSparseDense 2 @3.3-
    LessEqualSparseSparse 2 @3.3-
    LessEqualSS 2 @-3.2
    LessThanSD 2 @-3.2
    LessThanSparseDense 2 @3.3-
    LessThanSparseSparse 2 @3.3-
    LessThanSS 2 @-3.2
    MultiplySparseDense 2 @3.3-
    MultiplySparseDenseVector 2 @3.3-
    MultiplySparseSparse 2 @3.3-
    NotEqualSD 2 @-3.2
    NotEqualSparseDense 2 @3.3-
    NotEqualSparseSparse 2 @3.3-
    NotEqualSS 2 @-3.2
    Remove0 1 inplace
    RowScaleCSC 2
    SamplingDot 3
    SparseDenseMultiply 2 @-3.2
    SparseDenseVectorMultiply 2 @-3.2
    SparseFromDense 1 @-2.38 | 1 format @3.0-
    SparseSparseMultiply 2 @-3.2
    SpSum 1 axis
    StructuredAddSparseDenseVector 2 @3.3-
    StructuredAddSV 2 @-3.2
    StructuredDot 2
    StructuredDotGradCSC 4
    StructuredDotGradCSR 4
    Transpose 1
    TrueDot 2
    Usmm 4
    VStack 1+ format dtype

typed_list: typed_list.basic
    Append 2 inplace
    Count 2
    Extend 2 inplace
    GetItem 2
    Index 2
    Insert 3 inplace
    Length 1
    MakeList 0+
    Remove 2 inplace
    Reverse 1 inplace

pymc: pymc.math pymc.distributions.dist_math pymc_extras.utils.spline
    BatchedDiag 1
    BSplineBasis 3 sparse
    I0e 1
    I1e 1
    LogDet 1 @-3.0
    SplineWrapper 1 spline
"""


class Form(NamedTuple):
    """One form of a class of ops."""

    fewest: int                     # inputs
    most: float
    properties: tuple
    first: tuple = (0,)             # versions of PyTensor that have it
    last: tuple = (float("inf"),)

    def fits(self, kind: type, count: int) -> bool:
        """Whether a class has these properties, and an op of it may have so many inputs."""
        return (self.fewest <= count <= self.most
                and set(getattr(kind, "__props__", None) or ()) == set(self.properties))


class Line(NamedTuple):
    """A line of the table: the row's name, ``"tensor.Join"``, and the forms of its class."""

    name: str
    forms: tuple

    @property
    def area(self) -> Any:
        """The rows that it belongs to."""
        return self.name.partition(".")[0]


def _form(text):
    text, _, versions = text.partition("@")
    inputs, *properties = text.split()
    first, last = [version_of(each) for each in (versions or "-").split("-")]
    fewest = int(inputs.rstrip("+"))
    return Form(fewest, float("inf") if inputs.endswith("+") else fewest, tuple(properties),
                first or Form._field_defaults["first"], last or Form._field_defaults["last"])


def _read(table):
    """(module, class name) → Line."""
    found = {}
    for section in table.strip().split("\n\n"):
        heads, lines = [], []
        for text in re.sub(r"\n\s*\|", " |", section).splitlines():
            (heads if text[4:5] in ("", " ") or not text.startswith(" ") else lines).append(text)
        area, *modules = " ".join(heads).replace(":", " ").split()
        for text in lines:
            name, *rest = text.split(None, 1)
            line = Line(f"{area}.{name}", tuple([_form(each) for each in rest[0].split("|")]))
            found.update({(module, name): line for module in modules})
    return found


LINES = _read(TABLE)


@cache
def line_of(op_class: type) -> tuple[Any, ...]:
    """The class, or the nearest that it is derived from, that has a line, and the line; (None, None) if none has.

    A class that computes by code of its own is no such class as the ones that it is derived from.
    """
    for kind in op_class.__mro__:
        line = LINES.get((kind.__module__.removeprefix("pytensor."), kind.__name__))
        if line is not None:
            return kind, line
        if not COMPUTING.isdisjoint(vars(kind)):
            break
    return None, None


def name_of(op: Op) -> str:
    """The name of the op's line, or None."""
    line = line_of(type(op))[1]
    return None if line is None else line.name

"""Elementwise ops and reductions: PyTensor's scalar op → the function of phintys for tensors."""
from functools import reduce

from pytensor.scalar import basic, math
from pytensor.tensor import xlogx
from pytensor.tensor.elemwise import CAReduce, DimShuffle, Elemwise
from pytensor.tensor.math import All, Any, Argmax, Max, Min, MulWithoutZeros, Prod, Sum
from pytensor.tensor.special import LogSoftmax, Softmax, SoftmaxGrad

from phintys import tensor as T
from phintys.interop.pytensor.translation import applied, row, row_of, translated
from phintys.tensor import nnet
from phintys.tensor import xlogx as tensor_xlogx

# PyTensor's classes whose functions have another name here than the class in small letters.
OTHER_NAMES = {"IsNan": "isnan", "IsInf": "isinf", "OR": "or_", "AND": "and_", "Abs": "abs_", "TrueDiv": "true_div",
               "IntDiv": "int_div", "RoundHalfToEven": "round_half_to_even", "TriGamma": "tri_gamma",
               "RoundHalfAwayFromZero": "round_half_away_from_zero", "ComplexFromPolar": "complex_from_polar",
               "ScalarMaximum": "maximum", "ScalarMinimum": "minimum"}
X_LOG_X = {xlogx.XlogX: tensor_xlogx.xlogx, xlogx.XlogY0: tensor_xlogx.xlogy0}
SAME_NAMES = """LT GT LE GE EQ NEQ Switch XOR Invert Maximum Minimum Add Mul Sub Mod Pow Clip Second Sign Ceil Floor
    Trunc Neg Reciprocal Log Log2 Log10 Log1p Exp Exp2 Expm1 Sqr Sqrt Deg2Rad Rad2Deg Cos ArcCos Sin ArcSin Tan ArcTan
    ArcTan2 Cosh ArcCosh Sinh ArcSinh Tanh ArcTanh Real Imag Angle Complex Conj Erf Erfc Erfcx Erfinv Erfcinv Owens_t
    Gamma GammaLn Psi PolyGamma GammaInc GammaIncC GammaU GammaL GammaIncInv
    GammaIncCInv BetaIncInv Jv J1 J0 Iv I1 I0 Ive Kve Sigmoid Softplus BetaInc
    Hyp2F1""".split()
OF_MANY = {"Add", "Mul", "OR", "XOR", "AND", "Maximum", "Minimum", "ScalarMaximum", "ScalarMinimum"}


def _functions():
    """PyTensor's class of scalar ops → (function, whether it takes any number of arguments)."""
    names = {**{name: name.lower() for name in SAME_NAMES}, **OTHER_NAMES}
    return {kind: (getattr(T, names[name]), name in OF_MANY) for module in (basic, math)
            for name, kind in vars(module).items() if name in names}


FUNCTIONS = _functions()


@row(*FUNCTIONS)
def _function(op, node, *inputs):
    function, of_many = FUNCTIONS[type(op)] if type(op) in FUNCTIONS else next(
        FUNCTIONS[kind] for kind in type(op).__mro__ if kind in FUNCTIONS)
    return reduce(function, inputs) if of_many and len(inputs) != 2 else function(*inputs)


@row(basic.Identity)
def _identity(op, node, x):
    return x


@row(basic.Cast)
def _cast(op, node, x):
    return T.cast(x, op.o_type.dtype)


@row(*X_LOG_X)
def _x_log_x(op, node, *inputs):
    return X_LOG_X[type(op)](*inputs)


@row(math.Log1mexp)
def _log1mexp(op, node, x):
    """``log(1 - exp(x))``, by the function that is exact on this side of log(1/2)."""
    return T.switch(T.lt(x, -0.6931471805599453), T.log1p(-T.exp(x)), T.log(-T.expm1(x)))


@row(MulWithoutZeros)
def _mul_without_zeros(op, node, x, y):
    return T.switch(T.eq(x, 0), y, T.switch(T.eq(y, 0), x, x * y))


@row(basic.Composite)
def _composite(op, node, *inputs):
    return translated(op.fgraph.outputs, dict(zip(op.fgraph.inputs, inputs)))


@row(Elemwise)
def _elementwise(op, node, *inputs):
    return applied(op.scalar_op, node, list(inputs)) if _has_row(op.scalar_op) else None


def _has_row(scalar_op):
    """Whether a scalar op has a row, and each inside a composite one or a loop."""
    inside = scalar_op.fgraph.apply_nodes if isinstance(scalar_op, basic.ScalarInnerGraphOp) else ()
    return row_of(scalar_op) is not None and all([_has_row(node.op) for node in inside])


@row(DimShuffle)
def _dimshuffle(op, node, x):
    dropped = [axis for axis in range(x.type.ndim) if axis not in op.new_order and not x.type.broadcastable[axis]]
    return (T.addbroadcast(x, *dropped) if dropped else x).dimshuffle(op.new_order)


# ---- reductions ----------------------------------------------------------------------------------------------------
REDUCTIONS = {basic.Add: T.sum, basic.Mul: T.prod, basic.Maximum: T.max, basic.Minimum: T.min,
              basic.ScalarMaximum: T.max, basic.ScalarMinimum: T.min, basic.AND: T.all, basic.OR: T.any,
              MulWithoutZeros: lambda x, axis, dtype, acc_dtype: T.ProdWithoutZeros(axis, dtype, acc_dtype)(x)}
WITH_DTYPE = {T.sum, T.prod, REDUCTIONS[MulWithoutZeros]}


@row(CAReduce, Sum, Prod, Max, Min, All, Any)
def _reduction(op, node, x):
    function = REDUCTIONS.get(type(op.scalar_op))
    if function is None:
        return None
    axes = list(range(x.type.ndim)) if op.axis is None else list(op.axis)
    if not axes or not x.type.ndim:             # NumPy reduces a number along axis 0
        return x
    options = {"dtype": node.outputs[0].type.dtype, "acc_dtype": op.acc_dtype} if function in WITH_DTYPE else {}
    return function(x, axis=axes, **options)


@row(Argmax)
def _argmax(op, node, x):
    return T.argmax(x, axis=None if op.axis is None or not x.type.ndim else list(op.axis))


# ---- softmax -------------------------------------------------------------------------------------------------------
def _along_last(x, axis):
    """Whether a softmax is one of rows."""
    return x.type.ndim in (1, 2) and axis in (-1, x.type.ndim - 1)


@row(Softmax)
def _softmax(op, node, x):
    if _along_last(x, op.axis):
        return _like(nnet.softmax(x), x)
    powers = T.exp(x - T.max(x, axis=op.axis, keepdims=True))
    return powers / T.sum(powers, axis=op.axis, keepdims=True)


@row(LogSoftmax)
def _log_softmax(op, node, x):
    if _along_last(x, op.axis):
        return _like(nnet.logsoftmax(x), x)
    below = x - T.max(x, axis=op.axis, keepdims=True)
    return below - T.log(T.sum(T.exp(below), axis=op.axis, keepdims=True))


def _like(found, x):
    """Softmax of a vector has a dimension more in Theano."""
    return found if found.type.ndim == x.type.ndim else found[0]


@row(SoftmaxGrad)
def _softmax_gradient(op, node, gradient, result):
    product = gradient * result
    return product - T.sum(product, axis=op.axis, keepdims=True) * result

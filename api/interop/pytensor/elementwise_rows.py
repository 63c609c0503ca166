"""Elementwise ops and reductions: PyTensor's scalar op → the function of phintys for tensors."""
from __future__ import annotations

from functools import reduce
from typing import Any

import numpy
from pytensor.scalar.basic import ScalarInnerGraphOp

from phintys import tensor as T
from phintys.interop.pytensor.op_table import name_of
from phintys.interop.pytensor.translation import applied, row, row_of, translated
from phintys.ops.elementwise.elementwise_functions import xlogx, xlogy0
from phintys.ops.reduction.careduce import MaxOrLowest
from phintys.optimizer.engine.forms import constant_value
from phintys.tensor import nnet

# PyTensor's classes whose functions have another name here than the class in small letters.
OTHER_NAMES = {"IsNan": "isnan", "IsInf": "isinf", "OR": "or_", "AND": "and_", "Abs": "abs_", "TrueDiv": "true_div",
               "IntDiv": "int_div", "RoundHalfToEven": "round_half_to_even", "TriGamma": "tri_gamma",
               "RoundHalfAwayFromZero": "round_half_away_from_zero", "ComplexFromPolar": "complex_from_polar"}
SAME_NAMES = """LT GT LE GE EQ NEQ Switch XOR Invert Maximum Minimum Add Mul Sub Mod Pow Second Sign Ceil Floor
    Trunc Neg Reciprocal Log Log2 Log10 Log1p Exp Exp2 Expm1 Sqr Sqrt Deg2Rad Rad2Deg Cos ArcCos Sin ArcSin Tan ArcTan
    ArcTan2 Cosh ArcCosh Sinh ArcSinh Tanh ArcTanh Real Imag Angle Complex Conj Erf Erfc Erfcx Erfinv Erfcinv Owens_t
    Gamma GammaLn Psi PolyGamma GammaInc GammaIncC GammaU GammaL GammaIncInv
    GammaIncCInv BetaIncInv Jv J1 J0 Iv I1 I0 Ive Kve Sigmoid Softplus BetaInc
    Hyp2F1""".split()
OF_MANY = {"Add", "Mul", "OR", "XOR", "AND", "Maximum", "Minimum"}

NEWTON_STEPS = 5                # from an asymptotic start to all digits


NAMES = {**{name: name.lower() for name in SAME_NAMES}, **OTHER_NAMES}
# The row's name → (function, whether it takes any number of arguments).
FUNCTIONS = {f"scalar.{name}": (getattr(T, function), name in OF_MANY) for name, function in NAMES.items()}
FUNCTIONS.update({"scalar.XlogX": (xlogx, False), "scalar.XlogY0": (xlogy0, False),
                  "tensor.XLogY": (T.xlogy, False), "tensor.XLog1PY": (T.xlog1py, False)})


@row(*FUNCTIONS)
def _function(op, node, *inputs):
    function, of_many = FUNCTIONS[name_of(op)]
    return reduce(function, inputs) if of_many and len(inputs) != 2 else function(*inputs)


row("scalar.Identity")(lambda op, node, x: x)
row("scalar.Cast")(lambda op, node, x: T.cast(x, op.o_type.dtype))


@row("scalar.Clip")
def _clip(op, node, x, low, high):
    """As PyTensor's C code: the lower bound comes first where it is above the upper one; NaN is no bound."""
    limits = [constant_value(each) for each in (low, high)]
    if None not in limits and limits[0] <= limits[1]:
        return T.clip(x, low, high)
    return T.switch(T.lt(x, low), low, T.switch(T.gt(x, high), high, x))


@row("scalar.Log1mexp")
def _log1mexp(op, node, x):
    """``log(1 - exp(x))``, by the function that is exact on this side of log(1/2)."""
    return T.switch(T.lt(x, -0.6931471805599453), T.log1p(-T.exp(x)), T.log(-T.expm1(x)))


row("scalar.NdtriExp")(lambda op, node, y: ndtri_exp(y))


def ndtri_exp(y: Any) -> Any:
    """``ndtri(exp(y))``: by logarithms where ``exp(y)`` loses digits or is 0."""
    start = -T.sqrt(T.maximum(-2 * y - T.log(T.maximum(-4 * numpy.pi * y, 1.0)), 1.0))
    x = start
    for _ in range(NEWTON_STEPS):
        below = T.log_ndtr(x)
        slope = T.switch(T.lt(x, -1e4), -x, T.exp(-x ** 2 / 2 - below) / numpy.sqrt(2 * numpy.pi))
        x = x - (below - y) / slope
    middle = T.switch(T.gt(y, -1e-2), -T.ndtri(-T.expm1(y)), T.ndtri(T.exp(y)))
    return T.switch(T.or_(T.gt(y, -5), T.isinf(y)), middle, x)


row("scalar.MulWithoutZeros")(lambda op, node, x, y: T.switch(T.eq(x, 0), y, T.switch(T.eq(y, 0), x, x * y)))
row("scalar.Composite")(lambda op, node, *inputs: translated(op.fgraph.outputs, dict(zip(op.fgraph.inputs, inputs))))
row("tensor.Elemwise")(lambda op, node, *inputs:
    applied(op.scalar_op, node, list(inputs)) if _has_row(op.scalar_op, len(inputs)) else None)


def _has_row(scalar_op, count):
    """Whether a scalar op has a row, and each inside a composite one or a loop."""
    inside = scalar_op.fgraph.apply_nodes if isinstance(scalar_op, ScalarInnerGraphOp) else ()
    return row_of(scalar_op, count) is not None and all([_has_row(node.op, len(node.inputs)) for node in inside])


@row("tensor.DimShuffle")
def _dimshuffle(op, node, x):
    dropped = [axis for axis in range(x.type.ndim) if axis not in op.new_order and not x.type.broadcastable[axis]]
    return (T.addbroadcast(x, *dropped) if dropped else x).dimshuffle(op.new_order)


# ---- reductions ----------------------------------------------------------------------------------------------------
REDUCTIONS = {"scalar.Add": T.sum, "scalar.Mul": T.prod, "scalar.Maximum": T.max, "scalar.Minimum": T.min,
              "scalar.AND": T.all, "scalar.OR": T.any,
              "scalar.MulWithoutZeros": lambda x, axis, dtype, acc_dtype: T.ProdWithoutZeros(axis, dtype, acc_dtype)(x)}
WITH_DTYPE = {T.sum, T.prod, REDUCTIONS["scalar.MulWithoutZeros"]}


@row(*[f"tensor.{name}" for name in ("CAReduce", "Sum", "Prod", "ProdWithoutZeros", "Max", "Min", "All", "Any")])
def _reduction(op, node, x):
    function = REDUCTIONS.get(name_of(op.scalar_op))
    if function is None:
        return None
    axes = list(range(x.type.ndim)) if op.axis is None else list(op.axis)
    if not axes or not x.type.ndim:             # NumPy reduces a number along axis 0
        return x
    if getattr(op, "initial", False):
        return _extremum_of_any(function, x, axes)
    options = {"dtype": node.outputs[0].type.dtype, "acc_dtype": op.acc_dtype} if function in WITH_DTYPE else {}
    return function(x, axis=axes, **options)


def _extremum_of_any(function, x, axes):
    """A maximum or minimum that is the lowest or highest value of the dtype if there are no elements."""
    if x.type.dtype.startswith("float"):
        return MaxOrLowest(axes)(x) if function is T.max else -MaxOrLowest(axes)(-x)
    limits = numpy.iinfo(x.type.dtype) if x.type.dtype != "bool" else None
    least = limits.min if limits else False
    most = limits.max if limits else True
    for axis in axes:
        lengths = [1 if position == axis else T.shape_i(x, position) for position in range(x.type.ndim)]
        end = T.constant(least if function is T.max else most, dtype=x.type.dtype)
        x = T.join(axis, x, T.alloc(end, *lengths))
    return function(x, axis=axes)


row("tensor.Argmax")(lambda op, node, x:
    T.argmax(x, axis=None if op.axis is None or not x.type.ndim else list(op.axis)))


# ---- softmax -------------------------------------------------------------------------------------------------------
def _only_last(x, axis):
    """Whether a softmax is one of rows."""
    return x.type.ndim in (1, 2) and _axes(x, axis) in ([-1], [x.type.ndim - 1])


def _axes(x, axis):
    return list(range(x.type.ndim)) if axis is None else [axis] if isinstance(axis, int) else list(axis)


@row("tensor.Softmax")
def _softmax(op, node, x):
    if _only_last(x, op.axis):
        return _like(nnet.softmax(x), x)
    axes = _axes(x, op.axis)
    powers = T.exp(x - T.max(x, axis=axes, keepdims=True))
    return powers / T.sum(powers, axis=axes, keepdims=True)


@row("tensor.LogSoftmax")
def _log_softmax(op, node, x):
    if _only_last(x, op.axis):
        return _like(nnet.logsoftmax(x), x)
    axes = _axes(x, op.axis)
    below = x - T.max(x, axis=axes, keepdims=True)
    return below - T.log(T.sum(T.exp(below), axis=axes, keepdims=True))


def _like(found, x):
    """Softmax of a vector has a dimension more in Theano."""
    return found if found.type.ndim == x.type.ndim else found[0]


@row("tensor.SoftmaxGrad")
def _softmax_gradient(op, node, gradient, result):
    product = gradient * result
    return product - T.sum(product, axis=op.axis, keepdims=True) * result

"""The R-operator against the L-operator, for every op that has one: ``w . (J e) = (w J) . e``, and finite differences.

Every choice of float inputs moves once while the others stay, so that an op sees each of its inputs missing. What has
no derivative is refused in both directions.
"""
import importlib
import itertools
import pkgutil

import numpy
import pytest
from elementwise_cases import DIFFERENTIABLE, count_of, drawn
from family_cases import values, variable_for

import phintys
import phintys.ops
import phintys.tensor as T
from phintys.gradient import DisconnectedInputError, DisconnectedType, Lop, NullTypeGradError, Rop, grad, undefined_grad
from phintys.graph.gradients.view_op import ViewOp
from phintys.graph.op import Op
from phintys.graph.public_names import defined_in
from phintys.ops.convolution import convolution
from phintys.ops.convolution.old_interface import ConvOp
from phintys.ops.creation.alloc import SumStretched
from phintys.ops.cumulative.product import Prod
from phintys.ops.elementwise.scalar_op import SCALAR_OPS
from phintys.ops.elementwise.scalar_protocol import ScalarOp
from phintys.ops.identity.assertion import Check
from phintys.ops.identity.equal_lengths import EqualLengths
from phintys.ops.linalg.diagonal import SetDiagonal
from phintys.ops.linalg.polynomial import Horner, PowerSums
from phintys.ops.loops.first_rows import EnoughRows, first_rows
from phintys.ops.loops.linear_recurrence import linear_recurrence
from phintys.ops.nnet import block_sparse
from phintys.ops.nnet.batch_normalization import batch_normalization_test, batch_normalization_train
from phintys.ops.nnet.crossentropy import (
    CrossentropySoftmax1HotWithBiasDx,
    crossentropy_categorical_1hot,
    crossentropy_categorical_1hot_grad,
    crossentropy_softmax_argmax_1hot_with_bias,
)
from phintys.ops.nnet.softmax import LogSoftmax, Softmax, SoftmaxGrad, SoftmaxWithBias
from phintys.ops.pooling import pool
from phintys.ops.products import blas
from phintys.ops.rearranging.repeat import RepeatOp, SumRepeats
from phintys.ops.reduction import careduce, reduction
from phintys.ops.shape.contiguous import CpuContiguous
from phintys.ops.types.dtypes import complex_dtypes, discrete_dtypes
from phintys.ops.types.number_views import ScalarFromTensor, TensorFromScalar

V, M, Q, S = (3,), (3, 4), (3, 3), ()
LABELS = numpy.array([1, 0, 3])
TWICE = numpy.array([2, 0, 2])
MASK = numpy.array([True, False, True])
STACK = (2, 3, 3)
BLOCKS = numpy.array([[0, 2], [1, 1]])
IMAGE = numpy.arange(12.0).reshape(M)


def loop(rows, weight, start):
    """A loop with a sequence, a state of two taps, a stacked output and wholes."""
    (states, others), _ = phintys.scan(lambda row, old, last: (T.tanh(T.dot(old, weight) + last * row), row * last[0]),
                                       rows, [dict(initial=start, taps=[-2, -1]), None])
    return T.concatenate([states, others])


def train_gradient(x, scale, dy):
    """A node of AbstractBatchNormTrainGrad."""
    normalized, *_ = batch_normalization_train(x, scale, T.zeros((1, 4)))
    return Lop(normalized, x, dy)


# name: (function of variables, shapes of the float inputs)
FAMILIES = {
    "AdvancedSubtensor1": (lambda x: x[TWICE], [M]),
    "AdvancedSubtensor": (lambda x: x[TWICE, :, None], [M]),
    "AdvancedBooleanSubtensor": (lambda x: x[MASK], [M]),
    "AdvancedIncSubtensor1": (lambda x, y: T.inc_subtensor(x[TWICE], y), [M, M]),
    "AdvancedIncSubtensor1, set": (lambda x, y: T.set_subtensor(x[TWICE], y), [M, M]),
    "AdvancedIncSubtensor": (lambda x, y: T.inc_subtensor(x[TWICE, TWICE], y), [M, V]),
    "AdvancedIncSubtensor, set": (lambda x, y: T.set_subtensor(x[TWICE, TWICE], y), [M, V]),
    "AdvancedBooleanIncSubtensor": (lambda x, y: T.set_subtensor(x[MASK], y), [M, (2, 4)]),
    "Subtensor": (lambda x: x[1:, ::-1], [M]), "IncSubtensor": (lambda x, y: T.inc_subtensor(x[0], y), [M, (4,)]),
    "IncSubtensor, set": (lambda x, y: T.set_subtensor(x[:, None, 1], y), [M, S]),
    "Alloc": (lambda x: T.alloc(x, 2, 3), [V]), "ARange": (lambda x, y: T.arange(x, x + 20.5 * y, y), [S, S]),
    "MaxAndArgmax": (lambda x: T.max_and_argmax(x, axis=1)[0], [M]),
    "Max": (lambda x: T.max(x, axis=1), [M]), "Min": (lambda x: T.min(x), [M]),
    "MaxOrLowest": (careduce.MaxOrLowest((1,)), [M]), "SortOp": (lambda x: T.sort(x, axis=0), [M]),
    "Horner": (Horner(), [V, M]), "PowerSums": (lambda g, x: PowerSums()(g, x, 3), [M, M]),
    "FourierTransform": (lambda x: abs(T.fft.fft(x)), [M]), "ComplexParts": (T.fft.rfft, [M]),
    "FourierTransform, hermitian": (lambda x: T.fft.complex_irfft(x, 5), [M]),
    "Convolution": (T.Convolution(), [V, (3,)]),
    "PartitionOp": (lambda x: T.partition(x, 1, axis=0), [M]), "TopKOp": (lambda x: T.topk(x, 2), [M]),
    "TopKOp, smallest": (lambda x: T.topk(x, -2, axis=0), [M]), "Unique": (T.unique, [M]),
    "Unique, axis": (lambda x: T.unique(x, axis=1), [M]),
    "Sum": (lambda x: x.sum(axis=0), [M]), "Prod": (lambda x: x.prod(axis=1), [M]),
    "Prod, no zeros": (lambda x: Prod(no_zeros_in_input=True)(x), [M]), "Mean": (reduction.Mean(0), [M]),
    "Assert": (lambda x: T.opt.Assert()(x, T.ge(x.shape[0], 1)), [V]),
    "Check": (lambda x: Check("none")(x, T.ge(x.shape[0], 1)), [V]),
    "AbstractBatchNormInference": (lambda *inputs: batch_normalization_test(*inputs[:4], inputs[4] ** 2 + 1),
                                   [M, (1, 4), (1, 4), (1, 4), (1, 4)]),
    "AbstractBatchNormTrain": (lambda *inputs: batch_normalization_train(*inputs)[0], [M, (1, 4), (1, 4)]),
    "AbstractBatchNormTrainGrad": (train_gradient, [M, (1, 4), M]),
    "BatchedDot": (T.batched_dot, [STACK, STACK]), "Dot": (T.dot, [M, (4, 2)]), "Dot, vectors": (T.dot, [V, V]),
    "Dot22": (blas.dot22, [M, (4, 2)]), "Dot22Scalar": (blas.dot22scalar, [M, (4, 2), S]),
    "Gemm": (blas.gemm, [Q, S, M, (4, 3), S]), "Gemv": (blas.gemv, [V, S, M, (4,), S]),
    "Ger": (blas.ger, [M, S, V, (4,)]),
    "Choose": (lambda *inputs: T.choose(numpy.array([1, 0, 1]), inputs), [V, V]),
    "CpuContiguous": (CpuContiguous(), [M]),
    "CrossentropyCategorical1Hot": (lambda x: crossentropy_categorical_1hot(x ** 2 + 1, LABELS), [M]),
    "CrossentropyCategorical1HotGrad": (
        lambda g, x: crossentropy_categorical_1hot_grad(g, x ** 2 + 1, LABELS), [V, M]),
    "CrossentropySoftmaxArgmax1HotWithBias": (
        lambda x, b: crossentropy_softmax_argmax_1hot_with_bias(x, b, LABELS)[0], [M, (4,)]),
    "CrossentropySoftmax1HotWithBiasDx": (
        lambda g, x: CrossentropySoftmax1HotWithBiasDx()(g, Softmax()(x), LABELS), [V, M]),
    "CumOp": (lambda x: T.cumprod(x, axis=0), [M]),
    "DeepCopyOp": (phintys.compile.deep_copy_op, [M]), "AllocDiag": (T.AllocDiag(), [V]),
    "ExtractDiag": (lambda x: T.ExtractDiag()(x), [M]),
    "SetDiagonal": (SetDiagonal(0, 0, 1), [Q, V]),
    "DimShuffle": (lambda x: x.dimshuffle(1, "x", 0), [M]),
    "IfElse": (lambda x, y: phintys.ifelse.ifelse(T.ge(x.shape[0], 1), x, y), [V, V]),
    "Join": (lambda x, y: T.join(0, x, y), [M, M]), "MakeVector": (lambda x, y: T.stack([x, y]), [S, S]),
    "NumberView": (lambda x: TensorFromScalar()(ScalarFromTensor()(x)), [S]),
    "OpFromGraph": (lambda x, y: phintys.OpFromGraph([a := T.dvector(), b := T.dvector()], [a * T.exp(b)])(x, y),
                    [V, V]),
    "SparseBlockGemv": (
        lambda o, W, h: block_sparse.sparse_block_gemv(o, W, h, BLOCKS, BLOCKS), [(2, 2, 3), (3, 4, 2, 3), (2, 2, 2)]),
    "SparseBlockOuter": (
        lambda o, x, y, alpha: block_sparse.sparse_block_outer(o, x, y, BLOCKS, BLOCKS, alpha),
        [(3, 4, 2, 3), (2, 2, 2), (2, 2, 3), S]),
    "Pool": (lambda x: pool.pool_2d(x, (2, 2), False), [M]),
    "Pool, sums": (lambda x: pool.pool_2d(x, (2, 2), True, (1, 1), (1, 0), "average_exc_pad"), [M]),
    "MaxPoolGrad": (lambda g: pool.MaxPoolGrad(True)(IMAGE, IMAGE[:, 1:], g, (1, 2), (1, 1)), [(3, 3)]),
    "AveragePoolGrad": (lambda g: pool.AveragePoolGrad(True, "sum")(IMAGE, g, (1, 2), (1, 1)), [(3, 3)]),
    "DownsampleFactorMaxGradGrad": (
        lambda y: pool.DownsampleFactorMaxGradGrad(True)(IMAGE, IMAGE[:, 1:], y, (1, 2), (1, 1)), [M]),
    "Scan, recurrence": (lambda a, g: linear_recurrence(a, g, 0), [M, M]),
    "Scan, recurrence backwards": (lambda a, g: linear_recurrence(a, g, 1, True, False), [M, M]),
    "RepeatOp": (lambda x: RepeatOp(0)(x, numpy.array([1, 0, 2])), [M]), "FirstRows": (lambda x: first_rows(x, 2), [M]),
    "EnoughRows": (EnoughRows(2), [M]), "Scan": (loop, [M, (4, 4), (2, 4)]),
    "SumStretched": (lambda x: SumStretched(0)(x, 1), [M]), "SumStretched, all": (lambda x: SumStretched(1)(x, 4), [M]),
    "SumRepeats": (lambda x: SumRepeats(0)(x, numpy.array([1, 0, 2]), 3), [M]),
    "Reshape": (lambda x: x.reshape((4, 3)), [M]), "Rebroadcast": (lambda x: T.addbroadcast(x, 0), [(1, 4)]),
    "SpecifyShape": (lambda x: T.specify_shape(x, (3, 4)), [M]),
    "EqualLengths": (lambda x: EqualLengths.of(x, [[(x, 0), 3]]), [M]), "Softmax": (Softmax(), [M]),
    "LogSoftmax": (LogSoftmax(), [M]), "SoftmaxWithBias": (SoftmaxWithBias(), [M, (4,)]),
    "SoftmaxGrad": (SoftmaxGrad(), [M, M]), "Split": (lambda x: T.split(x, [1, 2], 2)[1], [V]),
    "Triangle": (lambda x: T.tril(x), [M]), "ViewOp": (ViewOp(), [M]),
    "ImplElemwise": (lambda x, y: T.Elemwise(Halfway())(x, y), [V, V]),
}
for forward, by_filters, by_images in convolution.FAMILIES:         # of images with 2 channels, and of volumes
    rank = 3 if "3d" in forward.__name__ else 2
    images, filters, results = [(2, 2, 4, 5, 3), (3, 2, 2, 3, 1), (2, 3, 3, 3, 3)]
    build = {} if forward is not convolution.AbstractConv else {"convdim": 2}
    FAMILIES[forward.__name__] = (forward(**build), [images[:2 + rank], filters[:2 + rank]])
    FAMILIES[by_filters.__name__] = (
        lambda x, g, op=by_filters(**build), last=filters[2:2 + rank]: op(x, g, numpy.array(last)),
        [images[:2 + rank], results[:2 + rank]])
    FAMILIES[by_images.__name__] = (
        lambda w, g, op=by_images(**build), last=images[2:2 + rank]: op(w, g, numpy.array(last)),
        [filters[:2 + rank], results[:2 + rank]])
FAMILIES["ConvOp"] = (ConvOp((2, 4, 5), (2, 3), 3, 2), [(2, 2, 4, 5), (3, 2, 2, 3)])

# Ops without a gradient, whose gradient is not the derivative, that only wrap others, or that are not smooth.
WITHOUT = {"ConsiderConstant", "DisconnectedGrad", "GradClip", "GradScale", "UndefinedGrad", "ZeroGrad", "AllocEmpty",
           "Argmax", "Argmin", "ArgPartitionOp", "ArgSortOp", "BaseAbstractConv", "BatchNormalizationOp",
           "Accumulation", "Extremum", "GradientOp", "ScalarFromTensor", "TensorFromScalar", "Print",
           "SearchsortedOp", "Elemwise", "WithInitial", "FourierAlong", "RunStarts", "OnlyWithSteps", "IdentityOp"}

# Linear algebra and sparse matrices have tables of cases of their own, with R-operators; samples have no derivatives.
OWN_TABLES = ("phintys.ops.factorizations.", "phintys.ops.random.", "phintys.ops.sparse.")


class Halfway(phintys.scalar.BinaryScalarOp):
    def __init__(self):
        super().__init__(phintys.scalar.upgrade_to_float)

    def impl(self, x, y):
        return x * y / 2

    def grad(self, inputs, output_gradients):
        x, y = inputs
        g, = output_gradients
        return [g * y / 2, g * x / 2]


def _subclasses(kind):
    for each in kind.__subclasses__():
        yield each
        yield from _subclasses(each)


def test_every_op_with_an_r_operator_has_a_case():
    for module in pkgutil.walk_packages(phintys.ops.__path__, "phintys.ops."):
        importlib.import_module(module.name)
    forward = {op.__name__ for op in _subclasses(Op) if defined_in(op).startswith(("phintys.ops.", "phintys.graph."))
               and not defined_in(op).startswith(OWN_TABLES)
               and not issubclass(op, ScalarOp) and (op.R_op is not Op.R_op or op.linear_in)}
    assert forward == {name.partition(",")[0] for name in FAMILIES} | WITHOUT


def check(build, arrays, moving, differences=True):
    """Both modes of differentiation with respect to the inputs at ``moving`` agree with each other and with difference
    quotients."""
    inputs = [variable_for(array, tuple([length == 1 for length in array.shape])) for array in arrays]
    output = build(*inputs)
    wrt, points = [inputs[position] for position in moving], [inputs[position].type() for position in moving]
    weight = output.type()
    forward = Rop(output, wrt, points)
    assert forward.type.dtype == output.type.dtype and forward.type.ndim == output.type.ndim
    backward = Lop(output, wrt, weight, disconnected_inputs="ignore")
    steps = [values(arrays[position].shape, seed=position + 10) for position in moving]
    value = phintys.function(inputs, output, on_unused_input="ignore", mode="FAST_COMPILE")
    weights = values(value(*arrays).shape, output.type.dtype, seed=20)
    along, *gradients = phintys.function([*inputs, *points, weight], [forward, *backward], on_unused_input="ignore",
                                         mode="FAST_COMPILE")(*arrays, *steps, weights)
    inner = sum([(gradient * step).sum() for gradient, step in zip(gradients, steps)])
    numpy.testing.assert_allclose((numpy.conj(weights) * along).real.sum(), inner, rtol=1e-8, atol=1e-10)
    if differences:
        numpy.testing.assert_allclose(along, _slope(value, arrays, moving, steps), rtol=1e-5, atol=1e-7)


def _slope(value, arrays, moving, steps):
    ends = []
    for sign in (1, -1):
        moved = [array.copy() for array in arrays]
        for position, step in zip(moving, steps):
            moved[position] += sign * 1e-6 * step
        ends.append(value(*moved))
    return (ends[0] - ends[1]) / 2e-6


def choices(positions):
    return [chosen for count in range(1, len(positions) + 1) for chosen in itertools.combinations(positions, count)]


@pytest.mark.parametrize("name", FAMILIES)
def test_families(name):
    build, shapes = FAMILIES[name]
    arrays = [values(shape, seed=position + 1) for position, shape in enumerate(shapes)]
    if name == "ARange":
        arrays = [numpy.array(0.3), numpy.array(0.7)]
    for moving in choices(range(len(arrays))):
        check(build, arrays, moving)


# Steps, whose slope is zero in between and undefined at them; differences of casts see the rounding.
STEPS = {"ceil", "floor", "trunc", "sgn", "int_div", "round_half_to_even", "round_half_away_from_zero"}
INVERSES = {"gammaincinv", "gammainccinv", "betaincinv"}
UNDEFINED = {"jv": [0], "iv": [0], "ive": [0], "kv": [0], "kve": [0], "polygamma": [0],
             "zeta_by_x_twice": [0], "gammainc_by_k_twice": [0],
             **{f"betainc_by_{by}": [0, 1] for by in ("aa", "ab", "bb")},
             **{f"hyp2f1_by_{by}": [0, 1, 2, 3] for by in ("aa", "ab", "ac", "cc")}}


@pytest.mark.parametrize("others", ["float64", "bool", "int8"])
@pytest.mark.parametrize("name", [*DIFFERENTIABLE, "complex", "complex_from_polar", "gammainc_by_k_twice",
                                  "convert_to_float64"])
def test_elementwise_table(name, others):
    """With one float operand, the others of another dtype, and with floats only."""
    count, row = count_of(name), SCALAR_OPS[name]
    for floats in [range(count)] if others == "float64" else [[position] for position in range(count) if count > 1]:
        arrays = [drawn(name, (4,), "float64" if position in floats else others, seed=2)[position]
                  for position in range(count)]
        for moving in choices(floats):
            if row.output_dtypes(tuple([array.dtype.name for array in arrays]))[0] in discrete_dtypes:
                continue
            if name.startswith("zeta") and others == "bool":    # infinite at 1
                continue
            if name in INVERSES and count - 1 not in floats:    # infinite at 0 and 1
                continue
            if {*UNDEFINED.get(name, ())} & {*moving}:
                refused(row.elementwise, arrays, moving)
            else:
                # hyp2f1 is infinite at some integers, so that there are no differences.
                check(row.elementwise, arrays, moving, name not in STEPS and not (name == "mod" and 1 in moving)
                      and not (name == "hyp2f1" and others != "float64"))


def refused(build, arrays, moving):
    inputs = [variable_for(array) for array in arrays]
    wrt = [inputs[position] for position in moving]
    output = build(*inputs)
    with pytest.raises(NullTypeGradError, match="not implemented"):
        Rop(output, wrt, [T.dvector() for _ in wrt])
    with pytest.raises(NullTypeGradError, match="not implemented"):
        Lop(output, wrt, output.type(), disconnected_inputs="ignore")


def test_every_row_is_differentiated_in_both_directions_or_in_none():
    """Rows with only complex or discrete operands or results are skipped."""
    x, u = T.dvector("x"), T.dvector("u")
    for name in SCALAR_OPS:
        row = SCALAR_OPS[name]
        try:
            output = row.elementwise(*[x] * count_of(name))
        except TypeError:
            continue
        if output.type.dtype in discrete_dtypes:
            continue
        outcomes = []
        for derivative in (lambda: Rop(output, x, u), lambda: Lop(output, x, output.type())):
            try:
                outcomes.append(derivative() is not None)
            except (NullTypeGradError, NotImplementedError) as error:
                outcomes.append(type(error))
        assert outcomes[0] == outcomes[1], name


# ---- what the sweep above cannot see ---------------------------------------------------------------------------------
def test_an_undefined_term_is_not_dropped():
    x, u = T.dvector("x"), T.dvector("u")
    for output in (T.jv(x, x), T.kv(x, 0.5), T.exp(T.jv(x, 2.0)) * x, x * undefined_grad(x)):
        with pytest.raises(NullTypeGradError):
            Rop(output, x, u)
    k = T.dvector("k")
    f = phintys.function([k, x, u], Rop(T.gammainc(k, x), x, u))
    numpy.testing.assert_allclose(f([0.5], [0.3], [2.0]), 2 * 0.3 ** -0.5 * numpy.exp(-0.3) / numpy.sqrt(numpy.pi))


def test_inputs_without_direction_are_not_multiplied_by_zeros():
    x, w, u = T.dmatrix("x"), T.dmatrix("w"), T.dmatrix("u")
    f = phintys.function([x, w, u], Rop(T.dot(x, w), x, u), on_unused_input="ignore")
    assert len([node for node in f.maker.fgraph.toposort() if "ot" in str(node.op)]) == 1
    numpy.testing.assert_array_equal(f([[numpy.inf, numpy.nan]], numpy.ones((2, 1)), [[2.0, 3.0]]), [[5.0]])
    a, b, c = T.dvector("a"), T.dvector("b"), T.dvector("c")
    moved = phintys.function([a, b, c], Rop(a * T.exp(b), a, c), mode="FAST_COMPILE", on_unused_input="ignore")
    numpy.testing.assert_array_equal(moved([numpy.inf], [0.0], [2.0]), [2.0])


def test_bool_operands():
    x, b, u = T.dvector("x"), T.vector("b", dtype="bool"), T.dvector("u")
    for output, expected in ((x - b, [2.0]), (b - x, [-2.0]), (T.arctan2(x, b), [1.0])):
        numpy.testing.assert_allclose(phintys.function([x, b, u], Rop(output, x, u), on_unused_input="ignore")(
            [1.0], [True], [2.0]), expected)
    assert phintys.function([x, u], Rop(x * T.any(x > 0), x, u))([1.0], [2.0]) == 2
    assert phintys.function([x], grad(T.argmax(x > 0) * x.sum(), x))([-1.0, 1.0]).tolist() == [1, 1]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64"])
def test_discrete_operands_of_formulas(dtype):
    """Every gradient by discrete operands exists, and squares of small integers do not overflow in it."""
    x, y = T.vector("x", dtype=dtype), T.dvector("y")
    for name in SCALAR_OPS:
        operands = [x] * count_of(name)
        try:
            output = SCALAR_OPS[name].elementwise(*operands)
        except TypeError:
            continue
        if output.type.dtype not in complex_dtypes:
            grad(output.sum(), x, null_gradients="return", disconnected_inputs="ignore")
    if dtype != "bool":
        f = phintys.function([x, y], grad(T.arctan2(y, x).sum(), y))
        numpy.testing.assert_allclose(f(numpy.array([100], dtype), [1.0]), [100 / 10001])


def test_expressions_that_do_not_depend_on_wrt():
    x, w, u = T.dvector("x"), T.dvector("w"), T.dvector("u")
    assert phintys.function([w, x, u], Rop(T.exp(w), x, u), on_unused_input="ignore")([1.0], [1.0], [1.0]) == 0
    assert phintys.function([w, x, u], Rop(T.ones_like(x), x, u), on_unused_input="ignore")([1.0], [1.0], [1.0]) == 0
    with pytest.raises(DisconnectedInputError):
        Rop(w, x, u)
    assert isinstance(Rop(w, x, u, "ignore", "Disconnected").type, DisconnectedType)


class Product(Op):
    """x * y, with an R_op as written for Theano, where the direction of a leaf is zeros."""

    __props__ = ()

    def make_node(self, x, y):
        return phintys.Apply(self, [x, y], [x.type()])

    def perform(self, node, inputs, output_storage):
        output_storage[0][0] = inputs[0] * inputs[1]

    def R_op(self, inputs, eval_points):
        return [inputs[0] * eval_points[1] + inputs[1] * eval_points[0]]


def test_r_operators_of_users_get_zeros_for_leaves():
    x, w, u = T.dvector("x"), T.dvector("w"), T.dvector("u")
    assert phintys.function([x, w, u], Rop(Product()(x, w), x, u))([2.0], [3.0], [5.0]) == 15

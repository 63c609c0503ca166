"""Asking for a shape never computes the value: the program of ``op(...).shape`` reads only lengths.

Left out is what has a shape that depends on values: ``nonzero``, ``flatnonzero``, Unique, boolean masks, ``compress``,
``bincount``, ``confusion_matrix``, and ``repeat`` by a vector.
"""
import numpy
import pytest
from family_cases import values

import phintys
import phintys.tensor as T
from phintys.graph.variable import Constant
from phintys.ops.cumulative.product import ProdWithoutZeros
from phintys.ops.identity.deep_copy import DeepCopyOp
from phintys.ops.identity.equal_lengths import EqualLengths
from phintys.ops.shape.join import MakeVector
from phintys.ops.shape.shape import Shape_i
from phintys.tensor import nnet
from phintys.tensor.extra_ops import CumOp, RepeatOp, cpu_contiguous
from phintys.tensor.slinalg import kron

X, C, V, N, LABELS, ROW = T.dmatrix(), T.dtensor3(), T.dvector(), T.lscalar(), T.lvector(), T.drow()
GIVEN = {X: values((3, 4)), C: values((2, 3, 4)), V: values(4), N: 2, LABELS: numpy.array([0, 2, 1]),
         ROW: values((1, 4))}

INDEXING = {
    "slice": X[1:, ::-1], "step": X[::2], "symbolic bounds": X[:N, N:], "symbolic step": X[::N], "none": X[None, :, 1],
    "ellipsis": C[..., 0], "element": X[N, 1], "rows": X[LABELS], "elements": X[T.arange(3), LABELS],
    "mixed": C[:, LABELS, 1:], "two indices": C[LABELS % 2, :, LABELS],
    "matrix of indices": V[LABELS.dimshuffle(0, "x")],
    "take": X.take(LABELS, axis=1), "take flat": X.take(LABELS), "choose": T.choose(LABELS % 2, [LABELS, LABELS]),
    "set_subtensor": T.set_subtensor(X[1:], 0.), "inc_subtensor": T.inc_subtensor(X[:, 1], 1.),
    "set rows": T.set_subtensor(X[LABELS], 0.), "inc elements": T.inc_subtensor(X[LABELS, LABELS], 1.),
    "set mask": T.set_subtensor(X[X > 0], 0.), "diag of": T.diag(X), "diag to": T.diag(V),
    "diagonal": T.diagonal(C, 1, 0, 2),
    "fill_diagonal": T.fill_diagonal(X, 0.), "fill_diagonal_offset": T.fill_diagonal_offset(X, 0., N),
    "tril": T.tril(X, N), "triu": T.triu(C), "set diagonal": T.grad(T.diagonal(X).sum(), X),
}
SHAPES = {
    "reshape": X.reshape((2, 6)), "reshape -1": X.reshape((-1, 2)), "reshape symbolic": X.reshape((N, -1)),
    "reshape by shape": X.reshape(X.T.shape), "reshape by a vector": T.reshape(X, T.stack([N, N * 3]), ndim=2),
    "specify_shape": T.specify_shape(X, (3, 4)), "addbroadcast": T.addbroadcast(X[:1], 0),
    "patternbroadcast": T.patternbroadcast(X[:1], (True, False)), "unbroadcast": T.unbroadcast(ROW, 0),
    "swapaxes": C.swapaxes(0, 2), "dimshuffle": X.dimshuffle(1, "x", 0), "moveaxis": T.moveaxis(C, 0, 2),
    "roll": T.roll(X, 1, 1), "roll flat": T.roll(X, N), "roll axes": T.roll(C, (1, N), (0, 2)),
    "tile": T.tile(X, (2, 3)), "tile symbolic": T.tile(X, [N, 1, 2]), "repeat": T.repeat(X, 2, 1),
    "repeat symbolic": T.repeat(X, N, 0), "repeat flat": T.repeat(X, 3), "RepeatOp": RepeatOp(1)(X, N),
    "squeeze": T.squeeze(ROW), "shape_padleft": T.shape_padleft(X, 2), "shape_padright": T.shape_padright(X),
    "shape_padaxis": T.shape_padaxis(X, 1), "broadcast_to": T.broadcast_to(V, (N, 4)),
    "broadcast_arrays": T.broadcast_arrays(ROW, X)[0], "flatten": C.flatten(2), "flatten all": C.flatten(),
    "atleast_1d": T.atleast_1d(X[0, 0]), "atleast_3d": T.atleast_3d(X), "shape": C.shape, "transpose": C.T,
    "contiguous": cpu_contiguous(X.T), "copy": X.copy(), "astype": X.astype("float32"),
}
JOINS = {
    "join": T.join(0, X, X + 1), "join -1": T.join(-1, X, 2 * X), "join symbolic": T.join(N - 1, X, X),
    "concatenate": T.concatenate([X, X[:, :1]], 1), "stack": T.stack([X, X], 2), "stack scalars": T.stack([N, N]),
    "stacklists": T.stacklists([[X, X], [X, X]]), "horizontal_stack": T.horizontal_stack(X, X),
    "vertical_stack": T.vertical_stack(X, X), "split": T.split(X, [1, 2], 2)[1],
    "split symbolic": T.split(X, [N, 4 - N], 2, axis=1)[0], "split along": T.split(X, [1, 2], 2, axis=N - 2)[0],
    "prepend": nnet.prepend_1_to_each_row(X), "prepend scalar": nnet.prepend_scalar_to_each_row(V[0], X),
}
NEW = {
    "alloc": T.alloc(V, N, 4), "zeros": T.zeros((N, 2)), "zeros_like": T.zeros_like(X), "ones_like": T.ones_like(C),
    "full": T.full((N, 3), 7.), "full_like": T.full_like(X, 7), "fill": T.fill(X, V[0]), "empty": T.empty((N, N)),
    "eye": T.eye(N), "tri": T.tri(N, 3, 1), "identity_like": T.identity_like(X), "arange": T.arange(N),
    "arange of floats": T.arange(0, V.shape[0] * .5, .25), "mgrid": T.mgrid[0:N, 1:7:2][1],
    "ogrid": T.ogrid[0:N, 0:3][0],
    "bartlett": T.bartlett(N), "to_one_hot": T.to_one_hot(LABELS, N + 1),
    "unravel_index": T.unravel_index(LABELS, (2, 2))[1],
    "ravel_multi_index": T.ravel_multi_index((LABELS, LABELS), (3, 3)),
    "permute_row_elements": T.permute_row_elements(X[:, :3], LABELS), "searchsorted": T.searchsorted(V, X),
    "inverse_permutation": T.inverse_permutation(LABELS),
    "searchsorted sorter": T.searchsorted(V, X, sorter=T.arange(4)),
    "cov": T.cov(X),
}
REDUCTIONS = {
    **{f"{name} {axis}": getattr(T, name)(C, axis=axis)
       for name in ("sum", "prod", "max", "min", "mean", "var", "std", "all", "any", "argmax", "argmin", "ptp",
                    "logsumexp")
       for axis in (1, None)},
    "axes": C.sum(axis=(0, 2)), "keepdims": C.max(axis=1, keepdims=True),
    "max_and_argmax": T.max_and_argmax(C, axis=2)[1],
    "norm": C.norm(2, axis=1), "cumsum": T.cumsum(C, 1), "cumsum flat": T.cumsum(C), "cumprod": T.cumprod(C, 2),
    "CumOp": CumOp(0)(X), "diff": T.diff(X, 2), "fused": (C * 2 + 1).sum(0),
    "ProdWithoutZeros": ProdWithoutZeros(1)(X),
}
PRODUCTS = {
    "dot": T.dot(X, X.T), "dot mv": T.dot(X, V), "dot vm": T.dot(V, X.T), "dot 3,2": T.dot(C, X.T),
    "dot 3,3": T.dot(C, C.swapaxes(1, 2)),
    "matmul": T.matmul(C, X.T), "tensordot": T.tensordot(C, C, [[1, 2], [1, 2]]), "tensordot 1": T.tensordot(C, X.T, 1),
    "batched_dot": T.batched_dot(C, C.dimshuffle(0, 2, 1)), "batched_dot mv": T.batched_dot(C, C[:, 0]),
    "batched_tensordot": T.batched_tensordot(C, C, [[1], [1]]), "outer": T.outer(V, X), "kron": kron(X, X),
    "gemm": X + 2 * T.dot(X, C[0].T.dot(X)), "ger": X[:, :] + T.outer(X[:, 0], V),
    "gradient": T.grad(T.dot(X, V).sum(), X),
}
NEURAL = {
    **{name: getattr(nnet, name)(X) for name in (
        "softmax", "logsoftmax", "sigmoid", "ultra_fast_sigmoid", "hard_sigmoid", "softplus", "relu", "elu", "selu",
        "softsign")},
    "categorical_crossentropy labels": nnet.categorical_crossentropy(X, LABELS),
    "categorical_crossentropy": nnet.categorical_crossentropy(nnet.softmax(X), X),
    "binary_crossentropy": nnet.binary_crossentropy(X, X), "softmax_with_bias": nnet.softmax_with_bias(X, V),
    "sigmoid_binary_crossentropy": nnet.sigmoid_binary_crossentropy(X, X),
    "softmax gradient": T.grad((nnet.softmax(X) ** 2).sum(), X),
    **{f"crossentropy_softmax_argmax {part}": output for part, output in enumerate(
        nnet.crossentropy_softmax_argmax_1hot_with_bias(X, V, LABELS))},
    **{f"batch_normalization_train {part}": output for part, output in enumerate(
        nnet.batch_normalization_train(X, ROW, ROW))},
    "batch_normalization_test": nnet.batch_normalization_test(X, ROW, ROW, ROW, ROW + 9),
    "batch_normalization": nnet.batch_normalization(X, V, V, V, V),
    "multiclass_hinge_loss": nnet.multiclass_hinge_loss(X, LABELS),
}
ELEMENTWISE = {
    "add": X + V, "formula": T.tanh(X * V) ** 2 - ROW, "switch": T.switch(X > 0, X, V), "clip": T.clip(X, 0, V),
    "scalar": X[0, 0] * C, "comparison": T.eq(X, V), "broadcast": V.dimshuffle(0, "x") + V,
}
CASES = {f"{family}: {name}": case for family, cases in {
    "indexing": INDEXING, "shapes": SHAPES, "joins": JOINS, "new": NEW, "reductions": REDUCTIONS, "products": PRODUCTS,
    "neural": NEURAL, "elementwise": ELEMENTWISE}.items() for name, case in cases.items()}


def looks_at_values(node):
    """Whether a node does more than arithmetic with lengths and single numbers, or returning a constant."""
    if isinstance(node.op, (DeepCopyOp, EqualLengths, MakeVector, Shape_i)):
        return isinstance(node.op, DeepCopyOp) and not isinstance(node.inputs[0], Constant)
    return any(variable.type.ndim for variable in node.inputs + node.outputs)


@pytest.mark.parametrize("name", CASES)
def test_only_lengths_are_read(name):
    case = CASES[name]
    inputs = list(GIVEN)
    function = phintys.function(inputs, case.shape, on_unused_input="ignore")
    nodes = function.maker.fgraph.toposort()
    assert not [str(node) for node in nodes if looks_at_values(node)]
    listing = function.explain("instructions")
    assert listing.count("  KERNEL  ") <= len(nodes) and "  CALL  " not in listing
    value = phintys.function(inputs, case, on_unused_input="ignore")(*GIVEN.values())
    assert tuple(function(*GIVEN.values())) == value.shape

"""Sparse matrices. This module, and so PyTensor's, is imported at the first op on one."""
from pytensor.sparse import basic, math

from phintys import sparse
from phintys.graph.apply import Apply
from phintys.interop.pytensor.translation import row

# PyTensor's ops → the function of their inputs.
SAME_INPUTS = {
    basic.CSMProperties: sparse.csm_properties, basic.CSMGrad: sparse.CSMGrad(),
    basic.GetItemList: sparse.get_item_list, basic.GetItemListGrad: sparse.get_item_list_grad,
    basic.GetItem2Lists: sparse.get_item_2lists,
    basic.GetItem2ListsGrad: sparse.get_item_2lists_grad, basic.Transpose: sparse.transpose,
    basic.ColScaleCSC: sparse.col_scale, basic.RowScaleCSC: sparse.row_scale, basic.Diag: sparse.diag,
    basic.EnsureSortedIndices: sparse.ensure_sorted_indices, basic.Remove0: sparse.remove0,
    math.AddSS: sparse.add_s_s, math.AddSSData: sparse.add_s_s_data, math.AddSD: sparse.add_s_d,
    math.StructuredAddSV: sparse.structured_add_s_v, math.SparseSparseMultiply: sparse.mul_s_s,
    math.SparseDenseMultiply: sparse.mul_s_d, math.SparseDenseVectorMultiply: sparse.mul_s_v,
    math.StructuredDot: sparse.structured_dot, math.StructuredDotGradCSC: sparse.sdg_csc,
    math.StructuredDotGradCSR: sparse.sdg_csr, math.SamplingDot: sparse.sampling_dot, math.Dot: sparse.dot,
    math.Usmm: sparse.usmm, math.EqualSS: sparse.equal_s_s, math.EqualSD: sparse.equal_s_d,
    math.NotEqualSS: sparse.not_equal_s_s, math.NotEqualSD: sparse.not_equal_s_d,
    math.LessThanSS: sparse.less_than_s_s, math.LessThanSD: sparse.less_than_s_d,
    math.GreaterThanSS: sparse.greater_than_s_s, math.GreaterThanSD: sparse.greater_than_s_d,
    math.LessEqualSS: sparse.less_equal_s_s, math.LessEqualSD: sparse.less_equal_s_d,
    math.GreaterEqualSS: sparse.greater_equal_s_s, math.GreaterEqualSD: sparse.greater_equal_s_d,
}
# PyTensor's ops → the op of phintys that has the properties of one of them.
SAME_PROPERTIES = {
    basic.CSM: lambda op: sparse.CSM(op.format), basic.Cast: lambda op: sparse.Cast(op.out_type),
    basic.SparseFromDense: lambda op: sparse.SparseFromDense(op.format),
    basic.DenseFromSparse: lambda op: sparse.DenseFromSparse(op.sparse_grad),
    basic.HStack: lambda op: sparse.HStack(op.format, op.dtype),
    basic.VStack: lambda op: sparse.VStack(op.format, op.dtype),
    math.SpSum: lambda op: sparse.SpSum(op.axis, op.structured),
    math.TrueDot: lambda op: lambda x, y: sparse.true_dot(x, y, op.grad_preserves_dense),
}

for _kind, _function in SAME_INPUTS.items():
    row(_kind)(lambda op, node, *inputs, function=_function: function(*inputs))
for _kind, _make in SAME_PROPERTIES.items():
    row(_kind)(lambda op, node, *inputs, make=_make: make(op)(*inputs))


@row(basic.GetItemScalar)
def _element(op, node, x, *positions):
    return sparse.get_item_scalar(x, positions)


@row(basic.GetItem2d)
def _part(op, node, x, *bounds):
    return Apply(sparse.get_item_2d, [x, *bounds], [x.type()]).outputs


@row(basic.ConstructSparseFromList)
def _from_rows(op, node, shape, values, positions):
    return sparse.construct_sparse_from_list.of_shape(shape, node.outputs[0].type.dtype, values, positions).outputs

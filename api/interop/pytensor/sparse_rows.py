"""Sparse matrices. This module is imported at the first op on one."""
from phintys import sparse
from phintys.graph.apply import Apply
from phintys.interop.pytensor.translation import row

# PyTensor's ops → the function of their inputs. Newer versions have longer names.
SAME_INPUTS = {
    "CSMProperties": sparse.csm_properties, "CSMGrad": sparse.CSMGrad(), "GetItemList": sparse.get_item_list,
    "GetItemListGrad": sparse.get_item_list_grad, "GetItem2Lists": sparse.get_item_2lists,
    "GetItem2ListsGrad": sparse.get_item_2lists_grad, "Transpose": sparse.transpose, "ColScaleCSC": sparse.col_scale,
    "RowScaleCSC": sparse.row_scale, "Diag": sparse.diag, "EnsureSortedIndices": sparse.ensure_sorted_indices,
    "Remove0": sparse.remove0, "AddSS": sparse.add_s_s, "AddSparseSparse": sparse.add_s_s,
    "AddSSData": sparse.add_s_s_data, "AddSparseSparseData": sparse.add_s_s_data, "AddSD": sparse.add_s_d,
    "AddSparseDense": sparse.add_s_d, "StructuredAddSV": sparse.structured_add_s_v,
    "StructuredAddSparseDenseVector": sparse.structured_add_s_v, "SparseSparseMultiply": sparse.mul_s_s,
    "MultiplySparseSparse": sparse.mul_s_s, "SparseDenseMultiply": sparse.mul_s_d,
    "MultiplySparseDense": sparse.mul_s_d, "SparseDenseVectorMultiply": sparse.mul_s_v,
    "MultiplySparseDenseVector": sparse.mul_s_v, "StructuredDot": sparse.structured_dot,
    "StructuredDotGradCSC": sparse.sdg_csc, "StructuredDotGradCSR": sparse.sdg_csr, "SamplingDot": sparse.sampling_dot,
    "Dot": sparse.dot, "Usmm": sparse.usmm,
}
for _comparison, _function in (("Equal", "equal"), ("NotEqual", "not_equal"), ("LessThan", "less_than"),
                               ("GreaterThan", "greater_than"), ("LessEqual", "less_equal"),
                               ("GreaterEqual", "greater_equal")):
    for _short, _long, _ending in (("SS", "SparseSparse", "s_s"), ("SD", "SparseDense", "s_d")):
        SAME_INPUTS.update(dict.fromkeys([_comparison + _short, _comparison + _long],
                                         getattr(sparse, f"{_function}_{_ending}")))
# PyTensor's ops → the op of phintys that has the properties of one of them.
SAME_PROPERTIES = {
    "CSM": lambda op: sparse.CSM(op.format), "Cast": lambda op: sparse.Cast(op.out_type),
    "SparseFromDense": lambda op: sparse.SparseFromDense(op.format),
    "DenseFromSparse": lambda op: sparse.DenseFromSparse(op.sparse_grad),
    "HStack": lambda op: sparse.HStack(op.format, op.dtype),
    "VStack": lambda op: sparse.VStack(op.format, op.dtype),
    "SpSum": lambda op: sparse.SpSum(op.axis, op.structured),
    "TrueDot": lambda op: lambda x, y: sparse.true_dot(x, y, op.grad_preserves_dense),
}

for _name, _function in SAME_INPUTS.items():
    row(f"sparse.{_name}")(lambda op, node, *inputs, function=_function: function(*inputs))
for _name, _make in SAME_PROPERTIES.items():
    row(f"sparse.{_name}")(lambda op, node, *inputs, make=_make: make(op)(*inputs))


row("sparse.GetItemScalar")(lambda op, node, x, *positions: sparse.get_item_scalar(x, positions))
row("sparse.GetItem2d")(lambda op, node, x, *bounds: Apply(sparse.get_item_2d, [x, *bounds], [x.type()]).outputs)
row("sparse.ConstructSparseFromList")(lambda op, node, shape, values, positions:
    sparse.construct_sparse_from_list.of_shape(shape, node.outputs[0].type.dtype, values, positions).outputs)

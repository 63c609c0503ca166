"""Products of a constant sparse matrix and a dense one that is on the device.

The sparse matrix becomes three arrays in compressed rows, which are constants on the device. ``expansion.py`` puts the
op here in the place of SciPy's, once there are sparse matrices.
"""
import scipy.sparse

from phintys.gpu.kernels.sparse.compressed_kernel import GpuCompressedProductKernel
from phintys.gpu.kernels.sparse.compressed_source import TYPES
from phintys.gpu.twins import WITHOUT_HOST, register_own
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.variable import Constant
from phintys.ops.sparse.products import Dot, StructuredDot
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.tensor_type import TensorType


class CompressedProduct(Op):
    """The product of a matrix in compressed rows and a dense matrix or vector: ``(values, positions, starts, dense)``.

    Parameters
    ----------
    columns : int
        Of the matrix in compressed rows.
    """

    __props__ = ("columns",)

    def __init__(self, columns):
        self.columns = columns

    def make_node(self, values, positions, starts, dense):
        inputs = [as_tensor_variable(each) for each in (values, positions, starts, dense)]
        return Apply(self, inputs, [inputs[3].type.clone(broadcastable=(False, *inputs[3].type.broadcastable[1:]))()])

    def perform(self, node, inputs, output_storage):
        values, positions, starts, dense = inputs
        matrix = scipy.sparse.csr_matrix((values, positions, starts), shape=(len(starts) - 1, self.columns))
        output_storage[0][0] = matrix @ dense

    def infer_shape(self, node, input_shapes):
        return [(input_shapes[2][0] - 1, *input_shapes[3][1:])]


def compressed_product(node):
    """The kernel for the device."""
    return GpuCompressedProductKernel(node.outputs[0].type.dtype, node.op.columns)


register_own(GpuCompressedProductKernel)
WITHOUT_HOST[CompressedProduct] = compressed_product


def sparse_product(x, dense):
    """The product of a constant sparse matrix and a dense one."""
    matrix = x.data.tocsr().astype(dense.type.dtype)
    return CompressedProduct(matrix.shape[1])(matrix.data, matrix.indices.astype("int32"),
                                              matrix.indptr.astype("int32"), dense)


def is_sparse_product(node):
    """Of a constant, whose positions fit into 32 bits, and of a dense matrix or vector of the same dtype."""
    x, dense = node.inputs
    return (isinstance(x, Constant) and isinstance(dense.type, TensorType) and dense.type.dtype in TYPES
            and node.outputs[0].type.dtype == dense.type.dtype and max(*x.data.shape, x.data.nnz) < 2 ** 31)


EXPANSIONS = dict.fromkeys((StructuredDot, Dot), (is_sparse_product, sparse_product, 1))

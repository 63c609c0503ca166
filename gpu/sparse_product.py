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


def sparse_product(x, y):
    """The product of a constant sparse matrix and a dense matrix or vector, or of these in the other order."""
    if isinstance(x.type, TensorType):
        return compressed(y.data.T, x.T).T
    return compressed(x.data, y)


def compressed(matrix, dense):
    """The product of a matrix of SciPy and a dense one."""
    matrix = matrix.tocsr().astype(dense.type.dtype)
    return CompressedProduct(matrix.shape[1])(matrix.data, matrix.indices.astype("int32"),
                                              matrix.indptr.astype("int32"), dense)


def dense_factor(node):
    """The factor that is dense, if the other one is a constant whose positions fit into 32 bits, and all have one dtype
    for which there is a kernel."""
    x, y = node.inputs
    matrix, dense = (x, y) if isinstance(y.type, TensorType) else (y, x)
    fits = (isinstance(matrix, Constant) and dense.type.dtype in TYPES
            and node.outputs[0].type.dtype == dense.type.dtype and max(*matrix.data.shape, matrix.data.nnz) < 2 ** 31)
    return dense if fits else None


EXPANSIONS = dict.fromkeys((StructuredDot, Dot), (dense_factor, sparse_product))

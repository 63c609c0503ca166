"""Normal samples of MRG31k3p in one kernel: uniform samples, and the method of Box and Muller.

They differ from those of Theano's formula only in the rounding of logarithm, cosine and sine, for which the kernel has
its own functions. All modes use this op, so the numbers are the same in every mode.
"""
from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.ops.elementwise.elementwise_functions import minimum
from phintys.ops.random.mrg import mrg_uniform_base
from phintys.ops.random.mrg_kernel import MrgNormalKernel, StateRowsKernel
from phintys.ops.random.sampling import sample_shape, sample_type, size_vector
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.tensor_type import TensorType

DRAWN = ("float32", "float64")


class MrgNormal(mrg_uniform_base):
    """Normal samples with mean 0 and standard deviation 1. The inputs are the state and the size.

    The outputs are the rows of the new state that differ from the old one, which are the first rows, and the samples.

    Parameters
    ----------
    output_type : TensorType
        Of the samples: float32 or float64.
    """

    __props__ = ("output_type",)
    can_overwrite = {}

    def __init__(self, output_type):
        if output_type.dtype not in DRAWN:
            raise TypeError(f"MrgNormal samples {' or '.join(DRAWN)}, not {output_type.dtype}")
        super().__init__(output_type)

    def __str__(self):
        return f"MrgNormal{{{self.output_type}}}"

    def make_node(self, rstate, size):
        rstate, (size, known) = as_tensor_variable(rstate), size_vector(size)
        if rstate.type.ndim != 2 or rstate.type.dtype != "int32":
            raise TypeError("rstate must be a matrix of int32, the state of an MRG_RandomStreams, got "
                            f"{rstate} of type {rstate.type}")
        samples = sample_type(self.output_type.dtype, self.output_type.ndim, known)
        return Apply(self, [rstate, size], [TensorType("int32", (False, False))(), samples()])

    def make_kernel(self, node):
        return MrgNormalKernel()

    def infer_shape(self, node, input_shapes):
        (streams, columns), shape = input_shapes[0], sample_shape(node.inputs[1], node.outputs[1].type.ndim)
        used = as_tensor_variable(1)
        for length in shape:
            used = used * length
        return [(minimum(streams, used + used % 2), columns), shape]


class WithFirstRows(Op):
    """A matrix whose first rows are replaced; in place it changes only these."""

    __props__ = ("inplace",)
    shape_as = 0
    can_overwrite = {0: (0,)}
    cannot_fail = changes_part = True

    def __init__(self, inplace=False):
        self.inplace = bool(inplace)
        if inplace:
            self.destroy_map = {0: [0]}

    def make_node(self, matrix, rows):
        matrix, rows = as_tensor_variable(matrix), as_tensor_variable(rows)
        if matrix.type.ndim != 2 or rows.type.ndim != 2 or rows.type.dtype != matrix.type.dtype:
            raise TypeError(f"WithFirstRows takes two matrices of one dtype, not {matrix} of type {matrix.type} and "
                            f"{rows} of type {rows.type}")
        return Apply(self, [matrix, rows], [matrix.type()])

    def make_kernel(self, node):
        return StateRowsKernel()


def normal_samples(rstate, ndim, dtype, size):
    """The new state, and samples of ``ndim`` dimensions."""
    rows, samples = MrgNormal(TensorType(dtype, (False,) * ndim))(rstate, size, return_list=True)
    return WithFirstRows()(rstate, rows), samples

"""MRG31k3p as an op: uniform samples, and the state after them.

The published constants of the generator are here; its loops are in ``mrg_loops.h``. Shared variables and other
distributions, which are made from uniform samples, are in ``phintys.sandbox.rng_mrg``.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type, grad_undefined
from phintys.ops.elementwise.elementwise_functions import minimum
from phintys.ops.indexing.inc_subtensor import set_subtensor
from phintys.ops.random.mrg_kernel import MrgUniformKernel, substreams
from phintys.ops.random.sampling import rank_of, sample_shape, sample_type, size_vector
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.tensor_type import TensorType

# The moduli of the two recurrences, and their matrices to the powers 2**72 (to the next substream) and 2**134 (to the
# next stream), as published.
M1, M2 = numpy.asarray(numpy.int32(2147483647)), numpy.asarray(numpy.int32(2147462579))
A1p72 = numpy.asarray([[1516919229, 758510237, 499121365], [1884998244, 1516919229, 335398200],
                       [601897748, 1884998244, 358115744]], dtype="int64")
A2p72 = numpy.asarray([[1228857673, 1496414766, 954677935], [1133297478, 1407477216, 1496414766],
                       [2002613992, 1639496704, 1407477216]], dtype="int64")
A1p134 = numpy.asarray([[1702500920, 1849582496, 1656874625], [828554832, 1702500920, 1512419905],
                        [1143731069, 828554832, 102237247]], dtype="int64")
A2p134 = numpy.asarray([[796789021, 1464208080, 607337906], [1241679051, 1431130166, 1464208080],
                        [1401213391, 1178684362, 1431130166]], dtype="int64")
SAMPLED = ("float16", "float32", "float64")


def matVecModM(A, s, m):
    """``A @ s`` modulo ``m`` as int32, for a matrix of int64 and a vector of int32.

    Examples
    --------
    >>> phintys.sandbox.rng_mrg.matVecModM(numpy.eye(3, dtype="int64") * 5, numpy.array([1, 2, 3]), 7)
    array([5, 3, 1], dtype=int32)
    """
    return numpy.int32(numpy.sum((A * s) % m, 1) % m)


def multMatVect(v, A, m1, B, m2):
    """The first half of ``v`` times ``A`` modulo ``m1``, and the second half times ``B`` modulo ``m2``, as int32.

    Examples
    --------
    >>> identity = numpy.eye(3, dtype="int64")
    >>> phintys.sandbox.rng_mrg.multMatVect(numpy.arange(6), identity * 5, 7, identity, 4)
    array([0, 5, 3, 3, 0, 1], dtype=int32)
    """
    return numpy.concatenate([matVecModM(A, v[:3], m1), matVecModM(B, v[3:], m2)])


def ff_2p72(rstate):
    """The state 2**72 steps after ``rstate``: that of the next substream.

    Examples
    --------
    >>> phintys.sandbox.rng_mrg.ff_2p72(numpy.array([1, 2, 3, 4, 5, 6])).shape
    (6,)
    """
    return multMatVect(rstate, A1p72, M1, A2p72, M2)


def ff_2p134(rstate):
    """The state 2**134 steps after ``rstate``: that of the next stream.

    Examples
    --------
    >>> phintys.sandbox.rng_mrg.ff_2p134(numpy.array([1, 2, 3, 4, 5, 6])).shape
    (6,)
    """
    return multMatVect(rstate, A1p134, M1, A2p134, M2)


def substream_states(rstate, streams):
    """The states of ``streams`` substreams from ``rstate`` on, a matrix of int32 with six columns."""
    return substreams(rstate, streams, A1p72, A2p72)


class DotModulo(Op):
    """`multMatVect` as an op. The inputs are A, s, m, A2, s2 and m2; the output is twice as long as s.

    Examples
    --------
    >>> a, vector = numpy.eye(3, dtype="int64") * 5, numpy.array([1, 2, 3])
    >>> phintys.sandbox.rng_mrg.DotModulo()(a, vector, 7, a, vector, 4).eval()
    array([5, 3, 1, 1, 2, 3])
    """

    __props__ = ()

    def make_node(self, A, s, m, A2, s2, m2):
        inputs = [as_tensor_variable(value) for value in (A, s, m, A2, s2, m2)]
        return Apply(self, inputs, [TensorType(inputs[1].type.dtype, (False,))()])

    def perform(self, node, inputs, output_storage, params=None):
        A, s, m, A2, s2, m2 = inputs
        output_storage[0][0] = numpy.concatenate([matVecModM(A, s, m), matVecModM(A2, s2, m2)]).astype(s.dtype)


class mrg_uniform_base(Op):
    """Ops that sample from MRG31k3p. No gradient passes through them.

    Parameters
    ----------
    output_type : TensorType
        Of the samples: float16, float32 or float64.
    inplace : bool
        The new state overwrites the old one.

    Examples
    --------
    >>> issubclass(phintys.sandbox.rng_mrg.mrg_uniform, phintys.sandbox.rng_mrg.mrg_uniform_base)
    True
    """

    __props__ = ("output_type", "inplace")
    can_overwrite = {0: (0,)}
    depends_on = (0,)

    def __init__(self, output_type, inplace=False):
        if output_type.dtype not in SAMPLED:
            raise TypeError(f"mrg_uniform samples {', '.join(SAMPLED)}, not {output_type.dtype}")
        self.output_type, self.inplace = output_type, bool(inplace)
        if inplace:
            self.destroy_map = {0: [0]}

    def __str__(self):
        return f"{type(self).__name__}{{{self.output_type},{'inplace' if self.inplace else 'no_inplace'}}}"

    def grad(self, inputs, output_grads):
        return [grad_undefined(self, 0, inputs[0], "No gradient defined through random sampling op"),
                disconnected_type()]

    def R_op(self, inputs, eval_points):
        return [None, None]


class mrg_uniform(mrg_uniform_base):
    """Samples between 0 and 1. The inputs are the state and the size, the outputs the new state and the samples.

    The state is a matrix of int32 with a row of six numbers for each stream. Sample i, in C order, comes from stream
    ``i % streams``. The size is a vector of integers.

    Examples
    --------
    >>> rng = phintys.sandbox.rng_mrg.MRG_RandomStreams(seed=3)
    >>> rng.uniform((2,)).eval().shape
    (2,)
    """

    def make_node(self, rstate, size):
        rstate, (size, known) = as_tensor_variable(rstate), size_vector(size)
        if rstate.type.ndim != 2 or rstate.type.dtype != "int32":
            raise TypeError("rstate must be a matrix of int32, the state of an MRG_RandomStreams, got "
                            f"{rstate} of type {rstate.type}")
        output_type = sample_type(self.output_type.dtype, self.output_type.ndim, known)
        return Apply(self, [rstate, size], [rstate.type(), output_type()])

    @classmethod
    def new(cls, rstate, ndim, dtype, size):
        """Apply the op for samples of ``ndim`` dimensions (None: as many as ``size`` has elements).

        Returns
        -------
        list of Variable
            The new state and the samples.
        """
        size, known = size_vector(size)
        if ndim is None:
            ndim = rank_of(size, known)
        return cls(TensorType(dtype, (False,) * ndim))(rstate, size, return_list=True)

    def make_kernel(self, node):
        return MrgUniformKernel(False)

    def infer_shape(self, node, input_shapes):
        return [input_shapes[0], sample_shape(node.inputs[1], node.outputs[1].type.ndim)]


class MrgUniformOfMany(mrg_uniform):
    """The same for states of many streams, of which a sample may use only a few.

    Only the rows that were used are written to the state, in place, instead of copying all rows.

    The outputs of the op are these rows and the samples.
    """

    can_overwrite = {}

    @classmethod
    def new(cls, rstate, ndim, dtype, size):
        rows, samples = super().new(rstate, ndim, dtype, size)
        return [set_subtensor(rstate[:rows.shape[0]], rows), samples]

    def make_kernel(self, node):
        return MrgUniformKernel(True)

    def infer_shape(self, node, input_shapes):
        (streams, columns), shape = input_shapes[0], sample_shape(node.inputs[1], node.outputs[1].type.ndim)
        used = as_tensor_variable(1)
        for length in shape:
            used = used * length
        return [(minimum(streams, used), columns), shape]

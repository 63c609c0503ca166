"""Sparse matrices of random numbers: Poisson, Binomial, Multinomial.

As in Theano they draw from NumPy's global state (``numpy.random.seed``), so a function returns new numbers in each
call. They have no gradients.
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.valueless_types import disconnected_type, grad_undefined
from phintys.ops.sparse.sparse_op import SparseOp, as_compressed, as_dense, with_data
from phintys.ops.sparse.sparse_type import SparseType
from phintys.ops.types.dtypes import discrete_dtypes, float_dtypes


class _Draw(SparseOp):
    """The base class of ops whose result differs from call to call."""

    is_foldable = False

    def grad(self, inputs, output_grads):
        return [grad_undefined(self, position, x, f"{type(self).__name__} draws random numbers")
                for position, x in enumerate(inputs)]

    def R_op(self, inputs, eval_points):
        return [None]


class Poisson(_Draw):
    """Random numbers with Poisson's distribution: the stored elements of a sparse matrix are their means.

    Examples
    --------
    >>> from phintys.sparse.sandbox import sp2
    >>> x = phintys.sparse.csr_matrix("x", "float64")
    >>> phintys.function([x], sp2.poisson(x))([[0.0, 3.0]]).shape
    (1, 2)
    """

    shape_as = 0

    def make_node(self, x):
        x = as_compressed(self, x)
        return Apply(self, [x], [x.type()])

    def compute(self, x):
        drawn = with_data(x, numpy.random.poisson(x.data).astype(x.dtype))  # noqa: NPY002
        drawn.eliminate_zeros()
        return drawn


class Binomial(_Draw):
    """A sparse matrix of how many of ``n`` experiments succeed, each with the probability ``p``. The third input is the
    shape.

    Parameters
    ----------
    format : str
        "csr" or "csc".
    dtype : str

    Examples
    --------
    >>> from phintys.sparse.sandbox import sp2
    >>> sp2.csr_dbinomial(5, 0.5, [2, 3]).eval().shape
    (2, 3)
    """

    __props__ = ("format", "dtype")
    depends_on = (0, 1)

    def __init__(self, format, dtype):
        self.format, self.dtype = format, dtype

    def make_node(self, n, p, shape):
        n, p, shape = as_dense(self, n, 0, 1, 2), as_dense(self, p, 0, 1, 2), as_dense(self, shape, 1)
        for each, dtypes, kind in ((n, discrete_dtypes, "integers"), (p, float_dtypes, "floats"),
                                   (shape, discrete_dtypes, "integers")):
            if each.type.dtype not in dtypes:
                raise TypeError(f"{self}: expected {kind}, got {each} of type {each.type}")
        return Apply(self, [n, p, shape], [SparseType(self.format, self.dtype)()])

    def compute(self, n, p, shape):
        return numpy.random.binomial(n, p, size=tuple(shape.tolist()))  # noqa: NPY002

    def grad(self, inputs, output_grads):
        return [*super().grad(inputs[:2], output_grads), disconnected_type()]

    def infer_shape(self, node, input_shapes):
        shape = node.inputs[2]
        return [(shape[0], shape[1])]


class Multinomial(_Draw):
    """A sparse matrix of how many of ``n`` experiments have each result; the stored elements of each row are the
    probabilities of the results. ``n`` is a number, or a vector of one for each row.

    Raises
    ------
    NotImplementedError
        At run time, unless the probabilities are in CSR format.
    ValueError
        At run time, if ``n`` has another length than there are rows.

    Examples
    --------
    >>> from phintys.sparse.sandbox import sp2
    >>> p = phintys.sparse.csr_matrix("p", "float64")
    >>> phintys.function([p], sp2.multinomial(7, p))([[0.0, 0.5, 0.5]]).sum().item()
    7.0
    """

    shape_as = 1

    def make_node(self, n, p):
        n, p = as_dense(self, n, 0, 1), as_compressed(self, p)
        return Apply(self, [n, p], [p.type()])

    def compute(self, n, p):
        if p.format != "csr":
            raise NotImplementedError(f"Multinomial: the probabilities must be in CSR format, not {p.format}")
        if n.ndim and len(n) != p.shape[0]:
            raise ValueError(f"Multinomial: n has {len(n)} elements, but there are {p.shape[0]} rows of probabilities")
        counts = numpy.zeros_like(p.data)
        for row, count in enumerate(numpy.broadcast_to(n, p.shape[0])):
            stored = slice(p.indptr[row], p.indptr[row + 1])
            counts[stored] = numpy.random.multinomial(count, p.data[stored])  # noqa: NPY002
        return with_data(p, counts)


poisson, multinomial = Poisson(), Multinomial()
csr_fbinomial, csc_fbinomial = Binomial("csr", "float32"), Binomial("csc", "float32")
csr_dbinomial, csc_dbinomial = Binomial("csr", "float64"), Binomial("csc", "float64")

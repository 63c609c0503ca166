"""Samples of multinomial distributions from uniform numbers: MultinomialFromUniform and ChoiceFromUniform.

The rows of a matrix are the probabilities. A row with a negative one, or whose sum is not 1, is an error at run time;
with ``config.theano_rules`` it is used as it is, which selects the last outcomes less or more often, or nothing.
"""
import warnings

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.op import Op
from phintys.ops.random.multinomial_kernel import MultinomialKernel
from phintys.ops.types.as_scalar import as_scalar
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes, float_dtypes, integer_dtypes
from phintys.ops.types.known_length import known_integer
from phintys.ops.types.number_views import tensor_from_scalar
from phintys.ops.types.tensor_type import TensorType


class MultinomialFromUniform(Op):
    """How often each outcome occurs in n samples. The inputs are probabilities, uniform numbers and n.

    Parameters
    ----------
    odtype : str
        The dtype of the counts; "auto": that of the probabilities.

    Examples
    --------
    >>> draw = phintys.sandbox.multinomial.MultinomialFromUniform("auto")
    >>> draw(T.as_tensor([[0.25, 0.75], [0.25, 0.75]]), T.as_tensor([0.1, 0.9])).eval()
    array([[1., 0.],
           [0., 1.]])
    """

    __props__ = ("odtype",)
    shape_as = 0
    automatic = None

    def __init__(self, odtype):
        self.odtype = odtype

    def __setstate__(self, state):
        self.__dict__.update({"odtype": "auto", **state})

    def __str__(self):
        return f"{type(self).__name__}{{{self.odtype}}}"

    def make_node(self, pvals, unis, n=1):
        pvals, unis = as_tensor_variable(pvals), as_tensor_variable(unis)
        n = as_scalar(n) if hasattr(n, "type") else as_scalar(int(n))
        if pvals.type.ndim != 2:
            raise NotImplementedError(f"pvals ndim should be 2, got {pvals.type.ndim}")
        if unis.type.ndim != 1:
            raise NotImplementedError(f"unis ndim should be 1, got {unis.type.ndim}")
        for name, variable in (("pvals", pvals), ("unis", unis)):
            if variable.type.dtype not in float_dtypes:
                raise TypeError(f"{name} should be floats, got {variable} of type {variable.type}")
        if n.type.dtype not in integer_dtypes:
            raise TypeError(f"n should be an integer, got {n} of type {n.type}")
        dtype = self.odtype if self.odtype != "auto" else self.automatic or pvals.type.dtype
        return Apply(self, [pvals, unis, n], [TensorType(dtype, self._broadcastable(pvals, n))()])

    def _broadcastable(self, pvals, n):
        return pvals.type.broadcastable

    def make_kernel(self, node):
        return MultinomialKernel(False, True, not config.theano_rules)

    def grad(self, inputs, output_grads):
        return [variable.zeros_like(dtype=config.floatX) if variable.type.dtype in discrete_dtypes
                else variable.zeros_like() for variable in inputs]

    def R_op(self, inputs, eval_points):
        return [None]


class ChoiceFromUniform(MultinomialFromUniform):
    """The outcomes of n samples, a column for each. The inputs are probabilities, uniform numbers and n.

    Parameters
    ----------
    odtype : str
        The dtype of the outcomes; "auto": int64.
    replace : bool
        Whether an outcome may occur several times in a row. Otherwise the remaining probabilities are scaled to sum to
        1 after each sample.

    Examples
    --------
    >>> draw = phintys.sandbox.multinomial.ChoiceFromUniform("auto")
    >>> draw(T.as_tensor([[0.25, 0.75]]), T.as_tensor([0.1]), T.as_tensor(1)).eval()
    array([[0]])
    """

    __props__ = ("odtype", "replace")
    automatic = "int64"

    def __init__(self, odtype, replace=False):
        super().__init__(odtype)
        self.replace = replace

    def __setstate__(self, state):
        super().__setstate__({"replace": False, **state})

    def _broadcastable(self, pvals, n):
        rows, columns = pvals.type.broadcastable
        return rows, columns and known_integer(n) != 0

    def make_kernel(self, node):
        return MultinomialKernel(True, bool(self.replace), not config.theano_rules)

    def infer_shape(self, node, input_shapes):
        return [(input_shapes[0][0], tensor_from_scalar(node.inputs[2]))]


class MultinomialWOReplacementFromUniform(ChoiceFromUniform):
    """The old name of `ChoiceFromUniform`.

    Examples
    --------
    >>> phintys.sandbox.multinomial.ChoiceFromUniform("auto", replace=False).replace           # what replaces it
    False
    """

    def __init__(self, *args, **kwargs):
        warnings.warn("MultinomialWOReplacementFromUniform is deprecated, use ChoiceFromUniform instead.",
                      DeprecationWarning, stacklevel=2)
        super().__init__(*args, **kwargs)

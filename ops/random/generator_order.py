"""GeneratorOrder: permutations, choices, multinomial counts and shares of ``numpy.random.Generator``, drawn by kernels.

The op chooses or permutes numbers from 0 on, and the code that makes the node takes elements at these positions; or it
counts outcomes, or divides 1 into shares. ``ORDERS`` is the table.
"""
from collections import namedtuple

from phintys.graph.apply import Apply
from phintys.ops.elementwise.elementwise_functions import cast
from phintys.ops.random.generator_states import KINDS, WORDS
from phintys.ops.random.orders_kernel import ChoiceKernel, DirichletKernel, MultinomialDrawKernel, PermutationKernel
from phintys.ops.random.sampling import Sampling, sample_shape, size_vector
from phintys.ops.random.vector_states import tolerance_of
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.dtypes import discrete_dtypes
from phintys.ops.types.tensor_type import TensorType

# parameters: name, rank (None: at most that of the size, and one more for the last parameter of multinomial) and dtype;
# added: dimensions of the sample beside those of the size; kernel: of the number of the generator's kind, and the op.
Order = namedtuple("Order", "parameters added kernel dtype", defaults=("int64",))
ORDERS = {
    "permutation": Order((("x", 0, "int64"),), 1, lambda kind, op: PermutationKernel(kind, False)),
    "choice": Order((("a", 0, "int64"), ("replace", 0, "int64"), ("p", 1, "float64")), 0,
                    lambda kind, op: ChoiceKernel(kind, False, op.shuffled, tolerance_of(op.given), op.ascending)),
    "multinomial": Order((("n", None, "int64"), ("pvals", None, "float64")), 1,
                         lambda kind, op: MultinomialDrawKernel(kind, False, False, op.exact)),
    "dirichlet": Order((("alpha", None, "float64"),), 1, lambda kind, op: DirichletKernel(kind, False), "float64"),
}


class GeneratorOrder(Sampling):
    """Integers, or shares. The inputs are the state, the size and the parameters, the outputs the new state and the
    sample.

    Parameters
    ----------
    name : str
        A key of ``ORDERS``.
    kind : str
        The kind of the bit generator.
    ndim : int
        Of the size.
    shuffled : bool
        The order of what is chosen without replacement is random, too.
    given : str, optional
        The dtype of the probabilities, which says how exactly they have to sum to 1.
    exact : bool
        The probabilities of outcomes must sum to 1. Otherwise the missing part is added to the last one.
    ascending : bool
        What is chosen by probabilities, without replacement, ascends in each round of numbers, as PyTensor's linker for
        Numba has it.
    inplace : bool
        The new state overwrites the old one.
    """

    __props__ = ("name", "kind", "ndim", "shuffled", "given", "exact", "ascending", "inplace")
    can_overwrite = {0: (0,)}
    runs_alone = True

    def __init__(self, name, kind, ndim, shuffled=True, given="float64", exact=True, ascending=False,
                 inplace=False):
        self.name, self.kind, self.ndim, self.shuffled, self.given = name, kind, int(ndim), bool(shuffled), given
        self.exact, self.ascending, self.inplace = bool(exact), bool(ascending), bool(inplace)
        if inplace:
            self.destroy_map = {0: [0]}

    def __str__(self):
        return f"GeneratorOrder{{{self.name}, {self.kind}}}"

    def make_node(self, state, size, *parameters):
        state, (size, _) = self.as_state(state), size_vector(size)
        order = ORDERS[self.name]
        parameters = list(map(as_tensor_variable, parameters))
        for (name, rank, dtype), parameter in zip(order.parameters, parameters):
            if rank is not None and parameter.type.ndim != rank:
                raise TypeError(f"{self.name}: {name} must have {rank} dimensions, got {parameter} of type "
                                f"{parameter.type}")
            if dtype == "int64" and parameter.type.dtype not in discrete_dtypes:
                raise TypeError(f"{self.name}: {name} must be an integer, got {parameter} of type {parameter.type}")
        parameters = [cast(parameter, dtype) for parameter, (_, _, dtype) in zip(parameters, order.parameters)]
        return Apply(self, [state, size, *parameters],
                     [state.type(), TensorType(order.dtype, (False,) * (self.ndim + order.added))()])

    def make_kernel(self, node):
        return ORDERS[self.name].kernel(KINDS.index(self.kind), self)

    def infer_shape(self, node, input_shapes):
        shape = sample_shape(node.inputs[1], self.ndim)
        last = {"permutation": (node.inputs[2],), "choice": ()}.get(self.name)
        return [(WORDS[self.kind],), (*shape, *((input_shapes[-1][-1],) if last is None else last))]

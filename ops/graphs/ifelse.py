"""Lazy branches: ``ifelse(condition, then, else)`` computes one of two branches, ``switch`` computes both.

The condition is a single number, not one per element. ``lazy_branches`` declares which inputs each branch needs; the
linker compiles this to jumps, so that a branch that is not taken costs nothing and cannot fail. With ``as_view`` the
outputs refer to the memory of the branch that was taken, otherwise they are copies.
"""
from copy import deepcopy
from functools import reduce

import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import config
from phintys.graph.errors import made_at
from phintys.graph.gradients.gradient import float_zeros_like
from phintys.graph.op import Op
from phintys.graph.traversal import ancestors, graph_inputs
from phintys.graph.valueless_types import DisconnectedType, NullType, disconnected_type
from phintys.graph.variable import Constant, Variable
from phintys.ops.creation.allocation import alloc
from phintys.ops.elementwise.elementwise_functions import eq, neq, or_
from phintys.ops.graphs.inner_graph import inferred_shapes
from phintys.ops.shape.shape import patternbroadcast
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import continuous_dtypes, discrete_dtypes
from phintys.ops.types.tensor_type import TensorType

__all__ = ["IfElse", "ifelse"]


class IfElse(Op):
    """Selects the first or the second half of the inputs that follow the condition.

    Parameters
    ----------
    n_outs : int
        The number of values of a branch.
    as_view : bool
        Whether the outputs are views of the selected values instead of copies.
    gpu : bool
        Whether the values are on a device.
    name : str, optional
        For printing; ignored when ops are compared.

    Examples
    --------
    >>> x = T.dscalar("x")
    >>> phintys.ifelse.ifelse(x > 0, T.log(x), x).owner.op
    if{}
    """

    __props__ = ("n_outs", "as_view", "gpu")

    def __init__(self, n_outs, as_view=False, gpu=False, name=None):
        self.n_outs, self.as_view, self.gpu, self.name = n_outs, as_view, gpu, name
        if as_view:
            self.view_map = {output: [output + 1, output + 1 + n_outs] for output in range(n_outs)}

    def make_node(self, condition, *values):
        """Make a node.

        Parameters
        ----------
        condition : 0-d tensor
        *values : Variable
            The values of the first branch, then those of the second.

        Raises
        ------
        AssertionError
            If the number of values is not twice ``n_outs``.
        TypeError
            If the two values for an output have different types, or the condition is not a scalar.
        """
        if len(values) != 2 * self.n_outs:
            raise AssertionError(f"Wrong number of arguments to make_node: expected {2 * self.n_outs} values, got "
                                 f"{len(values)}")
        condition = as_tensor_variable(condition)
        values = [value if isinstance(value, Variable) else as_tensor_variable(value) for value in values]
        for position, (first, second) in enumerate(zip(values, values[self.n_outs:])):
            if first.type != second.type:
                raise TypeError(f"IfElse requires same types for true and false return values. {_pair(first, second)} "
                                f"(number {position})")
        if condition.type.ndim > 0:
            raise TypeError(f"The condition has to be a scalar, where 0 means False and all other values mean True. "
                            f"Got {_described(condition)}")
        types = [_joint_type(first.type, second.type) for first, second in zip(values, values[self.n_outs:])]
        return Apply(self, [condition, *values], [kind.make_variable() for kind in types])

    def branches(self, inputs):
        """Split a node's inputs into (values of the first branch, values of the second branch)."""
        return inputs[1:1 + self.n_outs], inputs[1 + self.n_outs:]

    # ---- computing ---------------------------------------------------------------------------------------------------
    def lazy_branches(self, node):
        middle = 1 + self.n_outs
        return 0, range(1, middle), range(middle, middle + self.n_outs)

    def lower_branch(self, emitter, node, branch):
        emit = emitter.alias if self.as_view else emitter.copy
        for output, value in zip(node.outputs, self.branches(node.inputs)[branch]):
            emit(emitter.cell_of[output], emitter.cell_of[value], node=node)

    def perform(self, node, inputs, output_storage, params=None):
        first, second = self.branches(inputs)
        for storage, value in zip(output_storage, first if inputs[0] else second):
            storage[0] = value if self.as_view else _copied(value)

    def infer_shape(self, node, input_shapes):
        firsts, seconds = self.branches(input_shapes)
        shapes, lengths = [], []
        for first, second in zip(firsts, seconds):
            if first is None or second is None:
                shapes.append(None)
                continue
            shape = [(_as_length(one), _as_length(other)) for one, other in zip(first, second)]
            lengths += [pair for pair in shape if not _same(*pair)]
            shapes.append(shape)
        chosen = iter(())
        if lengths:
            op = IfElse(len(lengths), name="_".join(["shape", *([self.name] if self.name else [])]))
            chosen = iter(op(node.inputs[0], *[one for one, _ in lengths], *[other for _, other in lengths],
                             return_list=True))
        return [shape and tuple([pair[0] if _same(*pair) else next(chosen) for pair in shape]) for shape in shapes]

    # ---- gradients ---------------------------------------------------------------------------------------------------
    def connection_pattern(self, node):
        """Every output depends on the condition and on its value in each branch."""
        rows = [[output == position for output in range(self.n_outs)] for position in range(self.n_outs)]
        return [[True] * self.n_outs, *rows, *rows]

    def grad(self, inputs, output_grads):
        """The output's gradient for the branch that was taken, zeros for the other branch and for the condition."""
        terms = list(output_grads) * 2
        wanted = [output for output, gradient in enumerate(output_grads) if _is_valued(gradient)]
        for branch, values in enumerate(self.branches(inputs)):
            if wanted:
                op = IfElse(len(wanted), self.as_view, self.gpu, self.name and f"{self.name}_grad_{'tf'[branch]}")
                given = [output_grads[output] for output in wanted]
                zeros = [values[output].zeros_like(dtype=output_grads[output].type.dtype) for output in wanted]
                chosen = op(inputs[0], *(zeros + given if branch else given + zeros), return_list=True)
                for output, term in zip(wanted, chosen):
                    terms[branch * self.n_outs + output] = term
        return [_gradient_of_condition(inputs[0], output_grads), *terms]

    def has_lazy_gradient(self, node):
        types = [output.type for output in node.outputs]
        dtypes = [getattr(kind, "dtype", None) for kind in types]       # of tensors, sparse matrices and scalars
        return None not in dtypes and not continuous_dtypes.isdisjoint(dtypes)

    def lazy_L_op(self, inputs, outputs, output_grads):
        """The output's gradient for both branches: it counts in the one that is taken. It is zero for integers."""
        terms = [float_zeros_like(output) if output.type.dtype in discrete_dtypes and _is_valued(gradient) else gradient
                 for output, gradient in zip(outputs, output_grads)]
        return [_gradient_of_condition(inputs[0], output_grads), *terms, *terms]

    def chosen_gradient(self, condition, first, second, variable):
        """The gradient by a variable that has this one in the first branch, and this one in the second; None: zeros.

        Perhaps only the other branch needs the variable. So it is not computed for the shape of zeros.
        """
        terms = [_like_gradient(_zeros_of(variable) if term is None else term, variable) for term in (first, second)]
        return IfElse(1, name=self.name and f"{self.name}_grad")(condition, *terms)

    def any_taken(self, paths):
        """Whether one of some branches is taken. Each is given by a path: conditions and numbers of branches, the
        outermost first; a condition is computed only if those before it lead there."""
        never, found = constant(False), []
        for *outer, (condition, branch) in paths:
            taken = (eq if branch else neq)(condition, 0)
            for condition, branch in reversed(outer):
                taken = IfElse(1)(condition, *((never, taken) if branch else (taken, never)))
            found.append(taken)
        return reduce(or_, found)

    def R_op(self, inputs, eval_points):
        pairs = list(zip(*self.branches(inputs), *self.branches(eval_points)))
        directions = [(first.zeros_like() if along is None else along, second.zeros_like() if other is None else other)
                      for first, second, along, other in pairs if along is not None or other is not None]
        if not directions:
            return [None] * self.n_outs
        op = IfElse(len(directions), self.as_view, self.gpu, self.name)
        chosen = iter(op(inputs[0], *[along for along, _ in directions], *[other for _, other in directions],
                         return_list=True))
        return [None if along is None and other is None else next(chosen) for _, _, along, other in pairs]

    def __str__(self):
        words = [*([self.name] if self.name is not None else []), *["inplace"] * self.as_view, *["gpu"] * self.gpu]
        return f"if{{{','.join(words)}}}"


def _zeros_of(variable):
    """Zeros in the shape of a variable, of its dtype if that is a float; if possible, without computing it."""
    zeros = float_zeros_like(variable)
    if variable.owner is None or type(variable.type) is not TensorType:
        return zeros
    shape, = inferred_shapes(graph_inputs([variable]), [variable])
    lengths = [length for length in shape if isinstance(length, Variable)]
    if variable in ancestors(lengths):
        return zeros
    return patternbroadcast(alloc(constant(0, dtype=zeros.type.dtype), *shape), variable.type.broadcastable)


def ifelse(condition, then_branch, else_branch, name=None):
    """The values of one of two branches; only the selected branch is computed.

    Parameters
    ----------
    condition : 0-d tensor-like
        Zero means False; all other values, including NaN, mean True.
    then_branch, else_branch : variable, or list or tuple of variables
        Both branches have the same number of values, with equal types pair by pair; their shapes may differ.
    name : str, optional
        For printing.

    Returns
    -------
    Variable, or list or tuple of Variable
        The same kind as ``then_branch``.

    Raises
    ------
    ValueError
        If the branches have different numbers of values.
    TypeError
        If types differ, or the condition is not a scalar.

    Examples
    --------
    >>> x = T.dvector()
    >>> y = ifelse(T.gt(x.sum(), 0), T.log(x), x * 0)
    """
    kind = type(then_branch) if isinstance(then_branch, (list, tuple)) else None
    firsts = list(then_branch) if isinstance(then_branch, (list, tuple)) else [then_branch]
    seconds = list(else_branch) if isinstance(else_branch, (list, tuple)) else [else_branch]
    if len(firsts) != len(seconds):
        raise ValueError(f"The number of values on the `then` branch should have the same number of variables as the "
                         f"`else` branch: (variables on `then` {len(firsts)}{_places(firsts)}, variables on `else` "
                         f"{len(seconds)}{_places(seconds)})")
    pairs = [_matched(first, second) for first, second in zip(firsts, seconds)]
    outputs = IfElse(len(pairs), name=name)(condition, *[first for first, _ in pairs], *[second for _, second in pairs],
                                            return_list=True)
    return outputs[0] if kind is None else tuple(outputs) if issubclass(kind, tuple) else outputs


def _matched(first, second):
    """The values of both branches for one output, as variables of one type."""
    first, second = [value if isinstance(value, Variable) else as_tensor_variable(value) for value in (first, second)]
    if first.type != second.type:
        if isinstance(first.type, TensorType) and not isinstance(second.type, TensorType):
            second = first.type.filter_variable(second)
        elif isinstance(second.type, TensorType) and not isinstance(first.type, TensorType):
            first = second.type.filter_variable(first)
    if first.type != second.type:
        raise TypeError(f"The two branches should have identical types. {_pair(first, second)}. This error could be "
                        f"raised if for example you provided a one element list on the `then` branch but a tensor on "
                        f"the `else` branch.")
    return first, second


# ---- values ----------------------------------------------------------------------------------------------------------
def _copied(value):
    return value.copy() if type(value) is numpy.ndarray else deepcopy(value)


def _joint_type(first, second):
    """The most specific type that includes the types of both values."""
    if not isinstance(first, TensorType) or first.shape == second.shape:
        return first
    return TensorType(first.dtype, first.broadcastable,
                      shape=[one if one == other else None for one, other in zip(first.shape, second.shape)])


def _as_length(length):
    if not isinstance(length, Variable):
        return constant(int(length), dtype="int64")
    return length if length.type.dtype == "int64" else length.astype("int64")


def _same(first, second):
    """Whether two lengths are the same variable or equal constants."""
    return first is second or (isinstance(first, Constant) and isinstance(second, Constant)
                               and first.data == second.data)


def _is_valued(gradient):
    return not isinstance(gradient.type, (DisconnectedType, NullType))


def _gradient_of_condition(condition, output_grads):
    """The zero gradient of the condition: a slightly different condition selects the same branch."""
    if all([isinstance(gradient.type, DisconnectedType) for gradient in output_grads]):
        return disconnected_type()
    return condition.zeros_like().astype(config.floatX)


def _like_gradient(term, variable):
    """A term of the gradient by a variable, as a value of the gradient's type."""
    if isinstance(term.type, TensorType):
        dtype = variable.type.dtype if variable.type.dtype in continuous_dtypes else config.floatX
        term = patternbroadcast(term.astype(dtype), variable.type.broadcastable)
    return term


# ---- errors ----------------------------------------------------------------------------------------------------------
def _described(variable):
    return f"{variable} of type {variable.type}{made_at(variable)}"


def _pair(first, second):
    return f"The `then` branch has {_described(first)}, the `else` branch {_described(second)}"


def _places(values):
    """The position in the user's code where the first of the values was made."""
    return next((made_at(value) for value in values if isinstance(value, Variable) and value.where), "")

"""Symbolic gradients by reverse accumulation (``grad``, ``Lop``).

The nodes between the cost and ``wrt`` are visited once each, from the cost backwards, so that all terms of a variable's
gradient are known before the ``L_op`` of its owner is called. Nothing here depends on particular ops: it uses the Op
protocol, and ``zeros_like``, ``ones_like``, ``astype`` and ``+`` of variables.

The gradient of a lazy branch is as lazy as its value: see ``gradient_arms.py``.

What cancels in a gradient, such as a division by a probability, may be far apart if an op that moves elements is in
between. So ``grad`` and ``Rop`` ask ``optimizer/rewrites/logarithms.py``, by the hook ``stand_ins``, for nodes that
have a stable form behind such ops, and differentiate this form (`StableNode`). The user's graph does not change.

Rules: a gradient never has an integer dtype; the gradient of a float variable has its dtype; where the cost does not
depend on a variable, its gradient has ``DisconnectedType``; if there is no derivative, it has ``NullType``.
"""
from __future__ import annotations

import threading
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, overload

from phintys.graph.config import config
from phintys.graph.errors import DisconnectedInputError, NullTypeGradError, made_at, shown
from phintys.graph.garbage import garbage_kept
from phintys.graph.gradients.gradient_arms import Arms
from phintys.graph.gradients.gradient_paths import Paths
from phintys.graph.gradients.gradient_terms import (
    CONTINUOUS_DTYPES,
    FLOAT_DTYPES,
    check_rank,
    dtype_of,
    is_valueless,
    terms_of,
)
from phintys.graph.gradients.view_op import view_op
from phintys.graph.valueless_types import DisconnectedType, NullType, disconnected_type
from phintys.graph.variable import Variable
from phintys.vm.call_stack import gradient_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from phintys.ops.operators import TensorOperators, TensorVariable

    Reaction = Literal["ignore", "warn", "raise"]


@overload
def grad(cost: Variable | None, wrt: TensorOperators, consider_constant: Iterable[Variable] | None = None,
         disconnected_inputs: Reaction = "raise", add_names: bool = True, known_grads: Mapping[Any, Any] | None = None,
         return_disconnected: str = "zero", null_gradients: Literal["raise", "return"] = "raise") -> TensorVariable: ...
@overload
def grad(cost: Variable | None, wrt: Sequence[TensorOperators], consider_constant: Iterable[Variable] | None = None,
         disconnected_inputs: Reaction = "raise", add_names: bool = True, known_grads: Mapping[Any, Any] | None = None,
         return_disconnected: str = "zero", null_gradients: Literal["raise", "return"] = "raise"
         ) -> list[TensorVariable]: ...
@overload
def grad(cost: Variable | None, wrt: Variable, consider_constant: Iterable[Variable] | None = None,
         disconnected_inputs: Reaction = "raise", add_names: bool = True, known_grads: Mapping[Any, Any] | None = None,
         return_disconnected: str = "zero", null_gradients: Literal["raise", "return"] = "raise") -> Variable: ...
@overload
def grad(cost: Variable | None, wrt: Sequence[Variable], consider_constant: Iterable[Variable] | None = None,
         disconnected_inputs: Reaction = "raise", add_names: bool = True, known_grads: Mapping[Any, Any] | None = None,
         return_disconnected: str = "zero", null_gradients: Literal["raise", "return"] = "raise") -> list[Variable]: ...


def grad(cost: Any, wrt: Any, consider_constant: Any = None, disconnected_inputs: Reaction = "raise",
         add_names: bool = True, known_grads: Mapping[Any, Any] | None = None, return_disconnected: str = "zero",
         null_gradients: Literal["raise", "return"] = "raise") -> Any:
    """Return gradients of a cost with respect to variables.

    Parameters
    ----------
    cost : Variable or None
        A scalar. None if ``known_grads`` says where the gradient comes from.
    wrt : Variable, or list or tuple of Variable
    consider_constant : iterable of Variable, optional
        Variables that count as constants: no gradient passes through them.
    disconnected_inputs : {'raise', 'warn', 'ignore'}
        What to do about elements of ``wrt`` on which the cost does not depend.
    add_names : bool
        Name gradients ``(dcost/dx)`` if both cost and variable have names.
    known_grads : dict, optional
        Variable → its gradient, where that is already known.
    return_disconnected : {'zero', 'None', 'Disconnected'}
        The gradient by such elements: zeros, None, or a variable of ``DisconnectedType``.
    null_gradients : {'raise', 'return'}
        What to do about undefined gradients.

    Returns
    -------
    Variable, or list or tuple of Variable, as ``wrt``

    Raises
    ------
    TypeError
        If the cost is not a scalar, ``wrt`` contains other objects than variables, or an op returns something else than
        gradients.
    ValueError
        If an op returns a wrong number of gradients, or gradients of a wrong rank.
    DisconnectedInputError
        See ``disconnected_inputs``.
    NullTypeGradError
        See ``null_gradients``.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> T.grad((x ** 2).sum(), x).eval({x: [1, 2]})
    array([2., 4.])
    """
    _check_cost(cost, known_grads)
    wanted = _variables_of(wrt)
    blockers = _blockers(consider_constant)
    gradients = _starting_gradients(cost, known_grads)
    react = _reaction_to_disconnected(disconnected_inputs)
    with garbage_kept():
        paths = Paths(list(gradients), wanted, blockers)
        for variable in wanted:
            if variable not in paths.active and variable not in gradients:
                react(variable)
                gradients[variable] = disconnected_type()
        accumulation = _Accumulation(paths, gradients, cost.name if add_names and cost is not None else None)
        results = [_presented(variable, accumulation.finished(variable), react, return_disconnected, null_gradients)
                   for variable in wanted]
    return format_as(isinstance(wrt, list), isinstance(wrt, tuple), results)


# ---- checking arguments ----------------------------------------------------------------------------------------------
def _check_cost(cost, known_grads):
    if known_grads is not None and not hasattr(known_grads, "items"):
        raise TypeError(f"known_grads must be a dict of variables and their gradients, got {known_grads!r}")
    if cost is None:
        if known_grads is None:
            raise AssertionError("cost and known_grads can't both be None.")
        return
    if not isinstance(cost, Variable):
        raise TypeError(f"cost must be a scalar Variable, got {cost!r} of type {type(cost)}")
    if isinstance(cost.type, NullType):
        raise ValueError(f"Can't differentiate a NaN cost. cost is NaN because {cost.type.why_null}")
    if getattr(cost.type, "ndim", 0) != 0:
        raise TypeError(f"cost must be a scalar. {shown(cost)}{made_at(cost)} has {cost.type.ndim} dimensions. Take "
                        f"its sum() or mean(), or all derivatives by phintys.gradient.jacobian.")


def _variables_of(wrt):
    if isinstance(wrt, (set, frozenset)):
        raise TypeError("wrt must not be a set. Sets have no defined iteration order, so we can't return gradients in "
                        "a matching order.")
    wanted = list(wrt) if isinstance(wrt, (list, tuple)) else [wrt]
    for variable in wanted:
        if not isinstance(variable, Variable):
            raise TypeError(f"Expected Variable, got {variable} of type {type(variable)}")
    return wanted


def _blockers(consider_constant):
    if consider_constant is None:
        return set()
    try:
        blockers = list(consider_constant)
    except TypeError:
        raise TypeError(f"consider_constant must be an iterable collection, got {type(consider_constant)}") from None
    for variable in blockers:
        if not isinstance(variable, Variable):
            raise TypeError(f"Elements of consider_constant must be variables, but got {type(variable)}")
    return set(blockers)


def _starting_gradients(cost, known_grads):
    """Map the cost, and variables with known gradients, to their gradients."""
    gradients = {}
    known_grads = {} if known_grads is None else known_grads
    if cost is not None:
        gradient = known_grads[cost] if cost in known_grads else _float_ones_like(cost)
        given, wanted = dtype_of(gradient), dtype_of(cost)
        if given is not None and given != wanted and wanted in CONTINUOUS_DTYPES:
            gradient = gradient.astype(wanted)
        gradients[cost] = gradient
    for variable, gradient in known_grads.items():
        if not hasattr(gradient, "type"):
            raise TypeError(f"output grads must be variables. Ambiguous whether {type(gradient)} should be made into a "
                            f"tensor or sparse variable")
        gradients.setdefault(variable, gradient)
    for variable, gradient in gradients.items():
        if not is_valueless(gradient) and dtype_of(gradient) not in CONTINUOUS_DTYPES:
            raise TypeError(f"Gradients must always be NullType, DisconnectedType, or continuous, but the gradient of "
                            f"{variable} was given as {gradient.type}")
    return gradients


def _reaction_to_disconnected(disconnected_inputs):
    """Return a function to be called with a disconnected element of ``wrt``."""
    if disconnected_inputs not in ("ignore", "warn", "raise"):
        raise ValueError("Invalid value for keyword 'disconnected_inputs', valid values are 'ignore', 'warn' and "
                         "'raise'.")

    def react(variable):
        message = (f"grad method was asked to compute the gradient with respect to a variable that is not part of the "
                   f"computational graph of the cost, or is used only by a non-differentiable operator: "
                   f"{shown(variable)}{made_at(variable)}. Is it the variable that the cost was made from, and not a "
                   f"copy or a new one? "
                   f"With disconnected_inputs='ignore' its gradient is zero.")
        if disconnected_inputs == "raise":
            raise DisconnectedInputError(message)
        if disconnected_inputs == "warn":
            warnings.warn(message, stacklevel=3)
    return react


def _presented(variable, gradient, react, return_disconnected, null_gradients):
    """Return a gradient in the form that the caller requests."""
    if isinstance(gradient.type, NullType):
        if null_gradients == "raise":
            raise NullTypeGradError(f"tensor.grad encountered a NaN. {gradient.type.why_null}")
        if null_gradients != "return":
            raise ValueError(f"null_gradients must be 'raise' or 'return', not {null_gradients!r}")
    if isinstance(gradient.type, DisconnectedType):
        react(variable)
        if return_disconnected == "zero":
            return float_zeros_like(variable)
        if return_disconnected == "None":
            return None
        if return_disconnected != "Disconnected":
            raise ValueError(f"return_disconnected must be 'zero', 'None' or 'Disconnected', not "
                             f"{return_disconnected!r}")
    return gradient


def format_as(use_list: bool, use_tuple: bool, outputs: int | Sequence[Any]) -> Any:
    """Return a list of results as a list, a tuple, or, if neither is requested, its only element.

    Examples
    --------
    >>> phintys.gradient.format_as(True, False, ["a", "b"]), phintys.gradient.format_as(False, True, ["a", "b"])
    (['a', 'b'], ('a', 'b'))
    """
    if use_list and use_tuple:
        raise AssertionError("Both flags cannot be simultaneously True")
    if use_list or use_tuple:
        outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        return list(outputs) if use_list else tuple(outputs)
    if isinstance(outputs, (list, tuple)):
        if len(outputs) != 1:
            raise AssertionError("Wrong arguments. Expected a one element list")
        return outputs[0]
    return outputs


# ---- accumulation ----------------------------------------------------------------------------------------------------
_around = threading.local()           # its `mask`: that of the gradients which an op takes of a graph that it holds


class _Accumulation:
    """Gradients while they are collected, from the cost backwards.

    Attributes
    ----------
    gradients : dict
        Variable → its gradient, once all terms of it are known; None: zero, because only conditions of lazy branches
        depend on the variable.
    terms : dict
        Node → its terms of the gradients of its inputs; None: zero, as above.
    arms : Arms
    inside, terms_inside : dict
        Variable → the arm in which its gradient counts, and node → those of its terms, unless they count everywhere.
    masks, term_masks : dict
        Variable → the mask of its gradient, and node → those of its terms, if there are any; see ``Op.masked_L_op``.
    """

    def __init__(self, paths, gradients, cost_name):
        self.paths, self.gradients, self.cost_name = paths, gradients, cost_name
        self.terms, self.arms, self.inside, self.terms_inside = {}, Arms(_sum), {}, {}
        around = getattr(_around, "mask", None)
        self.term_masks, self.masks = {}, dict.fromkeys(gradients, around) if around is not None else {}
        for node in paths.nodes:
            with gradient_of(node._position):
                self.terms[node] = self._terms(node)

    def finished(self, variable):
        """Return the gradient of a variable; the terms of all nodes that read it are known."""
        gradient, mask = self._outside(variable, self._gradient(variable), self.arms.everywhere)
        gradient = gradient if mask is None else mask.applied(gradient)
        self._name(variable, gradient)
        return gradient

    def _gradient(self, variable):
        """Return the gradient of a variable, without its mask, in the innermost arm in which all its terms count."""
        if variable in self.gradients:
            return self.gradients[variable]
        if variable not in self.paths.active:
            return disconnected_type()
        gradient = self.gradients[variable] = self._collected(variable)
        if gradient is not None and variable not in self.masks:
            self._name(variable, gradient)
        return gradient

    def _name(self, variable, gradient):
        if self.cost_name is not None and variable.name is not None and gradient.name is None:
            gradient.name = f"(d{self.cost_name}/d{variable.name})"

    def _collected(self, variable):
        """Return the sum of the terms, and note its arm and mask; undefined if one of them is."""
        found, masks, is_zero, everywhere = {}, {}, False, self.arms.everywhere
        for node, position in self.paths.active[variable]:
            term = self.terms[node][position]
            if term is None:
                is_zero = True
            elif isinstance(term.type, NullType):
                return term
            elif not isinstance(term.type, DisconnectedType):
                check_rank(term, variable, node)
                arm = self.terms_inside[node][position] if node in self.terms_inside else everywhere
                found.setdefault(arm, []).append(term)
                masks.setdefault(arm, []).append(self.term_masks[node][position] if node in self.term_masks else None)
        if not found:
            return None if is_zero else disconnected_type()
        self._collect_masks(variable, found, masks)
        if len(found) == 1 and everywhere in found:
            return _sum(found[everywhere])
        arm = self.arms.meeting(found)
        if arm is not everywhere:
            self.inside[variable] = arm
        return self.arms.joined(variable, found, arm)

    def _collect_masks(self, variable, found, masks):
        """Note the mask of a sum, and make zero what terms need zero, in place; in arms only such zeros are left."""
        for arm, own in masks.items():
            mask = next((mask for mask in own if mask is not None), None)
            if mask is not None:
                if len(masks) > 1 or arm is not self.arms.everywhere:
                    found[arm] = [term if mask is None else mask.applied(term) for term, mask in zip(found[arm], own)]
                    mask = mask.inside()
                elif len(own) > 1:
                    found[arm], mask = mask.collected(found[arm], own)
            if mask is not None:
                self.masks[variable] = mask

    def _outside(self, variable, gradient, outside):
        """Return a gradient as it counts outside of its arm, and its mask."""
        if gradient is None:
            return float_zeros_like(variable), None
        arm, mask = self.inside.get(variable, self.arms.everywhere), self.masks.get(variable)
        if arm is outside or is_valueless(gradient):
            return gradient, mask
        given = gradient if mask is None else mask.applied(gradient)
        return self.arms.joined(variable, {arm: [given]}, outside), mask and mask.inside()

    def _terms(self, node):
        """Return the terms of a node, and note their arms."""
        gradients = [self._gradient(output) for output in node.outputs]
        lazy = node.op.lazy_branches(node)
        if lazy is not None and node.op.has_lazy_gradient(node):
            return self._terms_of_branches(node, gradients, *lazy)
        if None in gradients or (self.inside and not self.inside.keys().isdisjoint(node.outputs)):
            arm = self._arm_of(node, gradients)
            if arm is None:
                return [None] * len(node.inputs)
            found = [self._outside(output, gradient, arm) for output, gradient in zip(node.outputs, gradients)]
            gradients, masks = [gradient for gradient, _ in found], [mask for _, mask in found]
            self.terms_inside[node] = [arm] * len(node.inputs)
        else:
            masks = [self.masks.get(output) for output in node.outputs]
        return terms_of(node, gradients, self.paths.patterns.get(node), self._L_op(node, masks),
                        self.paths.wanted.get(node))

    def _L_op(self, node, masks):
        """Return the method that computes a node's terms, and notes their masks if there are any."""
        mask = next((mask for mask in masks if mask is not None), None)
        if are_plain() or (mask is None and not node.op.chooses):
            return node.op.L_op

        def masked(inputs, outputs, gradients):
            before, _around.mask = getattr(_around, "mask", None), mask and mask.inside()
            try:
                terms, self.term_masks[node] = node.op.masked_L_op(inputs, outputs, gradients, masks)
            finally:
                _around.mask = before
            return terms

        return masked

    def _arm_of(self, node, gradients):
        """Return the arm in which gradients of a node's outputs count together; None if all of them are zero."""
        counting = [self.inside.get(output, self.arms.everywhere) for output, gradient in zip(node.outputs, gradients)
                    if gradient is not None and not is_valueless(gradient)]
        if counting:
            return self.arms.meeting(counting)
        return None if None in gradients else self.arms.everywhere

    def _terms_of_branches(self, node, gradients, condition, *branches):
        """Return the terms of a lazy node: the gradients of its outputs, in the arms, and zero for its condition."""
        given = [float_zeros_like(output) if gradient is None else gradient if output not in self.masks else
                 self.masks[output].applied(gradient) for output, gradient in zip(node.outputs, gradients)]
        terms = terms_of(node, given, self.paths.patterns.get(node), node.op.lazy_L_op)
        arms = self.terms_inside[node] = [self.arms.everywhere] * len(node.inputs)
        terms[condition] = None
        for branch, positions in enumerate(branches):
            for position, output, gradient in zip(positions, node.outputs, gradients):
                if gradient is None:
                    terms[position] = None
                around = self.inside.get(output, self.arms.everywhere)
                arms[position] = self.arms.branch(around, node.op, node.inputs[condition], branch)
        return terms


@contextmanager
def plain_gradients():
    """A block in which gradients are those of the formulas as they are written: values that a choice did not take, or
    that an index did not read, count as they are, and may make a gradient NaN. Densities need no more."""
    before, _around.plain = are_plain(), True
    try:
        yield
    finally:
        _around.plain = before


def are_plain():
    """Whether gradients are taken in such a block."""
    return getattr(_around, "plain", False)


def _sum(terms):
    """Add variables as a balanced tree, because a chain would be as deep as the number of terms."""
    while len(terms) > 1:
        paired = [left + right for left, right in zip(terms[::2], terms[1::2])]
        terms = paired + terms[len(terms) - len(terms) % 2:]
    return terms[0]


def float_zeros_like(variable: Any) -> Any:
    """Return zeros in the shape of a variable, of its dtype if that is a float, else of floatX."""
    zeros = variable.zeros_like()
    return zeros if dtype_of(zeros) in CONTINUOUS_DTYPES else zeros.astype(config.floatX)


def _float_ones_like(variable):
    """Return ones in the shape of a variable, of its dtype if that is a float, else of floatX."""
    dtype = dtype_of(variable)
    return variable.ones_like(dtype=dtype if dtype in FLOAT_DTYPES else config.floatX)


# ---- on top of grad --------------------------------------------------------------------------------------------------
def Lop(f: Variable | Sequence[Variable], wrt: Variable | Sequence[Variable],
        eval_points: Variable | Sequence[Variable], consider_constant: Iterable[Variable] | None = None,
        disconnected_inputs: Reaction = "raise") -> Any:
    """Return the Jacobian of ``f`` with respect to ``wrt``, multiplied from the left by ``eval_points``.

    Parameters
    ----------
    f : Variable or list of Variable
    wrt : Variable, or list or tuple of Variable
    eval_points : Variable or list of Variable
        One for each element of ``f``.
    consider_constant, disconnected_inputs
        As for ``grad``.

    Returns
    -------
    Variable, or list or tuple of Variable, as ``wrt``

    Examples
    --------
    >>> x, v = T.dvectors("x", "v")
    >>> T.Lop(x ** 2, x, v).eval({x: [1, 2], v: [1, 0]})
    array([2., 0.])
    """
    outputs = list(f) if isinstance(f, (list, tuple)) else [f]
    points = list(eval_points) if isinstance(eval_points, (list, tuple)) else [eval_points]
    for variable in outputs:
        if not isinstance(variable, Variable):
            raise TypeError(f"Lop: f must be a variable or a list of these, got {variable!r}")
    if len(outputs) != len(points):
        raise AssertionError(f"Lop: {len(outputs)} outputs but {len(points)} eval_points")
    # As views none of them is computed from another one, or twice: the known gradient of a variable replaces what
    # comes to it from others.
    return grad(None, wrt, consider_constant=consider_constant, disconnected_inputs=disconnected_inputs,
                known_grads=dict(zip(map(view_op, outputs), points)))


def subgraph_grad(wrt: Sequence[Variable], end: Sequence[Variable], start: Mapping[Any, Any] | None = None,
                  cost: Variable | None = None, details: bool = False) -> Any:
    """Gradients through a part of a graph: from ``cost`` or known gradients down to the variables in ``end``.

    Parameters
    ----------
    wrt : list of Variable
    end : list of Variable
        The variables where the gradient stops.
    start : dict, optional
        Variable → its known gradient.
    cost : Variable, optional
        A scalar cost, whose gradients are added.
    details : bool
        Also return the gradients from ``start`` and those from ``cost``.

    Returns
    -------
    tuple of list of Variable
        Gradients with respect to ``wrt``, and to ``end``; with ``details``, also the two parts of their concatenation
        (None for a part that was not requested).

    Examples
    --------
    >>> x, weights = T.dvector("x"), T.dvector("weights")
    >>> hidden = T.tanh(x * weights)
    >>> cost = (hidden ** 2).sum()
    >>> by_weights, by_hidden = phintys.subgraph_grad(wrt=[weights], end=[hidden], cost=cost)
    >>> numpy.allclose(by_hidden[0].eval({hidden: numpy.tanh([0.5, 0.0])}), 2 * numpy.tanh([0.5, 0.0]))
    True
    """
    if cost is None and start is None:
        raise AssertionError("subgraph_grad: cost and start cannot both be None")
    if not isinstance(wrt, list) or not isinstance(end, list):
        raise AssertionError("subgraph_grad: wrt and end must be lists")
    parameters = list(dict.fromkeys(wrt + end))
    options: dict[str, Any] = dict(consider_constant=end, disconnected_inputs="ignore")
    start_grads = None if start is None else grad(None, parameters, known_grads=start, **options)
    cost_grads = None if cost is None else grad(cost, parameters, **options)
    parts = [part for part in (start_grads, cost_grads) if part is not None]
    total = dict(zip(parameters, [_sum(list(terms)) for terms in zip(*parts)]))
    results = [total[variable] for variable in wrt], [total[variable] for variable in end]
    return results + (start_grads, cost_grads) if details else results

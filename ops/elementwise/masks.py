"""Masks of gradients: where a gradient is zero because a branch was not chosen.

``switch(c, log(x), 0)`` has the gradient ``switch(c, g, 0) / x``, which is 0 / 0 where c is false and x is 0. So the
gradient of a branch is not made zero at once: `grad` carries the gradient as if the branch had been chosen everywhere,
and beside it a `Mask` with the condition. Elementwise ops, and ops that only move elements, pass the mask on. It is
applied where elements are added, or reach an op that knows no masks; so a chain of elementwise ops has one ``switch``
at its end, not more than without masks. From there on the zeros are in the gradient itself (``in_value``): the next
elementwise op whose slope may be infinite leaves elements zero that are zero.
"""
from functools import reduce

from phintys.ops.elementwise.scalar import and_, eq, neg, neq, number, or_, second, switch
from phintys.ops.types.constant import constant_number
from phintys.ops.types.tensor_type import TensorType


class Mask:
    """Which elements of a gradient are zero because a branch was not chosen; the gradient may be anything there.

    Parameters
    ----------
    conditions : tuple of (Variable, bool)
        An element is zero unless all conditions hold, or, with False, do not hold. They have the rank of the gradient,
        or rank 0, and broadcast to it.
    in_value : bool or Variable
        Whether elements that are zero in the gradient itself count, too, or a condition that holds for all but these.
    lasts : bool
        Whether that is still known when the conditions have been applied. Only the choices of ``switch`` last: limits
        such as ``maximum(x, 0)`` are in every network, and would cost a comparison in each layer before them.
    """

    __slots__ = ("conditions", "in_value", "lasts")

    def __init__(self, conditions, in_value=False, lasts=True):
        self.conditions, self.in_value, self.lasts = conditions, in_value, lasts

    def applied(self, gradient):
        """The gradient with its zeros. A sign stays outside: other terms often have the same gradient without it."""
        if self.conditions and gradient.owner is not None and gradient.owner.op is neg.elementwise:
            return -self.applied(gradient.owner.inputs[0])
        for condition, holds in self.conditions:
            zero = number(0, gradient)
            gradient = switch(condition, gradient, zero) if holds else switch(condition, zero, gradient)
        return gradient

    def also(self, condition, holds, lasts):
        """The mask with one more condition."""
        return Mask((*self.conditions, (condition, holds)), self.in_value, self.lasts or lasts)

    def before_slopes(self, gradient):
        """The mask for an op by whose slopes, which may be infinite, a gradient is multiplied.

        Zeros of the gradient become a condition. Those of the product do not count: a product may be 0 because it is
        too small for a float, and the next slope infinite, as in ``g / exp(x) * exp(x)``.
        """
        if self.in_value is False:
            return self
        condition = neq(gradient, number(0, gradient)) if self.in_value is True else self.in_value
        return Mask((*self.conditions, (condition, True)), lasts=self.lasts)

    def of_values(self, condition):
        """The mask with zeros that are in the gradient itself, where a condition does not hold."""
        return Mask(self.conditions, condition if self.in_value is False else True, self.lasts)

    def summed(self, gradient, axes):
        """A gradient, with zeros as far as a sum over axes needs them, and the mask of the sum, whose axes are kept:
        the conditions that are the same along the axes."""
        passing = tuple([(condition, holds) for condition, holds in self.conditions
                         if not condition.type.ndim or all([condition.type.broadcastable[axis] for axis in axes])])
        rest = Mask(tuple([entry for entry in self.conditions if entry not in passing]))
        return rest.applied(gradient), _mask_or_none(passing, False, self.lasts)

    def felt(self, gradient):
        """Whether elements of a gradient count, as booleans of its shape; None if only its values tell it."""
        if self.in_value is True:
            return None
        conditions = [*self.conditions, *([] if self.in_value is False else [(self.in_value, True)])]
        found = [(neq if holds else eq)(condition, number(0, condition)) for condition, holds in conditions]
        return second(gradient, reduce(and_, found)) if found else None

    def where(self, count):
        """The mask of values of which one counts where a number is not zero."""
        return Mask(self.conditions, count, self.lasts) if self.in_value is not False else self

    def moved(self, move):
        """The mask of the gradient whose elements ``move`` moves, a function of a variable of the gradient's rank."""
        def moved(condition):
            return move(condition) if condition.type.ndim else condition

        in_value = self.in_value if type(self.in_value) is bool else moved(self.in_value)
        return Mask(tuple([(moved(condition), holds) for condition, holds in self.conditions]), in_value, self.lasts)

    def left(self, masks):
        """The mask of what any op makes of gradients to which their ``masks`` (some None) have been applied: conditions
        that are numbers hold for all elements."""
        found = [mask for mask in masks if mask is not None]
        numbers = tuple([(condition.dimshuffle(), holds) for condition, holds in self.conditions
                         if all(condition.type.broadcastable)]) if len(masks) == 1 else ()
        return _mask_or_none(numbers, any([mask.lasts for mask in found]), any([mask.lasts for mask in found]))

    def of_lines(self, axis):
        """The conditions on whole rows (axis 0) or columns (1) of a product, as a mask of an operand that is a matrix;
        None if there are none. A product of one dimension has only such lines."""
        order = [0, "x"] if axis == 0 else ["x", 0]
        lines = tuple([(condition.dimshuffle(*order) if condition.type.ndim == 1 else condition, holds)
                       for condition, holds in self.conditions if condition.type.ndim == 1
                       or condition.type.ndim == 2 and condition.type.broadcastable == (axis == 1, axis == 0)])
        return Mask(lines) if lines and self.lasts else None

    def inside(self):
        """The mask of the gradients of a graph inside an op, whose values have got the zeros."""
        return _mask_or_none((), self.lasts, self.lasts)

    def of(self, term):
        """The mask if a term is a dense tensor; others do not have conditions."""
        return self if type(term.type) is TensorType else None

    def collected(self, terms, masks):
        """The terms of a sum, with zeros where needed, and the mask of the sum; None if a term counts everywhere."""
        kept = [(term, mask) for term, mask in zip(terms, masks) if mask is not None or not _is_zero(term)]
        terms, masks = [term for term, _ in kept], [mask for _, mask in kept]
        first, last = masks[0], masks[-1]
        if None not in masks and all([mask.conditions == first.conditions and mask.in_value is first.in_value
                                      for mask in masks]):
            return terms, first
        if len(terms) == 2 and None not in masks and first._is_opposite(last) and terms[0].type == terms[1].type:
            condition, holds = first.conditions[-1]
            chosen = switch(condition, *(terms if holds else reversed(terms)))
            in_value = first.in_value is not False and last.in_value is not False
            return [chosen], _mask_or_none(first.conditions[:-1], in_value, first.lasts)
        lasts = any([mask is not None and mask.lasts for mask in masks])
        applied = [term if mask is None else mask.applied(term) for term, mask in zip(terms, masks)]
        if None in masks or not lasts:
            return applied, None
        felt = [mask.felt(term) for term, mask in zip(terms, masks)]
        return applied, Mask((), True if None in felt else reduce(or_, felt))

    def _is_opposite(self, other):
        """Whether the masks differ only in their last condition, of which one holds where the other does not."""
        mine, others = self.conditions, other.conditions
        return (len(mine) == len(others) > 0 and mine[:-1] == others[:-1] and mine[-1][0] is others[-1][0]
                and mine[-1][1] != others[-1][1])


def _is_zero(term):
    """Whether a gradient is that of a comparison or another step function."""
    value = term.owner.inputs[1] if term.owner is not None and term.owner.op is second.elementwise else term
    return constant_number(value) == 0


def _mask_or_none(conditions, in_value, lasts):
    return Mask(conditions, in_value, lasts) if conditions or in_value is not False else None


NONE = Mask((), lasts=False)

"""Gradients that count only if a lazy branch is taken.

A node that only one arm of a lazy node reads is not computed where the other arm is taken. Neither is its gradient: its
values may be undefined there, and zero times what is undefined is not zero. So the gradient by the output of a lazy
node passes into each arm as it is, together with the arm. From there on a gradient belongs to its arm, and nothing
multiplies it by zeros. Where it meets a gradient that counts elsewhere too, one lazy choice, between it and zeros, or
between those of both arms, leads out of the arm.

::

    cost = ifelse(c, log(x).sum(), y.sum()) + x.sum()
    by x:  ifelse(c, 1 / x, zeros) + ones,        1 / x being in the arm

If gradients of several arms meet, and of no node that always runs, what comes before them runs if one of these arms is
taken. So they meet in an arm of its own, whose condition says that.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from phintys.graph.op import Op
    from phintys.graph.variable import Variable


class Arm:
    """Where gradients count: everywhere, in one branch of a lazy node, or in any of several arms.

    Attributes
    ----------
    around : Arm or None
        None: it is everywhere.
    op : Op
        Of the lazy node; makes choices and conditions.
    condition : Variable
    branch : int
        0: it counts if the condition is true; 1: if it is false.
    is_union : bool
        Whether the condition says that one of several arms is taken, all of which are inside ``around``.
    """

    __slots__ = ("around", "op", "condition", "branch", "is_union", "depth")

    def __init__(self, around: Any = None, op: Op | None = None, condition: Any = None, branch: int = 0,
                 is_union: bool = False) -> None:
        self.around, self.op, self.condition, self.branch, self.is_union = around, op, condition, branch, is_union
        self.depth = 0 if around is None else around.depth + 1

    def sibling(self) -> Any:
        """What the other branch of the same node is known by."""
        return self.around, self.condition, 1 - self.branch

    def choice(self, variable: Variable, here: Any, there: Any = None) -> Any:
        """The gradient by a variable outside of the arm, of which ``here`` counts in the arm and ``there`` in its
        sibling; None: zeros."""
        first, second = (there, here) if self.branch else (here, there)
        return self.op.chosen_gradient(self.condition, first, second, variable)


class Arms:
    """The arms that the gradients of one cost come from.

    Parameters
    ----------
    add : callable
        Returns the sum of a list of terms.

    Attributes
    ----------
    everywhere : Arm
    """

    def __init__(self, add: Callable[..., Any]) -> None:
        self.everywhere = Arm()
        self._add = add
        self._known = {}

    def branch(self, around: Any, op: Op, condition: Any, branch: Any) -> Any:
        """One branch of a lazy node, whose gradient counts in ``around``."""
        key = around, condition, branch
        if key not in self._known:
            self._known[key] = Arm(around, op, condition, branch)
        return self._known[key]

    def meeting(self, arms: Any) -> Any:
        """The innermost arm in which gradients of some arms count together."""
        arms = list(dict.fromkeys(arms))
        if len(arms) > 1:
            arms = self._outermost(arms)
        if len(arms) == 1:
            return arms[0]
        key = frozenset(arms)
        if key not in self._known:
            around = arms[0]
            for arm in arms[1:]:
                around = _common(around, arm)
            condition = arms[0].op.any_taken([_path(around, arm) for arm in arms])
            self._known[key] = Arm(around, arms[0].op, condition, 0, True)
        return self._known[key]

    def _outermost(self, arms):
        """Some arms, without those inside of others; of both branches of a node, what is around them."""
        arms = dict.fromkeys(arms)
        waiting = list(arms)
        while waiting:
            arm = waiting.pop()
            other = self._known.get(arm.sibling())
            if arm in arms and other in arms:
                del arms[arm], arms[other]
                arms[arm.around] = None
                waiting.append(arm.around)
        return [arm for arm in arms if not any([outer in arms for outer in _around(arm)])]

    def joined(self, variable: Variable, terms: Any, outside: Any) -> Any:
        """The sum of terms of the gradient by a variable, which count in several arms.

        Parameters
        ----------
        variable : Variable
        terms : dict
            Arm → list of terms.
        outside : Arm
            Around all of them, or the union of them; the sum counts there.

        Returns
        -------
        Variable
        """
        terms = {arm: list(found) for arm, found in terms.items()}
        while len(terms) > 1 or outside not in terms:
            arm = max([arm for arm in terms if arm is not outside], key=lambda arm: arm.depth)
            here = self._add(terms.pop(arm))
            other = self._known.get(arm.sibling())
            there = self._add(terms.pop(other)) if other in terms else None
            above = outside if outside.is_union and arm.around is outside.around else arm.around
            terms.setdefault(above, []).append(arm.choice(variable, here, there))
        return self._add(terms[outside])


def _around(arm):
    """All arms around an arm, the innermost first."""
    found = []
    while arm.around is not None:
        arm = arm.around
        found.append(arm)
    return found


def _common(first, second):
    """The innermost arm around two arms, or the one that is around the other."""
    while first is not second:
        if first.depth < second.depth:
            first, second = second, first
        first = first.around
    return first


def _path(outer, arm):
    """The conditions and branches on the way from an arm to one inside of it."""
    found = []
    while arm is not outer:
        found.append((arm.condition, arm.branch))
        arm = arm.around
    return found[::-1]

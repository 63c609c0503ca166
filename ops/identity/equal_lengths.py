"""EqualLengths: passes on a tensor if lengths are equal, and raises the error of an elementwise operation otherwise."""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.op import Op
from phintys.graph.valueless_types import disconnected_type
from phintys.graph.variable import Variable
from phintys.ops.elementwise.scalar import neq
from phintys.ops.identity.assertion_kernel import EqualLengthsKernel, mismatch_text
from phintys.ops.shape.shape import Shape_i
from phintys.ops.types.dtypes import discrete_dtypes

NUMBER, VALUE = -1, -1         # in `groups`: an operand that is no input but a number; an axis: the input is the length


class EqualLengths(Op):
    """Returns the first input, a view; raises a ValueError if lengths in a group differ.

    Parameters
    ----------
    groups : tuple of tuples of (int, int, str)
        Lengths that must be equal, each with its name: ``(input, axis)`` is a length of an input, ``(input, VALUE)``
        the number that an input holds, ``(NUMBER, n)`` the number n.
    guards : tuple of tuples of (int, bool), optional
        For each group, inputs and whether they are true if the lengths have to be equal. By default they always have.
    """

    __props__ = ("groups", "guards")
    shape_as = 0
    view_map = {0: [0]}
    depends_on = (0,)
    is_foldable = False                         # lengths that differ are an error of the call, not before

    def __init__(self, groups, guards=None):
        self.groups = tuple([tuple([tuple(entry) for entry in group]) for group in groups])
        guards = [()] * len(self.groups) if guards is None else guards
        self.guards = tuple([tuple([(int(number), bool(wanted)) for number, wanted in own]) for own in guards])

    @classmethod
    def of(cls, value, groups, guards=None):
        """Return a view of ``value``.

        Parameters
        ----------
        value : TensorVariable
        groups : list of lists
            Lengths that must be equal: numbers, 0-d variables, and pairs (tensor, axis).
        guards : list of lists of (Variable, bool), optional
            For each group, conditions, and what they are if the lengths have to be equal.
        """
        inputs = [value]

        def number_of(variable):
            if variable not in inputs:
                inputs.append(variable)
            return inputs.index(variable)

        def described(entry):
            if not isinstance(entry, (tuple, Variable)):
                return NUMBER, int(entry), ""
            variable, axis = entry if isinstance(entry, tuple) else (entry, VALUE)
            name = variable.name or "input"
            name = name if axis == VALUE else f"{name}.shape[{axis}]"
            # An object, such as a sparse matrix; and what is computed need not live until all lengths are compared.
            if axis != VALUE and (variable.type.layout is None or variable.owner is not None):
                variable, axis = Shape_i(axis)(variable), VALUE
            return number_of(variable), axis, name

        def as_integer(condition):
            return condition if condition.type.dtype in discrete_dtypes else neq(condition, 0)

        described_groups = [list(map(described, group)) for group in groups]
        numbered = [[(number_of(as_integer(condition)), wanted) for condition, wanted in own] for own in guards or ()]
        return cls(described_groups, numbered if guards else None)(*inputs)

    def make_node(self, value, *operands):
        return Apply(self, [value, *operands], [value.type.make_variable()])

    def make_kernel(self, node):
        if node.inputs[0].type.layout is None:          # an object, such as a random state, which no kernel passes on
            return None
        values = {number for group in self.groups for number, axis, _ in group if number != NUMBER and axis == VALUE}
        values.update([number for own in self.guards for number, _ in own])
        return EqualLengthsKernel(len(node.inputs), self.groups, self.guards, tuple(sorted(values)))

    def perform(self, node, inputs, output_storage):
        described = [(numpy.shape(value), None, value) for value in inputs[1:]]
        if error := self._difference([None, *described]):
            raise error
        output_storage[0][0] = inputs[0]

    def disagreement(self, node, operands, done):
        """Return the error of a node whose turn has not come, as far as it can be told.

        Parameters
        ----------
        node : Apply
        operands : list of (shape, strides, value or None) or None
            The node's inputs.
        done : set of Apply
            The nodes that have had their turn: inputs that others compute are not known.

        Returns
        -------
        ValueError or None
        """
        return self._difference([operand if variable.owner is None or variable.owner in done else None
                                 for variable, operand in zip(node.inputs, operands)])

    def _difference(self, known):
        """Return the error of the first group whose lengths differ, or None; operands that are None are not known."""
        for group, own in zip(self.groups, self.guards):
            lengths = {_known(known, number, axis): name for number, axis, name in group}
            lengths.pop(None, None)
            conditions = [(_known(known, number, VALUE), wanted) for number, wanted in own]
            if len(lengths) > 1 and not any([value is None or bool(value) != wanted for value, wanted in conditions]):
                return ValueError(mismatch_text(list(lengths)[:2], list(lengths.values())[:2]))
        return None

    def L_op(self, inputs, outputs, output_grads):
        return [output_grads[0]] + [disconnected_type() for _ in inputs[1:]]

    def R_op(self, inputs, eval_points):
        return [eval_points[0]]

    def __str__(self):
        return type(self).__name__


def _known(operands, number, axis):
    """Return a length or a value, or None if the operand is not known."""
    if number == NUMBER:
        return axis
    if operands[number] is None:
        return None
    shape, _, value = operands[number]
    if axis != VALUE:
        return shape[axis]
    return None if value is None else int(value)

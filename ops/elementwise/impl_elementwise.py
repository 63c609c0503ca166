"""ImplElemwise: the Elemwise of a ScalarOp without loops. Its ``impl`` is called in Python for each element.

``Elemwise(scalar_op)`` creates an ImplElemwise where one is needed. ``isinstance(op, Elemwise)`` is true for it;
rewrites that need the loops of an elementwise node, such as fusion, check for the exact class and skip it.
"""
import numpy

from phintys.graph.config import change_flags
from phintys.graph.errors import made_at
from phintys.graph.op import Op
from phintys.graph.toposort import io_toposort
from phintys.graph.valueless_types import DisconnectedType, NullType, disconnected_type, grad_not_implemented
from phintys.graph.variable import Variable
from phintys.ops.elementwise.elementwise import Elemwise, summed_with_mask
from phintys.ops.elementwise.scalar import add, mul, second, zero_by
from phintys.ops.elementwise.scalar_protocol import ScalarOp
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.dtypes import discrete_dtypes
from phintys.ops.types.number_views import NumberView
from phintys.ops.types.scalar_type import get_scalar_type
from phintys.ops.types.tensor_type import TensorType


class ImplElemwise(Elemwise):
    """Apply the ``impl`` of a scalar op to each element of tensors; the parameters are those of ``Elemwise``."""

    cannot_fail = False

    def make_kernel(self, node):
        """Always None: there is only ``perform``."""
        return None

    def lower(self, emitter, node):
        """A call of ``perform``."""
        emitter.call(node)

    def missing_method(self):
        """What the scalar op lacks."""
        return self.scalar_op.missing_method()

    def inplace_candidates(self, node):
        """No inputs: results are Python objects before they are numbers, so overwriting would save nothing."""
        return ()

    def perform(self, node, inputs, output_storage):
        """Call ``impl`` with the elements as Python numbers; results are cast to the dtypes of the outputs."""
        _check_lengths(node, inputs)
        results = numpy.frompyfunc(self.scalar_op.impl, len(inputs), self.nout)(*inputs)
        arrays = [numpy.asarray(result, dtype=variable.type.dtype)
                  for result, variable in zip(results if self.nout > 1 else [results], node.outputs)]
        for position, (storage, array) in enumerate(zip(output_storage, arrays)):
            if position in self.inplace_pattern:
                overwritten = inputs[self.inplace_pattern[position]]
                overwritten[...] = array
                array = overwritten
            storage[0] = array

    # ---- gradients ---------------------------------------------------------------------------------------
    def connection_pattern(self, node):
        """The connection pattern of the scalar op."""
        return self.scalar_op.connection_pattern(node)

    def L_op(self, inputs, outputs, output_gradients):
        """Gradients with respect to the inputs: the scalar op's gradient graph on numbers, applied to tensors and
        summed over broadcast dimensions."""
        pattern = self.connection_pattern(outputs[0].owner)
        if any([x.type.dtype in discrete_dtypes for x in outputs]):
            return [zero_by(x) if any(flags) else disconnected_type.make_variable()
                    for x, flags in zip(inputs, pattern)]
        return [term for term, _ in self._summed_terms(inputs, outputs, output_gradients, None)]

    def masked_L_op(self, inputs, outputs, output_grads, masks):
        """Gradients as if everything had been chosen, and their masks."""
        if len(outputs) > 1 or outputs[0].type.dtype in discrete_dtypes:
            return Op.masked_L_op(self, inputs, outputs, output_grads, masks)
        found = self._summed_terms(inputs, outputs, output_grads, masks[0].before_slopes(output_grads[0]))
        return [term for term, _ in found], [mask for _, mask in found]

    def _summed_terms(self, inputs, outputs, output_gradients, mask):
        results = []
        for position, (x, term) in enumerate(zip(inputs, self._terms(inputs, outputs, output_gradients))):
            if term is None:
                results.append((grad_not_implemented(self, position, x), None))
            elif isinstance(term.type, (DisconnectedType, NullType)):
                results.append((term, None))
            else:
                results.append(summed_with_mask(x, term, mask, outputs[0]))
        return results

    def R_op(self, inputs, eval_points):
        """Derivatives along ``eval_points``: each element depends only on its own operands, so the gradient's formula
        gives the slopes.

        The derivatives are of a NullType if the scalar op has no derivative for an input that has a direction.
        """
        outputs = self(*inputs, return_list=True)
        return [self._moved(inputs, eval_points, outputs, position) for position in range(len(outputs))]

    def _moved(self, inputs, eval_points, outputs, position):
        """The derivative of one output along the directions; None if it does not depend on any of them."""
        if outputs[position].type.dtype in discrete_dtypes:
            return None
        units = [second(output, constant(int(number == position), dtype=output.type.dtype))
                 for number, output in enumerate(outputs)]
        moved = []
        for number, (x, term, point) in enumerate(zip(inputs, self._terms(inputs, outputs, units), eval_points)):
            if point is None or term is not None and isinstance(term.type, DisconnectedType):
                continue
            if term is None:
                return grad_not_implemented(self, number, x)
            if isinstance(term.type, NullType):
                return term
            moved.append(mul(term, point))
        return add(*moved) if len(moved) > 1 else moved[0] if moved else None

    def _terms(self, inputs, outputs, output_gradients):
        """The scalar op's gradients in the shape of the outputs; None where it has none."""
        with change_flags(compute_test_value="off"):
            numbers = [get_scalar_type(x.type.dtype).make_variable() for x in inputs]
            results = self.scalar_op(*numbers, return_list=True)
            by_results = [get_scalar_type(g.type.dtype).make_variable() if isinstance(g.type, TensorType) else g
                          for g in output_gradients]
            terms = self.scalar_op.L_op(numbers, results, by_results)
        if not isinstance(terms, (list, tuple)) or len(terms) != len(inputs):
            raise TypeError(f"{self.scalar_op}.grad must return a list of {len(inputs)} gradients, one for each input, "
                            f"but returned {terms!r}.")
        terms = [term if term is None or isinstance(term, Variable) else as_tensor_variable(term) for term in terms]
        return _lifted(terms, dict(zip([*numbers, *results, *by_results], [*inputs, *outputs, *output_gradients])),
                       outputs[0])


ScalarOp.elementwise_class = ImplElemwise


def _check_lengths(node, inputs):
    """Raise ValueError where lengths differ and nothing was declared broadcastable."""
    for axis in range(node.outputs[0].type.ndim):
        wide = [position for position, x in enumerate(node.inputs) if not x.type.broadcastable[axis]]
        for position in wide[1:]:
            expected, length = inputs[wide[0]].shape[axis], inputs[position].shape[axis]
            if length != expected:
                raise ValueError(f"Input dimension mis-match. (input[{wide[0]}].shape[{axis}] = {expected}, "
                                 f"input[{position}].shape[{axis}] = {length})")


def _lifted(terms, lifted, like):
    """A graph on numbers as a graph on tensors of the shape of ``like``.

    Parameters
    ----------
    terms : list of Variable or None
        The outputs of the graph on numbers.
    lifted : dict
        The inputs of that graph → the tensors that replace them; the results of its nodes are added.
    like : Variable

    Raises
    ------
    NotImplementedError
        If an op of the graph is not elementwise.
    """
    for node in io_toposort(list(lifted), [term for term in terms if term is not None]):
        operands = [lifted.get(x, x) for x in node.inputs]
        lifted.update(zip(node.outputs, operands if isinstance(node.op, NumberView)
                          else _elementwise(node)(*operands, return_list=True)))
    return [None if term is None else _filled(lifted.get(term, term), like) for term in terms]


def _elementwise(node):
    """The elementwise op that applies to tensors the operation that a node applies to numbers."""
    if isinstance(node.op, ScalarOp):
        return node.op.elementwise
    if isinstance(node.op, Elemwise):
        return node.op
    raise NotImplementedError(f"The gradient of a ScalarOp consists of operations on single numbers, not of "
                              f"{node.op}{made_at(node)}.")


def _filled(term, like):
    """``term`` broadcast to the shape of ``like``."""
    if term.type.is_number:                         # a constant
        term = as_tensor_variable(term)
    if not isinstance(term.type, TensorType) or term.type.broadcastable == like.type.broadcastable:
        return term
    return second(like, term)

"""RowMap: an inner graph that is run once for each row of some tensors, and whose results are stacked or summed.

The first inputs are *rows*: tensors of a common length, whose rows are passed to the inner graph one by one. The others
are *wholes*, which are the same for each row. An output is stacked (with a new first dimension), or summed over the
rows. RowMap is closed under differentiation: the gradient with respect to a row input is stacked, that with respect to
a whole is summed, and directional derivatives are treated in the same way, so a Jacobian of a Jacobian needs no other
op. No state is passed from one row to the next; that would be a scan.

``map_rows`` creates RowMaps: it moves computations that do not depend on a row out of the inner graph, and creates no
RowMap at all if all ops have rules for batches of rows (``row_batching.py``).
"""
import numpy

from phintys.graph.apply import Apply
from phintys.graph.config import change_flags
from phintys.graph.gradients.forward_gradient import Rop
from phintys.graph.gradients.gradient import float_zeros_like, grad
from phintys.graph.toposort import io_toposort
from phintys.graph.traversal import clone_replace, io_connection_pattern
from phintys.graph.valueless_types import DisconnectedType, NullType
from phintys.graph.variable import Constant
from phintys.ops.elementwise.scalar import cast_op
from phintys.ops.graphs.inner_graph import InnerGraphOp, as_gradient, gradient_type
from phintys.ops.graphs.row_batching import batched, repeated
from phintys.ops.reduction.careduce import Sum
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.tensor_type import TensorType


class RowMap(InnerGraphOp):
    """Run a graph for each row.

    Parameters
    ----------
    inputs, outputs : list of Variable
        The inner graph. Outputs are tensors.
    n_rows : int
        The number of leading inputs that are rows; at least one.
    summed : sequence of bool
        For each output, whether it is summed over the rows instead of stacked.
    name : str, optional
    **options
        Options of the ``function`` that compiles the inner graph.

    Raises
    ------
    ValueError
        If the numbers of inputs or outputs are wrong; at run time, if the lengths of row inputs, or the shapes of the
        results for different rows, differ.
    """

    def __init__(self, inputs, outputs, n_rows, summed, name=None, **options):
        super().__init__(inputs, outputs, name, **options)
        if not 1 <= n_rows <= len(inputs):
            raise ValueError(f"RowMap needs at least one row input, and has {len(inputs)} inputs: n_rows={n_rows}")
        if len(summed) != len(outputs):
            raise ValueError(f"RowMap has {len(outputs)} outputs, but summed has {len(summed)} entries")
        self.n_rows, self.summed = n_rows, tuple(map(bool, summed))

    # ---- building and running --------------------------------------------------------------------------------
    def make_node(self, *inputs):
        if len(inputs) != len(self.inputs):
            raise ValueError(f"Expected {len(self.inputs)} inputs, got {len(inputs)}: {self}")
        wanted = [stacked_type(variable.type) if position < self.n_rows else variable.type
                  for position, variable in enumerate(self.inputs)]
        inputs = [kind.filter_variable(value) for kind, value in zip(wanted, inputs)]
        kinds = [variable.type if flag else stacked_type(variable.type)
                 for flag, variable in zip(self.summed, self.outputs)]
        return Apply(self, inputs + self.shared_inputs, [kind.make_variable() for kind in kinds])

    def perform(self, node, inputs, output_storage, params=None):
        rows, wholes = inputs[:self.n_rows], inputs[self.n_rows:]
        lengths = [len(value) for value in rows]
        if len(set(lengths)) > 1:
            raise ValueError(f"{self} got row inputs of different lengths: {lengths}")
        if not lengths[0]:
            self._perform_on_nothing(rows, wholes, output_storage)
            return
        results = self._first_results(rows, wholes)
        for number in range(1, lengths[0]):
            for flag, result, value in zip(self.summed, results, self.fn(*[row[number] for row in rows], *wholes)):
                if flag:
                    result += value
                elif result.shape[1:] != value.shape:
                    raise ValueError(f"{self} got results of different shapes: {result.shape[1:]} for row 0, "
                                     f"{value.shape} for row {number}")
                else:
                    result[number] = value
        for storage, result in zip(output_storage, results):
            storage[0] = result

    def _first_results(self, rows, wholes):
        """Allocate the arrays of the results, and store the results of row 0."""
        results = []
        for flag, value in zip(self.summed, self.fn(*[row[0] for row in rows], *wholes)):
            result = numpy.array(value) if flag else numpy.empty((len(rows[0]), *value.shape), value.dtype)
            if not flag:
                result[0] = value
            results.append(result)
        return results

    def _perform_on_nothing(self, rows, wholes, output_storage):
        """The results for zero rows; the shape of a row's result is determined by running on a row of zeros."""
        values = self.fn(*[numpy.zeros(row.shape[1:], row.dtype) for row in rows], *wholes)
        for storage, flag, value in zip(output_storage, self.summed, values):
            storage[0] = numpy.zeros(value.shape if flag else (0, *value.shape), value.dtype)

    def infer_shape(self, node, input_shapes):
        local = [shape[1:] if position < self.n_rows else shape for position, shape in enumerate(input_shapes)]
        shapes = self.shapes_outside(node.inputs, local, inside=self.local_inputs[:self.n_rows])
        results = []
        for flag, shape, output in zip(self.summed, shapes, node.outputs):
            first = 0 if flag else 1
            if shape is None:
                shape = [shape_i(output, axis) for axis in range(first, output.type.ndim)]
            results.append((*input_shapes[0][:first], *shape))
        return results

    # ---- derivatives -----------------------------------------------------------------------------------------
    def connection_pattern(self, node=None):
        return [list(row) for row in io_connection_pattern(self.local_inputs, self.local_outputs)]

    def L_op(self, inputs, outputs, output_grads):
        reached = [position for position, gradient in enumerate(output_grads)
                   if not isinstance(gradient.type, (DisconnectedType, NullType))]
        known = {self.local_outputs[position]: gradient_type(self.outputs[position].type).make_variable()
                 for position in reached}
        with change_flags(compute_test_value="off"):
            terms = grad(None, self.local_inputs, known_grads=known, disconnected_inputs="ignore", add_names=False,
                         return_disconnected="Disconnected", null_gradients="return")
        given = list(zip(known.values(), [self.summed[position] for position in reached],
                         [output_grads[position] for position in reached]))
        terms = self._mapped(terms, [position >= self.n_rows for position in range(len(inputs))], inputs, given)
        linked = [any([row[position] for position in reached]) for row in self.connection_pattern()]
        return [float_zeros_like(variable) if flag and isinstance(term.type, DisconnectedType) else term
                for variable, flag, term in zip(inputs, linked, terms)]

    def R_op(self, inputs, eval_points):
        reached = [position for position, point in enumerate(eval_points) if point is not None]
        points = [self.local_inputs[position].type.make_variable() for position in reached]
        with change_flags(compute_test_value="off"):
            terms = Rop(self.local_outputs, [self.local_inputs[position] for position in reached], points,
                        disconnected_outputs="ignore", return_disconnected="Disconnected")
        given = list(zip(points, [position >= self.n_rows for position in reached],
                         [eval_points[position] for position in reached]))
        terms = self._mapped(terms, self.summed, inputs, given)
        return [None if isinstance(term.type, DisconnectedType) else term for term in terms]

    def _mapped(self, terms, summed, inputs, given):
        """Apply terms of a derivative, which are in the inner graph, to all rows; terms without a value are returned
        unchanged.

        ``given`` has tuples (variable of the inner graph, whether it is a whole, the outer variable).
        """
        rows = list(zip(self.local_inputs[:self.n_rows], inputs))
        wholes = list(zip(self.local_inputs[self.n_rows:], inputs[self.n_rows:]))
        for local, is_whole, outer in given:
            (wholes if is_whole else rows).append((local, as_gradient(outer, local.type)))
        valued = [position for position, term in enumerate(terms)
                  if not isinstance(term.type, (DisconnectedType, NullType))]
        outside = clone_replace([terms[position] for position in valued], wholes)
        terms = list(terms)
        mapped = map_rows(outside, rows, [summed[position] for position in valued], **self.kwargs)
        for position, term in zip(valued, mapped):
            terms[position] = term
        return terms

    def __str__(self):
        return f"{super().__str__()}{{{len(self.inputs)} inputs, {self.n_rows} of them rows}}"


def map_rows(outputs, rows, summed=None, name=None, **options):
    """Apply a graph to each row and stack or sum the results.

    Parameters
    ----------
    outputs : list of TensorVariable
        The results for one row.
    rows : list of (Variable, Variable)
        The variable that represents a row in the graph, and the tensor whose first dimension is the rows. All tensors
        have the same number of rows.
    summed : sequence of bool, optional
        For each output, whether the results are summed; by default all are stacked.
    name : str, optional
    **options
        Options of the ``function`` that compiles the graph, if it has to be run row by row.

    Returns
    -------
    list of TensorVariable
    """
    summed = [False] * len(outputs) if summed is None else summed
    count = shape_i(rows[0][1], 0)
    nodes, depending = _depending_on_rows(outputs, [row for row, _ in rows])
    chosen = [position for position, output in enumerate(outputs) if output in depending]
    results = [_of_all_rows(output, flag, count) if output not in depending else None
               for output, flag in zip(outputs, summed)]
    wanted = [outputs[position] for position in chosen]
    stacked = batched(wanted, dict(rows)) if wanted else []
    if stacked is None:
        needed = [variable for node in nodes for variable in node.inputs
                  if variable not in depending and not isinstance(variable, Constant)]
        wholes = list(dict.fromkeys(needed))
        op = RowMap([row for row, _ in rows] + wholes, wanted, len(rows), [summed[position] for position in chosen],
                    name=name, **options)
        stacked = op(*[tensor for _, tensor in rows], *wholes, return_list=True)
    else:
        stacked = [Sum(0, dtype=value.type.dtype)(value) if summed[position] else value
                   for position, value in zip(chosen, stacked)]
    for position, value in zip(chosen, stacked):
        results[position] = value
    return results


def _depending_on_rows(outputs, rows):
    """The nodes, in topological order, and the variables that depend on a row."""
    nodes, depending = [], set(rows)
    for node in io_toposort(rows, outputs):
        if not depending.isdisjoint(node.inputs):
            nodes.append(node)
            depending.update(node.outputs)
    return nodes, depending


def _of_all_rows(value, is_summed, count):
    """A value that is the same for each row, stacked or summed."""
    return value * cast_op(value.type.dtype)(count) if is_summed else repeated(value, count)


def stacked_type(kind):
    """The type of a tensor whose rows have the given type."""
    return TensorType(kind.dtype, (False, *kind.broadcastable), shape=(None, *kind.shape))

"""``vectorize``: a function of single rows becomes one of all rows, like JAX's ``vmap``; ``vectorize_graph``, like
PyTensor's.

Each op is applied to all rows at once, by the rules of ``row_batching.py`` and ``rare_row_rules.py``. A loop stays one
loop whose values have rows. An op without a rule runs in a loop of its own, which a warning names once.
"""
import warnings

from phintys.graph.variable import Variable
from phintys.ops.graphs.rare_row_rules import rare_batch_of_node
from phintys.ops.graphs.row_batching import batched, padded, repeated
from phintys.ops.loops.building import Body, State, dependents, make_loop, replaced
from phintys.ops.loops.loop import Scan
from phintys.ops.loops.with_initial import WithInitial
from phintys.ops.rearranging.rearranging import moveaxis
from phintys.ops.shape.dimshuffle import dimshuffle
from phintys.ops.shape.shape import shape_i
from phintys.ops.types.axes import one_axis
from phintys.ops.types.constant import as_tensor_variable
from phintys.ops.types.tensor_type import TensorType

NAMED_ONCE = set()              # the classes of ops of which a warning has said that they run in a loop


# ---- nodes -----------------------------------------------------------------------------------------------------------
def _node_of_rows(node, inputs, flags, count):
    """The outputs of a node for all rows that ``row_batching`` has no rule for."""
    if isinstance(node.op, Scan):
        return _loop_of_rows(node, inputs, flags, count)
    if isinstance(node.op, WithInitial):
        rows, initial = [_exchanged(value if flag else repeated(value, count)) for value, flag in zip(inputs, flags)]
        return [_exchanged(node.op(rows, initial))]
    found = rare_batch_of_node(node, inputs, flags, count)
    return _in_a_loop(node, inputs, flags, count) if found is None else found


def _in_a_loop(node, inputs, flags, count):
    """A loop that applies one node row by row."""
    kind = type(node.op)
    if kind not in NAMED_ONCE:
        NAMED_ONCE.add(kind)
        warnings.warn(f"vectorize: {kind.__name__} has no rule for all rows at once and runs in a loop, row by row",
                      stacklevel=2)
    rows = [(old.type.make_variable(), new) for old, new, flag in zip(node.inputs, inputs, flags) if flag]
    single = iter([row for row, _ in rows])
    outputs = node.op.make_node(*[next(single) if flag else new for new, flag in zip(inputs, flags)]).outputs
    outside = [new for new, flag in zip(inputs, flags) if not flag]
    return make_loop(count, Body(rows, stacked=outputs, outside=outside)).stacked


# ---- loops -----------------------------------------------------------------------------------------------------------
def _exchanged(x):
    """``x`` with its first two dimensions interchanged: steps and rows."""
    return dimshuffle(x, 1, 0, *range(2, x.type.ndim))


def _with_rows(variable):
    """An inner variable that has a dimension of rows."""
    type_ = variable.type
    return TensorType(type_.dtype, (False, *type_.broadcastable), shape=(None, *type_.shape))()


def _loop_of_rows(node, inputs, flags, count):
    """One loop whose values have rows. Rows that end after different numbers of steps have no common shape."""
    op, parts = node.op, node.op.parts
    outer, given = parts.outer_inputs(inputs), parts.outer_inputs(flags)
    local, outputs = op.inner_inputs, op.inner_outputs
    if given.steps or True in given.stacked:
        raise ValueError(f"vectorize: the number of steps of {node} differs by row, so that its rows have no common "
                         "length; let all rows do the same number of steps, and choose by switch")
    rows = {inner: _with_rows(inner) for inner, flag in zip(local.sequences, given.sequences) if flag}
    rows.update({inner: value for inner, value, flag in zip(local.wholes, outer.wholes, given.wholes) if flag})
    moving, carried, summed = [list(group) for group in (given.states, given.carried, given.summed)]
    while True:                                         # what a step computes from rows has rows in the next step
        for taps, flag in zip(local.states, moving):
            rows.update({tap: _with_rows(tap) for tap in taps if flag and tap not in rows})
        rows.update({inner: _with_rows(inner) for inner, flag in zip(local.carried, carried)
                     if flag and inner not in rows})
        depending = dependents(list(rows), _all_outputs(outputs))
        before = [*moving, *carried]
        moving = [flag or row in depending for flag, row in zip(moving, outputs.states)]
        carried = [flag or row in depending for flag, row in zip(carried, outputs.carried)]
        if before == [*moving, *carried]:
            break
    if outputs.condition in depending:
        raise ValueError(f"vectorize: what ends {node} differs by row, so that its rows have no common length; let all "
                         "rows do the same number of steps, and choose by switch")
    summed = [flag or term in depending for flag, term in zip(summed, outputs.summed)]
    found = dict(zip(_depending_of(outputs, depending), batched(_depending_of(outputs, depending), rows,
                                                                _node_of_rows)))

    def row(variable, wanted):
        value = found.get(variable, variable)
        return repeated(value, count) if wanted and variable not in found else value

    def start(value, flag, wanted, exchanged=True):
        """A first value with rows, after the dimension of steps if it has one."""
        value = value if flag or not wanted else repeated(value, count)
        return _exchanged(value) if wanted and exchanged else value

    states = [State(taps, [rows.get(tap, tap) for tap in own], start(initial, flag, wanted), row(after, wanted))
              for taps, own, initial, flag, wanted, after
              in zip(parts.taps, local.states, outer.states, given.states, moving, outputs.states)]
    sums = [(row(term, wanted), _padded_sum(start(initial, flag, wanted, False), term, wanted))
            for term, initial, flag, wanted in zip(outputs.summed, outer.summed, given.summed, summed)]
    kept = [(rows.get(inner, inner), row(after, wanted), start(initial, flag, wanted, False))
            for inner, after, initial, flag, wanted
            in zip(local.carried, outputs.carried, outer.carried, given.carried, carried)]
    body = Body([(rows.get(inner, inner), _exchanged(value) if flag else value)
                 for inner, value, flag in zip(local.sequences, outer.sequences, given.sequences)],
                states, [row(output, False) for output in outputs.stacked], sums, kept, outputs.condition,
                outside=outer.wholes)
    body.replace([(inner, value) for inner, value, flag in zip(local.wholes, outer.wholes, given.wholes) if not flag])
    results = make_loop(outer.steps, body, op.name, op.options, lifts=False)
    return _results_of_rows(node, results, outputs, depending, (moving, summed, carried), count)


def _all_outputs(outputs):
    condition = [] if outputs.condition is None else [outputs.condition]
    return [*outputs.states, *outputs.stacked, *outputs.summed, *outputs.carried, *condition]


def _depending_of(outputs, depending):
    """The inner outputs that have rows."""
    return [output for output in _all_outputs(outputs) if output in depending]


def _padded_sum(initial, term, wanted):
    """What a sum starts from, of the rank of its terms with rows."""
    return padded(initial, term.type.ndim) if wanted else initial


def _results_of_rows(node, results, outputs, depending, flags, count):
    """The outputs of the old loop with the rows first, and all rows as often as each output asks for."""
    moving, summed, carried = flags
    found = [_exchanged(value) if flag else repeated(value, count) for value, flag in zip(results.states, moving)]
    found += [_exchanged(value) if output in depending else repeated(value, count)
              for value, output in zip(results.stacked, outputs.stacked)]
    found += [value if flag else repeated(value, count) for values, wanted in (
        (results.summed, summed), (results.carried, carried)) for value, flag in zip(values, wanted)]
    return found + ([repeated(results.steps, count)] if results.steps is not None else [])


# ---- graphs and functions --------------------------------------------------------------------------------------------
def vectorize_graph(outputs, replace):
    """A graph for all rows: variables are replaced by others with one dimension more, the first one.

    Parameters
    ----------
    outputs : Variable, or list or tuple of Variable
    replace : dict
        Variable that the outputs read → what has all rows of it, or replaces it as it is. All have equally many rows.

    Returns
    -------
    Variable, or list of Variable
        An output that does not depend on one of the rows is repeated.

    Raises
    ------
    TypeError
        If a replacement has neither the rank of its variable nor one dimension more.
    ValueError
        If nothing has rows.

    Examples
    --------
    >>> x, rows = T.dvector("x"), T.dmatrix("rows")
    >>> phintys.vectorize_graph((x ** 2).sum(), {x: rows}).eval({rows: [[1.0, 2.0], [3.0, 4.0]]})
    array([ 5., 25.])
    """
    single = isinstance(outputs, Variable)
    outputs = [outputs] if single else list(outputs)
    replace = {old: as_tensor_variable(new) for old, new in replace.items()}
    for old, new in replace.items():
        if new.type.ndim - old.type.ndim not in (0, 1):
            raise TypeError(f"vectorize_graph: {old} has {old.type.ndim} dimensions, so that its rows have one more, "
                            f"but {new} has {new.type.ndim}")
    rows = {old: new for old, new in replace.items() if new.type.ndim > old.type.ndim}
    same = [(old, new) for old, new in replace.items() if old not in rows]
    if not rows:
        raise ValueError("vectorize_graph: no replacement has a dimension of rows")
    outputs = replaced(outputs, same) if same else outputs
    found = _all_rows(outputs, rows)
    return found[0] if single else found


def _all_rows(outputs, rows):
    depending = dependents(list(rows), outputs)
    chosen = [output for output in outputs if output in depending]
    stacked = iter(batched(chosen, rows, _node_of_rows) if chosen else [])
    count = shape_i(next(iter(rows.values())), 0)
    return [next(stacked) if output in depending else repeated(output, count) for output in outputs]


def check_function(name, function):
    """What is no function is told at once, by the name of what takes it."""
    if not callable(function):
        raise TypeError(f"{name} takes a function of variables, got {function!r}")


def vectorize(function, in_axes=0, out_axes=0):
    """A function of single rows as one of all rows, like JAX's ``vmap``.

    Parameters
    ----------
    function : callable
        Takes tensor variables, and returns a variable, or a list, tuple or dict of variables.
    in_axes : int or None, or tuple of them for each argument
        The dimension of each argument that counts the rows; None for what is the same for all rows.
    out_axes : int, or tuple of them for each result
        Where the dimension of the rows is in results.

    Returns
    -------
    callable
        Takes the arguments with their rows, and returns what ``function`` returns, for all rows. It may be vectorized
        again. Gradients go through it.

    Raises
    ------
    TypeError, ValueError
        When it is called: for another number of arguments or results than axes, for an axis that does not exist, if no
        argument has rows, or if a loop ends after other numbers of steps for other rows.

    Examples
    --------
    >>> pairwise = phintys.vectorize(phintys.vectorize(lambda x, y: ((x - y) ** 2).sum(), (0, None)), (None, 0))
    >>> pairwise(T.as_tensor([[0.0, 0.0], [1.0, 1.0]]), T.as_tensor([[3.0, 4.0]])).eval()
    array([[25., 13.]])
    """
    check_function("vectorize", function)

    def of_rows(*arguments):
        arguments = [as_tensor_variable(argument) for argument in arguments]
        axes = list(in_axes) if isinstance(in_axes, (tuple, list)) else [in_axes] * len(arguments)
        if len(axes) != len(arguments):
            raise TypeError(f"vectorize: in_axes has {len(axes)} entries, but {len(arguments)} arguments were given")
        if all([axis is None for axis in axes]):
            raise ValueError("vectorize: at least one argument must have an axis of rows")
        rows, single = {}, []
        for argument, axis in zip(arguments, axes):
            if axis is not None:
                argument = _rows_first(argument, axis)
                row = TensorType(argument.type.dtype, argument.type.broadcastable[1:], shape=argument.type.shape[1:])()
                rows[row] = argument
                argument = row
            single.append(argument)
        results, rebuild = _flat(function(*single))
        found = _all_rows(results, rows)
        places = list(out_axes) if isinstance(out_axes, (tuple, list)) else [out_axes] * len(found)
        if len(places) != len(found):
            raise TypeError(f"vectorize: out_axes has {len(places)} entries, but there are {len(found)} results")
        return rebuild([moveaxis(result, 0, place) if place else result for result, place in zip(found, places)])
    return of_rows


def _rows_first(argument, axis):
    axis = one_axis("vectorize", argument, axis)
    return moveaxis(argument, axis, 0) if axis else argument


def _flat(results):
    """A function's results as a list of variables, and what makes the same structure of others."""
    if isinstance(results, dict):
        names = list(results)
        return [as_tensor_variable(results[name]) for name in names], lambda values: dict(zip(names, values))
    if isinstance(results, (list, tuple)):
        kind = type(results)
        return [as_tensor_variable(value) for value in results], lambda values: kind(values)
    return [as_tensor_variable(results)], lambda values: values[0]

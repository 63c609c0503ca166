"""From PyTensor's variables to those of phintys: one row for each op, one pass over the graph.

A row is a function ``(op, node, *inputs)`` of PyTensor's op and node and of the translated inputs; it returns a
variable or a list of them, or None if it has no translation of this node. The result is then converted to the dtype and
the dimensions of length 1 of PyTensor's node. An op without a row is run by its own ``perform``.
"""
from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Constant
from pytensor.graph.traversal import io_toposort
from pytensor.scalar.basic import ScalarType

from phintys import shared
from phintys import tensor as T
from phintys.graph.config import change_flags, config
from phintys.interop.pytensor.fallback import performed
from phintys.interop.pytensor.known_values import computed_in_single_precision, with_known_value
from phintys.interop.pytensor.op_table import line_of
from phintys.interop.pytensor.types import is_dense, is_sparse, translated_constant, translated_type
from phintys.ops.random.generator_objects import state_of
from phintys.vm import call_stack
from phintys.vm.call_stack import made_at

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from phintys.graph.apply import Apply
    from phintys.graph.op import Op
    from phintys.graph.variable import Variable
    from phintys.ops.operators import TensorVariable

OWN_FOLDER = str(Path(__file__).parents[2])
MOST_PLACES = 256                       # that are kept: nodes that one line makes have the same
MOST_CLASSES = 1024                     # whose lines are kept
ROWS = {}                               # name in the table of ops → row
late_rows = {}                          # area of the table → imports the rows of its ops; the package fills it


class TranslationError(NotImplementedError):
    """An op of PyTensor that phintys cannot run; the message names the op and its node."""


def row(*names: Any) -> Callable[..., Any]:
    """A decorator: the function is the row of the ops of these names, ``"area.Class"``, in the table of ops."""
    def add(function):
        ROWS.update(dict.fromkeys(names, function))
        return function
    return add


def row_of(op: Op, count: int) -> Callable[..., Any] | None:
    """The row of an op that has so many inputs, or None."""
    line = _fitting_line(type(op), count)
    if line is None:
        return None
    if line.name not in ROWS and line.area in late_rows:
        late_rows[line.area]()
    return ROWS.get(line.name)


@lru_cache(MOST_CLASSES)
def _fitting_line(op_class, count):
    kind, line = line_of(op_class)
    return None if line is None or not any([form.fits(kind, count) for form in line.forms]) else line


def translate(variables: Sequence[Any]) -> list[TensorVariable]:
    """Variables of phintys that compute the same.

    Parameters
    ----------
    variables : pytensor.graph.Variable or list of them
        Inputs, shared variables and results, in any order. All are translated together: ``x, y = translate([x, y])``
        gives a ``y`` that reads the new ``x``.

    Returns
    -------
    phintys variable or list of them
        In the same order. A shared variable becomes a shared variable of phintys that starts with the same value; later
        changes of PyTensor's variable do not affect it.

    Raises
    ------
    TranslationError
        If there is an op that phintys cannot run.

    Examples
    --------
    >>> import pytensor.tensor as pt
    >>> x = pt.dvector("x")
    >>> new_x, cost = phintys.interop.pytensor.translate([x, (x ** 2).sum()])
    >>> f = phintys.function([new_x], phintys.grad(cost, new_x))
    >>> f([1, 2])
    array([2., 4.])
    """
    if not isinstance(variables, (list, tuple)):
        return translate([variables])[0]
    return translated(variables, {})


def translated(outputs: Sequence[Any], known: Mapping[Any, Variable],
               rows_instead: Mapping[type, Callable[..., Any]] | None = None) -> list[TensorVariable]:
    """The translations of ``outputs``; equal nodes are translated once.

    Parameters
    ----------
    outputs : list of pytensor.graph.Variable
    known : dict
        PyTensor's variable → its translation; new translations are added.
    rows_instead : dict, optional
        Rows for classes of ops that come before those of the table.
    """
    rows_instead, equal = rows_instead or {}, {}
    for node in io_toposort([variable for variable in known if not isinstance(variable, Constant)], outputs):
        if all(output in known for output in node.outputs):
            continue
        inputs = [_root(variable, known, equal) for variable in node.inputs]
        signature = node.op, _inner_of(node.op), *map(id, inputs), *[output.type for output in node.outputs]
        try:
            found = equal.get(signature)
        except TypeError:                       # an op or a type that has no hash
            signature, found = node, None
        if found is None:
            with made_at(place_of(node)):
                found = computed_in_single_precision(node, inputs)
                found = found or applied(node.op, node, inputs, rows_instead.get(type(node.op)))
            found = equal[signature] = [with_known_value(each, inputs) for each in found]
        for output, each in zip(node.outputs, found):
            known.setdefault(output, each)
    return [_root(variable, known, equal) for variable in outputs]


def _inner_of(op):
    """The inner graph of an op that does not tell inner graphs apart: PyTensor's RootOp, before 3.1."""
    return id(op.fgraph) if type(op).__name__ == "RootOp" and type(op).__dict__.get("__props__") else None


def _root(variable, known, equal):
    """The translation of an input of a node: made here if no node computes it."""
    found = known.get(variable)
    if found is None:
        found = known[variable] = _leaf(variable, equal)
    return found


def _leaf(variable, equal):
    if isinstance(variable, Constant):
        kind, signature = variable.type, variable
        if is_dense(kind) and variable.data.size == 1:      # merging finds equal large ones later
            signature = type(kind), kind.dtype, variable.data.shape, variable.data.tobytes()
        if signature not in equal:
            equal[signature] = translated_constant(variable)
        return equal[signature]
    if isinstance(variable, SharedVariable):
        translated_type(variable.type)          # which imports phintys.sparse for a sparse one
        value = variable.get_value()
        state = state_of(value)
        return shared(value if state is None else state, name=variable.name)
    return named_input(variable)


def rules_of_densities() -> Any:
    """A block in which log-densities are compiled: powers leave sums, unless the rules of the user are strict."""
    return change_flags(math_rules="strict" if config.math_rules == "strict" else "fast")


def named_input(variable: Variable) -> TensorVariable:
    """A new variable of the same type and name."""
    found = translated_type(variable.type)()
    found.name = variable.name
    return found


def applied(op: Op, node: Apply, inputs: Sequence[Variable],
            instead: Callable[..., Any] | None = None) -> list[TensorVariable]:
    """The outputs of one node, translated; ``op`` is the node's, or the one that it applies to each item of a batch.

    A row ``instead`` of the op's is tried first. An op of phintys has its row as the method ``translation``.
    """
    instead = instead or getattr(op, "translation", None)
    function = row_of(op, len(inputs))
    outputs = None
    try:
        if instead is not None:
            outputs = instead(op, node, *inputs)
        if outputs is None and function is not None:
            outputs = function(op, node, *inputs)
    except TranslationError:
        raise
    except Exception as error:
        raise TranslationError(f"phintys has no translation of {node} (op {op} of {type(op)}) with inputs of types "
                               f"{[str(getattr(each, 'type', each)) for each in inputs]}: {error}") from error
    if outputs is None:
        outputs = performed(op, node, inputs)
    if not isinstance(outputs, (list, tuple)):
        outputs = [outputs]
    return [conformed(found, output) for found, output in zip(outputs, node.outputs)]


def place_of(node: Apply) -> tuple[tuple[Any, ...], ...] | None:
    """Where the user made a node, as a trace of phintys; None: PyTensor does not say a line of the user's."""
    for trace in getattr(node.outputs[0].tag, "trace", ()):
        found = _lines_of_user(tuple(trace))
        if found is not None:
            return found
    return None


@lru_cache(MOST_PLACES)
def _lines_of_user(trace):
    """A trace of PyTensor without the files of phintys, which are not the user's; None if all are of libraries."""
    found = tuple([(file, line, function) for file, line, function, _ in reversed(trace) if not is_own(file)])
    return None if all([is_library(file) for file, _, _ in found]) else found


is_library = cache(call_stack.is_library)


@cache
def is_own(file: str) -> bool:
    """Whether a file is one of phintys, wherever it lies."""
    return file.startswith(OWN_FOLDER)


def conformed(found: Variable, output: Any) -> TensorVariable:
    """A translation with the dtype of PyTensor's output; dimensions that PyTensor knows to have length 1 are
    broadcastable."""
    if isinstance(output.type, ScalarType):             # inside a composite op it is a tensor here
        return found if found.type.dtype == output.type.dtype else T.cast(found, output.type.dtype)
    if not is_dense(output.type):
        recast = is_sparse(output.type) and found.type.dtype != output.type.dtype
        return found.astype(output.type.dtype) if recast else found
    if found.type.ndim != output.type.ndim:
        raise TranslationError(f"{output.owner} has {output.type.ndim} dimensions, its translation {found} has "
                               f"{found.type.ndim}")
    if found.type.dtype != output.type.dtype:
        found = T.cast(found, output.type.dtype)
    axes = [axis for axis, length in enumerate(output.type.shape) if length == 1 and not found.type.broadcastable[axis]]
    return T.addbroadcast(found, *axes) if axes else found

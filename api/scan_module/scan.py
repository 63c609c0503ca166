"""``scan``: loops over graphs.

The function that describes a step is called once, with variables that represent rows of sequences and states. The
expressions that it returns are the body of a ``Scan``. Variables from outside that they read, shared variables
included, are found in the graph.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy

from phintys.graph.config import config
from phintys.graph.errors import MissingInputError, made_at
from phintys.graph.loop_errors import NO_BOUND
from phintys.graph.nodes import next_number
from phintys.graph.traversal import ancestors, graph_inputs
from phintys.graph.variable import Constant, Variable
from phintys.modes import get_mode
from phintys.ops.elementwise import scalar as elementwise
from phintys.ops.loops.building import Body, State, make_loop
from phintys.ops.loops.first_rows import StepCount, first_rows
from phintys.ops.loops.loop import LoopOptions
from phintys.ops.shape.shape import patternbroadcast, shape_i, shape_padleft, unbroadcast
from phintys.ops.types.constant import as_tensor_variable, constant
from phintys.ops.types.tensor_type import TensorType
from phintys.scan_module.body_call import called, described
from phintys.scan_module.loop_arguments import (
    as_list,
    integer,
    known_number,
    read_outputs,
    read_sequences,
    read_steps,
    tell,
)
from phintys.shared import SharedVariable
from phintys.updates import OrderedUpdates, with_whole_targets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.modes import Mode


def scan(fn: Callable[..., Any], sequences: Any = None, outputs_info: Any = None, non_sequences: Any = None,
         n_steps: Any = None, truncate_gradient: int = -1, go_backwards: bool = False, mode: str | Mode | None = None,
         name: str | None = None, profile: bool | str = False, allow_gc: bool | None = None, strict: bool = False,
         return_list: bool = False, return_updates: bool = True) -> Any:
    """A loop: apply a function to the rows of sequences and to its own results of earlier steps.

    Parameters
    ----------
    fn : callable
        Describes one step. Its arguments are variables, in this order: of each sequence the rows at its taps, of each
        output the rows at its taps, then the ``non_sequences``. It returns the outputs (a variable or a list), or the
        updates of shared variables (a dictionary or a list of pairs), or a tuple of outputs, updates and a condition
        wrapped in ``until``, each of which may be missing. Outputs and updates may come in either order; the condition
        comes last.
    sequences : variable, dict, or list of them, optional
        Tensors to walk along, by the first dimension. A dictionary has ``input`` and ``taps``: tap k passes the row t+k
        in step t; by default ``[0]``. Sequences of different lengths are cut to the shortest, unless ``n_steps`` is
        given.
    outputs_info : variable, dict, None, or list of them, optional
        For each output its state before the first step. A variable has the type of the output; the function then gets
        the output of the previous step. A dictionary has ``initial`` and ``taps``, negative numbers: tap -k passes the
        output of k steps ago, and ``initial`` has one more dimension, with as many rows as the earliest tap needs.
        None, or an empty dictionary: the output is not passed to later steps. None instead of a list: no output is.
    non_sequences : variable or list, optional
        Passed unchanged. Variables that the function reads without receiving them as arguments are found, too.
    n_steps : int or integer scalar, optional
        By default as many as the shortest sequence has rows. It may be 0. A loop with a condition needs no number: then
        only the condition ends it.
    truncate_gradient : int
        Gradients flow back only through this number of last steps; -1: through all steps.
    go_backwards : bool
        Walk along the sequences from their ends.
    mode : str or Mode, optional
        The mode in which the body is compiled.
    name : str, optional
        For messages, listings, progress bars and profiles.
    profile : bool, str or ScanProfileStats
        Whether to measure the steps; a string is the title of the profile. It is printed when the program ends. The
        profile of a function, ``function(profile=True)``, measures and shows the steps of all its loops.
    allow_gc : bool, optional
        Whether memory of a step's intermediate results is freed in each step; ``config.scan.allow_gc`` by default.
    strict : bool
        Shared variables that the body reads must be among the ``non_sequences``.
    return_list : bool
        Return a list even if there is one output.
    return_updates : bool
        False: return the outputs alone.

    Returns
    -------
    outputs : TensorVariable, list of TensorVariable, or None
        For each output of the function the rows of all steps, with one more dimension than the output. A while loop
        returns as many rows as it did steps.
    updates : OrderedUpdates
        New values of the shared variables that the body updates; pass them to ``function``.

    Raises
    ------
    ValueError
        If an argument is malformed; if there are updates that ``return_updates`` would lose; if the number of outputs
        differs from that of ``outputs_info``; if the dtype or rank of a state changes; if nothing says how many steps
        there are. When it runs: if a sequence has fewer rows than ``n_steps`` or its taps need, or rows of an output
        differ in shape.
    TypeError
        If the broadcastable pattern of a state changes, the function takes another number of arguments, or taps or
        ``truncate_gradient`` are not integers.
    MissingInputError
        If a shared variable is missing and ``strict``, or an update reads a variable that was not passed.
    IndexError
        When it runs: if the number of steps is negative.

    Examples
    --------
    >>> k, a = T.iscalar("k"), T.vector("a")
    >>> powers, updates = phintys.scan(lambda power, a: power * a, outputs_info=T.ones_like(a), non_sequences=a,
    ...                                n_steps=k)
    >>> f = phintys.function([a, k], powers[-1], updates=updates)
    """
    allow_gc = config.scan.allow_gc if allow_gc is None else bool(allow_gc)
    reached = integer(truncate_gradient, "truncate_gradient is an integer")
    _check_options(fn, reached, go_backwards, mode, profile)
    options = LoopOptions(reached, mode, profile, allow_gc, bool(strict))
    return made_loop(fn, sequences, outputs_info, non_sequences, n_steps, options, go_backwards, name, return_list,
                     return_updates)


def made_loop(fn: Any, sequences: Variable | Sequence[Variable] | None,
              outputs_info: Variable | Sequence[Variable | None] | None,
              non_sequences: Variable | Sequence[Variable] | None, n_steps: Variable | int | None,
              options: LoopOptions, go_backwards: bool = False, name: str | None = None, return_list: bool = False,
              return_updates: bool = True) -> tuple[Any, ...]:
    """What ``scan`` returns, with the options of a loop as one value."""
    scanned, outputs = read_sequences(sequences, go_backwards), read_outputs(outputs_info)
    others = [value if isinstance(value, Variable) else as_tensor_variable(value) for value in as_list(non_sequences)]
    steps = read_steps(n_steps)
    rows = [row for sequence in scanned for row in sequence.rows]
    if steps is not None and known_number(steps) == 1:
        return _with_updates(*_single_step(fn, scanned, outputs, others, return_list), return_updates)
    slices = [variable for sequence in scanned for variable in sequence.inner]
    taps = [variable for output in outputs for variable in output.inner]
    first = next_number()
    found, updates, condition = called(fn, slices, taps, others)
    if not outputs and not outputs_info:
        outputs = read_outputs([None] * len(found))
    check_count(fn, found, len(outputs))
    found = [_fitting_row(output, row, position, name) for position, (output, row) in enumerate(zip(outputs, found))]
    steps, rows = _steps_and_rows(_checked_steps(steps, name or "scan_fn"), rows, condition)
    states = _SharedStates(found, updates, condition, others)
    states.check_missing([*slices, *taps, *others])
    if options.strict:
        states.check_strict(fn, others)
    body = Body(list(zip(slices, rows)),
                [State(output.taps, output.inner, output.initial, row)
                 for output, row in zip(outputs, found) if output.taps] + states.tensors,
                [row for output, row in zip(outputs, found) if not output.taps], [], states.objects, condition,
                [value for value in others if value not in states.replace])
    body.outside = _made_before(first, body)
    body.replace({**{value: value for value in others if value.owner is not None}, **states.replace})
    results = make_loop(steps, body, name or "scan_fn", options, lifts=False)
    return _with_updates(_presented(_results_in_order(outputs, results), return_list), states.updates(results),
                         return_updates)


def _check_options(fn, truncate_gradient, go_backwards, mode, profile):
    if not callable(fn):
        raise TypeError(f"fn is a function that describes a step, got {fn!r} of type {type(fn).__name__}")
    if truncate_gradient < -1:
        raise ValueError(f"truncate_gradient is a number of steps, or -1 for all, got {truncate_gradient}")
    if not isinstance(go_backwards, (bool, numpy.bool_, int, type(None))):
        raise TypeError(f"go_backwards is True or False, got {go_backwards!r} of type {type(go_backwards).__name__}")
    if mode is not None:
        get_mode(mode)                                  # raises an error for another object
    if not (isinstance(profile, (bool, int, str)) or profile is None or hasattr(profile, "watch_loop")):
        raise TypeError(f"profile is True, False, a title or a ScanProfileStats, got {profile!r} of type "
                        f"{type(profile).__name__}")


def _made_before(first, body):
    """The variables that a body reads, or computes from, of nodes made before a number: not by the user's function."""
    found, seen, pending = set(), set(body.moving()), body.outputs()
    while pending:
        variable = pending.pop()
        if variable in seen:
            continue
        seen.add(variable)
        if variable.owner is not None and variable.owner._number < first:
            found.add(variable)
        elif variable.owner is not None:
            pending.extend(variable.owner.inputs)
    return found


def _with_updates(results, updates, return_updates):
    if return_updates:
        return results, updates
    if updates:
        raise ValueError(f"the loop updates {list(updates)}: with return_updates=False, these updates would be lost")
    return results


# ---- one step ------------------------------------------------------------------------------------------------------
def _single_step(fn, scanned, outputs, others, return_list):
    """No loop: the function of the first rows."""
    slices = [row[0] for sequence in scanned for row in sequence.rows]
    taps = [output.initial[tap - min(output.taps)] for output in outputs for tap in output.taps]
    found, updates, condition = called(fn, slices, taps, others)
    if outputs:
        check_count(fn, found, len(outputs))
    if condition is not None:
        tell("When the number of steps is fixed and equal to 1, the provided stopping condition, %s, is ignored",
             condition)
    results = [unbroadcast(shape_padleft(row), 0) if isinstance(row.type, TensorType) else row for row in found]
    return _presented(results, return_list), OrderedUpdates(with_whole_targets(updates))


def _presented(results, return_list):
    if len(results) == 1 and return_list is not True:
        return results[0]
    return results if results or return_list else None


# ---- outputs -------------------------------------------------------------------------------------------------------
def check_count(fn: Any, found: Sequence[Variable], count: int) -> None:
    """Refuse another number of outputs than ``outputs_info`` describes."""
    if len(found) != count:
        raise ValueError("Please provide None as outputs_info for any output that does not feed back into scan (i.e. "
                         f"it behaves like a map): {described(fn)}, returned {len(found)} outputs, and outputs_info "
                         f"describes {count}")


def _fitting_row(output, row, position, name):
    """An output of the body, of the type of its state."""
    if not isinstance(row.type, TensorType):
        raise TypeError(f"output {position} of the function of scan {name or ''} must be a tensor, got {row.type}")
    if not output.taps:
        return row
    wanted, found = output.inner[0].type, row.type
    about = f"output {position} of the function of scan{made_at(row)}"
    if wanted.dtype != found.dtype:
        raise ValueError("When compiling the inner function of scan the following error has been encountered: The "
                         f"initial state (`outputs_info` in scan nomenclature) of variable {output.given} (argument "
                         f"number {position}) has dtype {wanted.dtype}, while the result of the inner function (`fn`) "
                         f"has dtype {found.dtype}. This can happen if the inner function of scan results in an upcast "
                         f"or downcast. {_about_dtypes(output.given, wanted.dtype, found.dtype)} This is {about}.")
    if wanted.ndim != found.ndim:
        raise ValueError("When compiling the inner function of scan the following error has been encountered: The "
                         f"initial state (`outputs_info` in scan nomenclature) of variable {output.given} (argument "
                         f"number {position}) has {wanted.ndim + 1} dimension(s), one for the steps included, while "
                         "the corresponding variable in the result of the inner function of scan (`fn`) has "
                         f"{found.ndim} dimension(s) (it should be one less than the initial state). Use dimshuffle, "
                         f"shape_padleft or a sum so that the state keeps its rank. This is {about}.")
    for axis, (before, after) in enumerate(zip(wanted.broadcastable, found.broadcastable)):
        if before and not after:
            raise TypeError(f"The broadcast pattern of the output of scan ({found}) is inconsistent with the one "
                            f"provided in `output_info` ({wanted}). The output on axis {axis} is `{after}`, but it is "
                            f"`{before}` on axis {axis} in `output_info`. This can happen if one of the dimension is "
                            "fixed to 1 in the input, while it is still variable in the output, or vice-verca. You "
                            "have to make them consistent, e.g. using "
                            "phintys.tensor.{patternbroadcast,unbroadcast,addbroadcast}. This is " + about)
    return patternbroadcast(row, wanted.broadcastable)


def _about_dtypes(given, wanted, found):
    """What to do about a state that changes its dtype."""
    if isinstance(given, Constant):
        return (f"A Python number as initial state has the smallest dtype that holds it, here {wanted}: write it as "
                f"tensor.constant(value, dtype='{found}').")
    return (f"Write the initial state with .astype('{found}'), or the result of the function with "
            f".astype('{wanted}').")


def _results_in_order(outputs, results):
    """The rows of the user's outputs, without those before the first step."""
    states, stacked = iter(results.states), iter(results.stacked)
    return [next(states)[-min(output.taps):] if output.taps else next(stacked) for output in outputs]


# ---- steps ---------------------------------------------------------------------------------------------------------
def _checked_steps(steps, name):
    known = steps is not None and known_number(steps)
    return steps if steps is None or known is not None and known >= 0 else StepCount(name)(steps)


def _steps_and_rows(steps, rows, condition):
    """The number of steps, and as many rows of each sequence."""
    if steps is not None:
        return steps, [first_rows(row, steps) for row in rows]
    if rows:
        lengths = [shape_i(row, 0) for row in rows]
        shortest = lengths[0]
        for length in lengths[1:]:
            shortest = elementwise.minimum(shortest, length)
        return shortest, [row[:shortest] for row in rows] if len(rows) > 1 else rows
    if condition is None:
        raise ValueError("No information about the number of steps provided. Either provide a value for n_steps "
                         "argument of scan or provide an input sequence, or return a condition wrapped in "
                         "scan_module.until")
    return constant(NO_BOUND, dtype="int64"), rows


# ---- shared variables ----------------------------------------------------------------------------------------------
class _SharedStates:
    """The shared variables of a body: those that it updates are carried from step to step.

    Attributes
    ----------
    tensors : list of State
        Of updated tensors.
    objects : list of (Variable, Variable, Variable)
        Other updated values: inner variable, next value, shared variable.
    replace : dict of SharedVariable to Variable
        The variables that represent them in the body.
    """

    def __init__(self, outputs, updates, condition, passed):
        self.roots = [*outputs, *([] if condition is None else [condition])]
        self.explicit = OrderedUpdates(with_whole_targets(updates))
        self.pairs = self._with_default_updates(passed)
        self.tensors, self.objects, self.replace = [], [], {}
        for shared, update in self.pairs.items():
            inner = shared.type.make_variable(shared.name and f"{shared.name}_copy")
            self.replace[shared] = inner
            update = shared.type.filter_variable(update)
            if isinstance(shared.type, TensorType):
                self.tensors.append(State([-1], [inner], unbroadcast(shape_padleft(shared), 0), update))
            else:
                self.objects.append((inner, update, shared))

    def _with_default_updates(self, passed):
        """The updates that the body returned, and the default updates of the other shared variables that it reads.

        Nodes that compute the variables that were passed are outside the body.
        """
        pairs, pending = OrderedUpdates(self.explicit), [*self.roots, *self.explicit.values()]
        while pending:
            leaves = graph_inputs(pending, passed)
            pending = []
            for leaf in leaves:
                update = getattr(leaf, "default_update", None)
                if isinstance(leaf, SharedVariable) and leaf not in pairs and update is not None:
                    pairs[leaf] = update
                    pending.append(update)
        return pairs

    def check_strict(self, fn, passed):
        """Refuse shared variables that were not passed."""
        roots, known = [*self.roots, *self.pairs.values()], {*passed, *self.pairs}
        read = [leaf for leaf in dict.fromkeys(graph_inputs(roots)) if isinstance(leaf, SharedVariable)]
        missing = [leaf for leaf in read if leaf not in known and not _is_read_through(leaf, roots, passed)]
        if missing:
            raise MissingInputError("ScanOp is missing an input: with strict=True, all the shared variables used in fn "
                                    f"must be provided as a part of non_sequences, and {missing} are not: "
                                    f"{described(fn)}")

    def check_missing(self, passed):
        """Refuse updates that read variables which were not passed and which no output reads."""
        known = {*passed, *graph_inputs([*self.roots, *passed])}
        for leaf in graph_inputs(list(self.pairs.values()), passed):
            if leaf not in known and not isinstance(leaf, (SharedVariable, Constant)):
                raise MissingInputError(f"an update in the function of scan reads {leaf}{made_at(leaf)}.\nPlease pass "
                                        "this variable to the scan's inner function. Do not forget to also pass it to "
                                        "the `non_sequences` attribute of scan.")

    def updates(self, results):
        """The new values of the shared variables after the loop."""
        tensors = iter(results.states[len(results.states) - len(self.tensors):])
        objects = iter(results.carried)
        return OrderedUpdates([(shared, next(tensors)[-1] if isinstance(shared.type, TensorType) else next(objects))
                               for shared in self.pairs])


def _is_read_through(leaf, roots, passed):
    """Whether a shared variable is only read by what computes the variables that were passed."""
    return leaf not in ancestors(roots, passed)

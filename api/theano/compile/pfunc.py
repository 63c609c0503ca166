"""Theano's ``compile.pfunc``: ``function`` with the first argument's old name, and ``rebuild_collect_shared``."""
from phintys.function import function
from phintys.graph.variable import Variable
from phintys.io import In, Param
from phintys.making.rebuild import pairs as iter_over_pairs
from phintys.making.rebuild import rebuild

__all__ = ["In", "Param", "iter_over_pairs", "pfunc", "rebuild_collect_shared"]


def pfunc(params, outputs=None, mode=None, updates=None, givens=None, no_default_updates=False, accept_inplace=False,
          name=None, rebuild_strict=True, allow_input_downcast=None, profile=None, on_unused_input=None,
          output_keys=None):
    """Compile a function: ``phintys.function``, whose inputs are called ``params`` here.

    Parameters
    ----------
    params : list of Variable or In
    output_keys : list of str, optional
        One for each of ``outputs``, a list; calls return a dict with these keys then.
    outputs, mode, updates, givens, no_default_updates, accept_inplace, name, rebuild_strict, allow_input_downcast, \
    profile, on_unused_input
        As in ``phintys.function``.

    Returns
    -------
    Function

    Raises
    ------
    ValueError
        If there are not as many keys as outputs; other errors as ``phintys.function``.
    """
    if output_keys is not None:
        outputs = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
        if len(outputs) != len(output_keys):
            raise ValueError(f"pfunc: {len(output_keys)} output_keys for {len(outputs)} outputs: {output_keys!r}")
        outputs = dict(zip(output_keys, outputs))
    return function(params, outputs, mode, updates, givens, no_default_updates, accept_inplace, name, rebuild_strict,
                    allow_input_downcast, profile, on_unused_input)


def rebuild_collect_shared(outputs, inputs=None, replace=None, updates=None, rebuild_strict=True, copy_inputs_over=True,
                           no_default_updates=False):
    """Copy a graph, with replacements, updates and the shared variables that it reads.

    Parameters
    ----------
    outputs : None, Variable, Out, or list of them
    inputs : list of Variable, optional
        Where the graph is cut.
    replace, updates : dict or pairs, optional
        Variable → what stands in its place; shared variable → its new value.
    rebuild_strict : bool
        Replacements must have the type of what they replace.
    copy_inputs_over : bool
        Accepted for Theano's sake: the copy always has inputs of its own.
    no_default_updates : bool or list of Variable
        Whose ``default_update`` does not count; True: nobody's.

    Returns
    -------
    tuple (list, Variable or list, list)
        Copied inputs; copied outputs, in the form of ``outputs``; and a list: dict from what was given to its copy,
        dict of updates, dict of their copies, shared variables.
    """
    inputs = list(inputs or ())
    many = isinstance(outputs, (list, tuple))
    given = list(outputs) if many else [] if outputs is None else [outputs]
    variables = [output if isinstance(output, Variable) else output.variable for output in given]
    rebuilt = rebuild(variables, inputs, replace, updates, rebuild_strict, no_default_updates)
    copies = {**dict(zip(inputs, rebuilt.inputs)), **dict(zip(variables, rebuilt.outputs)), **rebuilt.shared}
    made = rebuilt.outputs if many else rebuilt.outputs[0] if given else []
    return rebuilt.inputs, made, [copies, rebuilt.new_values, rebuilt.updates, list(rebuilt.shared)]

"""Functions as models of ONNX, where the two mean the same: ``export_onnx``.

The user's graph is optimised without fusion and without overwriting, and each node is translated by a row of
``interop/onnx/ops.py``. What has no row, or differs without remedy, is refused by its name and the reason. The guide
has the table of differences ("Saving and shipping programs").
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.interop.onnx.model import ExportError, Translation, check_type
from phintys.interop.onnx.ops import OPS
from phintys.making.compiled_function import Function
from phintys.modes import OPT_STABILIZE, Mode

if TYPE_CHECKING:
    import os

__all__ = ["ExportError", "export_onnx"]

OPSET = 20


def export_onnx(function: Function, path: str | os.PathLike[str] | None = None, name: str | None = None) -> Any:
    """A function as a model of ONNX, which other runtimes compute.

    The present values of shared variables become constants of the model. Arguments keep their names, or are ``x0``,
    ``x1``, ...; results are ``y0``, ``y1``, ... Checks of lengths are left out: a length of 1 that is not declared is
    broadcast. Both arms of ``ifelse`` are computed.

    Parameters
    ----------
    function : Function
        Without updates.
    path : str or path-like, optional
        Where the model is written, too.
    name : str, optional
        Of the model; by default that of the function.

    Returns
    -------
    onnx.ModelProto

    Raises
    ------
    ExportError
        A NotImplementedError: if ONNX has nothing that computes the same. The message names op and reason.
    TypeError
        If it is no function that ``phintys.function`` has made.

    Examples
    --------
    >>> x = T.dvector("x")
    >>> model = phintys.export_onnx(phintys.function([x], T.tanh(x)))           # doctest: +SKIP
    >>> [node.op_type for node in model.graph.node]                             # doctest: +SKIP
    ['Tanh', 'Identity']
    """
    import onnx
    from onnx import helper, numpy_helper

    if not isinstance(function, Function):
        raise TypeError(f"export_onnx takes what phintys.function has made, not {function!r}")
    maker = function.maker
    if maker.update_positions:
        targets = ", ".join([str(spec.variable) for spec in maker.inputs if spec.update is not None])
        raise ExportError(f"a model of ONNX keeps no values between calls, but {function!r} updates {targets}")
    query = OPT_STABILIZE.excluding("inplace", "fusion", "length_checks", "BlasOpt", "scan_inplace")
    mode = Mode(linker="vm", optimizer=query)
    plain = type(maker)(**maker.given_arguments() | {"mode": mode, "profile": False})
    graph, translation = plain.compiled, Translation(helper, numpy_helper.from_array, mode, OPS)
    inputs = []
    for number, (variable, position) in enumerate(zip(graph.inputs, plain.graph_order)):
        spec = plain.inputs[position]
        check_type(variable, "an input")
        if spec.shared or spec.is_state:
            translation.names[variable] = translation.constant(spec.value.value if hasattr(spec.value, "value")
                                                               else spec.value, variable.type.dtype)
            continue
        label = spec.variable.name or f"x{number}"
        translation.names[variable] = label
        inputs.append(helper.make_tensor_value_info(label, translation.number(variable.type.dtype),
                                                    _dimensions(label, variable.type)))
    outputs = []
    for number, (variable, found) in enumerate(zip(graph.outputs, translation.graph(graph))):
        check_type(variable, "a result")
        label = f"y{number}"
        translation.nodes.append(helper.make_node("Identity", [found], [label]))
        outputs.append(helper.make_tensor_value_info(label, translation.number(variable.type.dtype),
                                                     _dimensions(label, variable.type)))
    made = helper.make_graph(translation.nodes, name or function.name or "phintys", inputs, outputs,
                             translation.initializers)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], producer_name="phintys",
                              ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    if path is not None:
        onnx.save(model, path)
    return model


def _dimensions(label, type_):
    """The lengths that are known, and names for the others."""
    return [f"{label}_{axis}" if length is None else length for axis, length in enumerate(type_.shape)]

"""The signature and docstring of a compiled function, for ``inspect.signature(f)``, and ``f?`` or
``inspect.getdoc(f)``.

They are computed when they are read, from the inputs and outputs that the user declared. The class has another
docstring and signature, so both are descriptors.
"""
from __future__ import annotations

from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any

from phintys.making.argument_container import ArgumentContainer

if TYPE_CHECKING:
    from phintys.making.compiled_function import Function


class SignatureOfInstance:
    """The attribute ``__signature__`` of functions."""

    def __get__(self, function, owner=None):
        if function is None:
            raise AttributeError("__signature__")
        return signature_of(function)


class DocstringOfInstance:
    """The attribute ``__doc__``: the text of the class, or that of a function."""

    def __init__(self, text: str | None) -> None:
        self.text = text

    def __get__(self, function, owner=None):
        return self.text if function is None else docstring_of(function)


def signature_of(function: Function) -> Any:
    """Return how a function is called.

    Inputs without a name, with the name of another input, or with a name that is not a Python identifier can be passed
    only by position; so can all inputs before them.

    Returns
    -------
    inspect.Signature
    """
    inputs = _inputs(function)
    names = [spec.name for spec, _ in inputs]
    usable = [isinstance(name, str) and name.isidentifier() and names.count(name) == 1 for name in names]
    last = max([position for position, good in enumerate(usable) if not good], default=-1)
    parameters, has_default = [], False
    for position, (spec, container) in enumerate(inputs):
        name = names[position] if usable[position] else f"input_{position}"
        default = Parameter.empty if spec.required else _Shown(container)
        kind = Parameter.POSITIONAL_ONLY if position <= last else Parameter.POSITIONAL_OR_KEYWORD
        if has_default and default is Parameter.empty:
            kind = Parameter.KEYWORD_ONLY if usable[position] else kind
        has_default = has_default or default is not Parameter.empty
        parameters.append(Parameter(name, kind, default=default))
    try:
        return Signature(parameters)
    except ValueError:                          # an order that Python's functions cannot have
        return Signature([Parameter("inputs", Parameter.VAR_POSITIONAL),
                          Parameter("named_inputs", Parameter.VAR_KEYWORD)])


class _Shown:
    """A default as text."""

    def __init__(self, container):
        value = getattr(container, "value", None)
        self.text = " ".join(str(value).split())[:40]

    def __repr__(self):
        return self.text


def docstring_of(function: Function) -> str:
    """Return a text about a function: its arguments, results and updates."""
    maker = function.maker
    lines = [f"{function.name or 'function'}{signature_of(function)}", "", "A compiled function; explain() shows its "
             "program."]
    inputs = _inputs(function)
    lines += _section("Parameters", [_described(spec.name, spec.variable, "" if spec.required else ", optional")
                                     for spec, _ in inputs])
    lines += _section("Returns", [_described(output.variable.name, output.variable) for output in maker.outputs])
    updated = [spec for spec in maker.inputs if spec.update is not None]
    lines += _section("Updates", [_described(spec.name, spec.variable) for spec in updated])
    return "\n".join(lines)


def _inputs(function):
    """Return what a caller may give: (specification, container)."""
    return [(spec, container) for spec, container in zip(function.maker.inputs, function.input_storage)
            if not spec.implicit and (isinstance(container, ArgumentContainer) or not spec.shared)]


def _section(title, rows):
    return ["", title, "-" * len(title), *rows] if rows else []


def _described(name, variable, more=""):
    return f"{name} : {variable.type}{more}" if name else f"{variable.type}{more}"

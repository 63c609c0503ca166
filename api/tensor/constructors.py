"""Constructors of tensor variables: ``scalar`` ... ``tensor7``, with a letter for the dtype, and their plurals.

``matrix("x")`` has the dtype ``config.floatX``, ``dmatrix("x")`` float64; ``matrices("x", "y")``, ``dmatrices("xy")``
and ``dmatrices(2)`` make several. All names are combinations of two small tables: ranks and letters. Plurals exist
without a letter and for f, d, i, l.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from phintys.graph.config import config
from phintys.ops.types.tensor_type import TensorType

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from phintys.graph.type import Type
    from phintys.ops.operators import TensorVariable

# Name of a rank → (broadcastable, plural)
RANKS = {
    "scalar": ((), "scalars"),
    "vector": ((False,), "vectors"),
    "matrix": ((False, False), "matrices"),
    "row": ((True, False), "rows"),
    "col": ((False, True), "cols"),
    **{f"tensor{ndim}": ((False,) * ndim, f"tensor{ndim}s") for ndim in range(3, 8)},
}

LETTERS = {"b": "int8", "w": "int16", "i": "int32", "l": "int64", "f": "float32", "d": "float64", "c": "complex64",
           "z": "complex128"}
LETTERS_WITH_PLURAL = "fdil"

FAMILIES = {"int": "bwil", "float": "fd", "complex": "cz"}


def tensor(dtype: str | None = None, broadcastable: Sequence[bool] | None = None, name: str | None = None,
           **kwargs: Any) -> TensorVariable:
    """Make a variable of type ``TensorType(dtype, broadcastable)``.

    Parameters
    ----------
    dtype : str
    broadcastable : sequence of bool, optional
        One flag per dimension: True where the length is always 1. Not needed if a shape is given.
    name : str, optional
    shape : sequence of int or None, optional
        Lengths that are known.

    Returns
    -------
    TensorVariable

    Examples
    --------
    >>> T.tensor("float64", (True, False), name="row").type
    TensorType(float64, row)
    """
    if broadcastable is None and kwargs.get("shape") is not None:
        broadcastable = [length == 1 for length in kwargs["shape"]]
    return TensorType(config.floatX if dtype is None else dtype, broadcastable, **kwargs)(name)


def _constructor(rank, broadcastable):
    def construct(name=None, dtype=None):
        return TensorType(config.floatX if dtype is None else dtype, broadcastable)(name)

    construct.__name__ = construct.__qualname__ = rank
    construct.__doc__ = (f"A {rank} variable; broadcastable {broadcastable}.\n\nParameters\n----------\n"
                         "name : str, optional\ndtype : str, optional\n    ``config.floatX`` by default.\n\n"
                         f"Examples\n--------\n>>> T.{rank}('x', dtype='float64').broadcastable\n{broadcastable}")
    return construct


def plural_of(plural: str, construct: Type | Callable[..., Any], namespace: str = "T") -> Callable[..., Any]:
    """Return a function that makes several variables by ``construct(name)``; ``namespace`` is for its docstring."""
    def several(*names):
        if len(names) == 1 and isinstance(names[0], int):
            return [construct() for _ in range(names[0])]
        if len(names) == 1:
            names = names[0]                        # "xy" means "x", "y"
        return construct(names) if len(names) == 1 else [construct(name) for name in names]

    several.__name__ = several.__qualname__ = plural
    several.__doc__ = (f"Several variables: ``{plural}(2)`` without names, ``{plural}('xy')`` or "
                       f"``{plural}('left', 'right')`` with names; with one letter, one variable.\n\n"
                       f"Examples\n--------\n>>> {namespace}.{plural}('xy')\n[x, y]\n"
                       f">>> len({namespace}.{plural}(3))\n3")
    return several


def _make_constructors():
    made = {"tensor": tensor}
    for rank, (broadcastable, plural) in RANKS.items():
        made[rank] = _constructor(rank, broadcastable)
        made[plural] = plural_of(plural, made[rank])
        for letter, dtype in LETTERS.items():
            made[letter + rank] = TensorType(dtype, broadcastable)
        for letter in LETTERS_WITH_PLURAL:
            made[letter + plural] = plural_of(letter + plural, made[letter + rank])
    for family, letters in FAMILIES.items():
        for rank in ("scalar", "vector", "matrix"):
            made[f"{family}_{rank}_types"] = tuple([made[letter + rank] for letter in letters])
        made[f"{family}_types"] = made[f"{family}_scalar_types"]
    return made


_CONSTRUCTORS = _make_constructors()
globals().update(_CONSTRUCTORS)
__all__ = sorted(_CONSTRUCTORS)

"""Shared variables of a ``Scalar`` type. ``phintys.shared`` makes tensors of rank 0 from numbers."""
from __future__ import annotations

from typing import Any

import numpy

from phintys.ops.elementwise.scalar_variable import ScalarOperators
from phintys.ops.types.scalar_type import get_scalar_type
from phintys.shared import SharedVariable
from phintys.theano_finder import lookup as _lookup


class ScalarSharedVariable(ScalarOperators, SharedVariable):
    """A shared number.

    Examples
    --------
    >>> isinstance(phintys.scalar.shared(3.0), phintys.scalar.sharedvar.ScalarSharedVariable)
    True
    """


def shared(value: Any, name: str | None = None, strict: bool = False, allow_downcast: Any = None) -> ScalarOperators:
    """Make a shared variable of a ``Scalar`` type.

    Parameters
    ----------
    value : number
        Its dtype is that of the variable; for Python numbers int64, float64 or complex128.
    name : str, optional
    strict : bool
        Later values must have exactly the type.
    allow_downcast : bool or None
        Convert later values even if that loses precision.

    Returns
    -------
    ScalarSharedVariable

    Raises
    ------
    TypeError
        If the value is not a number.

    Examples
    --------
    >>> phintys.scalar.shared(3.0).get_value()
    np.float64(3.0)
    """
    if not isinstance(value, (numpy.number, numpy.bool_, float, int, complex)):
        raise TypeError(f"Expected a number, got {value!r} of {type(value)}.")
    value = numpy.asarray(value)[()]
    return ScalarSharedVariable(name, get_scalar_type(value.dtype.name), value, strict, allow_downcast)


__all__ = ["ScalarSharedVariable", "shared"]
__getattr__ = _lookup(__name__)

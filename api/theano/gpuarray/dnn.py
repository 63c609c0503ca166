"""Theano's name ``gpuarray.dnn``: says that there is no cuDNN. ``phintys.gpu`` has its own convolutions."""
from __future__ import annotations

from typing import Any

from phintys.theano_finder import lookup as _lookup
from phintys.theano_names import GPU as _ADVICE

__all__ = ["dnn_available", "dnn_present", "version"]


def dnn_present() -> bool:
    """Return whether there is cuDNN: False. The reason is in the attribute ``msg``, as in Theano.

    Examples
    --------
    >>> phintys.gpuarray.dnn.dnn_present()
    False
    """
    return dnn_present.avail


def dnn_available(context_name: Any) -> bool:
    """Return whether a device has cuDNN: False. The reason is in the attribute ``msg``.

    Examples
    --------
    >>> phintys.gpuarray.dnn.dnn_available(None)
    False
    """
    return False


dnn_present.avail = False
dnn_present.msg = dnn_available.msg = f"Theano's gpuarray is not available: {_ADVICE}"


def version(raises: bool = True) -> int:
    """Return -1 for the version of cuDNN, or raise.

    Raises
    ------
    RuntimeError
        If ``raises``.

    Examples
    --------
    >>> phintys.gpuarray.dnn.version(raises=False)
    -1
    """
    if raises:
        raise RuntimeError(f"We can't determine the cudnn version as it is not available: {dnn_present.msg}")
    return -1


__getattr__ = _lookup(__name__)

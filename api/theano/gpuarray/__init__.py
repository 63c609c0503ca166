"""Theano's name ``gpuarray``: says that there is no GPU of Theano's, to programs that ask before they use one.

Functions run on a GPU by ``phintys.gpu``; nothing here computes. `pygpu_activated` is False, and so is the result of
``dnn.dnn_present()``. All other names of Theano's package raise an error that names ``phintys.gpu``.
"""
from __future__ import annotations

from typing import Any

from phintys.gpuarray import dnn
from phintys.theano_finder import lookup as _lookup
from phintys.theano_names import GPU as _ADVICE

__all__ = ["dnn", "init_dev", "pygpu", "pygpu_activated", "theano_gpu_is_already_active", "use"]

pygpu = None                    # the package of Theano's arrays on a device: not installed
pygpu_activated = theano_gpu_is_already_active = False


def init_dev(dev: str, name: str | None = None, preallocate: Any = None) -> Any:
    """Refuse to open a device of Theano's.

    Raises
    ------
    RuntimeError

    Examples
    --------
    >>> phintys.gpuarray.init_dev("cuda0")
    Traceback (most recent call last):
    ...
    RuntimeError: theano.gpuarray has no device 'cuda0': use phintys.gpu, or PHINTYS_FLAGS=device=cuda, which moves \
functions to a GPU
    """
    raise RuntimeError(f"theano.gpuarray has no device {dev!r}: {_ADVICE}")


def use(device: str, force: bool = False, default_to_move_computation_to_gpu: bool = True,
        move_shared_to_gpu: bool = True, **options: Any) -> None:
    """Refuse to use a device, as `init_dev` does; ``"cpu"`` is accepted.

    Examples
    --------
    >>> phintys.gpuarray.use("cpu")
    """
    if device != "cpu":
        init_dev(device)


__getattr__ = _lookup(__name__)

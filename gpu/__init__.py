"""Functions on a GPU of NVIDIA, by pycuda.

    phintys.config.device = "cuda"      # or PHINTYS_FLAGS=device=cuda, or phintys.gpu.use()

Shared variables of float32 that are made from here on are on the device, functions that use them compute there, and
what users see are arrays of NumPy as before. Importing this package needs neither pycuda nor a GPU; opening a device
does. See README.md for the parts.
"""
from phintys.gpu import device_steps, families
from phintys.gpu.device_op import DeviceOp
from phintys.gpu.expansion import expand as _expand
from phintys.gpu.gpu_array_type import GpuArrayConstant, GpuArrayType, GpuArrayVariable
from phintys.gpu.placement import place as _place
from phintys.gpu.placement import uses_device as _uses_device
from phintys.gpu.runtime.device import DeviceError, device_count, open_device, the_device
from phintys.gpu.runtime.device import number_of as _number_of
from phintys.gpu.runtime.driver import statistics as _statistics
from phintys.gpu.runtime.driver import trim, wait
from phintys.gpu.transfers import GpuConstantValue, GpuFromHost, HostFromGpu, gpu_from_host, host_from_gpu
from phintys.gpu.widening import widen as _widen
from phintys.graph import hooks as _hooks
from phintys.graph.config import config as _config

__all__ = ["DeviceError", "DeviceOp", "GpuArrayConstant", "GpuArrayType", "GpuArrayVariable", "GpuConstantValue",
           "GpuFromHost", "HostFromGpu", "device_count", "gpu_from_host", "host_from_gpu", "memory_report",
           "the_device", "trim", "use", "wait"]

_hooks.place_at_device = _place
_hooks.uses_device = _uses_device
_hooks.widen_for_device = lambda fgraph: _widen(fgraph) + _expand(fgraph)


def use(device="cuda", move_shared_to_gpu=True):
    """Use a GPU from here on.

    Parameters
    ----------
    device : str
        "cuda", or "cuda1" for the second device.
    move_shared_to_gpu : bool
        Whether shared variables of float32 are made there by default: `config.device` names the device then. Else only
        those are that ask for it (``target="cuda"``).

    Returns
    -------
    Device

    Raises
    ------
    ValueError
        If the name is none of a device.
    DeviceError
        If there is no such device, or no driver, or no pycuda; everything else works as before.

    Examples
    --------
    >>> phintys.gpu.use()                           # doctest: +SKIP
    <device cuda0: NVIDIA H200, sm_90>
    """
    number = _number_of(device)
    if number is None:
        raise ValueError(f"{device!r} names no device: expected 'cuda', or 'cuda0', 'cuda1', ...")
    opened = open_device(number)
    if _hooks.device_opened is not None:
        _hooks.device_opened()
    if move_shared_to_gpu and _config.device != device:
        _config.device = device
    return opened


def memory_report():
    """What phintys has of the device's memory.

    Returns
    -------
    dict
        ``live_bytes`` in use by ``live_buffers``; ``peak_bytes``, the most so far; ``kept_bytes`` that wait for later
        requests and that `trim` returns; ``requests`` for memory so far, of which the device itself served ``misses``;
        ``free_bytes`` and ``total_bytes`` of the device. Lists of work ``submitted``, of which ``replayed`` as graphs,
        ``changed`` of these with other arguments than before, and graphs ``captured``; ``uploads`` to the device, and
        how many of them went on ``beside`` earlier work.

    Raises
    ------
    DeviceError
        If no device is in use.
    """
    the_device()
    return _statistics()

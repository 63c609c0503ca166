"""The device in use: found, opened, and left when the process ends.

A process uses one device, in its primary context, which it shares with other libraries. ``open_device`` opens it; a
function that has values on the device needs it open. Without a driver or a device, opening raises ``DeviceError`` and
everything else works as it did.

pycuda has a stack of contexts for each thread. Its functions need the context there, and it aborts the process if a
thread ends with one there. So each thread that opens the device, or gets a value from it, has an ``_Entry``, which the
thread drops when it ends.
"""
import atexit
import os
import threading
import warnings

from phintys.gpu.libraries.cublas import find_cublas
from phintys.gpu.runtime import driver as runtime
from phintys.graph.config import config
from phintys.graph.public_names import at_home

_open = None                    # the device in use
_opening = threading.Lock()
_here = threading.local()       # entry: this thread's _Entry


@at_home
class DeviceError(RuntimeError):
    """A device cannot be used."""


class Device:
    """A device that is in use.

    Attributes
    ----------
    number : int
    name : str
    architecture : str
        What nvcc compiles for: "sm_90".
    multiprocessors : int
    has_cublas : bool
        Whether cuBLAS is installed, which multiplies matrices of floats then.
    """

    has_cublas = False

    def __init__(self, number, device, context):
        import pycuda.driver as cuda
        self.number = number
        self.name = device.name()
        self.architecture = "sm_{}{}".format(*device.compute_capability())
        self.multiprocessors = device.get_attribute(cuda.device_attribute.MULTIPROCESSOR_COUNT)
        self.context = context

    def __repr__(self):
        return f"<device cuda{self.number}: {self.name}, {self.architecture}>"


def number_of(target):
    """The number of the device that a target names, or None if it names none."""
    if target in ("cuda", "gpu", "dev0"):
        return 0
    if isinstance(target, str) and target.startswith("cuda") and target[4:].isdigit():
        return int(target[4:])
    return None


def device_count():
    """How many devices there are.

    Raises
    ------
    DeviceError
        If there is no pycuda, or no driver.
    """
    try:
        import pycuda.driver as cuda
    except ImportError as error:
        raise DeviceError("the GPU needs pycuda and the driver of CUDA, and one of them is missing: "
                          f"{error}. Install pycuda with: pip install phintys[gpu]") from None
    try:
        cuda.init()
        return cuda.Device.count()
    except cuda.Error as error:
        raise DeviceError(f"the driver of CUDA finds no device: {error}") from None


def open_device(number=0):
    """Use a device from here on; it stays in use until the process ends.

    Parameters
    ----------
    number : int

    Returns
    -------
    Device

    Raises
    ------
    DeviceError
        If there is no such device, it cannot be opened, or another one is in use.
    """
    with _opening:
        return _opened(number)


def _opened(number):
    global _open
    if _open is not None:
        if _open.number == number and runtime.is_connected():
            return _open
        raise DeviceError(f"{_open} is in use, so cuda{number} cannot be: a process uses one device"
                          if runtime.is_connected() else
                          "the device cannot be used in a process that was forked after it was opened: start "
                          "processes by multiprocessing's method 'spawn', or open the device in each of them")
    count = device_count()
    if not 0 <= number < count:
        raise DeviceError(f"there is no device cuda{number}: there are {count}, from cuda0 on" if count
                          else "the driver of CUDA finds no device")
    import pycuda.driver as cuda
    try:
        device = cuda.Device(number)
        context = device.retain_primary_context()
        entry = _Entry(context)
    except cuda.Error as error:
        raise DeviceError(f"the device cuda{number} cannot be used: {error}") from None
    try:
        opened = Device(number, device, context)
        from phintys.gpu.runtime import values
        values.device_number = number
        runtime.connect(context.handle, number, _value_at, _give_up, opened.multiprocessors)
        opened.has_cublas = find_cublas()
    except BaseException:
        entry.leave()
        raise
    _open, _here.entry = opened, entry
    atexit.register(_leave)
    os.register_at_fork(before=_take_from_stack, after_in_parent=_put_on_stack, after_in_child=runtime.disconnect)
    return opened


def the_device():
    """The device in use.

    Raises
    ------
    DeviceError
        If none is.
    """
    if _open is None or not runtime.is_connected():
        raise DeviceError("no device is in use: set config.device to 'cuda', or call phintys.gpu.use()")
    return _open


def is_open():
    """Whether a device is in use."""
    return _open is not None and runtime.is_connected()


def opened_for(what):
    """Whether a device is open, or can be opened, for what a pickle has; if not, a warning says so.

    Parameters
    ----------
    what : str
        Begins the warning: what was on a GPU when it was pickled.

    Returns
    -------
    bool
    """
    if is_open():
        return True
    try:
        open_device(number_of(config.device) or 0)
    except DeviceError as error:
        warnings.warn(f"{what} was on a GPU when it was pickled, and is on the host now: {error}", stacklevel=3)
        return False
    return True


class _Entry:
    """The context on pycuda's stack of this thread."""

    def __init__(self, context):
        self.thread, self.context = threading.get_ident(), None
        context.push()
        self.context = context

    def leave(self):
        """Take the context away; of a thread that a fork has ended, another one would do so, and must not."""
        context, self.context = self.context, None
        if context is not None and self.thread == threading.get_ident():
            context.pop()

    __del__ = leave


def _value_at(*arguments):
    """What Python sees of a value, with the context where pycuda's arrays need it in this thread."""
    from phintys.gpu.runtime.values import value_at
    if getattr(_here, "entry", None) is None:
        _here.entry = _Entry(_open.context)
    return value_at(*arguments)


def _give_up(arrays):
    """Empty a list of arrays of other libraries: those of pycuda are freed only with the context on this thread's
    stack, and the thread may be about to end, so that it gets no entry here."""
    if getattr(_here, "entry", None) is not None:
        arrays.clear()
        return
    _open.context.push()
    try:
        arrays.clear()
    finally:
        _open.context.pop()


def _take_from_stack():
    """Before a fork: in the child no call of the driver could take the context from there."""
    _here.forks = getattr(_here, "entry", None) is not None
    if _here.forks:
        _here.entry.leave()


def _put_on_stack():
    if _here.forks:
        _here.entry = _Entry(_open.context)


def _leave():
    """At the end of the process."""
    if runtime.is_connected():
        runtime.disconnect()
        if getattr(_here, "entry", None) is not None:
            _here.entry.leave()

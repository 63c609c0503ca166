"""The table of twins: for each class of kernels of the processor, who makes a kernel that does the same on the device.

A twin is made from the kernel itself: its class and the arguments of its constructor (``kernel.arguments``) say what it
does. So no op needs to know the device. ``register`` adds a row:

* ``make(kernel, operands, results)`` returns the twin, or None if the device cannot do this. ``operands`` says of each
  input whether it is on the host (``Operand.at_host``), its dtype and its pattern; ``results`` the same of each output.
* ``at_host``: inputs that stay on the host in any case (states of generators); ``results_at_host``: results that are
  there.
* ``by_value``: inputs of one element that are on the host may stay there; the twin passes them by value. It is True for
  all inputs, or a collection of their numbers, or a function of the kernel that returns either.

Inputs whose values the kernel examines in ``prepare`` (``Kernel.examined``) stay on the host, so a twin has them where
its ``prepare`` can read them; but those of ``checked_at_device`` (labels) go to the device. A kernel that only looks at
shapes and strides is its own twin: a row of `register_view`. ``tests/gpu/without_twin.txt`` lists all kernels that have
none yet.
"""
from collections import namedtuple

from phintys.vm.places import WORK_AT_DEVICE

Operand = namedtuple("Operand", "dtype broadcastable at_host")
Twin = namedtuple("Twin", "make by_value results_at_host checked_at_device at_host", defaults=(False, (), (), ()))
EACH = range(2 ** 31)           # the numbers of all results

TWINS = {}                      # class of a kernel → Twin
WITHOUT_HOST = {}               # type of an op → the function of a node that makes a kernel for the device, or None
SEVERAL_RESULTS = set()         # classes whose results are not determined: DebugMode does not compare the places


def register(host_class, device_class, make=None, by_value=False, checked_at_device=(), at_host=(), results_at_host=()):
    """Add a row.

    Parameters
    ----------
    host_class : type
        A class of kernels of the processor; its subclasses need rows of their own.
    device_class : type
        What ``make`` returns.
    make : callable, optional
        ``(kernel, operands, results)`` → a kernel or None. By default the class with the arguments of the kernel.
    by_value : bool, collection of int, or callable
    checked_at_device : sequence of int, or callable
        Inputs (of a kernel) that the processor's kernel examines, and that the twin checks on the device.
    at_host, results_at_host : collection of int
        Inputs and results that are on the host.
    """
    def alike(kernel, operands, results):
        return device_class(*kernel.arguments, **(kernel.named_arguments or {}))

    WORK_AT_DEVICE.add(device_class)
    TWINS[host_class] = Twin(make or alike, by_value, results_at_host, checked_at_device, at_host)


def register_view(host_class):
    """Add a row for a kernel that only makes views: it is its own twin."""
    WORK_AT_DEVICE.add(host_class)
    TWINS[host_class] = Twin(lambda kernel, operands, results: kernel)


def register_shape(host_class):
    """Add a row for a kernel that reads nothing but the shapes of its inputs, and has its results on the host."""
    WORK_AT_DEVICE.add(host_class)
    TWINS[host_class] = Twin(lambda kernel, operands, results: kernel, results_at_host=EACH)


def register_own(device_class):
    """Add a row for a kernel that the processor has not: it is its own twin."""
    WORK_AT_DEVICE.add(device_class)
    TWINS[device_class] = Twin(lambda kernel, operands, results: kernel)


def own_kernel(node):
    """The kernel, one that has a twin, of a node that has none on the host, or None: see ``WITHOUT_HOST``."""
    for kind in type(node.op).__mro__:
        if kind in WITHOUT_HOST:
            return WITHOUT_HOST[kind](node)
    return None


def twin_of(kernel):
    """The row of a kernel, or None."""
    return TWINS.get(type(kernel))

"""Functions of PyTensor that call the program of phintys directly.

PyTensor's ``Function.__call__`` stores arguments in containers, runs the graph and empties the containers again, which
takes longer than a small model. A ``QuickFunction`` does this only if something must be stored: arguments with
defaults, profiles, and values that PyTensor has to convert or refuse. Otherwise it passes on the arguments, followed by
the values of shared variables, and stores the updates.
"""
from __future__ import annotations

import copyreg
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pytensor import config
from pytensor.compile.mode import Mode
from pytensor.graph.utils import Scratchpad
from pytensor.tensor.type import TensorType

from phintys.graph.garbage import garbage_kept
from phintys.interop.pytensor.parameter_checks import rows_instead_of
from phintys.interop.pytensor_versions import CLASS_ARGUMENT, imported, of_version
from phintys.interop.swaps import Swaps
from phintys.vm.callables.plain_arguments import PlainArguments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy

    from phintys.graph.function_graph import FunctionGraph

Function, FunctionMaker = imported("Function"), imported("FunctionMaker")
# Attributes that say that a call does more than compute and update, and where its updates are.
BESIDES = of_version({(2, 38): ("return_none", "has_defaults"), (3, 0): ("return_none",)})
UPDATES = of_version({(2, 38): "update_input_storage", (3, 0): "_update_input_storage"})
# `Scratchpad.__getattribute__` only calls that of its base class, in Python, hundreds of thousands of times a model.
TRACES = Swaps([(config, "traceback__limit", lambda limit: 0),
                (Scratchpad, "__getattribute__", lambda own: object.__getattribute__)])


@contextmanager
def nodes_made_quickly() -> Iterator[None]:
    """A block in which PyTensor writes and rewrites graphs that are not the user's.

    It notes no lines for new nodes, which took a fifth of its time and named the line that calls the compiler; nodes
    that replace others keep the lines of these. In other threads, nodes have no lines meanwhile, too.
    """
    with TRACES.used(), garbage_kept():
        yield


class QuickFunction(Function):
    """A compiled function of PyTensor that is called with less work if it only computes."""

    def __init__(self, vm: Callable[..., Any], input_storage: Sequence[Any], output_storage: Sequence[Any],
                 *arguments: Any, **options: Any) -> None:
        super().__init__(vm, input_storage, output_storage, *arguments, **options)
        given = [container for container in input_storage if container.required]
        self._shared = [container.storage for container in input_storage[len(given):]]
        self._count, self._program = len(given), getattr(vm, "jit_fn", None)
        self._plain = PlainArguments([argument.name for argument in self.maker.expanded_inputs[:len(given)]],
                                     [_plain_type(container.type) for container in given])
        self._updates = [(position, container.storage) for position, container in getattr(self, UPDATES)]
        self._returned = len(output_storage) - len(self._updates)
        more = [getattr(self, name) for name in BESIDES]
        if (self._program is None or input_storage[:len(given)] != given or any(more)
                or getattr(self, "output_keys", None) is not None):         # of a version that returns dictionaries
            self._count = -1                    # no call has so many arguments

    def __call__(self, *args: Any, **kwargs: Any) -> list[numpy.ndarray] | numpy.ndarray:
        if kwargs:
            given = None if args else self._plain.in_order(kwargs)              # PyMC passes all arguments by name
            if given is None or len(given) != self._count:
                return super().__call__(*args, **kwargs)
            args = given
        if len(args) != self._count or self.profile or not (self.trust_input or self._plain.accepts(args)):
            return super().__call__(*args)
        if self._shared:
            args += tuple([storage[0] for storage in self._shared])
        if self._updates:
            return self._with_updates(self._program(*args))
        if self.unpack_single:
            return self._program(*args)[0]
        return self._program(*args)

    @property
    def names(self) -> Any:
        """The names of the arguments; empty if one is missing or not unique."""
        return self._plain.names

    def program_and_arguments(self, given: Any) -> Any:
        """The program, its arguments with the values of shared variables, and how many of its last results are updates.

        None if a call of the function does more than to run the program and to store these.

        Parameters
        ----------
        given : dict
            Name of an argument → its value.
        """
        args = self._plain.in_order(given)
        if args is None or len(args) != self._count or self.profile or not self._plain.accepts(args):
            return None
        return self._program, args + tuple([storage[0] for storage in self._shared]), len(self._updates)

    def _with_updates(self, results):
        """Store the updates, which are the last results, and return the others."""
        for position, storage in self._updates:
            storage[0] = results[position]
        return results[0] if self.unpack_single else results[:self._returned]


def _plain_type(kind):
    """The dtype and shape of values that PyTensor uses as they are, or None if it looks at all of them."""
    return None if type(kind) is not TensorType or kind.filter_checks_isfinite else (kind.dtype, kind.shape)


copyreg.pickle(QuickFunction, copyreg.dispatch_table[Function])


class QuickFunctionMaker(FunctionMaker):
    """Makes functions of this kind, also when PyTensor copies or unpickles them."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault(of_version(CLASS_ARGUMENT), QuickFunction)
        with nodes_made_quickly():
            super().__init__(*args, **options)

    @staticmethod
    def prepare_fgraph(inputs: Sequence[Any], outputs: Sequence[Any], additional_outputs: Sequence[Any],
                       fgraph: FunctionGraph, mode: Any, profile: Any) -> None:
        """Run the mode's rewrites, except those that the translation of the graph replaces.

        Results need no copies of PyTensor's, because those of phintys share no memory.
        """
        fgraph.rows_instead = rows_instead_of(mode.optimizer, fgraph)
        if fgraph.rows_instead is None:
            FunctionMaker.prepare_fgraph(inputs, outputs, additional_outputs, fgraph, mode, profile)

    def create(self, *args: Any, **options: Any) -> QuickFunction:
        """Make a function; the arguments are PyTensor's."""
        with garbage_kept():
            return super().create(*args, **options)


def let_modes_choose(linker: type) -> None:
    """Let modes with a linker of this class make such functions.

    PyTensor's ``function`` reads the attribute ``function_maker`` of the mode. It is set on the class ``Mode``, because
    PyMC makes a new mode from the linker of the mode that it is given. Modes with other linkers return PyTensor's
    maker.
    """
    Mode.function_maker = property(
        lambda mode: QuickFunctionMaker if isinstance(mode.linker, linker) else FunctionMaker)

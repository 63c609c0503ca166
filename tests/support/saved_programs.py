"""Programs that are saved and loaded: what functions compute must not change by it.

``round_trips`` watches the functions that are made while it is in force. Before the first plain call of each, its
program is saved and loaded, and the loaded one is called with the same arguments, from copies of the same shared
values; results and new shared values must agree to the bit. Programs that were tried before are not tried again.
"""
import pickle
import subprocess
import sys
from contextlib import contextmanager
from weakref import WeakSet

import numpy
from program_callables import callable_of

from phintys.compile.function_module import Function
from phintys.vm.explaining.listing import listing
from phintys.vm.files.programs import dumps, loads


class Everything:
    """All modules."""

    def __contains__(self, name):
        return True


LARGEST = 1 << 28       # bytes of all arguments
SAME = ["name", "code", "pool", "counts", "views", "overwritten", "remarks", "n_arguments", "n_results", "allow_gc"]

# A process whose package ``phintys`` is only its folders: ``import phintys`` would load the optimizer and all ops.
BARE_PACKAGE = """
import importlib.util, sys, types
spec = importlib.util.find_spec("phintys")
package = sys.modules["phintys"] = types.ModuleType("phintys")
package.__path__, package.__spec__ = list(spec.submodule_search_locations), spec
"""


def same_bits(first, second):
    """Whether two results are of one type, dtype and shape and agree to the bit; objects: whether they print alike."""
    if isinstance(first, (list, tuple)):
        return type(first) is type(second) and len(first) == len(second) and all(map(same_bits, first, second))
    if not isinstance(first, (numpy.ndarray, numpy.generic)):
        return type(first) is type(second) and repr(first) == repr(second)
    return (type(first) is type(second) and first.dtype == second.dtype and first.shape == second.shape
            and numpy.ascontiguousarray(first).tobytes() == numpy.ascontiguousarray(second).tobytes())


def check_program(program, loaded):
    """A loaded program has no graph, and is else the one that was saved: kernel by kernel, line by line."""
    assert loaded.nodes is None and all([layout.variable is None for layout in loaded.cells])
    for name in SAME:
        assert getattr(program, name) == getattr(loaded, name), name
    assert dumps(program.kernels) == dumps(loaded.kernels)      # a spec holds pickles of bodies: they differ
    assert listing(program) == listing(loaded)


class Watch:
    """What ``round_trips`` does with each function, and what it has seen.

    Attributes
    ----------
    saved : list of (bytes, list, list)
        If they are to be kept: the program of each function before its first call, the arguments, and the results.
    refused : list of str
        Why programs cannot be saved without their graphs.
    tried : set
        What represents the programs that were tried.
    """

    def __init__(self, tried, keep):
        self.saved, self.refused, self.tried, self.keep = [], [], tried, keep

    def call(self, function, original, positional, named):
        program = function.program
        plain = not named and len(positional) == program.n_arguments and not function.has_states
        # The content of `empty` is what its memory had before, so there is nothing to compare.
        plain = plain and not any([type(kernel).__name__ == "AllocEmptyKernel" for kernel in program.kernels])
        # Broadcast arrays may be longer than memory is large, and what is compared is copied first.
        plain = plain and sum([getattr(value, "nbytes", 0) for value in positional]) <= LARGEST
        key = (program.code, program.pool.tobytes(), tuple([kernel.spec for kernel in program.kernels]),
               tuple([layout[1:4] for layout in program.cells]))
        data = self.dumped(program) if plain and key not in self.tried else None
        self.tried.add(key)
        if data is None:
            return original(function, positional, named)
        before = [value.copy() if isinstance(value, numpy.ndarray) else value for value in positional]
        results = original(function, positional, named)
        loaded = loads(data, Everything())
        check_program(program, loaded)
        if any([value is None for value in positional]):        # only the function's own types know what None means
            return results
        # The array itself where it was not overwritten: a copy may have other strides, and be summed in another order.
        again = twin_of(function, loaded)(*[now if same_bits(now, old) else old
                                            for now, old in zip(positional, before)])
        expected = as_list(function, results)
        assert same_bits(again, expected), f"{again}, not {expected}, by\n{function.explain()}"
        for old, new in zip(program.containers, loaded.containers):
            assert same_bits(old.get(), new.get())
        if self.keep:
            self.saved.append((data, before, expected))
        return results

    def dumped(self, program):
        try:
            return dumps(program)
        except (TypeError, pickle.PicklingError) as error:
            assert program.calls and "what is to be saved" in str(error)
            self.refused.append(str(error))
            return None


def twin_of(function, program):
    """A loaded program whose arguments convert as the function's do."""
    arguments = function.maker.arguments
    return callable_of(program, [bool(spec.strict) for spec in arguments],
                       [spec.allow_downcast for spec in arguments])


def as_list(function, results):
    """Results in order, as a list."""
    if function.maker.return_none:
        return []
    if function.maker.output_keys is not None:
        return [results[key] for key in function.maker.output_keys]
    return [results] if function.maker.unpack_single else results


@contextmanager
def round_trips(monkeypatch, tried=None, keep=False):
    """Save and load the programs of all functions that are made inside; the value is a ``Watch``.

    Parameters
    ----------
    monkeypatch : pytest.MonkeyPatch
    tried : set, optional
        For several blocks: what was tried in one is not tried again in the others.
    keep : bool
        Keep what was saved.
    """
    watch, called = Watch(set() if tried is None else tried, keep), WeakSet()
    make, call = Function.__init__, Function.call

    def watched_make(function, *arguments):
        make(function, *arguments)
        function.indirect = True                    # calls go through ``call``; the first puts the flag back

    def watched_call(function, positional, named):
        if function in called:
            return call(function, positional, named)
        called.add(function)
        return watch.call(function, call, positional, named)

    with monkeypatch.context() as changed:
        changed.setattr(Function, "__init__", watched_make)
        changed.setattr(Function, "call", watched_call)
        yield watch


def in_a_bare_process(program, *arguments):
    """Run Python code in a process that has the package's folders, but has not imported ``phintys`` itself.

    Returns
    -------
    list of str
        The lines that it prints.
    """
    run = subprocess.run([sys.executable, "-c", BARE_PACKAGE + program, *map(str, arguments)], capture_output=True,
                         text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()

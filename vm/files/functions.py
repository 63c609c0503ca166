"""Functions in files: ``save`` writes programs and how their arguments convert, ``load`` makes functions of them.

What is saved together shares its shared variables afterwards. Loading reads ``values`` and verifies the programs; it
makes kernels, but neither a graph nor an optimizer, and imports only the kernels, types and Python ops that a program
needs.
"""
import mmap
import os
from contextlib import suppress

import numpy

from phintys.graph import hooks
from phintys.vm.callables.callable import Callable, enable_vectorcall
from phintys.vm.files import programs
from phintys.vm.files.archive import digest
from phintys.vm.files.values import FileError, Unsaved, add_kind
from phintys.vm.linking.verifier import ProgramError, check_layout
from phintys.vm.program import Program

MOST_LINKED = 64            # functions whose pickles are known

# What a file keeps of a function, besides its program.
OPTIONS = ("types", "strict", "downcast", "defaults", "single", "keys", "return_none", "trust_input")


class Default:
    """The value of an argument that a call does not give; a copy of it if the program may overwrite it."""

    def __init__(self, value, overwritten):
        self.value, self.overwritten = value, overwritten

    def taken(self):
        """The value for one call."""
        return self.value.copy() if self.overwritten and isinstance(self.value, numpy.ndarray) else self.value


class SavedFunction(Callable):
    """A function that was loaded: it is called as the one that was saved.

    Parameters
    ----------
    program : Program
    options : dict
        See ``OPTIONS``.

    Attributes
    ----------
    program : Program
    name : str or None
    argument_names : list of str or None
    shared : dict
        Name of a shared variable → its ``Container``, whose ``value`` can be read and set. Shared variables without a
        name are there by their number.

    Examples
    --------
    >>> import tempfile
    >>> x = T.dvector("x")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     phintys.function([x], x.sum(), name="total").save(f"{folder}/total.phx")
    ...     total = phintys.load(f"{folder}/total.phx")
    >>> total([1, 2, 3])
    array(6.)
    """

    def __init__(self, program, options):
        self.options = options
        defaults = [None if value is None else Default(value[0], program.cells[number].access == "mutable")
                    for number, value in enumerate(options["defaults"])]
        names = [text.name for text in program.cell_texts()[:program.n_arguments]]
        super().__init__(program, options["types"], names, options["strict"], options["downcast"],
                         single=options["single"], output_keys=options["keys"], defaults=defaults,
                         return_none=options["return_none"])
        self.trust_input = options["trust_input"]
        self._graph = None
        self.shared = {container.name or number: container for number, container in enumerate(program.containers)}

    def save(self, path, key=None, include_graph=False):
        """Write the function, with the present values of its shared variables, to a file; see ``phintys.save``."""
        save(path, self, key, include_graph)

    def graph(self):
        """What the function computes, for gradients and other functions; it is read when it is first asked for.

        Returns
        -------
        SavedGraph
            A named tuple of ``inputs``, ``outputs`` and ``updates``, whose shared variables hold the values of the
            loaded function; the graphs of one file have shared variables in common.

        Raises
        ------
        TypeError
            If the file has no graph.
        FileError
            If the graph in it is not one, or was written by a version with other ops.
        """
        if self._graph is None:
            raise TypeError(f"{self!r} has no graph: save it by save(..., include_graph=True)")
        unread, number = self._graph
        return unread(number)

    def __getitem__(self, name):
        """The value of a shared variable."""
        return self._container(name).value

    def __setitem__(self, name, value):
        """Set the value of a shared variable."""
        self._container(name).value = value

    def _container(self, name):
        try:
            return self.shared[name]
        except (KeyError, TypeError):
            known = ", ".join(map(str, self.shared)) or "none"
            raise KeyError(f"{self!r} has no shared variable {name!r}; there are: {known}") from None

    def __repr__(self):
        return f"<phintys function {self.name!r}, loaded>"

    def __reduce__(self):
        return unpickled, (dumps(self),)

    def __dask_tokenize__(self):
        """Return what identifies the function's results for Dask, also in another process."""
        refuse_updates(self)
        return "phintys program", digest(dumps(self)).hex()


enable_vectorcall(SavedFunction)


def refuse_updates(function, allowed=()):
    """Raise an error if calls of a function, as tasks of a scheduler, would change containers that are not allowed."""
    program = function.program
    changed = [container.name or f"shared variable {program.containers.index(container)}"
               for container in program.updated() if container not in allowed]
    if changed:
        raise TypeError(
            f"{function!r} updates {', '.join(changed)}: tasks may run on any worker, and again if one dies, so their "
            "updates would be lost or made twice. Return the new value instead, and take the old one as an argument; "
            "combine gradients by reduce_blocks; draw random numbers from a state or seed that is an argument; or "
            "train by phintys.distributed.replicate")


# ---- writing ---------------------------------------------------------------------------------------------------------
def save(path, functions, key=None, include_graph=False):
    """Write functions to a file, with the present values of their shared variables.

    Parameters
    ----------
    path : str or path-like
        The file is replaced when all is written, so that a reader sees the old file or the new one.
    functions : Function, list or dict of them
        ``load`` returns the same structure. Functions in one file share the shared variables that they share now.
    key : bytes, optional
        A secret, without which nobody can read the file by ``load`` or make one that ``load`` accepts; the content is
        not hidden.
    include_graph : bool
        Write what the functions compute, too: the graph before it was optimised. ``graph()`` of a loaded function
        returns it, for gradients and other functions.

    Raises
    ------
    TypeError
        If a function holds what no file can: an op defined in ``__main__`` or inside a function, a value that is no
        number, array, random state or sparse matrix; in a graph, a function of Python. The message names it.

    Examples
    --------
    >>> import tempfile
    >>> w = phintys.shared(1.0, "w")
    >>> train = phintys.function([], [], updates=[(w, w * 2)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     phintys.save(f"{folder}/model", {"train": train, "predict": phintys.function([], w + 1)})
    ...     model = phintys.load(f"{folder}/model")
    >>> model["train"]()
    []
    >>> model["predict"]()
    array(3.)
    """
    from tempfile import NamedTemporaryFile  # takes a seventh of the time in which the runtime is imported

    parts = dumped(functions, key, include_graph)
    path = os.fspath(path)
    try:
        with NamedTemporaryFile(dir=os.path.dirname(path) or ".", prefix=os.path.basename(path), delete=False) as file:
            try:
                for part in parts:
                    file.write(part)
                file.close()
                os.replace(file.name, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(file.name)
                raise
    except OSError as error:                        # which names the temporary file
        raise OSError(error.errno, error.strerror, path) from error


def dumped(functions, key=None, include_graph=False):
    """The content of a file in parts."""
    graphs = None
    if include_graph:
        def graphs(writer):
            return hooks.saved_graphs().written(writer, functions_in(functions))
    return programs.dumped(functions, key, graphs)


def functions_in(value):
    """The functions of a structure of lists, tuples and dictionaries, in order."""
    if isinstance(value, Callable):
        return [value]
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [function for part in parts for function in functions_in(part)]


def options_of(function):
    """What a file keeps of a function besides its program."""
    if isinstance(function, SavedFunction):
        return function.options | {"trust_input": function.trust_input}
    if not hasattr(function, "maker"):
        raise Unsaved(f"the function {function!r}, which is called by the virtual machine alone: save its program")
    if function.has_states:
        raise Unsaved(f"{function!r}, which has states that callers may set (In with update): make them shared "
                      "variables")
    maker = function.maker
    arguments = [function.input_storage[position] for position in maker.positions]
    return {"types": function.argument_types, "strict": [bool(spec.strict) for spec in maker.arguments],
            "downcast": [spec.allow_downcast for spec in maker.arguments],
            "defaults": [None if container.required else [container.value] for container in arguments],
            "single": maker.unpack_single, "keys": maker.output_keys, "return_none": maker.return_none,
            "trust_input": function.trust_input}


def written_parts(function):
    """What is written of a function."""
    options = options_of(function)
    return [function.program, *[options[name] for name in OPTIONS]]


# ---- reading ---------------------------------------------------------------------------------------------------------
def load(path, modules=(), mapped=False, key=None):
    """Functions from a file that ``save`` wrote.

    No code of the file runs. Damaged files are refused, and so are files that somebody made by hand and that ask a
    kernel for operands which it does not accept. What a file computes is up to who wrote it: a key says who that was.
    Kernels of a GPU do not say what they accept: a program with them needs a key, or "phintys.gpu" among ``modules``.

    Parameters
    ----------
    path : str or path-like
    modules : collection of str
        Modules whose types and ops the file may name; of them and of phintys alone is imported what a program needs.
    mapped : bool
        Let constants lie in the file, which is mapped into memory and must not be changed while the functions are
        used; processes share it. Shared variables have memory of their own.
    key : bytes, optional
        That with which the file was written: files of others are refused.

    Returns
    -------
    SavedFunction, or list or dict of them
        As they were given to ``save``.

    Raises
    ------
    FileError
        If the file is not a saved program, is damaged, breaks a rule of the bytecode, was written in another format or
        with another key, or needs a module that is not there or not in ``modules``.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> x = T.dvector("x")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     phintys.save(f"{folder}/double", phintys.function([x], x * 2))
    ...     double = phintys.load(f"{folder}/double")
    >>> double([1, 2])
    array([2., 4.])
    """
    with open(os.fspath(path), "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if mapped else file.read()
    return loads(data, modules, key)


def dumps(functions, key=None, include_graph=False):
    """The content of a file."""
    return b"".join(dumped(functions, key, include_graph))


def loads(data, modules=(), key=None):
    """What ``load`` returns, from the content of a file."""
    value, unread = programs.loaded(data, modules, key)
    if unread.graphs is not None:
        for number, function in enumerate(functions_in(value)):
            function._graph = unread, number
    return value


_linked = {}                                            # digest of a pickle → what is in it, of the last MOST_LINKED


def unpickled(data):
    """A function from its pickle. Schedulers unpickle one for each task: if it has no state, neither containers nor ops
    in Python, its program is verified and its kernels are made once in a process."""
    key = digest(data)
    if key in _linked:
        known = _linked[key]
        return SavedFunction(known.program, known.options)
    function = loads(data)
    if isinstance(function, SavedFunction) and not function.program.containers and not function.program.calls:
        while len(_linked) >= MOST_LINKED:
            _linked.pop(next(iter(_linked)), None)
        _linked[key] = function
    return function


def function_from(program, *options):
    """A function from what was written of it."""
    if not isinstance(program, Program):
        raise FileError(f"there is a {type(program).__name__} in the place of a program")
    options = dict(zip(OPTIONS, options, strict=True))
    try:
        for number, (layout, type_) in enumerate(zip(program.cells, options["types"])):
            check_layout(f"C{number}", layout, type_)
    except ProgramError as error:
        raise FileError(f"the saved program breaks a rule of the bytecode: {error}") from error
    if {len(options[name]) for name in ("types", "strict", "downcast", "defaults")} != {program.n_arguments}:
        raise FileError(f"a function has {program.n_arguments} arguments, but not as many types, flags and defaults")
    return SavedFunction(program, options)


add_kind("function", Callable, written_parts, function_from)

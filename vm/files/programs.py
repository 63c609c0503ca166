"""Programs as bytes and back, without their graphs and without what optimised them.

A saved program keeps bytecode, cells, kernels (each as its class and plain arguments), constants, what is a view of
what, texts for listings and errors, and its containers with the values they have at that moment. What is saved
together shares containers afterwards if it shared them before. See ``values`` for what a file may hold and ``archive``
for its bytes.

An op that has only ``perform`` is saved itself, with a description of its node. ``perform`` of an op that asks its node
for more than the description has fails when it is called, with a message that says so.
"""
import sys
from contextlib import contextmanager

import numpy

from phintys.graph import hooks
from phintys.vm.files import kernel_operands  # noqa: F401  (enters the rules of kernels)
from phintys.vm.files.archive import digest, pack, unpack
from phintys.vm.files.values import FileError, Reader, Unsaved, Writer
from phintys.vm.program import bytecode

BYTECODE = digest(bytecode()).hex()


def dumps(value, key=None, graphs=None):
    """Programs as bytes.

    Parameters
    ----------
    value : Program, function, or any structure of lists, tuples and dictionaries with such in it
    key : bytes, optional
        Who reads the file must have it, too, and then knows that nobody without it has changed anything.
    graphs : callable, optional
        Takes the writer, when it has written the value, and returns what ``Unread`` reads later.

    Returns
    -------
    bytes

    Raises
    ------
    TypeError
        If a kernel has no spec, or something cannot be saved: a graph, an op of a class that nobody else can import, an
        object that is no number, array, type, random state or sparse matrix.
    """
    return b"".join(dumped(value, key, graphs))


def dumped(value, key=None, graphs=None):
    """The same in parts, of which the arrays are no copies."""
    writer = Writer()
    try:
        content = {"made_by": made_by(), "bytecode": BYTECODE, "value": writer.write(value)}
        if graphs is not None:
            content["graphs"] = graphs(writer)
    except Unsaved as error:
        raise TypeError(f"what is to be saved holds {error}") from None
    except RecursionError as error:
        raise TypeError("what is to be saved has values that are too deep in each other") from error
    return pack(content, writer.arrays, key)


def made_by():
    """What a file says of its author: versions."""
    return {"phintys": hooks.version, "python": sys.version.split()[0], "numpy": numpy.__version__}


def loads(data, modules=(), key=None):
    """What ``dumps`` was given.

    Parameters
    ----------
    data : bytes-like
        Arrays that are not written to stay in this memory.
    modules : collection of str
        Modules that may define types and ops, besides phintys.
    key : bytes, optional
        That with which the file was written.

    Raises
    ------
    FileError
        If the data is not exactly what ``dumps`` has written, if it holds what this version of phintys does not have,
        or names a module that is not in ``modules``.
    """
    return loaded(data, modules, key)[0]


class Unread:
    """What lies behind the programs of a file.

    Attributes
    ----------
    reader : Reader
        That of the programs, which graphs refer to.
    graphs
        JSON, or None if the file has none.
    """

    def __init__(self, reader, graphs):
        self.reader, self.graphs = reader, graphs
        self._found = None

    def __call__(self, number):
        """The graph of a function."""
        if self._found is None:
            if hooks.saved_graphs is None:
                raise RuntimeError("graphs need more than phintys.runtime: import phintys.tensor, too")
            with as_file_errors("whose graphs are not such that this version can read them"):
                self._found = hooks.saved_graphs().read(self.reader, self.graphs)
        return self._found[number]


def loaded(data, modules=(), key=None):
    """What ``loads`` returns, and what lies behind it."""
    content, arrays = unpack(data, key)
    author = content.get("made_by")
    version = author.get("phintys") if isinstance(author, dict) else None
    if content.get("bytecode") != BYTECODE:
        raise FileError(f"the saved program was written by phintys {version}, whose bytecode is another: this version "
                        "does not read it, that one does")
    reader = Reader(arrays, modules, trusted=key is not None)
    with as_file_errors(f"written by phintys {version}, is not one that this version can run"):
        return reader.read(content.get("value")), Unread(reader, content.get("graphs"))


@contextmanager
def as_file_errors(what):
    """Raise ``FileError`` for whatever fails: a kernel refuses its arguments, a list is no list."""
    try:
        yield
    except FileError:
        raise
    except Exception as error:
        raise FileError(f"the saved program, {what}: {type(error).__name__}: {error}") from error

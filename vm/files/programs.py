"""Programs as bytes and back, without their graphs and without what optimised them.

A saved program keeps bytecode, cells, kernels (each as its class and plain arguments), constants, what is a view of
what, texts for listings and errors, and its containers with the values they have at that moment. What is saved
together shares containers afterwards if it shared them before. See ``values`` for what a file may hold and ``archive``
for its bytes.

An op that has only ``perform`` is saved itself, with a description of its node. ``perform`` of an op that asks its node
for more than the description has fails when it is called, with a message that says so.
"""
import sys

import numpy

from phintys.graph import hooks
from phintys.vm.files import kernel_operands  # noqa: F401  (enters the rules of kernels)
from phintys.vm.files.archive import digest, pack, unpack
from phintys.vm.files.values import FileError, Reader, Unsaved, Writer
from phintys.vm.program import bytecode

BYTECODE = digest(bytecode()).hex()


def dumps(value, key=None):
    """Programs as bytes.

    Parameters
    ----------
    value : Program, function, or any structure of lists, tuples and dictionaries with such in it
    key : bytes, optional
        Who reads the file must have it, too, and then knows that nobody without it has changed anything.

    Returns
    -------
    bytes

    Raises
    ------
    TypeError
        If a kernel has no spec, or something cannot be saved: a graph, an op of a class that nobody else can import, an
        object that is no number, array, type, random state or sparse matrix.
    """
    return b"".join(dumped(value, key))


def dumped(value, key=None):
    """The same in parts, of which the arrays are no copies."""
    writer = Writer()
    try:
        written = writer.write(value)
    except Unsaved as error:
        raise TypeError(f"what is to be saved holds {error}") from error
    except RecursionError as error:
        raise TypeError("what is to be saved has values that are too deep in each other") from error
    return pack({"made_by": made_by(), "bytecode": BYTECODE, "value": written}, writer.arrays, key)


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
    content, arrays = unpack(data, key)
    author = content.get("made_by")
    version = author.get("phintys") if isinstance(author, dict) else None
    if content.get("bytecode") != BYTECODE:
        raise FileError(f"the saved program was written by phintys {version}, whose bytecode is another: this version "
                        "does not read it, that one does")
    try:
        return Reader(arrays, modules, trusted=key is not None).read(content.get("value"))
    except FileError:
        raise
    except Exception as error:                  # a kernel refuses its arguments, a list is no list
        raise FileError(f"the saved program, written by phintys {version}, is not one that this version can run: "
                        f"{type(error).__name__}: {error}") from error

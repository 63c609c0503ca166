"""Signatures of C functions, and which programs can be called by them.

A row of ``SIGNATURES`` says how C code sees a function. Of the *flat* ones the arguments are pieces of one vector of
doubles, and results are written one after the other as doubles.
"""
import ctypes
from collections import namedtuple
from math import prod

import numpy

from phintys.vm.explaining.runtime_error import where_lines
from phintys.vm.loops.loop_kernel import loops_in
from phintys.vm.opcodes import OPCODES
from phintys.vm.places import HOST
from phintys.vm.program import DTYPES

# results: how many there must be at least and at most; None: any number. numbers: of the results, how many must be
# numbers, from the first on.
_Signature = namedtuple("_Signature", "name text result parameters flat fewest most numbers")


class Signature(_Signature):
    """How C code calls a function."""

    __slots__ = ()

    def ctypes_type(self):
        """The type of pointers to such functions."""
        return ctypes.CFUNCTYPE(self.result, *self.parameters)


DOUBLES = ctypes.POINTER(ctypes.c_double)
ADDRESSES = ctypes.POINTER(ctypes.c_void_p)
LENGTHS = ctypes.POINTER(ctypes.POINTER(ctypes.c_int64))

SIGNATURES = {row.name: row for row in (
    Signature("general",
              "int64_t (const void *const *, const int64_t *const *, void *const *, int64_t *const *, void *)",
              ctypes.c_int64, (ADDRESSES, LENGTHS, ADDRESSES, LENGTHS, ctypes.c_void_p), False, 0, None, 0),
    Signature("log_density", "int64_t (uint64_t, const double *, double *, double *, void *)",
              ctypes.c_int64, (ctypes.c_uint64, DOUBLES, DOUBLES, DOUBLES, ctypes.c_void_p), True, 2, None, 1),
    Signature("expand", "int64_t (uint64_t, uint64_t, const double *, double *, void *)",
              ctypes.c_int64, (ctypes.c_uint64, ctypes.c_uint64, DOUBLES, DOUBLES, ctypes.c_void_p), True, 1, None, 0),
    Signature("number", "double (double)", ctypes.c_double, (ctypes.c_double,), True, 1, 1, 1),
    Signature("number_data", "double (double, void *)",
              ctypes.c_double, (ctypes.c_double, ctypes.c_void_p), True, 1, 1, 1),
    Signature("numbers", "double (int, double *)", ctypes.c_double, (ctypes.c_int, DOUBLES), True, 1, 1, 1),
    Signature("numbers_data", "double (int, double *, void *)",
              ctypes.c_double, (ctypes.c_int, DOUBLES, ctypes.c_void_p), True, 1, 1, 1),
    Signature("window", "int (double *, intptr_t, double *, void *)",
              ctypes.c_int, (DOUBLES, ctypes.c_ssize_t, DOUBLES, ctypes.c_void_p), True, 1, 1, 1),
    Signature("line", "int (double *, intptr_t, double *, intptr_t, void *)",
              ctypes.c_int, (DOUBLES, ctypes.c_ssize_t, DOUBLES, ctypes.c_ssize_t, ctypes.c_void_p), True, 1, 1, 0),
)}

BY_TEXT = {row.text.replace(" ", ""): row for row in SIGNATURES.values()}


def signature_named(signature):
    """The row of a signature, by its name or its text in C."""
    row = SIGNATURES.get(signature) or BY_TEXT.get(str(signature).replace(" ", ""))
    if row is None:
        raise ValueError(f"there is no signature {signature!r}; expected one of "
                         f"{', '.join(repr(row.name) for row in SIGNATURES.values())}, or one of these in C: "
                         f"{', '.join(repr(row.text) for row in SIGNATURES.values())}")
    return row


# dtypes that a double has room for; the largest integers are rounded
AS_DOUBLES = frozenset("bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64".split())


def check_program(program, row, argument_names):
    """Raise if a program needs Python, or has other results than the signature wants.

    Raises
    ------
    NotImplementedError
        Naming what is not supported, its node, and where that was made.
    TypeError
        For arguments and results of other types than the signature has.
    """
    for text, inner in _programs(program):
        _check_instructions(inner, text)
    for number, cell in enumerate(program.cells[:program.n_arguments]):
        title = f"argument {number} ({argument_names[number] or program.argument_types[number]})"
        if row.flat and DTYPES[cell.typenum] != numpy.float64:
            raise TypeError(f"c_function({row.name!r}): {title} is of dtype {DTYPES[cell.typenum]}, but the signature "
                            f"{row.text} passes float64; use the signature 'general', or cast inside the function")
    results = program.result_cells()
    if len(results) < row.fewest or (row.most is not None and len(results) > row.most):
        wanted = f"{row.fewest}" if row.fewest == row.most else f"at least {row.fewest}"
        found = f"{len(results)} result" + "s" * (len(results) != 1)
        raise TypeError(f"c_function({row.name!r}): the function has {found}, expected {wanted}"
                        + (": the log-density, then its gradient" if row.name == "log_density" else ""))
    for number, cell in enumerate(results):
        if number < row.numbers and cell.ndim:
            raise TypeError(f"c_function({row.name!r}): result {number} has {cell.ndim} dimensions, expected a number")
        if row.flat and str(DTYPES[cell.typenum]) not in AS_DOUBLES:
            raise TypeError(f"c_function({row.name!r}): result {number} is of dtype {DTYPES[cell.typenum]}, which the "
                            "signature does not return: results are doubles")


def _programs(program, text=""):
    """A program, and those of the loops in it."""
    yield text, program
    for loop in loops_in(program):
        yield from _programs(loop.program, " in the body of a loop")


def _check_instructions(program, text):
    for position, instruction in enumerate(program.instructions()):
        if OPCODES[instruction.op].name == "CALL":
            _refuse(program, position, f"the op {_op_of(program, instruction)}{text} runs in Python: it has no kernel")
    for number, cell in enumerate(program.cells):
        if cell.kind == "constant" and number not in program.pool:
            continue
        if cell.typenum < 0:
            _refuse_cell(program, number, text, "is a Python object")
        if cell.place != HOST:
            _refuse_cell(program, number, text, "is on a device")


def _op_of(program, instruction):
    return program.calls[instruction.a].op


def _refuse(program, position, text):
    node = None if program.nodes is None else program.nodes[position]
    if node is None:
        where = [f"at instruction {position}: {program.instruction_texts()[position].operation}"]
    else:
        where = [f"Apply node: {node}", *where_lines(node)]
    raise NotImplementedError("\n".join([f"c_function: {text}", *where]))


def _refuse_cell(program, number, text, reason):
    cell = program.cells[number]
    what = {"argument": "the argument", "shared": "the shared variable", "constant": "the constant"}.get(
        cell.kind, "the value")
    shown = f" {cell.variable} of type {cell.variable.type}" if cell.variable is not None else f" C{number}"
    node = None if cell.variable is None else cell.variable.owner
    where = [] if node is None else [f"Apply node: {node}", *where_lines(node)]
    raise NotImplementedError("\n".join([f"c_function: {what}{shown}{text} {reason}; C code passes and gets arrays of "
                                         "the host alone", *where]))


def lengths_of(function, row, shapes):
    """The shape of each argument; None: C code says it, or, of a flat signature, it is the vector that takes the rest.

    Parameters
    ----------
    function : Callable
    row : Signature
    shapes : sequence or dict or None
        A shape for each argument, or by their names or numbers; None for an argument that types say enough about.
    """
    given = _given_shapes(function, shapes)
    lengths = [_lengths(function, row, index, shape) for index, shape in enumerate(given)]
    if not row.flat:
        return [None if shape is None or None in shape else shape for shape in lengths]
    unknown = [index for index, shape in enumerate(lengths) if None in shape]
    for index in unknown:
        if len(unknown) > 1 or len(lengths[index]) > 1:
            raise ValueError(
                f"c_function({row.name!r}): the shape of argument {index} ({title_of(function, index)}) is not known: "
                "give shapes=, a shape for each argument. (One vector of any length is allowed: it takes the rest.)")
        lengths[index] = None
    if row.name in ("number", "number_data") and (unknown or sum(prod(shape) for shape in lengths) != 1):
        if not (unknown and len(lengths) == 1):
            raise TypeError(f"c_function({row.name!r}): the arguments have "
                            f"{sum(prod(shape) for shape in lengths if shape is not None)} elements, but {row.text} "
                            "passes one; use 'numbers'")
    return lengths


def title_of(function, index):
    """The name of an argument, or its type if it has none."""
    return function.argument_names[index] or function.argument_types[index]


def _given_shapes(function, shapes):
    """A tuple or None for each argument."""
    count = len(function.argument_types)
    if shapes is None:
        return [None] * count
    if isinstance(shapes, dict):
        given = [None] * count
        for key, shape in shapes.items():
            index = key if isinstance(key, int) else (
                function.argument_names.index(key) if key in function.argument_names else -1)
            if not 0 <= index < count:
                raise ValueError(f"c_function: shapes has the key {key!r}, but the arguments are "
                                 f"{[title_of(function, number) for number in range(count)]}")
            given[index] = shape
        return given
    if len(shapes) != count:
        raise ValueError(f"c_function: shapes has {len(shapes)} entries, but there are {count} arguments")
    return list(shapes)


def _lengths(function, row, index, shape):
    """The lengths of an argument that are known, from its type and from what was given."""
    type_ = function.argument_types[index]
    known = list(getattr(type_, "shape", None) or (None,) * type_.ndim)
    for axis, broadcastable in enumerate(type_.broadcastable):
        if broadcastable:
            known[axis] = 1
    if shape is not None:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if len(shape) != type_.ndim:
            raise ValueError(f"c_function: the shape {shape} of argument {index} ({title_of(function, index)}) has "
                             f"{len(shape)} dimensions, expected {type_.ndim}")
        for axis, length in enumerate(shape):
            if length is None:
                continue
            if length < 0 or known[axis] not in (None, length):
                raise ValueError(f"c_function: the shape {shape} of argument {index} ({title_of(function, index)}) has "
                                 f"the length {length} in dimension {axis}, expected {known[axis]}")
            known[axis] = int(length)
    return tuple(known)


class SharedTable:
    """Values that C code passes instead of shared variables; made by ``CFunction.table``.

    Attributes
    ----------
    address : int
        What to pass as ``user_data``. The table must live as long as calls read it.
    values : list of numpy.ndarray
        The values, read-only.
    """

    def __init__(self, containers, values):
        known = {name: index for index, container in enumerate(containers)
                 for name in (container.name, container) if name is not None}
        self.values = [numpy.array(container.get(), order="C") for container in containers]
        for key, value in values.items():
            index = known.get(getattr(key, "container", key))
            if index is None:
                raise KeyError(f"the function reads no shared variable {key!r}; there are "
                               f"{[container.name or str(container.type) for container in containers]}")
            self.values[index] = _as_value(containers[index], value, self.values[index])
        for value in self.values:
            value.flags.writeable = False
        self._numbers = numpy.array([*[value.ctypes.data for value in self.values],
                                     *[value.size for value in self.values],
                                     *[length for value in self.values for length in value.shape], 0], dtype="uint64")
        self.address = self._numbers.ctypes.data


def _as_value(container, value, present):
    """A copy of a value in C order, of the dtype and rank of the present one."""
    value = numpy.asarray(value)
    if value.ndim != present.ndim:
        raise ValueError(f"the value of {container.name or container.type} has {value.ndim} dimensions, "
                         f"expected {present.ndim}")
    if not numpy.can_cast(value.dtype, present.dtype, "same_kind"):
        raise TypeError(f"the value of {container.name or container.type} is of dtype {value.dtype}, expected "
                        f"{present.dtype}")
    for axis, broadcastable in enumerate(container.type.broadcastable):
        if broadcastable and value.shape[axis] != 1:
            raise ValueError(f"the value of {container.name or container.type} has length {value.shape[axis]} in "
                             f"dimension {axis}, which is declared to be 1")
    return numpy.array(value, dtype=present.dtype, order="C")

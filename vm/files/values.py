"""What a program consists of, as JSON and arrays, and back: no code runs that the data names.

JSON's own values stand for themselves. Everything else is an object with one key, a row of ``READERS``:
``{"tuple": [...]}``, ``{"dtype": "<f8"}``, ``{"kernel": ["ops.shape.dimshuffle_kernel:DimShuffleKernel", ...]}``. A
class is looked up by name and must be what its key says: a kernel, a type or an op, defined in phintys or in a module
that the reader was told to trust. It is made by its constructor, or, as ``pickle`` makes plain objects, without it and
with attributes. Functions are not values: only ops that ``as_op`` made of a function are, by the name of the function.

Invariant: reading either returns what was written or raises ``FileError``; whether the parts fit together is checked
by the verifier afterwards, and by kernels when they are made.
"""
import copyreg
import math
import pickle
from array import array
from base64 import b85decode, b85encode
from importlib import import_module

import numpy

from phintys.graph.public_names import defined_in
from phintys.vm.abi import Kernel
from phintys.vm.containers.container import Container, restored
from phintys.vm.described_node import DescribedNode, DescribedVariable
from phintys.vm.files.operands import DEVICE, OperandError, check_instruction, described
from phintys.vm.kernel_spec import UFUNC_MODULES, ArraySpec, KernelSpec, PickleSpec, UfuncSpec, plain
from phintys.vm.linking.verifier import ProgramError, verify
from phintys.vm.program import CellLayout, Program
from phintys.vm.texts import CellText, InstructionText

RECORDS = {kind.__name__: kind for kind in (CellLayout, CellText, InstructionText)}
OWN_ROOMS = ("ops.", "vm.", "gpu.", "graph.", "interop.")   # of phintys, whose classes a file may name
DTYPES = {numpy.dtype(code).newbyteorder("<").str for code in "?bBhHiIlLqQefdFD"}
NAME = (str, type(None))
# Functions by which pickle makes types and ops of phintys again, and which a file may name.
REBUILDERS = ("ops.types.scalar_type:get_scalar_type", "ops.elementwise.scalar_op:scalar_op_named",
              "ops.elementwise.elementwise:_rebuilt", "ops.elementwise.first_dtype:in_first_dtype",
              "ops.elementwise.composite:Composite.of_steps")
# Lists of a program, and what is in them.
PARTS = (("kernels", Kernel), ("containers", Container), ("calls", DescribedNode), ("cells", CellLayout),
         ("known_cell_texts", CellText), ("known_instruction_texts", InstructionText))
PLAIN_STATES = {"RandomState": ("MT19937",),
                "Generator": ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")}


class FileError(ValueError):
    """A file is not a saved program, is damaged, or needs what is not there."""


class Unsaved(TypeError):
    """What no file can hold; the message names it."""


# ---- writing ---------------------------------------------------------------------------------------------------------
class Writer:
    """Turns values into JSON; arrays are collected.

    Attributes
    ----------
    arrays : list of ndarray
        What ``{"array": number}`` refers to.
    """

    def __init__(self):
        self.arrays = []
        self._numbers = {}                          # id of an object → its number; None while it is being written
        self._kept = []                             # the objects, so that ids stay theirs

    def write(self, value):
        """The JSON of a value.

        Raises
        ------
        Unsaved
            If it has none.
        """
        if value is None or isinstance(value, (bool, str)):
            return value
        for kinds, write in WRITERS:
            if isinstance(value, kinds):
                return write(self, value)
        return self.shared(value, self.object)

    def several(self, values):
        """A list of values."""
        return [self.write(value) for value in values]

    def shared(self, value, write):
        """An object that may occur several times: from the second time on, a reference."""
        if id(value) in self._numbers:
            number = self._numbers[id(value)]
            if number is None:
                raise Unsaved(f"{value!r}, which refers to itself")
            return {"same": number}
        number = len(self._kept)
        self._kept.append(value)
        self._numbers[id(value)] = None
        written = write(value)
        self._numbers[id(value)] = number
        return {"known": [number, written]}

    def float(self, value):
        """A number, or the text of one that JSON does not have: NaN and infinities."""
        return float(value) if math.isfinite(value) else {"float": repr(float(value))}

    def array(self, value):
        """The number of an array, which is collected; Unsaved for dtypes that files do not have."""
        if value.dtype.newbyteorder("<").str not in DTYPES:
            raise Unsaved(f"an array of dtype {value.dtype}")
        self.arrays.append(value)
        return {"array": len(self.arrays) - 1}

    def array_spec(self, spec):
        """The number of the array that a specification describes."""
        return self.array(numpy.frombuffer(spec.content, spec.dtype).reshape(spec.shape))

    def kernel(self, spec):
        return {"kernel": [self.name(spec.kernel), self.several(spec.arguments),
                           [[name, self.write(value)] for name, value in spec.named]]}

    def record(self, value):
        """A tuple, or a named one with its name."""
        if type(value).__name__ not in RECORDS:
            return {"tuple": self.several(value)}
        return {"record": [type(value).__name__, *self.several(value)]}

    def program(self, program):
        bare = program.without_graph()
        return {"program": {name: self.write(getattr(bare, name)) for name in Program.__slots__}}

    def container(self, container):
        _, fields = container.__reduce__()
        return {"container": self.several(fields)}

    def name(self, kind):
        """A class by the module that defines it, short for those of phintys."""
        module = defined_in(kind).removeprefix("phintys.")
        if "<" in kind.__qualname__ or module == "__main__":
            raise Unsaved(f"the class {kind.__qualname__} of {kind.__module__}, which no other process can import")
        return f"{module}:{kind.__qualname__}"

    def function_name(self, make):
        """What ``REBUILDERS`` would call a function."""
        module = defined_in(make) if hasattr(make, "__qualname__") else ""
        return f"{module.removeprefix('phintys.')}:{getattr(make, '__qualname__', '')}"

    def node(self, node):
        """A node that is called in Python."""
        try:
            return {"node": self.several([node.op, node.inputs, node.outputs, node.title])}
        except Unsaved as error:
            raise Unsaved(f"{node.op} (a {type(node.op).__name__}), an op that has only a perform in Python, with "
                          f"{error}") from error

    def object(self, value):
        """A type or an op by its class and what ``pickle`` would keep of it, and a few values of others."""
        kind = type(value)
        if kind.__name__ in PLAIN_STATES and kind.__module__.startswith("numpy.random"):
            return random_state(self, value)
        if kind.__module__.startswith("scipy.sparse"):
            return sparse_matrix(self, value)
        if not self.is_known(kind):
            raise Unsaved(f"a {kind.__name__}: {value!r}")
        try:
            reduced = value.__reduce_ex__(2)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            raise Unsaved(f"{value}, which cannot be pickled: {error}") from error
        if isinstance(reduced, str):                    # what `as_op` made: `kind` would be its class
            return {"global": f"{value.__module__}:{reduced}"}
        make, arguments, *rest = reduced
        state = rest[0] if rest else None
        function = self.function_name(make)
        if function in REBUILDERS:
            return {"rebuilt": [function, *self.several(arguments)]}
        if any(rest[1:]) or make not in (kind, copyreg.__newobj__):
            raise Unsaved(f"{value}, which pickle rebuilds by {make}")
        key, arguments = ("made", arguments) if make is kind else ("plain", arguments[1:])
        return {key: [self.name(kind), self.several(arguments), self.write(state)]}


def random_state(writer, value):
    """A ``RandomState`` or ``Generator`` of one of NumPy's bit generators, by its state."""
    kind = type(value).__name__
    bits = value._bit_generator if kind == "RandomState" else value.bit_generator
    if type(bits).__name__ not in PLAIN_STATES[kind]:
        raise Unsaved(f"a {kind} on a {type(bits).__name__}")
    state = value.get_state(legacy=False) if kind == "RandomState" else bits.state
    return {"random": [kind, type(bits).__name__, writer.write(state)]}


def sparse_matrix(writer, value):
    """A matrix of SciPy in one of the compressed formats."""
    if value.format not in ("csr", "csc"):
        raise Unsaved(f"a sparse matrix in the format {value.format}")
    return {"sparse": [type(value).__name__, writer.several([value.data, value.indices, value.indptr]),
                       list(value.shape)]}


def described_variable(writer, variable):
    """An input or output of a node that is called in Python."""
    constant = [variable.data] if hasattr(variable, "data") else []
    return {"variable": writer.several([variable.type, variable.name, variable.title, variable.index, constant])}


WRITERS = [
    (numpy.generic, lambda writer, value: {"number": writer.array(numpy.asarray(value))["array"]}),
    (int, lambda writer, value: int(value)),
    (float, Writer.float),
    (complex, lambda writer, value: {"complex": [writer.float(value.real), writer.float(value.imag)]}),
    (bytes, lambda writer, value: {"bytes": b85encode(value).decode()}),
    (numpy.dtype, lambda writer, value: {"dtype": value.str}),
    (numpy.ndarray, Writer.array),
    (numpy.ufunc, lambda writer, value: writer.write(plain(value))),
    (UfuncSpec, lambda writer, value: {"ufunc": list(value)}),
    (ArraySpec, Writer.array_spec),
    (PickleSpec, lambda writer, value: writer.program(pickle.loads(value.content))),        # it was written by itself
    (KernelSpec, Writer.kernel),
    (Kernel, lambda writer, value: writer.shared(value, lambda kernel: writer.kernel(kernel.spec))),
    (Program, lambda writer, value: writer.shared(value, writer.program)),
    (Container, lambda writer, value: writer.shared(value, writer.container)),
    (DescribedNode, lambda writer, value: writer.node(value)),
    (DescribedVariable, lambda writer, value: writer.shared(value, lambda one: described_variable(writer, one))),
    (list, Writer.several),
    (array, lambda writer, value: {"pool": value.tolist()}),
    (tuple, Writer.record),
    (dict, lambda writer, value: {"dict": [writer.several(item) for item in value.items()]}),
    (frozenset, lambda writer, value: {"frozenset": writer.several(sorted(value))}),
    (set, lambda writer, value: {"set": writer.several(sorted(value))}),
    (slice, lambda writer, value: {"slice": writer.several([value.start, value.stop, value.step])}),
]


# ---- reading ---------------------------------------------------------------------------------------------------------
class Reader:
    """Makes values from JSON.

    Parameters
    ----------
    arrays : list of ndarray
    modules : sequence of str
        Those that may define types and ops, besides phintys.
    trusted : bool, optional
        Whether nobody can have forged the file: then operands of kernels are not compared with their rules.
    """

    def __init__(self, arrays, modules=(), trusted=False):
        self.arrays, self.modules, self.trusted = arrays, modules, trusted
        self.rows = READERS
        self._known = {}

    def read(self, written):
        """The value that JSON describes.

        Raises
        ------
        FileError
            If it describes none.
        """
        if written is None or isinstance(written, (bool, int, float, str)):
            return written
        if isinstance(written, list):
            return self.several(written)
        if len(written) != 1:
            raise FileError(f"a value is described by {len(written)} keys instead of one")
        (key, content), = written.items()
        if key not in self.rows:
            raise FileError(f"a value is described by the unknown key {key!r}")
        return self.rows[key](self, content)

    def several(self, written):
        """A list of values."""
        return [self.read(value) for value in written]

    def known(self, content):
        number, written = content
        value = self.read(written)
        if number in self._known:
            raise FileError(f"two values have the number {number}")
        self._known[number] = value
        return value

    def array(self, number):
        """The array of a number."""
        if not 0 <= number < len(self.arrays):
            raise FileError(f"there is no array {number}")
        return self.arrays[number]

    def kernel(self, content):
        name, arguments, named = content
        kind = self.class_of(name, is_described, "kernel or part of one")
        arguments, named = self._given(arguments), {key: self._given(value) for key, value in named}
        if not self.trusted:
            if kind.__module__.startswith(DEVICE) and "phintys.gpu" not in self.modules:
                raise FileError(f"the file needs {name}, a kernel of a GPU, which has no rule for operands: read it "
                                "with the key that it was written with, or by load(..., modules=['phintys.gpu'])")
            try:
                described(kind, arguments, named)
            except OperandError as error:
                raise FileError(f"the saved program is not sound: {error}") from error
        return kind(*arguments, **named)

    def _given(self, written):
        """A constructor's arguments: lists are tuples there."""
        value = self.read(written)
        return tuple(value) if isinstance(value, list) else value

    def program(self, fields):
        if set(fields) != set(Program.__slots__):
            raise FileError(f"a program has the parts {', '.join(sorted(fields))}")
        program = Program(**{name: self.read(value) for name, value in fields.items()})
        self.check_parts(program, PARTS)
        lengths = [(program.cells, program.known_cell_texts), (program.instructions(), program.known_instruction_texts)]
        names = [program.name, *[text.name for text in program.known_cell_texts]]
        if any([len(parts) != len(texts) for parts, texts in lengths]) or not all([isinstance(name, NAME)
                                                                                   for name in names]):
            raise FileError("a program has not as many texts as cells and instructions, or names that are no text")
        self.verify(program)
        return program

    def check_parts(self, program, parts):
        """Raise unless the lists of a program hold what they are for."""
        for name, kind in parts:
            for part in getattr(program, name):
                if not isinstance(part, kind):
                    raise FileError(f"there is a {type(part).__name__} in the place of a {kind.__name__}")

    def verify(self, program):
        """Raise unless a program keeps the rules of the bytecode and of its kernels."""
        try:
            verify(program, None if self.trusted else check_instruction)
        except ProgramError as error:
            raise FileError(f"the saved program breaks a rule of the bytecode: {error}") from error

    def made(self, content):
        """An object of a class that takes the arguments, with its state."""
        name, arguments, state = content
        kind = self.class_of(name)
        self._check_form(kind, True, state)
        return with_state(kind(*self.several(arguments)), self.read(state))

    def plain(self, content):
        """An object that is made without calling ``__init__``, with its state."""
        name, arguments, state = content
        kind = self.class_of(name)
        self._check_form(kind, False, state)
        return with_state(kind.__new__(kind, *self.several(arguments)), self.read(state))

    def _check_form(self, kind, is_made, state):
        """Raise unless an object of phintys is described as ``pickle`` does it: one that its constructor makes has no
        attributes but those that it sets, and others have no layout, which says how their values lie in memory."""
        if self.trusted or not kind.__module__.startswith("phintys."):
            return
        by_itself = kind.__reduce__ is not object.__reduce__
        given = [] if state is None else [name for name, _ in state["dict"]]
        if is_made != by_itself or (is_made and given) or (hasattr(kind, "filter") and "layout" in given):
            raise FileError(f"a {kind.__name__} is described as no {kind.__name__} is")

    def global_op(self, name):
        """An op that stands under its name in a module."""
        value = self.found(name)
        if isinstance(value, type) or not hasattr(value, "make_node"):
            raise FileError(f"{name} is no op")
        return value

    def rebuilt(self, content):
        """A type or op, by one of ``REBUILDERS``."""
        name, *arguments = content
        if name not in REBUILDERS:
            raise FileError(f"{name} is no function that makes types or ops")
        return self.found(name)(*self.several(arguments))

    def class_of(self, name, is_one=None, what="type or op"):
        """A class that a file may name."""
        found = self.found(name)
        if not isinstance(found, type) or not (is_one or self.is_known)(found):
            raise FileError(f"{name} is no {what}")
        return found

    def found(self, name):
        """What a module that may be named has under a name."""
        module, _, path = name.partition(":")
        own = module.startswith(OWN_ROOMS)
        if not own and module not in self.modules:
            raise FileError(f"the file needs {path} of the module {module}, which is imported only if you say so: "
                            f"load(..., modules=[{module!r}])")
        try:
            found = import_module(f"phintys.{module}" if own else module)
            for part in path.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError) as error:
            raise FileError(f"the file needs {name}, which is not there: {error}") from error
        return found


def is_described(kind):
    """Whether objects of a class have a ``spec``: kernels, and the code of scalars that they take."""
    return isinstance(getattr(kind, "spec", None), (property, type(Kernel.spec)))


def is_type_or_op(kind):
    """Whether a class is one of types or of ops."""
    return hasattr(kind, "filter") or hasattr(kind, "make_node")


Writer.is_known = Reader.is_known = staticmethod(is_type_or_op)


def with_state(value, state):
    """An object with the attributes that pickle would give it."""
    if state is None:
        return value
    if not isinstance(state, dict):
        raise FileError(f"the attributes of a {type(value).__name__} are no dictionary")
    if hasattr(type(value), "__setstate__"):
        value.__setstate__(state)
    else:
        vars(value).update(state)
    return value


def number_of(reader, number):
    """A NumPy number."""
    return reader.array(number).reshape(())[()]


def record_of(reader, content):
    """A named tuple."""
    name, *fields = content
    if name not in RECORDS or len(fields) != len(RECORDS[name]._fields):
        raise FileError(f"there is no record {name} of {len(fields)} fields")
    return RECORDS[name](*reader.several(fields))


def container_of(reader, content):
    """The storage of a shared variable, in memory of its own."""
    kind, value, *fields = reader.several(content)
    return restored(kind, value.copy() if isinstance(value, numpy.ndarray) else value, *fields)


def variable_of(reader, content):
    """An input or output of a node that is called in Python."""
    *fields, constant = reader.several(content)
    return DescribedVariable(*fields, constant=constant)


def ufunc_of(content):
    """A ufunc of NumPy or SciPy."""
    module, name = content
    found = getattr(import_module(module), name, None) if module in UFUNC_MODULES else None
    if not isinstance(found, numpy.ufunc):
        raise FileError(f"{module} has no ufunc {name}")
    return found


def random_state_of(reader, content):
    """A random state from NumPy's description of it, which NumPy checks."""
    from numpy import random

    kind, name, state = content
    if name not in PLAIN_STATES.get(kind, ()):
        raise FileError(f"there is no {kind} on a {name}")
    bits = getattr(random, name)()
    state = reader.read(state)
    if kind == "Generator":
        bits.state = state
        return random.Generator(bits)
    value = random.RandomState(bits)
    value.set_state(state)
    return value


def sparse_matrix_of(reader, content):
    """A sparse matrix; SciPy checks every index."""
    from scipy import sparse

    name, parts, shape = content
    if name not in ("csr_matrix", "csc_matrix", "csr_array", "csc_array"):
        raise FileError(f"there is no sparse matrix {name}")
    data, indices, indptr = [part.copy() for part in reader.several(parts)]
    value = getattr(sparse, name)((data, indices, indptr), shape=tuple(shape))
    value.check_format(full_check=True)
    return value


READERS = {
    "same": lambda reader, number: reader._known[number],
    "known": Reader.known,
    "float": lambda reader, text: float(text),
    "complex": lambda reader, parts: complex(*reader.several(parts)),
    "bytes": lambda reader, text: b85decode(text),
    "dtype": lambda reader, text: numpy.dtype(text),
    "array": Reader.array,
    "number": number_of,
    "ufunc": lambda reader, content: ufunc_of(content),
    "kernel": Reader.kernel,
    "program": Reader.program,
    "container": container_of,
    "record": record_of,
    "node": lambda reader, content: DescribedNode(*reader.several(content)),
    "variable": variable_of,
    "tuple": lambda reader, content: tuple(reader.several(content)),
    "dict": lambda reader, content: dict([tuple(reader.several(item)) for item in content]),
    "frozenset": lambda reader, content: frozenset(reader.several(content)),
    "set": lambda reader, content: set(reader.several(content)),
    "pool": lambda reader, numbers: array("i", numbers),
    "slice": lambda reader, content: slice(*reader.several(content)),
    "made": Reader.made,
    "plain": Reader.plain,
    "global": Reader.global_op,
    "rebuilt": Reader.rebuilt,
    "random": random_state_of,
    "sparse": sparse_matrix_of,
}


def add_kind(key, kind, write, read):
    """Let files hold objects of another class.

    Parameters
    ----------
    key : str
    kind : type
    write : callable
        Takes such an object and returns a list of values.
    read : callable
        Takes these values and returns an object.
    """
    def written(writer, value):
        return writer.shared(value, lambda one: {key: writer.several(write(one))})

    WRITERS.append((kind, written))
    READERS[key] = lambda reader, content: read(*reader.several(content))

"""Writes operations.md from the docstrings of public names: ``python docs/write_operations.py``.

A test fails when the page is out of date.

``NAMESPACES`` lists the namespaces that have public names. ``FAMILIES`` says under which heading a name is listed: the
heading of the module that defines it. A public name whose module has no heading is an error, and so is a name without
a docstring.
"""
import importlib
import inspect
import re
from pathlib import Path
from textwrap import fill

import numpy

import phintys
import phintys.compile
import phintys.gradient
import phintys.ifelse
import phintys.memory
import phintys.printing
import phintys.scan_module
import phintys.solvers
import phintys.sparse
import phintys.tensor as T
import phintys.tensor.blas
import phintys.tensor.fft
import phintys.tensor.nlinalg
import phintys.tensor.opt
import phintys.tensor.signal.pool
import phintys.tensor.slinalg
import phintys.tensor.xlogx
from phintys.graph.op import Op
from phintys.graph.public_names import defined_in
from phintys.graph.type import Type
from phintys.numpy_protocol import FUNCTIONS
from phintys.numpy_protocol import UFUNCS as OTHER_UFUNCS
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.elementwise.help_text import operand_names
from phintys.ops.elementwise.scalar_op import SCALAR_OPS
from phintys.ops.operators import UFUNCS, TensorOperators
from phintys.tensor.constructors import LETTERS, LETTERS_WITH_PLURAL, RANKS

PAGE = Path(__file__).with_name("operations.md")

# Prefix → namespace. A value that several namespaces have is listed under the first one.
NAMESPACES = {"T.": T, "T.nnet.": T.nnet, "T.nnet.abstract_conv.": T.nnet.abstract_conv,
              "T.linalg.": T.linalg, "T.nlinalg.": T.nlinalg, "T.slinalg.": T.slinalg,
              "phintys.": phintys, "gradient.": phintys.gradient, "ifelse.": phintys.ifelse,
              "scan_module.": phintys.scan_module,
              "printing.": phintys.printing, "d3viz.": phintys.d3viz, "compile.": phintys.compile,
              "memory.": phintys.memory, "solvers.": phintys.solvers,
              "T.opt.": T.opt, "T.signal.pool.": T.signal.pool, "T.nnet.neighbours.": T.nnet.neighbours,
              "T.nnet.blocksparse.": T.nnet.blocksparse, "T.nnet.ctc.": T.nnet.ctc, "T.fft.": T.fft, "T.blas.": T.blas,
              "T.special.": T.special,
              "T.xlogx.": T.xlogx, "sparse.": phintys.sparse}

# Heading, introduction, and the modules and folders whose names are listed under it.
FAMILIES = [
    ("Making tensors",
     "From values, or with values that are computed when the function runs. `T.mgrid[0:2, 0:3]` and `T.ogrid` "
     "return the coordinates of a grid.",
     "ops.types.constant ops.indexing.constant_value ops.creation tensor.constructors"),
    ("Elementwise functions",
     "Operands broadcast. Each of these is an `Elemwise` around a scalar op of the table in "
     "`ops/elementwise/scalar.py`, or a function that chooses one. `T.inplace` has most of them again, with the "
     "ending `_inplace`, as ops that may overwrite their first argument.",
     "ops.elementwise"),
    ("Indexing",
     "`x[...]` takes what NumPy takes: integers, slices, `None`, `...`, arrays of integers, masks, and any "
     "mixture, each symbolic or not.",
     "ops.indexing ops.types.slice_type ops.linalg.diagonal ops.linalg.triangle"),
    ("Linear algebra",
     "Of matrices and stacks of matrices, in float32, float64, complex64 and complex128, by LAPACK. All have gradients "
     "and R-operators. Singular matrices and those that are not positive definite raise `numpy.linalg.LinAlgError`.",
     "ops.factorizations"),
    ("Shapes",
     "Asking for a shape never computes the value.",
     "ops.shape ops.rearranging.rearranging"),
    ("Joins, parts and repetitions",
     "",
     "ops.shape.join ops.shape.split ops.rearranging.repeat"),
    ("Reductions",
     "`axis` is an integer, a sequence of integers, or None for all. The reduction of an empty tensor is the "
     "identity of the operation, or an error if it has none.",
     "ops.reduction ops.cumulative.product ops.linalg.covariance"),
    ("Cumulative, sorting and searching",
     "",
     "ops.cumulative ops.sorting"),
    ("Fourier transforms",
     "By NumPy's pocketfft, with gradients and R-operators. `T.fft.rfft` and `T.fft.irfft` are Theano's: over all "
     "dimensions but the first, with real and imaginary parts in a last dimension. The others are NumPy's.",
     "ops.fourier"),
    ("Products",
     "Computed by BLAS, for any strides.",
     "ops.products ops.linalg.einsum"),
    ("More of NumPy's functions",
     "Short expressions that use the functions above.",
     "ops.numpy_functions ops.numerical_functions ops.compositions"),
    ("Linear algebra",
     "By LAPACK, for stacks of matrices too: the last two dimensions are those of the matrices.",
     "ops.factorizations"),
    ("Solvers",
     "`solvers` is `phintys.solvers`. The functions take Python functions of variables; the steps are loops of the "
     "compiled function, and the derivatives those of the solution.",
     "solvers"),
    ("Neural networks",
     "",
     "ops.nnet"),
    ("Pooling and neighbourhoods",
     "Images are the last dimensions of a tensor; all others count their channels and examples.",
     "ops.pooling"),
    ("Convolutions",
     "Of images and volumes, with filters that are flipped unless `filter_flip=False`. All have gradients of any order "
     "and R-operators. `T.nnet.abstract_conv` has the gradients and shapes of convolutions by themselves, and "
     "upsampling.",
     "ops.convolution"),
    ("Sparse matrices",
     "`sparse` is `phintys.sparse`. SciPy computes with matrices in CSR and CSC format; functions of stored elements "
     "are compiled loops.",
     "ops.sparse sparse"),
    ("Gradients",
     "The names in `T` are in `gradient`, too.",
     "graph.gradients graph.valueless_types ops.loops.jacobian ops.loops.vectorize transforms"),
    ("Lazy branches",
     "`T.switch` computes both of its branches, `ifelse` only one.",
     "ops.graphs.ifelse"),
    ("Loops",
     "The loop is part of the graph: its number of steps may be an expression, and gradients go through it.",
     "scan_module"),
    ("Functions, shared variables and modes",
     "",
     "function making compile runtime vm.files io shared updates modes debugging vm.containers.container graph.config "
     "include_path "
     "as_theano onnx_export ops.identity.deep_copy"),
    ("Memory",
     "",
     "memory vm.pool"),
    ("Writing your own ops",
     "",
     "ops.graphs.as_op ops.graphs.op_from_graph graph.op tensor.opt gof"),
    ("Printing and checking",
     "",
     "printing d3viz self_test reports ops.identity.print_op ops.identity.assertion"),
    ("Graphs and types",
     "",
     "phintys graph optimizer.passes.shapes ops.operators ops.types ops.identity.transfer"),
    ("Exceptions",
     "",
     "graph.errors"),
]
# Names that a namespace imports for its own use are not listed.
NOT_LISTED = ("scalar",)

HEAD = """# Operations

Written by `docs/write_operations.py` from the docstrings; edit the docstrings, not this file. `help(T.name)` shows
the full text.

`T` is `phintys.tensor`; `gradient`, `ifelse`, `scan_module`, `printing`, `d3viz`, `compile` and `memory` are modules of
`phintys`. Use the functions to write models. The tables "op" list the classes of the nodes that appear in graphs, and
their instances.
"""


def family_of(value):
    """The heading under which a public value is listed, or None for names that a module only imports."""
    module = defined_in(value) or ""
    name = module.removeprefix("phintys.")
    if not module.startswith("phintys") or name in NOT_LISTED:
        return None
    while name:                         # the module itself, or else the innermost folder around it that is listed
        for heading, _, modules in FAMILIES:
            if name in modules.split():
                return heading
        name = name.rpartition(".")[0]
    raise LookupError(f"{value!r} of {module} is public: say in FAMILIES of docs/write_operations.py which heading "
                      "lists it")


def public_values():
    """Lists of names, by the identity of what they name, in the order of the namespaces; and the values themselves."""
    names, values = {}, {}
    for prefix, namespace in NAMESPACES.items():
        public = getattr(namespace, "__all__", None) or dir(namespace)
        for name in sorted(public, key=lambda name: (name.lower(), name)):
            value = getattr(namespace, name)
            listed = callable(value) and not inspect.ismodule(value) and not isinstance(value, Type)
            if name.startswith("_") or not listed or (isinstance(value, Elemwise) and value.inplace_pattern):
                continue
            if name in CONSTRUCTORS and prefix == "T.":
                continue
            values[id(value)] = value
            known = names.setdefault(id(value), [])
            if not known or known[0].startswith(prefix):
                known.append(prefix + name)
    return names, values


def constructor_names():
    """All names of constructors: with a letter, without a letter, and in the plural."""
    letters = ["", *LETTERS]
    plurals = ["", *LETTERS_WITH_PLURAL]
    return {letter + rank for rank in RANKS for letter in letters} | {
        letter + plural for _, plural in RANKS.values() for letter in plurals}


CONSTRUCTORS = constructor_names()


def signature(value):
    """The parameters of a function or class as text; of an elementwise op the names of its operands."""
    if isinstance(value, Elemwise):
        return f"({', '.join(operand_names(value.scalar_op))})"
    if isinstance(value, type) and issubclass(value, Exception):
        return ""
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:                                  # a compiled class
        return ""
    return "(" + ", ".join(named(parameter) for parameter in parameters) + ")"


def named(parameter):
    """A parameter with its default; functions among the defaults by name: addresses differ in each run."""
    default = parameter.default
    if inspect.isroutine(default) or inspect.isclass(default) and default is not inspect.Parameter.empty:
        return f"{parameter.name}={default.__name__}"
    return str(parameter.replace(annotation=inspect.Parameter.empty))


DIFFERENT = "Where the arguments or results are Theano's, the page of NumPy's functions says so."
# Module → the modules that have functions of the same names and meanings.
COUNTERPARTS = {"T.linalg.": ("numpy.linalg", "scipy.linalg"), "T.slinalg.": ("scipy.linalg",),
                "T.nlinalg.": ("numpy.linalg",), "T.fft.": ("numpy.fft",), "T.special.": ("scipy.special",)}


def counterpart(names):
    """What says which function of NumPy or SciPy does the same on arrays, or an empty text."""
    for name in names:
        prefix, _, last = name.rpartition(".")
        if name in ("T.fft.rfft", "T.fft.irfft"):               # Theano's, of real and imaginary parts
            return ""
        if prefix == "T" and (last in FUNCTIONS or last in UFUNCS or last in OTHER_UFUNCS) and hasattr(numpy, last):
            return (f"On arrays `numpy.{last}`; `numpy.{last}(x)` of a symbolic variable builds a graph, too. "
                    f"{DIFFERENT}")
        for module in COUNTERPARTS.get(f"{prefix}.", ()):
            if hasattr(importlib.import_module(module), last):
                return f"On arrays `{module}.{last}`. {DIFFERENT}"
        if prefix == "T" and hasattr(importlib.import_module("scipy.special"), last):
            return f"On arrays `scipy.special.{last}`."
    return ""


def shapes(value):
    """What shape the result has, where the kind of the function says it; or an empty text."""
    if isinstance(value, Elemwise):
        return "The operands are broadcast against each other, and the result has their common shape."
    try:
        parameters = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return ""
    if {"axis", "keepdims"} <= {*parameters}:
        return ("The result has the dimensions of the operand but those of `axis`; with `keepdims` these have the "
                "length 1.")
    return ""


def first_sentence(value):
    """The first sentence of a docstring in Markdown."""
    value = value.scalar_op if isinstance(value, Elemwise) else value
    described = value if isinstance(value, (Op, type)) or inspect.isroutine(value) else type(value).__call__
    text = described.__doc__
    if not text:
        raise LookupError(f"{value!r} is public and has no docstring")
    beginning = " ".join(inspect.cleandoc(text).split("\n\n")[0].split())
    sentence = re.split(r"(?<=\.) (?=[A-Z])", beginning)[0]
    return sentence.replace("``", "`").replace("|", r"\|")


def row(names, value):
    """One line of a table: all names, the first with the signature, and what it does."""
    first, *others = names
    called = f"{first}{signature(value)}".replace("|", r"\|")
    return "| " + ", ".join(f"`{text}`" for text in [called, *others]) + f" | {first_sentence(value)} |"


def table(title, rows):
    """A table, or nothing."""
    return [f"| {title} | |", "|---|---|", *rows, ""] if rows else []


def section(heading, introduction, entries):
    """A family: its functions, then its classes with the ops that are made of them."""
    instances = {}
    for names, value in entries:
        if isinstance(value, Op) and not isinstance(value, Elemwise):
            instances.setdefault(type(value), []).extend(names)
    functions = [(names, value) for names, value in entries
                 if isinstance(value, Elemwise) or not isinstance(value, (Op, type))]
    classes = [(names, value) for names, value in entries if isinstance(value, type)]
    ops = [(names + sorted(instances.pop(value, [])), value) for names, value in classes if issubclass(value, Op)]
    others = [(names, value) for names, value in classes if not issubclass(value, Op)]
    ops += [(names, type_) for type_, names in instances.items()]       # ops whose class has no public name
    return [f"## {heading}", "", *([paragraph(introduction), ""] if introduction else []),
            *table("function", [row(*entry) for entry in functions]),
            *table("class", [row(*entry) for entry in others]),
            *table("op", [row(*entry) for entry in ops])]


def place(entry):
    """The sort key of an entry in its family: scalar ops in the order of their table, then all else by name."""
    names, value = entry
    order = list(SCALAR_OPS).index(value.scalar_op.name) if isinstance(value, Elemwise) else len(SCALAR_OPS)
    return order, names[0].split("(")[0].rsplit(".", 1)[1].lower()


def constructors():
    """The constructors of variables."""
    letters = ", ".join(f"`{letter}` {dtype}" for letter, dtype in LETTERS.items())
    rows = [f"| `T.{rank}(name=None, dtype=None)`, `T.{plural}(*names)` | `{broadcastable}` |"
            for rank, (broadcastable, plural) in RANKS.items()]
    return ["## Variables", "",
            paragraph(f"A letter in front fixes the dtype, which is `config.floatX` otherwise: {letters}. "
                      f"`T.dmatrix('x')` is a float64 matrix. Plurals (`T.matrices('x', 'y')`) have the letters "
                      f"{listed(LETTERS_WITH_PLURAL)}."), "",
            "| constructor | broadcastable dimensions |", "|---|---|", *rows, ""]


def notation():
    """Operators and methods of variables, and the NumPy functions that accept variables."""
    public = [name for name in dir(TensorOperators) if not name.startswith("_")]
    properties = [name for name in public if isinstance(getattr(TensorOperators, name), property)]
    methods = [f"{name}()" for name in public if name not in properties]
    return ["## Notation", "",
            paragraph("Python's operators build nodes, except `==` and `!=`, which compare identity (`T.eq`, `T.neq`). "
                      f"Tensor variables have the properties {listed(properties)} and the methods {listed(methods)}."),
            "", paragraph(f"NumPy's functions that take tensor variables: {listed(numpy_functions())}."), ""]


def numpy_functions():
    """The names of NumPy's functions and ufuncs that build graphs."""
    return sorted({*FUNCTIONS, *UFUNCS, *OTHER_UFUNCS})


def paragraph(text):
    """A text in lines of at most 120 columns."""
    return fill(text, 120, break_long_words=False, break_on_hyphens=False)


def listed(names):
    """Names in code style, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)


def page():
    """The text of operations.md."""
    names, values = public_values()
    families = {heading: [] for heading, _, _ in FAMILIES}
    for key, known in names.items():
        heading = family_of(values[key])
        if heading:
            families[heading].append((known, values[key]))
    lines = [HEAD, *constructors(), *notation()]
    for heading, introduction, _ in FAMILIES:
        lines += section(heading, introduction, sorted(families[heading], key=place))
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())

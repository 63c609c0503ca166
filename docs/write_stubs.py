"""Writes the stubs (``.pyi``) from which type checkers and editors know names: ``python docs/write_stubs.py``.

Many public names are made by tables, so no checker finds them by reading the code. The stubs say them one by one, with
the signatures that the functions have. Types are those of the function's own annotations; where a function has none,
what type a parameter has is said here, by its name or its default. A test says when a stub is not current.
"""
import importlib
import inspect
import re
from pathlib import Path
from textwrap import fill, wrap
from types import ModuleType

from phintys import tensor
from phintys.graph.op import Op
from phintys.graph.public_names import defined_in
from phintys.graph.type import Type
from phintys.graph.variable import Variable
from phintys.ops.elementwise.elementwise import Elemwise
from phintys.ops.operators import TensorOperators, TensorVariable
from phintys.ops.types.tensor_type import TensorType

ROOT = Path(__file__).resolve().parent.parent

# Module → its stub
STUBS = {"phintys": "api/__init__.pyi", "phintys.tensor": "api/tensor/__init__.pyi",
         "phintys.tensor.nnet": "api/tensor/nnet/__init__.pyi", "phintys.tensor.blas": "api/tensor/blas.pyi",
         "phintys.tensor.extra_ops": "api/tensor/extra_ops.pyi", "phintys.tensor.fft": "api/tensor/fft.pyi",
         "phintys.tensor.nlinalg": "api/tensor/nlinalg.pyi", "phintys.tensor.slinalg": "api/tensor/slinalg.pyi",
         "phintys.tensor.signal.conv": "api/tensor/signal/conv.pyi",
         "phintys.tensor.signal.pool": "api/tensor/signal/pool.pyi",
         "phintys.ops.operators": "ops/operators.pyi"}

# Type → names of the parameters that have it.
PARAMETERS = {
    "_TensorLike": """a a_max a_min arr aweights b c condition fweights input m model other perm repeats right v value
        values weights x y""",
    "_TensorLike | None": "sorter",
    "_Axis": "axis",
    "DTypeLike | None": "dtype acc_dtype",
    "str | None": "name",
    "int | None": "ndim outdim",
    "_Shape": "shape newshape reps",
    "int": "axis1 axis2",
    "_Any": "axes k",
    "bool": "keepdims",
    "_TensorLike | Sequence[_TensorLike]": "choices",
}
TYPES = {name: annotation for annotation, names in PARAMETERS.items() for name in names.split()}

# (Function or method, parameter) → type, where the name alone misleads.
PARTICULAR = {("cast", "dtype"): "DTypeLike", ("astype", "dtype"): "DTypeLike", ("join", "axis"): "int | Variable",
              ("cov", "y"): "_TensorLike | None", ("bincount", "weights"): "_TensorLike | None",
              ("average", "weights"): "_TensorLike | None", ("cov", "fweights"): "_TensorLike | None",
              ("cov", "aweights"): "_TensorLike | None", ("alloc", "shape"): "_TensorLike",
              ("searchsorted", "sorter"): "_TensorLike | None", ("get_scalar_constant_value", "v"): "_Any",
              ("tensor", "name"): "str | None", ("relu", "alpha"): "_TensorLike", ("dimshuffle", "pattern"): "_Any",
              ("__getitem__", "index"): "_Any"}

# Type of a default → type of the parameter. Whole numbers may be symbolic: ``arange(n, step=k)``.
OF_DEFAULTS = {bool: "bool", str: "str", float: "float", int: "int | Variable"}

# Function or method → what it returns, unless that is a tensor variable.
RESULTS = {
    "tuple[TensorVariable, TensorVariable]": "divmod __divmod__ __rdivmod__ max_and_argmax slogdet",
    "list[TensorVariable]": """split broadcast_arrays confusion_matrix crossentropy_softmax_1hot
        crossentropy_softmax_1hot_with_bias eigh histogram topk_and_argtopk""",
    "_Any": """atleast_1d atleast_2d atleast_3d average batch_normalization_train
        crossentropy_softmax_max_and_argmax_1hot crossentropy_softmax_max_and_argmax_1hot_with_bias extract_constant
        get_canonical_form_slice get_scalar_constant_value gradient linspace lu lu_factor nonzero ordqz qr
        qz schur
        as_op register_transfer sparse_grad svd transfer unique unravel_index vectorize vectorize_graph""",
    "int": "get_vector_length ndim",
    "str": "upcast __format__",
    "bool": "is_flat __bool__ values_eq_approx_always_true",
    "None": "save verify_grad",
    "Iterator[TensorVariable]": "__iter__",
}
RETURNS = {name: annotation for annotation, names in RESULTS.items() for name in names.split()}

CONSTRUCTORS = "phintys.tensor.constructors"
ELEMENTWISE = {-1: "_OfMany", 1: "_OfOne", 2: "_OfTwo", 3: "_OfThree"}

NO_BREAK = "\N{NO-BREAK SPACE}"                   # at which `textwrap` does not begin a line

HEADER = '''"""Written by docs/write_stubs.py."""
'''
IMPORTS = ["from collections.abc import Iterator", "from collections.abc import Sequence",
           "from types import ModuleType", "from typing import Any as _Any", "from typing import TypeAlias",
           "import numpy", "from numpy.typing import DTypeLike"]
ALIASED = "_Axis _OfMany _OfOne _OfThree _OfTwo _Shape _TensorLike".split()
ALIASES = """
_TensorLike: TypeAlias = Variable | numpy.ndarray | numpy.generic | complex | list[_Any] | tuple[_Any, ...]
_Axis: TypeAlias = int | Sequence[int] | numpy.ndarray | Variable | None
_Shape: TypeAlias = int | Variable | Sequence[int | Variable | None] | numpy.ndarray | numpy.integer

class _OfOne(Elemwise):
    def __call__(  # type: ignore[override]
        self, x: _TensorLike, /, *, return_list: bool = ..., **options: _Any) -> TensorVariable: ...

class _OfTwo(Elemwise):
    def __call__(  # type: ignore[override]
        self, x: _TensorLike, y: _TensorLike, /, *, return_list: bool = ..., **options: _Any) -> TensorVariable: ...

class _OfThree(Elemwise):
    def __call__(  # type: ignore[override]
        self, x: _TensorLike, y: _TensorLike, z: _TensorLike, /, *, return_list: bool = ...,
        **options: _Any) -> TensorVariable: ...

class _OfMany(Elemwise):
    def __call__(self, *tensors: _TensorLike, return_list: bool = ..., **options: _Any) -> TensorVariable: ...
"""


def annotation_of(function, parameter):
    """The type of a parameter: as the tables say, else that of its default."""
    found = PARTICULAR.get((function, parameter.name), TYPES.get(parameter.name))
    default = parameter.default
    if found is None:
        found = OF_DEFAULTS.get(type(default), "_Any")
    if default is None and not found.endswith("None") and found not in ("_Any", "_Axis"):
        found += " | None"
    return found


def parameter_text(function, parameter):
    star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    default = "" if parameter.default is parameter.empty else f" = {parameter.default!r}"
    annotation = "_Any" if star == "**" else annotation_of(function, parameter)
    return f"{star}{parameter.name}: {annotation}{default}"


def function_text(name, function, indent=""):
    """``def name(...) -> ...: ...`` in lines of at most 120 characters."""
    result = RETURNS.get(name, "TensorVariable")
    parameters = list(inspect.signature(function).parameters.values())
    parts, starred = ["self"] if indent else [], False
    for parameter in parameters[len(parts):]:
        if parameter.kind == parameter.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred = starred or parameter.kind in (parameter.VAR_POSITIONAL, parameter.KEYWORD_ONLY)
        parts.append(parameter_text(name, parameter))
    start, lines = f"{indent}def {name}(", []
    line = start
    for position, part in enumerate(parts):
        piece = part + (", " if position + 1 < len(parts) else "")
        if len(line) + len(piece) > 115:
            lines.append(line.rstrip())
            line = " " * len(start)
        line += piece
    end = f") -> {result}: ..."
    if len(line) + len(end) > 120:
        lines.append(line.rstrip())
        line = " " * len(start)
    return "\n".join([*lines, line + end])


def constructor_text(name, value):
    if name == "tensor":
        return ("def tensor(dtype: DTypeLike | None = None, broadcastable: Sequence[bool] | None = None, "
                "name: str | None = None,\n           **kwargs: _Any) -> TensorVariable: ...")
    if "names" in inspect.signature(value).parameters:
        return f"def {name}(*names: str | int) -> list[TensorVariable]: ..."
    return f"def {name}(name: str | None = None, dtype: DTypeLike | None = None) -> TensorVariable: ..."


def imported(value, name):
    """``from ... import name as name``, which says that the name is public; another name is given to what is imported.
    """
    own = value.__name__
    return f"from {defined_in(value)} import {own} as {own}" if name == own else f"{name} = {own}"


def is_annotated(function):
    """Whether a function's own file says all its types: then no table does, and the stub names the file."""
    return {*inspect.signature(function).parameters, "return"} <= set(inspect.unwrap(function).__annotations__)


def is_written(cls):
    """Whether a file has the class; those of scalar ops are made by a table."""
    path = Path(importlib.import_module(defined_in(cls)).__file__)
    return path.suffix != ".py" or f"class {cls.__name__}" in path.read_text()


def declaration(package, name, value):
    """The line, or lines, for one public name."""
    if package.startswith("phintys.tensor.") and name in tensor.__all__ and getattr(tensor, name) is value:
        return f"from phintys.tensor import {name} as {name}"
    if isinstance(value, ModuleType):
        inner = value.__name__ == f"{package}.{name}"
        return f"from {package} import {name} as {name}" if inner else f"{name}: ModuleType"
    if isinstance(value, Elemwise):
        return f"{name}: {ELEMENTWISE.get(value.scalar_op.nin, 'Elemwise')}"
    if isinstance(value, type):
        return imported(value, name) if is_written(value) else f"{name}: type[Op]"
    if inspect.isfunction(value):
        if defined_in(value) == package:
            return function_text(name, value)
        if defined_in(value) == CONSTRUCTORS:
            return constructor_text(name, value)
        return imported(value, name) if is_annotated(value) else function_text(name, value)
    if isinstance(value, TensorType):
        return f"{name}: TensorType"
    if isinstance(value, frozenset):
        return f"{name}: frozenset[str]"
    if isinstance(value, tuple):
        return f"{name}: tuple[{type(value[0]).__name__}, ...]"
    if isinstance(value, float):
        return f"{name}: float"
    if isinstance(value, (Op, Type)):
        return f"{name}: {type(value).__name__ if is_written(type(value)) else 'Op'}"
    return f"{name}: _Any"


def import_lines(texts):
    """The imports of a stub, one for each module, from texts like ``from ... import ... as ...``."""
    names = {}
    for text in texts:
        start, _, name = text.partition(" import ")
        if name:
            names.setdefault(start, set()).add(name)
        else:
            yield text
    for start, found in sorted(names.items()):
        listed = ", ".join(sorted(found)).replace(" as ", f"{NO_BREAK}as{NO_BREAK}")
        line = f"{start} import {listed}"
        if len(line) > 120:
            line = f"{start} import (\n{fill(listed, 120, initial_indent='    ', subsequent_indent='    ')},\n)"
        yield line.replace(NO_BREAK, " ")


def namespace_stub(package):
    """The stub of a namespace, with all names of its ``__all__``.

    It needs no ``__all__`` itself: in a stub, what is imported ``as`` its own name is public, and what is not is
    private.
    """
    module = importlib.import_module(package)
    texts = {name: declaration(package, name, getattr(module, name)) for name in module.__all__}
    public = {text for text in texts.values() if text.startswith("from ")}
    known = {line.rpartition(" ")[2] for line in public}
    needed = [*needed_classes(module), *[getattr(module, name) for name, text in texts.items() if f"{name} = " in text]]
    extra = {f"from {defined_in(value)} import {value.__name__}" for value in needed if value.__name__ not in known}
    aliases = [f"from phintys.ops.operators import {name}" for name in ALIASED]
    body = "\n".join(of_one_type([text for text in texts.values() if not text.startswith("from ")]))
    return HEADER + with_imports(public, [*IMPORTS, *extra, *aliases], body)


def of_one_type(lines):
    """Lines in which names of one type stand together: one value of the type is declared, and the names are its."""
    names = {}
    for line in lines:
        name, _, kind = line.partition(": ")
        if name.isidentifier() and kind.strip("_").isidentifier():
            names.setdefault(kind, []).append(name)
    many = {kind: found for kind, found in names.items() if len(found) > 3}
    for kind, found in many.items():
        value = f"_{kind.strip('_').lower()}"
        listed = " ".join([f"{name}{NO_BREAK}=" for name in found])
        yield f"{value}: {kind}"
        yield from [f"{line} {value}".replace(NO_BREAK, " ") for line in wrap(listed, 119 - len(value))]
    yield from [line for line in lines if line.partition(": ")[2] not in many]


def with_imports(public, others, body):
    """The text of a stub: imports of public names, of the others those that the text needs, and the text."""
    words = set(re.findall(r"\w+", body))
    needed = [line for line in others if line.rpartition(" ")[2] in words]
    return "\n".join([*import_lines({*public, *needed}), "", body]) + "\n"


def needed_classes(module):
    """Classes that the lines of a stub name without being public themselves."""
    values = [getattr(module, name) for name in module.__all__]
    classes = {type(value) for value in values if isinstance(value, (Op, Type)) and is_written(type(value))}
    return sorted(classes | {Elemwise, Op, TensorType, TensorVariable, Variable}, key=lambda cls: cls.__name__)


def method_text(name, value):
    if isinstance(value, property):
        types = {"dtype": "str", "ndim": "int", "broadcastable": "tuple[bool, ...]"}
        return f"    @property\n    def {name}(self) -> {types.get(name, 'TensorVariable')}: ..."
    parameters = list(inspect.signature(value).parameters)
    if name in ("__int__", "__float__", "__complex__", "__index__"):
        return ""                                   # they raise: a checker is to say so first
    if parameters == ["self", "other"] or name in ("__lt__", "__le__", "__gt__", "__ge__"):
        return f"    def {name}(self, other: _TensorLike) -> {RETURNS.get(name, 'TensorVariable')}: ..."
    return function_text(name, value, "    ")


def operators_stub():
    """The stub of ``ops/operators.py``: operators and methods, with those that a loop gives to the class."""
    hidden = {"__module__", "__doc__", "__dict__", "__weakref__", "__array_priority__", "__round__", "__len__",
              "__setitem__", "__delitem__", "__contains__", "__firstlineno__", "__static_attributes__",
              "__array__", "__array_ufunc__", "__array_function__"}
    methods = [method_text(name, value) for name, value in vars(TensorOperators).items()
               if name not in hidden and (name.startswith("__") or not name.startswith("_"))]
    numpy_methods = ["    __array_priority__: int",
                     "    def __array_ufunc__(self, ufunc: _Any, method: str, *inputs: _Any,"
                     " **options: _Any) -> _Any: ...",
                     "    def __array_function__(self, function: _Any, types: _Any, arguments: _Any,"
                     " options: _Any) -> _Any: ..."]
    others = ["from phintys.graph.apply import Apply", "from phintys.graph.variable import Constant",
              "from phintys.graph.variable import Variable", "from phintys.ops.elementwise.elementwise import Elemwise",
              "from phintys.ops.types.tensor_type import TensorType"]
    return HEADER + with_imports((), [*IMPORTS, *others], (
        ALIASES
            + "\nclass TensorOperators:\n    type: TensorType\n" + "\n".join(filter(None, numpy_methods + methods))
            + "\n\nclass TensorVariable(TensorOperators, Variable):\n"
              "    type: TensorType\n"
              "    def __init__(self, type: TensorType, owner: Apply | None = None, index: int | None = None,\n"
              "                 name: str | None = None) -> None: ...\n"
              "\nclass TensorConstant(TensorOperators, Constant):\n"
              "    type: TensorType\n"
              "    data: numpy.ndarray\n"
              "    @property\n    def unique_value(self) -> numpy.ndarray | None: ...\n"
              "\nUFUNCS: dict[str, _Any]\n"
              "SMALL_CONSTANT: int\n"
              "_tensor_py_operators = TensorOperators"))


def stub(module):
    """The text of a module's stub."""
    return operators_stub() if module == "phintys.ops.operators" else namespace_stub(module)


if __name__ == "__main__":
    for name, path in STUBS.items():
        (ROOT / path).write_text(stub(name))

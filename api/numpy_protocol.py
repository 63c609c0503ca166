"""NumPy's functions on symbolic tensors: ``numpy.concatenate([x, y])`` is ``phintys.tensor.concatenate([x, y])``.

NumPy hands a call that has a symbolic argument to the argument's class (``__array_function__``, ``__array_ufunc__``),
which hands it on to this file. A row of ``FUNCTIONS`` says which function of the tensor namespace does the same and
which arguments it takes; arguments that nobody could honour (``out``, ``where``, ``order``) are an error, and so are
functions without a row. Common ufuncs do not come here: ``ops/operators.py`` knows them.
"""
from importlib import import_module

from phintys.ops.products import kron

# NumPy's function → (ours, NumPy's names of the arguments it takes: positional ones, then behind a bar those that are
# passed on by keyword when they are given).
FUNCTIONS = {
    # reductions
    "sum": ("sum", "a | axis dtype keepdims"),
    "prod": ("prod", "a | axis dtype keepdims"),
    "mean": ("mean", "a | axis dtype keepdims"),
    "var": ("var", "a | axis ddof keepdims"),
    "std": ("std", "a | axis ddof keepdims"),
    "min": ("min", "a | axis keepdims"),
    "max": ("max", "a | axis keepdims"),
    "amin": ("min", "a | axis keepdims"),
    "amax": ("max", "a | axis keepdims"),
    "ptp": ("ptp", "a | axis"),
    "all": ("all", "a | axis keepdims"),
    "any": ("any", "a | axis keepdims"),
    "argmin": ("argmin", "a | axis keepdims"),
    "argmax": ("argmax", "a | axis keepdims"),
    "cumsum": ("cumsum", "a | axis"),
    "cumprod": ("cumprod", "a | axis"),
    "diff": ("diff", "a | n axis"),
    # elementwise
    "clip": ("clip", "a a_min a_max"),
    "round": ("round", "a"),
    "around": ("round", "a"),
    "real": ("real", "val"),
    "imag": ("imag", "val"),
    "angle": ("angle", "z"),
    "isclose": ("isclose", "a b | rtol atol equal_nan"),
    "allclose": ("allclose", "a b | rtol atol equal_nan"),
    "zeros_like": ("zeros_like", "a | dtype"),
    "ones_like": ("ones_like", "a | dtype"),
    "full_like": ("full_like", "a fill_value | dtype"),
    "copy": ("tensor_copy", "a"),
    # shape
    "reshape": ("reshape", "a shape"),
    "ravel": ("flatten", "a"),
    "transpose": ("transpose", "a | axes"),
    "swapaxes": ("swapaxes", "a axis1 axis2"),
    "moveaxis": ("moveaxis", "a source destination"),
    "squeeze": ("squeeze", "a | axis"),
    "expand_dims": ("shape_padaxis", "a axis"),
    "broadcast_to": ("broadcast_to", "array shape"),
    "atleast_1d": ("atleast_1d", "*arys"),
    "atleast_2d": ("atleast_2d", "*arys"),
    "atleast_3d": ("atleast_3d", "*arys"),
    "repeat": ("repeat", "a repeats | axis"),
    "tile": ("tile", "A reps"),
    "roll": ("roll", "a shift | axis"),
    "shape": ("shape", "a"),
    # joining and parts
    "stack": ("stack", "arrays | axis"),
    "take": ("take", "a indices | axis mode"),
    "choose": ("choose", "a choices | mode"),
    "compress": ("compress", "condition a | axis"),
    "nonzero": ("nonzero", "a"),
    "flatnonzero": ("flatnonzero", "a"),
    "diag": ("diag", "v | k"),
    "diagonal": ("diagonal", "a | offset axis1 axis2"),
    "tril": ("tril", "m | k"),
    "triu": ("triu", "m | k"),
    "sort": ("sort", "a | axis kind"),
    "argsort": ("argsort", "a | axis kind"),
    "searchsorted": ("searchsorted", "a v | side sorter"),
    "bincount": ("bincount", "x | weights minlength"),
    "unravel_index": ("unravel_index", "indices shape"),
    "ravel_multi_index": ("ravel_multi_index", "multi_index dims | mode"),
    # products
    "dot": ("dot", "a b"),
    "outer": ("outer", "a b"),
    "tensordot": ("tensordot", "a b | axes"),
    # linear algebra
    "linalg.det": ("nlinalg.det", "a"),
    "linalg.inv": ("nlinalg.matrix_inverse", "a"),
    "linalg.pinv": ("nlinalg.pinv", "a"),
    "linalg.solve": ("slinalg.solve", "a b"),
    "linalg.cholesky": ("slinalg.cholesky", "a"),
}


def own(name, arguments):
    """Decorator: a row of ``FUNCTIONS`` for which there is no single function of the tensor namespace."""
    def enter(function):
        FUNCTIONS[name] = function, arguments
        return function
    return enter


def tensor():
    """The tensor namespace."""
    return import_module("phintys.tensor")


@own("ndim", "a")
def ndim(a):
    return tensor().as_tensor_variable(a).ndim


@own("size", "a | axis")
def size(a, axis=None):
    return a.size if axis is None else a.shape[axis]


@own("where", "condition | x y")
def where(condition, x=None, y=None):
    if x is None and y is None:
        return tensor().nonzero(condition)
    if x is None or y is None:
        raise TypeError("numpy.where takes both x and y, or none of them")
    return tensor().switch(condition, x, y)


@own("vstack", "tup")
def vstack(tup):
    return tensor().concatenate([tensor().atleast_2d(part) for part in tup], axis=0)


@own("hstack", "tup")
def hstack(tup):
    parts = [tensor().atleast_1d(part) for part in tup]
    return tensor().concatenate(parts, axis=0 if parts[0].ndim == 1 else 1)


@own("concatenate", "arrays | axis")
def concatenate(arrays, axis=0):
    if axis is None:
        arrays, axis = [tensor().flatten(tensor().as_tensor_variable(part)) for part in arrays], 0
    return tensor().concatenate(arrays, axis=axis)


@own("append", "arr values | axis")
def append(arr, values, axis=None):
    return concatenate([arr, values], axis)


@own("split", "ary indices_or_sections | axis")
def split(ary, indices_or_sections, axis=0):
    if isinstance(indices_or_sections, int):
        length = ary.shape[axis] // indices_or_sections
        return tensor().split(ary, [length] * indices_or_sections, indices_or_sections, axis=axis)
    before = (slice(None),) * (axis % ary.ndim)
    edges = [None, *indices_or_sections, None]
    return [ary[before + (slice(first, last),)] for first, last in zip(edges, edges[1:])]


@own("count_nonzero", "a | axis keepdims")
def count_nonzero(a, axis=None, keepdims=False):
    return tensor().neq(a, 0).sum(axis=axis, keepdims=keepdims)


@own("flip", "m | axis")
def flip(m, axis=None):
    axes = range(m.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    turned = {number % m.ndim for number in axes}
    return m[tuple([slice(None, None, -1 if number in turned else None) for number in range(m.ndim)])]


@own("inner", "a b")
def inner(a, b):
    a, b = [tensor().as_tensor_variable(value) for value in (a, b)]
    if not a.ndim or not b.ndim:
        return a * b
    return tensor().tensordot(a, b, axes=[[a.ndim - 1], [b.ndim - 1]])


@own("vdot", "a b")
def vdot(a, b):
    a, b = [tensor().as_tensor_variable(value).flatten() for value in (a, b)]
    return tensor().dot(tensor().conj(a) if a.dtype.startswith("complex") else a, b)


@own("kron", "a b")
def _kron(a, b):
    return kron(a, b)


@own("trace", "a | offset axis1 axis2")
def trace(a, offset=0, axis1=0, axis2=1):
    return tensor().diagonal(a, offset, axis1, axis2).sum(axis=-1)


@own("average", "a | axis weights")
def average(a, axis=None, weights=None):
    if weights is None:
        return tensor().mean(a, axis=axis)
    weights = tensor().as_tensor_variable(weights)
    if weights.ndim == 1 and a.ndim > 1 and isinstance(axis, int):
        weights = weights.dimshuffle(*[0 if number == axis % a.ndim else "x" for number in range(a.ndim)])
    return (a * weights).sum(axis=axis) / (weights + tensor().zeros_like(a)).sum(axis=axis)


# ---- norms -----------------------------------------------------------------------------------------------------------
@own("linalg.norm", "x | ord axis keepdims")
def norm(x, ord=None, axis=None, keepdims=False):
    if axis is None and ord is None:
        axes = tuple(range(x.ndim))
        return _vector_norm(x, 2, axes, keepdims)
    axes = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple([number % x.ndim for number in axes])
    if len(axes) == 1:
        return _vector_norm(x, 2 if ord is None else ord, axes, keepdims)
    if len(axes) != 2:
        raise ValueError(f"numpy.linalg.norm: improper number of dimensions to norm: {len(axes)}")
    return _matrix_norm(x, ord, axes, keepdims)


def _vector_norm(x, ord, axes, keepdims):
    size = abs(x)
    if ord in (float("inf"), float("-inf")):
        return (tensor().max if ord > 0 else tensor().min)(size, axis=axes, keepdims=keepdims)
    if ord == 0:
        return tensor().cast(tensor().neq(x, 0), size.dtype).sum(axis=axes, keepdims=keepdims)
    if ord == 1:
        return size.sum(axis=axes, keepdims=keepdims)
    if ord == 2:
        return tensor().sqrt((size ** 2).sum(axis=axes, keepdims=keepdims))
    if isinstance(ord, str):
        raise ValueError(f"numpy.linalg.norm: invalid norm order {ord!r} for vectors")
    return (size ** ord).sum(axis=axes, keepdims=keepdims) ** (1.0 / ord)


def _matrix_norm(x, ord, axes, keepdims):
    if ord in (None, "fro"):
        return _vector_norm(x, 2, axes, keepdims)
    sums = {1: axes[0], -1: axes[0], float("inf"): axes[1], float("-inf"): axes[1]}
    if ord not in sums:
        raise TypeError(f"numpy.linalg.norm of a symbolic matrix: ord={ord!r} is not supported; there are None, 'fro', "
                        "1, -1, inf and -inf")
    largest = tensor().max if ord > 0 else tensor().min
    found = largest(abs(x).sum(axis=sums[ord], keepdims=True), axis=axes, keepdims=True)
    return found if keepdims else found.dimshuffle(*[number for number in range(x.ndim) if number not in axes])


# ---- calls -----------------------------------------------------------------------------------------------------------
def call_function(function, arguments, options):
    """Apply a NumPy function to arguments of which some are symbolic; see ``__array_function__``.

    Raises
    ------
    TypeError
        If the function, or one of the arguments, is not supported.
    """
    name = f"{function.__module__}.{function.__qualname__}".removeprefix("numpy.")
    if name not in FUNCTIONS:
        raise TypeError(f"numpy.{name} is not supported on symbolic variables; look for one like it in phintys.tensor")
    return _row_applied(name, arguments, options)


def _row_applied(name, arguments, options):
    """The row called ``name``, applied to arguments for NumPy's function."""
    target, signature = FUNCTIONS[name]
    positional, named = _bound(name, signature, arguments, options)
    return (_resolved(name, target) if isinstance(target, str) else target)(*positional, **named)


def _resolved(name, target):
    """The function of the tensor namespace called ``target``."""
    found = tensor()
    for part in target.split("."):
        found = getattr(found, part, None)
        if found is None:
            raise TypeError(f"numpy.{name} is not supported on symbolic variables: there is no "
                            f"phintys.tensor.{target}")
    return found


def _bound(name, signature, arguments, options):
    """Positional and keyword arguments for ours, from those for NumPy's."""
    if signature.startswith("*"):
        return arguments, _checked_names(name, options, ())
    required, _, optional = signature.partition("|")
    required, optional = required.split(), optional.split()
    names = required + optional
    if len(arguments) > len(names):
        raise TypeError(f"numpy.{name} of a symbolic variable takes {len(names)} arguments, {', '.join(names)}; "
                        f"{len(arguments)} were given")
    given = dict(zip(names, arguments))
    given.update(_checked_names(name, options, names))
    missing = [part for part in required if part not in given]
    if missing:
        raise TypeError(f"numpy.{name} of a symbolic variable: missing {', '.join(missing)}")
    return [given[part] for part in required], {part: given[part] for part in optional if part in given}


def _checked_names(name, options, names):
    wrong = [option for option in options if option not in names]
    if wrong:
        raise TypeError(f"numpy.{name} of a symbolic variable does not take {wrong[0]}={options[wrong[0]]!r}; it takes "
                        f"{', '.join(names) or 'only variables'}")
    return options


# ---- ufuncs that are no row of the table of scalar ops, or are called in an uncommon way ----------------------------
REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
              "logical_or": "any"}


def _truth(x):
    x = tensor().as_tensor_variable(x)
    return x if x.dtype == "bool" else tensor().neq(x, 0)


UFUNCS = {
    "logical_and": lambda x, y: tensor().and_(_truth(x), _truth(y)),
    "logical_or": lambda x, y: tensor().or_(_truth(x), _truth(y)),
    "logical_xor": lambda x, y: tensor().xor(_truth(x), _truth(y)),
    "logical_not": lambda x: tensor().invert(_truth(x)),
    "positive": lambda x: x,
    "sign": lambda x: tensor().sgn(x),
    "fabs": lambda x: abs(x),
    "divmod": lambda x, y: tensor().divmod(x, y),
    "hypot": lambda x, y: tensor().sqrt(x * x + y * y),
    "isfinite": lambda x: tensor().invert(tensor().or_(tensor().isnan(x), tensor().isinf(x))),
    "float_power": lambda x, y: tensor().cast(x, "float64") ** y,
}


def call_ufunc(ufunc, method, inputs, options, known):
    """Apply a ufunc to arguments of which some are symbolic; see ``__array_ufunc__``.

    ``known`` has the ufuncs that are rows of the table of scalar ops. ``NotImplemented`` makes NumPy raise the
    ``TypeError`` that names the ufunc.
    """
    name = ufunc.__name__
    if method == "reduce" and name in REDUCTIONS:
        options = {option: value for option, value in options.items() if value is not None}
        given = {"axis": 0, **options}
        if len(inputs) > 1:
            given["axis"] = inputs[1]
        return _row_applied(REDUCTIONS[name], inputs[:1], given)
    function = known.get(name) or UFUNCS.get(name)
    if function is None or method != "__call__" or set(options) - {"dtype"}:
        return NotImplemented
    result = function(*inputs)
    return result if options.get("dtype") is None else tensor().cast(result, options["dtype"])

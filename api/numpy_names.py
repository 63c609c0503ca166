"""NumPy's functions on symbolic tensors: the only table for NumPy's protocol and the names of ``tensor``.

``numpy.flip(x)`` works on a variable, and ``phintys.tensor.flip(x)`` is the same function. ``numpy_protocol.py`` uses
the table for the former, ``tensor/__init__.py`` for the latter.
"""

# NumPy's function → (function in phintys.tensor, NumPy's names of the arguments it takes: positional ones, then after a
# bar those that are passed by keyword if they are given).
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
    "count_nonzero": ("count_nonzero", "a | axis keepdims"),
    "average": ("average", "a | axis weights"),
    "trace": ("trace", "a | offset axis1 axis2"),
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
    "expand_dims": ("expand_dims", "a axis"),
    "broadcast_to": ("broadcast_to", "array shape"),
    "atleast_1d": ("atleast_1d", "*arys"),
    "atleast_2d": ("atleast_2d", "*arys"),
    "atleast_3d": ("atleast_3d", "*arys"),
    "repeat": ("repeat", "a repeats | axis"),
    "tile": ("tile", "A reps"),
    "roll": ("roll", "a shift | axis"),
    "shape": ("shape", "a"),
    "ndim": ("ndim", "a"),
    "size": ("size", "a | axis"),
    "flip": ("flip", "m | axis"),
    # joining and parts
    "stack": ("stack", "arrays | axis"),
    "vstack": ("vstack", "tup"),
    "hstack": ("hstack", "tup"),
    "append": ("append", "arr values | axis"),
    "take": ("take", "a indices | axis mode"),
    "choose": ("choose", "a choices | mode"),
    "compress": ("compress", "condition a | axis"),
    "nonzero": ("nonzero", "a"),
    "flatnonzero": ("flatnonzero", "a"),
    "diag": ("diag", "v | k"),
    "diagonal": ("diagonal", "a | offset axis1 axis2"),
    "tril": ("tril", "m | k"),
    "triu": ("triu", "m | k"),
    "sort": ("sort", "a | axis kind order"),
    "argsort": ("argsort", "a | axis kind order"),
    "searchsorted": ("searchsorted", "a v | side sorter"),
    "bincount": ("bincount", "x | weights minlength"),
    "unravel_index": ("unravel_index", "indices shape"),
    "ravel_multi_index": ("ravel_multi_index", "multi_index dims | mode"),
    # products
    "dot": ("dot", "a b"),
    "outer": ("outer", "a b"),
    "inner": ("inner", "a b"),
    "vdot": ("vdot", "a b"),
    "tensordot": ("tensordot", "a b | axes"),
    "einsum": ("einsum", "*operands | optimize"),
    # linear algebra
    "linalg.norm": ("linalg.norm", "x | ord axis keepdims"),
    # ranges
    "linspace": ("linspace", "start stop | num endpoint retstep dtype axis"),
}

# NumPy's ufuncs that are not in the table of scalar ops; the tensor namespace has functions of the same names.
UFUNCS = ("logical_and", "logical_or", "logical_xor", "logical_not", "positive", "sign", "fabs", "divmod",
          "float_power")

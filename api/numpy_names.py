"""NumPy's functions on symbolic tensors: the table for NumPy's protocol and the names of ``tensor``.

``numpy.flip(x)`` works on a variable, and ``phintys.tensor.flip(x)`` is the same function. ``numpy_protocol.py`` uses
the table for the former, ``tensor/__init__.py`` for the latter. Where Theano has another function of that name,
``numpy_namesakes.py`` has NumPy's.
"""

# NumPy's function → (function in phintys.tensor, NumPy's names of the arguments it takes: positional ones, after a bar
# those that are passed by keyword if they are given, and after another one those that make no difference here).
FUNCTIONS = {
    # reductions
    "sum": ("sum", "a | axis dtype keepdims"),
    "prod": ("prod", "a | axis dtype keepdims"),
    "var": ("var", "a | axis ddof keepdims"),
    "std": ("std", "a | axis ddof keepdims"),
    "min": ("min", "a | axis keepdims"),
    "max": ("max", "a | axis keepdims"),
    "amin": ("min", "a | axis keepdims"),
    "amax": ("max", "a | axis keepdims"),
    "ptp": ("ptp", "a | axis keepdims"),
    "all": ("all", "a | axis keepdims"),
    "any": ("any", "a | axis keepdims"),
    "argmin": ("argmin", "a | axis keepdims"),
    "argmax": ("argmax", "a | axis keepdims"),
    "cumsum": ("cumsum", "a | axis"),
    "cumprod": ("cumprod", "a | axis"),
    "diff": ("diff", "a | n axis prepend append"),
    "count_nonzero": ("count_nonzero", "a | axis keepdims"),
    "average": ("average", "a | axis weights returned keepdims"),
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
    "copy": ("tensor_copy", "a"),
    # shape
    "reshape": ("reshape", "a shape"),
    "ravel": ("flatten", "a"),
    "transpose": ("transpose", "a | axes"),
    "swapaxes": ("swapaxes", "a axis1 axis2"),
    "moveaxis": ("moveaxis", "a source destination"),
    "expand_dims": ("expand_dims", "a axis"),
    "broadcast_to": ("broadcast_to", "array shape | | subok"),
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
    "append": ("append", "arr values | axis"),
    "take": ("take", "a indices | axis mode"),
    "compress": ("compress", "condition a | axis"),
    "nonzero": ("nonzero", "a"),
    "flatnonzero": ("flatnonzero", "a"),
    "diag": ("diag", "v | k"),
    "diagonal": ("diagonal", "a | offset axis1 axis2"),
    "tril": ("tril", "m | k"),
    "triu": ("triu", "m | k"),
    "sort": ("sort", "a | axis kind order"),
    "argsort": ("argsort", "a | axis kind order"),
    "partition": ("partition", "a kth | axis kind order"),
    "argpartition": ("argpartition", "a kth | axis kind order"),
    "median": ("median", "a | axis keepdims | overwrite_input"),
    "isin": ("isin", "element test_elements | assume_unique invert kind"),
    "union1d": ("union1d", "ar1 ar2"),
    "setdiff1d": ("setdiff1d", "ar1 ar2 | assume_unique"),
    "setxor1d": ("setxor1d", "ar1 ar2 | assume_unique"),
    "digitize": ("digitize", "x bins | right"),
    "histogram": ("histogram", "a | bins range density weights"),
    "histogram2d": ("histogram2d", "x y | bins range density weights"),
    "histogramdd": ("histogramdd", "sample | bins range density weights"),
    "histogram_bin_edges": ("histogram_bin_edges", "a | bins range weights"),
    "searchsorted": ("searchsorted", "a v | side sorter"),
    # products
    "dot": ("dot", "a b"),
    "outer": ("outer", "a b"),
    "inner": ("inner", "a b"),
    "vdot": ("vdot", "a b"),
    "tensordot": ("tensordot", "a b | axes"),
    # linear algebra
    "linalg.norm": ("linalg.norm", "x | ord axis keepdims"),
    "linalg.cholesky": ("linalg.cholesky", "a | upper"),
    "linalg.det": ("linalg.det", "a"),
    "linalg.eigh": ("linalg.eigh", "a | UPLO"),
    "linalg.eigvalsh": ("linalg.eigvalsh", "a | UPLO"),
    "linalg.inv": ("linalg.inv", "a"),
    "linalg.matrix_power": ("linalg.matrix_power", "a n"),
    "linalg.multi_dot": ("linalg.multi_dot", "arrays"),
    "linalg.qr": ("linalg.qr", "a | mode"),
    "linalg.slogdet": ("linalg.slogdet", "a"),
    "linalg.solve": ("linalg.solve", "a b"),
    "linalg.tensorinv": ("linalg.tensorinv", "a | ind"),
    "linalg.tensorsolve": ("linalg.tensorsolve", "a b | axes"),
    # numerical mathematics
    "polyval": ("polyval", "p x"),
    "interp": ("interp", "x xp fp | left right period"),
    "trapezoid": ("trapezoid", "y | x dx axis"),
    "convolve": ("convolve", "a v | mode"),
    "correlate": ("correlate", "a v | mode"),
    "cov": ("cov", "m | y rowvar bias ddof fweights aweights dtype"),
    "corrcoef": ("corrcoef", "x | y rowvar dtype"),
    "sinc": ("sinc", "x"),
    "i0": ("i0", "x"),
    # Fourier transforms; Theano's rfft and irfft are others (numpy_protocol.py)
    "fft.fft": ("fft.fft", "a | n axis norm"),
    "fft.ifft": ("fft.ifft", "a | n axis norm"),
    "fft.hfft": ("fft.hfft", "a | n axis norm"),
    "fft.ihfft": ("fft.ihfft", "a | n axis norm"),
    "fft.fft2": ("fft.fft2", "a | s axes norm"),
    "fft.ifft2": ("fft.ifft2", "a | s axes norm"),
    "fft.rfft2": ("fft.rfft2", "a | s axes norm"),
    "fft.irfft2": ("fft.irfft2", "a | s axes norm"),
    "fft.fftn": ("fft.fftn", "a | s axes norm"),
    "fft.ifftn": ("fft.ifftn", "a | s axes norm"),
    "fft.rfftn": ("fft.rfftn", "a | s axes norm"),
    "fft.irfftn": ("fft.irfftn", "a | s axes norm"),
    "fft.fftshift": ("fft.fftshift", "x | axes"),
    "fft.ifftshift": ("fft.ifftshift", "x | axes"),
    # without NaN
    "nansum": ("nansum", "a | axis dtype keepdims"),
    "nanprod": ("nanprod", "a | axis dtype keepdims"),
    "nanmax": ("nanmax", "a | axis keepdims"),
    "nanmin": ("nanmin", "a | axis keepdims"),
    "nanargmax": ("nanargmax", "a | axis keepdims"),
    "nanargmin": ("nanargmin", "a | axis keepdims"),
    "nanmean": ("nanmean", "a | axis keepdims"),
    "nanvar": ("nanvar", "a | axis ddof keepdims"),
    "nanstd": ("nanstd", "a | axis ddof keepdims"),
    "nanmedian": ("nanmedian", "a | axis keepdims | overwrite_input"),
    "nanquantile": ("nanquantile", "a q | axis method keepdims | overwrite_input"),
    "nanpercentile": ("nanpercentile", "a q | axis method keepdims | overwrite_input"),
    # numbers
    "fix": ("fix", "x"),
    "isposinf": ("isposinf", "x"),
    "isneginf": ("isneginf", "x"),
    "isreal": ("isreal", "x"),
    "iscomplex": ("iscomplex", "x"),
    "iscomplexobj": ("iscomplexobj", "x"),
    "isrealobj": ("isrealobj", "x"),
    "nan_to_num": ("nan_to_num", "x | copy nan posinf neginf"),
    "array_equal": ("array_equal", "a1 a2 | equal_nan"),
    "array_equiv": ("array_equiv", "a1 a2"),
    "piecewise": ("piecewise", "x condlist funclist"),
    "unwrap": ("unwrap", "p | discont axis period"),
    "sort_complex": ("sort_complex", "a"),
    # elements that others choose
    "take_along_axis": ("take_along_axis", "arr indices | axis"),
    "extract": ("extract", "condition arr"),
    "argwhere": ("argwhere", "a"),
    "lexsort": ("lexsort", "keys | axis"),
    "ix_": ("ix_", "*args"),
    "diag_indices_from": ("diag_indices_from", "arr"),
    "tril_indices_from": ("tril_indices_from", "arr | k"),
    "triu_indices_from": ("triu_indices_from", "arr | k"),
    "meshgrid": ("meshgrid", "*xi | copy sparse indexing"),
    # other joins and lengths
    "pad": ("pad", "array pad_width | mode constant_values end_values stat_length reflect_type"),
    "dstack": ("dstack", "tup"),
    "column_stack": ("column_stack", "tup"),
    "block": ("block", "arrays"),
    "array_split": ("array_split", "ary indices_or_sections | axis"),
    "vsplit": ("vsplit", "ary indices_or_sections"),
    "hsplit": ("hsplit", "ary indices_or_sections"),
    "dsplit": ("dsplit", "ary indices_or_sections"),
    "unstack": ("unstack", "x | axis"),
    "fliplr": ("fliplr", "m"),
    "flipud": ("flipud", "m"),
    "rot90": ("rot90", "m | k axes"),
    "rollaxis": ("rollaxis", "a axis | start"),
    "matrix_transpose": ("matrix_transpose", "x"),
    "insert": ("insert", "arr obj values | axis"),
    "delete": ("delete", "arr obj | axis"),
    "resize": ("resize", "a new_shape"),
    "trim_zeros": ("trim_zeros", "filt | trim axis"),
    "diagflat": ("diagflat", "v | k"),
    "ediff1d": ("ediff1d", "ary | to_end to_begin"),
    "vander": ("vander", "x | N increasing"),
    # vectors and matrices
    "cross": ("cross", "a b | axisa axisb axisc axis"),
    "linalg.cross": ("linalg.cross", "x1 x2 | axis"),
    "linalg.vecdot": ("vecdot", "x1 x2 | axis"),
    "linalg.outer": ("linalg.outer", "x1 x2"),
    "linalg.matmul": ("matmul", "x1 x2"),
    "linalg.tensordot": ("tensordot", "x1 x2 | axes"),
    "linalg.matrix_transpose": ("matrix_transpose", "x"),
    "linalg.vector_norm": ("linalg.vector_norm", "x | axis keepdims ord"),
    "linalg.matrix_norm": ("linalg.matrix_norm", "x | keepdims ord"),
    "linalg.svdvals": ("linalg.svdvals", "x"),
    "linalg.cond": ("linalg.cond", "x | p"),
    "linalg.matrix_rank": ("linalg.matrix_rank", "A | tol hermitian rtol"),
    "linalg.diagonal": ("linalg.diagonal", "x | offset"),
    "linalg.trace": ("linalg.trace", "x | offset dtype"),
    # polynomials
    "poly": ("poly", "seq_of_zeros"),
    "polyadd": ("polyadd", "a1 a2"),
    "polysub": ("polysub", "a1 a2"),
    "polymul": ("polymul", "a1 a2"),
    "polyder": ("polyder", "p | m"),
    "polyint": ("polyint", "p | m k"),
    "polyfit": ("polyfit", "x y deg | rcond w full cov"),
    # the array API's forms
    "astype": ("astype", "x dtype | copy | device"),
    "cumulative_sum": ("cumulative_sum", "x | axis dtype include_initial"),
    "cumulative_prod": ("cumulative_prod", "x | axis dtype include_initial"),
    "unique_values": ("unique_values", "x"),
    "unique_counts": ("unique_counts", "x"),
    "unique_inverse": ("unique_inverse", "x"),
    "unique_all": ("unique_all", "x"),
    # ranges
    "logspace": ("logspace", "start stop | num endpoint base dtype axis"),
    "geomspace": ("geomspace", "start stop | num endpoint dtype axis"),
    "linspace": ("linspace", "start stop | num endpoint retstep dtype axis | device"),
}

# What the arguments that make no difference may be.
WITHOUT_EFFECT = {"order": ("K", "A", "C", "F", None), "subok": (True, False), "device": (None, "cpu"),
                  "overwrite_input": (True, False), "copy": (None, True, False), "writeable": (False,),
                  "sorted": (True, False)}
# Functions for which a number is a vector of one element.
AT_LEAST_VECTORS = """cumsum cumprod nancumsum nancumprod cumulative_sum cumulative_prod take repeat argsort
    argpartition flatnonzero""".split()

# Functions whose positional arguments are arrays, which numbers and lists become by NumPy's rules.
OF_ARRAYS = """polyadd polysub polymul polyval polyint polyder setxor1d union1d intersect1d setdiff1d isin convolve
    correlate""".split()

# Further arguments of reductions, which choose elements: ``ops/compositions/masked.py`` has them.
CHOOSING = {name: arguments for arguments, names in {
    "initial where": "sum prod max min amax amin nansum nanprod nanmax nanmin", "where": "all any mean",
    "where mean correction": "var std", "dtype where": "nanmean", "dtype where mean correction": "nanvar nanstd",
}.items() for name in names.split()}

# NumPy's ufuncs that are not in the table of scalar ops → options beside dtype; the tensor namespace has functions of
# the same names.
UFUNCS = {**dict.fromkeys("""logical_and logical_or logical_xor logical_not positive sign fabs divmod float_power
                             signbit ldexp frexp modf matvec vecmat""".split(), ()), "vecdot": ("axis",)}

# The array API standard's names → those of the tensor namespace.
STANDARD_NAMES = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
                  "atan2": "arctan2", "atanh": "arctanh", "bitwise_invert": "invert",
                  "bitwise_left_shift": "left_shift",
                  "bitwise_right_shift": "right_shift", "concat": "concatenate", "empty_like": "zeros_like",
                  "true_divide": "true_div"}

# Names that programs use now and then, which are imported when they are: file of ``ops/compositions`` → its names.
ON_DEMAND = {
    "along_axis": """argwhere diag_indices diag_indices_from extract indices ix_ lexsort meshgrid put_along_axis select
                     sliding_window_view take_along_axis tril_indices tril_indices_from triu_indices
                     triu_indices_from""",
    "histograms": "histogram2d histogramdd",
    "joining": """array_split block column_stack delete diagflat dsplit dstack ediff1d fliplr flipud hsplit insert
                  matrix_transpose permute_dims resize rollaxis rot90 trim_zeros unstack vander vsplit""",
    "nan_reductions": """nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod
                         nanquantile nanstd nansum nanvar""",
    "numbers": """array_equal array_equiv fix frexp iscomplex iscomplexobj isneginf isposinf isreal isrealobj ldexp
                  modf nan_to_num piecewise sort_complex unwrap""",
    "padding": "pad",
    "rearranged": "rearrange",
    "polynomials": """blackman geomspace hamming hanning kaiser logspace poly polyadd polyder polyfit polyint polymul
                      polysub""",
    "standard_names": "astype cumulative_prod cumulative_sum unique_all unique_counts unique_inverse unique_values",
    "vectors": "cross matvec vecdot vecmat",
}

"""Calls of NumPy's functions as text, with common arguments, and a comparison of variables with arrays.

In a call, ``a`` and ``b`` are matrices of shape (2, 3), ``v`` and ``w`` vectors of length 3, ``s`` is a number, and
``e`` has the shape (0, 3). ``difference(call, dtype)`` says how the result on variables differs from that on arrays.
"""
import warnings
from inspect import signature
from operator import attrgetter

import numpy

import phintys.tensor as T
from phintys import function

DTYPES = ("float64", "float32", "float16", "complex128", "complex64", "bool", "int8", "uint8", "int64")
SHAPES = {"a": (2, 3), "b": (2, 3), "v": (3,), "w": (3,), "s": (), "e": (0, 3)}


def operand(name, dtype):
    """Small numbers; those of int8 and uint8 are large, so that sums and differences of them overflow."""
    random = numpy.random.RandomState(ord(name))
    x = random.randint(-3, 4, SHAPES[name]) + random.randint(0, 4, SHAPES[name]) / 4
    if dtype.startswith("complex"):
        x = x + 1j * random.randint(-2, 3, SHAPES[name])
    scales = {"int8": lambda x: x * 30, "uint8": lambda x: abs(x) * 60, "bool": lambda x: x > 0}
    return numpy.asarray(scales.get(dtype, lambda x: x)(x)).astype(dtype)


def flat(found):
    """The results of a call as a list."""
    return [part for item in found for part in flat(item)] if isinstance(found, (tuple, list)) else [found]


def on_arrays(call, dtype):
    """NumPy's results."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return [numpy.asarray(part) for part in flat(evaluated(call, {name: operand(name, dtype) for name in SHAPES}))]


def on_variables(call, dtype, mode):
    """Our results."""
    variables = {name: T.TensorType(dtype, (False,) * len(shape))(name) for name, shape in SHAPES.items()}
    found = [T.as_tensor_variable(part) for part in flat(evaluated(call, variables))]
    compiled = function([*variables.values()], found, mode=mode, on_unused_input="ignore")
    return [numpy.asarray(part) for part in compiled(*[operand(name, dtype) for name in SHAPES])]


def evaluated(call, values):
    return eval(f"numpy.{call}", {"numpy": numpy}, values)       # the text is a row of a table of the tests


TOLERANCES = {"float16": 4e-3, "float32": 2e-5, "complex64": 2e-5}


def difference(call, dtype, mode="FAST_COMPILE"):
    """What is different: shapes, dtypes, values, an error on one side; None if nothing is."""
    try:
        wanted = on_arrays(call, dtype)
    except Exception as refused:                     # NumPy's reason does not matter, only that there is one
        try:
            on_variables(call, dtype, mode)
        except (TypeError, ValueError, IndexError, numpy.linalg.LinAlgError):
            return None
        return f"NumPy raises {type(refused).__name__}: {refused}"
    for got, want in zip(on_variables(call, dtype, mode), wanted, strict=True):
        if got.shape != want.shape:
            return f"shape {got.shape}, not {want.shape}"
        tolerance = max([TOLERANCES.get(name, 1e-10) for name in (got.dtype.name, want.dtype.name)])
        if not numpy.allclose(got.astype(complex), want.astype(complex), tolerance, tolerance, equal_nan=True):
            return f"values {got.tolist()}, not {want.tolist()}"
        if got.dtype != want.dtype:
            return f"dtype {got.dtype}, not {want.dtype}"
    return None


# ---- the generator: arguments after the first one --------------------------------------------------------------------
REDUCED = ["", "axis=0", "axis=-1", "axis=(0, -1)", "keepdims=True", "axis=1, keepdims=True", "1"]
TRANSFORMED = ["", "5", "axis=0", "norm='ortho'", "n=4, axis=0, norm='forward'"]
TRANSFORMED_TWICE = ["", "(4, 4)", "axes=(0, 1)", "norm='ortho'", "s=(2, 2), axes=(1, 0)"]
ARGUMENTS = {
    "sum prod": [*REDUCED, "axis=()", "dtype='float64', keepdims=True", "axis=0, dtype='int64'"],
    "mean min max amin amax": REDUCED,
    "all any": [*REDUCED, "axis=()"],
    "var std": [*REDUCED, "ddof=1", "axis=0, ddof=1", "ddof=1, keepdims=True", "axis=()", "dtype='float64'"],
    "ptp": ["", "axis=0", "axis=-1", "0", "axis=1, keepdims=True", "axis=(0, 1)"],
    "argmin argmax": ["", "axis=0", "axis=-1", "axis=1, keepdims=True", "keepdims=True"],
    "cumsum cumprod": ["", "axis=0", "axis=-1", "1", "axis=0, dtype='float64'", "dtype='int8'"],
    "diff": ["", "n=2", "axis=0", "1, 0", "n=0", "prepend=0", "append=[[7], [8]]", "axis=0, prepend=b, append=b",
             "n=2, prepend=5, axis=0", "axis=-2", "n=9"],
    "count_nonzero": ["", "axis=0", "axis=-1, keepdims=True", "axis=(0, 1)"],
    "average": ["", "axis=0", "axis=-1, keepdims=True", "weights=abs(b) + 1", "axis=1, weights=[1, 2, 3]",
                "axis=-1, weights=[1.0, 2, 3], keepdims=True", "axis=0, returned=True", "axis=(0, 1)",
                "axis=1, weights=abs(v) + 1, returned=True", "axis=(0, 1), weights=abs(b) + 1"],
    "trace": ["", "1", "-1", "offset=1, axis1=1, axis2=0", "dtype='float64'"],
    "clip": ["0, None", "None, 1", "0, 1", "1, 0", "-1, b", "b, None", "a_min=0, a_max=1", "min=0, max=1", "min=0",
             "max=1", "v, 2", "v, w"],
    "round around": ["", "1", "-1", "decimals=0", "decimals=1", "2"],
    "real imag shape size copy fft.fftshift fft.ifftshift sinc i0 nonzero flatnonzero": [""],
    "angle": ["", "deg=True"],
    "isclose allclose": ["b", "b, 0.5", "b, rtol=0.1, atol=0.5", "0", "b, equal_nan=True"],
    "zeros_like ones_like": ["", "dtype='float32'", "'int8'", "dtype=None"],
    "full_like": ["3", "b", "3, dtype='float32'"],
    "reshape": ["(3, 2)", "-1", "(-1, 2)", "(3, 2), order='F'", "(3, 2), 'C'", "-1, order='F'", "[3, 2]"],
    "ravel": ["", "order='F'", "'C'", "order='A'", "order='K'"],
    "transpose": ["", "(1, 0)", "axes=(0, 1)", "axes=(-1, 0)", "None", "[1, 0]"],
    "swapaxes": ["0, 1", "0, -1"], "moveaxis": ["0, 1", "-1, 0", "[0, 1], [1, 0]"],
    "expand_dims": ["0", "-1", "(0, 1)", "axis=2", "(0, -1)"], "squeeze": [""],
    "broadcast_to": ["(4, 2, 3)", "(2, 3)"], "broadcast_arrays": ["v", "b"],
    "atleast_1d atleast_2d atleast_3d": ["", "v"],
    "repeat": ["2", "2, axis=0", "[1, 2], 0", "[1, 2, 0], axis=-1", "repeats=2, axis=1", "[2]"],
    "tile": ["2", "(2, 2)", "(2, 1, 2)", "reps=3", "()"],
    "roll": ["1", "1, axis=0", "-2, 1", "(1, 2), axis=(0, 1)", "shift=1, axis=-1", "1, axis=(0, 1)"],
    "flip": ["", "0", "axis=-1", "axis=(0, 1)"], "append": ["b", "b, axis=0", "b, axis=-1", "5", "[[1, 2, 3]], 0"],
    "take": ["[0, 2]", "[1, -1], axis=1", "0, axis=0", "[7, -8], mode='wrap'", "[7, -8], axis=0, mode='clip'",
             "[[0, 1]], axis=-1", "indices=[0]"],
    "diag tril triu": ["", "1", "k=-1"], "diagonal": ["", "1", "offset=-1, axis1=1, axis2=0", "0, 0, 1"],
    "sort": ["", "0", "axis=None", "axis=0, kind='stable'", "stable=True", "kind=None"],
    "argsort": ["kind='stable'", "0, kind='stable'", "axis=None, kind='stable'", "stable=True"],
    "partition": ["1", "1, 0"], "median": [*REDUCED, "axis=None"],
    "percentile": ["30", "[10, 50.0]", "50, axis=0", "[0, 100], axis=-1", "25, axis=1, keepdims=True",
                   "30, method='lower'", "[30], axis=(0, 1)", "q=50"],
    "quantile": ["0.3", "[0.1, 0.5]", "0.5, axis=0", "0.25, axis=1, keepdims=True", "0.3, method='higher'", "0.3, 0",
                 "0.4, method='hazen'"],
    "unique": ["", "return_index=True", "return_inverse=True", "return_counts=True", "axis=0", "True, True, True",
               "return_inverse=True, axis=1"],
    "isin": ["v", "[1, 2]", "v, invert=True", "2"], "intersect1d union1d setdiff1d setxor1d": ["b", "v"],
    "digitize": ["[0, 1, 2]", "[0, 1, 2], right=True", "[2, 1, 0]"],
    "histogram": ["", "4", "bins=[0, 1, 2]", "3, (0, 2)", "bins=3, density=True"],
    "histogram_bin_edges": ["", "4", "3, (0, 2)"],
    "dot inner kron": ["v", "2"], "outer": ["v", "b"], "vdot": ["b"],
    "tensordot": ["b, axes=[[1], [1]]", "b.T, 1", "b", "b, axes=0", "v, axes=1", "b, ((0, 1), (0, 1))"],
    "linalg.norm": ["", "1", "2", "numpy.inf", "axis=0", "'nuc'", "'fro'", "0, axis=1", "2, 1", "axis=1, keepdims=True",
                    "3, axis=1", "-1, axis=0", "-numpy.inf", "-1", "axis=(0, 1)", "2, keepdims=True", "0.5, axis=-1"],
    "linalg.pinv": [""], "linalg.svd": ["compute_uv=False"], "linalg.qr": ["mode='r'"],
    "linalg.matrix_power": ["0", "1", "2", "-1"],
    "trapezoid": ["", "dx=2", "axis=0", "x=v", "[1, 2, 4]"],
    "cov": ["", "v", "b", "rowvar=False", "bias=True", "ddof=0", "fweights=[1, 2, 3]", "aweights=[1.0, 2, 3]",
            "b, rowvar=False", "dtype='float32'", "fweights=[1, 2, 3], aweights=[1.0, 2, 3], ddof=0", "ddof=3"],
    "corrcoef": ["", "b", "v", "rowvar=False", "b, rowvar=False"],
    "fft.fft fft.ifft fft.hfft fft.ihfft fft.rfft fft.irfft": TRANSFORMED,
    "fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn fft.rfftn fft.irfftn": TRANSFORMED_TWICE,
    "gradient": ["", "2", "axis=0", "axis=(0, 1)", "0.5, [0.0, 1.0, 4.0]", "axis=1, edge_order=2"],
    "split": ["3, axis=1", "2", "[1], axis=0", "[1, 2], 1"],
    "where": [">0, a, b", "> 0, a, 0", "> 0, 1, 0"],
    "add.reduce multiply.reduce maximum.reduce logical_and.reduce": ["", "1", "axis=None", "axis=-1, keepdims=True"],
    "fabs positive isnan isinf isfinite conjugate absolute negative": [""],
}
ARGUMENTS.update({
    "nansum nanprod nanmean nanmax nanmin nanmedian": ["", "axis=0", "axis=-1", "axis=(0, -1)",
                                                       "axis=1, keepdims=True"],
    "nanvar nanstd": ["", "axis=0", "axis=0, ddof=1", "ddof=1, keepdims=True"],
    "nanargmax nanargmin": ["", "axis=0", "axis=-1", "axis=1, keepdims=True"],
    "nancumsum nancumprod": ["", "axis=0", "1"],
    "nanquantile": ["0.3", "[0.1, 0.5]", "0.5, axis=0", "0.25, axis=1, keepdims=True", "0.3, method='higher'",
                    "[[0.3, 0.2]], axis=(0, 1)", "0.4, method='hazen'"],
    "nanpercentile": ["30", "[10, 50.0]", "50, axis=0"],
    "fix isreal iscomplex isposinf isneginf sort_complex signbit frexp modf fliplr flipud diagflat":
        [""],
    "nan_to_num": ["", "nan=5", "posinf=1, neginf=2"], "array_equal": ["a", "b", "v", "a + 0, equal_nan=True"],
    "unwrap": ["", "axis=0", "period=2", "discont=5, period=3", "period=2.5"],
    "cbrt spacing bitwise_count": [""],
    "fmod fmax fmin copysign nextafter heaviside logaddexp2 gcd lcm": ["b", "2", "v"],
    "left_shift right_shift": ["abs(b)", "b & 3"], "ldexp": ["[1, 2, 3]", "b"],
    "take_along_axis": ["numpy.array([[0], [1]]), axis=1", "numpy.array([[1, 0, 0]]), axis=0",
                        "numpy.array([0, 5]), axis=None", "numpy.array([[0, 2], [1, 1]])", "numpy.array([0]), axis=0"],
    "argwhere tril_indices_from triu_indices_from": [""], "extract": ["b"],
    "pad": ["1", "(1, 2)", "((0, 1), (2, 0))", "[2]", "1, constant_values=5",
            "1, 'constant', constant_values=((1, 2), (3, 4))",
            "(1, 2), 'edge'", "(1, 2), 'reflect'", "(4, 5), 'reflect'", "(1, 2), 'symmetric'", "(7, 5), 'symmetric'",
            "(1, 2), 'wrap'", "(7, 5), 'wrap'", "1, 'reflect', reflect_type='odd'",
            "(0, 1), 'symmetric', reflect_type='odd'",
            "2, 'linear_ramp'", "(2, 3), 'linear_ramp', end_values=(5, 4)", "1, 'maximum'",
            "1, 'minimum', stat_length=2",
            "2, 'mean'", "(1, 2), 'median', stat_length=((1, 2), (2, 1))", "{1: 2}", "{-1: (1, 0)}, 'edge'",
            "1, 'nonsense'",
            "-1", "1, 'edge', constant_values=3", "((1, 2, 3),)"],
    "dstack column_stack": ["b"], "block": ["b"],
    "array_split": ["2", "2, axis=1", "5, 0", "[1], 0", "[1, 2], axis=1", "0"],
    "vsplit": ["2", "[1]"], "hsplit": ["3", "[1]"], "dsplit": ["1"],
    "rot90": ["", "2", "-1", "k=3", "1, (1, 0)", "0", "1, (0, 0)", "1, (0, 2)"],
    "rollaxis": ["1", "0, 2", "1, start=0", "-1", "0, 3"], "matrix_transpose": [""],
    "insert": ["1, 5", "[1, 1], [5, 6]", "1, 5, axis=1", "-1, v, 0", "[0, 2], 7, axis=1", "1, [1, 2], axis=1",
               "[0, 1], [[1], [2]], 1", "2, b, 0", "numpy.array([True, False, True]), 9, axis=1",
               "[0, 2, 1], 9, axis=1"],
    "delete": ["1", "[0, -1]", "0, axis=1", "slice(0, 2), 1", "[True, False, True], axis=1", "[0, 0], 1"],
    "resize": ["(2, 2)", "5", "(3, 3)"], "ediff1d": ["", "to_end=1", "to_begin=[1, 2], to_end=v"],
    "cross": ["b", "v", "b, axisc=0"], "linalg.svdvals": [""],
    "linalg.vector_norm": ["", "axis=0", "axis=(0, 1)", "ord=1", "keepdims=True", "axis=1, keepdims=True, ord=3"],
    "linalg.matrix_norm": ["", "keepdims=True", "ord=1", "ord='nuc'"],
    "linalg.cond": ["", "2", "-2"], "linalg.matrix_rank": ["", "tol=3", "rtol=0.5"],
    "linalg.diagonal linalg.trace": ["", "offset=1"],
    "linalg.outer linalg.cross linalg.vecdot": ["b"], "linalg.matmul": ["b.T"], "linalg.matrix_transpose": [""],
    "vecdot": ["b", "v", "b, axis=0"], "matvec": ["v", "b"],
    "cumulative_sum cumulative_prod": ["axis=0", "axis=1, include_initial=True", ""],
    "unique_counts unique_inverse unique_all": [""], "astype": ["'float32'"],
    "logspace": ["b, 3", "2, num=3, axis=-1", "b, 4, endpoint=False, base=2.0"],
})
CHOOSING = ["where=b > 0", "where=v > 0, axis=1, keepdims=True", "where=[True, False, True], axis=0"]
BEGINNING = ["initial=2", "initial=2, axis=0", "where=b > 0, initial=1", "where=s > 9, initial=1, axis=(0, 1)"]
for _names, _further in (("sum prod nansum nanprod", CHOOSING + BEGINNING),
                         ("max min amax amin nanmax nanmin", BEGINNING),
                         ("all any mean nanmean", CHOOSING),
                         ("var std nanvar nanstd", [*CHOOSING, "mean=[[1], [2]], axis=1", "correction=1, axis=0",
                                                    "where=b > 0, correction=1", "dtype='float64', where=b > 0"])):
    for _name in _names.split():
        ARGUMENTS[f"{_name} "] = _further              # the blank makes another key of the table
EVERY_SHAPE = ("cumsum cumprod var std mean sum prod all any median ptp max argmin unique count_nonzero average ravel "
               "squeeze flip transpose sort nonzero linalg.norm cov corrcoef round copy size").split()
OTHERS = ["concatenate([a, b])", "concatenate((a, b), axis=-1)", "concatenate([a, b], axis=None)",
          "concatenate([a, b], dtype='complex128')", "stack([a, b], axis=1)", "vstack([a, v])", "hstack([v, v])",
          "compress([True, False], a, axis=0)", "choose(a > 0, [a, b])", "einsum('ij,kj->ik', a, b)",
          "einsum('ij,j', a, v)", "bincount([0, 1, 1], minlength=5, weights=v)", "searchsorted(w, a, side='right')",
          "isin(2, a)", "linspace(0, v, num=3)", "linspace(v[0], 3, 4, endpoint=False)", "dot(2, a)", "cov(v, w)",
          "corrcoef(v, w, rowvar=False)", "cov(v, fweights=[1, 2, 3])", "diff(v, prepend=w[:1], append=w)",
          "average(v, 0, weights=abs(w) + 1, keepdims=True)", "clip(2, v, None)",
          "interp(v, [-1.0, 1, 2], [3.0, 4, 5])", "select([a > 0, a < -1], [a, b], 7)", "select([a > 0], [a])",
          "meshgrid(v, w)", "meshgrid(v, w, indexing='ij', sparse=True)", "meshgrid(v)", "meshgrid(v, w, w)",
          "block([[a, b], [a, b]])", "block([a, b])", "block([v, v])", "block([[a], [v]])", "vecmat(v, a.T)",
          "vander(v, 3)",
          "vander(v, N=2, increasing=True)", "vander(v, 0)", "ix_(v > 0, [1])", "polyadd(v, [1, 2])", "polysub([1], v)",
          "polymul(v, w)", "polyder(v)", "polyder(v, 2)", "polyint(v)", "polyint(v, 2, [1, 2])", "polyint(v, k=3)",
          "polyfit([1.0, 2, 4], v, 1)", "polyfit([1.0, 2, 4], a.T, 1)", "polyfit([1.0, 2, 4], v, 1, w=[1.0, 2, 3])",
          "poly([1.0, 2])", "trim_zeros(v)", "trim_zeros(numpy.zeros_like(v))", "trim_zeros(v, 'f')",
          "trim_zeros(v, trim='b')",
          "insert(v, v.size, s)", "delete(v, [])", "lexsort((v, w))", "ediff1d(s)", "cumulative_sum(v)",
          "cumulative_prod(v, include_initial=True)", "cross(v, v[:2])",
          "linalg.outer(v, w)", "linalg.vecdot(v, w)", "linalg.cross(v, w)", "pad(v, (2, 3), 'wrap')", "pad(e, 1)",
          "pad(e, 1, 'edge')", "pad(e, ((0, 0), (1, 1)), 'reflect')", "pad(v[:1], 3, 'reflect')",
          "pad(v[:1], 3, 'symmetric')",
          "pad(v, 2, 'reflect', reflect_type='odd')", "pad(v, 3, 'symmetric', reflect_type='odd')",
          "array_equal(v, w[:2])",
          "sum(e, axis=0, initial=3)", "min(e, axis=0, initial=3)", "max(e, initial=3)", "sum(a, out=None)",
          "add.reduce(a, where=b > 0)", "maximum.reduce(a, initial=7)", "nanmean(a, dtype='float64')",
          "histogram2d(v, w)", "histogram2d(v, w, [3, [0.0, 1, 2]])", "histogram2d(v, w, [0.0, 1, 2])",
          "histogram2d(v, w, 3, [[0, 1], None], density=True)", "histogramdd([v, w, v], bins=(2, 3, 4), weights=w)",
          "histogramdd(a.T, bins=[2, 3])", "histogramdd(v, 5)", "isin(a, [1], kind='sort')", "argwhere(s)",
          "nanmean(e)", "nanmax(v * numpy.float16('nan'))", "nanargmax(v * numpy.float16('nan'))",
          "nanmedian(v * numpy.float16('nan'))",
          "nanvar(v[:1], ddof=1)", "tril_indices_from(a, 1)", "triu_indices_from(a, k=-1)", "linalg.matrix_rank(v)",
          "linalg.matrix_rank(a @ a.T, hermitian=True)", "linalg.cond(a @ a.T + [[1, 0], [0, 2]], 1)"]


# Values of arguments that many functions have, other than their defaults; {} is the first operand.
OPTIONS = {
    "axis": ["0", "-1", "(0, 1)", "(-1, 0)", "numpy.int64(1)", "7", "-9"], "axes": ["(1, 0)", "(0, 7)"],
    "keepdims": ["True"], "dtype": ["'float32'", "numpy.float64", "int"], "ddof": ["1", "0.5"],
    "initial": ["2", "-1.5"], "where": ["{} > 0", "False"], "mean": ["0.5"], "correction": ["0.5"], "n": ["2", "5"],
    "norm": ["'forward'"],
    "s": ["(2, 2)"], "k": ["1", "-5"], "offset": ["-1"], "axis1": ["-1"], "axis2": ["0"], "decimals": ["-1"],
    "kind": ["'stable'"], "order": ["'F'", "'K'"], "stable": ["True"], "descending": ["True"],
    "weights": ["abs({}) + 1"],
    "returned": ["True"], "subok": ["True"], "rowvar": ["False"], "bias": ["True"],
    "include_initial": ["True"],
    "prepend": ["0"], "append": ["0"], "right": ["True"], "shape": ["(3, 2)", "6"], "device": ["'cpu'"], "num": ["3"],
    "endpoint": ["False"], "bins": ["4"], "density": ["True"], "period": ["2.5"], "assume_unique": ["False"],
    "invert": ["True"], "return_indices": ["True"], "overwrite_input": ["True"], "copy": ["True"],
    "equal_nan": ["True"],
    "method": ["'inverted_cdf'", "'averaged_inverted_cdf'", "'closest_observation'", "'weibull'"], "nan": ["5"],
    "rcond": ["0.3"], "rtol": ["0.1"], "hermitian": ["False"], "full_matrices": ["False"], "casting": ["'unsafe'"],
    "return_index": ["True"], "return_counts": ["True"], "trim": ["'f'"], "increasing": ["True"], "like": ["{}"],
}


def with_each_option():
    """Each function with each argument of NumPy's signature at another value, on the operands of its first call."""
    for names, arguments in ARGUMENTS.items():
        for name in names.split():
            function = attrgetter(name)(numpy)
            if not hasattr(function, "__wrapped__"):                # a ufunc, one of its methods, or a function in C
                continue
            known = signature(function).parameters.values()
            first = arguments[0] if arguments[0] and "=" not in arguments[0] and not arguments[0].startswith(
                ">") else ""
            for option in [part.name for part in known if part.default is not part.empty and part.name in OPTIONS]:
                for operand in "av" if names in EVERY_SHAPE or not first else "a":
                    yield from [f"{name}({operand}{f', {first}' if first else ''}, {option}={value.format(operand)})"
                                for value in OPTIONS[option]]


def every_call():
    """All calls of the tables."""
    yield from with_each_option()
    for names, arguments in ARGUMENTS.items():
        for name in names.split():
            yield from [f"{name}(a{text if text.startswith('>') else f', {text}' if text else ''})"
                        for text in arguments]
    yield from [f"{name}({operand})" for name in EVERY_SHAPE for operand in "vse"]
    yield from OTHERS

"""What people do wrong when they begin, and what they are told: one table of (mistake, exception, words).

Messages are plain sentences: no printed tuples, and no chain of tracebacks for one mistake.
"""
import ast
import inspect
import math
import operator
import re
import warnings
from pathlib import Path

import numpy
import pytest

import phintys
from phintys import tensor as T
from phintys.gradient import Rop
from phintys.ifelse import ifelse

ROOT = Path(__file__).resolve().parents[2]

x, i, v, w, lv = T.dscalar("x"), T.lscalar("i"), T.dvector("v"), T.dvector("w"), T.lvector("lv")
m, n, t = T.dmatrix("m"), T.dmatrix("n"), T.dtensor3("t")
s, sv = phintys.shared(1.0, "s"), phintys.shared(numpy.zeros(3), "sv")
function, shared = phintys.function, phintys.shared
NO_VALUE = "has no value yet"


def call(inputs, output, *values):
    return function(inputs, output)(*values)


def statement(text):
    """A mistake that is no expression."""
    return lambda: exec(text, dict(globals()))


MISTAKES = {
    # ---- numbers that are not known yet
    "int(x)": (lambda: int(x), TypeError, f"^x is symbolic and {NO_VALUE}.*eval\\(\\)"),
    "float(x)": (lambda: float(x), TypeError, f"^x .*{NO_VALUE}.*eval\\(\\)"),
    "complex(x)": (lambda: complex(x), TypeError, f"^x .*{NO_VALUE}.*eval\\(\\)"),
    "round(x)": (lambda: round(x), TypeError, f"^x .*{NO_VALUE}.*x.round\\(\\)"),
    "round(x, 2)": (lambda: round(x, 2), TypeError, f"{NO_VALUE}.*x.round\\(\\)"),
    "range(i)": (lambda: range(i), TypeError, f"^i .*{NO_VALUE}.*eval\\(\\).*T.arange, not range"),
    "range(x)": (lambda: range(x), TypeError, f"^x .*{NO_VALUE}.*T.arange"),
    "operator.index(i)": (lambda: operator.index(i), TypeError, f"{NO_VALUE}.*integer"),
    "list[i]": (lambda: [1, 2, 3][i], TypeError, f"{NO_VALUE}.*index of a list"),
    "math.exp(x)": (lambda: math.exp(x), TypeError, f"{NO_VALUE}.*T.exp, not math.exp"),
    "math.sqrt(expression)": (lambda: math.sqrt(x + 1), TypeError, f"add.*{NO_VALUE}.*T.exp"),
    "format": (lambda: f"{x:.3f}", TypeError, f"{NO_VALUE}.*'.3f'.*eval\\(\\)"),
    "numpy.array(v)": (lambda: numpy.array(v), TypeError, "v is symbolic and has no value.*eval\\(\\)"),
    "numpy.float64(x)": (lambda: numpy.float64(x), TypeError, "x is symbolic and has no value.*eval\\(\\)"),
    "if x > 0": (lambda: 1 if x > 0 else 2, TypeError, "no truth value.*switch"),
    "0 < x < 1": (lambda: 0 < x < 1, TypeError, "no truth value.*&"),
    "max(x, s)": (lambda: max(x, s), TypeError, "no truth value.*T.maximum"),
    "for e in v": (lambda: list(v), TypeError, "does not support iteration"),
    "a, b = v": (statement("a, b = v"), TypeError, "does not support iteration"),
    "1 in v": (lambda: 1 in v, TypeError, f"v .*{NO_VALUE}.*T.any\\(T.eq"),
    "len(v)": (lambda: len(v), TypeError, "no len.*shape\\[0\\]"),

    # ---- no numbers
    "T.exp(None)": (lambda: T.exp(None), TypeError, "^exp: Cannot convert None.*None is not numeric.*left out"),
    "T.exp('a')": (lambda: T.exp("a"), TypeError, "^exp: Cannot convert 'a'.*text, not numeric"),
    "T.exp({})": (lambda: T.exp({"a": 1}), TypeError, "exp: .*of class dict"),
    "T.constant('a')": (lambda: T.constant("a"), TypeError, "^Could not convert 'a'.*text, not numeric"),
    "T.constant(None)": (lambda: T.constant(None), TypeError, "^Could not convert None.*not numeric"),
    "T.constant([1, 'a'])": (lambda: T.constant([1, "a"]), TypeError, "its elements.*are text"),
    "T.constant([1, None])": (lambda: T.constant([1, None]), TypeError, "its elements.*not numeric, but None"),
    "ragged": (lambda: T.constant([[1], [1, 2]]), TypeError, "inhomogeneous shape"),
    "T.constant(2**70)": (lambda: T.constant(2**70), TypeError, "does not fit in 64 bits"),
    "lv + 2**70": (lambda: lv + 2**70, TypeError, "^add: .*1180591620717411303424.*does not fit in 64 bits"),
    "-2**70 * lv": (lambda: -2**70 * lv, TypeError, "^mul: .*does not fit in 64 bits"),
    "v + 'a'": (lambda: v + "a", TypeError, "^add: Cannot convert 'a'"),
    "None * v": (lambda: None * v, TypeError, "^mul: Cannot convert None"),
    "v ** []": (lambda: v ** ["a"], TypeError, "^pow: .*text"),
    "v + True": (lambda: v + True, TypeError, "Cannot cast True or False.*numpy.array\\(True\\)"),
    "clip(w, 0, min=1)": (lambda: T.clip(w, 0, min=1), ValueError, "two names of one argument"),
    "clip(0, None, w)": (lambda: T.clip("a", 0, w), TypeError, "^clip: Cannot convert 'a'"),
    "T.dot(m, 'a')": (lambda: T.dot(m, "a"), TypeError, "Cannot convert 'a'"),
    "T.zeros('a')": (lambda: T.zeros("a"), TypeError, "Cannot convert 'a'"),
    "as_tensor_variable(generic)": (lambda: T.as_tensor_variable(phintys.gof.generic()), TypeError, "has type Generic"),
    "v & w": (lambda: v & w, TypeError, "float64"),

    # ---- indices
    "v['a']": (lambda: v["a"], TypeError, "^v cannot be indexed with 'a': .*text"),
    "m[:, {}]": (lambda: m[:, {}], TypeError, "^m cannot be indexed with {}"),
    "v[1.5]": (lambda: v[1.5], TypeError, "index must be integers.*1.5"),
    "v[x]": (lambda: v[x], TypeError, "index must be integers.*x of dtype float64"),
    "v[:2.5]": (lambda: v[:2.5], TypeError, "integer or a slice.*2.5"),
    "v[0, 0]": (lambda: v[0, 0], IndexError, "v has 1 dimensions, but 2 were indexed$"),
    "v[m > 0]": (lambda: v[m > 0], IndexError, "v has 1 dimensions.*the mask .* takes 2, one for each of its own"),
    "m[:, m > 0]": (lambda: m[:, m > 0], IndexError, "m has 2 dimensions, but 3.*mask .* takes 2"),
    "m[array]": (lambda: m[numpy.ones((2, 2, 2), bool)], IndexError, "mask .* takes 3"),
    "v[0] = 1": (statement("v[0] = 1"), TypeError, "v is symbolic.*T.set_subtensor"),
    "v[0] += 1": (statement("v[0] += 1"), TypeError, "T.inc_subtensor"),
    "del v[0]": (statement("del v[0]"), TypeError, "v is symbolic and cannot be modified"),
    "set_subtensor(v, 1)": (lambda: T.set_subtensor(v, 1), TypeError, "must be the result of a subtensor.*not v"),
    "v[5] of one": (lambda: call([v], v[5], [1.0]), IndexError, "5 is out of bounds for axis 0 with size 1"),

    # ---- types and shapes
    "TensorType('float64', 3)": (lambda: T.TensorType("float64", 3), TypeError,
                                 "sequence of bools.*got 3.*\\(False, False, False\\)$"),
    "TensorType('float64', 'ff')": (lambda: T.TensorType("float64", "ff"), TypeError, "sequence of bools.*'ff'"),
    "TensorType('float65')": (lambda: T.TensorType("float65", (False,)), TypeError, "Unsupported dtype.*float65"),
    "T.dvector(3)": (lambda: T.dvector(3), TypeError, "name of a variable must be a string, got 3"),
    "T.dmatrix((2, 3))": (lambda: T.dmatrix((2, 3)), TypeError, "must be a string, got \\(2, 3\\)"),
    "astype('foo')": (lambda: v.astype("foo"), TypeError, "Unsupported dtype.*foo"),
    "dimshuffle(0)": (lambda: m.dimshuffle(0), ValueError,
                      "cannot drop a non-broadcastable dimension.*\\(0,\\) leaves out dimension 1 of 2.*addbroadcast"),
    "t.dimshuffle(1)": (lambda: t.dimshuffle(1), ValueError, "leaves out dimensions 0, 2 of 3"),
    "dimshuffle(0, 0)": (lambda: m.dimshuffle(0, 0), ValueError, "may not appear twice.*: \\(0, 0\\)"),
    "dimshuffle(0, 5)": (lambda: m.dimshuffle(0, 5), ValueError, "is 5, but the input only has 2"),
    "transpose(0)": (lambda: m.transpose(0), ValueError, "leaves out dimension 1 of 2"),
    "sum(axis=1)": (lambda: v.sum(axis=1), ValueError, "v to reduce on axis 1: it has 1"),
    "sum(axis=i)": (lambda: v.sum(axis=i), TypeError, "Axis must be an integer"),
    "reshape('a')": (lambda: v.reshape("a"), TypeError, "Shape must be integers, got 'a'"),
    "reshape(lv)": (lambda: v.reshape(lv), ValueError, "'ndim' keyword"),
    "reshape at run": (lambda: call([v], v.reshape((2, 2)), [1.0, 2.0, 3.0]), ValueError,
                       "\\(3,\\) to shape \\(2, 2\\)"),
    "alloc": (lambda: T.alloc(v, 2, 2.5), TypeError, "must be integers.*2.5"),
    "alloc rank": (lambda: T.alloc(m, 2), TypeError, "more dimensions than the specified dimensions: 2, not at most 1"),
    "addbroadcast": (lambda: T.addbroadcast(m, 5), ValueError, "m has 2.*\\[5\\]"),
    "matrix + column": (lambda: call([m, n], m + n, numpy.ones((2, 1)), numpy.ones((2, 3))), ValueError,
                        "shape\\[1\\] = 1.*declare input\\[0\\] as T.col, or use T.addbroadcast\\(x, 1\\)"),
    "row + matrix": (lambda: call([m, n], m * n, numpy.ones((2, 3)), numpy.ones((1, 3))), ValueError,
                     "declare input\\[1\\] as T.row"),
    "fused column": (lambda: call([m, n], (m * n).sum(), numpy.ones((2, 1)), numpy.ones((2, 3))), ValueError, "T.col"),
    "vector of one": (lambda: call([v, w], v + w, [1.0], [1.0, 2.0]), ValueError, "T.addbroadcast\\(x, 0\\)"),
    "other lengths": (lambda: call([v, w], v + w, [1.0] * 3, [1.0, 2.0]), ValueError, "shape\\[0\\] = 2\\)$"),
    "ones_like(T.ones(v))": (lambda: T.ones(v), TypeError, "number of lengths in v is not known"),

    # ---- joins and splits
    "join along the wrong axis": (lambda: call([m, n], T.concatenate([m, m, n], 1), numpy.ones((2, 3)),
                                               numpy.ones((3, 5))), ValueError,
                                  "along axis 1.*tensor 2 has length 3 along axis 0, where tensor 0 has 2"),
    "join(m, v)": (lambda: T.concatenate([m, v]), TypeError, "same number of dimensions"),
    "join axis 2": (lambda: T.concatenate([m, m], axis=2), ValueError, "out of bounds.*2"),
    "join axis 'a'": (lambda: T.concatenate([m, m], axis="a"), TypeError, "axis must be an integer, got 'a'"),
    "join axis x": (lambda: T.concatenate([m, m], axis=x), TypeError, "axis.*integer.*x has type"),
    "join([m, n], 0)": (lambda: T.join([m, n], 0), TypeError, "axis must be an integer.*T.join\\(axis, x, y\\)"),
    "concatenate(v)": (lambda: T.concatenate(v), TypeError, "tuple or a list.*got v"),
    "concatenate([])": (lambda: T.concatenate([]), ValueError, "empty list"),
    "concatenate scalars": (lambda: T.concatenate([x, x]), TypeError, "see stack"),
    "split in 3": (lambda: T.split(v, [1, 1], 3), ValueError, "2 lengths.*3 parts are wanted"),
    "split symbolic": (lambda: T.split(v, [i, i], 3), ValueError, "2 lengths.*3 parts"),
    "split 1.5": (lambda: T.split(v, [1.5, 1], 2), TypeError, "vector of integers.*1.5"),
    "split in 'a'": (lambda: T.split(v, [1, 1], "a"), TypeError, "must be an int, got 'a'"),
    "split axis": (lambda: T.split(v, [1, 1], 2, axis=x), TypeError, "axis must be an integer scalar, got x"),

    # ---- axes, and what should be functions or variables
    **{f"{name} axis 'a'": (lambda make=make: make("a"), TypeError, f"^{name}: an axis is an integer, got 'a'")
       for name, make in {
           "roll": lambda axis: T.roll(m, 1, axis), "cumsum": lambda axis: T.cumsum(m, axis),
           "cumprod": lambda axis: T.cumprod(m, axis), "take": lambda axis: T.take(m, [0], axis),
           "repeat": lambda axis: T.repeat(m, 2, axis), "swapaxes": lambda axis: T.swapaxes(m, 0, axis),
           "diff": lambda axis: T.diff(m, axis=axis), "cross": lambda axis: T.cross(m, n, axis=axis),
           "fft": lambda axis: T.fft.fft(m, axis=axis), "moveaxis": lambda axis: T.moveaxis(m, axis, 0),
           "median": lambda axis: T.median(m, axis), "flip": lambda axis: T.flip(m, axis),
           "vectorize": lambda axis: phintys.vectorize(lambda a: a, in_axes=axis)(m)}.items()},
    "roll(m, 'a')": (lambda: T.roll(m, "a"), TypeError, "Cannot convert 'a'"),
    "take axis 7": (lambda: T.take(m, [0], 7), ValueError, "^take: axis 7 is out of bounds for m with 2 dimensions"),
    "cumsum axis 7": (lambda: T.cumsum(m, 7), ValueError, "^cumsum: axis 7 is out of bounds for m with 2 dimensions"),
    "polyfit degree": (lambda: T.polyfit(v, w, "a"), TypeError, "^polyfit: the degree is an integer, got 'a'"),
    "vectorize(5)": (lambda: phintys.vectorize(5), TypeError, "^vectorize takes a function of variables, got 5"),
    "vjp(5)": (lambda: phintys.vjp(5, v), TypeError, "^vjp takes a function of variables, got 5"),
    "linearize(5)": (lambda: phintys.linearize(5, v), TypeError, "^linearize takes a function of variables, got 5"),
    "value_and_grad(5)": (lambda: phintys.value_and_grad(5), TypeError, "^value_and_grad takes a function"),
    "clone(5)": (lambda: phintys.clone(5), TypeError, "^clone copies variables, got 5"),
    "clone([v, 5])": (lambda: phintys.clone([v, 5]), TypeError, "^clone copies variables, got 5"),
    "TensorType of lengths": (lambda: T.TensorType("float64", (2, 3)), TypeError,
                              r"bool for each dimension, got \(2, 3\); lengths are given by shape=\(2, 3\)"),
    "change_flags('a=1')": (lambda: phintys.change_flags("workers=1"), TypeError, "takes a dict.*'workers=1'"),
    "load(5)": (lambda: phintys.load(5), TypeError, "PathLike.*not int"),

    # ---- functions
    "an expression as input": (lambda: function([v + 1], v), phintys.compile.UnusedInputError,
                               "index 0.*add.*It is an expression, computed by .*add"),
    "a constant as input": (lambda: function([T.constant(1.0)], x), TypeError,
                            "Constants not allowed.*cannot be an input$"),
    "a number as input": (lambda: function([1.0], x), TypeError, "1.0.*expected a Variable"),
    "a type as input": (lambda: function([T.dvector], v), TypeError, "expected a Variable"),
    "a shared variable as input": (lambda: function([s], s), TypeError, "s .*explicit input.*givens"),
    "no list of inputs": (lambda: function(x, x), TypeError, "contained in a list.*got x"),
    "an input left out": (lambda: function([v], v + w), phintys.gof.MissingInputError, "w of type.*left out"),
    "an input twice": (lambda: function([x, x], x), phintys.compile.UnusedInputError, "x .*used twice.*0 and 1"),
    "output None": (lambda: function([x], [x, None]), TypeError, "Outputs must be.*None"),
    "updated twice": (lambda: function([], updates=[(s, s + 1), (s, s + 2)]), ValueError,
                      "^the shared variable s .*already has an update.* too$"),
    "an update of no shared variable": (lambda: function([x], updates=[(x, x + 1)]), TypeError,
                                        "^update target must be a SharedVariable, got x .*between calls.$"),
    "an update of a name": (lambda: function([], updates={"s": s + 1}), TypeError, "SharedVariable, got 's'"),
    "an update of another type": (lambda: function([v], updates=[(s, v)]), TypeError, "same type.*s .*v "),
    "an update by text": (lambda: function([], updates=[(s, "a")]), TypeError, "update of s .*float64.*got 'a'"),
    "an update by None": (lambda: function([], updates=[(s, None)]), TypeError, "update of s .*got None"),
    "updates=s": (lambda: function([], updates=s), TypeError, "lists of pairs: got s"),
    "updates=(s, e)": (lambda: function([], updates=(s, s + 1)), ValueError, "2 elements"),
    "givens of another type": (lambda: function([v], x * s, givens={s: v}), TypeError,
                               "^s .*scalar.*cannot be replaced by v .*vector"),
    "givens of a name": (lambda: function([x], x * s, givens={"s": x}), TypeError, "must be Variable, got 's'$"),
    "clone with another type": (lambda: phintys.clone(x * 2, replace={x: v}), TypeError, "v.*vector.*scalar"),
    "clone of a name": (lambda: phintys.clone(x * 2, replace={"x": v}), TypeError, "must be Variable, got 'x'$"),
    "swap of another type": (lambda: function([x], x * s).copy(swap={s: sv}), TypeError,
                             "s .*scalar.*cannot be swapped for sv .*vector.*same type"),
    "givens=5": (lambda: function([x], x, givens=5), TypeError, "givens are dictionaries or lists of pairs: got 5$"),
    "updates=5": (lambda: function([x], x, updates=5), TypeError, "Updates.*dictionaries or lists of pairs: got 5$"),
    "name of a shared variable": (lambda: shared(1.0, name=5), TypeError, "shared variable must be a string, got 5"),
    "name of a shared matrix": (lambda: shared(numpy.eye(2), 5), TypeError, "must be a string, got 5"),
    "pp of a number": (lambda: phintys.pp(5), TypeError, "a variable can be printed as a formula, got 5$"),
    "pprint of a list": (lambda: phintys.printing.pprint([x]), TypeError, "printed as a formula, got \\[x\\]"),
    "mode": (lambda: function([x], x, mode="FAST"), ValueError, "FAST; there are 'FAST_RUN'"),

    # ---- gradients
    "hessian of a vector": (lambda: T.hessian(v, v), TypeError, "0 dimensional variable.*v has 1"),
    "hessian by a number": (lambda: T.hessian(m.sum(), 2.0), TypeError, "Variable as `wrt`, got 2.0"),
    "jacobian of a number": (lambda: T.jacobian(2.0, m), TypeError, "Variable as `expression`, got 2.0"),
    "grad of a vector": (lambda: T.grad(v, v), TypeError, "cost must be a scalar. v .*has 1"),
    "grad by a stranger": (lambda: T.grad(x, w), phintys.gradient.DisconnectedInputError, "not part of.*: w "),
    "grad by a name": (lambda: T.grad(x, "x"), TypeError, "Expected Variable, got x"),
    "grad of a number": (lambda: T.grad(3.0, x), TypeError, "cost must be a scalar Variable, got 3.0"),
    "Rop of another rank": (lambda: Rop(v * 2, v, m), ValueError, "1 versus 2"),

    # ---- values
    "eval without inputs": (lambda: (v + 1).eval(), phintys.gof.MissingInputError, "v of type"),
    "eval by name": (lambda: (v + 1).eval({"v": [1.0]}), TypeError, "dictionary from variables.*'v'"),
    "eval of a list": (lambda: (v + 1).eval([1.0]), TypeError, "dictionary from variables.*\\[1.0\\]"),
    "too few arguments": (lambda: call([v, w], v + w, [1.0]), TypeError, "Missing required input: 1: w"),
    "symbolic argument": (lambda: call([v], v + 1, v), TypeError, "found a Variable: v"),
    "rank of an argument": (lambda: call([v], v + 1, 1.0), TypeError, "\"v\".*index 0.*expected 1, got 0"),
    "set_value": (lambda: s.set_value([1.0, 2.0]), TypeError, "expected 0, got 1.*shared variable s"),
    "ifelse by a vector": (lambda: ifelse(v, v, w), TypeError, "scalar.*v of type"),

    # ---- arguments of another kind
    "dtype={1}": (lambda: T.zeros(3, dtype={1}), TypeError, "Unsupported dtype.*\\{1\\}"),
    "vstack(7)": (lambda: T.vstack(7), TypeError, "^vstack takes a sequence of tensors, got 7"),
    "hstack(None)": (lambda: T.hstack(None), TypeError, "^hstack takes a sequence of tensors, got None"),
    "dstack(1.5)": (lambda: T.dstack(1.5), TypeError, "^dstack takes a sequence of tensors, got 1.5"),
    "column_stack(7)": (lambda: T.column_stack(7), TypeError, "^column_stack takes a sequence of tensors, got 7"),
    "multi_dot(None)": (lambda: T.linalg.multi_dot(None), TypeError, "^multi_dot takes a sequence of matrices"),
    "rot90(k)": (lambda: T.rot90(m, "a"), TypeError, "^rot90: k must be an integer, got 'a'"),
    "rot90(axes)": (lambda: T.rot90(m, 1, None), TypeError, "^rot90 takes a sequence of two axes, got None"),
    "rollaxis(start)": (lambda: T.rollaxis(m, 0, "a"), TypeError, "^rollaxis: start must be an integer, got 'a'"),
    "transpose(1.5)": (lambda: T.transpose(m, 1.5), TypeError, "^transpose takes a sequence of axes, got 1.5"),
    "trim_zeros(None)": (lambda: T.trim_zeros(v, None), ValueError, "^trim_zeros: trim must.*got None"),
    "flatten(outdim)": (lambda: T.flatten(m, 1.5), TypeError, "^flatten: ndim must be an integer, got 1.5"),
    "tile(ndim)": (lambda: T.tile(m, 2, ndim="a"), TypeError, "^tile: ndim must be an integer, got 'a'"),
    "polyder(m)": (lambda: T.polyder(v, "a"), TypeError, "^polyder: m must be an integer, got 'a'"),
    "polyint(m)": (lambda: T.polyint(v, (0, 0)), TypeError, "^polyint: m must be an integer, got \\(0, 0\\)"),
    "diff(n)": (lambda: T.diff(v, None), TypeError, "^diff: n must be an integer, got None"),
    "diag(k)": (lambda: T.diag(m, "a"), TypeError, "Diag: offset must be an integer, got 'a'"),
    "trace(offset)": (lambda: T.trace(m, None), TypeError, "offset must be an integer, got None"),
    "unique(axis)": (lambda: T.unique(m, axis="a"), TypeError, "^unique: axis must be an integer, got 'a'"),
    "histogram(range)": (lambda: T.histogram(v, 3, 1.5), TypeError, "^histogram takes a sequence of two numbers"),
    "histogram(3 numbers)": (lambda: T.histogram(v, 3, (1, 2, 3)), ValueError, "^histogram: range must.*\\(1, 2, 3\\)"),
    "round(mode)": (lambda: T.round(v, {}), ValueError, "^round mode {} is not implemented"),
    "tensordot(None)": (lambda: T.tensordot(m, n, None), TypeError, "^tensordot: axes.* integer, got None"),
    "tensorinv(ind)": (lambda: T.linalg.tensorinv(m, "a"), TypeError, "^tensorinv: ind must be an integer, got 'a'"),
    "tensorinv(number)": (lambda: T.linalg.tensorinv(x), ValueError, "ind.*at most the number of dimensions of x"),
    "tensorsolve(number)": (lambda: T.linalg.tensorsolve(m, x), ValueError, "^tensorsolve: .*x with 0"),
    "eigvalsh(UPLO)": (lambda: T.linalg.eigvalsh(m, UPLO=7), ValueError, "UPLO argument must be 'L' or 'U', got 7"),
    "Rop(None)": (lambda: Rop(None, v, v), TypeError, "^Rop: f must be a variable.*None"),
    "Rop(wrt)": (lambda: Rop(v * 2, 1.5, v), TypeError, "^Rop: wrt must be a variable.*1.5"),
    "Lop(7)": (lambda: T.Lop(7, v, v), TypeError, "^Lop: f must be a variable.*7"),
    "known_grads": (lambda: T.grad(x * 2, x, known_grads=[]), TypeError, "^known_grads must be a dict.*\\[\\]"),
    "is_flat('a')": (lambda: T.is_flat("a"), TypeError, "text, not numeric"),

    # ---- the configuration
    "workers=10**20": (lambda: phintys.config.read_flags("workers=1" + "0" * 20), ValueError,
                       "^PHINTYS_FLAGS: config.workers cannot be '1(0){20}': .*at most 2147483647$"),
    "workers='10**20'": (lambda: phintys.config.read_flags("workers=10**20"), ValueError,
                         "'10\\*\\*20': expected a whole number, in digits"),
    "workers=-3": (lambda: setattr(phintys.config, "workers", -3), ValueError, "cannot be -3.*at least 0"),
    "floatx": (lambda: setattr(phintys.config, "floatx", "float32"), AttributeError, "'floatx'; did you mean 'floatX'"),
    "floatX": (lambda: setattr(phintys.config, "floatX", "float65"), ValueError, "'float65'.*'float32'"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_explained(mistake):
    make, exception, words = MISTAKES[mistake]
    with pytest.raises(exception) as caught:
        make()
    error = caught.value
    message = str(error).partition("\nApply node that caused the error")[0]
    assert re.search(words, message, re.DOTALL), message
    assert len(error.args) == 1 and error.__cause__ is None, "a printed tuple, or a chain of tracebacks"
    assert error.__context__ is None or error.__suppress_context__


# What Python says of code that took an argument for something else: it names neither the argument nor the function.
OF_PYTHON = re.compile(r"has no attribute|unhashable|is not iterable|not subscriptable|int\\(\\)|not supported between|"
                       r"index out of range|invalid literal|after \\* must be|has no len")
# Functions for programs that handle graphs, not for users of tensors: Python's words are good enough there.
OF_GRAPHS = {"get_canonical_form_slice", "consider_constant", "grad", "as_tensor", "as_tensor_variable", "constant",
             "get_scalar_constant_value", "patternbroadcast", "load"}
WRONG = {"None": None, "text": "nonsense", "dict": {"a": 1}, "7": 7, "-9": -9, "1.5": 1.5, "[]": [], "(0, 0)": (0, 0)}


def test_each_argument_of_each_function_may_be_wrong():
    """Functions of tensors, each with matrices for what it requires, and something else for each argument in turn."""
    bad, count = [], 0
    for name in T.__all__:                              # also what is imported when it is used
        if T._HOMES.get(name, "").startswith("compositions."):
            continue
        function_ = getattr(T, name)
        if name in OF_GRAPHS or not inspect.isfunction(function_) or name.startswith("_"):
            continue
        parameters = inspect.signature(function_).parameters.values()
        required = {p.name: m for p in parameters if p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD}
        for parameter in parameters:
            for text, value in WRONG.items():
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        function_(**{**required, parameter.name: value})
                except Exception as error:
                    count += 1
                    if OF_PYTHON.search(str(error)):
                        bad.append(f"{name}({parameter.name}={text}): {error}")
    assert count > 2000 and not bad, "\n".join(bad)


# Errors whose arguments mean something to those who catch them, as in Theano, and the system's.
WITH_ARGUMENTS = re.compile(r"MethodNotDefined|BlasOp|InvalidValueError|Bad\w+|NondeterministicOp|UnwrittenOutput|"
                            r"GradientError|OSError$")


def raised_with_several_arguments(path):
    """Sentences followed by other arguments, which ``str`` would print as a tuple."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and len(node.exc.args) > 1:
            name = ast.unparse(node.exc.func)
            if name[:1].isupper() and not WITH_ARGUMENTS.match(name):
                yield f"{path.relative_to(ROOT)}:{node.lineno}: {name}"


def test_messages_are_no_tuples():
    paths = [path for folder in ("api", "graph", "ops", "optimizer", "vm") for path in (ROOT / folder).rglob("*.py")]
    found = [line for path in paths if path.name != "blas.py" for line in raised_with_several_arguments(path)]
    assert found == []
    # Theano's tests compare the arguments of these.
    assert list(raised_with_several_arguments(ROOT / "ops" / "products" / "blas.py"))


# ---- what a newcomer reads -------------------------------------------------------------------------------------------
W = phintys.shared(numpy.zeros((3, 2)), "W")
ROW = phintys.shared(numpy.zeros((1, 2)), "row", broadcastable=(True, False))
READ = {
    "an update of another rank": (
        lambda: phintys.function([], [], updates=[(W, W.sum())]), TypeError,
        r"original shared variable: W \(made at .*\) has the type .*matrix\), but its new value sum\(W\) \(made at "
        r".*\) has the type .*scalar\)\. The new value has 0 dimensions instead of 2: look for a sum or mean"),
    "an update of another dtype": (
        lambda: phintys.function([], [], updates=[(W, T.cast(W, "float32"))]), TypeError,
        r"its new value float32\(W\) .*Their dtypes differ: cast the new value, T.cast\(value, 'float64'\)"),
    "an update with another pattern": (
        lambda: phintys.function([], [], updates=[(ROW, W)]), TypeError, r"always 1: T.unbroadcast\(value, axis\)"),
    "a gradient of a matrix": (
        lambda: T.grad(W * 2, W), TypeError,
        r"cost must be a scalar. W \* 2 \(made at .*\) has 2 dimensions. Take its sum\(\) or mean\(\), or .*jacobian"),
    "a disconnected gradient": (
        lambda: T.grad(T.dvector("q").sum(), W), phintys.gradient.DisconnectedInputError,
        r"not part of the computational graph of the cost.*: W \(made at .*disconnected_inputs='ignore' its gradient"),
    "an argument that is nearly right": (
        lambda: phintys.function([T.dscalar("rate")], [], on_unused_input="ignore")(rat=1.0), TypeError,
        r"Unknown input or state: 'rat'.*\(rate\).*Did you mean 'rate'\?"),
    "an op as an output": (
        lambda: phintys.function([], T.exp), TypeError, r"Received Elemwise\{exp.*a function of variables: call it"),
    "shapes at run time": (
        lambda: phintys.function([], T.tanh(W + phintys.shared(numpy.zeros(3), "b")) * 2)(), ValueError,
        r"(?s)mis-match.*Formula: tanh\(W \+ b\[None, :\]\) \* 2\nInstruction: \d+\n.*Inputs shapes: .*Made at: "),
}


@pytest.mark.parametrize("act, kind, text", READ.values(), ids=READ)
def test_messages_name_formulas_and_say_what_to_do(act, kind, text):
    with pytest.raises(kind, match=text):
        act()

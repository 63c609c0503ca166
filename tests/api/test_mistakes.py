"""What people do wrong when they begin, and what they are told: one table of (mistake, exception, words).

Messages are plain sentences: no printed tuples, and no chain of tracebacks for one mistake.
"""
import ast
import datetime
import decimal
import fractions
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

    # ---- values of other libraries, and what is no number
    **{f"f({text})": (lambda value=value: call([v], v * 2, value()), TypeError, f'(?s)argument with name "v".*{words}')
       for text, value, words in [
           ("masked", lambda: numpy.ma.masked_array([1.0, 2.0], [0, 1]), "got a MaskedArray.*mask would be lost"),
           ("objects", lambda: numpy.array([1.0, "a"], object), "dtype object"),
           ("array of text", lambda: numpy.array(["1", "2"]), "dtype <U1"), ("text", lambda: "12", "the text 12"),
           ("bytes", lambda: b"12", "the text b'12'"), ("list of text", lambda: ["1"], "the text \\['1'\\]"),
           ("dates", lambda: numpy.array(["2020-01-01"], "datetime64[D]"), "dtype datetime64\\[D\\]"),
           ("seconds", lambda: numpy.array([1], "timedelta64[s]"), "dtype timedelta64\\[s\\]"),
           ("records", lambda: numpy.zeros(2, [("a", float)]), "dtype \\[\\('a', '<f8'\\)\\]"),
           ("a date", lambda: [datetime.date(2020, 1, 1)], "element \\[0\\] is of type date"),
           ("decimals", lambda: [decimal.Decimal("1.5")], "element \\[0\\] is of type Decimal"),
           ("fractions", lambda: [fractions.Fraction(1, 2)], "element \\[0\\] is of type Fraction"),
           ("[None]", lambda: [None, 1.0], "element \\[0\\] is of type NoneType"),
           ("ragged rows", lambda: [[1.0], [1.0, 2.0]], "got a list.*setting an array element with a sequence"),
           ("a dict", lambda: {1.0: 2.0}, "it is of type dict"), ("a set", lambda: {1.0}, "it is of type set"),
           ("an iterator", lambda: iter([1.0]), "got a list_iterator"), ("a generator", lambda: (a for a in [1.0]),
                                                                        "got a generator"),
           ("complex", lambda: numpy.ones(2) + 1j, "dtype complex128"), ("1j", lambda: [1j], "take real, imag or abs"),
           ("long doubles", lambda: numpy.longdouble([1]), "dtype float128|dtype longdouble"),
           ("a function", lambda: len, "it is of type builtin_function_or_method"),
           ("a class", lambda: numpy.float64, "got a type\\.\\n.*with float\\(\\)"),
           ("a variable", lambda: v, "got a TensorVariable\\.\\n.*found a Variable: v"),
           ("a shared variable", lambda: sv, "got a TensorSharedVariable\\.\\n.*found a Variable: sv"),
           ("a matrix", lambda: numpy.ones((2, 2)), "expected 1, got 2 with shape \\(2, 2\\)"),
           ("a number", lambda: 5.0, "expected 1, got 0 with shape \\(\\)")]},
    **{f"{kind}({value!r})": (lambda kind=kind, value=value: call([a := T.vector("a", kind)], a, value), TypeError,
                              f'(?s)argument with name "a".*{kind}.*{words}')
       for kind, value, words in [
           ("int64", [1.5], "1.5 would become 1"), ("int64", [math.nan], "nan"), ("int64", [2**64], "too large"),
           ("int32", [2**40], "1099511627776 would become 0"), ("float32", [1e300], "would become inf"),
           ("bool", [2], "2 would become True"), ("int8", [300], "300 would become 44"),
           ("int8", [-200], "-200 would become 56"), ("complex128", ["1+2j"], "the text")]},
    "int64(array of floats)": (lambda: call([lv], lv, numpy.array([1.0])), TypeError, "dtype float64 without risking"),
    "int64(uint64)": (lambda: call([lv], lv, numpy.array([2**63], "uint64")), TypeError, "dtype uint64"),
    "too many arguments": (lambda: call([v], v, [1.0], [2.0]), TypeError, "Too many.*takes 1, 2 were given"),
    "one argument of none": (lambda: call([], s + 1, 1.0), TypeError, "Too many.*takes 0, 1 were given"),
    "a name that is not there": (lambda: function([v], v)(w=[1.0]), TypeError, "'w'.*1 named inputs \\(v\\)"),
    "a name where there is none": (lambda: function([], s + 1)(x=1.0), TypeError,
                                   "'x'.* has 0 named inputs \\(\\) and 0 unnamed, and the states s"),
    "a function named 5": (lambda: function([v], v, name=5), TypeError, "name of a function must be a string, got 5"),
    **{f"{flag}='yes'": (lambda flag=flag: function([v], v, **{flag: "yes"}), TypeError,
                         f"{flag} must be True, False or None, got 'yes'")
       for flag in ("allow_input_downcast", "accept_inplace", "rebuild_strict")},
    **{f"In({flag}='yes')": (lambda flag=flag: phintys.In(v, **{flag: "yes"}), TypeError,
                             f"{flag} must be True, False or None, got 'yes'")
       for flag in ("allow_downcast", "strict")},
    "an argument twice": (lambda: function([v], v)([1.0], v=[2.0]), TypeError, "Multiple values for input: 'v'"),
    "set_value by rank": (lambda: sv.set_value(numpy.ones((2, 2))), TypeError, "got 2 with.*sv .*stays as it was"),
    "set_value of text": (lambda: sv.set_value("abc"), TypeError, "the text abc.*sv .*stays as it was"),
    "set_value of objects": (lambda: sv.set_value(numpy.array([1, 2], object)), TypeError, "dtype object.*sv "),
    "set_value masked": (lambda: sv.set_value(numpy.ma.masked_array([1.0], [1])), TypeError, "mask would be lost.*sv "),
    "set_value complex": (lambda: sv.set_value(numpy.ones(3) * 1j), TypeError, "dtype complex128.*sv "),
    "v + masked": (lambda: v + numpy.ma.masked_array([1.0], [1]), TypeError, "^add: .*mask would be lost"),
    "v + dates": (lambda: v + numpy.array(["2020"], "datetime64[Y]"), TypeError, "^add: .*dtype datetime64"),
    "v + records": (lambda: v + numpy.zeros(2, [("a", float)]), TypeError, "^add: .*not numeric"),
    "v + long double": (lambda: v + numpy.longdouble(1), TypeError, "^add: .*dtype (float128|longdouble)"),
    "v + (1, 'a')": (lambda: v + (1, "a"), TypeError, "^add: .*are text"),
    "v * Decimal": (lambda: v * decimal.Decimal("1.5"), TypeError, "'TensorVariable' and 'decimal.Decimal'"),
    "shared(v)": (lambda: shared(v), TypeError, "not symbolic variables, got the variable v"),
    "shared(borow)": (lambda: shared(1.0, borow=True), TypeError, "'borow': True"),
    "shared text times": (lambda: shared(numpy.array(["a"])) * 2, TypeError, "no operator mul.*dtype: '<U1'"),
    "default_rng('a')": (lambda: phintys.random.default_rng("a"), TypeError, "seed is an integer.*'a'"),
    "default_rng(-1)": (lambda: phintys.random.default_rng(-1), ValueError, "seed is an integer of at least 0.*-1"),

    # ---- updates, givens and modes of another kind
    "an update that is rounded": (lambda: function([v], updates=[(sv, v.astype("float32"))]), TypeError,
                                  "sv .*float64.*float32.*dtypes differ: cast"),
    "an update by a mask": (lambda: function([v], updates=[(sv, v > 0)]), TypeError, "v > 0 .*bool.*dtypes differ"),
    "an update by a matrix": (lambda: function([m], updates=[(sv, m)]), TypeError, "new value has 2 dimensions"),
    "an update by a function": (lambda: function([], updates=[(sv, lambda: sv)]), TypeError, "of type function"),
    "an update without a value": (lambda: function([], updates=[(sv,)]), ValueError, "tuples with 2 elements"),
    "an update of an expression": (lambda: function([], updates=[(sv + 1, sv)]), TypeError, "got .*add.*no part of"),
    "update=": (lambda: function([], s, update=[]), TypeError, "unexpected keyword argument 'update'"),
    "given=": (lambda: function([], s, given={}), TypeError, "unexpected keyword argument 'given'"),
    "givens of an input": (lambda: function([x], x, givens={x: x + 1}), RuntimeError, "replace variable 'x' .*input"),
    "cyclic givens": (lambda: function([], v * w, givens={v: w, w: v}), AssertionError, "w .*replaced by v"),
    "givens of itself": (lambda: function([v], v * w, givens={w: v * w}), phintys.gof.MissingInputError, "input: w "),
    "givens=[v, w]": (lambda: function([v], v, givens=[v, w]), ValueError, "2 elements, got \\[v, w\\]"),
    "givens={5: v}": (lambda: function([v], v, givens={5: v}), TypeError, "must be Variable, got 5"),
    **{f"mode={mode!r}": (lambda mode=mode: function([x], x, mode=mode), ValueError, f"{mode}; there are 'FAST_RUN'")
       for mode in ("FASTRUN", "fast_run", "JAX", "NUMBA", "DebugMode2")},
    **{f"mode={mode!r}": (lambda mode=mode: function([x], x, mode=mode), TypeError, f"a Mode or None, got {mode!r}")
       for mode in (5, True, phintys.Mode)},
    "config.mode": (lambda: phintys.config.change_flags(mode="XYZ")(function)([x], x), ValueError,
                    "string: XYZ \\(config.mode\\); there are"),
    "Mode(linker='numba')": (lambda: phintys.Mode(linker="numba"), KeyError, "no linker 'numba'; expected one of"),
    "Mode(optimizer='fast')": (lambda: phintys.Mode(optimizer="fast"), KeyError, "no optimizer 'fast'; expected one"),
    "Mode(optimiser=)": (lambda: phintys.Mode(optimiser="fast_run"), TypeError, "'optimiser'"),
    **{f"{name}(5)": (lambda name=name: getattr(phintys.Mode(), name)(5), TypeError, "names and tags.* strings, got 5")
       for name in ("including", "excluding", "requiring")},
    "on_unused_input": (lambda: function([x], x, on_unused_input="warning"), ValueError, "'warning'.*'ignore'"),
    "an input of text": (lambda: function(["x"], x), TypeError, "\\('x'\\), expected a Variable or In"),
    "an input None": (lambda: function([None], x), TypeError, "\\(None\\), expected a Variable or In"),
    "In('v')": (lambda: function([phintys.In("v")], v), TypeError, "symbolic variables, got 'v'"),
    "In(value='abc')": (lambda: function([phintys.In(v, value="abc")], v), TypeError, "the text abc"),
    "In(values=)": (lambda: phintys.In(v, values=1), TypeError, "'values'"),
    "Out(5)": (lambda: function([v], phintys.Out(5)), TypeError, "symbolic variables, got 5"),
    "outputs of a list": (lambda: function([v], [[v]]), TypeError, "Outputs must be.*\\[v\\]"),
    "outputs of an array": (lambda: function([v], numpy.ones(2)), TypeError, "Outputs must be.*numpy.ndarray"),
    "outputs of a lambda": (lambda: function([v], lambda: v), TypeError, "a function of variables: call it"),
    "keys of outputs": (lambda: function([v], {"a": v, 5: v}), AssertionError, "strings, got \\[5\\]"),
    "copy(swap=5)": (lambda: function([x], x * s).copy(swap=5), TypeError, "swap must be a dict.*got 5"),
    "f['w']": (lambda: function([v], v)["w"], TypeError, "Unknown input or state: w"),
    "explain(5)": (lambda: function([v], v).explain(5), ValueError, "style 5.*'formulas'"),

    # ---- lengths
    **{f"shape={shape}": (lambda shape=shape: T.tensor("float64", shape=shape), ValueError,
                          "integer of at least 0, or None, for each dimension, got " + re.escape(repr(shape)))
       for shape in [(-1, 2), (2.5,), ("a",)]},
    "zeros(-1)": (lambda: T.zeros(-1).eval(), ValueError, "negative dimensions.*\\(-1,\\)"),
    "zeros((2, -3))": (lambda: T.zeros((2, -3)).eval(), ValueError, "negative dimensions.*\\(2, -3\\)"),
    "zeros(10**15)": (lambda: T.zeros(10**15).eval(), MemoryError, "no memory.*\\(1000000000000000,\\).*8 bytes"),
    "zeros((10**10,) * 2)": (lambda: T.zeros((10**10, 10**10)).eval(), MemoryError, "no memory.*10000000000"),
    "ones((2**62, 4))": (lambda: T.ones((2**62, 4)).eval(), MemoryError, "no memory.*4611686018427387904"),
    "linspace(0, 1, -5)": (lambda: T.linspace(0, 1, -5), ValueError, "-5, must be non-negative"),
    "repeat(v, -1)": (lambda: T.repeat(v, -1).eval({v: [1.0]}), ValueError, "repetitions is negative: -1"),
    "tile(v, -1)": (lambda: T.tile(v, -1).eval({v: [1.0]}), ValueError, "repetitions is negative: -1"),
    "reshape((-2, 3))": (lambda: v.reshape((-2, 3)).eval({v: [1.0] * 6}), ValueError, "\\(6,\\) to shape \\(-2, 3"),
    "normal(size=-1)": (lambda: T.random.normal(0, 1, size=-1).eval(), ValueError, "dimension 0 is negative: -1"),
    "matrix times vector": (lambda: call([m, v], T.dot(m, v), numpy.ones((2, 3)), [1.0, 1.0]), ValueError,
                            "\\(2, 3\\) and \\(2,\\) are not aligned"),
    "inv of a vector": (lambda: T.linalg.inv(v), numpy.linalg.LinAlgError, "needs a matrix.*v of type.*1 dimensions"),
    "inv of no square": (lambda: T.linalg.inv(m).eval({m: numpy.ones((2, 3))}), numpy.linalg.LinAlgError,
                         "must be square, the matrix has shape \\(2, 3\\)"),
    "solve": (lambda: call([m, v], T.linalg.solve(m, v), numpy.eye(2), numpy.ones(3)), ValueError,
              "matrix has 2 rows, the right-hand side 3"),
    "einsum of one": (lambda: T.einsum("ij,jk", m), ValueError, "2 operands, but there are 1"),
    "einsum of a rank": (lambda: T.einsum("ij->i", v), ValueError, "another rank than 1"),
    "x @ x": (lambda: x @ x, ValueError, "at least one dimension"),
    "tensordot axes": (lambda: T.tensordot(m, n, axes=5), ValueError, "a.ndim=2, axes=5"),
    "scan rows": (lambda: phintys.scan(lambda a: a, v, n_steps=5)[0].eval({v: [1.0]}), ValueError, "1 rows for 5"),
    "scan(5)": (lambda: phintys.scan(5, v), TypeError, "describes a step, got 5"),
    "scan tap": (lambda: phintys.scan(lambda a: a, {"input": v, "taps": [0.5]}), TypeError, "integers, got 0.5"),
    "scan of a number": (lambda: phintys.scan(lambda a: a, sequences=x), ValueError, "x is a scalar: pass it as"),
    "OpFromGraph of a rank": (lambda: phintys.OpFromGraph([v], [v])(m), TypeError, "m\\) into Type.*vector"),
    "OpFromGraph of two": (lambda: phintys.OpFromGraph([v], [v])(v, w), ValueError, "Expected 1 inputs, got 2"),
    "OpFromGraph of no input": (lambda: call([v], phintys.OpFromGraph([v], [w])(v), [1.0]),
                                phintys.gof.MissingInputError, "Undeclared input: w"),

    # ---- the configuration
    "workers=10**20": (lambda: phintys.config.read_flags("workers=1" + "0" * 20), ValueError,
                       "^PHINTYS_FLAGS: config.workers cannot be '1(0){20}': .*at most 2147483647$"),
    "workers='10**20'": (lambda: phintys.config.read_flags("workers=10**20"), ValueError,
                         "'10\\*\\*20': expected a whole number, in digits"),
    "workers=-3": (lambda: setattr(phintys.config, "workers", -3), ValueError, "cannot be -3.*at least 0"),
    "floatx": (lambda: setattr(phintys.config, "floatx", "float32"), AttributeError, "'floatx'; did you mean 'floatX'"),
    "floatX": (lambda: setattr(phintys.config, "floatX", "float65"), ValueError, "'float65'.*'float32'"),
    "memory_limit": (lambda: setattr(phintys.config, "memory_limit", "lots"), ValueError, "'lots': .*number of bytes"),
    **{f"flags {flags!r}": (lambda flags=flags: phintys.config.read_flags(flags), ValueError,
                            "^PHINTYS_FLAGS.*" + words)
       for flags, words in [
           ("floatX", "name=value, not 'floatX'"), ("=5", "no option ''"), ("nosuch=5", "no option 'nosuch'"),
           ("floatX=float32,floatX", "name=value"), ("floatX=float32;workers=2", "'float32;workers=2': expected one"),
           ("optimizer=xyz", "'xyz': expected one of 'o4'"), ("workers=True", "'True': expected a whole number"),
           ("allow_gc=maybe", "'maybe': expected True, False or 'plan'")]},
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_explained(mistake):
    make, exception, words = MISTAKES[mistake]
    before = s.get_value(), sv.get_value(), repr(phintys.config)
    with pytest.raises(exception) as caught:
        make()
    error = caught.value
    message = str(error).partition("\nApply node that caused the error")[0]
    assert re.search(words, message, re.DOTALL), message
    assert len(error.args) == 1 and error.__cause__ is None, "a printed tuple, or a chain of tracebacks"
    assert error.__context__ is None or error.__suppress_context__
    assert s.get_value() == before[0] and numpy.array_equal(sv.get_value(), before[1]), "a shared variable has changed"
    assert repr(phintys.config) == before[2], "an option has changed"


def test_what_pandas_has_that_is_no_number():
    pandas = pytest.importorskip("pandas")
    for value in (pandas.Series(["a"]), pandas.Categorical(["a"]), pandas.Series(pandas.to_datetime(["2020-01-01"]))):
        with pytest.raises(TypeError, match="(?s)^add: .*not numeric"):
            v + value
        with pytest.raises(TypeError, match="(?s)argument with name \"v\".*got a (Series|Categorical)"):
            call([v], v, value)
    assert call([v], v + pandas.Series([1.0, 2.0]), [1.0, 1.0]).tolist() == [2.0, 3.0]
    for value in (pandas.Series([1.0]), pandas.DataFrame({"a": [1.0]}), pandas.Index([1.0])):
        with pytest.raises(TypeError, match=f"Make an array of the {type(value).__name__} first: numpy.asarray"):
            shared(value)


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

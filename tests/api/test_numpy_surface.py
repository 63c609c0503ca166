"""NumPy's functions, methods and operators, called as NumPy's users call them, through ``numpy`` and through ``T``.

Each call has NumPy's values, dtypes and shapes, and the derivative that differences of NumPy's values give. All calls
of a row are compiled into one function.
"""
import numpy
import pytest

import phintys.tensor as T
from phintys import function, grad
from phintys.graph.variable import Variable

random = numpy.random.RandomState(3)
VALUES = {"a": random.normal(size=(2, 3)), "b": random.normal(size=(2, 3)), "t": random.normal(size=(2, 3, 4)),
          "v": random.normal(size=3), "w": random.normal(size=3), "s": numpy.array(0.7),
          "p": abs(random.normal(size=(2, 3))) + 0.3,
          "m": numpy.diag([2.0, 3, 5]) + random.normal(size=(3, 3)) / 9,
          "f": random.normal(size=(2, 3)).astype("float32"), "z": random.normal(size=(2, 3)) * (1 + 2j),
          "i": numpy.array([[-2, 1, 1], [3, 0, -1]]), "iv": numpy.array([2, 0, 1]),
          "k": numpy.array([[1, 0, 1], [0, 1, 1]], bool), "n": numpy.where([[1, 0, 1], [1, 1, 1]], 1.5, numpy.nan),
          "o": random.normal(size=(1, 3)),
          "u": numpy.array([200, 90, 7], "uint8"), "ordered": numpy.array([-1.0, 0.1, 0.9]), "e": numpy.zeros((0, 3))}

# Functions: their arguments. A ``+`` before the functions: T's have other dtypes, values or arguments, which are
# Theano's, and only NumPy's are called.
ARGUMENTS = {
    "sum prod": "a|a,0|a,axis=-1|a,axis=(0,1)|a,keepdims=True|a,axis=0,out=None|a,where=k|a,1,initial=3,where=k|e|k|"
                "f|z|a,axis=0,dtype='float32'|o,-1|e,0",
    "mean": "a|i,axis=0|a,1,keepdims=True|a,where=k|f,dtype='float64'|k|a,axis=None,out=None",
    "std var": "a|a,axis=0,ddof=1|a,keepdims=True|i|z|a,axis=1,correction=1|a,where=k|a,out=None",
    "max min amax amin": "a|i,axis=0|a,-1,keepdims=True|a,initial=9|a,axis=0,where=k,initial=1|a,out=None",
    "argmax argmin": "a|a,axis=0|a,-1,keepdims=True|i,out=None", "ptp": "a|i,axis=0|a,axis=1,out=None",
    "all any": "a|k,axis=0|k,-1,keepdims=True|k,where=k|e|k,out=None",
    "count_nonzero": "i|k,axis=0|a,axis=1,keepdims=True",
    "cumsum cumprod": "a|a,axis=0|a,-1|a,axis=0,dtype='float32'|a,out=None|i,1",
    "+cumsum cumprod": "k|u|u,dtype='int64'", "cumulative_sum": "a,axis=0|a,axis=-1,include_initial=True",
    "diff": "a|i,axis=0|a,n=2|v,prepend=0|v,append=w", "median": "a|a,axis=0,keepdims=True|a,axis=1,out=None",
    "quantile": "a,0.3|a,[0.1,0.6],axis=1|a,0.5,method='lower'|a,0.5,axis=0,out=None",
    "percentile": "a,q=30|v,[10,50]", "nansum nanmean nanstd nanmax": "n|n,axis=0|n,axis=1,keepdims=True",
    "average": "a|a,axis=1,weights=[1,2,3]", "trace": "m|m,1|t,0,1,2|m,dtype='float32'",
    "linalg.norm": "a|a,1|v,numpy.inf|a,axis=1|a,'nuc'|a,ord=2,axis=(0,1)",
    "reshape": "a,(3,2)|a,-1|a,[6]|a,(3,2),order='F'|a,(3,2),'F'|a,shape=(1,-1)|a,(6,),copy=False",
    "ravel": "a|a,'F'|a,order='C'", "transpose": "a|a,(1,0)|t,(2,0,1)|a,None|a,axes=[1,0]", "moveaxis": "t,0,-1",
    "squeeze": "o|o,0|o,axis=(0,)", "expand_dims": "a,0|v,(0,-1)", "swapaxes": "t,0,-1",
    "broadcast_to": "v,(2,3)|s,2",
    "concatenate": "[a,b]|(a,i),1|[a,b],axis=None|[a,[[1,2,3]]]|[f,i],dtype='float32',casting='unsafe'|"
                   "[a,b],0,out=None",
    "stack": "[a,b]|(v,w),-1|[s,s]|[a,i],axis=1,dtype='float32',casting='unsafe'|[v,w],out=None",
    "vstack hstack": "[a,b]|(v,w)|[a,i],dtype='float64'", "dstack column_stack": "[a,b]",
    "append": "a,b|a,b,0|v,[1.5]", "+split array_split": "a,2|a,[1],axis=1|a,3,1|v,[1,2]",
    "split": "a,2|a,indices_or_sections=[1],axis=1", "repeat": "a,2|a,[1,2],axis=0|v,iv", "tile": "a,2|v,(2,1)",
    "roll": "a,1|a,(1,2),axis=(0,1)", "flip": "a|a,0|a,(0,1)",
    "pad": "a,1|v,(1,2),mode='edge'|a,((0,1),(2,0)),'wrap'", "take": "a,[0,2]|a,iv,axis=1|a,[7],mode='wrap'",
    "take_along_axis": "a,numpy.array([[0],[1]]),axis=1", "choose": "iv,[v,w,v]|iv,(v,w),mode='clip'",
    "compress": "[True,False],a,axis=0", "nonzero": "k", "tril triu": "m|t", "where": "k,a,b|k,a,0.5|k|a>0,i,0",
    "select": "[k,a>0],[a,b]|[k],[a],5", "diag": "v|m|v,1", "diagonal": "t,0,1,2",
    "sort": "a|a,axis=0|a,None|i,stable=True|a,kind='stable'", "argsort": "a|a,0,kind='stable'|a,axis=0,stable=True",
    "searchsorted": "ordered,v|ordered,[0.0],side='right'", "unique": "i|i,return_counts=True", "isin": "i,[0,1]",
    "bincount": "iv|iv,w,4", "histogram": "v,3|v,[0.0,1.0,2.0]", "digitize": "v,ordered", "lexsort": "(v,w)",
    "dot matmul": "a,m|v,w|a,v|m,v", "inner": "a,b|v,w", "vdot": "v,w|z,z", "outer": "v,w|v,[1,2]", "kron": "a,b|v,w",
    "tensordot": "a,m,1|a,b,([0],[0])|t,a,axes=([0,1],[0,1])", "cross": "v,w|a,b",
    "vander": "v|v,2|v,increasing=True",
    "einsum": "'ij,jk',a,m|'ii->i',m|'...j,j',t.T,v[:2]|a,[0,1],m,[1,2]|a,[0,1],v,[1],[0]|'ij->i',a,out=None",
    "clip": "a,0,1|a,0,None|a,None,0.5|a,a_min=0,a_max=1|i,0,2|a,0,1,out=None|a,-0.5,b+1",
    "round": "a|a,1|a,decimals=2|f,1", "rint square": "a", "+rint square round": "i", "+square": "k",
    "angle": "z|z,deg=True",
    "add multiply maximum": "a,b|a,2|a,v|a,[1,2,3]|f,1.5|a,b,dtype='float64'|a,b,out=None|a,b,where=True",
    "divide subtract arctan2 power": "p,b|p,2|p,v|i+5,3.0",
    "exp sin tanh sqrt log": "p|i+3|f*f+1|i+3,dtype='float64'", "greater equal": "a,b|a,0|i,1",
    "logical_and": "k,k|a,b", "isclose": "a,b|a,0,atol=1|n,n,equal_nan=True",
    "array_equal": "a,a|a,v|n,n|n,n,equal_nan=True", "array_equiv": "a,a|a,v|o,a|[v,v],v|a,o|e,o|1.0,s*0+1",
    "piecewise": "v,[v<0,v>=0],[-1,1]|a,[a<0],[lambda x:-x,lambda x:x*x]|v,[v>0],[lambda x:x/x.sum()]|i,[i<0],[2.5]",
    "+lib.stride_tricks.sliding_window_view": "v,2|a,(2,2)|t,(2,3),axis=(0,2)|a,2,1", "interp": "v,ordered,w",
    "+apply_along_axis": "numpy.sum,0,a|lambda x:x/x.max(),-1,t|numpy.cumsum,1,t", "gradient": "v|a,axis=0|v,2.0",
    "+apply_over_axes": "numpy.sum,a,[0,1]|numpy.max,t,(0,-1)", "+result_type": "a,f|f,1.0", "+common_type": "a,f",
    "trapezoid": "v|a,dx=0.5|v,ordered", "convolve": "v,w|v,[1,2],'same'", "full_like": "a,2|i,s",
    "zeros_like": "a|i,'f4'", "linspace": "s,5,4|v,w,3,axis=1", "linalg.solve": "m,v|m,a.T",
    "linalg.inv linalg.det linalg.svdvals": "m", "+fft.rfft fft.irfft": "v|a,axis=0|a,5|a,norm='ortho'",
    "fft.fft fft.ifft": "v|a,n=4,axis=0|z", "meshgrid": "v,w",
    "add.reduce multiply.reduce maximum.reduce": "a|a,1|a,axis=None|a,axis=(0,1),keepdims=True|a,initial=3",
    "subtract.reduce logaddexp.reduce hypot.reduce divide.reduce": "p|p,axis=1|p,0,keepdims=True",
    "bitwise_or.reduce": "i|i,axis=1|i,axis=(0,1)|e.astype('int64')", "+gcd.reduce": "i",
    "add.reduceat maximum.reduceat": "v,[0,2]|a,[0,2,1],1", "fmax.reduce": "n|n,axis=1", "add.accumulate": "a|a,1",
    "maximum.accumulate subtract.accumulate": "v|a,axis=1", "add.outer multiply.outer greater.outer": "v,w|a,v|v,2",
    "power.reduce": "p", "+logical_xor.reduce": "k|k,axis=1,keepdims=True",
}
# What is no function: methods, operators, indices, attributes.
EXPRESSIONS = """a.sum(where=k)|a.mean(axis=0,out=None)|a.max(0,initial=2)|a.std(axis=0,ddof=1)|a.cumsum(dtype='f4')|a.T
    a.reshape(3,2)|a.reshape(-1)|a.reshape(-1,1)|a.reshape((3,2),order='F')|a.reshape(v.shape[0],2)|a.ravel('F')
    a.flatten('F')|a.flatten(order='C')|a.round(1)|a.round(decimals=1)|a.round()|a.clip(0)|a.clip(min=0,max=1)
    a.clip(max=1)|a.astype('int8',copy=False)|a.copy(order='F')|a.transpose(None)|t.transpose(2,0,1)|a.nbytes|a.itemsize
    a.dot(m)|a@m|m@v|[1.0,2.0]@a|a+v|2-a|p**2|2**a|a//2|a%2|i/2|-a|~k|k&k|i<<1|a>0|divmod(a,2)[1]|abs(z)|f*2.5|i+1.5
    a[0]|a[:,1]|a[...,None]|a[k]|a[a>0]|a[[0,1],[1,2]]|a[:,iv]|v[::-1]|a[-1:]|z.real|z.imag|z.conj()|a*o|(1,2,3)*a
    numpy.linalg.qr(a).R|numpy.linalg.eigh(m@m.T).eigenvalues|numpy.linalg.slogdet(m).logabsdet|numpy.linalg.svd(a).S"""


def calls(names, texts):
    """Texts of calls; ``np`` in them is NumPy or ``phintys.tensor``."""
    return [f"np.{name}({text})" for name in names.lstrip("+").split() for text in texts.split("|")]


def flat(found):
    return [part for item in found for part in flat(item)] if isinstance(found, (tuple, list)) else [found]


def evaluated(text, namespace, values):
    return flat(eval(text, {"numpy": numpy, "np": namespace}, dict(values)))        # a text of the tables


def known_to_numpy(texts):
    """The calls that this version of NumPy knows → its results."""
    found = {}
    for text in texts:
        try:
            found[text] = evaluated(text, numpy, VALUES)
        except (AttributeError, TypeError):
            assert numpy.lib.NumpyVersion(numpy.__version__) < "2.5.0"
    return found


@numpy.errstate(all="ignore")
def compared(texts, namespace):
    variables = {name: T.TensorType(value.dtype.name, tuple(length == 1 for length in value.shape))(name)
                 for name, value in VALUES.items()}
    wanted = known_to_numpy(texts)
    found = {text: evaluated(text, namespace, variables) for text in wanted}
    pairs = [(text, ours, theirs) for text in found for ours, theirs in zip(found[text], wanted[text], strict=True)]
    # One number of each call, and its derivative along a direction.
    weighted = [(text, number, (part * numpy.cos(numpy.arange(max(numpy.size(wanted[text][number]), 1.0))[
        :numpy.size(wanted[text][number])]).reshape(numpy.shape(wanted[text][number]))).sum())
        for text in found for number, part in enumerate(found[text])
        if isinstance(part, Variable) and part.type.dtype == "float64" and "e" not in text.partition("(")[2].split(",")]
    floats = [name for name, value in VALUES.items() if value.dtype == "float64" and name != "n"]
    directions = {name: numpy.sin(numpy.arange(VALUES[name].size)).reshape(VALUES[name].shape) for name in floats}
    slope = T.zeros(())
    if weighted:
        gradients = grad(T.add(*[part for _, _, part in weighted], T.zeros(())), [variables[name] for name in floats],
                         disconnected_inputs="ignore")
        slope = T.add(*[(part * directions[name]).sum() for name, part in zip(floats, gradients)])
    results = [ours for _, ours, _ in pairs if isinstance(ours, Variable)]
    values = function([*variables.values()], [*results, slope], mode="FAST_COMPILE", on_unused_input="ignore")(
        *VALUES.values())
    computed = iter(values)
    for text, ours, theirs in pairs:
        got, want = (next(computed) if isinstance(ours, Variable) else numpy.asarray(ours)), numpy.asarray(theirs)
        assert (text, got.shape, got.dtype) == (text, want.shape, want.dtype)
        if want.dtype != object:
            tolerance = 2e-5 if want.dtype in ("float32", "complex64") else 1e-9
            numpy.testing.assert_allclose(got, want, tolerance, tolerance, err_msg=text)

    def numbers(step):
        moved = {**VALUES, **{name: VALUES[name] + step * directions[name] for name in floats}}
        total = 0.0
        for text, number, _ in weighted:
            part = numpy.asarray(evaluated(text, numpy, moved)[number])
            total += numpy.sum(part * numpy.cos(numpy.arange(part.size)).reshape(part.shape))
        return total
    if weighted and numpy.isfinite(values[-1]):
        numpy.testing.assert_allclose(values[-1], (numbers(1e-6) - numbers(-1e-6)) / 2e-6, 1e-5, 1e-5,
                                      err_msg=str(texts))


@pytest.mark.parametrize("namespace", [numpy, T], ids=["numpy", "T"])
@pytest.mark.parametrize("names", ARGUMENTS)
def test_functions(names, namespace):
    if namespace is T and names.startswith("+"):
        pytest.skip("T has Theano's, or none")
    compared(calls(names, ARGUMENTS[names]), namespace)


@pytest.mark.parametrize("row", EXPRESSIONS.split("\n"))
def test_expressions(row):
    compared(row.strip().split("|"), numpy)


REFUSED = {
    "np.einsum('i...->i', t)": "has no '...' for the dimensions that are broadcast",
    "a.std(0, None, None, 1)": "Theano's",
    "np.add(a, b, where=k)": "does not take where=", "np.add.reduce(a, out=b)": "does not take out=",
    "np.subtract.reduce(a, axis=None)": "not reorderable", "np.add.reduceat(v, iv)": "indices must be numbers",
    "np.real_if_close(z)": "a dtype that depends on values", "np.emath.sqrt(a)": "a dtype that depends on values",
    "np.putmask(a, k, 0)": "change an array", "np.piecewise(v, [v < 0], [1, 2, 3])": "1 or 2 functions are expected",
    "np.lib.stride_tricks.sliding_window_view(a, 2)": "1 lengths of a window for 2 axes",
    "np.logaddexp.reduce(a, where=k)": "does not take where=", "a.clip(0, min=1)": "two names of one argument",
    "a.sum(axsi=0)": "does not take axsi=0",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text):
    variables = {name: T.TensorType(value.dtype.name, (False,) * value.ndim)(name) for name, value in VALUES.items()}
    with pytest.raises((TypeError, ValueError), match=REFUSED[text]):
        evaluated(text, numpy, variables)


def test_a_window_longer_than_its_axis():
    v = T.dvector("v")
    with pytest.raises(ValueError, match="a window is longer than its axis"):
        function([v], T.sliding_window_view(v, 4))([1.0, 2.0])

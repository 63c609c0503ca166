"""Every name of Theano that programs use exists, or its error says what is missing and what to use instead."""
import importlib
import operator
from pathlib import Path

import numpy
import pytest

import phintys
import phintys.tensor as T
from phintys.theano_names import INSTEAD, advice

NAMES = {}
for line in (Path(__file__).with_name("names_in_use.txt")).read_text().replace("\n    ", " ").splitlines():
    if not line.startswith("#"):
        NAMES[line.partition(":")[0]] = line.partition(":")[2].split()

# Package → its modules: a name that is counted with a package may be in one of them.
MODULES = {
    "tensor": "basic var elemwise type extra_ops opt subtensor sort", "tensor.nnet": "nnet sigm abstract_conv",
    "gof": "graph opt op toolbox toposort fg link utils type null_type sched destroyhandler vm",
    "compile": "mode function_module ops io pfunc sharedvalue debugmode profiling", "scalar": "basic basic_scipy"}

METHODS = {
    "variable": "shape astype dtype type sum owner eval reshape T dimshuffle ndim name tag all broadcastable copy mean "
                "prod flatten size dot transpose max min std take auto_name var diagonal any nonzero ravel exp norm "
                "fill argmax zeros_like argsort searchsorted index argmin real imag conj clone clip round repeat trace "
                "cumsum cumprod swapaxes choose conjugate ptp ones_like squeeze",
    "shared": "get_value set_value container", "function": "maker outputs fn indices input_storage defaults "
              "sync_shared output_storage trust_input profile free"}


def at(path):
    """The object at a path below ``phintys``: attributes of the longest part of it that is a module."""
    parts = path.split(".")
    for length in range(len(parts), -1, -1):
        try:
            value = importlib.import_module(".".join(["phintys", *parts[:length]]))
        except ModuleNotFoundError:
            continue
        try:
            for part in parts[length:]:
                value = getattr(value, part)
            return value
        except AttributeError as error:
            missing = error
    raise missing


def message_of_missing(home, name):
    """None if a name exists; otherwise what the error says."""
    home = "" if home == "theano" else home
    first = None
    for module in [home, *(f"{home}.{module}" for module in MODULES.get(home, "").split())]:
        try:
            at(f"{module}.{name}" if module else name)
            return None
        except AttributeError as error:
            first = first or str(error)
    return first


@pytest.mark.parametrize("home", NAMES)
def test_names_exist_or_say_what_to_use(home):
    messages = [message_of_missing(home, name) for name in NAMES[home]]
    assert [message for message in messages if message and "': " not in message] == []


def test_most_names_exist():
    names = [(home, name) for home, listed in NAMES.items() for name in listed]
    messages = [message_of_missing(home, name) for home, name in names]
    instead = [message for message in messages if message and "phintys has no" not in message]
    assert len(names) > 900 and len(instead) < 40


def test_methods_and_attributes_exist():
    x = T.dmatrix("x")
    owners = {"variable": x, "shared": phintys.shared(numpy.zeros(2)), "function": phintys.function([x], x + 1)}
    missing = [(kind, name) for kind, names in METHODS.items() for name in names.split()
               if not hasattr(owners[kind], name)]
    assert missing == []


@pytest.mark.usefixtures("theano_removed")
def test_a_module_that_is_missing_says_what_to_use():
    theano = phintys.install_as_theano()
    with pytest.raises(ModuleNotFoundError, match=r"cannot import 'theano\.tensor\.blas_c': use T\.blas"):
        importlib.import_module("theano.tensor.blas_c")
    with pytest.raises(AttributeError, match=r"has no attribute 'cuda': use phintys\.gpu"):
        theano.sandbox.cuda
    with pytest.raises(ModuleNotFoundError, match="no such module"):
        importlib.import_module("theano.nothing_like_it")


@pytest.mark.filterwarnings("ignore:phintys.sandbox.fourier")
def test_advice_names_modules_that_exist():
    for module in INSTEAD:
        importlib.import_module(module)
    assert advice("phintys.tensor", "exp") is None and advice("phintys.nowhere", "exp") is None


def test_python_suggests_the_nearest_name():
    with pytest.raises(AttributeError) as caught:
        T.dott
    assert caught.value.name == "dott" and caught.value.obj is T


def test_a_feature_is_attached_by_an_optimizer():
    seen = []

    class Counter(phintys.gof.toolbox.Feature):
        def on_attach(self, fgraph):
            seen.append(fgraph)

    x = T.dvector()
    graph = phintys.FunctionGraph([x], [x + 1])
    phintys.compile.AddFeatureOptimizer(Counter()).optimize(graph)
    assert seen == [graph]


# Names of Table 1 of the paper that Theano has under other names, or elsewhere; and what the error says.
PAPER = {"cond": r"phintys\.ifelse\.ifelse", "Scan": r"phintys\.scan", "scan": r"phintys\.scan",
         "conv2d": r"T\.nnet\.conv2d", "max_pool_2d": "pool_2d", "gemm": r"T\.dot", "identity": r"T\.eye",
         "R_op": r"phintys\.Rop", "cholesky": "slinalg", "inv": "nlinalg", "solve": "slinalg", "FFT": r"T\.fft",
         "Print": r"printing\.Print", "RandomStreams": "shared_randomstreams", "MRG_RandomStreams": "rng_mrg"}


@pytest.mark.parametrize("name", PAPER)
def test_names_of_the_paper_say_what_they_are_called(name):
    for module in (T, phintys):
        if not hasattr(module, name):
            with pytest.raises(AttributeError, match=rf"has no attribute '{name}': .*{PAPER[name]}"):
                getattr(module, name)
    assert not (hasattr(T, name) and hasattr(phintys, name))


def test_names_that_the_advice_gives_exist():
    for name in ("ifelse.ifelse", "scan", "tensor.nnet.conv2d", "tensor.signal.pool.pool_2d", "tensor.eye", "Rop",
                 "tensor.nlinalg", "tensor.slinalg", "tensor.fft", "printing.Print", "compile.DebugMode", "Lop",
                 "tensor.shared_randomstreams.RandomStreams", "sandbox.rng_mrg.MRG_RandomStreams", "tensor.neq"):
        assert operator.attrgetter(name)(phintys) is not None

"""Programs that import theano, run by phintys; each in a process of its own, in which nothing is imported yet."""
import os
import subprocess
import sys
import textwrap

import pytest

from phintys.graph.config import config, split_flags
from phintys.theano_flags import file_options, files, read_theano_options


def run(program, *arguments, folder, options=(), **environment):
    """Run a program as a user would; return its output and what it warned of."""
    path = folder / "program.py"
    path.write_text(textwrap.dedent(program))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("THEANO", "PHINTYS_FLAGS"))}
    done = subprocess.run([sys.executable, *options, "-m", "phintys.as_theano", str(path), *arguments], text=True,
                          capture_output=True, env={**kept, "HOME": str(folder), **environment}, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_a_program_runs(tmp_path):
    out, _ = run("""
        import sys
        import theano
        import theano.tensor as T
        from theano import function, shared
        from theano.compile.nanguardmode import NanGuardMode
        from theano.tensor.shared_randomstreams import RandomStreams
        x = T.dvector("x")
        print(function([x], T.grad((x ** 2).sum(), x))([1, 2]), sys.argv[1:], __name__, theano.__version__)
        """, "an", "argument", folder=tmp_path)
    assert out == "[2. 4.] ['an', 'argument'] __main__ 1.0.5\n"


def test_modules_are_those_of_phintys(tmp_path):
    out, _ = run("""
        import theano.tensor.nnet.nnet, theano.scan_module.scan_utils
        import theano.scan_module.scan, theano.version
        import phintys, phintys.tensor.nnet.nnet
        print(theano.tensor is phintys.tensor, theano.tensor.nnet.nnet is phintys.tensor.nnet.nnet,
              theano.config is phintys.config, theano.scan is phintys.scan, callable(theano.scan_module.scan),
              theano.version.full_version, phintys.tensor.__spec__.name, "scan" in dir(theano))
        """, folder=tmp_path)
    assert out == "True True True True True 1.0.5 phintys.tensor True\n"


def test_theanos_rules_are_followed(tmp_path):
    """See `test_theano_rules`; the flag of phintys takes precedence."""
    program = "import theano.tensor as T; print(T.col()[:, None].ndim, T.config.theano_rules)"
    assert run(program, folder=tmp_path)[0] == "2 True\n"
    assert run(program, folder=tmp_path, PHINTYS_FLAGS="theano_rules=False")[0] == "3 False\n"


def test_what_is_missing_is_named(tmp_path):
    out, _ = run("""
        import theano
        for module in ("theano.sandbox.cuda", "theano.gpuarray.type"):
            try:
                __import__(module)
            except ImportError as error:
                print(error)
        print(hasattr(theano, "nonsense"))
        """, folder=tmp_path)
    assert out.splitlines() == ["cannot import 'theano.sandbox.cuda': use phintys.gpu, or "
                                "PHINTYS_FLAGS=device=cuda, which moves functions to a GPU",
                                "cannot import 'theano.gpuarray.type': use phintys.gpu, or "
                                "PHINTYS_FLAGS=device=cuda, which moves functions to a GPU", "False"]


def test_what_is_imported_from_a_module_and_missing_is_named(tmp_path):
    out, _ = run("""
        import theano
        for line in ("from theano.gpuarray.dnn import dnn_conv", "from theano.tests import unittest_tools",
                     "from theano.sandbox import cuda",
                     "from theano.tensor.opt import ShapeOptimizer", "from theano.tensor.nnet import nonsense"):
            try:
                exec(line)
            except ImportError as error:
                print(str(error).partition(" (")[0])
        print(hasattr(theano.gpuarray.dnn, "dnn_pool"), hasattr(theano.tensor.opt, "ShapeOptimizer"))
        from theano.tensor.opt import *
        from theano.tensor.opt import register_canonicalize
        """, folder=tmp_path)
    gpu, tests, cuda, feature, nonsense, found = out.splitlines()
    assert tests == "cannot import 'theano.tests': use T.verify_grad, and numpy.testing in place of unittest_tools"
    assert gpu.startswith("cannot import 'theano.gpuarray.dnn.dnn_conv': use phintys.gpu")
    assert cuda.startswith("cannot import 'theano.sandbox.cuda': use phintys.gpu")
    assert feature.startswith("cannot import 'theano.tensor.opt.ShapeOptimizer': the optimizer's rewrites are rows")
    assert nonsense == "cannot import name 'nonsense' from 'phintys.tensor.nnet'" and found == "False False"


def test_programs_that_ask_for_a_gpu_hear_that_there_is_none(tmp_path):
    """As Theano without a GPU says. Lasagne, Keras and others choose their convolutions by it."""
    out, _ = run("""
        from theano import gpuarray
        import theano.gpuarray.dnn
        from theano.gpuarray.dnn import dnn_available, dnn_present, version
        print(dnn_present(), dnn_available(None), gpuarray.pygpu_activated, gpuarray.pygpu, version(raises=False))
        print(dnn_present.msg == dnn_available.msg, gpuarray.dnn is theano.gpuarray.dnn, gpuarray.use("cpu"))
        for refused in (version, lambda: gpuarray.use("cuda0")):
            try:
                refused()
            except RuntimeError as error:
                print("use phintys.gpu" in str(error))
        theano.config.gpuarray.preallocate = 0.8
        theano.config.gpuarray.sched, theano.config.contexts = "multi", "dev0->cuda0"
        print(theano.config.base_compiledir == theano.config.compiledir)
        """, folder=tmp_path)
    assert out.splitlines() == ["False False False None -1", "True True None", "True", "True", "True"]


WORKER = """
import sys
import theano
import theano.tensor as T

def work(value):
    x = T.dcol()
    f = theano.function([x], x[:, None] * 2)
    return f([[value]]).tolist(), theano.__version__, T is sys.modules["phintys.tensor"]
"""
PARENT = """
if __name__ == "__main__":
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    import phintys
    phintys.install_as_theano()
    from worker import work
    for method in multiprocessing.get_all_start_methods():
        for function in (work, local_work):
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
                print(pool.submit(function, 1.0).result())
"""


@pytest.mark.parametrize("command", ["-m phintys.as_theano program.py", "-m phintys.as_theano -m program", "own.py"])
def test_processes_that_a_program_starts_import_theano_too(tmp_path, command):
    """Started by fork, spawn and forkserver; what they run is in the program or in a module."""
    (tmp_path / "worker.py").write_text(WORKER)
    (tmp_path / "program.py").write_text(WORKER.replace("work", "local_work") + PARENT)
    (tmp_path / "own.py").write_text(PARENT.replace("(work, local_work)", "(work,)"))
    done = subprocess.run([sys.executable, *command.split()], text=True, capture_output=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert set(done.stdout.splitlines()) == {"([[2.0]], '1.0.5', True)"} and not done.stderr


def test_a_warning_at_import_names_the_line_of_the_program(tmp_path):
    _, err = run("import sys\nfrom theano.tensor.signal import downsample\n", folder=tmp_path)
    assert f"{tmp_path / 'program.py'}:2: UserWarning: downsample module has been moved" in err


def test_options_are_read_and_unknown_ones_named_once(tmp_path):
    out, err = run("import theano; print(theano.config.floatX, theano.config.optimizer)", folder=tmp_path,
                   THEANO_FLAGS="floatX=float32,nvcc.fastmath=True,lonely,device=cuda0,allow_gcs=1",
                   PHINTYS_FLAGS="optimizer=None")
    assert out == "float32 None\n"
    assert err.count("UserWarning") == 1
    assert "phintys ignores these options of Theano: nvcc.fastmath=True, lonely, device=cuda0, allow_gcs=1 (did you " \
           "mean allow_gc?)" in err


def warnings_of(program, flags):
    """What is written to the standard error by a program that is not run as a program of Theano."""
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], text=True, capture_output=True, check=True,
                          env={**os.environ, "THEANO_FLAGS": flags, "THEANORC": os.devnull}).stderr


def test_theanos_flags_are_neither_ignored_silently_nor_warned_of_when_they_are_read():
    compiled = "import phintys, phintys.tensor as T\nx = T.dscalar()\n\nphintys.function([x], x)\nx.eval({x: 1})\n"
    said = warnings_of(compiled, "floatX=float32")
    assert said.count("UserWarning") == 1 and said.startswith("<string>:4: UserWarning: THEANO_FLAGS=floatX=float32 is "
                                                              "set, but phintys reads")
    assert warnings_of(compiled, "") == ""
    for program in ("import phintys", "import phintys\nphintys.install_as_theano()\n" + compiled):
        assert warnings_of(program, "floatX=float32,device=cpu") == ""


def test_a_module_runs(tmp_path):
    (tmp_path / "mine.py").write_text("import sys, theano; print(theano.__name__, sys.argv[1:], __name__)")
    done = subprocess.run([sys.executable, "-m", "phintys.as_theano", "-m", "mine", "argument"], text=True,
                          capture_output=True, cwd=tmp_path)
    assert done.stdout == "theano ['argument'] __main__\n"


def test_usage():
    done = subprocess.run([sys.executable, "-m", "phintys.as_theano"], text=True, capture_output=True)
    assert done.returncode and done.stderr.startswith("usage: python -m phintys.as_theano program.py")


def test_help_goes_to_the_output():
    done = subprocess.run([sys.executable, "-m", "phintys.as_theano", "--help"], text=True, capture_output=True)
    assert done.returncode == 0 and done.stdout.startswith("usage: python -m phintys.as_theano program.py")


@pytest.mark.parametrize("flags, message", [("", "there is no file 'nowhere.py'"),
                                            ("floatX=float46", "THEANO_FLAGS: config.floatX cannot be 'float46'")])
def test_mistakes_on_the_command_line_are_one_line(flags, message):
    done = subprocess.run([sys.executable, "-m", "phintys.as_theano", "nowhere.py"], text=True, capture_output=True,
                          env={**os.environ, "THEANO_FLAGS": flags, "THEANORC": os.devnull})
    assert done.returncode == 1 and done.stderr.startswith(f"phintys.as_theano: {message}")
    assert done.stderr.count("\n") == 1


def test_another_theano_was_imported_before():
    done = subprocess.run([sys.executable, "-c", textwrap.dedent("""
        import sys, types
        sys.modules["theano"] = types.ModuleType("theano")
        import phintys
        try:
            phintys.install_as_theano()
        except RuntimeError as error:
            print(error)
        del sys.modules["theano"]
        print(phintys.install_as_theano() is phintys.install_as_theano(), "theano" in sys.modules)
        """)], text=True, capture_output=True)
    assert done.stdout.splitlines() == [
        "theano is imported already, from an unknown place: call install_as_theano() before it", "True True"]


@pytest.mark.parametrize("line", ["from theano.ifelse import ifelse", "from theano import *", "import theano.ifelse"])
def test_advice_for_a_name_hides_no_module(line):
    """``cond`` and ``ifelse`` of the paper have advice; the module ``ifelse`` is imported first here."""
    done = subprocess.run([sys.executable, "-c", f"import phintys; phintys.install_as_theano()\n{line}\n"
                           "from theano.ifelse import ifelse as choose\n"
                           "print(choose(phintys.tensor.constant(0) > 1, 2, 3).eval())"],
                          text=True, capture_output=True)
    assert done.stdout == "3\n", done.stderr


def test_nothing_is_changed_unless_asked_for():
    done = subprocess.run([sys.executable, "-c", "import sys, phintys.as_theano; print('theano' in sys.modules, "
                           "any('Theano' in type(finder).__name__ for finder in sys.meta_path))"], text=True,
                          capture_output=True)
    assert done.stdout == "False False\n"


def test_files_of_options(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text("[global]\nfloatX = float32\nallow_gc = False\n[DebugMode]\npatience = 7\n")
    second.write_text("[global]\nfloatX = float64\n[gcc]\ncxxflags = -O3 %s\n")
    assert list(file_options(first)) == [("floatX", "float32"), ("allow_gc", "False"), ("DebugMode.patience", "7")]
    assert list(file_options(second)) == [("floatX", "float64"), ("gcc.cxxflags", "-O3 %s")]
    environment = {"THEANORC": os.pathsep.join(map(str, (first, second, tmp_path / "third")))}
    assert files(environment) == [first, second]
    with config.change_flags(**{"floatX": "float16", "allow_gc": True, "DebugMode.patience": 2, "gcc.cxxflags": ""}):
        read_theano_options(environment)
        assert (config.floatX, config.allow_gc, config.DebugMode.patience) == ("float64", False, 7)
        read_theano_options({**environment, "THEANO_FLAGS": "floatX=float32"})
        assert config.floatX == "float32"
        read_theano_options({**environment, "PHINTYS_FLAGS": "floatX"})
        assert config.floatX == "float32"


def test_flags_are_split():
    assert list(split_flags("a=1, b = 2=3 ,,c")) == [("a", "1"), ("b", "2=3"), ("c", None)]


@pytest.mark.parametrize("text", ["floatX = float32\n", "[global]\nfloatX\n"])
def test_a_file_that_cannot_be_parsed(tmp_path, text):
    path = tmp_path / "theanorc"
    path.write_text(text)
    with pytest.raises(ValueError, match="theanorc"):
        read_theano_options({"THEANORC": str(path)})


def test_a_value_that_is_not_allowed():
    with pytest.raises(ValueError, match="THEANO_FLAGS: config.floatX cannot be 'float46'"):
        read_theano_options({"THEANO_FLAGS": "floatX=float46", "THEANORC": os.devnull})
